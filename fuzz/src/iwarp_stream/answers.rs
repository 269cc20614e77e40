//! What a peer says that does as it is asked.

use rdmalab_wire::iwarp::{AtomicRequest, AtomicResponse, Body, ReadRequest, Segment, Tagged};

/// Most bytes of a segment.
const PIECE: u32 = 700;

/// A request of ours that the peer has heard.
#[derive(Debug)]
pub enum Asked {
    Read(ReadRequest),
    Atomic(AtomicRequest),
}

impl Asked {
    /// The request in a segment, if there is one.
    pub fn of(segment: &Segment<'_>) -> Option<Self> {
        match segment.body {
            Body::ReadRequest { request, .. } => Some(Self::Read(request)),
            Body::AtomicRequest { request, .. } => Some(Self::Atomic(request)),
            _ => None,
        }
    }

    /// The segments of the answer.
    pub fn answer(&self, msn: &mut u32) -> Vec<Vec<u8>> {
        match self {
            Self::Read(request) => {
                let bytes = [0x77; PIECE as usize];
                let pieces = request.length.div_ceil(PIECE).max(1);
                let piece = |n: u32| {
                    let at = n * PIECE;
                    let length = (request.length - at).min(PIECE) as usize;
                    let tagged = Tagged {
                        stag: request.sink_stag,
                        offset: request.sink_offset.wrapping_add(at.into()),
                    };
                    let last = n + 1 == pieces;
                    encode(&Segment { body: Body::ReadResponse(tagged), payload: &bytes[..length], last })
                };
                (0..pieces).map(piece).collect()
            }
            Self::Atomic(request) => {
                let response = AtomicResponse { request_id: request.request_id, original: 7 };
                let body = Body::AtomicResponse { msn: *msn, response };
                *msn = msn.wrapping_add(1);
                vec![encode(&Segment { body, payload: &[], last: true })]
            }
        }
    }
}

fn encode(segment: &Segment<'_>) -> Vec<u8> {
    let mut bytes = vec![0; segment.encoded_length()];
    segment.encode(&mut bytes).expect("the buffer is as long as the segment");
    bytes
}
