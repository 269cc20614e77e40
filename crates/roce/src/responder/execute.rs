//! Carrying out a request of a reliable connection with the expected PSN.

use rdmalab_verbs::{Atomic64, Context};
use rdmalab_wire::{AtomicEth, Body, Feth, Packet, Psn, Reth};

use super::Responder;
use super::replay::{Done, Kind};
use super::replies::Reply;
use crate::assembly::checks::{self, MAX_MESSAGE, Request};
use crate::assembly::{Fault, Progress};
use crate::port::Owner;
use crate::receives::Landing;

impl Responder {
    /// Checks a packet with the expected PSN and carries it out. After a fault, nothing has changed.
    pub(super) fn take(
        &mut self,
        context: &mut Context,
        packet: &Packet<'_>,
        landing: &Landing,
        owner: &mut Owner<'_>,
    ) -> Result<(), Fault> {
        let request = checks::request(&packet.body).ok_or(Fault::INVALID)?;
        if request.has_response() {
            return self.take_read_or_atomic(context, packet, &request, landing, owner);
        }
        if self.assembly.take(context, packet, &request, landing, owner)? == Progress::Ended {
            self.msn = self.msn.next();
        }
        self.expected = packet.bth.psn.next();
        if packet.bth.ack_request {
            self.acknowledge();
        }
        Ok(())
    }

    /// A request that is answered by a response of its own: READ, the atomics, FLUSH and ATOMIC WRITE.
    fn take_read_or_atomic(
        &mut self,
        context: &mut Context,
        packet: &Packet<'_>,
        request: &Request,
        landing: &Landing,
        owner: &mut Owner<'_>,
    ) -> Result<(), Fault> {
        self.assembly.check_order(request)?;
        checks::check_enabled(request, &packet.body, owner.settings)?;
        if self.replies.reads() >= owner.settings.max_destination_reads {
            return Err(Fault::INVALID);
        }
        let payload = if matches!(request, Request::AtomicWrite(_)) { 8 } else { 0 };
        let fits = match request {
            Request::Read(reth) => reth.length <= MAX_MESSAGE,
            Request::AtomicWrite(reth) => reth.length == 8,
            Request::Flush(feth, _) => {
                feth.placement & (Feth::GLOBAL_VISIBILITY | Feth::PERSISTENCE) != 0
                    && feth.selectivity <= Feth::REGION
            }
            _ => true,
        };
        if packet.payload.len() != payload || !fits {
            return Err(Fault::INVALID);
        }
        checks::check_key(context, &packet.body, &landing.accessor)?;

        let psn = packet.bth.psn;
        match *request {
            Request::Read(reth) => self.begin_read(psn, reth, landing, owner),
            Request::Atomic(atomic) => self.run_atomic(context, packet, atomic, landing)?,
            Request::AtomicWrite(reth) => {
                let value = packet.payload.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
                let (key, address) = (reth.key, reth.virtual_address);
                context
                    .remote_atomic(&landing.accessor, key, address, Atomic64::Swap { value })
                    .map_err(|_| Fault::ACCESS)?;
                self.finish_without_data(psn, Kind::AtomicWrite(reth), 8);
            }
            // What was placed is visible to everybody at once, and as lasting as this memory can be.
            Request::Flush(feth, reth) => self.finish_without_data(psn, Kind::Flush(feth, reth), 0),
            Request::Send(_) | Request::Write(_) => return Err(Fault::INVALID),
        }
        Ok(())
    }

    /// Accepts a READ. It counts as a message from now on; its data is fetched when the response is sent.
    fn begin_read(&mut self, psn: Psn, reth: Reth, landing: &Landing, owner: &Owner<'_>) {
        let packets = reth.length.div_ceil(owner.settings.mtu.bytes() as u32).max(1);
        self.msn = self.msn.next();
        self.assembly.served.count(reth.length);
        self.expected = psn.add(packets);
        self.replay.remember(Done { first: psn, packets, kind: Kind::Read(reth) });
        self.replies.push_read(Reply::read(psn, packets, reth, landing.accessor.protection_domain, self.msn));
    }

    fn run_atomic(
        &mut self,
        context: &mut Context,
        packet: &Packet<'_>,
        atomic: AtomicEth,
        landing: &Landing,
    ) -> Result<(), Fault> {
        let operation = operation(&packet.body, atomic);
        let (key, address) = (atomic.key, atomic.virtual_address);
        let original =
            context.remote_atomic(&landing.accessor, key, address, operation).map_err(|_| Fault::ACCESS)?;
        let psn = packet.bth.psn;
        self.msn = self.msn.next();
        self.assembly.served.count(8);
        self.expected = psn.next();
        let kind = Kind::Atomic { address, key, operation, original };
        self.replay.remember(Done { first: psn, packets: 1, kind });
        self.replies.push_read(Reply::Atomic { psn, msn: self.msn, original, is_new: true });
        Ok(())
    }

    /// FLUSH and ATOMIC WRITE are answered by a READ response without data.
    fn finish_without_data(&mut self, psn: Psn, kind: Kind, bytes: u32) {
        self.msn = self.msn.next();
        self.assembly.served.count(bytes);
        self.expected = psn.next();
        self.replay.remember(Done { first: psn, packets: 1, kind });
        self.replies.push_read(Reply::Done { psn, msn: self.msn, is_new: true });
    }
}

/// What an atomic request asks for.
pub(super) fn operation(body: &Body, atomic: AtomicEth) -> Atomic64 {
    match body {
        Body::CompareSwap(_) => {
            Atomic64::CompareAndSwap { compare: atomic.compare, swap: atomic.swap_or_add }
        }
        _ => Atomic64::FetchAndAdd { add: atomic.swap_or_add },
    }
}
