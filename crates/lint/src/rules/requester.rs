//! What a requester sends: for the first time, and again.

rules! { Requester
MissingRequests "missing-requests" Note
    "New requests take the next PSN.",
    "InfiniBand: PSN generation by requesters",
    "two new requests",
    "Each new packet's PSN is one more than the last one's; a READ takes one for each packet of its answer. Where the capture jumps \
     over PSNs, the packets were lost in front of the place of capture, the capturing program lost them, or the requester \
     left them out. What follows tells which: a NAK for them says that the responder misses them, too.";
RepeatHeader "repeat-header" Violation
    "A repeated request has the opcode, length and address of the original.",
    "InfiniBand: retries by requesters",
    "both transmissions",
    "A responder that has carried the original out recognizes the repetition by its PSN alone and does not carry it out \
     again. One that has not takes the repetition for the original. So the two must ask for the same. Over an unreliable connection \
     nothing is sent again, and what comes with a PSN that has been uses it twice.";
RepeatPayload "repeat-payload" Suspicious
    "A repeated request has the payload of the original.",
    "InfiniBand: retries by requesters",
    "both transmissions, whole",
    "The payload is read from memory again for a repetition. If it differs, the application changed a buffer that was still \
     in use, or the requester read from the wrong place. Which of the two the receiver has got depends on chance.";
ReadRetry "read-retry" Violation
    "A READ asked for again in part asks for the rest: address and length moved by whole packets.",
    "InfiniBand: retries by requesters, RDMA READ",
    "both requests",
    "When some packets of a READ's answer have come, the requester asks for those from the first missing one on. That request has \
     the missing packet's PSN, the address moved and the length shortened by what has come, and the same key.";
RestartPoint "restart-point" Suspicious
    "A requester goes back to the PSN of a NAK, to a missing response, or to its oldest unacknowledged packet.",
    "InfiniBand: retries by requesters",
    "both directions; no packets lost in front of the place of capture",
    "This is go-back-N: everything from the point of loss on is sent again in order. Going back to elsewhere leaves the responder \
     without the packet that it waits for, or repeats what has been acknowledged.";
RnrWait "rnr-wait" Suspicious
    "A requester waits as long as an RNR NAK says.",
    "InfiniBand: receiver not ready, RNR NAK timer",
    "both directions and times; that the requester heard the NAK cannot be seen",
    "A receiver that is not ready says how long the sender is to wait at least. One that comes back sooner finds the receiver no \
     readier, and spends its retries.";
RnrRetry "rnr-retry" Violation
    "What a receiver is not ready for is sent again as often as agreed at most.",
    "InfiniBand: RNR retry counter; communication management, RNR retry count",
    "REQ and REP of the connection; both directions",
    "REQ and REP each say how often the receiver of that message may come again when it is told that there is no receive; 7 is without \
     end. Beyond that the connection is given up with an error (RNR retry counter exceeded).";
AckRequest "ack-request" Note
    "A request that asks for an acknowledgement gets one.",
    "InfiniBand: base transport header, acknowledge request",
    "both directions, and five seconds more; the answer may have been lost in front of the place of capture",
    "By the bit AckReq a requester asks to be told how far the responder is: on the last packet of a message, and in between so that its \
     window moves on. One that nobody answers means that the responder is gone, the path is broken, or the requester has given up.";
RetryLimit "retry-limit" Suspicious
    "A packet that nobody answers is sent again seven times at most, or as often as agreed.",
    "InfiniBand: retry counter",
    "both directions; the number agreed on from REQ, otherwise 7, the largest that there is; an answer that the capturing program missed \
     would make a count begin anew",
    "After as many retries without any progress the connection is given up with an error (transport retry counter exceeded). A \
     requester that goes on for ever hides a dead peer from its application.";
Outstanding "outstanding-reads" Violation
    "No more READs and atomics are outstanding than the responder agreed to.",
    "InfiniBand: initiator depth, responder resources",
    "REQ and REP of the connection; an answer to the first of them behind the one that is too many",
    "A responder keeps what it needs to repeat the answer to each READ and atomic, and has room for as many as were agreed on when the \
     connection was made. One too many is an invalid request.";
Credits "credits" Suspicious
    "No more than one message that needs a receive is sent beyond the credits.",
    "InfiniBand: end-to-end flow control",
    "the credits of acknowledgements, and how messages are numbered; one that the capture missed may have brought more, since they need \
     answer nothing",
    "Acknowledgements may say how many receives are posted. Beyond those, a requester sends the first packet of one message as a \
     question and waits for the answer; otherwise all its messages meet a receiver that is not ready.";
}
