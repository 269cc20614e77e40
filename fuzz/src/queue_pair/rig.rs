//! The queue pair under test and what is known of it.

mod changes;
mod posting;

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rdmalab_roce::{Batch, Endpoint, EndpointConfig, QueuePairConfig};
use rdmalab_verbs::{
    Access, Attributes, Capabilities, CompletionQueueId, CompletionStatus, Context, HeapMemory, Memory,
    ProtectionDomainId, QueuePairType, State,
};
use rdmalab_wire::{Body, Datagram, Ecn, NetworkHeader, Packet, PathMtu, Psn, Qpn};

use super::input::{self, Change, Input, Step};
use super::packets::{Frame, answer, build, build_raw, response};

const BASE: u64 = 0x10_0000;
const MEMORY: usize = 8 * 1024;
const OURS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const PEER_QUEUE_PAIR: Qpn = Qpn::new(0x99);
/// Requests that a queue holds.
const DEPTH: u32 = 16;
/// Packets that may go out without time going by. Sixteen READs of all memory in the smallest packets, twice over, are
/// far fewer.
const MOST_PACKETS: usize = 16_384;

pub struct Rig {
    context: Context,
    endpoint: Endpoint,
    queue_pair: Qpn,
    completions: CompletionQueueId,
    domain: ProtectionDomainId,
    /// Changed only by those who may: the one that the peer reads, and the one of another protection domain.
    protected: [Arc<HeapMemory>; 2],
    memory: Arc<HeapMemory>,
    frame: Frame,
    may_go: bool,
    peer: NetworkHeader,
    batch: Batch,
    steps: [Attributes; 3],
    mtu: PathMtu,
    now: u64,
    next_id: u64,
    /// Numbers of what is posted and not complete: requests and receives.
    posted: [VecDeque<u64>; 2],
    /// PSN that the responder expects next, as far as its answers tell.
    expected: Psn,
    /// Requests that went out and that the peer has not answered, oldest first.
    asked: VecDeque<(Psn, Body)>,
}

fn mtu(code: u8) -> PathMtu {
    [PathMtu::M256, PathMtu::M512, PathMtu::M1024, PathMtu::M2048, PathMtu::M4096][usize::from(code % 5)]
}

impl Rig {
    pub fn new(input: &Input) -> Self {
        let mut context = Context::default();
        let mut endpoint = Endpoint::new(EndpointConfig::new(vec![OURS], PathMtu::M4096));
        let domain = context.allocate_protection_domain().expect("an empty context");
        let other = context.allocate_protection_domain().expect("an empty context");
        let completions = context.create_completion_queue(4 * DEPTH).expect("an empty context");
        let [memory, read_only, foreign] = [(); 3].map(|()| Arc::new(HeapMemory::new(MEMORY)));
        let mut register = |domain, memory: &Arc<HeapMemory>, access| {
            context.register(domain, BASE, memory.clone(), access).expect("an empty context")
        };
        let frame = Frame {
            mtu: mtu(input.mtu).bytes(),
            base: BASE,
            usual: register(domain, &memory, Access::FULL),
            read_only: register(domain, &read_only, Access::REMOTE_READ),
            may_go: register(domain, &memory, Access::FULL),
            foreign: register(other, &foreign, Access::FULL),
        };
        let config = QueuePairConfig::new(
            QueuePairType::Rc,
            domain,
            completions,
            Capabilities { max_send_requests: DEPTH, max_receive_requests: DEPTH, ..Capabilities::default() },
        );
        let queue_pair = endpoint.create_queue_pair(&mut context, &config).expect("an empty endpoint");
        let first_psn = match input.first_psn {
            input::Psn::Zero => Psn::new(0),
            input::Psn::Wrap(before) => Psn::new(0).sub(before.into()),
            input::Psn::Any(psn) => Psn::new(psn),
        };
        let mut rig = Self {
            context,
            endpoint,
            queue_pair,
            completions,
            domain,
            protected: [read_only, foreign],
            memory,
            frame,
            may_go: true,
            peer: NetworkHeader::new(PEER, OURS, 0xc001, 0, Ecn::NotEct, 64).expect("one family"),
            batch: Batch::new(16, PathMtu::M4096, 0),
            steps: changes::steps(input, first_psn),
            mtu: mtu(input.mtu),
            now: 0,
            next_id: 0,
            posted: [VecDeque::new(), VecDeque::new()],
            expected: first_psn,
            asked: VecDeque::new(),
        };
        rig.raise(3);
        rig.post_everything();
        rig.poll(true);
        rig
    }

    pub fn step(&mut self, step: &Step) {
        match *step {
            Step::Request { psn, body, payload, flags } => {
                let payload = self.frame.payload(payload);
                let body = self.frame.request(body, payload.len());
                let psn = shifted(self.expected, psn);
                self.deliver(build(&self.peer, self.queue_pair, psn, body, &payload, flags));
                if psn == self.expected {
                    // Most likely it was taken; the answer says more.
                    self.expected = psn.next();
                }
            }
            Step::Response { psn, body, payload, flags } => {
                let oldest = self.asked.front().map(|&(psn, _)| psn);
                let from = oldest.or(self.steps[2].send_psn).unwrap_or_default();
                let payload = self.frame.payload(payload);
                let body = response(body);
                self.deliver(build(&self.peer, self.queue_pair, shifted(from, psn), body, &payload, flags));
                if psn >= 0 {
                    self.asked.drain(..self.asked.len().min(psn as usize + 1));
                }
            }
            Step::Answer { count } => self.answer(count),
            Step::Raw { opcode, psn, flags, ref bytes } => {
                let psn = shifted(self.expected, psn);
                self.deliver(build_raw(&self.peer, self.queue_pair, psn, opcode, flags, bytes));
            }
            Step::Bytes { ref bytes } => self.deliver(Some(bytes.clone())),
            Step::Wait { code } => self.wait(code),
            Step::Poll { all } => self.poll(all),
            Step::Send { kind, length, at, flags, foreign } => self.send(kind, length, at, flags, foreign),
            Step::Receive { length, at, elements, foreign } => self.receive(length, at, elements, foreign),
            Step::Modify { change } => self.modify(change),
            Step::Region => self.change_region(),
        }
    }

    fn deliver(&mut self, packet: Option<Vec<u8>>) {
        if let Some(packet) = packet {
            self.endpoint.handle_packet(&mut self.context, self.now, &packet);
        }
    }

    fn answer(&mut self, count: u8) {
        for _ in 0..count {
            let Some((psn, asked)) = self.asked.pop_front() else { return };
            for (n, (body, payload)) in answer(&asked, self.mtu.bytes()).into_iter().enumerate() {
                let psn = psn.add(n as u32);
                self.deliver(build(&self.peer, self.queue_pair, psn, body, &vec![0x77; payload], 0));
            }
        }
    }

    fn wait(&mut self, code: Option<u8>) {
        let next = match code {
            Some(code) => self.now.saturating_add(1 << (code % 44)),
            None => self.endpoint.next_timeout().unwrap_or(self.now).max(self.now),
        };
        self.now = next;
        self.endpoint.handle_timeout(&mut self.context, self.now);
        let later = self.endpoint.next_timeout().is_none_or(|next| next > self.now);
        assert!(later, "a timeout stays due after it was handled");
    }

    /// Takes packets out and looks at each.
    fn poll(&mut self, all: bool) {
        let mut count = 0;
        while self.endpoint.has_packets() {
            self.batch.clear();
            self.endpoint.poll(&mut self.context, self.now, &mut self.batch);
            for packet in self.batch.packets() {
                let datagram = Datagram::parse(packet).expect("what goes out is a datagram");
                datagram.verify_icrc().expect("what goes out has its ICRC");
                datagram.verify_checksums().expect("what goes out has its checksums");
                assert_eq!((datagram.source, datagram.destination), (OURS, PEER));
                let packet = Packet::parse(datagram.ib).expect("what goes out is legal");
                assert_eq!(packet.bth.destination, PEER_QUEUE_PAIR);
                assert!(packet.payload.len() <= self.mtu.bytes(), "{packet}");
                if packet.body.is_response() {
                    self.expected = packet.bth.psn.next();
                } else if self.asked.len() < 256 {
                    self.asked.push_back((packet.bth.psn, packet.body));
                }
            }
            count += self.batch.len();
            assert!(count <= MOST_PACKETS, "the queue pair does not come to rest");
            if !all {
                return;
            }
        }
    }

    fn state(&self) -> State {
        self.endpoint.state(self.queue_pair).expect("it is never destroyed")
    }

    fn take_completions(&mut self) {
        while let Some(completion) = self.context.poll_completion(self.completions) {
            let posted = &mut self.posted[(completion.id % 2) as usize];
            assert_eq!(posted.pop_front(), Some(completion.id), "{completion:?}");
            assert_eq!(completion.queue_pair, self.queue_pair);
            assert!(
                completion.length as usize <= 4 * usize::from(u16::MAX)
                    || completion.status != CompletionStatus::Success,
                "{completion:?}"
            );
        }
        assert!(!self.context.is_overrun(self.completions));
    }

    /// What holds after every step.
    pub fn check(&mut self) {
        self.take_completions();
        while self.endpoint.poll_event().is_some() {}
        if self.state() == State::Err {
            assert!(self.posted.iter().all(VecDeque::is_empty), "ERR keeps {:?}", self.posted);
            assert_eq!(self.endpoint.next_timeout(), None, "ERR waits");
        }
    }

    /// Everything comes to an end, and nothing was touched that nobody may touch.
    pub fn end(&mut self) {
        self.poll(true);
        self.check();
        self.modify(Change::ToErr);
        self.check();
        self.poll(true);
        for memory in &self.protected {
            let mut bytes = vec![0; MEMORY];
            memory.read(0, &mut bytes).expect("all of it");
            assert!(bytes == [0; MEMORY], "memory changed that nobody may write");
        }
    }
}

fn shifted(psn: Psn, by: i8) -> Psn {
    if by < 0 { psn.sub(u32::from(by.unsigned_abs())) } else { psn.add(by as u32) }
}
