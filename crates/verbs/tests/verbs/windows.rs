//! Accesses through memory windows, and what keeps windows and their regions.
//!
//! Rule: mw-keeps-region: A region is not deregistered while windows are bound to it.
//! Rule: mw-type-1-unbind: A window of type 1 is bound anew at will, and bound to no bytes it gives access to nothing.

use rdmalab_verbs::{
    Access, BindFault, Context, Limits, LocalFault, RegisterError, RemoteFault, RemoveError, Sge, WindowType,
};
use rdmalab_wire::RKey;

use crate::bench::{BASE, Bench, memory};

const BOTH: [WindowType; 2] = [WindowType::One, WindowType::Two];

#[test]
fn a_window_gives_access_to_its_own_bytes_and_no_others() {
    for kind in BOTH {
        let mut bench = Bench::bindable();
        let window = bench.window(kind);
        let key = bench.bind(window, |_| {});
        for (address, length, expected) in [
            (BASE + 10, 20, Ok(())),
            (BASE + 29, 1, Ok(())),
            (BASE + 30, 0, Ok(())),
            (BASE + 9, 1, Err(RemoteFault::Bounds)),
            (BASE + 29, 2, Err(RemoteFault::Bounds)),
            (0, 1, Err(RemoteFault::Bounds)),
            (BASE + 11, u64::MAX, Err(RemoteFault::Bounds)),
        ] {
            let found = bench.context.check_remote(&bench.us, key, address, length, Access::REMOTE_READ);
            assert_eq!(found, expected, "{kind:?}: {address:#x} + {length}");
        }
    }
}

#[test]
fn bytes_written_through_a_window_land_in_its_region() {
    let mut bench = Bench::bindable();
    let window = bench.window(WindowType::Two);
    let key = bench.bind(window, |_| {});
    bench.context.remote_write(&bench.us, key, BASE + 12, b"ab").unwrap();
    let element = Sge { address: BASE + 11, length: 4, key: bench.region };
    let mut found = [0; 4];
    bench.context.gather(bench.domain, &[element], 0, &mut found).unwrap();
    assert_eq!(&found, b"\0ab\0");
}

#[test]
fn a_window_has_rights_of_its_own() {
    let mut bench = Bench::new(Access::LOCAL_WRITE | Access::MW_BIND | Access::REMOTE_ATOMIC);
    let window = bench.window(WindowType::One);
    let key = bench.bind(window, |binding| binding.access = Access::REMOTE_READ | Access::FLUSH_GLOBAL);
    let may = |access| bench.context.check_remote(&bench.us, key, BASE + 10, 8, access).is_ok();
    assert!(may(Access::REMOTE_READ), "the region does not have it, but the window");
    assert!(may(Access::FLUSH_GLOBAL));
    assert!(!may(Access::REMOTE_ATOMIC), "the region has it, but not the window");
    assert!(!may(Access::REMOTE_WRITE));
    assert!(!may(Access::FLUSH_PERSISTENT));
    assert!(bench.context.check_remote_key(&bench.us, key, Access::FLUSH_GLOBAL).is_ok());
}

#[test]
fn a_window_that_is_not_bound_gives_access_to_nothing() {
    for kind in BOTH {
        let mut bench = Bench::bindable();
        let window = bench.window(kind);
        assert_eq!(bench.read(&bench.us, window, BASE + 10), Err(RemoteFault::UnknownKey));
        assert_eq!(bench.read(&bench.us, window, 0), Err(RemoteFault::UnknownKey));
    }
}

#[test]
fn a_window_of_type_1_serves_its_protection_domain_and_one_of_type_2_its_queue_pair() {
    let mut bench = Bench::bindable();
    let [one, two] = BOTH.map(|kind| {
        let window = bench.window(kind);
        bench.bind(window, |_| {})
    });
    let read = |accessor, key| bench.read(accessor, key, BASE + 10);
    assert_eq!(read(&bench.us, one), Ok(()));
    assert_eq!(read(&bench.us, two), Ok(()));
    assert_eq!(read(&bench.others, one), Ok(()));
    assert_eq!(read(&bench.others, two), Err(RemoteFault::QueuePair));
    assert_eq!(read(&bench.strangers, one), Err(RemoteFault::ProtectionDomain));
    assert_eq!(read(&bench.strangers, two), Err(RemoteFault::ProtectionDomain));
}

#[test]
fn the_key_before_a_binding_matches_nothing_after_it() {
    let mut bench = Bench::bindable();
    let window = bench.window(WindowType::One);
    let first = bench.bind(window, |_| {});
    let second = bench.bind(first, |binding| binding.address = BASE + 50);
    assert_eq!(bench.read(&bench.us, window, BASE + 10), Err(RemoteFault::UnknownKey));
    assert_eq!(bench.read(&bench.us, first, BASE + 10), Err(RemoteFault::UnknownKey));
    assert_eq!(bench.read(&bench.us, second, BASE + 50), Ok(()));
    assert_eq!(bench.read(&bench.us, second, BASE + 10), Err(RemoteFault::Bounds));
    assert_eq!(bench.try_bind(first, |_| {}), Err(BindFault::UnknownWindow));
    assert_eq!(bench.context.deallocate_window(first), Err(RemoveError::NoSuchObject));
}

#[test]
fn a_consumer_may_use_the_same_key_again_within_the_life_of_a_window() {
    let mut bench = Bench::bindable();
    let window = bench.window(WindowType::One);
    let first = bench.bind(window, |_| {});
    let again = bench.bind(first, |binding| binding.key = window);
    assert_eq!(again, window);
    assert_eq!(bench.read(&bench.us, window, BASE + 10), Ok(()));
}

#[test]
fn no_bytes_unbind_a_window_of_type_1_and_no_rule_for_bytes_applies() {
    let mut bench = Bench::bindable();
    let window = bench.window(WindowType::One);
    let bound = bench.bind(window, |_| {});
    let unbound = bench.bind(bound, |binding| {
        (binding.length, binding.region, binding.address) = (0, 0, 0);
    });
    assert_eq!(bench.read(&bench.us, bound, BASE + 10), Err(RemoteFault::UnknownKey));
    assert_eq!(bench.read(&bench.us, unbound, BASE + 10), Err(RemoteFault::UnknownKey));
    bench.context.deregister(bench.region).expect("no window is bound to it any more");
    bench.context.deallocate_window(unbound).unwrap();
}

#[test]
fn a_window_on_a_zero_based_region_is_placed_by_distance() {
    let mut bench = Bench::new(Access::LOCAL_WRITE | Access::MW_BIND | Access::ZERO_BASED);
    let window = bench.window(WindowType::One);
    let key = bench.bind(window, |binding| binding.address = 10);
    assert_eq!(bench.read(&bench.us, key, 10), Ok(()));
    assert_eq!(bench.read(&bench.us, key, 30), Err(RemoteFault::Bounds));
}

#[test]
fn a_region_stays_while_windows_are_bound_to_it() {
    let mut bench = Bench::bindable();
    let [one, two] = BOTH.map(|kind| {
        let window = bench.window(kind);
        bench.bind(window, |_| {})
    });
    assert_eq!(bench.context.deregister(bench.region), Err(RemoveError::InUse { users: 2 }));
    let one = bench.bind(one, |_| {});
    assert_eq!(bench.context.deregister(bench.region), Err(RemoveError::InUse { users: 2 }), "bound anew");
    bench.context.deallocate_window(one).unwrap();
    assert_eq!(bench.context.deregister(bench.region), Err(RemoveError::InUse { users: 1 }));
    bench.context.deallocate_window(two).unwrap();
    assert_eq!(bench.context.deregister(bench.region), Ok(()));
}

#[test]
fn a_window_has_no_local_key_and_is_not_deregistered() {
    let mut bench = Bench::bindable();
    let window = bench.window(WindowType::One);
    let key = bench.bind(window, |_| {});
    let element = Sge { address: BASE + 10, length: 1, key: key.value() };
    let found = bench.context.gather(bench.domain, &[element], 0, &mut [0]);
    assert_eq!(found, Err(LocalFault::UnknownKey));
    assert_eq!(bench.context.deregister(key.value()), Err(RemoveError::NoSuchObject));
    assert_eq!(bench.context.deallocate_window(RKey::new(bench.region)), Err(RemoveError::NoSuchObject));
}

#[test]
fn the_limits_of_regions_and_windows_hold_and_what_goes_makes_room() {
    let mut context = Context::new(Limits { regions: 1, windows: 1, ..Limits::default() });
    let domain = context.allocate_protection_domain().unwrap();
    let region = context.allocate_fast_region(domain, memory()).unwrap();
    let window = context.allocate_window(domain, WindowType::One).unwrap();
    assert!(matches!(
        context.register(domain, BASE, memory(), Access::empty()),
        Err(RegisterError::LimitReached(limit)) if limit.limit == 1
    ));
    assert!(matches!(
        context.allocate_window(domain, WindowType::Two),
        Err(RegisterError::LimitReached(limit)) if limit.what == "memory windows"
    ));
    context.deregister(region).unwrap();
    context.deallocate_window(window).unwrap();
    context.register(domain, BASE, memory(), Access::empty()).unwrap();
    context.allocate_window(domain, WindowType::Two).unwrap();
}

#[test]
fn any_key_that_a_window_had_leads_to_its_present_one() {
    for kind in BOTH {
        let mut bench = Bench::bindable();
        let window = bench.window(kind);
        assert_eq!(bench.context.present_key(window), Some(window));
        let key = bench.bind(window, |_| {});
        assert_ne!(key, window);
        for known in [window, key, RKey::new(key.value() ^ 0x55)] {
            assert_eq!(bench.context.present_key(known), Some(key), "{kind:?}");
        }
        bench.context.deallocate_window(key).unwrap();
        assert_eq!(bench.context.present_key(key), None, "{kind:?}");
    }
}

#[test]
fn an_ordinary_region_has_one_key_and_no_other_leads_to_it() {
    let bench = Bench::bindable();
    let region = RKey::new(bench.region);
    assert_eq!(bench.context.present_key(region), Some(region));
    assert_eq!(bench.context.present_key(RKey::new(bench.region ^ 1)), None);
}
