//! Captures of real peers, behind other links' headers, and as `tcpdump -i any` has them: each packet once for each interface.

use std::fs;

use rdmalab_lint::{Operations, Reason, Report, Severity, lint};
use rdmalab_trace::{Entry, LinkType, Reader, Writer};
use rdmalab_wire::Carried;

use super::folder;

const NAMES: [&str; 6] = ["rping", "write_bw_loss", "read_bw_loss", "udaddy", "siw_rping", "siw_write_loss"];

/// The header of this link in the place of Ethernet's: the packet was seen on so many interfaces before.
fn header(link: LinkType, ethernet: &[u8], seen: u8) -> Vec<u8> {
    let (source, ethertype) = (&ethernet[6..12], &ethernet[12..14]);
    // To another host, then sent by us.
    let packet_type = if seen == 0 { 3 } else { 4 };
    match link {
        LinkType::LINUX_SLL => [&[0, packet_type, 0, 1, 0, 6], source, &[0; 2], ethertype].concat(),
        LinkType::LINUX_SLL2 => {
            [ethertype, &[0, 0, 0, 0, 0, 3 + seen, 0, 1, packet_type, 6], source, &[0; 2]].concat()
        }
        LinkType::NULL => vec![if ethertype == [0x08, 0] { 2 } else { 30 }, 0, 0, 0],
        LinkType::LOOP => vec![0, 0, 0, if ethertype == [0x08, 0] { 2 } else { 24 }],
        _ => Vec::new(),
    }
}

/// The capture with each packet so many times, a microsecond between.
fn judged(name: &str, link: LinkType, times: u8) -> Report {
    let file = fs::read(folder(&format!("{name}.pcap"))).unwrap();
    let mut reader = Reader::new(&file[..]).unwrap();
    let mut packets = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        for seen in 0..times {
            let head = header(link, record.data, seen);
            let bytes = [&head[..], &record.data[14..]].concat();
            let cut = record.original_length - record.data.len() as u32;
            packets.push((
                u64::try_from(record.time.unwrap()).unwrap() + 1_000 * u64::from(seen),
                bytes,
                cut,
            ));
        }
    }
    packets.sort_by_key(|(time, ..)| *time);
    let mut writer = Writer::new(Vec::new()).unwrap();
    let interface = writer.interface_of("any", link).unwrap();
    for (time, bytes, cut) in &packets {
        let entry = Entry::new(interface, *time, bytes).original_length(bytes.len() as u32 + cut);
        writer.write(entry).unwrap();
    }
    lint(&writer.finish().unwrap()[..], &mut ()).unwrap()
}

#[test]
fn what_is_judged_does_not_depend_on_the_link() {
    for name in NAMES {
        let ethernet = super::judged(name).to_string();
        for link in [
            LinkType::LINUX_SLL,
            LinkType::LINUX_SLL2,
            LinkType::NULL,
            LinkType::LOOP,
            LinkType::RAW_IP,
            LinkType(12),
            LinkType(14),
        ] {
            let file = fs::read(folder(&format!("{name}.pcap"))).unwrap();
            let is_ip_alone = {
                let mut reader = Reader::new(&file[..]).unwrap();
                let mut all = true;
                while let Some(record) = reader.next().unwrap() {
                    all &= matches!(record.data.get(12..14), Some([0x08, 0x00] | [0x86, 0xdd]));
                }
                all
            };
            let has_ethertypes = matches!(link, LinkType::LINUX_SLL | LinkType::LINUX_SLL2);
            if has_ethertypes || is_ip_alone {
                assert_eq!(judged(name, link, 1).to_string(), ethernet, "{name} {link}");
            }
        }
    }
}

fn operations(report: &Report) -> Vec<(Operations, u64)> {
    let flows = report.flows.iter().map(|flow| {
        let again: u64 = flow.stats.repeated.iter().sum();
        (flow.stats.operations, again)
    });
    let streams = report.streams.iter().map(|stream| {
        let again: u64 = stream.stats.resent.iter().sum();
        (stream.stats.operations, again)
    });
    flows.chain(streams).collect()
}

/// By another interface a millisecond later, without IP identification: a time in which a requester could send again.
#[test]
fn a_late_copy_is_none_sent_again_and_what_is_sent_again_is_no_copy() {
    let file = fs::read(folder("rping.pcap")).unwrap();
    let mut reader = Reader::new(&file[..]).unwrap();
    let mut packets = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        let mut bytes = record.data[14..].to_vec();
        bytes[4..6].fill(0);
        bytes[10..12].fill(0);
        // The checksum of the packet is made right again; that of IP a capture of what was sent need not have.
        let carried = Carried::in_ip(&bytes).unwrap();
        let (icrc, end) = (carried.icrc_expected().to_le_bytes(), carried.offset + carried.ib.len());
        bytes[end - 4..end].copy_from_slice(&icrc);
        packets.push(bytes);
    }
    // Not those of connection management.
    let talk: Vec<_> = packets.into_iter().filter(|bytes| bytes[33..36] != [0, 0, 1]).collect();
    let judge = |interfaces: &[u8]| {
        let mut writer = Writer::new(Vec::new()).unwrap();
        let interface = writer.interface_of("any", LinkType::LINUX_SLL2).unwrap();
        for (index, packet) in talk.iter().enumerate() {
            for (late, seen) in interfaces.iter().enumerate() {
                let head = [8, 0, 0, 0, 0, 0, 0, *seen, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0];
                let bytes = [&head[..], packet].concat();
                let time = index as u64 * 10_000_000 + late as u64 * 1_000_000;
                writer.write(Entry::new(interface, time, &bytes)).unwrap();
            }
        }
        lint(&writer.finish().unwrap()[..], &mut ()).unwrap()
    };
    let once = judge(&[3]);
    assert!(once.flows.iter().any(|flow| flow.stats.requests > 3), "{once}");
    let copied = judge(&[3, 4]);
    assert_eq!(operations(&copied), operations(&once), "{copied}");
    assert_eq!(copied.flows[0].stats.duplicates * 2, copied.flows[0].stats.requests, "{copied}");
    let again = judge(&[3, 3]);
    assert!(operations(&again).iter().any(|(_, again)| *again > 0), "{again}");
}

/// In by one port of a bridge, over the bridge itself, out by another port.
#[test]
fn packets_seen_on_several_interfaces_are_counted_once_and_no_violation() {
    for name in NAMES {
        let once = super::judged(name);
        for (link, times) in [(LinkType::LINUX_SLL, 2), (LinkType::LINUX_SLL2, 2), (LinkType::LINUX_SLL2, 3)]
        {
            let report = judged(name, link, times);
            assert_eq!(report.count(Severity::Violation), 0, "{name} {times}:\n{report}");
            assert_eq!(operations(&report), operations(&once), "{name} {times}:\n{report}\n{once}");
            assert!(report.to_string().contains("in the capture twice"), "{name} {times}:\n{report}");
            // The interface tells copies of RoCE from what is sent again, so that nothing is left open for their sake.
            let is_unsure =
                |report: &Report| report.flows.iter().any(|flow| flow.reasons.has(Reason::Duplicated));
            assert_eq!(is_unsure(&report), is_unsure(&once), "{name} {times}:\n{report}");
        }
    }
}
