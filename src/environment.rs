//! The process environment, read once. Everything else is given a copy.

use std::collections::BTreeMap;

use crate::secret::Secret;

/// A copy of the environment variables.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    /// Copies the process's variables; those that are not Unicode are left out.
    #[expect(clippy::disallowed_methods, reason = "this is the environment")]
    pub fn of_process() -> Self {
        Self {
            variables: std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .collect(),
        }
    }

    /// Takes the given variables alone.
    pub fn of<const N: usize>(variables: [(&str, &str); N]) -> Self {
        Self {
            variables: variables
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        }
    }

    /// Returns the same variables with one more.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Returns a variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// Returns every variable, for the environment of a child process.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns a secret that is set and not blank.
    pub fn secret(&self, name: &str) -> Option<Secret> {
        self.get(name).and_then(Secret::new)
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values may be secrets: names only.
        formatter
            .debug_set()
            .entries(self.variables.keys())
            .finish()
    }
}
