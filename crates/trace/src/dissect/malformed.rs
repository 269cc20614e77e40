//! What is wrong with a packet: layer, place, fault. As `rdmalab-wire`'s errors, for more layers.

use core::fmt;

use etherparse::err::LenError;
use rdmalab_wire::{Fault, Layer, ParseError};

/// The first thing that is wrong with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Where parsing stopped.
    pub layer: LayerName,
    /// Where the layer or field begins, in bytes from the start of the frame.
    pub offset: usize,
    /// What is wrong there.
    pub fault: Fault,
}

/// A layer of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerName {
    /// One of RoCE v2.
    Roce(Layer),
    /// Another one, by its usual name.
    Other(&'static str),
}

impl Malformed {
    /// From a length error; `at` is where the layer begins.
    pub(super) fn length(layer: &'static str, at: usize, error: &LenError) -> Malformed {
        let fault = Fault::Truncated { need: error.required_len, have: error.len };
        Malformed { layer: LayerName::Other(layer), offset: at, fault }
    }

    pub(super) fn bad_value(layer: &'static str, at: usize, field: &'static str, value: u64) -> Malformed {
        Malformed { layer: LayerName::Other(layer), offset: at, fault: Fault::BadValue { field, value } }
    }
}

impl From<ParseError> for Malformed {
    fn from(error: ParseError) -> Malformed {
        Malformed { layer: LayerName::Roce(error.layer), offset: error.offset, fault: error.fault }
    }
}

impl fmt::Display for LayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayerName::Roce(layer) => layer.fmt(f),
            LayerName::Other(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: ", self.layer, self.offset)?;
        match self.fault {
            Fault::Truncated { need, have } => write!(f, "needs {need} bytes, has {have}"),
            Fault::BadValue { field, value } => write!(f, "{field} has the bad value {value:#x}"),
            Fault::BadChecksum { expected, found } => {
                write!(f, "bad checksum, expected {expected:#x}, found {found:#x}")
            }
        }
    }
}
