//! What the two sides tell each other over TCP before they begin.
//!
//! The client begins: a line for each queue pair, `LID:QPN:PSN:GID` in hexadecimal digits (4, 6, 6 and 32 of them), colons
//! between, a zero byte behind: 52 bytes. The server answers with its own. When the client has connected its queue pairs, it
//! sends `done` and a zero byte. Seen in `pcaps/rc_pingpong.pcap`, frames 6, 8 and 10; it is the same in
//! `uc_pingpong.pcap` and `ud_pingpong.pcap`. `ibv_srq_pingpong` always sends 256 lines, those without a queue pair with
//! zeros in every field.

use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::time::Duration;

use rdmalab_device::{Gid, Psn, Qpn};

use super::error::PingpongError;
use super::kind::Kind;

/// Bytes of a line.
const LENGTH: usize = 4 + 1 + 6 + 1 + 6 + 1 + 32 + 1;
const DONE: &[u8; 5] = b"done\0";

/// One side's queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Its number.
    pub queue_pair: Qpn,
    /// The PSN with which it begins to send.
    pub psn: Psn,
    /// Its address, which is the RoCE v2 GID.
    pub address: IpAddr,
}

impl Side {
    /// What stands where there is no queue pair.
    const NONE: Self = Self {
        queue_pair: Qpn::new(0),
        psn: Psn::new(0),
        address: IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
    };

    fn encode(&self) -> [u8; LENGTH] {
        let mut text = format!("{:04x}:{:06x}:{:06x}:", 0, self.queue_pair.value(), self.psn.value());
        for byte in Gid::from(self.address).0 {
            text.push_str(&format!("{byte:02x}"));
        }
        let mut message = [0; LENGTH];
        for (place, byte) in message.iter_mut().zip(text.bytes()) {
            *place = byte;
        }
        message
    }

    fn decode(message: &[u8; LENGTH]) -> Option<Self> {
        let text = str::from_utf8(message.strip_suffix(&[0])?).ok()?;
        let mut fields = text.split(':');
        let mut field = |digits: usize| {
            fields
                .next()
                .filter(|field| field.len() == digits && field.bytes().all(|byte| byte.is_ascii_hexdigit()))
        };
        let number = |text: &str| u32::from_str_radix(text, 16).ok();
        field(4)?;
        let queue_pair = Qpn::new(number(field(6)?)?);
        let psn = Psn::new(number(field(6)?)?);
        let gid = u128::from_str_radix(field(32)?, 16).ok()?;
        Some(Self { queue_pair, psn, address: Gid(gid.to_be_bytes()).to_ip() })
    }
}

impl std::fmt::Display for Side {
    /// As the program prints it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let gid = match self.address {
            IpAddr::V4(address) => format!("::ffff:{address}"),
            IpAddr::V6(address) => address.to_string(),
        };
        let (queue_pair, psn) = (self.queue_pair.value(), self.psn.value());
        write!(f, "LID 0x0000, QPN {queue_pair:#08x}, PSN {psn:#08x}, GID {gid}")
    }
}

/// Tells our queue pairs, no more than the program has places for.
pub(super) fn write(stream: &mut impl Write, kind: Kind, sides: &[Side]) -> io::Result<()> {
    let all = sides.iter().chain(std::iter::repeat(&Side::NONE)).take(kind.places());
    let message: Vec<u8> = all.flat_map(Side::encode).collect();
    stream.write_all(&message)
}

/// Reads the peer's queue pairs, `wanted` of them.
pub(super) fn read(
    stream: &mut impl Read,
    kind: Kind,
    wanted: usize,
    patience: Option<Duration>,
) -> Result<Vec<Side>, PingpongError> {
    let mut message = vec![0; kind.places() * LENGTH];
    let (mut got, expected) = (0, message.len());
    while got < expected {
        match stream.read(&mut message[got..]) {
            Ok(0) => return Err(PingpongError::Hangup { got, expected }),
            Ok(count) => {
                got += count;
                judge_start(kind, &message[..got])?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // One that has not read all that we said ends so.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                return Err(PingpongError::Hangup { got, expected });
            }
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                return Err(PingpongError::Silence { what: "the peer's address message", patience });
            }
            Err(error) => return Err(error.into()),
        }
    }
    let (lines, _) = message.as_chunks::<LENGTH>();
    let sides = lines.iter().map(|line| {
        Side::decode(line).ok_or_else(|| PingpongError::NotAnAddress {
            program: kind.program(),
            found: String::from_utf8_lossy(line).into_owned(),
        })
    });
    let mut sides = sides.collect::<Result<Vec<Side>, _>>()?;
    if kind == Kind::Srq {
        let there = sides.iter().take_while(|side| **side != Side::NONE).count();
        if there != wanted {
            return Err(PingpongError::QueuePairs { peer: there, ours: wanted });
        }
        sides.truncate(there);
    }
    Ok(sides)
}

/// Fails on what does not begin as an address message does: its rest may never come.
fn judge_start(kind: Kind, start: &[u8]) -> Result<(), PingpongError> {
    let lid = start.iter().take(4);
    if lid.copied().all(|byte| byte.is_ascii_hexdigit()) && start.get(4).is_none_or(|byte| *byte == b':') {
        return Ok(());
    }
    let program = kind.program();
    let text = start.split(|byte| *byte == 0).next().unwrap_or_default().escape_ascii().to_string();
    let is_version = text.contains('.') && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_version {
        return Err(PingpongError::Perftest { program, version: text });
    }
    Err(PingpongError::NotAnAddress { program, found: text })
}

pub(super) fn say_done(stream: &mut impl Write) -> io::Result<()> {
    stream.write_all(DONE)
}

/// Waits until the client is ready. The program takes whatever comes as the word.
pub(super) fn wait_for_done(stream: &mut impl Read) -> io::Result<()> {
    stream.read_exact(&mut [0; DONE.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frame 6 of `pcaps/rc_pingpong.pcap`.
    const SEEN: &[u8; LENGTH] = b"0000:000011:50e9a0:00000000000000000000ffff0a090002\0";
    /// How each place is filled that `ibv_srq_pingpong` does not use.
    const UNUSED: &[u8; LENGTH] = b"0000:000000:000000:00000000000000000000000000000000\0";

    #[test]
    fn the_message_of_a_real_program_is_read_and_written_again() {
        let side = Side::decode(SEEN).unwrap();
        assert_eq!(
            side,
            Side { queue_pair: Qpn::new(0x11), psn: Psn::new(0x50e9a0), address: [10, 9, 0, 2].into() }
        );
        assert_eq!(&side.encode(), SEEN);
    }

    #[test]
    fn what_is_not_such_a_message_is_refused() {
        for place in 0..LENGTH {
            let mut message = *SEEN;
            message[place] = b'+';
            assert_eq!(Side::decode(&message), None, "'+' in place {place}");
        }
    }

    #[test]
    fn a_message_cut_short_is_an_error() {
        let cut = read(&mut &SEEN[..51], Kind::Uc, 1, None);
        assert!(matches!(cut, Err(PingpongError::Hangup { got: 51, expected: 52 })), "{cut:?}");
        let cut = read(&mut &SEEN[..], Kind::Srq, 1, None);
        assert!(matches!(cut, Err(PingpongError::Hangup { got: 52, expected: 13312 })), "{cut:?}");
    }

    /// A client that says no more, and waits.
    struct Silent<'a>(&'a [u8]);

    impl Read for Silent<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match self.0.read(out)? {
                0 => Err(io::ErrorKind::TimedOut.into()),
                count => Ok(count),
            }
        }
    }

    #[test]
    fn what_begins_otherwise_is_told_by_its_beginning() {
        // The first message of `ib_write_bw`, frame 4 of `pcaps/write_bw.pcap`.
        let version = read(&mut Silent(b"6.06\0\0\0\0\0\0\0\0\0\0\0\0"), Kind::Rc, 1, None);
        let Err(PingpongError::Perftest { program, version }) = version else { panic!("{version:?}") };
        assert_eq!((program, version.as_str()), ("ibv_rc_pingpong", "6.06"));
        let foreign = read(&mut Silent(b"GET / HTTP/1.1\r\n"), Kind::Uc, 1, None);
        assert!(matches!(foreign, Err(PingpongError::NotAnAddress { .. })), "{foreign:?}");
        let right = read(&mut Silent(&SEEN[..7]), Kind::Rc, 1, None);
        assert!(matches!(right, Err(PingpongError::Silence { .. })), "{right:?}");
    }

    /// What `ibv_srq_pingpong -q 3` sends, between 10.9.0.3 and another one.
    fn srq_with_three() -> Vec<u8> {
        let used: [&[u8; LENGTH]; 3] = [
            b"0000:000011:26e410:00000000000000000000ffff0a090003\0",
            b"0000:000012:fce4ba:00000000000000000000ffff0a090003\0",
            b"0000:000013:16007c:00000000000000000000ffff0a090003\0",
        ];
        used.into_iter().chain(std::iter::repeat_n(UNUSED, 253)).flatten().copied().collect()
    }

    #[test]
    fn srq_has_256_places_and_as_many_queue_pairs_as_were_asked_for() {
        let seen = srq_with_three();
        let sides = read(&mut &seen[..], Kind::Srq, 3, None).unwrap();
        let numbers: Vec<_> = sides.iter().map(|side| (side.queue_pair.value(), side.psn.value())).collect();
        assert_eq!(numbers, [(0x11, 0x26e410), (0x12, 0xfce4ba), (0x13, 0x16007c)]);
        let mut ours = Vec::new();
        write(&mut ours, Kind::Srq, &sides).unwrap();
        assert_eq!(ours, seen);
    }

    #[test]
    fn another_number_of_queue_pairs_is_told() {
        for ours in [2, 4] {
            let other = read(&mut &srq_with_three()[..], Kind::Srq, ours, None);
            assert!(matches!(other, Err(PingpongError::QueuePairs { peer: 3, .. })), "{other:?}");
        }
    }
}
