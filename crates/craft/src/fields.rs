//! The fields of each header as a description gives them: all optional, each with the name it has in
//! `rdmalab-wire`.
//!
//! A set of fields is [applied](Fields::apply) to a header that has its computed values; what is not given stays.
//! The other way, [`Fields::difference`] is what has to be given for one header to become another.

use core::net::{Ipv4Addr, Ipv6Addr};

use rdmalab_wire::lrh::LinkNextHeader;
use rdmalab_wire::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Ecn, Feth, Gid, Grh, Ieth, Ipv4Header, Ipv6Header, Lrh, Msn,
    PKey, Psn, QKey, Qpn, RKey, Rdeth, Reth, Syndrome, UdpHeader, VlanTag, Xrceth,
};
use serde::{Deserialize, Serialize};

use crate::value::{Bits, Given, Value, Wide, Written};

/// Fields of a header.
pub trait Fields: Default + PartialEq {
    /// The header.
    type Header;

    /// Puts the fields that are given into the header.
    fn apply(&self, header: &mut Self::Header);

    /// What to give so that `computed` becomes `found`.
    fn difference(found: &Self::Header, computed: &Self::Header) -> Self;

    /// The same, `None` if nothing.
    fn difference_if_any(found: &Self::Header, computed: &Self::Header) -> Option<Self> {
        Some(Self::difference(found, computed)).filter(|fields| *fields != Self::default())
    }
}

/// A set of fields: name, how it is written, and the flags.
macro_rules! fields {
    ($($(#[$doc:meta])* $set:ident of $header:ident { $($field:ident: $value:ty,)* ; $($flag:ident,)* })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        #[expect(missing_docs, reason = "each field is the header's of its name")]
        pub struct $set {
            $(#[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<Given<$value>>,)*
            $(#[serde(skip_serializing_if = "Option::is_none")] pub $flag: Option<bool>,)*
        }

        impl Fields for $set {
            type Header = $header;

            fn apply(&self, header: &mut $header) {
                $(if let Some(Given(value)) = self.$field { header.$field = value.into(); })*
                $(if let Some(value) = self.$flag { header.$flag = value; })*
            }

            fn difference(found: &$header, computed: &$header) -> Self {
                $set {
                    $($field: (found.$field != computed.$field).then(|| Given(found.$field.into())),)*
                    $($flag: (found.$flag != computed.$flag).then_some(found.$flag),)*
                }
            }
        }
    )+};
}

fields! {
    /// Of the base transport header.
    BthFields of Bth {
        psn: Psn, destination: Qpn, partition_key: PKey, pad_count: Bits<2>, header_version: Bits<4>,
        reserved_6: Bits<6>, reserved_7: Bits<7>,;
        solicited, migrated, fecn, becn, ack_request,
    }
    /// Of the reliable datagram header.
    RdethFields of Rdeth { ee_context: Wide<24>, reserved: u8,; }
    /// Of the extended reliable connection header.
    XrcethFields of Xrceth { shared_receive_queue: Wide<24>, reserved: u8,; }
    /// Of the datagram header.
    DethFields of Deth { queue_key: QKey, source: Qpn, reserved: u8,; }
    /// Of the flush header.
    FethFields of Feth { placement: Bits<4>, selectivity: Bits<2>, reserved: u32,; }
    /// Of the RDMA header.
    RethFields of Reth { virtual_address: u64, key: RKey, length: u32,; }
    /// Of the atomic header.
    AtomicEthFields of AtomicEth { virtual_address: u64, key: RKey, swap_or_add: u64, compare: u64,; }
    /// Of the acknowledgement header.
    AethFields of Aeth { syndrome: Syndrome, msn: Msn,; }
    /// Of the atomic acknowledgement header.
    AtomicAckEthFields of AtomicAckEth { original: u64,; }
    /// Of the invalidate header.
    IethFields of Ieth { key: RKey,; }
    /// Of a VLAN tag.
    VlanFields of VlanTag { id: Wide<12>, priority: Bits<3>,; drop_eligible, }
    /// Of the IPv4 header.
    Ipv4Fields of Ipv4Header {
        source: Ipv4Addr, destination: Ipv4Addr, dscp: Bits<6>, ecn: Ecn, ttl: u8, identification: u16,
        protocol: u8, fragment_offset: Wide<13>, total_length: u16, checksum: u16,;
        reserved_flag, dont_fragment, more_fragments,
    }
    /// Of the IPv6 header.
    Ipv6Fields of Ipv6Header {
        source: Ipv6Addr, destination: Ipv6Addr, dscp: Bits<6>, ecn: Ecn, hop_limit: u8, flow_label: Wide<20>,
        next_header: u8, payload_length: u16,;
    }
    /// Of the UDP header.
    UdpFields of UdpHeader { source_port: u16, destination_port: u16, length: u16, checksum: u16,; }
    /// Of the global route header.
    GrhFields of Grh {
        source: Gid, destination: Gid, traffic_class: u8, flow_label: Wide<20>, hop_limit: u8, version: Bits<4>,
        next_header: u8, payload_length: u16,;
    }
    /// Of the local route header.
    LrhFields of Lrh {
        source: u16, destination: u16, virtual_lane: Bits<4>, service_level: Bits<4>, link_version: Bits<4>,
        next_header: LinkNextHeader, reserved_2: Bits<2>, reserved_5: Bits<5>, packet_length: Wide<11>,;
    }
}

impl Value for Syndrome {
    const EXPECTS: &'static str =
        "a syndrome: a number of 8 bits, or as in \"ack\", \"rnr=12\", \"nak=psn_sequence_error\"";
    fn from_number(number: u64) -> Option<Self> {
        u8::try_from(number).ok().map(Syndrome::from_byte)
    }
    fn from_text(text: &str) -> Option<Self> {
        if let Some(number) = crate::value::number(text) {
            return Self::from_number(number);
        }
        (0..=u8::MAX).map(Syndrome::from_byte).find(|syndrome| syndrome.to_string() == text)
    }
    fn write(&self) -> Written {
        Written::Text(self.to_string())
    }
}
