//! What is known of a field by its name. Each name is looked at once: packets have sixty fields, and there are many packets.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

/// A field's name, known by where it stands in the program, so that telling names apart reads none of their letters. A name that
/// stands there twice counts as two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name(pub &'static str);

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.0.as_ptr().addr());
    }
}

/// What a name says.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    /// The header that it is of; empty if it is of the one above.
    pub header: &'static str,
    /// Its length is different from packet to packet: with others, there would be as many groups as lengths.
    pub stands_alone: bool,
    /// Its value is in a column.
    pub is_column: bool,
    /// It has one of few words.
    pub is_word: bool,
    pub tells: Tells,
}

/// What of a packet's conversation a field tells.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tells {
    Nothing,
    QueuePair,
    Psn,
    /// TCP: ports, sequence number, bytes, whether it begins or ends the stream.
    From,
    To,
    Sequence,
    Length,
    Begins,
    Ends,
}

/// All names that came up.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<Name, About>);

impl Names {
    pub(super) fn about(&mut self, name: Name) -> About {
        *self.0.entry(name).or_insert_with(|| About::of(name.0))
    }
}

impl About {
    fn of(name: &'static str) -> About {
        About {
            header: rdmalab_trace::header_of(name),
            stands_alone: matches!(
                name,
                "rdmalab.payload_length" | "infiniband.invariant.crc" | "tcp.len" | "tcp.seq_raw"
            ),
            is_column: matches!(
                name,
                "frame.number" | "frame.time_epoch" | "frame.time_relative" | "frame.len" | "frame.cap_len"
            ),
            is_word: matches!(
                name,
                "rdmalab.opcode_name" | "rdmalab.icrc" | "rdmalab.vcrc" | "rdmalab.iwarp_mpa.crc"
            ),
            tells: match name {
                "infiniband.bth.destqp" => Tells::QueuePair,
                "infiniband.bth.psn" => Tells::Psn,
                "tcp.srcport" => Tells::From,
                "tcp.dstport" => Tells::To,
                "tcp.seq_raw" => Tells::Sequence,
                "tcp.len" => Tells::Length,
                "tcp.flags.syn" => Tells::Begins,
                "tcp.flags.fin" => Tells::Ends,
                _ => Tells::Nothing,
            },
        }
    }
}
