//! The ledger's remote, when it is slow, away, or says no.

use std::time::Duration;

use super::{
    BLUESKY, DEVTO, FOUR, HOUR, MASTODON, SEARCH, only_record, site, told, warnings, world,
};
use crate::simulation::{Fault, PushFault, World};

/// More pushes than any run makes.
const MANY: usize = 60_000;

#[test]
fn a_push_that_fails_in_any_way_at_any_time_loses_and_repeats_nothing() {
    let faults = [
        PushFault::LostAnswer,
        PushFault::LostPush,
        PushFault::Late(Duration::from_secs(11)),
        PushFault::Late(Duration::from_mins(5)),
    ];
    for fault in faults {
        for push in 1..=8 {
            let mut world = world(&FOUR, 2);
            world.remote.faults.insert(push, fault);
            let ending = world.run();
            assert_eq!(
                (ending.exit.code(), ending.summary.done),
                (0, 8),
                "push {push}: {fault:?}: {:?}",
                told(&ending)
            );
            world.assert_exactly_once();
        }
    }
}

#[test]
fn with_the_remote_away_at_the_claim_nothing_is_sent() {
    let mut world = world(&[MASTODON], 1);
    world.remote.away = Some((world.now, world.now.plus(HOUR)));
    assert_eq!(
        told(&world.run()),
        ["exit 3", "! the remote does not answer"]
    );
    assert_eq!(world.service("mastodon").writes(), 0);
}

#[test]
fn a_refused_push_sends_nothing() {
    let mut world = world(&[MASTODON], 1);
    world.remote.faults.insert(1, PushFault::Refused);
    assert_eq!(
        told(&world.run()),
        [
            "exit 3",
            "a1 on mastodon: pending: due now",
            "! protected branch; set `ledger.branch`"
        ]
    );
    assert_eq!(world.service("mastodon").writes(), 0);
}

#[test]
fn with_every_push_lost_nothing_is_sent_and_the_run_ends() {
    let mut world = world(&[MASTODON], 1);
    lose_pushes_from(&mut world, 1);
    let began = world.now;
    assert_eq!(
        told(&world.run()),
        [
            "exit 3",
            "a1 on mastodon: in_flight: claimed by a run; left alone until 2026-11-29T10:14:46.300Z, unless it is found",
            "! the ledger's remote confirms no push: no answer"
        ]
    );
    assert_eq!(world.service("mastodon").writes(), 0);
    let took = world.now.since(began);
    assert!(took < Duration::from_mins(10), "{took:?}");
}

#[test]
fn an_outcome_that_can_not_be_pushed_goes_to_the_journal_after_some_minutes() {
    let mut world = world(&[MASTODON], 1);
    lose_pushes_from(&mut world, 2);
    let began = world.now;
    let mut run = world.start();
    let ending = world.finish(&mut run);
    assert_eq!(
        told(&ending),
        [
            "exit 3",
            "a1 on mastodon: done: response",
            "! the ledger's remote confirms no push: no answer"
        ]
    );
    assert_eq!(ending.unsaved, run.journal);
    assert_eq!(run.journal.len(), 1);
    let took = world.now.since(began);
    assert!(took < Duration::from_mins(10), "{took:?}");
}

#[test]
fn an_outcome_that_can_not_be_pushed_goes_to_the_journal_before_the_deadline() {
    let mut world = world(&[MASTODON], 1);
    lose_pushes_from(&mut world, 2);
    let began = world.now;
    world.limits.deadline = Some(began.plus(Duration::from_secs(90)));
    let mut run = world.start();
    let ending = world.finish(&mut run);
    assert_eq!(ending.exit.code(), 3);
    assert_eq!(run.journal.len(), 1);
    let took = world.now.since(began);
    assert!(took <= Duration::from_secs(105), "{took:?}");
}

#[test]
fn an_outcome_that_could_not_be_pushed_is_merged_by_the_next_run_on_this_disk() {
    let mut world = world(&[MASTODON], 1);
    // The claim lands, then the remote is away for longer than anybody waits.
    let away_from = world.now.plus(Duration::from_millis(600));
    world.remote.away = Some((away_from, away_from.plus(HOUR)));
    let mut run = world.start();
    assert_eq!(world.finish(&mut run).exit.code(), 3);
    assert_eq!(
        (world.service("mastodon").writes(), run.journal.len()),
        (1, 1)
    );
    world.now = world.now.plus(2 * HOUR);
    let mut next = world.start_with(run.journal);
    let ending = world.finish(&mut next);
    assert_eq!(told(&ending), ["exit 0", "a1 on mastodon: done: response"]);
    assert_eq!(next.journal, [], "what is on the remote leaves the journal");
    world.assert_exactly_once();
}

#[test]
fn a_doubt_in_the_journal_is_dropped_if_another_run_found_the_post() {
    let mut world = world(&[MASTODON], 1);
    world.service("mastodon").order(1, Fault::LostAnswer);
    let away_from = world.now.plus(Duration::from_millis(600));
    world.remote.away = Some((away_from, away_from.plus(HOUR)));
    let mut first = world.start();
    assert_eq!(world.finish(&mut first).exit.code(), 3);
    assert_eq!(first.journal.len(), 1);
    world.now = world.now.plus(2 * HOUR);
    let done = ["exit 0", "a1 on mastodon: done: read_back"];
    assert_eq!(told(&world.run()), done, "on another machine");
    let mut next = world.start_with(first.journal);
    let ending = world.finish(&mut next);
    assert_eq!(told(&ending), done);
    assert_eq!(warnings(&next), [""; 0]);
    assert_eq!(next.journal, []);
}

/// The ledger says `done`, the journal holds another receipt of the same claim.
#[test]
fn a_second_receipt_in_the_journal_is_kept() {
    let mut world = world(&[MASTODON], 1);
    drop(world.run());
    let mut row = world.remote.rows().next().unwrap().clone();
    let record = row.operations.values_mut().next().unwrap();
    record.remote.as_mut().unwrap().id = Some("99".to_owned());
    let second = record.remote.clone().unwrap();
    let mut run = world.start_with(vec![row]);
    drop(world.finish(&mut run));
    let kept: Vec<_> = only_record(&world)
        .receipts
        .into_iter()
        .map(|receipt| receipt.remote)
        .collect();
    assert_eq!(kept, [second]);
}

#[test]
fn one_ledger_has_one_lineage() {
    let mut alone = world(&[MASTODON, BLUESKY, SEARCH], 2);
    drop(alone.run());
    let mut together = world(&[MASTODON], 2);
    let mut runs = [together.start(), together.start()];
    drop(together.side_by_side(&mut runs));
    for mut lineages in [alone.remote.lineages, together.remote.lineages] {
        lineages.dedup();
        assert_eq!(lineages.len(), 1, "{lineages:?}");
    }
}

/// A claim that was given up is on the remote all the same, and the push that gives it back is lost at first.
#[test]
fn a_claim_that_lands_after_it_was_given_up_is_given_back_once() {
    let mut world = world(&[MASTODON], 2);
    // So that the first outcome and the second claim share a push: for an outcome the remote is waited for longer.
    world.limits.push_gap = Duration::from_secs(3);
    let faults = &mut world.remote.faults;
    faults.insert(2, PushFault::Late(Duration::from_millis(66_500)));
    faults.extend([3, 4, 5, 6, 8].map(|push| (push, PushFault::LostPush)));
    let mut run = world.start();
    let ending = world.finish(&mut run);
    assert_eq!(
        told(&ending),
        [
            "exit 0",
            "a1 on mastodon: done: response",
            "a2 on mastodon: done: response"
        ]
    );
    assert_eq!(
        warnings(&run),
        ["the ledger could not be pushed; claims were given up unsent"]
    );
    world.assert_exactly_once();
}

/// A dead run's claims are in doubt; that is pushed with one receipt, lost at first, while the other one is found.
#[test]
fn a_receipt_that_is_found_while_a_push_is_tried_again_builds_on_it() {
    let mut world = world(&[MASTODON, DEVTO], 1);
    let run = world.start();
    world.kill_when(run, |world, _| world.writes() == 2);
    world.now = world.now.plus(HOUR);
    let next = world.remote.pushes + 1;
    world.remote.faults.insert(next, PushFault::LostPush);
    assert_eq!(
        told(&world.run()),
        [
            "exit 0",
            "a1 on mastodon: done: read_back",
            "a1 on devto: done: read_back"
        ]
    );
    let doubted: Vec<_> = world
        .remote
        .rows()
        .filter_map(|row| row.publish())
        .map(|record| record.frozen)
        .collect();
    assert_eq!(doubted, [true, true]);
}

#[test]
fn a_channel_whose_claims_always_come_too_late_is_left_out_with_advice() {
    let mut world = World::new(&site(&[MASTODON, "send_window = \"100ms\"\n"]), 1);
    assert_eq!(
        told(&world.run()),
        [
            "exit 6",
            "a1 on mastodon: retry: its send window was over before it could be sent",
            "! mastodon: 3 claims in a row reached the ledger's remote only after `send_window` (100ms) was over; \
             raise it",
        ]
    );
    assert_eq!(world.service("mastodon").writes(), 0);
}

#[test]
fn a_send_window_shorter_than_the_gap_between_pushes_ends_with_advice() {
    let mut world = World::new(
        &site(&[MASTODON, "send_window = \"5s\"\ninterval = \"0s\"\n"]),
        3,
    );
    world.limits.push_gap = Duration::from_secs(10);
    assert_eq!(
        told(&world.run()),
        [
            "exit 6",
            "a1 on mastodon: done: response",
            "a2 on mastodon: retry: its send window was over before it could be sent",
            "a3 on mastodon: retry: its send window was over before it could be sent",
            "! mastodon: 3 claims in a row reached the ledger's remote only after `send_window` (5s) was over; raise it",
        ]
    );
}

fn lose_pushes_from(world: &mut World, first: usize) {
    for push in first..MANY {
        world.remote.faults.insert(push, PushFault::LostPush);
    }
}
