//! From the IP header on.
//!
//! Lengths that IP and UDP state are told apart from what is there: a captured packet may be cut, a broken
//! one may lie.

use etherparse::err::{ipv6_exts, tcp};
use etherparse::{Icmpv4Slice, Icmpv6Slice, IpNumber, Ipv6ExtensionSlice, Ipv6ExtensionsSlice, TcpSlice};
use rdmalab_wire::{Carrier, Datagram, Ipv4Header, Ipv6Header, Layer, ParseError, ROCE_V2_PORT, UdpHeader};

use super::{Content, Fragment, Icrc, Malformed, Network, Pass, merged};

/// Lowest legal value of IPv4's header length field.
const IPV4_WORDS: u8 = 5;

/// An IP payload: where it is, and how long it is said to be.
struct Payload<'a> {
    /// The IP packet it is in, from the IP header to the end of the frame.
    ip: &'a [u8],
    /// Where that begins, in bytes from the start of the frame.
    ip_at: usize,
    /// The bytes of it that are there.
    bytes: &'a [u8],
    /// Its length by the IP header, in bytes.
    stated: usize,
    /// Where it begins, in bytes from the start of the frame.
    at: usize,
}

impl<'a> Pass<'_, 'a> {
    pub(super) fn ipv4(&mut self, bytes: &'a [u8], at: usize) -> Result<(), Malformed> {
        let Some(fixed) = bytes.first_chunk() else {
            return Err(ParseError::truncated(Layer::Ipv4, at, Ipv4Header::LENGTH, bytes.len()).into());
        };
        let header = Ipv4Header::decode(fixed);
        let (version, words) = (fixed[0] >> 4, fixed[0] & 0xf);
        if version != 4 {
            return Err(ParseError::bad_value(Layer::Ipv4, at, "version", version.into()).into());
        }
        let header_length = words * 4;
        self.dissection.network = Some(Network::V4 { header, header_length });
        if words < IPV4_WORDS {
            return Err(ParseError::bad_value(Layer::Ipv4, at, "header length", words.into()).into());
        }
        let (header_length, total) = (usize::from(header_length), usize::from(header.total_length));
        let Some(stated) = total.checked_sub(header_length) else {
            return Err(ParseError::bad_value(Layer::Ipv4, at + 2, "total length", total as u64).into());
        };
        if total > bytes.len() {
            self.blame(ParseError::truncated(Layer::Ipv4, at, total, bytes.len()).into());
        }
        let present = bytes.get(header_length..total.min(bytes.len())).unwrap_or_default();
        let payload = Payload { ip: bytes, ip_at: at, bytes: present, stated, at: at + header_length };
        if header.more_fragments || header.fragment_offset != 0 {
            let offset = usize::from(header.fragment_offset) * 8;
            self.fragment(header.protocol, offset, header.identification.into(), &payload);
            return Ok(());
        }
        self.transport(header.protocol, &payload)
    }

    pub(super) fn ipv6(&mut self, bytes: &'a [u8], at: usize) -> Result<(), Malformed> {
        let Some(fixed) = bytes.first_chunk() else {
            return Err(ParseError::truncated(Layer::Ipv6, at, Ipv6Header::LENGTH, bytes.len()).into());
        };
        let header = Ipv6Header::decode(fixed);
        let version = fixed[0] >> 4;
        if version != 6 {
            return Err(ParseError::bad_value(Layer::Ipv6, at, "version", version.into()).into());
        }
        self.dissection.network = Some(Network::V6(header));
        let stated = usize::from(header.payload_length);
        let (total, start) = (Ipv6Header::LENGTH + stated, at + Ipv6Header::LENGTH);
        if total > bytes.len() {
            self.blame(ParseError::truncated(Layer::Ipv6, at, total, bytes.len()).into());
        }
        let present = bytes.get(Ipv6Header::LENGTH..total.min(bytes.len())).unwrap_or_default();
        let (extensions, protocol, rest) =
            Ipv6ExtensionsSlice::from_slice(IpNumber(header.next_header), present).map_err(|error| {
                let layer = "IPv6 extension";
                match error {
                    ipv6_exts::HeaderSliceError::Len(error) => {
                        Malformed::length(layer, start + error.layer_start_offset, &error)
                    }
                    ipv6_exts::HeaderSliceError::Content(_) => {
                        Malformed::bad_value(layer, start, "next header", header.next_header.into())
                    }
                }
            })?;
        let length = present.len() - rest.len();
        let stated = stated.saturating_sub(length);
        let payload = Payload { ip: bytes, ip_at: at, bytes: rest, stated, at: start + length };
        if extensions.is_fragmenting_payload() {
            let piece = extensions.into_iter().find_map(|extension| match extension {
                Ipv6ExtensionSlice::Fragment(piece) => Some(piece),
                _ => None,
            });
            let offset = piece.as_ref().map_or(0, |piece| usize::from(piece.fragment_offset().value()) * 8);
            let identification = piece.map_or(0, |piece| piece.identification());
            self.fragment(protocol.0, offset, identification, &payload);
            return Ok(());
        }
        self.transport(protocol.0, &payload)
    }

    fn fragment(&mut self, protocol: u8, offset: usize, identification: u32, payload: &Payload<'a>) {
        let is_udp = offset == 0 && IpNumber(protocol) == IpNumber::UDP;
        let port = payload.bytes.get(2..4).and_then(|bytes| bytes.first_chunk());
        let udp_port = port.filter(|_| is_udp).map(|port| u16::from_be_bytes(*port));
        let fragment = Fragment { protocol, offset, identification, udp_port };
        self.dissection.content = Content::Fragment { fragment, length: payload.stated };
    }

    fn transport(&mut self, protocol: u8, payload: &Payload<'a>) -> Result<(), Malformed> {
        let &Payload { bytes, stated, at, .. } = payload;
        self.dissection.content = match IpNumber(protocol) {
            IpNumber::UDP => return self.udp(payload),
            IpNumber::TCP => {
                let tcp = TcpSlice::from_slice(bytes).map_err(|error| match error {
                    tcp::HeaderSliceError::Len(error) => Malformed::length("TCP", at, &error),
                    tcp::HeaderSliceError::Content(tcp::HeaderError::DataOffsetTooSmall { data_offset }) => {
                        Malformed::bad_value("TCP", at + 12, "data offset", data_offset.into())
                    }
                })?;
                let header = tcp.header_slice().len();
                Content::Tcp { tcp, length: stated.saturating_sub(header), payload_at: at + header }
            }
            IpNumber::ICMP => {
                let icmp =
                    Icmpv4Slice::from_slice(bytes).map_err(|error| Malformed::length("ICMP", at, &error))?;
                Content::Icmp { length: stated.saturating_sub(icmp.header_len()), icmp }
            }
            IpNumber::IPV6_ICMP => {
                let icmp = Icmpv6Slice::from_slice(bytes)
                    .map_err(|error| Malformed::length("ICMPv6", at, &error))?;
                Content::Icmpv6 { length: stated.saturating_sub(icmp.header_len()), icmp }
            }
            IpNumber(protocol) => Content::Ip { protocol, length: stated },
        };
        Ok(())
    }

    fn udp(&mut self, payload: &Payload<'a>) -> Result<(), Malformed> {
        let &Payload { bytes, stated, at, .. } = payload;
        let Some((header, behind)) = bytes.split_first_chunk() else {
            return Err(ParseError::truncated(Layer::Udp, at, UdpHeader::LENGTH, bytes.len()).into());
        };
        let udp = UdpHeader::decode(header);
        let length = usize::from(udp.length);
        if length < UdpHeader::LENGTH || length > stated {
            self.blame(ParseError::bad_value(Layer::Udp, at + 4, "length", length as u64).into());
        }
        if udp.destination_port != ROCE_V2_PORT {
            self.dissection.content = Content::Udp(udp);
            return Ok(());
        }
        // Where the length lies, IP's is the better guess.
        let length = if (UdpHeader::LENGTH..=stated).contains(&length) { length } else { stated };
        let length = length.saturating_sub(UdpHeader::LENGTH);
        let ib = behind.get(..length).unwrap_or(behind);
        self.roce(udp, ib, length, payload);
        Ok(())
    }

    /// `length` is what the packet has on the wire, from the base header to the ICRC.
    fn roce(&mut self, udp: UdpHeader, ib: &'a [u8], length: usize, payload: &Payload<'a>) {
        let carrier = match self.dissection.network {
            Some(Network::V4 { header, .. }) => Carrier::RoceV2Ipv4(header, udp),
            Some(Network::V6(header)) => Carrier::RoceV2Ipv6(header, udp),
            // There is a payload of IP only behind IP.
            None => return,
        };
        let headers = payload.at - payload.ip_at + UdpHeader::LENGTH;
        let first = || {
            merged::is_plain(&carrier, headers)
                .then(|| merged::first_length(&carrier, payload.ip, headers, ib))
                .flatten()
        };
        let (icrc, cut) = if ib.len() < length {
            let icrc = if !self.captured_in_part {
                Icrc::Broken
            } else {
                first().map_or(Icrc::Cut, |first| Icrc::Merged { datagrams: length.div_ceil(first) })
            };
            (icrc, Some(length))
        } else {
            let icrc = match Datagram::parse(payload.ip) {
                Ok(datagram) => {
                    // Read as the wire has it, least significant byte first.
                    let expected = datagram.icrc_expected().swap_bytes();
                    let found = datagram.icrc_found().swap_bytes();
                    if expected == found {
                        Icrc::Right
                    } else if let Some(first) = first() {
                        Icrc::Merged { datagrams: ib.len().div_ceil(first) }
                    } else {
                        Icrc::Wrong { expected, found }
                    }
                }
                Err(error) => {
                    self.blame(error.behind(payload.ip_at).into());
                    Icrc::Broken
                }
            };
            (icrc, None)
        };
        self.packet(carrier, ib, cut, payload.at + UdpHeader::LENGTH, icrc, None);
    }
}
