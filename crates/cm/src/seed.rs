//! Numbers out of a seed, for the starting IDs of communications and transactions. They only need to differ from run to run.

/// SplitMix64 (Steele, Lea, Flood, 2014).
pub(crate) struct Seed(u64);

impl Seed {
    pub const fn new(seed: u64) -> Self {
        Seed(seed)
    }

    pub const fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 32) as u32
    }
}
