//! A peer, an application and a clock that do anything: nothing panics, tables fit their indices, limits hold, and in the
//! end nothing is left.

mod play;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn anything_may_happen(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        play::play(&bytes);
    }

    #[test]
    fn any_bytes_may_come(
        mads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 240..260), 0..20),
    ) {
        use rdmalab_cm::{Cm, Config, Route};
        let mut cm = Cm::new(Config::new(1), 1);
        let route = Route::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), rdmalab_wire::PKey::DEFAULT);
        for (number, mut bytes) in mads.into_iter().enumerate() {
            if number % 4 != 0 {
                bytes[..4].copy_from_slice(&[1, 7, 2, 3]);
                bytes[16] = 0;
                bytes[17] = 0x10 + bytes[17] % 11;
            }
            cm.handle_mad(0, route, &bytes);
            cm.assert_sound();
            // Nobody listens and nobody calls: there is nothing to remember.
            prop_assert_eq!((cm.connections(), cm.resolutions(), cm.next_timeout()), (0, 0, None));
        }
    }
}

/// Steps that never get anywhere would prove nothing.
#[test]
fn steps_lead_everywhere() {
    let mut runner = TestRunner::deterministic();
    let mut told = BTreeSet::new();
    for _ in 0..400 {
        let steps = proptest::collection::vec(any::<u8>(), 2_000).new_tree(&mut runner).unwrap().current();
        told.extend(play::play(&steps));
    }
    let expected = [
        "ConnectRequest",
        "ConnectResponse",
        "Established Data",
        "Established ReadyToUse",
        "Established Release",
        "Rejected",
        "Unreachable Reply",
        "Unreachable ReadyToUse",
        "ConnectError",
        "Disconnected Both",
        "Disconnected NoAnswer",
        "Disconnected Ours",
        "Disconnected Peer",
        "Disconnected Rejected",
        "Disconnected Stale",
        "TimeWaitExit",
        "ServiceRequest",
        "ServiceResolved",
        "ServiceRefused",
        "ServiceUnreachable",
    ];
    for event in expected {
        assert!(told.contains(event), "{event}: {told:#?}");
    }
    let counters = told.iter().filter(|name| name.ends_with(':')).count();
    assert_eq!(counters, 33, "{told:#?}");
}
