//! What the memory of both sides says at the end.
//!
//! Where nothing is lost for good, both regions must be what the plan says. Elsewhere what arrived must be whole and
//! right, of what did not arrive there may be pieces that are right, and every other byte must be untouched.

use std::ops::Range;

use super::exchange::Course;
use super::kind::Kind;
use super::pair::PATH_MTU;
use super::plan::Plan;

/// What the memory of both sides says.
pub struct Verdict {
    /// Messages whose bytes are where they belong, by operation in the order of the plan.
    pub right: Vec<u32>,
    /// Every byte of both regions is as it must be.
    pub whole: bool,
}

impl Verdict {
    /// Compares the memory of both sides with the plan, and with what B was told. `lost` packets were lost on the link.
    pub fn new(plan: &Plan, course: &Course, lost: u64, a: &[u8], b: &[u8]) -> Self {
        if plan.transport.is_reliable() {
            let count = |&kind: &Kind| {
                (0..plan.count(kind)).filter(|&index| plan.is_right(kind, index, a, b)).count() as u32
            };
            let right = plan.kinds.iter().map(count).collect();
            let (expected_a, expected_b) = plan.expected();
            return Self { right, whole: a == expected_a && b == expected_b };
        }
        let mut memory = Memory { plan, found: b, expected: plan.b.clone() };
        let right: Vec<u32> = plan.kinds.iter().map(|&kind| memory.judge(kind, course)).collect();
        memory.judge_receives(course);
        // A lost packet takes one message with it, and nothing but mischief may.
        let missing: u64 = plan
            .kinds
            .iter()
            .zip(&right)
            .filter(|(kind, _)| **kind != Kind::WrongKey)
            .map(|(_, right)| u64::from(plan.messages - right))
            .sum();
        let may_be_missing = lost.saturating_add(plan.mischief.missing);
        let whole = a == plan.a && b == memory.expected && missing <= may_be_missing;
        Self { right, whole }
    }

    /// Whether all that completed is right.
    pub fn bears_out(&self, plan: &Plan, course: &Course) -> bool {
        !plan.transport.is_reliable()
            || self.right.iter().zip(&course.completed).all(|(right, completed)| right >= completed)
    }
}

/// B's region where messages may be lost: what is there, and what may be there, worked out step by step.
struct Memory<'a> {
    plan: &'a Plan,
    found: &'a [u8],
    expected: Vec<u8>,
}

impl Memory<'_> {
    /// How many messages of a kind arrived. WRITEs are where they were sent to, and only their bytes tell.
    fn judge(&mut self, kind: Kind, course: &Course) -> u32 {
        if kind.fills_receive() {
            return course.arrived(kind);
        }
        let mut told = vec![false; self.plan.messages as usize];
        for arrival in course.arrivals.iter().filter(|arrival| arrival.kind == kind) {
            if let Some(told) = told.get_mut(arrival.index as usize) {
                *told = true;
            }
        }
        let mut whole = 0;
        for (index, told) in (0..).zip(told) {
            let message = self.plan.message(kind, index);
            let landed = self.landed(self.plan.at_b(kind, index), message);
            // What B was told of must be there; where it must be told, that is what counts.
            let is_whole = if kind.has_immediate() { told } else { landed == message.len() };
            whole += u32::from(is_whole);
            let landed = if is_whole { message.len() } else { landed };
            self.expect(self.plan.at_b(kind, index), &message[..landed]);
        }
        whole
    }

    /// Bytes of a message from its beginning on that are in place, in whole packets.
    fn landed(&self, at: u64, message: &[u8]) -> usize {
        let found = self.found.get(range(at, message.len())).unwrap_or_default();
        let same = message
            .chunks(PATH_MTU.bytes())
            .zip(found.chunks(PATH_MTU.bytes()))
            .take_while(|(sent, found)| sent == found)
            .map(|(sent, _)| sent.len());
        same.sum()
    }

    /// Receives that were filled hold their message. Others may hold packets of messages that broke off.
    fn judge_receives(&mut self, course: &Course) {
        let area = u64::from(self.plan.transport.header_area());
        for number in 0..course.receives {
            let at = self.plan.receive(number);
            match course.arrivals.get(number as usize).filter(|arrival| arrival.kind.fills_receive()) {
                Some(arrival) => {
                    self.expect(at, &arrival.area);
                    self.expect(at + area, self.plan.message(arrival.kind, arrival.index));
                }
                None => self.allow_pieces(at + area),
            }
        }
    }

    /// Packets of messages at their places in a receive that no message filled.
    fn allow_pieces(&mut self, at: u64) {
        let kinds: Vec<Kind> = self.plan.kinds.iter().copied().filter(|kind| kind.fills_receive()).collect();
        let size = self.plan.size as usize;
        for start in (0..size).step_by(PATH_MTU.bytes()) {
            let piece = range(at + start as u64, PATH_MTU.bytes().min(size - start));
            let Some(found) = self.found.get(piece.clone()) else { continue };
            if self.expected.get(piece.clone()) == Some(found) {
                continue;
            }
            let is_sent = |kind: Kind| {
                (0..self.plan.messages).any(|index| {
                    self.plan.message(kind, index).get(start..start + found.len()) == Some(found)
                })
            };
            if kinds.iter().any(|&kind| is_sent(kind)) {
                self.expected[piece].copy_from_slice(found);
            }
        }
    }

    fn expect(&mut self, at: u64, bytes: &[u8]) {
        if let Some(place) = self.expected.get_mut(range(at, bytes.len())) {
            place.copy_from_slice(bytes);
        }
    }
}

fn range(at: u64, length: usize) -> Range<usize> {
    at as usize..at as usize + length
}

#[cfg(test)]
mod tests {
    use rdmalab_sim::Seed;

    use super::super::arrivals::Arrival;
    use super::super::fate::Mischief;
    use super::super::transport::Transport;
    use super::*;

    const SIZE: u32 = 2000;

    /// Two messages of each kind; the first SEND was lost, so that the second is in the first receive.
    fn scene() -> (Plan, Course, Vec<u8>) {
        let plan =
            Plan::new(Seed::new(1), Transport::Uc, Transport::Uc.usual(), (2, SIZE), Mischief::default());
        let arrival = |kind, index| Arrival { kind, index, area: Vec::new() };
        let arrivals = vec![arrival(Kind::Send, 1), arrival(Kind::WriteImm, 0), arrival(Kind::WriteImm, 1)];
        let course =
            Course { completed: vec![2; 3], arrivals, receives: 4, failure: None, complaints: Vec::new() };
        let mut b = plan.b.clone();
        put(&mut b, plan.receive(0), plan.message(Kind::Send, 1));
        for kind in [Kind::Write, Kind::WriteImm] {
            for index in 0..2 {
                put(&mut b, plan.at_b(kind, index), plan.message(kind, index));
            }
        }
        (plan, course, b)
    }

    fn put(memory: &mut [u8], at: u64, bytes: &[u8]) {
        memory[range(at, bytes.len())].copy_from_slice(bytes);
    }

    #[test]
    fn what_arrived_is_right_and_no_more_may_be_missing_than_was_lost() {
        let (plan, course, b) = scene();
        let verdict = |lost| Verdict::new(&plan, &course, lost, &plan.a, &b);
        assert_eq!(verdict(1).right, [1, 2, 2]);
        assert!(verdict(1).whole);
        assert!(!verdict(0).whole, "nothing was lost, and a message is missing");
    }

    #[test]
    fn no_byte_of_either_side_may_be_wrong() {
        let (plan, course, b) = scene();
        for at in (0..b.len()).step_by(7) {
            let mut damaged = b.clone();
            damaged[at] ^= 1;
            // A WRITE whose byte is wrong counts as missing, and one may be, but its bytes are wrong all the same.
            assert!(!Verdict::new(&plan, &course, 9, &plan.a, &damaged).whole, "byte {at} of B");
        }
        for at in (0..plan.a.len()).step_by(7) {
            let mut damaged = plan.a.clone();
            damaged[at] ^= 1;
            assert!(!Verdict::new(&plan, &course, 9, &damaged, &b).whole, "byte {at} of A");
        }
    }

    #[test]
    fn a_message_that_broke_off_may_leave_whole_packets_of_its_beginning() {
        let (plan, course, mut b) = scene();
        let packet = PATH_MTU.bytes();
        let write = plan.at_b(Kind::Write, 1);
        let original = plan.b[range(write, SIZE as usize)].to_vec();
        put(&mut b, write + packet as u64, &original[packet..]);
        put(&mut b, plan.receive(3), &plan.message(Kind::Send, 0)[..packet]);
        let verdict = Verdict::new(&plan, &course, 2, &plan.a, &b);
        assert_eq!(verdict.right, [1, 1, 2]);
        assert!(verdict.whole);
        // The end without the beginning is nothing that a packet could have left.
        put(&mut b, write, &original);
        put(&mut b, write + packet as u64, &plan.message(Kind::Write, 1)[packet..]);
        assert!(!Verdict::new(&plan, &course, 2, &plan.a, &b).whole);
    }

    #[test]
    fn what_b_was_told_of_must_be_there() {
        let (plan, course, mut b) = scene();
        let at = plan.at_b(Kind::WriteImm, 1);
        let original = plan.b[range(at, SIZE as usize)].to_vec();
        put(&mut b, at, &original);
        assert!(!Verdict::new(&plan, &course, 9, &plan.a, &b).whole);
    }
}
