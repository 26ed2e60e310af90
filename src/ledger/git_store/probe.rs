//! May the ledger be pushed? Asked with the push that a run would make, without moving anything.

use git2::Oid;

use super::{GitStore, Home, WITNESS};
use crate::git::push::refusal_of_transport;
use crate::git::remote::RefMove;
use crate::ledger::{Store as _, StoreError};

/// What the remote says to a push that moves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// There is no remote: the ledger stays on this machine.
    Local,
    /// It would be taken, as far as that shows beforehand.
    Allowed,
    /// It would not.
    Refused {
        /// git's words.
        reason: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// The branch that is checked out is not on the remote yet.
    NotThere {
        /// What to do about it.
        hint: String,
    },
    /// Nothing is committed here that could be asked with.
    NoCommit,
}

impl GitStore {
    /// Asks whether a push to the ledger's branch would be taken. Call it after [`crate::ledger::Store::read`].
    pub fn probe_push(&mut self) -> Result<Probe, StoreError> {
        if self.home != Home::Remote {
            return Ok(Probe::Local);
        }
        self.read()?;
        let branch = self.branch_ref();
        let tip = self.seen.tip;
        if tip.is_none() && self.options.config.branch.is_none() {
            let remote = &self.options.config.remote;
            return Ok(Probe::NotThere {
                hint: format!("push it first with `git push {remote} {}`", self.branch),
            });
        }
        let Some(commit) = tip.or_else(|| self.any_commit()) else {
            return Ok(Probe::NoCommit);
        };
        let mut moves = vec![RefMove {
            name: &branch,
            old: tip,
            new: commit,
        }];
        moves.extend(self.seen.witness.map(|witness| RefMove {
            name: WITNESS,
            old: Some(witness),
            new: witness,
        }));
        let finished = match self.remote().push_dry(&moves, self.options.push_timeout) {
            Ok(finished) => finished,
            Err(error) => {
                return Ok(Probe::Refused {
                    reason: error.to_string(),
                    hint: None,
                });
            }
        };
        if finished.succeeded() {
            return Ok(Probe::Allowed);
        }
        let cause = refusal_of_transport(&finished.stderr);
        Ok(Probe::Refused {
            reason: finished.words(),
            hint: cause.map(|cause| self.hint(cause)),
        })
    }

    /// Whether the remote has a witness of this ledger. Call it after [`crate::ledger::Store::read`].
    pub fn has_witness(&self) -> bool {
        self.seen.witness.is_some()
    }

    /// The commit that is checked out here.
    fn any_commit(&self) -> Option<Oid> {
        let answer = self
            .git
            .run(
                &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"],
                crate::git::process::LOCAL_TIMEOUT,
            )
            .ok()?;
        answer.stdout.trim().parse().ok()
    }
}
