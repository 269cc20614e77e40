//! What framing and CRC cost.

fn main() {}
