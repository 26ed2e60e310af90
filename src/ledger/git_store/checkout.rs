//! Whether what is checked out is the newest commit of its branch on the remote.

use super::open::branch_of_actions;
use super::{GitStore, Home, StoreError, objects_error, remote_error};
use crate::git::objects::Head;

impl GitStore {
    /// Returns why the checkout is not what the remote's branch has; none: it is, commits of the ledger aside, or there is
    /// nothing to compare it with.
    pub(super) fn checkout_behind(&mut self) -> Result<Option<String>, StoreError> {
        let Some(here) = self
            .objects
            .reference("HEAD")
            .map_err(|error| objects_error(&error))?
            .filter(|_| self.home == Home::Remote)
        else {
            return Ok(None);
        };
        let branch = match self.objects.head().map_err(|error| objects_error(&error))? {
            Head::Branch(branch) => Some(branch),
            Head::Detached => branch_of_actions(&self.options.environment),
        };
        let Some(branch) = branch else {
            return Ok(Some(
                "no branch is checked out, so nobody can tell whether this is the site's newest commit"
                    .to_owned(),
            ));
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
        let same = self
            .objects
            .is_same_beside(here, there, &self.options.config.dir)
            .map_err(|error| objects_error(&error))?;
        Ok((!same).then(|| {
            format!("{branch} on {remote} is another commit than the one that is checked out here, perhaps a newer one")
        }))
    }
}
