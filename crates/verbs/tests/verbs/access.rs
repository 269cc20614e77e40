//! Every check of an access to application memory by the key of a region.
//!
//! Rule: key-local-access: A local element is used only if its key names a region of the queue pair's domain with the
//! right and the bytes.
//! Rule: key-local-write: No region lets peers change what the device itself may not write.

use rdmalab_verbs::{Access, Atomic64, LocalFault, RegisterError, RemoteFault, Sge};
use rdmalab_wire::RKey;

use crate::bench::{BASE, Bench, memory};

#[test]
fn a_message_is_scattered_over_its_elements_and_gathered_again() {
    let Bench { context, domain, region: key, .. } = Bench::new(Access::LOCAL_WRITE);
    let elements = [
        Sge { address: BASE + 50, length: 3, key },
        Sge { address: BASE, length: 0, key },
        Sge { address: BASE + 10, length: 5, key },
    ];
    context.scatter(domain, &elements, 0, b"abcd").unwrap();
    context.scatter(domain, &elements, 4, b"efgh").unwrap();
    let mut all = [0; 8];
    context.gather(domain, &elements, 0, &mut all).unwrap();
    assert_eq!(&all, b"abcdefgh");
    let mut middle = [0; 3];
    context.gather(domain, &elements, 2, &mut middle).unwrap();
    assert_eq!(&middle, b"cde");
}

#[test]
fn bytes_beyond_the_elements_are_a_fault() {
    let Bench { context, domain, region: key, .. } = Bench::new(Access::LOCAL_WRITE);
    let elements = [Sge { address: BASE, length: 4, key }];
    assert_eq!(context.scatter(domain, &elements, 2, b"abc"), Err(LocalFault::Bounds));
    assert_eq!(context.scatter(domain, &elements, u32::MAX, b"a"), Err(LocalFault::Bounds));
}

#[test]
fn each_local_fault_is_found() {
    let Bench { context, domain, strangers, region: key, .. } = Bench::new(Access::empty());
    let other = strangers.protection_domain;
    let element = |address, length, key| [Sge { address, length, key }];
    let mut byte = [0];
    assert_eq!(context.gather(domain, &element(BASE, 1, key), 0, &mut byte), Ok(()));
    assert_eq!(context.gather(domain, &element(BASE, 1, key + 1), 0, &mut byte), Err(LocalFault::UnknownKey));
    assert_eq!(
        context.gather(other, &element(BASE, 1, key), 0, &mut byte),
        Err(LocalFault::ProtectionDomain)
    );
    assert_eq!(context.scatter(domain, &element(BASE, 1, key), 0, &byte), Err(LocalFault::Access));
    for (address, length) in [(BASE - 1, 1), (BASE + 100, 1), (BASE + 99, 2), (u64::MAX, 1)] {
        let found = context.check_local(domain, &element(address, length, key), Access::empty());
        assert_eq!(found, Err(LocalFault::Bounds), "{address:#x} + {length}");
    }
}

#[test]
fn each_remote_fault_is_found() {
    let bench = Bench::new(Access::REMOTE_READ);
    let (context, us, key) = (&bench.context, &bench.us, RKey::new(bench.region));
    let read = Access::REMOTE_READ;
    assert_eq!(context.check_remote(us, key, BASE, 100, read), Ok(()));
    assert_eq!(context.check_remote(&bench.others, key, BASE, 100, read), Ok(()));
    assert_eq!(
        context.check_remote(us, RKey::new(key.value() ^ 1), BASE, 1, read),
        Err(RemoteFault::UnknownKey)
    );
    assert_eq!(
        context.check_remote(&bench.strangers, key, BASE, 1, read),
        Err(RemoteFault::ProtectionDomain)
    );
    assert_eq!(context.remote_write(us, key, BASE, &[1]), Err(RemoteFault::Access));
    for (address, length) in [(BASE - 1, 1), (BASE, 101), (BASE + 100, 1), (u64::MAX, 1), (BASE, u64::MAX)] {
        let found = context.check_remote(us, key, address, length, read);
        assert_eq!(found, Err(RemoteFault::Bounds), "{address:#x} + {length}");
    }
}

#[test]
fn a_whole_region_is_checked_by_its_key_alone() {
    let flush = Access::FLUSH_GLOBAL;
    let bench = Bench::new(flush);
    let key = RKey::new(bench.region);
    let check = |accessor, key, access| bench.context.check_remote_key(accessor, key, access);
    assert_eq!(check(&bench.us, key, flush), Ok(()));
    assert_eq!(check(&bench.us, key, flush | Access::FLUSH_PERSISTENT), Err(RemoteFault::Access));
    assert_eq!(check(&bench.us, RKey::new(0), flush), Err(RemoteFault::UnknownKey));
    assert_eq!(check(&bench.strangers, key, flush), Err(RemoteFault::ProtectionDomain));
}

#[test]
fn an_atomic_write_needs_the_right_to_write_and_the_others_that_to_atomics() {
    let add = Atomic64::FetchAndAdd { add: 2 };
    let compare = Atomic64::CompareAndSwap { compare: 0, swap: 2 };
    let swap = Atomic64::Swap { value: 2 };
    let allowed = |access| {
        let bench = Bench::new(access | Access::LOCAL_WRITE);
        let key = RKey::new(bench.region);
        [add, compare, swap].map(|operation| {
            bench.context.remote_atomic(&bench.us, key, BASE, operation) != Err(RemoteFault::Access)
        })
    };
    assert_eq!(allowed(Access::REMOTE_ATOMIC), [true, true, false]);
    assert_eq!(allowed(Access::REMOTE_WRITE), [false, false, true]);
}

#[test]
fn an_atomic_beyond_the_end_is_out_of_bounds() {
    let bench = Bench::new(Access::LOCAL_WRITE | Access::REMOTE_ATOMIC);
    let add = Atomic64::FetchAndAdd { add: 1 };
    let run = |address| bench.context.remote_atomic(&bench.us, RKey::new(bench.region), address, add);
    assert_eq!(run(BASE + 88), Ok(0));
    assert_eq!(run(BASE + 96), Err(RemoteFault::Bounds));
}

#[test]
fn what_peers_may_change_the_device_must_be_allowed_to_write() {
    let mut bench = Bench::new(Access::empty());
    let mut register = |access| bench.context.register(bench.domain, BASE, memory(), access);
    for right in [Access::REMOTE_WRITE, Access::REMOTE_ATOMIC] {
        assert_eq!(register(right), Err(RegisterError::NeedsLocalWrite));
        assert!(register(right | Access::LOCAL_WRITE).is_ok());
    }
    assert!(register(Access::REMOTE_READ | Access::FLUSH_GLOBAL).is_ok());
}

#[test]
fn a_zero_based_region_is_addressed_from_zero() {
    let bench = Bench::new(Access::LOCAL_WRITE | Access::REMOTE_READ | Access::ZERO_BASED);
    let key = RKey::new(bench.region);
    assert_eq!(bench.read(&bench.us, key, 0), Ok(()));
    assert_eq!(bench.read(&bench.us, key, 99), Ok(()));
    assert_eq!(bench.read(&bench.us, key, 100), Err(RemoteFault::Bounds));
    let element = Sge { address: 7, length: 1, key: bench.region };
    bench.context.scatter(bench.domain, &[element], 0, b"x").unwrap();
    let mut found = [0];
    bench.context.remote_read(&bench.us, key, 7, &mut found).unwrap();
    assert_eq!(&found, b"x");
}

#[test]
fn a_key_never_matches_again_after_its_region_went() {
    let mut bench = Bench::new(Access::REMOTE_READ);
    let old = bench.region;
    bench.context.deregister(old).unwrap();
    for _ in 0..5000 {
        let new = bench.context.register(bench.domain, BASE, memory(), Access::REMOTE_READ).unwrap();
        assert_ne!(new, old);
        assert_eq!(bench.read(&bench.us, RKey::new(old), BASE), Err(RemoteFault::UnknownKey));
        bench.context.deregister(new).unwrap();
    }
}

#[test]
fn a_protection_domain_stays_while_a_region_or_window_lives_in_it() {
    use rdmalab_verbs::{RemoveError, WindowType};
    let Bench { mut context, domain, region, .. } = Bench::new(Access::empty());
    let window = context.allocate_window(domain, WindowType::One).unwrap();
    assert_eq!(context.deallocate_protection_domain(domain), Err(RemoveError::InUse { users: 2 }));
    context.deregister(region).unwrap();
    assert_eq!(context.deallocate_protection_domain(domain), Err(RemoveError::InUse { users: 1 }));
    context.deallocate_window(window).unwrap();
    context.deallocate_protection_domain(domain).unwrap();
    assert_eq!(context.deallocate_protection_domain(domain), Err(RemoveError::NoSuchObject));
    assert_eq!(
        context.register(domain, BASE, memory(), Access::empty()),
        Err(RegisterError::NoSuchProtectionDomain)
    );
    assert_eq!(context.allocate_window(domain, WindowType::Two), Err(RegisterError::NoSuchProtectionDomain));
}
