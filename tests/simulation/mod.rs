//! A small world in one thread: a ledger's remote, services, and runs of the real engine, under one virtual clock.
//!
//! Nothing sleeps: an action's answer is put on a queue at the moment at which it would come, and the world goes from
//! one moment to the next. A run can be killed after any number of its actions.

pub(crate) mod moves;
mod remote;
mod run;
mod service;
mod trace;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sayonce::config::Config;
use sayonce::engine::action::{Action, Event, ReadFailure};
use sayonce::engine::core::Core;
use sayonce::engine::ending::Ending;
use sayonce::engine::setup::{Limits, Setup};
use sayonce::model::claim::Claim;
use sayonce::model::delivery::State;
use sayonce::model::ids::{ChannelName, RunId};
use sayonce::model::item::{Item, ItemId, ItemSettings};
use sayonce::model::media::Prepared;
use sayonce::model::row::{DeliveryId, Row};
use sayonce::model::time::Timestamp;
use sayonce::plan::survey::Selection;
use sayonce::source::Catalog;
use url::Url;

pub(crate) use self::remote::{PushFault, Remote};
pub(crate) use self::run::Run;
pub(crate) use self::service::{Fault, Service};

/// Actions in one run after which the world is stuck: a bug, not a long test.
const ACTIONS_MAX: usize = 20_000;

/// The world.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) now: Timestamp,
    pub(crate) config: Config,
    pub(crate) items: Vec<Item>,
    pub(crate) remote: Remote,
    pub(crate) services: BTreeMap<ChannelName, Service>,
    pub(crate) limits: Limits,
    pub(crate) selection: Selection,
    pub(crate) unavailable: BTreeMap<ChannelName, String>,
    /// The site's pages answer 404 before this.
    pub(crate) offline_until: Option<Timestamp>,
    /// Why the checkout of every run is not the newest; none: it is.
    pub(crate) behind: Option<String>,
    pub(crate) runs_started: u32,
    /// Part of what every run's randomness is made from.
    pub(crate) entropy: u64,
    /// Every action of every run, if somebody wants to read it.
    pub(crate) trace: Option<Vec<String>>,
}

/// What a run came to.
pub(crate) enum Came {
    Ended(Box<Ending>),
    Killed,
}

impl World {
    /// Makes a world with `config` (TOML) and as many articles, one a day from 2026-11-01 on.
    pub(crate) fn new(config: &str, articles: usize) -> Self {
        let config = Config::parse(Path::new("sayonce.toml"), config)
            .expect("the test's configuration is right");
        let services = config
            .channels
            .iter()
            .map(|channel| (channel.name().clone(), Service::new(channel)))
            .collect();
        let items = (1..=articles)
            .map(|number| article(&config.site.url, number))
            .collect();
        let limits = Limits {
            deadline: None,
            max_wait: Duration::from_mins(30),
            max_claims: None,
            push_gap: Duration::ZERO,
            stop_answer: Duration::from_secs(4),
            stop_out: Duration::from_secs(5),
            clock_skew: config.ledger.clock_skew,
            push_allowance: Duration::from_secs(10),
        };
        Self {
            now: Timestamp::parse("2026-11-29T10:00:00Z").expect("a timestamp"),
            config,
            items,
            remote: Remote::default(),
            services,
            limits,
            selection: Selection::default(),
            unavailable: BTreeMap::new(),
            offline_until: None,
            behind: None,
            runs_started: 0,
            entropy: 0,
            trace: None,
        }
    }

    /// Returns the service behind a channel.
    pub(crate) fn service(&mut self, channel: &str) -> &mut Service {
        let name = ChannelName::new(channel).expect("a channel name");
        self.services.get_mut(&name).expect("a configured channel")
    }

    /// Starts a run; its first action happens at its first step.
    pub(crate) fn start(&mut self) -> Run {
        self.start_with(Vec::new())
    }

    /// Starts a run that finds `journal` on its disk.
    pub(crate) fn start_with(&mut self, journal: Vec<Row>) -> Run {
        self.start_on(journal, 0)
    }

    /// Starts a run on a machine with `journal` on its disk, whose clock is ahead of the world's.
    pub(crate) fn start_on(&mut self, journal: Vec<Row>, clock_ahead_ms: i64) -> Run {
        self.runs_started += 1;
        let by_its_clock = |at: Timestamp| Timestamp::from_millis(at.as_millis() + clock_ahead_ms);
        let limits = Limits {
            deadline: self.limits.deadline.map(by_its_clock),
            ..self.limits
        };
        let setup = Setup {
            config: self.config.clone(),
            catalog: Catalog {
                items: self.items.clone(),
                ..Catalog::default()
            },
            selection: self.selection.clone(),
            run: RunId::new(format!("local:{}", self.runs_started)),
            limits,
            unavailable: self.unavailable.clone(),
            journal: journal.clone(),
        };
        let mut seed = [7; 32];
        seed[..4].copy_from_slice(&self.runs_started.to_le_bytes());
        seed[8..16].copy_from_slice(&self.entropy.to_le_bytes());
        let mut run = Run::new(
            Core::new(Arc::new(setup), seed),
            journal,
            self.now,
            self.runs_started,
        );
        run.clock_ahead_ms = clock_ahead_ms;
        run
    }

    /// Runs one run to its end.
    pub(crate) fn run(&mut self) -> Box<Ending> {
        let mut run = self.start();
        self.finish(&mut run)
    }

    /// Goes on with a run to its end.
    pub(crate) fn finish(&mut self, run: &mut Run) -> Box<Ending> {
        match self.go(run, usize::MAX) {
            Came::Ended(ending) => ending,
            Came::Killed => panic!("nobody ordered a kill"),
        }
    }

    /// Goes on with a run until its end, or kills it after `actions` actions: what is on its queue never happens to it,
    /// though what it sent out still arrives.
    pub(crate) fn go(&mut self, run: &mut Run, actions: usize) -> Came {
        run.lives = actions;
        while let Some(at) = run.next_at(self.now) {
            self.now = self.now.max(at);
            self.step_until(run, &|_: &Self, _: &Run| false);
        }
        if run.is_dead() {
            Came::Killed
        } else {
            Came::Ended(Box::new(run.ending(self.now)))
        }
    }

    /// Runs one run, on a machine with `journal` on its disk, to its end. Returns the world and the disk as they were before
    /// each of its actions: what is left if the run is killed there.
    pub(crate) fn moments(&mut self, journal: Vec<Row>) -> Vec<(Self, Vec<Row>)> {
        let moments = RefCell::new(Vec::new());
        let mut run = self.start_with(journal);
        while let Some(at) = run.next_at(self.now) {
            self.now = self.now.max(at);
            self.step_until(&mut run, &|world: &Self, run: &Run| {
                moments
                    .borrow_mut()
                    .push((world.clone(), run.journal.clone()));
                false
            });
        }
        moments.into_inner()
    }

    /// Goes on with a run until `when` becomes true of the world; then it is killed, in the middle of what it does.
    pub(crate) fn kill_when(&mut self, mut run: Run, when: impl Fn(&Self, &Run) -> bool) {
        while !when(self, &run) {
            let at = run.next_at(self.now).expect("it dies before its end");
            self.now = self.now.max(at);
            self.step_until(&mut run, &when);
        }
    }

    /// Goes on with a run until `when` becomes true of the world, and leaves it there, to go on later.
    pub(crate) fn go_until(&mut self, run: &mut Run, when: impl Fn(&Self) -> bool) {
        while !when(self) {
            let at = run.next_at(self.now).expect("it comes before its end");
            self.now = self.now.max(at);
            self.step_until(run, &|_: &Self, _: &Run| false);
        }
    }

    /// Lets several runs go on side by side until all have ended.
    pub(crate) fn side_by_side(&mut self, runs: &mut [Run]) -> Vec<Ending> {
        while self.step_next(runs) {}
        runs.iter().map(|run| run.ending(self.now)).collect()
    }

    /// Lets whichever of the runs is next do one step. Returns whether there was one.
    pub(crate) fn step_next(&mut self, runs: &mut [Run]) -> bool {
        let next = runs
            .iter()
            .enumerate()
            .filter_map(|(index, run)| Some((run.next_at(self.now)?, index)))
            .min();
        let Some((at, index)) = next else {
            return false;
        };
        self.now = self.now.max(at);
        self.step_until(&mut runs[index], &|_: &Self, _: &Run| false);
        true
    }

    /// Gives a run its next event and does what it asks for, until `when` becomes true.
    fn step_until(&mut self, run: &mut Run, when: &impl Fn(&Self, &Run) -> bool) {
        for action in run.step(self.now) {
            if let Action::Tell(notice) = action {
                run.notices.push(notice);
                continue;
            }
            if run.is_dead() || when(self, run) {
                return;
            }
            run.actions_done += 1;
            assert!(
                run.actions_done < ACTIONS_MAX,
                "the run does not end: {:#?}",
                run.notices.last()
            );
            if self.trace.is_some() {
                self.note(&format!("run {}: {}", run.number, trace::told(&action)));
            }
            if let Some((at, event)) = self.act(action, run) {
                run.put(at, event);
            }
        }
    }

    /// Writes down what happens, if somebody wants to read it.
    pub(crate) fn note(&mut self, what: &str) {
        let now = self.now;
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{now} {what}"));
        }
    }

    fn look(
        &mut self,
        now: Timestamp,
        clock: Timestamp,
        channel: ChannelName,
        claim: &Claim,
    ) -> Option<(Timestamp, Event)> {
        let lookup = self.services.get_mut(&channel)?.lookup(now, claim);
        let answer = Event::Looked {
            delivery: DeliveryId {
                item: claim.item.clone(),
                channel,
            },
            operation: claim.operation,
            began_at: clock,
            lookup,
        };
        Some((now.plus(Duration::from_millis(50)), answer))
    }

    /// Does an action; returns when which answer comes.
    fn act(&mut self, action: Action, run: &mut Run) -> Option<(Timestamp, Event)> {
        let now = self.now;
        let clock = run.clock(now);
        let journal = &mut run.journal;
        let answer = match action {
            Action::ReadLedger => {
                let (after, read) = self.remote.read(now);
                if read.is_ok() {
                    run.witness = self.remote.witness().cloned();
                }
                let failed = |reason| ReadFailure {
                    reason,
                    lasting: false,
                };
                let read = read.map(Box::new).map_err(failed);
                (now.plus(after), Event::LedgerRead(read))
            }
            Action::Push(batch) => {
                let (after, report) = self.remote.push(now, batch, run.witness.clone());
                run.witness_moved(&report);
                (now.plus(after), Event::Pushed(report))
            }
            Action::PushAgain(commit) => {
                let (after, report) = self.remote.push_again(now, &commit);
                run.witness_moved(&report);
                (now.plus(after), Event::Pushed(report))
            }
            Action::Journal(rows) => {
                // One file per claim: a later row of the same one replaces it.
                journal.retain(|kept| rows.iter().all(|row| !is_of_one_claim(kept, row)));
                journal.extend(rows);
                (now, Event::Journaled(Ok("the journal".to_owned())))
            }
            Action::ForgetJournal(rows) => {
                journal.retain(|kept| rows.iter().all(|row| !is_of_one_claim(kept, row)));
                return None;
            }
            Action::Open(channel) => {
                let off = Duration::from_millis(run.clock_ahead_ms.unsigned_abs());
                let opening = self.services.get_mut(&channel)?.open(now, off);
                (
                    now.plus(Duration::from_millis(50)),
                    Event::Opened { channel, opening },
                )
            }
            Action::List(channel, _) => {
                let listing = self.services.get_mut(&channel)?.list(now);
                (
                    now.plus(Duration::from_millis(50)),
                    Event::Listed {
                        channel,
                        began_at: clock,
                        listing,
                    },
                )
            }
            Action::Send(channel, claims) => {
                let tokens = claims
                    .iter()
                    .map(|pushed| pushed.claim().token.clone())
                    .collect();
                run.sends += 1;
                let service = self.services.get_mut(&channel)?;
                let (after, outcome) = service.publish(now, clock, &claims);
                (
                    now.plus(after),
                    Event::Sent {
                        channel,
                        tokens,
                        outcome,
                    },
                )
            }
            Action::Look(channel, claim) => self.look(now, clock, channel, &claim)?,
            Action::Prepare(delivery, wants) => {
                let service = self.services.get(&delivery.channel);
                let is_unread = service.is_some_and(|service| service.is_unreadable(now));
                let unread = wants.standing.filter(|_| is_unread);
                let prepared = Prepared {
                    unread: unread.map(|_| "unreadable".to_owned()),
                    ..Prepared::default()
                };
                (now, Event::Prepared(delivery, prepared))
            }
            Action::SeeCheckout => (now, Event::CheckoutSeen(self.behind.clone())),
            Action::CheckLive(item, _) => {
                let result = match self.offline_until {
                    Some(until) if now < until => Err("HTTP 404".to_owned()),
                    Some(_) | None => Ok(()),
                };
                (
                    now.plus(Duration::from_millis(50)),
                    Event::Checked(item, result),
                )
            }
            Action::Tell(_) => return None,
        };
        Some(answer)
    }

    /// How many write requests all services together received.
    pub(crate) fn writes(&self) -> usize {
        self.services.values().map(Service::writes).sum()
    }

    /// Counts posts by channel and item, of those there are by now.
    pub(crate) fn posts(&self) -> BTreeMap<String, usize> {
        let mut posts = BTreeMap::new();
        for (channel, service) in &self.services {
            for item in &self.items {
                let count = service.count(&item.canonical_url);
                posts.insert(format!("{} on {channel}", item.id), count);
            }
        }
        posts
    }

    /// Asserts that each delivery was posted exactly once and that the ledger proves it.
    pub(crate) fn assert_exactly_once(&self) {
        let wrong: Vec<_> = self
            .posts()
            .into_iter()
            .filter(|(_, count)| *count != 1)
            .collect();
        assert!(wrong.is_empty(), "not exactly once: {wrong:?}");
        let unproved: Vec<_> = self
            .remote
            .rows()
            .filter(|row| {
                row.publish()
                    .is_none_or(|record| record.state != State::Done)
            })
            .map(Row::delivery_id)
            .collect();
        assert!(unproved.is_empty(), "not proved: {unproved:?}");
    }
}

fn is_of_one_claim(one: &Row, other: &Row) -> bool {
    let token = |row: &Row| row.record().and_then(|record| record.token().cloned());
    one.delivery_id() == other.delivery_id() && token(one) == token(other)
}

/// Makes the article of a number.
pub(crate) fn article(site: &Url, number: usize) -> Item {
    let url = site.join(&format!("a{number}/")).expect("a URL");
    let published = Timestamp::parse(&format!("2026-11-{number:02}T08:00:00Z")).expect("a date");
    Item {
        id: ItemId::from_url(site, url.as_str()).expect("an id"),
        canonical_url: url.to_string(),
        guid: Some(url.to_string()),
        aliases: Vec::new(),
        title: format!("Article {number}"),
        description: Some(format!("What article {number} says")),
        published: Some(published),
        updated: None,
        authors: Vec::new(),
        tags: vec!["rust".to_owned()],
        language: Some("en".to_owned()),
        image: None,
        body: None,
        source_file: None,
        out_of_scope: None,
        series: None,
        front_matter: sayonce::model::item::FrontMatter::default(),
        settings: ItemSettings::default(),
    }
}
