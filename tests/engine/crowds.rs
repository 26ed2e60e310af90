//! Many runs, many articles, many pushes.

use std::time::Duration;

use sayonce::exit::Exit;
use sayonce::model::delivery::State;

use super::{BLUESKY, DEVTO, FOUR, MASTODON, SEARCH, only_record, site, told, world};
use crate::simulation::{PushFault, World};

#[test]
fn of_sixteen_runs_at_once_each_ends_well_and_one_posts() {
    let mut world = world(&FOUR, 2);
    let mut runs: Vec<_> = (0..16).map(|_| world.start()).collect();
    let began = world.now;
    for ending in world.side_by_side(&mut runs) {
        // The losers of a race skip; they do not fail.
        assert_eq!((ending.exit.code(), ending.summary.done), (0, 8));
    }
    assert_eq!(world.service("mastodon").writes(), 2);
    world.assert_exactly_once();
    let took = world.now.since(began);
    assert!(took < Duration::from_mins(10), "{took:?}");
}

/// Hosts recommend few pushes: results and the next claims share them.
#[test]
fn pushes_keep_their_gap_and_are_shared_by_all_channels() {
    let gap = Duration::from_secs(10);
    let quick = "interval = \"1s\"\n";
    let config = site(&[SEARCH, quick, BLUESKY, quick, MASTODON, quick]);
    let mut world = World::new(&config, 5);
    world.limits.push_gap = gap;
    let began = world.now;
    let ending = world.run();
    assert_eq!((ending.exit.code(), ending.summary.done), (0, 15));
    let gaps = world.now.since(began).as_secs().div_ceil(gap.as_secs());
    let most = usize::try_from(gaps).unwrap() + 2;
    assert!(world.remote.pushes <= most, "{}", world.remote.pushes);
    // A push around each call would be two for each of 15 deliveries.
    assert!(world.remote.pushes < 15, "{}", world.remote.pushes);
    world.assert_exactly_once();
}

#[test]
fn a_channel_with_a_backlog_does_not_starve_the_others() {
    let mut world = world(&[DEVTO, MASTODON], 5);
    world.limits.deadline = Some(world.now.plus(Duration::from_mins(2)));
    let ending = world.run();
    assert_eq!(ending.exit, Exit::WorkRemains);
    let done: Vec<_> = told(&ending)
        .into_iter()
        .filter(|line| line.ends_with(": done: response"))
        .collect();
    assert_eq!(
        done,
        [
            "a1 on devto: done: response",
            "a1 on mastodon: done: response",
            "a2 on devto: done: response",
            "a2 on mastodon: done: response",
            "a3 on mastodon: done: response",
            "a4 on mastodon: done: response",
            "a5 on mastodon: done: response",
        ]
    );
}

/// The credentials of the remote end between the claim and its result.
#[test]
fn an_outcome_whose_push_is_refused_is_kept_for_the_next_run() {
    let mut world = World::new(&site(&[MASTODON]), 2);
    world.remote.faults.insert(2, PushFault::Refused);
    let mut run = world.start();
    let ending = world.finish(&mut run);
    assert_eq!(
        told(&ending),
        [
            "exit 3",
            "a1 on mastodon: done: response",
            "a2 on mastodon: pending: due now",
            "! protected branch; set `ledger.branch`",
        ]
    );
    // What the remote has is the claim, not a guess at what came of it.
    assert_eq!(only_record(&world).state, State::InFlight);
    assert_eq!(ending.unsaved, run.journal);
    let mut next = world.start_with(run.journal);
    assert_eq!(
        told(&world.finish(&mut next)),
        [
            "exit 0",
            "a1 on mastodon: done: response",
            "a2 on mastodon: done: response",
        ]
    );
    world.assert_exactly_once();
}

/// Pushes go to the real remote, and it refuses what was built on an old tip.
#[test]
fn a_mirror_that_shows_an_old_ledger_sends_nothing_and_the_run_ends() {
    let mut world = world(&[SEARCH], 1);
    let (_, old) = world.remote.read(world.now);
    drop(world.run());
    world.remote.mirror = Some(old.unwrap());
    let began = world.now;
    let ending = world.run();
    assert_eq!(ending.exit, Exit::Ledger);
    assert_eq!(
        ending.problems,
        ["the ledger's remote confirms no push: stale info"]
    );
    let took = world.now.since(began);
    assert!(took < Duration::from_mins(5), "{took:?}");
    assert_eq!(world.service("search").writes(), 1);
}
