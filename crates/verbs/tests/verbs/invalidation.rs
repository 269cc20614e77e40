//! Taking the meaning of a key away, by a request of our own and by one of the peer.
//!
//! Rule: key-invalidation-rules: Only windows of type 2 and fast-registration regions are invalidated, the former by
//! the queue pair that bound them.

use rdmalab_verbs::{
    Access, FastRegistration, InvalidateFault, Invalidation, RemoteFault, RemoveError, WindowType,
};
use rdmalab_wire::RKey;

use crate::bench::{BASE, Bench, memory};

const BOTH: [Invalidation; 2] = [Invalidation::Local, Invalidation::Remote];

/// A region that was registered fast, with these rights.
fn fast_region(bench: &mut Bench, access: Access) -> RKey {
    let key = RKey::new(bench.context.allocate_fast_region(bench.domain, memory()).unwrap());
    let work = FastRegistration { region: key, key, offset: 0, length: 50, address: BASE, access };
    bench.context.fast_register(&bench.us, &work).unwrap();
    key
}

#[test]
fn an_invalidated_window_is_free_and_can_be_bound_again() {
    for by in BOTH {
        let mut bench = Bench::bindable();
        let window = bench.window(WindowType::Two);
        let bound = bench.bind(window, |_| {});
        bench.context.invalidate(&bench.us, bound, by).unwrap();
        assert_eq!(bench.read(&bench.us, bound, BASE + 10), Err(RemoteFault::UnknownKey));
        assert_eq!(bench.context.invalidate(&bench.us, bound, by), Err(InvalidateFault::Free));
        let again = bench.bind(bound, |_| {});
        assert_eq!(bench.read(&bench.us, again, BASE + 10), Ok(()));
    }
}

#[test]
fn asking_whether_a_key_may_be_invalidated_says_the_same_and_changes_nothing() {
    for by in BOTH {
        let mut bench = Bench::bindable();
        let window = bench.window(WindowType::Two);
        let bound = bench.bind(window, |_| {});
        let local_only = fast_region(&mut bench, Access::LOCAL_WRITE);
        for key in [bound, local_only, window, RKey::new(bench.region)] {
            let asked = bench.context.check_invalidate(&bench.us, key, by);
            assert_eq!(bench.context.check_invalidate(&bench.us, key, by), asked);
            assert_eq!(bench.context.invalidate(&bench.us, key, by), asked);
        }
        assert_eq!(bench.context.check_invalidate(&bench.us, bound, by), Err(InvalidateFault::Free));
    }
}

#[test]
fn an_invalidated_window_lets_its_region_go() {
    let mut bench = Bench::bindable();
    let window = bench.window(WindowType::Two);
    let bound = bench.bind(window, |_| {});
    assert_eq!(bench.context.deregister(bench.region), Err(RemoveError::InUse { users: 1 }));
    bench.context.invalidate(&bench.us, bound, Invalidation::Local).unwrap();
    assert_eq!(bench.context.deregister(bench.region), Ok(()));
}

#[test]
fn an_invalidated_fast_region_is_free_and_can_be_registered_again() {
    for by in BOTH {
        let mut bench = Bench::bindable();
        let key = fast_region(&mut bench, Access::REMOTE_READ);
        bench.context.invalidate(&bench.us, key, by).unwrap();
        assert_eq!(bench.read(&bench.us, key, BASE), Err(RemoteFault::UnknownKey));
        assert_eq!(bench.context.invalidate(&bench.us, key, by), Err(InvalidateFault::Free));
        let access = Access::REMOTE_READ;
        let work = FastRegistration { region: key, key, length: 1, access, ..FastRegistration::default() };
        bench.context.fast_register(&bench.us, &work).unwrap();
        assert_eq!(bench.read(&bench.us, key, 0), Ok(()));
        assert_eq!(bench.read(&bench.us, key, BASE), Err(RemoteFault::Bounds), "the old mapping is gone");
    }
}

#[test]
fn any_queue_pair_of_the_domain_invalidates_a_fast_region() {
    let mut bench = Bench::bindable();
    let key = fast_region(&mut bench, Access::REMOTE_READ);
    assert_eq!(bench.context.invalidate(&bench.others, key, Invalidation::Local), Ok(()));
}

#[test]
fn windows_of_type_1_and_ordinary_regions_are_not_invalidated() {
    for by in BOTH {
        let mut bench = Bench::new(Access::LOCAL_WRITE | Access::MW_BIND | Access::REMOTE_READ);
        let window = bench.window(WindowType::One);
        let bound = bench.bind(window, |_| {});
        let region = RKey::new(bench.region);
        for key in [bound, region] {
            let refused = bench.context.invalidate(&bench.us, key, by);
            assert_eq!(refused, Err(InvalidateFault::NotInvalidatable));
            assert_eq!(bench.read(&bench.us, key, BASE + 10), Ok(()), "it works as before");
        }
    }
}

#[test]
fn a_key_that_names_nothing_is_not_invalidated() {
    let mut bench = Bench::bindable();
    for key in [0, bench.region ^ 1, u32::MAX] {
        let refused = bench.context.invalidate(&bench.us, RKey::new(key), Invalidation::Local);
        assert_eq!(refused, Err(InvalidateFault::UnknownKey));
    }
}

#[test]
fn a_window_is_invalidated_by_the_queue_pair_that_bound_it() {
    for by in BOTH {
        let mut bench = Bench::bindable();
        let window = bench.window(WindowType::Two);
        let bound = bench.bind(window, |_| {});
        let refused = bench.context.invalidate(&bench.others, bound, by);
        assert_eq!(refused, Err(InvalidateFault::QueuePair));
        let refused = bench.context.invalidate(&bench.strangers, bound, by);
        assert_eq!(refused, Err(InvalidateFault::ProtectionDomain));
        assert_eq!(bench.read(&bench.us, bound, BASE + 10), Ok(()));
    }
}

#[test]
fn a_fast_region_with_windows_is_neither_invalidated_nor_deregistered() {
    let mut bench = Bench::bindable();
    let region = fast_region(&mut bench, Access::LOCAL_WRITE | Access::MW_BIND | Access::REMOTE_READ);
    let window = bench.window(WindowType::Two);
    let bound = bench.bind(window, |binding| binding.region = region.value());
    let local = Invalidation::Local;
    assert_eq!(bench.context.invalidate(&bench.us, region, local), Err(InvalidateFault::WindowsBound));
    assert_eq!(bench.context.deregister(region.value()), Err(RemoveError::InUse { users: 1 }));
    bench.context.invalidate(&bench.us, bound, local).unwrap();
    assert_eq!(bench.context.invalidate(&bench.us, region, local), Ok(()));
}

#[test]
fn a_peer_needs_a_right_through_the_key_to_invalidate_it() {
    let mut bench = Bench::bindable();
    let region = fast_region(&mut bench, Access::LOCAL_WRITE | Access::MW_BIND);
    let window = bench.window(WindowType::Two);
    let bound = bench.bind(window, |binding| binding.access = Access::empty());
    for key in [region, bound] {
        let refused = bench.context.invalidate(&bench.us, key, Invalidation::Remote);
        assert_eq!(refused, Err(InvalidateFault::NoRemoteRight));
        assert_eq!(bench.context.invalidate(&bench.us, key, Invalidation::Local), Ok(()));
    }
}
