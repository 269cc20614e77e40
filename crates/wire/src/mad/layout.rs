//! Places in arrays, checked when the program is compiled: an offset outside the array does not build.

use crate::reader::byte_and_24;

/// A place, `OFFSET` bytes behind the start of an array.
pub(super) struct At<const OFFSET: usize>;

impl<const OFFSET: usize> At<OFFSET> {
    /// The `N` bytes here.
    pub(super) const fn bytes<const N: usize, const LENGTH: usize>(data: &[u8; LENGTH]) -> [u8; N] {
        const { assert!(OFFSET + N <= LENGTH) };
        let mut bytes = [0; N];
        bytes.copy_from_slice(data.split_at(OFFSET).1.split_at(N).0);
        bytes
    }

    /// The 16-bit number here.
    pub(super) const fn u16<const LENGTH: usize>(data: &[u8; LENGTH]) -> u16 {
        u16::from_be_bytes(Self::bytes(data))
    }

    /// The 24-bit number here.
    pub(super) const fn u24<const LENGTH: usize>(data: &[u8; LENGTH]) -> u32 {
        let [high, middle, low] = Self::bytes(data);
        u32::from_be_bytes([0, high, middle, low])
    }

    /// The 32-bit number here.
    pub(super) const fn u32<const LENGTH: usize>(data: &[u8; LENGTH]) -> u32 {
        u32::from_be_bytes(Self::bytes(data))
    }

    /// The 64-bit number here.
    pub(super) const fn u64<const LENGTH: usize>(data: &[u8; LENGTH]) -> u64 {
        u64::from_be_bytes(Self::bytes(data))
    }

    /// Writes `bytes` here.
    pub(super) const fn put<const N: usize, const LENGTH: usize>(data: &mut [u8; LENGTH], bytes: [u8; N]) {
        const { assert!(OFFSET + N <= LENGTH) };
        data.split_at_mut(OFFSET).1.split_at_mut(N).0.copy_from_slice(&bytes);
    }

    /// Writes the low 24 bits of `number` here and `byte` behind them.
    pub(super) const fn put_24_and_8<const LENGTH: usize>(data: &mut [u8; LENGTH], number: u32, byte: u8) {
        let [_, high, middle, low] = byte_and_24(0, number);
        Self::put(data, [high, middle, low, byte]);
    }
}

/// One byte out of its fields, each a value and its width in bits, the highest first. A value that is too wide
/// loses its upper bits.
pub(super) const fn byte_of<const N: usize>(fields: [(u8, u32); N]) -> u8 {
    let mut byte = 0_u32;
    let mut index = 0;
    while index < N {
        let (value, width) = fields[index];
        byte = byte << width | value as u32 & ((1 << width) - 1);
        index += 1;
    }
    byte as u8
}

/// Private data of `N` bytes that begins with `bytes`, zero behind them; `None` if they do not fit.
///
/// ```
/// use rdmalab_wire::mad::{Rtu, private_data};
///
/// let rtu = Rtu { private_data: private_data(b"ready").unwrap(), ..Rtu::default() };
/// assert_eq!(private_data::<4>(b"ready"), None);
/// # let _ = rtu;
/// ```
pub fn private_data<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    let mut data = [0; N];
    data.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_is_made_of_its_fields() {
        assert_eq!(byte_of([(0x14, 5), (1, 2), (1, 1)]), 0xa3);
        assert_eq!(byte_of([(0xff, 1), (0, 6), (0xfe, 1)]), 0x80);
        assert_eq!(byte_of([(0xab, 8)]), 0xab);
    }

    #[test]
    fn places_lie_side_by_side() {
        let mut data = [0; 232];
        At::<0>::put(&mut data, 0x0102_0304_0506_0708_u64.to_be_bytes());
        At::<8>::put_24_and_8(&mut data, 0xff0a_0b0c, 0x0d);
        At::<228>::put(&mut data, [1, 2, 3, 4]);
        assert_eq!(At::<0>::u64(&data), 0x0102_0304_0506_0708);
        assert_eq!(At::<6>::u16(&data), 0x0708);
        assert_eq!(At::<8>::u24(&data), 0x0a_0b0c);
        assert_eq!(data[11], 0x0d);
        assert_eq!(At::<228>::u32(&data), 0x0102_0304);
    }
}
