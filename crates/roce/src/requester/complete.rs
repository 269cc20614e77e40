//! How requests end: in order, each exactly once.

use rdmalab_verbs::{Completion, CompletionStatus, Context, Operation, SendFlags, SendWork};
use rdmalab_wire::Qpn;

use super::{Cursor, Requester};
use crate::port::Owner;
use crate::settings::Settings;

impl Requester {
    /// Ends the oldest request.
    pub(super) fn complete(
        &mut self,
        context: &mut Context,
        number: Qpn,
        settings: &Settings,
        status: CompletionStatus,
    ) {
        if let Some(flight) = self.flights.pop() {
            self.unacknowledged = flight.first.add(flight.packets);
            self.credit.complete(flight.number);
            self.cursor = match self.cursor.place {
                0 => Cursor::default(),
                place => Cursor { place: place - 1, packet: self.cursor.packet },
            };
        }
        let Some((work, _)) = self.queue.get(0) else { return };
        self.reads = self.reads.saturating_sub(u16::from(work.operation.is_read_or_atomic()));
        report(context, work, number, settings, status);
        self.queue.pop();
    }

    /// Ends local requests that everything before is done of.
    pub(super) fn complete_local(&mut self, context: &mut Context, owner: &Owner<'_>) {
        while self.flights.front().is_some_and(|oldest| oldest.packets == 0) {
            self.complete(context, owner.number, owner.settings, CompletionStatus::Success);
        }
    }

    /// Ends the oldest request with a status, and all others as flushed.
    pub(crate) fn fail(
        &mut self,
        context: &mut Context,
        number: Qpn,
        settings: &Settings,
        status: CompletionStatus,
    ) {
        if !self.queue.is_empty() {
            self.complete(context, number, settings, status);
        }
        self.flush(context, number, settings);
    }

    /// Ends all requests as flushed.
    pub(crate) fn flush(&mut self, context: &mut Context, number: Qpn, settings: &Settings) {
        while !self.queue.is_empty() {
            self.complete(context, number, settings, CompletionStatus::WorkRequestFlushed);
        }
        self.reset();
    }
}

/// Tells the application how a request ended. Success is told only where it was asked for.
pub(crate) fn report(
    context: &mut Context,
    work: &SendWork,
    number: Qpn,
    settings: &Settings,
    status: CompletionStatus,
) {
    let is_success = status == CompletionStatus::Success;
    if is_success && !work.flags.contains(SendFlags::SIGNALED) && !settings.signals_all {
        return;
    }
    let has_data = matches!(
        work.operation,
        Operation::RdmaRead(_) | Operation::CompareAndSwap { .. } | Operation::FetchAndAdd { .. }
    );
    let completion = Completion {
        id: work.id,
        status,
        kind: work.operation.completion_kind(),
        length: if is_success && has_data { work.length } else { 0 },
        queue_pair: number,
        ..Completion::default()
    };
    context.complete(settings.send_queue, completion);
}
