//! Operations as bands beside the ladder: which packets are of each, how it ended, and where it stands beside others.

mod packets;
mod streams;
mod unfinished;

use std::collections::BTreeMap;

use rdmalab_lint::OperationKind;

use crate::model::Packet;

pub(crate) use packets::{Open, Part};
pub(crate) use streams::{OpenStreams, StreamPart};

/// Bands that stand beside each other at one end; further ones share the last place.
pub(crate) const MOST_BESIDE: usize = 12;

/// An operation from its first packet to what completed it, or to the last sign of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Band {
    /// Its flow, by place.
    pub flow: u32,
    pub kind: OperationKind,
    /// Of one that nothing completed, as far as the capture has them.
    pub bytes: u64,
    /// Its first and last PSN; iWARP has none.
    pub psns: Option<(u32, u32)>,
    /// The packets that it begins with and ends with, by place.
    pub packets: (u32, u32),
    /// Packets of it that were sent again.
    pub repeated: u64,
    pub ending: Ending,
    /// Which of the bands beside each other it is.
    pub beside: u8,
}

/// What RoCE tells of an operation besides, and iWARP does not: its first and last PSN, and how many packets of it were sent again.
type Numbered = ((u32, u32), u64);

impl Band {
    /// One that has no place beside others yet.
    fn new(
        flow: u32,
        (kind, bytes): (OperationKind, u64),
        packets: (u32, u32),
        ending: Ending,
        numbered: Option<Numbered>,
    ) -> Band {
        let (psns, repeated) = numbered.unzip();
        Band { flow, kind, bytes, psns, packets, repeated: repeated.unwrap_or(0), ending, beside: 0 }
    }

    /// What it is.
    pub(crate) fn words(&self) -> String {
        let bytes = if self.bytes == 1 { "byte" } else { "bytes" };
        let ending = self.ending.words().map_or_else(String::new, |words| format!(": {words}"));
        let numbers = match self.psns {
            None => String::new(),
            Some((first, last)) if first == last => format!(", PSN {first}"),
            Some((first, last)) => format!(", PSN {first} to {last}"),
        };
        format!("{} of {} {bytes}{numbers}{ending}", self.kind.name(), self.bytes)
    }
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Ending {
    /// Something completed it.
    Complete,
    /// Nothing did as long as the capture goes.
    Never,
    /// The capture lacks too much to tell: it has no answers, or lost count of them.
    Unknown,
}

impl Ending {
    /// What is to be said of it; nothing of what is complete.
    pub(crate) const fn words(self) -> Option<&'static str> {
        match self {
            Ending::Complete => None,
            Ending::Never => Some("never completed in the capture"),
            Ending::Unknown => Some("the capture does not tell whether it completed"),
        }
    }
}

/// The places of the first and last packet drawn between two frames; `None` if there is none.
fn drawn(packets: &[Packet], begun: u64, completed: u64) -> Option<(u32, u32)> {
    let first = packets.partition_point(|packet| packet.frame < begun);
    let behind = packets.partition_point(|packet| packet.frame <= completed);
    (first < behind).then(|| (first as u32, behind as u32 - 1))
}

/// Gives each band its place beside the others at the same end; `end_of` is the end of a flow.
pub(crate) fn place_beside(bands: &mut [Band], end_of: impl Fn(u32) -> Option<u32>) {
    let mut order: Vec<usize> = (0..bands.len()).collect();
    order.sort_by_key(|place| bands.get(*place).map(|band| band.packets));
    // Where the last band of each place ends.
    let mut until: BTreeMap<Option<u32>, [Option<u32>; MOST_BESIDE]> = BTreeMap::new();
    for place in order {
        let Some(band) = bands.get_mut(place) else { continue };
        let places = until.entry(end_of(band.flow)).or_default();
        let free = places.iter().position(|end| end.is_none_or(|end| end < band.packets.0));
        let beside = free.unwrap_or(MOST_BESIDE - 1);
        if let Some(end) = places.get_mut(beside) {
            *end = (*end).max(Some(band.packets.1));
        }
        band.beside = beside as u8;
    }
}
