//! SIGTERM and SIGINT at random moments of a run in real time: it is out in time, and sends nothing more.

use std::sync::Mutex;
use std::time::Duration;

use sayonce::clock::{Clock as _, SystemClock};

use super::checker::{Moment, check};
use super::evidence::{NOTE_TIMES, of_site};
use super::rounds::{Dice, seed};
use super::stage::{POLICIES, asked_for, figure, report, side_by_side};
use crate::cli::site::{Plan, Site};

/// The job runner kills at 10 s.
const OUT: Duration = Duration::from_secs(5);

/// From the signal's arrival at the process to the thread that acts on it, on a busy machine.
const REACTION: Duration = Duration::from_millis(300);

/// A run that is left alone takes about this long.
const RUN_MILLIS: u64 = 3_000;

/// Side by side.
const HANDS: usize = 3;

fn site() -> Site {
    let site = Plan::of(&POLICIES)
        .articles(3)
        .ledger("branch = \"sayonce\"")
        .every_channel(
            "interval = \"0s\"\ntimeout = \"8s\"\nsend_window = \"2s\"\nquarantine = \"0s\"\nsettle = \"0s\"",
        )
        .fault("mastodon:1=slow=150ms")
        .fault("mastodon:2=slow=1500ms")
        .fault("bluesky:1=slow=200ms")
        .fault("bluesky:2=slow=100ms")
        .fault("devto:1=slow=250ms")
        .start();
    site.hook("post-receive", NOTE_TIMES);
    site
}

fn round(number: usize, mut dice: Dice) -> Vec<String> {
    let site = site();
    let clock = SystemClock::new();
    let run = site.start(&["run", "--format", "json"]);
    clock.sleep(Duration::from_millis(dice.below(RUN_MILLIS)));
    let signal = if number.is_multiple_of(2) {
        "TERM"
    } else {
        "INT"
    };
    let sent_at = clock.elapsed();
    run.signal(signal, &site.home());
    let told_at = clock.now();
    let ran = run.end();
    let took = clock.elapsed().saturating_sub(sent_at);
    let mut broken = Vec::new();
    if took >= OUT {
        broken.push(format!("it was out {took:?} after SIG{signal}"));
    }
    // Before its first instruction there is no handler, and nothing to save.
    let at_once = ran.code().is_none() && ran.stderr.is_empty();
    if ![Some(0), Some(3), Some(6)].contains(&ran.code()) && !at_once {
        broken.push(format!("{}\n{}{}", ran.status, ran.stdout, ran.stderr));
    }
    let late = site.sandbox().requests().into_iter();
    let late = late.filter(|request| request.number > 0 && request.at > told_at.plus(REACTION));
    broken.extend(late.map(|request| {
        format!(
            "{} {} at {}, the signal was sent at {told_at}\n{}",
            request.channel, request.number, request.at, ran.stderr
        )
    }));
    broken.extend(check(&of_site(&site, "sayonce", &POLICIES), Moment::Midway));
    let ran = site.run(&[]);
    if ran.code() != Some(0) {
        broken.push(format!(
            "continued: {}\n{}{}",
            ran.status, ran.stdout, ran.stderr
        ));
    }
    broken.extend(check(&of_site(&site, "sayonce", &POLICIES), Moment::AtRest));
    broken
}

#[test]
fn a_signal_at_any_moment_ends_the_run_in_time_and_sends_nothing_more() {
    let rounds = asked_for("SAYONCE_CANCELS", 6);
    let seed = seed();
    let clock = SystemClock::new();
    let broken = Mutex::new(Vec::new());
    side_by_side(0..rounds, HANDS, |number| {
        let dice = Dice::new(seed.wrapping_add(u64::try_from(number).unwrap()));
        report(
            &format!("seed {seed}, round {number}"),
            round(number, dice),
            &broken,
        );
    });
    println!(
        "signals at random moments: {rounds} rounds, all out within {OUT:?} if there are no failures, {}",
        figure(&broken, &clock)
    );
    assert_eq!(broken.into_inner().unwrap(), Vec::<String>::new());
}
