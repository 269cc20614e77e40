//! The program `rdmalab`.
#![forbid(unsafe_code)]

fn main() {}
