//! One history: what happens in it is drawn from its seed.

use std::time::Duration;

use sayonce::model::row::Row;
use sayonce::model::time::Timestamp;

use super::Met;
use crate::engine::HOUR;
use crate::simulation::{Came, Fault, PushFault, Run, World};

/// Runs in good weather after which nothing may be left to do.
const CALM_RUNS_MAX: usize = 8;

const FAULTS: [Fault; 11] = [
    Fault::LostAnswer,
    Fault::LostRequest,
    Fault::Slow(Duration::from_secs(5)),
    Fault::Slow(Duration::from_secs(12)),
    Fault::Slow(Duration::from_secs(45)),
    Fault::Slow(Duration::from_mins(6)),
    Fault::Status500,
    Fault::Status500Stored,
    Fault::RateLimited(Duration::from_secs(40)),
    Fault::RateLimitedSilent,
    Fault::NotSent,
];
/// How late a push may land, in seconds.
const LATE: [u64; 8] = [2, 9, 11, 14, 25, 60, 200, 900];

/// One history.
pub(super) struct History {
    draw: Draw,
    pub(super) world: World,
    /// The journal on the disk of the machine that runs usually start on.
    pub(super) disk: Vec<Row>,
    pub(super) met: Met,
}

impl History {
    pub(super) fn draw(seed: u64, mut world: World) -> Self {
        let mut draw = Draw(seed);
        world.items.truncate(1 + draw.count(3));
        world.entropy = seed;
        world.limits.push_gap = Duration::from_secs(draw.pick(&[0, 0, 10]));
        for service in world.services.values_mut() {
            for number in 1..=8 {
                if draw.one_in(4) {
                    service.order(number, draw.pick(&FAULTS));
                }
            }
        }
        for number in 1..=24 {
            let fault = match draw.below(8) {
                0 => PushFault::LostPush,
                1 => PushFault::LostAnswer,
                2 => PushFault::Late(Duration::from_secs(draw.pick(&LATE))),
                _ => continue,
            };
            world.remote.faults.insert(number, fault);
        }
        Self {
            draw,
            world,
            disk: Vec::new(),
            met: Met::default(),
        }
    }

    pub(super) fn play(mut self) -> Result<Met, String> {
        for _ in 0..self.draw.count(5) {
            self.cloud();
            self.one_run()?;
            let pause = self.draw.up_to(1_200);
            self.world.now = self.world.now.plus(pause);
        }
        self.cloud();
        self.runs_at_once()?;
        self.calm()?;
        self.judge()?;
        self.met.moves = self.world.remote.moves;
        Ok(self.met)
    }

    /// Lets the remote, a service or the clock get in the way of what comes next.
    fn cloud(&mut self) {
        let now = self.world.now;
        self.world.remote.away = None;
        if self.draw.one_in(4) {
            let from = now.plus(self.draw.up_to(60));
            self.world.remote.away = Some((from, from.plus(self.draw.up_to(400))));
        }
        for service in self.world.services.values_mut() {
            service.open_fails = self.draw.one_in(20);
            service.unreadable_until = match self.draw.below(8) {
                0 => Some(now.plus(self.draw.up_to(1_800))),
                _ => None,
            };
        }
        self.world.limits.deadline = match self.draw.below(5) {
            0 => Some(now.plus(self.draw.up_to(600))),
            _ => None,
        };
        self.world.limits.max_claims = match self.draw.below(8) {
            0 => Some(1 + self.draw.count(3)),
            _ => None,
        };
    }

    /// One run on the usual machine, which may be stopped or killed, and whose disk may be gone afterwards.
    fn one_run(&mut self) -> Result<(), String> {
        let began = self.world.now;
        let mut run = self.start_on_disk();
        let actions = if self.draw.one_in(3) {
            usize::MAX
        } else {
            1 + self.draw.count(40)
        };
        let came = self.world.go(&mut run, actions);
        self.after(&run, began);
        if let Came::Ended(ending) = came {
            self.check_ending(&run, &ending)?;
        }
        self.disk = std::mem::take(&mut run.journal);
        if self.draw.one_in(3) {
            self.disk.clear();
        }
        self.check_notices(&run)
    }

    /// Runs on machines of their own at the same time, of which some die.
    fn runs_at_once(&mut self) -> Result<(), String> {
        let began = self.world.now;
        let mut runs = vec![self.start_on_disk()];
        for _ in 0..self.draw.count(3) {
            runs.push(self.world.start());
        }
        for run in &mut runs {
            if self.draw.one_in(3) {
                run.lives = 1 + self.draw.count(60);
            }
        }
        let endings = self.world.side_by_side(&mut runs);
        for (run, ending) in runs.iter().zip(&endings) {
            self.after(run, began);
            if !run.is_dead() {
                self.check_ending(run, ending)?;
            }
            self.check_notices(run)?;
        }
        self.disk = std::mem::take(&mut runs[0].journal);
        Ok(())
    }

    fn start_on_disk(&mut self) -> Run {
        let mut run = self.world.start_with(self.disk.clone());
        if self.draw.one_in(4) {
            self.met.stops += 1;
            run.stop(self.world.now.plus(self.draw.up_to(60)));
        }
        run
    }

    fn after(&mut self, run: &Run, began: Timestamp) {
        self.met.kills += usize::from(run.is_dead());
        self.met.longest = self.met.longest.max(self.world.now.since(began));
    }

    /// Good weather, until a run finds nothing to do.
    fn calm(&mut self) -> Result<(), String> {
        self.world.remote.faults.clear();
        self.world.remote.away = None;
        self.world.limits.deadline = None;
        self.world.limits.max_claims = None;
        for service in self.world.services.values_mut() {
            service.faults.clear();
            service.open_fails = false;
            service.unreadable_until = None;
        }
        for _ in 0..CALM_RUNS_MAX {
            self.world.now = self.world.now.plus(HOUR);
            let before = (self.world.remote.pushes, self.world.writes());
            let began = self.world.now;
            let mut run = self.world.start_with(std::mem::take(&mut self.disk));
            let ending = self.world.finish(&mut run);
            self.after(&run, began);
            self.check_ending(&run, &ending)?;
            self.check_notices(&run)?;
            self.disk = run.journal;
            if (self.world.remote.pushes, self.world.writes()) == before {
                return self.check_exit(&ending);
            }
        }
        Err(format!(
            "after {CALM_RUNS_MAX} runs there is still something to do"
        ))
    }
}

/// Draws numbers from a seed (`SplitMix64`).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }

    fn count(&mut self, end: u64) -> usize {
        usize::try_from(self.below(end)).expect("small")
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let length = u64::try_from(from.len()).expect("small");
        from[self.count(length)]
    }

    fn up_to(&mut self, seconds: u64) -> Duration {
        Duration::from_millis(self.below(seconds * 1_000))
    }
}
