//! Connection management.

rules! { Cm
CmForm "cm-form" Violation
    "Messages of connection management have the versions and the queue key of their class, and zero where the header says nothing.",
    "InfiniBand: management datagrams, general services interface",
    "the datagram",
    "Base version 1, class version 2, the method Send, and the queue key 0x80010000 that every general services interface has. Others are \
     dropped. A status is for what answers a Get or Set; class specific bytes and an attribute modifier have no meaning here.";
CmRepeat "cm-repeat" Violation
    "A message of connection management that is sent again is the same.",
    "InfiniBand: communication management, retries",
    "both messages",
    "REQ, REP and DREQ are repeated until they are answered. The receiver knows the repetition by its communication IDs and answers as \
     before; different content would be taken by one side and not by the other.";
CmAnswer "cm-answer" Violation
    "An answer of connection management names the connection that it answers, and is of its transaction.",
    "InfiniBand: communication management, communication IDs; management datagrams, transaction ID",
    "the message that it answers; of one with a wrong ID, either the other ID or the transaction",
    "Each side finds its connection by the communication ID that it chose itself, and the question by its transaction. An answer with \
     another ID is for nobody.";
CmOrder "cm-order" Suspicious
    "Messages of connection management stand behind those that they answer, and come from the side whose turn it is.",
    "InfiniBand: communication management, message exchanges",
    "both messages, two packets apart; a question that came again, the first one having been missed by the capture, looks the same",
    "REQ, REP and RTU make a connection, in this order: the caller sends REQ and RTU, who was called the REP. DREQ and DREP end it, LAP \
     and APR are about another path. An answer in front of its question means that the two sides are out of step.";
CmQueuePair "cm-queue-pair" Violation
    "A DREQ names the queue pair that its receiver has in the connection.",
    "InfiniBand: communication management, DREQ",
    "REQ and REP of the connection, with the same communication IDs",
    "Beside the communication IDs, a DREQ says which queue pair is to be disconnected. One that names another is not about this connection, \
     and its receiver drops it.";
CmRejected "cm-rejected" Suspicious
    "A connection that was rejected goes no further.",
    "InfiniBand: communication management, REJ",
    "the REJ, and what comes at least two packets later, of queue pairs within 50 ms; one that was long under way looks the same",
    "A REJ ends what the REQ began. A REP, an RTU or packets of its queue pairs behind it mean that one side believes in a connection \
     that the other has forgotten.";
CmRetries "cm-retries" Violation
    "A REQ, REP or DREQ comes again as often as the REQ allows at most.",
    "InfiniBand: communication management, maximum CM retries",
    "the REQ, all transmissions, and times",
    "The REQ says how often a message of its connection is repeated before its sender gives up.";
CmWait "cm-wait" Suspicious
    "A REQ, REP or DREQ does not come again before the other side has had the time that it may take.",
    "InfiniBand: communication management, response timeouts, MRA",
    "the REQ, both transmissions, the MRA between, if there is one, and times",
    "The REQ says how long each side may take to answer, and an MRA asks for more. Who repeats sooner makes the other side answer \
     twice.";
CmService "cm-service" Violation
    "An answer about a service is about the one that was asked for, and names a queue pair if there is one.",
    "InfiniBand: communication management, service ID resolution (SIDR)",
    "SIDR_REQ and SIDR_REP",
    "SIDR finds the queue pair behind a service for datagrams. The answer repeats the service ID, and has a queue pair number if its \
     status says that the service is there.";
CmDepth "cm-depth" Violation
    "A REP does not ask for more READs at once than the REQ's sender answers.",
    "InfiniBand: communication management, initiator depth and responder resources",
    "REQ and REP",
    "REQ says how many READs and atomics its sender answers at once. The other side must stay within that.";
CmAlternate "cm-alternate" Violation
    "A LAP is about the connection's own queue pair, and its APR comes from the side that was asked.",
    "InfiniBand: communication management, LAP and APR",
    "REQ and REP of the connection; of the answer, the LAP",
    "By a LAP one side offers another path, to which the connection may migrate when the first one fails. It names the queue pair of the \
     side that it asks, and that side answers whether it has loaded the path.";
CmMigrated "cm-migrated" Suspicious
    "A connection uses no path that was refused.",
    "InfiniBand: communication management, LAP and APR; automatic path migration",
    "the offer and its refusal, in REQ and REP or in LAP and APR; a later offer that the capture missed may have been taken",
    "A path that the other side did not load is not known to its queue pair: packets that come over it have addresses that it does not \
     expect, and are dropped.";
CmPsn "cm-psn" Violation
    "A connection begins with the PSN that was agreed on.",
    "InfiniBand: communication management, starting PSN",
    "REQ and REP, and the connection's first request",
    "REQ and REP each say with which PSN the receiver of that message is to begin. With another one, the responder sees a gap or an old \
     duplicate where the first message should be.";
}
