//! Taking work.

use rdmalab_verbs::{CompletionStatus, Context, PostError, ReceiveRequest, SendRequest, State};

use super::QueuePair;

impl QueuePair {
    /// Takes a send request, in RTS. In ERR it is taken and flushed; in SQD the connection is being closed, and none is taken.
    ///
    /// A SEND or WRITE completes when the stream has its last byte: that it arrived is for the application to find out. READs
    /// and atomics complete with their answers, and what is behind them not before.
    pub fn post_send(&mut self, context: &mut Context, request: &SendRequest<'_>) -> Result<(), PostError> {
        if !matches!(self.state, State::Rts | State::Err) {
            return Err(PostError::WrongState(self.state));
        }
        self.requester.post(request)?;
        if self.state == State::Err {
            let flushed = CompletionStatus::WorkRequestFlushed;
            self.requester.fail(context, &self.settings, 0, flushed);
        }
        Ok(())
    }

    /// Takes a receive, in any state; in ERR it is flushed.
    pub fn post_receive(
        &mut self,
        context: &mut Context,
        request: &ReceiveRequest<'_>,
    ) -> Result<(), PostError> {
        self.inbound.post(request)?;
        if self.state == State::Err {
            self.inbound.flush(context, &self.settings, CompletionStatus::WorkRequestFlushed);
        }
        Ok(())
    }
}
