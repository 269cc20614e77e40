//! All rules, in one table. What judges them stands in `checks`, a file for each family.

use crate::rule::Family::{Checksums, Cm, Congestion, Headers, Iwarp, Lengths, Order, Requester, Responder};
use crate::rule::Rule;
use crate::rule::Severity::{Note, Suspicious, Violation};

/// The numbers of the rules and their table, from one list, so that they cannot disagree.
macro_rules! rules {
    ($($id:ident $name:literal $family:ident $severity:ident
        $sentence:literal, $source:literal, $evidence:literal, $explanation:literal;)+) => {
        /// Which rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each is the rule of its name in the table")]
        pub enum RuleId { $($id,)+ }

        /// All rules.
        pub const RULES: &[Rule] = &[$(Rule {
            id: RuleId::$id, name: $name, family: $family, severity: $severity, sentence: $sentence,
            source: $source, evidence: $evidence, explanation: $explanation,
        },)+];
    };
}

rules! {
Icrc "icrc" Checksums Violation
    "The invariant CRC is that of the packet.",
    "InfiniBand: invariant CRC; RoCE: its coverage behind IP and UDP",
    "the whole packet",
    "The ICRC covers all that no switch may change, from the network header's addresses to the pad. A receiver drops a packet \
     whose ICRC is wrong without a word, and for the sender it is lost. Bits fell over on the way, or the sender computes it \
     differently: with the pad left out, over fields that are to be masked, or with the wrong polynomial.";
Vcrc "vcrc" Checksums Violation
    "The variant CRC is that of the packet.",
    "InfiniBand: variant CRC",
    "the whole packet of a native link, with its VCRC",
    "The VCRC guards one hop of a native InfiniBand link, and each switch computes it anew.";
IpChecksum "ip-checksum" Checksums Violation
    "The IPv4 header's checksum is right.",
    "RFC 791 §3.1",
    "a header without options, whose checksum is not 0 (which a capture in front of an adapter that computes it shows)",
    "A router or a host drops a packet whose IP header is broken. The ICRC does not cover this checksum, since routers change it.";
UdpChecksum "udp-checksum" Checksums Violation
    "A UDP checksum that is not zero is right.",
    "RFC 768; RFC 8200 §8.1; RoCE: the UDP checksum is left zero",
    "the whole packet; a sum of the pseudo header alone is not judged, since an adapter was to finish it",
    "RoCE v2 leaves the UDP checksum zero, as the ICRC guards the payload. A receiver may drop a packet whose checksum is \
     neither zero nor right.";
MpaCrc "mpa-crc" Iwarp Violation
    "The CRC of an FPDU is right where CRCs were agreed on.",
    "RFC 5044 §4.4",
    "all bytes of the FPDU; the start-up, to know whether a CRC of zero is right",
    "TCP's checksum is weak, so MPA adds a CRC32c to each FPDU unless both sides do without. A receiver that finds it wrong \
     ends the connection.";
MpaStart "mpa-start" Iwarp Violation
    "One side asks by a request, and the other answers by a reply.",
    "RFC 5044 §7.1.1", "both start-up frames",
    "Who opens an iWARP stream sends a request frame, and who was called answers with a reply frame. Two that both ask wait for each \
     other's answer, and two that both answer agree on nothing.";
MpaFirst "mpa-first" Iwarp Violation
    "An initiator sends no FPDU before it has the reply, and a responder none before it has the initiator's first.",
    "RFC 5044 §7.1.2", "TCP's acknowledgements of the one who sends: what it has acknowledged, it has",
    "The side that was called cannot be sure that the initiator has got its reply, and has changed over to FPDUs, before the first one \
     of them comes. So it waits; an application that has to speak first needs the ready-to-receive message of RFC 6581. The order of \
     packets in the capture is no evidence, since a capture may swap them; that a side sends without having acknowledged what it was \
     to wait for is.";
MpaRejected "mpa-rejected" Iwarp Violation
    "Nothing follows a reply that rejects.",
    "RFC 5044 §7.1.1", "the reply; of the initiator, its acknowledgement of it",
    "The bit R in a reply says that there will be no stream. All that is left is to close the TCP connection.";
MpaRevision "mpa-revision" Iwarp Violation
    "The reply has the request's revision, or an older one.",
    "RFC 5044 §7.1.1; RFC 6581 §9", "both start-up frames",
    "The request says which revision of MPA its sender speaks. A reply by a newer one has fields that the initiator does not know.";
MpaFlags "mpa-flags" Iwarp Violation
    "Flags of a start-up frame stand where they mean something: reserved ones are zero, no request rejects, and a reply has enhanced data \
     only if the request has.",
    "RFC 5044 §7.1.1; RFC 6581 §9", "the frame; of enhanced data, both frames",
    "A bit that is reserved may mean something to a later revision, and the bit for a rejection means nothing in a request: who sends \
     back the flags that it got says by that one that it rejects. Enhanced data in a reply are private data to an initiator that did \
     not ask for them.";
MpaDepth "mpa-depth" Iwarp Violation
    "A reply does not ask for more READs at once than the request's sender answers.",
    "RFC 6581 §9.1", "both start-up frames, with enhanced data",
    "Each side says how many READs and atomics it answers at once (IRD) and how many it wants to have under way (ORD). The responder \
     has read the request, so its ORD must fit the initiator's IRD; an initiator that cannot serve it ends the stream with the \
     error insufficient IRD.";
MpaRtr "mpa-rtr" Iwarp Violation
    "A reply to a peer-to-peer request is peer-to-peer, and picks one ready-to-receive message of those offered.",
    "RFC 6581 §9.2", "both start-up frames, with enhanced data",
    "In the peer-to-peer model the initiator sends one message of no bytes first, so that the responder may speak. The request offers \
     kinds: an FPDU without a ULPDU, a WRITE, a READ. The reply picks exactly one of them. With none, or another one, the initiator has \
     nothing that it could send.";
MpaReady "mpa-ready" Iwarp Violation
    "Where it was agreed on, the initiator's first FPDU is the ready-to-receive message, and no other FPDU is without a ULPDU.",
    "RFC 6581 §9.2", "both start-up frames, and the stream from there on",
    "The responder waits for this message before it sends, tells no application of it, and takes whatever comes first for it: a SEND in its \
     place is lost, or ends the stream.";
MpaMarker "mpa-marker" Iwarp Violation
    "Each marker points to the beginning of its FPDU.",
    "RFC 5044 §4.3", "all bytes of the FPDU; the start-up, to know whether there are markers",
    "Markers stand every 512 bytes in the stream and say how far back the FPDU began, so that a receiver can find FPDUs in TCP segments \
     that come out of order. One that does not fit the length field shows that the stream is broken.";
MpaPad "mpa-pad" Iwarp Note
    "Padding of FPDUs is zero.",
    "RFC 5044 §4", "all bytes of the FPDU",
    "Senders fill FPDUs up to a multiple of four with zeros. Receivers do not look, so nothing breaks; but bytes of the sender's memory may \
     get out.";
DdpVersion "ddp-version" Iwarp Violation
    "DDP and RDMAP have version 1.",
    "RFC 5041 §4.1; RFC 5040 §4.1", "the segment's header",
    "There is one version of each. A receiver ends the stream with a Terminate message that says so.";
DdpReserved "ddp-reserved" Iwarp Violation
    "Reserved bits of DDP's and RDMAP's headers are zero.",
    "RFC 5041 §4.1; RFC 5040 §4.1, §4.8; RFC 7306 §5.2.1", "the segment's headers",
    "Receivers ignore them, so that a later version can give them a meaning. What DDP reserves for the layer above is the tag to \
     invalidate in a SEND that does so, and zero in all others.";
RdmapOpcode "rdmap-opcode" Iwarp Violation
    "Each opcode is one that there is, and stands where it belongs: in a tagged segment, or in its queue.",
    "RFC 5040 §4.1, §4.3; RFC 7306 §4", "the segment's header",
    "WRITEs and READ responses are tagged. SENDs go to queue 0, requests for READs and atomics to queue 1, Terminate messages to queue 2, \
     atomic responses to queue 3. A receiver answers anything else with a Terminate message: unexpected opcode.";
DdpMsn "ddp-msn" Iwarp Violation
    "The messages of each queue are numbered from 1 on, without a gap, and all segments of a message have its number.",
    "RFC 5041 §4.3", "the stream from its start-up on; behind bytes that the capture lacks, from the next message on",
    "The number says which of the receiver's buffers a message fills. TCP loses nothing, so a number that is not the next is the \
     sender's fault, and the receiver ends the stream.";
DdpOffset "ddp-offset" Iwarp Violation
    "The segments of a message go on where the one before ended, the first at the message's beginning.",
    "RFC 5041 §5.1", "two segments of one message, one behind the other",
    "A sender cuts a message into segments in order. An untagged one says where in its message it lies, a tagged one where in the \
     buffer; each begins where the last one ended.";
DdpLast "ddp-last" Iwarp Violation
    "The last segment of each message, and no other, is marked as the last.",
    "RFC 5041 §4.2", "the message's segments, and what follows",
    "By this bit the receiver knows that a message is complete. Messages are sent whole, one behind the other: another one before the \
     last segment means that the bit was forgotten. A request for a READ or an atomic has one segment only.";
RdmapAnswer "rdmap-answer" Iwarp Violation
    "An answer is that to the oldest request: into the sink that the READ names, from its first byte to its last, or with the atomic's \
     identifier.",
    "RFC 5040 §5.2, §5.5; RFC 7306 §5.2.2", "both directions, without a gap",
    "READs and atomics are answered in the order of their requests. A READ's answer is one tagged message that begins at the sink's \
     offset and is exactly as long as asked for. An answer elsewhere would write to memory that nobody named.";
RdmapUnasked "rdmap-unasked" Iwarp Violation
    "Nothing is answered that was not asked for.",
    "RFC 5040 §7; RFC 7306 §8", "both directions, without a gap: all that the responder has acknowledged",
    "An answer that no request waits for has no place to go. Its receiver ends the stream: unexpected opcode.";
RdmapDepth "rdmap-depth" Iwarp Violation
    "No more READs and atomics are under way than the other side answers at once.",
    "RFC 5040 §5.2; RFC 6581 §9.1; RFC 7306 §5", "the other side's start-up frame, with its IRD; both directions, without a gap",
    "The responder keeps a place for each request that it has not answered yet, as many as its IRD says. One more finds no place, and \
     ends the stream: no buffer. Only answers that the requester has acknowledged count as received.";
StagInvalidated "stag-invalidated" Iwarp Suspicious
    "A tag is not used any more once its user has invalidated it.",
    "RFC 5040 §5.3", "both messages, and nothing from the tag's owner between",
    "A SEND with invalidation tells the receiver that the sender is done with one of its tags. An access with that tag is refused, unless \
     the owner has made it valid again and said so, of which the capture shows nothing.";
RdmapTerminate "rdmap-terminate" Iwarp Violation
    "A side sends one Terminate message at most, with the number 1, and nothing behind it.",
    "RFC 5040 §5.4", "the Terminate message, and what follows it in its direction",
    "A Terminate message says why a stream ends, and is the last thing that its sender says on it. There is one, so its number in queue 2 \
     is always 1.";
TerminateError "terminate-error" Iwarp Violation
    "A Terminate message names an error that there is.",
    "RFC 5040 §4.8; RFC 5041 §8.2; RFC 5044 §8; RFC 6581 §7", "the Terminate message",
    "Layer, type and code of the error are numbers of the RFCs' tables. With another one, the peer cannot tell what went wrong. Linux' siw \
     writes the two halves of the first byte the other way round.";
TerminateHeader "terminate-header" Iwarp Violation
    "The header in a Terminate message is that of a segment that the other side sent, with its length.",
    "RFC 5040 §4.8", "both directions without a gap; the last 32 segments of the other side",
    "So that the peer can find its request, a Terminate message repeats the header of the segment that is to blame, with the length of \
     the whole segment, and of a READ request its RDMAP header.";
Malformed "malformed" Lengths Violation
    "Headers are complete and lengths fit each other.",
    "InfiniBand: packet formats; RFC 5044 §4.2, RFC 5041 §4, RFC 5040 §4",
    "the packet's headers",
    "Length fields, the opcode's headers, the pad count and the bytes that came must fit together, and opcodes must be ones \
     that exist. A receiver drops or refuses what does not.";
PadCount "pad-count" Lengths Violation
    "Payload and pad together are a multiple of four bytes.",
    "InfiniBand: base transport header, pad count",
    "the whole packet",
    "The pad count says how many bytes, 0 to 3, fill the payload up to a multiple of four, as the CRC and everything behind \
     the payload lies on such a border.";
PadZero "pad-zero" Lengths Note
    "Pad bytes are zero.",
    "InfiniBand: base transport header, pad count",
    "the whole packet",
    "Senders fill with zeros. Receivers ignore what is there, so nothing breaks; but bytes of the sender's memory may get out.";
PathMtu "path-mtu" Lengths Violation
    "FIRST and MIDDLE packets are exactly one path MTU long, and none is longer.",
    "InfiniBand: packet lengths, path MTU",
    "the path MTU, from the connection's REQ or from the packets themselves: one size must explain all of them",
    "A message is cut into pieces of exactly the path MTU, one of 256, 512, 1024, 2048 and 4096 bytes, and only its last piece may \
     be shorter. The receiver knows by this where each piece lies. A different length is an invalid request.";
HeaderVersion "header-version" Headers Violation
    "The version of the transport headers is 0.",
    "InfiniBand: base transport header, transport header version",
    "the base header",
    "There is only one version. A receiver drops packets of another without a word.";
ReservedBits "reserved-bits" Headers Violation
    "Reserved bits of the base header are sent as zero.",
    "InfiniBand: base transport header",
    "the base header",
    "Receivers ignore reserved bits, so that a later specification can give them a meaning; that only works if senders leave \
     them zero now.";
PartitionKey "partition-key" Headers Violation
    "All packets to a queue pair are of one partition, and of a valid one.",
    "InfiniBand: partition keys",
    "two packets to one queue pair from the same host",
    "A queue pair belongs to one partition while it is connected. A packet with another partition key, or with an invalid one \
     (its low 15 bits zero), is dropped in silence.";
Syndrome "reserved-syndrome" Headers Violation
    "The syndrome of an acknowledgement has a meaning.",
    "InfiniBand: acknowledge extended header, syndrome",
    "the acknowledgement",
    "The syndrome says: acknowledged, not ready, or refused and why. A reserved value says nothing; requesters differ in what they \
     make of it, and some break the connection.";
SolicitedEvent "solicited-event" Headers Violation
    "Only the last packet of a SEND, or of a WRITE with immediate data, asks for a solicited event.",
    "InfiniBand: base transport header, solicited event",
    "the base header",
    "The bit wakes a receiver that waits for solicited completions only. A packet that completes no receive has nobody to wake, so it \
     is zero there; the specification says so of FLUSH and of all but the last packet.";
OpcodeOrder "opcode-order" Order Violation
    "A message is FIRST, MIDDLE …, LAST of one operation, or ONLY.",
    "InfiniBand: opcode sequence of requests",
    "two requests with consecutive PSNs",
    "In the order of their PSNs, packets of a message follow each other without another message between. A responder answers an \
     opcode out of turn with a NAK invalid request, which ends the connection.";
MessageLength "message-length" Order Violation
    "The packets of a WRITE carry as many bytes as its RETH says.",
    "InfiniBand: RDMA extended header, DMA length",
    "all packets of the message",
    "The RETH in the first packet says how long the whole message is, so that the responder can check access once. More or fewer \
     bytes are an invalid request.";
MessageTooLong "message-too-long" Order Violation
    "No message is longer than 2^31 bytes.",
    "InfiniBand: message size",
    "the RETH",
    "The length field could say more, but the specification ends messages at 2 GiB.";
MissingRequests "missing-requests" Requester Note
    "New requests take the next PSN.",
    "InfiniBand: PSN generation by requesters",
    "two new requests",
    "Each new packet's PSN is one more than the last one's; a READ takes one for each packet of its answer. Where the capture jumps \
     over PSNs, the packets were lost in front of the place of capture, the capturing program lost them, or the requester \
     left them out. What follows tells which: a NAK for them says that the responder misses them, too.";
RepeatHeader "repeat-header" Requester Violation
    "A repeated request has the opcode, length and address of the original.",
    "InfiniBand: retries by requesters",
    "both transmissions",
    "A responder that has carried the original out recognizes the repetition by its PSN alone and does not carry it out \
     again. One that has not takes the repetition for the original. So the two must ask for the same.";
RepeatPayload "repeat-payload" Requester Suspicious
    "A repeated request has the payload of the original.",
    "InfiniBand: retries by requesters",
    "both transmissions, whole",
    "The payload is read from memory again for a repetition. If it differs, the application changed a buffer that was still \
     in use, or the requester read from the wrong place. Which of the two the receiver has got depends on chance.";
ReadRetry "read-retry" Requester Violation
    "A READ asked for again in part asks for the rest: address and length moved by whole packets.",
    "InfiniBand: retries by requesters, RDMA READ",
    "both requests",
    "When some packets of a READ's answer have come, the requester asks for those from the first missing one on. That request has \
     the missing packet's PSN, the address moved and the length shortened by what has come, and the same key.";
RestartPoint "restart-point" Requester Suspicious
    "A requester goes back to the PSN of a NAK, to a missing response, or to its oldest unacknowledged packet.",
    "InfiniBand: retries by requesters",
    "both directions; no packets lost in front of the place of capture",
    "This is go-back-N: everything from the point of loss on is sent again in order. Going back to elsewhere leaves the responder \
     without the packet that it waits for, or repeats what has been acknowledged.";
RnrWait "rnr-wait" Requester Suspicious
    "A requester waits as long as an RNR NAK says.",
    "InfiniBand: receiver not ready, RNR NAK timer",
    "both directions and times; that the requester heard the NAK cannot be seen",
    "A receiver that is not ready says how long the sender is to wait at least. One that comes back sooner finds the receiver no \
     readier, and spends its retries.";
RnrRetry "rnr-retry" Requester Violation
    "What a receiver is not ready for is sent again as often as agreed at most.",
    "InfiniBand: RNR retry counter; communication management, RNR retry count",
    "REQ and REP of the connection; both directions",
    "REQ and REP each say how often the receiver of that message may come again when it is told that there is no receive; 7 is without \
     end. Beyond that the connection is given up with an error (RNR retry counter exceeded).";
AckRequest "ack-request" Requester Note
    "A request that asks for an acknowledgement gets one.",
    "InfiniBand: base transport header, acknowledge request",
    "both directions, and five seconds more; the answer may have been lost in front of the place of capture",
    "By the bit AckReq a requester asks to be told how far the responder is: on the last packet of a message, and in between so that its \
     window moves on. One that nobody answers means that the responder is gone, the path is broken, or the requester has given up.";
RetryLimit "retry-limit" Requester Violation
    "A packet that nobody answers is sent again seven times at most, or as often as agreed.",
    "InfiniBand: retry counter",
    "both directions; the number agreed on from REQ, otherwise 7, the largest that there is",
    "After as many retries without any progress the connection is given up with an error (transport retry counter exceeded). A \
     requester that goes on for ever hides a dead peer from its application.";
Outstanding "outstanding-reads" Requester Violation
    "No more READs and atomics are outstanding than the responder agreed to.",
    "InfiniBand: initiator depth, responder resources",
    "REQ and REP of the connection; an answer to the first of them behind the one that is too many",
    "A responder keeps what it needs to repeat the answer to each READ and atomic, and has room for as many as were agreed on when the \
     connection was made. One too many is an invalid request.";
Credits "credits" Requester Violation
    "No more than one message that needs a receive is sent beyond the credits.",
    "InfiniBand: end-to-end flow control",
    "the credits of acknowledgements, and how messages are numbered",
    "Acknowledgements may say how many receives are posted. Beyond those, a requester sends the first packet of one message as a \
     question and waits for the answer; otherwise all its messages meet a receiver that is not ready.";
CreditsShared "credits-shared" Responder Violation
    "A queue pair with a shared receive queue hands out no credits.",
    "InfiniBand: end-to-end flow control, shared receive queues",
    "REQ and REP of the connection",
    "Receives of a shared queue belong to nobody in particular, so none can be promised to one sender. The syndrome says invalid credits \
     in their place.";
AckUnsent "ack-unsent" Responder Suspicious
    "Nothing is acknowledged that was not sent yet.",
    "InfiniBand: valid responses (ghost acknowledgements)",
    "both directions, and the request that comes next; a capture that missed the request, or has it behind its answer, looks the same",
    "A response's PSN is that of a request that is under way. One beyond all of them is a ghost: of an earlier connection of the \
     same queue pair, or of a responder that counts wrongly. A requester drops it.";
AckUnseen "ack-unseen" Responder Suspicious
    "Nothing is acknowledged that did not arrive.",
    "InfiniBand: generation of acknowledgements",
    "both directions",
    "A request with this PSN never came by in the capture, and yet the responder acknowledges it. Either the capturing program lost \
     packets (look at its count of drops), or the responder acknowledges what it cannot have, and data are lost without anybody \
     knowing.";
AckBack "ack-back" Responder Violation
    "Acknowledgements never go back.",
    "InfiniBand: generation of acknowledgements, duplicate requests",
    "both directions; an older MSN in it would say that the network delayed it",
    "An acknowledgement stands for everything before it. For a duplicate request, the responder says again how far it has come, \
     which is never less than it said before.";
NakOnce "nak-once" Responder Violation
    "A gap gets one NAK, until the missing packet has come.",
    "InfiniBand: PSN sequence error NAK",
    "both directions; that the two NAKs are not one and the same packet, by their IP identification",
    "The requester goes back at the first NAK. Another one for the same gap would make it go back again, for each packet that was \
     under way, and the line would fill with repetitions.";
NakGap "nak-gap" Responder Violation
    "A sequence error NAK names the first missing packet.",
    "InfiniBand: PSN sequence error NAK",
    "both directions",
    "The NAK's PSN is the one that the responder waits for: one behind the last that it took, and before one that has come. All \
     in front of it is acknowledged by it.";
Msn "msn" Responder Violation
    "The MSN counts the messages that are complete.",
    "InfiniBand: message sequence number",
    "all requests up to the response; how the count began is learnt from the first responses",
    "Each response says how many request messages the responder has completed, modulo 2^24. The requester may complete its work by \
     this number.";
ResponseKind "response-kind" Responder Violation
    "READs are answered by READ responses, atomics by atomic acknowledgements, and nothing else is.",
    "InfiniBand: responses",
    "both directions",
    "A requester knows which kind of answer each PSN has. Another kind is a bad response, and ends the connection.";
ReadOrder "read-order" Responder Violation
    "The answer to a READ begins with FIRST or ONLY where it is asked for, goes on with MIDDLE, and ends with LAST or ONLY.",
    "InfiniBand: RDMA READ responses",
    "the READ's request, and a path MTU that is known",
    "The place of a packet in the answer follows from its PSN. The last packet must say so, and none before it may.";
ReadLength "read-length" Responder Violation
    "The answer to a READ has the length that was asked for.",
    "InfiniBand: RDMA READ responses",
    "the READ's request, and a path MTU that is known",
    "Each packet of the answer but the last has exactly the path MTU, the last what remains.";
ReadStart "read-start" Responder Suspicious
    "The answer to a READ that is asked for again in part begins with FIRST or ONLY, too.",
    "InfiniBand: RDMA READ responses",
    "the request that asks for the rest, and the answer's first packet",
    "A shortened READ is a READ of its own. Linux' rxe answers it with MIDDLE or LAST, as if it went on with the original's answer; \
     requesters take either.";
AckRead "ack-read" Responder Suspicious
    "A READ or atomic is not acknowledged in place of an answer.",
    "InfiniBand: responses; coalesced acknowledgements",
    "both directions; no packets of the answer, and no request that came twice, for which the responder would say how far it is: one \
     that was doubled behind the place of capture cannot be seen",
    "An acknowledgement of a READ brings no data. To the requester it says that the answer was lost, and it asks again.";
AtomicReplay "atomic-replay" Responder Violation
    "A repeated atomic is answered with the original's value.",
    "InfiniBand: duplicate requests, atomic operations",
    "both answers",
    "An atomic must not be carried out twice. The responder keeps the value that it found the first time, and sends it again.";
AfterError "after-error" Responder Violation
    "After a NAK that ends the connection nothing is acknowledged any more.",
    "InfiniBand: responder error behaviour",
    "both directions",
    "With a NAK invalid request, remote access error or remote operational error the responder's queue pair goes to the error \
     state, in which it drops all that comes.";
CnpForm "cnp-form" Congestion Violation
    "A congestion notification has BECN set, PSN 0 and sixteen bytes of zero.",
    "RoCE: congestion notification packet",
    "the packet",
    "The notification packet says one thing only: the named queue pair is to send more slowly. Everything else in it is fixed.";
CnpUnprovoked "cnp-unprovoked" Congestion Note
    "A congestion notification answers a packet with a congestion mark.",
    "RoCE: congestion notification; RFC 3168 §5",
    "the other direction; marks that a switch behind the place of capture set cannot be seen",
    "A receiver that gets marked packets tells the sender. If no marked packet came by here, the marking switch lies between this \
     place and the receiver, or the receiver notifies without a cause.";
PauseForm "pause-form" Congestion Violation
    "PAUSE and PFC frames go to their group address, with reserved bits zero.",
    "IEEE 802.3 Annex 31B; IEEE 802.1Qbb",
    "the frame",
    "A PAUSE frame stops the whole link, a PFC frame some priorities of it, for a time in quanta of 512 bits. They are for the neighbour on \
     the link alone, which is why their address, 01:80:c2:00:00:01, is never forwarded.";
CmForm "cm-form" Cm Violation
    "Messages of connection management have the versions and the queue key of their class.",
    "InfiniBand: management datagrams, general services interface",
    "the datagram",
    "Base version 1, class version 2, and the queue key 0x80010000 that every general services interface has. Others are dropped.";
CmRepeat "cm-repeat" Cm Violation
    "A message of connection management that is sent again is the same.",
    "InfiniBand: communication management, retries",
    "both messages",
    "REQ, REP and DREQ are repeated until they are answered. The receiver knows the repetition by its communication IDs and answers as \
     before; different content would be taken by one side and not by the other.";
CmAnswer "cm-answer" Cm Violation
    "An answer of connection management names the connection that it answers.",
    "InfiniBand: communication management, communication IDs",
    "the message that it answers",
    "Each side finds its connection by the communication ID that it chose itself. An answer with another ID is for nobody.";
CmRejected "cm-rejected" Cm Suspicious
    "A connection that was rejected goes no further.",
    "InfiniBand: communication management, REJ",
    "the REJ, and what comes at least two packets later; one that was long under way looks the same",
    "A REJ ends what the REQ began. A REP or RTU behind it means that one side believes in a connection that the other has forgotten.";
CmRetries "cm-retries" Cm Violation
    "A REQ, REP or DREQ comes again as often as the REQ allows at most.",
    "InfiniBand: communication management, maximum CM retries",
    "the REQ, all transmissions, and times",
    "The REQ says how often a message of its connection is repeated before its sender gives up.";
CmWait "cm-wait" Cm Suspicious
    "A REQ, REP or DREQ does not come again before the other side has had the time that it may take.",
    "InfiniBand: communication management, response timeouts, MRA",
    "the REQ, both transmissions, the MRA between, if there is one, and times",
    "The REQ says how long each side may take to answer, and an MRA asks for more. Who repeats sooner makes the other side answer \
     twice.";
CmService "cm-service" Cm Violation
    "An answer about a service is about the one that was asked for, and names a queue pair if there is one.",
    "InfiniBand: communication management, service ID resolution (SIDR)",
    "SIDR_REQ and SIDR_REP",
    "SIDR finds the queue pair behind a service for datagrams. The answer repeats the service ID, and has a queue pair number if its \
     status says that the service is there.";
CmDepth "cm-depth" Cm Violation
    "A REP does not ask for more READs at once than the REQ's sender answers.",
    "InfiniBand: communication management, initiator depth and responder resources",
    "REQ and REP",
    "REQ says how many READs and atomics its sender answers at once. The other side must stay within that.";
CmPsn "cm-psn" Cm Violation
    "A connection begins with the PSN that was agreed on.",
    "InfiniBand: communication management, starting PSN",
    "REQ and REP, and the connection's first request",
    "REQ and REP each say with which PSN the receiver of that message is to begin. With another one, the responder sees a gap or an old \
     duplicate where the first message should be.";
}
