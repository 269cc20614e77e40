//! The harness and the peer script by themselves: two guests with rxe converse under loss. What fails here is not
//! the emulator's fault.

use std::net::Ipv4Addr;
use std::time::Duration;

use rdmalab_tests::{Guest, GuestConfig, Lab, Network, Verdict};

const PORT: u16 = 18600;
const LIMIT: Duration = Duration::from_secs(60);
const OPERATIONS: &str = "WRITE:0,WRITE:65537*4,WRITE_WITH_IMM:33*3,SEND:0,SEND:1*30,SEND_WITH_IMM:4097,\
                          READ:65537*4,CMP_SWAP*30,CMP_SWAP_MISS*3,FETCH_ADD*30";

#[test]
fn two_linux_hosts_converse_under_loss() {
    let Some(lab) = Lab::ready("harness") else { return };
    let network = Network::new(&lab);
    let guests = [("first", 1), ("second", 2)].map(|(name, last)| GuestConfig {
        name,
        ip: Ipv4Addr::new(10, 9, 0, last),
        mtu: 4200,
    });
    let [first, second] = Guest::boot_all(&network, guests);
    for guest in [&first, &second] {
        guest.put("verbs_peer.py", include_str!("../peers/verbs_peer.py"));
        guest.netem_roce_loss(5);
    }
    let capture = network.capture(second.tap(), "conversation");
    let listener = first.spawn(&format!("/usr/bin/python3 /mnt/verbs_peer.py --listen {PORT}"), LIMIT);
    first.wait_for_listener(PORT, LIMIT);
    let connect = format!(
        "/usr/bin/python3 /mnt/verbs_peer.py --connect {}:{PORT} --operations '{OPERATIONS}'",
        first.ip()
    );
    let said = second.run(&connect, LIMIT);
    let other = listener.stop();
    assert!(said.success(), "the connecting end: {said}\nthe listening end: {other}");
    for guest in [&first, &second] {
        assert!(guest.netem_dropped() > 0, "nothing was lost, so nothing was shown");
    }
    Verdict::of(&network, &capture.finish()).expect_sound();
}
