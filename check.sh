#!/bin/bash
# All checks of the project, the ones that CI runs too. As root it installs what the live tests need, with apt-get.
# Where live tests cannot run they say SKIPPED and why; with CI=true in the environment that is a failure.
set -euo pipefail
cd "$(dirname "$0")"

step() { printf '\n== %s\n' "$*"; }

mapfile -t packages < <(sed -e 's/#.*//' tests/packages.txt | awk 'NF { print $1 }')
if [ "$(id -u)" != 0 ]; then
    step "not root: nothing is installed, live tests will be skipped"
elif ! command -v apt-get >/dev/null; then
    step "no apt-get: nothing is installed, live tests may be skipped"
else
    step "packages: ${packages[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update || echo "apt-get update failed; trying with the lists that are here"
    apt-get -qq install --yes --no-install-recommends "${packages[@]}" </dev/null || echo "apt-get install failed"
fi

step "format"
cargo fmt --all --check

step "lints"
cargo clippy --workspace --all-targets --quiet -- -D warnings

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

# Here and below always of the whole workspace: other packages would be built with other features, all over again.
report=$(mktemp)
trap 'rm -f "$report"' EXIT
step "tests"
cargo test --workspace 2>&1 | tee "$report"

step "live tests, with a Linux guest"
# Built before the clock starts: the programs that they run.
cargo build --release --workspace --bins
started=$SECONDS
cargo test --workspace --test live -- --ignored 2>&1 | tee --append "$report"
took=$((SECONDS - started))
skipped=$(grep -c '^SKIPPED' "$report" || true)
if [ "$skipped" = 0 ]; then
    step "all checks passed; the live tests took $took s"
else
    step "all checks passed, but $skipped tests were skipped: $(grep -m1 '^SKIPPED' "$report")"
fi
