//! What the five-bit codes for time and credits stand for. The tables are the specification's; the values
//! are those every verbs manual lists.

/// Receiver-not-ready timer in microseconds, by code. Code 0 is the longest.
const RNR_MICROSECONDS: [u32; 32] = [
    655_360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1_280, 1_920, 2_560, 3_840, 5_120,
    7_680, 10_240, 15_360, 20_480, 30_720, 40_960, 61_440, 81_920, 122_880, 163_840, 245_760, 327_680,
    491_520,
];

/// Credits by code, 31 left out: it stands for none.
const CREDITS: [u32; 31] = [
    0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024, 1_536, 2_048,
    3_072, 4_096, 6_144, 8_192, 12_288, 16_384, 24_576, 32_768,
];

/// How long a requester waits after a receiver-not-ready NAK with this timer code, in nanoseconds. Only the
/// low five bits of `code` count.
pub const fn rnr_timer_nanoseconds(code: u8) -> u64 {
    RNR_MICROSECONDS[(code & 0x1f) as usize] as u64 * 1_000
}

/// How long a requester waits for an acknowledgement, in nanoseconds: 4.096 µs times two to the power of
/// `code`, of which only the low five bits count. `None` for code 0, which means that it waits for ever.
pub const fn ack_timeout_nanoseconds(code: u8) -> Option<u64> {
    match code & 0x1f {
        0 => None,
        exponent => Some(4_096 << exponent),
    }
}

/// How many messages the requester may have outstanding, by the low five bits of an acknowledgement's
/// credit code. `None` for code 31: the responder hands out no credits.
pub const fn credits_from_code(code: u8) -> Option<u32> {
    let index = (code & 0x1f) as usize;
    if index < CREDITS.len() { Some(CREDITS[index]) } else { None }
}

/// The code of the largest number of credits that is not above `credits`.
pub const fn credits_to_code(credits: u32) -> u8 {
    let mut code = CREDITS.len() - 1;
    while CREDITS[code] > credits {
        code -= 1;
    }
    code as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rnr_timer_code_zero_is_the_longest() {
        assert_eq!(rnr_timer_nanoseconds(0), 655_360_000);
        assert_eq!(rnr_timer_nanoseconds(1), 10_000);
        assert_eq!(rnr_timer_nanoseconds(12), 640_000);
        assert_eq!(rnr_timer_nanoseconds(0x19), 61_440_000);
        assert_eq!(rnr_timer_nanoseconds(31), 491_520_000);
        assert_eq!(rnr_timer_nanoseconds(32), rnr_timer_nanoseconds(0));
        assert!((1..32).all(|code| rnr_timer_nanoseconds(code) < rnr_timer_nanoseconds(0)));
        assert!((2..32).all(|code| rnr_timer_nanoseconds(code - 1) < rnr_timer_nanoseconds(code)));
    }

    #[test]
    fn ack_timeout_doubles_with_each_code_and_zero_means_for_ever() {
        assert_eq!(ack_timeout_nanoseconds(0), None);
        assert_eq!(ack_timeout_nanoseconds(1), Some(8_192));
        assert_eq!(ack_timeout_nanoseconds(14), Some(67_108_864));
        assert_eq!(ack_timeout_nanoseconds(31), Some(8_796_093_022_208));
        assert_eq!(ack_timeout_nanoseconds(32), None);
    }

    #[test]
    fn credits_round_down_to_the_next_code() {
        for code in 0..31 {
            let credits = credits_from_code(code).unwrap();
            assert_eq!(credits_to_code(credits), code);
            if code > 0 {
                assert_eq!(credits_to_code(credits - 1), code - 1);
            }
        }
        assert_eq!(credits_from_code(31), None);
        assert_eq!(credits_to_code(5), 4);
        assert_eq!(credits_to_code(u32::MAX), 30);
    }
}
