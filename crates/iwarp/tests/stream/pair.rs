//! Two queue pairs, back to back, with a stream each way that may be cut anywhere.

use rdmalab_iwarp::{End, Event, Role};
use rdmalab_verbs::{Completion, CompletionStatus, Operation, RemoteAddress, SendFlags, SendRequest, State};

use crate::side::{Setup, Side};

/// Into which pieces the streams are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Each FPDU is a piece.
    Whole,
    /// Each byte.
    Bytes,
    /// As whole, and once more at this byte of the stream that this side sends.
    At(usize, usize),
    /// Pieces of this size, whatever is in them.
    Every(usize),
}

#[derive(Debug)]
pub struct Pair {
    pub sides: [Side; 2],
    pub cut: Cut,
    /// Bytes that each side has sent.
    pub sent: [usize; 2],
    /// What each side has told.
    pub events: [Vec<Event>; 2],
    /// Bytes that wait to be a whole piece.
    waiting: [Vec<u8>; 2],
    out: Vec<u8>,
    pub fpdus: u64,
    next_id: u64,
}

/// All that an application can see in the end.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub completions: [Vec<Completion>; 2],
    pub memory: [Vec<u8>; 2],
    pub events: [Vec<Event>; 2],
    pub states: [State; 2],
}

impl Pair {
    pub fn new(setup: Setup) -> Self {
        Self::cut(setup, Cut::Whole)
    }

    pub fn cut(setup: Setup, cut: Cut) -> Self {
        assert_eq!(setup.role, Role::Initiator);
        let sides = [Side::new(&setup), Side::new(&setup.mirrored())];
        let out = vec![0; sides[0].queue_pair.max_fpdu()];
        Self {
            sides,
            cut,
            sent: [0; 2],
            events: Default::default(),
            waiting: Default::default(),
            out,
            fpdus: 0,
            next_id: 0,
        }
    }

    /// Posts a signaled request whose message is at an offset of the side's memory, and reaches the same one of the other's.
    pub fn post(&mut self, side: usize, operation: Operation, offset: usize, length: usize) {
        let elements = [self.sides[side].sge(offset, length)];
        let elements = if operation.is_local() { &[][..] } else { &elements[..] };
        let (id, flags) = (self.next_id, SendFlags::SIGNALED);
        self.next_id += 1;
        self.sides[side]
            .post(&SendRequest { id, operation, elements, flags, ..SendRequest::default() })
            .unwrap();
    }

    /// The other side's memory.
    pub fn remote(&self, side: usize, offset: usize) -> RemoteAddress {
        self.sides[1 - side].remote(offset)
    }

    /// Lets both sides talk until neither has anything to say.
    pub fn run(&mut self) {
        for _ in 0..1_000_000 {
            let moved = self.turn(0) | self.turn(1);
            if !moved {
                return;
            }
        }
        panic!("the two never come to an end");
    }

    fn turn(&mut self, side: usize) -> bool {
        let this = &mut self.sides[side];
        let has_work = this.queue_pair.has_work();
        let length = this.queue_pair.poll_transmit(&mut this.context, &mut self.out);
        assert!(has_work || length == 0, "it said that it had nothing to do");
        if length > 0 {
            self.fpdus += 1;
            let out = std::mem::take(&mut self.out);
            self.carry(side, &out[..length]);
            self.out = out;
        }
        let mut moved = length > 0;
        while let Some(event) = self.sides[side].queue_pair.poll_event() {
            self.carry_event(side, event);
            moved = true;
        }
        moved
    }

    /// Brings an FPDU over in pieces.
    fn carry(&mut self, side: usize, fpdu: &[u8]) {
        let start = self.sent[side];
        self.sent[side] += fpdu.len();
        let other = 1 - side;
        match self.cut {
            Cut::Whole => self.deliver(other, fpdu),
            Cut::Bytes => fpdu.chunks(1).for_each(|piece| self.deliver(other, piece)),
            Cut::At(of, at) if of == side && (start..self.sent[side]).contains(&at) => {
                let (front, back) = fpdu.split_at(at - start);
                self.deliver(other, front);
                self.deliver(other, back);
            }
            Cut::At(..) => self.deliver(other, fpdu),
            Cut::Every(size) => {
                self.waiting[side].extend_from_slice(fpdu);
                let whole = self.waiting[side].len() / size * size;
                let pieces: Vec<u8> = self.waiting[side].drain(..whole).collect();
                pieces.chunks(size).for_each(|piece| self.deliver(other, piece));
                if !self.sides[side].queue_pair.has_work() {
                    let rest = std::mem::take(&mut self.waiting[side]);
                    self.deliver(other, &rest);
                }
            }
        }
    }

    fn deliver(&mut self, side: usize, bytes: &[u8]) {
        let side = &mut self.sides[side];
        side.queue_pair.handle_bytes(&mut side.context, bytes);
    }

    fn carry_event(&mut self, side: usize, event: Event) {
        self.events[side].push(event);
        let end = match event {
            Event::CloseSending => End::Graceful,
            Event::Reset => End::Abortive,
            _ => return,
        };
        let rest = std::mem::take(&mut self.waiting[side]);
        self.deliver(1 - side, &rest);
        let other = &mut self.sides[1 - side];
        other.queue_pair.handle_end(&mut other.context, end);
    }

    pub fn disconnect(&mut self, side: usize) {
        let side = &mut self.sides[side];
        side.queue_pair.disconnect(&mut side.context);
    }

    /// Takes the completions of a side; all must be of success.
    #[track_caller]
    pub fn expect_success(&mut self, side: usize, count: usize) -> Vec<Completion> {
        let completions = self.sides[side].take_completions();
        assert_eq!(completions.len(), count, "{completions:?}");
        assert!(completions.iter().all(|it| it.status == CompletionStatus::Success), "{completions:?}");
        completions
    }

    pub fn outcome(mut self) -> Outcome {
        let memory = |side: &Side| side.bytes(0, rdmalab_verbs::Memory::length(&*side.memory));
        Outcome {
            memory: [memory(&self.sides[0]), memory(&self.sides[1])],
            completions: [self.sides[0].take_completions(), self.sides[1].take_completions()],
            states: [self.sides[0].queue_pair.state(), self.sides[1].queue_pair.state()],
            events: self.events,
        }
    }
}
