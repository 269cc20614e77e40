//! The tables of states, against the pairs and the attributes written out by hand.
//!
//! Rule: qp-transitions: Each kind of queue pair has its own table of changes of state, with required and optional
//! attributes.

use rdmalab_verbs::{QueuePairType, State, transition, transitions};

const ALL: &str = "RC UC UD XRC_INI XRC_TGT";

/// From where to where, for which queue pairs. RESET and ERR are reached from everywhere.
const ALLOWED: [(State, State, &str); 9] = [
    (State::Reset, State::Init, ALL),
    (State::Init, State::Init, ALL),
    (State::Init, State::Rtr, ALL),
    (State::Rtr, State::Rts, ALL),
    (State::Rts, State::Rts, ALL),
    (State::Rts, State::Sqd, ALL),
    (State::Sqd, State::Sqd, ALL),
    (State::Sqd, State::Rts, ALL),
    (State::Sqe, State::Rts, "UC UD"),
];

/// What must come with the way from RESET to RTS, in the order of the manual page of `ibv_modify_qp`, without the state
/// and the port.
const REQUIRED: [(QueuePairType, State, &str); 15] = [
    (QueuePairType::Ud, State::Init, "IBV_QP_PKEY_INDEX IBV_QP_QKEY"),
    (QueuePairType::Ud, State::Rtr, ""),
    (QueuePairType::Ud, State::Rts, "IBV_QP_SQ_PSN"),
    (QueuePairType::Uc, State::Init, "IBV_QP_PKEY_INDEX IBV_QP_ACCESS_FLAGS"),
    (QueuePairType::Uc, State::Rtr, "IBV_QP_AV IBV_QP_PATH_MTU IBV_QP_DEST_QPN IBV_QP_RQ_PSN"),
    (QueuePairType::Uc, State::Rts, "IBV_QP_SQ_PSN"),
    (QueuePairType::Rc, State::Init, "IBV_QP_PKEY_INDEX IBV_QP_ACCESS_FLAGS"),
    (
        QueuePairType::Rc,
        State::Rtr,
        "IBV_QP_AV IBV_QP_PATH_MTU IBV_QP_DEST_QPN IBV_QP_RQ_PSN IBV_QP_MAX_DEST_RD_ATOMIC IBV_QP_MIN_RNR_TIMER",
    ),
    (
        QueuePairType::Rc,
        State::Rts,
        "IBV_QP_SQ_PSN IBV_QP_MAX_QP_RD_ATOMIC IBV_QP_TIMEOUT IBV_QP_RETRY_CNT IBV_QP_RNR_RETRY",
    ),
    (QueuePairType::XrcInitiator, State::Init, "IBV_QP_PKEY_INDEX IBV_QP_ACCESS_FLAGS"),
    (QueuePairType::XrcInitiator, State::Rtr, "IBV_QP_AV IBV_QP_PATH_MTU IBV_QP_DEST_QPN IBV_QP_RQ_PSN"),
    (
        QueuePairType::XrcInitiator,
        State::Rts,
        "IBV_QP_SQ_PSN IBV_QP_MAX_QP_RD_ATOMIC IBV_QP_TIMEOUT IBV_QP_RETRY_CNT IBV_QP_RNR_RETRY",
    ),
    (QueuePairType::XrcTarget, State::Init, "IBV_QP_PKEY_INDEX IBV_QP_ACCESS_FLAGS"),
    (
        QueuePairType::XrcTarget,
        State::Rtr,
        "IBV_QP_AV IBV_QP_PATH_MTU IBV_QP_DEST_QPN IBV_QP_RQ_PSN IBV_QP_MAX_DEST_RD_ATOMIC IBV_QP_MIN_RNR_TIMER",
    ),
    (QueuePairType::XrcTarget, State::Rts, "IBV_QP_SQ_PSN IBV_QP_TIMEOUT"),
];

/// What may be changed of a queue pair that runs, and of one that is drained.
const OPTIONAL: [(QueuePairType, &str, &str); 5] = [
    (
        QueuePairType::Rc,
        "IBV_QP_ACCESS_FLAGS IBV_QP_MIN_RNR_TIMER",
        "IBV_QP_PKEY_INDEX IBV_QP_ACCESS_FLAGS IBV_QP_AV IBV_QP_MAX_DEST_RD_ATOMIC IBV_QP_MAX_QP_RD_ATOMIC \
         IBV_QP_MIN_RNR_TIMER IBV_QP_TIMEOUT IBV_QP_RETRY_CNT IBV_QP_RNR_RETRY",
    ),
    (QueuePairType::Uc, "IBV_QP_ACCESS_FLAGS", "IBV_QP_PKEY_INDEX IBV_QP_ACCESS_FLAGS IBV_QP_AV"),
    (QueuePairType::Ud, "IBV_QP_QKEY", "IBV_QP_PKEY_INDEX IBV_QP_QKEY"),
    (
        QueuePairType::XrcInitiator,
        "IBV_QP_ACCESS_FLAGS",
        "IBV_QP_PKEY_INDEX IBV_QP_ACCESS_FLAGS IBV_QP_AV IBV_QP_MAX_QP_RD_ATOMIC IBV_QP_TIMEOUT \
         IBV_QP_RETRY_CNT IBV_QP_RNR_RETRY",
    ),
    (
        QueuePairType::XrcTarget,
        "IBV_QP_ACCESS_FLAGS IBV_QP_MIN_RNR_TIMER",
        "IBV_QP_PKEY_INDEX IBV_QP_ACCESS_FLAGS IBV_QP_AV IBV_QP_MAX_DEST_RD_ATOMIC IBV_QP_MIN_RNR_TIMER \
         IBV_QP_TIMEOUT",
    ),
];

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn exactly_the_pairs_of_the_verbs_are_allowed() {
    for kind in QueuePairType::ALL {
        for from in State::ALL {
            for to in State::ALL {
                let is_listed = |row: &&(State, State, &str)| {
                    (row.0, row.1) == (from, to) && words(row.2).contains(&kind.to_string().as_str())
                };
                let expected =
                    matches!(to, State::Reset | State::Err) || ALLOWED.iter().any(|row| is_listed(&row));
                assert_eq!(transition(kind, from, to).is_some(), expected, "{kind}: {from} -> {to}");
            }
        }
        let listed: Vec<_> = transitions(kind).map(|row| (row.from, row.to)).collect();
        let mut sorted = listed.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(listed, sorted, "each once, in the order of the states");
        assert_eq!(listed.len(), 14 + ALLOWED.iter().filter(|row| row.2.contains(&kind.to_string())).count());
    }
}

#[test]
fn the_way_to_rts_needs_what_the_manual_page_says() {
    for (kind, to, names) in REQUIRED {
        let from = match to {
            State::Init => State::Reset,
            State::Rtr => State::Init,
            _ => State::Rtr,
        };
        let mut found: Vec<_> = transition(kind, from, to).unwrap().required.names().collect();
        let mut expected = words(names);
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{kind}: {from} -> {to}");
    }
}

#[test]
fn nothing_else_needs_anything() {
    for kind in QueuePairType::ALL {
        for row in transitions(kind) {
            let is_on_the_way = REQUIRED.iter().any(|(_, to, _)| *to == row.to) && row.from < row.to;
            assert!(is_on_the_way || row.required.is_empty(), "{kind}: {} -> {}", row.from, row.to);
            assert!(row.required.intersection(row.optional).is_empty(), "{kind}: {} -> {}", row.from, row.to);
        }
    }
}

#[test]
fn a_queue_pair_that_runs_or_is_drained_changes_what_its_kind_has() {
    for (kind, running, drained) in OPTIONAL {
        let optional =
            |from, to| -> Vec<_> { transition(kind, from, to).unwrap().optional.names().collect() };
        for from in [State::Rtr, State::Rts, State::Sqd] {
            assert_eq!(optional(from, State::Rts), words(running), "{kind}: {from} -> RTS");
        }
        assert_eq!(optional(State::Sqd, State::Sqd), words(drained), "{kind}");
        assert!(optional(State::Rts, State::Sqd).is_empty(), "{kind}");
        let init: Vec<_> = transition(kind, State::Reset, State::Init).unwrap().required.names().collect();
        assert_eq!(optional(State::Init, State::Init), init, "{kind}");
        assert_eq!(optional(State::Init, State::Rtr), init, "{kind}");
        if transition(kind, State::Sqe, State::Rts).is_some() {
            assert_eq!(optional(State::Sqe, State::Rts), words(running), "{kind}");
        }
    }
}

#[test]
fn reset_and_error_take_no_attributes() {
    for kind in QueuePairType::ALL {
        for from in State::ALL {
            for to in [State::Reset, State::Err] {
                let row = transition(kind, from, to).unwrap();
                assert!(row.required.is_empty() && row.optional.is_empty());
            }
        }
    }
}

#[test]
fn states_say_what_moves_in_them() {
    for (state, name, receives, sends) in [
        (State::Reset, "RESET", false, false),
        (State::Init, "INIT", false, false),
        (State::Rtr, "RTR", true, false),
        (State::Rts, "RTS", true, true),
        (State::Sqd, "SQD", true, true),
        (State::Sqe, "SQE", true, false),
        (State::Err, "ERR", false, false),
    ] {
        assert_eq!(state.to_string(), name);
        assert_eq!((state.receives(), state.sends()), (receives, sends), "{name}");
    }
}
