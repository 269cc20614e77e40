//! Numbers and names within sentences.

use core::fmt;

/// So many things, and what is said of them: "1 flow forgotten", "2 flows forgotten".
pub(crate) struct Counted(pub u64, pub &'static str, pub &'static str);

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counted(count, what, which) = self;
        write!(f, "{count} {what}{}{which}", if *count == 1 { "" } else { "s" })
    }
}

/// A name with its article: "a READ_REQUEST", "an ACKNOWLEDGE", "an RC".
pub(crate) struct An<'n>(pub &'n str);

impl fmt::Display for An<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let An(name) = self;
        // Letters that are spoken one by one begin with another sound than words do.
        let is_spelled = ["RC", "RD", "XRC"].iter().any(|spelled| name.split(' ').next() == Some(spelled));
        let vowel = name.starts_with(['A', 'E', 'I', 'O']);
        write!(f, "{} {name}", if is_spelled || vowel { "an" } else { "a" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn articles_are_as_spoken() {
        for (name, text) in [
            ("ACKNOWLEDGE", "an ACKNOWLEDGE"),
            ("READ_REQUEST", "a READ_REQUEST"),
            ("UD", "a UD"),
            ("RC", "an RC"),
            ("XRC", "an XRC"),
            ("COMPARE_SWAP", "a COMPARE_SWAP"),
        ] {
            assert_eq!(An(name).to_string(), text);
        }
        assert_eq!(Counted(1, "FPDU", "").to_string(), "1 FPDU");
        assert_eq!(Counted(0, "FPDU", "").to_string(), "0 FPDUs");
    }
}
