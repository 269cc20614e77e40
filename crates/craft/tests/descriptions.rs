//! Descriptions: what follows from what, what is taken however wrong, and what is refused.

use proptest::prelude::*;
use rdmalab_craft::trace::LinkType;
use rdmalab_craft::wire::{Bth, Carried, Carrier, Ecn, Frame, ParseError, Psn, RawPacket};
use rdmalab_craft::{Capture, CraftError, Limits, Spec, craft, describe};

const FEW: Limits = Limits { packets: 1000, bytes: 1 << 20 };

fn crafted(text: &str) -> Result<Vec<Vec<u8>>, String> {
    let spec = Spec::parse(text).map_err(|error| error.to_string())?;
    let mut frames = Vec::new();
    craft(&spec, FEW, &mut |frame| {
        frames.push(frame.data.to_vec());
        Ok(())
    })
    .map_err(|error| error.to_string())?;
    Ok(frames)
}

fn with<T>(frame: &[u8], look: impl FnOnce(&Carried<'_>, &RawPacket<'_>) -> T) -> T {
    let frame = Frame::parse(frame).unwrap();
    let carried = Carried::in_frame(&frame).unwrap().unwrap();
    look(&carried, &carried.packet())
}

/// The packet's line.
fn line(frame: &[u8]) -> String {
    with(frame, |_, packet| packet.to_string())
}

fn bth(frame: &[u8]) -> Bth {
    with(frame, |_, packet| packet.bth.unwrap())
}

#[track_caller]
fn refused(text: &str, says: &str) {
    let error = crafted(text).unwrap_err();
    assert!(error.contains(says), "{says:?} is not in: {error}");
}

#[test]
fn conversation_has_the_packets_of_both_sides() {
    let write = "[[conversation]]\noperation = \"write\"\nbytes = 2500\nvirtual_address = 0x1000\nkey = 7\n";
    let read = "[[conversation]]\noperation = \"read\"\nbytes = 2048\n";
    let add = "[[conversation]]\noperation = \"fetch-add\"\nswap_or_add = 1\noriginal = 41\n";
    let send =
        "[[conversation]]\noperation = \"send-imm\"\nbytes = 3\nimm_dt = \"0102 0304\"\nreply = true\n";
    let frames = crafted(&[write, read, add, send].concat()).unwrap();
    let lines: Vec<_> = frames.iter().map(|frame| line(frame)).collect();
    assert_eq!(
        lines,
        [
            "WRITE_FIRST psn=0 va=0x1000 rkey=0x7 dmalen=2500 len=1024",
            "WRITE_MIDDLE psn=1 len=1024",
            "WRITE_LAST psn=2 len=452 ackreq",
            "ACKNOWLEDGE psn=2 ack msn=1",
            "READ_REQUEST psn=3 va=0x0 rkey=0x0 dmalen=2048",
            "READ_RESPONSE_FIRST psn=3 ack msn=2 len=1024",
            "READ_RESPONSE_LAST psn=4 ack msn=2 len=1024",
            "FETCH_ADD psn=5 va=0x0 rkey=0x0 add=0x1",
            "ATOMIC_ACKNOWLEDGE psn=5 ack msn=3 original=0x29",
            "SEND_ONLY_IMM psn=0 len=3 imm=0x01020304 ackreq",
            "ACKNOWLEDGE psn=0 ack msn=1",
        ]
    );
    for frame in frames {
        with(&frame, |carried, _| carried.verify_icrc().and(carried.verify_checksums()).unwrap());
    }
}

#[test]
fn numbers_go_on_from_one_that_is_given() {
    let text = "[[packet]]\nopcode = 4\nbth = { psn = 0xffffff }\n[[packet]]\nopcode = 4\nrepeat = 2\n";
    let numbers: Vec<_> = crafted(text).unwrap().iter().map(|frame| bth(frame).psn).collect();
    assert_eq!(numbers, [Psn::new(0xff_ffff), Psn::new(0), Psn::new(1)]);
}

#[test]
fn what_is_given_is_taken_however_wrong() {
    let packet = |more: &str| {
        let text = format!("[[packet]]\nopcode = \"RC_SEND_ONLY\"\npayload = \"00 01 02\"\n{more}\n");
        crafted(&text).unwrap().remove(0)
    };
    assert!(with(&packet("icrc = \"wrong\""), |carried, _| carried.verify_icrc()).is_err());
    let absent = packet("icrc = \"absent\"");
    assert_eq!(absent.len() + 4, packet("").len());
    let given = packet("icrc = 0x01020304");
    assert_eq!(given.last_chunk(), Some(&[1, 2, 3, 4]));
    assert_eq!(bth(&packet("bth = { pad_count = 3 }")).pad_count, 3);
    with(&packet("pad = \"ff\""), |carried, packet| {
        assert_eq!(packet.pad, [0xff]);
        carried.verify_icrc().unwrap(); // which covers the pad
    });
    let bits = bth(&packet("bth = { reserved_6 = 0x3f, reserved_7 = 0x7f, header_version = 15 }"));
    assert_eq!((bits.reserved_6, bits.reserved_7, bits.header_version), (0x3f, 0x7f, 15));
    let lies = packet("ipv4 = { total_length = 9999, checksum = 1, ecn = \"ce\" }\nudp = { length = 1 }");
    with(&lies, |carried, _| {
        let Carrier::RoceV2Ipv4(ip, udp) = carried.carrier else { panic!("{carried:?}") };
        assert_eq!((ip.total_length, ip.checksum, ip.ecn, udp.length), (9999, 1, Ecn::Ce, 1));
    });
    assert_eq!(packet("truncate = 50").len(), 50);
    assert_eq!(packet("trailer = \"00 00\"").len(), packet("").len() + 2);
    assert_eq!(packet("patch = [{ at = 0, bytes = \"ff ff\" }]")[..3], [0xff, 0xff, 0]);
    let odd = crafted("[[packet]]\nopcode = 0xff\nreth = { length = 5 }\n").unwrap().remove(0);
    with(&odd, |_, packet| assert_eq!(packet.payload.len(), 16, "its RETH, which no opcode has"));
    let bare = crafted("[[packet]]\nopcode = \"RC_WRITE_ONLY\"\nwithout = [\"reth\"]\n").unwrap().remove(0);
    let is_cut = |error: ParseError| error.to_string().contains("RETH");
    assert!(with(&bare, |_, packet| packet.error).is_some_and(is_cut));
}

#[test]
fn what_is_impossible_is_refused_with_its_place() {
    refused("x = 1", "unknown field `x`");
    refused("[[packet]]\n", "packet 1 (line 1): it needs an opcode");
    refused("[[packet]]\nraw = \"0\"\n", "hexadecimal digits");
    refused(
        "\n[[packet]]\nopcode = 4\n\n[[packet]]\nopcode = 4\npayload = { length = 99999999 }",
        "packet 2 (line 5)",
    );
    refused("[[packet]]\nopcode = 4\npayload = { length = 70000, fill = 0 }", "make the payload shorter");
    refused("[[packet]]\nopcode = 4\npatch = [{ at = 99, bytes = \"00\" }]", "not within the frame");
    refused("[[packet]]\nopcode = 4\nrepeat = 1001", "more than 1000 packets");
    refused("[[conversation]]\noperation = \"write\"\nbytes = 0xffffffff\n", "more than 1000 packets");
    refused("[flow.f]\nfrom = \"a\"\nto = \"b\"\n", "flow f (line 1): from = \"a\" is no host");
    refused("[host.a]\n[host.b]\n[flow.f]\nfrom = \"a\"\nto = \"b\"\nmtu = 0\n", "mtu = 0");
    refused("[host.a]\nip = \"fd00::1\"\n[host.b]\n[[packet]]\nopcode = 4\n", "two families");
    refused("[[packet]]\nopcode = 4\npause = { time = 1 }\n", "neither with raw bytes nor with a pause");
    refused("[[packet]]\nopcode = 0x64\nmad = { message = \"RQE\" }\n", "is none of REQ, MRA");
    refused("[[packet]]\nopcode = 0x64\nmad = { message = \"RTU\", qpn = 1 }\n", "mad has no field \"qpn\"");
    refused("[[packet]]\nopcode = 0x64\nmad = { message = \"DREQ\", remote_qpn = 0x1000000 }\n", "24 bits");
}

#[test]
fn keys_without_effect_are_refused_by_name() {
    let refused = |text: &str, key: &str| refused(text, &format!("{key} has no effect on "));
    for (key, value) in [("payload", "\"00\""), ("icrc", "\"wrong\""), ("bth", "{}"), ("ipv4", "{}")] {
        refused(&format!("[[packet]]\npause = {{ time = 1 }}\n{key} = {value}\n"), key);
    }
    refused("[[packet]]\npause = { time = 1, enabled = 3 }\n", "pause.enabled");
    refused("[[packet]]\nraw = \"00\"\nbth = { psn = 1 }\n", "bth");
    refused("[[packet]]\nraw = \"00\"\npause = { time = 1 }\n", "pause");
    for (key, value) in [("ipv6", "{ hop_limit = 1 }"), ("grh", "{}"), ("lrh", "{}"), ("vcrc", "\"wrong\"")] {
        refused(&format!("[[packet]]\nopcode = 4\n{key} = {value}\n"), key);
    }
    let flow = |carrier: &str, flow: &str, packet: &str| {
        format!(
            "[host.a]\n[host.b]\n[flow.f]\nfrom = \"a\"\nto = \"b\"\ncarrier = \"{carrier}\"\n{flow}\n[[packet]]\n\
             flow = \"f\"\nopcode = 4\n{packet}\n"
        )
    };
    for (carrier, key, value) in [
        ("roce1", "ipv4", "{ ttl = 1 }"),
        ("roce1", "lrh", "{}"),
        ("roce1", "udp", "{}"),
        ("roce2", "ipv6", "{}"),
        ("infiniband", "grh", "{}"),
        ("infiniband-grh", "udp", "{}"),
    ] {
        let given = format!("{key} = {value}");
        refused(&flow(carrier, &given, ""), key);
        refused(&flow(carrier, "", &given), key);
    }
    refused(&flow("roce1", "raw_ip = true", ""), "raw_ip");
    refused(&flow("infiniband", "raw_ip = true", ""), "raw_ip");
    refused(&flow("infiniband", "vlan = [{ id = 1 }]", ""), "vlan");
    refused(&flow("roce2", "raw_ip = true\nvlan = [{ id = 1 }]", ""), "vlan");
    crafted(&flow("infiniband-grh", "grh = {}\nlrh = {}", "grh = {}\nlrh = {}\nvcrc = 0xffff")).unwrap();

    let reth = "[[packet]]\nopcode = \"RC_WRITE_ONLY\"\nwithout = [\"reth\"]\nreth = { length = 5 }\n";
    refused(reth, "reth");
    refused("[[packet]]\nopcode = 4\nudp_checksum = true\nudp = { checksum = 1 }\n", "udp_checksum");
}

#[test]
fn a_conversation_takes_what_its_operation_has_and_nothing_else() {
    for (operation, key, value) in [
        ("send", "compare", "1"),
        ("send", "port", "1"),
        ("send", "key", "1"),
        ("send", "imm_dt", "\"00 00 00 00\""),
        ("write", "invalidate", "1"),
        ("read", "acknowledge", "false"),
        ("fetch-add", "bytes", "8"),
        ("fetch-add", "compare", "1"),
        ("flush", "fill", "1"),
        ("atomic-write", "bytes", "8"),
        ("connect", "bytes", "8"),
        ("disconnect", "port", "1"),
    ] {
        let text = format!("[[conversation]]\noperation = \"{operation}\"\n{key} = {value}\n");
        refused(&text, &format!("{key} has no effect on the operation {operation}"));
    }
    refused(
        "[host.a]\n[host.b]\n[flow.f]\nfrom = \"a\"\nto = \"b\"\ntransport = \"UC\"\n[[conversation]]\n\
         flow = \"f\"\noperation = \"send\"\nacknowledge = true\n",
        "acknowledge has no effect on an unreliable transport",
    );
}

#[test]
fn what_would_be_cut_or_passed_over_is_refused() {
    let fpdu = |more: &str| format!("[[stream]]\nfpdu = [{{ {more} }}]\n");
    refused(&fpdu("opcode = \"WRITE\", queue = 1"), "fpdu 1: queue has no effect on a tagged header");
    refused(&fpdu("opcode = \"WRITE\", msn = 1"), "msn has no effect");
    refused(&fpdu("opcode = \"SEND\", stag = 1"), "stag has no effect on an untagged header");
    refused(&fpdu("opcode = \"SEND\", offset = \"0x1ffffffff\""), "offset = 0x1ffffffff: ");
    crafted(&fpdu("opcode = \"WRITE\", offset = \"0x1ffffffff\"")).unwrap();
    refused("[[packet]]\nopcode = 0x64\nmad = { message = 1 }\n", "mad.message = 1: ");
    let tags = "ethernet = { tag_ethertypes = [0x88a8, 0x8100] }\nvlan = [{ id = 1 }]\n";
    refused(&format!("[[packet]]\nopcode = 4\n{tags}"), "tag_ethertypes are 2, the frame has 1 tags");
    refused(&format!("[[packet]]\npause = {{ time = 1 }}\n{tags}"), "the frame has 1 tags");
    refused("[[packet]]\nopcode = 4\nwithout = [\"reth\"]\n", "the packet has none anyway");
    let native = "[host.a]\n[host.b]\n[flow.f]\nfrom = \"a\"\nto = \"b\"\ncarrier = \"infiniband\"\n";
    refused(
        &format!("{native}[[packet]]\nflow = \"f\"\nopcode = 4\nvcrc = 0x12345\n"),
        "a number of 16 bits",
    );
}

#[test]
fn errors_repeat_no_more_than_a_piece_of_a_long_value() {
    let long = "0".repeat(1_000_001);
    for (text, says) in [
        (format!("[[packet]]\nopcode = 4\npayload = \"{long}\"\n"), "bytes in hexadecimal digits"),
        (format!("[[packet]]\nopcode = 4\npad = \"{long}\"\n"), "packet 1 (line 1): "),
        (format!("[[packet]]\nopcode = 4\nicrc = \"x{long}\"\n"), "\"right\", \"wrong\""),
        (format!("[[packet]]\nopcode = 4\nx{long} = 1\n"), "expected one of `time`"),
        (format!("[[packet]]\nopcode = 4 {long}\n"), "line 2, column "),
        (format!("[[packet]]\nopcode = 4\nflow = \"{long}\"\n"), "is not described"),
        (format!("[[packet]]\nopcode = 4\nrepeat = \"{long}\"\n"), "expected u64"),
        (format!("[[packet]]\nopcode = 4\nwithout = [\"{long}\"]\n"), "none of the extended headers"),
        (format!("[[packet]]\nopcode = 4\nmad = {{ message = \"{long}\" }}\n"), "is none of REQ, MRA"),
        (format!("[[packet]]\nopcode = 4\nmad = {{ x{long} = 1 }}\n"), "mad has no field"),
        (format!("[[packet]]\nopcode = 4\nmad = {{ method = \"{long}x\" }}\n"), "a number of "),
        (format!("[flow.x{long}]\nfrom = \"{long}\"\nto = \"b\"\n"), "is no host; there are none"),
        (format!("[[stream]]\nfrom = \"{long}\"\n"), "is no host; there are none"),
        (format!("[[packet]]\nopcode = \"{}\"\n", "\u{e9}".repeat(1000)), "an opcode, as"),
    ] {
        let error = crafted(&text).unwrap_err();
        assert!(error.contains(says), "{says:?} is not in: {}", &error[..error.len().min(5000)]);
        assert!(error.len() < 2500, "{says}: {} bytes", error.len());
    }
    refused("[[packet]]\nopcode = 4\nflow = \"x\"\n", "is not described; there are none");
}

#[test]
fn entries_come_in_the_order_of_the_file() {
    let text = "[[packet]]\nopcode = \"RC_SEND_ONLY\"\n[[conversation]]\noperation = \"flush\"\nbytes = 9\n\
                [[packet]]\nopcode = \"CNP\"\nreply = true\n";
    let lines: Vec<_> = crafted(text).unwrap().iter().map(|frame| line(frame)).collect();
    assert!(lines[1].starts_with("FLUSH psn=1"), "{lines:?}");
    assert!(lines[3].starts_with("CNP"), "{lines:?}");
}

#[test]
fn streams_break_at_the_segment_and_have_the_crc_that_is_asked_for() {
    let stream = |more: &str| {
        let text = format!(
            "[[stream]]\nopen = false\nclose = false\nsegment = 100\nfpdu = [{{ opcode = \"SEND\", {more} \
             payload = {{ length = 250 }} }}]\n"
        );
        crafted(&text).unwrap()
    };
    let (right, wrong) = (stream(""), stream("wrong_crc = true,"));
    let lengths: Vec<_> = right.iter().map(|frame| frame.len() - 54).collect();
    assert_eq!(lengths, [20, 20, 100, 100, 76]);
    assert_eq!(right[..4], wrong[..4]);
    assert_ne!(right[4], wrong[4]);
    refused("[[stream]]\nsegment = 0\n", "segment = 0");
    refused("[[stream]]\nfrom = \"x\"\n", "\"x\" is no host");
    refused("[[stream]]\nfpdu = [{ opcode = \"SEND\", payload = { length = 65000 } }]\n", "fpdu 1: ");
    refused("[[stream]]\nfpdu = [{ opcode = \"SNED\" }]\n", "an opcode of RDMAP");
}

#[test]
fn classic_file_takes_one_link_type() {
    let text = "[host.a]\n[host.b]\n[flow.n]\nfrom = \"a\"\nto = \"b\"\ncarrier = \"infiniband\"\n\
                [[packet]]\nopcode = 4\n[[packet]]\nopcode = 4\nflow = \"n\"\n";
    let spec = Spec::parse(text).unwrap();
    let mut file = Capture::pcap(Vec::new());
    let error = craft(&spec, FEW, &mut |frame| file.write(frame)).unwrap_err();
    assert!(matches!(error, CraftError::Spec(_)));
    assert!(error.to_string().contains(".pcapng"), "{error}");
}

#[test]
fn what_no_file_can_hold_is_a_mistake_of_its_entry() {
    let long = "x".repeat(70_000);
    let interfaces: String =
        (0..1025).map(|n| format!("[[packet]]\nopcode = 4\ninterface = \"i{n}\"\n")).collect();
    let cases = [
        (
            false,
            format!("[[packet]]\nopcode = 4\n[[packet]]\nopcode = 4\ncomment = \"{long}\"\n"),
            "packet 2 (line 3): ",
        ),
        (false, format!("[[packet]]\nopcode = 4\ninterface = \"{long}\"\n"), "packet 1 (line 1): "),
        (
            false,
            format!("[[conversation]]\noperation = \"send\"\ncomment = \"{long}\"\n"),
            "conversation 1 (line 1): ",
        ),
        (false, interfaces, "packet 1025 (line 3073): more than 1024 interfaces"),
        (
            true,
            "\n[[packet]]\nopcode = 4\ntime = \"4294967296.0\"\n".to_owned(),
            "packet 1 (line 2): a pcap file ends",
        ),
    ];
    for (classic, text, says) in cases {
        let spec = Spec::parse(&text).unwrap();
        let mut file = if classic { Capture::pcap(Vec::new()) } else { Capture::pcapng(Vec::new()).unwrap() };
        let limits = Limits { packets: 2000, ..FEW };
        let error = craft(&spec, limits, &mut |frame| file.write(frame)).unwrap_err();
        assert!(matches!(error, CraftError::Spec(_)), "{says}: {error:?}");
        assert!(error.to_string().starts_with(says), "{error}");
    }
}

/// A capture of these packets: link type, bytes, bytes cut off.
fn capture(packets: &[(u16, Vec<u8>, u32)]) -> Vec<u8> {
    let mut file = Capture::pcapng(Vec::new()).unwrap();
    for (time, (link_type, data, cut)) in packets.iter().enumerate() {
        let mut frame = rdmalab_craft::Frame::new(time as u64 * 77, LinkType(*link_type), data);
        frame.original_length += cut;
        file.write(&frame).unwrap();
    }
    file.finish().unwrap()
}

/// Describing and crafting gives the same file.
fn survives(packets: &[(u16, Vec<u8>, u32)]) {
    let file = capture(packets);
    let mut text = Vec::new();
    describe(&file[..], &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let spec = Spec::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut again = Capture::pcapng(Vec::new()).unwrap();
    craft(&spec, Limits::default(), &mut |frame| again.write(frame)).unwrap();
    assert!(again.finish().unwrap() == file, "{text}");
}

/// Each block of TOML in SPEC.md, and that the headers' examples leave out no field but addresses and what is set elsewhere.
#[test]
fn every_example_of_the_specification_can_be_crafted() {
    let text = include_str!("../SPEC.md");
    let examples: Vec<&str> =
        text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(examples.len(), 4);
    for example in &examples {
        assert!(!crafted(example).unwrap_or_else(|error| panic!("{error}\n{example}")).is_empty());
    }
    let all = examples.concat();
    let code = include_str!("../src/fields.rs");
    let sets = code.split("\nfields! {").nth(1).unwrap().split("\n}").next().unwrap();
    for line in sets.lines().filter(|line| !line.trim_start().starts_with("///")) {
        let fields = line.split('{').next_back().unwrap();
        for field in fields.split([',', ';', '}']) {
            let name = field.split(':').next().unwrap().trim();
            assert!(name.is_empty() || all.contains(&format!("{name} = ")), "{name} has no example");
        }
    }
}

/// Bare IP by each of its numbers has fields, what stands behind another header is bytes, and is counted as RoCE that has no fields.
#[test]
fn packets_of_every_link_come_back() {
    let ip = crafted(
        r#"
        flow.one = { from = "a", to = "b", raw_ip = true }
        host.a = {}
        host.b = {}
        packet = [{ flow = "one", opcode = "RC_SEND_ONLY", payload = { text = "hello" } }]
        "#,
    )
    .unwrap()
    .swap_remove(0);
    let cooked = [&[0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0][..], &ip].concat();
    let of_loopback = [&[2, 0, 0, 0][..], &ip].concat();
    for (link, bytes, as_fields) in
        [(12, &ip, 1), (14, &ip, 1), (101, &ip, 1), (228, &ip, 1), (113, &cooked, 0), (0, &of_loopback, 0)]
    {
        let packets = [(link, bytes.clone(), 0), (link, bytes.clone(), 0)];
        survives(&packets);
        let described = describe(&capture(&packets)[..], &mut Vec::new()).unwrap();
        assert_eq!(described.typed, 2 * as_fields, "{link}");
        assert_eq!(described.raw_infiniband, 2 - 2 * as_fields, "{link}");
    }
}

const CARRIERS: [&str; 4] = ["roce2", "roce1", "infiniband", "infiniband-grh"];

proptest! {
    /// Any opcode and payload on any carrier, then any bytes of it changed.
    #[test]
    fn packets_survive_their_description(
        opcode: u8, carrier in 0..4_usize, payload in prop::collection::vec(any::<u8>(), 0..60),
        changes in prop::collection::vec((0..200_usize, any::<u8>()), 0..4), trailer in 0..8_usize,
        cut in 0..2_u32, way: bool,
    ) {
        let digits: String = payload.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = format!(
            "[host.a]\n[host.b]\n[flow.f]\nfrom = \"a\"\nto = \"b\"\ncarrier = \"{}\"\n[[packet]]\nflow = \"f\"\n\
             opcode = {opcode}\npayload = \"{digits}\"\nrepeat = 2\nreply = {way}\ntrailer = \"{}\"\n",
            CARRIERS[carrier], "00".repeat(trailer),
        );
        let link_type = if carrier < 2 { 1 } else { 247 };
        let mut packets: Vec<_> =
            crafted(&text).unwrap().into_iter().map(|data| (link_type, data, cut)).collect();
        survives(&packets);
        for (at, byte) in changes {
            if let Some(place) = packets[0].1.get_mut(at) {
                *place = byte;
            }
        }
        survives(&packets);
    }

    #[test]
    fn arbitrary_bytes_survive_their_description(
        packets in prop::collection::vec(
            (prop::sample::select(vec![1_u16, 101, 247, 9]), prop::collection::vec(any::<u8>(), 0..100), 0..3_u32),
            0..5,
        ),
    ) {
        survives(&packets);
    }

    #[test]
    fn arbitrary_text_never_panics(text in ".*") {
        let _ = crafted(&text);
    }

    /// Text that looks like a description.
    #[test]
    fn arbitrary_keys_never_panic(
        lines in prop::collection::vec((
            prop::sample::select(vec![
                "[[packet]]\n", "[[conversation]]\noperation = \"read\"\n", "[[conversation]]\noperation = \"connect\"\n", "[[stream]]\n",
                "[host.a]\n", "[host.b]\n", "[flow.f]\nfrom = \"a\"\nto = \"b\"\n", "",
            ]),
            prop::collection::vec((
                prop::sample::select(vec![
                    "opcode", "bytes", "mtu", "payload", "repeat", "truncate", "kept", "bth", "ipv4", "pad", "patch",
                    "mad", "vlan", "time", "raw", "icrc", "carrier", "transport", "flow", "reply", "pause", "imm_dt",
                    "fpdu", "request", "reply", "segment", "from",
                ]),
                prop::sample::select(vec![
                    "0", "4", "0x7fffffffffffffff", "-1", "\"f\"", "\"00\"", "true", "{}", "[]", "{ length = 1000000, fill = 0 }",
                    "{ psn = 1 }", "[{ at = 3, bytes = \"00\" }]", "{ message = \"REQ\", primary = { local_gid = \"::1\" } }",
                    "\"infiniband\"", "\"UD\"", "[{}]", "{ time = 1 }", "0x81", "\"absent\"", "300", "[{ opcode = 3, payload = { length = 70 } }]", "\"01020304\"",
                ]),
            ), 0..4),
        ), 0..6),
    ) {
        let mut text = String::new();
        for (head, keys) in lines {
            text.push_str(head);
            for (key, value) in keys {
                text.push_str(&format!("{key} = {value}\n"));
            }
        }
        let _ = crafted(&text);
    }
}
