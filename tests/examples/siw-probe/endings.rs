//! How a stream ends: FIN, RST, and siw's own ways.

use std::time::Duration;

use crate::fpdus::{read, send, write};
use crate::probe::{Probe, Wish};

pub fn all(probe: &mut Probe) -> Result<(), String> {
    probe.open("FIN between two FPDUs", Wish::default())?;
    probe.ask(&send(1, b"8 bytes!"))?;
    probe.finish()?;
    probe.listen()?;
    probe.outcome()?;

    let fpdu = send(1, b"8 bytes!").encode(false);
    for length in [1, 2, 12, fpdu.len() - 1] {
        probe.open(&format!("FIN behind {length} bytes of an FPDU"), Wish::default())?;
        probe.say_bytes("a part of a SEND", fpdu.get(..length).unwrap_or_default())?;
        probe.finish()?;
        probe.listen()?;
        probe.outcome()?;
        probe.received(100, 8)?;
    }

    probe.open("FIN in the middle of a message", Wish::default())?;
    probe.say(&send(1, b"first ").more())?;
    probe.finish()?;
    probe.listen()?;
    probe.outcome()?;

    probe.open("RST", Wish::default())?;
    let (va, key) = (probe.va, probe.key);
    probe.say(&read(1, key, va, 8))?;
    probe.reset()?;
    std::thread::sleep(Duration::from_millis(500));
    probe.outcome()?;

    probe.open("RST in the middle of an FPDU", Wish::default())?;
    let (va, key) = (probe.va, probe.key);
    probe.say(&read(1, key, va, 8))?;
    probe.say_bytes("a part of a SEND", fpdu.get(..12).unwrap_or_default())?;
    probe.reset()?;
    std::thread::sleep(Duration::from_millis(500));
    probe.outcome()?;

    probe.open("half an FPDU, and silence", Wish::default())?;
    probe.say_bytes("a part of a SEND", fpdu.get(..12).unwrap_or_default())?;
    probe.hear(Duration::from_secs(5))?;
    probe.say_bytes("the rest", fpdu.get(12..).unwrap_or_default())?;
    probe.listen()?;
    probe.outcome()?;

    probe.open("an FPDU in pieces of one byte", Wish::default())?;
    for byte in &fpdu {
        probe.say_bytes("a byte", &[*byte])?;
        std::thread::sleep(Duration::from_millis(5));
    }
    probe.listen()?;
    probe.outcome()?;

    probe.open("siw disconnects", Wish::default())?;
    probe.ask(&send(1, b"8 bytes!"))?;
    probe.disconnect()?;
    probe.listen()?;
    let (va, key) = (probe.va, probe.key);
    probe.say(&write(key, va, b"8 bytes!"))?;
    probe.listen()?;
    probe.outcome()?;

    probe.open("siw disconnects right behind a SEND of its own", Wish::default())?;
    probe.post("SEND", 8, 1)?;
    probe.disconnect()?;
    probe.listen()?;
    probe.outcome()
}
