//! WRITE, READ, CMP_SWAP and FETCH_ADD between us and a real Linux RoCE stack, in both roles, clean and under loss.
//! At the end each end compares every byte of its memory with what it must be.

use std::path::Path;
use std::time::Duration;

use rdmalab_tests::{Network, Place, Verdict};

const GUEST: std::net::Ipv4Addr = Place::GUEST;
const OURS: std::net::Ipv4Addr = Place::OURS;
const PORT: u16 = 18600;
const LIMIT: Duration = Duration::from_secs(60);

/// Each kind with single packets, for their number, and with messages of many. At a loss of 5 % each way it is all
/// but certain that packets of both ends are lost in each conversation. Linux never answers a READ of no bytes
/// that is asked for again, so that is only in [`CLEAN`].
const CONVERSATIONS: [&str; 4] = [
    "WRITE:33*300,WRITE:65537*4,WRITE:0",
    "READ:33*300,READ:65537*4",
    "CMP_SWAP*300,CMP_SWAP_MISS*20",
    "FETCH_ADD*300",
];

/// What else there is, without loss.
const CLEAN: &str =
    "READ:0,SEND:0,SEND:4097*2,SEND_WITH_IMM:1,WRITE_WITH_IMM:65537*2,WRITE_WITH_IMM:0,READ:1";

/// Of what each end sends. The guest's is netem's, ours a seeded rule at the TAP; TCP and ARP are spared.
const LOSS_PERCENT: u32 = 5;

/// Linux asks, on our memory.
pub fn linux_is_active(place: &mut Place) {
    converse(place, "--passive");
}

/// We ask, on Linux' memory.
pub fn we_are_active(place: &mut Place) {
    converse(place, "");
}

fn converse(place: &mut Place, role: &str) {
    let Place { network, guest, .. } = place;
    guest.put("verbs_peer.py", include_str!("../../peers/verbs_peer.py"));
    let listen = format!("/usr/bin/python3 /mnt/verbs_peer.py --listen {PORT}");
    let peer = guest.spawn(&listen, Duration::from_secs(280));
    guest.wait_for_listener(PORT, LIMIT);
    let mut dropped_before = 0;
    for loss in [0, LOSS_PERCENT] {
        if loss > 0 {
            guest.netem_roce_loss(loss);
        }
        let capture = network.capture(guest.tap(), &format!("loss{loss}"));
        let also = (loss == 0).then_some(CLEAN);
        for (number, operations) in CONVERSATIONS.into_iter().chain(also).enumerate() {
            // One path MTU for half of the conversations, the other for the rest, each with short and long messages.
            let mtu = [1024, 4096][number % 2];
            let line = format!(
                "--tap {} --ip {OURS}/24 --peer {GUEST}:{PORT} --operations {operations} --mtu {mtu} --seed {number} \
                 --drop-rate {} {role}",
                Network::TAP,
                f64::from(loss) / 100.0
            );
            let arguments: Vec<&str> = line.split_whitespace().collect();
            let ours = network
                .start("ours", Path::new(env!("CARGO_BIN_EXE_verbs-end")), &arguments)
                .end_within(LIMIT);
            assert!(
                ours.success(),
                "{line}\nours: {ours}\nthe peer: {}\nthe guest: {}",
                peer.output_so_far(),
                guest.state()
            );
            if loss > 0 {
                let dropped = guest.netem_dropped();
                assert!(dropped > dropped_before, "the guest lost nothing: {line}");
                dropped_before = dropped;
                let dropped = ours.number_after("dropped by rule:");
                assert!(dropped.is_some_and(|dropped| dropped > 0), "we lost nothing: {line}, {ours}");
            }
        }
        Verdict::of(network, &capture.finish()).expect_sound();
    }
    // Its own word on each conversation, that both ends were content.
    let said = peer.stop().unwrap_or_else(|stuck| panic!("{stuck}\n{}", guest.state())).stdout;
    let content = said.lines().filter(|line| line.contains(r#""verdict": "ok", "other": "ok""#)).count();
    assert_eq!(content, 2 * CONVERSATIONS.len() + 1, "{said}");
}
