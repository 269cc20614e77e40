//! What carries an InfiniBand packet besides RoCE v2, every opcode on each of them, and flow control.

#[path = "support/crafted.rs"]
#[allow(dead_code)]
mod crafted;
#[path = "support/frames.rs"]
#[allow(dead_code)]
mod frames;

use crafted::{carried, ethernet, grh, infiniband, opcodes, roce_v2};
use frames::{capture, hex, line, printed};
use proptest::prelude::*;
use rdmalab_trace::{DumpOptions, LinkType, dump};
use rdmalab_wire::{Bth, Carrier, Opcode, Psn, Qpn};

fn native_line(packet: &[u8]) -> String {
    printed(&capture(LinkType::INFINIBAND, [packet])).0
}

fn acknowledge() -> Vec<u8> {
    let bth = Bth::new(Qpn::new(0x12), Psn::new(7)).encode(Opcode(0x11));
    [&bth[..], &[0x1f, 0, 0, 9]].concat()
}

#[test]
fn every_opcode_is_known_on_every_carrier_with_right_checksums() {
    let [v4, v6] = roce_v2();
    let native = Carrier::native(4, 5);
    let carriers = [
        (v4, Some(0x0800)),
        (v6, Some(0x86dd)),
        (Carrier::RoceV1(grh()), Some(0x8915)),
        (native, None),
        (native.with_grh(grh()), None),
    ];
    let mut packets = 0;
    for (carrier, ethertype) in carriers {
        for row in opcodes() {
            let bytes = carried(carrier, &infiniband(row));
            let (bytes, link) = match ethertype {
                Some(ethertype) => (ethernet(ethertype, &bytes), LinkType::ETHERNET),
                None => (bytes, LinkType::INFINIBAND),
            };
            let (line, object) = printed(&capture(link, [&bytes[..]]));
            assert!(line.contains(row.name) && line.contains("icrc ok") && !line.contains('['), "{line}");
            assert_eq!(line.contains(" vcrc ok"), ethertype.is_none(), "{line}");
            assert_eq!(object["infiniband.bth.opcode"], row.opcode);
            assert_ne!(object["rdmalab.opcode_name"], "unknown");
            assert_eq!(object["rdmalab.icrc"], "ok");
            packets += 1;
        }
    }
    assert_eq!(packets, 5 * opcodes().count());
    assert!(opcodes().count() > 70, "{}", opcodes().count());
}

#[test]
fn roce_v1_is_addressed_by_gids() {
    let frame = ethernet(0x8915, &carried(Carrier::RoceV1(grh()), &acknowledge()));
    let (text, object) = printed(&capture(LinkType::ETHERNET, [&frame[..]]));
    assert_eq!(
        text,
        "fe80::ff:fe00:1 > fe80::ff:fe00:2 tclass=3 RoCE v1 ACKNOWLEDGE psn=7 ack msn=9 qp=0x000012 icrc ok"
    );
    assert_eq!(object["infiniband.grh.sgid"], "fe80::ff:fe00:1");
    assert_eq!(object["infiniband.grh.tclass"], 3);
    let mut wrong = frame.clone();
    let last = wrong.len() - 1;
    wrong[last] ^= 1;
    assert!(line(&wrong).contains("icrc BAD expected "), "{}", line(&wrong));
    let mut other = frame.clone();
    other[14 + 6] = 0x11;
    assert!(
        line(&other).ends_with("[GRH at byte 20: next_header has the bad value 0x11]"),
        "{}",
        line(&other)
    );
}

#[test]
fn native_packets_are_addressed_by_lids_or_gids_and_have_a_vcrc() {
    let local = carried(Carrier::native(4, 5), &acknowledge());
    assert_eq!(
        native_line(&local),
        "lid:0x0004 > lid:0x0005 IB ACKNOWLEDGE psn=7 ack msn=9 qp=0x000012 icrc ok vcrc ok"
    );
    let global = carried(Carrier::native(4, 5).with_grh(grh()), &acknowledge());
    assert!(native_line(&global).starts_with("fe80::ff:fe00:1 > fe80::ff:fe00:2 "));
    assert!(native_line(&local[..local.len() - 2]).ends_with("icrc ok vcrc absent"));
    let mut wrong = local.clone();
    let last = wrong.len() - 1;
    wrong[last] ^= 1;
    assert!(native_line(&wrong).contains("icrc ok vcrc BAD expected "), "{}", native_line(&wrong));
    let mut file = Vec::new();
    let summary =
        dump(&capture(LinkType::INFINIBAND, [&wrong[..], &local])[..], &mut file, DumpOptions::default());
    assert_eq!(
        summary.unwrap().to_string(),
        "2 packets, 2 of them RoCE or InfiniBand: ICRC right in 2; VCRC WRONG in 1 (frame 1)"
    );
    // No InfiniBand behind the link's header.
    let raw = hex("00 00 0005 0003 0004 88b5 0000 0000");
    assert_eq!(native_line(&raw), "lid:0x0004 > lid:0x0005 IB raw len=4");
    assert_eq!(native_line(&local[..6]), "? > ? [LRH at byte 0: needs 8 bytes, has 6]");
}

#[test]
fn flow_control_is_named_with_its_times() {
    let behind = |text: &str| {
        let frame = ethernet(0x8808, &hex(text));
        printed(&capture(LinkType::ETHERNET, [&frame[..]]))
    };
    let (text, object) = behind("0001 ffff 0000");
    assert!(text.ends_with("PAUSE time=65535"), "{text}");
    assert_eq!((&object["macc.opcode"], &object["macc.pause_time"]), (&"0x0001".into(), &65_535.into()));
    let (text, object) = behind("0101 0018 0000 0000 0000 1234 0000 0000 0000 0000");
    assert!(text.ends_with("PFC 3=4660 4=0"), "{text}");
    assert_eq!(object["macc.cbfc.enbv"], "0x0018");
    assert_eq!(object["macc.cbfc.pause_time.c3"], 4660);
    assert_eq!(object["macc.cbfc.enbv.c3"], 1);
    let (text, _) = behind("0101 0018 0000");
    assert!(text.contains("flow control at byte 18: needs "), "{text}");
}

#[test]
fn datagrams_of_management_are_read_whatever_carries_them() {
    let file = std::fs::read(format!("{}/../../pcaps/rping.pcap", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut reader = rdmalab_trace::Reader::new(&file[..]).unwrap();
    let request = reader.next().unwrap().unwrap().data.to_vec();
    // From the base header to the end of the payload.
    let packet = &request[42..request.len() - 4];
    let frame = ethernet(0x8915, &carried(Carrier::RoceV1(grh()), packet));
    let (text, object) = printed(&capture(LinkType::ETHERNET, [&frame[..]]));
    assert!(text.contains(" CM REQ comm=0x3007b9de service=tcp:7174 "), "{text}");
    assert_eq!(object["infiniband.mad.mgmtclass"], "0x07");
    assert_eq!(object["infiniband.cm.req.ip_cm.sip4"], "10.9.0.2");
    let native = native_line(&carried(Carrier::native(1, 2), packet));
    assert!(native.contains(" CM REQ "), "{native}");
}

proptest! {
    #[test]
    fn arbitrary_and_damaged_packets_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        length in any::<prop::sample::Index>(),
        original in 0..400_u32,
    ) {
        let rows: Vec<_> = opcodes().collect();
        let packet = infiniband(rows[which.index(rows.len())]);
        let native = Carrier::native(4, 5);
        let ethernets = [
            ethernet(0x8915, &carried(Carrier::RoceV1(grh()), &packet)),
            ethernet(0x8915, &bytes),
            ethernet(0x8808, &bytes),
        ];
        let links = [carried(native, &packet), carried(native.with_grh(grh()), &packet), bytes];
        for (link, packets) in [(LinkType::ETHERNET, ethernets), (LinkType::INFINIBAND, links)] {
            for mut packet in packets {
                for (at, value) in &changes {
                    if !packet.is_empty() {
                        let at = at.index(packet.len());
                        packet[at] = *value;
                    }
                }
                packet.truncate(length.index(packet.len() + 1));
                let mut writer = rdmalab_trace::Writer::new(Vec::new()).unwrap();
                let interface = writer.interface_of("x", link).unwrap();
                let entry = rdmalab_trace::Entry::new(interface, 0, &packet);
                writer.write(entry).unwrap();
                writer.write(rdmalab_trace::Entry::new(interface, 0, &packet).original_length(original)).unwrap();
                let file = writer.finish().unwrap();
                for json in [false, true] {
                    dump(&file[..], &mut std::io::sink(), DumpOptions { json, ..DumpOptions::default() }).unwrap();
                }
            }
        }
    }
}
