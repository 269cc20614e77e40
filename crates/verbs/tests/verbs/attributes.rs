//! How a change of a queue pair is checked.
//!
//! Rule: qp-attribute-ranges: A change with an attribute out of its range is refused by the attribute's name, and
//! nothing changes.
//! Rule: qp-attributes-by-type: Each type of queue pair has the attributes that its work needs, and refuses the others.

use rdmalab_verbs::{Access, AttributeSet, Attributes, ModifyError, Path, QueuePairType, State, transitions};
use rdmalab_wire::{PathMtu, Psn, QKey, Qpn};

/// A value for every attribute, all in range.
fn full() -> Attributes {
    Attributes {
        state: None,
        partition_index: Some(0),
        access: Some(Access::empty()),
        path: Some(Path::new("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap())),
        path_mtu: Some(PathMtu::M1024),
        destination: Some(Qpn::new(1)),
        receive_psn: Some(Psn::new(1)),
        send_psn: Some(Psn::new(2)),
        max_destination_reads: Some(128),
        max_reads: Some(128),
        min_rnr_timer: Some(31),
        timeout: Some(31),
        retry_count: Some(7),
        rnr_retry: Some(7),
        queue_key: Some(QKey::new(1)),
    }
}

/// Those attributes only that are in the set.
fn only(set: AttributeSet, state: State) -> Attributes {
    let all = full();
    let has = |attribute| set.contains(attribute);
    Attributes {
        state: Some(state),
        partition_index: all.partition_index.filter(|_| has(AttributeSet::PARTITION)),
        access: all.access.filter(|_| has(AttributeSet::ACCESS)),
        path: all.path.filter(|_| has(AttributeSet::PATH)),
        path_mtu: all.path_mtu.filter(|_| has(AttributeSet::PATH_MTU)),
        destination: all.destination.filter(|_| has(AttributeSet::DESTINATION)),
        receive_psn: all.receive_psn.filter(|_| has(AttributeSet::RECEIVE_PSN)),
        send_psn: all.send_psn.filter(|_| has(AttributeSet::SEND_PSN)),
        max_destination_reads: all.max_destination_reads.filter(|_| has(AttributeSet::MAX_DESTINATION_READS)),
        max_reads: all.max_reads.filter(|_| has(AttributeSet::MAX_READS)),
        min_rnr_timer: all.min_rnr_timer.filter(|_| has(AttributeSet::MIN_RNR_TIMER)),
        timeout: all.timeout.filter(|_| has(AttributeSet::TIMEOUT)),
        retry_count: all.retry_count.filter(|_| has(AttributeSet::RETRY_COUNT)),
        rnr_retry: all.rnr_retry.filter(|_| has(AttributeSet::RNR_RETRY)),
        queue_key: all.queue_key.filter(|_| has(AttributeSet::QUEUE_KEY)),
    }
}

#[test]
fn the_set_of_attributes_is_what_has_a_value() {
    assert_eq!(full().set(), AttributeSet::all());
    assert_eq!(Attributes::default().set(), AttributeSet::empty());
    for attribute in AttributeSet::all().iter() {
        assert_eq!(only(attribute, State::Init).set(), attribute);
    }
}

#[test]
fn each_attribute_has_the_verbs_name() {
    let names: Vec<_> = AttributeSet::all().names().collect();
    assert_eq!(
        names.join(" "),
        "IBV_QP_PKEY_INDEX IBV_QP_ACCESS_FLAGS IBV_QP_AV IBV_QP_PATH_MTU IBV_QP_DEST_QPN IBV_QP_RQ_PSN \
         IBV_QP_SQ_PSN IBV_QP_MAX_DEST_RD_ATOMIC IBV_QP_MAX_QP_RD_ATOMIC IBV_QP_MIN_RNR_TIMER IBV_QP_TIMEOUT \
         IBV_QP_RETRY_CNT IBV_QP_RNR_RETRY IBV_QP_QKEY"
    );
    assert_eq!(AttributeSet::QUEUE_KEY.bits(), 8192);
}

#[test]
fn every_change_takes_what_it_requires_and_misses_each_attribute_by_name() {
    for kind in QueuePairType::ALL {
        for row in transitions(kind) {
            assert_eq!(only(row.required, row.to).check(kind, row.from), Ok(row.to));
            assert_eq!(only(row.required | row.optional, row.to).check(kind, row.from), Ok(row.to));
            for missing in row.required.iter() {
                let error = ModifyError::Missing {
                    transition: (row.from, row.to),
                    attribute: missing.names().next().unwrap(),
                };
                assert_eq!(only(row.required - missing, row.to).check(kind, row.from), Err(error), "{kind}");
            }
        }
    }
}

#[test]
fn every_change_refuses_what_does_not_belong_by_name() {
    for kind in QueuePairType::ALL {
        for row in transitions(kind) {
            for extra in (!(row.required | row.optional)).iter() {
                let error = ModifyError::NotAllowed {
                    transition: (row.from, row.to),
                    attribute: extra.names().next().unwrap(),
                };
                assert_eq!(only(row.required | extra, row.to).check(kind, row.from), Err(error), "{kind}");
            }
        }
    }
}

#[test]
fn without_a_state_the_present_one_stays() {
    let attributes = Attributes { queue_key: Some(QKey::new(1)), ..Attributes::default() };
    assert_eq!(attributes.check(QueuePairType::Ud, State::Rts), Ok(State::Rts));
    assert_eq!(
        attributes.check(QueuePairType::Ud, State::Rtr),
        Err(ModifyError::NoSuchTransition { from: State::Rtr, to: State::Rtr })
    );
}

#[test]
fn a_path_leads_to_one_peer() {
    let towards = |destination: &str| {
        let source = if destination.contains(':') { "fd00::1" } else { "10.0.0.1" };
        let path = Path::new(source.parse().unwrap(), destination.parse().unwrap());
        Attributes { path: Some(path), ..Attributes::default() }.check(QueuePairType::Rc, State::Sqd)
    };
    for peer in ["10.0.0.2", "127.0.0.1", "fd00::2", "fe80::1", "::1"] {
        assert_eq!(towards(peer), Ok(State::Sqd), "{peer}");
    }
    for nobody in ["0.0.0.0", "255.255.255.255", "224.0.0.1", "::", "ff02::1"] {
        assert!(matches!(towards(nobody), Err(ModifyError::BadValue { .. })), "{nobody}");
    }
    let mixed = Path::new("10.0.0.1".parse().unwrap(), "fd00::2".parse().unwrap());
    let mixed = Attributes { path: Some(mixed), ..Attributes::default() };
    assert!(matches!(mixed.check(QueuePairType::Rc, State::Sqd), Err(ModifyError::BadValue { .. })));
}

#[test]
fn values_out_of_range_are_refused_by_name() {
    let none = Attributes::default();
    for (attributes, name) in [
        (Attributes { timeout: Some(32), ..none }, "IBV_QP_TIMEOUT"),
        (Attributes { min_rnr_timer: Some(32), ..none }, "IBV_QP_MIN_RNR_TIMER"),
        (Attributes { retry_count: Some(8), ..none }, "IBV_QP_RETRY_CNT"),
        (Attributes { rnr_retry: Some(8), ..none }, "IBV_QP_RNR_RETRY"),
        (Attributes { max_reads: Some(129), ..none }, "IBV_QP_MAX_QP_RD_ATOMIC"),
        (Attributes { max_destination_reads: Some(129), ..none }, "IBV_QP_MAX_DEST_RD_ATOMIC"),
    ] {
        let found = attributes.check(QueuePairType::Rc, State::Sqd);
        assert!(
            matches!(found, Err(ModifyError::BadValue { attribute, .. }) if attribute == name),
            "{found:?}"
        );
    }
}

#[test]
fn any_index_of_a_partition_key_is_left_to_the_port() {
    let attributes = Attributes { partition_index: Some(u16::MAX), ..Attributes::default() };
    assert_eq!(attributes.check(QueuePairType::Ud, State::Sqd), Ok(State::Sqd));
}

/// As the comments of the fields say, which are read here.
#[test]
fn each_type_has_the_attributes_that_their_documentation_says() {
    let source = include_str!("../../src/attributes.rs");
    let (_, fields) = source.split_once("pub struct Attributes {").unwrap();
    let (fields, _) = fields.split_once("\n}").unwrap();
    let mut comment = String::new();
    let mut seen = AttributeSet::empty();
    for line in fields.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("/// ") {
            comment += &format!("{words} ");
            continue;
        }
        let Some(name) = line.strip_prefix("pub ").and_then(|line| line.split(':').next()) else { continue };
        if name != "state" {
            let attribute = attribute_of(name);
            seen |= attribute;
            let types = comment.rsplit_once("For ").expect(name).1.split(['.', ',']).next().unwrap();
            let said = match types.trim() {
                "all types" => QueuePairType::ALL.to_vec(),
                "all types but UD" => {
                    QueuePairType::ALL.into_iter().filter(|kind| *kind != QueuePairType::Ud).collect()
                }
                _ => {
                    let words: Vec<&str> =
                        comment.rsplit_once("For ").unwrap().1.split([' ', ',', '.']).collect();
                    QueuePairType::ALL
                        .into_iter()
                        .filter(|kind| words.contains(&kind.to_string().as_str()))
                        .collect()
                }
            };
            let has = |kind: &QueuePairType| {
                transitions(*kind).any(|row| row.required.union(row.optional).contains(attribute))
            };
            let found: Vec<_> = QueuePairType::ALL.into_iter().filter(has).collect();
            assert_eq!(found, said, "{name}: {comment}");
        }
        comment.clear();
    }
    assert_eq!(seen, AttributeSet::all());
}

/// The attribute of a field.
fn attribute_of(field: &str) -> AttributeSet {
    match field {
        "partition_index" => AttributeSet::PARTITION,
        "access" => AttributeSet::ACCESS,
        "path" => AttributeSet::PATH,
        "path_mtu" => AttributeSet::PATH_MTU,
        "destination" => AttributeSet::DESTINATION,
        "receive_psn" => AttributeSet::RECEIVE_PSN,
        "send_psn" => AttributeSet::SEND_PSN,
        "max_destination_reads" => AttributeSet::MAX_DESTINATION_READS,
        "max_reads" => AttributeSet::MAX_READS,
        "min_rnr_timer" => AttributeSet::MIN_RNR_TIMER,
        "timeout" => AttributeSet::TIMEOUT,
        "retry_count" => AttributeSet::RETRY_COUNT,
        "rnr_retry" => AttributeSet::RNR_RETRY,
        "queue_key" => AttributeSet::QUEUE_KEY,
        _ => panic!("{field} is no attribute"),
    }
}
