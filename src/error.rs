//! How a command fails: a kind, a chain of causes, and hints that name what to do.

use std::fmt::Write as _;

use crate::exit::Exit;

/// Why a command could not do its work.
#[derive(Debug)]
pub struct Failure {
    /// The exit code's meaning.
    pub exit: Exit,
    /// What failed, with its causes.
    pub error: anyhow::Error,
    /// Sentences that name the command to run or the place to change.
    pub hints: Vec<String>,
}

impl Failure {
    /// Makes a failure without hints.
    pub fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit,
            error: error.into(),
            hints: Vec::new(),
        }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Writes it for people.
    pub fn render(&self) -> String {
        let mut text = format!("error: {}", self.error);
        for cause in self.error.chain().skip(1) {
            write!(text, "\n  cause: {cause}").expect("writing to a string can't fail");
        }
        for hint in &self.hints {
            write!(text, "\n  hint: {hint}").expect("writing to a string can't fail");
        }
        text
    }
}

impl From<crate::config::ConfigError> for Failure {
    fn from(error: crate::config::ConfigError) -> Self {
        Self::new(Exit::Usage, error)
    }
}

impl From<crate::ledger::StoreError> for Failure {
    fn from(error: crate::ledger::StoreError) -> Self {
        let hint = error.hint.clone();
        let failure = Self::new(Exit::Ledger, error);
        match hint {
            Some(hint) => failure.hinted(hint),
            None => failure,
        }
    }
}
