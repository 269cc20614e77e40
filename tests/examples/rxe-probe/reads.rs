//! READs that come again, changed, empty, or too late.

use crate::packets::{READ_REQUEST, WRITE_ONLY, packet};
use crate::probe::{PSN, Probe, Psns, Wish};

/// A duplicate READ that is not what it repeats.
pub fn changed(probe: &mut Probe) -> Result<(), String> {
    /// Address, key and length of the repetition, and how many PSNs it starts behind the original.
    type Again = fn(u64, u32) -> (u32, u64, u32, u32);
    let cases: [(&str, Again); 7] = [
        ("as it was", |va, key| (0, va, key, 512)),
        ("for its second packet", |va, key| (1, va + 256, key, 256)),
        ("for its second packet's PSN, with the first one's address", |va, key| (1, va, key, 256)),
        ("for another address of the region", |va, key| (0, va + 8192, key, 512)),
        ("for more", |va, key| (0, va, key, 1024)),
        ("for less", |va, key| (0, va, key, 8)),
        ("with a key that there is not", |va, key| (0, va, key ^ 0xff00, 512)),
    ];
    for (what, again) in cases {
        probe.open(
            &format!("a READ of 512 bytes that comes again {what}"),
            Wish { mtu: 256, ..Wish::default() },
        )?;
        let (va, key) = (probe.va, probe.key);
        probe.ask(&packet(READ_REQUEST, PSN.psn()).asks().reth(va, key, 512))?;
        let (skip, address, key, length) = again(va, key);
        for answer in
            probe.ask(&packet(READ_REQUEST, (PSN + skip).psn()).asks().reth(address, key, length))?
        {
            let data = answer.rest.get(4..8).unwrap_or_default();
            probe.say(&format!("its data begins with {data:02x?}"));
        }
        // What does the next request get?
        let next = packet(WRITE_ONLY, (PSN + 2).psn()).asks().reth(va, probe.key, 4).data(b"next");
        probe.ask(&next)?;
    }
    Ok(())
}

/// A READ of no bytes is judged by no key, and answered as often as it comes.
pub fn empty(probe: &mut Probe) -> Result<(), String> {
    probe.open("a READ of no bytes, three times", Wish::default())?;
    let (va, key) = (probe.va, probe.key);
    let empty = packet(READ_REQUEST, PSN.psn()).asks().reth(va, key, 0);
    for _ in 0..3 {
        probe.ask(&empty)?;
    }
    probe.ask(&packet(READ_REQUEST, (PSN + 1).psn()).asks().reth(va, key, 8))?;
    probe.ask(&empty)?;

    probe.open("a READ and a WRITE of no bytes with a key that there is not", Wish::default())?;
    let key = probe.key ^ 0xff00;
    probe.ask(&packet(READ_REQUEST, PSN.psn()).asks().reth(5, key, 0))?;
    probe.ask(&packet(WRITE_ONLY, (PSN + 1).psn()).asks().reth(5, key, 0))?;
    probe.state()
}

/// More READs than are remembered, and then the first one again.
pub fn forgotten(probe: &mut Probe) -> Result<(), String> {
    probe.open(
        "two READs with one remembered, then the first again",
        Wish { rd_atomic: 1, ..Wish::default() },
    )?;
    let (va, key) = (probe.va, probe.key);
    for n in 0..2 {
        probe.ask(&packet(READ_REQUEST, (PSN + n).psn()).asks().reth(va, key, 8))?;
    }
    probe.ask(&packet(READ_REQUEST, PSN.psn()).asks().reth(va, key, 8))?;

    probe.open(
        "a READ for each of 9 PSNs at once, with one remembered",
        Wish { rd_atomic: 1, ..Wish::default() },
    )?;
    let (va, key) = (probe.va, probe.key);
    for n in 0..9 {
        probe.send(&packet(READ_REQUEST, (PSN + n).psn()).asks().reth(va, key, 8))?;
    }
    probe.listen()?;
    probe.state()
}
