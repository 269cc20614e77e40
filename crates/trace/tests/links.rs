//! Headers in the place of a link's, bare IP, many VLAN tags: judged by Wireshark, each field with its place, and hostile ones.

#[path = "support/crafted.rs"]
#[allow(dead_code)]
mod crafted;
#[path = "support/frames.rs"]
#[allow(dead_code)]
mod frames;
#[path = "support/judge.rs"]
#[allow(dead_code)]
mod judge;
#[path = "support/tshark.rs"]
#[allow(dead_code)]
mod tshark;

use frames::{capture, hex, printed};
use rdmalab_trace::{Dissection, LinkType, Reader, Reading, Unread, fields};

const WHAT: &str = "SEND_ONLY psn=86 len=12 ackreq qp=0x001234 icrc ok";

/// RoCE v2 over IPv4 and over IPv6, behind these bytes: given for either.
fn behind(v4: &str, v6: &str) -> Vec<Vec<u8>> {
    let packet = crafted::infiniband(rdmalab_wire::row(4).unwrap());
    let heads = [v4, v6].map(hex);
    crafted::roce_v2()
        .iter()
        .zip(heads)
        .map(|(carrier, head)| [head, crafted::carried(*carrier, &packet)].concat())
        .collect()
}

/// Of a link type: packets of RoCE.
fn packets() -> Vec<(LinkType, Vec<Vec<u8>>)> {
    let cooked_1 = |head: &str| behind(&format!("{head} 0800"), &format!("{head} 86dd"));
    let cooked_2 = |rest: &str| behind(&format!("0800 {rest}"), &format!("86dd {rest}"));
    vec![
        (
            LinkType::LINUX_SLL,
            [
                // From another host to us, sent by us over a loopback, without address, of InfiniBand, tagged.
                cooked_1("0000 0001 0006 020000000001 abcd"),
                cooked_1("0004 0304 0006 000000000000 0000"),
                cooked_1("0004 fffe 0000 0000000000000000"),
                cooked_1("0003 0020 0008 0001020304050607"),
                cooked_1("0003 0020 0014 0001020304050607"),
                cooked_1("0000 030a 0004 0a090001 00000000"),
                cooked_1("0000 0001 0006 020000000001 0000 8100 6005"),
                cooked_1("0000 0001 0006 020000000001 0000 8100 6005 8100 0006"),
            ]
            .concat(),
        ),
        (
            LinkType::LINUX_SLL2,
            [
                cooked_2("0000 00000003 0001 00 06 020000000001 abcd"),
                cooked_2("0000 00000001 0304 04 06 000000000000 0000"),
                cooked_2("0000 00000002 fffe 04 00 0000000000000000"),
                cooked_2("0000 00010002 0020 03 14 0001020304050607"),
                behind(
                    "8100 0000 00000003 0001 00 06 020000000001 0000 6005 0800",
                    "8100 0000 00000003 0001 00 06 020000000001 0000 6005 86dd",
                ),
            ]
            .concat(),
        ),
        // In either byte order; IPv6 by the number that NetBSD, FreeBSD and Darwin have.
        (
            LinkType::NULL,
            [behind("02000000", "18000000"), behind("00000002", "0000001c"), behind("02000000", "1e000000")]
                .concat(),
        ),
        (LinkType::LOOP, behind("00000002", "00000018")),
        (LinkType::RAW_IP, behind("", "")),
        (LinkType(12), behind("", "")),
        (LinkType(14), behind("", "")),
        (LinkType::IPV4, behind("", "")[..1].to_vec()),
        (LinkType::IPV6, behind("", "")[1..].to_vec()),
        (
            LinkType::ETHERNET,
            [
                behind(
                    "020000000002 020000000001 9100 6005 0800",
                    "020000000002 020000000001 9100 6005 86dd",
                ),
                behind(
                    "020000000002 020000000001 9100 0004 8100 6005 8100 1006 0800",
                    "020000000002 020000000001 8100 0004 9100 6005 8100 1006 86dd",
                ),
            ]
            .concat(),
        ),
    ]
}

#[test]
fn every_field_behind_every_link_is_wiresharks() {
    if !tshark::is_there() {
        return;
    }
    for (link, packets) in packets() {
        let name = format!("link_{}.pcapng", link.0);
        let path = tshark::scratch(&name, &capture(link, packets.iter().map(Vec::as_slice)));
        let counted = judge::compare(&path);
        assert_eq!(counted.packets, packets.len(), "{link}");
        assert!(counted.same > packets.len() * 25, "{link}: {counted:?}");
    }
}

#[test]
fn roce_is_found_behind_every_link_and_each_field_has_its_place() {
    for (link, packets) in packets() {
        for packet in packets {
            let file = capture(link, [&packet[..]]);
            let (line, object) = printed(&file);
            assert!(line.ends_with(WHAT), "{link}: {line}");
            let mut reader = Reader::new(&file[..]).unwrap();
            let record = reader.next().unwrap().unwrap();
            let dissection = Dissection::of(&record);
            assert_eq!(dissection.unread(&record), None, "{link}");
            let mut placed = 0;
            fields(&record, &dissection, None, &mut |field| {
                let is_of_link = ["sll.", "null.", "vlan.", "rdmalab.middle", "rdmalab.outer", "ip"];
                if is_of_link.iter().any(|front| field.name.starts_with(front)) {
                    assert!(field.place.is_some(), "{link}: {field:?} of {object}");
                    placed += 1;
                }
            });
            assert!(placed >= 9, "{link}: {placed}");
        }
    }
}

#[test]
fn three_tags_have_names_that_differ() {
    let packet = behind("020000000002 020000000001 9100 2004 8100 6005 8100 1006 0800", "").swap_remove(0);
    let (line, object) = printed(&capture(LinkType::ETHERNET, [&packet[..]]));
    assert!(line.contains(" vlan=4 priority=1 vlan=5 priority=3 vlan=6 RoCE"), "{line}");
    let ids =
        ["rdmalab.outer_vlan.id", "rdmalab.middle_vlan.id", "vlan.id"].map(|name| object[name].as_u64());
    assert_eq!(ids, [Some(4), Some(5), Some(6)], "{object}");
}

/// What is no packet of the link type that the file says, and what bridges have besides.
#[test]
fn strange_headers_are_unread_and_known_protocols_are_not() {
    let rest = "4500001c 00000000 40590000 0a090001 0a090002 00000000 00000000";
    for (link, head, expected) in [
        (113, "0000 0001 0006 020000000001 0000 0004", None),
        (113, "0000 0001 0006 020000000001 0000 88cc", None),
        (113, "0004 0338 0000 0000000000000000 0000", None),
        (113, "0009 0001 0006 020000000001 0000 1234", Some(Unread::Link)),
        (113, "0000 0001 0006 020000000001 0000 0007", Some(Unread::Link)),
        (276, "0004 0000 00000003 0001 00 06 020000000001 0000", None),
        (276, "0007 0000 00000003 0001 00 06 020000000001 0000", Some(Unread::Link)),
        (0, "02000000", None),
        (0, "63000000", Some(Unread::Link)),
        (0, "020000ff", Some(Unread::Link)),
        (0, "02000000 00", Some(Unread::Link)),
        (108, "02000000", Some(Unread::Link)),
    ] {
        let packet = hex(&format!("{head} {rest}"));
        let file = capture(LinkType(link), [&packet[..]]);
        let mut reader = Reader::new(&file[..]).unwrap();
        let record = reader.next().unwrap().unwrap();
        assert_eq!(Dissection::of(&record).unread(&record), expected, "{link}: {head}");
    }
}

/// Cut anywhere, in the file or by the capture, and with every byte changed.
#[test]
fn hostile_headers_bring_no_panic_and_places_stay_within_the_frame() {
    for (link, packets) in packets() {
        let head = if link == LinkType::ETHERNET { 40 } else { 36 };
        for packet in packets {
            for end in 0..packet.len() {
                looked_at(link, &packet[..end]);
            }
            for (at, value) in (0..head).flat_map(|at| [0, 1, 0x80, 0xff].map(|value| (at, value))) {
                let mut changed = packet.clone();
                changed[at] ^= value;
                looked_at(link, &changed);
            }
        }
    }
}

fn looked_at(link: LinkType, packet: &[u8]) {
    let file = capture(link, [packet]);
    printed(&file);
    let mut reader = Reader::new(&file[..]).unwrap();
    let record = reader.next().unwrap().unwrap();
    fields(&record, &Dissection::of(&record), None, &mut |field| {
        let Some(place) = field.place else { return };
        assert!(place.bit + place.bits <= packet.len() * 8, "{field:?}");
        assert!(place.reading != Reading::Times(0));
    });
}
