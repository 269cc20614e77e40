"""A connection of Linux' iWARP at the end of a stream: does with it what it is told to, and says what became of it.

Run with Debian's own Python, for which python3-pyverbs is built:

    /usr/bin/python3 siw_peer.py --listen 18700 --port 18800

Serves one TCP connection. Lines of text, each a JSON object: an order `{"do": NAME, ...}`, and its answer, which has
"error" in it where the order failed. It listens for RDMA connections on the other port all the time. There is one connection
at a time, with one region of memory, byte i of which begins as i * 7 + (i >> 8) mod 256.

    event    the next event of rdma_cm, waiting at most "seconds"; its name, its private data, or nothing
    accept   the connection that was asked for, with "ird", "ord", "private" data, the region's rights "access", and "receives" of
             these lengths, numbered from 100 on; answers the region's address, key and size
    reject   the connection that was asked for, with "private" data
    connect  to "address" and "port"; the rest as with accept
    post     a request: "operation" with "length" bytes of the region from "offset" on, its number "id", and for all but SEND
             "key" and "address"
    receive  a receive of "length" bytes, whose number is "id"
    poll     completions, as many as "count", waiting at most "seconds": [number, status, bytes] each
    memory   the bytes of the region at "offset", or of the receive "receive", as hexadecimal digits
    state    the queue pair's state, as a number
    disconnect
    close    the connection, and forgets all that was asked for
"""

import argparse
import json
import os
import select
import socket
import sys
import time

import pyverbs.cm_enums as ce
import pyverbs.enums as e
from pyverbs.cmid import AddrInfo, CMEvent, CMEventChannel, CMID, ConnParam
from pyverbs.cq import CQ
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SGE, SendWR

SIZE = 65536
OPCODES = {"WRITE": e.IBV_WR_RDMA_WRITE, "SEND": e.IBV_WR_SEND, "READ": e.IBV_WR_RDMA_READ}
STATUSES = {int(getattr(e, name)): name for name in dir(e) if name.startswith("IBV_WC_") and name.endswith("_ERR")}
STATUSES[int(e.IBV_WC_SUCCESS)] = "SUCCESS"


def descriptor():
    """That of the event channel, for which pyverbs has no name."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").endswith("/rdma_cm"):
                return int(name)
        except OSError:
            # That of the list itself.
            pass
    raise LookupError("rdma_cm has no event channel")


class Peer:
    def __init__(self, options):
        self.channel = CMEventChannel()
        self.descriptor = descriptor()
        self.listener = CMID(creator=self.channel)
        self.listener.bind_addr(AddrInfo(src=options.address, src_service=str(options.port), port_space=ce.RDMA_PS_TCP, flags=ce.RAI_PASSIVE))
        self.listener.listen(16)
        self.options = options
        self.things, self.id, self.asked = [], None, None

    def keep(self, thing):
        self.things.append(thing)
        return thing

    def next(self, seconds):
        if not select.select([self.descriptor], [], [], seconds)[0]:
            return None
        return CMEvent(self.channel)

    def event(self, order):
        event = self.next(order["seconds"])
        if not event:
            return {}
        name = event.event_str()
        name = name.decode() if isinstance(name, bytes) else name
        private = event.private_data
        if name == "RDMA_CM_EVENT_CONNECT_REQUEST":
            self.asked = CMID(creator=event, listen_id=self.listener)
        event.ack_cm_event()
        return dict(event=name, private=repr(private))

    def parameters(self, order):
        private = bytes.fromhex(order.get("private", ""))
        parameters = ConnParam(resources=order.get("ird", 4), depth=order.get("ord", 4), qp_num=self.qp.qp_num if self.qp else 0, data_len=len(private))
        if private:
            parameters.set_private_data(private)
        return parameters

    def prepare(self, order):
        self.pd = self.keep(PD(self.id))
        self.mr = self.keep(MR(self.pd, SIZE, order.get("access", 7)))
        self.mr.write(bytes((i * 7 + (i >> 8)) & 0xFF for i in range(SIZE)), SIZE)
        self.cq = self.keep(CQ(self.id.context, 128, None, None, 0))
        capacity = QPCap(max_send_wr=32, max_recv_wr=32, max_send_sge=1, max_recv_sge=1)
        self.qp = self.keep(QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=capacity, sq_sig_all=1)))
        for state in (e.IBV_QPS_INIT,):
            attributes, mask = self.id.init_qp_attr(state)
            self.qp.modify(attributes, mask)
        return dict(va=self.mr.buf, key=self.mr.rkey, size=SIZE)

    def accept(self, order):
        self.id = self.keep(self.asked)
        self.asked = None
        answer = self.prepare(order)
        self.id.accept(self.parameters(order))
        return answer
