//! Two emulated hosts on a simulated link: what is on the wire, and what TCP makes of a bad one.
//!
//! Rule: mpa-fpdu-aligned: An FPDU should begin at the start of a TCP segment and fill no more than one; what TCP sends again
//! may be cut in any way (RFC 5044 §5).

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use rdmalab_device::{CompletionStatus, Memory, Operation, Passage};
use rdmalab_sim::rule::{lose, nth};
use rdmalab_sim::{End, LinkConfig, Probability, RuleSet, Seed, Verdict};

use crate::pair::{self, MTU, Setup};
use crate::side::pattern;

/// Which TCP segments there were.
#[derive(Default)]
struct Segments {
    /// By direction: one behind the last byte that was sent.
    next: BTreeMap<(SocketAddr, SocketAddr), u32>,
    fpdus: usize,
    start_ups: usize,
    again: usize,
}

impl Segments {
    /// Checks that a segment that is not sent again is one FPDU, or a frame of the start-up.
    #[track_caller]
    fn see(&mut self, passage: &Passage<'_>) {
        let packet = &passage.frame[14..];
        if packet[0] >> 4 != 4 || packet[9] != 6 {
            return;
        }
        let address = |at: usize| IpAddr::from(<[u8; 4]>::try_from(&packet[at..at + 4]).unwrap());
        let segment = &packet[20..];
        let port = |at: usize| u16::from_be_bytes([segment[at], segment[at + 1]]);
        let ends = (SocketAddr::new(address(12), port(0)), SocketAddr::new(address(16), port(2)));
        let sequence = u32::from_be_bytes(segment[4..8].try_into().unwrap());
        let payload = &segment[usize::from(segment[12] >> 4) * 4..];
        if segment[13] & 2 != 0 {
            self.next.insert(ends, sequence.wrapping_add(1));
            return;
        }
        if payload.is_empty() {
            return;
        }
        let next = self.next.get_mut(&ends).expect("a SYN came first");
        if sequence != *next {
            assert!(sequence.wrapping_sub(*next).cast_signed() < 0, "a gap");
            self.again += 1;
            return;
        }
        *next = sequence.wrapping_add(payload.len() as u32);
        if payload.starts_with(b"MPA ID Re") {
            self.start_ups += 1;
            return;
        }
        let ulpdu = usize::from(u16::from_be_bytes([payload[0], payload[1]]));
        assert_eq!(payload.len(), (2 + ulpdu).next_multiple_of(4) + 4, "segment and FPDU coincide");
        self.fpdus += 1;
    }
}

const LENGTH: usize = 300_000;

type Pair = pair::Pair<Segments>;

fn pair(rules: RuleSet) -> Pair {
    Pair::new(Setup { link: LinkConfig::default(), rules, memory: LENGTH, reads: 4 }, Segments::see)
}

impl Pair {
    #[track_caller]
    fn done(&mut self, end: End) -> u64 {
        let completions = self.sides[end].completions;
        let found = self.wait(|pair| pair.network.adapter(end).port.context.poll_completion(completions));
        assert_eq!(found.status, CompletionStatus::Success);
        found.id
    }

    /// A long WRITE each way and a READ back of each.
    fn exchange(&mut self) {
        for (end, salt) in [(End::A, 1), (End::B, 2)] {
            let data = pattern(LENGTH, salt);
            self.sides[end].memory.write(0, &data).unwrap();
            let remote = self.remote(end);
            self.post(end, 1, Operation::RdmaWrite(remote), LENGTH);
            assert_eq!(self.done(end), 1);
            self.post(end, 2, Operation::RdmaRead(remote), LENGTH);
            assert_eq!(self.done(end), 2);
            for side in [&self.sides.a, &self.sides.b] {
                let mut there = vec![0; LENGTH];
                side.memory.read(0, &mut there).unwrap();
                assert!(there == data, "what was written");
            }
        }
    }
}

#[test]
fn each_segment_is_one_fpdu() {
    let mut pair = pair(RuleSet::new(Seed::new(1)));
    pair.exchange();
    pair.disconnect();
    let Segments { fpdus, start_ups, again, .. } = pair.seen;
    assert_eq!((start_ups, again), (2, 0));
    assert!(fpdus > 4 * LENGTH / MTU, "{fpdus}");
}

#[test]
fn each_segment_is_one_fpdu_or_sent_again_where_segments_are_lost() {
    for seed in 1..=5 {
        let rules = RuleSet::new(Seed::new(seed)).with(lose(Probability::new(0.02).unwrap()));
        let mut pair = pair(rules);
        pair.exchange();
        pair.disconnect();
        assert!(pair.seen.again > 0, "seed {seed}: nothing was lost");
    }
}

#[test]
fn every_frame_of_a_short_connection_may_be_lost_once() {
    // ARP, the handshake, the start-up, a message with its answer, and the finish are fewer than a dozen each way.
    for (end, lost) in [End::A, End::B].into_iter().flat_map(|end| (0..12).map(move |lost| (end, lost))) {
        let rules = RuleSet::new(Seed::new(1)).with(nth(end, lost, Verdict::Drop));
        let mut pair = pair(rules);
        let remote = pair.remote(End::A);
        pair.post(End::A, 7, Operation::RdmaRead(remote), 8);
        assert_eq!(pair.done(End::A), 7, "frame {lost} of {end:?} lost");
        pair.disconnect();
    }
}

#[test]
fn the_same_seeds_give_the_same_frames() {
    let frames = || {
        let rules = RuleSet::new(Seed::new(9)).with(lose(Probability::new(0.02).unwrap()));
        let mut pair = pair(rules);
        pair.exchange();
        (pair.network.now(), pair.seen.next, pair.seen.fpdus, pair.seen.again)
    };
    assert_eq!(frames(), frames());
}
