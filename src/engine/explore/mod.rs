//! Every interleaving of a small world, driven through the very machine that ships.
//!
//! A world has a ledger's remote, one service, and machines on which runs start. What can happen next is a list of
//! [`Choice`](choice::Choice)s: an answer comes, a timer goes off, a run is killed, a push lands late, a service
//! stores what its client gave up on. The search takes each of them from each state once, and [`watch`] looks at
//! every request and every row that reaches the remote.
//!
//! What is bounded: how many runs start, how many are killed, how much goes wrong (each fault costs one). What is not: the
//! order in which things happen. Tokens, ids and texts are told apart but not looked into, times are relative, so that
//! equal states are explored once ([`digest`]).
//!
//! It lives in the crate because it copies the machine in the middle of its work, the right to send included; no program
//! can do that.

mod choice;
mod digest;
mod mutants;
mod remote;
mod rest;
mod scenario;
mod search;
mod seeded;
mod service;
mod watch;
mod world;

use std::time::Duration;

use crate::clock::{Clock as _, SystemClock};
use crate::environment::Environment;

use self::scenario::{AT_LEAST_ONCE, AT_MOST_ONCE, KEYED, Scenario, UNREADABLE, VERIFIED};
use self::search::{Found, explore};

/// How many states of each world are explored in an ordinary test run, which takes seconds.
const STATES_SHORT: usize = 4_000;

/// `SAYONCE_EXPLORE=2000000 cargo test --profile soak --lib -- explore --nocapture` looks at as many states of each world.
fn states_wanted() -> Option<usize> {
    let wanted = Environment::of_process();
    let wanted = wanted.get("SAYONCE_EXPLORE")?;
    Some(
        wanted
            .parse()
            .expect("SAYONCE_EXPLORE is a number of states"),
    )
}

/// Explores a world with more and more going wrong, until the states are used up.
fn check(base: &Scenario) {
    let wanted = states_wanted();
    let mut left = wanted.unwrap_or(STATES_SHORT);
    let clock = SystemClock::new();
    let name = base.name;
    let (mut states, mut depth) = (0, 0);
    for (kills, faults) in [
        (0, 0),
        (1, 0),
        (0, 1),
        (1, 1),
        (2, 1),
        (1, 2),
        (2, 2),
        (2, 3),
    ] {
        let scenario = Scenario {
            kills,
            faults,
            starts: base.starts.max(kills + 1),
            ..base.clone()
        };
        let began = clock.elapsed();
        let report = explore(&scenario, left);
        let took = clock.elapsed().saturating_sub(began);
        if let Found::Violation { rule, how, trace } = &report.found {
            panic!(
                "{name}, {kills} kills, {faults} faults: {rule:?}: {how}\n{}",
                trace.join("\n")
            );
        }
        println!(
            "{name}: {kills} kills, {faults} faults: {} states, {} deep, {} ends, {:?}{}",
            report.states,
            report.depth,
            report.ends,
            took,
            match report.found {
                Found::Nothing => "",
                Found::CutShort | Found::Violation { .. } => " (cut short)",
            }
        );
        states += report.states;
        depth = depth.max(report.depth);
        left = left.saturating_sub(report.states);
        if left == 0 {
            break;
        }
    }
    println!(
        "explored {name}: {states} states, depth {depth}, 0 violations, {:?}",
        clock.elapsed()
    );
}

#[test]
fn verified() {
    check(&VERIFIED);
}

#[test]
fn keyed() {
    check(&KEYED);
}

#[test]
fn at_most_once() {
    check(&AT_MOST_ONCE);
}

#[test]
fn at_most_once_where_nothing_can_be_read() {
    check(&UNREADABLE);
}

#[test]
fn at_least_once() {
    check(&AT_LEAST_ONCE);
}

#[test]
fn two_articles() {
    check(&Scenario {
        name: "two articles",
        articles: 2,
        machines: 1,
        ..VERIFIED
    });
}

#[test]
fn stops_and_edits() {
    check(&Scenario {
        name: "stops and edits",
        stops: 1,
        edits: 1,
        ..VERIFIED
    });
}

#[test]
fn a_branch_that_is_reset() {
    check(&Scenario {
        name: "a reset branch",
        rollbacks: 1,
        ..VERIFIED
    });
}

#[test]
fn a_clock_that_is_far_ahead() {
    check(&Scenario {
        name: "a clock far ahead",
        ahead: Duration::from_secs(100),
        same_name: true,
        ..VERIFIED
    });
}

#[test]
fn another_account() {
    check(&Scenario {
        name: "another account",
        other_account: true,
        ..VERIFIED
    });
}
