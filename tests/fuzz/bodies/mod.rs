//! What must hold for anything that others wrote, one check per kind of input.
//!
//! Both `tests/fuzz/` (mutated seeds, in every test run) and the crate `fuzz/` (libFuzzer) run these. A check panics
//! where a rule is broken, and returns whether the input got past the first look, so that a fuzzer that only
//! tries nonsense is noticed.

mod configuration;
mod ledger;
mod push;
mod services;
mod sources;
mod wire;

pub(crate) use configuration::config;
pub(crate) use ledger::ledger;
pub(crate) use push::push;
pub(crate) use services::services;
pub(crate) use sources::{feed, manifest, markdown, page, sitemap};

/// Asserts that a text can be shown: no control characters, which a terminal would obey.
fn assert_showable(what: &str, text: &str) {
    assert!(
        !text.chars().any(char::is_control),
        "{what} has a control character: {text:?}"
    );
}

/// Splits an input at its record separators (`\x1e`): one part each for what comes in several pieces.
fn parts(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == 0x1e)
}
