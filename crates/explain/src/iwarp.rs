//! iWARP: the start-up of MPA, and what RDMAP says in FPDUs.

use crate::explanations;

explanations! {
MPA_REQUEST "mpa-request" "The MPA request: what the initiator wants"
    "TCP's stream is there, but has no packets in it: MPA cuts it into FPDUs, and first both sides say how. The initiator tells \
     whether it wants CRCs, whether it wants to receive markers, how many READs at once it answers (IRD) and asks (ORD), and which \
     messages it could send to say that it is ready. It sends nothing else before the reply.",
    "RFC 5044 §7.1; RFC 6581 §9";
MPA_REPLY "mpa-reply" "The MPA reply: the terms of the stream"
    "The responder says the same of itself. If either side asks for CRCs, both use them; markers go to each side that asked for them. Neither \
     has more READs under way than the other answers. From here on the stream consists of FPDUs; but the responder sends none \
     before the initiator's first one has come.",
    "RFC 5044 §7.1; RFC 6581 §9.1";
MPA_REJECT "mpa-reject" "The MPA reply: refused"
    "The reject bit says that there will be no iWARP on this stream: nobody wants the call, or the terms do not fit. The private data may \
     say why. TCP's connection is closed.",
    "RFC 5044 §7.1.1, §7.1.2";
MPA_BROKEN "mpa-broken" "A start-up frame that is none"
    "It begins as one and goes on otherwise: its private data are longer than they may be, or than it says, or it is of a \
     revision nobody knows. Nothing can be agreed on by it, and the connection is closed.",
    "RFC 5044 §7.1.1, §7.1.2";
READY_TO_RECEIVE "ready-to-receive" "The ready-to-receive message (RTR)"
    "The responder may not send before the initiator's first FPDU, as until then it cannot know that its reply has arrived and the \
     other side reads FPDUs. If it is the responder that has something to say first, both would wait for ever. So the two agree \
     in the start-up on a message that moves no bytes (an empty FPDU, or a WRITE or READ of length zero), which the initiator sends at \
     once. No program sees it.",
    "RFC 6581 §9.2; RFC 5044 §7.1.2";
SEND "iwarp-send" "RDMAP SEND: untagged"
    "The sender does not know where the bytes go: they land in the next buffer of queue 0, a receive of the other program. The message \
     sequence number (MSN) counts the messages of the queue and so says which buffer, the message offset (MO) where in it, and the \
     last segment says so. If no buffer is there, there is no waiting and no second try as in RoCE: the connection ends.",
    "RFC 5040 §5.3; RFC 5041 §4";
SEND_INVALIDATE "iwarp-send-invalidate" "RDMAP SEND with invalidate"
    "As SEND, and an STag of the receiver's, by which the sender could reach its memory, ends before the receiver's program is told.",
    "RFC 5040 §5.3";
WRITE "iwarp-write" "RDMAP WRITE: tagged"
    "Each segment says by itself where its bytes go: steering tag (STag) and offset. So they can be placed as they come, without waiting \
     for others and without a copy. The receiver's program is not told. At the sender a WRITE is done when TCP has it, which does not mean \
     that the other side has it.",
    "RFC 5040 §5.1; RFC 5041 §4";
READ_REQUEST "iwarp-read-request" "RDMAP READ request"
    "An untagged message to queue 1. It names both ends of the copy: where the bytes are (source STag and offset) and where they are to \
     go (sink STag and offset), since the answer will be tagged to the sink. So the asker opens a buffer of its own to the other \
     side by this, for just this answer. No more of them may be under way than the other side's IRD.",
    "RFC 5040 §5.2, §4.4";
READ_RESPONSE "iwarp-read-response" "RDMAP READ response"
    "Tagged segments, to the STag and offset that the request named as its sink. Answers come in the order of the requests. With the last \
     segment the READ is done.",
    "RFC 5040 §5.2, §5.5";
IMMEDIATE "iwarp-immediate" "RDMAP immediate data"
    "Eight bytes for the other program, in a message of their own that takes a receive of queue 0. What InfiniBand puts into the last packet of a \
     WRITE is here a second message behind it; as the stream is in order, it says that the WRITE's bytes are there.",
    "RFC 7306 §6";
ATOMIC_REQUEST "iwarp-atomic-request" "RDMAP atomic request"
    "An untagged message to queue 1, as a READ request: compare and swap, or fetch and add, on eight bytes of the other side, of which a \
     mask can choose some bits. It counts against the other side's IRD.",
    "RFC 7306 §5";
ATOMIC_RESPONSE "iwarp-atomic-response" "RDMAP atomic response"
    "The eight bytes as they were before, in queue 3, with the number of the request.",
    "RFC 7306 §5.2";
TERMINATE "iwarp-terminate" "RDMAP TERMINATE: why it ends"
    "One side met an error after which it cannot go on, says which (by layer, kind and code, with the headers of what it was about) \
     and sends nothing more. There is at most one such message in each direction; the stream is closed behind it.",
    "RFC 5040 §5.4, §4.8";
CRC "iwarp-crc" "The CRC of an FPDU"
    "TCP's checksum has 16 bits and lets some errors through, so each FPDU ends with a CRC32c over its length, segment, pad and markers. If it \
     is wrong nothing tells where the next FPDU begins: the connection ends. Both sides may do without; its four bytes are there \
     all the same, as zero.",
    "RFC 5044 §4.4, §7.1.1";
MARKER "iwarp-marker" "A marker"
    "At every 512th byte of the stream, counted behind the start-up frame, stand four bytes that say how far back the FPDU begins in which \
     they are. So a receiver that sees only a later segment finds the border of an FPDU in it. They come where the count has them, in the \
     middle of a header or of payload, and whoever reads the FPDU must leave them out; the CRC covers them. Most implementations \
     never ask for them.",
    "RFC 5044 §4.3";
FPDU "iwarp-fpdu" "An FPDU"
    "The length, the segment of DDP, a pad to a multiple of four, and a CRC. TCP sees only bytes; by the lengths, one behind the other from \
     the start of the stream, the receiver finds where each FPDU begins. Senders make each the length of a TCP segment where they can, so \
     that one that arrives can be understood by itself.",
    "RFC 5044 §4, §5.1";
UNKNOWN "iwarp-unknown" "A segment that is not understood"
    "Its version, its queue or its opcode is none that exists, or it is shorter than its headers. A receiver ends the connection by a \
     Terminate message.",
    "RFC 5040 §7; RFC 5041 §7";
GAP "iwarp-gap" "Bytes that the capture does not have"
    "Bytes of the stream are missing in the capture. They arrived, since the other side confirmed them, or they are still to come again; \
     the FPDUs in them are not known, and where the next one begins has to be found.",
    "RFC 5044 §6";
}
