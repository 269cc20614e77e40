//! Lengths and pads of a packet, and the path MTU.

rules! { Lengths
Malformed "malformed" Violation
    "Headers are complete and lengths fit each other.",
    "InfiniBand: packet formats; RFC 5044 §4.2, RFC 5041 §4, RFC 5040 §4",
    "the packet's headers",
    "Length fields, the opcode's headers, the pad count and the bytes that came must fit together, and opcodes must be ones \
     that exist. A receiver drops or refuses what does not.";
PadCount "pad-count" Violation
    "Payload and pad together are a multiple of four bytes.",
    "InfiniBand: base transport header, pad count",
    "the whole packet",
    "The pad count says how many bytes, 0 to 3, fill the payload up to a multiple of four, as the CRC and everything behind \
     the payload lies on such a border.";
PadZero "pad-zero" Note
    "Pad bytes are zero.",
    "InfiniBand: base transport header, pad count",
    "the whole packet",
    "Senders fill with zeros. Receivers ignore what is there, so nothing breaks; but bytes of the sender's memory may get out.";
PathMtu "path-mtu" Violation
    "FIRST and MIDDLE packets are exactly one path MTU long, and none is longer.",
    "InfiniBand: packet lengths, path MTU",
    "the path MTU, from the connection's REQ or from the packets themselves: one size must explain all of them",
    "A message is cut into pieces of exactly the path MTU, one of 256, 512, 1024, 2048 and 4096 bytes, and only its last piece may \
     be shorter. The receiver knows by this where each piece lies. A different length is an invalid request. A datagram is one packet, \
     and so never longer.";
}
