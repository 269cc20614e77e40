//! The addresses that the kernel itself has.

use std::net::{IpAddr, Ipv6Addr};

use nix::ifaddrs::getifaddrs;

use crate::NetError;

/// Every IP address of the kernel in the calling thread's network namespace, with its interface's name.
///
/// # Errors
/// [`NetError::System`].
pub fn kernel_addresses() -> Result<Vec<(String, IpAddr)>, NetError> {
    let address = |interface: nix::ifaddrs::InterfaceAddress| {
        let address = interface.address?;
        let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        let v6 = || address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip()));
        Some((interface.interface_name, v4.or_else(v6)?))
    };
    Ok(interfaces()?.filter_map(address).collect())
}

/// The index of the interface that has a link-local address of ours (its scope); 0 for any other address, which needs none.
/// Where several have it, one must be named.
///
/// # Errors
/// [`NetError::NotOurAddress`], [`NetError::ManyLinks`], [`NetError::NotOnLink`], or [`NetError::System`].
pub fn scope(address: IpAddr, interface: Option<&str>) -> Result<u32, NetError> {
    let link_local = match address {
        IpAddr::V6(address) if address.is_unicast_link_local() => address,
        _ => return Ok(0),
    };
    let scope = |has: nix::ifaddrs::InterfaceAddress| {
        let own = has.address?;
        let own = own.as_sockaddr_in6()?;
        (own.ip() == link_local).then(|| (has.interface_name, own.scope_id()))
    };
    let all: Vec<(String, u32)> = interfaces()?.filter_map(scope).collect();
    choose(link_local, &all, interface)
}

/// The scope of the interface that is meant, of those that have the address.
fn choose(address: Ipv6Addr, all: &[(String, u32)], interface: Option<&str>) -> Result<u32, NetError> {
    match (interface, all) {
        (Some(name), _) => all
            .iter()
            .find(|(has, _)| has == name)
            .map(|(_, scope)| *scope)
            .ok_or_else(|| NetError::NotOnLink { address, interface: name.to_owned() }),
        (None, []) => Err(NetError::NotOurAddress { address: address.into() }),
        (None, [(_, scope)]) => Ok(*scope),
        (None, _) => {
            let interfaces = all.iter().map(|(name, _)| name.clone()).collect();
            Err(NetError::ManyLinks { address, interfaces })
        }
    }
}

fn interfaces() -> Result<nix::ifaddrs::InterfaceAddressIterator, NetError> {
    getifaddrs().map_err(|error| NetError::System {
        device: "the kernel".to_owned(),
        action: "list its addresses",
        source: error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_read_and_names_interfaces() {
        for (name, address) in kernel_addresses().unwrap() {
            assert!(!name.is_empty(), "{address}");
        }
    }

    #[test]
    fn a_link_local_address_that_several_links_have_must_be_told_apart() {
        let address: Ipv6Addr = "fe80::1".parse().unwrap();
        let all = [("veth0".to_owned(), 3), ("veth1".to_owned(), 4)];
        assert_eq!(choose(address, &all, Some("veth1")).unwrap(), 4);
        assert_eq!(choose(address, &all[..1], None).unwrap(), 3);
        let many = choose(address, &all, None).unwrap_err().to_string();
        assert_eq!(many, "fe80::1 is an address of veth0 and veth1: say of which, as in fe80::1%veth0");
        assert!(matches!(choose(address, &all, Some("eth0")), Err(NetError::NotOnLink { .. })));
        assert!(matches!(choose(address, &[], None), Err(NetError::NotOurAddress { .. })));
        assert_eq!(scope(IpAddr::from([127, 0, 0, 1]), None).unwrap(), 0);
    }
}
