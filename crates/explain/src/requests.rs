//! Packets of requesters.

use crate::explanations;

explanations! {
SEND "send" "SEND: a message for a receive of the peer"
    "The message lands in the buffer of the oldest receive that the other program has posted, and completes it; the sender does not \
     know the address. A message longer than the path MTU is cut into FIRST, MIDDLE … and LAST, a shorter one is an ONLY. Each \
     packet takes the next packet sequence number (PSN), and by these the receiver knows that none is missing. Only the last one \
     needs to ask for an acknowledgement.",
    "InfiniBand volume 1, chapter 9: SEND operation, PSN generation by requesters";
SEND_IMMEDIATE "send-immediate" "SEND with immediate data"
    "As SEND, and four bytes besides, which do not land in the buffer but in the completion at the receiver. Programs put there what \
     the message is about. They stand in the last packet, as the receive completes with it.",
    "InfiniBand volume 1, chapter 9: immediate data";
SEND_INVALIDATE "send-invalidate" "SEND with invalidate"
    "As SEND, and a key of the receiver's, by which the sender could reach its memory, ends before the receiver is told. So a \
     program that lent its memory for one exchange has it back with the answer, without a work request of its own.",
    "InfiniBand volume 1, chapter 9: SEND with invalidate";
WRITE "write" "RDMA WRITE: into memory of the peer's"
    "The first packet carries the RETH: where the bytes go (virtual address), by what right (R_Key) and how many they are in all. The \
     receiver's adapter checks that once and puts them there; its program is not told. Later packets have no address: where \
     their bytes belong follows from their place in the message. So nothing may be missing, and a repetition that begins in the \
     middle needs what came before to be known.",
    "InfiniBand volume 1, chapter 9: RDMA WRITE operation, RDMA extended transport header";
WRITE_IMMEDIATE "write-immediate" "RDMA WRITE with immediate data"
    "A WRITE that tells the receiver's program: four bytes come with the last packet, and they complete a receive. The receive's buffer \
     stays as it is; it only has to be there. If none is, the answer is an RNR NAK.",
    "InfiniBand volume 1, chapter 9: RDMA WRITE with immediate data";
READ_REQUEST "read-request" "RDMA READ: from memory of the peer's"
    "One packet asks for bytes by address, key and length; the peer's adapter reads them and answers, and its program is not told. \
     The answer may be many packets, and each of them needs a PSN by which the asker notices a loss. So the request takes as \
     many PSNs as the answer has packets, and the next request begins behind those.",
    "InfiniBand volume 1, chapter 9: RDMA READ operation, PSN generation by requesters";
COMPARE_SWAP "compare-swap" "Compare and swap"
    "If the eight bytes at the address are the ones expected, others take their place; either way the answer is what was \
     there. It happens in one step that no other atomic of the same adapter can divide, so that many can share a lock or a counter. \
     It must never happen twice for one request: the responder remembers the answer for repetitions.",
    "InfiniBand volume 1, chapter 9: atomic operations";
FETCH_ADD "fetch-add" "Fetch and add"
    "A number is added to the eight bytes at the address, and the answer is what was there before. It happens in one step that no \
     other atomic of the same adapter can divide. It must never happen twice for one request: the responder remembers the answer \
     for repetitions.",
    "InfiniBand volume 1, chapter 9: atomic operations";
FLUSH "flush" "FLUSH: until everybody can see it"
    "An acknowledged WRITE has arrived at the adapter; whether everybody at the other side sees it yet, or whether it would outlive a loss \
     of power, is not said. FLUSH asks for that, and its answer comes when it is so.",
    "InfiniBand volume 1, annex A19: FLUSH";
ATOMIC_WRITE "atomic-write" "ATOMIC WRITE: eight bytes at once"
    "Eight bytes that nobody ever sees half. A program writes its data first and then, by this, the word that says that they are \
     there.",
    "InfiniBand volume 1, annex A19: ATOMIC WRITE";
UNRELIABLE "unreliable" "A packet that nobody acknowledges"
    "Over unreliable services nothing is acknowledged and nothing sent again: a work request is done when its last packet has gone. An \
     unreliable connection has PSNs all the same, by which the receiver notices a gap; then the whole message is dropped, and \
     neither program is told.",
    "InfiniBand volume 1, chapter 9: unreliable connection, unreliable datagram";
DATAGRAM "datagram" "A datagram"
    "One packet is one message, to whatever queue pair its sender names, with the queue key that the receiver asks for; with another \
     key it is dropped without a word. It says which queue pair it comes from, as nobody is connected. The receive's buffer begins \
     with 40 bytes for where it came from.",
    "InfiniBand volume 1, chapter 9: unreliable datagram, datagram extended transport header";
XRC "xrc" "A request for a shared receive queue"
    "Extended reliable connections have one queue pair for a whole host at the other side: each packet names the shared receive queue \
     that the message is for. So each of many processes can have a queue of its own behind one connection, where otherwise each \
     would need a connection to each.",
    "InfiniBand volume 1, annex A14: extended reliable connection";
SOLICITED "solicited" "A solicited event"
    "With the SE bit the sender asks that a receiver who sleeps for solicited completions only be woken by this message.",
    "InfiniBand volume 1, chapter 9: base transport header, solicited event";
PAD "pad" "A pad"
    "Everything behind the payload lies on a border of four bytes. If the payload's length is no multiple of four, one to three \
     bytes fill it up; the pad count in the base header says how many, so that the receiver knows how long the payload is. The \
     ICRC covers them, too: who forgets that gets on well with all messages but the odd ones.",
    "InfiniBand volume 1, chapter 9: base transport header, pad count";
}
