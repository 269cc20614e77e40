//! The order of opcodes in messages, and how long messages are.

rules! { Order
OpcodeOrder "opcode-order" Violation
    "A message is FIRST, MIDDLE …, LAST of one operation, or ONLY.",
    "InfiniBand: opcode sequence of requests",
    "two requests with consecutive PSNs",
    "In the order of their PSNs, packets of a message follow each other without another message between. A responder answers an \
     opcode out of turn with a NAK invalid request, which ends the connection.";
MessageLength "message-length" Violation
    "The packets of a WRITE carry as many bytes as its RETH says.",
    "InfiniBand: RDMA extended header, DMA length",
    "all packets of the message",
    "The RETH in the first packet says how long the whole message is, so that the responder can check access once. More or fewer \
     bytes are an invalid request.";
MessageTooLong "message-too-long" Violation
    "No message is longer than 2^31 bytes.",
    "InfiniBand: message size",
    "the RETH",
    "The length field could say more, but the specification ends messages at 2 GiB.";
}
