//! Would the histories that are drawn from seeds notice a broken rule? They are the integration tests' own.
//!
//! What the store does wrong is not tried, because the simulation's store has no switches.

#[path = "../../../tests/engine/seeds/play/mod.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod play;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::environment::Environment;
use crate::model::mutant::{Mutant, with};

use self::play::{Worlds, play};
use super::mutants::cases;

/// Histories in which a broken rule may show, in an ordinary test run; `SAYONCE_SEEDS=300` plays as many of each.
const SEEDS: u64 = 24;
/// Rules of which it must show in so few.
const NOTICED_MIN: usize = 10;

#[test]
fn histories_notice_broken_rules() {
    let wanted = Environment::of_process();
    let wanted = wanted
        .get("SAYONCE_SEEDS")
        .and_then(|text| text.parse().ok());
    let seeds = wanted.unwrap_or(SEEDS);
    let mutants: Vec<Mutant> = cases().iter().map(|case| case.mutant).collect();
    let (next, told) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        let worlds = Worlds::new();
        while let Some(mutant) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
            let noticed = with(*mutant, || {
                let is_wrong = |seed: &u64| {
                    let came = catch_unwind(AssertUnwindSafe(|| play(*seed, &worlds)));
                    !matches!(came, Ok(Ok(_)))
                };
                (0..seeds).find(is_wrong)
            });
            let mut told = told.lock().expect("panics are caught");
            told.push((*mutant, noticed));
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    let mut told = told.into_inner().expect("panics are caught");
    told.sort();
    for (mutant, noticed) in &told {
        println!("{mutant:?}: first noticed by seed {noticed:?}");
    }
    let noticed = told.iter().filter(|(_, seed)| seed.is_some()).count();
    println!(
        "mutants in histories: {noticed} of {} caught within {seeds} seeds",
        told.len()
    );
    assert!(noticed >= NOTICED_MIN, "{told:?}");
}
