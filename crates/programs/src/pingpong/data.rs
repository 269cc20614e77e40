//! What is in the messages.
//!
//! The real client sends a buffer full of one byte ([`Kind::fill`]), with a zero at the start of each page where it is told
//! to check (`-c`), and the real server, told so, looks at just those zeros. Each side then sends on what it received. So
//! our client may put anything into the other bytes, different in each round, and expect it back.
//!
//! [`Kind::fill`]: super::Kind::fill

const PAGE: usize = 4096;

/// Puts what a client sends in a round into `message`.
pub(super) fn client(round: u32, check: bool, message: &mut [u8]) {
    let mut state = round.wrapping_mul(0x9e37_79b1) | 1;
    for byte in message.iter_mut() {
        // xorshift: no two bytes of a message can change places unseen.
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        *byte = state as u8;
    }
    mark(check, message);
}

fn mark(check: bool, message: &mut [u8]) {
    if check {
        message.iter_mut().step_by(PAGE).for_each(|byte| *byte = 0);
    }
}

/// The first byte in which two messages differ: its offset, what was found, what was expected.
pub(super) fn first_difference(found: &[u8], expected: &[u8]) -> Option<(usize, u8, u8)> {
    let mut pairs = found.iter().zip(expected).enumerate();
    pairs
        .find(|(_, (found, expected))| found != expected)
        .map(|(offset, (&found, &expected))| (offset, found, expected))
}

/// The first wrong byte of what a client sent in a round. The client is ours, or the real program with its `fill`; whether
/// it was told to check shows only in the bytes at the starts of pages, which therefore count only if we were told so too.
pub(super) fn judge_client(round: u32, check: bool, fill: u8, message: &[u8]) -> Option<(usize, u8, u8)> {
    let mut found = message.to_vec();
    if !check {
        mark(true, &mut found);
    }
    let mut expected = vec![0; message.len()];
    client(round, true, &mut expected);
    if found == expected {
        return None;
    }
    expected.fill(fill);
    mark(true, &mut expected);
    first_difference(&found, &expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILL: u8 = 0x7b;

    #[test]
    fn rounds_differ_and_are_told_apart() {
        let (mut first, mut second) = (vec![0; 10_000], vec![0; 10_000]);
        client(0, true, &mut first);
        client(1, true, &mut second);
        assert_eq!(judge_client(0, true, FILL, &first), None);
        assert_eq!(judge_client(1, true, FILL, &second), None);
        assert!(judge_client(1, true, FILL, &first).is_some());
    }

    #[test]
    fn the_real_client_is_recognised_in_every_round() {
        let mut message = vec![FILL; 10_000];
        assert_eq!(judge_client(5, false, FILL, &message), None, "without -c");
        assert_eq!(judge_client(5, true, FILL, &message), Some((0, FILL, 0)), "with -c on our side only");
        for page in [0, 4096, 8192] {
            message[page] = 0;
        }
        assert_eq!(judge_client(7, true, FILL, &message), None, "with -c");
        message[9_999] = 0;
        assert_eq!(judge_client(7, true, FILL, &message), Some((9_999, 0, FILL)));
        assert_eq!(judge_client(7, true, 0, &[0; 5000]), None, "another fill");
    }
}
