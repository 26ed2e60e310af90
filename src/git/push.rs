//! What `git push --porcelain` says, in three answers: landed, not landed, not known.
//!
//! Invariant: nothing counts as landed but git's own report, with exit code 0, that the branch moved to our commit;
//! and what is not understood is not known, or refused, never landed.

use super::process::{Ending, Finished, one_line};

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// What became of the ref.
    pub fate: Fate,
    /// The ref on the remote.
    pub reference: String,
    /// git's words.
    pub summary: String,
}

/// What became of one ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Made or moved (` `, `*`, `+`).
    Moved,
    /// It stood there already (`=`), which proves nothing: two jobs can make the same commit.
    UpToDate,
    /// Refused by git here or by the remote (`!`).
    Rejected,
}

/// What a push came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a push whose answer is not read is not a push"]
pub enum Answer {
    /// The branch moved to our commit, and the witness if it was pushed.
    Landed,
    /// Beaten, or nothing to do: read the tip.
    Beaten(String),
    /// By a rule of the host, or for lack of rights.
    Refused {
        /// git's words.
        reason: String,
        /// Which kind of refusal.
        cause: Cause,
    },
    /// The witness alone was refused, and the branch was held back with it.
    WitnessRefused(String),
    /// The witness alone was refused, and the remote says that the branch moved all the same: receive-pack looks for
    /// hidden refs before it thinks of `--atomic`. Read the tip.
    WitnessLeftBehind(String),
    /// Killed, cut, not understood: read the tip.
    Unknown(String),
}

/// Why a push was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A hook or a rule, such as branch protection.
    Rule,
    /// No credentials, wrong ones, or without the right to write.
    Rights,
    /// The remote is a work tree with this very branch checked out.
    CheckedOut,
    /// The remote can't move two refs at once.
    NotAtomic,
    /// The remote does not take pushes from a shallow clone.
    Shallow,
}

/// Reads the status lines: `<flag> TAB <from>:<to> TAB <summary>`.
pub fn parse(stdout: &str) -> Vec<Status> {
    stdout.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Status> {
    let (flag, rest) = line.split_once('\t')?;
    let (refs, summary) = rest.split_once('\t')?;
    let (_from, reference) = refs.rsplit_once(':')?;
    let fate = match flag {
        " " | "*" | "+" => Fate::Moved,
        "=" => Fate::UpToDate,
        "!" => Fate::Rejected,
        _ => return None,
    };
    Some(Status {
        fate,
        reference: reference.to_owned(),
        summary: summary.to_owned(),
    })
}

/// Judges a push of `branch` and, if it was pushed too, of `witness`.
pub fn judge(finished: &Finished, branch: &str, witness: Option<&str>) -> Answer {
    let statuses = parse(&finished.stdout);
    let of = |reference: &str| statuses.iter().find(|status| status.reference == reference);
    let Some(branch_status) = of(branch) else {
        return judge_without_report(finished);
    };
    let witness_status = witness.and_then(of);
    let words = || rejection_words(finished, &statuses);
    match branch_status.fate {
        Fate::Moved if finished.succeeded() => {
            let witness_moved = witness.is_none()
                || witness_status.is_some_and(|status| status.fate == Fate::Moved);
            if witness_moved {
                Answer::Landed
            } else {
                Answer::Beaten(words())
            }
        }
        Fate::Moved => match witness_status.filter(|status| status.fate == Fate::Rejected) {
            Some(status) if matches!(sort_of(&status.summary), Sort::Refusal(_)) => {
                Answer::WitnessLeftBehind(words())
            }
            Some(_) | None => Answer::Unknown(words()),
        },
        Fate::UpToDate => Answer::Beaten("the remote already had this commit".to_owned()),
        Fate::Rejected => judge_rejection(finished, branch_status, witness_status, &words()),
    }
}

fn judge_rejection(
    finished: &Finished,
    branch: &Status,
    witness: Option<&Status>,
    words: &str,
) -> Answer {
    // With --atomic every ref is reported as rejected; the one at fault carries the reason.
    let dragged = |status: &Status| status.summary.contains("atomic");
    let at_fault: Vec<&Status> = [Some(branch), witness]
        .into_iter()
        .flatten()
        .filter(|status| status.fate == Fate::Rejected && !dragged(status))
        .collect();
    let witness_alone =
        dragged(branch) && witness.is_some_and(|status| at_fault.iter().all(|one| *one == status));
    let Some(reason) = at_fault.first().map(|status| status.summary.as_str()) else {
        // Every ref was dragged along by another one; none is named, so somebody moved something.
        return Answer::Beaten(words.to_owned());
    };
    match sort_of(reason) {
        Sort::Race => Answer::Beaten(words.to_owned()),
        Sort::Trouble => Answer::Unknown(words.to_owned()),
        Sort::Refusal(_) if witness_alone => Answer::WitnessRefused(words.to_owned()),
        // A hook speaks for the push as a whole; only its own text says which ref it minds.
        Sort::Refusal(Cause::Rule)
            if witness.is_some_and(|status| finished.stderr.contains(&status.reference)) =>
        {
            Answer::WitnessRefused(words.to_owned())
        }
        Sort::Refusal(cause) => Answer::Refused {
            reason: words.to_owned(),
            cause,
        },
    }
}

/// What a rejection's words mean.
enum Sort {
    /// Another push was faster.
    Race,
    /// The remote is unwell, or said nothing: it may have been done.
    Trouble,
    /// It will be the same the next time.
    Refusal(Cause),
}

fn sort_of(reason: &str) -> Sort {
    const RACE: [&str; 11] = [
        "stale info",
        "fetch first",
        "non-fast-forward",
        "needs force",
        "remote ref updated since checkout",
        "failed to update ref",
        "failed to lock",
        "cannot lock ref",
        "reference already exists",
        "incorrect old value",
        "reference transaction",
    ];
    const TROUBLE: [&str; 6] = [
        "remote failed to report status",
        "unpacker error",
        "unpack failed",
        "missing necessary objects",
        "internal server error",
        "timed out",
    ];
    let reason = reason.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| reason.contains(word));
    if says(&RACE) {
        Sort::Race
    } else if says(&TROUBLE) || reason.starts_with("[remote failure]") {
        Sort::Trouble
    } else if says(&["branch is currently checked out"]) {
        Sort::Refusal(Cause::CheckedOut)
    } else if says(&["shallow update not allowed"]) {
        Sort::Refusal(Cause::Shallow)
    } else {
        Sort::Refusal(Cause::Rule)
    }
}

/// No status line: git did not get as far as talking about refs, or was cut off.
fn judge_without_report(finished: &Finished) -> Answer {
    let words = finished.words();
    match finished.ending {
        Ending::Code(0) => Answer::Unknown(format!("git reported nothing of the branch: {words}")),
        Ending::TimedOut | Ending::Signal => Answer::Unknown(words),
        Ending::Code(_) => match refusal_of_transport(&finished.stderr) {
            Some(cause) => Answer::Refused {
                reason: words,
                cause,
            },
            None => Answer::Unknown(words),
        },
    }
}

/// What git's transports say when the remote will not talk to us, whatever we push.
pub fn refusal_of_transport(stderr: &str) -> Option<Cause> {
    const RIGHTS: [&str; 16] = [
        "authentication failed",
        "could not read username",
        "could not read password",
        "terminal prompts disabled",
        "permission denied",
        "permission to ",
        "error: 401",
        "error: 403",
        "write access to repository not granted",
        "repository not found",
        "does not appear to be a git repository",
        "error: 404",
        "marked as read only",
        "read-only",
        "host key verification failed",
        "could not be found or you don't have permission",
    ];
    let said = stderr.to_lowercase();
    if said.contains("does not support --atomic") {
        Some(Cause::NotAtomic)
    } else if RIGHTS.iter().any(|word| said.contains(word)) {
        Some(Cause::Rights)
    } else {
        None
    }
}

/// The remote's own words where it had any, else the status lines.
fn rejection_words(finished: &Finished, statuses: &[Status]) -> String {
    const LINES_MAX: usize = 6;
    let remote: Vec<&str> = finished
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("remote:"))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take(LINES_MAX)
        .collect();
    let mut summaries: Vec<&str> = statuses
        .iter()
        .filter(|status| status.fate == Fate::Rejected)
        .map(|status| status.summary.trim())
        .filter(|summary| !summary.is_empty())
        .collect();
    summaries.dedup();
    match (summaries.is_empty(), remote.is_empty()) {
        (true, true) => finished.words(),
        (true, false) => one_line(&remote.join("; ")),
        (false, true) => one_line(&summaries.join("; ")),
        (false, false) => one_line(&format!("{}: {}", summaries.join("; "), remote.join("; "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BRANCH: &str = "refs/heads/main";
    const WITNESS: &str = "refs/sayonce/witness";

    fn check(ending: Ending, report: &[&str], stderr: &str) -> Answer {
        let mut stdout = "To /srv/git/site.git\n".to_owned();
        for line in report {
            stdout.push_str(line);
            stdout.push('\n');
        }
        let finished = Finished {
            ending,
            stdout,
            stderr: stderr.to_owned(),
        };
        judge(&finished, BRANCH, Some(WITNESS))
    }

    fn both(flag_and_summary: &str) -> [String; 2] {
        let (flag, summary) = flag_and_summary.split_once('|').unwrap();
        [BRANCH, WITNESS].map(|reference| format!("{flag}\ta0bded466072:{reference}\t{summary}"))
    }

    fn check_both(ending: Ending, flag_and_summary: &str, stderr: &str) -> Answer {
        let [branch, witness] = both(flag_and_summary);
        check(ending, &[&branch, &witness, "Done"], stderr)
    }

    fn check_each(branch: &str, witness: &str, stderr: &str) -> Answer {
        let [branch, _] = both(branch);
        let [_, witness] = both(witness);
        check(Ending::Code(1), &[&branch, &witness, "Done"], stderr)
    }

    #[test]
    fn landed_is_both_refs_moved_and_exit_code_zero() {
        let ok = Ending::Code(0);
        assert_eq!(check_both(ok, " |37c317c..4013baa", ""), Answer::Landed);
        assert_eq!(check_both(ok, "*|[new branch]", ""), Answer::Landed);
        assert_eq!(
            check_both(ok, "+|37c317c...4013baa (forced update)", ""),
            Answer::Landed
        );
        assert_eq!(
            check_both(ok, "=|[up to date]", ""),
            Answer::Beaten("the remote already had this commit".to_owned())
        );
        // The remote was killed after it had said that the refs moved.
        let cut = "send-pack: unexpected disconnect while reading sideband packet\n\
                   error: error in sideband demultiplexer\n\
                   error: failed to push some refs to '/srv/git/site.git'\n";
        assert_eq!(
            check_both(Ending::Code(1), " |37c317c..4013baa", cut),
            Answer::Unknown(
                "send-pack: unexpected disconnect while reading sideband packet; \
                 error: error in sideband demultiplexer; \
                 error: failed to push some refs to '/srv/git/site.git'"
                    .to_owned()
            )
        );
        let [branch, _] = both(" |37c317c..4013baa");
        assert!(matches!(check(ok, &[&branch], ""), Answer::Beaten(_)));
        assert!(matches!(check(ok, &["Done"], ""), Answer::Unknown(_)));
    }

    #[test]
    fn a_branch_pushed_alone_needs_no_witness() {
        let [branch, _] = both(" |37c317c..4013baa");
        let finished = Finished {
            ending: Ending::Code(0),
            stdout: branch,
            stderr: String::new(),
        };
        assert_eq!(judge(&finished, BRANCH, None), Answer::Landed);
    }

    #[test]
    fn a_lost_race_is_beaten() {
        for summary in [
            "[rejected] (fetch first)",
            "[rejected] (non-fast-forward)",
            "[remote rejected] (failed to update ref)",
            "[remote rejected] (cannot lock ref 'refs/heads/main': is at 4013baa but expected 37c317c)",
            "[remote rejected] (atomic transaction failed)",
            "[remote rejected] (incorrect old value provided)",
        ] {
            let answer = check_both(Ending::Code(1), &format!("!|{summary}"), "");
            assert_eq!(answer, Answer::Beaten(summary.to_owned()));
        }
        let stale = "!|[rejected] (stale info)";
        let dragged = "!|[rejected] (atomic push failed)";
        assert_eq!(
            check_each(stale, dragged, ""),
            Answer::Beaten("[rejected] (stale info); [rejected] (atomic push failed)".to_owned())
        );
        assert!(matches!(check_each(dragged, stale, ""), Answer::Beaten(_)));
        // Another ref than ours was at fault.
        assert!(matches!(
            check_each(dragged, dragged, ""),
            Answer::Beaten(_)
        ));
    }

    #[test]
    fn a_rule_of_the_host_is_a_refusal_in_its_own_words() {
        let protected = "remote: error: GH006: Protected branch update failed for refs/heads/main.        \n\
             remote: error: Changes must be made through a pull request.        \n\
             error: failed to push some refs to '/srv/git/site.git'\n";
        assert_eq!(
            check_both(
                Ending::Code(1),
                "!|[remote rejected] (pre-receive hook declined)",
                protected
            ),
            Answer::Refused {
                reason: "[remote rejected] (pre-receive hook declined): \
                         error: GH006: Protected branch update failed for refs/heads/main.; \
                         error: Changes must be made through a pull request."
                    .to_owned(),
                cause: Cause::Rule,
            }
        );
        let refused = |summary: &str, stderr: &str| {
            let answer = check_each(
                &format!("!|{summary}"),
                "!|[remote rejected] (atomic push failure)",
                stderr,
            );
            let Answer::Refused { cause, .. } = answer else {
                panic!("{answer:?}");
            };
            cause
        };
        assert_eq!(
            refused(
                "[remote rejected] (push declined due to repository rule violations)",
                "remote: error: GH013: Repository rule violations found for refs/heads/main.\n"
            ),
            Cause::Rule
        );
        assert_eq!(
            refused("[remote rejected] (protected branch hook declined)", ""),
            Cause::Rule
        );
        assert_eq!(
            refused("[remote rejected] (branch is currently checked out)", ""),
            Cause::CheckedOut
        );
        assert_eq!(
            refused("[remote rejected] (shallow update not allowed)", ""),
            Cause::Shallow
        );
    }

    #[test]
    fn a_refused_witness_is_told_from_a_refused_branch() {
        assert_eq!(
            check_each(
                "!|[remote rejected] (atomic push failure)",
                "!|[remote rejected] (hook declined)",
                "remote: error: hook declined to update refs/sayonce/witness        \n"
            ),
            Answer::WitnessRefused(
                "[remote rejected] (atomic push failure); [remote rejected] (hook declined): \
                 error: hook declined to update refs/sayonce/witness"
                    .to_owned()
            )
        );
        assert_eq!(
            check_each(
                " |37c317c..4013baa",
                "!|[remote rejected] (deny updating a hidden ref)",
                ""
            ),
            Answer::WitnessLeftBehind("[remote rejected] (deny updating a hidden ref)".to_owned())
        );
        assert!(matches!(
            check_both(
                Ending::Code(1),
                "!|[remote rejected] (pre-receive hook declined)",
                "remote: only branches and tags are allowed, not refs/sayonce/witness\n"
            ),
            Answer::WitnessRefused(_)
        ));
    }

    #[test]
    fn an_unwell_remote_is_not_known() {
        for summary in [
            "[remote failure] (remote failed to report status)",
            "[remote rejected] (unpacker error)",
            "[remote rejected] (Internal Server Error)",
        ] {
            let answer = check_both(Ending::Code(1), &format!("!|{summary}"), "");
            assert_eq!(answer, Answer::Unknown(summary.to_owned()));
        }
    }

    #[test]
    fn without_a_report_only_lack_of_rights_is_certain() {
        let fatal = |stderr: &str| check(Ending::Code(128), &[], stderr);
        for (stderr, cause) in [
            (
                "remote: Permission to blog/site.git denied to github-actions[bot].\n\
                 fatal: unable to access 'https://github.com/blog/site/': The requested URL returned error: 403\n",
                Cause::Rights,
            ),
            (
                "git@github.com: Permission denied (publickey).\n",
                Cause::Rights,
            ),
            (
                "fatal: could not read Username for 'https://github.com': terminal prompts disabled\n",
                Cause::Rights,
            ),
            (
                "remote: Repository not found.\nfatal: repository 'https://github.com/b/s/' not found\n",
                Cause::Rights,
            ),
            (
                "fatal: '../nothing' does not appear to be a git repository\n",
                Cause::Rights,
            ),
            (
                "fatal: the receiving end does not support --atomic push\n",
                Cause::NotAtomic,
            ),
        ] {
            let Answer::Refused { cause: found, .. } = fatal(stderr) else {
                panic!("not refused: {stderr}");
            };
            assert_eq!(found, cause, "{stderr}");
        }
        for stderr in [
            "fatal: unable to access 'https://github.com/b/s/': Could not resolve host: github.com\n",
            "fatal: the remote end hung up unexpectedly\n",
            "fatal: unable to access 'https://github.com/b/s/': The requested URL returned error: 429\n",
            "error: RPC failed; HTTP 503 curl 22 The requested URL returned error: 503\n",
            "",
        ] {
            assert!(matches!(fatal(stderr), Answer::Unknown(_)), "{stderr}");
        }
        assert_eq!(
            check(Ending::TimedOut, &[], ""),
            Answer::Unknown("git did not end in time".to_owned())
        );
    }
}
