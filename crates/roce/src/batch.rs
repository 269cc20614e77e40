//! Packets on their way out: one buffer, one packet behind the other.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use rdmalab_wire::PathMtu;

/// What a RoCE v2 packet has besides its payload at most: IPv6, UDP, BTH, the longest extension headers, pad, ICRC.
const OVERHEAD: usize = 40 + 8 + 12 + 32 + 3 + 4;

/// A buffer that [`Endpoint::poll`](crate::Endpoint::poll) fills with packets and a back end empties.
///
/// Each packet has `headroom` free bytes in front, where a back end puts the link layer's header without moving the
/// packet. The buffer is allocated once.
#[derive(Debug)]
pub struct Batch {
    buffer: Box<[u8]>,
    packets: Vec<Range<usize>>,
    headroom: usize,
    largest: usize,
}

impl Batch {
    /// Room for at least `packets` packets of the largest size that `mtu` allows.
    pub fn new(packets: usize, mtu: PathMtu, headroom: usize) -> Self {
        let largest = mtu.bytes() + OVERHEAD;
        Self {
            buffer: vec![0; packets * (largest + headroom)].into(),
            packets: Vec::with_capacity(packets),
            headroom,
            largest,
        }
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.packets.clear();
    }

    /// Whether no further packet of the largest size fits.
    pub fn is_full(&self) -> bool {
        self.packets.len() == self.packets.capacity() || self.free().is_none()
    }

    /// Packets in it.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The packets from their IP headers on.
    pub fn packets(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.packets.iter().filter_map(|range| self.buffer.get(range.clone()))
    }

    /// The `n`-th packet with its headroom in front.
    pub fn with_headroom(&mut self, n: usize) -> Option<&mut [u8]> {
        let range = self.packets.get(n)?;
        self.buffer.get_mut(range.start - self.headroom..range.end)
    }

    /// Where the next packet begins, if one of the largest size still fits.
    fn free(&self) -> Option<usize> {
        let start = self.packets.last().map_or(0, |range| range.end) + self.headroom;
        (start + self.largest <= self.buffer.len()).then_some(start)
    }

    /// Space for a packet; nothing is taken until [`commit`](Self::commit).
    pub(crate) fn space(&mut self) -> Option<&mut [u8]> {
        if self.is_full() {
            return None;
        }
        let start = self.free()?;
        self.buffer.get_mut(start..start + self.largest)
    }

    /// Makes the first `length` bytes of the space a packet.
    pub(crate) fn commit(&mut self, length: usize) {
        if let Some(start) = self.free() {
            self.packets.push(start..start + length.min(self.largest));
        }
    }
}
