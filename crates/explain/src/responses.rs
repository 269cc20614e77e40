//! Packets of responders.

use crate::explanations;

explanations! {
ACKNOWLEDGE "acknowledge" "An acknowledgement"
    "It stands for its PSN and for everything before it, so one is enough for many packets, and one that is lost is made good by \
     the next. It may also say how many receives are posted (credits), and always how many messages are complete (MSN). A SEND or \
     WRITE is done with the acknowledgement of its last packet, as its bytes are then with the peer.",
    "InfiniBand volume 1, chapter 9: acknowledge messages, AETH";
COALESCED "coalesced" "One acknowledgement for several messages"
    "A responder need not answer each request that asks for it: an acknowledgement of the latest says the same of all before, and saves \
     packets. This completes SENDs and WRITEs only. A READ or an atomic in between is done by its own answer, as an \
     acknowledgement brings no data.",
    "InfiniBand volume 1, chapter 9: acknowledgement coalescing";
DUPLICATE_ACK "duplicate-acknowledgement" "An acknowledgement of what is acknowledged already"
    "The responder has got a request that it had carried out before. It does not do so again, but it must answer: the first answer may be \
     what was lost. So it says once more how far it has come. For the requester this is news only if the earlier one was lost; \
     otherwise it changes nothing.",
    "InfiniBand volume 1, chapter 9: duplicate requests";
GHOST "ghost" "A ghost: an acknowledgement of what is not under way"
    "A response must be for a request that is under way. One for what is long complete, or for what was never sent, is a ghost: it was \
     late, was doubled by the network, or belongs to an earlier connection of the same numbers. The requester drops it without a \
     word. If it heeded it, something would count as done that is not.",
    "InfiniBand volume 1, chapter 9: valid and invalid responses, ghost acknowledgements";
READ_RESPONSE "read-response" "The answer to a READ"
    "FIRST, MIDDLE … and LAST, or ONLY, each with the PSN that the request set aside for it; all but the last are exactly one path \
     MTU long. Where the bytes belong follows from the PSN. FIRST, LAST and ONLY say besides what an acknowledgement says, so \
     everything before the READ is acknowledged by it, and no acknowledgement follows.",
    "InfiniBand volume 1, chapter 9: RDMA READ responses";
ATOMIC_ACK "atomic-acknowledge" "The answer to an atomic"
    "It brings the eight bytes as they were before. The responder keeps it: if the request comes once more, the same answer goes out \
     again, and the number is left alone.",
    "InfiniBand volume 1, chapter 9: atomic acknowledge";
NAK_SEQUENCE "nak-sequence" "NAK: PSN sequence error"
    "A packet came whose PSN is not the one that the responder waits for, so something before it is missing. The responder drops it and \
     everything else behind the gap, and says once which PSN it waits for. Once, as a second NAK for the same gap would send the \
     requester back twice. Everything before that PSN is acknowledged by it.",
    "InfiniBand volume 1, chapter 9: PSN sequence error NAK";
NAK_INVALID "nak-invalid" "NAK: invalid request"
    "The request is one that the responder cannot make sense of or that was not agreed on: an opcode out of turn, a wrong \
     length, a message longer than its receive, an atomic at an address that is no multiple of eight, too many READs at once. Repeating it would not help, so the \
     connection ends with an error on both sides.",
    "InfiniBand volume 1, chapter 9: invalid request NAK";
NAK_ACCESS "nak-access" "NAK: remote access error"
    "The key is not valid, does not allow this kind of access, or does not reach as far as the request. Nothing was read or \
     written. The connection ends, so that nobody can try keys at leisure.",
    "InfiniBand volume 1, chapter 9: remote access error NAK";
NAK_OPERATIONAL "nak-operational" "NAK: remote operational error"
    "The request was right, but the responder could not carry it out, for instance since the memory that its own receive names is \
     not there any more. The connection ends.",
    "InfiniBand volume 1, chapter 9: remote operational error NAK";
NAK_RD "nak-rd" "NAK: invalid RD request"
    "A request over a reliable datagram channel named a queue pair or a key that does not take it.",
    "InfiniBand volume 1, chapter 9: invalid RD request NAK";
RNR_NAK "rnr-nak" "RNR NAK: the receiver is not ready"
    "A SEND, or a WRITE with immediate data, needs a receive, and none is posted. Nothing is lost and nobody is wrong: the responder \
     drops the message and tells the sender how long to wait at least before it tries again. How often it may try is a number of its \
     own (RNR retry count), in which 7 means without end.",
    "InfiniBand volume 1, chapter 9 (9.7.5.2.8): RNR NAK";
RESERVED_SYNDROME "syndrome-reserved" "An answer that means nothing"
    "The syndrome has a value that no specification has given a meaning. Requesters differ in what they make of it.",
    "InfiniBand volume 1, chapter 9: AETH syndrome";
}
