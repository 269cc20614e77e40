//! Frames that are no packets of a conversation, one of which may be changed.

use rdmalab_craft::trace::LinkType;
use rdmalab_craft::wire::ethernet::ETHERTYPE_FLOW_CONTROL;
use rdmalab_craft::wire::pause::PAUSE_DESTINATION;
use rdmalab_craft::wire::{EthernetAddress, EthernetHeader, Pause, PriorityPause};
use rdmalab_craft::{Capture, Frame};
use rdmalab_lint::{Report, lint};

use super::talk::talk;

/// A PAUSE frame, and a PFC frame that stops priority 3.
pub fn pauses() -> Vec<Vec<u8>> {
    let mut times = [0; 8];
    times[3] = 0xffff;
    let pauses =
        [Pause::Link { time: 100 }, Pause::Priorities(PriorityPause { enabled: 1 << 3, times, reserved: 0 })];
    let header = EthernetHeader {
        destination: PAUSE_DESTINATION,
        source: EthernetAddress([2, 0, 0, 0, 0, 1]),
        ethertype: ETHERTYPE_FLOW_CONTROL,
    };
    pauses
        .iter()
        .map(|pause| [&header.encode()[..], &pause.encode()[..pause.length()], &[0; 42]].concat())
        .collect()
}

/// A PFC frame that stops priority 3 for so many quanta, and 80 KiB of that priority to its sender right behind it.
pub fn paused(quanta: u16) -> Vec<Vec<u8>> {
    let said = talk(
        r#"
        host.a = { ip = "10.0.0.1" }
        host.b = { ip = "10.0.0.2" }
        flow.f = { from = "a", to = "b", transport = "UD", vlan = [{ id = 7, priority = 3 }] }
        packet = [{ flow = "f", opcode = "UD_SEND_ONLY", payload = { length = 4096 } }]
        "#,
    );
    let mut datagram = Vec::new();
    said[0].packet.encode(&mut datagram).unwrap();
    let mut times = [0; 8];
    times[3] = quanta;
    let pause = Pause::Priorities(PriorityPause { enabled: 1 << 3, times, reserved: 0 });
    let header = EthernetHeader {
        destination: PAUSE_DESTINATION,
        source: EthernetAddress(*datagram.first_chunk().unwrap()),
        ethertype: ETHERTYPE_FLOW_CONTROL,
    };
    let pause = [&header.encode()[..], &pause.encode()[..pause.length()], &[0; 42]].concat();
    let mut frames = vec![datagram; 21];
    frames[0] = pause;
    frames
}

pub fn judge(frames: &[Vec<u8>]) -> Report {
    let mut capture = Capture::pcapng(Vec::new()).unwrap();
    for frame in frames {
        capture.write(&Frame::new(0, LinkType::ETHERNET, frame)).unwrap();
    }
    lint(&capture.finish().unwrap()[..], &mut ()).unwrap()
}
