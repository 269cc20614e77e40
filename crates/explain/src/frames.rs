//! What is around RoCE and iWARP: neighbours, and TCP's own segments.

use crate::explanations;

explanations! {
NEIGHBOUR "neighbour" "Looking for a neighbour"
    "An IP address says who is meant, a frame needs a MAC address. So before the first packet the sender asks everybody on the \
     link who has the address (ARP, or neighbour discovery over IPv6), and the one who has it answers. RDMA packets wait \
     until then; a real adapter has this done by the host's kernel when the path of a queue pair is set.",
    "RFC 826; RFC 4861 §7.2";
TCP_HANDSHAKE "tcp-handshake" "TCP's handshake"
    "An iWARP stream is an ordinary TCP connection, so it begins as each of them does: SYN, SYN with ACK, ACK. Each side tells the \
     sequence number with which its bytes begin. From here on TCP sees to it that the bytes arrive once and in order, and \
     the layers above need no sequence numbers of packets, no acknowledgements and no timers.",
    "RFC 9293 §3.5; RFC 5044 §7";
TCP_ACK "tcp-ack" "TCP acknowledges bytes"
    "A segment without bytes confirms what has arrived: its acknowledgement number is that of the next byte that is waited for. It \
     says nothing about RDMA: a message may be confirmed here and still wait in a buffer of the receiver.",
    "RFC 9293 §3.8.6";
TCP_LOST "tcp-lost" "A TCP segment is lost"
    "The bytes of this segment do not arrive. Those behind them do, but TCP keeps them until the gap is filled, as iWARP here \
     reads a stream in order. So unlike in RoCE, what is behind the gap is not thrown away; but everything behind it waits.",
    "RFC 9293 §3.8";
TCP_LOST_EMPTY "tcp-lost-empty" "A TCP segment without bytes is lost"
    "A confirmation that is lost is made good by the next one, which says as much and more; nobody sends it again. A SYN or a FIN counts as \
     a byte and is sent again as one.",
    "RFC 9293 §3.4, §3.8";
TCP_BACK_DUPLICATES "tcp-back-duplicates" "TCP sends again: the same was confirmed again and again"
    "Each segment that arrives behind a gap makes the receiver confirm the same byte once more. After three of those the sender \
     takes the segment for lost and sends it again at once, without waiting for its timer. That is TCP's counterpart of \
     RoCE's NAK.",
    "RFC 5681 §3.2";
TCP_BACK_TIMEOUT "tcp-back-timeout" "TCP sends again: nothing was confirmed for too long"
    "If the last segments are lost, nothing arrives behind the gap and nothing is confirmed twice. Then only the retransmission \
     timer helps. It is a second or more where round trips are short, and doubles each time: a loss at the end of a message costs \
     thousands of times what it takes to send it.",
    "RFC 6298 §2, §5";
TCP_KEEP_ALIVE "tcp-keep-alive" "TCP asks whether the peer is there"
    "On an idle connection one old byte is sent again, which the peer confirms if it lives. Nothing of it reaches iWARP.",
    "RFC 9293 §3.8.4";
TCP_END "tcp-end" "The end of a stream"
    "FIN stands behind the last byte of a side: it will send no more. iWARP ends a connection by this, behind the last FPDU. Between two \
     FPDUs it is a good end; in the middle of one it would be a loss.",
    "RFC 9293 §3.6; RFC 5044 §7.2";
TCP_RESET "tcp-reset" "A connection is broken off"
    "RST ends a connection at once. What was under way is lost, and whatever is not complete ends with an error.",
    "RFC 9293 §3.5.2, §3.5.3";
}
