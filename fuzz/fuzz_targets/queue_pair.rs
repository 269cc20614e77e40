#![no_main]

use rdmalab_fuzz::queue_pair::{input::Input, run_input};

libfuzzer_sys::fuzz_target!(|input: Input| run_input(&input));
