//! Requests whose outcome is not known: looked for, never blindly repeated.

use std::time::Duration;

use super::{
    BLUESKY, FOUR, HOUR, MASTODON, gaps, only_record, run_killed_at_write, site, told, warnings,
    world,
};
use crate::simulation::{Fault, World};

/// Three articles, four channels, one paced at 75 s; the job dies in the seventh call.
#[test]
fn a_job_that_dies_in_its_seventh_call_is_continued_without_a_duplicate_or_a_gap() {
    let mut world = world(&FOUR, 3);
    let run = world.start();
    world.kill_when(run, |world, _| world.writes() == 7);
    let ending = world.run();
    assert_eq!((ending.exit.code(), ending.summary.done), (0, 12));
    world.assert_exactly_once();
}

/// The client gives up after 10 s; the server has finished the request at 12 s.
#[test]
fn an_answer_that_comes_after_the_client_gave_up_is_found_and_not_repeated() {
    let mut world = world(&[MASTODON], 1);
    let slow = Fault::Slow(Duration::from_secs(12));
    world.service("mastodon").order(1, slow);
    let ending = world.run();
    assert_eq!(told(&ending), ["exit 0", "a1 on mastodon: done: read_back"]);
    assert_eq!(world.service("mastodon").writes(), 1);
    world.assert_exactly_once();
}

#[test]
fn a_request_that_was_lost_is_sent_again_after_the_quiet_point() {
    let mut world = world(&[MASTODON], 1);
    world.service("mastodon").order(1, Fault::LostRequest);
    let ending = world.run();
    assert_eq!(told(&ending), ["exit 0", "a1 on mastodon: done: response"]);
    let gap = gaps(&world.service("mastodon").write_times);
    assert!(matches!(gap[..], [820..=1000]), "{gap:?}");
    world.assert_exactly_once();
}

#[test]
fn every_fault_ends_with_each_delivery_posted_once() {
    let faults = [
        Fault::LostAnswer,
        Fault::LostRequest,
        Fault::Slow(Duration::from_secs(12)),
        Fault::Slow(Duration::from_secs(45)),
        Fault::Status500,
        Fault::Status500Stored,
        Fault::RateLimited(Duration::from_secs(30)),
        Fault::RateLimitedSilent,
        Fault::NotSent,
    ];
    for channel in ["search", "bluesky", "mastodon", "devto"] {
        for number in 1..=2 {
            for fault in faults {
                let mut world = world(&FOUR, 2);
                world.service(channel).order(number, fault);
                let ending = world.run();
                assert_eq!(
                    (ending.exit.code(), ending.summary.done),
                    (0, 8),
                    "{channel}:{number}={fault:?}: {:?}",
                    told(&ending)
                );
                world.assert_exactly_once();
            }
        }
    }
}

#[test]
fn at_most_once_is_never_sent_again_by_itself() {
    let config = site(&[MASTODON, "policy = \"at_most_once\"\n"]);
    let mut world = World::new(&config, 1);
    world.service("mastodon").order(1, Fault::LostRequest);
    let expected = [
        "exit 5",
        "a1 on mastodon: held: it was sent, its outcome was not seen, and it is not there; `at_most_once` never \
         sends again by itself",
    ];
    assert_eq!(told(&world.run()), expected);
    assert_eq!(told(&world.run()), expected);
    assert_eq!(world.service("mastodon").writes(), 1);
}

#[test]
fn a_refused_repeat_says_nothing_about_the_first_request() {
    let mut world = world(&[BLUESKY], 1);
    let bluesky = world.service("bluesky");
    bluesky.order(1, Fault::Slow(Duration::from_secs(45)));
    bluesky.order(2, Fault::Refused);
    assert_eq!(
        told(&world.run()),
        ["exit 0", "a1 on bluesky: done: key_replay"]
    );
}

#[test]
fn many_lookup_delays_are_each_used_once() {
    let delays = "lookups = [\"1s\", \"2s\", \"3s\", \"4s\", \"5s\", \"6s\", \"7s\", \"8s\", \"9s\", \"10s\"]\n";
    let mut world = World::new(&site(&[MASTODON, delays]), 1);
    world.service("mastodon").order(1, Fault::LostRequest);
    drop(world.run());
    assert_eq!(
        gaps(&world.service("mastodon").lookup_times),
        [1, 1, 1, 1, 1, 1, 1, 1, 1, 799, 30]
    );
}

#[test]
fn what_only_a_person_may_repeat_is_looked_for_until_the_quiet_point() {
    let mut world = World::new(&site(&[BLUESKY, "gate = \"confirm\"\n"]), 1);
    let slow = Fault::Slow(Duration::from_secs(45));
    world.service("bluesky").order(1, slow);
    assert_eq!(
        told(&world.run()),
        ["exit 0", "a1 on bluesky: done: read_back"]
    );
    assert_eq!(world.service("bluesky").writes(), 1);
}

#[test]
fn a_channel_with_two_in_doubt_is_not_written_to_until_they_are_settled() {
    let mut world = world(&[MASTODON], 3);
    for number in 1..=3 {
        world.service("mastodon").order(number, Fault::LostRequest);
    }
    let ending = world.run();
    assert_eq!(
        told(&ending),
        [
            "exit 0",
            "a1 on mastodon: done: response",
            "a2 on mastodon: done: response",
            "a3 on mastodon: done: response"
        ]
    );
    assert_eq!(
        gaps(&world.service("mastodon").write_times),
        [10, 839, 10, 0, 838],
        "two lost; one lost and two posted once those were settled; one posted"
    );
    world.assert_exactly_once();
}

/// The clock of the second run is 20 minutes ahead, so that the first one's quiet point seems to be over while the
/// service still works on its request.
#[test]
fn with_a_clock_that_is_far_ahead_nothing_is_taken_over() {
    let mut world = world(&[MASTODON], 1);
    let slow = Fault::Slow(Duration::from_mins(25));
    world.service("mastodon").order(1, slow);
    run_killed_at_write(&mut world, "mastodon", 1);
    world.now = world.now.plus(Duration::from_mins(20));
    world.service("mastodon").skew = Some(Duration::from_mins(20));
    assert_eq!(
        told(&world.run()),
        [
            "exit 6",
            "a1 on mastodon: in_flight: claimed by a run that ended without a result; the next run looks for it"
        ]
    );
    assert_eq!(world.service("mastodon").writes(), 1);
}

#[test]
fn a_run_with_a_clock_that_is_far_off_ends() {
    let mut world = world(&[MASTODON], 1);
    world.service("mastodon").order(1, Fault::LostRequest);
    run_killed_at_write(&mut world, "mastodon", 1);
    world.service("mastodon").skew = Some(Duration::from_mins(20));
    let began = world.now;
    assert_eq!(
        told(&world.run()),
        [
            "exit 6",
            "a1 on mastodon: in_flight: claimed by a run that ended without a result; the next run looks for it"
        ]
    );
    let took = world.now.since(began);
    assert!(took < HOUR, "{took:?}");
}

/// The lists show the first post only an hour later, longer than anybody may take; meanwhile the machine sleeps.
#[test]
fn a_receipt_that_comes_after_another_run_took_over_is_kept() {
    let mut world = world(&[MASTODON], 1);
    world.service("mastodon").order(1, Fault::Unlisted(HOUR));
    let mut asleep = world.start();
    world.go_until(&mut asleep, |world| world.writes() == 1);
    world.now = world.now.plus(Duration::from_mins(30));
    assert_eq!(
        told(&world.run()),
        ["exit 0", "a1 on mastodon: done: response"]
    );
    let ending = world.finish(&mut asleep);
    assert_eq!(told(&ending), ["exit 0", "a1 on mastodon: done: response"]);
    let record = only_record(&world);
    let ids = |remotes: Vec<&sayonce::model::outcome::Remote>| -> Vec<Option<String>> {
        remotes.iter().map(|remote| remote.id.clone()).collect()
    };
    let receipts = record.receipts.iter().map(|receipt| &receipt.remote);
    let receipts = record.remote.iter().chain(receipts).collect();
    assert_eq!(ids(receipts), [Some("2".to_owned()), Some("1".to_owned())]);
}

/// The first run waits for an answer that is lost; meanwhile the second one finds the post, and the first one reads so
/// when it pushes what came of another channel.
#[test]
fn an_answer_that_is_lost_after_another_run_found_the_post_changes_nothing() {
    let mut world = world(&[MASTODON, BLUESKY], 1);
    world.service("mastodon").order(1, Fault::LostAnswer);
    let slow = Fault::Slow(Duration::from_secs(5));
    world.service("bluesky").order(1, slow);
    let mut first = world.start();
    world.go_until(&mut first, |world| world.writes() == 2);
    let mut runs = [first, world.start()];
    for ending in world.side_by_side(&mut runs) {
        assert_eq!(
            told(&ending),
            [
                "exit 0",
                "a1 on mastodon: done: read_back",
                "a1 on bluesky: done: response",
            ]
        );
    }
    assert_eq!(runs.each_ref().map(warnings), [[""; 0]; 2]);
    world.assert_exactly_once();
}

#[test]
fn a_claim_of_a_machine_whose_clock_is_far_behind_is_left_alone_long_enough() {
    let mut world = world(&[MASTODON], 1);
    world
        .service("mastodon")
        .order(1, Fault::Slow(Duration::from_mins(9)));
    let mut run = world.start_on(Vec::new(), -3_600_000);
    while world.service("mastodon").writes() == 0 {
        assert!(world.step_next(std::slice::from_mut(&mut run)));
    }
    drop(run);
    drop(world.run());
    world.now = world.now.plus(2 * HOUR);
    drop(world.run());
    world.assert_exactly_once();
}
