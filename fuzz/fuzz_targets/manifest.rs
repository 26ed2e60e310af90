#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sayonce_fuzz::manifest(bytes));
