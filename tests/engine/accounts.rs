//! Who posts: what another account shows says nothing, and one account is one channel.

use sayonce::model::delivery::State;

use super::{MASTODON, only_record, run_killed_at_write, site, told, world};
use crate::simulation::{Fault, World};

#[test]
fn what_another_account_shows_says_nothing_about_a_post() {
    let mut world = world(&[MASTODON], 1);
    world.service("mastodon").order(1, Fault::LostRequest);
    run_killed_at_write(&mut world, "mastodon", 1);
    world.service("mastodon").account = Some("https://mastodon.example/@other".to_owned());
    assert_eq!(
        told(&world.run()),
        [
            "exit 5",
            "a1 on mastodon: in_flight: it was claimed as https://mastodon.example/@blog, and mastodon logs in as \
             https://mastodon.example/@other now: nothing is sent or looked for until it is that account again"
        ]
    );
    assert_eq!(only_record(&world).state, State::InFlight);
    assert_eq!(world.service("mastodon").writes(), 1);
}

#[test]
fn two_channels_that_turn_out_to_be_one_account_are_both_left_out() {
    let second = MASTODON
        .replace("[channels.mastodon]", "[channels.second]")
        .replace("mastodon.example", "second.example")
        .replace("MASTODON_TOKEN", "SECOND_TOKEN");
    let mut world = World::new(&site(&[MASTODON, &second]), 1);
    for channel in ["mastodon", "second"] {
        world.service(channel).account = Some("https://mastodon.example/@blog".to_owned());
    }
    assert_eq!(
        told(&world.run()),
        [
            "exit 2",
            "a1 on mastodon: pending: waits for its channel: mastodon and second are the same account, \
             https://mastodon.example/@blog; remove one of them",
            "a1 on second: pending: waits for its channel: mastodon and second are the same account, \
             https://mastodon.example/@blog; remove one of them",
            "! mastodon and second are the same account, https://mastodon.example/@blog; remove one of them",
        ]
    );
    assert_eq!(world.writes(), 0);
}
