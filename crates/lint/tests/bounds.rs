//! What a capture may hold at most, and what no capture may do.

use std::fs;
use std::path::Path;

use rdmalab_craft::trace::LinkType;
use rdmalab_craft::wire::{Bth, Carrier, EthernetAddress, Headers, Msn, Opcode, Psn, Qpn, Syndrome};
use rdmalab_craft::{Capture, CarriedBy, Ethernet, Exceptions, Flow, Frame, Host, Packet, Payload, Way};
use rdmalab_lint::{Linter, MOST_FLOWS, MOST_REQUESTS, Reason, RuleId, lint};
use rdmalab_trace::{Reader, Record};

fn host(n: u8) -> Host {
    Host::new(EthernetAddress([2, 0, 0, 0, 0, n]), [10, 0, 0, n].into())
}

fn flow(pair: u32, psn: u32) -> Flow {
    let mut flow = Flow::new(&host(1), &host(2), CarriedBy::RoceV2).unwrap();
    for way in [Way::Forth, Way::Back] {
        flow.side_mut(way).qpn = Qpn::new(if way == Way::Forth { 0x1000 + pair } else { 0x2_0000 + pair });
        flow.side_mut(way).next_psn = Psn::new(psn);
    }
    flow
}

/// A capture being made.
struct Made {
    capture: Capture<Vec<u8>>,
    bytes: Vec<u8>,
    time: u64,
}

impl Made {
    fn new() -> Made {
        Made { capture: Capture::pcapng(Vec::new()).unwrap(), bytes: Vec::new(), time: 0 }
    }

    fn put(&mut self, packet: &Packet) {
        packet.encode(&mut self.bytes).unwrap();
        self.time += 1_000;
        self.capture.write(&Frame::new(self.time, LinkType::ETHERNET, &self.bytes)).unwrap();
    }

    fn put_of(&mut self, flow: &mut Flow, way: Way, opcode: u8) {
        let mut packet = flow.packet(way, Opcode(opcode));
        if opcode == 0x04 {
            packet.payload = Payload::Fill { length: 8, byte: 7 };
        }
        flow.sent(way, &packet);
        self.put(&packet);
    }
}

#[test]
fn a_thousand_queue_pairs_with_the_same_psns_are_told_apart() {
    let mut made = Made::new();
    let mut flows: Vec<Flow> = (0..1_000).map(|pair| flow(pair, 0)).collect();
    // All have sent when the first answers come, so that PSNs fit all of them; only the UDP port tells.
    for (index, flow) in flows.iter_mut().enumerate() {
        for way in [Way::Forth, Way::Back] {
            if let Carrier::RoceV2Ipv4(_, udp) = &mut flow.side_mut(way).carrier {
                udp.source_port = 0xc000 + index as u16;
            }
        }
        for _ in 0..1 + index % 3 {
            made.put_of(flow, Way::Forth, 0x04);
        }
    }
    for flow in &mut flows {
        made.put_of(flow, Way::Back, 0x11);
        // Of either direction.
        made.put_of(flow, Way::Back, 0x04);
        made.put_of(flow, Way::Forth, 0x11);
    }
    let file = made.capture.finish().unwrap();
    let report = lint(&file[..], &mut ()).unwrap();
    assert_eq!(report.flows.len(), 2_000);
    assert!(report.findings.is_empty(), "{}", report.findings[0].what);
    for flow in &report.flows {
        let (Some(ours), theirs) = (flow.source_queue_pair, flow.queue_pair) else {
            panic!("flow {} is alone", flow.number)
        };
        let number = |pair: Qpn| pair.value() & 0xfff;
        assert_eq!(number(ours), number(theirs), "flow {}", flow.number);
    }
}

#[test]
fn answers_that_fit_several_flows_are_not_given_to_any() {
    let mut made = Made::new();
    let (mut one, mut other) = (flow(1, 0), flow(2, 0));
    made.put_of(&mut one, Way::Forth, 0x04);
    made.put_of(&mut other, Way::Forth, 0x04);
    made.put_of(&mut one, Way::Back, 0x11);
    made.put_of(&mut other, Way::Back, 0x11);
    let report = lint(&made.capture.finish().unwrap()[..], &mut ()).unwrap();
    assert_eq!(report.totals.unpaired, 2, "{report}");
    assert!(report.flows.iter().all(|flow| flow.peer.is_none()), "{report}");
    assert!(report.to_string().contains("not judged everywhere, as no requests"), "{report}");
}

#[test]
fn psn_and_msn_wrap() {
    let mut made = Made::new();
    let mut flow = flow(1, 0xff_fff0);
    for _ in 0..64 {
        made.put_of(&mut flow, Way::Forth, 0x04);
        let mut ack = flow.packet(Way::Back, Opcode(0x11));
        let aeth = ack.headers.aeth.as_mut().unwrap();
        aeth.msn = Msn::new(aeth.msn.value().wrapping_add(0xff_fff0));
        made.put(&ack);
    }
    let report = lint(&made.capture.finish().unwrap()[..], &mut ()).unwrap();
    assert!(report.findings.is_empty(), "{report}");
    assert_eq!(report.flows[0].stats.operations.count(), 64);
}

#[test]
fn memory_is_bounded_however_many_flows_and_requests_there_are() {
    let mut linter = Linter::new();
    let mut carrier = Carrier::roce_v2([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 0xc000).unwrap();
    // More flows than are kept, then one with more requests.
    let more = MOST_FLOWS as u32 + 3_000;
    let (mut bytes, mut file) = (Vec::new(), Capture::pcap(Vec::new()));
    let mut put = |pair: u32, psn: u32, number: u64| {
        if let Carrier::RoceV2Ipv4(ip, _) = &mut carrier {
            ip.source = [10, 1, (pair >> 8) as u8, pair as u8].into();
        }
        let packet = Packet {
            ethernet: Some(Ethernet::default()),
            carrier,
            opcode: Opcode(0x04),
            bth: Bth::new(Qpn::new(0x100 + pair), Psn::new(psn)),
            headers: Headers::default(),
            payload: Payload::Bytes(vec![1; 4]),
            exceptions: Exceptions::default(),
        };
        packet.encode(&mut bytes).unwrap();
        file.write(&Frame::new(number, LinkType::ETHERNET, &bytes)).unwrap();
    };
    let mut number = 0;
    for pair in 0..more {
        number += 1;
        put(pair, 0, number);
    }
    for psn in 0..5_000 {
        number += 1;
        put(more, psn, number);
    }
    let file = file.finish().unwrap();
    let mut reader = Reader::new(&file[..]).unwrap();
    while let Some(record) = reader.next().unwrap() {
        linter.packet(&record, &mut ());
        assert!(linter.flows() <= MOST_FLOWS && linter.requests_kept() <= MOST_REQUESTS);
    }
    assert!(linter.requests_kept() <= MOST_FLOWS + 4_096);
    let report = linter.finish(&mut ());
    assert_eq!(report.totals.flows_forgotten, 3_001);
    assert!(report.to_string().contains("3001 flows forgotten"));
}

/// Files that fuzzing kept, and captures cut and damaged: an answer or an error, in a moment.
#[test]
fn hostile_captures_come_to_an_end() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut inputs = Vec::new();
    for folder in ["fuzz/corpus/capture", "pcaps", "pcaps/rxe"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                inputs.push(fs::read(path).unwrap());
            }
        }
    }
    assert!(inputs.len() > 80, "{}", inputs.len());
    // A generator of numbers as good as need be: it says where bits fall over.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for input in inputs {
        let _ = lint(&input[..], &mut ());
        let mut damaged = input;
        if damaged.len() > 24 {
            for _ in 0..damaged.len() / 64 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let at = 24 + (state as usize) % (damaged.len() - 24);
                damaged[at] ^= 1 << (state >> 61);
            }
        }
        let _ = lint(&damaged[..], &mut ());
    }
}

/// Times that go back, are none, or are further apart than a number holds.
#[test]
fn times_without_sense_come_to_an_end() {
    let far = [i128::from(i64::MIN), i128::from(i64::MAX), i128::MIN, i128::MAX, 0];
    for name in ["rnr", "read_bw_loss", "write_drop_after", "send_timeouts", "rping"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../pcaps/{name}.pcap"));
        let file = fs::read(path).unwrap();
        for kind in 0..3 {
            let mut reader = Reader::new(&file[..]).unwrap();
            let mut linter = Linter::new();
            while let Some(record) = reader.next().unwrap() {
                let time = match kind {
                    0 => None,
                    1 => Some(far[record.frame as usize % far.len()]),
                    _ => record.time.map(|time| -time),
                };
                linter.packet(&Record { time, ..record }, &mut ());
            }
            let report = linter.finish(&mut ());
            assert!(report.is_clean(), "{name}, {kind}:\n{report}");
            let _ = report.json();
            if kind == 0 && name == "rnr" {
                assert!(report.flows[0].reasons.has(Reason::NoTimes), "{report}");
                assert_eq!(report.flows[0].stats.returns.iter().sum::<u64>(), 91, "{report}");
            }
        }
    }
}

/// What a broken ICRC hides is hidden from the receiver, too; here bits fall over and the ICRC is made right again, so that each
/// rule meets nonsense.
#[test]
fn nonsense_with_right_checksums_comes_to_an_end() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let opcodes: Vec<u8> = (0..=0x1f).filter(|opcode| Opcode(*opcode).row().is_some()).collect();
    for _ in 0..200 {
        let mut made = Made::new();
        let flow = flow(1, 0xff_fff8);
        for _ in 0..300 {
            let way = if random(2) == 0 { Way::Forth } else { Way::Back };
            let opcode = Opcode(opcodes[random(opcodes.len() as u64) as usize]);
            let mut packet = flow.packet(way, opcode);
            packet.bth.psn = Psn::new(0xff_fff8).add(random(24) as u32);
            if random(100) == 0 {
                packet.bth.psn = Psn::new(random(1 << 24) as u32);
            }
            if let Some(reth) = &mut packet.headers.reth {
                reth.length = [0, 8, 300, 5_000, 1 << 31, u32::MAX][random(6) as usize];
            }
            if let Some(aeth) = &mut packet.headers.aeth {
                aeth.syndrome = Syndrome::from_byte(random(256) as u8);
                aeth.msn = Msn::new(random(40) as u32);
            }
            packet.payload = match packet.opcode.row().unwrap().payload {
                rdmalab_craft::wire::PayloadRule::None => Payload::EMPTY,
                rdmalab_craft::wire::PayloadRule::Exactly(length) => Payload::Fill { length, byte: 1 },
                _ => Payload::Fill {
                    length: [0, 1, 256, 300, 1024][random(5) as usize],
                    byte: random(3) as u8,
                },
            };
            made.put(&packet);
        }
        let report = lint(&made.capture.finish().unwrap()[..], &mut ()).unwrap();
        assert!(report.count_of(RuleId::Malformed) <= 300);
        let _ = (report.json(), report.to_string());
    }
}
