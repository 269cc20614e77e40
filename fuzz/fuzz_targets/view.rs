#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rdmalab_fuzz::view::run(bytes));
