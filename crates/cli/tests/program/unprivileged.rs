//! An ordinary user in an empty network namespace, where there is nothing but a loopback interface: as in a container.
//!
//! Making the namespace needs root, or a kernel that lets users make their own. What runs in it has no rights at all.

use std::ffi::OsStr;
use std::process::Command;

use crate::alone::alone;
use crate::program::Run;

/// `serve` as nobody, its clients as nobody, and an end by Ctrl-C. The program comes as `$1`, a folder to write to as `$2`.
const SCRIPT: &str = r#"
set -eu
ip link set lo up
as_nobody() { exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all "$@"; }
(as_nobody "$1" serve --ip 127.0.0.1 --pcap "$2/served.pcapng" >"$2/serve.txt" 2>&1) & serving=$!
for _ in $(seq 100); do grep -q 'until Ctrl-C' "$2/serve.txt" && break; sleep 0.1; done
(as_nobody "$1" perf write --ip 127.0.0.2 -p 18516 -s 65536 -n 50 127.0.0.1)
(as_nobody "$1" rping -c -a 127.0.0.1 --ip 127.0.0.2 -C 10 -V)
kill -INT "$serving"
wait "$serving"
cat "$2/serve.txt"
"#;

#[test]
fn nobody_serves_and_measures_over_udp_sockets_in_an_empty_namespace() {
    let test = "nobody_serves_and_measures_over_udp_sockets_in_an_empty_namespace";
    // Nobody may read neither the build directory nor this user's folders.
    let folder = std::env::temp_dir().join(format!("rdmalab-unprivileged-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let _end = Removed(folder.clone());
    let program = folder.join("rdmalab");
    std::fs::copy(env!("CARGO_BIN_EXE_rdmalab"), &program).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(&folder, open).unwrap();
    let Some(run) = alone(test, SCRIPT, program.as_os_str(), &[folder.as_os_str()]) else { return };
    let Run { out, err, .. } = run.exits(0);
    for part in ["RDMA_Write BW Test", " 65536 ", "rping"] {
        assert!(out.contains(part), "{part:?} is not in:\n{out}\n{err}");
    }
    // A whole capture, in which every checksum is right.
    let capture = folder.join("served.pcapng");
    let judged = Command::new(env!("CARGO_BIN_EXE_rdmalab")).arg("dump").arg(&capture).output().unwrap();
    let summary = String::from_utf8_lossy(&judged.stderr);
    assert!(judged.status.success() && summary.contains("ICRC right in"), "{summary}");
}

/// Two neighbours with link-local addresses, the second of which two interfaces have.
const LINK_LOCAL: &str = r#"
set -eu
ip link set lo up
ip link add veth0 type veth peer name veth1
ip link add other type veth peer name other1
for device in veth0 veth1 other other1; do ip link set "$device" up; done
ip address add fe80::1/64 dev veth0 nodad
ip address add fe80::2/64 dev veth1 nodad
ip address add fe80::2/64 dev other nodad
for _ in $(seq 100); do ip -6 address show dev veth1 | grep -q tentative || break; sleep 0.1; done
"$1" serve --ip fe80::1 >"$2" 2>&1 & serving=$!
for _ in $(seq 100); do grep -q 'until Ctrl-C' "$2" && break; sleep 0.1; done
"$1" rping -c -a fe80::1 --ip fe80::2%veth1 -C 10 -V
"$1" perf write --ip fe80::2%veth1 -p 18516 -s 65536 -n 50 fe80::1
"$1" perf write --ip fe80::2 fe80::1 2>&1 || echo "without a zone: $?"
"$1" perf write --ip fe80::2%veth0 fe80::1 2>&1 || echo "in another zone: $?"
"$1" rping -c -a fe80::1%veth1 --ip fe80::2%veth1 2>&1 || echo "with the zone of the peer: $?"
kill -INT "$serving"
wait "$serving"
"$1" rping -s --iwarp --ip fe80::1%veth0 & serving=$!
sleep 1
"$1" rping -c --iwarp -a fe80::1 --ip fe80::2%veth1 -C 10 -V
wait "$serving"
echo "all is well"
"#;

#[test]
fn neighbours_with_link_local_addresses_play_over_udp_sockets() {
    let test = "neighbours_with_link_local_addresses_play_over_udp_sockets";
    let said = crate::program::scratch("link-local.txt");
    let program = OsStr::new(env!("CARGO_BIN_EXE_rdmalab"));
    let Some(run) = alone(test, LINK_LOCAL, program, &[said.as_os_str()]) else { return };
    let Run { out, err, .. } = run.exits(0);
    for part in [
        "fe80::2 is an address of veth1 and other: say of which, as in fe80::2%veth1",
        "without a zone: 2",
        "fe80::2 is no address of veth0",
        "in another zone: 2",
        "the link is that of --ip: leave out %veth1",
        "with the zone of the peer: 2",
        "all is well",
    ] {
        assert!(out.contains(part), "{part:?} is not in:\n{out}\n{err}");
    }
}

struct Removed(std::path::PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
