//! SIGKILL at random moments, again and again, until a run gets to its end.

use std::time::Duration;

use sayonce::clock::{Clock as _, SystemClock};

use super::checker::Moment;
use super::stage::{
    FAST, Kept, Next, POLICIES, Stage, Start, asked, asked_for, figure, report, side_by_side,
};

/// Runs of one rehearsal that are killed at most; then it may end.
const KILLS_MAX: usize = 6;

/// A run that is not killed takes about this long.
const RUN_MICROS: u64 = 500_000;

/// One that waits for an earlier claim's quiet point takes longer.
const PATIENT_MICROS: u64 = 4_000_000;

/// Side by side.
const HANDS: usize = 6;

/// Numbers that look random and are the same for the same seed.
#[derive(Debug)]
pub(crate) struct Dice {
    state: u64,
}

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// From 0 to below `limit` (splitmix64).
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// The seed that is asked for, or one of today.
pub(crate) fn seed() -> u64 {
    let seed = asked("SAYONCE_SEED").map_or_else(
        || {
            let now = SystemClock::new().now().as_millis();
            u64::try_from(now).unwrap()
        },
        |text| text.parse().unwrap(),
    );
    println!("SAYONCE_SEED={seed}");
    seed
}

/// Kills runs until one ends. Returns how many were killed.
fn round(kept: &Kept<'_>, mut dice: Dice) -> (usize, Vec<String>) {
    let mut broken = Vec::new();
    for killed in 0..KILLS_MAX {
        let run = kept.sayonce().start();
        // A kill at the very start is as good as none.
        let patience = if dice.below(3) == 0 {
            PATIENT_MICROS
        } else {
            RUN_MICROS
        };
        let micros = 20_000 + dice.below(patience);
        SystemClock::new().sleep(Duration::from_micros(micros));
        run.signal("KILL", &kept.home());
        let ran = run.end();
        if ran.code().is_some() {
            broken.extend(kept.continued(Next::AtOnce));
            return (killed, broken);
        }
        broken.extend(kept.check(Moment::Midway));
        if dice.below(2) == 0 {
            kept.let_time_pass();
        }
    }
    let next = Next::ALL[usize::try_from(dice.below(3)).unwrap()];
    broken.extend(kept.continued(next));
    (KILLS_MAX, broken)
}

#[test]
fn kills_at_random_moments_neither_lose_nor_repeat() {
    let rounds = asked_for("SAYONCE_ROUNDS", 8);
    let seed = seed();
    let clock = SystemClock::new();
    let stage = Stage::new(&POLICIES, 2, FAST);
    let (killed, broken) = (std::sync::Mutex::new(0), std::sync::Mutex::new(Vec::new()));
    side_by_side(0..rounds, HANDS, |number| {
        let dice = Dice::new(seed.wrapping_add(u64::try_from(number).unwrap()));
        let start = if number % 4 == 0 {
            Start::Nothing
        } else {
            Start::Clone
        };
        let kept = stage.kept(&format!("round-{number}"), start);
        let (kills, wrong) = round(&kept, dice);
        *killed.lock().unwrap() += kills;
        kept.remove(&wrong);
        report(&format!("seed {seed}, round {number}"), wrong, &broken);
    });
    let killed = killed.into_inner().unwrap();
    println!(
        "kills at random moments: {rounds} rounds, {killed} kills, {}",
        figure(&broken, &clock)
    );
    assert_eq!(broken.into_inner().unwrap(), Vec::<String>::new());
    assert!(
        killed >= rounds / 2,
        "{killed} kills in {rounds} rounds are too few"
    );
}
