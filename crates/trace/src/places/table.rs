//! The place of each field in the header that it is of, by name.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Reading;

/// A header, or another part of a packet, that places count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Ethernet,
    /// A header in the place of the link's.
    StandIn,
    /// What is unused behind the address in it.
    Unused,
    /// The outer of several tags.
    OuterTag,
    /// The middle one of three.
    MiddleTag,
    /// The only tag, or the innermost one.
    Tag,
    /// The last ethertype.
    Type,
    /// IP, ARP, flow control: what is behind Ethernet.
    Network,
    /// UDP, TCP, ICMP: what is behind IP.
    Transport,
    Lrh,
    Grh,
    Bth,
    Rdeth,
    Xrceth,
    Deth,
    Feth,
    /// Of a RETH or an AtomicETH, which begin alike.
    Remote,
    Aeth,
    AtomicAck,
    Immediate,
    Ieth,
    /// Of RoCE or of TCP: all of it.
    Payload,
    /// Behind a management datagram of 256 bytes.
    Surplus,
    Icrc,
    Vcrc,
    /// A start-up frame of MPA.
    StartUp,
    /// An FPDU, from its length on.
    Fpdu,
    /// The segment of DDP in it.
    Segment,
    /// What RDMAP has behind the header of an untagged segment.
    Body,
    Pad,
    Crc,
}

/// A place in a part. No bits mean as many as the value has, or the whole part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub part: Part,
    pub bit: usize,
    pub bits: usize,
    pub reading: Reading,
}

/// Where a field of Linux' cooked header stands, version 2.
pub(super) fn spot_in_cooked_2(name: &str) -> Option<Spot> {
    let (_, part, bit, bits) = *COOKED_2.iter().find(|(known, ..)| *known == name)?;
    Some(Spot { part, bit, bits, reading: Reading::Times(1) })
}

#[rustfmt::skip]
const COOKED_2: &[(&str, Part, usize, usize)] = &[
    ("sll.etype", Part::StandIn, 0, 16),
    ("sll.ltype", Part::StandIn, 0, 16),
    ("sll.gretype", Part::StandIn, 0, 16),
    ("sll.ifindex", Part::StandIn, 32, 32),
    ("sll.hatype", Part::StandIn, 64, 16),
    ("sll.pkttype", Part::StandIn, 80, 8),
    ("sll.halen", Part::StandIn, 88, 8),
    ("sll.src.eth", Part::StandIn, 96, 48),
    ("sll.src.ipv4", Part::StandIn, 96, 32),
    ("sll.src.other", Part::StandIn, 96, 0),
];

/// Where a field stands.
pub(super) fn spot(name: &str) -> Option<Spot> {
    SPOTS.get(name).copied()
}

static SPOTS: LazyLock<HashMap<&str, Spot>> = LazyLock::new(|| {
    let values = VALUES.iter().map(|(name, part, bit, bits)| (*name, *part, *bit, *bits, Reading::Times(1)));
    let words = WORDS
        .iter()
        .map(|(name, part, bit, bits, times)| (*name, *part, *bit, *bits, Reading::Times(*times)));
    let others = OTHERS.iter().map(|(name, part, reading)| (*name, *part, 0, 0, *reading));
    values
        .chain(words)
        .chain(others)
        .map(|(name, part, bit, bits, reading)| (name, Spot { part, bit, bits, reading }))
        .collect()
});

/// Lengths and offsets that are written in units of several bytes.
const WORDS: &[(&str, Part, usize, usize, u8)] = &[
    ("ip.hdr_len", Part::Network, 4, 4, 4),
    ("ip.frag_offset", Part::Network, 51, 13, 8),
    ("tcp.hdr_len", Part::Transport, 96, 4, 4),
];

/// Lengths of what they are about, and what is found out about bytes.
const OTHERS: &[(&str, Part, Reading)] = &[
    ("rdmalab.payload_length", Part::Payload, Reading::Length),
    ("tcp.len", Part::Payload, Reading::Length),
    ("rdmalab.icrc", Part::Icrc, Reading::About),
    ("rdmalab.icrc.expected", Part::Icrc, Reading::About),
    ("rdmalab.icrc.found", Part::Icrc, Reading::About),
    ("rdmalab.vcrc", Part::Vcrc, Reading::About),
    ("rdmalab.vcrc.expected", Part::Vcrc, Reading::About),
    ("rdmalab.vcrc.found", Part::Vcrc, Reading::About),
    ("rdmalab.iwarp_mpa.crc", Part::Crc, Reading::About),
    ("rdmalab.iwarp_mpa.crc.expected", Part::Crc, Reading::About),
    ("rdmalab.iwarp_mpa.length", Part::Fpdu, Reading::Length),
];

#[rustfmt::skip]
const VALUES: &[(&str, Part, usize, usize)] = &[
    ("eth.dst", Part::Ethernet, 0, 48),
    ("eth.src", Part::Ethernet, 48, 48),
    ("eth.type", Part::Type, 0, 16),
    ("vlan.etype", Part::Type, 0, 16),
    ("sll.pkttype", Part::StandIn, 0, 16),
    ("sll.hatype", Part::StandIn, 16, 16),
    ("sll.halen", Part::StandIn, 32, 16),
    ("sll.src.eth", Part::StandIn, 48, 48),
    ("sll.src.ipv4", Part::StandIn, 48, 32),
    ("sll.src.other", Part::StandIn, 48, 0),
    ("sll.unused", Part::Unused, 0, 0),
    ("sll.etype", Part::StandIn, 112, 16),
    ("sll.ltype", Part::StandIn, 112, 16),
    ("sll.gretype", Part::StandIn, 112, 16),
    ("rdmalab.outer_vlan.priority", Part::OuterTag, 0, 3),
    ("rdmalab.outer_vlan.dei", Part::OuterTag, 3, 1),
    ("rdmalab.outer_vlan.id", Part::OuterTag, 4, 12),
    ("rdmalab.middle_vlan.priority", Part::MiddleTag, 0, 3),
    ("rdmalab.middle_vlan.dei", Part::MiddleTag, 3, 1),
    ("rdmalab.middle_vlan.id", Part::MiddleTag, 4, 12),
    ("vlan.priority", Part::Tag, 0, 3),
    ("vlan.dei", Part::Tag, 3, 1),
    ("vlan.id", Part::Tag, 4, 12),
    ("ip.version", Part::Network, 0, 4),
    ("ip.dsfield.dscp", Part::Network, 8, 6),
    ("ip.dsfield.ecn", Part::Network, 14, 2),
    ("ip.len", Part::Network, 16, 16),
    ("ip.id", Part::Network, 32, 16),
    ("ip.flags.rb", Part::Network, 48, 1),
    ("ip.flags.df", Part::Network, 49, 1),
    ("ip.flags.mf", Part::Network, 50, 1),
    ("ip.ttl", Part::Network, 64, 8),
    ("ip.proto", Part::Network, 72, 8),
    ("ip.checksum", Part::Network, 80, 16),
    ("ip.src", Part::Network, 96, 32),
    ("ip.dst", Part::Network, 128, 32),
    ("ipv6.version", Part::Network, 0, 4),
    ("ipv6.tclass.dscp", Part::Network, 4, 6),
    ("ipv6.tclass.ecn", Part::Network, 10, 2),
    ("ipv6.flow", Part::Network, 12, 20),
    ("ipv6.plen", Part::Network, 32, 16),
    ("ipv6.nxt", Part::Network, 48, 8),
    ("ipv6.hlim", Part::Network, 56, 8),
    ("ipv6.src", Part::Network, 64, 128),
    ("ipv6.dst", Part::Network, 192, 128),
    ("udp.srcport", Part::Transport, 0, 16),
    ("udp.dstport", Part::Transport, 16, 16),
    ("udp.length", Part::Transport, 32, 16),
    ("udp.checksum", Part::Transport, 48, 16),
    ("tcp.srcport", Part::Transport, 0, 16),
    ("tcp.dstport", Part::Transport, 16, 16),
    ("tcp.seq_raw", Part::Transport, 32, 32),
    ("tcp.ack_raw", Part::Transport, 64, 32),
    ("tcp.flags.cwr", Part::Transport, 104, 1),
    ("tcp.flags.ece", Part::Transport, 105, 1),
    ("tcp.flags.urg", Part::Transport, 106, 1),
    ("tcp.flags.ack", Part::Transport, 107, 1),
    ("tcp.flags.push", Part::Transport, 108, 1),
    ("tcp.flags.reset", Part::Transport, 109, 1),
    ("tcp.flags.syn", Part::Transport, 110, 1),
    ("tcp.flags.fin", Part::Transport, 111, 1),
    ("tcp.window_size_value", Part::Transport, 112, 16),
    ("tcp.checksum", Part::Transport, 128, 16),
    ("arp.opcode", Part::Network, 48, 16),
    ("arp.src.hw_mac", Part::Network, 64, 48),
    ("arp.src.proto_ipv4", Part::Network, 112, 32),
    ("arp.dst.hw_mac", Part::Network, 144, 48),
    ("arp.dst.proto_ipv4", Part::Network, 192, 32),
    ("icmp.type", Part::Transport, 0, 8),
    ("icmp.code", Part::Transport, 8, 8),
    ("icmp.ident", Part::Transport, 32, 16),
    ("icmp.seq", Part::Transport, 48, 16),
    ("icmpv6.type", Part::Transport, 0, 8),
    ("icmpv6.code", Part::Transport, 8, 8),
    ("icmpv6.echo.identifier", Part::Transport, 32, 16),
    ("icmpv6.echo.sequence_number", Part::Transport, 48, 16),
    ("icmpv6.nd.ns.target_address", Part::Transport, 64, 128),
    ("icmpv6.nd.na.target_address", Part::Transport, 64, 128),
    ("infiniband.lrh.vl", Part::Lrh, 0, 4),
    ("infiniband.lrh.lver", Part::Lrh, 4, 4),
    ("infiniband.lrh.sl", Part::Lrh, 8, 4),
    ("infiniband.lrh.reserved2", Part::Lrh, 12, 2),
    ("infiniband.lrh.lnh", Part::Lrh, 14, 2),
    ("infiniband.lrh.dlid", Part::Lrh, 16, 16),
    ("infiniband.lrh.reserved5", Part::Lrh, 32, 5),
    ("infiniband.lrh.pktlen", Part::Lrh, 37, 11),
    ("infiniband.lrh.slid", Part::Lrh, 48, 16),
    ("infiniband.grh.ipver", Part::Grh, 0, 4),
    ("infiniband.grh.tclass", Part::Grh, 4, 8),
    ("infiniband.grh.flowlabel", Part::Grh, 12, 20),
    ("infiniband.grh.paylen", Part::Grh, 32, 16),
    ("infiniband.grh.nxthdr", Part::Grh, 48, 8),
    ("infiniband.grh.hoplmt", Part::Grh, 56, 8),
    ("infiniband.grh.sgid", Part::Grh, 64, 128),
    ("infiniband.grh.dgid", Part::Grh, 192, 128),
    ("macc.opcode", Part::Network, 0, 16),
    ("macc.pause_time", Part::Network, 16, 16),
    ("macc.cbfc.enbv", Part::Network, 16, 16),
    ("macc.cbfc.enbv.c0", Part::Network, 31, 1),
    ("macc.cbfc.enbv.c1", Part::Network, 30, 1),
    ("macc.cbfc.enbv.c2", Part::Network, 29, 1),
    ("macc.cbfc.enbv.c3", Part::Network, 28, 1),
    ("macc.cbfc.enbv.c4", Part::Network, 27, 1),
    ("macc.cbfc.enbv.c5", Part::Network, 26, 1),
    ("macc.cbfc.enbv.c6", Part::Network, 25, 1),
    ("macc.cbfc.enbv.c7", Part::Network, 24, 1),
    ("macc.cbfc.pause_time.c0", Part::Network, 32, 16),
    ("macc.cbfc.pause_time.c1", Part::Network, 48, 16),
    ("macc.cbfc.pause_time.c2", Part::Network, 64, 16),
    ("macc.cbfc.pause_time.c3", Part::Network, 80, 16),
    ("macc.cbfc.pause_time.c4", Part::Network, 96, 16),
    ("macc.cbfc.pause_time.c5", Part::Network, 112, 16),
    ("macc.cbfc.pause_time.c6", Part::Network, 128, 16),
    ("macc.cbfc.pause_time.c7", Part::Network, 144, 16),
    ("infiniband.bth.opcode", Part::Bth, 0, 8),
    ("infiniband.bth.se", Part::Bth, 8, 1),
    ("infiniband.bth.m", Part::Bth, 9, 1),
    ("infiniband.bth.padcnt", Part::Bth, 10, 2),
    ("infiniband.bth.tver", Part::Bth, 12, 4),
    ("infiniband.bth.p_key", Part::Bth, 16, 16),
    ("rdmalab.bth.fecn", Part::Bth, 32, 1),
    ("rdmalab.bth.becn", Part::Bth, 33, 1),
    ("rdmalab.bth.reserved6", Part::Bth, 34, 6),
    ("infiniband.bth.destqp", Part::Bth, 40, 24),
    ("infiniband.bth.a", Part::Bth, 64, 1),
    ("infiniband.bth.reserved7", Part::Bth, 65, 7),
    ("infiniband.bth.psn", Part::Bth, 72, 24),
    ("rdmalab.rdeth.reserved", Part::Rdeth, 0, 8),
    ("infiniband.rdeth.eecnxt", Part::Rdeth, 8, 24),
    ("rdmalab.xrceth.reserved", Part::Xrceth, 0, 8),
    ("rdmalab.xrceth.srq", Part::Xrceth, 8, 24),
    ("infiniband.deth.q_key", Part::Deth, 0, 32),
    ("rdmalab.deth.reserved", Part::Deth, 32, 8),
    ("infiniband.deth.srcqp", Part::Deth, 40, 24),
    ("rdmalab.feth.reserved", Part::Feth, 0, 26),
    ("rdmalab.feth.selectivity", Part::Feth, 26, 2),
    ("rdmalab.feth.placement", Part::Feth, 28, 4),
    ("infiniband.reth.va", Part::Remote, 0, 64),
    ("infiniband.reth.r_key", Part::Remote, 64, 32),
    ("infiniband.reth.dmalen", Part::Remote, 96, 32),
    ("infiniband.atomiceth.swapdt", Part::Remote, 96, 64),
    ("infiniband.atomiceth.cmpdt", Part::Remote, 160, 64),
    ("infiniband.aeth.syndrome", Part::Aeth, 0, 8),
    ("infiniband.aeth.syndrome.reserved", Part::Aeth, 0, 1),
    ("infiniband.aeth.syndrome.opcode", Part::Aeth, 1, 2),
    ("infiniband.aeth.syndrome.credit_count", Part::Aeth, 3, 5),
    ("infiniband.aeth.syndrome.timer", Part::Aeth, 3, 5),
    ("infiniband.aeth.syndrome.reserved_value", Part::Aeth, 3, 5),
    ("infiniband.aeth.syndrome.error_code", Part::Aeth, 3, 5),
    ("infiniband.aeth.msn", Part::Aeth, 8, 24),
    ("infiniband.atomicacketh.origremdt", Part::AtomicAck, 0, 64),
    ("infiniband.immdt", Part::Immediate, 0, 32),
    ("infiniband.ieth", Part::Ieth, 0, 32),
    ("rdmalab.mad.surplus", Part::Surplus, 0, 0),
    ("infiniband.invariant.crc", Part::Icrc, 0, 32),
    ("infiniband.variant.crc", Part::Vcrc, 0, 16),
    ("iwarp_mpa.key.req", Part::StartUp, 0, 128),
    ("iwarp_mpa.key.rep", Part::StartUp, 0, 128),
    ("iwarp_mpa.marker_flag", Part::StartUp, 128, 1),
    ("iwarp_mpa.crc_flag", Part::StartUp, 129, 1),
    ("iwarp_mpa.rej_flag", Part::StartUp, 130, 1),
    ("iwarp_mpa.res", Part::StartUp, 131, 5),
    ("iwarp_mpa.rev", Part::StartUp, 136, 8),
    ("iwarp_mpa.pdlength", Part::StartUp, 144, 16),
    ("iwarp_mpa.privatedata", Part::StartUp, 160, 0),
    ("rdmalab.iwarp_mpa.peer_to_peer", Part::StartUp, 160, 1),
    ("rdmalab.iwarp_mpa.rtr_empty", Part::StartUp, 161, 1),
    ("rdmalab.iwarp_mpa.ird", Part::StartUp, 162, 14),
    ("rdmalab.iwarp_mpa.rtr_write", Part::StartUp, 176, 1),
    ("rdmalab.iwarp_mpa.rtr_read", Part::StartUp, 177, 1),
    ("rdmalab.iwarp_mpa.ord", Part::StartUp, 178, 14),
    ("iwarp_mpa.ulpdulength", Part::Fpdu, 0, 16),
    ("iwarp_mpa.pad", Part::Pad, 0, 0),
    ("iwarp_mpa.crc", Part::Crc, 0, 32),
    ("iwarp_mpa.crc_check", Part::Crc, 0, 32),
    ("iwarp_ddp.tagged_flag", Part::Segment, 0, 1),
    ("iwarp_ddp.last_flag", Part::Segment, 1, 1),
    ("iwarp_ddp.rsvd", Part::Segment, 2, 4),
    ("iwarp_ddp.dv", Part::Segment, 6, 2),
    ("iwarp_ddp.stag", Part::Segment, 16, 32),
    ("iwarp_ddp.tagged_offset", Part::Segment, 48, 64),
    ("iwarp_ddp.rsvdulp", Part::Segment, 8, 40),
    ("iwarp_ddp.qn", Part::Segment, 48, 32),
    ("iwarp_ddp.msn", Part::Segment, 80, 32),
    ("iwarp_ddp.mo", Part::Segment, 112, 32),
    ("iwarp_rdma.version", Part::Segment, 8, 2),
    ("iwarp_rdma.rsv", Part::Segment, 10, 2),
    ("iwarp_rdma.opcode", Part::Segment, 12, 4),
    ("iwarp_rdma.inval_stag", Part::Segment, 16, 32),
    ("iwarp_rdma.reserved", Part::Segment, 16, 32),
    ("iwarp_rdma.sinkstag", Part::Body, 0, 32),
    ("iwarp_rdma.sinkto", Part::Body, 32, 64),
    ("iwarp_rdma.rdmardsz", Part::Body, 96, 32),
    ("iwarp_rdma.srcstag", Part::Body, 128, 32),
    ("iwarp_rdma.srcto", Part::Body, 160, 64),
    ("iwarp_rdma.atomic.reserved", Part::Body, 0, 28),
    ("iwarp_rdma.atomic.opcode", Part::Body, 28, 4),
    ("iwarp_rdma.atomic.request_identifier", Part::Body, 32, 32),
    ("iwarp_rdma.atomic.remote_stag", Part::Body, 64, 32),
    ("iwarp_rdma.atomic.remote_tagged_offset", Part::Body, 96, 64),
    ("iwarp_rdma.atomic.add_data", Part::Body, 160, 64),
    ("iwarp_rdma.atomic.add_mask", Part::Body, 224, 64),
    ("iwarp_rdma.atomic.swap_data", Part::Body, 160, 64),
    ("iwarp_rdma.atomic.swap_mask", Part::Body, 224, 64),
    ("iwarp_rdma.atomic.compare_data", Part::Body, 288, 64),
    ("iwarp_rdma.atomic.compare_mask", Part::Body, 352, 64),
    ("iwarp_rdma.atomic.original_request_identifier", Part::Body, 0, 32),
    ("iwarp_rdma.atomic.original_remote_data_value", Part::Body, 32, 64),
    ("rdmalab.iwarp_rdma.immediate", Part::Body, 0, 64),
    ("iwarp_rdma.term_layer", Part::Body, 0, 4),
    ("iwarp_rdma.term_etype", Part::Body, 4, 4),
    ("iwarp_rdma.term_etype_rdma", Part::Body, 4, 4),
    ("iwarp_rdma.term_etype_ddp", Part::Body, 4, 4),
    ("iwarp_rdma.term_etype_llp", Part::Body, 4, 4),
    ("iwarp_rdma.term_errcode", Part::Body, 8, 8),
    ("iwarp_rdma.term_errcode_rdma", Part::Body, 8, 8),
    ("iwarp_rdma.term_errcode_ddp_tagged", Part::Body, 8, 8),
    ("iwarp_rdma.term_errcode_ddp_untagged", Part::Body, 8, 8),
    ("iwarp_rdma.term_errcode_llp", Part::Body, 8, 8),
    ("iwarp_rdma.term_hdrct_m", Part::Body, 16, 1),
    ("iwarp_rdma.hdrct_d", Part::Body, 17, 1),
    ("iwarp_rdma.hdrct_r", Part::Body, 18, 1),
    ("iwarp_rdma.term_rsvd", Part::Body, 19, 13),
    ("iwarp_rdma.term_ddp_seg_len", Part::Body, 32, 16),
    ("iwarp_rdma.term_ddp_h", Part::Body, 48, 0),
];
