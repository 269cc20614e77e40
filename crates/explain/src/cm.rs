//! Messages of connection management.

use crate::explanations;

explanations! {
REQ "cm-req" "REQ: a call"
    "A connection between two queue pairs needs what each must know of the other: queue pair number, the PSN to begin with, path MTU, how many READs at \
     once, how long to wait for an acknowledgement. The caller says its part by a datagram to queue pair 1 of the other host, which every host \
     has for this. The service ID says which program is meant; for RDMA-CM it contains the port number. REQ is repeated until \
     something answers.",
    "InfiniBand volume 1, chapter 12: REQ; annex A11: RDMA IP CM service";
REP "cm-rep" "REP: the call is taken"
    "The called program agrees and says its part: queue pair number, the PSN to begin with, READs at once. Its queue pair is now ready to receive \
     (RTR) and not yet ready to send: it must not send before it knows that the caller is ready, too. REP is repeated until an RTU \
     comes.",
    "InfiniBand volume 1, chapter 12: REP";
RTU "cm-rtu" "RTU: ready to use"
    "The third and last message of the handshake: the caller has the REP and its queue pair is ready. Now the called side may send. The \
     caller need not wait for anything and may send data right behind it.",
    "InfiniBand volume 1, chapter 12: RTU";
IMPLICIT_RTU "cm-rtu-implied" "Data in the place of an RTU"
    "The RTU is one datagram, and nobody acknowledges it. If it is lost but a message of the caller arrives at the queue pair, that says \
     the same: somebody who sends has got the REP. The adapter tells its manager so (communication established), and the connection stands. \
     If no data come either, the REP is sent again, and the caller answers with another RTU.",
    "InfiniBand volume 1, chapter 12: passive side, communication established event";
MRA "cm-mra" "MRA: it has come, and takes longer"
    "The message was received, but the answer takes longer than its sender would wait. So it is asked to wait so long before it repeats \
     the message.",
    "InfiniBand volume 1, chapter 12: MRA";
REJ "cm-rej" "REJ: no connection"
    "The call, or the answer to it, is refused, with a reason: nobody listens, the program does not want to, a number does not fit, or \
     a timer ran out. Nothing of the connection remains.",
    "InfiniBand volume 1, chapter 12: REJ";
DREQ "cm-dreq" "DREQ: the end of a connection"
    "One side ends the connection and asks the other to do the same; it is repeated until it is answered. What is still under way is \
     flushed, so programs agree first that they are done.",
    "InfiniBand volume 1, chapter 12: DREQ";
DREP "cm-drep" "DREP: agreed, it is over"
    "The answer to DREQ. The queue pair number and the PSNs stay unused for a while after it (timewait), so that packets which are \
     still somewhere in the network meet no new connection of the same numbers.",
    "InfiniBand volume 1, chapter 12: DREP, timewait";
SIDR_REQ "cm-sidr-req" "SIDR REQ: who serves datagrams?"
    "Datagrams need no connection, but the queue pair number and the queue key of the program that is meant. This asks for them by service ID.",
    "InfiniBand volume 1, chapter 12: service ID resolution";
SIDR_REP "cm-sidr-rep" "SIDR REP: the number and the key"
    "The queue pair number and the queue key of the service, or why there is none. Nothing further is exchanged: whoever has them may send.",
    "InfiniBand volume 1, chapter 12: service ID resolution";
LAP "cm-lap" "LAP: another path"
    "One side proposes an alternate path, to which both could move the connection if the present one fails.",
    "InfiniBand volume 1, chapter 12: LAP, automatic path migration";
APR "cm-apr" "APR: an answer about the other path"
    "The proposed alternate path is taken, or refused with a reason. The connection itself goes on as it was.",
    "InfiniBand volume 1, chapter 12: APR, automatic path migration";
MANAGEMENT "management" "A management datagram"
    "Queue pair 1 of each host takes datagrams of 256 bytes by which services are managed. They are not acknowledged; what must be answered \
     is sent again.",
    "InfiniBand volume 1, chapter 13: management datagrams, general services interface";
}
