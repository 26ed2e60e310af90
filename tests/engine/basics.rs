//! Each article on each channel once, and nothing more.

use std::time::Duration;

use sayonce::model::item::{ItemChannelSettings, ItemId};
use sayonce::model::outcome::ServerLimits;

use super::{DEVTO, FOUR, HOUR, MASTODON, SEARCH, gaps, name, site, told, world};
use crate::simulation::{Fault, World, article};

#[test]
fn three_articles_on_four_channels_are_each_posted_once() {
    let mut world = world(&FOUR, 3);
    let ending = world.run();
    assert_eq!(
        told(&ending),
        [
            "exit 0",
            "a1 on search: done: response",
            "a1 on bluesky: done: response",
            "a1 on mastodon: done: response",
            "a1 on devto: done: response",
            "a2 on search: done: response",
            "a2 on bluesky: done: response",
            "a2 on mastodon: done: response",
            "a2 on devto: done: response",
            "a3 on search: done: response",
            "a3 on bluesky: done: response",
            "a3 on mastodon: done: response",
            "a3 on devto: done: response",
        ]
    );
    world.assert_exactly_once();
}

#[test]
fn a_second_run_makes_no_write_and_no_commit() {
    let mut world = world(&FOUR, 3);
    let first = told(&world.run());
    let before = (world.remote.commits(), world.remote.pushes, world.writes());
    assert_eq!(told(&world.run()), first);
    let after = (world.remote.commits(), world.remote.pushes, world.writes());
    assert_eq!(after, before);
}

#[test]
fn while_one_channel_waits_for_its_pace_the_others_work() {
    let mut world = world(&FOUR, 3);
    let began = world.now;
    drop(world.run());
    assert_eq!(gaps(&world.service("devto").write_times), [74, 75]);
    let took = world.now.since(began).as_secs();
    assert!(took < 160, "nothing else was waited for: {took} s");
}

#[test]
fn the_pace_holds_across_two_runs_at_once() {
    let mut world = world(&[DEVTO], 2);
    let ids: Vec<ItemId> = world.items.iter().map(|item| item.id.clone()).collect();
    world.selection.items = [ids[0].clone()].into();
    let one = world.start();
    world.selection.items = [ids[1].clone()].into();
    let two = world.start();
    drop(world.side_by_side(&mut [one, two]));
    let gap = gaps(&world.service("devto").write_times);
    assert!(matches!(gap[..], [74..=80]), "{gap:?}");
}

#[test]
fn two_runs_at_once_send_each_delivery_from_exactly_one() {
    let mut world = world(&FOUR, 3);
    let mut runs = [world.start(), world.start()];
    for ending in world.side_by_side(&mut runs) {
        assert_eq!((ending.exit.code(), ending.summary.done), (0, 12));
    }
    assert_eq!(world.service("mastodon").writes(), 3);
    world.assert_exactly_once();
}

#[test]
fn two_runs_that_may_each_claim_once_claim_two_articles() {
    let mut world = world(&[MASTODON], 2);
    world.limits.max_claims = Some(1);
    let mut runs = [world.start(), world.start()];
    drop(world.side_by_side(&mut runs));
    assert_eq!(world.service("mastodon").writes(), 2);
    world.assert_exactly_once();
}

#[test]
fn what_is_refused_for_good_is_not_sent_again() {
    let mut world = world(&[MASTODON], 2);
    world.service("mastodon").order(1, Fault::Refused);
    let expected = [
        "exit 4",
        "a1 on mastodon: failed: 422",
        "a2 on mastodon: done: response",
    ];
    assert_eq!(told(&world.run()), expected);
    assert_eq!(told(&world.run()), expected);
    assert_eq!(world.service("mastodon").writes(), 2);
}

#[test]
fn a_post_that_is_there_already_is_adopted() {
    let mut before = world(&[MASTODON], 1);
    drop(before.run());
    let mut fresh = world(&[MASTODON], 1);
    fresh.runs_started = before.runs_started;
    fresh.now = before.now;
    fresh.services = before.services;
    let ending = fresh.run();
    assert_eq!(told(&ending), ["exit 0", "a1 on mastodon: done: adopted"]);
    assert_eq!(fresh.service("mastodon").writes(), 1);
    fresh.assert_exactly_once();
}

#[test]
fn an_article_whose_page_comes_online_is_waited_for() {
    let mut world = World::new(&waiting_for_pages(), 1);
    let online_at = world.now.plus(Duration::from_mins(2));
    world.offline_until = Some(online_at);
    assert_eq!(
        told(&world.run()),
        ["exit 0", "a1 on mastodon: done: response"]
    );
    assert!(world.service("mastodon").write_times[0] > online_at);
    world.assert_exactly_once();
}

#[test]
fn an_article_whose_page_stays_away_is_left_to_a_later_run() {
    let mut world = World::new(&waiting_for_pages(), 1);
    world.offline_until = Some(world.now.plus(HOUR));
    assert_eq!(
        told(&world.run()),
        [
            "exit 6",
            "a1 on mastodon: pending: its page is not online yet: HTTP 404"
        ]
    );
    assert_eq!(world.service("mastodon").writes(), 0);
}

fn waiting_for_pages() -> String {
    site(&[MASTODON]).replace("feed =", "wait_live = \"10m\"\nfeed =")
}

#[test]
fn one_article_that_can_not_be_sent_does_not_keep_the_others_back() {
    let mut world = world(&[MASTODON], 3);
    let too_long = ItemChannelSettings::Custom {
        text: Some("x".repeat(600)),
        content_warning: None,
        language: None,
        image: None,
        alt: None,
        images: Vec::new(),
        series: None,
    };
    let settings = &mut world.items[0].settings;
    settings.channels.insert(name("mastodon"), too_long);
    assert_eq!(
        told(&world.run()),
        [
            "exit 5",
            "a1 on mastodon: pending: the text has 625 characters, 500 are allowed, and nothing more can be shortened",
            "a2 on mastodon: done: response",
            "a3 on mastodon: done: response"
        ]
    );
}

#[test]
fn a_listed_article_with_another_ones_guid_is_not_announced_without_a_person() {
    let mut world = world(&[MASTODON, SEARCH], 1);
    world.service("search").open_fails = true;
    world.service("mastodon").order(1, Fault::NotSent);
    drop(world.run());
    let mut other = article(&world.config.site.url, 2);
    other.guid = world.items[0].guid.clone();
    world.items.push(other);
    world.service("search").open_fails = false;
    assert_eq!(
        told(&world.run()),
        [
            "exit 5",
            "a1 on mastodon: done: response",
            "a1 on search: done: response",
            "a2 on mastodon: pending: it looks like a1 under a new address; `sayonce rename a1 a2` if it is the same \
             article, `sayonce approve a2 mastodon` if it is another",
            "a2 on search: pending: it looks like a1 under a new address; `sayonce rename a1 a2` if it is the same \
             article, `sayonce approve a2 search` if it is another",
        ]
    );
}

/// So Pixelfed does: it is learned from the server before the first claim, and remembered for plans.
#[test]
fn where_a_server_wants_pictures_an_article_without_one_is_never_claimed() {
    let mut world = world(&[MASTODON], 1);
    let limits = ServerLimits {
        link: Some(32),
        needs_picture: true,
        ..ServerLimits::default()
    };
    world.service("mastodon").limits = limits;
    let told = told(&world.run());
    assert!(told[1].starts_with("a1 on mastodon: pending"), "{told:?}");
    assert!(
        told.iter()
            .any(|line| line.contains("takes no post without a picture")),
        "{told:?}"
    );
    assert_eq!(world.service("mastodon").writes(), 0);
    assert_eq!(world.remote.rows().count(), 0);
}
