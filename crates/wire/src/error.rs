//! What can be wrong with bytes, and with what a caller asks to have encoded.
//!
//! A [`ParseError`] always blames the bytes: which layer, at which byte, what fault. An [`EncodeError`]
//! always blames the caller. Neither owns anything, so making one costs nothing.

use core::fmt;

use crate::opcode::Opcode;

/// The layer, or header, in which parsing stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// The Ethernet header.
    Ethernet,
    /// An IEEE 802.1Q tag.
    Vlan,
    /// A flow control frame behind its Ethernet header.
    FlowControl,
    /// The local route header.
    Lrh,
    /// The global route header.
    Grh,
    /// The IPv4 header.
    Ipv4,
    /// The IPv6 header.
    Ipv6,
    /// The UDP header.
    Udp,
    /// The base transport header.
    Bth,
    /// The reliable datagram extended header.
    Rdeth,
    /// The extended reliable connection header.
    Xrceth,
    /// The datagram extended header.
    Deth,
    /// The flush extended header.
    Feth,
    /// The RDMA extended header.
    Reth,
    /// The atomic extended header.
    AtomicEth,
    /// The acknowledge extended header.
    Aeth,
    /// The atomic acknowledge extended header.
    AtomicAckEth,
    /// Immediate data.
    ImmDt,
    /// The invalidate extended header.
    Ieth,
    /// The payload and its padding.
    Payload,
    /// The invariant CRC.
    Icrc,
    /// The variant CRC.
    Vcrc,
    /// The common header of a management datagram.
    Mad,
    /// The data of a management datagram behind its common header.
    MadData,
    /// An MPA request or reply frame.
    Mpa,
    /// The DDP header of a segment.
    Ddp,
    /// The RDMAP control field of a segment.
    Rdmap,
    /// The body of an RDMA Read Request.
    ReadRequest,
    /// The body of a Terminate message.
    Terminate,
    /// The body of an Immediate Data message.
    ImmediateData,
    /// The body of an Atomic Request.
    AtomicRequest,
    /// The body of an Atomic Response.
    AtomicResponse,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Layer::Ethernet => "Ethernet",
            Layer::Vlan => "VLAN",
            Layer::FlowControl => "flow control",
            Layer::Lrh => "LRH",
            Layer::Grh => "GRH",
            Layer::Ipv4 => "IPv4",
            Layer::Ipv6 => "IPv6",
            Layer::Udp => "UDP",
            Layer::Bth => "BTH",
            Layer::Rdeth => "RDETH",
            Layer::Xrceth => "XRCETH",
            Layer::Deth => "DETH",
            Layer::Feth => "FETH",
            Layer::Reth => "RETH",
            Layer::AtomicEth => "AtomicETH",
            Layer::Aeth => "AETH",
            Layer::AtomicAckEth => "AtomicAckETH",
            Layer::ImmDt => "ImmDt",
            Layer::Ieth => "IETH",
            Layer::Payload => "payload",
            Layer::Icrc => "ICRC",
            Layer::Vcrc => "VCRC",
            Layer::Mad => "MAD",
            Layer::MadData => "MAD data",
            Layer::Mpa => "MPA",
            Layer::Ddp => "DDP",
            Layer::Rdmap => "RDMAP",
            Layer::ReadRequest => "RDMA Read Request",
            Layer::Terminate => "Terminate",
            Layer::ImmediateData => "Immediate Data",
            Layer::AtomicRequest => "Atomic Request",
            Layer::AtomicResponse => "Atomic Response",
        })
    }
}

/// What was wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The layer ends before it is complete.
    Truncated {
        /// Bytes the layer needs, counted from the error's offset.
        need: usize,
        /// Bytes there are from that offset on.
        have: usize,
    },
    /// A field holds a value that is not allowed there.
    BadValue {
        /// The field's name.
        field: &'static str,
        /// The value found.
        value: u64,
    },
    /// A checksum or CRC does not match.
    BadChecksum {
        /// The value computed over the bytes, as an integer.
        expected: u32,
        /// The value found in them.
        found: u32,
    },
}

/// Why bytes could not be parsed. It is their fault, not the caller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ParseError {
    /// The layer in which parsing stopped.
    pub layer: Layer,
    /// Where the layer starts (truncation) or the field lies (bad value, bad checksum), in bytes from the
    /// start of what was handed in.
    pub offset: usize,
    /// What was wrong.
    pub fault: Fault,
}

impl ParseError {
    /// A layer at `offset` that needs `need` bytes and has only `have`.
    #[inline]
    pub const fn truncated(layer: Layer, offset: usize, need: usize, have: usize) -> Self {
        ParseError { layer, offset, fault: Fault::Truncated { need, have } }
    }

    /// A field at `offset` with a value that is not allowed.
    #[inline]
    pub const fn bad_value(layer: Layer, offset: usize, field: &'static str, value: u64) -> Self {
        ParseError { layer, offset, fault: Fault::BadValue { field, value } }
    }

    /// A checksum at `offset` that does not match.
    #[inline]
    pub const fn bad_checksum(layer: Layer, offset: usize, expected: u32, found: u32) -> Self {
        ParseError { layer, offset, fault: Fault::BadChecksum { expected, found } }
    }

    /// Whether all is sound but the payload, which has a length that the operation never has: any where there should be
    /// none, or not the only one. Who gets such a request may have to refuse it in words.
    pub fn is_payload_length(&self) -> bool {
        self.layer == Layer::Payload && matches!(self.fault, Fault::BadValue { field: "length", .. })
    }

    /// The same error seen from `bytes` further in front: for a parser that handed on a part of its input.
    #[must_use]
    #[inline]
    pub const fn behind(mut self, bytes: usize) -> Self {
        self.offset = self.offset.saturating_add(bytes);
        self
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: ", self.layer, self.offset)?;
        match self.fault {
            Fault::Truncated { need, have } => write!(f, "truncated, needs {need} bytes, has {have}"),
            Fault::BadValue { field, value } => write!(f, "{field} has the bad value {value:#x}"),
            Fault::BadChecksum { expected, found } => {
                write!(f, "bad checksum, expected {expected:#x}, found {found:#x}")
            }
        }
    }
}

impl core::error::Error for ParseError {}

/// Why a packet could not be encoded. It is the caller's fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EncodeError {
    /// The buffer is too small for the packet.
    BufferTooSmall {
        /// Bytes the packet needs.
        need: usize,
        /// Bytes the buffer has.
        have: usize,
    },
    /// The transport has no such operation, as READ over an unreliable connection.
    NoSuchOpcode(Opcode),
    /// The transport's headers are not those of this operation: over reliable datagrams and extended reliable
    /// connections, requests have one that responses lack.
    TransportHeaders(Opcode),
    /// The operation does not carry so many bytes of payload, as an acknowledgement carries none.
    PayloadLength {
        /// The operation.
        opcode: Opcode,
        /// The length asked for, in bytes.
        length: usize,
    },
    /// The packet is longer than the length fields of its headers can say.
    TooLong {
        /// The length asked for, in bytes from the network or link header on.
        length: usize,
    },
    /// A part is longer than the layer it is for allows.
    PartTooLong {
        /// The layer.
        layer: Layer,
        /// The length asked for, in bytes.
        length: usize,
        /// The longest there may be, in bytes.
        limit: usize,
    },
    /// The packet is shorter than its headers and its ICRC.
    TooShort {
        /// Bytes the headers and the ICRC need.
        need: usize,
        /// Bytes there are.
        have: usize,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::BufferTooSmall { need, have } => {
                write!(f, "the packet needs a buffer of {need} bytes, not {have}")
            }
            EncodeError::NoSuchOpcode(opcode) => write!(f, "no packet has the opcode {opcode}"),
            EncodeError::TransportHeaders(opcode) => {
                write!(f, "{opcode} has other transport headers")
            }
            EncodeError::PayloadLength { opcode, length } => {
                write!(f, "{opcode} cannot carry a payload of {length} bytes")
            }
            EncodeError::TooLong { length } => write!(f, "{length} bytes do not fit into one packet"),
            EncodeError::PartTooLong { layer, length, limit } => {
                write!(f, "{layer} takes at most {limit} bytes, not {length}")
            }
            EncodeError::TooShort { need, have } => {
                write!(f, "a packet has at least {need} bytes, not {have}")
            }
        }
    }
}

impl core::error::Error for EncodeError {}
