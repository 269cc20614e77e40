//! Waiting for memory once for many queue pairs, instead of once for each.
//!
//! Of many queue pairs, the one whose turn it is stands in no cache, and work on it would stop at one cache line after the
//! other. A processor that is shown the lines of several queue pairs in one go fetches them side by side. So before
//! packets are taken or queue pairs served, a word of each of their lines is read and thrown away: first of the queue pairs
//! themselves, then of what these point to. Nothing but time depends on it.

use rdmalab_wire::{Bth, Ipv4Header, Ipv6Header, Qpn, UdpHeader};

use super::Endpoint;
use crate::queue_pair::QueuePair;

/// Queue pairs that are served between one look ahead and the next.
const TOGETHER: usize = 16;

impl Endpoint {
    /// Prepares for packets that are about to be handed in, each from its IP header on. They may be anything, and no more
    /// than some dozens. For a back end that has several in hand: with thousands of queue pairs, taking a packet then costs
    /// about half.
    pub fn look_ahead<'a>(&self, packets: impl Iterator<Item = &'a [u8]> + Clone) {
        let queue_pairs = |packets| {
            Iterator::filter_map(packets, addressee).filter_map(|(number, is_response)| {
                Some((self.queue_pairs.get(number.value())?, is_response))
            })
        };
        queue_pairs(packets.clone())
            .for_each(|(queue_pair, is_response)| queue_pair.touch_for_packet(is_response));
        queue_pairs(packets).for_each(|(queue_pair, _)| queue_pair.touch_queues());
    }

    /// Prepares for serving the first of those that may send; says how many.
    pub(super) fn look_ahead_of_ready(&self) -> usize {
        if self.ready.len() > 1 {
            let next =
                || self.ready.iter().take(TOGETHER).filter_map(|&index| self.queue_pairs.at(index as usize));
            next().for_each(QueuePair::touch_for_turn);
            next().for_each(QueuePair::touch_queues);
        }
        TOGETHER
    }
}

/// Whom a packet is for and whether it is a response, if it is a packet at all.
fn addressee(packet: &[u8]) -> Option<(Qpn, bool)> {
    let network = match packet.first()? >> 4 {
        4 => Ipv4Header::LENGTH,
        _ => Ipv6Header::LENGTH,
    };
    let head = packet.get(network + UdpHeader::LENGTH..)?.first_chunk::<{ Bth::LENGTH }>()?;
    let (opcode, bth) = Bth::decode(head);
    Some((bth.destination, opcode.row().is_some_and(|row| !row.is_request)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addressee_is_read_behind_both_network_headers_and_nothing_is_read_of_what_is_cut_short() {
        for (version, network) in [(4, 20), (6, 40)] {
            let mut packet = [0; 40 + 8 + 12];
            packet[0] = version << 4;
            let base = network + 8;
            // An acknowledgement for queue pair 0x123456.
            packet[base] = 0x11;
            packet[base + 5..base + 8].copy_from_slice(&[0x12, 0x34, 0x56]);
            let packet = &packet[..base + 12];
            assert_eq!(addressee(packet), Some((Qpn::new(0x12_3456), true)));
            for length in 0..packet.len() {
                assert_eq!(addressee(&packet[..length]), None, "{length} bytes");
            }
        }
    }
}
