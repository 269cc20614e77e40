//! Whatever can be found in bytes that claim to be a MAD.
//!
//! Where [`Mad`](super::Mad) has exactly 256 bytes, a [`RawMad`] is what is there. Taking bytes apart never
//! fails; why it did not go on stands in [`RawMad::error`].

use core::fmt;

use crate::error::{EncodeError, Layer, ParseError};
use crate::reader::Reader;
use crate::writer::Writer;

use super::class::MadClass;
use super::cm::CmMessage;
use super::field::{Field, FieldGroup};
use super::header::MadHeader;
use super::{DATA_LENGTH, Mad};

const DATA: &[Field] = &[Field::bytes(0, DATA_LENGTH, "data", "infiniband.mad.data")];

/// Bytes taken apart as far as they go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawMad<'a> {
    /// The common header, if it is complete.
    pub header: Option<MadHeader>,
    /// What is behind the header, at most 232 bytes; all bytes if the header is incomplete.
    pub data: &'a [u8],
    /// What is behind the 256 bytes that a MAD has.
    pub surplus: &'a [u8],
    /// The first thing that is wrong.
    pub error: Option<ParseError>,
}

impl<'a> RawMad<'a> {
    /// Takes apart the payload of a packet to the general services interface.
    pub fn parse(bytes: &'a [u8]) -> Self {
        let mut reader = Reader::new(bytes);
        let header = match reader.take(Layer::Mad) {
            Ok(header) => MadHeader::decode(header),
            Err(error) => return RawMad { header: None, data: bytes, surplus: &[], error: Some(error) },
        };
        let rest = reader.rest();
        let (data, surplus) = rest.split_at_checked(DATA_LENGTH).unwrap_or((rest, &[]));
        RawMad { header: Some(header), data, surplus, error: Mad::parse(bytes).err() }
    }

    /// The MAD, if header and data are complete; surplus bytes are left out.
    pub fn mad(&self) -> Option<Mad<'a>> {
        Some(Mad::from_parts(self.header?, self.data.first_chunk()?))
    }

    /// The message of communication management that class and attribute stand for, whatever the versions and
    /// the method are.
    pub fn message(&self) -> Option<CmMessage> {
        let header = self.header.filter(|header| header.class == MadClass::COMMUNICATION)?;
        CmMessage::decode(header.attribute_id, self.data.first_chunk()?)
    }

    /// The fields as a dump shows them: those of the header, all data as one, those of the message.
    pub fn field_groups(&self) -> impl Iterator<Item = FieldGroup> {
        let header = self.header.map(|_| FieldGroup { base: 0, fields: MadHeader::FIELDS });
        let data =
            (self.data.len() == DATA_LENGTH).then_some(FieldGroup { base: MadHeader::LENGTH, fields: DATA });
        let message = self.message().into_iter().flat_map(|message| message.field_groups());
        header.into_iter().chain(header.and(data)).chain(message)
    }

    /// Writes the MAD to the start of `out` as it stands, sense or nonsense, and says how many bytes it is.
    /// Whatever bytes were parsed, the same come out.
    ///
    /// # Errors
    ///
    /// A buffer that is too small.
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, EncodeError> {
        let mut writer = Writer::new(out);
        if let Some(header) = &self.header {
            writer.put(&header.encode());
        }
        writer.put(self.data);
        writer.put(self.surplus);
        writer.finish()
    }
}

/// The line of the MAD, as far as there is one, and what is wrong in brackets behind it.
impl fmt::Display for RawMad<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.mad(), &self.header) {
            (Some(mad), _) => mad.fmt(f)?,
            (None, Some(header)) => header.fmt(f)?,
            (None, None) => write!(f, "MAD len={}", self.data.len())?,
        }
        match &self.error {
            Some(error) => write!(f, " [{error}]"),
            None => Ok(()),
        }
    }
}
