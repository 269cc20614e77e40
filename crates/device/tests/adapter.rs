//! An adapter's addresses.

use rdmalab_device::{Adapter, AdapterConfig, HostAddress};

fn addresses(configured: &[&str], mtu: usize) -> (Vec<String>, Vec<String>) {
    let configured = configured.iter().map(|text| text.parse::<HostAddress>().unwrap()).collect();
    let adapter = Adapter::new(&AdapterConfig::new(configured, mtu)).unwrap();
    let gids = adapter.port.endpoint.config().addresses.iter().map(ToString::to_string).collect();
    let host = adapter.host.addresses().iter().map(|own| own.address.to_string()).collect();
    (gids, host)
}

#[test]
fn every_gid_is_an_address_that_the_host_answers_for_and_the_link_local_one_comes_first() {
    let (gids, mut host) = addresses(&["10.9.0.1/24", "fd00::1/64"], 1500);
    assert_eq!(gids, ["fe80::aff:fe09:1", "10.9.0.1", "fd00::1"]);
    host.sort();
    let mut sorted = gids.clone();
    sorted.sort();
    assert_eq!(host, sorted);
    let (gids, host) = addresses(&["10.9.0.1/24"], 1500);
    assert_eq!((gids[0].as_str(), host.len()), ("fe80::aff:fe09:1", 2));
}

#[test]
fn a_link_too_small_for_ipv6_has_no_link_local_address() {
    assert_eq!(addresses(&["10.9.0.1/24"], 1279).0, ["10.9.0.1"]);
}
