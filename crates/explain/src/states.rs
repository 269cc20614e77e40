//! States: of queue pairs, and of a stream of iWARP.

use crate::explanations;

explanations! {
RESET "reset" "RESET: nothing is set"
    "A new queue pair, or one that was emptied. It has a number and queues, but belongs to no partition and no peer: nothing can be posted, \
     and packets for it are dropped.",
    "InfiniBand volume 1, chapter 10: queue pair states";
INIT "init" "INIT: receives may be posted"
    "It has a partition and rights, and no peer. Receives can be posted, and should be, since in the next state messages may come at once; \
     packets are still dropped.",
    "InfiniBand volume 1, chapter 10: queue pair states";
RTR "rtr" "RTR: ready to receive"
    "It knows its peer: address, queue pair number, path MTU, and the PSN with which the peer begins. It takes requests and answers them, \
     but sends none of its own. That there is such a state lets the two sides be connected one after the other: each must be able to \
     receive before the other sends.",
    "InfiniBand volume 1, chapter 10: queue pair states";
RTS "rts" "RTS: ready to send"
    "Beside its peer it knows with which PSN it begins itself, how long it waits for an answer and how often it tries again. Both directions work; \
     this is where a connection spends its life.",
    "InfiniBand volume 1, chapter 10: queue pair states";
SQD "sqd" "SQD: the send queue drains"
    "What was begun is sent to its end, nothing new is begun, and receiving goes on. When nothing is under way any more the program is \
     told, and may change things that must not change while packets fly.",
    "InfiniBand volume 1, chapter 10: queue pair states";
SQE "sqe" "SQE: the send queue met an error"
    "A request of an unreliable queue pair failed, so nothing more is sent; receiving goes on, as the peer is not concerned. The program can \
     bring it back to RTS.",
    "InfiniBand volume 1, chapter 10: queue pair states";
ERR "err" "ERR: all that is queued is flushed"
    "Something failed for which there is no going on: retries are used up, the peer refused a request, or the program ended it. The \
     request that failed has its own error, everything else that is queued completes with the status flushed, so that the program knows \
     that nothing of it will happen. Packets are dropped. The only way out is RESET.",
    "InfiniBand volume 1, chapter 10: queue pair states, flushed work requests";
STREAM_START_UP "stream-start-up" "MPA's start-up: the terms are not settled"
    "TCP's connection stands and no FPDU has been sent. The initiator has sent its request, or will; the responder waits for it. Neither \
     side may send FPDUs, as the other does not yet know how to read them.",
    "RFC 5044 §7.1.2";
STREAM_WAITING "stream-waiting" "Full operation, the responder still silent"
    "The reply has been sent. The initiator may send FPDUs; the responder takes them and sends none until the first has come, which shows \
     that its reply has arrived.",
    "RFC 5044 §7.1.2; RFC 6581 §9.2";
STREAM_OPEN "stream-open" "Full operation"
    "Both sides send FPDUs. There are no retries and no acknowledgements at this layer: TCP has seen to that. Whatever goes wrong from here on \
     ends the connection.",
    "RFC 5044 §4, §8; RFC 5040 §5";
STREAM_TERMINATED "stream-terminated" "A Terminate message was sent or has come"
    "Nothing of RDMAP follows it. What was not complete ends with an error, and TCP's connection is closed.",
    "RFC 5040 §5.4";
STREAM_CLOSED "stream-closed" "The stream is closed"
    "Each side has ended its half of TCP's connection. Requests that were not complete are flushed; STags that were lent for them \
     are of no use to anybody any more.",
    "RFC 5044 §7.2";
}
