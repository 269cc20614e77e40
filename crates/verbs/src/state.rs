//! The states of a queue pair and the changes between them that an application may order: one table.

use core::net::IpAddr;

use crate::attributes::{AttributeSet, Attributes};

/// States of a queue pair (`ibv_qp_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// Nothing is set; packets are dropped.
    Reset,
    /// Receives may be posted; packets are dropped.
    Init,
    /// Ready to receive.
    Rtr,
    /// Ready to send.
    Rts,
    /// The send queue is being, or has been, drained; receiving goes on.
    Sqd,
    /// The send queue met an error; receiving goes on. Never reached by RC.
    Sqe,
    /// Everything queued is flushed; packets are dropped.
    Err,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Reset, Self::Init, Self::Rtr, Self::Rts, Self::Sqd, Self::Sqe, Self::Err];

    /// Whether requests of the peer are taken.
    pub fn receives(self) -> bool {
        matches!(self, Self::Rtr | Self::Rts | Self::Sqd | Self::Sqe)
    }

    /// Whether packets may be sent for requests already begun.
    pub fn sends(self) -> bool {
        matches!(self, Self::Rts | Self::Sqd)
    }
}

impl core::fmt::Display for State {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            Self::Reset => "RESET",
            Self::Init => "INIT",
            Self::Rtr => "RTR",
            Self::Rts => "RTS",
            Self::Sqd => "SQD",
            Self::Sqe => "SQE",
            Self::Err => "ERR",
        })
    }
}

/// A change of state that may be ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The present state.
    pub from: State,
    /// The state afterwards.
    pub to: State,
    /// Must come with it.
    pub required: AttributeSet,
    /// May come with it.
    pub optional: AttributeSet,
}

const fn row(from: State, to: State, required: AttributeSet, optional: AttributeSet) -> Transition {
    Transition { from, to, required, optional }
}

const NONE: AttributeSet = AttributeSet::empty();
const INIT: AttributeSet = AttributeSet::PARTITION.union(AttributeSet::ACCESS);
const RTR: AttributeSet = AttributeSet::PATH
    .union(AttributeSet::PATH_MTU)
    .union(AttributeSet::DESTINATION)
    .union(AttributeSet::RECEIVE_PSN)
    .union(AttributeSet::MAX_DESTINATION_READS)
    .union(AttributeSet::MIN_RNR_TIMER);
const RTS: AttributeSet = AttributeSet::TIMEOUT
    .union(AttributeSet::RETRY_COUNT)
    .union(AttributeSet::RNR_RETRY)
    .union(AttributeSet::SEND_PSN)
    .union(AttributeSet::MAX_READS);
const RUNNING: AttributeSet = AttributeSet::ACCESS.union(AttributeSet::MIN_RNR_TIMER);
const DRAINED: AttributeSet = INIT
    .union(RUNNING)
    .union(AttributeSet::PATH)
    .union(AttributeSet::TIMEOUT)
    .union(AttributeSet::RETRY_COUNT)
    .union(AttributeSet::RNR_RETRY)
    .union(AttributeSet::MAX_READS)
    .union(AttributeSet::MAX_DESTINATION_READS);

/// Every change that may be ordered on an RC queue pair, besides those to RESET and ERR, which are allowed from
/// everywhere and take no attributes. Source: the table in the manual page of `ibv_modify_qp`.
const TABLE: [Transition; 9] = [
    row(State::Reset, State::Init, INIT, NONE),
    row(State::Init, State::Init, NONE, INIT),
    row(State::Init, State::Rtr, RTR, INIT),
    row(State::Rtr, State::Rts, RTS, RUNNING),
    row(State::Rts, State::Rts, NONE, RUNNING),
    row(State::Rts, State::Sqd, NONE, NONE),
    row(State::Sqd, State::Sqd, NONE, DRAINED),
    row(State::Sqd, State::Rts, NONE, RUNNING),
    row(State::Sqe, State::Rts, NONE, RUNNING),
];

/// The rule for going from one state to another, if that may be ordered.
pub fn transition(from: State, to: State) -> Option<Transition> {
    match to {
        State::Reset | State::Err => Some(row(from, to, NONE, NONE)),
        _ => TABLE.into_iter().find(|row| row.from == from && row.to == to),
    }
}

/// All changes that may be ordered.
pub fn transitions() -> impl Iterator<Item = Transition> {
    State::ALL.into_iter().flat_map(|from| State::ALL.into_iter().filter_map(move |to| transition(from, to)))
}

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
            Self::BadValue { attribute, allowed } => write!(f, "{attribute} must be {allowed}"),
        }
    }
}

impl core::error::Error for ModifyError {}

impl Attributes {
    /// Checks a change against the table and the attributes' ranges. Returns the state afterwards.
    pub fn check(&self, from: State) -> Result<State, ModifyError> {
        let to = self.state.unwrap_or(from);
        let rule = transition(from, to).ok_or(ModifyError::NoSuchTransition { from, to })?;
        let given = self.set();
        if let Some(attribute) = rule.required.difference(given).first_name() {
            return Err(ModifyError::Missing { transition: (from, to), attribute });
        }
        if let Some(attribute) = given.difference(rule.required | rule.optional).first_name() {
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
        if self.partition_index.is_some_and(|index| index != 0) {
            return bad("IBV_QP_PKEY_INDEX", "0: the port has one partition key");
        }
        if self.path.is_some_and(|path| path.source.is_ipv4() != path.destination.is_ipv4()) {
            return bad("IBV_QP_AV", "two addresses of one family");
        }
        if self.path.is_some_and(|path| !is_unicast(path.destination)) {
            return bad("IBV_QP_AV", "to a unicast address");
        }
        Ok(())
    }
}

/// Whether an address can be one peer's.
fn is_unicast(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !(address.is_multicast() || address.is_unspecified() || is_broadcast)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pairs that the manual page of `ibv_modify_qp` allows, written out by hand.
    const ALLOWED: [(State, &str); 7] = [
        (State::Reset, "RESET INIT ERR"),
        (State::Init, "RESET INIT RTR ERR"),
        (State::Rtr, "RESET RTS ERR"),
        (State::Rts, "RESET RTS SQD ERR"),
        (State::Sqd, "RESET RTS SQD ERR"),
        (State::Sqe, "RESET RTS ERR"),
        (State::Err, "RESET ERR"),
    ];

    #[test]
    fn exactly_the_pairs_of_the_verbs_are_allowed() {
        for (from, allowed) in ALLOWED {
            for to in State::ALL {
                use alloc::string::ToString;
                let expected = allowed.split(' ').any(|name| name == to.to_string());
                assert_eq!(transition(from, to).is_some(), expected, "{from} -> {to}");
            }
        }
    }

    #[test]
    fn each_required_attribute_is_missed_by_name() {
        let full = Attributes {
            state: Some(State::Rts),
            timeout: Some(14),
            retry_count: Some(7),
            rnr_retry: Some(7),
            send_psn: Some(rdmalab_wire::Psn::new(0)),
            max_reads: Some(1),
            ..Attributes::default()
        };
        assert_eq!(full.check(State::Rtr), Ok(State::Rts));
        let missing = |attributes: Attributes, name| {
            let error = attributes.check(State::Rtr).unwrap_err();
            assert_eq!(error, ModifyError::Missing { transition: (State::Rtr, State::Rts), attribute: name });
        };
        missing(Attributes { timeout: None, ..full }, "IBV_QP_TIMEOUT");
        missing(Attributes { retry_count: None, ..full }, "IBV_QP_RETRY_CNT");
        missing(Attributes { rnr_retry: None, ..full }, "IBV_QP_RNR_RETRY");
        missing(Attributes { send_psn: None, ..full }, "IBV_QP_SQ_PSN");
        missing(Attributes { max_reads: None, ..full }, "IBV_QP_MAX_QP_RD_ATOMIC");
    }

    #[test]
    fn an_attribute_that_does_not_belong_is_refused_by_name() {
        let attributes = Attributes { timeout: Some(1), ..Attributes::default() };
        assert_eq!(
            attributes.check(State::Rts),
            Err(ModifyError::NotAllowed {
                transition: (State::Rts, State::Rts),
                attribute: "IBV_QP_TIMEOUT"
            })
        );
    }

    #[test]
    fn a_path_leads_to_one_peer() {
        let towards = |destination: &str| {
            let (source, destination) =
                (if destination.contains(':') { "fd00::1" } else { "10.0.0.1" }, destination);
            let path = crate::Path::new(source.parse().unwrap(), destination.parse().unwrap());
            Attributes { path: Some(path), ..Attributes::default() }.check(State::Sqd)
        };
        for peer in ["10.0.0.2", "127.0.0.1", "fd00::2", "fe80::1", "::1"] {
            assert_eq!(towards(peer), Ok(State::Sqd), "{peer}");
        }
        for nobody in ["0.0.0.0", "255.255.255.255", "224.0.0.1", "::", "ff02::1"] {
            assert!(matches!(towards(nobody), Err(ModifyError::BadValue { .. })), "{nobody}");
        }
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let attributes = Attributes { min_rnr_timer: Some(32), ..Attributes::default() };
        assert!(matches!(attributes.check(State::Rts), Err(ModifyError::BadValue { .. })));
    }
}
