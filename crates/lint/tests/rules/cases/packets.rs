//! A packet alone, and the order of packets in messages.

use rdmalab_craft::Checksum;
use rdmalab_craft::wire::{self, PKey, QKey, TransportKind};
use rdmalab_lint::RuleId::*;

use super::Change::Alter;
use super::{CALL, Case, aeth, case, cut_to, opcode};
use crate::conversations::{FOUND, IPV6, NATIVE, ORDINARY, SENDS};

pub fn cases() -> Vec<Case> {
    vec![
        case(
            Icrc,
            &[],
            ORDINARY,
            "a wrong ICRC",
            CALL + 5,
            Alter(|said| {
                said.packet.exceptions.icrc = Checksum::Wrong;
            }),
        ),
        case(
            Vcrc,
            &[],
            NATIVE,
            "a wrong VCRC",
            1,
            Alter(|said| said.packet.exceptions.vcrc = Checksum::Wrong),
        ),
        case(
            IpChecksum,
            &[],
            ORDINARY,
            "a wrong IP checksum",
            CALL + 5,
            Alter(|said| {
                said.packet.exceptions.ipv4.checksum = Some(rdmalab_craft::Given(0x1234));
            }),
        ),
        case(
            UdpChecksum,
            &[],
            IPV6,
            "a wrong UDP checksum",
            1,
            Alter(|said| {
                said.packet.exceptions.udp.checksum = Some(rdmalab_craft::Given(0x1234));
            }),
        ),
        case(
            Malformed,
            &[],
            ORDINARY,
            "an opcode that does not exist",
            CALL + 4,
            Alter(|said| opcode(said, 0x1f)),
        ),
        case(
            PadCount,
            &[],
            ORDINARY,
            "a pad of no bytes behind 101",
            CALL + 4,
            Alter(|said| {
                said.packet.exceptions.pad = Some(Vec::new());
                said.packet.exceptions.pad_count = Some(0);
            }),
        ),
        case(
            PadZero,
            &[],
            ORDINARY,
            "a pad of ones",
            CALL + 4,
            Alter(|said| {
                said.packet.exceptions.pad = Some(vec![1, 1, 1]);
            }),
        ),
        case(
            PathMtu,
            &[MessageLength],
            ORDINARY,
            "a MIDDLE of 1000 bytes",
            CALL + 1,
            Alter(|said| cut_to(said, 1000)),
        ),
        case(
            HeaderVersion,
            &[],
            ORDINARY,
            "version 1",
            CALL + 4,
            Alter(|said| said.packet.bth.header_version = 1),
        ),
        case(
            ReservedBits,
            &[],
            ORDINARY,
            "a reserved bit",
            CALL + 4,
            Alter(|said| said.packet.bth.reserved_7 = 1),
        ),
        case(
            PartitionKey,
            &[],
            ORDINARY,
            "another partition",
            CALL + 4,
            Alter(|said| {
                said.packet.bth.partition_key = PKey::new(0x8001);
            }),
        ),
        case(
            Transport,
            &[MissingRequests, AckUnseen],
            ORDINARY,
            "a SEND of an unreliable connection",
            CALL + 4,
            Alter(|said| said.packet.opcode = TransportKind::Uc.opcode(0x04)),
        ),
        case(
            QueueKey,
            &[],
            FOUND,
            "a datagram with another queue key than the SIDR_REP told",
            3,
            Alter(|said| said.packet.headers.deth.as_mut().unwrap().queue_key = QKey::new(8)),
        ),
        case(
            Syndrome,
            &[],
            SENDS,
            "a reserved syndrome",
            4,
            Alter(|said| {
                aeth(said, wire::Syndrome::Reserved(0x41), 2);
            }),
        ),
        case(
            ResponseSyndrome,
            &[],
            ORDINARY,
            "a READ's answer that is an RNR NAK",
            CALL + 11,
            Alter(|said| {
                let msn = said.packet.headers.aeth.unwrap().msn.value();
                aeth(said, wire::Syndrome::RnrNak { timer: 3 }, msn);
            }),
        ),
        case(
            AtomicAligned,
            &[],
            ORDINARY,
            "an atomic at an odd address",
            CALL + 12,
            Alter(|said| said.packet.headers.atomic_eth.as_mut().unwrap().virtual_address += 1),
        ),
        case(
            OpcodeOrder,
            &[],
            ORDINARY,
            "a SEND MIDDLE in a WRITE",
            CALL + 1,
            Alter(|said| opcode(said, 0x01)),
        ),
        case(
            MessageLength,
            &[],
            ORDINARY,
            "a LAST of 400 bytes in the place of 452",
            CALL + 2,
            Alter(|said| cut_to(said, 400)),
        ),
        case(
            MessageTooLong,
            &[MessageLength],
            ORDINARY,
            "a RETH with 2^31 + 1 bytes",
            CALL,
            Alter(|said| {
                said.packet.headers.reth.as_mut().unwrap().length = (1 << 31) + 1;
            }),
        ),
        case(
            SolicitedEvent,
            &[],
            ORDINARY,
            "a WRITE FIRST asks for a solicited event",
            CALL,
            Alter(|said| said.packet.bth.solicited = true),
        ),
    ]
}
