//! Fields of the base header and of acknowledgements.

rules! { Headers
HeaderVersion "header-version" Violation
    "The version of the transport headers is 0.",
    "InfiniBand: base transport header, transport header version",
    "the base header",
    "There is only one version. A receiver drops packets of another without a word.";
ReservedBits "reserved-bits" Violation
    "Reserved bits of headers, and of messages of connection management, are sent as zero.",
    "InfiniBand: local route header; base transport header; datagram, extended reliable connection and flush extended headers; \
     communication management. IP: RFC 791 §3.1",
    "the headers",
    "Receivers ignore reserved bits, so that a later specification can give them a meaning; that only works if senders leave \
     them zero now.";
PartitionKey "partition-key" Violation
    "All packets to a queue pair are of one partition, and of a valid one, of which one of the two sides is a full member.",
    "InfiniBand: partition keys",
    "two packets to one queue pair from the same host; that both are limited members, a request and its answer",
    "A queue pair belongs to one partition while it is connected. A packet with another partition key, or with an invalid one \
     (its low 15 bits zero), is dropped in silence. So is one of a limited member (its high bit zero) by another limited one: such \
     members talk with full members only.";
Transport "transport" Suspicious
    "All packets to a queue pair are of its transport service.",
    "InfiniBand: base transport header, opcode; packet header validation",
    "three packets to one queue pair from the same host; two conversations, one of each service, whose packets the capture mixed look the \
     same",
    "The three upper bits of the opcode name the service: reliable or unreliable connection, datagram. A queue pair is made for one of them, \
     and drops packets of another in silence, so that what they carry never arrives.";
QueueKey "queue-key" Suspicious
    "Datagrams to a queue pair have its queue key.",
    "InfiniBand: queue keys; communication management, service ID resolution (SIDR)",
    "the SIDR_REP that told the key, or else three datagrams to one queue pair from the same host; a program may have changed the key in \
     between",
    "A queue pair for datagrams has one queue key, and drops what comes with another one in silence: a key shows that the sender was told \
     how to reach it. Who asks for a service by SIDR is told the key.";
Syndrome "reserved-syndrome" Violation
    "The syndrome of an acknowledgement has a meaning.",
    "InfiniBand: acknowledge extended header, syndrome",
    "the acknowledgement",
    "The syndrome says: acknowledged, not ready, or refused and why. A reserved value says nothing; requesters differ in what they \
     make of it, and some break the connection.";
ResponseSyndrome "response-syndrome" Violation
    "READ responses and answers to atomics acknowledge; only an ACKNOWLEDGE refuses.",
    "InfiniBand: acknowledge extended header; RDMA READ response and ATOMIC acknowledge packets",
    "the answer",
    "A responder that cannot answer says so in a packet of its own, an ACKNOWLEDGE with a NAK or an RNR NAK, and sends no data. An      answer that brings what was asked for and refuses it at once can be taken for either.";
AtomicAligned "atomic-aligned" Violation
    "The address of an atomic, or of an ATOMIC WRITE, is a multiple of eight.",
    "InfiniBand: atomic extended header, virtual address; responder, request validation",
    "the request",
    "Atomics work on eight bytes that lie so that a machine can change them in one step. A responder refuses another address with      NAK invalid request, and the connection is over.";
SolicitedEvent "solicited-event" Violation
    "Only the last packet of a SEND, or of a WRITE with immediate data, asks for a solicited event.",
    "InfiniBand: base transport header, solicited event",
    "the base header",
    "The bit wakes a receiver that waits for solicited completions only. A packet that completes no receive has nobody to wake, so it \
     is zero there; the specification says so of FLUSH and of all but the last packet.";
}
