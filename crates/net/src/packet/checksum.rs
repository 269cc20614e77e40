//! The Internet checksum (RFC 1071), over frames whose sender left it to hardware that is not there.

/// The sum of bytes as big-endian 16-bit words, the last one filled up with zero; not complemented. Sums of several
/// pieces may be added, if all but the last have an even length.
pub(super) fn sum(bytes: &[u8]) -> u64 {
    // Sums of words in the machine's own order come to the same, but for a swap of bytes at the end (RFC 1071 §2 B). In
    // 32 bits compilers add up many at once; so many bytes at a time cannot overflow them.
    const BLOCK: usize = 65_536;
    let mut sum = 0;
    for block in bytes.chunks(BLOCK) {
        let (words, rest) = block.as_chunks::<2>();
        sum += u64::from(words.iter().map(|word| u32::from(u16::from_ne_bytes(*word))).sum::<u32>());
        if let [last] = *rest {
            sum += u64::from(u16::from_ne_bytes([last, 0]));
        }
    }
    u16::from_be_bytes(fold(sum).to_ne_bytes()).into()
}

/// A sum brought down to 16 bits.
pub(super) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// What is written into a packet for this sum. Never zero, which UDP reads as "no checksum" (RFC 768).
pub(super) fn complete(sum: u64) -> u16 {
    match !fold(sum) {
        0 => 0xffff,
        checksum => checksum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_the_rfc_for_every_length_and_alignment() {
        let bytes: Vec<u8> = (0..600_u32).map(|n| (n * n / 7 % 251) as u8 | 0x80).collect();
        for start in 0..8 {
            for end in start..bytes.len() {
                let bytes = &bytes[start..end];
                let by_words: u64 = bytes
                    .chunks(2)
                    .map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)))
                    .sum();
                assert_eq!(fold(sum(bytes)), fold(by_words), "{start}..{end}");
            }
        }
    }

    #[test]
    fn the_largest_words_of_a_whole_superframe_do_not_overflow() {
        assert_eq!(fold(sum(&[0xff; 70_000])), 0xffff);
        assert_eq!(fold(sum(&[0xff; 65_537])), fold(0xff00 + 0xffff * 32_768));
    }

    #[test]
    fn the_example_of_rfc_1071_comes_out() {
        assert_eq!(fold(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), 0xddf2);
        assert_eq!(complete(0xddf2), 0x220d);
        assert_eq!(complete(0xffff), 0xffff, "zero would mean that there is none");
    }
}
