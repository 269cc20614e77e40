//! What each operation is and which queue pairs can do it, written out by hand.
//!
//! Rule: qp-operations: Each kind of queue pair takes the operations of its transport and no others.

use rdmalab_verbs::{
    CompletionKind, FastRegistration, Operation, Placement, PostError, QueuePairType, RemoteAddress,
    Selectivity, SendRequest, SharedReceiveQueueId, Target, WindowBinding,
};
use rdmalab_wire::{ImmDt, QKey, Qpn, RKey};

/// All operations with: name, the queue pairs that can do it, and letters for `l`ocal, `a`tomic, `r`ead or atomic,
/// with`o`ut elements, may be `i`nline, only over i`w`arp.
fn all() -> Vec<(Operation, &'static str, &'static str, &'static str, CompletionKind)> {
    let remote = RemoteAddress::default();
    let flush =
        Operation::Flush { remote, length: 0, placement: Placement::GLOBAL, selectivity: Selectivity::Range };
    let compare = Operation::CompareAndSwap { remote, compare: 0, swap: 0 };
    let add = Operation::FetchAndAdd { remote, add: 0 };
    let masked_compare =
        Operation::MaskedCompareAndSwap { remote, compare: 0, compare_mask: 0, swap: 0, swap_mask: 0 };
    let masked_add = Operation::MaskedFetchAndAdd { remote, add: 0, boundary: 0 };
    let immediate = ImmDt::default();
    use CompletionKind as Kind;
    vec![
        (Operation::Send, "SEND", "RC UC UD XRC_INI", "i", Kind::Send),
        (Operation::SendWithImmediate(immediate), "SEND_WITH_IMM", "RC UC UD XRC_INI", "i", Kind::Send),
        (Operation::SendWithInvalidate(RKey::new(1)), "SEND_WITH_INV", "RC XRC_INI", "i", Kind::Send),
        (Operation::RdmaWrite(remote), "RDMA_WRITE", "RC UC XRC_INI", "i", Kind::RdmaWrite),
        (
            Operation::RdmaWriteWithImmediate(remote, immediate),
            "RDMA_WRITE_WITH_IMM",
            "RC UC XRC_INI",
            "i",
            Kind::RdmaWrite,
        ),
        (Operation::RdmaRead(remote), "RDMA_READ", "RC XRC_INI", "r", Kind::RdmaRead),
        (compare, "ATOMIC_CMP_AND_SWP", "RC XRC_INI", "ar", Kind::CompareAndSwap),
        (add, "ATOMIC_FETCH_AND_ADD", "RC XRC_INI", "ar", Kind::FetchAndAdd),
        (
            Operation::RdmaReadWithInvalidate(remote, RKey::new(1)),
            "RDMA_READ_WITH_INV",
            "RC",
            "rw",
            Kind::RdmaRead,
        ),
        (masked_compare, "MASKED_ATOMIC_CMP_AND_SWP", "RC", "arw", Kind::CompareAndSwap),
        (masked_add, "MASKED_ATOMIC_FETCH_AND_ADD", "RC", "arw", Kind::FetchAndAdd),
        (flush, "FLUSH", "RC", "ro", Kind::Flush),
        (Operation::AtomicWrite { remote, value: [0; 8] }, "ATOMIC_WRITE", "RC", "ro", Kind::AtomicWrite),
        (Operation::LocalInvalidate(RKey::new(1)), "LOCAL_INV", "RC UC XRC_INI", "lo", Kind::LocalInvalidate),
        (Operation::BindWindow(WindowBinding::default()), "BIND_MW", "RC UC XRC_INI", "lo", Kind::BindWindow),
        (
            Operation::FastRegister(FastRegistration::default()),
            "REG_MR",
            "RC UC XRC_INI",
            "lo",
            Kind::FastRegister,
        ),
    ]
}

#[test]
fn each_operation_is_what_the_verbs_say() {
    for (operation, name, _, letters, kind) in all() {
        assert_eq!(operation.name(), name);
        assert_eq!(operation.completion_kind(), kind, "{name}");
        assert_eq!(operation.is_local(), letters.contains('l'), "{name}");
        assert_eq!(operation.is_atomic(), letters.contains('a'), "{name}");
        assert_eq!(operation.is_read_or_atomic(), letters.contains('r'), "{name}");
        assert_eq!(operation.is_without_elements(), letters.contains('o'), "{name}");
        assert_eq!(operation.may_be_inline(), letters.contains('i'), "{name}");
        assert_eq!(operation.is_only_over_iwarp(), letters.contains('w'), "{name}");
    }
}

#[test]
fn each_kind_of_queue_pair_does_what_its_transport_can() {
    for (operation, name, kinds, ..) in all() {
        for kind in QueuePairType::ALL {
            let expected = kinds.split(' ').any(|word| word == kind.to_string());
            assert_eq!(operation.supported_by(kind), expected, "{name} on {kind}");
            let refusal = SendRequest { operation, target: target(kind), ..Default::default() }.check(kind);
            let error = PostError::NotSupported { operation: name, kind };
            assert_eq!(refusal, if expected { Ok(()) } else { Err(error) }, "{name} on {kind}");
        }
    }
}

/// The target of a queue pair's requests. XRC_TGT sends nothing, so any will do.
fn target(kind: QueuePairType) -> Target {
    let mut context = rdmalab_verbs::Context::default();
    let domain = context.allocate_protection_domain().unwrap();
    let path = rdmalab_verbs::Path::new("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
    let path = context.create_address_handle(domain, path).unwrap();
    match kind {
        QueuePairType::Rc | QueuePairType::Uc | QueuePairType::XrcTarget => Target::Connected,
        QueuePairType::Ud => Target::Datagram { path, queue_pair: Qpn::new(7), queue_key: QKey::new(1) },
        QueuePairType::XrcInitiator => Target::Xrc(SharedReceiveQueueId::from_number(0x101)),
    }
}

#[test]
fn a_request_names_the_target_of_its_kind_of_queue_pair() {
    let kinds = [QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud, QueuePairType::XrcInitiator];
    for kind in kinds {
        for other in kinds {
            let target = target(other);
            let request = SendRequest { target, ..Default::default() };
            let is_right = target == self::target(kind);
            let expected = if is_right { Ok(()) } else { Err(PostError::WrongTarget(kind)) };
            assert_eq!(request.check(kind), expected, "{target:?} on {kind}");
        }
    }
}

#[test]
fn local_work_needs_no_target() {
    let operation = Operation::LocalInvalidate(RKey::new(1));
    let request = SendRequest { operation, ..Default::default() };
    assert_eq!(request.check(QueuePairType::XrcInitiator), Ok(()));
}

#[test]
fn each_kind_of_queue_pair_has_its_halves() {
    for (kind, name, is_reliable, sends, receives) in [
        (QueuePairType::Rc, "RC", true, true, true),
        (QueuePairType::Uc, "UC", false, true, true),
        (QueuePairType::Ud, "UD", false, true, true),
        (QueuePairType::XrcInitiator, "XRC_INI", true, true, false),
        (QueuePairType::XrcTarget, "XRC_TGT", true, false, true),
    ] {
        assert_eq!(kind.to_string(), name);
        assert_eq!(
            (kind.is_reliable(), kind.sends(), kind.receives()),
            (is_reliable, sends, receives),
            "{name}"
        );
    }
}
