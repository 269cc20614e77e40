//! Changing a queue pair: what is checked before anything changes, and how a refusal is told.

use crate::attributes::Attributes;
use crate::path::Path;
use crate::queue_pair_type::QueuePairType;
use crate::state::State;
use crate::transition::transition;

/// Why `modify` refused. The queue pair is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModifyError {
    /// There is no such queue pair.
    NoSuchQueuePair,
    /// The table has no such change.
    NoSuchTransition {
        /// The present state.
        from: State,
        /// The state asked for.
        to: State,
    },
    /// A required attribute is missing.
    Missing {
        /// The change asked for.
        transition: (State, State),
        /// The verbs' name of the first one missing.
        attribute: &'static str,
    },
    /// An attribute may not be given with this change.
    NotAllowed {
        /// The change asked for.
        transition: (State, State),
        /// The verbs' name of the first one too many.
        attribute: &'static str,
    },
    /// The send queue is still draining (SQD): what was begun must be done before attributes change or sending goes on.
    Draining,
    /// A completion queue of the queue pair has overrun: no completion would ever be seen.
    CompletionQueueOverrun,
    /// An attribute's value is out of range.
    BadValue {
        /// The verbs' name of the attribute.
        attribute: &'static str,
        /// What is allowed.
        allowed: &'static str,
    },
}

impl core::fmt::Display for ModifyError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoSuchQueuePair => f.write_str("there is no such queue pair"),
            Self::NoSuchTransition { from, to } => write!(f, "a queue pair cannot go from {from} to {to}"),
            Self::Missing { transition: (from, to), attribute } => {
                write!(f, "going from {from} to {to} needs {attribute}")
            }
            Self::NotAllowed { transition: (from, to), attribute } => {
                write!(f, "{attribute} cannot be set when going from {from} to {to}")
            }
            Self::Draining => f.write_str("the send queue is still draining; wait until that is told"),
            Self::CompletionQueueOverrun => f.write_str(
                "a completion queue of the queue pair has overrun; make both anew, the queue with more room",
            ),
            Self::BadValue { attribute, allowed } => write!(f, "{attribute} must be {allowed}"),
        }
    }
}

impl core::error::Error for ModifyError {}

impl Attributes {
    /// Checks a change of a queue pair of this kind against the table and the attributes' ranges. Returns the state
    /// afterwards. What depends on the port (its addresses, its partition keys, its MTU) is for the port to check.
    pub fn check(&self, kind: QueuePairType, from: State) -> Result<State, ModifyError> {
        let to = self.state.unwrap_or(from);
        let rule = transition(kind, from, to).ok_or(ModifyError::NoSuchTransition { from, to })?;
        let given = self.set();
        if let Some(attribute) = rule.required.difference(given).names().next() {
            return Err(ModifyError::Missing { transition: (from, to), attribute });
        }
        if let Some(attribute) = given.difference(rule.required | rule.optional).names().next() {
            return Err(ModifyError::NotAllowed { transition: (from, to), attribute });
        }
        self.check_ranges()?;
        Ok(to)
    }

    fn check_ranges(&self) -> Result<(), ModifyError> {
        let within = |value: Option<u8>, limit: u8| value.is_none_or(|value| value <= limit);
        let bad = |attribute, allowed| Err(ModifyError::BadValue { attribute, allowed });
        if !within(self.timeout, 31) {
            return bad("IBV_QP_TIMEOUT", "at most 31");
        }
        if !within(self.min_rnr_timer, 31) {
            return bad("IBV_QP_MIN_RNR_TIMER", "at most 31");
        }
        if !within(self.retry_count, 7) {
            return bad("IBV_QP_RETRY_CNT", "at most 7");
        }
        if !within(self.rnr_retry, 7) {
            return bad("IBV_QP_RNR_RETRY", "at most 7");
        }
        if !within(self.max_reads, 128) {
            return bad("IBV_QP_MAX_QP_RD_ATOMIC", "at most 128");
        }
        if !within(self.max_destination_reads, 128) {
            return bad("IBV_QP_MAX_DEST_RD_ATOMIC", "at most 128");
        }
        match self.path.as_ref().map(Path::check_unicast) {
            Some(Err(allowed)) => bad("IBV_QP_AV", allowed),
            _ => Ok(()),
        }
    }
}
