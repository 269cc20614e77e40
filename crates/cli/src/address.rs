//! Addresses on the command line: our own, with a prefix length or a zone, and those of peers.

use std::net::IpAddr;
use std::str::FromStr;

use rdmalab_device::HostAddress;

/// An address of ours, with the prefix length that a host needs and a socket does not.
#[derive(Clone, Debug)]
pub struct OwnAddress {
    /// With the longest prefix if none was given.
    pub host: HostAddress,
    /// Whether a prefix length was given.
    pub has_length: bool,
    /// The interface of a link-local address (RFC 4007 §11), if it was named.
    pub zone: Option<String>,
}

impl FromStr for OwnAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (text, zone) = without_zone(text);
        if zone.is_some() && !text.starts_with("fe80:") {
            return Err("only a link-local address (fe80::…) has an interface behind a %".to_owned());
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            let longest = if address.is_ipv4() { 32 } else { 128 };
            return Ok(Self { host: HostAddress::new(address, longest), has_length: false, zone });
        }
        let host = text.parse::<HostAddress>().map_err(|error| error.to_string())?;
        Ok(Self { host, has_length: true, zone })
    }
}

/// Takes the zone out of `ADDRESS%ZONE` or `ADDRESS%ZONE/LENGTH`.
fn without_zone(text: &str) -> (String, Option<String>) {
    let Some((address, rest)) = text.split_once('%') else { return (text.to_owned(), None) };
    let (zone, length) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    (format!("{address}{length}"), Some(zone.to_owned()))
}

/// Reads the address of a peer.
pub fn peer(text: &str) -> Result<IpAddr, String> {
    if let (address, Some(zone)) = without_zone(text)
        && address.parse::<IpAddr>().is_ok()
    {
        return Err(format!("the link is that of --ip: leave out %{zone}"));
    }
    text.parse().map_err(|_| "this is no IP address, such as 10.0.0.1 or fd00::1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(text: &str) -> Result<(String, bool, Option<String>), String> {
        let OwnAddress { host, has_length, zone } = text.parse()?;
        Ok((host.to_string(), has_length, zone))
    }

    #[test]
    fn our_own_may_have_a_length_a_zone_or_both() {
        let veth0 = Some("veth0".to_owned());
        assert_eq!(own("10.0.0.1"), Ok(("10.0.0.1/32".to_owned(), false, None)));
        assert_eq!(own("fd00::1/64"), Ok(("fd00::1/64".to_owned(), true, None)));
        assert_eq!(own("fe80::1%veth0"), Ok(("fe80::1/128".to_owned(), false, veth0.clone())));
        assert_eq!(own("fe80::1%veth0/64"), Ok(("fe80::1/64".to_owned(), true, veth0)));
        for wrong in ["10.0.0.1%veth0", "fd00::1%veth0", "%veth0", "fe80::1%veth0/129", "there"] {
            assert!(own(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_peer_has_no_zone_of_its_own() {
        assert_eq!(peer("fe80::2"), Ok("fe80::2".parse().unwrap()));
        assert_eq!(peer("fe80::2%veth0"), Err("the link is that of --ip: leave out %veth0".to_owned()));
        assert!(peer("there").is_err() && peer("there%veth0").is_err());
    }
}
