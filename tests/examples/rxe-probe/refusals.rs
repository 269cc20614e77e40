//! Requests that a responder has to refuse, or to drop.

use rdmalab_wire::PKey;

use crate::cable::Sum;
use crate::packets::{
    CMP_SWAP, Crafted, FETCH_ADD, READ_REQUEST, SEND_FIRST, SEND_LAST, SEND_MIDDLE, SEND_ONLY, WRITE_FIRST,
    WRITE_LAST, WRITE_MIDDLE, WRITE_ONLY, packet,
};
use crate::probe::{LOCAL_WRITE, PSN, Probe, Psns, REMOTE_ATOMIC, REMOTE_READ, REMOTE_WRITE, Wish};

type Request = fn(u64, u32) -> Crafted;

/// Asks each on a queue pair of its own.
fn each(probe: &mut Probe, wish: Wish, cases: &[(&str, Request)]) -> Result<(), String> {
    for (what, request) in cases {
        probe.open(what, wish)?;
        let (va, key) = (probe.va, probe.key);
        probe.ask(&request(va, key).asks())?;
        probe.state()?;
    }
    Ok(())
}

/// Lengths and addresses that do not fit.
pub fn lengths(probe: &mut Probe) -> Result<(), String> {
    let cases: [(&str, Request); 10] = [
        ("a WRITE ONLY of 8 bytes whose header says 4", |va, key| {
            packet(WRITE_ONLY, PSN.psn()).reth(va, key, 4).data(&[1; 8])
        }),
        ("a WRITE ONLY of 4 bytes whose header says 8", |va, key| {
            packet(WRITE_ONLY, PSN.psn()).reth(va, key, 8).data(&[1; 4])
        }),
        ("a WRITE ONLY longer than the path MTU", |va, key| {
            packet(WRITE_ONLY, PSN.psn()).reth(va, key, 2048).data(&[1; 2048])
        }),
        ("a WRITE FIRST shorter than the path MTU", |va, key| {
            packet(WRITE_FIRST, PSN.psn()).reth(va, key, 2048).data(&[1; 512])
        }),
        ("a WRITE of more than 2^31 bytes", |va, key| {
            packet(WRITE_FIRST, PSN.psn()).reth(va, key, 0x8000_0001).data(&[1; 1024])
        }),
        ("a READ of more than 2^31 bytes", |va, key| {
            packet(READ_REQUEST, PSN.psn()).reth(va, key, 0x8000_0001)
        }),
        ("a READ beyond the region", |va, key| packet(READ_REQUEST, PSN.psn()).reth(va + 65532, key, 8)),
        ("a READ with a payload", |va, key| packet(READ_REQUEST, PSN.psn()).reth(va, key, 8).data(&[1; 8])),
        ("a FETCH_ADD to an odd address", |va, key| packet(FETCH_ADD, PSN.psn()).atomic(va + 4, key, 1, 0)),
        ("a CMP_SWAP with a wrong key at an odd address", |va, key| {
            packet(CMP_SWAP, PSN.psn()).atomic(va + 4, key ^ 0xff00, 1, 0)
        }),
    ];
    each(probe, Wish::default(), &cases)?;

    probe.open("a SEND longer than the receive", Wish::default())?;
    probe.receive(4)?;
    probe.ask(&packet(SEND_ONLY, PSN.psn()).asks().data(&[1; 8]))?;
    probe.completions(1, 1.0)?;
    probe.state()?;

    probe.open("a SEND whose last packet is empty", Wish::default())?;
    probe.receive(4096)?;
    probe.send(&packet(SEND_FIRST, PSN.psn()).data(&[1; 1024]))?;
    probe.ask(&packet(SEND_LAST, (PSN + 1).psn()).asks())?;
    probe.completions(1, 1.0)?;
    probe.state()
}

/// Operations for which the queue pair or the region lacks the right.
pub fn rights(probe: &mut Probe) -> Result<(), String> {
    let operations: [(&str, Request, u32); 3] = [
        ("a WRITE", |va, key| packet(WRITE_ONLY, PSN.psn()).reth(va, key, 4).data(&[1; 4]), REMOTE_WRITE),
        ("a READ", |va, key| packet(READ_REQUEST, PSN.psn()).reth(va, key, 4), REMOTE_READ),
        ("a FETCH_ADD", |va, key| packet(FETCH_ADD, PSN.psn()).atomic(va, key, 1, 0), REMOTE_ATOMIC),
    ];
    let all = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;
    for (what, request, right) in operations {
        let without = all & !right;
        for (place, wish) in [
            ("a queue pair", Wish { access: without, ..Wish::default() }),
            ("a region", Wish { memory_access: without, ..Wish::default() }),
        ] {
            each(probe, wish, &[(&format!("{what} to {place} without the right"), request)])?;
        }
    }
    Ok(())
}

/// Opcodes that do not exist, or not there.
pub fn opcodes(probe: &mut Probe) -> Result<(), String> {
    for opcode in [0x15, 0x18, 0x1f] {
        probe.open(&format!("the reserved opcode {opcode:#04x}, and then a WRITE"), Wish::default())?;
        let (va, key) = (probe.va, probe.key);
        probe.ask(&packet(opcode, PSN.psn()).asks())?;
        probe.ask(&packet(WRITE_ONLY, PSN.psn()).asks().reth(va, key, 4).data(b"then"))?;
        probe.state()?;
    }
    let cases: [(&str, Request); 5] = [
        ("WRITE MIDDLE without a FIRST", |_, _| packet(WRITE_MIDDLE, PSN.psn()).data(&[1; 1024])),
        ("SEND LAST without a FIRST", |_, _| packet(SEND_LAST, PSN.psn()).data(&[1; 8])),
        ("a response to nothing", |_, _| packet(0x10, PSN.psn()).aeth(0x1f, 0).data(&[1; 8])),
        ("an acknowledgement of nothing", |_, _| packet(0x11, PSN.psn()).aeth(0x1f, 0)),
        ("a version of the header that there is not", |va, key| {
            packet(WRITE_ONLY, PSN.psn()).reth(va, key, 4).data(&[1; 4]).with(|bth| bth.header_version = 1)
        }),
    ];
    each(probe, Wish::default(), &cases)?;
    for (what, second) in [
        ("a SEND ONLY within a WRITE", packet(SEND_ONLY, (PSN + 1).psn()).data(&[1; 8])),
        ("a SEND MIDDLE within a WRITE", packet(SEND_MIDDLE, (PSN + 1).psn()).data(&[1; 1024])),
        ("a WRITE LAST that comes too soon", packet(WRITE_LAST, (PSN + 1).psn()).data(&[1; 8])),
    ] {
        probe.open(what, Wish::default())?;
        probe.receive(4096)?;
        let (va, key) = (probe.va, probe.key);
        probe.send(&packet(WRITE_FIRST, PSN.psn()).reth(va, key, 3072).data(&[1; 1024]))?;
        probe.ask(&second.asks())?;
        probe.completions(1, 0.5)?;
        probe.state()?;
    }
    Ok(())
}

/// Packets of other transport services for a reliable connection, which go on to drop them.
pub fn other_services(probe: &mut Probe) -> Result<(), String> {
    let services = [("UC", 0x20_u8), ("RD", 0x40), ("UD", 0x60), ("XRC", 0xa0), ("CNP", 0x80)];
    for (name, service) in services {
        probe
            .open(&format!("a SEND ONLY of the service {name} to a reliable connection"), Wish::default())?;
        probe.receive(64)?;
        let other = match name {
            "UD" => packet(service | SEND_ONLY, PSN.psn()).bytes(&[0x11, 0x11, 0x11, 0x11, 0, 0, 0x10, 1]),
            "XRC" => packet(service | SEND_ONLY, PSN.psn()).bytes(&[0, 0, 0, 1]),
            "RD" => packet(service | SEND_ONLY, PSN.psn()).bytes(&[0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0x10, 1]),
            "CNP" => packet(0x81, PSN.psn()).bytes(&[0; 16]),
            _ => packet(service | SEND_ONLY, PSN.psn()),
        };
        let other = if name == "CNP" { other } else { other.asks().data(b"8 bytes!") };
        probe.ask(&other)?;
        probe.ask(&packet(SEND_ONLY, PSN.psn()).asks().data(b"its own."))?;
        probe.completions(1, 0.5)?;
        probe.state()?;
    }
    Ok(())
}

/// What is to be dropped without a word.
pub fn silent(probe: &mut Probe) -> Result<(), String> {
    let write = |va, key| packet(WRITE_ONLY, PSN.psn()).asks().reth(va, key, 4).data(b"drop");
    probe.open("a WRITE of another partition", Wish::default())?;
    let (va, key) = (probe.va, probe.key);
    probe.ask(&write(va, key).with(|bth| bth.partition_key = PKey::new(0x9234)))?;
    probe.ask(&write(va, key))?;

    probe.open("a WRITE whose ICRC is wrong", Wish::default())?;
    let (va, key) = (probe.va, probe.key);
    probe.send_summed(&write(va, key), Sum::Wrong)?;
    probe.listen()?;
    probe.ask(&write(va, key))?;

    probe.open("two WRITEs behind a gap, the gap, and again a gap", Wish::default())?;
    let (va, key) = (probe.va, probe.key);
    for psn in [1, 2, 0, 1, 3, 2] {
        probe.ask(&packet(WRITE_ONLY, (PSN + psn).psn()).asks().reth(va, key, 4).data(b"gaps"))?;
    }
    Ok(())
}
