//! The outsider: is what the services saw and what the ledger's remote holds what the protocol promises?

use std::collections::{BTreeMap, BTreeSet};

use super::evidence::{Evidence, Service, Write};
use super::history::{self, History, Version};
use super::moves;

/// How far the job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// A run was killed, or goes on.
    Midway,
    /// Everything that a run can do is done.
    AtRest,
}

/// Returns every broken promise, in words.
pub(crate) fn check(evidence: &Evidence, moment: Moment) -> Vec<String> {
    let history = match history::read(&evidence.remote, &evidence.branch, &evidence.secrets) {
        Ok(history) => history,
        Err(error) => return vec![format!("the ledger's remote can't be read: {error}")],
    };
    let mut broken = Vec::new();
    // A push that outlives its run may be between its two refs.
    let refs_may_differ = evidence.remote_was_killed || moment == Moment::Midway;
    of_the_branch(&history, refs_may_differ, &mut broken);
    for (row, versions) in &history.rows {
        moves::check(row, versions, &mut broken);
        tokens(row, versions, &mut broken);
        if moment == Moment::AtRest {
            at_rest(row, versions, &mut broken);
        }
    }
    for (channel, service) in &evidence.services {
        let rows = rows_of(&history, channel);
        true_done(channel, service, &rows, &mut broken);
        posted_once(channel, service, &mut broken);
        let sent = intent_first(evidence, channel, service, &rows, &mut broken);
        if evidence.at_most_once.contains(channel) {
            sent_once(&sent, &mut broken);
        }
        if evidence.verified.contains(channel) {
            absent_is_earned(service, &rows, &sent, &mut broken);
        }
        if moment == Moment::AtRest {
            let unknown = service
                .posts
                .iter()
                .filter(|(url, _id)| !rows.iter().any(|row| row.url() == url));
            broken.extend(
                unknown.map(|(url, _id)| format!("{channel} has {url}, the ledger hasn't")),
            );
        }
    }
    broken
}

/// A delivery's row and all its versions.
struct Row<'a> {
    name: &'a str,
    versions: &'a [Version],
}

impl<'a> Row<'a> {
    fn last(&self) -> &'a Version {
        self.versions
            .last()
            .expect("a row is there because it has a version")
    }

    fn url(&self) -> &str {
        self.last().row["canonical_url"]
            .as_str()
            .unwrap_or_default()
    }

    /// The claims that were made, oldest first: the first version with each token.
    fn claims(&self) -> Vec<&'a Version> {
        let mut seen = BTreeSet::new();
        let versions = self.versions.iter();
        versions
            .filter(|version| {
                !version.text("token").is_empty() && seen.insert(version.text("token"))
            })
            .collect()
    }
}

fn rows_of<'a>(history: &'a History, channel: &str) -> Vec<Row<'a>> {
    let end = format!("/{channel}");
    let rows = history.rows.iter().filter(|(name, _)| name.ends_with(&end));
    rows.map(|(name, versions)| Row { name, versions })
        .collect()
}

/// One line of commits, the witness at its end, no row taken away, no secret in it.
fn of_the_branch(history: &History, refs_may_differ: bool, broken: &mut Vec<String>) {
    let History {
        rows: _,
        commits,
        not_linear,
        gone,
        leaked,
        witness,
    } = history;
    broken.extend(
        not_linear
            .iter()
            .map(|commit| format!("{commit} has not one parent")),
    );
    broken.extend(gone.iter().map(|row| format!("{row} is gone")));
    broken.extend(leaked.iter().map(|secret| format!("leaked: {secret}")));
    if let Some(witness) = witness {
        let is_right = commits.last() == Some(witness);
        if !is_right && !refs_may_differ {
            let tip = commits.last();
            broken.push(format!(
                "the witness is at {witness}, the branch at {tip:?}"
            ));
        }
    }
}

/// One winner: an attempt has one token, and a token one attempt.
fn tokens(row: &str, versions: &[Version], broken: &mut Vec<String>) {
    let mut of_attempt = BTreeMap::new();
    let mut of_token = BTreeMap::new();
    for version in versions {
        let (attempt, token) = (version.attempt(), version.text("token"));
        if token.is_empty() {
            continue;
        }
        if *of_attempt.entry(attempt).or_insert(token) != token {
            broken.push(format!("{row}: two tokens for attempt {attempt}"));
        }
        if *of_token.entry(token).or_insert(attempt) != attempt {
            broken.push(format!("{row}: the token {token} is of two attempts"));
        }
    }
}

fn at_rest(row: &str, versions: &[Version], broken: &mut Vec<String>) {
    let state = versions.last().map_or("", |version| version.text("state"));
    if !["done", "held"].contains(&state) {
        broken.push(format!("{row}: left as {state}"));
    }
}

/// `done` is never said of what the service does not have.
fn true_done(channel: &str, service: &Service, rows: &[Row<'_>], broken: &mut Vec<String>) {
    for row in rows {
        for version in row.versions {
            if version.text("state") != "done" {
                continue;
            }
            let id = version.get("remote")["id"].as_str().unwrap_or_default();
            let id = id.rsplit('/').next().unwrap_or_default().to_owned();
            if !service.posts.contains(&(row.url().to_owned(), id.clone())) {
                broken.push(format!(
                    "{}: done as {id}, which {channel} hasn't",
                    row.name
                ));
            }
        }
    }
}

fn posted_once(channel: &str, service: &Service, broken: &mut Vec<String>) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (url, _id) in &service.posts {
        *counts.entry(url).or_default() += 1;
    }
    let twice = counts.into_iter().filter(|(_, count)| *count > 1);
    broken.extend(twice.map(|(url, count)| format!("{channel} has {url} {count} times")));
}

/// A write request and the claim under which it was sent.
struct Sent<'a> {
    row: &'a str,
    claim: &'a Version,
    write: &'a Write,
}

/// No request without its claim on the remote before it, and none twice under one claim.
fn intent_first<'a>(
    evidence: &Evidence,
    channel: &str,
    service: &'a Service,
    rows: &[Row<'a>],
    broken: &mut Vec<String>,
) -> Vec<Sent<'a>> {
    let mut sent: Vec<Sent<'a>> = Vec::new();
    for write in &service.writes {
        let before = sent.len();
        for row in rows.iter().filter(|row| is_about(write, row)) {
            let unused = |claim: &&Version| {
                let token = claim.text("token");
                !sent.iter().any(|other| other.claim.text("token") == token)
            };
            let claims = row.claims().into_iter();
            let claims = claims.filter(|claim| was_before(evidence, channel, claim, write));
            // The latest: an earlier one may have been left without a request by a kill.
            let Some(claim) = claims.filter(unused).max_by_key(|claim| claim.attempt()) else {
                continue;
            };
            // It starts inside its send window, and may take its time to arrive.
            if claim.text("quiet_until") < write.at.as_str() && write.key.is_some() {
                broken.push(format!("{}: sent after its quiet point", row.name));
            }
            sent.push(Sent {
                row: row.name,
                claim,
                write,
            });
        }
        if sent.len() == before {
            broken.push(format!(
                "{channel}: write {} ({}) has no claim of its own on the remote before it",
                write.number,
                write.key.as_deref().unwrap_or("no key")
            ));
        }
    }
    sent
}

/// Whether a write is for a row. One without a key (IndexNow) may be for many.
fn is_about(write: &Write, row: &Row<'_>) -> bool {
    let Some(key) = &write.key else { return true };
    row.url() == key
        || row.versions.iter().any(|version| {
            version.text("key") == key
                || version.get("post").as_object().is_some_and(|post| {
                    post.values()
                        .any(|value| value.as_str() == Some(key.as_str()))
                })
        })
}

/// Whether a claim was on the remote before a request came in. Where the remote's note is missing (a kill came
/// between the move of the branch and its hook) the claim's own time has to do.
fn was_before(evidence: &Evidence, channel: &str, claim: &Version, write: &Write) -> bool {
    let noted = evidence
        .landed
        .get(&claim.commit)
        .and_then(|by_channel| by_channel.get(channel));
    claim.text("state") == "in_flight"
        && claim.text("claimed_at") <= write.at.as_str()
        && noted.is_none_or(|landed| *landed <= write.position)
}

/// What may never be sent twice was not.
fn sent_once(sent: &[Sent<'_>], broken: &mut Vec<String>) {
    let mut rows = BTreeSet::new();
    for one in sent {
        let refused = one
            .write
            .status
            .is_some_and(|status| (400..500).contains(&status));
        if !refused && !rows.insert(one.row) {
            broken.push(format!("{}: sent twice, and once is its rule", one.row));
        }
    }
}

/// What is sent again was looked for twice after the quiet point of the claim before, or was surely not there.
fn absent_is_earned(
    service: &Service,
    rows: &[Row<'_>],
    sent: &[Sent<'_>],
    broken: &mut Vec<String>,
) {
    for row in rows {
        let claims = row.claims();
        for (before, after) in claims.iter().zip(claims.iter().skip(1)) {
            let Some(again) = sent
                .iter()
                .find(|sent| sent.claim.commit == after.commit && sent.row == row.name)
            else {
                continue;
            };
            let first = sent
                .iter()
                .find(|sent| sent.claim.text("token") == before.text("token"));
            let surely_not = match first {
                Some(sent) => sent
                    .write
                    .status
                    .is_some_and(|status| (400..500).contains(&status)),
                // Its own run knows, and may have written it down for the next.
                None => {
                    before.text("run") == after.text("run")
                        || before.get("uncounted").as_u64() < after.get("uncounted").as_u64()
                }
            };
            let quiet = before.text("quiet_until");
            let reads = service
                .reads
                .iter()
                .filter(|at| at.as_str() >= quiet && **at <= again.write.at)
                .count();
            if !surely_not && reads < 2 {
                broken.push(format!(
                    "{}: attempt {} was sent after {reads} reads past {quiet}",
                    row.name,
                    after.attempt()
                ));
            }
        }
    }
}
