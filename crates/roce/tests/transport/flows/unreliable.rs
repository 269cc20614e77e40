//! Unreliable connections: one packet at a time is mistreated, and what arrives is whole.
//!
//! Rule: uc-whole-messages: of a message of an unreliable connection either all bytes complete a receive, or none do.
//! Rule: uc-loss-costs-one-message: a lost or damaged packet costs the message that it belongs to and no other.
//! Rule: uc-in-order: as long as the network neither repeats nor reorders packets, messages complete in the order in which
//! they were sent, none twice.

use rdmalab_verbs::{CompletionStatus, Operation};
use rdmalab_wire::{ImmDt, PathMtu};

use crate::pair::peer::{Application, Door, Service, Setup};
use crate::pair::{Fate, Pair};

/// Where each message lies, on both sides, and where each receive.
const PLACE: usize = 16 * 1024;

/// Messages of one to three packets, each with its number as immediate data, and WRITEs between them.
fn lengths(mtu: usize) -> [usize; 8] {
    [2 * mtu + 1, 1, mtu, 2 * mtu, 3, mtu + 7, 0, 3 * mtu]
}

/// Plays the messages; the numbers of those that arrived, in order, and how many packets there were. Each must be what
/// was sent, whole.
fn arrivals(mtu: PathMtu, judge: impl Fn(u64) -> Fate) -> (Vec<u8>, u64) {
    let lengths = lengths(mtu.bytes());
    let setup = Setup {
        service: Service::Uc,
        mtu,
        first_psn: 0xff_fffb,
        memory: 2 * lengths.len() * PLACE,
        ..Setup::default()
    };
    let mut pair = Pair::new(&setup);
    let [a, b] = &mut pair.peers;
    // One more, for a message that comes twice.
    for n in 0..=lengths.len() {
        b.receive(n as u64, (lengths.len() + n) % (2 * lengths.len()) * PLACE, PLACE).unwrap();
    }
    for (n, &length) in lengths.iter().enumerate() {
        a.fill(n * PLACE, length, n as u8 + 1);
        let immediate = ImmDt([0, 0, 0, n as u8]);
        let operation = match n % 4 {
            3 => Operation::RdmaWriteWithImmediate(b.remote(Door::Region, n * PLACE), immediate),
            _ => Operation::SendWithImmediate(immediate),
        };
        a.post(n as u64, operation, n * PLACE, length).unwrap();
    }
    pair.run(|number, _, _| judge(number));
    let [a, b] = &mut pair.peers;
    let sent: Vec<u64> = a.completions().iter().map(|one| one.id).collect();
    assert_eq!(sent, (0..lengths.len() as u64).collect::<Vec<_>>(), "a request is done when it has gone");
    let mut arrived = Vec::new();
    for completion in b.completions() {
        assert_eq!(completion.status, CompletionStatus::Success);
        let Some(ImmDt([0, 0, 0, n])) = completion.immediate else { panic!("{completion:?}") };
        let place = usize::from(n);
        assert_eq!(completion.length as usize, lengths[place], "message {n}");
        let at = match place % 4 {
            3 => place * PLACE,
            _ => (lengths.len() + completion.id as usize) % (2 * lengths.len()) * PLACE,
        };
        assert!(b.bytes(at, lengths[place]) == a.bytes(place * PLACE, lengths[place]), "message {n}");
        arrived.push(n);
    }
    (arrived, pair.sent)
}

/// Calls `judge` with what arrived for each packet that meets a fate, and with the message that it belongs to.
fn each(fate: Fate, judge: impl Fn(&[u8], u8)) {
    for mtu in [PathMtu::M256, PathMtu::M4096] {
        let (all, packets) = arrivals(mtu, |_| Fate::Deliver);
        assert_eq!(all, (0..8).collect::<Vec<_>>());
        let owners = lengths(mtu.bytes());
        let owners = (0u8..)
            .zip(owners)
            .flat_map(|(n, length)| std::iter::repeat_n(n, length.div_ceil(mtu.bytes()).max(1)));
        let owners: Vec<u8> = owners.collect();
        assert_eq!(owners.len() as u64, packets);
        for unlucky in 0..packets {
            let (found, _) = arrivals(mtu, |number| if number == unlucky { fate } else { Fate::Deliver });
            judge(&found, owners[unlucky as usize]);
        }
    }
}

#[test]
fn a_lost_or_damaged_packet_costs_its_message_and_no_other() {
    for fate in [Fate::Drop, Fate::Corrupt] {
        each(fate, |arrived, owner| {
            let others: Vec<u8> = (0..8).filter(|n| *n != owner).collect();
            assert_eq!(arrived, others, "{fate:?} of a packet of message {owner}");
        });
    }
}

/// A packet that comes out of turn costs its own message and at most its neighbour. Nothing in the protocol tells a
/// repeated or late message of one packet from a new one, so that may arrive again, or out of order.
#[test]
fn whatever_happens_to_a_packet_what_arrives_is_whole() {
    for fate in [Fate::Duplicate, Fate::Late, Fate::Held(3_000), Fate::Held(100_000), Fate::Echo(100_000)] {
        each(fate, |arrived, owner| {
            let is_far = |n: &u8| owner.abs_diff(*n) > 1;
            let undisturbed: Vec<u8> = arrived.iter().copied().filter(is_far).collect();
            let expected: Vec<u8> = (0..8).filter(is_far).collect();
            assert_eq!(undisturbed, expected, "{fate:?} of a packet of message {owner}: {arrived:?}");
        });
    }
}
