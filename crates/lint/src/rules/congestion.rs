//! Marks, notifications and frames that stop a link.

rules! { Congestion
CnpForm "cnp-form" Violation
    "A congestion notification has BECN set, PSN 0 and sixteen bytes of zero.",
    "RoCE: congestion notification packet",
    "the packet",
    "The notification packet says one thing only: the named queue pair is to send more slowly. Everything else in it is fixed.";
CnpUnprovoked "cnp-unprovoked" Note
    "A congestion notification answers a packet with a congestion mark.",
    "RoCE: congestion notification; RFC 3168 §5",
    "the other direction; marks that a switch behind the place of capture set cannot be seen",
    "A receiver that gets marked packets tells the sender. If no marked packet came by here, the marking switch lies between this \
     place and the receiver, or the receiver notifies without a cause.";
PauseForm "pause-form" Violation
    "PAUSE and PFC frames go to their group address, with reserved bits zero.",
    "IEEE 802.3 Annex 31B; IEEE 802.1Qbb",
    "the frame",
    "A PAUSE frame stops the whole link, a PFC frame some priorities of it, for a time in quanta of 512 bits. They are for the neighbour on \
     the link alone, which is why their address, 01:80:c2:00:00:01, is never forwarded.";
PauseHeeded "pause-heeded" Suspicious
    "Who gets a PAUSE or PFC frame stands still as long as it says.",
    "IEEE 802.3 Annex 31B; IEEE 802.1Qbb",
    "more than 64 KiB behind the frame, within its time on a link of 800 Gbit/s or before its sender speaks again; which way packets \
     went, or frames to the station that asks for the pause; a tag, for the priority",
    "A link is paused when a buffer behind it is nearly full; what comes all the same has no place to go and is lost. Some bytes may \
     follow, as a frame that is being sent is not broken off, and the pause takes time to be understood. A sender that goes on \
     beyond that does not heed it: flow control is switched off at one end, or for another priority.";
}
