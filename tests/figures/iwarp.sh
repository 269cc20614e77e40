#!/bin/bash
# Throughput of iWARP over the kernel's TCP on the loopback interface, without and with CRCs, side by side with one TCP stream of
# iperf3 over the same path: WRITEs, READs and SENDs of 64 KiB, and WRITEs of 1 MiB. Rounds alternate; the medians are printed.
#
# Run by hand, as root, on a machine that does nothing else: tests/figures/iwarp.sh RDMALAB [ROUNDS] [SECONDS]
# Everything happens in a network namespace that it makes and removes.
set -euo pipefail
rdmalab=$(realpath "${1:?say where the program rdmalab is}")
rounds=${2:-5}
seconds=${3:-3}
for program in ip iperf3; do command -v "$program" >/dev/null || { echo "$program is missing" >&2; exit 2; }; done
space=rdmalab-figures-iwarp-$$
out=$(mktemp -d)
cleanup() { ip netns del "$space" 2>/dev/null || true; rm -rf "$out"; }
trap cleanup EXIT
ip netns add "$space"
ip -n "$space" link set lo up

# Waits until somebody listens at a TCP port.
await() { # port
    for _ in $(seq 100); do
        ip netns exec "$space" ss -Hltn "sport = :$1" | grep -q . && return
        sleep 0.05
    done
    echo "nobody listens at port $1" >&2
    return 1
}
# What a client measures with a server that serves once, or what it complains of.
measure() { # port, what awk is to take, server … -- client …
    local port=$1 take=$2 server=() pid
    shift 2
    while [ "$1" != -- ]; do server+=("$1"); shift; done
    shift
    timeout 60 ip netns exec "$space" "${server[@]}" >"$out/server" 2>&1 & pid=$!
    await "$port"
    if ! timeout 60 ip netns exec "$space" "$@" >"$out/client" 2>&1; then
        { echo "failed: $*"; cat "$out/client" "$out/server"; } >&2
    fi
    awk "$take" "$out/client"
    wait "$pid" || true
}
perf() { # operation size crc -> MiB/s
    local options=(-R --iwarp --crc "$3" -s "$2" -D "$seconds")
    measure 18515 "\$1 == $2 { print \$4 }" "$rdmalab" perf "$1" "${options[@]}" --ip 127.0.0.1 \
        -- "$rdmalab" perf "$1" "${options[@]}" --ip 127.0.0.2 127.0.0.1
}
iperf() { # -> MiB/s
    measure 5201 '/receiver/ { print $7 / 8 / 1.048576 }' iperf3 -s -1 -B 127.0.0.1 \
        -- iperf3 -c 127.0.0.1 -t "$seconds" -f m
}
median() { sort -g | awk '{ v[NR] = $1 } END { if (NR) printf "%.0f", v[int((NR + 1) / 2)]; else printf "none" }'; }

mkdir "$out/figures"
for _ in $(seq "$rounds"); do
    iperf >>"$out/figures/0 iperf3, one stream"
    for crc in off on; do
        perf write 65536 "$crc" >>"$out/figures/1 WRITE, 64 KiB, CRC $crc"
        perf read 65536 "$crc" >>"$out/figures/2 READ, 64 KiB, CRC $crc"
        perf send 65536 "$crc" >>"$out/figures/3 SEND, 64 KiB, CRC $crc"
        perf write 1048576 "$crc" >>"$out/figures/4 WRITE, 1 MiB, CRC $crc"
    done
done
printf '| what | median of %s, MiB/s | of iperf3 |\n|---|---|---|\n' "$rounds"
base=$(median <"$out/figures/0 iperf3, one stream")
for file in "$out"/figures/*; do
    value=$(median <"$file")
    name=$(basename "$file")
    printf '| %s | %s | %s |\n' "${name#* }" "$value" "$(awk -v v="$value" -v b="$base" 'BEGIN { if (b > 0) printf "%.2f", v / b }')"
done
