//! What is set right in a segment of the fuzzer's, so that most get past the first checks.
//!
//! Bits of the step's byte: 0x10, keys are taken from a list of ours; 0x20, offsets are moved into our memory; 0x40, sequence
//! numbers are counted from the one that is due, and message offsets from where the message stands. Without a bit, what is there
//! comes as it is.

use rdmalab_wire::iwarp::{AtomicRequest, Header, Opcode, Place, ReadRequest, Stag, queue};

use super::rig::{BASE, MEMORY};

const KEYS: u8 = 0x10;
const OFFSETS: u8 = 0x20;
const NUMBERS: u8 = 0x40;

/// What the peer knows, and what it would say next.
#[derive(Debug)]
pub struct Due {
    /// Keys of ours, and one that is none.
    pub keys: [u32; 5],
    /// The next sequence number of each queue.
    pub msn: [u32; 4],
    /// Where the message in queue 0 stands.
    pub offset: u32,
}

impl Due {
    /// The segment that comes in the place of `bytes`.
    pub fn set_right(&mut self, step: u8, bytes: &[u8]) -> Vec<u8> {
        let Ok(mut header) = Header::parse(bytes) else { return bytes.to_vec() };
        let at = header.length();
        let mut rest = bytes.get(at..).unwrap_or_default().to_vec();
        let is_single = header.opcode.row().is_some_and(|row| row.payload.is_single_segment());
        match &mut header.place {
            Place::Tagged { stag, offset } => {
                *stag = self.key(step, *stag);
                *offset = in_memory(step, *offset);
            }
            Place::Untagged { upper, queue, msn, offset } => {
                *upper = self.key(step, Stag::new(*upper)).value();
                if step & NUMBERS != 0 {
                    let due = usize::try_from(*queue).ok().and_then(|queue| self.msn.get(queue));
                    *msn = due.map_or(*msn, |due| due.wrapping_add(small(*msn)));
                    let stands = if *queue == queue::SEND && !is_single { self.offset } else { 0 };
                    *offset = stands.wrapping_add(small(*offset));
                }
                self.goes_on(*queue, header.last, rest.len());
            }
        }
        if header.opcode == Opcode::READ_REQUEST
            && let Some(body) = rest.first_chunk_mut()
        {
            let mut request = ReadRequest::decode(body);
            request.source_stag = self.key(step, request.source_stag);
            request.source_offset = in_memory(step, request.source_offset);
            if step & OFFSETS != 0 {
                request.length %= 2 * MEMORY as u32;
            }
            *body = request.encode();
        }
        if header.opcode == Opcode::ATOMIC_REQUEST
            && let Some(body) = rest.first_chunk_mut()
        {
            let mut request = AtomicRequest::decode(body);
            request.stag = self.key(step, request.stag);
            request.offset = in_memory(step, request.offset);
            *body = request.encode();
        }
        [header.encode().get(..at).unwrap_or_default(), &rest].concat()
    }

    fn key(&self, step: u8, stag: Stag) -> Stag {
        if step & KEYS == 0 {
            return stag;
        }
        let keys = self.keys;
        // Mostly the one that may do everything.
        Stag::new(keys.get(stag.value() as usize & 0x0f).copied().unwrap_or(keys[0]))
    }

    fn goes_on(&mut self, queue: u32, last: bool, length: usize) {
        if let Some(due) = usize::try_from(queue).ok().and_then(|queue| self.msn.get_mut(queue)) {
            *due = due.wrapping_add(u32::from(last));
        }
        if queue == queue::SEND {
            self.offset = if last { 0 } else { self.offset.wrapping_add(length as u32) };
        }
    }
}

/// Zero for most numbers, and a few around it.
fn small(number: u32) -> u32 {
    if number & 0xf0 == 0xf0 { (number & 0x0f).wrapping_sub(8) } else { 0 }
}

fn in_memory(step: u8, offset: u64) -> u64 {
    // Some way over the end, too.
    if step & OFFSETS != 0 { BASE + offset % (MEMORY as u64 + 16) } else { offset }
}
