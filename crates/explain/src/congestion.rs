//! Congestion: marks, notifications, and links that are stopped.

use crate::explanations;

explanations! {
MARK "ecn-mark" "A packet with a congestion mark"
    "A switch whose queue grew has set both ECN bits in the IP header (Congestion Experienced) instead of dropping the packet. It arrives and \
     counts as any other; but its receiver is to tell the sender that the way is crowded, before anything is lost. Only packets whose \
     sender said that it understands this, by one of the two bits, may be marked.",
    "RFC 3168 §5; InfiniBand volume 1, annex A17 (17.9.3)";
NOTIFICATION "cnp" "A congestion notification packet (CNP)"
    "The receiver of a marked packet tells the sender by this. It names the queue pair that is to send more slowly and says nothing else: PSN 0, \
     sixteen bytes of zero, BECN set. It is not acknowledged and not sent again; if it is lost, the next marked packet makes another. \
     One may stand for many marks. The sender cuts its rate at once and raises it again bit by bit while none come (DCQCN is the usual \
     recipe).",
    "InfiniBand volume 1, annex A17 (17.9.3): RoCE v2 CNP";
PAUSE "pause" "A PAUSE frame"
    "The neighbour on this link asks to send nothing at all for a while, as its buffers fill. It is how Ethernet becomes a network that \
     drops nothing; but it stops everybody on the link, also those who do not cause the congestion.",
    "IEEE 802.3 annex 31B";
PRIORITY_PAUSE "priority-pause" "A priority flow control frame (PFC)"
    "As PAUSE, for some of eight priorities only, so that RDMA can be stopped while other traffic goes on. A stopped switch fills up in \
     turn and stops those behind it: congestion spreads backwards through the network, and where the stops go in a circle it \
     stands still for good. Notifications are to slow senders down before that.",
    "IEEE 802.1Q clause 36 (802.1Qbb); InfiniBand volume 1, annex A17 (17.9.1)";
}
