//! Rate limits, backoff, and how long a run waits.

use std::time::Duration;

use super::{BLUESKY, HOUR, MASTODON, gaps, run_killed_at_write, site, told, world};
use crate::simulation::{Fault, World};

#[test]
fn a_run_on_a_service_that_only_rate_limits_ends() {
    let mut world = world(&[MASTODON], 1);
    world.service("mastodon").always = Some(Fault::RateLimitedSilent);
    assert_eq!(
        told(&world.run()),
        [
            "exit 6",
            "a1 on mastodon: retry: 429",
            "! mastodon refused 5 requests in a row as too many: 429"
        ]
    );
    assert_eq!(
        gaps(&world.service("mastodon").write_times),
        [10, 30, 120, 600]
    );
}

#[test]
fn a_rate_limit_of_no_time_is_waited_for_longer_each_time() {
    let mut world = world(&[MASTODON], 1);
    world.service("mastodon").always = Some(Fault::RateLimited(Duration::ZERO));
    assert_eq!(
        told(&world.run()),
        [
            "exit 6",
            "a1 on mastodon: retry: 429",
            "! mastodon refused 5 requests in a row as too many: 429"
        ]
    );
    assert_eq!(
        gaps(&world.service("mastodon").write_times),
        [10, 30, 120, 600]
    );
}

#[test]
fn a_rate_limit_outlives_the_run() {
    let mut world = world(&[MASTODON], 3);
    let limit = Fault::RateLimited(2 * HOUR);
    world.service("mastodon").order(1, limit);
    let expected = [
        "exit 6",
        "a1 on mastodon: retry: 429",
        "a2 on mastodon: pending: due at 2026-11-29T12:00:00.800Z: the service asked for a pause",
        "a3 on mastodon: pending: due at 2026-11-29T12:00:00.800Z: the service asked for a pause",
    ];
    assert_eq!(told(&world.run()), expected);
    world.now = world.now.plus(Duration::from_mins(1));
    assert_eq!(told(&world.run()), expected);
    assert_eq!(world.service("mastodon").writes(), 1);
    world.now = world.now.plus(2 * HOUR);
    drop(world.run());
    world.assert_exactly_once();
}

/// A login that is refused as one too many may count as well, so the runs that follow don't try. It is no row, and alone
/// not worth a commit: it is kept with what others did.
#[test]
fn a_rate_limit_of_logins_outlives_the_run() {
    let mut world = world(&[MASTODON, BLUESKY], 1);
    let until = world.now.plus(2 * HOUR);
    world.service("bluesky").open_from = Some(until);
    let expected = [
        "exit 6".to_owned(),
        "a1 on mastodon: done: response".to_owned(),
        format!("a1 on bluesky: pending: due at {until}: the service asked for a pause"),
    ];
    assert_eq!(told(&world.run()), expected);
    world.now = world.now.plus(Duration::from_mins(1));
    assert_eq!(told(&world.run()), expected);
    assert_eq!(world.service("bluesky").open_times.len(), 1);
    world.now = until;
    drop(world.run());
    world.assert_exactly_once();
}

#[test]
fn a_channel_that_can_not_be_reached_is_closed_after_some_tries() {
    let mut world = world(&[MASTODON], 5);
    world.service("mastodon").always = Some(Fault::NotSent);
    assert_eq!(
        told(&world.run()),
        [
            "exit 6",
            "a1 on mastodon: retry: connection refused",
            "a2 on mastodon: pending: due now",
            "a3 on mastodon: pending: due now",
            "a4 on mastodon: pending: due now",
            "a5 on mastodon: pending: due now",
            "! mastodon can't be reached: connection refused"
        ]
    );
    assert_eq!(
        gaps(&world.service("mastodon").write_times),
        [10, 30, 120, 600]
    );
}

#[test]
fn with_no_wait_allowed_a_run_does_what_is_due_and_ends() {
    let mut world = world(&[MASTODON], 3);
    world.limits.max_wait = Duration::ZERO;
    let began = world.now;
    assert_eq!(
        told(&world.run()),
        [
            "exit 6",
            "a1 on mastodon: done: response",
            "a2 on mastodon: pending: due now",
            "a3 on mastodon: pending: due now"
        ]
    );
    let took = world.now.since(began);
    assert!(took <= Duration::from_secs(2), "{took:?}");
}

#[test]
fn the_longest_wait_holds_for_another_runs_claim_too() {
    let mut world = world(&[MASTODON], 1);
    run_killed_at_write(&mut world, "mastodon", 1);
    world.service("mastodon").unreadable_until = Some(world.now.plus(24 * HOUR));
    world.limits.max_wait = Duration::from_mins(1);
    let began = world.now;
    assert_eq!(
        told(&world.run()),
        [
            "exit 6",
            "a1 on mastodon: in_flight: claimed by a run; left alone until 2026-11-29T10:13:40.300Z, unless it is found"
        ]
    );
    let took = world.now.since(began);
    assert!(took <= Duration::from_mins(2), "{took:?}");
}

#[test]
fn a_login_that_fails_is_tried_again_at_growing_distances() {
    let second = MASTODON
        .replace("[channels.mastodon]", "[channels.second]")
        .replace("mastodon.example", "second.example");
    let mut world = World::new(&site(&[MASTODON, &second]), 1);
    world.service("second").open_fails = true;
    assert_eq!(
        told(&world.run()),
        [
            "exit 6",
            "a1 on mastodon: done: response",
            "a1 on second: pending: due now",
            "! second can't be reached: refused"
        ]
    );
    assert_eq!(
        gaps(&world.service("second").open_times),
        [10, 30, 120, 600]
    );
}
