//! Our end of the wire: a TAP device, on which packets go out as they are, and what comes for us is told by time.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use rdmalab_net::{FRAME_CAPACITY, Interest, Poller, Tap};
use rdmalab_wire::{Ecn, Frame, NetworkHeader, Qpn, RawPacket};

use crate::packets::Crafted;

/// Our address, which nobody else answers for: the guest has a fixed neighbour entry.
pub const OURS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
/// Our Ethernet address.
pub const MAC: [u8; 6] = [2, 0, 0, 0, 0, 0x77];
/// The guest's address.
pub const GUEST: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
/// What the harness makes of it.
const GUEST_MAC: [u8; 6] = [2, 0, 10, 9, 0, 1];
const ETHERNET: usize = 14;
const ICRC: usize = 4;

pub struct Cable {
    tap: Tap,
    poller: Poller,
    header: NetworkHeader,
    identification: u16,
    buffer: Vec<u8>,
}

/// Which ICRC a packet gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sum {
    Right,
    Wrong,
    /// That of all bytes, and then of those from the base header to the end once more, as they are.
    Twice,
}

/// A packet that came for our queue pair.
#[derive(Debug)]
pub struct Heard {
    /// When it was taken from the device.
    pub at: Instant,
    pub psn: u32,
    /// All behind the base header but the ICRC.
    pub rest: Vec<u8>,
    /// As `dump` writes it.
    pub line: String,
}

impl Cable {
    pub fn open(name: &str) -> Result<Self, String> {
        let tap = Tap::open(name).map_err(|error| error.to_string())?;
        let header = NetworkHeader::new(IpAddr::V4(OURS), IpAddr::V4(GUEST), 0xc123, 0, Ecn::NotEct, 64);
        Ok(Self {
            tap,
            poller: Poller::new().map_err(|error| error.to_string())?,
            header: header.ok_or("both addresses are of one family")?,
            identification: 0,
            buffer: vec![0; FRAME_CAPACITY],
        })
    }

    /// Sends a packet to queue pair `to`. When it went, and how `dump` writes it.
    pub fn send(&mut self, to: Qpn, packet: &Crafted, sum: Sum) -> Result<(Instant, String), String> {
        let ib = packet.encode(to);
        let mut frame = [GUEST_MAC, MAC].concat();
        frame.extend([0x08, 0x00]);
        frame.resize(ETHERNET + self.header.length(), 0);
        frame.extend_from_slice(&ib);
        frame.resize(frame.len() + ICRC, 0);
        self.identification = self.identification.wrapping_add(1);
        self.header.finish(&mut frame[ETHERNET..], self.identification).map_err(|error| error.to_string())?;
        let mut line = RawPacket::parse(&frame[ETHERNET + self.header.length()..]).to_string();
        if let (Some(icrc), true) = (frame.last_chunk_mut::<ICRC>(), sum != Sum::Right) {
            line += " (the ICRC is not the right one)";
            let right = u32::from_le_bytes(*icrc);
            *icrc = if sum == Sum::Twice { continued(right, &ib) } else { right ^ 1 }.to_le_bytes();
        }
        let now = Instant::now();
        if !self.tap.send(&frame).map_err(|error| error.to_string())? {
            return Err("the TAP device takes no frame".into());
        }
        Ok((now, line))
    }

    /// The next packet for queue pair `ours` that comes before `deadline`.
    pub fn hear(&mut self, ours: Qpn, deadline: Instant) -> Result<Option<Heard>, String> {
        loop {
            while let Some(length) = self.tap.receive(&mut self.buffer).map_err(|error| error.to_string())? {
                let at = Instant::now();
                let heard = self.buffer.get(..length).and_then(|frame| read(frame, at));
                if let Some((_, heard)) = heard.filter(|(to, _)| *to == ours) {
                    return Ok(Some(heard));
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let wait = left.max(Duration::from_micros(1));
            self.poller.wait(&self.tap, Interest::Read, Some(wait)).map_err(|error| error.to_string())?;
        }
    }
}

fn read(frame: &[u8], at: Instant) -> Option<(Qpn, Heard)> {
    let network = Frame::parse(frame).ok()?;
    let datagram = rdmalab_wire::Datagram::parse(network.network).ok()?;
    let (ib, found) = (datagram.ib, datagram.icrc_found());
    let covered = ib.get(..ib.len().checked_sub(ICRC)?)?;
    let sum = match datagram.icrc_expected() {
        right if right == found => "",
        right if continued(right, covered) == found => " (the ICRC covers it twice)",
        _ => " (the ICRC is wrong)",
    };
    let raw = RawPacket::parse(ib);
    let bth = raw.bth?;
    let rest = covered.get(rdmalab_wire::Bth::LENGTH..)?.to_vec();
    let heard = Heard { at, psn: bth.psn.value(), rest, line: format!("{raw}{sum}") };
    Some((bth.destination, heard))
}

/// The CRC-32 of what has the sum `sum` and `bytes` behind it.
fn continued(sum: u32, bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!sum, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| sum >> 1 ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}
