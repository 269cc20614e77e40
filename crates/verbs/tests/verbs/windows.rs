//! Binding memory windows, and accesses through them.

use rdmalab_verbs::{
    Access, BindFault, Context, Limits, LocalFault, RegisterError, RemoteFault, RemoveError, Sge, WindowType,
};
use rdmalab_wire::RKey;

use crate::bench::{BASE, Bench, SIZE, memory, next};

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
    assert_eq!(bench.bind(window, |binding| binding.key = window), window, "even twice in a row");
}

#[test]
fn only_the_low_eight_bits_of_a_key_are_the_consumers() {
    for kind in BOTH {
        let mut bench = Bench::bindable();
        let window = bench.window(kind);
        for bit in 8..32 {
            let key = RKey::new(window.value() ^ 1 << bit);
            assert_eq!(bench.try_bind(window, |binding| binding.key = key), Err(BindFault::Key));
        }
        let key = RKey::new(window.value() ^ 0xff);
        assert_eq!(bench.try_bind(window, |binding| binding.key = key), Ok(key));
    }
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
fn a_window_of_type_2_is_not_bound_to_no_bytes() {
    let mut bench = Bench::bindable();
    let window = bench.window(WindowType::Two);
    assert_eq!(bench.try_bind(window, |binding| binding.length = 0), Err(BindFault::NoBytes));
}

#[test]
fn a_window_of_type_2_is_bound_only_when_it_is_free() {
    let mut bench = Bench::bindable();
    let window = bench.window(WindowType::Two);
    let bound = bench.bind(window, |_| {});
    assert_eq!(bench.try_bind(bound, |_| {}), Err(BindFault::NotFree));
    assert_eq!(bench.try_bind(bound, |binding| binding.length = 0), Err(BindFault::NotFree));
    assert_eq!(bench.read(&bench.us, bound, BASE + 10), Ok(()), "it is as it was");
}

#[test]
fn only_a_window_of_type_2_can_be_zero_based() {
    let zero_based = Access::REMOTE_READ | Access::ZERO_BASED;
    let mut bench = Bench::bindable();
    let one = bench.window(WindowType::One);
    assert_eq!(bench.try_bind(one, |binding| binding.access = zero_based), Err(BindFault::ZeroBased));
    let window = bench.window(WindowType::Two);
    let two = bench.bind(window, |binding| binding.access = zero_based);
    let element = Sge { address: BASE + 10, length: 1, key: bench.region };
    bench.context.scatter(bench.domain, &[element], 0, b"x").unwrap();
    let mut found = [0];
    bench.context.remote_read(&bench.us, two, 0, &mut found).unwrap();
    assert_eq!(&found, b"x", "its first byte is at 0");
    assert_eq!(bench.read(&bench.us, two, 20), Err(RemoteFault::Bounds));
    assert_eq!(bench.read(&bench.us, two, BASE + 10), Err(RemoteFault::Bounds));
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
fn queue_pair_window_and_region_are_of_one_protection_domain() {
    let mut bench = Bench::bindable();
    let window = bench.window(WindowType::One);
    let elsewhere = bench.strangers.protection_domain;
    let binding = rdmalab_verbs::WindowBinding {
        window,
        key: window,
        region: bench.region,
        address: BASE,
        length: 1,
        access: Access::REMOTE_READ,
    };
    let refused = bench.context.bind_window(&bench.strangers, &binding);
    assert_eq!(refused, Err(BindFault::ProtectionDomain), "the queue pair is a stranger");
    let access = Access::LOCAL_WRITE | Access::MW_BIND;
    let region = bench.context.register(elsewhere, BASE, memory(), access).unwrap();
    let refused = bench.try_bind(window, |binding| binding.region = region);
    assert_eq!(refused, Err(BindFault::ProtectionDomain), "the region is a stranger's");
    let window = bench.context.allocate_window(elsewhere, WindowType::One).unwrap();
    let refused = bench.try_bind(window, |_| {});
    assert_eq!(refused, Err(BindFault::ProtectionDomain), "the window is a stranger's");
}

#[test]
fn a_region_must_allow_windows() {
    let mut bench = Bench::new(Access::LOCAL_WRITE);
    let window = bench.window(WindowType::One);
    assert_eq!(bench.try_bind(window, |_| {}), Err(BindFault::RegionWithoutBind));
}

#[test]
fn windows_that_change_memory_need_a_region_that_the_device_may_write() {
    let mut bench = Bench::new(Access::MW_BIND);
    let window = bench.window(WindowType::One);
    for right in [Access::REMOTE_WRITE, Access::REMOTE_ATOMIC] {
        let refused = bench.try_bind(window, |binding| binding.access = right);
        assert_eq!(refused, Err(BindFault::NeedsLocalWrite));
    }
    bench.bind(window, |binding| binding.access = Access::REMOTE_READ);
}

#[test]
fn only_what_a_window_can_give_may_be_asked_of_it() {
    let mut bench = Bench::bindable();
    let window = bench.window(WindowType::Two);
    for right in [Access::LOCAL_WRITE, Access::MW_BIND, Access::from_bits_retain(0x40)] {
        let refused = bench.try_bind(window, |binding| binding.access |= right);
        assert_eq!(refused, Err(BindFault::NotAWindowsRight), "{right:?}");
    }
    bench.bind(window, |binding| binding.access = Access::REMOTE | Access::ZERO_BASED);
}

#[test]
fn a_window_lies_inside_its_region() {
    let mut bench = Bench::bindable();
    let mut window = bench.window(WindowType::One);
    for (address, length, fits) in [
        (BASE, SIZE, true),
        (BASE + SIZE - 1, 1, true),
        (BASE - 1, 2, false),
        (BASE, SIZE + 1, false),
        (BASE + SIZE, 1, false),
        (BASE + 1, u64::MAX, false),
        (u64::MAX, 2, false),
    ] {
        let found = bench.try_bind(window, |binding| (binding.address, binding.length) = (address, length));
        if fits {
            window = found.unwrap();
        } else {
            assert_eq!(found, Err(BindFault::Bounds), "{address:#x} + {length}");
        }
    }
}

#[test]
fn windows_are_bound_to_regions_and_nothing_else() {
    let mut bench = Bench::bindable();
    let [window, other] = BOTH.map(|kind| bench.window(kind));
    let on = |key: u32| move |binding: &mut rdmalab_verbs::WindowBinding| binding.region = key;
    assert_eq!(bench.try_bind(window, on(0)), Err(BindFault::UnknownRegion));
    assert_eq!(bench.try_bind(window, on(other.value())), Err(BindFault::UnknownRegion));
    let region = RKey::new(bench.region);
    assert_eq!(bench.try_bind(region, |_| {}), Err(BindFault::UnknownWindow), "a region is no window");
    let free = bench.context.allocate_fast_region(bench.domain, memory()).unwrap();
    assert_eq!(bench.try_bind(window, on(free)), Err(BindFault::UnknownRegion));
}

#[test]
fn a_refused_binding_leaves_the_window_as_it_was() {
    let mut bench = Bench::bindable();
    let window = bench.window(WindowType::One);
    let bound = bench.bind(window, |_| {});
    assert_eq!(bench.try_bind(bound, |binding| binding.length = SIZE), Err(BindFault::Bounds));
    assert_eq!(bench.read(&bench.us, bound, BASE + 29), Ok(()));
    assert_eq!(bench.read(&bench.us, next(bound), BASE + 29), Err(RemoteFault::UnknownKey));
    assert_eq!(bench.context.deregister(bench.region), Err(RemoveError::InUse { users: 1 }));
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
