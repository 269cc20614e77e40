//! Changes of state and attributes by order of the application.

use rdmalab_verbs::{Attributes, Context, ModifyError, State};

use super::QueuePair;
use crate::port::Port;
use crate::settings::{Settings, network_header};

impl QueuePair {
    /// Whether a change that the table has may be made now.
    pub(crate) fn may_change(
        &self,
        context: &Context,
        attributes: &Attributes,
        to: State,
    ) -> Result<(), ModifyError> {
        if matches!(to, State::Reset | State::Err) {
            return Ok(());
        }
        if self.settings.has_overrun(context) {
            return Err(ModifyError::CompletionQueueOverrun);
        }
        let changes = to != State::Sqd || !attributes.set().is_empty();
        if self.state == State::Sqd && !self.drained && changes {
            return Err(ModifyError::Draining);
        }
        Ok(())
    }

    /// Carries out a change that was checked against the table.
    pub(crate) fn modify(
        &mut self,
        context: &mut Context,
        attributes: &Attributes,
        to: State,
        port: &mut Port,
    ) {
        self.settings.apply(attributes, &port.config);
        if attributes.max_destination_reads.is_some() {
            self.receive_half.resize(&self.settings);
        }
        if attributes.path.is_some() {
            self.path = attributes.path;
            let Settings { number, destination, .. } = self.settings;
            self.network =
                self.path.and_then(|path| network_header(&path, number, destination, &port.config));
        }
        if let Some(psn) = attributes.receive_psn {
            self.receive_half.start(psn, &self.settings);
        }
        if attributes.retry_count.is_some() || attributes.rnr_retry.is_some() {
            self.send_half.set_budgets(&self.settings);
        }
        if let Some(psn) = attributes.send_psn {
            self.send_half.start(psn, &self.settings, &port.config);
        }
        let from = core::mem::replace(&mut self.state, to);
        match to {
            State::Reset => {
                self.send_half.reset();
                self.receive_half.reset();
                self.network = None;
                (self.established, self.drained, self.notifies) = (false, false, false);
                if let Some(pace) = &mut self.pace {
                    pace.controller.reset();
                    pace.until = None;
                }
            }
            State::Err => {
                self.receive_half.forget_replies();
                self.notifies = false;
                self.flush(context, from, port);
            }
            State::Sqd if from != State::Sqd => {
                self.drained = false;
                self.notice_drained(port);
            }
            _ => {}
        }
        self.note_requests();
        self.note_answers();
    }
}
