//! PAUSE and priority flow control frames (IEEE 802.3 annex 31B, IEEE 802.1Qbb): a receiver that runs out of
//! buffer stops its neighbour, all of it or some priorities of it.
//!
//! Behind an Ethernet header with the ethertype 0x8808, of a PAUSE:
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 16 | opcode, 0x0001 |
//! | 2 | 16 | time |
//!
//! and of priority flow control (PFC):
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 16 | opcode, 0x0101 |
//! | 2 | 8 | reserved |
//! | 3 | 8 | priority enable vector: bit n for priority n |
//! | 4 | 8 × 16 | time of priority 0 to 7 |
//!
//! Times are in quanta of 512 bit times; 0 lets traffic go on. Zeros fill the frame up to Ethernet's shortest,
//! 60 bytes. The frames go to a fixed group address, which no bridge passes on.

use core::fmt;

use crate::error::{Layer, ParseError};
use crate::ethernet::EthernetAddress;
use crate::reader::Reader;

/// Where PAUSE and PFC frames go: the group address of 802.3 flow control.
pub const PAUSE_DESTINATION: EthernetAddress = EthernetAddress([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);

/// Bits on the line that one quantum lasts.
pub const QUANTUM_BITS: u32 = 512;

const OPCODE_PAUSE: u16 = 0x0001;
const OPCODE_PRIORITY: u16 = 0x0101;

/// What is behind the Ethernet header of a flow control frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pause {
    /// The whole link.
    Link {
        /// Quanta to stop for.
        time: u16,
    },
    /// Some priorities.
    Priorities(PriorityPause),
}

/// Priority flow control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PriorityPause {
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved: u8,
    /// Which priorities are meant: bit n for priority n.
    pub enabled: u8,
    /// Quanta to stop for, by priority. Those of priorities that are not meant do not count.
    pub times: [u16; 8],
}

impl PriorityPause {
    /// The time of a priority, in quanta, `None` if it is not meant.
    pub fn time(&self, priority: u8) -> Option<u16> {
        let is_meant = self.enabled.checked_shr(u32::from(priority))? & 1 == 1;
        self.times.get(usize::from(priority)).copied().filter(|_| is_meant)
    }
}

impl Pause {
    /// Bytes of the longest kind, without padding.
    pub const MAX_LENGTH: usize = 20;

    /// Length in bytes without padding, 4 or 20.
    pub const fn length(&self) -> usize {
        match self {
            Pause::Link { .. } => 4,
            Pause::Priorities(_) => Self::MAX_LENGTH,
        }
    }

    /// The flow control in what is behind an Ethernet header with ethertype
    /// [`ETHERTYPE_FLOW_CONTROL`](crate::ethernet::ETHERTYPE_FLOW_CONTROL). Padding is ignored.
    ///
    /// # Errors
    ///
    /// Another opcode of MAC control, or too few bytes.
    pub fn parse(bytes: &[u8]) -> Result<Pause, ParseError> {
        let mut reader = Reader::new(bytes);
        let opcode = u16::from_be_bytes(*reader.take(Layer::FlowControl)?);
        match opcode {
            OPCODE_PAUSE => Ok(Pause::Link { time: u16::from_be_bytes(*reader.take(Layer::FlowControl)?) }),
            OPCODE_PRIORITY => {
                let [reserved, enabled] = *reader.take(Layer::FlowControl)?;
                let times: &[u8; 16] = reader.take(Layer::FlowControl)?;
                let mut pause = PriorityPause { reserved, enabled, times: [0; 8] };
                for (time, bytes) in pause.times.iter_mut().zip(times.as_chunks::<2>().0) {
                    *time = u16::from_be_bytes(*bytes);
                }
                Ok(Pause::Priorities(pause))
            }
            other => Err(ParseError::bad_value(Layer::FlowControl, 0, "opcode", u64::from(other))),
        }
    }

    /// To the bytes of the wire, of which [`Pause::length`] count; the rest is padding.
    pub fn encode(&self) -> [u8; Self::MAX_LENGTH] {
        let mut bytes = [0; Self::MAX_LENGTH];
        let (opcode, behind) = bytes.split_at_mut(2);
        match self {
            Pause::Link { time } => {
                opcode.copy_from_slice(&OPCODE_PAUSE.to_be_bytes());
                behind[..2].copy_from_slice(&time.to_be_bytes());
            }
            Pause::Priorities(pause) => {
                opcode.copy_from_slice(&OPCODE_PRIORITY.to_be_bytes());
                behind[0] = pause.reserved;
                behind[1] = pause.enabled;
                for (bytes, time) in behind[2..].as_chunks_mut::<2>().0.iter_mut().zip(pause.times) {
                    *bytes = time.to_be_bytes();
                }
            }
        }
        bytes
    }
}

/// As in `PAUSE time=65535` and `PFC 3=65535 4=0`, the priorities that are meant with their times.
impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pause::Link { time } => write!(f, "PAUSE time={time}"),
            Pause::Priorities(pause) => {
                f.write_str("PFC")?;
                (0..8).try_for_each(|priority| match pause.time(priority) {
                    Some(time) => write!(f, " {priority}={time}"),
                    None => Ok(()),
                })
            }
        }
    }
}
