//! Answers that wait to be sent, in the order of their PSNs.

use rdmalab_verbs::{Accessor, Context, ProtectionDomainId};
use rdmalab_wire::{Aeth, AtomicAckEth, Body, Msn, NakCode, Psn, Reth, Syndrome};

use super::Broken;
use crate::counters::Discard;
use crate::event::Event;
use crate::outlet::Outlet;
use crate::port::Owner;
use crate::ring::Ring;

/// An acknowledgement or a NAK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Acknowledgement {
    pub(super) psn: Psn,
    pub(super) msn: Msn,
    pub(super) syndrome: Syndrome,
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// An acknowledgement or a NAK.
    Acknowledge(Acknowledgement),
    /// The response to a READ.
    Read {
        /// PSN of the next packet.
        psn: Psn,
        msn: Msn,
        /// What is still to be sent.
        rest: Reth,
        /// Whose memory it is read from.
        domain: ProtectionDomainId,
        /// Packets still to be sent.
        packets: u32,
        /// Nothing was sent yet: begins with FIRST or ONLY.
        begins: bool,
        is_new: bool,
    },
    /// The response to an atomic.
    Atomic { psn: Psn, msn: Msn, original: u64, is_new: bool },
    /// The response to a FLUSH or ATOMIC WRITE.
    Done { psn: Psn, msn: Msn, is_new: bool },
}

/// So that a ring has something for places that are free.
impl Default for Reply {
    fn default() -> Self {
        Self::Done { psn: Psn::default(), msn: Msn::default(), is_new: false }
    }
}

impl Reply {
    /// The response to a READ that was accepted just now.
    pub(super) fn read(psn: Psn, packets: u32, rest: Reth, domain: ProtectionDomainId, msn: Msn) -> Self {
        Self::Read { psn, msn, rest, domain, packets, begins: true, is_new: true }
    }

    /// The same, for a READ that was accepted before: begins with FIRST or ONLY, or goes on with MIDDLE or LAST.
    pub(super) fn repeated(mut self, from_the_start: bool) -> Self {
        if let Self::Read { is_new, begins, .. } = &mut self {
            (*is_new, *begins) = (false, from_the_start);
        }
        self
    }

    /// Packets still to be sent.
    fn packets(&self) -> u32 {
        if let Self::Read { packets, .. } = self { *packets } else { 1 }
    }

    fn counts_as_read(&self) -> bool {
        matches!(
            self,
            Self::Read { is_new: true, .. }
                | Self::Atomic { is_new: true, .. }
                | Self::Done { is_new: true, .. }
        )
    }
}

/// The queue of answers.
///
/// An acknowledgement or NAK that came last stands beside the queue, behind all that is in it: most often it is the only
/// answer, and needs nothing else from memory.
///
/// Invariants: never longer than its capacity, the READs that may be outstanding, and one last word, and room for them is
/// reserved; behind an acknowledgement or an RNR NAK never stands an acknowledgement or NAK, since the later says it all.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Replies {
    queue: Ring<Reply>,
    last: Option<Acknowledgement>,
    /// READs may bring it beyond, and the last word.
    capacity: u16,
    /// READs and atomics in it that are not replays.
    reads: u8,
    /// Acknowledgements that later ones took the place of, since the last packet was sent.
    deferred: u32,
}

impl Replies {
    /// Sets the capacity by how many READs and atomics there may be at once. What waits already stays.
    pub(super) fn resize(&mut self, max_reads: u8) {
        // Each READ may have an acknowledgement in front; as many again for replays; one for the last word.
        self.capacity = 4 * u16::from(max_reads) + 4;
        // Besides, READs are let in by their own limit, and the last word always.
        let waiting = self.len().max(self.capacity.into());
        self.queue.resize(waiting + usize::from(max_reads) + 1);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.last.is_none()
    }

    fn len(&self) -> usize {
        self.queue.len() + usize::from(self.last.is_some())
    }

    /// Whether the next packet carries data.
    pub(super) fn has_data_next(&self) -> bool {
        matches!(self.queue.front(), Some(Reply::Read { .. }))
    }

    /// READs and atomics whose response has not been sent whole.
    pub(super) fn reads(&self) -> u8 {
        self.reads
    }

    pub(super) fn clear(&mut self) {
        self.last = None;
        self.queue.clear();
        (self.reads, self.deferred) = (0, 0);
    }

    /// Adds an acknowledgement or NAK; `false` if there is no room. A later one replaces a positive one or an RNR NAK just
    /// before it. A sequence NAK stays: what came behind the gap was dropped, and the peer must be told.
    pub(super) fn push(&mut self, later: Acknowledgement) -> bool {
        if let Some(last @ Acknowledgement { syndrome: Syndrome::Ack { .. } | Syndrome::RnrNak { .. }, .. }) =
            &mut self.last
        {
            // An RNR NAK acknowledges what is in front of it; an acknowledgement of less must not take its place.
            let says_less =
                matches!(last.syndrome, Syndrome::RnrNak { .. }) && later.psn.distance(last.psn) < 0;
            if !says_less {
                self.deferred =
                    self.deferred.wrapping_add(u32::from(matches!(last.syndrome, Syndrome::Ack { .. })));
                *last = later;
            }
            return true;
        }
        if self.len() >= usize::from(self.capacity) {
            return false;
        }
        self.close();
        self.last = Some(later);
        true
    }

    /// Adds the NAK after which nothing follows.
    pub(super) fn push_last(&mut self, reply: Acknowledgement) {
        if self.len() > usize::from(self.capacity) {
            self.last = None;
            self.queue.truncate(self.capacity.into());
        }
        self.close();
        self.last = Some(reply);
    }

    /// Keeps what is sent with so many packets at most, from the front on.
    pub(super) fn keep(&mut self, mut packets: u32) {
        let mut kept = 0;
        while let Some(reply) = self.queue.get(kept)
            && reply.packets() <= packets
        {
            packets -= reply.packets();
            kept += 1;
        }
        if kept < self.queue.len() || packets == 0 {
            self.last = None;
        }
        self.queue.truncate(kept);
        self.reads = self.queue.iter().filter(|reply| reply.counts_as_read()).count() as u8;
    }

    /// Puts what stands beside the queue into it, since something follows.
    fn close(&mut self) {
        if let Some(last) = self.last.take() {
            self.queue.push(Reply::Acknowledge(last));
        }
    }

    /// Adds the response to a new READ or atomic. The check of resources made sure that there is room.
    pub(super) fn push_read(&mut self, reply: Reply) {
        self.reads += 1;
        self.close();
        self.queue.push(reply);
    }

    /// Adds the response to a repeated READ or atomic; `false` if there is no room.
    ///
    /// A response to the same request that is still under way begins again instead of being sent twice.
    pub(super) fn push_replay(&mut self, reply: Reply) -> bool {
        for place in 0..self.queue.len() {
            let Some(waiting) = self.queue.get_mut(place) else { break };
            match (waiting, reply) {
                (
                    Reply::Read { psn, rest, packets, begins, .. },
                    Reply::Read { psn: from, rest: all, packets: count, begins: anew, .. },
                ) if psn.add(*packets) == from.add(count) => {
                    (*psn, *rest, *packets, *begins) = (from, all, count, anew);
                    return true;
                }
                (Reply::Atomic { psn, .. }, Reply::Atomic { psn: again, .. })
                | (Reply::Done { psn, .. }, Reply::Done { psn: again, .. })
                    if *psn == again =>
                {
                    return true;
                }
                _ => {}
            }
        }
        // New READs must find room whatever is replayed.
        if self.len() >= usize::from(self.capacity / 2) {
            return false;
        }
        self.close();
        self.queue.push(reply);
        true
    }

    /// Sends one packet of the first answer.
    pub(super) fn send(
        &mut self,
        context: &Context,
        current: Msn,
        credits: u8,
        owner: &mut Owner<'_>,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), Broken> {
        let (settings, profile) = (owner.settings, &owner.port.profile);
        let bth = |psn| settings.bth(psn, profile);
        let transport = &settings.response_transport();
        let ack = |msn| Aeth { syndrome: Syndrome::Ack { credits }, msn };
        owner.counters.ack_deferred += u64::from(core::mem::take(&mut self.deferred));
        let acknowledge = |acknowledgement: Acknowledgement, outlet: &mut Outlet<'_>| {
            let Acknowledgement { psn, msn, syndrome } = acknowledgement;
            let aeth = match syndrome {
                // Credits are those of now, not of when the acknowledgement was due.
                Syndrome::Ack { .. } => ack(msn),
                _ => Aeth { syndrome, msn },
            };
            outlet.send(transport, &bth(psn), &Body::Acknowledge(aeth), 0, |_| Ok(()))
        };
        let Some(reply) = self.queue.front_mut() else {
            let sent = self.last.take().map_or(Ok(()), |last| acknowledge(last, outlet));
            debug_assert!(sent.is_ok(), "only a READ response can fail to be built");
            return Ok(());
        };
        let sent = match reply {
            Reply::Acknowledge(acknowledgement) => acknowledge(*acknowledgement, outlet),
            Reply::Atomic { psn, msn, original, .. } => {
                let body = Body::AtomicAcknowledge(ack(*msn), AtomicAckEth { original: *original });
                outlet.send(transport, &bth(*psn), &body, 0, |_| Ok(()))
            }
            Reply::Done { psn, msn, .. } => {
                outlet.send(transport, &bth(*psn), &Body::ReadResponseOnly(ack(*msn)), 0, |_| Ok(()))
            }
            Reply::Read { psn, msn, rest, domain, packets, begins, is_new } => {
                let accessor = Accessor { protection_domain: *domain, queue_pair: settings.serial };
                let payload = (rest.length as usize).min(settings.mtu.bytes());
                let body = match (*begins, *packets == 1) {
                    (true, true) => Body::ReadResponseOnly(ack(*msn)),
                    (true, false) => Body::ReadResponseFirst(ack(*msn)),
                    (false, false) => Body::ReadResponseMiddle,
                    (false, true) => Body::ReadResponseLast(ack(*msn)),
                };
                let sent = outlet.send(transport, &bth(*psn), &body, payload, |data| match data.len() {
                    0 => Ok(()),
                    _ => context.remote_read(&accessor, rest.key, rest.virtual_address, data),
                });
                if sent.is_ok() && *packets > 1 {
                    *psn = psn.next();
                    *packets -= 1;
                    *begins = false;
                    rest.virtual_address = rest.virtual_address.wrapping_add(payload as u64);
                    rest.length -= payload as u32;
                    return Ok(());
                }
                if sent.is_err() && !*is_new {
                    // The peer may have had this response, and the region gone for good reason. A peer that still
                    // waits for it hears nothing.
                    self.queue.pop();
                    owner.counters.discard(Discard::NotReplayed);
                    return Ok(());
                }
                if sent.is_err() {
                    // The region went while the response was on its way: a NAK takes the place of the next packet.
                    let psn = *psn;
                    let syndrome = Syndrome::Nak(NakCode::RemoteAccessError);
                    self.clear();
                    self.last = Some(Acknowledgement { psn, msn: current, syndrome });
                    owner.counters.send_fatal_nak += 1;
                    let number = owner.number;
                    owner.event(Event::AccessError(number));
                    return Err(Broken);
                }
                sent
            }
        };
        debug_assert!(sent.is_ok(), "only a READ response can fail to be built");
        if let Some(done) = self.queue.pop()
            && done.counts_as_read()
        {
            self.reads -= 1;
        }
        Ok(())
    }
}
