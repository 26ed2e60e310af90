//! Whole histories of a ledger, drawn from a seed: several runs, kills, stops, lost and late answers and pushes, a
//! remote that is away, and a disk that survives or not. At the end comes good weather, and everything must be posted
//! exactly once and proved.

mod history;
mod verdict;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use self::history::History;
use super::{FOUR, world};

/// How many seeds are played, or which (`17..18`).
const VARIABLE: &str = "SAYONCE_SEEDS";
/// Enough to meet everything that can go wrong several times, in a few seconds.
const SEEDS: Range<u64> = 0..300;
#[test]
fn in_every_history_each_delivery_is_posted_once_and_proved() {
    let seeds = chosen_seeds();
    let mut met = Met::default();
    let mut failed = Vec::new();
    let blank = world(&FOUR, 3);
    for seed in seeds.clone() {
        let play = || History::draw(seed, blank.clone()).play();
        match catch_unwind(AssertUnwindSafe(play)) {
            Ok(Ok(one)) => met.add(&one),
            Ok(Err(wrong)) => failed.push(format!("{seed}: {wrong}")),
            Err(_) => failed.push(format!("{seed}: see the panic above")),
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {} seeds failed; to replay one: {VARIABLE}=17..18 cargo test --test all engine::seeds (for 17)\n{}",
        failed.len(),
        seeds.clone().count(),
        failed.join("\n")
    );
    // A simulation in which nothing goes wrong would prove nothing.
    if seeds.clone().count() >= SEEDS.clone().count() {
        let seeds = seeds.count();
        let enough = [
            met.kills > seeds / 2,
            met.stops > seeds / 2,
            met.repeats > seeds,
            met.read_back > seeds / 2,
            met.merged_journals > seeds / 20,
            met.moves > 10 * seeds,
        ];
        assert_eq!(enough, [true; 6], "{met:#?}");
    }
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

/// What a history met, so that a run of many can tell whether it tried anything.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    kills: usize,
    stops: usize,
    /// Claims beyond the first of a delivery.
    repeats: usize,
    read_back: usize,
    merged_journals: usize,
    moves: usize,
    held: usize,
    longest: Duration,
}

impl Met {
    fn add(&mut self, other: &Self) {
        self.kills += other.kills;
        self.stops += other.stops;
        self.repeats += other.repeats;
        self.read_back += other.read_back;
        self.merged_journals += other.merged_journals;
        self.moves += other.moves;
        self.held += other.held;
        self.longest = self.longest.max(other.longest);
    }
}
