//! The queue pair's states, driven through `modify`: exactly the table of the verbs for each kind of queue pair, and
//! nothing changes when it refuses.
//!
//! Rule: qp-sqe-unreliable: only unreliable queue pairs have the state SQE.
//! Rule: qp-state-table: A queue pair changes its state only as the verbs' table has it, with every required
//! attribute and no attribute that is not allowed; a change that is refused changes nothing.

use rdmalab_verbs::{AttributeSet, Attributes, ModifyError, Path, QueuePairType, State, transition};
use rdmalab_wire::{PathMtu, Psn, QKey, Qpn};

use crate::script::*;
use crate::side::{address, restricted};

/// A valid value for each attribute of a set.
fn attributes(set: AttributeSet) -> Attributes {
    let all = Attributes {
        state: None,
        partition_index: Some(0),
        access: Some(rdmalab_verbs::Access::FULL),
        queue_key: Some(QKey::new(1)),
        path: Some(Path::new(address(1), peer())),
        path_mtu: Some(PathMtu::M1024),
        destination: Some(PEER_QUEUE_PAIR),
        receive_psn: Some(Psn::new(0)),
        send_psn: Some(Psn::new(0)),
        max_destination_reads: Some(4),
        max_reads: Some(4),
        min_rnr_timer: Some(12),
        timeout: Some(14),
        retry_count: Some(7),
        rnr_retry: Some(7),
    };
    assert_eq!(all.set(), AttributeSet::all(), "an attribute without a value here");
    let all = restricted(all, set);
    assert_eq!(all.set(), set);
    all
}

fn to(state: State, set: AttributeSet) -> Attributes {
    Attributes { state: Some(state), ..attributes(set) }
}

/// The states that a queue pair of a kind can be in.
fn reachable(kind: QueuePairType) -> impl Iterator<Item = State> {
    let stops = matches!(kind, QueuePairType::Uc | QueuePairType::Ud);
    State::ALL.into_iter().filter(move |&state| state != State::Sqe || stops)
}

/// A queue pair of a kind in a state.
fn in_state(kind: QueuePairType, state: State) -> Script {
    Script::in_state(state, Setup { kind, ..Setup::default() })
}

/// All kinds, states that they can be in, and states.
fn cases() -> impl Iterator<Item = (QueuePairType, State, State)> {
    QueuePairType::ALL
        .into_iter()
        .flat_map(|kind| reachable(kind).map(move |from| (kind, from)))
        .flat_map(|(kind, from)| State::ALL.into_iter().map(move |target| (kind, from, target)))
}

#[test]
fn every_change_of_the_table_happens_with_exactly_the_required_attributes() {
    for (kind, from, target) in cases() {
        let mut t = in_state(kind, from);
        match transition(kind, from, target) {
            Some(rule) => {
                t.modify(to(target, rule.required));
                t.expect_state(target);
            }
            None => {
                let refused = t.try_modify(to(target, AttributeSet::empty()));
                assert_eq!(refused, Err(ModifyError::NoSuchTransition { from, to: target }));
                t.expect_state(from);
            }
        }
    }
}

#[test]
fn every_optional_attribute_is_taken_and_every_other_one_refused_by_name() {
    for (kind, from, target) in cases() {
        let Some(rule) = transition(kind, from, target) else { continue };
        let mut t = in_state(kind, from);
        for one in AttributeSet::all().iter() {
            let answer = t.try_modify(to(target, rule.required | one));
            if (rule.required | rule.optional).contains(one) {
                assert_eq!(answer, Ok(()), "{kind}: {from} -> {target} with {one:?}");
                t.expect_state(target);
                t = in_state(kind, from);
            } else {
                let attribute = one.names().next().unwrap();
                let transition = (from, target);
                assert_eq!(answer, Err(ModifyError::NotAllowed { transition, attribute }), "{kind}");
                t.expect_state(from);
            }
        }
    }
}

#[test]
fn every_required_attribute_that_is_missing_is_named() {
    for (kind, from, target) in cases() {
        let Some(rule) = transition(kind, from, target) else { continue };
        let mut t = in_state(kind, from);
        for one in rule.required.iter() {
            let answer = t.try_modify(to(target, rule.required - one));
            let attribute = one.names().next().unwrap();
            assert_eq!(answer, Err(ModifyError::Missing { transition: (from, target), attribute }));
            t.expect_state(from);
        }
    }
}

#[test]
fn without_a_state_the_present_one_is_meant() {
    for kind in QueuePairType::ALL {
        for from in reachable(kind) {
            let mut t = in_state(kind, from);
            let answer = t.try_modify(Attributes::default());
            assert_eq!(answer.is_ok(), transition(kind, from, from).is_some(), "{kind}: {from}");
            t.expect_state(from);
        }
    }
}

#[test]
fn a_path_from_an_address_that_is_not_ours_is_refused() {
    let mut t = Script::in_state(State::Init, Setup::default());
    let [_, rtr, _] = t.side.steps(&Setup::default(), peer(), PEER_QUEUE_PAIR);
    let foreign = Attributes { path: Some(Path::new(address(9), peer())), ..rtr };
    assert!(matches!(t.try_modify(foreign), Err(ModifyError::BadValue { attribute: "IBV_QP_AV", .. })));
    let mixed = Attributes { path: Some(Path::new(address(1), [0u16; 8].into())), ..rtr };
    assert!(matches!(t.try_modify(mixed), Err(ModifyError::BadValue { attribute: "IBV_QP_AV", .. })));
    t.expect_state(State::Init);
    t.modify(rtr);
}

#[test]
fn a_refused_change_leaves_the_attributes_as_they_were() {
    let mut t = Script::new();
    let refused = Attributes {
        min_rnr_timer: Some(3),
        retry_count: Some(1),
        state: Some(State::Rts),
        ..Attributes::default()
    };
    t.try_modify(refused).unwrap_err();
    t.deliver(send_only(0, 1));
    t.expect("ACKNOWLEDGE psn=0 rnr=12 msn=0");
}

#[test]
fn rights_given_up_while_running_hold_at_once() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.modify(Attributes { access: Some(rdmalab_verbs::Access::empty()), ..Attributes::default() });
    t.deliver(write_only(1, 0, 8));
    t.expect("ACKNOWLEDGE psn=1 nak=invalid_request msn=1");
}

#[test]
fn an_unknown_queue_pair_cannot_be_modified() {
    let mut t = Script::new();
    let Side { endpoint, context, .. } = &mut t.side;
    let answer = endpoint.modify(context, Qpn::new(0x12_3456), &Attributes::default());
    assert_eq!(answer, Err(ModifyError::NoSuchQueuePair));
}
