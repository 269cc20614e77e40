//! The server's side of one client: each datagram goes back to where it came from.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rdmalab_device::{
    Access, AddressHandle, Completion, CompletionKind, ImmDt, MemoryRegion, Operation, Path, PathMtu,
    ProtectionDomain, QKey, QueuePair, ReceiveRequest, SendFlags, SendRequest,
};

use super::AREA;
use crate::connect_error::ConnectError;
use crate::serve::{Numbers, Step};

/// The queue key of RDMA-CM's datagram services (seen).
const QUEUE_KEY: QKey = QKey::new(0x0123_4567);
/// The numbers of sends are those of the receives whose data they send, and this.
const SEND: u64 = 128;

/// The server's side of one client.
pub(crate) struct Answerer {
    numbers: Numbers,
    memory: MemoryRegion,
    /// Bytes of a place in it: of the longest datagram, and the area in front.
    place: u32,
    /// The way back to whoever sent last: it is always the same.
    way: Option<(IpAddr, AddressHandle)>,
}

impl Answerer {
    /// Receives that are kept posted; a place is free again when its datagram has gone back.
    pub(crate) const RECEIVES: u32 = 64;

    /// A service that is about to be told of.
    pub(crate) fn open(
        domain: &ProtectionDomain,
        queue_pair: &QueuePair,
        numbers: Numbers,
        longest: PathMtu,
    ) -> Result<Self, ConnectError> {
        let place = AREA + longest.bytes() as u32;
        let memory = domain.register((place * Self::RECEIVES) as usize, Access::LOCAL_WRITE)?;
        let answerer = Self { numbers, memory, place, way: None };
        for place in 0..Self::RECEIVES {
            answerer.receive(queue_pair, place.into())?;
        }
        Ok(answerer)
    }

    fn receive(&self, queue_pair: &QueuePair, place: u64) -> Result<(), ConnectError> {
        let elements = [self.memory.element(place * u64::from(self.place), self.place)];
        queue_pair.post_receive(&ReceiveRequest { id: self.numbers.number(place), elements: &elements })?;
        Ok(())
    }

    /// Something has completed, with success.
    pub(crate) fn completed(
        &mut self,
        domain: &ProtectionDomain,
        queue_pair: &QueuePair,
        completion: &Completion,
    ) -> Result<Step, ConnectError> {
        let place = Numbers::place(completion.id);
        if completion.kind != CompletionKind::Receive {
            self.receive(queue_pair, place % SEND)?;
            return Ok(Step::default());
        }
        let length = completion.length.saturating_sub(AREA);
        let mut area = [0; AREA as usize];
        // The receive's own place.
        let _ = self.memory.read(place as usize * self.place as usize, &mut area);
        let (Some(source), Some((own, peer))) = (completion.source, ends(&area)) else {
            self.receive(queue_pair, place)?;
            return Ok(Step::default());
        };
        if self.way.as_ref().is_none_or(|(to, _)| *to != peer) {
            self.way = Some((peer, domain.address_handle(Path::new(own, peer))?));
        }
        let Some((_, way)) = &self.way else { return Ok(Step::default()) };
        queue_pair.post_send(&SendRequest {
            id: self.numbers.number(SEND + place),
            operation: Operation::SendWithImmediate(ImmDt::new(queue_pair.number().value().to_be_bytes())),
            target: way.target(source, QUEUE_KEY),
            elements: &[self.memory.element(place * u64::from(self.place) + u64::from(AREA), length)],
            flags: SendFlags::SIGNALED,
            ..SendRequest::default()
        })?;
        Ok(Step { messages: 1, bytes: u64::from(length) * 2, ..Step::default() })
    }
}

/// Whom a datagram is for, and whom it is from, out of the area in front of it: an IPv6 header, or an IPv4 header in the
/// last twenty bytes.
fn ends(area: &[u8; AREA as usize]) -> Option<(IpAddr, IpAddr)> {
    if area[0] >> 4 == 6 {
        let source: [u8; 16] = area.get(8..24)?.try_into().ok()?;
        let destination: [u8; 16] = area.get(24..40)?.try_into().ok()?;
        return Some((Ipv6Addr::from(destination).into(), Ipv6Addr::from(source).into()));
    }
    let source: [u8; 4] = area.get(32..36)?.try_into().ok()?;
    let destination: [u8; 4] = area.get(36..40)?.try_into().ok()?;
    Some((Ipv4Addr::from(destination).into(), Ipv4Addr::from(source).into()))
}
