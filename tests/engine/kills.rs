//! A job is killed at every action that it makes, and continued by another one on a fresh clone.

use std::time::Duration;

use super::{BLUESKY, FOUR, MASTODON, told, world};
use crate::simulation::{Fault, PushFault, World};

/// What goes wrong beside the kill.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    None,
    /// With a write of the channel.
    Write(&'static str, Fault),
    /// With the n-th push.
    Push(usize, PushFault),
}

/// One fault of each kind, the channels in turn.
const TROUBLES: [Trouble; 11] = [
    Trouble::None,
    Trouble::Write("mastodon", Fault::LostAnswer),
    Trouble::Write("bluesky", Fault::LostRequest),
    Trouble::Write("devto", Fault::Slow(Duration::from_secs(45))),
    Trouble::Write("search", Fault::Status500),
    Trouble::Write("devto", Fault::Status500Stored),
    Trouble::Write("bluesky", Fault::RateLimited(Duration::from_secs(30))),
    Trouble::Write("bluesky", Fault::NotSent),
    Trouble::Push(2, PushFault::LostPush),
    Trouble::Push(3, PushFault::LostAnswer),
    Trouble::Push(4, PushFault::Late(Duration::from_mins(5))),
];

/// The same for pairs of kills, which are many.
const PAIR_TROUBLES: [Trouble; 4] = [
    Trouble::None,
    Trouble::Write("mastodon", Fault::LostRequest),
    Trouble::Write("bluesky", Fault::LostAnswer),
    Trouble::Push(2, PushFault::Late(Duration::from_secs(11))),
];

#[test]
fn a_job_killed_at_any_action_is_continued_without_a_duplicate_or_a_gap() {
    let mut kills = 0;
    for trouble in TROUBLES {
        let mut first = troubled(&FOUR, 3, trouble);
        for (action, mut left) in first.moments().into_iter().enumerate() {
            finish(
                &mut left,
                12,
                &format!("{trouble:?}, killed at action {action}"),
            );
            kills += 1;
        }
    }
    assert!((300..1_000).contains(&kills), "{kills} kills");
}

#[test]
fn two_jobs_killed_at_any_two_actions_are_continued_without_a_duplicate_or_a_gap() {
    let mut kills = 0;
    for trouble in PAIR_TROUBLES {
        let mut first = troubled(&[MASTODON, BLUESKY], 1, trouble);
        for (one, mut second) in first.moments().into_iter().enumerate() {
            for (two, mut left) in second.moments().into_iter().enumerate() {
                finish(
                    &mut left,
                    2,
                    &format!("{trouble:?}, killed at {one} and {two}"),
                );
                kills += 1;
            }
        }
    }
    assert!((400..2_000).contains(&kills), "{kills} pairs");
}

fn troubled(channels: &[&str], articles: usize, trouble: Trouble) -> World {
    let mut world = world(channels, articles);
    match trouble {
        Trouble::None => {}
        Trouble::Push(number, fault) => {
            world.remote.faults.insert(number, fault);
        }
        Trouble::Write(channel, fault) => {
            let mut services = world.services.iter_mut();
            if let Some((_, service)) = services.find(|(name, _)| name.as_str() == channel) {
                service.order(1, fault);
            }
        }
    }
    world
}

/// One more run must prove everything.
fn finish(world: &mut World, deliveries: usize, what: &str) {
    let ending = world.run();
    assert_eq!(
        (ending.exit.code(), ending.summary.done),
        (0, deliveries),
        "{what}: {:#?}",
        told(&ending)
    );
    world.assert_exactly_once();
}
