//! A capture as drawing sees it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rdmalab_lint::{Finding, Report, Role};

use crate::ends::Ends;
use crate::flows::Flow;
use crate::frames::Frames;
use crate::kind::{Kind, Marks};
use crate::layout::Layouts;
use crate::operations::{Band, Ending};
use crate::texts::{Distinct, Lines};

/// A capture, read and judged, to be drawn.
#[derive(Debug)]
pub struct Capture {
    pub(crate) packets: Vec<Packet>,
    pub(crate) ends: Ends,
    /// What each packet's line has behind the addresses.
    pub(crate) lines: Lines,
    /// The line of the ladder of each address; none is everybody.
    pub(crate) places: Vec<Option<u32>>,
    /// The names of the ladder's lines.
    pub(crate) names: Vec<String>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) bands: Vec<Band>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) layouts: Layouts,
    /// Names of explanations that packets have.
    pub(crate) explained: Distinct<Vec<&'static str>>,
    pub(crate) frames: Frames,
    pub(crate) report: Report,
    /// Time of the first packet of the file, in nanoseconds.
    pub(crate) first_time: Option<i128>,
    /// Packets that the filter passed over.
    pub(crate) passed_over: u64,
}

/// A packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Its number in the file.
    pub frame: u64,
    /// Nanoseconds since the capture's first; none beyond what numbers of 53 bits say in seconds.
    pub time: Option<i128>,
    pub finer_than_microseconds: bool,
    /// The number of its pair of addresses.
    pub pair: u32,
    pub kind: Kind,
    pub role: Option<Role>,
    /// Of TCP: it went again because of duplicate acknowledgements.
    pub is_resent_by_acks: bool,
    pub marks: Marks,
    /// Its flow, by place.
    pub flow: Option<u32>,
    pub queue_pair: Option<u32>,
    /// PSN, or sequence number of TCP.
    pub sequence: Option<u32>,
    /// Its operation, by place.
    pub band: Option<u32>,
    pub layout: u32,
    pub extras: u32,
    /// What explains it, by number.
    pub explained: u32,
    /// Bytes in the capture.
    pub captured: u32,
    /// Bytes on the wire.
    pub length: u32,
}

impl Capture {
    /// How many packets it has, those that the filter passed over left out.
    pub fn packets(&self) -> u64 {
        self.packets.len() as u64
    }

    /// What judging it came to; of all of its packets, whatever the filter.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// How many bytes its packets have together, in the capture.
    pub fn bytes(&self) -> u64 {
        self.frames.bytes
    }

    /// The place of a packet by its number in the file.
    pub(crate) fn place(&self, frame: u64) -> Option<usize> {
        self.packets.binary_search_by_key(&frame, |packet| packet.frame).ok()
    }

    /// Findings by the packet that they were noticed at, by place.
    pub(crate) fn found(&self) -> BTreeMap<u32, Vec<usize>> {
        let mut found: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (number, finding) in self.findings.iter().enumerate() {
            if let Some(place) = finding.frames.iter().find_map(|frame| self.place(*frame)) {
                found.entry(place as u32).or_default().push(number);
            }
        }
        found
    }

    /// Operations that never completed, by the last packet of them, by place.
    pub(crate) fn never_completed(&self) -> BTreeMap<u32, Vec<&Band>> {
        let mut bands: BTreeMap<u32, Vec<&Band>> = BTreeMap::new();
        for band in self.bands.iter().filter(|band| band.ending == Ending::Never) {
            bands.entry(band.packets.1).or_default().push(band);
        }
        bands
    }

    /// The ladder's lines of who sends and who receives a packet.
    pub(crate) fn ends_of(&self, packet: &Packet) -> (Option<u32>, Option<u32>) {
        let pair = self.ends.pairs.all.get(packet.pair as usize).copied();
        pair.map_or((None, None), |(source, destination)| (self.end_of(source), self.end_of(destination)))
    }

    /// The end that an address is of; none of what is for everybody.
    pub(crate) fn end_of(&self, address: u32) -> Option<u32> {
        self.places.get(address as usize).copied().flatten()
    }

    /// The name of the end that has an address.
    pub(crate) fn name(&self, address: u32) -> &str {
        let name = self.end_of(address).and_then(|place| self.names.get(place as usize));
        name.or_else(|| self.ends.addresses.all.get(address as usize)).map_or("", String::as_str)
    }

    /// What a packet is, short: its line without the carrier and the verdict on a right checksum.
    pub(crate) fn label(&self, place: usize) -> String {
        label(self.lines.line(place))
    }
}

/// Of what a line has behind the addresses, what tells packets of a ladder apart.
pub(crate) fn label(what: &str) -> String {
    let what = what.trim_start();
    // A comment is told elsewhere.
    let what = what.split_once(" # ").map_or(what, |(what, _)| what);
    if let Some((_, units)) = what.split_once(" | ") {
        return units.replace(" crc ok", "").replace(" crc absent", "").replace("RDMAP ", "");
    }
    let mut label = behind_tags(what).replace(" icrc ok", "").replace(" vcrc absent", "");
    if let Some(at) = label.find(" qp=0x") {
        let end = label[at + 1..].find(' ').map_or(label.len(), |length| at + 1 + length);
        // Of a management datagram only what it says.
        if label[end..].starts_with(" CM ") {
            return label[end + 1..].to_owned();
        }
        label.replace_range(at..end, "");
    }
    refusal_first(&label).unwrap_or(label)
}

/// Tags stand in front of the carrier, which all packets have; here behind what the packet is.
fn behind_tags(what: &str) -> Cow<'_, str> {
    let is_tag = |word: &str| ["vlan=", "dscp=", "ecn="].iter().any(|name| word.starts_with(name));
    let mut rest = what;
    while let Some((_, behind)) = rest.split_once(' ').filter(|(word, _)| is_tag(word)) {
        rest = behind;
    }
    match rest.strip_prefix("RoCE ") {
        Some(packet) if rest.len() == what.len() => packet.into(),
        Some(packet) => format!("{packet} {}", what[..what.len() - rest.len()].trim_end()).into(),
        None => what.into(),
    }
}

/// Of a NAK, first what it refuses.
fn refusal_first(label: &str) -> Option<String> {
    let (transport, words) = label.split_once("ACKNOWLEDGE ")?;
    if !matches!(transport, "" | "XRC " | "RD ") {
        return None;
    }
    let mut words: Vec<&str> = words.split(' ').collect();
    let at = words.iter().position(|word| word.starts_with("nak=") || word.starts_with("rnr="))?;
    let refusal = words.remove(at);
    let first =
        refusal.strip_prefix("nak=").map_or_else(|| format!("RNR_NAK {refusal}"), |why| format!("NAK {why}"));
    words.insert(0, &first);
    Some(transport.to_owned() + &words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::label;

    /// The page's script is tried with the same lines.
    #[test]
    fn labels_leave_out_what_all_packets_have() {
        let cases = include_str!("../tests/labels.tsv").lines().filter_map(|case| case.split_once('\t'));
        for (line, expected) in cases.clone() {
            assert_eq!(label(line), expected, "of {line}");
        }
        assert!(cases.count() > 10);
    }
}
