//! Publishing: the commit of a batch reaches the ledger's home, or it is said why not, or that nobody knows.

use git2::Oid;

use super::build::{BuildError, Built};
use super::{GitStore, Home, PUSHED_KEPT, Pushed, WITNESS, WitnessLease, commit_id};
use crate::git::objects::{Swap, remote_lock_remedy};
use crate::git::push::{Answer, Cause, judge};
use crate::git::remote::RefMove;
use crate::ledger::{Batch, CommitId, PushReport};

impl GitStore {
    pub(super) fn publish(&mut self, batch: &Batch) -> PushReport {
        if batch.base.is_none() && self.home == Home::Remote && self.options.config.branch.is_none()
        {
            return self.branch_not_on_remote();
        }
        let built = match self.build(batch) {
            Ok(built) => built,
            Err(error) => return not_built(&error),
        };
        match self.home {
            Home::Remote => {
                let pushed = self.remember(built);
                let answer = self.push_to_remote(&pushed);
                if let Answer::WitnessRefused(words) = &answer {
                    self.push_without_witness(batch, words)
                } else {
                    self.report(&pushed, answer)
                }
            }
            Home::CheckedOut | Home::Aside => {
                let before = built.before.clone();
                let pushed = self.remember(built);
                self.move_branch(&pushed, &before)
            }
        }
    }

    pub(super) fn publish_again(&mut self, commit: &CommitId) -> PushReport {
        let known = self
            .pushed
            .iter()
            .find(|pushed| pushed.commit.to_string() == commit.0)
            .cloned();
        let Some(pushed) = known else {
            return PushReport::NotBuilt {
                reason: format!("the commit {} was not made by this run", commit.0),
            };
        };
        match self.home {
            Home::Remote => {
                let answer = self.push_to_remote(&pushed);
                self.report(&pushed, answer)
            }
            Home::CheckedOut | Home::Aside => {
                self.move_branch(&pushed, &std::collections::BTreeMap::new())
            }
        }
    }

    fn remember(&mut self, built: Built) -> Pushed {
        let witness = (!built.witness_refused).then_some(WitnessLease {
            old: self.seen.witness,
        });
        let pushed = Pushed {
            commit: built.commit,
            base: built.base,
            witness,
            blobs: built.blobs,
            files: built.files,
        };
        self.pushed.push_front(pushed.clone());
        self.pushed.truncate(PUSHED_KEPT);
        pushed
    }

    fn push_to_remote(&self, pushed: &Pushed) -> Answer {
        let branch = self.branch_ref();
        let mut moves = vec![RefMove {
            name: &branch,
            old: pushed.base,
            new: pushed.commit,
        }];
        moves.extend(pushed.witness.map(|witness| RefMove {
            name: WITNESS,
            old: witness.old,
            new: pushed.commit,
        }));
        let witness = pushed.witness.map(|_lease| WITNESS);
        match self.remote().push(&moves, self.options.push_timeout) {
            Ok(finished) => judge(&finished, &branch, witness),
            // git did start before, or this store could not have been opened.
            Err(error) => Answer::Unknown(error.to_string()),
        }
    }

    /// The host hides such refs: the ledger goes on without a witness, and says so in its header.
    fn push_without_witness(&mut self, batch: &Batch, words: &str) -> PushReport {
        self.witness_refused = true;
        let built = match self.build(batch) {
            Ok(built) => built,
            Err(error) => return not_built(&error),
        };
        let pushed = self.remember(built);
        let answer = self.push_to_remote(&pushed);
        let mut report = self.report(&pushed, answer);
        if let PushReport::Landed { notice, .. } = &mut report {
            *notice = Some(self.witness_notice(words));
        }
        report
    }

    fn witness_notice(&self, words: &str) -> String {
        format!(
            "`{}` does not take {WITNESS} ({words}): the ledger goes on without it, so a rollback of \
             the branch would not be noticed",
            self.options.config.remote
        )
    }

    fn report(&mut self, pushed: &Pushed, answer: Answer) -> PushReport {
        let commit = commit_id(pushed.commit);
        match answer {
            Answer::Landed => self.landed(pushed, None),
            Answer::Beaten(reason) => PushReport::Rejected {
                commit,
                reason: with_remedy(reason),
            },
            Answer::Unknown(reason) => PushReport::Unknown {
                commit,
                reason: with_remedy(reason),
            },
            // git's HTTP client repeats a request whose answer was lost, and reports the second one's failure.
            Answer::Refused { .. } | Answer::WitnessRefused(_) if self.is_at(pushed.commit) => {
                self.landed(pushed, None)
            }
            Answer::Refused { reason, cause } => PushReport::Refused {
                reason,
                hint: self.hint(cause),
            },
            Answer::WitnessRefused(reason) => PushReport::Refused {
                reason,
                hint: self.hint(Cause::Rule),
            },
            Answer::WitnessLeftBehind(words) => {
                self.witness_refused = true;
                if self.is_at(pushed.commit) {
                    let notice = self.witness_notice(&words);
                    let alone = Pushed {
                        witness: None,
                        ..pushed.clone()
                    };
                    self.landed(&alone, Some(notice))
                } else {
                    PushReport::Unknown {
                        commit,
                        reason: words,
                    }
                }
            }
        }
    }

    /// Whether the remote's branch is at `commit`; not knowing is no.
    fn is_at(&self, commit: Oid) -> bool {
        self.list().is_ok_and(|listed| listed.tip == Some(commit))
    }

    fn landed(&mut self, pushed: &Pushed, notice: Option<String>) -> PushReport {
        self.seen.tip = Some(pushed.commit);
        if pushed.witness.is_some() && self.home == Home::Remote {
            self.seen.witness = Some(pushed.commit);
        }
        if self.home == Home::Remote {
            self.note_fetched();
        }
        PushReport::Landed {
            commit: commit_id(pushed.commit),
            blobs: pushed.blobs.clone(),
            notice,
        }
    }

    /// Without a remote: the branch moves, and index and work tree follow for the commit's own paths.
    fn move_branch(
        &mut self,
        pushed: &Pushed,
        before: &std::collections::BTreeMap<String, Oid>,
    ) -> PushReport {
        let failed = |reason: String| PushReport::NotBuilt { reason };
        if self.home == Home::CheckedOut {
            if let Err(error) = self.finish_follow() {
                return failed(error.message);
            }
            let tree = self.work_tree();
            let paths: Vec<&str> = pushed.files.iter().map(|file| file.path.as_str()).collect();
            let prepared = tree
                .check(&paths)
                .and_then(|()| tree.note(&pushed.files, before));
            if let Err(error) = prepared {
                return failed(error.to_string());
            }
        }
        let swapped = self.objects.compare_and_swap(
            &self.branch_ref(),
            pushed.commit,
            pushed.base,
            "sayonce: ledger",
        );
        match swapped {
            Ok(Swap::Moved) => {
                // The rows are in the branch now. What index and work tree lack, the note gives to the next run.
                let followed = match self.home {
                    Home::CheckedOut => self.work_tree().follow(&pushed.files),
                    Home::Remote | Home::Aside => Ok(()),
                };
                let notice = followed.err().map(|error| error.to_string());
                self.landed(pushed, notice)
            }
            Ok(Swap::Beaten) => PushReport::Rejected {
                commit: commit_id(pushed.commit),
                reason: format!("the branch `{}` has moved", self.branch),
            },
            Err(error) => not_built(&BuildError::Objects(error)),
        }
    }

    fn branch_not_on_remote(&self) -> PushReport {
        let (branch, remote) = (&self.branch, &self.options.config.remote);
        PushReport::Refused {
            reason: format!("the branch `{branch}` is not on `{remote}` yet"),
            hint: format!(
                "push it first with `git push {remote} {branch}`, or keep the ledger on a branch of its \
                 own: set `branch = \"sayonce\"` under `[ledger]` (ledger.branch)"
            ),
        }
    }

    pub(super) fn hint(&self, cause: Cause) -> String {
        let (branch, remote) = (&self.branch, &self.options.config.remote);
        let own = self.options.config.branch.is_some();
        match cause {
            Cause::Rule if own => format!(
                "a rule of `{remote}` forbids this push: let this account push to `{branch}`, or set \
                 another `branch` under `[ledger]` (ledger.branch)"
            ),
            Cause::Rule => format!(
                "a rule of `{remote}` forbids pushes to `{branch}`: keep the ledger on a branch of its own, \
                 with `branch = \"sayonce\"` under `[ledger]` (ledger.branch)"
            ),
            Cause::Rights => format!(
                "this job may not write to `{remote}`: in GitHub Actions set `permissions: contents: write`; \
                 elsewhere try `git push --dry-run {remote} HEAD:refs/heads/{branch}`"
            ),
            Cause::CheckedOut => format!(
                "`{remote}` is a work tree with `{branch}` checked out: use a bare repository, or a branch \
                 of the ledger's own (ledger.branch)"
            ),
            Cause::NotAtomic => format!(
                "`{remote}` can't move two refs at once, which the ledger needs: use another host for it \
                 (ledger.remote)"
            ),
            Cause::Shallow => format!(
                "`{remote}` takes no pushes from a shallow clone: check out with `fetch-depth: 0`"
            ),
        }
    }
}

/// A push that was killed on the remote leaves a lock there, on which every later push fails as if it lost a race.
fn with_remedy(reason: String) -> String {
    let Some(remedy) = remote_lock_remedy(&reason) else {
        return reason;
    };
    // What follows is git's own advice, which speaks of editors.
    let words = reason.split("; Another git process").next();
    format!("{}; {remedy}", words.unwrap_or(&reason))
}

fn not_built(error: &BuildError) -> PushReport {
    match error {
        BuildError::TooNew(_) => PushReport::Refused {
            reason: error.to_string(),
            hint: "install the newest sayonce".to_owned(),
        },
        BuildError::Base(_)
        | BuildError::Ledger(_)
        | BuildError::Path(_)
        | BuildError::Twice(_)
        | BuildError::Stale(_)
        | BuildError::Row { .. }
        | BuildError::Unfaithful(_)
        | BuildError::Random(_)
        | BuildError::Objects(_) => PushReport::NotBuilt {
            reason: error.to_string(),
        },
    }
}
