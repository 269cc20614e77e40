//! What the kernel's requester makes of answers that are unusual, or wrong.

use std::time::Duration;

use crate::packets::{
    ACK, ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE, Crafted, RESPONSE_FIRST, RESPONSE_LAST, RESPONSE_MIDDLE,
    RESPONSE_ONLY, packet,
};
use crate::probe::{Probe, Psns, THEIRS, Wish};

/// A timeout of 134 ms.
const QUICK: Wish = Wish {
    access: crate::probe::ORDINARY,
    memory_access: crate::probe::ORDINARY,
    mtu: 256,
    timeout: 15,
    retry: 3,
    rnr_retry: 3,
    rd_atomic: 4,
};

fn data(opcode: u8, psn: u32, byte: u8) -> Crafted {
    let packet = packet(opcode, psn.psn());
    let packet = if opcode == RESPONSE_MIDDLE { packet } else { packet.aeth(ACK, 1) };
    packet.data(&[byte; 256])
}

/// How the answer to a READ may begin that is asked for again from its middle.
pub fn shortened(probe: &mut Probe) -> Result<(), String> {
    let ways: [(&str, u32, &[u8]); 6] = [
        ("FIRST MIDDLE LAST", 1, &[RESPONSE_FIRST, RESPONSE_MIDDLE, RESPONSE_LAST]),
        ("MIDDLE MIDDLE LAST", 1, &[RESPONSE_MIDDLE, RESPONSE_MIDDLE, RESPONSE_LAST]),
        ("FIRST LAST", 2, &[RESPONSE_FIRST, RESPONSE_LAST]),
        ("MIDDLE LAST", 2, &[RESPONSE_MIDDLE, RESPONSE_LAST]),
        ("ONLY", 3, &[RESPONSE_ONLY]),
        ("LAST", 3, &[RESPONSE_LAST]),
    ];
    for (name, come, rest) in ways {
        probe.open(
            &format!("{come} of 4 packets of a READ come; the rest, asked for again, as {name}"),
            QUICK,
        )?;
        probe.post("READ", 1024)?;
        probe.expect("READ")?;
        for n in 0..come {
            let opcode = if n == 0 { RESPONSE_FIRST } else { RESPONSE_MIDDLE };
            probe.send(&data(opcode, THEIRS + n, 0xa0 + n as u8))?;
        }
        let again = probe.expect("repetition")?;
        for (n, opcode) in rest.iter().enumerate() {
            probe.send(&data(*opcode, again.psn + n as u32, 0xb0 + n as u8))?;
        }
        probe.completions(1, 2.0)?;
        for packet in 0..4 {
            probe.memory(4096 + packet * 256, 4)?;
        }
        probe.state()?;
    }
    Ok(())
}

/// Answers to what was not sent yet.
pub fn ghosts(probe: &mut Probe) -> Result<(), String> {
    let answers: [(&str, Crafted); 5] = [
        ("an acknowledgement of the next PSN", packet(ACKNOWLEDGE, (THEIRS + 1).psn()).aeth(ACK, 1)),
        ("an acknowledgement far ahead", packet(ACKNOWLEDGE, (THEIRS + 1000).psn()).aeth(ACK, 1)),
        ("a sequence error ahead", packet(ACKNOWLEDGE, (THEIRS + 1).psn()).aeth(0x60, 0)),
        ("an invalid request ahead", packet(ACKNOWLEDGE, (THEIRS + 1).psn()).aeth(0x61, 0)),
        ("an acknowledgement of what is long over", packet(ACKNOWLEDGE, (THEIRS - 1).psn()).aeth(ACK, 1)),
    ];
    for (name, answer) in answers {
        probe.open(&format!("a WRITE, answered by {name}"), QUICK)?;
        probe.post("WRITE", 4)?;
        probe.expect("WRITE")?;
        probe.send(&answer)?;
        probe.completions(1, 0.05)?;
        probe.hear(Duration::from_millis(600))?;
        probe.send(&packet(ACKNOWLEDGE, THEIRS.psn()).aeth(ACK, 1))?;
        probe.completions(1, 1.0)?;
        probe.state()?;
    }
    Ok(())
}

/// Every kind of verdict, those too that do not exist.
pub fn syndromes(probe: &mut Probe) -> Result<(), String> {
    for syndrome in [0x00, 0x1f, 0x40, 0x5f, 0x61, 0x62, 0x63, 0x64, 0x65, 0x7f, 0x80, 0x9f] {
        probe.open(&format!("a WRITE, answered by the syndrome {syndrome:#04x}"), QUICK)?;
        probe.post("WRITE", 4)?;
        probe.expect("WRITE")?;
        probe.send(&packet(ACKNOWLEDGE, THEIRS.psn()).aeth(syndrome, 1))?;
        probe.completions(1, 2.0)?;
        probe.listen()?;
        probe.state()?;
    }
    Ok(())
}

/// Answers of a kind that does not belong to the request.
pub fn wrong_answers(probe: &mut Probe) -> Result<(), String> {
    let ack = |psn: u32| packet(ACKNOWLEDGE, psn.psn()).aeth(ACK, 1);
    let short =
        |opcode: u8, length: usize| packet(opcode, THEIRS.psn()).aeth(ACK, 1).data(&vec![0xcc; length]);
    let cases: [(&str, &str, u32, Crafted); 9] = [
        ("READ", "an acknowledgement", 8, ack(THEIRS)),
        (
            "READ",
            "an atomic's answer",
            8,
            packet(ATOMIC_ACKNOWLEDGE, THEIRS.psn()).aeth(ACK, 1).bytes(&[0; 8]),
        ),
        ("READ", "four bytes too few", 8, short(RESPONSE_ONLY, 4)),
        ("READ", "four bytes too many", 8, short(RESPONSE_ONLY, 12)),
        ("READ", "a FIRST that is shorter than the path MTU", 512, short(RESPONSE_FIRST, 128)),
        ("READ", "an ONLY of 256 bytes", 512, short(RESPONSE_ONLY, 256)),
        ("FETCH_ADD", "an acknowledgement", 8, ack(THEIRS)),
        ("FETCH_ADD", "a READ's answer", 8, short(RESPONSE_ONLY, 8)),
        ("WRITE", "a READ's answer", 8, short(RESPONSE_ONLY, 8)),
    ];
    for (operation, name, length, answer) in cases {
        probe.open(&format!("a {operation} of {length} bytes, answered by {name}"), QUICK)?;
        probe.post(operation, length)?;
        probe.expect(operation)?;
        probe.send(&answer)?;
        probe.listen()?;
        probe.completions(1, 1.0)?;
        probe.memory(4096, 16)?;
        probe.state()?;
    }

    probe.open("a READ and a WRITE, both acknowledged by the WRITE's answer alone", QUICK)?;
    probe.post_numbered("READ", 8, 1)?;
    probe.post_numbered("WRITE", 8, 2)?;
    probe.expect("READ")?;
    probe.expect("WRITE")?;
    probe.send(&ack(THEIRS + 1))?;
    probe.listen()?;
    probe.send(&short(RESPONSE_ONLY, 8))?;
    probe.send(&ack(THEIRS + 1))?;
    probe.completions(2, 1.0)?;
    probe.state()?;

    probe.open("a READ of two packets, refused at its second", QUICK)?;
    probe.post("READ", 512)?;
    probe.expect("READ")?;
    probe.send(&data(RESPONSE_FIRST, THEIRS, 0xa0))?;
    probe.send(&packet(ACKNOWLEDGE, (THEIRS + 1).psn()).aeth(0x62, 1))?;
    probe.completions(1, 1.0)?;
    probe.state()
}

/// Credits: what they allow, and whether anybody cares.
pub fn credits(probe: &mut Probe) -> Result<(), String> {
    probe.open("three SENDs to a peer that has said that it has no receives", QUICK)?;
    probe.post("WRITE", 4)?;
    probe.expect("WRITE")?;
    probe.send(&packet(ACKNOWLEDGE, THEIRS.psn()).aeth(0, 1))?;
    probe.completions(1, 1.0)?;
    for n in 2..5 {
        probe.post_numbered("SEND", 4, n)?;
    }
    for _ in 0..3 {
        probe.hear(Duration::from_millis(100))?;
    }
    probe.send(&packet(ACKNOWLEDGE, (THEIRS + 3).psn()).aeth(ACK, 4))?;
    probe.completions(3, 1.0)?;
    Ok(())
}
