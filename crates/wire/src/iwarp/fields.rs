//! Numbers at fixed places of headers of fixed length. That they lie within the header is checked by the
//! compiler, so that nothing here can fail.

/// The `N` bytes from `AT` on.
#[inline]
pub(super) const fn take<const AT: usize, const N: usize, const L: usize>(header: &[u8; L]) -> [u8; N] {
    const { assert!(AT + N <= L, "the field lies within the header") }
    let mut field = [0; N];
    let mut at = 0;
    while at < N {
        field[at] = header[AT + at];
        at += 1;
    }
    field
}

/// Puts `N` bytes to `AT`.
#[inline]
pub(super) const fn put<const AT: usize, const N: usize, const L: usize>(
    header: &mut [u8; L],
    field: [u8; N],
) {
    const { assert!(AT + N <= L, "the field lies within the header") }
    let mut at = 0;
    while at < N {
        header[AT + at] = field[at];
        at += 1;
    }
}

/// The 16-bit number at `AT`.
#[inline]
pub(super) const fn u16_at<const AT: usize, const L: usize>(header: &[u8; L]) -> u16 {
    u16::from_be_bytes(take::<AT, 2, L>(header))
}

/// The 32-bit number at `AT`.
#[inline]
pub(super) const fn u32_at<const AT: usize, const L: usize>(header: &[u8; L]) -> u32 {
    u32::from_be_bytes(take::<AT, 4, L>(header))
}

/// The 64-bit number at `AT`.
#[inline]
pub(super) const fn u64_at<const AT: usize, const L: usize>(header: &[u8; L]) -> u64 {
    u64::from_be_bytes(take::<AT, 8, L>(header))
}
