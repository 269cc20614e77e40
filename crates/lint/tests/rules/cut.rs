//! One packet that the capture cut within its headers makes those conversations uncertain that it may be of, and no others; and these are
//! judged on behind it.

use rdmalab_lint::{Reason, Report, RuleId, lint};
use rdmalab_trace::{Entry, Writer};

use super::talk::{Said, talk};

/// Three conversations, two of them between the same hosts: four WRITEs with their acknowledgements each, the last of which counts wrongly.
fn conversations() -> Vec<Said> {
    let mut spec = String::from(
        r#"
        host.a = { ip = "10.0.0.1" }
        host.b = { ip = "10.0.0.2" }
        host.c = { ip = "10.0.0.3" }
        flow.one = { from = "a", to = "b", from_qpn = 0x11, to_qpn = 0x12 }
        flow.two = { from = "a", to = "b", from_qpn = 0x21, to_qpn = 0x22 }
        flow.other = { from = "a", to = "c", from_qpn = 0x31, to_qpn = 0x32 }
        packet = [
        "#,
    );
    for (psn, msn) in [(0, 1), (1, 2), (2, 3), (3, 9)] {
        for flow in ["one", "two", "other"] {
            spec += &format!(
                r#"
                {{ flow = "{flow}", opcode = "RC_WRITE_ONLY", bth = {{ psn = {psn} }}, reth = {{ length = 8 }}, payload = {{ length = 8 }} }},
                {{ flow = "{flow}", reply = true, opcode = "RC_ACKNOWLEDGE", bth = {{ psn = {psn} }}, aeth = {{ msn = {msn} }} }},
                "#
            );
        }
    }
    spec += "]";
    talk(&spec)
}

/// A capture of which it kept so many bytes of one packet.
fn judge(talk: &[Said], packet: usize, length: usize) -> Report {
    let mut file = Writer::new(Vec::new()).unwrap();
    let interface = file.interface("eth0").unwrap();
    let mut bytes = Vec::new();
    for (index, said) in talk.iter().enumerate() {
        said.packet.encode(&mut bytes).unwrap();
        let kept = if index == packet { bytes.get(..length).unwrap_or(&bytes) } else { &bytes };
        file.write(Entry::new(interface, said.time, kept).original_length(bytes.len() as u32)).unwrap();
    }
    lint(&file.finish().unwrap()[..], &mut ()).unwrap()
}

fn uncertain(report: &Report) -> Vec<u32> {
    let flows = report.flows.iter().filter(|flow| flow.reasons.has(Reason::HeadersCut));
    flows.map(|flow| flow.queue_pair.value()).collect()
}

/// The second WRITE of the first conversation, its acknowledgement, both cut behind the base header; the WRITE within it, and within IP.
#[test]
fn only_what_a_cut_packet_may_be_of_is_uncertain() {
    let talk = conversations();
    assert!(uncertain(&judge(&talk, 0, usize::MAX)).is_empty());
    for (packet, length, expected) in [
        (6, 60, &[0x12][..]),
        (7, 56, &[0x12]),
        (6, 50, &[0x12, 0x22]),
        (7, 36, &[0x12, 0x22]),
        (6, 20, &[0x12, 0x22, 0x32]),
    ] {
        let report = judge(&talk, packet, length);
        let mut uncertain = uncertain(&report);
        uncertain.sort_unstable();
        assert_eq!(uncertain, expected, "packet {packet} {length}: {report}");
        // Each is judged on: the wrong number is found, and nothing looks lost.
        assert_eq!(report.count_of(RuleId::Msn), 3, "packet {packet} {length}: {report}");
        assert_eq!(report.findings.len(), 3, "packet {packet} {length}: {report}");
        assert_eq!(report.unjudged.headers, Some((packet as u64 + 1, 1)));
    }
}

/// A conversation that was agreed on need not begin with the PSN that was agreed on, if its first packet was cut.
#[test]
fn the_first_request_may_be_the_one_that_was_cut() {
    let mut talk = talk(super::conversations::CALLED_TWICE);
    let write = talk.iter().position(|said| said.packet.headers.reth.is_some()).unwrap();
    let mut next = talk[write].clone();
    next.packet.bth.psn = next.packet.bth.psn.add(1000);
    talk.insert(write + 1, next);
    for (length, count) in [(60, 0), (50, 0), (20, 0)] {
        let report = judge(&talk, write, length);
        assert_eq!(report.count_of(RuleId::CmPsn), count, "{length}: {report}");
    }
    talk.remove(write);
    assert_eq!(judge(&talk, usize::MAX, 0).count_of(RuleId::CmPsn), 1);
}
