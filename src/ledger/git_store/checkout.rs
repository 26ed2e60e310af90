//! Whether what is checked out is the newest commit of its branch on the remote.

use git2::Oid;

use super::open::branch_of_actions;
use super::{GitStore, Home, StoreError, objects_error, remote_error};
use crate::git::objects::Head;

const NO_BRANCH: &str =
    "no branch is checked out, so nobody can tell whether this is the site's newest commit";

impl GitStore {
    /// Returns why the checkout is not what the remote's branch has; none: it is, commits of the ledger aside, or there is
    /// nothing to compare it with.
    pub(super) fn checkout_behind(&mut self) -> Result<Option<String>, StoreError> {
        let (here, branch) = match self.checked_out()? {
            CheckedOut::Nothing => return Ok(None),
            CheckedOut::NoBranch => return Ok(Some(NO_BRANCH.to_owned())),
            CheckedOut::Branch(here, branch) => (here, branch),
        };
        let name = format!("refs/heads/{branch}");
        let remote = &self.options.config.remote;
        let told = |error| remote_error(remote, &error);
        let there = self.remote().list(&[&name]).map_err(told)?;
        let Some(there) = there.get(&name).copied().filter(|there| *there != here) else {
            return Ok(None);
        };
        if !self.objects.has(there) {
            let kept = format!("refs/sayonce/checkout/{branch}");
            self.remote().fetch(&[(&name, &kept)]).map_err(told)?;
        }
        self.difference(here, there, &branch)
    }

    /// The same, without the network: by what git knows of the remote's branch since its last fetch or push.
    pub fn checkout_behind_here(&self) -> Result<Option<String>, StoreError> {
        let (here, branch) = match self.checked_out()? {
            CheckedOut::Nothing => return Ok(None),
            CheckedOut::NoBranch => return Ok(Some(NO_BRANCH.to_owned())),
            CheckedOut::Branch(here, branch) => (here, branch),
        };
        let name = format!("refs/remotes/{}/{branch}", self.options.config.remote);
        let there = self
            .objects
            .reference(&name)
            .map_err(|error| objects_error(&error))?;
        match there.filter(|there| *there != here && self.objects.has(*there)) {
            Some(there) => self.difference(here, there, &branch),
            None => Ok(None),
        }
    }

    fn checked_out(&self) -> Result<CheckedOut, StoreError> {
        let here = self
            .objects
            .reference("HEAD")
            .map_err(|error| objects_error(&error))?;
        let Some(here) = here.filter(|_| self.home == Home::Remote) else {
            return Ok(CheckedOut::Nothing);
        };
        let branch = match self.objects.head().map_err(|error| objects_error(&error))? {
            Head::Branch(branch) => Some(branch),
            Head::Detached => branch_of_actions(&self.options.environment),
        };
        Ok(branch.map_or(CheckedOut::NoBranch, |branch| {
            CheckedOut::Branch(here, branch)
        }))
    }

    fn difference(
        &self,
        here: Oid,
        there: Oid,
        branch: &str,
    ) -> Result<Option<String>, StoreError> {
        let same = self
            .objects
            .is_same_beside(here, there, &self.options.config.dir)
            .map_err(|error| objects_error(&error))?;
        let remote = &self.options.config.remote;
        Ok((!same).then(|| {
            format!(
                "{branch} on {remote} is another commit than the one that is checked out here: push yours, or pull"
            )
        }))
    }
}

/// What may be compared with the remote's branch.
enum CheckedOut {
    /// Nothing: there is no commit yet, or no remote.
    Nothing,
    /// A commit of which nobody knows the branch.
    NoBranch,
    /// A branch, at a commit.
    Branch(Oid, String),
}
