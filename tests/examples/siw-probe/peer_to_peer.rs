//! The peer-to-peer model of RFC 6581 with siw as the responder: which ready-to-receive message it chooses, and what it makes
//! of those that come.

use rdmalab_wire::iwarp::{Enhanced, MpaFrame, Opcode};

use crate::fpdus::{Fpdu, empty, read, send, tagged, write};
use crate::probe::{Probe, Wish, request};

/// A request that offers these kinds.
fn offer(peer_to_peer: bool, kinds: &str) -> MpaFrame<'static> {
    let enhanced = Enhanced {
        peer_to_peer,
        rtr_empty: kinds.contains("empty"),
        rtr_write: kinds.contains("write"),
        rtr_read: kinds.contains("read"),
        ird: 4,
        ord: 4,
    };
    MpaFrame { enhanced: Some(enhanced), ..request() }
}

/// Asks so, is accepted, and hears the reply.
fn open(probe: &mut Probe, scene: &str, frame: &MpaFrame<'_>) -> Result<(), String> {
    probe.dial(scene)?;
    probe.say_frame(frame)?;
    probe.event(5.0)?;
    if let Err(error) = probe.accept(Wish::default()) {
        probe.tell(&format!("cannot be accepted: {error}"));
    }
    probe.listen()?;
    probe.event(0.3).map(drop)
}

pub fn offers(probe: &mut Probe) -> Result<(), String> {
    for kinds in
        ["", "empty", "write", "read", "empty, write", "empty, read", "write, read", "empty, write, read"]
    {
        let name = if kinds.is_empty() { "nothing" } else { kinds };
        open(probe, &format!("peer-to-peer, offering {name}"), &offer(true, kinds))?;
        probe.kernel_words()?;
    }
    open(probe, "not peer-to-peer, but offering write, read", &offer(false, "write, read"))?;
    probe.kernel_words()
}

/// The message that was agreed on, and then a SEND each way.
pub fn messages(probe: &mut Probe) -> Result<(), String> {
    for kind in ["write", "read"] {
        open(probe, &format!("peer-to-peer, and the {kind} comes"), &offer(true, kind))?;
        probe.post("SEND", 8, 1)?;
        probe.listen()?;
        probe.event(0.1)?;
        probe.ask(&match kind {
            "write" => write(0, 0, &[]),
            _ => read(1, 0, 0, 0),
        })?;
        probe.event(1.0)?;
        probe.ask(&send(1, b"8 bytes!"))?;
        probe.outcome()?;
    }
    open(probe, "peer-to-peer, and the read comes with keys that do not exist", &offer(true, "read"))?;
    probe.ask(&read(1, 0x1234_5678, 0x1000, 0))?;
    probe.ask(&read(2, probe.key, probe.va, 8))?;
    probe.outcome()
}

/// Something else than was agreed on.
pub fn other_messages(probe: &mut Probe) -> Result<(), String> {
    type Make = fn(&Probe) -> Fpdu;
    let cases: [(&str, &str, Make); 6] = [
        ("write", "a SEND", |_| send(1, b"8 bytes!")),
        ("write", "an empty FPDU", |_| empty()),
        ("write", "a READ of no bytes", |_| read(1, 0, 0, 0)),
        ("write", "a WRITE of eight bytes", |probe| write(probe.key, probe.va, b"8 bytes!")),
        ("read", "a WRITE of no bytes", |_| write(0, 0, &[])),
        ("read", "a READ of eight bytes", |probe| read(1, probe.key, probe.va, 8)),
    ];
    for (kind, name, fpdu) in cases {
        open(probe, &format!("peer-to-peer, {kind} is agreed on, and {name} comes"), &offer(true, kind))?;
        let fpdu = fpdu(probe);
        probe.ask(&fpdu)?;
        probe.event(0.3)?;
        probe.ask(&send(1, b"8 bytes!"))?;
        probe.outcome()?;
    }
    open(probe, "peer-to-peer, write is agreed on, and nothing comes", &offer(true, "write"))?;
    probe.hear(std::time::Duration::from_secs(16))?;
    probe.outcome()
}

/// Something that is wrong in the place of the ready-to-receive message: the guest's kernel does not live through it.
pub fn fault(probe: &mut Probe) -> Result<(), String> {
    open(probe, "peer-to-peer, and the first message is a fault", &offer(true, "write"))?;
    probe.ask(&tagged(Opcode::READ_RESPONSE, 1, 0, &[]))?;
    probe.event(0.3)?;
    probe.outcome()
}
