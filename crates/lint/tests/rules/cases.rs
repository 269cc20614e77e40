//! One packet of a conversation changed, and the rules that it breaks.

use rdmalab_craft::wire::{self, Carrier, Ecn, NakCode, PKey, Psn, TransportKind};
use rdmalab_craft::{Checksum, Payload};
use rdmalab_lint::RuleId;

use super::conversations::*;
use super::talk::Said;

/// A conversation that no rule finds fault with, and what to change in one packet of it.
pub struct Case {
    pub rule: RuleId,
    /// Rules that the same change breaks, too.
    pub others: &'static [RuleId],
    pub clean: &'static str,
    /// What is changed, for the table.
    pub what: &'static str,
    /// Which packet, counted from 0.
    pub packet: usize,
    pub change: Change,
}

/// What happens to the packet.
pub enum Change {
    Alter(fn(&mut Said)),
    /// It is not in the capture.
    Miss,
    /// It comes once more, so many packets later, altered.
    Again(usize, fn(&mut Said)),
}

use Change::{Again, Alter, Miss};

/// Packets of the conversation that begins with "connect": REQ, REP, RTU.
const CALL: usize = 3;

const fn case(
    rule: RuleId,
    others: &'static [RuleId],
    clean: &'static str,
    what: &'static str,
    packet: usize,
    change: Change,
) -> Case {
    Case { rule, others, clean, what, packet, change }
}

fn opcode(said: &mut Said, operation: u8) {
    said.packet.opcode = TransportKind::Rc.opcode(operation);
}

fn aeth(said: &mut Said, syndrome: wire::Syndrome, msn: u32) {
    said.packet.headers.aeth = Some(wire::Aeth { syndrome, msn: wire::Msn::new(msn) });
}

fn cut_to(said: &mut Said, length: usize) {
    said.packet.payload = Payload::of(&said.payload()[..length]);
}

/// All of them.
pub fn cases() -> Vec<Case> {
    use RuleId::*;
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
            &[AckUnseen, MissingRequests],
            ORDINARY,
            "an opcode that does not exist",
            CALL + 4,
            Alter(|said| opcode(said, 0x1f)),
        ),
        case(
            PadCount,
            &[AckUnseen, MissingRequests],
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
            &[AckUnseen, MissingRequests],
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
        case(MissingRequests, &[AckUnseen], ORDINARY, "a SEND is missing", CALL + 4, Miss),
        case(RepeatHeader, &[], LOST, "the repeated LAST is an ONLY", 8, Alter(|said| opcode(said, 0x05))),
        case(
            RepeatPayload,
            &[],
            LOST,
            "the repeated SEND has another payload",
            8,
            Alter(Said::change_payload),
        ),
        case(
            ReadRetry,
            &[],
            READ_AGAIN,
            "the rest of a READ is asked for at the first address",
            4,
            Alter(|said| {
                said.packet.headers.reth.as_mut().unwrap().virtual_address = 0x1000;
            }),
        ),
        case(
            RestartPoint,
            &[],
            LOST,
            "the NAK names another packet",
            5,
            Alter(|said| said.packet.bth.psn = Psn::new(0)),
        ),
        case(
            RnrWait,
            &[],
            NOT_READY,
            "it comes again after 4 us, not 2 ms",
            4,
            Alter(|said| said.time = 8_000),
        ),
        case(RetryLimit, &[], PATIENT, "the answer between is of what was answered before", 7, Miss),
        case(
            Outstanding,
            &[],
            READS_AT_ONCE,
            "the REP allows no READs",
            1,
            Alter(|said| said.change_mad(24 + 24, 0)),
        ),
        case(
            Credits,
            &[],
            CREDITED,
            "one credit less",
            1,
            Alter(|said| {
                aeth(said, wire::Syndrome::Ack { credits: 1 }, 1);
            }),
        ),
        case(
            AckUnsent,
            &[],
            ORDINARY,
            "a ghost's PSN",
            CALL + 3,
            Alter(|said| said.packet.bth.psn = Psn::new(40)),
        ),
        case(AckUnseen, &[MissingRequests], SENDS, "a SEND is missing, and acknowledged", 1, Miss),
        case(
            AckBack,
            &[],
            SENDS,
            "the last acknowledgement names the first PSN",
            5,
            Alter(|said| {
                said.packet.bth.psn = Psn::new(0);
            }),
        ),
        case(
            NakOnce,
            &[],
            LOST,
            "the NAK comes once more",
            5,
            Again(0, |said| {
                let Carrier::RoceV2Ipv4(ip, _) = &mut said.packet.carrier else { panic!("IPv4") };
                ip.identification += 1000;
            }),
        ),
        case(
            NakGap,
            &[],
            SENDS,
            "a NAK for the last packet",
            5,
            Alter(|said| {
                aeth(said, wire::Syndrome::Nak(NakCode::PsnSequenceError), 2);
            }),
        ),
        case(
            Msn,
            &[],
            SENDS,
            "the MSN counts one too many",
            4,
            Alter(|said| {
                said.packet.headers.aeth.as_mut().unwrap().msn = wire::Msn::new(7);
            }),
        ),
        case(
            ResponseKind,
            &[],
            SENDS,
            "a SEND is answered by a READ response",
            4,
            Alter(|said| opcode(said, 0x10)),
        ),
        case(
            ReadOrder,
            &[],
            ORDINARY,
            "a READ's answer has a LAST in its middle",
            CALL + 10,
            Alter(|said| {
                opcode(said, 0x0f);
                aeth(said, wire::Syndrome::ACK, 4);
            }),
        ),
        case(
            ReadLength,
            &[],
            ORDINARY,
            "a READ's answer ends too soon",
            CALL + 11,
            Alter(|said| cut_to(said, 400)),
        ),
        case(
            ReadStart,
            &[],
            READ_AGAIN,
            "the rest of a READ begins with MIDDLE",
            5,
            Alter(|said| {
                opcode(said, 0x0e);
                said.packet.headers.aeth = None;
            }),
        ),
        case(
            AckRead,
            &[],
            READS_AT_ONCE,
            "a READ is acknowledged",
            CALL + 1,
            Alter(|said| {
                opcode(said, 0x11);
                said.packet.payload = Payload::EMPTY;
            }),
        ),
        case(
            AtomicReplay,
            &[],
            ATOMIC_AGAIN,
            "the replay has another value",
            3,
            Alter(|said| {
                said.packet.headers.atomic_ack_eth.as_mut().unwrap().original = 46;
            }),
        ),
        case(
            AfterError,
            &[],
            SENDS,
            "an acknowledgement turns into a refusal",
            4,
            Alter(|said| {
                aeth(said, wire::Syndrome::Nak(NakCode::InvalidRequest), 1);
            }),
        ),
        case(
            CnpForm,
            &[],
            CONGESTED,
            "a notification without BECN",
            2,
            Alter(|said| said.packet.bth.becn = false),
        ),
        case(
            CnpUnprovoked,
            &[],
            CONGESTED,
            "the packet was not marked",
            0,
            Alter(|said| {
                let Carrier::RoceV2Ipv4(ip, _) = &mut said.packet.carrier else { panic!("IPv4") };
                ip.ecn = Ecn::Ect0;
            }),
        ),
        case(CmForm, &[], CALLED_TWICE, "class version 1", 1, Alter(|said| said.change_mad(2, 1))),
        case(
            CmRepeat,
            &[],
            CALLED_TWICE,
            "the REQ comes again with another retry count",
            0,
            Again(0, |said| {
                said.change_mad(24 + 47, 0x01);
            }),
        ),
        case(
            CmAnswer,
            &[],
            CALLED_TWICE,
            "the REP names another connection",
            1,
            Alter(|said| {
                said.change_mad(24 + 4, 0xee);
            }),
        ),
        case(
            CmDepth,
            &[],
            CALLED_TWICE,
            "the REP wants 200 READs at once",
            1,
            Alter(|said| {
                said.change_mad(24 + 25, 200);
            }),
        ),
        case(
            CmPsn,
            &[],
            CALLED_TWICE,
            "the REP says another PSN",
            1,
            Alter(|said| said.change_mad(24 + 20, 0x55)),
        ),
        case(
            SolicitedEvent,
            &[],
            ORDINARY,
            "a WRITE FIRST asks for a solicited event",
            CALL,
            Alter(|said| said.packet.bth.solicited = true),
        ),
        case(
            RnrRetry,
            &[],
            NOT_READY_CALLED,
            "the REP allows no repetition",
            1,
            Alter(|said| said.change_mad(24 + 27, 0)),
        ),
        case(
            CreditsShared,
            &[],
            CREDITED_CALLED,
            "the REP says that receives are shared",
            1,
            Alter(|said| said.change_mad(24 + 27, 0xf0)),
        ),
        case(AckRequest, &[], ASKED, "the second acknowledgement is missing", 3, Miss),
        case(
            CmRejected,
            &[],
            REJECTED,
            "the REP is for the call that was rejected",
            4,
            Alter(|said| said.change_mad(24 + 7, 0x11)),
        ),
        case(
            CmRetries,
            &[],
            CALLED_AGAIN,
            "the REQ comes for the third time",
            1,
            Again(0, |said| {
                said.time += 5_000_000_000;
                let Carrier::RoceV2Ipv4(ip, _) = &mut said.packet.carrier else { panic!("IPv4") };
                ip.identification += 1000;
            }),
        ),
        case(
            CmWait,
            &[],
            CALLED_AGAIN,
            "the REQ comes again after a second",
            1,
            Alter(|said| said.time = 1_000_000_000),
        ),
        case(
            CmService,
            &[],
            FOUND,
            "the service is there and has no queue pair",
            1,
            Alter(|said| said.change_mad(24 + 10, 0)),
        ),
    ]
}
