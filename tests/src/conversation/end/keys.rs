//! The keys that the passive end makes for single operations: memory windows, and fast-registered regions.

use rdmalab_device::{
    Access, FastRegion, MemoryWindow, Operation as Verb, QueuePair, RKey, SendFlags, SendRequest,
    WindowBinding, WindowType,
};

use super::super::lines::{Introduction, Keys};
use super::super::{KeyKind, Kind, Operation, Refusal};
use super::{End, queue_pair, text};

/// Keys, and what they belong to, which goes before the conversation's region does.
#[derive(Default)]
pub(super) struct OwnKeys {
    /// What the other end is told.
    pub(super) keys: Keys,
    windows: Vec<MemoryWindow>,
    regions: Vec<FastRegion>,
    /// Queue pairs on which nobody sends anything.
    strangers: Vec<QueuePair>,
}

impl OwnKeys {
    /// Makes all that the operations of `end`, whose queue pair is in RTS, need.
    pub(super) fn make(end: &End<'_>, peer: &Introduction) -> Result<Self, String> {
        let mut own = Self::default();
        for operation in &end.operations {
            let Some(kind) = operation.key else { continue };
            let key = match kind {
                KeyKind::Type1 => own.window(end, peer, operation, WindowType::One)?,
                KeyKind::Type2 => own.window(end, peer, operation, WindowType::Two)?,
                KeyKind::Fast => own.fast(end)?,
            };
            own.keys.insert(operation.number.to_string(), key.value());
        }
        Ok(own)
    }

    fn window(
        &mut self,
        end: &End<'_>,
        peer: &Introduction,
        operation: &Operation,
        kind: WindowType,
    ) -> Result<RKey, String> {
        let window = end.domain.window(kind).map_err(text)?;
        let mut right = match operation.kind {
            Kind::Read => Access::REMOTE_READ,
            kind if kind.is_atomic() => Access::REMOTE_ATOMIC,
            _ => Access::REMOTE_WRITE,
        };
        if operation.refusal == Some(Refusal::Right) {
            right.toggle(Access::REMOTE_READ | Access::REMOTE_WRITE);
        }
        let stranger = if operation.refusal == Some(Refusal::Stranger) {
            let stranger = queue_pair(&end.domain, &end.completions, 1)?;
            end.connect(&stranger, peer)?;
            Some(stranger)
        } else {
            None
        };
        let length = operation.size - usize::from(operation.refusal == Some(Refusal::Beyond));
        let binding = window.binding(&end.region, operation.offset as u64, length as u64, right);
        end.carry_out(stranger.as_ref().unwrap_or(&end.queue_pair), Verb::BindWindow(binding))?;
        if operation.refusal == Some(Refusal::Unbound) {
            let end_it = match kind {
                WindowType::One => {
                    let nothing = window.binding(&end.region, 0, 0, Access::empty());
                    Verb::BindWindow(WindowBinding { length: 0, ..nothing })
                }
                WindowType::Two => Verb::LocalInvalidate(binding.key),
            };
            end.carry_out(&end.queue_pair, end_it)?;
        }
        self.windows.push(window);
        self.strangers.extend(stranger);
        Ok(binding.key)
    }

    fn fast(&mut self, end: &End<'_>) -> Result<RKey, String> {
        let region = end.domain.fast_region(64).map_err(text)?;
        let registration = region.registration(0, 64, Access::LOCAL_WRITE | Access::REMOTE_WRITE);
        end.carry_out(&end.queue_pair, Verb::FastRegister(registration))?;
        self.regions.push(region);
        Ok(registration.key)
    }
}

impl End<'_> {
    /// Has a queue pair do what sends no packet.
    fn carry_out(&self, queue_pair: &QueuePair, operation: Verb) -> Result<(), String> {
        let name = operation.name();
        let request =
            SendRequest { id: u64::MAX, operation, flags: SendFlags::SIGNALED, ..SendRequest::default() };
        queue_pair.post_send(&request).map_err(text)?;
        self.completion(name).map(drop)
    }
}
