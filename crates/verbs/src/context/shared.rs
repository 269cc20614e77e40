//! Shared receive queues and XRC domains.

use alloc::vec::Vec;

use super::{Context, ProtectionDomainId, remove_unused};
use crate::error::{ArmError, CreateError, LimitReached, RemoveError};
use crate::event::ContextEvent;
use crate::queues::ReceiveWork;
use crate::shared_receive_queue::{SharedReceiveQueue, SharedReceiveQueueConfig, SharedReceiveQueueId};
use crate::table::Full;
use crate::work::{PostError, ReceiveRequest, Sge};
use crate::xrc_domain::{XrcDomain, XrcDomainId};

impl Context {
    /// Makes an XRC domain.
    pub fn allocate_xrc_domain(&mut self) -> Result<XrcDomainId, LimitReached> {
        let limit = LimitReached { what: "XRC domains", limit: self.limits.xrc_domains };
        self.xrc_domains.insert(XrcDomain::default()).map(XrcDomainId).map_err(|Full| limit)
    }

    /// Ends an XRC domain that no queue pair and no shared receive queue is in any more.
    pub fn deallocate_xrc_domain(&mut self, domain: XrcDomainId) -> Result<(), RemoveError> {
        remove_unused(&mut self.xrc_domains, domain.0, |domain| domain.users)
    }

    /// Makes a shared receive queue whose elements lie in a protection domain.
    pub fn create_shared_receive_queue(
        &mut self,
        domain: ProtectionDomainId,
        config: &SharedReceiveQueueConfig,
    ) -> Result<SharedReceiveQueueId, CreateError> {
        self.check_shared_receive_queue(domain, config)?;
        let limits = self.limits;
        let limit = LimitReached { what: "shared receive queues", limit: limits.shared_receive_queues };
        // Asked first, since the queue may be large.
        if self.shared_receive_queues.len() >= limits.shared_receive_queues {
            return Err(CreateError::LimitReached(limit));
        }
        let queue = SharedReceiveQueue::new(domain, config);
        let id = self.shared_receive_queues.insert(queue).map_err(|Full| CreateError::LimitReached(limit))?;
        self.events.add_sources(1);
        self.join(domain);
        if let Some(xrc) = config.xrc {
            if let Some(domain) = self.xrc_domains.get_mut(xrc.domain.0) {
                domain.users += 1;
            }
            if let Some(queue) = self.completion_queues.get_mut(xrc.completions.0) {
                queue.users += 1;
            }
        }
        Ok(SharedReceiveQueueId(id))
    }

    fn check_shared_receive_queue(
        &self,
        domain: ProtectionDomainId,
        config: &SharedReceiveQueueConfig,
    ) -> Result<(), CreateError> {
        if !self.has_domain(domain) {
            return Err(CreateError::NoSuchProtectionDomain);
        }
        if config.xrc.is_some_and(|xrc| self.xrc_domains.get(xrc.domain.0).is_none()) {
            return Err(CreateError::NoSuchXrcDomain);
        }
        if config.xrc.is_some_and(|xrc| self.completion_queues.get(xrc.completions.0).is_none()) {
            return Err(CreateError::NoSuchCompletionQueue);
        }
        let within = |what, asked: u32, limit: u32| {
            let limit = LimitReached { what, limit: limit as usize };
            if asked as usize <= limit.limit { Ok(()) } else { Err(CreateError::LimitReached(limit)) }
        };
        within(
            "receives in a shared receive queue",
            config.max_requests,
            self.limits.shared_receive_requests,
        )?;
        within("elements of a receive", config.max_elements, self.limits.shared_receive_elements)?;
        if config.limit > config.max_requests {
            return Err(CreateError::LimitBeyondCapacity { capacity: config.max_requests });
        }
        Ok(())
    }

    /// Ends a shared receive queue that no queue pair draws from any more, with what is in it.
    ///
    /// Queue pairs that reach it only through its XRC domain do not keep it: their next message for it is refused.
    pub fn destroy_shared_receive_queue(&mut self, id: SharedReceiveQueueId) -> Result<(), RemoveError> {
        let queue = self.shared_receive_queues.get(id.0).ok_or(RemoveError::NoSuchObject)?;
        let (domain, xrc_domain, completions) = (queue.domain(), queue.xrc_domain(), queue.completions());
        remove_unused(&mut self.shared_receive_queues, id.0, |queue| queue.users)?;
        self.events.remove_source(ContextEvent::SharedReceiveLimit(id));
        self.leave(domain);
        if let Some(domain) = xrc_domain.and_then(|id| self.xrc_domains.get_mut(id.0)) {
            domain.users = domain.users.saturating_sub(1);
        }
        if let Some(queue) = completions.and_then(|id| self.completion_queues.get_mut(id.0)) {
            queue.users = queue.users.saturating_sub(1);
        }
        Ok(())
    }

    /// Arms the limit of a shared receive queue: when the number of receives falls below it, one
    /// [`ContextEvent::SharedReceiveLimit`] tells so, and it is disarmed. 0 disarms it.
    pub fn set_shared_receive_limit(&mut self, id: SharedReceiveQueueId, limit: u32) -> Result<(), ArmError> {
        let queue = self.shared_receive_queues.get_mut(id.0).ok_or(ArmError::NoSuchQueue)?;
        if limit > queue.max_requests() {
            return Err(ArmError::BeyondCapacity { capacity: queue.max_requests() });
        }
        queue.arm(limit);
        Ok(())
    }

    /// Takes a receive for whichever queue pair needs it first.
    pub fn post_shared_receive(
        &mut self,
        id: SharedReceiveQueueId,
        request: &ReceiveRequest<'_>,
    ) -> Result<(), PostError> {
        self.shared_receive_queues.get_mut(id.0).ok_or(PostError::NoSuchQueue)?.queue.push(request)
    }

    /// A shared receive queue by its number.
    pub fn shared_receive_queue(&self, id: SharedReceiveQueueId) -> Option<&SharedReceiveQueue> {
        self.shared_receive_queues.get(id.0)
    }

    /// Takes the oldest receive out, for an engine, which from then on holds it on behalf of one queue pair. Its
    /// elements replace what `elements` held; nothing is allocated if they fit there.
    pub fn take_shared_receive(
        &mut self,
        id: SharedReceiveQueueId,
        elements: &mut Vec<Sge>,
    ) -> Option<ReceiveWork> {
        elements.clear();
        let shared = self.shared_receive_queues.get_mut(id.0)?;
        let (_, found) = shared.queue.front()?;
        elements.extend_from_slice(found);
        let work = shared.queue.pop();
        if shared.fell_below_limit() {
            self.events.push(ContextEvent::SharedReceiveLimit(id));
        }
        work
    }
}
