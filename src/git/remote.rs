//! The remote of a repository: what its refs are, what they point at, and moving them by compare-and-swap.
//!
//! Invariant: the user's repository is never made deeper or shallower, no ref of the user's is touched by a fetch,
//! and no push goes without a lease that names the exact old value.

use std::collections::BTreeMap;
use std::time::Duration;

use git2::Oid;

use super::process::{Finished, Git, LOCAL_TIMEOUT, ProcessError};
use super::push::{Cause, refusal_of_transport};

/// Asking for two refs is one round trip.
pub const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// The first fetch of a ledger that lives beside a big history.
pub const FETCH_TIMEOUT: Duration = Duration::from_mins(3);

/// Object names on one command line; Windows ends at 32,000 letters.
const NAMES_PER_CALL: usize = 300;

/// A remote, by its name in the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Remote<'a> {
    git: &'a Git,
    name: &'a str,
}

/// A ref to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefMove<'a> {
    /// Its name on the remote.
    pub name: &'a str,
    /// What it must be now; none: it must not exist.
    pub old: Option<Oid>,
    /// What it shall be.
    pub new: Oid,
}

/// Why the remote gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// git did not start.
    #[error("the git program could not be run")]
    Process(#[from] ProcessError),
    /// git or the remote failed.
    #[error("{words}")]
    Failed {
        /// Their words.
        words: String,
        /// Whether it lies with the credentials.
        cause: Option<Cause>,
    },
    /// Pushes would go elsewhere than fetches come from.
    #[error("`{name}` fetches from {fetch} but pushes to {push}")]
    TwoAddresses {
        /// The remote.
        name: String,
        /// Its address for fetches, scrubbed.
        fetch: String,
        /// Its addresses for pushes, scrubbed.
        push: String,
    },
    /// What it answered is not what git answers.
    #[error("git's list of the remote's refs could not be read: `{0}`")]
    Unreadable(String),
}

impl<'a> Remote<'a> {
    /// Takes a configured remote.
    pub fn new(git: &'a Git, name: &'a str) -> Self {
        Self { git, name }
    }

    /// Returns the one address that fetches and pushes use.
    ///
    /// Two addresses would make the compare-and-swap compare one repository and swap another.
    pub fn address(&self) -> Result<String, RemoteError> {
        let ask = |arguments: &[&str]| -> Result<Vec<String>, RemoteError> {
            let answer = finished(self.git.run(arguments, LOCAL_TIMEOUT)?)?;
            Ok(answer.stdout.lines().map(str::to_owned).collect())
        };
        let fetch = ask(&["remote", "get-url", self.name])?;
        let push = ask(&["remote", "get-url", "--push", "--all", self.name])?;
        match fetch.as_slice() {
            [one] if push == fetch => Ok(one.clone()),
            _ => Err(RemoteError::TwoAddresses {
                name: self.name.to_owned(),
                fetch: fetch.join(", "),
                push: push.join(", "),
            }),
        }
    }

    /// Asks what `references` point at now; those that don't exist are left out.
    pub fn list(&self, references: &[&str]) -> Result<BTreeMap<String, Oid>, RemoteError> {
        let mut arguments = vec!["ls-remote", "--quiet", self.name];
        arguments.extend(references);
        let answer = finished(self.git.run(&arguments, LIST_TIMEOUT)?)?;
        parse_list(&answer.stdout, references)
    }

    /// Fetches refs of the remote into refs here, each `(theirs, ours)`.
    pub fn fetch(&self, references: &[(&str, &str)]) -> Result<(), RemoteError> {
        let specs: Vec<String> = references
            .iter()
            .map(|(theirs, ours)| format!("+{theirs}:{ours}"))
            .collect();
        let mut arguments = vec![
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-prune",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            // The user's remote-tracking refs stay as they are: a `push --force-with-lease` may rely on them.
            "--refmap=",
            self.name,
        ];
        arguments.extend(specs.iter().map(String::as_str));
        finished(self.git.run(&arguments, FETCH_TIMEOUT)?).map(drop)
    }

    /// Fetches single objects, as git itself does when it meets a missing one in a partial clone.
    pub fn fetch_objects(&self, objects: &[Oid]) -> Result<(), RemoteError> {
        for some in objects.chunks(NAMES_PER_CALL) {
            let names: Vec<String> = some.iter().map(ToString::to_string).collect();
            let mut arguments = vec![
                "-c",
                "fetch.negotiationAlgorithm=noop",
                "fetch",
                "--quiet",
                "--no-tags",
                "--no-prune",
                "--no-recurse-submodules",
                "--no-write-fetch-head",
                "--refmap=",
                "--filter=blob:none",
                self.name,
            ];
            arguments.extend(names.iter().map(String::as_str));
            finished(self.git.run(&arguments, FETCH_TIMEOUT)?)?;
        }
        Ok(())
    }

    /// Pushes once. What came of it is for [`super::push::judge`] to say.
    pub fn push(
        &self,
        moves: &[RefMove<'_>],
        deadline: Duration,
    ) -> Result<Finished, ProcessError> {
        self.push_with(&[], moves, deadline)
    }

    /// Asks whether a push would go through, as far as that shows before anything is sent: the same push, without moving
    /// anything.
    pub fn push_dry(
        &self,
        moves: &[RefMove<'_>],
        deadline: Duration,
    ) -> Result<Finished, ProcessError> {
        self.push_with(&["--dry-run"], moves, deadline)
    }

    fn push_with(
        &self,
        more: &[&str],
        moves: &[RefMove<'_>],
        deadline: Duration,
    ) -> Result<Finished, ProcessError> {
        let leases: Vec<String> = moves.iter().map(RefMove::lease).collect();
        let specs: Vec<String> = moves.iter().map(RefMove::spec).collect();
        let mut arguments = vec![
            "push",
            "--porcelain",
            "--atomic",
            "--no-verify",
            "--no-follow-tags",
            "--recurse-submodules=no",
        ];
        arguments.extend(more);
        arguments.extend(leases.iter().map(String::as_str));
        arguments.push(self.name);
        arguments.extend(specs.iter().map(String::as_str));
        self.git.run(&arguments, deadline)
    }
}

impl RefMove<'_> {
    fn lease(&self) -> String {
        let old = self.old.map(|old| old.to_string()).unwrap_or_default();
        format!("--force-with-lease={}:{old}", self.name)
    }

    fn spec(&self) -> String {
        format!("{}:{}", self.new, self.name)
    }
}

fn finished(finished: Finished) -> Result<Finished, RemoteError> {
    if finished.succeeded() {
        return Ok(finished);
    }
    Err(RemoteError::Failed {
        words: finished.words(),
        cause: refusal_of_transport(&finished.stderr),
    })
}

/// Reads what `ls-remote` printed; of all refs only `references` are taken.
pub fn parse_list(stdout: &str, references: &[&str]) -> Result<BTreeMap<String, Oid>, RemoteError> {
    let mut found = BTreeMap::new();
    for line in stdout.lines() {
        let (object, name) = line
            .split_once('\t')
            .ok_or_else(|| RemoteError::Unreadable(line.to_owned()))?;
        // git matches the tail of a name, so `refs/x/refs/heads/main` comes too.
        if references.contains(&name) {
            // git2 takes the beginning of a name for a whole one.
            let whole = object
                .parse::<Oid>()
                .ok()
                .filter(|parsed| parsed.to_string() == object)
                .ok_or_else(|| RemoteError::Unreadable(line.to_owned()))?;
            found.insert(name.to_owned(), whole);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_refs_are_taken_from_a_list() {
        let id = "37c317c1f6d0a4d1b7c8f2f4b7a1c0d9e8f70605";
        let listed = format!("{id}\trefs/heads/main\n{id}\trefs/x/refs/heads/main\n");
        let found = parse_list(&listed, &["refs/heads/main", "refs/sayonce/witness"]).unwrap();
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [("refs/heads/main".to_owned(), id.parse().unwrap())]
        );
        assert!(parse_list("nonsense", &["refs/heads/main"]).is_err());
        for cut in ["nonsense", "", "37c317c1f6d0"] {
            let listed = format!("{cut}\trefs/heads/main");
            assert!(parse_list(&listed, &["refs/heads/main"]).is_err(), "{cut}");
        }
    }

    #[test]
    fn a_lease_names_the_exact_old_value_or_that_there_is_none() {
        let new = Oid::from_bytes(&[1; 20]).unwrap();
        let there = RefMove {
            name: "refs/heads/main",
            old: Some(Oid::from_bytes(&[2; 20]).unwrap()),
            new,
        };
        assert_eq!(
            there.lease(),
            "--force-with-lease=refs/heads/main:0202020202020202020202020202020202020202"
        );
        assert_eq!(
            there.spec(),
            "0101010101010101010101010101010101010101:refs/heads/main"
        );
        let absent = RefMove { old: None, ..there };
        assert_eq!(absent.lease(), "--force-with-lease=refs/heads/main:");
    }
}
