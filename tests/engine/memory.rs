//! Services that remember what they answered to a key, refusals too, as Pleroma and Akkoma do for six hours.

use std::time::Duration;

use sayonce::model::delivery::State;

use super::{HOUR, MASTODON, gaps, only_record, told, world};
use crate::simulation::{Fault, World};

/// A service that remembers, and does this with the first request.
fn forgetful_after(memory: Duration, fault: Fault) -> World {
    let mut world = world(&[MASTODON], 1);
    world.service("mastodon").memory = Some(memory);
    world.service("mastodon").order(1, fault);
    world
}

#[test]
fn an_old_refusal_of_a_key_is_answered_with_a_new_key_where_nothing_was_sent() {
    let mut world = forgetful_after(HOUR * 6, Fault::RateLimited(Duration::from_secs(30)));
    let ending = world.run();
    assert_eq!(told(&ending), ["exit 0", "a1 on mastodon: done: response"]);
    let record = only_record(&world);
    assert_eq!((record.attempt, record.edition), (3, 2));
    // The second one got the old answer, and the third one is not kept waiting.
    let gaps = gaps(&world.service("mastodon").write_times);
    assert!(matches!(gaps[..], [30..=40, 0..=10]), "{gaps:?}");
    world.assert_exactly_once();
}

#[test]
fn what_may_have_been_sent_keeps_its_key_until_the_service_has_forgotten() {
    let mut world = forgetful_after(HOUR * 6, Fault::RefusedUnheard);
    let ending = world.run();
    // Longer than a run waits.
    assert_eq!(ending.exit.code(), 6, "{:?}", told(&ending));
    let before = only_record(&world);
    assert_eq!((before.state, before.attempt), (State::Retry, 2));
    world.now = world.now.plus(HOUR * 6);
    let ending = world.run();
    assert_eq!(told(&ending), ["exit 0", "a1 on mastodon: done: response"]);
    let after = only_record(&world);
    assert_eq!((after.attempt, after.edition), (3, 1));
    let key = |record: &sayonce::model::delivery::Record| {
        record
            .claim
            .as_ref()
            .map(|claim| (claim.key.clone(), claim.post.clone()))
    };
    assert_eq!(key(&after), key(&before));
    world.assert_exactly_once();
}

/// A service that says so of every key is not asked for ever.
#[test]
fn a_service_that_only_remembers_is_given_up() {
    let mut world = world(&[MASTODON], 1);
    world.service("mastodon").always = Some(Fault::Replayed);
    let ending = world.run();
    assert_eq!(
        told(&ending),
        [
            "exit 5",
            "a1 on mastodon: held: 5 attempts were refused or lost"
        ]
    );
    assert_eq!(world.service("mastodon").writes(), 5);
}
