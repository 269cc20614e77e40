//! Start-ups in which siw is the responder: what it makes of requests.

use std::time::Duration;

use rdmalab_wire::iwarp::{Enhanced, MpaFrame, MpaKind};

use crate::fpdus::send;
use crate::probe::{Probe, Wish, encode, request};
use crate::stream::Kind;

/// Longer than siw is known to wait for anything in a start-up.
const PATIENCE: Duration = Duration::from_secs(16);
const BYTES: [u8; 512] = [0x5a; 512];

/// Says `frame`, has the application accept, and sends a SEND behind the reply.
fn propose(probe: &mut Probe, scene: &str, frame: &MpaFrame<'_>) -> Result<(), String> {
    propose_to(probe, scene, frame, Wish::default())
}

fn propose_to(probe: &mut Probe, scene: &str, frame: &MpaFrame<'_>, wish: Wish) -> Result<(), String> {
    probe.dial(scene)?;
    probe.say_frame(frame)?;
    if probe.event(1.5)?.is_none() {
        probe.listen()?;
        return probe.kernel_words();
    }
    if let Err(error) = probe.accept(wish) {
        probe.tell(&format!("cannot be accepted: {error}"));
        probe.listen()?;
        return probe.kernel_words();
    }
    let heard = probe.listen()?;
    probe.event(0.3)?;
    if heard.iter().any(|heard| matches!(heard.kind, Kind::Frame { reject: false, .. })) {
        probe.ask(&send(1, b"8 bytes!"))?;
    }
    probe.outcome()
}

pub fn revisions(probe: &mut Probe) -> Result<(), String> {
    for revision in [0, 1, 2, 3, 255] {
        let plain = MpaFrame { revision, enhanced: None, ..request() };
        propose(probe, &format!("revision {revision}, without enhanced data"), &plain)?;
        if revision >= 2 {
            let enhanced = MpaFrame { revision, ..request() };
            propose(probe, &format!("revision {revision}, with enhanced data"), &enhanced)?;
        }
    }
    // Before revision 2 the bit of the enhanced data is a reserved one.
    let reserved = MpaFrame { revision: 1, enhanced: None, reserved: 0x10, ..request() };
    propose(probe, "revision 1, with the bit that says enhanced data from revision 2 on", &reserved)
}

pub fn flags(probe: &mut Probe) -> Result<(), String> {
    for revision in [1, 2] {
        let enhanced = request().enhanced.filter(|_| revision == 2);
        let plain = MpaFrame { revision, enhanced, ..request() };
        let cases = [
            ("markers wanted", MpaFrame { markers: true, ..plain }),
            ("CRCs wanted", MpaFrame { crc: true, ..plain }),
            ("markers and CRCs wanted", MpaFrame { markers: true, crc: true, ..plain }),
            ("the reject bit set", MpaFrame { reject: true, ..plain }),
            ("all reserved bits set", MpaFrame { reserved: 0x0f, ..plain }),
        ];
        for (name, frame) in cases {
            propose(probe, &format!("revision {revision}: {name}"), &frame)?;
        }
    }
    Ok(())
}

pub fn private_data(probe: &mut Probe) -> Result<(), String> {
    for length in [0, 1, 3, 255, 256, 257, 512] {
        let private_data = BYTES.get(..length).unwrap_or_default();
        let frame = MpaFrame { revision: 1, enhanced: None, private_data, ..request() };
        propose(probe, &format!("revision 1, {length} bytes of private data"), &frame)?;
    }
    for length in [1, 251, 252, 253, 508] {
        let private_data = BYTES.get(..length).unwrap_or_default();
        let frame = MpaFrame { private_data, ..request() };
        propose(probe, &format!("revision 2, {length} bytes of private data and 4 in front"), &frame)?;
    }
    // More than there may be; and enhanced data announced where there is no room for it.
    let mut long = encode(&MpaFrame { revision: 1, enhanced: None, private_data: &BYTES, ..request() })?;
    long.push(0x5a);
    patch(&mut long, 18, &513_u16.to_be_bytes());
    let mut short = encode(&MpaFrame { revision: 2, enhanced: None, private_data: &[0, 4], ..request() })?;
    patch(&mut short, 16, &[0x10]);
    for (name, bytes) in [("513 bytes of private data", long), ("2 bytes of enhanced data", short)] {
        probe.dial(name)?;
        probe.say_bytes(name, &bytes)?;
        probe.event(1.5)?;
        probe.listen()?;
        probe.kernel_words()?;
    }
    Ok(())
}

fn patch(bytes: &mut [u8], at: usize, with: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + with.len()) {
        place.copy_from_slice(with);
    }
}

/// Numbers of READs; the application accepts with what it has been told, four each way, or less.
pub fn depths(probe: &mut Probe) -> Result<(), String> {
    let unknown = Enhanced::NOT_NEGOTIATED;
    for (ird, ord) in [(0, 0), (1, 1), (16, 16), (1, 16), (16, 1), (200, 200), (unknown, unknown)] {
        let frame = MpaFrame { enhanced: Some(Enhanced { ird, ord, ..Enhanced::default() }), ..request() };
        propose(probe, &format!("IRD {ird}, ORD {ord}"), &frame)?;
    }
    let frame = MpaFrame { enhanced: Some(Enhanced { ird: 2, ord: 3, ..Enhanced::default() }), ..request() };
    for (ird, ord) in [(0, 0), (3, 2), (8, 8), (64, 64)] {
        let wish = Wish { ird, ord, ..Wish::default() };
        let scene = format!("IRD 2, ORD 3; accepted by who takes {ird} and sends {ord} READs");
        propose_to(probe, &scene, &frame, wish)?;
    }
    Ok(())
}

pub fn rejected(probe: &mut Probe) -> Result<(), String> {
    for (revision, length) in [(0, 0), (1, 0), (1, 16), (2, 0), (2, 16)] {
        probe.dial(&format!("revision {revision}, rejected with {length} bytes"))?;
        let enhanced = request().enhanced.filter(|_| revision == 2);
        probe.say_frame(&MpaFrame { revision, enhanced, ..request() })?;
        probe.event(5.0)?;
        probe.reject(BYTES.get(..length).unwrap_or_default())?;
        probe.listen()?;
        probe.kernel_words()?;
    }
    Ok(())
}

/// What comes before the reply.
pub fn early(probe: &mut Probe) -> Result<(), String> {
    for what in ["in the request's segment", "before the application has accepted", "one byte of it"] {
        probe.dial(&format!("a SEND before the reply: {what}"))?;
        let fpdu = send(1, b"8 bytes!").encode(false);
        let mut request = encode(&request())?;
        if what == "in the request's segment" {
            request.extend_from_slice(&fpdu);
        }
        probe.say_bytes("MPA REQUEST", &request)?;
        let event = probe.event(1.5)?;
        match what {
            "before the application has accepted" => probe.say(&send(1, b"8 bytes!"))?,
            "one byte of it" => probe.say_bytes("a byte", fpdu.get(..1).unwrap_or_default())?,
            _ => {}
        }
        probe.event(0.5)?;
        if event.is_none() {
            probe.listen()?;
            probe.kernel_words()?;
            continue;
        }
        if let Err(error) = probe.accept(Wish::default()) {
            probe.tell(&format!("cannot be accepted: {error}"));
        }
        probe.listen()?;
        probe.event(0.3)?;
        if what == "one byte of it" {
            probe.say_bytes("the rest", fpdu.get(1..).unwrap_or_default())?;
            probe.listen()?;
        }
        // Nothing may have been accepted.
        let _ = probe.outcome();
    }
    Ok(())
}

/// A SEND as soon as the reply is here, or so many milliseconds later; and another one, by which it is found out whether siw
/// had seen the first.
pub fn quick(probe: &mut Probe) -> Result<(), String> {
    for pause in [0, 0, 0, 1, 2, 5, 10, 20, 50] {
        probe.dial(&format!("a SEND {pause} ms behind the reply"))?;
        probe.say_frame(&request())?;
        probe.event(5.0)?;
        probe.begin_to_accept(Wish::default())?;
        probe.expect("reply")?;
        std::thread::sleep(Duration::from_millis(pause));
        probe.say(&send(1, b"8 bytes!"))?;
        probe.end_accepting(Wish::default())?;
        probe.event(0.5)?;
        probe.completed("of it alone")?;
        probe.say(&send(2, b"8 more!!"))?;
        probe.listen()?;
        probe.outcome()?;
    }
    Ok(())
}

pub fn garbage(probe: &mut Probe) -> Result<(), String> {
    let request = encode(&request())?;
    let reply = encode(&MpaFrame { kind: MpaKind::Reply, ..self::request() })?;
    let cases: [(&str, &[u8]); 4] = [
        ("something else", b"GET /index.html HTTP/1.1\r\nHost: nobody\r\n\r\n"),
        ("something else that is short", b"GET /\r\n"),
        ("a reply", &reply),
        ("zeros", &[0; 64]),
    ];
    for (name, bytes) in cases {
        probe.dial(name)?;
        probe.say_bytes(name, bytes)?;
        probe.event(1.0)?;
        probe.listen()?;
        probe.kernel_words()?;
    }
    probe.dial("a request in pieces of one byte")?;
    for byte in &request {
        probe.say_bytes("a byte", &[*byte])?;
        std::thread::sleep(Duration::from_millis(20));
    }
    probe.event(1.0)?;
    probe.listen()?;

    probe.dial("a request, and FIN before it is accepted")?;
    probe.say_bytes("MPA REQUEST", &request)?;
    probe.event(1.0)?;
    probe.finish()?;
    probe.event(1.0)?;
    if let Err(error) = probe.accept(Wish::default()) {
        probe.tell(&format!("cannot be accepted: {error}"));
    }
    probe.listen()?;
    probe.event(1.0)?;
    probe.kernel_words()
}

/// Who leaves before the request is whole; and whether others can still come.
pub fn left(probe: &mut Probe) -> Result<(), String> {
    let request = encode(&request())?;
    for length in [0, 1, 10, 20, request.len() - 1] {
        for says_fin in [false, true] {
            let how =
                if says_fin { "FIN, and the stream stays half open" } else { "both directions are closed" };
            probe.dial(&format!("{length} bytes of a request, then {how}"))?;
            probe.say_bytes("a part of a request", request.get(..length).unwrap_or_default())?;
            if says_fin {
                probe.finish()?;
                probe.event(0.5)?;
                probe.listen()?;
            } else {
                probe.leave();
                probe.event(0.5)?;
            }
            probe.kernel_words()?;
            propose(probe, "the next one", &self::request())?;
        }
    }
    Ok(())
}

/// Who says nothing, and how long.
pub fn silent(probe: &mut Probe) -> Result<(), String> {
    let request = encode(&request())?;
    let cases: [(&str, &[u8]); 3] = [
        ("nothing", &[]),
        ("half a request", request.get(..10).unwrap_or_default()),
        ("a request without its last byte", request.get(..request.len() - 1).unwrap_or_default()),
    ];
    for (name, bytes) in cases {
        probe.dial(&format!("{name}, and silence"))?;
        probe.say_bytes(name, bytes)?;
        probe.hear(PATIENCE)?;
        probe.event(0.5)?;
        probe.kernel_words()?;
    }
    probe.dial("a request that the application never answers")?;
    probe.say_bytes("MPA REQUEST", &request)?;
    probe.event(1.5)?;
    probe.hear(PATIENCE)?;
    probe.event(0.5)?;
    if let Err(error) = probe.accept(Wish::default()) {
        probe.tell(&format!("cannot be accepted: {error}"));
    }
    probe.listen()?;
    probe.kernel_words()
}
