//! Keeping what queue pairs use.

use super::{Context, ProtectionDomainId};
use crate::completion_queue::CompletionQueueId;
use crate::error::NoSuchObject;
use crate::shared_receive_queue::SharedReceiveQueueId;
use crate::xrc_domain::XrcDomainId;

/// What a queue pair uses and what therefore must stay as long as it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attachment {
    /// Where it lives.
    pub protection_domain: Option<ProtectionDomainId>,
    /// Gets the completions of its send requests.
    pub send_queue: Option<CompletionQueueId>,
    /// Gets the completions of its receives; may be the same.
    pub receive_queue: Option<CompletionQueueId>,
    /// Where its receives come from.
    pub shared: Option<SharedReceiveQueueId>,
    /// Whose shared receive queues it reaches.
    pub xrc_domain: Option<XrcDomainId>,
}

impl Context {
    /// Notes that a queue pair uses some objects, so that they stay. If one of them is not there, nothing changes.
    pub fn attach(&mut self, attachment: &Attachment) -> Result<(), NoSuchObject> {
        let Attachment { protection_domain, send_queue, receive_queue, shared, xrc_domain } = *attachment;
        let has_queue = |id: CompletionQueueId| self.completion_queues.get(id.0).is_some();
        let has_all = protection_domain.is_none_or(|id| self.has_domain(id))
            && send_queue.is_none_or(has_queue)
            && receive_queue.is_none_or(has_queue)
            && shared.is_none_or(|id| self.shared_receive_queues.get(id.0).is_some())
            && xrc_domain.is_none_or(|id| self.xrc_domains.get(id.0).is_some());
        if !has_all {
            return Err(NoSuchObject);
        }
        self.count(attachment, |users| *users += 1);
        Ok(())
    }

    /// Undoes [`attach`](Self::attach).
    pub fn detach(&mut self, attachment: &Attachment) {
        self.count(attachment, |users| *users = users.saturating_sub(1));
    }

    fn count(&mut self, attachment: &Attachment, step: impl Fn(&mut u32)) {
        let Attachment { protection_domain, send_queue, receive_queue, shared, xrc_domain } = *attachment;
        if let Some(users) = protection_domain.and_then(|id| self.domains.get_mut(id.0)) {
            step(users);
        }
        for id in [send_queue, receive_queue].into_iter().flatten() {
            if let Some(queue) = self.completion_queues.get_mut(id.0) {
                step(&mut queue.users);
            }
        }
        if let Some(queue) = shared.and_then(|id| self.shared_receive_queues.get_mut(id.0)) {
            step(&mut queue.users);
        }
        if let Some(domain) = xrc_domain.and_then(|id| self.xrc_domains.get_mut(id.0)) {
            step(&mut domain.users);
        }
    }
}
