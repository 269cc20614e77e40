//! The changes of state that an application may order: one table for each kind of queue pair.
//!
//! Sources: what must come with the way from RESET to RTS is in the manual page of `ibv_modify_qp`. What may come with
//! it, and the rows of SQD and SQE, follow the InfiniBand rules as vendors document them. There are no rows for a port
//! and for alternate paths, since a device here has one port and no path migration.

use crate::attributes::AttributeSet;
use crate::queue_pair_type::QueuePairType;
use crate::state::State;

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

/// Rows `from -> to: [required] [optional]`.
macro_rules! table {
    ($($from:ident -> $to:ident: [$($required:ident)*] [$($optional:ident)*];)*) => {
        &[$(Transition {
            from: State::$from,
            to: State::$to,
            required: AttributeSet::empty()$(.union(AttributeSet::$required))*,
            optional: AttributeSet::empty()$(.union(AttributeSet::$optional))*,
        },)*]
    };
}

const RC: &[Transition] = table! {
    Reset -> Init: [PARTITION ACCESS] [];
    Init -> Init: [] [PARTITION ACCESS];
    Init -> Rtr: [PATH PATH_MTU DESTINATION RECEIVE_PSN MAX_DESTINATION_READS MIN_RNR_TIMER] [PARTITION ACCESS];
    Rtr -> Rts: [TIMEOUT RETRY_COUNT RNR_RETRY SEND_PSN MAX_READS] [ACCESS MIN_RNR_TIMER];
    Rts -> Rts: [] [ACCESS MIN_RNR_TIMER];
    Rts -> Sqd: [] [];
    Sqd -> Sqd: [] [PARTITION ACCESS PATH TIMEOUT RETRY_COUNT RNR_RETRY MAX_READS MAX_DESTINATION_READS MIN_RNR_TIMER];
    Sqd -> Rts: [] [ACCESS MIN_RNR_TIMER];
};

const UC: &[Transition] = table! {
    Reset -> Init: [PARTITION ACCESS] [];
    Init -> Init: [] [PARTITION ACCESS];
    Init -> Rtr: [PATH PATH_MTU DESTINATION RECEIVE_PSN] [PARTITION ACCESS];
    Rtr -> Rts: [SEND_PSN] [ACCESS];
    Rts -> Rts: [] [ACCESS];
    Rts -> Sqd: [] [];
    Sqd -> Sqd: [] [PARTITION ACCESS PATH];
    Sqd -> Rts: [] [ACCESS];
    Sqe -> Rts: [] [ACCESS];
};

const UD: &[Transition] = table! {
    Reset -> Init: [PARTITION QUEUE_KEY] [];
    Init -> Init: [] [PARTITION QUEUE_KEY];
    Init -> Rtr: [] [PARTITION QUEUE_KEY];
    Rtr -> Rts: [SEND_PSN] [QUEUE_KEY];
    Rts -> Rts: [] [QUEUE_KEY];
    Rts -> Sqd: [] [];
    Sqd -> Sqd: [] [PARTITION QUEUE_KEY];
    Sqd -> Rts: [] [QUEUE_KEY];
    Sqe -> Rts: [] [QUEUE_KEY];
};

/// As RC, without what only a responder has.
const XRC_INITIATOR: &[Transition] = table! {
    Reset -> Init: [PARTITION ACCESS] [];
    Init -> Init: [] [PARTITION ACCESS];
    Init -> Rtr: [PATH PATH_MTU DESTINATION RECEIVE_PSN] [PARTITION ACCESS];
    Rtr -> Rts: [TIMEOUT RETRY_COUNT RNR_RETRY SEND_PSN MAX_READS] [ACCESS];
    Rts -> Rts: [] [ACCESS];
    Rts -> Sqd: [] [];
    Sqd -> Sqd: [] [PARTITION ACCESS PATH TIMEOUT RETRY_COUNT RNR_RETRY MAX_READS];
    Sqd -> Rts: [] [ACCESS];
};

/// As RC, without what only a requester has; a timeout and a PSN to send with are asked for all the same.
const XRC_TARGET: &[Transition] = table! {
    Reset -> Init: [PARTITION ACCESS] [];
    Init -> Init: [] [PARTITION ACCESS];
    Init -> Rtr: [PATH PATH_MTU DESTINATION RECEIVE_PSN MAX_DESTINATION_READS MIN_RNR_TIMER] [PARTITION ACCESS];
    Rtr -> Rts: [TIMEOUT SEND_PSN] [ACCESS MIN_RNR_TIMER];
    Rts -> Rts: [] [ACCESS MIN_RNR_TIMER];
    Rts -> Sqd: [] [];
    Sqd -> Sqd: [] [PARTITION ACCESS PATH TIMEOUT MAX_DESTINATION_READS MIN_RNR_TIMER];
    Sqd -> Rts: [] [ACCESS MIN_RNR_TIMER];
};

/// The rule for going from one state to another, if that may be ordered. RESET and ERR may be ordered everywhere, and
/// take no attributes.
pub fn transition(kind: QueuePairType, from: State, to: State) -> Option<Transition> {
    if matches!(to, State::Reset | State::Err) {
        let none = AttributeSet::empty();
        return Some(Transition { from, to, required: none, optional: none });
    }
    let table = match kind {
        QueuePairType::Rc => RC,
        QueuePairType::Uc => UC,
        QueuePairType::Ud => UD,
        QueuePairType::XrcInitiator => XRC_INITIATOR,
        QueuePairType::XrcTarget => XRC_TARGET,
    };
    table.iter().find(|row| row.from == from && row.to == to).copied()
}

/// All changes that may be ordered.
pub fn transitions(kind: QueuePairType) -> impl Iterator<Item = Transition> {
    State::ALL
        .into_iter()
        .flat_map(move |from| State::ALL.into_iter().filter_map(move |to| transition(kind, from, to)))
}
