//! What a responder answers.

rules! { Responder
CreditsShared "credits-shared" Violation
    "A queue pair with a shared receive queue hands out no credits.",
    "InfiniBand: end-to-end flow control, shared receive queues",
    "REQ and REP of the connection",
    "Receives of a shared queue belong to nobody in particular, so none can be promised to one sender. The syndrome says invalid credits \
     in their place.";
AckUnsent "ack-unsent" Suspicious
    "Nothing is acknowledged that was not sent yet.",
    "InfiniBand: valid responses (ghost acknowledgements)",
    "both directions, and the request that comes next; a capture that missed the request, or has it behind its answer, looks the same",
    "A response's PSN is that of a request that is under way. One beyond all of them is a ghost: of an earlier connection of the \
     same queue pair, or of a responder that counts wrongly. A requester drops it.";
AckUnseen "ack-unseen" Suspicious
    "Nothing is acknowledged or answered that did not arrive.",
    "InfiniBand: generation of acknowledgements",
    "both directions",
    "A request with this PSN never came by in the capture, and yet the responder acknowledges it. Either the capturing program lost \
     packets (look at its count of drops), or the responder acknowledges what it cannot have, and data are lost without anybody \
     knowing. It is the same with a NAK for a gap behind which nothing came, with an answer that begins in the middle of a READ \
     though no request asks for the rest, with one that was sent behind that of a later request though nobody asked again, and with \
     what found no receive, and is acknowledged without having been sent again.";
AckBack "ack-back" Violation
    "Acknowledgements never go back.",
    "InfiniBand: generation of acknowledgements, duplicate requests",
    "both directions; an older MSN in it would say that the network delayed it",
    "An acknowledgement stands for everything before it. For a duplicate request, the responder says again how far it has come, \
     which is never less than it said before.";
NakOnce "nak-once" Violation
    "A gap gets one NAK, until the missing packet has come.",
    "InfiniBand: PSN sequence error NAK",
    "both directions; that the two NAKs are not one and the same packet, by their IP identification",
    "The requester goes back at the first NAK. Another one for the same gap would make it go back again, for each packet that was \
     under way, and the line would fill with repetitions.";
NakGap "nak-gap" Violation
    "A sequence error NAK names the first missing packet.",
    "InfiniBand: PSN sequence error NAK",
    "both directions",
    "The NAK's PSN is the one that the responder waits for: one behind the last that it took, and before one that has come. All \
     in front of it is acknowledged by it.";
Msn "msn" Violation
    "The MSN counts the messages that are complete.",
    "InfiniBand: message sequence number",
    "all requests up to the response; the count begins with 0 behind REQ and REP, otherwise it is learnt from the first responses. Of a \
     READ or atomic, whose answer may be one that was asked for again, that IP identifications say which of two responses was sent first",
    "Each response says how many request messages the responder has completed, modulo 2^24, so none says fewer than one that was sent \
     before it. The requester may complete its work by this number.";
ResponseKind "response-kind" Violation
    "READs are answered by READ responses, atomics by atomic acknowledgements, and nothing else is.",
    "InfiniBand: responses",
    "both directions",
    "A requester knows which kind of answer each PSN has. Another kind is a bad response, and ends the connection.";
ReadOrder "read-order" Violation
    "The answer to a READ begins with FIRST or ONLY, goes on with MIDDLE, and ends with LAST or ONLY.",
    "InfiniBand: RDMA READ responses",
    "the READ's request, and a path MTU that is known",
    "The place of a packet in the answer follows from its PSN. The last packet must say so, and none before it may.";
ReadLength "read-length" Violation
    "The answer to a READ has the length that was asked for.",
    "InfiniBand: RDMA READ responses",
    "the READ's request, and a path MTU that is known, unless the answer is a single packet",
    "Each packet of the answer but the last has exactly the path MTU, the last what remains.";
ReadStart "read-start" Suspicious
    "The answer to a READ that is asked for again in part begins with FIRST or ONLY, too.",
    "InfiniBand: RDMA READ responses",
    "the request that asks for the rest, and the answer's first packet",
    "A shortened READ is a READ of its own. Linux' rxe answers it with MIDDLE or LAST, as if it went on with the original's answer; \
     requesters take either.";
ReadReplay "read-replay" Note
    "A READ that is answered again brings the same bytes.",
    "InfiniBand: duplicate requests, RDMA READ",
    "both answers, whole; of the last 128 packets of READs' answers",
    "A READ is carried out anew when it comes again, while an atomic is not. So its answer differs if the memory was written in \
     between, by the peer's program or by a WRITE that was let in front. Which bytes the requester keeps depends on what was lost.";
AckRead "ack-read" Suspicious
    "A READ or atomic is not acknowledged in place of an answer.",
    "InfiniBand: responses; coalesced acknowledgements",
    "both directions; no packets of the answer, and no request that came twice, for which the responder would say how far it is: one \
     that was doubled behind the place of capture cannot be seen. Of what is acknowledged behind it, that the requester goes on",
    "An acknowledgement of a READ brings no data. To the requester it says that the answer was lost, and it asks again. An acknowledgement \
     of what is behind a READ says the same. Where the requester goes on, it took the READ for complete, or only the capture lacks \
     the answer (look at the capturing program's count of drops).";
AnswerOrder "answer-order" Violation
    "READs and atomics are answered in their order, and before anything behind them is acknowledged.",
    "InfiniBand: responses; coalesced acknowledgements",
    "both directions, and IP identifications that count up by one from the response before to this one, so that none between them is \
     missing",
    "An acknowledgement stands for all SENDs and WRITEs in front of it, but for no READ or atomic: those have an answer of their own, and \
     it comes in the order of the requests. A requester that sees one passed over takes its answer for lost, and asks again.";
AtomicReplay "atomic-replay" Violation
    "A repeated atomic is answered with the original's value.",
    "InfiniBand: duplicate requests, atomic operations",
    "both answers",
    "An atomic must not be carried out twice. The responder keeps the value that it found the first time, and sends it again.";
AfterError "after-error" Violation
    "After a NAK that ends the connection nothing is acknowledged any more.",
    "InfiniBand: responder error behaviour",
    "both directions",
    "With a NAK invalid request, remote access error or remote operational error the responder's queue pair goes to the error \
     state, in which it drops all that comes.";
}
