//! What ends a connection: the captures in which siw was asked what no well-behaved peer asks. Our queue pair in siw's place,
//! as responder, hears the same segments, and must end the connection where siw did and say the same reason, or the difference
//! stands here with its own.

use std::sync::Arc;

use rdmalab_iwarp::{
    Event, Identity, Negotiated, Profile, QueuePair, QueuePairConfig, Role, StreamSettings, TerminatedBy,
};
use rdmalab_verbs::{Access, Capabilities, Context, HeapMemory, ReceiveRequest, Sge};
use rdmalab_wire::Qpn;
use rdmalab_wire::iwarp::{FpduEncoder, Framing, Opcode, TerminateError};

use crate::capture::{Conversation, Said, What, conversations};

/// Bytes of each receive that the probe had siw post, and how many there were at least.
const RECEIVE: u32 = 64;
const RECEIVES: usize = 6;

/// siw's reason, by the frame of its TERMINATE. It has the halves of the first byte the other way round.
fn siws(said: &[Said]) -> Option<(u64, TerminateError)> {
    let is_terminate = |said: &&Said| said.header().is_some_and(|header| header.opcode == Opcode::TERMINATE);
    let said = said.iter().filter(|said| said.by == Role::Responder).find(is_terminate)?;
    let [kind, code] = *said.payload().first_chunk()?;
    Some((said.frame, TerminateError { layer: kind & 0x0f, error_type: kind >> 4, code }))
}

/// Ours.
fn ours(conversation: &Conversation) -> Option<TerminateError> {
    let mut context = Context::default();
    let domain = context.allocate_protection_domain().unwrap();
    let completions = context.create_completion_queue(64).unwrap();
    let memory = Arc::new(HeapMemory::new(RECEIVE as usize));
    let key = context.register(domain, 0, memory, Access::LOCAL_WRITE).unwrap();
    let config = QueuePairConfig::new(domain, completions, Capabilities::default());
    let identity = Identity { number: Qpn::new(0x11), accessor: 1 };
    let mut queue_pair = QueuePair::new(&mut context, identity, &config).unwrap();
    let elements = [Sge { address: 0, length: RECEIVE, key }];
    for _ in 0..RECEIVES {
        queue_pair.post_receive(&mut context, &ReceiveRequest { id: 0, elements: &elements }).unwrap();
    }
    let negotiated = Negotiated {
        role: Role::Responder,
        revision: 2,
        crc: false,
        send_markers: false,
        receive_markers: false,
        ird: 4,
        ord: 4,
        ready_to_receive: None,
    };
    queue_pair.establish(&context, &negotiated, &StreamSettings::of(&Profile::SIW, 1448)).unwrap();
    let mut encoder = FpduEncoder::new(Framing::default());
    for said in conversation.said.iter().filter(|said| said.by == Role::Initiator) {
        let What::Segment { ulpdu, .. } = &said.what else { continue };
        let mut fpdu = vec![0; ulpdu.len() + 16];
        let length = encoder.encode(&[ulpdu], &mut fpdu).unwrap();
        queue_pair.handle_bytes(&mut context, &fpdu[..length]);
    }
    std::iter::from_fn(|| queue_pair.poll_event()).find_map(|event| match event {
        Event::Terminated { by: TerminatedBy::Us, error } => Some(error),
        _ => None,
    })
}

/// Compares the reasons in all conversations of a capture. `differences` are those where they are not the same, by the frame of siw's
/// TERMINATE (0 if there is none), with siw's and ours.
#[track_caller]
fn expect_the_same(name: &str, conversations_expected: usize, differences: &[(u64, &str, &str)]) {
    let name_of = |error: Option<TerminateError>| error.map_or("none".to_owned(), |error| error.to_string());
    let all = conversations(&format!("siw/{name}"));
    assert_eq!(all.len(), conversations_expected, "{name}");
    let mut found = Vec::new();
    for conversation in &all {
        let (siws, ours) = (siws(&conversation.said), ours(conversation));
        if siws.map(|(_, error)| error) != ours {
            let frame = siws.map_or(0, |(frame, _)| frame);
            found.push((frame, name_of(siws.map(|(_, error)| error)), name_of(ours)));
        }
    }
    let found: Vec<_> =
        found.iter().map(|(frame, siws, ours)| (*frame, siws.as_str(), ours.as_str())).collect();
    assert_eq!(found, differences, "{name}: siw's reason, and ours");
}

#[test]
fn headers_that_are_wrong_are_refused_for_the_same_reason_as_by_siw() {
    let differences = [
        // A SEND in a queue that there is, for something else: either may be told.
        (109, "ddp_invalid_queue", "rdmap_unexpected_opcode"),
        (135, "ddp_invalid_queue", "rdmap_unexpected_opcode"),
        // A READ request in queue 0: siw carries it out.
        (0, "none", "rdmap_unexpected_opcode"),
        // A tagged SEND and an untagged WRITE: siw does not look at the bit, and reads the header of the other kind.
        (164, "ddp_msn_range", "rdmap_unexpected_opcode"),
        (177, "ddp_invalid_stag", "rdmap_unexpected_opcode"),
        // An FPDU without a ULPDU: siw reads the next one from the wrong place.
        (232, "ddp_untagged_version", "rdmap_operation_unspecified"),
        // A ULPDU that is shorter than its header, for which the RFCs have no error.
        (247, "mpa_marker", "rdmap_operation_unspecified"),
    ];
    expect_the_same("headers", 20, &differences);
}

#[test]
fn opcodes_that_are_not_known_are_refused_as_by_siw() {
    expect_the_same("opcodes", 16, &[]);
    expect_the_same("rfc7306", 4, &[]);
}

#[test]
fn sends_are_refused_for_the_same_reason_as_by_siw() {
    let differences = [
        // A second segment with another opcode: siw closes without a word.
        (0, "none", "rdmap_unexpected_opcode"),
        // A message that is longer than its receive (RFC 5041 §8.2).
        (113, "ddp_no_buffer", "ddp_message_too_long"),
    ];
    expect_the_same("sends", 7, &differences);
}
