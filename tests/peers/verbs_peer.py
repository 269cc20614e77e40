"""One end of verbs conversations over reliable connections, for the live tests.

Run with Debian's own Python, for which python3-pyverbs is built:

    /usr/bin/python3 verbs_peer.py --listen 18600
    /usr/bin/python3 verbs_peer.py --connect 10.9.0.1:18600 --role active --operations WRITE:33*50,READ:4096,FETCH_ADD*20

The listening end serves one conversation after the other, and is told by the connecting end what each is about.
Either end may be another program that speaks what follows. One end is active: it carries out the operations, in
order, on the memory of the other, which is passive. Of each conversation a line of JSON is printed: this end's
verdict, the other's, and the seconds it took. A connecting end's exit status is 0 if both ends are content.

Operations. WRITE, WRITE_WITH_IMM, SEND, SEND_WITH_IMM, SEND_WITH_INV, READ and FLUSH with a size in bytes (`WRITE:33`);
CMP_SWAP, CMP_SWAP_MISS, FETCH_ADD and ATOMIC_WRITE of 8 bytes. `*N` behind one means N of it. They are numbered from 0.

Keys. `@1` or `@2` behind a size (`READ:100@2*5`) gives each of the operations a memory window of that type at the passive
end, bound to just its bytes, with just the right that it needs; windows of type 2 are 2B. It reaches the memory through
that key. `@F` is the key of a fast-registered region, which only SEND_WITH_INV can name, and which only kernels and other
programs can make. SEND_WITH_INV ends its key; the others use theirs.

Refusals. The last operation of a list may be one that must fail, with the region unchanged at both ends; why is said behind
its key:

    WRITE:33@1!beyond       the window ends one byte before it
    WRITE:33@2!right        the window lacks the right
    WRITE:33@2!stranger     the window is bound on another queue pair
    WRITE:33@2!unbound      the window was bound, and its owner has ended that
    WRITE:33!ended          it names the key of the SEND_WITH_INV before it
    FLUSH:64!unheard        it is not answered at all

All end with IBV_WC_REM_ACCESS_ERR, the last with IBV_WC_RETRY_EXC_ERR.

Memory. Each end registers one region of the same size, filled with a pattern. Byte i of the region is
T[i mod 65521], where T[j] = ((j * 0x9E3779B1 + side * 0x85EBCA6B) mod 2^32) >> 24, side being 1 at the active end
and 2 at the passive end. Operation k works on [offset(k), offset(k) + size(k)) at both ends: offset(0) = 0,
offset(k + 1) = offset(k) + size(k) rounded up to a multiple of 8, + 8; the region ends at the offset after the
last operation. The gaps and everything else must keep their pattern, so each byte has one right value at the end.
Let A and P be what an operation's bytes were at the active and at the passive end, as little-endian numbers
where they are numbers:

    WRITE, SEND     P becomes A; ATOMIC_WRITE, too. SEND lands in the receive buffer that is at the operation's place.
    READ            A becomes P.
    FLUSH           nothing changes.
    CMP_SWAP        compares with P and swaps in A: P becomes A, and A becomes the old P, which is returned.
    CMP_SWAP_MISS   compares with P xor 1 and swaps in A: P stays, and A becomes P.
    FETCH_ADD       adds A: P becomes P + A mod 2^64, and A becomes the old P.

Each operation has bytes of its own, so one that is executed twice leaves a wrong value. Immediate data is
0x1000 + k. The passive end has a receive posted for each SEND and each operation with immediate data before it
says that it is ready.

Conversation. One TCP connection; lines of text, each a JSON object. The connecting end begins with what it wants:

    {"role": "active", "operations": "READ:4096", "mtu": 1024, "timeout": 14, "retry": 7, "rnr_retry": 7, "rd_atomic": 4}

"role" is the connecting end's own, "mtu" the path MTU in bytes, "timeout" the exponent of the local ACK timeout,
"rd_atomic" how many READs and atomics may be under way at once, both ways. Then each end sends three lines:

    {"qpn": 17, "psn": 4711, "gid": "::ffff:10.9.0.1", "rkey": 1234, "va": 140000000000, "size": 4096}
    {"ready": true, "keys": {"3": 4712}}
    {"verdict": "ok"}

The first at once (the listening end, as soon as it knows what is wanted); "psn" is where its sender begins to
send, "size" the region's. The second when the sender's queue pair is in RTS and its receives are posted; the passive end
tells the keys of operations that have one, by their numbers. The third
when its work is done and its memory compared: the active end sends it first, the passive end when it has received
the other's. Anything but "ok" says what is wrong, and may come in place of an earlier line. The listening end then
closes the connection, and the connecting end waits for that, so that its last line is not lost with it.
"""

import argparse
import ipaddress
import json
import random
import socket
import struct
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

PERIOD = 65521
DEPTH = 16
ACTIVE, PASSIVE = 1, 2
ATOMICS = ("CMP_SWAP", "CMP_SWAP_MISS", "FETCH_ADD")
EIGHT_BYTES = ATOMICS + ("ATOMIC_WRITE",)
OPCODES = {
    "WRITE": e.IBV_WR_RDMA_WRITE,
    "WRITE_WITH_IMM": e.IBV_WR_RDMA_WRITE_WITH_IMM,
    "SEND": e.IBV_WR_SEND,
    "SEND_WITH_IMM": e.IBV_WR_SEND_WITH_IMM,
    "SEND_WITH_INV": e.IBV_WR_SEND_WITH_INV,
    "READ": e.IBV_WR_RDMA_READ,
    "CMP_SWAP": e.IBV_WR_ATOMIC_CMP_AND_SWP,
    "CMP_SWAP_MISS": e.IBV_WR_ATOMIC_CMP_AND_SWP,
    "FETCH_ADD": e.IBV_WR_ATOMIC_FETCH_AND_ADD,
    "ATOMIC_WRITE": e.IBV_WR_ATOMIC_WRITE,
    # Debian's library has no name for it, and no place for its address, which becomes 0; the number is the kernel's.
    "FLUSH": 14,
}
STATUSES = {int(getattr(e, name)): name for name in dir(e) if name.startswith("IBV_WC_") and name.endswith("_ERR")}
STATUSES[int(e.IBV_WC_SUCCESS)] = "IBV_WC_SUCCESS"
# As FLUSH: to flush so that everybody sees it.
FLUSH_GLOBAL = 1 << 8
ACCESS = (
    e.IBV_ACCESS_LOCAL_WRITE
    | e.IBV_ACCESS_REMOTE_WRITE
    | e.IBV_ACCESS_REMOTE_READ
    | e.IBV_ACCESS_REMOTE_ATOMIC
    | FLUSH_GLOBAL
)
# What an operation needs of a window.
RIGHTS = {"READ": e.IBV_ACCESS_REMOTE_READ, **{name: e.IBV_ACCESS_REMOTE_ATOMIC for name in ATOMICS}}
REFUSALS = ("beyond", "right", "stranger", "unbound", "ended", "unheard")
# The kernel's own flag comes through as it is, a bit that means something else here.
WITH_INV = e.IBV_WC_WITH_INV | e.IBV_WC_IP_CSUM_OK
# Of the requests that are not operations.
OWN = 1 << 32


class Fault(Exception):
    """Something that one of the two ends did wrong."""


class Operation:
    def __init__(self, number, name, size, offset, key, refusal):
        self.number, self.name, self.size, self.offset = number, name, size, offset
        self.key, self.refusal = key, refusal
        self.end = offset + size

    @property
    def takes_a_receive(self):
        return self.name in ("SEND", "SEND_WITH_IMM", "SEND_WITH_INV", "WRITE_WITH_IMM")

    @property
    def status(self):
        """How it has to end."""
        endings = {"": "IBV_WC_SUCCESS", "unheard": "IBV_WC_RETRY_EXC_ERR"}
        return endings.get(self.refusal, "IBV_WC_REM_ACCESS_ERR")

    @property
    def immediate(self):
        return 0x1000 + self.number if self.name.endswith("_WITH_IMM") else None


def parse_operations(text):
    """The list of operations and the size of the region that it needs."""
    operations, offset = [], 0
    for item in text.split(","):
        item, _, times = item.partition("*")
        item, _, refusal = item.partition("!")
        item, _, key = item.partition("@")
        name, _, size = item.partition(":")
        if name not in OPCODES or key not in ("", "1", "2", "F") or refusal and refusal not in REFUSALS:
            raise Fault(f"there is no operation {name}, key {key} or refusal {refusal}")
        size = 8 if name in EIGHT_BYTES else int(size)
        for _ in range(int(times or 1)):
            operations.append(Operation(len(operations), name, size, offset, key, refusal))
            offset += (size + 7) // 8 * 8 + 8
    return operations, offset


def pattern(side, size):
    table = bytes(((j * 0x9E3779B1 + side * 0x85EBCA6B) & 0xFFFFFFFF) >> 24 for j in range(PERIOD))
    return bytearray((table * (size // PERIOD + 1))[:size])


def number(data):
    return struct.unpack("<Q", data)[0]


def expected_memory(side, operations, active, passive):
    """What the region of one end must hold when all is done."""
    memory = bytearray(active if side == ACTIVE else passive)
    for op in operations:
        place = slice(op.offset, op.end)
        if op.refusal or op.name == "FLUSH":
            continue
        if side == ACTIVE:
            if op.name == "READ" or op.name in ATOMICS:
                memory[place] = passive[place]
        elif op.name == "FETCH_ADD":
            memory[place] = struct.pack("<Q", (number(passive[place]) + number(active[place])) & (2**64 - 1))
        elif op.name not in ("READ", "CMP_SWAP_MISS"):
            memory[place] = active[place]
    return memory


def compare(found, wanted, operations):
    if found == wanted:
        return
    wrong = [i for i in range(len(wanted)) if found[i] != wanted[i]]
    first = wrong[0]
    place = next((op for op in operations if op.offset <= first < op.end), None)
    where = f"operation {place.number} {place.name}:{place.size}" if place else "a gap"
    raise Fault(
        f"{len(wrong)} wrong bytes, the first at {first:#x} in {where}: {found[first]:#04x}, not {wanted[first]:#04x}"
    )


class Line:
    """The TCP connection."""

    def __init__(self, connection, limit):
        self.socket = connection
        self.socket.settimeout(limit)
        self.lines = self.socket.makefile("r", encoding="utf-8")

    def send(self, **what):
        self.socket.sendall((json.dumps(what) + "\n").encode())

    def receive(self, *keys):
        line = self.lines.readline(10000)
        if not line:
            raise Fault("the other end closed the connection")
        what = json.loads(line)
        if "verdict" in what and "verdict" not in keys:
            raise Fault(f"the other end gave up: {what['verdict']}")
        missing = [key for key in keys if key not in what]
        if missing:
            raise Fault(f"the other end did not send {missing}: {line.strip()}")
        return what


class Peer:
    """One end of one conversation. `wanted` is the connecting end's first line."""

    def __init__(self, context, gid, psn, limit, side, wanted):
        self.context, self.gid, self.side, self.wanted = context, gid, side, wanted
        self.psn = random.getrandbits(24) if psn is None else psn
        self.deadline = time.monotonic() + limit
        self.operations, size = parse_operations(wanted["operations"])
        self.active, self.passive = pattern(ACTIVE, size), pattern(PASSIVE, size)
        self.pd = PD(context)
        self.mr = MR(self.pd, size, ACCESS | e.IBV_ACCESS_MW_BIND)
        self.mr.write(bytes(self.active if side == ACTIVE else self.passive), size)
        self.depth = len(self.operations) + 1
        self.cq = CQ(context, self.depth + DEPTH, None, None, 0)
        self.qp = self.queue_pair()
        # By the numbers of operations: the passive end's keys, at both ends; at the passive end, also what they belong to.
        self.keys, self.windows, self.strangers = {}, [], []

    def queue_pair(self):
        capacity = QPCap(max_send_wr=DEPTH, max_recv_wr=self.depth, max_send_sge=1, max_recv_sge=1)
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
        attributes.qp_access_flags = ACCESS
        return QPEx(self.context, start, attributes)

    def close(self):
        for thing in (*self.windows, *self.strangers, self.qp, self.cq, self.mr, self.pd):
            thing.close()

    def describe(self):
        gid = ipaddress.IPv6Address(str(self.context.query_gid(1, self.gid)))
        text = f"::ffff:{gid.ipv4_mapped}" if gid.ipv4_mapped else str(gid)
        return dict(
            qpn=self.qp.qp_num, psn=self.psn, gid=text, rkey=self.mr.rkey, va=self.mr.buf, size=self.mr.length
        )

    def join(self, other):
        """To RTS, with the other end's numbers."""
        if other["size"] != self.mr.length:
            raise Fault(f"the other end's region has {other['size']} bytes, not {self.mr.length}")
        self.other = other
        self.to_rts(self.qp)

    def to_rts(self, queue_pair):
        other, wanted = self.other, self.wanted
        gid = GID(ipaddress.IPv6Address(other["gid"]).exploded)
        route = GlobalRoute(dgid=gid, sgid_index=self.gid, hop_limit=64)
        attributes = QPAttr(port_num=1)
        attributes.qp_access_flags = ACCESS
        attributes.path_mtu = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}[wanted["mtu"]]
        attributes.max_dest_rd_atomic = attributes.max_rd_atomic = wanted["rd_atomic"]
        attributes.min_rnr_timer = 12
        attributes.timeout, attributes.retry_cnt = wanted["timeout"], wanted["retry"]
        attributes.rnr_retry = wanted["rnr_retry"]
        attributes.ah_attr = AHAttr(port_num=1, is_global=1, gr=route)
        attributes.dest_qp_num = other["qpn"]
        attributes.rq_psn, attributes.sq_psn = other["psn"], self.psn
        queue_pair.to_rts(attributes)

    def make_keys(self):
        """What the passive end needs for operations with keys of their own."""
        for op in self.operations:
            if op.key == "F":
                raise Fault("an application cannot make fast-registered keys here")
            if op.key:
                self.keys[str(op.number)] = self.window(op)

    def window(self, op):
        right = RIGHTS.get(op.name, e.IBV_ACCESS_REMOTE_WRITE)
        if op.refusal == "right":
            right ^= e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_WRITE
        size = op.size - (op.refusal == "beyond")
        queue_pair = self.qp
        if op.refusal == "stranger":
            # Its peer hears nothing of it.
            queue_pair = self.queue_pair()
            self.strangers.append(queue_pair)
            self.to_rts(queue_pair)
        window = MW(self.pd, e.IBV_MW_TYPE_1 if op.key == "1" else e.IBV_MW_TYPE_2)
        self.windows.append(window)
        key = self.bind(queue_pair, window, MWBindInfo(self.mr, self.mr.buf + op.offset, size, right))
        if op.refusal == "unbound":
            if op.key == "1":
                self.bind(queue_pair, window, MWBindInfo(self.mr, self.mr.buf, 0, 0))
            else:
                queue_pair.post_send(SendWR(wr_id=OWN, opcode=e.IBV_WR_LOCAL_INV, num_sge=0, sg=None, imm_data=key))
                self.own_completion()
        return key

    def bind(self, queue_pair, window, info):
        """The window's key from then on."""
        if window.type == e.IBV_MW_TYPE_1:
            queue_pair.bind_mw(window, MWBind(info, e.IBV_SEND_SIGNALED, wr_id=OWN))
            self.own_completion()
            return window.rkey
        request = SendWR(wr_id=OWN, opcode=e.IBV_WR_BIND_MW, num_sge=0, sg=None)
        request.set_bind_wr(window, info)
        queue_pair.post_send(request)
        self.own_completion()
        # The library takes the consumer's next eight bits, and does not say so.
        return window.rkey & ~0xFF | (window.rkey + 1) & 0xFF

    def own_completion(self):
        for completion in self.completions(1):
            status = STATUSES.get(completion.status, completion.status)
            if (completion.wr_id, status) != (OWN, "IBV_WC_SUCCESS"):
                raise Fault(f"binding or ending a window: {completion.wr_id} ended with {status}")

    def completions(self, count):
        """The next `count` completions, in the order in which they came."""
        while count > 0:
            found, completions = self.cq.poll(min(count, DEPTH))
            count -= found
            yield from completions
            if found == 0:
                if time.monotonic() > self.deadline:
                    raise Fault(f"{count} completions have not come in time")
                time.sleep(0.0005)

    def entries(self, op):
        # Also where there is nothing to send: pyverbs wants an entry.
        return [SGE(self.mr.buf + op.offset, op.size, self.mr.lkey)]

    def post_receives(self):
        for op in self.operations:
            if op.takes_a_receive:
                self.qp.post_recv(RecvWR(wr_id=op.number, num_sge=1, sg=self.entries(op)))

    def key(self, op):
        if op.refusal == "ended":
            return self.keys[str(op.number - 1)]
        return self.keys[str(op.number)] if op.key else self.other["rkey"]

    def post(self, op):
        request = SendWR(wr_id=op.number, opcode=OPCODES[op.name], num_sge=1, sg=self.entries(op))
        address, key = self.other["va"] + op.offset, self.key(op)
        mine, theirs = self.active[op.offset : op.end], self.passive[op.offset : op.end]
        if op.name == "ATOMIC_WRITE":
            self.qp.wr_start()
            self.qp.wr_id, self.qp.wr_flags = op.number, e.IBV_SEND_SIGNALED
            self.qp.wr_atomic_write(key, address, bytes(mine))
            self.qp.wr_complete()
            return
        if op.name in ("WRITE", "WRITE_WITH_IMM", "READ"):
            request.set_wr_rdma(key, address)
        elif op.name == "FETCH_ADD":
            request.set_wr_atomic(key, address, number(mine), 0)
        elif op.name in ATOMICS:
            request.set_wr_atomic(key, address, number(theirs) ^ (op.name == "CMP_SWAP_MISS"), number(mine))
        if op.immediate is not None:
            request.imm_data = socket.htonl(op.immediate)
        if op.name == "SEND_WITH_INV":
            # The same place as the immediate data's.
            request.imm_data = key
        self.qp.post_send(request)

    def act(self):
        """Carries out the operations, up to DEPTH of them at a time."""
        waiting = iter(self.operations)
        for op, _ in zip(waiting, range(DEPTH - 1)):
            self.post(op)
        waiting = iter(self.operations[DEPTH - 1 :])
        for op, completion in zip(self.operations, self.completions(len(self.operations))):
            if completion.wr_id != op.number:
                raise Fault(f"operation {completion.wr_id} completed when it was the turn of {op.number}")
            self.check_status(op.name, completion, op.status)
            following = next(waiting, None)
            if following is not None:
                self.post(following)

    def check_status(self, what, completion, wanted="IBV_WC_SUCCESS"):
        status = STATUSES.get(completion.status, completion.status)
        if status != wanted:
            raise Fault(f"{what}: request {completion.wr_id} ended with {status}, not {wanted}")

    def check_receives(self):
        taking = [op for op in self.operations if op.takes_a_receive]
        for op, completion in zip(taking, self.completions(len(taking))):
            self.check_status(f"the receive of {op.name}", completion)
            immediate = socket.ntohl(completion.imm_data) if completion.wc_flags & e.IBV_WC_WITH_IMM else None
            ended = completion.imm_data if completion.wc_flags & WITH_INV else None
            found = (completion.wr_id, completion.byte_len, immediate, ended)
            key = self.keys[str(op.number)] if op.name == "SEND_WITH_INV" else None
            wanted = (op.number, op.size, op.immediate, key)
            if found != wanted:
                raise Fault(f"a receive has (number, length, immediate, ended key) {found}, not {wanted}")
        extra, _ = self.cq.poll(1)
        if extra:
            raise Fault("there is a completion too many")

    def check_memory(self):
        found = self.mr.read(self.mr.length, 0)
        compare(found, expected_memory(self.side, self.operations, self.active, self.passive), self.operations)


def converse(peer, line):
    """All that follows the connecting end's wish; the other end's verdict."""
    line.send(**peer.describe())
    peer.join(line.receive("qpn", "psn", "gid", "rkey", "va", "size"))
    if peer.side == PASSIVE:
        peer.make_keys()
        peer.post_receives()
    line.send(ready=True, keys=peer.keys)
    keys = line.receive("ready").get("keys", {})
    if peer.side == ACTIVE:
        peer.keys = keys
    if peer.side == ACTIVE:
        peer.act()
        peer.check_memory()
        line.send(verdict="ok")
        return line.receive("verdict")["verdict"]
    other = line.receive("verdict")["verdict"]
    if other == "ok":
        peer.check_receives()
        peer.check_memory()
    line.send(verdict="ok")
    return other


def judge(context, options, connection, wanted):
    """One conversation, in which `wanted` is said first (None: heard first). Whether both ends are content."""
    peer, verdict, other = None, "ok", "unknown"
    started = time.monotonic()
    line = Line(connection, options.limit)
    try:
        if wanted is None:
            wanted = line.receive("role", "operations", "mtu", "timeout", "retry", "rnr_retry", "rd_atomic")
            side = PASSIVE if wanted["role"] == "active" else ACTIVE
        else:
            line.send(**wanted)
            side = ACTIVE if wanted["role"] == "active" else PASSIVE
        peer = Peer(context, options.gid, options.psn, options.limit, side, wanted)
        other = converse(peer, line)
    except Exception as fault:  # whatever it is, the other end and the test must hear of it
        verdict = f"{type(fault).__name__}: {fault}"
        try:
            line.send(verdict=verdict)
        except OSError:
            pass
    finally:
        if peer:
            peer.close()
        if options.connect:
            # The listening end closes, when it has heard and said all.
            try:
                connection.settimeout(5)
                connection.recv(1)
            except OSError:
                pass
        connection.close()
    print(json.dumps(dict(verdict=verdict, other=other, seconds=round(time.monotonic() - started, 3))), flush=True)
    return verdict == other == "ok"


def main():
    parser = argparse.ArgumentParser(description="one end of verbs conversations; the head of this file says more")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--listen", type=int, metavar="PORT")
    where.add_argument("--connect", metavar="ADDRESS:PORT")
    parser.add_argument("--device", default="rxe0")
    parser.add_argument("--gid", type=int, default=1, help="index of the GID to use")
    parser.add_argument("--psn", type=int, help="the first PSN to send; without it a random one")
    parser.add_argument("--limit", type=float, default=60, help="seconds after which a conversation is given up")
    wish = parser.add_argument_group("with --connect")
    wish.add_argument("--role", choices=("active", "passive"), default="active")
    wish.add_argument("--operations", default="WRITE:4096,READ:4096,CMP_SWAP,FETCH_ADD")
    wish.add_argument("--mtu", type=int, default=1024, help="path MTU in bytes")
    wish.add_argument("--timeout", type=int, default=14, help="the local ACK timeout's exponent")
    wish.add_argument("--retry", type=int, default=7)
    wish.add_argument("--rnr-retry", type=int, default=7)
    wish.add_argument("--rd-atomic", type=int, default=4, help="READs and atomics under way at once, both ways")
    options = parser.parse_args()

    context = Context(name=options.device)
    if options.connect:
        host, _, port = options.connect.rpartition(":")
        keys = ("role", "operations", "mtu", "timeout", "retry", "rnr_retry", "rd_atomic")
        connection = socket.create_connection((host, int(port)), options.limit)
        return 0 if judge(context, options, connection, {key: getattr(options, key) for key in keys}) else 1
    with socket.create_server(("", options.listen)) as server:
        while True:
            connection, _ = server.accept()
            judge(context, options, connection, None)


if __name__ == "__main__":
    sys.exit(main())
