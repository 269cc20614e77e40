//! Puts bytes into frames for the host, and sends them.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use rdmalab_net::Tap;
use rdmalab_sim::{Random, Seed};
use rdmalab_tests::corpus;
use rdmalab_wire::{Bth, Ecn, NetworkHeader, Psn, Qpn, RKey, RawPacket};

use crate::NOBODY;
use crate::witness::Flow;

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 0x66];
const ETHERNET: usize = 14;
const ICRC: usize = 4;
/// The longest packet behind its headers that passes the network.
const LONGEST: usize = 4100;
/// UD SEND_ONLY, and the queue key of general services.
const UD_SEND_ONLY: u8 = 0x64;
const GENERAL_SERVICES: [u8; 8] = [0x80, 1, 0, 0, 0, 0, 0, 1];
/// How many frames go out between two rests: a host that hears nothing else shows nothing.
const AT_ONCE: u64 = 32;
const REST: Duration = Duration::from_millis(1);

pub struct Thrower {
    tap: Tap,
    mac: [u8; 6],
    target: Ipv4Addr,
    random: Random,
    thrown: u64,
}

impl Thrower {
    pub fn open(tap: &str, target: Ipv4Addr, seed: Seed) -> Result<Self, String> {
        let tap = Tap::open(tap).map_err(|error| error.to_string())?;
        // As an emulated host makes its own.
        let [a, b, c, d] = target.octets();
        Ok(Self { tap, mac: [2, 0, a, b, c, d], target, random: seed.random(), thrown: 0 })
    }

    pub fn thrown(&self) -> u64 {
        self.thrown
    }

    /// Everything that fuzzing kept: as a frame, as an IP packet, behind a UDP header, as an InfiniBand packet for a queue
    /// pair at work, and as messages to the general services.
    pub fn corpora(&mut self, own: Ipv4Addr, flows: &[Flow]) -> Result<(), String> {
        for (number, (_, bytes)) in corpus::TARGETS.into_iter().flat_map(corpus::files).enumerate() {
            let bytes = bytes.get(..LONGEST).unwrap_or(&bytes);
            self.frame(bytes.get(ETHERNET - 2..).unwrap_or(bytes))?;
            self.frame(&[&[8, 0], bytes].concat())?;
            self.udp(own, bytes)?;
            let flow = flows.get(number % flows.len().max(1)).unwrap_or(&NOBODY);
            let mut packet = bytes.to_vec();
            packet.resize(packet.len().max(Bth::LENGTH).next_multiple_of(4), 0);
            packet[5..8].copy_from_slice(&flow.queue_pair.to_be_bytes()[1..]);
            self.roce(own, &packet)?;
            for message in bytes.chunks(256).take(16) {
                let mut packet = Bth::new(Qpn::GSI, Psn::new(number as u32))
                    .encode(rdmalab_wire::Opcode(UD_SEND_ONLY))
                    .to_vec();
                packet.extend(GENERAL_SERVICES);
                packet.extend_from_slice(message);
                packet.resize(12 + 8 + 256, 0);
                self.roce(own, &packet)?;
            }
        }
        Ok(())
    }

    /// A packet of a capture, made out to a queue pair of the host's, near where that is, with a key that it knows.
    pub fn packet(&mut self, from: Ipv4Addr, packet: &[u8], flow: &Flow) -> Result<(), String> {
        let mut raw = RawPacket::parse(packet);
        if let Some(bth) = &mut raw.bth {
            bth.destination = Qpn::new(flow.queue_pair);
            let ahead = match self.random.below(4) {
                0 => self.random.number() as u32,
                1 => self.random.below(256) as u32,
                _ => (self.random.below(8) as u32).wrapping_sub(4),
            };
            bth.psn = Psn::new(flow.psn.wrapping_add(ahead) & 0xff_ffff);
        }
        let address = flow.address.wrapping_add(self.random.below(1 << 20)).wrapping_sub(1 << 19);
        if let Some(reth) = &mut raw.headers.reth
            && self.random.below(4) > 0
        {
            (reth.key, reth.virtual_address) = (RKey::new(flow.key), address);
        }
        if let Some(atomic) = &mut raw.headers.atomic_eth {
            (atomic.key, atomic.virtual_address) = (RKey::new(flow.key), address & !7);
        }
        if let Some(ieth) = &mut raw.headers.ieth {
            ieth.key = RKey::new(flow.key);
        }
        let mut bytes = vec![0; packet.len()];
        raw.encode(&mut bytes).map_err(|error| error.to_string())?;
        self.roce(from, &bytes)
    }

    /// An InfiniBand packet, with the right ICRC.
    fn roce(&mut self, from: Ipv4Addr, ib: &[u8]) -> Result<(), String> {
        let port = 0xc000 | self.random.below(1 << 14) as u16;
        let header = NetworkHeader::new(IpAddr::V4(from), IpAddr::V4(self.target), port, 0, Ecn::NotEct, 64)
            .ok_or("both addresses are of one family")?;
        let mut packet = vec![0; header.length()];
        packet.extend_from_slice(ib.get(..LONGEST).unwrap_or(ib));
        packet.resize(packet.len() + ICRC, 0);
        header.finish(&mut packet, self.random.number() as u16).map_err(|error| error.to_string())?;
        self.frame(&[&[8, 0], &packet[..]].concat())
    }

    /// Bytes for the UDP port, whatever they are.
    fn udp(&mut self, from: Ipv4Addr, bytes: &[u8]) -> Result<(), String> {
        // A header for a packet with an ICRC, which the bytes' own end stands in for.
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().max(Bth::LENGTH + ICRC), 0);
        let icrc = padded.split_off(padded.len() - ICRC);
        let header =
            NetworkHeader::new(IpAddr::V4(from), IpAddr::V4(self.target), 0xc001, 0, Ecn::NotEct, 64)
                .ok_or("both addresses are of one family")?;
        let mut packet = vec![0; header.length()];
        packet.append(&mut padded);
        packet.resize(packet.len() + ICRC, 0);
        header.finish(&mut packet, 0).map_err(|error| error.to_string())?;
        let end = packet.len() - ICRC;
        packet[end..].copy_from_slice(&icrc);
        self.frame(&[&[8, 0], &packet[..]].concat())
    }

    /// A frame from its type on.
    fn frame(&mut self, from_type: &[u8]) -> Result<(), String> {
        let mut frame = [self.mac, MAC].concat();
        frame.extend_from_slice(from_type);
        frame.resize(frame.len().max(60), 0);
        if self.tap.send(&frame).map_err(|error| error.to_string())? {
            self.thrown += 1;
        }
        if self.thrown.is_multiple_of(AT_ONCE) {
            std::thread::sleep(REST);
        }
        Ok(())
    }
}
