//! An established stream: READs of ours that siw answers, and READs of siw's that we answer.

use rdmalab_wire::iwarp::{Opcode, ReadRequest, Segment, Stag, queue};

use crate::fpdus::{Fpdu, read, send, tagged, untagged};
use crate::probe::{Probe, Wish};
use crate::stream::{Heard, Kind};

/// Bytes of the kernel's region.
const SIZE: u64 = 65536;

pub fn requests(probe: &mut Probe) -> Result<(), String> {
    type Make = fn(u64, u32) -> Fpdu;
    let cases: [(&str, Make); 16] = [
        ("a READ", |va, key| read(1, key, va, 8)),
        ("a READ of three segments", |va, key| read(1, key, va, 4000)),
        ("a READ across the region's end", |va, key| read(1, key, va + SIZE - 4, 8)),
        ("a READ that begins inside and is longer than the region", |va, key| read(1, key, va, 70_000)),
        ("a READ of 4 GiB", |va, key| read(1, key, va, u32::MAX)),
        ("a READ before the region", |va, key| read(1, key, va - 8, 8)),
        ("a READ with a key that does not exist", |va, _| read(1, 0x1234_5600, va, 8)),
        ("a READ with another lower byte of the key", |va, key| read(1, key ^ 1, va, 8)),
        ("a READ of no bytes", |va, key| read(1, key, va, 0)),
        ("a READ of no bytes with a key that does not exist", |_, _| read(1, 0x1234_5600, 0, 0)),
        ("a READ with MSN 0", |va, key| read(0, key, va, 8)),
        ("a READ with MSN 2", |va, key| read(2, key, va, 8)),
        ("a READ request that is not the last segment", |va, key| read(1, key, va, 8).more()),
        ("a READ request with message offset 4", |va, key| read(1, key, va, 8).at(4)),
        ("a READ request of 24 bytes", |_, _| untagged(Opcode::READ_REQUEST, queue::REQUEST, 1, &[0; 24])),
        ("a READ request of 32 bytes", |va, key| {
            let request = ReadRequest {
                sink_stag: Stag::new(0x5151_5100),
                sink_offset: 0x1000,
                length: 8,
                source_stag: Stag::new(key),
                source_offset: va,
            };
            let bytes = [&request.encode()[..], &[0x5a; 4]].concat();
            untagged(Opcode::READ_REQUEST, queue::REQUEST, 1, &bytes)
        }),
    ];
    for (name, make) in cases {
        probe.open(name, Wish::default())?;
        let (va, key) = (probe.va, probe.key);
        probe.ask(&make(va, key))?;
        probe.tell("(a SEND follows)");
        probe.ask(&send(1, b"8 bytes!"))?;
        probe.outcome()?;
    }
    Ok(())
}

/// More READs at once than were agreed on.
pub fn depth(probe: &mut Probe) -> Result<(), String> {
    for ird in [1_u16, 4] {
        for count in [u32::from(ird), u32::from(ird) + 1, 20] {
            let wish = Wish { ird, ..Wish::default() };
            probe.open(&format!("{count} READs at once, where siw takes {ird}"), wish)?;
            let (va, key) = (probe.va, probe.key);
            let all: Vec<u8> = (1..=count).flat_map(|msn| read(msn, key, va, 1000).encode(false)).collect();
            probe.say_bytes(&format!("{count} READ requests of 1000 bytes, in one piece"), &all)?;
            probe.listen()?;
            probe.outcome()?;
        }
    }
    Ok(())
}

/// What siw asks for: the place its answer goes to.
fn sink(heard: &Heard) -> Result<(u32, u64), String> {
    if let Kind::Segment(ulpdu) = &heard.kind
        && let Ok(Segment { body: rdmalab_wire::iwarp::Body::ReadRequest { request, .. }, .. }) =
            Segment::parse(ulpdu)
    {
        return Ok((request.sink_stag.value(), request.sink_offset));
    }
    Err(format!("{} in place of a READ request", heard.line))
}

pub fn responses(probe: &mut Probe) -> Result<(), String> {
    type Make = fn(u32, u64) -> Vec<Fpdu>;
    fn response(key: u32, to: u64, bytes: &[u8]) -> Fpdu {
        tagged(Opcode::READ_RESPONSE, key, to, bytes)
    }
    let cases: [(&str, Make); 15] = [
        ("as it should be", |key, to| vec![response(key, to, &[0xa1; 16])]),
        ("in two segments", |key, to| {
            vec![response(key, to, &[0xa1; 8]).more(), response(key, to + 8, &[0xa2; 8])]
        }),
        ("in two segments with a gap", |key, to| {
            vec![response(key, to, &[0xa1; 4]).more(), response(key, to + 8, &[0xa2; 8])]
        }),
        ("in two segments, the second before the first", |key, to| {
            vec![response(key, to + 8, &[0xa2; 8]).more(), response(key, to, &[0xa1; 8])]
        }),
        ("in two segments that both say last", |key, to| {
            vec![response(key, to, &[0xa1; 8]), response(key, to + 8, &[0xa2; 8])]
        }),
        ("whole, but without the mark of the last segment", |key, to| {
            vec![response(key, to, &[0xa1; 16]).more()]
        }),
        ("with four bytes too few", |key, to| vec![response(key, to, &[0xa1; 12])]),
        ("with four bytes too many", |key, to| vec![response(key, to, &[0xa1; 20])]),
        ("with no bytes", |key, to| vec![response(key, to, &[])]),
        ("with another key", |key, to| vec![response(key ^ 0x100, to, &[0xa1; 16])]),
        ("with another lower byte of the key", |key, to| vec![response(key ^ 1, to, &[0xa1; 16])]),
        ("with another offset inside the region", |key, to| vec![response(key, to + 64, &[0xa1; 16])]),
        ("twice", |key, to| vec![response(key, to, &[0xa1; 16]), response(key, to, &[0xa2; 16])]),
        ("by a WRITE to the sink", |key, to| vec![crate::fpdus::write(key, to, &[0xa1; 16])]),
        ("by a SEND", |_, _| vec![send(1, b"8 bytes!")]),
    ];
    for (name, make) in cases {
        probe.open_called(&format!("a READ of 16 bytes, answered {name}"), Wish::default())?;
        probe.post("READ", 16, 1)?;
        let (key, to) = sink(&probe.expect("READ request")?)?;
        for fpdu in make(key, to) {
            probe.say(&fpdu)?;
        }
        probe.listen()?;
        probe.memory(4096, 24)?;
        probe.outcome()?;
    }

    probe.open_called("a READ of no bytes, answered with none", Wish::default())?;
    probe.post("READ", 0, 1)?;
    let (key, to) = sink(&probe.expect("READ request")?)?;
    probe.say(&response(key, to, &[]))?;
    probe.listen()?;
    probe.outcome()?;

    probe.open_called(
        "six READs, where four may be under way; the second is answered first",
        Wish::default(),
    )?;
    for id in 1..=6 {
        probe.post("READ", 16, id)?;
    }
    let heard = probe.listen()?;
    let sinks: Vec<_> = heard.iter().filter_map(|heard| sink(heard).ok()).collect();
    if let Some((key, to)) = sinks.get(1) {
        probe.say(&response(*key, *to, &[0xa2; 16]))?;
    }
    probe.listen()?;
    probe.outcome()
}
