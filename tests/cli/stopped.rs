//! Signals: nothing new is started, what is known is saved, and the next run goes on.

use std::time::Duration;

use sayonce::clock::{Clock as _, SystemClock};
use sayonce::sandbox::Answered;

use super::program::Ran;
use super::site::{Site, mastodon};

/// The job runner kills at 10 s.
const OUT: Duration = Duration::from_secs(5);

/// Sends a signal and waits for the end, which must come in time.
fn stop(mut run: super::program::Running, signal: &str, when: Option<&str>, site: &Site) -> Ran {
    if let Some(words) = when {
        run.until_it_says(words);
    }
    let clock = SystemClock::new();
    run.signal(signal, &site.home());
    let ran = run.end();
    let took = clock.elapsed();
    assert!(took < OUT, "it took {took:?}: {ran:?}");
    ran
}

fn rows_in_flight(site: &Site) -> String {
    let states = site.remote(&["grep", "-h", "\"state\":", "main", "--", "ledger"]);
    states
        .lines()
        .filter(|line| line.contains("in_flight"))
        .collect()
}

#[test]
fn a_run_that_waits_for_its_pace_leaves_at_once_and_leaves_no_claim() {
    for signal in ["TERM", "INT"] {
        let mut site = mastodon()
            .articles(2)
            .every_channel("interval = \"1h\"")
            .start();
        let run = site.start(&["run", "--format", "json", "--max-wait", "2h"]);
        let ran = stop(run, signal, Some("waiting"), &site);
        ran.assert_code(6);
        assert_eq!(ran.summary(), "done 1, pending 1");
        assert_eq!(rows_in_flight(&site), "");
        assert!(
            ran.stderr
                .contains("stopping: nothing new is started, what is known is saved\n"),
            "{}",
            ran.stderr
        );
        site.plan = site.plan.clone().every_channel("interval = \"0s\"");
        site.build();
        site.run(&[]).assert_code(0);
        site.assert_exactly_once();
    }
}

/// Waits until the service has the first write and has not answered it.
pub(crate) fn until_a_write_is_open(site: &Site) {
    let clock = SystemClock::new();
    let is_open = || {
        let writes = site.write_requests("mastodon");
        writes
            .iter()
            .any(|request| request.answered == Answered::Open)
    };
    while !is_open() {
        assert!(clock.elapsed() < Duration::from_mins(1), "nothing was sent");
        std::thread::yield_now();
    }
}

#[test]
fn the_answer_in_hand_is_waited_for_and_saved() {
    let site = mastodon()
        .articles(2)
        .fault("mastodon:1=slow=1500ms")
        .start();
    let run = site.start(&["run", "--format", "json"]);
    until_a_write_is_open(&site);
    let ran = stop(run, "TERM", None, &site);
    ran.assert_code(6);
    assert_eq!(
        ran.deliveries(),
        "article-1 mastodon done response 1\narticle-2 mastodon pending - 0\n"
    );
    assert_eq!(rows_in_flight(&site), "");
    site.run(&[]).assert_code(0);
    site.assert_exactly_once();
}

#[test]
fn an_answer_that_does_not_come_is_left_to_the_next_run() {
    let site = mastodon().articles(2).fault("mastodon:1=slow=6s").start();
    let run = site.start(&["run", "--format", "json"]);
    until_a_write_is_open(&site);
    let ran = stop(run, "INT", None, &site);
    ran.assert_code(6);
    assert_eq!(
        site.posts().len(),
        1,
        "it was stored when nobody listened any more"
    );
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-1 mastodon done read_back 1\narticle-2 mastodon done response 1\n"
    );
    site.assert_exactly_once();
}
