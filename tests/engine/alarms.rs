//! What a run sees by the way, and somebody should look at.

use std::time::Duration;

use super::{HOUR, MASTODON, world};
use crate::simulation::{World, article};

/// Announces two articles, then a third one, after which the post of article `number` is not listed.
fn check(number: usize, after: Duration) -> Vec<String> {
    let mut world: World = world(&[MASTODON], 2);
    let hidden = world.items[number - 1].canonical_url.clone();
    assert_eq!(world.run().exit.code(), 0);
    world.now = world.now.plus(after);
    let for_ever = world.now.plus(10_000 * HOUR);
    world.service("mastodon").hide(&hidden, for_ever);
    world.items.push(article(&world.config.site.url, 3));
    let ending = world.run();
    assert_eq!(ending.exit.code(), 0);
    assert_eq!(world.service("mastodon").writes(), 3);
    ending.alarms
}

#[test]
fn a_post_that_is_gone_is_told_and_not_sent_again() {
    assert_eq!(
        check(2, HOUR),
        [
            "a2 on mastodon: its post is not there any more: https://mastodon.example/@blog/2; it is never sent again by \
             itself, `sayonce again a2 mastodon` announces it once more"
        ]
    );
}

#[test]
fn a_list_that_may_lag_or_end_before_the_post_says_nothing() {
    assert_eq!(
        check(2, Duration::from_mins(5)),
        [""; 0],
        "before its quiet point"
    );
    assert_eq!(check(1, HOUR), [""; 0], "older than what is listed");
}
