//! The invariant CRC: the last four bytes of every packet.
//!
//! It is CRC-32 as Ethernet has it, over what no switch or router may change: the headers in front of the
//! packet, and the packet from the base header to the end of its padding. What they may change counts as ones:
//!
//! | header | counts as ones |
//! |---|---|
//! | LRH, nothing but the packet behind it | virtual lane |
//! | LRH, a GRH behind it | all eight bytes |
//! | (no LRH: RoCE) | eight bytes in its place |
//! | GRH, IPv6 | traffic class, flow label, hop limit |
//! | IPv4 | type of service, time to live, header checksum |
//! | UDP | checksum |
//! | BTH | byte 4: FECN, BECN and six reserved bits |
//!
//! So a GRH gives the same ICRC on a native link and on RoCE v1. IPv4 options are not covered: everybody takes
//! the IPv4 header to have twenty bytes. On the wire the value lies in little-endian order,
//! [`u32::to_le_bytes`].

/// The CRC over the eight bytes of ones in front, where every computation starts.
const AFTER_LINK_HEADER: u32 = 0x2144_df1c;

const UDP_LENGTH: usize = 8;
const BTH_LENGTH: usize = 12;

/// The ICRC of a packet over IPv4.
///
/// `ip` is the header without options, `ib` the packet from the base header to the end of the padding,
/// without the ICRC. The lengths in `ip` and `udp` include the ICRC's four bytes.
#[inline]
pub fn icrc_ipv4(ip: &[u8; 20], udp: &[u8; 8], ib: &[u8]) -> u32 {
    let mut masked = [0xff; 20 + UDP_LENGTH + BTH_LENGTH];
    masked[..20].copy_from_slice(ip);
    masked[1] = 0xff; // type of service
    masked[8] = 0xff; // time to live
    masked[10] = 0xff; // header checksum
    masked[11] = 0xff;
    finish(&mut masked, udp, ib)
}

/// The ICRC of a packet over IPv6, see [`icrc_ipv4`].
#[inline]
pub fn icrc_ipv6(ip: &[u8; 40], udp: &[u8; 8], ib: &[u8]) -> u32 {
    let mut masked = [0xff; 40 + UDP_LENGTH + BTH_LENGTH];
    masked[..40].copy_from_slice(ip);
    mask_forty(&mut masked);
    finish(&mut masked, udp, ib)
}

/// The ICRC of a packet behind a global route header, over RoCE v1 or a native link, see [`icrc_ipv4`]. The
/// length in `grh` includes the ICRC's four bytes.
#[inline]
pub fn icrc_global(grh: &[u8; 40], ib: &[u8]) -> u32 {
    let mut masked = [0xff; 40 + BTH_LENGTH];
    masked[..40].copy_from_slice(grh);
    mask_forty(&mut masked);
    sum(AFTER_LINK_HEADER, &mut masked, ib)
}

/// The ICRC of a packet behind nothing but a local route header, see [`icrc_ipv4`]. The length in `lrh`
/// includes the ICRC's four bytes.
#[inline]
pub fn icrc_local(lrh: &[u8; 8], ib: &[u8]) -> u32 {
    let mut masked = [0xff; 8 + BTH_LENGTH];
    masked[..8].copy_from_slice(lrh);
    masked[0] |= 0xf0; // virtual lane
    sum(0, &mut masked, ib)
}

/// Masks an IPv6 or global route header, which have the same fields in the same places.
#[inline(always)]
fn mask_forty<const N: usize>(masked: &mut [u8; N]) {
    masked[0] |= 0x0f; // traffic class and flow label, all but the version
    masked[1] = 0xff;
    masked[2] = 0xff;
    masked[3] = 0xff;
    masked[7] = 0xff; // hop limit
}

/// Puts the UDP header behind an IP header that is masked already, and computes the CRC.
#[inline(always)]
fn finish<const N: usize>(masked: &mut [u8; N], udp: &[u8; 8], ib: &[u8]) -> u32 {
    let (_, headers) = masked.split_at_mut(N - UDP_LENGTH - BTH_LENGTH);
    headers[..6].copy_from_slice(&udp[..6]); // the checksum behind stays ones
    sum(AFTER_LINK_HEADER, masked, ib)
}

/// The CRC over masked headers, which end with space for the base header, and the packet. `state` is the CRC
/// of what was before.
#[inline(always)]
fn sum<const N: usize>(state: u32, masked: &mut [u8; N], ib: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(state);
    let (_, place) = masked.split_at_mut(N - BTH_LENGTH);
    if let Some((bth, rest)) = ib.split_first_chunk::<BTH_LENGTH>() {
        place.copy_from_slice(bth);
        place[4] = 0xff;
        hasher.update(masked);
        hasher.update(rest);
    } else {
        // No packet has less than a base header. The CRC of what there is does no harm.
        for (place, byte) in place.iter_mut().zip(ib) {
            *place = *byte;
        }
        place[4] = 0xff;
        hasher.update(masked.get(..N - BTH_LENGTH + ib.len()).unwrap_or(masked));
    }
    hasher.finalize()
}
