//! The errors a Terminate message can name (RFC 5040 §4.8, RFC 5041 §8.2, RFC 5044 §8, RFC 6581 §7).
//!
//! | bits | name |
//! |---|---|
//! | 4 | layer: 0 RDMAP, 1 DDP, 2 the layer below, MPA |
//! | 4 | error type |
//! | 8 | error code |

use core::fmt;

/// Layer, type and code of an error, known or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TerminateError {
    /// 4 bits: 0 RDMAP, 1 DDP, 2 MPA.
    pub layer: u8,
    /// 4 bits, by layer.
    pub error_type: u8,
    /// By layer and type.
    pub code: u8,
}

macro_rules! errors {
    ($($(#[$doc:meta])* $constant:ident = $layer:literal, $error_type:literal, $code:literal, $name:literal;)*) => {
        impl TerminateError {
            $($(#[$doc])* pub const $constant: TerminateError =
                TerminateError { layer: $layer, error_type: $error_type, code: $code };)*
        }

        /// Every known error with its name.
        const NAMES: &[(TerminateError, &str)] = &[$((TerminateError::$constant, $name),)*];
    };
}

errors! {
    /// The sender of the message is broken. The code is not defined further.
    RDMAP_LOCAL_CATASTROPHIC = 0, 0, 0x00, "rdmap_local_catastrophic";
    /// No buffer has this steering tag.
    RDMAP_INVALID_STAG = 0, 1, 0x00, "rdmap_invalid_stag";
    /// Outside the buffer.
    RDMAP_BOUNDS = 0, 1, 0x01, "rdmap_bounds";
    /// The buffer does not allow this access.
    RDMAP_ACCESS = 0, 1, 0x02, "rdmap_access";
    /// The buffer belongs to another stream.
    RDMAP_STAG_OF_OTHER_STREAM = 0, 1, 0x03, "rdmap_stag_of_other_stream";
    /// Offset and length go round the end of 64 bits.
    RDMAP_OFFSET_WRAP = 0, 1, 0x04, "rdmap_offset_wrap";
    /// The steering tag cannot be invalidated.
    RDMAP_CANNOT_INVALIDATE = 0, 1, 0x09, "rdmap_cannot_invalidate";
    /// A protection error without a closer description.
    RDMAP_PROTECTION_UNSPECIFIED = 0, 1, 0xff, "rdmap_protection_unspecified";
    /// RDMAP's version is not supported.
    RDMAP_VERSION = 0, 2, 0x05, "rdmap_version";
    /// An opcode that does not belong there.
    RDMAP_UNEXPECTED_OPCODE = 0, 2, 0x06, "rdmap_unexpected_opcode";
    /// Something broke, for this stream alone.
    RDMAP_STREAM_CATASTROPHIC = 0, 2, 0x07, "rdmap_stream_catastrophic";
    /// Something broke, for all streams.
    RDMAP_GLOBAL_CATASTROPHIC = 0, 2, 0x08, "rdmap_global_catastrophic";
    /// An operation error without a closer description.
    RDMAP_OPERATION_UNSPECIFIED = 0, 2, 0xff, "rdmap_operation_unspecified";
    /// The sender of the message is broken.
    DDP_LOCAL_CATASTROPHIC = 1, 0, 0x00, "ddp_local_catastrophic";
    /// No buffer has this steering tag.
    DDP_INVALID_STAG = 1, 1, 0x00, "ddp_invalid_stag";
    /// Outside the buffer.
    DDP_BOUNDS = 1, 1, 0x01, "ddp_bounds";
    /// The buffer belongs to another stream.
    DDP_STAG_OF_OTHER_STREAM = 1, 1, 0x02, "ddp_stag_of_other_stream";
    /// Offset and length go round the end of 64 bits.
    DDP_OFFSET_WRAP = 1, 1, 0x03, "ddp_offset_wrap";
    /// DDP's version is not supported; the segment was tagged.
    DDP_TAGGED_VERSION = 1, 1, 0x04, "ddp_tagged_version";
    /// No queue has this number.
    DDP_INVALID_QUEUE = 1, 2, 0x01, "ddp_invalid_queue";
    /// The queue has no buffer for this message.
    DDP_NO_BUFFER = 1, 2, 0x02, "ddp_no_buffer";
    /// A message sequence number out of range.
    DDP_MSN_RANGE = 1, 2, 0x03, "ddp_msn_range";
    /// A message offset that is not where the message goes on.
    DDP_INVALID_MESSAGE_OFFSET = 1, 2, 0x04, "ddp_invalid_message_offset";
    /// The message is longer than the buffer.
    DDP_MESSAGE_TOO_LONG = 1, 2, 0x05, "ddp_message_too_long";
    /// DDP's version is not supported; the segment was untagged.
    DDP_UNTAGGED_VERSION = 1, 2, 0x06, "ddp_untagged_version";
    /// TCP's connection was closed or lost.
    MPA_CONNECTION_LOST = 2, 0, 0x01, "mpa_connection_lost";
    /// The CRC of an FPDU is wrong.
    MPA_CRC = 2, 0, 0x02, "mpa_crc";
    /// A marker and the length of the FPDU disagree.
    MPA_MARKER = 2, 0, 0x03, "mpa_marker";
    /// The start-up frame is wrong.
    MPA_STARTUP_FRAME = 2, 0, 0x04, "mpa_startup_frame";
    /// The sender of the message is broken (RFC 6581).
    MPA_LOCAL_CATASTROPHIC = 2, 0, 0x05, "mpa_local_catastrophic";
    /// The responder takes fewer READs than the initiator needs (RFC 6581).
    MPA_INSUFFICIENT_IRD = 2, 0, 0x06, "mpa_insufficient_ird";
    /// No kind of ready-to-receive message that both know (RFC 6581).
    MPA_NO_MATCHING_RTR = 2, 0, 0x07, "mpa_no_matching_rtr";
}

impl TerminateError {
    /// Every error that has a name.
    pub fn all() -> impl Iterator<Item = TerminateError> {
        NAMES.iter().map(|(error, _)| *error)
    }

    /// What it is called in lines and logs, if it is known.
    pub fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(known, _)| *known == self).map(|(_, name)| *name)
    }
}

/// As in `ddp_no_buffer`; an unknown one as layer, type and code, as in `0x2/0x1/0x33`.
impl fmt::Display for TerminateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{:#x}/{:#x}/{:#04x}", self.layer, self.error_type, self.code),
        }
    }
}
