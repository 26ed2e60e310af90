//! Opening: which repository, which branch, which home.

use std::collections::VecDeque;

use super::{GitStore, GitStoreOptions, Home, Seen, objects_error, remote_error};
use crate::config::PushMode;
use crate::environment::Environment;
use crate::git::objects::{Durability, Head, Objects, is_branch_name};
use crate::git::process::{Git, ProcessError, scrub_urls};
use crate::git::remote::Remote;
use crate::git::signature::Settings;
use crate::ledger::StoreError;
use crate::ledger::contents::RowCache;
use crate::ledger::repository::Identity;

impl GitStore {
    /// Opens the ledger: chooses its branch, and whether claims are pushed. Does not use the network.
    pub fn open(options: GitStoreOptions) -> Result<Self, StoreError> {
        let opened = Objects::open(&options.repo, Durability::Scratch)
            .map_err(|error| objects_error(&error))?;
        let git = Git::new(opened.top(), &options.environment);
        let settings = Settings::read(&git).map_err(|error| git_error(&error))?;
        let git = if settings.get("core.sshcommand").is_some() {
            git.with_own_ssh()
        } else {
            git
        };
        let head = opened.head().map_err(|error| objects_error(&error))?;
        let branch = choose_branch(&options, &head)?;
        let remote = &options.config.remote;
        let has_remote = settings.get(&format!("remote.{remote}.url")).is_some();
        let home = match options.config.push {
            PushMode::Never => local_home(&opened, &head, &branch)?,
            PushMode::Auto if !has_remote => local_home(&opened, &head, &branch)?,
            PushMode::Always if !has_remote => {
                return Err(error(
                    format!("there is no remote `{remote}`, and `push` is `always`"),
                    &format!(
                        "add it with `git remote add {remote} URL`, name another `remote` under \
                         `[ledger]`, or set `push = \"never\"`"
                    ),
                ));
            }
            PushMode::Auto | PushMode::Always => Home::Remote,
        };
        let identity = match home {
            Home::Remote => {
                let address = Remote::new(&git, remote)
                    .address()
                    .map_err(|error| remote_error(remote, &error))?;
                Identity::new(&address, &options.environment)
            }
            Home::CheckedOut | Home::Aside => Identity::default(),
        };
        let objects = match home {
            Home::Remote => opened,
            // Opened anew, because libgit2 takes the setting when it first touches the database.
            Home::CheckedOut | Home::Aside => Objects::open(&options.repo, Durability::Synced)
                .map_err(|error| objects_error(&error))?,
        };
        Ok(Self {
            options,
            objects,
            git,
            settings,
            branch,
            home,
            identity,
            cache: RowCache::default(),
            recent: VecDeque::new(),
            seen: Seen::default(),
            pushed: VecDeque::new(),
            witness_refused: false,
        })
    }
}

fn choose_branch(options: &GitStoreOptions, head: &Head) -> Result<String, StoreError> {
    let branch = match (&options.config.branch, head) {
        (Some(branch), _) | (None, Head::Branch(branch)) => branch.clone(),
        (None, Head::Detached) => branch_of_actions(&options.environment).ok_or_else(|| {
            error(
                "no branch is checked out here, so the ledger's branch is not known".to_owned(),
                "set `branch` under `[ledger]`, such as `branch = \"sayonce\"`",
            )
        })?,
    };
    if is_branch_name(&branch) {
        Ok(branch)
    } else {
        Err(error(
            format!("`{branch}` can't be a branch's name"),
            "set another `branch` under `[ledger]`",
        ))
    }
}

/// The branch that GitHub Actions runs for. On a pull request the variable holds `12/merge`, which is none.
pub(super) fn branch_of_actions(environment: &Environment) -> Option<String> {
    let name = environment.get("GITHUB_REF_NAME")?;
    let is_branch = match environment.get("GITHUB_REF") {
        Some(full) => full.strip_prefix("refs/heads/") == Some(name),
        None => environment
            .get("GITHUB_REF_TYPE")
            .is_none_or(|kind| kind == "branch"),
    };
    is_branch.then(|| name.to_owned())
}

fn local_home(objects: &Objects, head: &Head, branch: &str) -> Result<Home, StoreError> {
    if objects.is_checked_out_elsewhere(branch) {
        return Err(error(
            format!("the branch `{branch}` is checked out in another work tree of this repository"),
            "run there, or set a `branch` of its own under `[ledger]`",
        ));
    }
    let here = *head == Head::Branch(branch.to_owned()) && !objects.is_bare();
    Ok(if here { Home::CheckedOut } else { Home::Aside })
}

fn git_error(cause: &ProcessError) -> StoreError {
    StoreError {
        lasting: false,
        message: scrub_urls(&cause.to_string()),
        hint: Some("install git, version 2.29 or later".to_owned()),
        source: std::error::Error::source(cause).map(|cause| anyhow::anyhow!("{cause}")),
    }
}

fn error(message: String, hint: &str) -> StoreError {
    StoreError {
        lasting: false,
        message,
        hint: Some(hint.to_owned()),
        source: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_of_a_detached_checkout_is_the_one_that_actions_names() {
        let check = |variables: [(&str, &str); 2]| branch_of_actions(&Environment::of(variables));
        let main = Some("main".to_owned());
        assert_eq!(
            check([
                ("GITHUB_REF_NAME", "main"),
                ("GITHUB_REF", "refs/heads/main")
            ]),
            main
        );
        assert_eq!(
            check([("GITHUB_REF_NAME", "main"), ("GITHUB_REF_TYPE", "branch")]),
            main
        );
        assert_eq!(check([("GITHUB_REF_NAME", "main"), ("X", "")]), main);
        assert_eq!(
            check([
                ("GITHUB_REF_NAME", "12/merge"),
                ("GITHUB_REF", "refs/pull/12/merge")
            ]),
            None
        );
        assert_eq!(
            check([("GITHUB_REF_NAME", "v1"), ("GITHUB_REF_TYPE", "tag")]),
            None
        );
    }
}
