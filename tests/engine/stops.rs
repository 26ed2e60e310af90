//! Signals and deadlines: nothing new, what is known is saved, out in time.

use std::time::Duration;

use sayonce::exit::Exit;
use sayonce::model::delivery::State;

use super::{FOUR, HOUR, MASTODON, only_record, told, world};
use crate::simulation::PushFault;

#[test]
fn a_stop_saves_what_is_known_and_leaves_the_rest() {
    let mut world = world(&FOUR, 3);
    let mut run = world.start();
    let began = world.now;
    run.stop(began.plus(Duration::from_secs(3)));
    let ending = world.finish(&mut run);
    assert_eq!(ending.exit, Exit::WorkRemains);
    assert!(world.now.since(began) < Duration::from_secs(8));
    assert_eq!(
        ending.summary.busy,
        0,
        "no claim is left: {:?}",
        told(&ending)
    );
    let ending = world.run();
    assert_eq!((ending.exit.code(), ending.summary.done), (0, 12));
    world.assert_exactly_once();
}

#[test]
fn a_deadline_ends_the_run_and_the_next_one_goes_on() {
    let mut world = world(&FOUR, 3);
    let deadline = world.now.plus(Duration::from_mins(2));
    world.limits.deadline = Some(deadline);
    let ending = world.run();
    assert_eq!(ending.exit, Exit::WorkRemains);
    assert!(world.now <= deadline);
    world.limits.deadline = None;
    let ending = world.run();
    assert_eq!((ending.exit.code(), ending.summary.done), (0, 12));
    world.assert_exactly_once();
}

#[test]
fn a_deadline_holds_with_the_remote_away() {
    let mut world = world(&[MASTODON], 1);
    world.remote.away = Some((world.now, world.now.plus(HOUR)));
    let began = world.now;
    world.limits.deadline = Some(began.plus(Duration::from_secs(20)));
    assert_eq!(
        told(&world.run()),
        ["exit 3", "! the remote does not answer"]
    );
    let took = world.now.since(began);
    assert!(took <= Duration::from_secs(31), "{took:?}");
}

#[test]
fn a_stop_before_the_ledger_was_read_is_no_success() {
    let mut world = world(&[MASTODON], 1);
    world.remote.away = Some((world.now, world.now.plus(HOUR)));
    let mut run = world.start();
    run.stop(world.now.plus(Duration::from_secs(1)));
    let ending = world.finish(&mut run);
    assert_eq!(
        told(&ending),
        ["exit 6", "! the run was stopped before the ledger was read"]
    );
}

#[test]
fn a_stop_while_a_receipt_is_being_pushed_keeps_it() {
    let mut world = world(&[MASTODON], 1);
    world.remote.faults.insert(2, PushFault::LostPush);
    let mut run = world.start();
    run.stop(world.now.plus(Duration::from_secs(2)));
    let ending = world.finish(&mut run);
    assert_eq!(
        told(&ending),
        [
            "exit 3",
            "a1 on mastodon: done: response",
            "! the run was stopped before its outcomes were on the ledger's remote"
        ]
    );
    assert_eq!(only_record(&world).state, State::InFlight);
    let saved: Vec<_> = run
        .journal
        .iter()
        .filter_map(|row| row.publish())
        .map(|record| record.state)
        .collect();
    assert_eq!(saved, [State::Done]);
}

#[test]
fn no_stop_with_any_lost_push_ends_with_a_false_proof() {
    let mut proofs = 0;
    for push in 1..=3 {
        for fault in [PushFault::LostPush, PushFault::LostAnswer] {
            for millis in (100..20_000).step_by(500) {
                let mut world = world(&[MASTODON], 1);
                world.remote.faults.insert(push, fault);
                let mut run = world.start();
                run.stop(world.now.plus(Duration::from_millis(millis)));
                let ending = world.finish(&mut run);
                let at_remote: Vec<_> = world
                    .remote
                    .rows()
                    .filter_map(|row| row.publish())
                    .map(|record| record.state)
                    .collect();
                if ending.exit == Exit::Proved {
                    proofs += 1;
                    let what = format!("push {push}: {fault:?}, stopped after {millis} ms");
                    assert_eq!(at_remote, [State::Done], "{what}");
                }
            }
        }
    }
    assert!((40..200).contains(&proofs), "{proofs} of 240");
}

/// What a laptop does that is closed just then, or a machine that is short of everything.
#[test]
fn a_stopped_machine_that_stood_still_until_after_its_time_keeps_its_receipt() {
    let mut world = world(&[MASTODON], 1);
    world.remote.faults.insert(2, PushFault::LostPush);
    let mut run = world.start();
    let stopped = world.now.plus(Duration::from_secs(2));
    run.stop(stopped);
    world.go_until(&mut run, |world| world.now >= stopped);
    world.now = stopped.plus(Duration::from_mins(1));
    let ending = world.finish(&mut run);
    assert_eq!(
        told(&ending),
        [
            "exit 3",
            "a1 on mastodon: done: response",
            "! the run was stopped before its outcomes were on the ledger's remote"
        ]
    );
    let saved: Vec<_> = run
        .journal
        .iter()
        .filter_map(|row| row.publish())
        .map(|record| record.state)
        .collect();
    assert_eq!(saved, [State::Done]);
}
