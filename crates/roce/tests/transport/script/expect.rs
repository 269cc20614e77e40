//! What a script expects: packets, completions, events, counts, memory. Each says where it was not met.

use rdmalab_roce::{Discard, Event, RetryCause};
use rdmalab_verbs::{Completion, CompletionKind, CompletionStatus, State};
use rdmalab_wire::{Datagram, Packet, Psn, Qpn};

use super::{Application, MEMORY, PEER_QUEUE_PAIR, Script, line_of, peer};

impl Script {
    /// The next packet that goes out has this line, is for the peer, and is sound.
    #[track_caller]
    pub fn expect(&mut self, line: &str) {
        self.poll();
        let Some(bytes) = self.sent.pop_front() else { panic!("nothing was sent; expected {line}") };
        assert_eq!(line_of(&bytes), line, "then {:?}", self.lines());
        let datagram = Datagram::parse(&bytes).unwrap();
        datagram.verify_icrc().unwrap();
        assert_eq!((datagram.source, datagram.destination), (self.side.address, peer()));
        let bth = Packet::parse(datagram.ib).unwrap().bth;
        assert_eq!(bth.destination, PEER_QUEUE_PAIR);
        self.last = bytes;
    }

    /// The payload of the packet that was expected last.
    pub fn payload(&self) -> Vec<u8> {
        let datagram = Datagram::parse(&self.last).unwrap();
        Packet::parse(datagram.ib).unwrap().payload.to_vec()
    }

    /// All packets that go out now, in their lines.
    pub fn lines(&mut self) -> Vec<String> {
        self.poll();
        self.sent.iter().map(|bytes| line_of(bytes)).collect()
    }

    /// Takes all packets that go out now and returns their lines.
    pub fn take_lines(&mut self) -> Vec<String> {
        let lines = self.lines();
        self.sent.clear();
        lines
    }

    /// Takes all packets that go out now, from their IP headers on.
    pub fn take_packets(&mut self) -> Vec<Vec<u8>> {
        self.poll();
        self.sent.drain(..).collect()
    }

    #[track_caller]
    pub fn expect_nothing(&mut self) {
        assert_eq!(self.lines(), [""; 0], "nothing is to be sent");
    }

    /// The next completion is of this request with this status.
    #[track_caller]
    pub fn expect_completion(&mut self, id: u64, status: CompletionStatus) -> Completion {
        self.expect_completion_of(self.side.queue_pair, id, status)
    }

    /// The next completion is of this request of this queue pair with this status.
    #[track_caller]
    pub fn expect_completion_of(&mut self, queue_pair: Qpn, id: u64, status: CompletionStatus) -> Completion {
        self.poll();
        let Some(found) = self.completions.pop_front() else {
            panic!("no completion; expected {status} of {id}")
        };
        assert_eq!((found.id, found.status), (id, status), "then {:#?}", self.completions);
        assert_eq!(found.queue_pair, queue_pair);
        found
    }

    /// The next completion is the success of this request.
    #[track_caller]
    pub fn expect_done(&mut self, id: u64) -> Completion {
        self.expect_completion(id, CompletionStatus::Success)
    }

    /// The next completion is this receive, filled with so many bytes.
    #[track_caller]
    pub fn expect_received(&mut self, id: u64, length: u32) -> Completion {
        let found = self.expect_done(id);
        assert!(matches!(found.kind, CompletionKind::Receive | CompletionKind::ReceiveRdmaWithImmediate));
        assert_eq!(found.length, length);
        found
    }

    /// The next completions are these requests, flushed, in this order.
    #[track_caller]
    pub fn expect_flushed(&mut self, ids: impl IntoIterator<Item = u64>) {
        for id in ids {
            self.expect_completion(id, CompletionStatus::WorkRequestFlushed);
        }
    }

    /// Takes all completions that are there, whatever they say.
    pub fn take_completions(&mut self) -> Vec<Completion> {
        self.poll();
        self.completions.drain(..).collect()
    }

    #[track_caller]
    pub fn expect_no_completion(&mut self) {
        self.poll();
        assert!(self.completions.is_empty(), "{:#?}", self.completions);
    }

    #[track_caller]
    pub fn expect_state(&mut self, state: State) {
        self.poll();
        assert_eq!(self.side.endpoint.state(self.side.queue_pair), Some(state));
    }

    /// The next event, retries apart, is this.
    #[track_caller]
    pub fn expect_event(&mut self, event: impl FnOnce(Qpn) -> Event) {
        assert_eq!(self.next_event(), Some(event(self.side.queue_pair)));
    }

    #[track_caller]
    pub fn expect_no_event(&mut self) {
        assert_eq!(self.next_event(), None);
    }

    fn next_event(&mut self) -> Option<Event> {
        self.poll();
        std::iter::from_fn(|| self.side.endpoint.poll_event())
            .find(|event| !matches!(event, Event::Retry { .. }))
    }

    /// The next event is that it sends again from this PSN on.
    #[track_caller]
    pub fn expect_retry(&mut self, psn: u32, cause: RetryCause) {
        let event = Event::Retry { queue_pair: self.side.queue_pair, psn: Psn::new(psn), cause };
        assert_eq!(self.side.endpoint.poll_event(), Some(event));
    }

    /// Exactly one packet was dropped for this reason since this was asked last.
    #[track_caller]
    pub fn expect_discard(&mut self, reason: Discard) {
        let counters = *self.side.endpoint.counters();
        let new: Vec<_> = Discard::ALL
            .into_iter()
            .flat_map(|reason| {
                let new = counters.discarded(reason) - self.discarded.discarded(reason);
                std::iter::repeat_n(reason, new as usize)
            })
            .collect();
        assert_eq!(new, [reason]);
        self.discarded = counters;
    }

    /// The region holds these bytes.
    #[track_caller]
    pub fn expect_bytes(&self, offset: usize, expected: &[u8]) {
        assert!(self.side.bytes(offset, expected.len()) == expected, "other bytes at {offset}");
    }

    /// From here to its end, nothing was ever written to the region.
    #[track_caller]
    pub fn expect_untouched(&self, from: usize) {
        let found = self.side.bytes(from, MEMORY - from);
        let written = found.iter().position(|&byte| byte != 0);
        assert_eq!(written.map(|at| from + at), None, "the first byte written");
    }
}
