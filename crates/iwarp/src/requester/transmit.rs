//! Which segments a request is made of.

use rdmalab_verbs::{
    Access, CompletionStatus, Context, LocalFault, Operation, RemoteAddress, SendFlags, SendWork, Sge,
};
use rdmalab_wire::iwarp::{AtomicOperation, AtomicRequest, Header, Opcode, Place, ReadRequest, Stag, queue};

use super::{Requester, Stage, carry_out};
use crate::negotiated::ReadyToReceive;
use crate::outlet::{NotWritten, Outlet};
use crate::settings::Settings;

/// The tag in a ready-to-receive message: no buffer has it, and none is touched (as Linux siw sends it).
pub(super) const READY_STAG: Stag = Stag::new(1);

/// What came of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// An FPDU of so many bytes was written.
    Written(usize),
    /// Something was done that takes no bytes.
    Quiet,
    /// The buffer is too small.
    NoRoom,
    /// The request so many places behind the oldest cannot be done; the connection ends.
    Failed(usize, CompletionStatus),
}

/// What to send next of a request.
struct Piece {
    header: Header,
    /// Where its payload begins in the message, and how long it is.
    offset: u32,
    length: u32,
}

impl Requester {
    /// Does the next thing; [`may_send`](Self::may_send) said that there is one.
    pub(crate) fn step(
        &mut self,
        context: &mut Context,
        settings: &Settings,
        outlet: &mut Outlet,
        out: &mut [u8],
    ) -> Step {
        if let Some(ready) = self.ready {
            return self.send_ready(ready, outlet, out);
        }
        let Some((work, elements)) = self.queue.get(self.begun as usize) else { return Step::Quiet };
        let work = *work;
        let begins = self.stage == Stage::Waiting;
        let begun = if work.operation.is_local() {
            carry_out(&work.operation, context, &settings.accessor)
        } else if begins {
            check_memory(&work, elements, context, settings)
        } else {
            Ok(())
        };
        if let Err(status) = begun {
            // Older requests must complete first; then the same request fails again, for good.
            self.blocked = self.begun > 0;
            return if self.blocked { Step::Quiet } else { Step::Failed(0, status) };
        }
        self.blocked = false;
        if work.operation.is_local() {
            self.begun += 1;
            self.complete_sent(context, settings);
            return Step::Quiet;
        }
        match work.operation {
            Operation::RdmaRead(_) | Operation::RdmaReadWithInvalidate(..) => {
                self.send_read(&work, outlet, out)
            }
            _ if work.operation.is_atomic() => self.send_atomic(&work, outlet, out),
            _ if self.stage == Stage::Immediate => self.send_immediate(&work, context, settings, outlet, out),
            _ => self.send_piece(&work, context, settings, outlet, out),
        }
    }

    /// One segment of a SEND or a WRITE.
    fn send_piece(
        &mut self,
        work: &SendWork,
        context: &mut Context,
        settings: &Settings,
        outlet: &mut Outlet,
        out: &mut [u8],
    ) -> Step {
        let sent = if let Stage::Message(sent) = self.stage { sent } else { 0 };
        let piece = self.piece(work, sent, outlet);
        let place = self.begun as usize;
        let Some((_, elements)) = self.queue.get(place) else { return Step::Quiet };
        let inline = self.queue.inline(place);
        let domain = settings.accessor.protection_domain;
        let written = outlet.put(&piece.header, piece.length as usize, out, |offset, data| {
            let offset = piece.offset + offset;
            match inline {
                Some(inline) => {
                    let from = inline.get(offset as usize..).and_then(|rest| rest.get(..data.len()));
                    data.copy_from_slice(from.ok_or(LocalFault::Bounds)?);
                    Ok(())
                }
                None => context.gather(domain, elements, offset, data),
            }
        });
        let written = match written {
            Ok(written) => written,
            Err(NotWritten::NoRoom) => return Step::NoRoom,
            // The message is cut off, so that nobody can wait for anything.
            Err(NotWritten::Payload(_)) => {
                return Step::Failed(place, CompletionStatus::LocalProtectionError);
            }
        };
        if !piece.header.last {
            self.stage = Stage::Message(piece.offset + piece.length);
        } else if matches!(work.operation, Operation::RdmaWriteWithImmediate(..)) {
            self.stage = Stage::Immediate;
        } else {
            if !matches!(work.operation, Operation::RdmaWrite(_)) {
                self.send_msn = self.send_msn.wrapping_add(1);
            }
            self.finish_sending(context, settings);
        }
        Step::Written(written)
    }

    fn piece(&self, work: &SendWork, offset: u32, outlet: &Outlet) -> Piece {
        let solicited = work.flags.contains(SendFlags::SOLICITED);
        let rest = work.length - offset;
        let (opcode, place, most) = match work.operation {
            Operation::RdmaWrite(remote) | Operation::RdmaWriteWithImmediate(remote, _) => {
                let place = Place::Tagged {
                    stag: Stag::new(remote.key.value()),
                    offset: remote.address.wrapping_add(u64::from(offset)),
                };
                (Opcode::WRITE, place, outlet.tagged_payload())
            }
            operation => {
                let (opcode, upper) = match operation {
                    Operation::SendWithInvalidate(key) if solicited => (Opcode::SEND_SE_INV, key.value()),
                    Operation::SendWithInvalidate(key) => (Opcode::SEND_INV, key.value()),
                    _ if solicited => (Opcode::SEND_SE, 0),
                    _ => (Opcode::SEND, 0),
                };
                let place = Place::Untagged { upper, queue: queue::SEND, msn: self.send_msn, offset };
                (opcode, place, outlet.untagged_payload())
            }
        };
        let length = rest.min(most);
        Piece { header: Header::new(opcode, length == rest, place), offset, length }
    }

    /// The immediate data behind a WRITE (RFC 7306 §6): four bytes of the verbs, and four of zero.
    fn send_immediate(
        &mut self,
        work: &SendWork,
        context: &mut Context,
        settings: &Settings,
        outlet: &mut Outlet,
        out: &mut [u8],
    ) -> Step {
        let Operation::RdmaWriteWithImmediate(_, data) = work.operation else { return Step::Quiet };
        let solicited = work.flags.contains(SendFlags::SOLICITED);
        let opcode = if solicited { Opcode::IMMEDIATE_SE } else { Opcode::IMMEDIATE };
        let header = untagged(opcode, queue::SEND, self.send_msn);
        let [a, b, c, d] = data.0;
        let Some(written) = outlet.put_bytes(&header, &[a, b, c, d, 0, 0, 0, 0], out) else {
            return Step::NoRoom;
        };
        self.send_msn = self.send_msn.wrapping_add(1);
        self.finish_sending(context, settings);
        Step::Written(written)
    }

    /// The sink of a READ is named by the key and the address of its first element, and counts on from there through all
    /// others: the answer goes into the elements, and the peer gets no right by it.
    fn send_read(&mut self, work: &SendWork, outlet: &mut Outlet, out: &mut [u8]) -> Step {
        let Some(request) = self.read_request(self.begun as usize, work) else { return Step::Quiet };
        self.send_request(Opcode::READ_REQUEST, &request.encode(), outlet, out)
    }

    /// What the READ so many places behind the oldest asks for; `None` if it is none.
    pub(super) fn read_request(&self, place: usize, work: &SendWork) -> Option<ReadRequest> {
        let (Operation::RdmaRead(source) | Operation::RdmaReadWithInvalidate(source, _)) = work.operation
        else {
            return None;
        };
        let sink = self.sink(place);
        Some(ReadRequest {
            sink_stag: Stag::new(sink.key),
            sink_offset: sink.address,
            length: work.length,
            source_stag: Stag::new(source.key.value()),
            source_offset: source.address,
        })
    }

    /// Where the answer to the READ so many places behind the oldest begins.
    pub(super) fn sink(&self, place: usize) -> Sge {
        let elements = self.queue.get(place).map_or(&[][..], |(_, elements)| elements);
        elements.first().copied().unwrap_or_default()
    }

    fn send_atomic(&mut self, work: &SendWork, outlet: &mut Outlet, out: &mut [u8]) -> Step {
        let Some(request) = atomic_request(&work.operation, self.atomics) else { return Step::Quiet };
        let step = self.send_request(Opcode::ATOMIC_REQUEST, &request.encode(), outlet, out);
        if matches!(step, Step::Written(_)) {
            self.atomics = self.atomics.wrapping_add(1);
        }
        step
    }

    fn send_request(&mut self, opcode: Opcode, body: &[u8], outlet: &mut Outlet, out: &mut [u8]) -> Step {
        let header = untagged(opcode, queue::REQUEST, self.request_msn);
        let Some(written) = outlet.put_bytes(&header, body, out) else { return Step::NoRoom };
        self.request_msn = self.request_msn.wrapping_add(1);
        self.begun += 1;
        self.reads += 1;
        Step::Written(written)
    }

    fn send_ready(&mut self, ready: ReadyToReceive, outlet: &mut Outlet, out: &mut [u8]) -> Step {
        let written = match ready {
            ReadyToReceive::Empty => outlet.put_empty(out),
            ReadyToReceive::Write => {
                let place = Place::Tagged { stag: READY_STAG, offset: 0 };
                outlet.put_bytes(&Header::new(Opcode::WRITE, true, place), &[], out)
            }
            ReadyToReceive::Read => {
                let request =
                    ReadRequest { sink_stag: READY_STAG, source_stag: READY_STAG, ..ReadRequest::default() };
                let header = untagged(Opcode::READ_REQUEST, queue::REQUEST, self.request_msn);
                outlet.put_bytes(&header, &request.encode(), out)
            }
        };
        let Some(written) = written else { return Step::NoRoom };
        if ready == ReadyToReceive::Read {
            self.request_msn = self.request_msn.wrapping_add(1);
            self.ready_is_read = true;
        }
        self.ready = None;
        Step::Written(written)
    }

    /// The last byte of a message without an answer was written: the stream has it.
    fn finish_sending(&mut self, context: &mut Context, settings: &Settings) {
        self.stage = Stage::Waiting;
        self.begun += 1;
        self.complete_sent(context, settings);
    }
}

/// Whether all that a request is to send, or to receive as an answer, may be used.
fn check_memory(
    work: &SendWork,
    elements: &[Sge],
    context: &Context,
    settings: &Settings,
) -> Result<(), CompletionStatus> {
    let access = if work.operation.is_read_or_atomic() { Access::LOCAL_WRITE } else { Access::empty() };
    context
        .check_local(settings.accessor.protection_domain, elements, access)
        .map_err(|_| CompletionStatus::LocalProtectionError)
}

fn untagged(opcode: Opcode, queue: u32, msn: u32) -> Header {
    Header::new(opcode, true, Place::Untagged { upper: 0, queue, msn, offset: 0 })
}

fn atomic_request(operation: &Operation, request_id: u32) -> Option<AtomicRequest> {
    let request = |operation, remote: RemoteAddress| AtomicRequest {
        operation,
        request_id,
        stag: Stag::new(remote.key.value()),
        offset: remote.address,
        ..AtomicRequest::default()
    };
    let add = |remote, add, boundary| AtomicRequest {
        add_or_swap: add,
        add_or_swap_mask: boundary,
        ..request(AtomicOperation::FetchAdd, remote)
    };
    let swap = |remote, (compare, compare_mask), (swap, swap_mask)| AtomicRequest {
        add_or_swap: swap,
        add_or_swap_mask: swap_mask,
        compare,
        compare_mask,
        ..request(AtomicOperation::CompareSwap, remote)
    };
    Some(match *operation {
        Operation::FetchAndAdd { remote, add: value } => add(remote, value, 0),
        Operation::MaskedFetchAndAdd { remote, add: value, boundary } => add(remote, value, boundary),
        Operation::CompareAndSwap { remote, compare, swap: value } => {
            swap(remote, (compare, u64::MAX), (value, u64::MAX))
        }
        Operation::MaskedCompareAndSwap { remote, compare, compare_mask, swap: value, swap_mask } => {
            swap(remote, (compare, compare_mask), (value, swap_mask))
        }
        _ => return None,
    })
}
