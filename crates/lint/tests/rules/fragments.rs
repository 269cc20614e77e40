//! IP fragments, which nobody puts together, and several datagrams in one: said, and the conversations that they may be of are uncertain.

use rdmalab_craft::trace::LinkType;
use rdmalab_lint::{Reason, Report, lint};
use rdmalab_trace::{Entry, Writer};

use super::talk::talk;

/// Three WRITEs with their acknowledgements, of 600 bytes each; and another conversation between other hosts.
fn packets(is_v6: bool) -> Vec<Vec<u8>> {
    let ip = |n| if is_v6 { format!("fd00::{n}") } else { format!("10.0.0.{n}") };
    let mut spec = format!(
        r#"
        host.a = {{ ip = "{}" }}
        host.b = {{ ip = "{}" }}
        host.c = {{ ip = "{}" }}
        flow.one = {{ from = "a", to = "b" }}
        flow.other = {{ from = "a", to = "c" }}
        packet = [
        "#,
        ip(1),
        ip(2),
        ip(3)
    );
    for psn in 0..3 {
        for flow in ["one", "other"] {
            spec += &format!(
                r#"
                {{ flow = "{flow}", opcode = "RC_WRITE_ONLY", bth = {{ psn = {psn} }}, reth = {{ length = 600 }}, payload = {{ length = 600 }} }},
                {{ flow = "{flow}", reply = true, opcode = "RC_ACKNOWLEDGE", bth = {{ psn = {psn} }}, aeth = {{ msn = {} }} }},
                "#,
                psn + 1
            );
        }
    }
    spec += "]";
    let mut bytes = Vec::new();
    let encoded = talk(&spec).into_iter().map(|said| {
        said.packet.encode(&mut bytes).unwrap();
        bytes[14..].to_vec()
    });
    encoded.collect()
}

/// Both pieces of an IP packet.
fn pieces(packet: &[u8]) -> [Vec<u8>; 2] {
    const CUT: usize = 304;
    if packet[0] >> 4 == 4 {
        let piece = |range: core::ops::Range<usize>, more: u16| {
            let mut piece = [&packet[..20], &packet[20..][range.clone()]].concat();
            let length = piece.len() as u16;
            piece[2..4].copy_from_slice(&length.to_be_bytes());
            piece[4..6].copy_from_slice(&[0x12, 0x34]);
            piece[6..8].copy_from_slice(&(more << 13 | (range.start / 8) as u16).to_be_bytes());
            piece
        };
        return [piece(0..CUT, 1), piece(CUT..packet.len() - 20, 0)];
    }
    let piece = |range: core::ops::Range<usize>, more: u16| {
        let field = (range.start as u16 | more).to_be_bytes();
        let header = [17, 0, field[0], field[1], 1, 2, 3, 4];
        let mut piece = [&packet[..40], &header, &packet[40..][range]].concat();
        piece[6] = 44;
        let length = piece.len() as u16 - 40;
        piece[4..6].copy_from_slice(&length.to_be_bytes());
        piece
    };
    [piece(0..CUT, 1), piece(CUT..packet.len() - 40, 0)]
}

fn judge<'p>(packets: impl IntoIterator<Item = &'p Vec<u8>>) -> Report {
    judge_kept(packets, usize::MAX)
}

/// Of each packet so many bytes are captured.
fn judge_kept<'p>(packets: impl IntoIterator<Item = &'p Vec<u8>>, most: usize) -> Report {
    let mut file = Writer::new(Vec::new()).unwrap();
    let interface = file.interface_of("eth0", LinkType::RAW_IP).unwrap();
    for (time, packet) in packets.into_iter().enumerate() {
        let kept = &packet[..packet.len().min(most)];
        let entry = Entry::new(interface, time as u64 * 1_000, kept);
        file.write(entry.original_length(packet.len() as u32)).unwrap();
    }
    lint(&file.finish().unwrap()[..], &mut ()).unwrap()
}

fn with(report: &Report, reason: Reason) -> usize {
    report.flows.iter().filter(|flow| flow.reasons.has(reason)).count()
}

/// The second WRITE of the first conversation is in two pieces.
#[test]
fn fragments_are_said_and_nobody_else_is_blamed() {
    for is_v6 in [false, true] {
        let mut packets = packets(is_v6);
        assert!(judge(&packets).findings.is_empty());
        let pieces = pieces(&packets[4]);
        packets.splice(4..5, pieces);
        let report = judge(&packets);
        assert!(report.findings.is_empty(), "{report}");
        assert_eq!(report.unjudged.fragments, Some((5, 2)), "{report}");
        let said = "not judged: 2 IP fragments of RoCE, or what may be such, frame 5 the first, as they are not put together";
        assert!(report.to_string().contains(said), "{report}");
        assert!(report.to_string().contains("13 packets, 11 of them RoCE or InfiniBand"), "{report}");
        assert!(report.to_string().contains(", 2 not judged; 0 violations"), "{report}");
        assert_eq!(with(&report, Reason::Fragments), 1, "{report}");
        assert_eq!(with(&report, Reason::LostAhead), 0, "{report}");
    }
}

/// By the port in the first one; the second shows none.
#[test]
fn fragments_of_other_datagrams_are_none_of_ours() {
    for is_v6 in [false, true] {
        let mut packets = packets(is_v6);
        let mut pieces = pieces(&packets[4]);
        let port = if is_v6 { 50 } else { 22 };
        pieces[0][port..port + 2].copy_from_slice(&2049_u16.to_be_bytes());
        packets.splice(4..4, pieces.clone());
        let report = judge(&packets);
        assert!(report.findings.is_empty() && report.unjudged.packets() == 0, "{report}");
        assert_eq!(with(&report, Reason::Fragments), 0, "{report}");
        // Alone, the second may be of anything.
        packets.remove(4);
        assert_eq!(judge(&packets).unjudged.fragments, Some((5, 1)));
    }
}

/// The last two WRITEs of the first conversation as a sender with segmentation offload shows them.
#[test]
fn several_datagrams_in_one_are_no_violation() {
    // The second may go to another queue pair.
    for (is_v6, queue_pair) in [(false, 0x12), (true, 0x12), (false, 0x13)] {
        let mut packets = packets(is_v6);
        let headers = if is_v6 { 48 } else { 28 };
        let mut rest = packets[8][headers..].to_vec();
        assert_eq!(rest[7], 0x12);
        rest[7] = queue_pair;
        let merged = &mut packets[4];
        merged.extend(rest);
        let (whole, udp) = (merged.len() as u16, (merged.len() - headers + 8) as u16);
        let (at, length) = if is_v6 { (4, whole - 40) } else { (2, whole) };
        merged[at..at + 2].copy_from_slice(&length.to_be_bytes());
        merged[headers - 4..headers - 2].copy_from_slice(&udp.to_be_bytes());
        packets.remove(8);
        let report = judge(&packets);
        assert!(report.findings.is_empty(), "{report}");
        assert_eq!(report.unjudged.merged, Some((5, 1)), "{report}");
        assert_eq!(with(&report, Reason::Merged), 1, "{report}");
        assert!(
            report
                .to_string()
                .contains("not judged: 1 packet of RoCE, frame 5 the first, as each is several datagrams"),
            "{report}"
        );
        // Nor where the capture cuts: behind the second's base header its ICRC tells, in front of it the length of the WRITE.
        for kept in [900, 600, 128, 80] {
            let report = judge_kept(&packets, kept);
            assert!(report.findings.is_empty(), "{kept}: {report}");
            assert_eq!(report.unjudged.merged, Some((5, 1)), "{kept}: {report}");
        }
        // One that is damaged is damaged.
        let at = headers + 30;
        packets[4][at] ^= 1;
        let report = judge(&packets);
        assert_eq!(report.count_of(rdmalab_lint::RuleId::Icrc), 1, "{report}");
    }
}
