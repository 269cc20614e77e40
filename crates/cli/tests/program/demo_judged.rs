//! Captures of `rdmalab demo`, judged by tshark.
//!
//! tshark 4.0 does not know the extended header of XRC, FLUSH and ATOMIC WRITE: of those packets it may think what it
//! likes, and nothing but their opcodes is asked of it.

use std::path::Path;
use std::process::Command;

use crate::demo::{demo, row};
use crate::program::{scratch, text};

/// Opcodes of FLUSH and ATOMIC WRITE for RC, and the first of XRC's 32.
const FLUSH: u8 = 0x1c;
const ATOMIC_WRITE: u8 = 0x1d;
const XRC: u8 = 0xa0;

/// What tshark says about one packet.
struct Judged {
    malformed: bool,
    interface: String,
    /// None for what is not InfiniBand.
    opcode: Option<u8>,
    comment: String,
}

/// All packets of a capture; nothing if there is no tshark.
fn judge(capture: &Path) -> Option<Vec<Judged>> {
    let there = Command::new("tshark").arg("--version").output().is_ok_and(|out| out.status.success());
    if !there {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "tshark is needed: apt-get install tshark");
        eprintln!("not run: tshark is not installed (apt-get install tshark)");
        return None;
    }
    let mut command = Command::new("tshark");
    // The guess at RPC over RDMA calls short SENDs malformed.
    command.args(["-r", text(capture), "--disable-heuristic", "rpcrdma_infiniband", "-T", "fields"]);
    for field in ["_ws.malformed", "frame.interface_name", "infiniband.bth.opcode", "frame.comment"] {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let judged = String::from_utf8(output.stdout).unwrap();
    let packet = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        Judged {
            malformed: !fields[0].is_empty(),
            interface: fields[1].to_owned(),
            opcode: fields[2].parse().ok(),
            comment: fields[3].to_owned(),
        }
    };
    Some(judged.lines().map(packet).collect())
}

#[test]
fn tshark_finds_nothing_malformed_in_a_capture() {
    for (arguments, name) in [
        ("--seed 7", "rc"),
        ("--seed 7 --operations send-imm,send-inv,write-imm,flush,atomic-write", "rc-more"),
        ("--seed 7 --profile spec --mark 0.5 --congestion dcqcn", "rc-marked"),
        ("--seed 7 --transport uc", "uc"),
        ("--seed 7 --transport ud", "ud"),
        ("--seed 7 --transport xrc", "xrc"),
    ] {
        let file = scratch(&format!("judged-{name}.pcapng"));
        let run = demo(&format!("-q {arguments} --loss 0.1 --messages 20 --pcap {}", text(&file))).exits(0);
        let Some(packets) = judge(&file) else { return };
        let (a, b) = row(&run, "packets sent");
        assert_eq!(packets.len() as u64, 2 + a + b, "{name}: and two ARP packets");
        assert_eq!(packets.iter().filter(|packet| packet.opcode.is_some()).count() as u64, a + b);
        for packet in &packets {
            let is_known =
                packet.opcode.is_none_or(|code| code < XRC && code != FLUSH && code != ATOMIC_WRITE);
            assert!(!(packet.malformed && is_known), "{name}: opcode {:?} is malformed", packet.opcode);
            assert!(packet.interface == "A" || packet.interface == "B", "{}", packet.interface);
        }
        assert!(packets.iter().any(|packet| packet.comment.contains("lost (random loss of 10 %)")), "{name}");
        let is_xrc = |packet: &Judged| packet.opcode.is_none_or(|code| code & 0xe0 == XRC);
        assert_eq!(packets.iter().all(is_xrc), name == "xrc");
    }
}
