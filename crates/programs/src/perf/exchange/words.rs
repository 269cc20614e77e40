//! The messages of the exchange, byte by byte. EXCHANGE.md shows a recorded one.
//!
//! Only bytes here: who says what when is [`super`]'s matter. Whatever a peer sends decodes or is `None`; numbers that no
//! program would say are refused here, so that nothing behind it has to doubt them.

use std::net::IpAddr;

use rdmalab_device::{Gid, PathMtu, Psn, Qpn, RKey};

/// Bytes of the first message, the version of the program.
pub(super) const VERSION_LENGTH: usize = 16;
/// Bytes of a queue pair's announcement.
pub(super) const SIDE_LENGTH: usize = 108;

/// Bytes of it where connections are made by rdma_cm.
pub(super) const MANAGED_SIDE_LENGTH: usize = 56;

/// The version that we say we are: the one whose exchange this is.
pub(super) const OUR_VERSION: &str = "6.06";
/// The real program refuses older ones.
const OLDEST: (u32, u32) = (5, 70);

/// One side's queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// READs and atomics that it answers at once.
    pub outstanding: u8,
    /// Its number.
    pub queue_pair: Qpn,
    /// The PSN with which it begins to send.
    pub psn: Psn,
    /// The key of its memory.
    pub key: RKey,
    /// Where the peer's reads, writes and atomics begin in its memory.
    pub address: u64,
    /// Its GID as an IP address.
    pub gid: IpAddr,
}

/// What one side measured. Bandwidths are in MiB (2^20 bytes) a second, or in Gbit (10^9 bits) a second where the program
/// was told so; the rate is in millions of messages a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Bytes of a message.
    pub size: u64,
    /// Messages of all queue pairs.
    pub iterations: u64,
    /// Of the best run of messages; 0 if it was not looked for.
    pub peak: f64,
    /// Of all messages.
    pub average: f64,
    /// Messages.
    pub rate: f64,
}

/// The version as it is sent: text, filled up with zeros.
pub(super) fn encode_version(version: &str) -> [u8; VERSION_LENGTH] {
    let mut message = [0; VERSION_LENGTH];
    for (place, byte) in message.iter_mut().zip(version.bytes()) {
        *place = byte;
    }
    message
}

/// The peer's version, if it is one and not too old.
pub(super) fn decode_version(message: &[u8; VERSION_LENGTH]) -> Option<&str> {
    let end = message.iter().position(|&byte| byte == 0)?;
    let text = str::from_utf8(&message[..end]).ok()?;
    let (major, minor) = text.split_once('.')?;
    // What stands behind a second point does not matter.
    let minor = minor.split('.').next()?;
    let version = (decimal(major)?, decimal(minor)?);
    (version >= OLDEST).then_some(text)
}

fn decimal(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A path MTU: one digit, the verbs' number of it, and a zero.
pub(super) fn encode_mtu(mtu: PathMtu) -> [u8; 2] {
    let place = MTUS.iter().position(|&of| of == mtu).unwrap_or(0);
    [b'1' + place as u8, 0]
}

/// The path MTU of a digit.
pub(super) fn decode_mtu(message: &[u8; 2]) -> Option<PathMtu> {
    let [digit, 0] = message else { return None };
    MTUS.get(usize::from(digit.checked_sub(b'1')?)).copied()
}

const MTUS: [PathMtu; 5] = [PathMtu::M256, PathMtu::M512, PathMtu::M1024, PathMtu::M2048, PathMtu::M4096];

impl Side {
    /// `LID:reads:QPN:PSN:key:address:GID:SRQN:` in hexadecimal digits, the bytes of the GID with colons between them, and
    /// a zero.
    pub(super) fn encode(&self) -> [u8; SIDE_LENGTH] {
        let Self { outstanding, queue_pair, psn, key, address, gid } = self;
        let mut text = format!(
            "0000:{outstanding:04x}:{:06x}:{:06x}:{:08x}:{address:016x}:",
            queue_pair.value(),
            psn.value(),
            key.value()
        );
        for byte in Gid::from(*gid).0 {
            text.push_str(&format!("{byte:02x}:"));
        }
        text.push_str("00000000:");
        let mut message = [0; SIDE_LENGTH];
        for (place, byte) in message.iter_mut().zip(text.bytes()) {
            *place = byte;
        }
        message
    }

    pub(super) fn decode(message: &[u8; SIDE_LENGTH]) -> Option<Self> {
        let text = str::from_utf8(message.strip_suffix(b":\0")?).ok()?;
        let mut fields = text.split(':');
        let mut field = |digits: usize| {
            let field = fields.next()?;
            let right = field.len() == digits && field.bytes().all(|byte| byte.is_ascii_hexdigit());
            right.then(|| u64::from_str_radix(field, 16).ok())?
        };
        field(4)?;
        // The specification gives the number eight bits.
        let outstanding = u8::try_from(field(4)?).ok()?;
        let queue_pair = Qpn::new(field(6)? as u32);
        let psn = Psn::new(field(6)? as u32);
        let key = RKey::new(field(8)? as u32);
        let address = field(16)?;
        let mut gid = [0; 16];
        for byte in &mut gid {
            *byte = field(2)? as u8;
        }
        field(8)?;
        let gid = Gid(gid).to_ip();
        fields.next().is_none().then_some(Self { outstanding, queue_pair, psn, key, address, gid })
    }
}

impl Side {
    /// As integers, most significant byte first: LID, reads, QPN, PSN, key, nothing, address, GID, SRQN, index of the GID.
    pub(super) fn encode_managed(&self) -> [u8; MANAGED_SIDE_LENGTH] {
        let Self { outstanding, queue_pair, psn, key, address, gid } = *self;
        let numbers = [0, outstanding.into(), queue_pair.value(), psn.value(), key.value(), 0];
        let mut message = [0; MANAGED_SIDE_LENGTH];
        let (start, rest) = message.split_at_mut(24);
        for (place, number) in start.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        rest[..8].copy_from_slice(&address.to_be_bytes());
        rest[8..24].copy_from_slice(&Gid::from(gid).0);
        message
    }

    pub(super) fn decode_managed(message: &[u8; MANAGED_SIDE_LENGTH]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_be_bytes(*message[at..].first_chunk()?));
        let is_number = |number: u32| (number < 1 << 24).then_some(number);
        Some(Self {
            outstanding: u8::try_from(number(4)?).ok()?,
            queue_pair: Qpn::new(is_number(number(8)?)?),
            psn: Psn::new(is_number(number(12)?)?),
            key: RKey::new(number(16)?),
            address: u64::from_be_bytes(*message[24..].first_chunk()?),
            gid: Gid(*message[32..].first_chunk()?).to_ip(),
        })
    }
}

impl Figures {
    /// More than any program says: what is beyond is another message, which begins with letters.
    const MOST: u64 = 1 << 40;

    /// The five numbers, each a message of its own: two integers, three floating point numbers, most significant byte
    /// first.
    pub(super) fn encode(&self) -> [[u8; 8]; 5] {
        [
            self.size.to_be_bytes(),
            self.iterations.to_be_bytes(),
            self.peak.to_be_bytes(),
            self.average.to_be_bytes(),
            self.rate.to_be_bytes(),
        ]
    }

    /// Fails on integers that nobody counts to. A peer whose clock misleads it says infinity, and worse; so may it.
    pub(super) fn decode(messages: &[[u8; 8]; 5]) -> Option<Self> {
        let [size, iterations, peak, average, rate] = *messages;
        let integer = |bytes| Some(u64::from_be_bytes(bytes)).filter(|&number| number <= Self::MOST);
        Some(Self {
            size: integer(size)?,
            iterations: integer(iterations)?,
            peak: f64::from_be_bytes(peak),
            average: f64::from_be_bytes(average),
            rate: f64::from_be_bytes(rate),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded of `ib_write_bw -n 5 -s 10000`.
    const SEEN: &[u8; SIDE_LENGTH] = b"0000:0001:000012:b8b0ba:00000307:0000558f778e6710:\
        00:00:00:00:00:00:00:00:00:00:ff:ff:0a:09:00:01:00000000:\0";

    #[test]
    fn the_announcement_of_a_real_program_is_read_and_written_again() {
        let side = Side::decode(SEEN).unwrap();
        let expected = Side {
            outstanding: 1,
            queue_pair: Qpn::new(0x12),
            psn: Psn::new(0xb8b0ba),
            key: RKey::new(0x307),
            address: 0x558f778e6710,
            gid: [10, 9, 0, 1].into(),
        };
        assert_eq!(side, expected);
        assert_eq!(&side.encode(), SEEN);
    }

    #[test]
    fn an_announcement_with_any_wrong_letter_is_refused() {
        for place in 0..SIDE_LENGTH {
            let mut message = *SEEN;
            message[place] = b'+';
            assert_eq!(Side::decode(&message), None, "'+' in place {place}");
        }
        let mut message = *SEEN;
        message[5..9].copy_from_slice(b"0100");
        assert_eq!(Side::decode(&message), None, "256 READs at once");
    }

    #[test]
    fn the_announcement_of_a_managed_queue_pair_is_read_and_written_again() {
        // Frame 31 of `pcaps/write_bw_cm.pcap`, but for the index of the GID at the end.
        let seen =
            b"\0\0\0\0\0\0\0\x01\0\0\0\x1d\0\xb5\x24\x49\0\0\x10\xac\0\0\0\0\0\0\x56\x53\x4a\xac\x50\0\
            \0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\x09\0\x02\0\0\0\0\0\0\0\0";
        let side = Side::decode_managed(seen).unwrap();
        let expected = Side {
            outstanding: 1,
            queue_pair: Qpn::new(0x1d),
            psn: Psn::new(0xb52449),
            key: RKey::new(0x10ac),
            address: 0x5653_4aac_5000,
            gid: [10, 9, 0, 2].into(),
        };
        assert_eq!(side, expected);
        assert_eq!(&side.encode_managed(), seen);
        for beyond in [4, 5, 6, 8, 12] {
            let mut message = *seen;
            message[beyond] = 1;
            assert_eq!(Side::decode_managed(&message), None, "byte {beyond}");
        }
    }

    #[test]
    fn the_figures_of_a_real_program_are_read_and_written_again() {
        // Recorded of the same run, which printed 10000, 5, 0.38, 0.30 and 0.000031.
        let seen = [
            *b"\0\0\0\0\0\0'\x10",
            *b"\0\0\0\0\0\0\0\x05",
            *b"?\xd8c\xcb\xac\x83\xbc\x8f",
            *b"?\xd3\x03\x90\xcez\x84d",
            *b"?\0U5\x01\xa0\xf8\x04",
        ];
        let figures = Figures::decode(&seen).unwrap();
        assert_eq!((figures.size, figures.iterations), (10000, 5));
        let printed = format!("{:.2} {:.2} {:.6}", figures.peak, figures.average, figures.rate);
        assert_eq!(printed, "0.38 0.30 0.000031");
        assert_eq!(figures.encode(), seen);
    }

    #[test]
    fn letters_are_no_figures() {
        let letters = [*b"0000:000", *b"1:000012", *b":b8b0ba:", *b"00000307", *b":0000558"];
        assert_eq!(Figures::decode(&letters), None);
    }

    #[test]
    fn versions_that_the_real_program_refuses_are_refused() {
        for (version, taken) in [
            ("6.06", true),
            ("5.70", true),
            ("24.01.0", true),
            ("5.69", false),
            ("4.99", false),
            ("6", false),
            ("", false),
            ("a.b", false),
            ("+6.06", false),
        ] {
            assert_eq!(decode_version(&encode_version(version)).is_some(), taken, "{version}");
        }
        assert_eq!(decode_version(b"6.06666666666666"), None, "no zero at the end");
        assert_eq!(decode_version(&[0xff; VERSION_LENGTH]), None);
    }

    #[test]
    fn path_mtus_are_the_verbs_numbers() {
        for (message, mtu) in [(b"1\0", 256), (b"3\0", 1024), (b"5\0", 4096)] {
            let decoded = decode_mtu(message).unwrap();
            assert_eq!(decoded.bytes(), mtu);
            assert_eq!(&encode_mtu(decoded), message);
        }
        for wrong in [b"0\0", b"6\0", b"5 ", b"\0\0"] {
            assert_eq!(decode_mtu(wrong), None);
        }
    }
}
