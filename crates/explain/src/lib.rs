//! What a packet, a finding or a state means, and why it is so: one paragraph in plain words each, with its source.
//!
//! [`packet`] gives the paragraphs for a packet that was taken apart and, if that is known, judged; [`finding`] the one for
//! a rule that was broken, [`cause`] why a requester sent again, [`state`] what a queue pair does in a state. All texts
//! stand in the modules, a table for each subject, so that a program that sees things happen
//! (`rdmalab demo --explain`) can name them itself.
//!
//! A text never says what happened, only what it means when it happens: no numbers of frames, no PSNs. It fits anywhere,
//! also where a reader meets it first.
//!
//! The InfiniBand specification is not public. Its sources are given as chapter of volume 1 and subject in words; RFCs are
//! given by section, and the annex on RoCE v2 as well.

#![forbid(unsafe_code)]

mod choose;
mod wrap;

pub mod cm;
pub mod congestion;
pub mod frames;
pub mod iwarp;
pub mod recovery;
pub mod requests;
pub mod responses;
pub mod states;

pub use choose::{cause, finding, named, opcode, packet, role, segment, state, syndrome};
pub use wrap::{Lines, lines};

/// One paragraph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// A name that stays the same, as in `go-back-nak`; of a finding, the rule's.
    pub name: &'static str,
    /// What it is about, in a few words; of a finding, the rule's sentence.
    pub title: &'static str,
    /// The paragraph.
    pub text: &'static str,
    /// Where that is said.
    pub source: &'static str,
}

/// A table of explanations: a constant for each, and all of them in one.
macro_rules! explanations {
    ($($constant:ident $name:literal $title:literal $text:literal, $source:literal;)+) => {
        $(
            #[doc = concat!($title, ".")]
            pub const $constant: $crate::Explanation =
                $crate::Explanation { name: $name, title: $title, text: $text, source: $source };
        )+

        /// All of this table.
        pub const ALL: &[&$crate::Explanation] = &[$(&$constant,)+];
    };
}
use explanations;

/// All explanations but those of findings, which stand with the rules.
pub fn all() -> impl Iterator<Item = &'static Explanation> {
    let tables: [&'static [&'static Explanation]; 8] = [
        frames::ALL,
        requests::ALL,
        responses::ALL,
        recovery::ALL,
        congestion::ALL,
        cm::ALL,
        iwarp::ALL,
        states::ALL,
    ];
    tables.into_iter().flatten().copied()
}
