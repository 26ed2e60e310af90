//! Secrets: a value that can't be printed, and a scrubber for texts that others wrote.

use std::fmt;

/// A password, token or key. It has no `Display` and no `Serialize`, and its `Debug` is `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a secret, without the white space that a copied one often has around it; an empty one is none.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// Returns the value, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Replaces this secret in `text`.
    pub fn scrub(&self, text: &str) -> String {
        // Shorter values would blank out ordinary words; no service has secrets that short.
        if self.0.len() < 4 {
            return text.to_owned();
        }
        text.replace(&self.0, "***")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}
