//! FLUSH, SEND with invalidate, and what is unusual but right.

use std::time::Duration;

use crate::cable::Sum;
use crate::packets::{
    ACK, Crafted, FLUSH, RESPONSE_ONLY, SEND_FIRST, SEND_LAST, SEND_MIDDLE, SEND_ONLY, SEND_ONLY_INV,
    WRITE_FIRST, WRITE_LAST, WRITE_MIDDLE, WRITE_ONLY, packet,
};
use crate::probe::{FLUSH_GLOBAL, FLUSH_PERSISTENT, ORDINARY, PSN, Probe, Psns, THEIRS, Wish};
use crate::windows::bind;

const GLOBAL: u8 = 1;
const PERSISTENT: u8 = 2;

/// Rights to flush, for a queue pair or a region.
const FLUSHES: u32 = ORDINARY | FLUSH_GLOBAL | FLUSH_PERSISTENT;

/// A FLUSH whose ICRC is right. Behind it comes what shows that the queue pair works and expects the same PSN still.
pub fn flush(probe: &mut Probe) -> Result<(), String> {
    let wish = Wish { access: FLUSHES, memory_access: ORDINARY | FLUSH_GLOBAL, ..Wish::default() };
    probe.open("a FLUSH as it should be, twice, and then a WRITE", wish)?;
    let (va, key) = (probe.va, probe.key);
    for _ in 0..2 {
        probe.ask(&packet(FLUSH, PSN.psn()).asks().feth(0, GLOBAL).reth(va, key, 64))?;
    }
    probe.ask(&packet(WRITE_ONLY, PSN.psn()).asks().reth(va, key, 4).data(b"then"))?;
    probe.state()
}

/// What the kernel itself sends as FLUSH and as ATOMIC WRITE.
pub fn flush_sent(probe: &mut Probe) -> Result<(), String> {
    for (operation, length) in [("FLUSH", 64), ("ATOMIC_WRITE", 8)] {
        let wish = Wish { access: FLUSHES, ..Wish::default() };
        probe.open(&format!("{operation}, sent by the kernel"), wish)?;
        if let Err(error) = probe.post(operation, length) {
            probe.say(&error);
            continue;
        }
        probe.hear(Duration::from_millis(800))?;
        probe.send(&packet(RESPONSE_ONLY, THEIRS.psn()).aeth(ACK, 1))?;
        probe.completions(1, 1.0)?;
        probe.state()?;
    }
    Ok(())
}

/// What a FLUSH needs, and what it may ask for, with the sum that the kernel takes for right.
pub fn flush_rules(probe: &mut Probe) -> Result<(), String> {
    let all = Wish { access: FLUSHES, memory_access: FLUSHES, ..Wish::default() };
    let visible = Wish { memory_access: ORDINARY | FLUSH_GLOBAL, ..all };
    let range = |selectivity, placement, length| (selectivity, placement, length);
    let cases = [
        ("a range, to be seen by all", visible, range(0, GLOBAL, 64)),
        ("the region, to be seen by all", visible, range(1, GLOBAL, 0)),
        ("a range of no bytes", visible, range(0, GLOBAL, 0)),
        ("with no placement", visible, range(0, 0, 64)),
        ("with a reserved placement", visible, range(0, 4 | GLOBAL, 64)),
        ("with a reserved selectivity", visible, range(2, GLOBAL, 64)),
        ("on a queue pair without the right", Wish { access: ORDINARY, ..visible }, range(0, GLOBAL, 64)),
        ("on a region without the right", Wish { memory_access: ORDINARY, ..all }, range(0, GLOBAL, 64)),
        ("persistent, on a region that is only to be seen", visible, range(0, PERSISTENT, 64)),
        ("beyond the region", visible, range(0, GLOBAL, 1 << 20)),
    ];
    for (what, wish, (selectivity, placement, length)) in cases {
        probe.open(&format!("FLUSH: {what}"), wish)?;
        let (va, key) = (probe.va, probe.key);
        let request = packet(FLUSH, PSN.psn()).asks().feth(selectivity, placement).reth(va, key, length);
        probe.send_summed(&request, Sum::Twice)?;
        probe.listen()?;
        probe.state()?;
    }
    probe.open("FLUSH: the same PSN again, then with another placement", visible)?;
    let (va, key) = (probe.va, probe.key);
    for placement in [GLOBAL, GLOBAL, PERSISTENT] {
        probe
            .send_summed(&packet(FLUSH, PSN.psn()).asks().feth(0, placement).reth(va, key, 64), Sum::Twice)?;
        probe.listen()?;
    }
    Ok(())
}

/// SENDs that end a key.
pub fn invalidate(probe: &mut Probe) -> Result<(), String> {
    let wish = Wish::default().to_bind();
    for (what, change) in [("a key that there is not", 0xff00), ("the key of a region of an application", 0)]
    {
        probe.open(&format!("a SEND that invalidates {what}"), wish)?;
        probe.receive(64)?;
        let key = probe.key ^ change;
        probe.ask(&packet(SEND_ONLY_INV, PSN.psn()).asks().ieth(key).data(b"invalid!"))?;
        probe.completions(1, 1.0)?;
        probe.state()?;
    }
    probe.open("a SEND that invalidates a window of type 2", wish)?;
    probe.receive(64)?;
    let key = bind(probe, 2, 0, 65536)?;
    let va = probe.va;
    probe.ask(&packet(WRITE_ONLY, PSN.psn()).asks().reth(va, key, 4).data(b"thru"))?;
    probe.ask(&packet(SEND_ONLY_INV, (PSN + 1).psn()).asks().ieth(key).data(b"valid"))?;
    probe.completions(1, 1.0)?;
    probe.ask(&packet(WRITE_ONLY, (PSN + 2).psn()).asks().reth(va, key, 4).data(b"over"))?;
    probe.state()
}

/// A key that was ended before. The guest's kernel may not live through it.
pub fn invalidate_twice(probe: &mut Probe) -> Result<(), String> {
    probe.open("a SEND that invalidates a window of type 2, and another one", Wish::default().to_bind())?;
    probe.receive(64)?;
    probe.receive(64)?;
    let key = bind(probe, 2, 0, 65536)?;
    for n in 0..2 {
        probe.ask(&packet(SEND_ONLY_INV, (PSN + n).psn()).asks().ieth(key).data(b"valid"))?;
    }
    probe.state()
}

/// Acknowledgements that are asked for in the middle of a message.
pub fn ask_in_the_middle(probe: &mut Probe) -> Result<(), String> {
    let bytes = [0x55; 1024];
    probe.open("a WRITE of three packets, each of which asks for an acknowledgement", Wish::default())?;
    let (va, key) = (probe.va, probe.key);
    probe.ask(&packet(WRITE_FIRST, PSN.psn()).asks().reth(va, key, 3072).data(&bytes))?;
    probe.ask(&packet(WRITE_MIDDLE, (PSN + 1).psn()).asks().data(&bytes))?;
    probe.ask(&packet(WRITE_LAST, (PSN + 2).psn()).asks().data(&bytes))?;

    probe.open("a SEND of three packets, each of which asks for an acknowledgement", Wish::default())?;
    probe.receive(4096)?;
    probe.ask(&packet(SEND_FIRST, PSN.psn()).asks().data(&bytes))?;
    probe.ask(&packet(SEND_MIDDLE, (PSN + 1).psn()).asks().data(&bytes))?;
    probe.ask(&packet(SEND_LAST, (PSN + 2).psn()).asks().data(&bytes))?;
    probe.completions(1, 1.0)?;

    probe.open(
        "a WRITE of which nothing asks, then its last packet again, which does not ask either",
        Wish::default(),
    )?;
    let (va, key) = (probe.va, probe.key);
    let write = packet(WRITE_ONLY, PSN.psn()).reth(va, key, 4).data(b"once");
    probe.ask(&write)?;
    probe.ask(&write)?;

    probe.open("the first packet of a WRITE again, when its second has come", Wish::default())?;
    let (va, key) = (probe.va, probe.key);
    probe.ask(&packet(WRITE_FIRST, PSN.psn()).reth(va, key, 3072).data(&bytes))?;
    probe.ask(&packet(WRITE_MIDDLE, (PSN + 1).psn()).data(&bytes))?;
    probe.ask(&packet(WRITE_FIRST, PSN.psn()).asks().reth(va, key, 3072).data(&bytes))?;
    probe.ask(&packet(WRITE_LAST, (PSN + 2).psn()).asks().data(&bytes))?;
    Ok(())
}

/// What a responder has to overlook.
pub fn harmless(probe: &mut Probe) -> Result<(), String> {
    type Request = fn(Crafted) -> Crafted;
    let cases: [(&str, Request); 7] = [
        ("as it should be", |write| write),
        ("with pad bytes of 0xff", |write| write.padded_with(0xff)),
        ("with the migration bit", |write| write.with(|bth| bth.migrated = true)),
        ("with the solicited bit", |write| write.with(|bth| bth.solicited = true)),
        ("with reserved bits set", |write| write.with(|bth| (bth.reserved_6, bth.reserved_7) = (0x3f, 0x7f))),
        ("with both congestion bits", |write| write.with(|bth| (bth.fecn, bth.becn) = (true, true))),
        ("of a limited member of the partition", |write| {
            write.with(|bth| bth.partition_key = rdmalab_wire::PKey::new(0x7fff))
        }),
    ];
    for (what, change) in cases {
        probe.open(&format!("a WRITE of three bytes {what}"), Wish::default())?;
        let (va, key) = (probe.va, probe.key);
        probe.ask(&change(packet(WRITE_ONLY, PSN.psn()).asks().reth(va, key, 3).data(b"odd")))?;
        probe.memory(0, 4)?;
    }
    probe.open("a SEND of three bytes with pad bytes of 0xff", Wish::default())?;
    probe.receive(64)?;
    probe.ask(&packet(SEND_ONLY, PSN.psn()).asks().data(b"odd").padded_with(0xff))?;
    probe.completions(1, 1.0)?;
    probe.memory(8192, 4)?;
    Ok(())
}
