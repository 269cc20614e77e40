//! What may come of work over an unreliable service.
//!
//! A request is done when it has gone: completions of requests come in order, once each, and only for what was posted.
//! A receive completes with a message that was sent, whole; over a link that neither repeats nor reorders packets, with
//! one behind the last that arrived. Receives complete in the order in which they were posted, and those that no
//! message uses stay. Of a WRITE that was lost, the packets in front of the gap may have landed, and nothing else.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

use rdmalab_verbs::{Completion, CompletionKind, CompletionStatus, State};
use rdmalab_wire::{ImmDt, Qpn};

use super::HEADER_AREA;
use super::scenario::{LONGEST, What};
use crate::oracle::{Piece, length, overlap};
use crate::pair::peer::{Service, Setup, address};
use crate::weather::Weather;

/// What became of a message at its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fortune {
    /// Perhaps it has gone, perhaps not.
    Open,
    Gone,
    /// It never goes out whole.
    Stopped,
}

/// What a message carries; too long to be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Data(pub Vec<u8>);

impl std::fmt::Debug for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

#[derive(Clone, Debug)]
pub struct Message {
    pub id: u64,
    pub what: What,
    pub local: Vec<Piece>,
    /// In the peer's memory.
    pub target: usize,
    pub data: Data,
    pub immediate: ImmDt,
    pub signaled: bool,
    pub solicited: bool,
    /// The request must fail, like this.
    pub poison: Option<CompletionStatus>,
    /// The peer must drop it.
    pub astray: bool,
    pub fortune: Fortune,
}

#[derive(Clone, Debug)]
pub struct Receive {
    pub id: u64,
    pub local: Vec<Piece>,
    pub has_key: bool,
    /// It lay in a shared queue when the queue pair was reset, and may have been taken and forgotten.
    pub maybe_gone: bool,
}

/// One direction.
#[derive(Debug, Default)]
struct Flow {
    messages: Vec<Message>,
    /// Places of requests that are not complete.
    pending: VecDeque<usize>,
    receives: VecDeque<Receive>,
    /// Where the messages begin that may still arrive in order.
    next: usize,
    /// Where the messages begin whose WRITEs were not compared.
    epoch: usize,
    /// Messages that need a receive, since everything came to rest.
    open: usize,
    /// Messages that must arrive if no packet is lost, and those that did arrive.
    expected: u64,
    arrived: u64,
}

#[derive(Debug)]
pub struct Oracle {
    service: Service,
    mtu: usize,
    shares_receives: bool,
    keeps_order: bool,
    /// The queue pair of each side.
    numbers: [Qpn; 2],
    memory: [Vec<u8>; 2],
    /// By the side that sends.
    flows: [Flow; 2],
    /// A request of the side failed: it sends nothing.
    stopped: [bool; 2],
    /// The side is in ERR.
    failed: [bool; 2],
    /// Since everything came to rest, something happened for which messages may stay away.
    disturbed: bool,
    /// Bytes of which it is not known what they are.
    unknown: [Vec<Piece>; 2],
}

impl Oracle {
    pub fn new(setup: &Setup, numbers: [Qpn; 2], weather: &Weather) -> Self {
        Self {
            service: setup.service,
            mtu: setup.mtu.bytes(),
            shares_receives: setup.shares_receives,
            keeps_order: weather.keeps_order(),
            numbers,
            memory: [vec![0; setup.memory], vec![0; setup.memory]],
            flows: Default::default(),
            stopped: [false; 2],
            failed: [false; 2],
            disturbed: false,
            unknown: Default::default(),
        }
    }

    pub fn store(&mut self, side: usize, at: usize, bytes: &[u8]) {
        self.memory[side][at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub fn is_in_use(&self, side: usize, piece: &Piece) -> bool {
        let flow = &self.flows[side];
        let requests = flow.pending.iter().flat_map(|place| &flow.messages[*place].local);
        let receives = self.flows[1 - side].receives.iter().flat_map(|receive| &receive.local);
        requests.chain(receives).any(|used| overlap(used, piece))
    }

    pub fn post(&mut self, side: usize, message: Message) {
        let flow = &mut self.flows[side];
        let needs_receive = message.what.consumes_receive();
        let is_free = |receive: &Receive| receive.has_key && !receive.maybe_gone && holds_all(receive);
        let goes = !self.stopped[side] && !self.failed[0] && !self.failed[1] && message.poison.is_none();
        if goes
            && needs_receive
            && !message.astray
            && flow.receives.iter().all(is_free)
            && flow.receives.len() > flow.open
        {
            flow.expected += 1;
        }
        flow.open += usize::from(needs_receive);
        flow.pending.push_back(flow.messages.len());
        flow.messages.push(message);
    }

    /// `side` is the one that receives.
    pub fn receive(&mut self, side: usize, receive: Receive) {
        self.flows[1 - side].receives.push_back(receive);
    }

    /// A side goes to ERR.
    pub fn fail(&mut self, side: usize) {
        self.failed[side] = true;
        self.excuse();
    }

    /// A side goes on after SQE.
    pub fn resume(&mut self, side: usize) {
        self.stopped[side] = false;
    }

    /// From now on nothing that is under way need arrive.
    fn excuse(&mut self) {
        self.disturbed = true;
        for flow in &mut self.flows {
            (flow.expected, flow.arrived) = (0, 0);
        }
    }

    /// Both sides forgot everything, but what lies in shared queues.
    pub fn reset(&mut self) {
        self.excuse();
        (self.stopped, self.failed) = ([false; 2], [false; 2]);
        for side in 0..2 {
            let flow = &mut self.flows[side];
            for place in flow.pending.drain(..) {
                let message = &mut flow.messages[place];
                // One that was to be reported and was not has not gone whole.
                if message.signaled || message.poison.is_some() {
                    message.fortune = Fortune::Stopped;
                }
            }
            if self.shares_receives {
                // One was gone before, perhaps, for each reset.
                if let Some(first) = flow.receives.iter_mut().find(|receive| !receive.maybe_gone) {
                    first.maybe_gone = true;
                }
            } else {
                let gone = flow.receives.drain(..).flat_map(|receive| receive.local);
                self.unknown[1 - side].extend(gone);
            }
        }
    }

    pub fn check_state(&self, side: usize, state: State) {
        assert_eq!(state == State::Err, self.failed[side], "side {side} is in {state}");
        if !self.failed[side] {
            assert_eq!(state == State::Sqe, self.stopped[side], "side {side} is in {state}");
        }
    }

    pub fn complete_request(&mut self, side: usize, completion: &Completion) {
        let flow = &mut self.flows[side];
        let is_before = |message: &Message| message.id != completion.id && !message.signaled;
        while let Some(&place) = flow.pending.front().filter(|place| is_before(&flow.messages[**place])) {
            let message = &mut flow.messages[place];
            assert!(message.poison.is_none(), "{message:?} succeeds in silence");
            message.fortune = Fortune::Gone;
            flow.pending.pop_front();
        }
        let Some(place) = flow.pending.pop_front() else { panic!("nothing was posted for {completion:?}") };
        let message = &mut flow.messages[place];
        assert_eq!(message.id, completion.id, "side {side} completes out of order");
        if completion.status == CompletionStatus::Success {
            let may = message.signaled && message.poison.is_none() && !self.stopped[side];
            assert!(may, "{message:?} succeeds");
            let kind = if message.what.is_write() { CompletionKind::RdmaWrite } else { CompletionKind::Send };
            let found = (completion.kind, completion.length, completion.immediate, completion.solicited);
            assert_eq!(found, (kind, 0, None, false), "{message:?}");
            message.fortune = Fortune::Gone;
            return;
        }
        let status = completion.status;
        let is_flushed =
            status == CompletionStatus::WorkRequestFlushed && (self.stopped[side] || self.failed[side]);
        let breaks = message.poison == Some(status) && !self.stopped[side];
        assert!(is_flushed || breaks, "{status} of {message:?}");
        message.fortune = Fortune::Stopped;
        if breaks {
            self.stopped[side] = true;
            self.excuse();
        }
    }

    /// `side` is the one that receives; `memory` reads its memory.
    pub fn complete_receive(
        &mut self,
        side: usize,
        completion: &Completion,
        memory: impl Fn(usize, usize) -> Vec<u8>,
    ) {
        let flow = &mut self.flows[1 - side];
        while flow.receives.front().is_some_and(|first| first.maybe_gone && first.id != completion.id) {
            let gone = flow.receives.pop_front().into_iter().flat_map(|receive| receive.local);
            self.unknown[side].extend(gone);
        }
        let Some(receive) = flow.receives.pop_front() else {
            panic!("nothing was posted for {completion:?}")
        };
        assert_eq!(receive.id, completion.id, "receives complete out of order");
        match completion.status {
            CompletionStatus::Success => {}
            CompletionStatus::WorkRequestFlushed => {
                assert!(self.failed[side], "{receive:?} is flushed");
                self.unknown[side].extend(receive.local);
                return;
            }
            CompletionStatus::LocalProtectionError => {
                assert!(!receive.has_key, "{receive:?} cannot be reached");
                return;
            }
            status => panic!("{status} of {receive:?}"),
        }
        let length = completion.length as usize;
        let is_write = completion.kind == CompletionKind::ReceiveRdmaWithImmediate;
        let placed = if is_write { 0 } else { length };
        let (used, rest) = split(receive.local, placed);
        self.unknown[side].extend(rest);
        let found: Vec<u8> = used.iter().flat_map(|piece| memory(piece.start, piece.len())).collect();
        assert_eq!(found.len(), placed, "more than there is room for");
        let expects_header = self.service == Service::Ud;
        assert_eq!(completion.has_grh, expects_header);
        assert_eq!(completion.source, expects_header.then_some(self.numbers[1 - side]));
        assert_eq!((completion.invalidated, completion.partition_index), (None, 0));
        let (header, payload) = found.split_at(if expects_header { HEADER_AREA } else { 0 });
        if expects_header {
            check_header(header, 1 - side);
        }
        let matches = |message: &Message| {
            let is_same = message.what.is_write() == is_write
                && message.solicited == completion.solicited
                && message.what.has_immediate().then_some(message.immediate) == completion.immediate
                && message.data.0.len() + header.len() == length;
            let is_there = if is_write {
                memory(message.target, length) == message.data.0
            } else {
                message.data.0 == payload
            };
            let may = message.what.consumes_receive()
                && message.fortune != Fortune::Stopped
                && message.poison.is_none()
                && !message.astray;
            may && is_same && is_there
        };
        let from = if self.keeps_order { flow.next } else { 0 };
        let place = flow.messages[from..].iter().position(matches).map(|place| from + place);
        let Some(place) = place else {
            panic!("nothing like {completion:?} was sent behind message {from}: {:?}", flow.messages)
        };
        flow.next = place + 1;
        flow.arrived += 1;
        let mut at = 0;
        for piece in used {
            self.store(side, piece.start, &found[at..at + piece.len()]);
            at += piece.len();
        }
    }

    /// Everything came to rest: requests are done, and all memory is compared. `losses` are the packets that did not
    /// reach this side.
    pub fn rest(&mut self, side: usize, found: &[u8], losses: u64) {
        let own = &mut self.flows[side];
        while let Some(place) = own.pending.pop_front() {
            let message = &mut own.messages[place];
            let may = !message.signaled && message.poison.is_none();
            assert!(may, "{message:?} never completes");
            message.fortune = Fortune::Gone;
        }
        let flow = &mut self.flows[1 - side];
        if self.keeps_order {
            assert!(flow.arrived + losses >= flow.expected, "messages are lost that were not hurt: {flow:?}");
        }
        flow.open = 0;
        let all_arrive = losses == 0 && self.keeps_order && !self.disturbed && self.failed == [false; 2];
        for message in flow.messages[flow.epoch..].iter().filter(|message| message.what.is_write()) {
            let (at, data) = (message.target, &message.data.0);
            let there = at..at + data.len();
            let (before, now) = (&mut self.memory[side][there.clone()], &found[there]);
            let landed = |bytes: usize| now[..bytes] == data[..bytes] && now[bytes..] == before[bytes..];
            let mut cuts = (0..data.len().max(1)).step_by(self.mtu);
            let is_right = if message.poison.is_some() || message.astray {
                landed(0)
            } else if message.fortune == Fortune::Gone && message.what == What::Write && all_arrive {
                landed(data.len())
            } else {
                cuts.any(landed) || message.fortune != Fortune::Stopped && landed(data.len())
            };
            assert!(is_right, "the memory of side {side} holds something else of {message:?}");
            before.copy_from_slice(now);
        }
        flow.epoch = flow.messages.len();
        let waiting = flow.receives.iter().flat_map(|receive| receive.local.iter().cloned());
        for piece in waiting.chain(self.unknown[side].drain(..)) {
            self.memory[side][piece.clone()].copy_from_slice(&found[piece]);
        }
        assert!(self.memory[side] == found, "the memory of side {side} holds what nobody wrote");
        // Both sides come to rest one after the other.
        self.disturbed &= side == 0;
    }

    /// Every receive that was posted to a side has completed.
    pub fn check_no_receives(&self, side: usize) {
        let left = &self.flows[1 - side].receives;
        assert!(left.is_empty(), "side {side} never completes {left:?}");
    }
}

fn holds_all(receive: &Receive) -> bool {
    length(&receive.local) >= LONGEST
}

/// The first bytes of some pieces, and the rest of them.
fn split(pieces: Vec<Piece>, mut bytes: usize) -> (Vec<Piece>, Vec<Piece>) {
    let cuts = pieces.into_iter().map(|piece| {
        let taken = bytes.min(piece.len());
        bytes -= taken;
        let cut = piece.start + taken;
        (piece.start..cut, cut..piece.end)
    });
    cuts.unzip()
}

/// What stands in front of a datagram from a side: nothing, and the IPv4 header.
fn check_header(area: &[u8], from: usize) {
    let (nothing, header) = area.split_at(20);
    assert_eq!((nothing, header[0]), (&[0; 20][..], 0x45));
    let found =
        [&header[12..16], &header[16..20]].map(|bytes| Ipv4Addr::from_octets(bytes.try_into().unwrap()));
    assert_eq!(found.map(IpAddr::V4), [address(1 + from as u8), address(2 - from as u8)]);
}
