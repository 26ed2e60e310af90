//! The ledger's remote goes away between a claim and its result: the receipt is kept here, and the next run brings it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use sayonce::clock::{Clock as _, SystemClock};
use sayonce::sandbox::Answered;

use super::checker::{Moment, check};
use super::evidence::{NOTE_TIMES, of_site};
use super::stage::{POLICIES, asked_for, report, side_by_side};
use crate::cli::program::Ran;
use crate::cli::site::{Plan, Site};

/// Side by side: nearly all of the time the remote is waited for.
const HANDS: usize = 16;

/// How the remote is away.
#[derive(Clone, Copy, Debug)]
enum Away {
    /// Its directory is not there.
    Gone,
    /// It refuses every push.
    Refusing,
}

fn site() -> Site {
    let mut plan = Plan::of(&POLICIES).articles(1).every_channel(
        "interval = \"0s\"\ntimeout = \"15s\"\nsend_window = \"10s\"\nquarantine = \"0s\"\nsettle = \"0s\"",
    );
    for (channel, _) in POLICIES {
        plan = plan.fault(&format!("{channel}:1=slow=5s"));
    }
    let site = plan.start();
    site.hook("post-receive", NOTE_TIMES);
    site.hook(
        "pre-receive",
        "[ ! -e away ] || { echo 'down for maintenance' >&2; exit 1; }",
    );
    site
}

/// Waits until every service has a write; the first may have answered already.
fn until_all_have_a_write(site: &Site) {
    let clock = SystemClock::new();
    let has = |channel: &str| !site.write_requests(channel).is_empty();
    while !POLICIES.iter().all(|(channel, _)| has(channel)) {
        // Without the slowest of them there are fewer receipts in this round.
        if clock.elapsed() > Duration::from_mins(1) || has_answered(site) {
            return;
        }
        clock.sleep(Duration::from_millis(5));
    }
}

fn has_answered(site: &Site) -> bool {
    let requests = site.sandbox().requests().into_iter();
    requests
        .filter(|request| request.number > 0)
        .any(|request| request.answered != Answered::Open)
}

/// The receipts that a run reports, by channel.
fn receipts(ran: &Ran) -> BTreeMap<String, String> {
    let report = ran.json();
    let deliveries = report["deliveries"].as_array().unwrap();
    let done = deliveries.iter().filter(|one| one["state"] == "done");
    done.map(|one| {
        let receipt = format!("{} {}", one["remote"], one["evidence"]);
        (one["channel"].as_str().unwrap().to_owned(), receipt)
    })
    .collect()
}

/// What is kept for the next run.
fn journal(site: &Site) -> usize {
    let directory = site.path("site/.git/sayonce/journal");
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
    files
        .filter(|file| file.path().extension().is_some_and(|end| end == "json"))
        .count()
}

/// Returns how many receipts were in danger, how many were lost, and what is wrong.
fn round(away: Away) -> (usize, usize, Vec<String>) {
    let site = site();
    let run = site.start(&["run", "--format", "json", "--deadline", "40s"]);
    until_all_have_a_write(&site);
    let (remote, elsewhere) = (site.path("remote.git"), site.path("elsewhere.git"));
    let flag = site.path("remote.git/away");
    match away {
        Away::Gone => std::fs::rename(&remote, &elsewhere).unwrap(),
        Away::Refusing => std::fs::write(&flag, "").unwrap(),
    }
    let ran = run.end();
    match away {
        Away::Gone => std::fs::rename(&elsewhere, &remote).unwrap(),
        Away::Refusing => std::fs::remove_file(&flag).unwrap(),
    }
    let mut broken = Vec::new();
    let sent_nothing = ran.code() == Some(6) && receipts(&ran).is_empty();
    if sent_nothing {
        // On a busy machine its claims landed after their send window: there is nothing to lose.
        return (0, 0, broken);
    }
    if ran.code() != Some(3) {
        broken.push(format!("{}\n{}{}", ran.status, ran.stdout, ran.stderr));
        return (0, 0, broken);
    }
    let had = receipts(&ran);
    let kept = journal(&site);
    // One may have come before the remote went.
    let landed = had
        .keys()
        .filter(|channel| {
            site.row("article-1", channel)["operations"]["publish"]["state"] == "done"
        })
        .count();
    if kept + landed < had.len() {
        broken.push(format!(
            "{kept} rows are kept and {landed} have landed of {had:?}\n{}",
            ran.stderr
        ));
    }
    broken.extend(check(&of_site(&site, "main", &POLICIES), Moment::Midway));
    let ran = site.run(&[]);
    if ran.code() != Some(0) {
        broken.push(format!(
            "continued: {}\n{}{}",
            ran.status, ran.stdout, ran.stderr
        ));
        return (had.len(), had.len(), broken);
    }
    let has = receipts(&ran);
    let lost = had
        .iter()
        .filter(|(channel, receipt)| has.get(*channel) != Some(receipt));
    let lost: Vec<_> = lost.collect();
    if !lost.is_empty() {
        broken.push(format!("lost: {lost:?}, there is {has:?}\n{}", ran.stderr));
    }
    if journal(&site) > 0 {
        broken.push("what has landed is still kept".to_owned());
    }
    let lost = lost.len();
    broken.extend(check(&of_site(&site, "main", &POLICIES), Moment::AtRest));
    (had.len() - landed, lost, broken)
}

#[test]
fn a_receipt_outlives_a_remote_that_goes_away_before_it_is_pushed() {
    let rounds = asked_for("SAYONCE_RECEIPTS", 2);
    let clock = SystemClock::new();
    let (sums, broken) = (Mutex::new((0, 0)), Mutex::new(Vec::new()));
    side_by_side(0..rounds, HANDS, |number: usize| {
        let away = if number.is_multiple_of(2) {
            Away::Gone
        } else {
            Away::Refusing
        };
        let (had, lost, wrong) = round(away);
        {
            let mut sums = sums.lock().unwrap();
            *sums = (sums.0 + had, sums.1 + lost);
        }
        report(&format!("round {number}, {away:?}"), wrong, &broken);
    });
    let (had, lost) = sums.into_inner().unwrap();
    println!(
        "remote away at the result: {rounds} rounds, {had} receipts, {lost} lost, {} s",
        clock.elapsed().as_secs()
    );
    assert_eq!(broken.into_inner().unwrap(), Vec::<String>::new());
    assert_eq!(lost, 0);
    assert!(
        had >= rounds,
        "{had} receipts in {rounds} rounds are too few"
    );
}
