//! Start-ups in which siw is the initiator: what it makes of replies.

use std::time::Duration;

use rdmalab_wire::iwarp::{Enhanced, MpaFrame, MpaKind};

use crate::fpdus::send;
use crate::probe::{Probe, Wish, encode, reply};

/// Longer than siw is known to wait for anything in a start-up.
const PATIENCE: Duration = Duration::from_secs(16);
const BYTES: [u8; 512] = [0x5a; 512];

/// Answers siw's request with `frame`, and lets each side send if a connection comes of it.
fn answer(probe: &mut Probe, scene: &str, frame: &MpaFrame<'_>) -> Result<(), String> {
    answer_to(probe, scene, frame, Wish::default())
}

fn answer_to(probe: &mut Probe, scene: &str, frame: &MpaFrame<'_>, wish: Wish) -> Result<(), String> {
    probe.be_called(scene, wish)?;
    probe.say_frame(frame)?;
    if probe.event(1.5)?.as_deref() == Some("ESTABLISHED") {
        probe.post("SEND", 8, 1)?;
        probe.listen()?;
        probe.ask(&send(1, b"8 bytes!"))?;
    } else {
        probe.listen()?;
    }
    probe.outcome()
}

pub fn revisions(probe: &mut Probe) -> Result<(), String> {
    for revision in [0, 1, 2, 3] {
        let plain = MpaFrame { revision, enhanced: None, ..reply() };
        answer(probe, &format!("revision {revision}, without enhanced data"), &plain)?;
    }
    answer(probe, "revision 3, with enhanced data", &MpaFrame { revision: 3, ..reply() })
}

pub fn flags(probe: &mut Probe) -> Result<(), String> {
    let to_peer = |kinds: &str| Enhanced {
        peer_to_peer: true,
        rtr_write: kinds.contains("write"),
        rtr_read: kinds.contains("read"),
        rtr_empty: kinds.contains("empty"),
        ird: 4,
        ord: 4,
    };
    let cases = [
        ("markers wanted", MpaFrame { markers: true, ..reply() }),
        ("CRCs wanted", MpaFrame { crc: true, ..reply() }),
        ("all reserved bits set", MpaFrame { reserved: 0x0f, ..reply() }),
        ("peer-to-peer, with a write", MpaFrame { enhanced: Some(to_peer("write")), ..reply() }),
        ("peer-to-peer, with a read", MpaFrame { enhanced: Some(to_peer("read")), ..reply() }),
        ("peer-to-peer, with an empty FPDU", MpaFrame { enhanced: Some(to_peer("empty")), ..reply() }),
        ("peer-to-peer, with nothing", MpaFrame { enhanced: Some(to_peer("")), ..reply() }),
    ];
    for (name, frame) in cases {
        answer(probe, name, &frame)?;
    }
    Ok(())
}

pub fn private_data(probe: &mut Probe) -> Result<(), String> {
    for length in [0, 1, 196, 251, 252] {
        let private_data = BYTES.get(..length).unwrap_or_default();
        answer(probe, &format!("{length} bytes of private data"), &MpaFrame { private_data, ..reply() })?;
    }
    answer_to(
        probe,
        "no private data, to a request with 32 bytes of it",
        &reply(),
        Wish { private: &[0xa5; 32], ..Wish::default() },
    )
}

/// More private data than siw has room for: its kernel does not live through it.
pub fn too_long(probe: &mut Probe) -> Result<(), String> {
    let private_data = BYTES.get(..253).unwrap_or_default();
    answer(probe, "253 bytes of private data", &MpaFrame { private_data, ..reply() })
}

/// What no RDMA server says; where a length would stand is a large number. The kernel does not live through it, either.
pub fn not_rdma(probe: &mut Probe) -> Result<(), String> {
    probe.be_called("the answer of another server", Wish::default())?;
    probe.say_bytes("HTTP", b"HTTP/1.1 400 Bad Request\r\nServer: nobody\r\n\r\n")?;
    probe.event(1.5)?;
    probe.listen()?;
    probe.outcome()
}

/// Numbers of READs. siw asks with four each way, or with what its application wants.
pub fn depths(probe: &mut Probe) -> Result<(), String> {
    let unknown = Enhanced::NOT_NEGOTIATED;
    for (ird, ord) in [(0, 0), (3, 4), (4, 5), (16, 16), (200, 200), (unknown, unknown)] {
        let frame = MpaFrame { enhanced: Some(Enhanced { ird, ord, ..Enhanced::default() }), ..reply() };
        answer(probe, &format!("IRD {ird}, ORD {ord}"), &frame)?;
    }
    for (ird, ord) in [(0, 0), (1, 2), (64, 64), (128, 128), (129, 129)] {
        let wish = Wish { ird, ord, ..Wish::default() };
        let scene = format!("IRD 4, ORD 4, to an application that takes {ird} and sends {ord} READs");
        if let Err(error) = answer_to(probe, &scene, &reply(), wish) {
            probe.tell(&format!("cannot be: {error}"));
        }
    }
    Ok(())
}

pub fn rejected(probe: &mut Probe) -> Result<(), String> {
    for (revision, length) in [(1, 0), (1, 16), (2, 0), (2, 16), (2, 252)] {
        let enhanced = reply().enhanced.filter(|_| revision == 2);
        let private_data = BYTES.get(..length).unwrap_or_default();
        let frame = MpaFrame { revision, enhanced, reject: true, private_data, ..reply() };
        answer(probe, &format!("revision {revision}, rejected, {length} bytes of private data"), &frame)?;
    }
    Ok(())
}

/// The responder's first FPDU before the initiator's.
pub fn early(probe: &mut Probe) -> Result<(), String> {
    for together in [true, false] {
        let how = if together { "in the reply's segment" } else { "behind the reply" };
        probe.be_called(&format!("a SEND of the responder's comes first, {how}"), Wish::default())?;
        let fpdu = send(1, b"8 bytes!").encode(false);
        let frame = encode(&reply())?;
        if together {
            probe.say_bytes("MPA REPLY and a SEND", &[frame, fpdu].concat())?;
        } else {
            probe.say_bytes("MPA REPLY", &frame)?;
            probe.say_bytes("a SEND", &fpdu)?;
        }
        probe.event(1.5)?;
        probe.post("SEND", 8, 1)?;
        probe.listen()?;
        probe.outcome()?;
    }
    Ok(())
}

/// The same, a while later.
pub fn speaks_first(probe: &mut Probe) -> Result<(), String> {
    for pause in [1, 2, 3, 5, 10, 20, 50] {
        probe.be_called(
            &format!("a SEND of the responder's comes first, {pause} ms later"),
            Wish::default(),
        )?;
        probe.say_frame(&reply())?;
        std::thread::sleep(Duration::from_millis(pause));
        probe.say(&send(1, b"8 bytes!"))?;
        probe.event(1.5)?;
        probe.post("SEND", 8, 1)?;
        probe.listen()?;
        probe.outcome()?;
    }
    Ok(())
}

pub fn garbage(probe: &mut Probe) -> Result<(), String> {
    let request = encode(&MpaFrame { kind: MpaKind::Request, ..reply() })?;
    let frame = encode(&reply())?;
    let cases: [(&str, &[u8]); 2] = [("a request", &request), ("zeros", &[0; 64])];
    for (name, bytes) in cases {
        probe.be_called(name, Wish::default())?;
        probe.say_bytes(name, bytes)?;
        probe.event(1.5)?;
        probe.listen()?;
        probe.outcome()?;
    }
    probe.be_called("half a reply, and FIN", Wish::default())?;
    probe.say_bytes("10 bytes", frame.get(..10).unwrap_or_default())?;
    probe.finish()?;
    probe.event(1.5)?;
    probe.listen()?;
    probe.outcome()?;

    probe.be_called("a reply in pieces of one byte", Wish::default())?;
    for byte in &frame {
        probe.say_bytes("a byte", &[*byte])?;
        std::thread::sleep(Duration::from_millis(20));
    }
    probe.event(1.5)?;
    probe.listen()?;
    probe.outcome()
}

/// Who says nothing, and how long.
pub fn silent(probe: &mut Probe) -> Result<(), String> {
    let frame = encode(&reply())?;
    for (name, bytes) in [("nothing", &[][..]), ("half a reply", frame.get(..10).unwrap_or_default())] {
        probe.be_called(&format!("{name}, and silence"), Wish::default())?;
        probe.say_bytes(name, bytes)?;
        probe.hear(PATIENCE)?;
        probe.event(0.5)?;
        probe.outcome()?;
    }
    Ok(())
}
