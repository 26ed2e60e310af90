//! What changes between two runs: the account, the article, the clock.

use std::time::Duration;

use sayonce::model::time::Timestamp;

use super::{HOUR, MASTODON, SEARCH, only_record, run_killed_at_write, told, world};
use crate::simulation::{Fault, article};

#[test]
fn with_another_account_what_is_done_stays_done_and_the_next_article_is_its_first() {
    let mut world = world(&[MASTODON], 1);
    drop(world.run());
    world.service("mastodon").account = Some("https://mastodon.example/@new".to_owned());
    let next = article(&world.config.site.url, 2);
    world.items.push(next);
    assert_eq!(
        told(&world.run()),
        [
            "exit 0",
            "a1 on mastodon: done: response",
            "a2 on mastodon: done: response",
        ]
    );
    let accounts: Vec<_> = world
        .remote
        .rows()
        .filter_map(|row| row.account.as_ref())
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        accounts,
        [
            "https://mastodon.example/@blog",
            "https://mastodon.example/@new"
        ]
    );
    assert_eq!(world.service("mastodon").writes(), 2);
}

#[test]
fn an_article_that_was_edited_in_doubt_goes_out_again_as_it_was() {
    let mut world = world(&[MASTODON], 1);
    world.service("mastodon").order(1, Fault::LostRequest);
    run_killed_at_write(&mut world, "mastodon", 1);
    let before = only_record(&world).claim.unwrap();
    world.items[0].title = "A better title".to_owned();
    world.now = world.now.plus(HOUR);
    assert_eq!(
        told(&world.run()),
        ["exit 0", "a1 on mastodon: done: response"]
    );
    let record = only_record(&world);
    let after = record.claim.unwrap();
    assert_eq!(record.attempt, 2);
    assert_eq!(
        (after.post, after.key, after.fingerprint),
        (before.post, before.key, before.fingerprint)
    );
    assert_ne!(after.token, before.token);
}

#[test]
fn an_article_that_was_edited_before_anything_was_sent_goes_out_as_it_is_now() {
    let mut world = world(&[MASTODON], 1);
    world.limits.max_wait = Duration::ZERO;
    world.service("mastodon").order(1, Fault::NotSent);
    drop(world.run());
    let before = only_record(&world).claim.unwrap();
    world.items[0].title = "A better title".to_owned();
    world.now = world.now.plus(HOUR);
    assert_eq!(
        told(&world.run()),
        ["exit 0", "a1 on mastodon: done: response"]
    );
    let after = only_record(&world).claim.unwrap();
    let text = after.post.string("text").unwrap();
    assert!(text.starts_with("A better title\n"), "{text}");
    assert_ne!(after.key, before.key, "another text has another key");
    world.assert_exactly_once();
}

/// The machine of the first run was ahead by less than a clock may be.
#[test]
fn a_run_whose_clock_is_behind_the_last_claim_waits_and_sends_nothing_twice() {
    let mut world = world(&[MASTODON], 1);
    run_killed_at_write(&mut world, "mastodon", 1);
    let claimed_at: Timestamp = only_record(&world).claim.unwrap().claimed_at;
    world.now = claimed_at.minus(Duration::from_secs(90));
    let ending = world.run();
    assert_eq!((ending.exit.code(), ending.summary.done), (0, 1));
    assert_eq!(world.service("mastodon").writes(), 1);
    world.assert_exactly_once();
}

#[test]
fn addresses_of_two_hosts_go_to_the_engine_in_two_requests() {
    let mut world = world(&[SEARCH], 3);
    world.items[1].canonical_url = "https://old.example/a2".to_owned();
    assert_eq!(
        told(&world.run()),
        [
            "exit 0",
            "a1 on search: done: response",
            "a2 on search: done: response",
            "a3 on search: done: response",
        ]
    );
    assert_eq!(world.service("search").writes(), 2);
}
