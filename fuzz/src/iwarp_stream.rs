//! An established iWARP stream, with work of every kind on our side and a peer that may send any segment with a right CRC, and
//! anything else.
//!
//! Whatever comes: nothing panics or goes on without end; what goes out is sound; at most one Terminate message does, and nothing
//! behind it; every request completes at most once and in order, and all of them in ERR; memory that the peer has no right to
//! stays as it is.
//!
//! The input is four bytes of setting and then steps, each a byte with its kind in the low four bits:
//!
//! | kind | what follows | what happens |
//! |---|---|---|
//! | 0 to 6 | 16 bits of length, a segment | it comes in an FPDU with a right CRC; [`segment`] says what is set right in it first |
//! | 7 | likewise | the same, with a wrong CRC |
//! | 8 | 16 bits of length, bytes | they come as they are |
//! | 9 | kind, flags, length and place of 16 bits | a request is posted |
//! | 10 | length and place of 16 bits | a receive is posted |
//! | 11 | a number | so many FPDUs go out |
//! | 12 | a number | so many of our requests are answered as they should be |
//! | 13 | | the peer's direction ends, in order if the highest bit is set |
//! | 14 | | we disconnect, or, if the highest bit is set, abort |
//! | 15 | | a region goes or comes back |

mod answers;
mod rig;
mod segment;

use rig::Rig;

/// Steps of an input that are carried out; the fuzzer gains nothing from longer ones.
const MOST_STEPS: usize = 256;

/// Carries out what the bytes stand for.
pub fn run(bytes: &[u8]) {
    let Some((setting, mut rest)) = bytes.split_first_chunk() else { return };
    let mut rig = Rig::new(*setting);
    for _ in 0..MOST_STEPS {
        if step(&mut rig, &mut rest).is_none() {
            break;
        }
        rig.check();
    }
    rig.end();
}

/// Carries out the next step; `None` behind the last whole one.
fn step(rig: &mut Rig, rest: &mut &[u8]) -> Option<()> {
    let step = take::<1>(rest)?[0];
    let is_high = step & 0x80 != 0;
    match step & 0x0f {
        0..=7 => rig.segment(step, counted(rest)?),
        8 => rig.deliver(counted(rest)?),
        9 => {
            let [kind, flags] = take(rest)?;
            rig.post(kind, flags, number(rest)?, number(rest)?);
        }
        10 => rig.receive(number(rest)?, number(rest)?),
        11 => rig.poll(usize::from(take::<1>(rest)?[0])),
        12 => rig.answer(usize::from(take::<1>(rest)?[0])),
        13 => rig.peer_ends(is_high),
        14 if is_high => rig.abort(),
        14 => rig.disconnect(),
        _ => rig.change_region(),
    }
    Some(())
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*bytes)
}

fn number(rest: &mut &[u8]) -> Option<u16> {
    take(rest).map(u16::from_be_bytes)
}

/// As many bytes as the number in front says, or all there are.
fn counted<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::from(number(rest)?).min(rest.len());
    let (bytes, behind) = rest.split_at(length);
    *rest = behind;
    Some(bytes)
}
