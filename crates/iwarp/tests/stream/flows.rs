//! Damage, and the end of the stream, at every byte of a conversation.
//!
//! Rule: mpa-crc-any-byte: With CRCs, a byte that is wrong anywhere in the stream delivers nothing wrong (RFC 5044 §4.4).
//! Rule: mpa-lost-anywhere: A stream that is lost anywhere completes each request once (RFC 5044 §7.2).

use rdmalab_iwarp::End;
use rdmalab_verbs::{CompletionStatus, Operation, SendFlags, SendRequest, State};

use crate::side::{Setup, Side, pattern};

const MESSAGES: usize = 4;
const LENGTH: usize = 700;

/// A stream of SENDs, as the sender has it, and where each ends.
fn stream(setup: &Setup) -> (Vec<u8>, Vec<usize>) {
    let mut side = Side::new(setup);
    let (mut stream, mut ends) = (Vec::new(), Vec::new());
    let mut out = vec![0; side.queue_pair.max_fpdu()];
    for at in 0..MESSAGES {
        side.fill(0, &pattern(at, LENGTH));
        let elements = [side.sge(0, LENGTH)];
        let flags = SendFlags::SIGNALED;
        side.post(&SendRequest {
            elements: &elements,
            flags,
            operation: Operation::Send,
            ..Default::default()
        })
        .unwrap();
        loop {
            let length = side.queue_pair.poll_transmit(&mut side.context, &mut out);
            if length == 0 {
                break;
            }
            stream.extend_from_slice(&out[..length]);
        }
        ends.push(stream.len());
    }
    (stream, ends)
}

fn receiver(setup: &Setup) -> Side {
    let mut side = Side::new(&setup.mirrored());
    (0..MESSAGES + 1).for_each(|at| side.receive(at as u64, at * 1000, LENGTH));
    side
}

/// What was received is what was sent, in order, and the rest is flushed, each receive once.
fn check(side: &mut Side) -> usize {
    let completions = side.take_completions();
    let done = completions.iter().take_while(|it| it.status == CompletionStatus::Success).count();
    for (at, completion) in completions.iter().enumerate() {
        assert_eq!(completion.id, at as u64);
        assert_eq!(completion.status == CompletionStatus::Success, at < done, "{completions:?}");
        if at < done {
            assert_eq!(side.bytes(at * 1000, LENGTH), pattern(at, LENGTH));
        }
    }
    assert!(side.queue_pair.state() != State::Err || completions.len() == MESSAGES + 1);
    done
}

#[test]
fn a_byte_that_is_wrong_anywhere_delivers_nothing_wrong() {
    for markers in [false, true] {
        let setup = Setup { segment_size: 300, markers, ..Setup::default() };
        let (good, ends) = stream(&setup);
        for at in 0..good.len() {
            for flip in [0x01, 0x80] {
                let mut bytes = good.clone();
                bytes[at] ^= flip;
                let mut side = receiver(&setup);
                side.queue_pair.handle_bytes(&mut side.context, &bytes);
                // A length that is too long may still wait for its end.
                let done = check(&mut side);
                assert_eq!(done, ends.iter().filter(|end| **end <= at).count(), "byte {at} wrong");
            }
        }
    }
}

#[test]
fn a_stream_that_is_lost_anywhere_completes_each_receive_once() {
    for end in [End::Graceful, End::Abortive] {
        let setup = Setup { segment_size: 300, markers: true, ..Setup::default() };
        let (good, ends) = stream(&setup);
        for at in 0..=good.len() {
            let mut side = receiver(&setup);
            side.queue_pair.handle_bytes(&mut side.context, &good[..at]);
            side.queue_pair.handle_end(&mut side.context, end);
            assert_eq!(side.queue_pair.state(), State::Err);
            assert_eq!(check(&mut side), ends.iter().filter(|end| **end <= at).count());
        }
    }
}
