//! Checksums of a packet.

rules! { Checksums
Icrc "icrc" Violation
    "The invariant CRC is that of the packet.",
    "InfiniBand: invariant CRC; RoCE: its coverage behind IP and UDP",
    "the whole packet",
    "The ICRC covers all that no switch may change, from the network header's addresses to the pad. A receiver drops a packet \
     whose ICRC is wrong without a word, and for the sender it is lost. Bits fell over on the way, or the sender computes it \
     differently: with the pad left out, over fields that are to be masked, or with the wrong polynomial.";
Vcrc "vcrc" Violation
    "The variant CRC is that of the packet.",
    "InfiniBand: variant CRC",
    "the whole packet of a native link, with its VCRC",
    "The VCRC guards one hop of a native InfiniBand link, and each switch computes it anew.";
IpChecksum "ip-checksum" Violation
    "The IPv4 header's checksum is right.",
    "RFC 791 §3.1",
    "a header without options, whose checksum is not 0 (which a capture in front of an adapter that computes it shows)",
    "A router or a host drops a packet whose IP header is broken. The ICRC does not cover this checksum, since routers change it.";
UdpChecksum "udp-checksum" Violation
    "A UDP checksum that is not zero is right.",
    "RFC 768; RFC 8200 §8.1; RoCE: the UDP checksum is left zero",
    "the whole packet; a sum of the pseudo header alone is not judged, since an adapter was to finish it",
    "RoCE v2 leaves the UDP checksum zero, as the ICRC guards the payload. A receiver may drop a packet whose checksum is \
     neither zero nor right.";
}
