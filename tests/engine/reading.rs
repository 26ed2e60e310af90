//! What a service's lists say late, wrongly or not at all.

use std::time::Duration;

use super::{
    BLUESKY, HOUR, MASTODON, SEARCH, gaps, only_record, run_killed_at_write, site, told, world,
};
use crate::simulation::{Fault, World, article};

/// The account's list shows the post only ten minutes after it was stored, and nobody heard the answer.
#[test]
fn a_post_that_the_lists_show_late_is_found_before_it_is_sent_again() {
    let mut world = world(&[MASTODON], 1);
    let late = Fault::Unlisted(Duration::from_mins(10));
    world.service("mastodon").order(1, late);
    run_killed_at_write(&mut world, "mastodon", 1);
    assert_eq!(
        told(&world.run()),
        ["exit 0", "a1 on mastodon: done: read_back"]
    );
    assert!(world.service("mastodon").lookup_times.len() > 1);
    assert_eq!(world.service("mastodon").writes(), 1);
    world.assert_exactly_once();
}

#[test]
fn an_account_that_can_not_be_read_for_a_day_needs_a_person() {
    let mut world = world(&[MASTODON], 1);
    world.limits.max_wait = 48 * HOUR;
    world.service("mastodon").order(1, Fault::LostAnswer);
    run_killed_at_write(&mut world, "mastodon", 1);
    world.service("mastodon").unreadable_until = Some(world.now.plus(72 * HOUR));
    let began = world.now;
    let expected = [
        "exit 5",
        "a1 on mastodon: held: the account could not be read for a day, so nobody knows whether it was posted",
    ];
    assert_eq!(told(&world.run()), expected);
    let took = world.now.since(began);
    assert!((24 * HOUR..26 * HOUR).contains(&took), "{took:?}");
    // It is told by every run, and never sent by one.
    assert_eq!(told(&world.run()), expected);
    assert_eq!(world.service("mastodon").writes(), 1);
}

/// Mastodon forgets an idempotency key after an hour; the simulated one never knew any.
#[test]
fn a_doubt_that_is_older_than_its_key_is_looked_up_and_not_repeated() {
    let mut world = world(&[MASTODON], 1);
    world.service("mastodon").order(1, Fault::LostAnswer);
    run_killed_at_write(&mut world, "mastodon", 1);
    world.now = world.now.plus(2 * HOUR);
    assert_eq!(
        told(&world.run()),
        ["exit 0", "a1 on mastodon: done: read_back"]
    );
    assert_eq!(world.service("mastodon").writes(), 1);
}

/// The first request was done without an answer; the repeat under its id is answered with an error of the server.
#[test]
fn a_repeat_that_is_answered_with_an_error_is_looked_for_too() {
    for again in [Fault::Status500, Fault::Status500Stored] {
        let mut world = world(&[BLUESKY], 1);
        let bluesky = world.service("bluesky");
        bluesky.order(1, Fault::Slow(Duration::from_secs(45)));
        bluesky.order(2, again);
        let ending = world.run();
        assert_eq!((ending.exit.code(), ending.summary.done), (0, 1));
        assert!(world.service("bluesky").writes() >= 2);
        world.assert_exactly_once();
    }
}

#[test]
fn a_service_that_answers_nothing_but_errors_is_given_a_rest() {
    let mut world = world(&[MASTODON], 3);
    world.limits.max_wait = 48 * HOUR;
    world.service("mastodon").always = Some(Fault::Status500);
    let ending = world.run();
    assert_eq!(ending.exit.code(), 6);
    assert_eq!(
        ending.problems,
        ["mastodon left 5 requests in doubt in this run: it is given a rest"]
    );
    assert_eq!(world.service("mastodon").writes(), 5);
}

/// The service takes longer than `quarantine` says: the promise of `verified` is broken, that of `at_most_once` is not.
#[test]
fn a_service_that_is_slower_than_its_quarantine_makes_no_second_post_where_nothing_is_sent_twice() {
    let at_most_once = site(&[MASTODON, "policy = \"at_most_once\"\n"]);
    let mut world = World::new(&at_most_once, 1);
    let slow = Fault::Slow(Duration::from_mins(40));
    world.service("mastodon").order(1, slow);
    assert_eq!(
        told(&world.run()),
        [
            "exit 5",
            "a1 on mastodon: held: it was sent, its outcome was not seen, and it is not there; `at_most_once` never \
             sends again by itself",
        ]
    );
    world.now = world.now.plus(2 * HOUR);
    drop(world.run());
    assert_eq!(world.service("mastodon").writes(), 1);
    assert_eq!(
        world.posts().into_values().collect::<Vec<_>>(),
        [1],
        "it came late, and alone"
    );
}

/// Two readings that agree are needed, half a minute apart, and both from after the quiet point.
#[test]
fn not_there_is_believed_only_of_two_readings_after_the_quiet_point() {
    let mut world = world(&[MASTODON], 1);
    world.service("mastodon").order(1, Fault::LostRequest);
    drop(world.run());
    let record = only_record(&world);
    let first_claim = record.claim.unwrap().first_claimed_at;
    let rules = world.config.channels[0].rules.clone();
    let quiet = rules.quiet_until(first_claim, world.config.ledger.clock_skew);
    let mastodon = world.service("mastodon");
    let late: Vec<_> = mastodon
        .lookup_times
        .iter()
        .copied()
        .filter(|at| *at > quiet)
        .collect();
    assert_eq!(gaps(&late), [30]);
    assert!(mastodon.write_times[1] > late[1]);
    assert!(mastodon.lookup_times.len() > late.len());
}

/// Half an hour is longer than `quarantine` allows for, so the promise of `verified` is broken: that is said, once.
#[test]
fn a_post_that_stands_twice_because_its_service_was_slower_than_its_quarantine_is_told_once() {
    let mut world = world(&[MASTODON], 1);
    let slow = Fault::Slow(Duration::from_mins(30));
    world.service("mastodon").order(1, slow);
    let ending = world.run();
    assert_eq!(told(&ending), ["exit 0", "a1 on mastodon: done: response"]);
    assert_eq!(ending.alarms, [""; 0]);
    let mut alarms = Vec::new();
    for number in 2..=3 {
        world.now = world.now.plus(HOUR);
        let next = article(&world.config.site.url, number);
        world.items.push(next);
        let ending = world.run();
        assert_eq!(ending.exit.code(), 0);
        alarms.push(ending.alarms);
    }
    assert_eq!(
        alarms,
        [
            vec![
                "a1 on mastodon: it stands twice, https://mastodon.example/@blog/2 and \
                 https://mastodon.example/@blog/1: the service was longer at work on a request than `quarantine` \
                 says; delete one of them, and raise `quarantine`"
                    .to_owned()
            ],
            Vec::new()
        ]
    );
    let first = world.remote.rows().next().unwrap().publish().unwrap();
    assert_eq!(first.receipts.len(), 1);
}

#[test]
fn what_was_sent_as_often_as_allowed_needs_a_person() {
    let mut world = World::new(&site(&[SEARCH, "max_attempts = 2\n"]), 1);
    world.service("search").always = Some(Fault::Status500);
    let expected = [
        "exit 5",
        "a1 on search: held: 2 attempts were made and none is known to have been delivered; the last one: 500",
    ];
    assert_eq!(told(&world.run()), expected);
    assert_eq!(told(&world.run()), expected);
    assert_eq!(world.service("search").writes(), 2);
}

/// A world in which the article stands twice already, and whose ledger knows nothing of it.
fn standing_twice(more: &str) -> World {
    let config = site(&[MASTODON, "precheck = false\n"]);
    let mut before = World::new(&config, 1);
    for _ in 0..2 {
        drop(before.run());
        let mut fresh = World::new(&config, 1);
        fresh.runs_started = before.runs_started;
        fresh.now = before.now.plus(HOUR);
        fresh.services = before.services;
        before = fresh;
    }
    before.config = World::new(&site(&[MASTODON, more]), 1).config;
    assert_eq!(before.service("mastodon").writes(), 2);
    before
}

#[test]
fn an_article_that_stands_twice_before_it_is_sent_needs_a_person() {
    let mut world = standing_twice("");
    assert_eq!(
        told(&world.run()),
        [
            "exit 5",
            "a1 on mastodon: held: 2 posts of ours have its link"
        ]
    );
    assert_eq!(world.service("mastodon").writes(), 2);
}

#[test]
fn a_doubt_that_two_posts_answer_needs_a_person() {
    let mut world = standing_twice("precheck = false\n");
    world.service("mastodon").order(1, Fault::LostRequest);
    run_killed_at_write(&mut world, "mastodon", 3);
    assert_eq!(
        told(&world.run()),
        [
            "exit 5",
            "a1 on mastodon: held: 2 posts match it: https://mastodon.example/@blog/1, \
             https://mastodon.example/@blog/2"
        ]
    );
    assert_eq!(world.service("mastodon").writes(), 3);
}
