//! Searching for FPDUs in bytes of which it is not known where one begins. How much work that is has a limit, whatever
//! the bytes: tries are put off, and each looks at few places closely.

use rdmalab_wire::iwarp::{Header, Probe, probe, resynchronize};

/// Places that are looked at closely, at most, in one search among markers.
const MOST_CANDIDATES: usize = 256;
/// Searches in one place that are made as bytes come.
const QUICK_TRIES: usize = 16;
/// FPDUs without a CRC that must follow one another to be believed.
const CHAIN: usize = 3;

/// A search for FPDUs.
#[derive(Debug, Default)]
pub(super) struct Search {
    pub(super) buffer: Vec<u8>,
    /// How often it was in vain.
    tries: usize,
    /// How many bytes there must be for the next one.
    next_try: usize,
}

impl Search {
    pub(super) fn of(buffer: Vec<u8>) -> Search {
        Search { buffer, ..Search::default() }
    }

    /// Where in the buffer FPDUs begin beyond doubt. `markers` is none if there are none, else the place of the buffer's
    /// first byte behind the start-up frame, if known.
    pub(super) fn start(&mut self, markers: Option<Option<u64>>) -> Option<usize> {
        if self.buffer.len() < self.next_try || self.buffer.is_empty() {
            return None;
        }
        let found = match markers {
            None => resynchronize(&self.buffer),
            Some(Some(position)) => resynchronize_among_markers(&self.buffer, position),
            Some(None) => None,
        };
        if found.is_none() {
            self.put_off();
        }
        found
    }

    /// Keeps only the last so many bytes; says how many were dropped.
    pub(super) fn forget(&mut self, kept: usize) -> usize {
        let old = self.buffer.len().saturating_sub(kept);
        self.buffer.drain(..old);
        self.put_off();
        old
    }

    /// The first few tries are made as bytes come, later ones so that all together take a time that is a multiple of the
    /// bytes.
    fn put_off(&mut self) {
        self.tries += 1;
        let more = if self.tries < QUICK_TRIES { 0 } else { self.buffer.len() / 4 };
        self.next_try = self.buffer.len() + more;
    }
}

/// Whether the bytes of a ULPDU begin with a header that a sender may have meant.
pub(super) fn is_sane(ulpdu: &[u8]) -> bool {
    Header::parse(ulpdu).is_ok_and(|header| header.ddp_version == 1 && header.rdmap_version == 1)
}

/// As `resynchronize`, in bytes that begin at this place of a stream with markers.
fn resynchronize_among_markers(bytes: &[u8], position: u64) -> Option<usize> {
    let first = (position.wrapping_neg() & 0b11) as usize;
    let starts = (first..bytes.len()).step_by(4).filter(|start| {
        // Behind the length, and behind the marker where there is one.
        let at = |front: usize| bytes.get(*start + front..).is_some_and(is_sane);
        at(2) || at(6)
    });
    starts.take(MOST_CANDIDATES).find(|start| {
        let mut at = *start;
        for _ in 0..CHAIN {
            let place = position.saturating_add(at as u64);
            match probe(bytes.get(at..).unwrap_or_default(), place, true) {
                Probe::Proven { .. } => return true,
                Probe::Plausible { length } => at += length,
                Probe::No | Probe::NeedMore { .. } => return false,
            }
        }
        true
    })
}
