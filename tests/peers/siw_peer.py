"""A connection of Linux' iWARP at the end of a stream: does with it what it is told to, and says what became of it.

Run with Debian's own Python, for which python3-pyverbs is built:

    /usr/bin/python3 siw_peer.py --listen 18700 --port 18800

Serves one TCP connection. Lines of text, each a JSON object: an order `{"do": NAME, ...}`, and its answer, which has
"error" in it where the order failed. It listens for RDMA connections on the other port all the time. There is one connection
at a time, with one region of memory, byte i of which begins as i * 7 + (i >> 8) mod 256.

    listen   again, if the listener has gone
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
    kernel   what the kernel has said of siw since the last time: "lines"
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
from pyverbs.device import Context
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
        # Ours, and not that of a connection, which pyverbs closes with the connection though all of them share it.
        self.context = Context(name=options.device)
        self.channel = CMEventChannel()
        self.descriptor = descriptor()
        self.options = options
        self.things, self.mrs, self.asked = [], {}, None
        self.listener = None
        self.listen()
        # The kernel's own words, from now on.
        self.words = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.words, 0, os.SEEK_END)

    def listen(self, _=None):
        if self.listener:
            self.listener.close()
        self.listener = CMID(creator=self.channel)
        self.listener.bind_addr(self.address(self.options.address, self.options.port, passive=True))
        self.listener.listen(16)
        return {}

    def address(self, address, port, passive):
        place = dict(src=address, src_service=str(port)) if passive else dict(dst=address, dst_service=str(port))
        flags = ce.RAI_PASSIVE if passive else 0
        return AddrInfo(port_space=ce.RDMA_PS_TCP, flags=flags, **place)

    def keep(self, thing):
        self.things.append(thing)
        return thing

    def close(self, _=None):
        for thing in reversed(self.things):
            thing.close()
        self.things, self.mrs = [], {}
        # Who has asked in the meantime is refused by the end of the asking.
        while True:
            if self.asked:
                self.asked.close()
                self.asked = None
            if "event" not in self.event(dict(seconds=0)):
                return {}

    def event(self, order):
        if not select.select([self.descriptor], [], [], order["seconds"])[0]:
            return {}
        event = CMEvent(self.channel)
        name, private = event.event_str(), event.private_data
        if event.event_type == ce.RDMA_CM_EVENT_CONNECT_REQUEST:
            self.asked = CMID(creator=event, listen_id=self.listener)
        event.ack_cm_event()
        return dict(event=name.removeprefix("RDMA_CM_EVENT_"), private=bytes(private or b"").hex())

    def expect(self, name):
        found = self.event(dict(seconds=10)).get("event")
        if found != name:
            raise LookupError(f"{found} came in the place of {name}")

    def parameters(self, order):
        private = bytes.fromhex(order["private"])
        parameters = ConnParam(
            resources=order["ird"], depth=order["ord"], qp_num=self.qp.qp_num, data_len=len(private)
        )
        if private:
            parameters.set_private_data(private)
        return parameters

    def prepare(self, order):
        self.pd = self.keep(PD(self.context))
        self.mr = self.keep(MR(self.pd, SIZE, order["access"]))
        self.mr.write(bytes((i * 7 + (i >> 8)) & 0xFF for i in range(SIZE)), SIZE)
        self.cq = self.keep(CQ(self.context, 128, None, None, 0))
        capacity = QPCap(max_send_wr=32, max_recv_wr=32, max_send_sge=1, max_recv_sge=1)
        start = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=capacity, sq_sig_all=1)
        self.qp = self.keep(QP(self.pd, start))
        attributes, mask = self.id.init_qp_attr(e.IBV_QPS_INIT)
        self.qp.modify(attributes, mask)
        for number, length in enumerate(order["receives"]):
            self.receive(dict(id=100 + number, length=length))
        return dict(va=self.mr.buf, key=self.mr.rkey, size=SIZE)

    def accept(self, order):
        self.id, self.asked = self.keep(self.asked), None
        answer = self.prepare(order)
        self.id.accept(self.parameters(order))
        return answer

    def reject(self, order):
        private = bytes.fromhex(order["private"])
        self.keep(self.asked).reject(private or None)
        self.asked = None
        return {}

    def connect(self, order):
        self.id = self.keep(CMID(creator=self.channel))
        self.id.resolve_addr(self.address(order["address"], order["port"], passive=False), 2000)
        self.expect("ADDR_RESOLVED")
        self.id.resolve_route(2000)
        self.expect("ROUTE_RESOLVED")
        answer = self.prepare(order)
        self.id.connect(self.parameters(order))
        return answer

    def disconnect(self, _):
        self.id.disconnect()
        return {}

    def post(self, order):
        name = order["operation"]
        place = SGE(self.mr.buf + order["offset"], order["length"], self.mr.lkey)
        request = SendWR(wr_id=order["id"], opcode=OPCODES[name], num_sge=1, sg=[place])
        if name != "SEND":
            request.set_wr_rdma(order["key"], order["address"])
        self.qp.post_send(request)
        return {}

    def receive(self, order):
        mr = self.keep(MR(self.pd, max(order["length"], 1), e.IBV_ACCESS_LOCAL_WRITE))
        self.mrs[order["id"]] = mr
        self.qp.post_recv(RecvWR(wr_id=order["id"], num_sge=1, sg=[SGE(mr.buf, order["length"], mr.lkey)]))
        return {}

    def poll(self, order):
        deadline = time.monotonic() + order["seconds"]
        found = []
        while len(found) < order["count"]:
            number, completions = self.cq.poll(16)
            found += [[c.wr_id, STATUSES.get(c.status, str(c.status)), c.byte_len] for c in completions or []]
            if time.monotonic() > deadline:
                break
            if not number:
                time.sleep(0.001)
        return dict(completions=found)

    def memory(self, order):
        mr = self.mrs[order["receive"]] if "receive" in order else self.mr
        return dict(bytes=mr.read(order["length"], order["offset"]).hex())

    def state(self, _):
        attributes, _ = self.qp.query(e.IBV_QP_STATE)
        return dict(state=int(attributes.qp_state))

    def kernel(self, _):
        found = []
        while True:
            try:
                line = os.read(self.words, 8192).decode(errors="replace")
            except BlockingIOError:
                return dict(lines=found)
            if "siw" in line:
                found.append(line.split(";", 1)[-1].split("\n")[0])


def main():
    parser = argparse.ArgumentParser(description="a connection that does as it is told; the head of this file says how")
    parser.add_argument("--listen", type=int, metavar="PORT", required=True, help="for orders")
    parser.add_argument("--port", type=int, required=True, help="of the RDMA listener")
    parser.add_argument("--address", required=True, help="of the RDMA listener")
    parser.add_argument("--device", default="siw0")
    peer = Peer(parser.parse_args())
    names = "listen event accept reject connect disconnect post receive poll memory state kernel close".split()
    orders = {name: getattr(peer, name) for name in names}
    with socket.create_server(("", peer.options.listen)) as server:
        connection, _ = server.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for line in connection.makefile("r", encoding="utf-8"):
            order = json.loads(line)
            try:
                answer = orders[order["do"]](order)
            except Exception as fault:  # whatever it is, the other end must hear of it
                answer = dict(error=f"{type(fault).__name__}: {fault}")
            connection.sendall((json.dumps(answer) + "\n").encode())
        peer.close()


if __name__ == "__main__":
    sys.exit(main())
