//! The variant CRC: the last two bytes of a packet on a native InfiniBand link.
//!
//! Where the ICRC covers what nobody may change on the way, the VCRC covers everything, from the local route
//! header to the end of the ICRC, and is made anew on each link. Ethernet has its frame check sequence
//! instead, so RoCE has no VCRC.
//!
//! It is a CRC of 16 bits with the polynomial x^16 + x^12 + x^3 + x + 1 (0x100b), least significant bit of
//! each byte first, started with ones and inverted at the end. On the wire the value lies in little-endian
//! order, [`u16::to_le_bytes`]. Polynomial, seed, inversion and order are those of the packet generator that
//! Mellanox published with the first OpenIB stack; the rule that the coefficient of the highest term is sent
//! first is the ICRC's as well: <https://lore.kernel.org/linux-rdma/20250129202537.GA66821@sol.localdomain/>

/// The polynomial 0x100b with its bits in reverse, as a CRC that takes the least significant bit first uses it.
const POLYNOMIAL: u16 = 0xd008;

/// What each byte adds when it leaves the register.
static TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut register = byte as u16;
        let mut bit = 0;
        while bit < 8 {
            register = register >> 1 ^ if register & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        table[byte] = register;
        byte += 1;
    }
    table
};

/// The VCRC of a packet, `packet` being its bytes from the local route header to the end of the ICRC.
pub fn vcrc(packet: &[u8]) -> u16 {
    let register = packet
        .iter()
        .fold(0xffff_u16, |register, byte| register >> 8 ^ TABLE[usize::from(register as u8 ^ byte)]);
    !register
}
