//! An established stream: headers that are wrong, and messages that take receives.

use rdmalab_wire::iwarp::{Opcode, queue};

use crate::fpdus::{Fpdu, empty, send, tagged, untagged, write};
use crate::probe::{Probe, Wish};

/// Each on a connection of its own, with a SEND behind it that shows whether the connection lives.
fn each(probe: &mut Probe, wish: Wish, cases: &[(&str, Fpdu)]) -> Result<(), String> {
    for (name, fpdu) in cases {
        probe.open(name, wish)?;
        probe.ask(fpdu)?;
        probe.ask(&send(1, b"8 bytes!"))?;
        probe.outcome()?;
    }
    Ok(())
}

pub fn headers(probe: &mut Probe) -> Result<(), String> {
    let sent = || send(1, b"8 bytes!");
    let written = || write(0x1234_5678, 0x1000, b"8 bytes!");
    let cases = [
        ("DDP version 0, untagged", sent().with(|header| header.ddp_version = 0)),
        ("DDP version 2, untagged", sent().with(|header| header.ddp_version = 2)),
        ("DDP version 2, tagged", written().with(|header| header.ddp_version = 2)),
        ("RDMAP version 0, untagged", sent().with(|header| header.rdmap_version = 0)),
        ("RDMAP version 2, tagged", written().with(|header| header.rdmap_version = 2)),
        ("DDP's reserved bits set", sent().with(|header| header.ddp_reserved = 0x0f)),
        ("RDMAP's reserved bits set", sent().with(|header| header.rdmap_reserved = 0b11)),
        ("a SEND in queue 3", untagged(Opcode::SEND, 3, 1, b"8 bytes!")),
        ("a SEND in queue 4", untagged(Opcode::SEND, 4, 1, b"8 bytes!")),
        ("a SEND in queue 1", untagged(Opcode::SEND, queue::REQUEST, 1, b"8 bytes!")),
        ("a READ request in queue 0", untagged(Opcode::READ_REQUEST, queue::SEND, 1, &[0; 28])),
        ("a tagged SEND", tagged(Opcode::SEND, 0x1234_5678, 0x1000, b"8 bytes!")),
        ("an untagged WRITE", untagged(Opcode::WRITE, queue::SEND, 1, b"8 bytes!")),
        ("a SEND with MSN 0", send(0, b"8 bytes!")),
        ("a SEND with MSN 2", send(2, b"8 bytes!")),
        ("a SEND whose first segment has message offset 4", sent().at(4)),
        ("an empty FPDU", empty()),
        ("an FPDU with 4 bytes in front that are no header", sent().length(4)),
        ("padding that is not zero", send(1, b"7 bytes").pad(0xff)),
        ("a SEND with something for the layer above, which has no use for it", sent().upper(0x1234)),
    ];
    each(probe, Wish::default(), &cases)
}

pub fn opcodes(probe: &mut Probe) -> Result<(), String> {
    for opcode in 8..16 {
        let opcode = Opcode::new(opcode);
        let cases = [
            (format!("opcode {opcode}, untagged, in queue 0"), untagged(opcode, queue::SEND, 1, b"8 bytes!")),
            (format!("opcode {opcode}, tagged"), tagged(opcode, 0x1234_5678, 0x1000, b"8 bytes!")),
        ];
        for (name, fpdu) in cases {
            each(probe, Wish::default(), &[(&name, fpdu)])?;
        }
    }
    Ok(())
}

/// What RFC 7306 has added, as it would be used.
pub fn rfc7306(probe: &mut Probe) -> Result<(), String> {
    let immediate = |opcode| untagged(opcode, queue::SEND, 1, b"8 bytes!");
    let cases = [
        ("IMMEDIATE DATA", immediate(Opcode::IMMEDIATE)),
        ("IMMEDIATE DATA with a solicited event", immediate(Opcode::IMMEDIATE_SE)),
        ("an atomic request", untagged(Opcode::ATOMIC_REQUEST, queue::REQUEST, 1, &[0; 52])),
        ("an atomic response", untagged(Opcode::ATOMIC_RESPONSE, queue::ATOMIC_RESPONSE, 1, &[0; 12])),
    ];
    each(probe, Wish::default(), &cases)
}

/// SENDs of every kind and cut.
pub fn sends(probe: &mut Probe) -> Result<(), String> {
    probe.open("SENDs of every kind", Wish { receives: &[64; 6], ..Wish::default() })?;
    for (n, opcode) in [Opcode::SEND, Opcode::SEND_SE].into_iter().enumerate() {
        probe.ask(&untagged(opcode, queue::SEND, 1 + n as u32, b"8 bytes!"))?;
    }
    probe.ask(&send(3, &[]))?;
    probe.ask(&send(4, b"first ").more())?;
    probe.ask(&send(4, b"last").at(6))?;
    probe.ask(&send(5, b"first ").more())?;
    probe.ask(&send(5, &[]).at(6))?;
    probe.received(103, 10)?;
    probe.outcome()?;

    let begin = || send(1, b"first ").more();
    let scenes: [(&str, Fpdu); 6] = [
        ("the second segment again from the start", send(1, b"last")),
        ("the second segment with a gap", send(1, b"last").at(7)),
        ("the second segment of another message", send(2, b"last")),
        ("the second segment of another kind", { untagged(Opcode::SEND_SE, queue::SEND, 1, b"last").at(6) }),
        ("a WRITE in between", write(0x1234_5678, 0, &[])),
        ("the second segment, and the receive is too small for both", send(1, &[0x5a; 60]).at(6)),
    ];
    for (name, second) in scenes {
        probe.open(&format!("a SEND in two segments: {name}"), Wish::default())?;
        probe.say(&begin())?;
        probe.ask(&second)?;
        probe.ask(&send(1, b"last").at(6))?;
        probe.outcome()?;
        probe.received(100, 16)?;
    }
    Ok(())
}

/// Receives that are missing or too small.
pub fn receives(probe: &mut Probe) -> Result<(), String> {
    let small = Wish { receives: &[4, 64], ..Wish::default() };
    let none = Wish { receives: &[], ..Wish::default() };
    let empty = Wish { receives: &[0, 64], ..Wish::default() };
    let cases: [(&str, Wish, Fpdu); 6] = [
        ("a SEND that is longer than its receive", small, send(1, b"8 bytes!")),
        ("a SEND as long as its receive", small, send(1, b"four")),
        ("a SEND of no bytes to a receive of none", empty, send(1, &[])),
        ("a SEND of one byte to a receive of none", empty, send(1, b"1")),
        ("a SEND without a receive", none, send(1, b"8 bytes!")),
        ("a SEND of no bytes without a receive", none, send(1, &[])),
    ];
    for (name, wish, fpdu) in cases {
        probe.open(name, wish)?;
        probe.ask(&fpdu)?;
        probe.outcome()?;
    }
    probe.open("two SENDs, and a receive that is posted behind the first", none)?;
    probe.say(&send(1, b"8 bytes!"))?;
    probe.listen()?;
    let _ = probe.receive(64, 7);
    probe.ask(&send(2, b"8 bytes!"))?;
    probe.outcome()
}

/// SENDs that invalidate a key.
pub fn invalidate(probe: &mut Probe) -> Result<(), String> {
    for opcode in [Opcode::SEND_INV, Opcode::SEND_SE_INV] {
        let invalidating = |key: u32| untagged(opcode, queue::SEND, 1, b"8 bytes!").upper(key);
        for what in [
            "the region's key",
            "a key that does not exist",
            "the key 0",
            "the region's key, with another lower byte",
        ] {
            probe.open(&format!("{opcode} of {what}"), Wish::default())?;
            let key = match what {
                "the region's key" => probe.key,
                "the key 0" => 0,
                "a key that does not exist" => 0x1234_5600,
                _ => probe.key ^ 1,
            };
            probe.ask(&invalidating(key))?;
            let (key, va) = (probe.key, probe.va);
            probe.ask(&write(key, va, b"8 bytes!"))?;
            probe.memory(0, 8)?;
            probe.outcome()?;
        }
    }
    probe.open("SEND_INV of the region's key, twice", Wish::default())?;
    let key = probe.key;
    for msn in [1, 2] {
        probe.ask(&untagged(Opcode::SEND_INV, queue::SEND, msn, b"8 bytes!").upper(key))?;
    }
    probe.outcome()?;
    probe.open("SEND_INV in two segments that name two keys", Wish::default())?;
    let key = probe.key;
    probe.say(&untagged(Opcode::SEND_INV, queue::SEND, 1, b"first ").upper(key).more())?;
    probe.ask(&untagged(Opcode::SEND_INV, queue::SEND, 1, b"last").upper(0x1234_5600).at(6))?;
    probe.outcome()
}
