//! Management datagrams, judged from outside: by captures of real peers, by Wireshark, by random bytes and by
//! broken ones.

mod captures;
mod fields;
mod lines;
mod round_trips;
mod wireshark;

#[path = "../wire/pcap.rs"]
mod pcap;

use rdmalab_wire::mad::DATA_LENGTH;
use rdmalab_wire::{Datagram, Packet, QKey, Qpn, Transport, roce_v2};

/// All bits of the data of a MAD.
fn data() -> impl proptest::strategy::Strategy<Value = [u8; DATA_LENGTH]> {
    use proptest::prelude::*;
    prop::collection::vec(any::<u8>(), DATA_LENGTH).prop_map(|bytes| bytes.try_into().unwrap())
}

/// The attribute IDs of all messages.
const ATTRIBUTES: std::ops::RangeInclusive<u16> = 0x10..=0x1a;

/// The MADs in a capture of `pcaps/`, each with the number of its frame, the first being 1.
fn mads(name: &str) -> Vec<(usize, Vec<u8>)> {
    let frames = pcap::frames(&format!("{name}.pcap"));
    let mads = frames.iter().enumerate().filter_map(|(index, frame)| {
        let packet = Packet::parse(Datagram::parse(roce_v2(frame)?).ok()?.ib).ok()?;
        let Transport::Ud(deth) = packet.transport else { return None };
        if packet.bth.destination != Qpn::GSI {
            return None;
        }
        assert_eq!((deth.queue_key, deth.source), (QKey::GSI, Qpn::GSI));
        Some((index + 1, packet.payload.to_vec()))
    });
    mads.collect()
}
