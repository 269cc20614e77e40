//! An established stream: WRITEs, and the CRCs of FPDUs.

use rdmalab_wire::iwarp::Opcode;

use crate::fpdus::{Fpdu, send, tagged, write};
use crate::probe::{LOCAL_WRITE, Probe, REMOTE_READ, REMOTE_WRITE, Wish};

/// Bytes of the kernel's region.
const SIZE: u64 = 65536;

/// The WRITE `fpdu`, then a SEND, on a connection of its own.
fn one(probe: &mut Probe, name: &str, fpdu: &Fpdu) -> Result<(), String> {
    probe.ask(fpdu)?;
    probe.tell(&format!("({name}; a SEND follows)"));
    probe.ask(&send(1, b"8 bytes!"))?;
    probe.outcome()
}

pub fn writes(probe: &mut Probe) -> Result<(), String> {
    type Make = fn(u64, u32) -> Fpdu;
    let cases: [(&str, Make); 15] = [
        ("a WRITE", |va, key| write(key, va, b"8 bytes!")),
        ("a WRITE to the region's last bytes", |va, key| write(key, va + SIZE - 8, b"8 bytes!")),
        ("a WRITE across the region's end", |va, key| write(key, va + SIZE - 4, b"8 bytes!")),
        ("a WRITE behind the region", |va, key| write(key, va + SIZE, b"8 bytes!")),
        ("a WRITE before the region", |va, key| write(key, va - 8, b"8 bytes!")),
        ("a WRITE across the region's start", |va, key| write(key, va - 4, b"8 bytes!")),
        ("a WRITE round the end of all addresses", |_, key| write(key, u64::MAX - 3, b"8 bytes!")),
        ("a WRITE to the offset 0", |_, key| write(key, 0, b"8 bytes!")),
        ("a WRITE with a key that does not exist", |va, _| write(0x1234_5600, va, b"8 bytes!")),
        ("a WRITE with another lower byte of the key", |va, key| write(key ^ 1, va, b"8 bytes!")),
        ("a WRITE with the key 0", |va, _| write(0, va, b"8 bytes!")),
        ("a WRITE of no bytes", |va, key| write(key, va, &[])),
        ("a WRITE of no bytes with a key that does not exist", |va, _| write(0x1234_5600, va, &[])),
        ("a WRITE of no bytes behind the region", |va, key| write(key, va + SIZE + 64, &[])),
        ("a WRITE that is not the last of its message", |va, key| write(key, va, b"8 bytes!").more()),
    ];
    for (name, make) in cases {
        probe.open(name, Wish::default())?;
        let (va, key) = (probe.va, probe.key);
        one(probe, name, &make(va, key))?;
        probe.memory(0, 8)?;
    }
    probe.open("a WRITE in two segments that go to different places", Wish::default())?;
    let (va, key) = (probe.va, probe.key);
    probe.say(&write(key, va, b"first ").more())?;
    probe.ask(&write(key, va + 100, b"last"))?;
    probe.memory(0, 8)?;
    probe.memory(100, 4)?;
    probe.outcome()?;

    probe.open("a WRITE in two segments, the second with a key that does not exist", Wish::default())?;
    let (va, key) = (probe.va, probe.key);
    probe.say(&write(key, va, b"first ").more())?;
    probe.ask(&write(0x1234_5600, va + 6, b"last"))?;
    probe.outcome()?;

    probe.open("a WRITE in two segments, the second beyond the end", Wish::default())?;
    let (va, key) = (probe.va, probe.key);
    probe.say(&write(key, va + SIZE - 6, b"first ").more())?;
    probe.ask(&write(key, va + SIZE, b"last"))?;
    probe.outcome()?;

    probe.open("a READ's response that answers no READ", Wish::default())?;
    let (va, key) = (probe.va, probe.key);
    one(probe, "the region's own key", &tagged(Opcode::READ_RESPONSE, key, va, b"8 bytes!"))?;
    probe.memory(0, 8)
}

pub fn rights(probe: &mut Probe) -> Result<(), String> {
    for (name, access) in [
        ("local rights only", LOCAL_WRITE),
        ("the right to read", LOCAL_WRITE | REMOTE_READ),
        ("the right to write", LOCAL_WRITE | REMOTE_WRITE),
    ] {
        let wish = Wish { access, ..Wish::default() };
        probe.open(&format!("a WRITE to a region with {name}"), wish)?;
        let (va, key) = (probe.va, probe.key);
        one(probe, name, &write(key, va, b"8 bytes!"))?;
        probe.open(&format!("a WRITE of no bytes to a region with {name}"), wish)?;
        let (va, key) = (probe.va, probe.key);
        one(probe, name, &write(key, va, &[]))?;
        probe.open(&format!("a READ from a region with {name}"), wish)?;
        let (va, key) = (probe.va, probe.key);
        one(probe, name, &crate::fpdus::read(1, key, va, 8))?;
    }
    Ok(())
}

pub fn crc(probe: &mut Probe) -> Result<(), String> {
    type Change = fn(Fpdu) -> Fpdu;
    for crc in [false, true] {
        let name = if crc { "with" } else { "without" };
        let wish = Wish { crc, ..Wish::default() };
        let cases: [(&str, Change); 3] = [
            ("what was agreed on", |fpdu| fpdu),
            ("the right CRC", Fpdu::right_crc),
            ("a wrong CRC", Fpdu::wrong_crc),
        ];
        for (what, change) in cases {
            probe.open(&format!("{name} CRCs: a SEND and a WRITE with {what}"), wish)?;
            probe.ask(&change(send(1, b"8 bytes!")))?;
            let (va, key) = (probe.va, probe.key);
            probe.ask(&change(write(key, va, b"8 bytes!")))?;
            probe.post("SEND", 8, 1)?;
            probe.listen()?;
            probe.memory(0, 8)?;
            probe.outcome()?;
        }
    }
    probe.open("with CRCs: a WRITE with a wrong CRC first", Wish { crc: true, ..Wish::default() })?;
    let (va, key) = (probe.va, probe.key);
    probe.ask(&write(key, va, b"8 bytes!").wrong_crc())?;
    probe.memory(0, 8)?;
    probe.outcome()?;

    probe.open_called("called: CRCs asked for in the reply alone", Wish { crc: true, ..Wish::default() })?;
    probe.post("SEND", 8, 1)?;
    probe.listen()?;
    probe.ask(&send(1, b"8 bytes!"))?;
    probe.outcome()
}
