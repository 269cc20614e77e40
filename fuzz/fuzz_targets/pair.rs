#![no_main]

use rdmalab_fuzz::pair::{input::Input, run_input};

libfuzzer_sys::fuzz_target!(|input: Input| run_input(&input));
