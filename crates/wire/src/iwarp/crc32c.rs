//! CRC32c (Castagnoli), the checksum of MPA: RFC 5044 §4.4, as iSCSI has it (RFC 3720 §12.1).
//!
//! On the wire it stands with its least significant byte first: `checksum.to_le_bytes()`.
//!
//! With the feature `std` the processor's instructions are found at run time; without it the CRC is taken
//! from tables, some twenty times slower.

use core::fmt;

#[cfg(not(feature = "std"))]
use tables as fast;

/// A CRC32c that is fed piece by piece, in memory of constant size.
#[derive(Clone)]
pub struct Crc32c {
    digest: fast::Digest,
}

impl Crc32c {
    /// The CRC of nothing.
    pub fn new() -> Self {
        Crc32c { digest: fast::start() }
    }

    /// Goes on with `bytes`.
    #[inline]
    pub fn update(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
    }

    /// The CRC of all bytes so far. More may follow.
    #[inline]
    pub fn value(&self) -> u32 {
        fast::value(&self.digest)
    }

    /// Back to the CRC of nothing.
    #[inline]
    pub fn reset(&mut self) {
        fast::reset(&mut self.digest);
    }
}

impl Default for Crc32c {
    fn default() -> Self {
        Crc32c::new()
    }
}

impl fmt::Debug for Crc32c {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Crc32c({:#010x})", self.value())
    }
}

/// The CRC32c of bytes that lie in one piece.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    fast::checksum(bytes)
}

#[cfg(feature = "std")]
mod fast {
    use crc_fast::CrcAlgorithm::Crc32Iscsi;
    pub(super) use crc_fast::Digest;

    pub(super) fn start() -> Digest {
        Digest::new(Crc32Iscsi)
    }

    #[inline]
    pub(super) fn value(digest: &Digest) -> u32 {
        // A 32-bit CRC in a type that holds 64-bit ones as well.
        digest.finalize() as u32
    }

    #[inline]
    pub(super) fn reset(digest: &mut Digest) {
        digest.reset();
    }

    #[inline]
    pub(super) fn checksum(bytes: &[u8]) -> u32 {
        crc_fast::crc32_iscsi(bytes)
    }
}

// Compiled for the tests in any case, so that it cannot rot.
#[cfg(any(test, not(feature = "std")))]
mod tables {
    use crc::{CRC_32_ISCSI, Crc, Table};

    static CRC: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

    pub(super) type Digest = crc::Digest<'static, u32, Table<16>>;

    pub(super) fn start() -> Digest {
        CRC.digest()
    }

    pub(super) fn value(digest: &Digest) -> u32 {
        digest.clone().finalize()
    }

    pub(super) fn reset(digest: &mut Digest) {
        *digest = CRC.digest();
    }

    pub(super) fn checksum(bytes: &[u8]) -> u32 {
        CRC.checksum(bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 3720 §B.4. The digests there are written as their bytes stand on the wire.
    #[test]
    fn known_answers() {
        let ascending: [u8; 32] = core::array::from_fn(|at| at as u8);
        let descending: [u8; 32] = core::array::from_fn(|at| 31 - at as u8);
        let vectors = [
            ([0; 32], [0xaa, 0x36, 0x91, 0x8a]),
            ([0xff; 32], [0x43, 0xab, 0xa8, 0x62]),
            (ascending, [0x4e, 0x79, 0xdd, 0x46]),
            (descending, [0x5c, 0xdb, 0x3f, 0x11]),
        ];
        for (bytes, digest) in vectors {
            assert_eq!(crc32c(&bytes).to_le_bytes(), digest);
            assert_eq!(tables::checksum(&bytes).to_le_bytes(), digest);
        }
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(b""), 0);
    }

    proptest! {
        /// Against the tables of another crate, in pieces, used again after a reset.
        #[test]
        fn pieces_give_the_crc_of_the_whole(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..700), 0..8),
        ) {
            let (mut crc, mut reference) = (Crc32c::new(), tables::start());
            crc.update(b"something else");
            reference.update(b"something else");
            crc.reset();
            tables::reset(&mut reference);
            for piece in &pieces {
                crc.update(piece);
                reference.update(piece);
            }
            let whole = pieces.concat();
            let expected = tables::checksum(&whole);
            prop_assert_eq!(crc.value(), expected);
            prop_assert_eq!(tables::value(&reference), expected);
            prop_assert_eq!(crc32c(&whole), expected);
        }
    }
}
