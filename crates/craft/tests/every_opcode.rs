//! The description of every opcode and every header: what is crafted from it is whole, known, and right.

use std::collections::BTreeSet;
use std::path::Path;

use rdmalab_craft::trace::{DumpOptions, dump};
use rdmalab_craft::wire::mad::CmMessage;
use rdmalab_craft::wire::{Carried, Frame, Header, Pause, RawMad, iwarp, opcode};
use rdmalab_craft::{Capture, Limits, Spec, craft, describe};

fn spec() -> Spec {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/every-opcode.toml");
    Spec::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Link type and bytes of each frame.
fn frames(spec: &Spec) -> Vec<(u16, Vec<u8>)> {
    let mut frames = Vec::new();
    let mut sink = |frame: &rdmalab_craft::Frame<'_>| {
        frames.push((frame.link_type.0, frame.data.to_vec()));
        Ok(())
    };
    craft(spec, Limits::default(), &mut sink).unwrap();
    frames
}

fn capture(spec: &Spec) -> Vec<u8> {
    let mut file = Capture::pcapng(Vec::new()).unwrap();
    craft(spec, Limits::default(), &mut |frame| file.write(frame)).unwrap();
    file.finish().unwrap()
}

#[test]
fn every_opcode_every_header_every_message_and_every_carrier_is_in_it() {
    let mut opcodes = BTreeSet::new();
    let mut headers = BTreeSet::new();
    let mut messages = BTreeSet::new();
    let mut carriers = BTreeSet::new();
    let (mut pauses, mut tagged, mut streams) = (BTreeSet::new(), BTreeSet::new(), 0);
    for (link_type, bytes) in frames(&spec()) {
        let carried = if link_type == 247 {
            Carried::in_link_packet(&bytes)
        } else {
            let frame = Frame::parse(&bytes).unwrap();
            tagged.insert(frame.vlan.iter().flatten().count());
            if frame.ethertype == 0x8808 {
                pauses.insert(Pause::parse(frame.network).unwrap().length());
                continue;
            }
            Carried::in_frame(&frame)
        };
        let Some(carried) = carried else {
            streams += 1; // TCP
            continue;
        };
        let carried = carried.unwrap();
        assert_eq!(carried.error, None);
        carriers.insert(carried.carrier.to_string());
        let packet = carried.packet();
        assert_eq!(packet.error, None, "{packet}");
        carried.verify_icrc().unwrap();
        carried.verify_checksums().unwrap();
        assert_eq!(carried.verify_vcrc(), (link_type == 247).then_some(Ok(())), "{packet}");
        opcodes.insert(packet.opcode.unwrap().0);
        headers.extend(packet.headers.set().iter());
        if packet.bth.unwrap().destination.value() == 1 && !packet.payload.is_empty() {
            messages.extend(RawMad::parse(packet.payload).message().map(|message| message.name()));
        }
    }
    let all: BTreeSet<u8> = (0..=255).filter(|code| opcode::row(*code).is_some()).collect();
    assert_eq!(opcodes, all);
    assert_eq!(headers, Header::ALL.into());
    let named = (0x10..=0x1a).filter_map(|attribute| CmMessage::decode(attribute, &[0; 232]));
    assert_eq!(messages, named.map(|message| message.name()).collect());
    let carriers: Vec<_> = carriers.iter().map(String::as_str).collect();
    assert_eq!(carriers, ["InfiniBand", "InfiniBand/GRH", "RoCEv1", "RoCEv2/IPv4", "RoCEv2/IPv6"]);
    assert_eq!((pauses, tagged, streams), ([4, 20].into(), [0, 1, 2].into(), 39));
}

#[test]
fn dump_knows_all_of_it_and_finds_every_checksum_right() {
    let mut out = Vec::new();
    let summary = dump(&capture(&spec())[..], &mut out, DumpOptions::default()).unwrap();
    assert!(summary.is_fine(), "{summary}");
    let out = String::from_utf8(out).unwrap();
    for wrong in ["unknown", "BAD", "malformed", "EtherType", "link type"] {
        assert!(!out.contains(wrong), "{out}");
    }
    assert_eq!(out.matches(" MPA RE").count(), 4, "{out}");
    for opcode in (0..16).filter_map(|code| iwarp::Opcode::new(code).row()) {
        assert!(out.contains(&format!("RDMAP {} ", opcode.name)), "{out}");
    }
    assert_eq!(out.matches(" crc ok").count(), 17, "{out}");
    assert_eq!(out.matches(" markers=4").count(), 1, "{out}");
}

#[test]
fn it_is_described_and_crafted_again_byte_for_byte() {
    let spec = spec();
    let mut text = Vec::new();
    let described = describe(&capture(&spec)[..], &mut text).unwrap();
    assert_eq!(described.raw_infiniband, 0);
    let text = String::from_utf8(text).unwrap();
    assert!(frames(&Spec::parse(&text).unwrap()) == frames(&spec));
    // All messages by their fields.
    assert_eq!(text.matches("\nmad = ").count(), 16, "{text}");
}

#[test]
fn example_of_conversations_is_crafted() {
    let text = include_str!("../specs/conversations.toml");
    let spec = Spec::parse(text).unwrap();
    let mut out = Vec::new();
    let summary = dump(&capture(&spec)[..], &mut out, DumpOptions::default()).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert_eq!(out.lines().filter(|line| line.contains("icrc BAD")).count(), 1, "{out}");
    assert!(out.contains("nak=psn_sequence_error"), "{out}");
    // Each side says with which PSN the other one is to begin.
    let says = |name: &str, psn: &str| out.lines().any(|line| line.contains(name) && line.contains(psn));
    assert!(says(" CM REQ ", " psn=2000 ") && says(" CM REP ", " psn=1000 "), "{out}");
    assert_eq!(summary.packets, 52, "{out}");
}
