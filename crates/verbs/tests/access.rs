//! Every check of an access to application memory.

use std::sync::Arc;

use rdmalab_verbs::{
    Access, Atomic64, Context, HeapMemory, LocalFault, ProtectionDomainId, RemoteFault, Sge,
};
use rdmalab_wire::RKey;

const BASE: u64 = 0x1000;

fn context(access: Access) -> (Context, ProtectionDomainId, u32) {
    let mut context = Context::default();
    let domain = context.allocate_protection_domain().unwrap();
    let key = context.register(domain, BASE, Arc::new(HeapMemory::new(100)), access).unwrap();
    (context, domain, key)
}

#[test]
fn a_message_is_scattered_over_its_elements_and_gathered_again() {
    let (context, domain, key) = context(Access::LOCAL_WRITE);
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
    let (context, domain, key) = context(Access::LOCAL_WRITE);
    let elements = [Sge { address: BASE, length: 4, key }];
    assert_eq!(context.scatter(domain, &elements, 2, b"abc"), Err(LocalFault::Bounds));
    assert_eq!(context.scatter(domain, &elements, u32::MAX, b"a"), Err(LocalFault::Bounds));
}

#[test]
fn each_local_fault_is_found() {
    let (mut context, domain, key) = context(Access::empty());
    let other = context.allocate_protection_domain().unwrap();
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
    let (mut context, domain, key) = context(Access::REMOTE_READ | Access::REMOTE_ATOMIC);
    let key = RKey::new(key);
    let other = context.allocate_protection_domain().unwrap();
    let read = Access::REMOTE_READ;
    assert_eq!(context.check_remote(domain, key, BASE, 100, read), Ok(()));
    assert_eq!(
        context.check_remote(domain, RKey::new(key.value() ^ 1), BASE, 1, read),
        Err(RemoteFault::UnknownKey)
    );
    assert_eq!(context.check_remote(other, key, BASE, 1, read), Err(RemoteFault::ProtectionDomain));
    assert_eq!(context.remote_write(domain, key, BASE, &[1]), Err(RemoteFault::Access));
    for (address, length) in [(BASE - 1, 1), (BASE, 101), (BASE + 100, 1), (u64::MAX, u32::MAX)] {
        let found = context.check_remote(domain, key, address, length, read);
        assert_eq!(found, Err(RemoteFault::Bounds), "{address:#x} + {length}");
    }
    assert_eq!(
        context.remote_atomic(domain, key, BASE + 93, Atomic64::FetchAndAdd { add: 1 }),
        Err(RemoteFault::Bounds)
    );
}

#[test]
fn a_key_never_matches_again_after_its_region_went() {
    let (mut context, domain, old) = context(Access::REMOTE_READ);
    context.deregister(old).unwrap();
    for _ in 0..5000 {
        let new = context.register(domain, BASE, Arc::new(HeapMemory::new(8)), Access::REMOTE_READ).unwrap();
        assert_ne!(new, old);
        assert!(context.check_remote(domain, RKey::new(old), BASE, 1, Access::REMOTE_READ).is_err());
        context.deregister(new).unwrap();
    }
}

#[test]
fn a_protection_domain_stays_while_a_region_lives_in_it() {
    let (mut context, domain, key) = context(Access::empty());
    assert!(context.deallocate_protection_domain(domain).is_err());
    context.deregister(key).unwrap();
    context.deallocate_protection_domain(domain).unwrap();
    assert!(context.deallocate_protection_domain(domain).is_err());
}
