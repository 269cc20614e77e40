//! The filter that the kernel runs over each frame of the interface before it copies it to us: frames to our MAC
//! address and to groups pass, what leaves the interface and what is for other stations does not.

use libc::{BPF_ABS, BPF_B, BPF_H, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter};

/// Bytes of a frame that pass: all.
const WHOLE: u32 = u32::MAX;

/// The program (classic BPF, `packet(7)` and `SO_ATTACH_FILTER`) for a station.
pub(super) fn program(mac: [u8; 6]) -> [sock_filter; 10] {
    let [a, b, c, d, e, f] = mac;
    let direction = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE).cast_unsigned();
    [
        // 0: which way it goes; a frame on its way out is not for us.
        statement(BPF_LD | BPF_B | BPF_ABS, direction),
        jump(BPF_JEQ, libc::PACKET_OUTGOING.into(), 7, 0),
        // 2: a group's address has the lowest bit of its first byte set.
        statement(BPF_LD | BPF_B | BPF_ABS, 0),
        jump(BPF_JSET, 1, 4, 0),
        // 4: our own address.
        statement(BPF_LD | BPF_W | BPF_ABS, 0),
        jump(BPF_JEQ, u32::from_be_bytes([a, b, c, d]), 0, 3),
        statement(BPF_LD | BPF_H | BPF_ABS, 4),
        jump(BPF_JEQ, u16::from_be_bytes([e, f]).into(), 0, 1),
        // 8: taken. 9: not taken.
        statement(BPF_RET | BPF_K, WHOLE),
        statement(BPF_RET | BPF_K, 0),
    ]
}

fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

fn jump(condition: u32, k: u32, if_so: u8, if_not: u8) -> sock_filter {
    sock_filter { code: (BPF_JMP | condition | BPF_K) as u16, jt: if_so, jf: if_not, k }
}
