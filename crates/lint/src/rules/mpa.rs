//! The start-up of an iWARP stream, and its framing.

rules! { Iwarp
MpaCrc "mpa-crc" Violation
    "The CRC of an FPDU is right where CRCs were agreed on.",
    "RFC 5044 §4.4",
    "all bytes of the FPDU; the start-up, to know whether a CRC of zero is right",
    "TCP's checksum is weak, so MPA adds a CRC32c to each FPDU unless both sides do without. A receiver that finds it wrong \
     ends the connection.";
MpaStart "mpa-start" Violation
    "One side asks by a request, and the other answers by a reply.",
    "RFC 5044 §7.1.1", "both start-up frames",
    "Who opens an iWARP stream sends a request frame, and who was called answers with a reply frame. Two that both ask wait for each \
     other's answer, and two that both answer agree on nothing.";
MpaFirst "mpa-first" Violation
    "An initiator sends no FPDU before it has the reply, and a responder none before it has the initiator's first.",
    "RFC 5044 §7.1.2", "TCP's acknowledgements of the one who sends: what it has acknowledged, it has",
    "The side that was called cannot be sure that the initiator has got its reply, and has changed over to FPDUs, before the first one \
     of them comes. So it waits; an application that has to speak first needs the ready-to-receive message of RFC 6581. The order of \
     packets in the capture is no evidence, since a capture may swap them; that a side sends without having acknowledged what it was \
     to wait for is.";
MpaRejected "mpa-rejected" Violation
    "Nothing follows a reply that rejects.",
    "RFC 5044 §7.1.1", "the reply; of the initiator, its acknowledgement of it",
    "The bit R in a reply says that there will be no stream. All that is left is to close the TCP connection.";
MpaRevision "mpa-revision" Violation
    "The revision is 1 or 2, and the reply has the request's, or an older one.",
    "RFC 5044 §7.1.1; RFC 6581 §9", "the frame; that the reply is not newer, both start-up frames",
    "The request says which revision of MPA its sender speaks: 1 is that of RFC 5044, 2 that of RFC 6581. Drafts before them had 0, which some \
     old adapters still send, and a receiver may refuse. A reply by a newer one has fields that the initiator does not know.";
MpaFlags "mpa-flags" Violation
    "Flags of a start-up frame stand where they mean something: reserved ones are zero, no request rejects, and a reply has enhanced data \
     only if the request has.",
    "RFC 5044 §7.1.1; RFC 6581 §9", "the frame; of enhanced data, both frames",
    "A bit that is reserved may mean something to a later revision, and the bit for a rejection means nothing in a request: who sends \
     back the flags that it got says by that one that it rejects. Enhanced data in a reply are private data to an initiator that did \
     not ask for them.";
MpaDepth "mpa-depth" Violation
    "A reply does not ask for more READs at once than the request's sender answers.",
    "RFC 6581 §9.1", "both start-up frames, with enhanced data",
    "Each side says how many READs and atomics it answers at once (IRD) and how many it wants to have under way (ORD). The responder \
     has read the request, so its ORD must fit the initiator's IRD; an initiator that cannot serve it ends the stream with the \
     error insufficient IRD.";
MpaRtr "mpa-rtr" Violation
    "A reply to a peer-to-peer request is peer-to-peer, and picks one ready-to-receive message of those offered.",
    "RFC 6581 §9.2", "both start-up frames, with enhanced data",
    "In the peer-to-peer model the initiator sends one message of no bytes first, so that the responder may speak. The request offers \
     kinds: an FPDU without a ULPDU, a WRITE, a READ. The reply picks exactly one of them. With none, or another one, the initiator has \
     nothing that it could send.";
MpaReady "mpa-ready" Violation
    "Where it was agreed on, the initiator's first FPDU is the ready-to-receive message, and no other FPDU is without a ULPDU.",
    "RFC 6581 §9.2", "both start-up frames, and the stream from there on",
    "The responder waits for this message before it sends, tells no application of it, and takes whatever comes first for it: a SEND in its \
     place is lost, or ends the stream.";
MpaMarker "mpa-marker" Violation
    "Each marker points to the beginning of its FPDU.",
    "RFC 5044 §4.3", "all bytes of the FPDU; the start-up, to know whether there are markers",
    "Markers stand every 512 bytes in the stream and say how far back the FPDU began, so that a receiver can find FPDUs in TCP segments \
     that come out of order. One that does not fit the length field shows that the stream is broken.";
MpaPad "mpa-pad" Note
    "Padding of FPDUs is zero.",
    "RFC 5044 §4", "all bytes of the FPDU",
    "Senders fill FPDUs up to a multiple of four with zeros. Receivers do not look, so nothing breaks; but bytes of the sender's memory may \
     get out.";
}
