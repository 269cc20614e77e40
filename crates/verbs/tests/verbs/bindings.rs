//! The rules for binding a memory window.
//!
//! Rule: mw-binding-rules: A window is bound only inside a region of its domain that allows windows, with rights that a
//! window can have, under a key of its own.

use rdmalab_verbs::{Access, BindFault, RemoteFault, RemoveError, Sge, WindowBinding, WindowType};
use rdmalab_wire::RKey;

use crate::bench::{BASE, Bench, SIZE, memory, next};

const BOTH: [WindowType; 2] = [WindowType::One, WindowType::Two];

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
fn a_window_of_type_1_takes_another_key_with_every_binding() {
    let mut bench = Bench::bindable();
    let window = bench.window(WindowType::One);
    assert_eq!(bench.try_bind(window, |binding| binding.key = window), Err(BindFault::Key));
    let first = bench.bind(window, |_| {});
    assert_eq!(bench.try_bind(first, |binding| binding.key = first), Err(BindFault::Key));
    let unbind = |binding: &mut WindowBinding| (binding.key, binding.length) = (first, 0);
    assert_eq!(bench.try_bind(first, unbind), Err(BindFault::Key), "the key would go on to mean nothing");
    let window = bench.window(WindowType::Two);
    assert_eq!(
        bench.try_bind(window, |binding| binding.key = window),
        Ok(window),
        "type 2 may repeat its key"
    );
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
fn queue_pair_window_and_region_are_of_one_protection_domain() {
    let mut bench = Bench::bindable();
    let window = bench.window(WindowType::One);
    let elsewhere = bench.strangers.protection_domain;
    let binding = WindowBinding {
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
    let on = |key: u32| move |binding: &mut WindowBinding| binding.region = key;
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
