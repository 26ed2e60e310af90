//! Who a commit says made it, and the configuration that it is read from.

use std::collections::BTreeMap;

use super::process::{Git, LOCAL_TIMEOUT, ProcessError};
use crate::environment::Environment;

/// Name and address, as a commit carries them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The name.
    pub name: String,
    /// The mail address.
    pub email: String,
}

/// Which of a commit's two people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Who wrote it.
    Author,
    /// Who committed it.
    Committer,
}

/// git's configuration as the program sees it: every file, include and environment variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    values: BTreeMap<String, String>,
}

impl Settings {
    /// Asks git.
    pub fn read(git: &Git) -> Result<Self, ProcessError> {
        let listed = git.run(&["config", "--null", "--list"], LOCAL_TIMEOUT)?;
        Ok(Self::parse(&listed.stdout))
    }

    fn parse(listed: &str) -> Self {
        let values = listed
            .split('\0')
            .filter(|entry| !entry.is_empty())
            .map(|entry| entry.split_once('\n').unwrap_or((entry, "")))
            // The last one counts, as for git.
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        Self { values }
    }

    /// Returns a setting that is there and not empty; section and name in lower case.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values
            .get(key)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// Whether objects may be missing here until they are asked for.
    pub fn is_partial_clone(&self) -> bool {
        self.get("extensions.partialclone").is_some()
            || self.values.iter().any(|(key, value)| {
                key.starts_with("remote.") && key.ends_with(".promisor") && value == "true"
            })
    }
}

/// Returns who a commit is by: the environment's person, else git's configuration's, else the runner's bot, else us.
/// Set explicitly, because libgit2's own default ignores the environment.
pub fn person(role: Role, environment: &Environment, settings: &Settings) -> Person {
    let (variables, section) = match role {
        Role::Author => (["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"], "author"),
        Role::Committer => (["GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"], "committer"),
    };
    let fallback = if environment.get("GITHUB_ACTIONS") == Some("true") {
        [
            "github-actions[bot]",
            "41898282+github-actions[bot]@users.noreply.github.com",
        ]
    } else {
        ["sayonce", "sayonce@localhost"]
    };
    let [name, email] = ["name", "email"].map(|part| {
        let [name_variable, email_variable] = variables;
        let variable = if part == "name" {
            name_variable
        } else {
            email_variable
        };
        let [fallback_name, fallback_email] = fallback;
        let fallback = if part == "name" {
            fallback_name
        } else {
            fallback_email
        };
        environment
            .get(variable)
            .or_else(|| settings.get(&format!("{section}.{part}")))
            .or_else(|| settings.get(&format!("user.{part}")))
            .map(legal)
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| fallback.to_owned())
    });
    Person { name, email }
}

/// git drops these letters from names; libgit2 refuses the whole signature.
fn legal(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_control() && !matches!(letter, '<' | '>'))
        .collect::<String>()
        .trim_matches([' ', '.', ',', ':', ';', '"', '\''])
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const N: usize>(variables: [(&str, &str); N], listed: &str) -> [String; 2] {
        let environment = Environment::of(variables);
        let settings = Settings::parse(listed);
        [Role::Author, Role::Committer].map(|role| {
            let person = person(role, &environment, &settings);
            format!("{} <{}>", person.name, person.email)
        })
    }

    #[test]
    fn the_nearest_word_counts() {
        let nobody = "sayonce <sayonce@localhost>";
        assert_eq!(check([], ""), [nobody, nobody]);
        let bot = "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>";
        assert_eq!(check([("GITHUB_ACTIONS", "true")], ""), [bot, bot]);
        let configured = "user.name\nOld\0user.name\nSite owner\0user.email\nowner@blog.example\0";
        assert_eq!(
            check([("GITHUB_ACTIONS", "true")], configured),
            [
                "Site owner <owner@blog.example>",
                "Site owner <owner@blog.example>"
            ]
        );
        assert_eq!(
            check(
                [
                    ("GIT_AUTHOR_NAME", "Bo\n<b>"),
                    ("GIT_AUTHOR_EMAIL", "bo@blog.example")
                ],
                "user.name\nSite owner\0user.email\nowner@blog.example\0committer.name\nCo\0"
            ),
            ["Bob <bo@blog.example>", "Co <owner@blog.example>"]
        );
    }

    #[test]
    fn a_partial_clone_is_known_by_its_settings() {
        assert!(Settings::parse("remote.origin.promisor\ntrue\0").is_partial_clone());
        assert!(Settings::parse("extensions.partialclone\norigin\0").is_partial_clone());
        assert!(!Settings::parse("remote.origin.url\n/x\0core.bare\n\0").is_partial_clone());
    }
}
