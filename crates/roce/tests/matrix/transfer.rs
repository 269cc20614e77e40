//! One transfer over a lossy link, and what it took.

use std::num::NonZeroU64;

use rdmalab_roce::{CongestionControl, Profile};
use rdmalab_sim::{End, Link, LinkConfig, Probability, RuleSet, Seed, rule};
use rdmalab_verbs::{CompletionStatus, Memory, Operation};
use rdmalab_wire::PathMtu;

use crate::pair::peer::{Application, Door, PLAIN, Peer, Service, Setup};

/// Bytes of all messages.
pub const TOTAL: usize = 1 << 20;
pub const MESSAGE: usize = 16 * 1024;
pub const MESSAGES: usize = TOTAL / MESSAGE;
const SEED: u64 = 1;
const LATENCY: u64 = 5_000;
/// In front of each packet of a flow that may be marked: a switch looks behind an Ethernet header.
const ETHERNET: [u8; 14] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
/// Bits per second.
const BANDWIDTH: u64 = 10_000_000_000;
/// 4.096 us x 2^8.
const TIMEOUT: u8 = 8;
/// A transfer that takes longer hangs.
const PATIENCE: u64 = 100_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Write,
    Send,
    Read,
}

pub struct Transfer {
    pub kind: Kind,
    /// Of each packet.
    pub loss: Probability,
    pub mtu: PathMtu,
    /// Operations that are posted at once.
    pub outstanding: usize,
    pub control: CongestionControl,
    /// Of each packet, where something holds the flow back.
    pub marks: Probability,
    /// Bytes of each operation, of which as many make up [`TOTAL`].
    pub message: usize,
    /// Bytes that may wait for the link; what is more is lost.
    pub queue: usize,
    pub profile: Profile,
}

impl Default for Transfer {
    /// WRITEs of 16 KiB, one by one, over a link that loses nothing.
    fn default() -> Self {
        let never = Probability::new(0.0).unwrap();
        Self {
            kind: Kind::Write,
            loss: never,
            mtu: PathMtu::M1024,
            outstanding: 1,
            control: CongestionControl::None,
            marks: never,
            message: MESSAGE,
            queue: usize::MAX,
            profile: PLAIN,
        }
    }
}

/// What a transfer took.
pub struct Found {
    pub nanoseconds: u64,
    /// Packets of both sides.
    pub sent: u64,
    /// Request packets sent again.
    pub again: u64,
    pub timeouts: u64,
    /// NAKs for a gap that came back.
    pub sequence_errors: u64,
    /// Lost responses that a later one showed.
    pub implied: u64,
    /// Packets that came with a mark.
    pub marked: u64,
    /// Congestion notifications that came back.
    pub notified: u64,
}

/// A link that treats each packet by some rules.
pub fn link(rules: RuleSet, queue_limit: usize) -> Link {
    let config = LinkConfig {
        latency: LATENCY,
        bandwidth: NonZeroU64::new(BANDWIDTH),
        queue_limit,
        in_flight_limit: usize::MAX,
    };
    Link::new(config, rules)
}

/// The rules of a link that loses packets.
pub fn lossy(loss: Probability) -> RuleSet {
    RuleSet::new(Seed::new(SEED)).with(rule::lose(loss))
}

impl Transfer {
    pub fn run(&self) -> Found {
        let heeds_marks = self.control != CongestionControl::None;
        let setup = Setup {
            service: Service::Rc,
            profile: Profile { ecn_capable: heeds_marks, ..self.profile },
            congestion_control: self.control,
            mtu: self.mtu,
            reads: self.outstanding as u8,
            timeout: TIMEOUT,
            first_psn: 0xff_ff00,
            memory: TOTAL,
            ..Setup::default()
        };
        let mut peers = [Peer::new(1, &setup), Peer::new(2, &setup)];
        let [a, b] = &mut peers;
        a.connect(&setup, b);
        b.connect(&setup, a);
        // What the data comes from.
        let source = if self.kind == Kind::Read { &b.memory } else { &a.memory };
        let pattern: Vec<u8> = (0..TOTAL).map(|at| (at * 31 + at / 251) as u8).collect();
        source.write(0, &pattern).unwrap();
        if self.kind == Kind::Send {
            (0..TOTAL / self.message)
                .for_each(|n| b.receive(1000 + n as u64, n * self.message, self.message).unwrap());
        }
        let mut link = link(lossy(self.loss).with(rule::mark(self.marks)), self.queue);
        let nanoseconds = self.drive(&mut peers, &mut link, if heeds_marks { &ETHERNET } else { &[] });

        let [a, b] = &mut peers;
        let sink = if self.kind == Kind::Read { &*a } else { &*b };
        assert!(sink.bytes(0, TOTAL) == pattern, "other bytes");
        let (asked, answered) = (a.endpoint.counters(), b.endpoint.counters());
        Found {
            nanoseconds,
            sent: asked.sent_pkts + answered.sent_pkts,
            again: asked.retransmitted_pkts,
            timeouts: asked.local_ack_timeout,
            sequence_errors: asked.rcvd_seq_err,
            implied: asked.implied_nak,
            marked: asked.np_ecn_marked_roce_packets + answered.np_ecn_marked_roce_packets,
            notified: asked.rp_cnp_handled,
        }
    }

    /// Posts, and moves packets and time, until the last message is complete; the time of that. `head` stands in front of
    /// each packet on the link.
    fn drive(&self, peers: &mut [Peer; 2], link: &mut Link, head: &[u8]) -> u64 {
        let (mut now, mut posted, mut done) = (0, 0, 0);
        let (ends, messages) = ([End::A, End::B], TOTAL / self.message);
        loop {
            while posted < messages && posted < done + self.outstanding {
                let place = posted * self.message;
                let remote = peers[1].remote(Door::Region, place);
                let operation = match self.kind {
                    Kind::Write => Operation::RdmaWrite(remote),
                    Kind::Send => Operation::Send,
                    Kind::Read => Operation::RdmaRead(remote),
                };
                peers[0].post(posted as u64, operation, place, self.message).unwrap();
                posted += 1;
            }
            for (peer, end) in peers.iter_mut().zip(ends) {
                while peer.endpoint.has_packets() {
                    peer.fill_batch(now);
                    for packet in &peer.packets {
                        link.send(now, end, &[head, packet].concat());
                    }
                }
                while peer.endpoint.poll_event().is_some() {}
            }
            let timers = peers.iter().filter_map(|peer| peer.endpoint.next_timeout());
            now = timers.chain(link.next_arrival()).min().expect("something is under way").max(now);
            assert!(now < PATIENCE, "it hangs");
            while let Some(delivery) = link.receive(now) {
                let peer = &mut peers[usize::from(delivery.to == End::B)];
                peer.endpoint.handle_packet(&mut peer.context, now, &delivery.frame[head.len()..]);
            }
            for peer in &mut *peers {
                peer.endpoint.handle_timeout(&mut peer.context, now);
            }
            for completion in peers[0].completions() {
                assert_eq!((completion.id, completion.status), (done as u64, CompletionStatus::Success));
                done += 1;
            }
            if done == messages {
                return now;
            }
        }
    }
}
