//! Regions that get their mapping by a work request.
//!
//! Rule: key-fast-registration-rules: A fast-registration region is mapped only while it is free, by its own domain,
//! inside its memory, under a key of its own.

use rdmalab_verbs::{
    Access, FastRegisterFault, FastRegistration, Invalidation, LocalFault, RegisterError, RemoteFault,
    RemoveError, Sge, WindowType,
};
use rdmalab_wire::RKey;

use crate::bench::{BASE, Bench, SIZE, memory, next};

/// A bench, a free region on it, and work that maps its bytes 10 to 30 at `BASE` under its next key.
fn free() -> (Bench, RKey, FastRegistration) {
    let mut bench = Bench::bindable();
    let region = RKey::new(bench.context.allocate_fast_region(bench.domain, memory()).unwrap());
    let access = Access::LOCAL_WRITE | Access::REMOTE_READ | Access::REMOTE_WRITE;
    let work = FastRegistration { region, key: next(region), offset: 10, length: 20, address: BASE, access };
    (bench, region, work)
}

#[test]
fn a_free_region_gives_access_to_nothing() {
    let (mut bench, region, _) = free();
    assert_eq!(bench.read(&bench.us, region, 0), Err(RemoteFault::UnknownKey));
    let element = Sge { address: 0, length: 1, key: region.value() };
    let found = bench.context.gather(bench.domain, &[element], 0, &mut [0]);
    assert_eq!(found, Err(LocalFault::UnknownKey));
    assert!(bench.context.region(region.value()).is_none());
    assert_eq!(bench.context.deregister(region.value()), Ok(()));
}

#[test]
fn a_mapped_piece_is_reached_locally_and_by_peers_under_the_new_key() {
    let (mut bench, region, work) = free();
    bench.context.fast_register(&bench.us, &work).unwrap();
    let key = work.key;
    let element = Sge { address: BASE + 3, length: 2, key: key.value() };
    bench.context.scatter(bench.domain, &[element], 0, b"ab").unwrap();
    let mut found = [0; 20];
    bench.context.remote_read(&bench.us, key, BASE, &mut found).unwrap();
    assert_eq!(&found[..6], b"\0\0\0ab\0");
    for (address, length) in [(BASE - 1, 1), (BASE + 20, 1), (BASE, 21)] {
        let refused = bench.context.check_remote(&bench.us, key, address, length, Access::REMOTE_READ);
        assert_eq!(refused, Err(RemoteFault::Bounds), "{address:#x} + {length}");
    }
    assert_eq!(bench.read(&bench.us, region, BASE), Err(RemoteFault::UnknownKey), "its old key");
    let found = bench.context.region(key.value()).unwrap();
    assert_eq!((found.address(), found.length(), found.access()), (BASE, 20, work.access));
}

#[test]
fn the_piece_lies_where_its_offset_says() {
    let (mut bench, _, work) = free();
    let register = |bench: &mut Bench, work: &FastRegistration| {
        bench.context.fast_register(&bench.us, work).unwrap();
    };
    register(&mut bench, &work);
    bench.context.remote_write(&bench.us, work.key, BASE + 5, b"x").unwrap();
    bench.context.invalidate(&bench.us, work.key, Invalidation::Local).unwrap();
    let all = FastRegistration { region: work.key, offset: 0, length: SIZE, address: 0, ..work };
    register(&mut bench, &all);
    let mut found = [0];
    bench.context.remote_read(&bench.us, all.key, 15, &mut found).unwrap();
    assert_eq!(&found, b"x");
}

#[test]
fn a_zero_based_mapping_is_addressed_from_zero() {
    let (mut bench, _, work) = free();
    let work = FastRegistration { access: work.access | Access::ZERO_BASED, ..work };
    bench.context.fast_register(&bench.us, &work).unwrap();
    assert_eq!(bench.read(&bench.us, work.key, 19), Ok(()));
    assert_eq!(bench.read(&bench.us, work.key, BASE), Err(RemoteFault::Bounds));
}

#[test]
fn each_refusal_is_found_and_leaves_the_region_free() {
    let (mut bench, region, work) = free();
    let ordinary = RKey::new(bench.region);
    let window = bench.window(WindowType::One);
    let refused = [
        (FastRegistration { region: RKey::new(0), ..work }, FastRegisterFault::UnknownKey),
        (FastRegistration { region: window, key: window, ..work }, FastRegisterFault::UnknownKey),
        (FastRegistration { region: ordinary, key: ordinary, ..work }, FastRegisterFault::NotFast),
        (FastRegistration { key: RKey::new(region.value() ^ 0x100), ..work }, FastRegisterFault::Key),
        (FastRegistration { access: Access::REMOTE_WRITE, ..work }, FastRegisterFault::NeedsLocalWrite),
        (FastRegistration { offset: SIZE - 19, ..work }, FastRegisterFault::Bounds),
        (FastRegistration { offset: u64::MAX, ..work }, FastRegisterFault::Bounds),
        (FastRegistration { length: u64::MAX, ..work }, FastRegisterFault::Bounds),
    ];
    for (work, fault) in refused {
        assert_eq!(bench.context.fast_register(&bench.us, &work), Err(fault), "{work:?}");
        assert_eq!(
            bench.read(&bench.us, work.key, BASE),
            Err(RemoteFault::UnknownKey).map_err(|fault| {
                // The ordinary region is there, but gives peers no rights.
                if work.key == ordinary { RemoteFault::Access } else { fault }
            })
        );
    }
    assert_eq!(
        bench.context.fast_register(&bench.strangers, &work),
        Err(FastRegisterFault::ProtectionDomain)
    );
    assert_eq!(bench.context.fast_register(&bench.others, &work), Ok(()), "any queue pair of the domain may");
    let again = FastRegistration { region: work.key, ..work };
    assert_eq!(bench.context.fast_register(&bench.us, &again), Err(FastRegisterFault::NotFree));
}

#[test]
fn a_region_is_removed_under_its_present_key_and_takes_all_its_keys_with_it() {
    let (mut bench, region, work) = free();
    bench.context.fast_register(&bench.us, &work).unwrap();
    assert_eq!(bench.context.deregister(region.value()), Err(RemoveError::NoSuchObject));
    assert_eq!(bench.context.deregister(work.key.value()), Ok(()));
    assert_eq!(bench.read(&bench.us, work.key, BASE), Err(RemoteFault::UnknownKey));
    let again = FastRegistration { region: work.key, ..work };
    assert_eq!(bench.context.fast_register(&bench.us, &again), Err(FastRegisterFault::UnknownKey));
}

#[test]
fn a_region_lives_in_a_protection_domain() {
    let (mut bench, ..) = free();
    let gone = bench.strangers.protection_domain;
    bench.context.deallocate_protection_domain(gone).unwrap();
    assert_eq!(
        bench.context.allocate_fast_region(gone, memory()),
        Err(RegisterError::NoSuchProtectionDomain)
    );
}
