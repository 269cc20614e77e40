//! Segments and messages of an iWARP stream: DDP and RDMAP.

rules! { Iwarp
DdpVersion "ddp-version" Violation
    "DDP and RDMAP have version 1.",
    "RFC 5041 §4.1; RFC 5040 §4.1", "the segment's header",
    "There is one version of each. A receiver ends the stream with a Terminate message that says so.";
DdpReserved "ddp-reserved" Violation
    "Reserved bits of DDP's and RDMAP's headers are zero.",
    "RFC 5041 §4.1; RFC 5040 §4.1, §4.8; RFC 7306 §5.2.1", "the segment's headers",
    "Receivers ignore them, so that a later version can give them a meaning. What DDP reserves for the layer above is the tag to \
     invalidate in a SEND that does so, and zero in all others.";
RdmapOpcode "rdmap-opcode" Violation
    "Each opcode is one that there is, and stands where it belongs: in a tagged segment, or in its queue.",
    "RFC 5040 §4.1, §4.3; RFC 7306 §4", "the segment's header",
    "WRITEs and READ responses are tagged. SENDs go to queue 0, requests for READs and atomics to queue 1, Terminate messages to queue 2, \
     atomic responses to queue 3. A receiver answers anything else with a Terminate message: unexpected opcode.";
DdpMsn "ddp-msn" Violation
    "The messages of each queue are numbered from 1 on, without a gap, and all segments of a message have its number.",
    "RFC 5041 §4.3", "the stream from its start-up on; behind bytes that the capture lacks, from the next message on",
    "The number says which of the receiver's buffers a message fills. TCP loses nothing, so a number that is not the next is the \
     sender's fault, and the receiver ends the stream.";
DdpOffset "ddp-offset" Violation
    "The segments of a message go on where the one before ended, the first at the message's beginning.",
    "RFC 5041 §5.1", "two segments of one message, one behind the other",
    "A sender cuts a message into segments in order. An untagged one says where in its message it lies, a tagged one where in the \
     buffer; each begins where the last one ended.";
DdpLast "ddp-last" Violation
    "The last segment of each message, and no other, is marked as the last.",
    "RFC 5041 §4.2", "the message's segments, and what follows",
    "By this bit the receiver knows that a message is complete. Messages are sent whole, one behind the other: another one before the \
     last segment means that the bit was forgotten. A request for a READ or an atomic has one segment only.";
RdmapAnswer "rdmap-answer" Violation
    "An answer is that to the oldest request: into the sink that the READ names, from its first byte to its last, or with the atomic's \
     identifier.",
    "RFC 5040 §5.2, §5.5; RFC 7306 §5.2.2", "both directions, without a gap",
    "READs and atomics are answered in the order of their requests. A READ's answer is one tagged message that begins at the sink's \
     offset and is exactly as long as asked for. An answer elsewhere would write to memory that nobody named.";
RdmapUnasked "rdmap-unasked" Violation
    "Nothing is answered that was not asked for.",
    "RFC 5040 §7; RFC 7306 §8", "both directions, without a gap: all that the responder has acknowledged",
    "An answer that no request waits for has no place to go. Its receiver ends the stream: unexpected opcode.";
RdmapDepth "rdmap-depth" Violation
    "No more READs and atomics are under way than the other side answers at once.",
    "RFC 5040 §5.2; RFC 6581 §9.1; RFC 7306 §5", "the other side's start-up frame, with its IRD; both directions, without a gap",
    "The responder keeps a place for each request that it has not answered yet, as many as its IRD says. One more finds no place, and \
     ends the stream: no buffer. Only answers that the requester has acknowledged count as received.";
StagInvalidated "stag-invalidated" Suspicious
    "A tag is not used any more once its user has invalidated it.",
    "RFC 5040 §5.3", "both messages, and nothing from the tag's owner between",
    "A SEND with invalidation tells the receiver that the sender is done with one of its tags. An access with that tag is refused, unless \
     the owner has made it valid again and said so, of which the capture shows nothing.";
RdmapTerminate "rdmap-terminate" Violation
    "A side sends one Terminate message at most, with the number 1, and nothing behind it.",
    "RFC 5040 §5.4", "the Terminate message, and what follows it in its direction",
    "A Terminate message says why a stream ends, and is the last thing that its sender says on it. There is one, so its number in queue 2 \
     is always 1.";
TerminateBits "terminate-bits" Violation
    "The control field of a Terminate message has its bits where RFC 5040 has them.",
    "RFC 5040 §4.8", "the Terminate message; where no bit says what follows, an error that is one only the wrong way round",
    "Layer and type are the upper and lower half of the first byte, and the bits that say what follows are the uppermost of the third. Who lays \
     the field out by the machine's order of bits has both the other way round, as Linux' siw does, and its peer reads of another \
     error, and of no header.";
TerminateError "terminate-error" Violation
    "A Terminate message names an error that there is.",
    "RFC 5040 §4.8; RFC 5041 §8.2; RFC 5044 §8; RFC 6581 §7", "the Terminate message",
    "Layer, type and code of the error are numbers of the RFCs' tables. With another one, the peer cannot tell what went wrong.";
TerminateHeader "terminate-header" Violation
    "The header in a Terminate message is that of a segment that the other side sent, with its length.",
    "RFC 5040 §4.8", "both directions without a gap; the last 32 segments of the other side",
    "So that the peer can find its request, a Terminate message repeats the header of the segment that is to blame, with the length of \
     the whole segment, and of a READ request its RDMAP header.";
}
