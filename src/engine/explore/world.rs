//! The world: machines, the remote, the service, and everything that can happen next.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::config::{ChannelConfig, Config};
use crate::engine::action::{Action, Event, ReadFailure};
use crate::engine::core::Core;
use crate::engine::setup::{Limits, Setup};
use crate::ledger::{Batch, CommitId, PushReport};
use crate::model::claim::Claim;
use crate::model::delivery::{Operation, State};
use crate::model::ids::{Account, RunId};
use crate::model::mutant::{Mutant, on};
use crate::model::outcome::{
    Listing, Lookup, Opening, Outcome, Refusal, Remote as Receipt, ServerLimits, Session, Trouble,
    Wait,
};
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;
use crate::plan::survey::Selection;
use crate::source::Catalog;

use super::choice::{Choice, Left};
use super::remote::{Remote, Tree};
use super::scenario::{Fault, Scenario};
use super::service::{Client, Service};
use super::watch::{self, Bars, Checked, Rule, Violation, Watch};

/// How long the service keeps a client off.
const LIMITED_FOR: Duration = Duration::from_secs(40);

/// What a run waits for from the remote.
#[derive(Clone, Debug)]
pub(super) enum Job {
    Read,
    Push(CommitId),
    /// It landed while the run stood still.
    Landed(PushReport),
}

/// What a run waits for from the service.
#[derive(Clone, Debug)]
pub(super) enum Work {
    Open,
    List {
        began_at: Timestamp,
        listing: Listing,
    },
    Look {
        delivery: DeliveryId,
        began_at: Timestamp,
        lookup: Lookup,
    },
    Send {
        request: usize,
        claims: Vec<Claim>,
        until: Timestamp,
        /// It will not hear the answer in time.
        deaf: bool,
    },
}

/// A run.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) number: usize,
    pub(super) core: Core,
    pub(super) jobs: VecDeque<Job>,
    pub(super) work: Option<Work>,
    pub(super) wake: Option<Timestamp>,
    pub(super) frozen_until: Option<Timestamp>,
    /// The service asked this run for a pause until then.
    pub(super) paused_until: Option<Timestamp>,
    pub(super) edits: usize,
    pub(super) receipts: Vec<(DeliveryId, Receipt)>,
    account: Account,
}

/// The world.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) scenario: Arc<Scenario>,
    pub(super) config: Arc<Config>,
    pub(super) now: Timestamp,
    pub(super) remote: Remote,
    pub(super) service: Service,
    /// Copied only when something happens to it: a world is copied at every step.
    pub(super) runs: Vec<Option<Arc<Run>>>,
    /// The machines' journals.
    pub(super) disks: Vec<Vec<Row>>,
    pub(super) left: Left,
    pub(super) watch: Watch,
    pub(super) edits: usize,
    pub(super) started: usize,
    /// Deliveries of which the last run said that they need a person.
    pub(super) told: BTreeSet<DeliveryId>,
}

impl World {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let config = scenario.config();
        let kind = config.channels[0].kind();
        Self {
            now: Timestamp::parse("2026-11-29T10:00:00Z").expect("a timestamp"),
            remote: Remote::default(),
            service: Service::new(kind),
            runs: vec![None; scenario.machines],
            disks: vec![Vec::new(); scenario.machines],
            left: Left {
                starts: scenario.starts,
                kills: scenario.kills,
                faults: scenario.faults,
                releases: scenario.releases,
                edits: scenario.edits,
                stops: scenario.stops,
                rollbacks: scenario.rollbacks,
            },
            watch: Watch::default(),
            edits: 0,
            started: 0,
            told: BTreeSet::new(),
            config: Arc::new(config),
            scenario: Arc::new(scenario.clone()),
        }
    }

    pub(super) fn channel(&self) -> &ChannelConfig {
        &self.config.channels[0]
    }

    /// Whether no run is at work.
    pub(super) fn is_quiet(&self) -> bool {
        self.runs.iter().all(Option::is_none)
    }

    /// Lets it happen.
    pub(super) fn happen(&mut self, choice: Choice) -> Checked {
        match choice {
            Choice::Start(machine) => self.start(machine)?,
            Choice::Kill(machine) => {
                self.left.kills -= 1;
                self.leave(machine);
            }
            Choice::Stop(machine) => {
                self.left.stops -= 1;
                self.step(machine, Event::Stop)?;
            }
            Choice::Freeze(machine, duration) => {
                self.left.faults -= 1;
                let until = self.now.plus(duration);
                if let Some(run) = self.runs[machine].as_mut().map(Arc::make_mut) {
                    run.frozen_until = Some(until);
                    if let Some(Work::Send { request, .. }) = run.work {
                        self.service.leave(request, Client::StandsStill);
                    }
                }
            }
            Choice::Tick(machine) => self.step(machine, Event::Tick)?,
            Choice::Ledger(machine) => self.ledger(machine)?,
            Choice::LedgerFails(machine) => {
                self.left.faults -= 1;
                self.ledger_fails(machine)?;
            }
            Choice::Answer(machine) => self.answer(machine)?,
            Choice::GiveUp(machine) => {
                if on(Mutant::RequestRepeated) {
                    self.repeat_request(machine)?;
                }
                let outcome = Outcome::InDoubt {
                    reason: "no answer".to_owned(),
                };
                self.sent(machine, outcome)?;
            }
            Choice::ServiceFails(machine, fault) => {
                self.left.faults -= 1;
                self.service_fails(machine, fault)?;
            }
            Choice::Store(request) => {
                drop(self.service.store(request, self.now, self.now));
            }
            Choice::StoreHidden(request) => {
                self.left.faults -= 1;
                let visible_at = self.now.plus(self.channel().rules.settle);
                drop(self.service.store(request, self.now, visible_at));
            }
            Choice::LandsUnheard(machine) => {
                let jobs = &at_work(&mut self.runs, machine).jobs;
                if let Some(Job::Push(id)) = jobs.front().cloned() {
                    let report = self.land(&id)?;
                    at_work(&mut self.runs, machine).jobs[0] = Job::Landed(report);
                }
            }
            Choice::LateLands(index) => {
                let id = self.remote.late.remove(index);
                drop(self.land(&id)?);
            }
            Choice::Release => {
                self.left.releases -= 1;
                self.release();
            }
            Choice::Edit => {
                self.left.edits -= 1;
                self.edits += 1;
                self.watch.edited = true;
            }
            Choice::RollBack => {
                self.left.rollbacks -= 1;
                self.remote.roll_back();
            }
            Choice::Time => {
                let healthy: Vec<_> = self.choices();
                let busy = healthy.first() != Some(&Choice::Time);
                self.left.faults -= usize::from(busy);
                self.now = ceil(
                    self.next_moment(busy)
                        .expect("time is a choice only if something is due"),
                );
            }
        }
        let past_matters = on(Mutant::PushedByForce) || on(Mutant::PushedPlainly);
        if self.scenario.rollbacks == 0 && !past_matters {
            self.remote.prune();
        }
        self.service.forget(self.now);
        watch::check(self)
    }

    fn start(&mut self, machine: usize) -> Checked {
        self.left.starts -= 1;
        self.started += 1;
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.started.to_be_bytes());
        let setup = Setup {
            catalog: Catalog {
                items: self.scenario.items(&self.config, self.edits),
                ..Catalog::default()
            },
            selection: Selection::default(),
            run: RunId::new(if self.scenario.same_name {
                "github:1/1".to_owned()
            } else {
                format!("local:{}", self.started)
            }),
            limits: Limits {
                deadline: None,
                max_wait: Duration::from_mins(30),
                max_claims: None,
                push_gap: Duration::ZERO,
                stop_answer: Duration::from_secs(4),
                stop_out: Duration::from_secs(5),
                clock_skew: self.config.ledger.clock_skew,
                push_allowance: Duration::from_secs(10),
            },
            unavailable: BTreeMap::new(),
            journal: self.disks[machine].clone(),
            config: (*self.config).clone(),
        };
        let ahead = self.ahead(machine);
        self.watch.brings(self.started, ahead, &self.disks[machine]);
        let someone_else = self.scenario.other_account && self.started > 1;
        let account = if someone_else { "another" } else { "blog" };
        self.runs[machine] = Some(Arc::new(Run {
            number: self.started,
            core: Core::new(Arc::new(setup), seed),
            jobs: VecDeque::new(),
            work: None,
            wake: None,
            frozen_until: None,
            paused_until: None,
            edits: self.edits,
            receipts: Vec::new(),
            account: Account::new(format!("https://social.example/@{account}")),
        }));
        self.step(machine, Event::Tick)
    }

    /// A run is gone; what it sent out is still on its way.
    pub(super) fn leave(&mut self, machine: usize) {
        let Some(run) = self.runs[machine].take() else {
            return;
        };
        for job in run.jobs.clone() {
            if let Job::Push(id) = job
                && !self.remote.late.contains(&id)
            {
                self.remote.late.push(id);
            }
        }
        if let Some(Work::Send { request, .. }) = run.work {
            self.service.leave(request, Client::Gone);
        }
    }

    /// How far a machine's clock is ahead.
    pub(super) fn ahead(&self, machine: usize) -> Duration {
        if machine == 0 {
            Duration::ZERO
        } else {
            self.scenario.ahead
        }
    }

    /// Tells a run something and does what it asks for.
    fn step(&mut self, machine: usize, event: Event) -> Checked {
        let clock = self.now.plus(self.ahead(machine));
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let Some(run) = self.runs[machine].as_mut().map(Arc::make_mut) else {
                return Ok(());
            };
            for action in run.core.step(clock, event) {
                if let Some(event) = self.act(machine, clock, action)? {
                    events.push_back(event);
                }
            }
        }
        let Some(run) = self.runs[machine].as_mut().map(Arc::make_mut) else {
            return Ok(());
        };
        if run.core.is_finished(clock) {
            return self.end(machine);
        }
        let ahead = self.scenario.ahead;
        let ahead = if machine == 0 { Duration::ZERO } else { ahead };
        let soonest = self.now.plus(Duration::from_secs(1));
        run.wake = run
            .core
            .wake_at(clock)
            .map(|(at, _)| ceil(at.minus(ahead)).max(soonest));
        let waits = !run.jobs.is_empty() || run.work.is_some() || run.wake.is_some();
        if waits {
            return Ok(());
        }
        Err(Violation {
            rule: Rule::RunEnds,
            how: "a run waits for nothing and does not end".to_owned(),
        })
    }

    fn act(
        &mut self,
        machine: usize,
        clock: Timestamp,
        action: Action,
    ) -> Result<Option<Event>, Violation> {
        let now = self.now;
        let config = Arc::clone(&self.config);
        let channel = &config.channels[0];
        let Some(run) = self.runs[machine].as_mut().map(Arc::make_mut) else {
            return Ok(None);
        };
        let account = run.account.clone();
        let work = match action {
            Action::ReadLedger => {
                run.jobs.push_back(Job::Read);
                return Ok(None);
            }
            Action::Push(batch) => return Ok(self.push(machine, &batch)),
            Action::PushAgain(commit) => {
                run.jobs.push_back(Job::Push(commit));
                return Ok(None);
            }
            Action::Journal(rows) => {
                let disk = &mut self.disks[machine];
                for row in rows {
                    disk.retain(|other| other.delivery_id() != row.delivery_id());
                    disk.push(row);
                }
                return Ok(Some(Event::Journaled(Ok("the journal".to_owned()))));
            }
            Action::ForgetJournal(rows) => {
                self.disks[machine].retain(|row| !rows.contains(row));
                return Ok(None);
            }
            Action::Open(_) => Work::Open,
            Action::List(..) => Work::List {
                began_at: clock,
                listing: self.service.list(&account, now),
            },
            Action::Look(_, claim) => Work::Look {
                delivery: watch::delivery_of(&claim),
                began_at: clock,
                lookup: self.service.lookup(&account, &claim, now),
            },
            Action::Send(_, claims) => {
                let claims: Vec<_> = claims.iter().map(|pushed| pushed.claim().clone()).collect();
                let bars = Bars {
                    stopped: run.core.is_stopping(),
                    paused_until: run.paused_until,
                };
                let stands = run.frozen_until;
                let at = stands.map_or(now, |until| now.max(until));
                self.watch.sends(&claims, channel, at, bars)?;
                let until = now.plus(channel.rules.timeout);
                let request = self
                    .service
                    .request(claims.clone(), until.plus(channel.rules.quarantine));
                Work::Send {
                    request,
                    claims,
                    until,
                    deaf: false,
                }
            }
            Action::SeeCheckout => return Ok(Some(Event::CheckoutSeen(None))),
            Action::Prepare(..) | Action::CheckLive(..) | Action::Tell(_) => return Ok(None),
        };
        let run = at_work(&mut self.runs, machine);
        assert!(run.work.is_none(), "a worker does one thing at a time");
        run.work = Some(work);
        Ok(None)
    }

    fn push(&mut self, machine: usize, batch: &Batch) -> Option<Event> {
        let ahead = self.ahead(machine);
        let run = at_work(&mut self.runs, machine);
        let rows: Vec<_> = batch.changes.iter().map(|change| &change.row).collect();
        self.watch.made(run.number, ahead, &rows);
        let id = self.remote.build(batch, run.number);
        if on(Mutant::SentBeforeThePush) {
            self.remote.late.push(id.clone());
            return Some(Event::Pushed(self.remote.claims_to_have_landed(&id)));
        }
        run.jobs.push_back(Job::Push(id));
        None
    }

    /// Moves the tip, and looks at what that changes.
    fn land(&mut self, id: &CommitId) -> Result<PushReport, Violation> {
        let policy = self.scenario.policy;
        let before = Arc::clone(&self.remote.tree);
        let rows = |tree: &Tree| {
            tree.rows
                .values()
                .map(|stored| stored.row.clone())
                .collect::<Vec<_>>()
        };
        let (report, changes, run) = self.remote.land(id);
        let clocks = [self.now, self.now.plus(self.scenario.ahead)];
        for (old, new) in &changes {
            let claimed = |row: &Row| {
                let record = row.publish()?;
                (record.state == State::InFlight).then(|| record.token().cloned())?
            };
            let fresh = claimed(new).is_some() && old.as_ref().and_then(claimed) != claimed(new);
            if fresh {
                watch::breaker(&rows(&self.remote.tree), &new.delivery_id(), policy)?;
                watch::paced(&rows(&before), new, self.channel().rules.interval)?;
            }
            self.watch.landed(run, old.as_ref(), new, policy, clocks)?;
        }
        Ok(report)
    }

    fn ledger(&mut self, machine: usize) -> Checked {
        let run = at_work(&mut self.runs, machine);
        let event = match run.jobs.pop_front().expect("it waits for this") {
            Job::Read => Event::LedgerRead(Ok(Box::new(self.remote.read()))),
            Job::Landed(report) => Event::Pushed(report),
            Job::Push(id) if self.remote.takes(&id) => Event::Pushed(self.land(&id)?),
            Job::Push(commit) => Event::Pushed(PushReport::Rejected {
                commit,
                reason: "stale info".to_owned(),
            }),
        };
        self.step(machine, event)
    }

    fn ledger_fails(&mut self, machine: usize) -> Checked {
        let run = at_work(&mut self.runs, machine);
        let reason = "no answer".to_owned();
        let event = match run.jobs.pop_front().expect("it waits for this") {
            Job::Read => Event::LedgerRead(Err(ReadFailure {
                reason,
                lasting: false,
            })),
            Job::Landed(_) => unreachable!("it went well"),
            Job::Push(commit) => {
                if !self.remote.late.contains(&commit) {
                    self.remote.late.push(commit.clone());
                }
                Event::Pushed(if on(Mutant::UnknownIsLanded) {
                    self.remote.claims_to_have_landed(&commit)
                } else {
                    PushReport::Unknown { commit, reason }
                })
            }
        };
        self.step(machine, event)
    }

    fn answer(&mut self, machine: usize) -> Checked {
        let skew = self.ahead(machine);
        let run = at_work(&mut self.runs, machine);
        let name = self.config.channels[0].name().clone();
        let event = match run.work.clone().expect("it waits for this") {
            Work::Open => Event::Opened {
                channel: name,
                opening: Opening::Ready(Session {
                    account: run.account.clone(),
                    limits: ServerLimits::default(),
                    clock_skew: Some(skew),
                }),
            },
            Work::List { began_at, listing } => Event::Listed {
                channel: name,
                began_at,
                listing,
            },
            Work::Look {
                delivery,
                began_at,
                lookup,
            } => {
                if lookup == Lookup::Absent {
                    self.watch.absent(&delivery, began_at.minus(skew));
                }
                Event::Looked {
                    delivery,
                    operation: Operation::Publish,
                    began_at,
                    lookup,
                }
            }
            Work::Send { request, .. } => {
                let stored = self
                    .service
                    .find(request)
                    .and_then(|request| request.stored.clone());
                let outcome =
                    stored.unwrap_or_else(|| self.service.store(request, self.now, self.now));
                return self.sent(machine, outcome);
            }
        };
        run.work = None;
        self.step(machine, event)
    }

    /// Tells a run what came of its request.
    fn sent(&mut self, machine: usize, outcome: Outcome) -> Checked {
        let run = at_work(&mut self.runs, machine);
        let Some(Work::Send {
            request, claims, ..
        }) = run.work.take()
        else {
            unreachable!("it waits for an answer");
        };
        match &outcome {
            Outcome::Accepted { remote, .. } => {
                let told = claims
                    .iter()
                    .map(|claim| (watch::delivery_of(claim), remote.clone()));
                run.receipts.extend(told);
                self.service.drop_request(request);
            }
            Outcome::Refused { .. } | Outcome::NotSent { .. } => {
                let stored = self
                    .service
                    .find(request)
                    .is_some_and(|request| request.stored.is_some());
                if !stored {
                    self.watch.no_effect(&claims);
                }
                let permanent = Refusal::Permanent;
                if !matches!(&outcome, Outcome::Refused { refusal, .. } if *refusal == permanent) {
                    self.watch.uncounted(&claims);
                }
                self.service.drop_request(request);
            }
            Outcome::InDoubt { .. } => self.service.leave(request, Client::Gone),
        }
        let event = Event::Sent {
            channel: self.channel().name().clone(),
            tokens: claims.into_iter().map(|claim| claim.token).collect(),
            outcome,
        };
        self.step(machine, event)
    }

    fn service_fails(&mut self, machine: usize, fault: Fault) -> Checked {
        let run = at_work(&mut self.runs, machine);
        let channel = self.config.channels[0].name().clone();
        let reason = "trouble".to_owned();
        let refused = |refusal| Outcome::Refused {
            refusal,
            reason: "refused".to_owned(),
        };
        match (fault, run.work.clone().expect("it waits for this")) {
            (
                Fault::Unanswered,
                Work::Send {
                    request,
                    claims,
                    until,
                    ..
                },
            ) => {
                run.work = Some(Work::Send {
                    request,
                    claims,
                    until,
                    deaf: true,
                });
                self.service.leave(request, Client::Gone);
                Ok(())
            }
            (Fault::ServerError, _) => self.sent(machine, Outcome::InDoubt { reason }),
            (Fault::NotSent, _) => self.sent(machine, Outcome::NotSent { reason }),
            (Fault::Refused, _) => self.sent(machine, refused(Refusal::Permanent)),
            (Fault::RateLimitedStored, Work::Send { request, .. }) => {
                let now = self.now;
                drop(self.service.store(request, now, now));
                self.service_fails(machine, Fault::RateLimited)
            }
            (Fault::RateLimited, _) => {
                run.paused_until = Some(self.now.plus(LIMITED_FOR));
                let wait = Some(Wait::For(LIMITED_FOR));
                self.sent(machine, refused(Refusal::RateLimited(wait)))
            }
            (_, Work::Open) => {
                run.work = None;
                let opening = Opening::Closed {
                    trouble: Trouble::Unreachable,
                    reason,
                };
                self.step(machine, Event::Opened { channel, opening })
            }
            (_, Work::List { began_at, .. }) => {
                run.work = None;
                let listing = Listing::CannotTell { reason };
                self.step(
                    machine,
                    Event::Listed {
                        channel,
                        began_at,
                        listing,
                    },
                )
            }
            (
                _,
                Work::Look {
                    delivery, began_at, ..
                },
            ) => {
                run.work = None;
                let lookup = if fault == Fault::LookLags {
                    self.watch.absent(&delivery, began_at);
                    Lookup::Absent
                } else {
                    Lookup::CannotTell { reason }
                };
                self.step(
                    machine,
                    Event::Looked {
                        delivery,
                        operation: Operation::Publish,
                        began_at,
                        lookup,
                    },
                )
            }
            (_, Work::Send { .. }) => unreachable!("no fault of a request"),
        }
    }

    /// A connection that repeats what was not answered: the service gets it twice.
    fn repeat_request(&mut self, machine: usize) -> Checked {
        let channel = self.channel().clone();
        let Some(Work::Send { claims, .. }) = &at_work(&mut self.runs, machine).work else {
            return Ok(());
        };
        let claims = claims.clone();
        self.watch
            .sends(&claims, &channel, self.now, Bars::default())
    }
}

/// The run on a machine, copied if another world still has it.
fn at_work(runs: &mut [Option<Arc<Run>>], machine: usize) -> &mut Run {
    let run = runs.get_mut(machine).and_then(Option::as_mut);
    Arc::make_mut(run.expect("a run is at work on this machine"))
}

fn ceil(at: Timestamp) -> Timestamp {
    let floor = at.floor_to_second();
    if floor == at {
        at
    } else {
        floor.plus(Duration::from_secs(1))
    }
}
