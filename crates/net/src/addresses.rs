//! The addresses that the kernel itself has.

use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;

use crate::NetError;

/// Every IP address of the kernel in the calling thread's network namespace, with its interface's name.
///
/// # Errors
/// [`NetError::System`].
pub fn kernel_addresses() -> Result<Vec<(String, IpAddr)>, NetError> {
    let interfaces = getifaddrs().map_err(|error| NetError::System {
        device: "the kernel".to_owned(),
        action: "list its addresses",
        source: error.into(),
    })?;
    let address = |interface: nix::ifaddrs::InterfaceAddress| {
        let address = interface.address?;
        let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        let v6 = || address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip()));
        Some((interface.interface_name, v4.or_else(v6)?))
    };
    Ok(interfaces.filter_map(address).collect())
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
}
