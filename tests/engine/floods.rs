//! No run floods a channel, and a new channel starts with the next article.

use sayonce::model::delivery::{Decision, Event, Operation, next};
use sayonce::model::row::Row;
use sayonce::plan::survey::Announce;

use super::{BLUESKY, FOUR, HOUR, MASTODON, name, site, told, world};
use crate::simulation::{World, article};

#[test]
fn a_first_run_that_would_flood_a_channel_is_left_out_and_says_what_to_do() {
    let mut world = world(&FOUR, 6);
    let ending = world.run();
    assert_eq!((ending.exit.code(), ending.summary.pending), (2, 24));
    assert_eq!(world.remote.commits(), 0);
    let advice = |channel: &str| {
        format!(
            "{channel} is left out: its first run would announce 6 articles, more than `site.first_run_max` (5); \
             `sayonce baseline --channel {channel}` marks them as announced before, \
             `sayonce approve --all-new --channel {channel}` lets them all be announced"
        )
    };
    assert_eq!(
        ending.problems,
        ["bluesky", "devto", "mastodon", "search"].map(advice)
    );
}

#[test]
fn a_channel_that_a_flood_keeps_back_does_not_set_the_exit_code_of_what_was_asked_for() {
    let mut world = world(&[MASTODON, BLUESKY], 3);
    drop(world.run());
    let site = world.config.site.url.clone();
    world
        .items
        .extend((4..=12).map(|number| article(&site, number)));
    world.selection.items = [world.items[0].id.clone()].into();
    assert_eq!(
        told(&world.run()),
        [
            "exit 0",
            "a1 on mastodon: done: response",
            "a1 on bluesky: done: response"
        ]
    );
}

#[test]
fn a_new_channel_is_not_baselined_while_the_sources_can_not_be_read() {
    let mut world = world(&[MASTODON], 4);
    drop(world.run());
    reconfigure(&mut world, &[MASTODON, BLUESKY]);
    let items = std::mem::take(&mut world.items);
    world.selection.announce = Announce::NothingNew;
    drop(world.run());
    assert!(world.remote.baseline.is_empty());
    world.items = items;
    world.selection.announce = Announce::New;
    assert_eq!(
        told(&world.run()),
        [
            "exit 0",
            "a1 on mastodon: done: response",
            "a1 on bluesky: skipped: online before this channel was used (baseline)",
            "a2 on mastodon: done: response",
            "a2 on bluesky: skipped: online before this channel was used (baseline)",
            "a3 on mastodon: done: response",
            "a3 on bluesky: skipped: online before this channel was used (baseline)",
            "a4 on mastodon: done: response",
            "a4 on bluesky: skipped: online before this channel was used (baseline)",
        ]
    );
    assert_eq!(world.service("bluesky").writes(), 0);
}

#[test]
fn what_is_planned_for_later_is_announced_on_a_new_channel_too() {
    let mut world = world(&[MASTODON], 2);
    drop(world.run());
    let mut planned = article(&world.config.site.url, 20);
    planned.settings.publish_at = Some(world.now.plus(24 * HOUR));
    world.items.push(planned);
    reconfigure(&mut world, &[MASTODON, BLUESKY]);
    drop(world.run());
    world.now = world.now.plus(48 * HOUR);
    assert_eq!(
        told(&world.run()),
        [
            "exit 0",
            "a1 on mastodon: done: response",
            "a1 on bluesky: skipped: online before this channel was used (baseline)",
            "a2 on mastodon: done: response",
            "a2 on bluesky: skipped: online before this channel was used (baseline)",
            "a20 on mastodon: done: response",
            "a20 on bluesky: done: response",
        ]
    );
    let writes = ["mastodon", "bluesky"].map(|channel| world.service(channel).writes());
    assert_eq!(writes, [3, 1]);
}

/// Changes the site's channels; services that were there stay as they are.
fn reconfigure(world: &mut World, channels: &[&str]) {
    let fresh = World::new(&site(channels), 0);
    world.config = fresh.config;
    for (name, service) in fresh.services {
        world.services.entry(name).or_insert(service);
    }
}

#[test]
fn what_a_person_decided_before_the_first_run_makes_no_channel_a_new_one() {
    let mut world = world(&[MASTODON, BLUESKY], 2);
    let by = Decision {
        who: "me".to_owned(),
        at: world.now,
        verb: "skip".to_owned(),
        why: None,
    };
    let mut row = Row::blank(&world.items[0], &name("bluesky"), None);
    let skipped = next(None, Event::Skipped { by }).expect("what is pending can be skipped");
    row.operations.insert(Operation::Publish, skipped);
    world.remote.decide(row);
    assert_eq!(
        told(&world.run()),
        [
            "exit 0",
            "a1 on mastodon: done: response",
            "a1 on bluesky: skipped",
            "a2 on mastodon: done: response",
            "a2 on bluesky: done: response"
        ]
    );
    assert!(world.remote.baseline.is_empty());
}
