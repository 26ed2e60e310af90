//! One history: what happens in it is drawn from its seed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sayonce::config::ChannelConfig;
use sayonce::engine::ending::Ending;
use sayonce::model::row::{DeliveryId, Row};
use sayonce::model::time::Timestamp;

use super::Met;
use super::draw::Draw;
use crate::simulation::{Fault, PushFault, Run, World, article};

/// Runs in good weather after which nothing may be left to do.
const CALM_RUNS_MAX: usize = 12;
/// How often a person goes through what needs one, until nothing does.
const ROUNDS_MAX: usize = 6;
const HOUR: Duration = Duration::from_hours(1);

/// What a service may do with a request, within what `quarantine` allows.
const FAULTS: [Fault; 12] = [
    Fault::LostAnswer,
    Fault::LostRequest,
    Fault::Slow(Duration::from_secs(5)),
    Fault::Slow(Duration::from_secs(12)),
    Fault::Slow(Duration::from_secs(45)),
    Fault::Slow(Duration::from_mins(6)),
    Fault::Slow(Duration::from_secs(605)),
    Fault::Status500,
    Fault::Status500Stored,
    Fault::RateLimited(Duration::from_secs(40)),
    Fault::RateLimitedSilent,
    Fault::NotSent,
];
/// "Refused", and it was done all the same.
const LIES: [Fault; 2] = [
    Fault::RateLimitedStored(Duration::from_secs(40)),
    Fault::RefusedStored,
];
/// A service that works on a request for longer than anybody was told.
const OVERDUE: [Fault; 2] = [
    Fault::Slow(Duration::from_mins(20)),
    Fault::Slow(Duration::from_mins(50)),
];
/// How long until a post shows, in seconds; less than `settle`.
const LAGS: [u64; 5] = [0, 0, 4, 25, 55];
/// How late a push may land, in seconds.
const LATE: [u64; 8] = [2, 9, 11, 14, 25, 60, 200, 900];

/// What goes wrong in a history beside what goes wrong in every one.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is drawn by itself")]
pub(super) struct Weather {
    /// Refusals that are none.
    lies: bool,
    /// A service takes longer than its quarantine: the assumption that `verified` stands on is broken.
    pub(super) broken: bool,
    /// People decide and edit.
    people: bool,
    /// The branch is reset, rows are removed.
    pub(super) rewinds: bool,
    /// Machines' clocks are wrong, within `clock_skew` or beyond it.
    skews: bool,
    /// Machines stand still for a while.
    stalls: bool,
}

/// One history.
pub(super) struct History {
    pub(super) draw: Draw,
    pub(super) world: World,
    pub(super) weather: Weather,
    /// The journal on the disk of the machine that runs usually start on.
    pub(super) disk: Vec<Row>,
    /// Announcements that people ordered beyond the first.
    pub(super) agains: BTreeMap<DeliveryId, usize>,
    /// Sends that people allowed of what may have been sent.
    pub(super) licences: BTreeMap<DeliveryId, usize>,
    /// Deliveries that people had a hand in.
    pub(super) touched: BTreeSet<DeliveryId>,
    /// Deliveries of which a run said that there are several posts.
    pub(super) seen_twice: BTreeSet<DeliveryId>,
    /// How often anybody did anything.
    pub(super) acts: usize,
    pub(super) met: Met,
}

impl History {
    pub(super) fn draw(seed: u64, mut world: World) -> Self {
        let mut draw = Draw::new(seed);
        let weather = Weather {
            lies: draw.one_in(3),
            broken: draw.one_in(8),
            people: draw.one_in(2),
            rewinds: draw.one_in(3),
            skews: draw.one_in(3),
            stalls: draw.one_in(3),
        };
        world.items.truncate(1 + draw.count(3));
        world.entropy = seed;
        world.limits.push_gap = Duration::from_secs(draw.pick(&[0, 0, 10]));
        world.remote.keeps_past = weather.rewinds;
        for service in world.services.values_mut() {
            service.lag = Duration::from_secs(draw.pick(&LAGS));
            for number in 1..=8 {
                if draw.one_in(4) {
                    service.order(number, draw.pick(&FAULTS));
                } else if weather.lies && draw.one_in(6) {
                    service.order(number, draw.pick(&LIES));
                } else if weather.broken && draw.one_in(3) {
                    service.order(number, draw.pick(&OVERDUE));
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
            weather,
            disk: Vec::new(),
            agains: BTreeMap::new(),
            licences: BTreeMap::new(),
            touched: BTreeSet::new(),
            seen_twice: BTreeSet::new(),
            acts: 0,
            met: Met::default(),
        }
    }

    pub(super) fn play(&mut self) -> Result<(), String> {
        for _ in 0..self.draw.count(5) {
            self.cloud();
            self.runs_at_once(1)?;
            let pause = self.draw.up_to(1_200);
            self.world.now = self.world.now.plus(pause);
            self.somebody_may_act();
        }
        self.cloud();
        let more = self.draw.count(3);
        self.runs_at_once(1 + more)?;
        self.calm()?;
        self.judge()?;
        self.met.moves = self.world.remote.moves;
        self.met.broken = usize::from(self.weather.broken);
        Ok(())
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

    /// Runs at the same time, the first one on the usual machine, whose disk may be gone afterwards. Some die, some are
    /// stopped, and people may be at work meanwhile.
    fn runs_at_once(&mut self, count: usize) -> Result<(), String> {
        let began = self.world.now;
        let mut runs = Vec::new();
        for number in 0..count {
            let disk = match number {
                0 => self.disk.clone(),
                _ => Vec::new(),
            };
            let mut run = self.start(disk);
            if !self.draw.one_in(3) {
                run.lives = 1 + self.draw.count(40);
            }
            runs.push(run);
        }
        let acts = self.acts;
        let was_rewound = self.world.remote.is_rewound();
        let mut steps_left = if self.weather.people {
            self.draw.count(15)
        } else {
            usize::MAX
        };
        while self.world.step_next(&mut runs) {
            if steps_left == 0 {
                self.somebody_may_act();
                steps_left = self.draw.count(30);
            }
            steps_left = steps_left.saturating_sub(1);
        }
        let undisturbed = acts == self.acts;
        if undisturbed && was_rewound && runs.iter().any(|run| run.sends > 0) {
            return Err("something was sent from a ledger that went backwards".to_owned());
        }
        for run in &runs {
            self.after(run, began);
            if !run.is_dead() {
                let ending = run.ending(self.world.now);
                self.check_ending(run, &ending, undisturbed)?;
            }
            self.check_notices(run)?;
        }
        self.disk = std::mem::take(&mut runs[0].journal);
        if self.draw.one_in(3) {
            self.disk.clear();
        }
        Ok(())
    }

    /// Starts a run on a machine that may be out of order.
    fn start(&mut self, disk: Vec<Row>) -> Run {
        let mut clock_ahead_ms = 0;
        if self.weather.skews {
            // Two machines are within `clock_skew` of each other; now and then one is far off.
            clock_ahead_ms = match self.draw.below(8) {
                0 => self.draw.off_by(7_200),
                _ => self.draw.off_by(59),
            };
            self.met.skews += 1;
        }
        let mut run = self.world.start_on(disk, clock_ahead_ms);
        if self.draw.one_in(4) {
            self.met.stops += 1;
            run.stop(self.world.now.plus(self.draw.up_to(60)));
        }
        if self.weather.stalls && self.draw.one_in(2) {
            self.met.stalls += 1;
            let from = self.world.now.plus(self.draw.up_to(90));
            let lasts = self.draw.pick(&[15, 40, 200, 1_500]);
            let to = from.plus(self.draw.up_to(lasts));
            run.stands_still.push((from, to));
        }
        run
    }

    fn somebody_may_act(&mut self) {
        if self.weather.people || self.weather.rewinds {
            for _ in 0..=self.draw.count(2) {
                self.somebody_acts();
            }
        }
    }

    fn after(&mut self, run: &Run, began: Timestamp) {
        self.met.runs += 1;
        self.met.kills += usize::from(run.is_dead());
        self.met.longest = self.met.longest.max(self.world.now.since(began));
    }

    /// Good weather, until nothing is left to do, also for a person.
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
        self.world.now = self.world.now.plus(HOUR);
        self.put_in_order();
        let ending = self.until_nothing_is_due()?;
        self.check_exit(&ending)?;
        if self.weather.broken {
            // The next article lets runs look at the account, and what came too late is seen.
            let number = self.world.items.len() + 1;
            let next = article(&self.world.config.site.url, number);
            self.world.items.push(next);
            drop(self.until_nothing_is_due()?);
        }
        for _ in 0..ROUNDS_MAX {
            if !self.settle_what_needs_a_person() {
                return self.check_settled();
            }
            drop(self.until_nothing_is_due()?);
        }
        Err(format!(
            "after {ROUNDS_MAX} rounds a person is still needed"
        ))
    }

    /// Runs every hour until one finds nothing to do.
    fn until_nothing_is_due(&mut self) -> Result<Box<Ending>, String> {
        for _ in 0..CALM_RUNS_MAX {
            self.world.now = self.world.now.plus(HOUR);
            let before = (self.world.remote.pushes, self.world.writes());
            let began = self.world.now;
            let mut run = self.world.start_on(std::mem::take(&mut self.disk), 0);
            let ending = self.world.finish(&mut run);
            self.after(&run, began);
            self.check_ending(&run, &ending, true)?;
            self.check_notices(&run)?;
            self.disk = run.journal;
            let idle = (self.world.remote.pushes, self.world.writes()) == before;
            // A claim of a machine whose clock is far ahead is quiet only hours later.
            if idle && ending.next_due.is_none() {
                return Ok(ending);
            }
        }
        Err(format!(
            "after {CALM_RUNS_MAX} runs there is still something to do"
        ))
    }

    pub(super) fn channel(&self, id: &DeliveryId) -> &ChannelConfig {
        let mut channels = self.world.config.channels.iter();
        let channel = channels.find(|channel| *channel.name() == id.channel);
        channel.expect("a delivery is on a configured channel")
    }

    pub(super) fn deliveries(&self) -> Vec<DeliveryId> {
        let channels = self.world.config.channels.iter();
        let of_channel = |channel: &ChannelConfig| {
            let name = channel.name().clone();
            self.world.items.iter().map(move |item| DeliveryId {
                item: item.id.clone(),
                channel: name.clone(),
            })
        };
        channels.flat_map(of_channel).collect()
    }

    pub(super) fn url(&self, id: &DeliveryId) -> &str {
        let mut items = self.world.items.iter();
        let item = items.find(|item| item.id == id.item);
        &item.expect("an article of the site").canonical_url
    }

    pub(super) fn row(&self, delivery: &DeliveryId) -> Option<&Row> {
        self.world
            .remote
            .rows()
            .find(|row| row.delivery_id() == *delivery)
    }
}
