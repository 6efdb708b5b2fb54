//! One target, which is named like its binary.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| throng_fuzz::run(env!("CARGO_BIN_NAME"), bytes));
