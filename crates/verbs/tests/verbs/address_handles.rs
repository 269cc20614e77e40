//! Ways to peers and multicast groups.
//!
//! Rule: ud-address-handle-path: An address handle is a path of one protection domain, to one peer or to a multicast group.

use core::net::IpAddr;

use rdmalab_verbs::{Context, CreateError, Limits, Path, RemoveError};

fn path(destination: &str) -> Path {
    let destination: IpAddr = destination.parse().unwrap();
    let source = if destination.is_ipv4() { "10.0.0.1" } else { "fd00::1" };
    Path::new(source.parse().unwrap(), destination)
}

#[test]
fn a_handle_gives_its_path_back_until_it_is_destroyed() {
    let mut context = Context::default();
    let domain = context.allocate_protection_domain().unwrap();
    let path = Path { traffic_class: 7, ..path("10.0.0.2") };
    let id = context.create_address_handle(domain, path).unwrap();
    let handle = context.address_handle(id).unwrap();
    assert_eq!((handle.protection_domain, handle.path), (domain, path));
    assert_eq!(context.deallocate_protection_domain(domain), Err(RemoveError::InUse { users: 1 }));
    context.destroy_address_handle(id).unwrap();
    assert_eq!(context.address_handle(id), None);
    assert_eq!(context.destroy_address_handle(id), Err(RemoveError::NoSuchObject));
    assert_eq!(context.deallocate_protection_domain(domain), Ok(()));
}

#[test]
fn a_handle_leads_to_one_peer_or_to_a_multicast_group() {
    let mut context = Context::default();
    let domain = context.allocate_protection_domain().unwrap();
    let mut create = |path| context.create_address_handle(domain, path);
    for somebody in ["10.0.0.2", "127.0.0.1", "224.0.0.1", "fe80::1", "ff02::1", "::1"] {
        assert!(create(path(somebody)).is_ok(), "{somebody}");
    }
    for nobody in ["0.0.0.0", "255.255.255.255", "::"] {
        assert!(matches!(create(path(nobody)), Err(CreateError::BadPath { .. })), "{nobody}");
    }
    let mixed = Path::new("10.0.0.1".parse().unwrap(), "fd00::2".parse().unwrap());
    assert!(matches!(create(mixed), Err(CreateError::BadPath { .. })));
}

#[test]
fn handles_have_a_limit_and_a_protection_domain() {
    let mut context = Context::new(Limits { address_handles: 1, ..Limits::default() });
    let domain = context.allocate_protection_domain().unwrap();
    let gone = context.allocate_protection_domain().unwrap();
    context.deallocate_protection_domain(gone).unwrap();
    assert_eq!(
        context.create_address_handle(gone, path("10.0.0.2")),
        Err(CreateError::NoSuchProtectionDomain)
    );
    context.create_address_handle(domain, path("10.0.0.2")).unwrap();
    assert!(matches!(
        context.create_address_handle(domain, path("10.0.0.2")),
        Err(CreateError::LimitReached(limit)) if limit.limit == 1
    ));
}
