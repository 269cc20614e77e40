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

/// Bytes taken in one step.
const STEP: usize = 8;

/// What each byte leaves in the register when it has gone through, and `n` more bytes behind it: `TABLES[n][byte]`.
static TABLES: [[u16; 256]; STEP] = {
    let mut tables = [[0; 256]; STEP];
    let mut byte = 0;
    while byte < 256 {
        let mut register = byte as u16;
        let mut bit = 0;
        while bit < 8 * STEP {
            register = register >> 1 ^ if register & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
            if bit % 8 == 0 {
                tables[bit / 8 - 1][byte] = register;
            }
        }
        byte += 1;
    }
    tables
};

/// The VCRC of a packet, `packet` being its bytes from the local route header to the end of the ICRC.
pub fn vcrc(packet: &[u8]) -> u16 {
    let [last, .., second, first] = &TABLES;
    let (steps, rest) = packet.as_chunks::<STEP>();
    let register = steps.iter().fold(0xffff_u16, |register, step| {
        let [low, high] = register.to_le_bytes();
        let [a, b, middle @ ..] = step;
        let two = first[usize::from(a ^ low)] ^ second[usize::from(b ^ high)];
        // The bytes that the register does not reach, with the tables of the third last to the last.
        let tables = TABLES.iter().rev().skip(2);
        middle.iter().zip(tables).fold(two, |sum, (byte, table)| sum ^ table[usize::from(*byte)])
    });
    let register =
        rest.iter().fold(register, |register, byte| register >> 8 ^ last[usize::from(register as u8 ^ byte)]);
    !register
}
