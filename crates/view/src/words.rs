//! Times and words, as ladders and pictures write them.

use crate::model::Packet;

/// Seconds since the first packet, as lines have them.
pub(crate) fn seconds(packet: &Packet) -> String {
    let Some(time) = packet.time else { return "-".to_owned() };
    let sign = if time < 0 { "-" } else { "" };
    let size = time.unsigned_abs();
    let (whole, rest) = (size / 1_000_000_000, size % 1_000_000_000);
    if packet.finer_than_microseconds {
        format!("{sign}{whole}.{rest:09}")
    } else {
        format!("{sign}{whole}.{:06}", rest / 1_000)
    }
}

/// Text of at most so many characters.
pub(crate) fn elided(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

/// What a packet is, and what is to be said of it, in so many characters: what does not fit is left out of what it is, as that it
/// came again, and why, is worth more than its last fields.
pub(crate) fn labelled(what: &str, remarks: &str, room: usize) -> String {
    let taken = remarks.chars().count();
    // Enough to know what it is by.
    const LEAST: usize = 16;
    if remarks.is_empty() || room < taken + LEAST {
        return elided(&format!("{what}{remarks}"), room);
    }
    elided(what, room - taken) + remarks
}

/// Text in lines of at most so many characters, further ones a little in.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let indent = "   ";
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let length = word.chars().count();
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + length <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(elided(&format!("{indent}{word}"), width)),
            None => lines.push(elided(word, width)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_are_kept_and_fields_are_not() {
        assert_eq!(labelled("READ_REQUEST psn=1", " (again)", 40), "READ_REQUEST psn=1 (again)");
        let long = "READ_REQUEST psn=1247050 va=0x56008599e620 rkey=0xb73";
        assert_eq!(labelled(long, " (again)", 40), "READ_REQUEST psn=1247050 va=0x5… (again)");
        assert_eq!(labelled(long, " (again)", 20), "READ_REQUEST psn=12…");
        assert_eq!(labelled(long, "", 20), "READ_REQUEST psn=12…");
    }

    #[test]
    fn text_is_wrapped_between_words_and_words_that_are_too_long_are_cut() {
        assert_eq!(wrapped("one two three", 8), ["one two", "   three"]);
        assert_eq!(wrapped("abcdefghij", 5), ["abcd…"]);
        assert_eq!(elided("äöü", 3), "äöü");
        assert_eq!(elided("äöü", 2), "ä…");
    }
}
