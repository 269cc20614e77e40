//! Work for both queues.

use rdmalab_verbs::{Operation, PostError, ReceiveRequest, RemoteAddress, SendFlags, SendRequest, Sge};
use rdmalab_wire::{ImmDt, RKey};

use super::{BASE, Rig};

impl Rig {
    /// One request of each kind, and receives for the peer's.
    pub(super) fn post_everything(&mut self) {
        for kind in 0..7 {
            self.send(kind, 600, 600 * u16::from(kind), 1, false);
        }
        for n in 0..4 {
            self.receive(1000, 1000 * n, n as u8, false);
        }
    }

    pub(super) fn send(&mut self, kind: u8, length: u16, at: u16, flags: u8, foreign: bool) {
        let remote = RemoteAddress { address: 0x5000, key: RKey::new(0x1234) };
        let operation = match kind % 7 {
            0 => Operation::Send,
            1 => Operation::SendWithImmediate(ImmDt([9; 4])),
            2 => Operation::RdmaWrite(remote),
            3 => Operation::RdmaWriteWithImmediate(remote, ImmDt([8; 4])),
            4 => Operation::RdmaRead(remote),
            5 => Operation::FetchAndAdd { remote, add: 1 },
            _ => Operation::CompareAndSwap { remote, compare: 0, swap: 1 },
        };
        let length = if operation.is_atomic() { 8 } else { u32::from(length) };
        let id = self.id(0);
        let elements = [self.sge(at, length / 2, foreign), self.sge(at, length - length / 2, foreign)];
        // All are signaled, so that each can be counted.
        let flags = SendFlags::from_bits_truncate(flags) | SendFlags::SIGNALED;
        let request = SendRequest { id, operation, elements: &elements, flags, ..SendRequest::default() };
        match self.endpoint.post_send(&mut self.context, self.queue_pair, &request) {
            Ok(()) => self.posted[0].push_back(id),
            Err(error) => self.check_refusal(error),
        }
    }

    pub(super) fn receive(&mut self, length: u16, at: u16, elements: u8, foreign: bool) {
        let id = self.id(1);
        let elements = vec![self.sge(at, length.into(), foreign); usize::from(elements % 5)];
        let request = ReceiveRequest { id, elements: &elements };
        match self.endpoint.post_receive(&mut self.context, self.queue_pair, &request) {
            Ok(()) => self.posted[1].push_back(id),
            Err(error) => self.check_refusal(error),
        }
    }

    /// Requests have even numbers, receives odd ones.
    pub(super) fn id(&mut self, kind: u64) -> u64 {
        self.next_id += 2;
        self.next_id + kind
    }

    pub(super) fn sge(&self, at: u16, length: u32, foreign: bool) -> Sge {
        let key = if foreign { self.frame.foreign } else { self.frame.may_go };
        Sge { address: BASE + u64::from(at), length, key }
    }

    pub(super) fn check_refusal(&self, error: PostError) {
        assert!(!matches!(error, PostError::NoSuchQueue | PostError::TooManyElements { .. }), "{error}");
    }
}
