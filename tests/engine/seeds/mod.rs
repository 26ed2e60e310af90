//! Whole histories of a ledger, drawn from a seed. In each there are several runs, alone and side by side, kills, stops, lost
//! and late answers and pushes, a remote that is away, lists that lag, and a disk that survives or not; in some, machines
//! whose clocks are wrong or that stand still, refusals that lie, people who decide and edit, a branch that is reset, and a
//! service that takes longer than its quarantine. At the end comes good weather and a person who settles what needs one:
//! then everything must be proved, and posted as often as its policy allows.

mod play;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use sayonce::model::delivery::{Record, State};

use self::play::{Met, Worlds, play, play_aloud};
use crate::simulation::moves::wrong_move;

/// How many seeds are played, or which (`17..18`).
const VARIABLE: &str = "SAYONCE_SEEDS";
/// Enough to meet everything that can go wrong several times, in a few seconds.
const SEEDS: Range<u64> = 0..300;
/// Seeds that fail are named up to so many.
const NAMED_MAX: usize = 20;

#[test]
fn in_every_history_each_delivery_is_posted_as_its_policy_allows_and_proved() {
    let seeds = chosen_seeds();
    let count = seeds.clone().count();
    let (met, failed) = play_all(&seeds);
    println!("seeds: {count} histories, {} faulty; {met:?}", failed.len());
    if let [only] = failed.as_slice()
        && count == 1
    {
        let story = catch_unwind(AssertUnwindSafe(|| play_aloud(seeds.start, &Worlds::new())));
        let story = story.map_or_else(|_| Vec::new(), |(_, trace)| trace);
        panic!("{only}\n{}", story.join("\n"));
    }
    assert!(
        failed.is_empty(),
        "{} of {count} seeds failed; to replay one, with all that happens: {VARIABLE}=17..18 cargo test --profile soak \
         --test all -- engine::seeds --nocapture (for 17)\n{}",
        failed.len(),
        failed[..failed.len().min(NAMED_MAX)].join("\n")
    );
    // A simulation in which nothing goes wrong would prove nothing.
    if count >= SEEDS.clone().count() {
        let enough = [
            met.kills > count / 3,
            met.stops > count / 2,
            met.stalls > count / 4,
            met.skews > count / 2,
            met.repeats > count,
            met.read_back > count / 4,
            met.merged_journals > count / 30,
            met.moves > 10 * count,
            met.lies > count / 10,
            met.decisions > count / 2,
            met.edits > count / 10,
            met.rewinds > count / 20,
            met.broken > count / 20,
            met.changes > count / 20,
            met.retractions > count / 20,
        ];
        assert_eq!(enough, [true; 15], "{met:#?}");
    }
}

#[test]
fn a_seed_replays_exactly() {
    let worlds = Worlds::new();
    for seed in 0..24 {
        let (one, other) = (play_aloud(seed, &worlds), play_aloud(seed, &Worlds::new()));
        assert!(one.1.len() > 10, "seed {seed} is a history");
        assert_eq!(one, other, "seed {seed}");
    }
    let traces = [0, 8].map(|seed| play_aloud(seed, &worlds).1);
    assert_ne!(traces[0], traces[1], "seeds differ");
}

/// Plays seeds on every core. Returns what they met, and the faulty ones.
fn play_all(seeds: &Range<u64>) -> (Met, Vec<String>) {
    let next = AtomicU64::new(seeds.start);
    let work = || {
        let worlds = Worlds::new();
        let mut met = Met::default();
        let mut failed = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return (met, failed);
            }
            match catch_unwind(AssertUnwindSafe(|| play(seed, &worlds))) {
                Ok(Ok(one)) => met.add(&one),
                Ok(Err(wrong)) => failed.push((seed, wrong)),
                Err(_) => failed.push((seed, "see the panic above".to_owned())),
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut met = Met::default();
    let mut failed = Vec::new();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let (one, wrong) = worker.join().expect("panics are caught");
            met.add(&one);
            failed.extend(wrong);
        }
    });
    failed.sort();
    let failed = failed
        .into_iter()
        .map(|(seed, wrong)| format!("{seed}: {wrong}"));
    (met, failed.collect())
}

/// The seeds that the environment asks for: a count or a range.
#[expect(
    clippy::disallowed_methods,
    reason = "a test has no `Environment`, and the variable changes only how much is played"
)]
fn chosen_seeds() -> Range<u64> {
    let Ok(text) = std::env::var(VARIABLE) else {
        return SEEDS;
    };
    let number = |text: &str| {
        text.parse()
            .expect("SAYONCE_SEEDS is a number or `FROM..TO`")
    };
    match text.split_once("..") {
        Some((from, to)) => number(from)..number(to),
        None => 0..number(&text),
    }
}

#[test]
fn a_move_that_nobody_may_make_is_noticed() {
    let done = {
        let mut world = super::world(&[super::MASTODON], 1);
        drop(world.run());
        let row = world.remote.rows().next().expect("one row");
        row.clone()
    };
    let check = |change: fn(&mut Record)| {
        let mut after = done.clone();
        after.operations.values_mut().for_each(change);
        wrong_move(Some(&done), &after)
    };
    let wrong = |text: &str| Some(text.to_owned());
    assert_eq!(wrong_move(Some(&done), &done), wrong("nothing changed"));
    assert_eq!(
        wrong_move(None, &done),
        wrong("it began as done (attempt 1)")
    );
    assert_eq!(
        check(|record| record.state = State::Retry),
        wrong("publish: what is done was left: done (attempt 1) became retry (attempt 1)")
    );
    assert_eq!(
        check(|record| record.remote = None),
        wrong("publish: a receipt was lost: done (attempt 1) became done (attempt 1)")
    );
    assert_eq!(
        check(|record| record.attempt = 0),
        wrong("publish: a count fell: done (attempt 1) became done (attempt 0)")
    );
    assert_eq!(
        check(|record| record.attempt = 2),
        wrong(
            "publish: something came of a claim before it was on the remote: done (attempt 1) became done (attempt 2)"
        )
    );
    assert_eq!(
        check(|record| record.claim = None),
        wrong("publish: a claim was changed: done (attempt 1) became done (attempt 1)")
    );
}
