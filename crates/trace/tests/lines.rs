//! What is printed of every kind of packet, sound and broken.

#[path = "support/frames.rs"]
mod frames;

use frames::{capture, hex, line, printed};
use proptest::prelude::*;
use rdmalab_trace::{DumpOptions, LinkType, Reader, dump};

const ETHERNET: &str = "020000000002 020000000001";

/// A frame of a capture in `pcaps/`.
fn frame(name: &str, number: usize) -> Vec<u8> {
    let path = format!("{}/../../pcaps/{name}.pcap", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::read(path).unwrap();
    let mut reader = Reader::new(&file[..]).unwrap();
    for _ in 1..number {
        reader.next().unwrap().unwrap();
    }
    reader.next().unwrap().unwrap().data.to_vec()
}

/// `frame` with a VLAN tag in front of its ethertype.
fn tagged(frame: &[u8], tag: &str) -> Vec<u8> {
    [&frame[..12], &hex(tag), &frame[12..]].concat()
}

#[test]
fn address_resolution() {
    let who = hex(
        "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 0a090001 000000000000 0a090002",
    );
    assert_eq!(line(&who), "02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff ARP who-has 10.9.0.2 tell 10.9.0.1");
    let is =
        hex(&format!("{ETHERNET} 0806 0001 0800 06 04 0002 020000000001 0a090001 020000000002 0a090002"));
    assert_eq!(line(&is), "02:00:00:00:00:01 > 02:00:00:00:00:02 ARP 10.9.0.1 is-at 02:00:00:00:00:01");
    assert_eq!(
        line(&is[..30]),
        "02:00:00:00:00:01 > 02:00:00:00:00:02 [ARP at byte 14: needs 28 bytes, has 16]"
    );
}

#[test]
fn echo_and_unreachable() {
    let ipv4 = "45000020 00000000 40010000 0a090001 0a090002";
    let text = |icmp: &str| line(&hex(&format!("{ETHERNET} 0800 {ipv4} {icmp}")));
    assert_eq!(
        text("0800 0000 1234 0007 61626364"),
        "10.9.0.1 > 10.9.0.2 ICMP echo request id=4660 seq=7 len=4"
    );
    assert_eq!(
        text("0000 0000 1234 0007 61626364"),
        "10.9.0.1 > 10.9.0.2 ICMP echo reply id=4660 seq=7 len=4"
    );
    assert_eq!(
        text("0303 0000 0000 0000 45000000"),
        "10.9.0.1 > 10.9.0.2 ICMP destination unreachable code=3 len=4"
    );
    assert_eq!(text("0800"), "10.9.0.1 > 10.9.0.2 [IPv4 at byte 14: needs 32 bytes, has 22]");
}

#[test]
fn neighbor_discovery() {
    assert_eq!(
        line(&frame("rc_pingpong_v6", 7)),
        "fe80::ff:fe00:1 > ff02::1:ff00:2 ICMPv6 neighbor solicitation who-has fd00:9::2"
    );
    assert_eq!(
        line(&frame("rc_pingpong_v6", 8)),
        "fd00:9::2 > fe80::ff:fe00:1 ICMPv6 neighbor advertisement fd00:9::2 is here"
    );
    // Behind a hop-by-hop extension header.
    assert_eq!(
        line(&frame("rc_pingpong_v6", 1)),
        "fe80::ff:fe00:2 > ff02::16 ICMPv6 multicast listener report len=20"
    );
}

#[test]
fn tcp_with_ports_flags_and_numbers() {
    assert_eq!(
        line(&frame("rc_pingpong_v6", 3)),
        "10.9.0.1 > 10.9.0.2 TCP 18515 > 58548 SYN,ACK seq=2910163167 ack=3700089579 win=62220 len=0"
    );
    let mut short = frame("rc_pingpong_v6", 3);
    short[46] = 0x40;
    assert!(
        line(&short).ends_with(" [TCP at byte 46: data offset has the bad value 0x4]"),
        "{}",
        line(&short)
    );
}

#[test]
fn other_frames_are_named() {
    let text = |behind: &str| line(&hex(&format!("{ETHERNET} {behind}")));
    let of = "02:00:00:00:00:01 > 02:00:00:00:00:02";
    assert_eq!(text("88cc 0207"), format!("{of} LLDP len=2"));
    assert_eq!(text("8808 0002 0000"), format!("{of} MAC control len=4"));
    assert_eq!(text("88b5 00"), format!("{of} EtherType 0x88b5 len=1"));
    assert_eq!(text("0026 4242"), format!("{of} IEEE 802.3 len=38"));
    assert_eq!(text("8915 60"), format!("{of} [GRH at byte 14: needs 40 bytes, has 1]"));
    let ipv4 = |protocol: &str, flags: &str, rest: &str| {
        text(&format!("0800 4500001c 0000{flags} 40{protocol}0000 0a090001 0a090002 {rest}"))
    };
    assert_eq!(ipv4("11", "0000", "0035 0036 0008 0000"), "10.9.0.1 > 10.9.0.2 UDP 53 > 54 len=0");
    assert_eq!(
        ipv4("11", "2010", "0035 12b7 0008 0000"),
        "10.9.0.1 > 10.9.0.2 IP fragment protocol=17 offset=128 len=8"
    );
    assert_eq!(ipv4("59", "0000", "00000000 00000000"), "10.9.0.1 > 10.9.0.2 OSPFIGP len=8");
    assert_eq!(ipv4("fd", "0000", "00000000 00000000"), "10.9.0.1 > 10.9.0.2 IP protocol 253 len=8");
}

#[test]
fn roce_behind_tags_and_with_marks() {
    let plain = frame("rping", 5);
    let text = "RoCE ACKNOWLEDGE psn=13182942 ack msn=1 qp=0x000012 icrc ok";
    assert_eq!(line(&plain), format!("10.9.0.1 > 10.9.0.2 {text}"));
    assert_eq!(line(&tagged(&plain, "8100 0005")), format!("10.9.0.1 > 10.9.0.2 vlan=5 {text}"));
    assert_eq!(
        line(&tagged(&plain, "88a8 0064 8100 6005")),
        format!("10.9.0.1 > 10.9.0.2 vlan=100 vlan=5 priority=3 {text}")
    );
    // Type of service is not covered by the ICRC: a switch may mark.
    let mut marked = plain.clone();
    marked[15] = 26 << 2 | 3;
    assert_eq!(line(&marked), format!("10.9.0.1 > 10.9.0.2 dscp=26 ecn=ce {text}"));
    // Padding that Ethernet adds to short frames is behind the IP packet.
    assert_eq!(line(&[&plain[..], &[0; 20]].concat()), line(&plain));
    let raw = printed(&capture(LinkType::RAW_IP, [&plain[14..]])).0;
    assert_eq!(raw, format!("10.9.0.1 > 10.9.0.2 {text}"));
    let other = printed(&capture(LinkType(999), [&plain[..]])).0;
    assert_eq!(other, "? > ? link type 999, not taken apart");
}

#[test]
fn broken_roce_tells_what_is_known_and_what_is_wrong_where() {
    let sound = frame("rping", 12);
    let with = |at: usize, value: u8| {
        let mut frame = sound.clone();
        frame[at] = value;
        line(&frame)
    };
    // Where the base header begins.
    let at = 14 + 20 + 8;
    let unknown = with(at, 0x9f);
    assert!(
        unknown.contains("RoCE OPCODE_0x9f psn=3647354 len=216 ackreq qp=0x000012 icrc BAD"),
        "{unknown}"
    );
    assert!(unknown.ends_with(" [BTH at byte 42: opcode has the bad value 0x9f]"), "{unknown}");
    let version = with(at + 1, 0x01);
    assert!(version.ends_with(" [BTH at byte 43: header_version has the bad value 0x1]"), "{version}");
    // The UDP datagram claims more than the IP packet holds.
    let udp = with(38, 0xff);
    assert!(udp.contains("RoCE WRITE_ONLY psn=3647354"), "{udp}");
    assert!(
        udp.ends_with("icrc ? (broken headers) [UDP at byte 38: length has the bad value 0xfff0]"),
        "{udp}"
    );
    // The IP packet claims more than the frame holds, and the capture did not cut it.
    let ip = with(16, 0x07);
    assert!(ip.ends_with(" [IPv4 at byte 14: needs 1796 bytes, has 260]"), "{ip}");
    let headers = with(14, 0x44);
    assert_eq!(headers, "10.9.0.1 > 10.9.0.2 [IPv4 at byte 14: header length has the bad value 0x4]");
}

#[test]
fn a_roce_packet_too_short_for_its_headers_shows_those_it_has() {
    let whole = frame("rping", 12);
    let shortened = |ib: usize| {
        let mut frame = whole[..14 + 20 + 8 + ib].to_vec();
        frame[16..18].copy_from_slice(&(20 + 8 + ib as u16).to_be_bytes());
        frame[38..40].copy_from_slice(&(8 + ib as u16).to_be_bytes());
        line(&frame)
    };
    let none = shortened(0);
    assert!(none.starts_with("10.9.0.1 > 10.9.0.2 RoCE nothing icrc ?"), "{none}");
    let bth = shortened(11);
    assert!(bth.contains("RoCE RC_WRITE_ONLY cut off icrc ? (broken headers) ["), "{bth}");
    let reth = shortened(12 + 15);
    assert!(reth.contains("WRITE_ONLY psn=3647354"), "{reth}");
    assert!(reth.ends_with("[RETH at byte 54: needs 16 bytes, has 15]"), "{reth}");
}

#[test]
fn comments_cannot_break_a_line() {
    use rdmalab_trace::{Entry, Writer};
    let mut writer = Writer::new(Vec::new()).unwrap();
    let interface = writer.interface("x").unwrap();
    writer.write(Entry::new(interface, 0, &[0; 14]).comment("two\nlines \u{1b}[31m")).unwrap();
    let (line, object) = printed(&writer.finish().unwrap());
    assert!(line.ends_with("IEEE 802.3 len=0 # two\\nlines \\u{1b}[31m"), "{line}");
    assert_eq!(object["frame.comment"], "two\nlines \u{1b}[31m");
}

/// A JSON reader keeps one of two fields of one name: none may come twice.
fn names_come_once(object: &[u8]) {
    struct Names;
    impl<'de> serde::de::Visitor<'de> for Names {
        type Value = Vec<String>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut names = Vec::new();
            while let Some((name, _)) = map.next_entry::<String, serde_json::Value>()? {
                names.push(name);
            }
            Ok(names)
        }
    }
    let mut reader = serde_json::Deserializer::from_slice(object);
    let mut names = serde::Deserializer::deserialize_map(&mut reader, Names).unwrap();
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count, "{names:?}");
}

fn prints_without_panic(capture: &[u8]) {
    for json in [false, true] {
        let mut out = Vec::new();
        let options = DumpOptions { json, ..DumpOptions::default() };
        dump(capture, &mut out, options).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        if json {
            names_come_once(text.as_bytes());
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_frames_never_panic(
        link in prop::sample::select(vec![1u16, 101, 12, 228, 229, 247, 0, 108, 113, 276, 9]),
        start in prop::sample::select(vec![
            "", "020000000002 020000000001 0800 45", "020000000002 020000000001 86dd 60",
            "020000000002 020000000001 0806", "020000000002 020000000001 8100 0001 0800 45", "45", "60", "00000002 45",
            "0000 0001 0006 020000000001 0000 0800 45", "86dd 0000 00000003 0001 00 06 020000000001 0000 60",
        ]),
        bytes in proptest::collection::vec(any::<u8>(), 0..120),
    ) {
        let frame = [&hex(start)[..], &bytes].concat();
        prints_without_panic(&capture(LinkType(link), [&frame[..]]));
    }

    #[test]
    fn real_frames_with_changed_bytes_never_panic(
        which in 0..7usize,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        length in any::<prop::sample::Index>(),
        original in 0..4096u32,
    ) {
        let (name, number) = [
            ("rping", 1), ("rping", 12), ("rc_pingpong_v6", 1), ("rc_pingpong_v6", 3), ("rc_pingpong_v6", 7),
            ("rc_pingpong_v6", 20), ("hardware", 2),
        ][which];
        let mut frame = frame(name, number);
        for (at, value) in changes {
            let at = at.index(frame.len());
            frame[at] = value;
        }
        frame.truncate(length.index(frame.len() + 1));
        prints_without_panic(&capture(LinkType::ETHERNET, [&frame[..]]));
        // The same, said to be cut by the capture.
        let mut writer = rdmalab_trace::Writer::new(Vec::new()).unwrap();
        let interface = writer.interface("x").unwrap();
        writer.write(rdmalab_trace::Entry::new(interface, 0, &frame).original_length(original)).unwrap();
        prints_without_panic(&writer.finish().unwrap());
    }
}
