//! Frames on their way out: one buffer, one message for the kernel behind the other, each with its virtio header.
//!
//! Datagrams of one flow that follow each other, of equal size but for a shorter last one, become one superframe: the
//! kernel, or whoever is at the other end of a veth pair, then handles them in one go, which costs a fraction. Such a run
//! keeps the headers of its first datagram and only the payload of the others. On the link the datagrams are the same
//! as before, but that UDP's checksum, which all of them leave out, is there.
//!
//! Bounds: [`MESSAGES_MAX`] messages, [`BYTES_MAX`] bytes, both allocated at the start. What does not fit is not taken.

use std::ops::Range;

use super::checksum;
use super::offload::{Cut, Offload, put};
use super::system::OFFLOAD_HEADER;

/// Messages that may wait.
pub(super) const MESSAGES_MAX: usize = 64;
/// Bytes that may wait: one superframe is at most 64 KiB long.
const BYTES_MAX: usize = 512 * 1024;

/// Datagrams in one superframe: what kernels take from sockets at most (UDP_SEGMENT).
const RUN_MAX: usize = 64;
/// Bytes of an IP packet.
const PACKET_MAX: usize = 65_535;
const ETHERNET_HEADER: usize = 14;
const UDP_HEADER: usize = 8;
/// The protocol's number.
const UDP: u8 = 17;

#[derive(Debug)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    /// Oldest first; those before `sent` are gone.
    messages: Vec<Message>,
    sent: usize,
    /// Whether datagrams may become superframes.
    pub(super) merges: bool,
}

#[derive(Debug)]
struct Message {
    /// The virtio header and what is behind it.
    place: Range<usize>,
    /// A datagram that others may continue, and those that did.
    run: Option<Run>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    /// Bytes of all headers, Ethernet to UDP.
    headers: usize,
    /// Payload of each datagram.
    size: usize,
    count: usize,
    /// A shorter one was the last.
    closed: bool,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self {
            bytes: Vec::with_capacity(BYTES_MAX),
            messages: Vec::with_capacity(MESSAGES_MAX),
            sent: 0,
            merges: true,
        }
    }

    /// Takes a frame, unless there is no room.
    pub(super) fn push(&mut self, frame: &[u8]) -> bool {
        if self.bytes.len() + OFFLOAD_HEADER + frame.len() > BYTES_MAX {
            return false;
        }
        let datagram = if self.merges { datagram(frame) } else { None };
        if let Some(headers) = datagram
            && self.continues(frame, headers)
        {
            return true;
        }
        if self.messages.len() >= MESSAGES_MAX {
            return false;
        }
        let run =
            datagram.map(|headers| Run { headers, size: frame.len() - headers, count: 1, closed: false });
        self.append(frame, run);
        true
    }

    /// Makes the datagram part of the last message, if it continues that.
    fn continues(&mut self, frame: &[u8], headers: usize) -> bool {
        let Some(Message { place, run: Some(run) }) = self.messages.last_mut() else { return false };
        let first = &self.bytes[place.start + OFFLOAD_HEADER..place.start + OFFLOAD_HEADER + run.headers];
        let size = frame.len() - headers;
        let packet = place.len() - OFFLOAD_HEADER - ETHERNET_HEADER + size;
        if run.closed
            || headers != run.headers
            || !(1..=run.size).contains(&size)
            || run.count >= RUN_MAX
            || packet > PACKET_MAX
            || !follows(first, &frame[..headers], run.count)
        {
            return false;
        }
        self.bytes.extend_from_slice(&frame[headers..]);
        place.end = self.bytes.len();
        run.count += 1;
        run.closed = size < run.size;
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent == self.messages.len()
    }

    /// Whether the oldest message that waits is a superframe.
    pub(super) fn begins_with_superframe(&self) -> bool {
        let header = self.messages.get(self.sent).and_then(|message| self.bytes.get(message.place.clone()));
        let header = header.and_then(|message| message.first_chunk());
        header.is_some_and(|header| Offload::decode(header).is_superframe())
    }

    /// The messages that wait, oldest first, with their headers complete.
    pub(super) fn messages(&mut self) -> impl Iterator<Item = &[u8]> {
        self.complete();
        self.messages[self.sent..].iter().map(|message| &self.bytes[message.place.clone()])
    }

    /// Writes the headers of runs, which ends them.
    fn complete(&mut self) {
        for message in &mut self.messages[self.sent..] {
            if let Some(run) = message.run.take()
                && run.count > 1
            {
                write_headers(&mut self.bytes[message.place.clone()], run);
            }
        }
    }

    /// The oldest `count` messages have gone.
    pub(super) fn sent(&mut self, count: usize) {
        self.sent += count;
        if self.is_empty() {
            self.clear();
        }
    }

    /// Makes no more superframes, and of those that wait the datagrams that they were: for a kernel that knows none.
    pub(super) fn unmerge(&mut self) {
        self.complete();
        self.merges = false;
        let mut whole = Self { merges: false, ..Self::new() };
        for message in &self.messages[self.sent..] {
            let message = &mut self.bytes[message.place.clone()];
            let Some((header, frame)) = message.split_first_chunk_mut() else { continue };
            let offload = Offload::decode(header);
            if let Some(mut cut) = Cut::new(frame, &offload) {
                while let Some(place) = cut.next(frame) {
                    whole.append(&frame[place], None);
                }
            } else {
                whole.append(frame, None);
            }
        }
        *self = whole;
    }

    fn append(&mut self, frame: &[u8], run: Option<Run>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; OFFLOAD_HEADER]);
        self.bytes.extend_from_slice(frame);
        self.messages.push(Message { place: start..self.bytes.len(), run });
    }

    /// Throws away what waits.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.messages.clear();
        self.sent = 0;
    }
}

/// Bytes of all headers, if the frame is a UDP datagram that may be part of a run: untagged, without options, whole,
/// with lengths and IP checksum right and without a checksum of its own. A run would put these right where they are
/// wrong on purpose.
fn datagram(frame: &[u8]) -> Option<usize> {
    let (ethernet, packet) = frame.split_first_chunk::<ETHERNET_HEADER>()?;
    let (header, udp) = match ethernet[12..] {
        [0x08, 0x00] => {
            let (header, udp) = packet.split_first_chunk::<20>()?;
            let [0x45, _, l0, l1, _, _, f0, f1, _, UDP, ..] = *header else { return None };
            let whole = u16::from_be_bytes([f0, f1]) & 0x3fff == 0;
            let right = usize::from(u16::from_be_bytes([l0, l1])) == packet.len()
                && checksum::fold(checksum::sum(header)) == 0xffff;
            (whole && right).then_some((&header[..], udp))?
        }
        [0x86, 0xdd] => {
            let (header, udp) = packet.split_first_chunk::<40>()?;
            let [v, _, _, _, l0, l1, UDP, ..] = *header else { return None };
            let right = v >> 4 == 6 && usize::from(u16::from_be_bytes([l0, l1])) == udp.len();
            right.then_some((&header[..], udp))?
        }
        _ => return None,
    };
    let [_, _, _, _, l0, l1, 0, 0, ..] = *udp else { return None };
    let headers = ETHERNET_HEADER + header.len() + UDP_HEADER;
    (usize::from(u16::from_be_bytes([l0, l1])) == udp.len()).then_some(headers)
}

/// Whether a datagram's headers are those of the `count`-th behind the first one of its run: the same but for lengths
/// and checksums, and with IPv4's identifications counting on, which is how a run is numbered when it is cut.
fn follows(first: &[u8], next: &[u8], count: usize) -> bool {
    if first.len() != next.len() {
        return false;
    }
    // The UDP header: ports.
    let ports = first.len() - UDP_HEADER..first.len() - 4;
    if first[..16] != next[..16] || first[ports.clone()] != next[ports.clone()] {
        return false;
    }
    if next[12..14] == [0x08, 0x00] {
        let identification = |header: &[u8]| u16::from_be_bytes([header[18], header[19]]);
        identification(first).wrapping_add(count as u16) == identification(next)
            && first[20..24] == next[20..24]
            && first[26..34] == next[26..34]
    } else {
        first[16..18] == next[16..18] && first[20..54] == next[20..54]
    }
}

/// Writes the virtio header of a superframe, and lengths and sums that are those of all of it.
fn write_headers(message: &mut [u8], run: Run) {
    let (header, frame) = message.split_at_mut(OFFLOAD_HEADER);
    header.copy_from_slice(&Offload::of_datagrams(run.headers, run.size));
    let packet = &mut frame[ETHERNET_HEADER..];
    let length = packet.len();
    let addresses = if packet[0] >> 4 == 4 {
        put(packet, 2, length as u16);
        put(packet, 10, 0);
        let sum = checksum::complete(checksum::sum(&packet[..20]));
        put(packet, 10, sum);
        12..20
    } else {
        put(packet, 4, (length - 40) as u16);
        8..40
    };
    let udp = addresses.end;
    put(packet, udp + 4, (length - udp) as u16);
    let pseudo = checksum::sum(&packet[addresses]) + u64::from(UDP) + (length - udp) as u64;
    put(packet, udp + 6, checksum::fold(pseudo));
}

#[cfg(test)]
mod tests;
