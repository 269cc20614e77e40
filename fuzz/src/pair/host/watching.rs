//! What must hold: of packets that go out, of time, of completions.

use rdmalab_verbs::{CompletionKind, CompletionStatus, State};
use rdmalab_wire::{Datagram, Packet, Transport};

use super::super::input::{Change, Service};
use super::{Host, address};

/// Packets that may go out without time going by. Sixteen READs of all memory in the smallest packets, twice over, are
/// far fewer.
const MOST_PACKETS: usize = 16_384;

impl Host {
    /// Takes all packets out and looks at each.
    pub fn poll(&mut self, now: u64) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        while self.endpoint.has_packets() {
            self.batch.clear();
            self.endpoint.poll(&mut self.context, now, &mut self.batch);
            packets.extend(self.batch.packets().map(<[u8]>::to_vec));
            assert!(packets.len() <= MOST_PACKETS, "the host does not come to rest");
        }
        for packet in &packets {
            self.look_at(packet);
        }
        packets
    }

    fn look_at(&mut self, packet: &[u8]) {
        let datagram = Datagram::parse(packet).expect("what goes out is a datagram");
        datagram.verify_icrc().expect("what goes out has its ICRC");
        datagram.verify_checksums().expect("what goes out has its checksums");
        assert_eq!(datagram.source, address(self.number));
        assert_eq!(datagram.destination, address(1 - self.number));
        let packet = Packet::parse(datagram.ib).expect("what goes out is legal");
        let other = self.other.expect("nothing goes out before");
        assert!([other.sender, other.receiver].contains(&packet.bth.destination), "{packet}");
        let most = if self.service == Service::Ud { 4096 } else { self.mtu.bytes() };
        assert!(packet.payload.len() <= most, "{packet}");
        if packet.transport == Transport::Cnp {
            return;
        }
        if packet.body.is_response() {
            self.last_answer = packet.bth.psn;
        } else {
            self.last_request = packet.bth.psn;
        }
    }

    pub fn handle_timeout(&mut self, now: u64) {
        self.endpoint.handle_timeout(&mut self.context, now);
        let later = self.endpoint.next_timeout().is_none_or(|next| next > now);
        assert!(later, "a timeout stays due after it was handled");
    }

    pub(super) fn take_completions(&mut self) {
        while let Some(completion) = self.context.poll_completion(self.completions) {
            assert!([self.sender, self.receiver].contains(&completion.queue_pair), "{completion:?}");
            if self.requests.front() == Some(&completion.id) {
                self.requests.pop_front();
                continue;
            }
            let place = self.receives.iter().position(|id| *id == completion.id);
            let place = place.unwrap_or_else(|| panic!("not posted, or not its turn: {completion:?}"));
            self.receives.remove(place);
            // From a shared queue a receive may be taken and forgotten when its queue pair is reset.
            assert!(place == 0 || self.shared.is_some(), "out of order: {completion:?}");
            if completion.status == CompletionStatus::Success {
                let kinds = [CompletionKind::Receive, CompletionKind::ReceiveRdmaWithImmediate];
                assert!(kinds.contains(&completion.kind), "{completion:?}");
            }
        }
        assert!(!self.context.is_overrun(self.completions));
    }

    /// What holds after every step.
    pub fn check(&mut self) {
        self.take_completions();
        while self.endpoint.poll_event().is_some() {}
        while self.context.poll_event().is_some() {}
        let [sender, receiver] = [self.sender, self.receiver].map(|number| self.endpoint.state(number));
        if sender == Some(State::Err) {
            assert!(self.requests.is_empty(), "ERR keeps {:?}", self.requests);
        }
        if receiver == Some(State::Err) && self.shared.is_none() {
            assert!(self.receives.is_empty(), "ERR keeps {:?}", self.receives);
        }
        // Answers before the NAK still go out, and may have to wait for the rate of the flow; for nothing else.
        let is_paced =
            [self.sender, self.receiver].iter().any(|number| self.endpoint.rate(*number).is_some());
        if self.states().all(|state| state == State::Err) && !is_paced {
            assert_eq!(self.endpoint.next_timeout(), None, "ERR waits");
        }
    }

    /// Everything comes to an end, and nothing was touched that nobody may touch.
    pub fn end(&mut self, now: u64) {
        self.change(now, false, Change::ToErr);
        self.change(now, true, Change::ToErr);
        self.check();
        self.poll(now);
        assert!(self.poll(now).is_empty(), "ERR goes on sending");
        assert_eq!(self.endpoint.next_timeout(), None, "ERR waits");
        self.rooms.check();
    }
}
