//! TERMINATEs that siw hears, by the layout of RFC 5040 and by its own.

use rdmalab_wire::iwarp::{Opcode, Terminate, TerminateError, queue};

use crate::fpdus::{send, tagged, terminate, untagged, write};
use crate::probe::{Probe, Wish};

/// As RFC 5040 has it.
fn body(error: TerminateError) -> Result<Vec<u8>, String> {
    let mut bytes = [0; 64];
    let length = Terminate::new(error).encode(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes.get(..length).unwrap_or_default().to_vec())
}

pub fn heard(probe: &mut Probe) -> Result<(), String> {
    let bytes = |bytes: &[u8]| bytes.to_vec();
    let cases: [(&str, Vec<u8>); 7] = [
        ("DDP invalid MSN range, by the RFC", body(TerminateError::DDP_MSN_RANGE)?),
        ("the same in the machine's bit order", bytes(&[0x21, 0x03, 0, 0])),
        ("RDMAP access, by the RFC", body(TerminateError::RDMAP_ACCESS)?),
        ("MPA CRC, by the RFC", body(TerminateError::MPA_CRC)?),
        ("with a reserved layer", bytes(&[0xf0, 0, 0, 0])),
        ("of no bytes", bytes(&[])),
        ("of two bytes", bytes(&[0x12, 0x05])),
    ];
    for (name, body) in cases {
        probe.open(&format!("a TERMINATE {name}"), Wish::default())?;
        probe.ask(&terminate(1, &body))?;
        probe.ask(&send(1, b"8 bytes!"))?;
        probe.outcome()?;
    }
    let body = body(TerminateError::DDP_MSN_RANGE)?;
    let scenes = [
        ("with MSN 0", terminate(0, &body)),
        ("with MSN 2", terminate(2, &body)),
        ("with message offset 4", terminate(1, &body).at(4)),
        ("that is not the last segment", terminate(1, &body).more()),
        ("in queue 0", untagged(Opcode::TERMINATE, queue::SEND, 1, &body)),
        ("in queue 1", untagged(Opcode::TERMINATE, queue::REQUEST, 1, &body)),
        ("that is tagged", tagged(Opcode::TERMINATE, 0x1234_5600, 0, &body)),
        ("of 1000 bytes", terminate(1, &[body.clone(), vec![0x5a; 996]].concat())),
    ];
    for (name, fpdu) in scenes {
        probe.open(&format!("a TERMINATE {name}"), Wish::default())?;
        probe.ask(&fpdu)?;
        probe.outcome()?;
    }
    probe.open("two TERMINATEs in one piece", Wish::default())?;
    let two = [terminate(1, &body).encode(false), terminate(2, &body).encode(false)].concat();
    probe.say_bytes("two TERMINATEs", &two)?;
    probe.listen()?;
    probe.outcome()?;

    probe.open("a TERMINATE, with a WRITE behind it in one piece", Wish::default())?;
    let (va, key) = (probe.va, probe.key);
    let both = [terminate(1, &body).encode(false), write(key, va, b"8 bytes!").encode(false)].concat();
    probe.say_bytes("a TERMINATE and a WRITE", &both)?;
    probe.listen()?;
    probe.memory(0, 8)?;
    probe.outcome()
}

/// What becomes of siw's own requests.
pub fn with_work(probe: &mut Probe) -> Result<(), String> {
    let body = body(TerminateError::RDMAP_INVALID_STAG)?;
    probe.open_called("a WRITE and a READ of siw's, answered with a TERMINATE", Wish::default())?;
    probe.post("WRITE", 8, 1)?;
    probe.post("READ", 8, 2)?;
    probe.listen()?;
    probe.ask(&terminate(1, &body))?;
    probe.outcome()?;

    probe.open_called("six READs of siw's, four under way, then a SEND that is wrong", Wish::default())?;
    for id in 1..=6 {
        probe.post("READ", 8, id)?;
    }
    probe.listen()?;
    probe.ask(&send(7, b"8 bytes!"))?;
    probe.outcome()?;

    probe.open_called("a READ of siw's, then FIN", Wish::default())?;
    probe.post("READ", 8, 1)?;
    probe.listen()?;
    probe.finish()?;
    probe.listen()?;
    probe.outcome()
}
