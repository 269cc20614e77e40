//! Management datagrams (MADs): the 256 bytes by which InfiniBand nodes manage each other. On RoCE the only
//! class in daily use is communication management, over which connections are made.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 192 | common header, [`MadHeader`] |
//! | 24 | 1856 | data of the class and attribute; of communication management a [`CmMessage`] |
//!
//! A MAD is the payload of one UD SEND_ONLY packet between the general services interfaces
//! ([`Qpn::GSI`](crate::Qpn::GSI) on both sides, [`QKey::GSI`](crate::QKey::GSI)).
//!
//! [`Mad`] is what a connection manager handles: a [`CmMad`], whose class, method and attribute are computed
//! from its message, so that they cannot disagree, or any other MAD as header and bytes. [`RawMad`] shows
//! what is there, cut off or surplus bytes included. Nothing here judges a value: every bit of the 256 bytes,
//! the reserved ones too, is in a field, and encoding gives the same bytes again. Nothing here keeps state.
//!
//! Field offsets and code values are those of the InfiniBand specification's chapters on management and on
//! communication management. Of the messages REQ, REP, RTU, DREQ, DREP, SIDR_REQ and SIDR_REP are seen on
//! the captures of this repository and compared there, with REJ, to what Wireshark makes of the same bytes;
//! MRA, LAP and APR are not seen.

use core::fmt;

use crate::error::{Layer, ParseError};
use crate::reader::Reader;

mod class;
mod cm;
mod code;
mod field;
mod header;
mod ip_cm;
mod layout;
mod raw;
mod service_id;

pub use class::{MadClass, MadMethod};
pub use cm::{
    ApStatus, Apr, CmMad, CmMessage, Drep, Dreq, Lap, Mra, MraMessage, Path, Rej, RejMessage, RejReason, Rep,
    Req, Rtu, SidrRep, SidrReq, SidrStatus, TransportService, response_timeout_nanoseconds,
};
pub use field::{Field, FieldGroup, FieldText, Form};
pub use header::MadHeader;
pub use ip_cm::IpCmHeader;
pub use layout::private_data;
pub use raw::RawMad;
pub use service_id::{PortSpace, ServiceId};

/// Bytes behind the common header.
pub const DATA_LENGTH: usize = 232;

/// One management datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "without allocation there is no smaller form of a message")]
pub enum Mad<'a> {
    /// A message of communication management, class version 2.
    Cm(CmMad),
    /// Any other class, version, method or attribute.
    Other {
        /// The common header.
        header: MadHeader,
        /// What is behind it.
        data: &'a [u8; DATA_LENGTH],
    },
}

impl<'a> Mad<'a> {
    /// Length in bytes.
    pub const LENGTH: usize = MadHeader::LENGTH + DATA_LENGTH;

    /// Takes apart the payload of a packet to the general services interface.
    ///
    /// # Errors
    ///
    /// Fewer than 256 bytes, or more.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(bytes);
        let header = MadHeader::decode(reader.take(Layer::Mad)?);
        let data = reader.take(Layer::MadData)?;
        if !reader.rest().is_empty() {
            return Err(ParseError::bad_value(Layer::Mad, 0, "length", bytes.len() as u64));
        }
        Ok(Mad::from_parts(header, data))
    }

    /// The MAD of a header and the bytes behind it.
    pub(crate) fn from_parts(header: MadHeader, data: &'a [u8; DATA_LENGTH]) -> Self {
        match CmMad::from_parts(&header, data) {
            Some(cm) => Mad::Cm(cm),
            None => Mad::Other { header, data },
        }
    }

    /// The common header.
    pub const fn header(&self) -> MadHeader {
        match self {
            Mad::Cm(cm) => cm.header(),
            Mad::Other { header, .. } => *header,
        }
    }

    /// To the bytes of the wire.
    pub fn encode(&self) -> [u8; Mad::LENGTH] {
        match self {
            Mad::Cm(cm) => cm.encode(),
            Mad::Other { header, data } => join(header, data),
        }
    }
}

/// A header and what is behind it as one.
pub(crate) fn join(header: &MadHeader, data: &[u8; DATA_LENGTH]) -> [u8; Mad::LENGTH] {
    let mut bytes = [0; Mad::LENGTH];
    let (front, back) = bytes.split_at_mut(MadHeader::LENGTH);
    front.copy_from_slice(&header.encode());
    back.copy_from_slice(data);
    bytes
}

/// As in `CM RTU comm=0x3007b9de remote=0x33dcb6c5`; a class that is not taken apart as in
/// `SUBN_ADM method=GET attr=0x0035 mod=0x00000000 tid=0x0000000000000001`.
impl fmt::Display for Mad<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mad::Cm(cm) => cm.fmt(f),
            Mad::Other { header, .. } => header.fmt(f),
        }
    }
}
