//! The configuration.

use std::path::Path;

use sayonce::config::Config;

/// Reads an input as `sayonce.toml`.
pub(crate) fn config(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else {
        return false;
    };
    match Config::parse(Path::new("sayonce.toml"), text) {
        Ok(config) => {
            let again = Config::parse(Path::new("sayonce.toml"), text).expect("it was read before");
            assert_eq!(format!("{config:?}"), format!("{again:?}"));
            true
        }
        Err(error) => {
            assert!(!error.problems.is_empty(), "refused without a reason");
            let lines = text.lines().count().max(1);
            for problem in &error.problems {
                assert!(!problem.message.is_empty(), "{problem:?}");
                if let Some(line) = problem.line {
                    // A file that ends in a line break has its end on the line after.
                    assert!((1..=lines + 1).contains(&line), "{problem:?} of {lines}");
                }
            }
            // What is TOML, and wrong only in what it says, got past the first look.
            error.problems.iter().any(|problem| problem.hint.is_some())
        }
    }
}
