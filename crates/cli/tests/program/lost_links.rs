//! A link that goes down under a program is named as soon as that is so, whatever the program waits for.

use std::ffi::OsStr;

use crate::alone::alone;
use crate::program;

/// A server that only waits, and a client whose interface is down from the start, and up later.
const SCRIPT: &str = r#"
set -eu
ip link add left type veth peer name right
ip link set left up
ip link set right up
"$1" serve --interface left --ip 10.6.0.1/24 >"$2" 2>&1 & serving=$!
for _ in $(seq 100); do grep -q 'until Ctrl-C' "$2" && break; sleep 0.1; done
ip link set right down
"$1" rping -c --interface right --ip 10.6.0.2/24 -a 10.6.0.1 -C 1 || echo "the client ended: $?"
ip link set right up
"$1" rping -c --interface right --ip 10.6.0.2/24 -a 10.6.0.1 -C 1
ip link set left down
for _ in $(seq 100); do grep -q 'left is down' "$2" && break; sleep 0.1; done
ip link set left up
"$1" rping -c --interface right --ip 10.6.0.2/24 -a 10.6.0.1 -C 1
for _ in $(seq 100); do grep -q 'frames again' "$2" && break; sleep 0.1; done
kill -INT "$serving"
wait "$serving"
cat "$2"
"#;

#[test]
fn a_link_that_is_down_is_named_to_who_calls_and_to_who_only_waits() {
    let test = "a_link_that_is_down_is_named_to_who_calls_and_to_who_only_waits";
    let said = program::scratch("lost-link.txt");
    let program = OsStr::new(env!("CARGO_BIN_EXE_rdmalab"));
    let Some(run) = alone(test, SCRIPT, program, &[said.as_os_str()]) else { return };
    let run = run
        .exits(0)
        .says("rdmalab: device right is down: `ip link set right up`; what is sent meanwhile is lost");
    for part in
        ["the client ended: 1", "device left is down: `ip link set left up`", "the link takes frames again"]
    {
        assert!(run.out.contains(part), "{part:?} is not in:\n{}\n{}", run.out, run.err);
    }
}
