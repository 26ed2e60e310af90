//! Many runs at once on one ledger: each delivery has one winner, and nobody is locked out.

use std::collections::BTreeSet;
use std::sync::Mutex;

use sayonce::clock::{Clock as _, SystemClock};

use super::checker::{Moment, check};
use super::evidence::NOTE_TIMES;
use super::evidence::of_site;
use super::stage::{POLICIES, asked, asked_for, report, side_by_side};
use crate::cli::site::{Plan, Site};

/// Articles of a round.
const ARTICLES: usize = 4;

/// Rounds side by side: each has many programs already.
const HANDS: usize = 2;

/// What came of all rounds.
#[derive(Debug, Default)]
struct Tally {
    /// Runs that got something of it.
    winners: usize,
    claims: usize,
    duplicates: usize,
    missing: usize,
}

fn site(branch: &str) -> Site {
    let mut plan = Plan::of(&POLICIES).articles(ARTICLES).every_channel(
        "interval = \"1s\"\ntimeout = \"20s\"\nsend_window = \"20s\"\nquarantine = \"0s\"\nsettle = \"0s\"",
    );
    plan = plan.channel("devto", "policy = \"at_most_once\"");
    if branch != "main" {
        plan = plan.ledger(&format!("branch = \"{branch}\""));
    }
    let site = plan.start();
    site.hook("post-receive", NOTE_TIMES);
    site
}

fn round(runners: usize, branch: &str, tally: &Mutex<Tally>) -> Vec<String> {
    let site = site(branch);
    let clones: Vec<_> = (0..runners)
        .map(|number| format!("clone-{number}"))
        .collect();
    for clone in &clones {
        site.git_in(&site.path(""), &["clone", "--quiet", "remote.git", clone]);
    }
    let start = |clone: &String| {
        let arguments = ["run", "--format", "json", "--max-wait", "20s"];
        site.program_in(&site.path(clone), &arguments).start()
    };
    let running: Vec<_> = clones.iter().map(start).collect();
    let mut broken = Vec::new();
    for (run, clone) in running.into_iter().zip(&clones) {
        let ran = run.end();
        // 6: another run is at it.
        if ![Some(0), Some(6)].contains(&ran.code()) {
            broken.push(format!(
                "{clone}: {}\n{}{}",
                ran.status, ran.stdout, ran.stderr
            ));
        }
    }
    let evidence = || {
        let mut evidence = of_site(&site, branch, &POLICIES);
        evidence.at_most_once = BTreeSet::from(["devto".to_owned()]);
        evidence.verified = BTreeSet::from(["mastodon".to_owned()]);
        evidence
    };
    broken.extend(check(&evidence(), Moment::Midway));
    // What they left to each other is done by whoever comes next, from any of the clones.
    let ran = site
        .program_in(&site.path("clone-0"), &["run", "--format", "json"])
        .run();
    let due = ARTICLES * POLICIES.len();
    if ran.code() != Some(0) || ran.summary() != format!("done {due}") {
        broken.push(format!(
            "afterwards: {}\n{}{}",
            ran.status, ran.stdout, ran.stderr
        ));
    }
    let evidence = evidence();
    broken.extend(check(&evidence, Moment::AtRest));
    let posts = site.posts();
    let of_channels = |(channel, _): &&(String, String)| channel != "search";
    let mut tally = tally.lock().unwrap();
    tally.duplicates += posts
        .iter()
        .filter(|(post, _)| of_channels(post))
        .map(|(_, count)| count.saturating_sub(1))
        .sum::<usize>();
    tally.missing += due.saturating_sub(posts.len());
    // Without a fault, one request is enough for each.
    for (channel, _) in &POLICIES[1..] {
        let writes = site.write_requests(channel).len();
        if writes != ARTICLES {
            broken.push(format!(
                "{channel} got {writes} writes for {ARTICLES} articles"
            ));
        }
    }
    let log = site.remote(&["log", "--format=%(trailers:key=Run,valueonly)", branch]);
    let runs: BTreeSet<_> = log.lines().filter(|line| !line.is_empty()).collect();
    tally.winners += runs.len();
    tally.claims += due;
    broken
}

#[test]
fn many_runs_at_once_share_the_work_and_repeat_none_of_it() {
    let asked_runners = asked("SAYONCE_RUNNERS");
    let runners = asked_for("SAYONCE_RUNNERS", 5);
    let rounds = if asked_runners.is_some() {
        asked_for("SAYONCE_ROUNDS", 2)
    } else {
        2
    };
    let clock = SystemClock::new();
    let (tally, broken) = (Mutex::new(Tally::default()), Mutex::new(Vec::new()));
    side_by_side(0..rounds, HANDS, |number: usize| {
        let branch = if number.is_multiple_of(2) {
            "main"
        } else {
            "sayonce"
        };
        let wrong = round(runners, branch, &tally);
        report(&format!("round {number}"), wrong, &broken);
    });
    let tally = tally.into_inner().unwrap();
    println!(
        "{runners} runs at once: {rounds} rounds, {} deliveries, {} runs had a part in them, {} duplicates, {} missing, \
         {} s",
        tally.claims,
        tally.winners,
        tally.duplicates,
        tally.missing,
        clock.elapsed().as_secs()
    );
    assert_eq!(broken.into_inner().unwrap(), Vec::<String>::new());
    assert_eq!((tally.duplicates, tally.missing), (0, 0));
}
