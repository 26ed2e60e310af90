//! The job from beginning to end, and again.

use std::time::UNIX_EPOCH;

use sayonce::model::time::Timestamp;
use serde_json::Value;

use super::site::{Site, four_channels};

/// Notes in the remote's `pushed/` when each commit came in.
const NOTE_PUSHES: &str =
    "mkdir -p pushed; while read old new reference; do : > \"pushed/$new\"; done";

/// When a commit was on the remote; not later than it really was.
fn pushed_at(site: &Site, commit: &str) -> Timestamp {
    let path = site.path("remote.git/pushed").join(commit);
    let modified = std::fs::metadata(path).unwrap().modified().unwrap();
    Timestamp::EPOCH.plus(modified.duration_since(UNIX_EPOCH).unwrap())
}

/// The commits in which a channel's rows came into `state`, oldest first.
fn commits_with(site: &Site, channel: &str, state: &str) -> Vec<String> {
    let log = site.remote_log("main").into_iter();
    log.filter(|commit| {
        let channels = site.trailer(commit, "Channel");
        let states = site.trailer(commit, "State");
        channels.len() == states.len()
            && channels
                .iter()
                .zip(&states)
                .any(|one| one == (&channel.to_owned(), &state.to_owned()))
    })
    .collect()
}

#[test]
fn every_article_is_announced_everywhere_and_proved() {
    let site = four_channels().start();
    let before = site.repository_state();
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 12");
    site.assert_exactly_once();
    let changed: Vec<_> = site
        .repository_state()
        .lines()
        .filter(|line| !before.lines().any(|old| old == *line))
        .map(|line| line.rsplit('\t').next().unwrap().to_owned())
        .collect();
    // Only where the remote is, and what of it was fetched, may be noted.
    assert!(
        changed
            .iter()
            .all(|name| name.starts_with("refs/sayonce/")
                || name.starts_with("refs/remotes/origin/")),
        "{changed:?}"
    );
    let witness = site.remote(&["rev-parse", "refs/sayonce/witness"]);
    assert_eq!(witness, site.remote(&["rev-parse", "main"]));
}
