//! iWARP: RDMA over TCP. From the outside in:
//!
//! * [`MpaFrame`] is what each side says first: the request and the reply of MPA (RFC 5044, RFC 6581).
//! * Then come FPDUs, each with one DDP segment: [`Framer`] finds them in a stream that comes in any pieces,
//!   [`FpduEncoder`] puts them there, with markers and CRC32c or without.
//! * [`Header`] is the header of a segment, DDP's and RDMAP's together (RFC 5041, RFC 5040), legal or not.
//! * [`Segment`] is one legal segment: header, body, payload. Opcode and queue are computed from the body.
//!   [`RawSegment`] shows what can be found in any bytes.
//!
//! A segment sent and received:
//!
//! ```
//! use rdmalab_wire::iwarp::{Body, Event, FpduEncoder, Framer, Framing, Segment, SendKind};
//!
//! let framing = Framing { markers: true, crc: true };
//! let body = Body::Send { kind: SendKind::Plain, msn: 1, offset: 0 };
//! let segment = Segment { body, payload: b"hello", last: true };
//!
//! let mut ulpdu = [0; 64];
//! let length = segment.encode(&mut ulpdu)?;
//! let mut stream = [0; 128];
//! let length = FpduEncoder::new(framing).encode(&[&ulpdu[..length]], &mut stream)?;
//!
//! let mut framer = Framer::new(framing);
//! let mut payload = Vec::new();
//! // In pieces as small as can be.
//! for mut piece in stream[..length].chunks(1) {
//!     while let Some(event) = framer.next_event(&mut piece) {
//!         match event {
//!             Event::Marker(marker) => assert!(marker.is_right()),
//!             Event::Head(head) => assert_eq!(head.header()?, segment.header()),
//!             Event::Payload(bytes) => payload.extend_from_slice(bytes),
//!             Event::End(end) => assert!(end.crc.is_right()),
//!         }
//!     }
//! }
//! assert_eq!(payload, b"hello");
//! assert_eq!(segment.to_string(), "RDMAP SEND msn=1 mo=0 len=5 last");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod display;
mod fields;

pub mod atomic;
pub mod crc32c;
pub mod ddp;
pub mod enhanced;
pub mod fpdu;
pub mod mpa;
pub mod opcode;
pub mod raw_segment;
pub mod read_request;
pub mod segment;
pub mod stag;
pub mod terminate;
pub mod terminate_error;

pub use atomic::{AtomicOperation, AtomicRequest, AtomicResponse};
pub use crc32c::{Crc32c, crc32c};
pub use ddp::{Header, HeaderFault, Place};
pub use enhanced::Enhanced;
pub use fpdu::{
    CrcCheck, CrcVerdict, Event, FpduEncoder, FpduEnd, FpduHead, Framer, Framing, Layout, MARKER_INTERVAL,
    MAX_ULPDU, Marker, Probe, Runs, fpdu_pad, max_ulpdu, probe, resynchronize,
};
pub use mpa::{MpaFrame, MpaKind};
pub use opcode::{Model, Opcode, OpcodeRow, PayloadRule, queue};
pub use raw_segment::{RawBody, RawSegment};
pub use read_request::ReadRequest;
pub use segment::{Body, Segment, SendKind, Tagged};
pub use stag::Stag;
pub use terminate::{Terminate, TerminatedSegment};
pub use terminate_error::TerminateError;
