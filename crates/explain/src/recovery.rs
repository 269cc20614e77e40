//! What goes wrong on the way, and how a reliable connection makes it good.

use crate::explanations;

explanations! {
LOST "lost" "A packet is lost"
    "Nobody is told of it. Its receiver does not know that it was sent, its sender not that it is gone; each can only notice later by what \
     comes, or does not come.",
    "InfiniBand volume 1, chapter 9: reliable service";
LOST_REQUEST "lost-request" "A request is lost"
    "Nobody is told of it. If another request follows, the responder sees by its PSN that something is missing, and says so by a NAK \
     at once. If this was the last one, nothing will follow and the responder waits for nothing: then only the requester's timer \
     helps.",
    "InfiniBand volume 1, chapter 9: reliable service, detecting lost packets";
LOST_BEHIND "lost-behind" "A request is lost behind the place of capture"
    "The capture has it, and yet its receiver never saw it: the NAK that follows asks for this very PSN, so all before it arrived, and this \
     packet did not. It was lost between the place of capture and the receiver; what is seen at the one end is not yet what arrives \
     at the other.",
    "InfiniBand volume 1, chapter 9: PSN sequence error NAK";
LOST_ACKNOWLEDGEMENT "lost-acknowledgement" "An acknowledgement is lost"
    "The request was carried out, but the requester does not know. If another acknowledgement follows, it stands for this one as well, and \
     nothing is lost. If not, the requester's timer runs out, the request comes once more, and the responder recognizes it by its PSN \
     and acknowledges it again without carrying it out twice.",
    "InfiniBand volume 1, chapter 9: acknowledge messages, duplicate requests";
LOST_NAK "lost-nak" "A NAK is lost"
    "The responder has said once what it waits for, or how long it is not ready, and is silent until the packet comes that it asked \
     for. The requester knows nothing of it and waits for an acknowledgement, until its timer runs out and it goes back by itself.",
    "InfiniBand volume 1, chapter 9: PSN sequence error NAK, timeouts";
LOST_RESPONSE "lost-response" "An answer with data is lost"
    "The bytes of a READ, or the old value of an atomic, did not arrive, and no acknowledgement can take their place. The requester \
     notices by the next answer that comes, since that has a later PSN (an implied NAK), or by its timer, and asks again: of a \
     READ only for the bytes from the gap on.",
    "InfiniBand volume 1, chapter 9: detecting lost responses";
OUT_OF_SEQUENCE "out-of-sequence" "A packet behind a gap is dropped"
    "It arrived whole, and yet the responder throws it away: it takes requests only in the order of their PSNs, and one before this is \
     missing. It keeps nothing for later, so adapters need no memory for packets out of order; the price is that all of them have to come \
     again. It has said once, by a NAK, what it waits for, and is silent until that comes.",
    "InfiniBand volume 1, chapter 9: PSN verification by responders";
GO_BACK_NAK "go-back-nak" "Go-back-N: a NAK sends the requester back"
    "The responder has said which PSN it waits for. The requester takes everything before that for acknowledged, goes back to it, and sends \
     everything from there on again, in order: also what had arrived behind the gap, since the responder has thrown that away. That is \
     go-back-N. It needs no memory for packets out of order and costs as many packets as were under way.",
    "InfiniBand volume 1, chapter 9: retries by requesters, PSN sequence error NAK";
GO_BACK_IMPLIED "go-back-implied" "Go-back-N: an implied NAK sends the requester back"
    "An answer came whose PSN is later than one that the requester still waits for, and answers come in order: so the earlier one is \
     lost. Nobody has said so, hence an implied NAK. The requester asks again from the first missing PSN on, for a READ by a \
     new request with the rest of its bytes, and everything behind it goes out again, too. It does this at once only for the first time; if \
     the answer is lost again it leaves it to the timer.",
    "InfiniBand volume 1, chapter 9: implied NAK, retries by requesters";
GO_BACK_TIMEOUT "go-back-timeout" "Go-back-N: the timer sends the requester back"
    "For a whole local ACK timeout nothing new has come for the oldest request under way. Its packet may be lost, or the answer; the \
     requester cannot know which. So it goes back to its oldest packet without an acknowledgement and sends everything from there on \
     again. If it was the answer that was lost, the responder recognizes the repetitions as duplicates. Each such retry counts; when \
     the retry count is used up without any progress, the connection is given up (IBV_WC_RETRY_EXC_ERR).",
    "InfiniBand volume 1, chapter 9 (9.7.6.1.3): lost acknowledge messages and timeouts";
GO_BACK_RNR "go-back-rnr" "The wait is over: once more to a receiver that was not ready"
    "The time that the RNR NAK asked for has passed. The requester goes back to the message that was refused and sends it again, with everything \
     that it had sent behind it, since the responder has dropped all of that. While it waits it sends nothing, and no other timer \
     counts.",
    "InfiniBand volume 1, chapter 9 (9.7.5.2.8): RNR NAK, retries by requesters";
REPETITION "repetition" "A request that is sent again"
    "It has the PSN of the original and asks for the same. Whether the responder has carried the original out, the requester need not \
     know: if it has, it recognizes the PSN and only answers again; if not, it takes this for the original.",
    "InfiniBand volume 1, chapter 9: retries by requesters, duplicate requests";
REPETITION_FIRST_SEEN "repetition-first-seen" "A request that is sent again, and whose original this capture never had"
    "The original went out, or everything before and behind it would make no sense, but it was lost in front of the place of capture, or by the \
     capturing program.",
    "InfiniBand volume 1, chapter 9: retries by requesters";
READ_RETRY "read-rest" "A READ asks for the rest"
    "Some packets of the answer have come, so the requester does not ask for those again. The new request has the PSN of the first packet \
     that is missing; its address has moved on by the bytes that came, and its length is less by as many. To the responder it is a \
     READ that it knows, of which it repeats the end. An answer to it may begin with FIRST or ONLY, as each READ's, or go on \
     with MIDDLE or LAST, as Linux' rxe does.",
    "InfiniBand volume 1, chapter 9: retries by requesters, RDMA READ";
DUPLICATE "duplicate" "A duplicate request"
    "The responder has carried this PSN out already, so the packet was sent again or the network doubled it. It must not happen twice: a \
     SEND would take another receive, an atomic would count twice. The responder answers as if for the first time. SENDs and WRITEs are \
     acknowledged as far as it has come; a READ is read again; of an atomic the answer that was kept goes out once more.",
    "InfiniBand volume 1, chapter 9: duplicate requests";
LATE "late" "A request that comes behind later ones"
    "The network has changed the order. The later ones met a gap and were dropped, so this packet helps nobody but itself: the \
     responder takes it, and what came before its time has to be sent again.",
    "InfiniBand volume 1, chapter 9: PSN verification by responders";
CORRUPTED "corrupted" "A packet arrives damaged"
    "Its ICRC, which the sender computed over everything that no switch may change, does not fit. The receiver drops it without a \
     word, as its addresses and numbers may be what is damaged: it cannot know whom to tell. For the sender this is a loss like any \
     other.",
    "InfiniBand volume 1, chapter 7 (7.8.1): invariant CRC; annex A17 (17.3.3)";
READ_AGAIN "read-response-again" "An answer that is sent again"
    "The responder answers a repeated request as it did the first time, with the same PSNs. A READ is read from memory anew, so that nothing \
     need be kept; the value of an atomic was kept, so that nothing happens twice.",
    "InfiniBand volume 1, chapter 9: duplicate requests";
PSN_WRAP "psn-wrap" "The PSN begins again at 0"
    "A PSN has 24 bits: behind 16777215 comes 0. Which of two comes first is told by their distance, counted around: what is less than \
     half of all PSNs (8388608) ahead is new, and what lies behind is old. So never more than half may be under way, and comparing \
     two PSNs as mere numbers goes wrong once in sixteen million packets.",
    "InfiniBand volume 1, chapter 9: PSN, duplicate and invalid regions";
}
