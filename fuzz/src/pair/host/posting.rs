//! Work for both queues.

use rdmalab_verbs::{
    Operation, Placement, PostError, ReceiveRequest, Selectivity, SendFlags, SendRequest, Sge, Target,
};
use rdmalab_wire::ImmDt;

use super::super::input::Place;
use super::Host;

impl Host {
    pub fn send(&mut self, kind: u8, length: u16, local: u16, remote: Place, flags: u8) {
        let id = self.id();
        // Keys are numbered alike on both hosts, so that ours stand for the other's.
        let operation = self.operation(kind, remote, length);
        let is_word = operation.is_atomic();
        let length = if is_word { 8 } else { u32::from(length % 8192) };
        let pieces = [self.rooms.sge(local, length / 2), self.rooms.sge(local, length - length / 2)];
        let inline = [0x42; 64];
        let is_inline = flags & 8 != 0 && operation.may_be_inline();
        let elements: &[Sge] = if operation.is_without_elements() || is_inline { &[] } else { &pieces };
        let request = SendRequest {
            id,
            operation,
            target: if operation.is_local() { Target::Connected } else { self.target },
            elements,
            inline: is_inline.then(|| &inline[..length as usize % 65]),
            // All are signaled, so that each can be counted.
            flags: SendFlags::from_bits_truncate(flags) | SendFlags::SIGNALED,
        };
        match self.endpoint.post_send(&mut self.context, self.sender, &request) {
            Ok(()) => self.requests.push_back(id),
            Err(error) => check_refusal(error),
        }
    }

    fn operation(&self, kind: u8, place: Place, length: u16) -> Operation {
        let remote = self.rooms.remote(place);
        let immediate = ImmDt([7; 4]);
        match kind % 13 {
            0 => Operation::Send,
            1 => Operation::SendWithImmediate(immediate),
            2 => Operation::SendWithInvalidate(remote.key),
            3 => Operation::RdmaWrite(remote),
            4 => Operation::RdmaWriteWithImmediate(remote, immediate),
            5 => Operation::RdmaRead(remote),
            6 => Operation::FetchAndAdd { remote, add: u64::from(length) },
            7 => Operation::CompareAndSwap { remote, compare: 0, swap: u64::from(length) },
            8 => Operation::Flush {
                remote,
                length: length.into(),
                placement: if length & 1 == 0 { Placement::GLOBAL } else { Placement::PERSISTENT },
                selectivity: if length & 2 == 0 { Selectivity::Range } else { Selectivity::Region },
            },
            9 => Operation::AtomicWrite { remote, value: [0x5a; 8] },
            10 => Operation::LocalInvalidate(remote.key),
            _ => self.rooms.open(place),
        }
    }

    pub fn receive(&mut self, length: u16, local: u16, elements: u8) {
        let id = self.id();
        let elements = vec![self.rooms.sge(local, length.into()); usize::from(elements % 5)];
        let request = ReceiveRequest { id, elements: &elements };
        let posted = match self.shared {
            Some(shared) => self.context.post_shared_receive(shared, &request),
            None => self.endpoint.post_receive(&mut self.context, self.receiver, &request),
        };
        match posted {
            Ok(()) => self.receives.push_back(id),
            Err(error) => check_refusal(error),
        }
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }
}

fn check_refusal(error: PostError) {
    assert!(!matches!(error, PostError::NoSuchQueue | PostError::TooManyElements { .. }), "{error}");
}
