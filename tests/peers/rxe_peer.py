"""A queue pair of the kernel's at the end of a wire: makes what it is told to make, and says what became of it.

Run with Debian's own Python, for which python3-pyverbs is built:

    /usr/bin/python3 rxe_peer.py --listen 18700

Serves one TCP connection. Lines of text, each a JSON object: an order `{"do": NAME, ...}`, and its answer, which has
"error" in it where the order failed. There is one queue pair at a time, with one region of memory, byte i of which begins as
i * 7 + (i >> 8) mod 256.

    open     a fresh queue pair in RTS; answers its number, and the region's address, key and size
    post     a work request, whose number is "id"
    receive  a receive of "length" bytes at "offset", whose number is "id"
    poll     completions, as many as "count", waiting at most "seconds": [number, status] each
    memory   the bytes at "offset", as hexadecimal digits
    bind     a memory window of type 1 or 2 on "length" bytes of the region from "offset" on; answers its key
    state    the queue pair's state, as a number
"""

import argparse
import ipaddress
import json
import socket
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR, MW, MWBind, MWBindInfo
from pyverbs.pd import PD
from pyverbs.qp import QPAttr, QPCap, QPEx, QPInitAttrEx
from pyverbs.wr import RecvWR, SGE, SendWR

SIZE = 65536
OPCODES = {
    "WRITE": e.IBV_WR_RDMA_WRITE,
    "SEND": e.IBV_WR_SEND,
    "READ": e.IBV_WR_RDMA_READ,
    "CMP_SWAP": e.IBV_WR_ATOMIC_CMP_AND_SWP,
    "FETCH_ADD": e.IBV_WR_ATOMIC_FETCH_AND_ADD,
    # Debian's library has no name for it, and no place for its address, which becomes 0; the number is the kernel's.
    "FLUSH": 14,
}
STATUSES = {int(getattr(e, name)): name for name in dir(e) if name.startswith("IBV_WC_") and name.endswith("_ERR")}
STATUSES[int(e.IBV_WC_SUCCESS)] = "SUCCESS"


class Peer:
    def __init__(self, options):
        self.options = options
        self.context = Context(name=options.device)
        self.things = []

    def close(self):
        for thing in reversed(self.things):
            thing.close()
        self.things = []

    def keep(self, thing):
        self.things.append(thing)
        return thing

    def open(self, wish):
        self.close()
        self.pd = self.keep(PD(self.context))
        self.mr = self.keep(MR(self.pd, SIZE, wish["memory_access"]))
        self.mr.write(bytes((i * 7 + (i >> 8)) & 0xFF for i in range(SIZE)), SIZE)
        self.cq = self.keep(CQ(self.context, 128, None, None, 0))
        capacity = QPCap(max_send_wr=32, max_recv_wr=32, max_send_sge=1, max_recv_sge=1)
        start = QPInitAttrEx(
            qp_type=e.IBV_QPT_RC,
            pd=self.pd,
            scq=self.cq,
            rcq=self.cq,
            cap=capacity,
            sq_sig_all=1,
            comp_mask=e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
            # What the older way of posting does not know.
            send_ops_flags=e.IBV_QP_EX_WITH_ATOMIC_WRITE,
        )
        attributes = QPAttr(port_num=1)
        attributes.qp_access_flags = wish["access"]
        self.qp = self.keep(QPEx(self.context, start, attributes))
        gid = GID(ipaddress.IPv6Address(wish["gid"]).exploded)
        attributes = QPAttr(port_num=1)
        attributes.qp_access_flags = wish["access"]
        attributes.path_mtu = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}[wish["mtu"]]
        attributes.max_dest_rd_atomic = attributes.max_rd_atomic = wish["rd_atomic"]
        attributes.min_rnr_timer = 12
        attributes.timeout, attributes.retry_cnt = wish["timeout"], wish["retry"]
        attributes.rnr_retry = wish["rnr_retry"]
        route = GlobalRoute(dgid=gid, sgid_index=self.options.gid, hop_limit=64)
        attributes.ah_attr = AHAttr(port_num=1, is_global=1, gr=route)
        attributes.dest_qp_num = wish["qpn"]
        attributes.rq_psn, attributes.sq_psn = wish["psn"], wish["own_psn"]
        self.qp.to_rts(attributes)
        return dict(qpn=self.qp.qp_num, va=self.mr.buf, key=self.mr.rkey, size=SIZE)

    def entries(self, order):
        return [SGE(self.mr.buf + order.get("offset", 0), order.get("length", 0), self.mr.lkey)]

    def post(self, order):
        name = order["operation"]
        if name == "ATOMIC_WRITE":
            self.qp.wr_start()
            self.qp.wr_id, self.qp.wr_flags = order["id"], e.IBV_SEND_SIGNALED
            self.qp.wr_atomic_write(order["key"], order["address"], self.mr.read(8, order["offset"]))
            self.qp.wr_complete()
            return {}
        request = SendWR(wr_id=order["id"], opcode=OPCODES[name], num_sge=1, sg=self.entries(order))
        if name in ("WRITE", "READ"):
            request.set_wr_rdma(order["key"], order["address"])
        elif name in ("CMP_SWAP", "FETCH_ADD"):
            request.set_wr_atomic(order["key"], order["address"], order["compare"], order["swap"])
        self.qp.post_send(request)
        return {}

    def receive(self, order):
        self.qp.post_recv(RecvWR(wr_id=order["id"], num_sge=1, sg=self.entries(order)))
        return {}

    def bind(self, order):
        kind = e.IBV_MW_TYPE_1 if order["type"] == 1 else e.IBV_MW_TYPE_2
        window = self.keep(MW(self.pd, kind))
        rights = e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC
        info = MWBindInfo(self.mr, self.mr.buf + order["offset"], order["length"], rights)
        if order["type"] == 1:
            self.qp.bind_mw(window, MWBind(info, e.IBV_SEND_SIGNALED, wr_id=99))
            return dict(key=window.rkey)
        request = SendWR(wr_id=99, opcode=e.IBV_WR_BIND_MW, num_sge=0, sg=None)
        request.set_bind_wr(window, info)
        self.qp.post_send(request)
        # Binding gives the key the consumer's next eight bits.
        return dict(key=window.rkey & ~0xFF | (window.rkey + 1) & 0xFF)

    def poll(self, order):
        deadline = time.monotonic() + order["seconds"]
        found = []
        while len(found) < order["count"]:
            number, completions = self.cq.poll(16)
            found += [[c.wr_id, STATUSES.get(c.status, str(c.status))] for c in completions or []]
            if time.monotonic() > deadline:
                break
            if not number:
                time.sleep(0.001)
        return dict(completions=found)

    def memory(self, order):
        return dict(bytes=self.mr.read(order["length"], order["offset"]).hex())

    def state(self, _):
        attributes, _ = self.qp.query(e.IBV_QP_STATE)
        return dict(state=int(attributes.qp_state))


def main():
    parser = argparse.ArgumentParser(description="a queue pair that does as it is told; the head of this file says how")
    parser.add_argument("--listen", type=int, metavar="PORT", required=True)
    parser.add_argument("--device", default="rxe0")
    parser.add_argument("--gid", type=int, default=1, help="index of the GID to use")
    peer = Peer(parser.parse_args())
    orders = {name: getattr(peer, name) for name in ("open", "post", "receive", "poll", "memory", "bind", "state")}
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
