//! The machine: told what happened, it says what to do next.
//!
//! [`Core::step`] takes one observation, then goes through the channels and asks for everything that can be done now.
//! It holds no thread and no timer; [`Core::wake_at`] says when it wants to be asked again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::exit::Exit;
use crate::ledger::{Baseline, Header, PushReport, Snapshot, Standing};
use crate::model::claim::{Landing, PushedClaim};
use crate::model::delivery::{self, Counts, Operation, Record, State};
use crate::model::ids::ChannelName;
use crate::model::item::ItemId;
use crate::model::notice::Notice;
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;
use crate::plan::alarms::short_feed;
use crate::plan::guard::registered;
use crate::plan::survey::{Survey, survey};

use super::action::{Action, Event, ReadFailure};
use super::backoff::race_jitter;
use super::checkout::Checkout;
use super::desk::{Desk, Phase};
use super::entropy::Entropy;
use super::liveness::Liveness;
use super::outbox::{Errand, Landed, Outbox, Sort};
use super::saving::Journal;
use super::setup::Setup;

/// How often the ledger is read while another run is at work on what is left.
const BUSY_POLL: Duration = Duration::from_secs(15);

/// One run.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub struct Core {
    pub(super) setup: Arc<Setup>,
    pub(super) entropy: Entropy,
    pub(super) outbox: Outbox,
    pub(super) survey: Option<Survey>,
    pub(super) desks: BTreeMap<ChannelName, Desk>,
    pub(super) claims_made: usize,
    /// Whether articles may be older here than what is posted of them.
    pub(super) checkout: Checkout,
    /// Which pages are online.
    pub(super) liveness: BTreeMap<ItemId, Liveness>,
    pub(super) actions: Vec<Action>,
    /// The next moments at which something can be done, with what it is.
    pub(super) wakes: Vec<(Timestamp, String)>,
    /// A service's clock is too far from ours: nothing of other runs is taken over.
    pub(super) skewed: Option<Duration>,
    pub(super) stop: Option<Timestamp>,
    pub(super) fatal: Option<String>,
    /// What this run saw that somebody should look at, and that the ledger alone does not show.
    pub(super) alarms: Vec<String>,
    /// What is not in posts of this run that their authors wished for, in plain sentences.
    pub(super) left_out: BTreeMap<DeliveryId, Vec<String>>,
    pub(super) journal: Journal,
    pub(super) journaled: Vec<Row>,
    pub(super) merged_journal: bool,
    pub(super) forgot_journal: bool,
    /// The lineage of a ledger that this run begins.
    lineage: String,
    told: Told,
}

/// What is said once in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Told {
    inherited: bool,
}

impl Core {
    /// Makes the machine of one run. `seed` is 256 random bits.
    pub fn new(setup: Arc<Setup>, seed: [u8; 32]) -> Self {
        let desks = setup
            .config
            .channels
            .iter()
            .map(|channel| {
                let mut desk = Desk::new();
                if let Some(reason) = setup.unavailable.get(channel.name()) {
                    desk.phase = Phase::Closed {
                        reason: reason.clone(),
                        exit: Exit::Usage,
                    };
                }
                (channel.name().clone(), desk)
            })
            .collect();
        let mut entropy = Entropy::new(seed);
        Self {
            lineage: entropy.token().as_str().to_owned(),
            entropy,
            outbox: Outbox::new(),
            survey: None,
            desks,
            claims_made: 0,
            checkout: Checkout::default(),
            liveness: BTreeMap::new(),
            actions: Vec::new(),
            wakes: Vec::new(),
            skewed: None,
            stop: None,
            fatal: None,
            alarms: Vec::new(),
            left_out: BTreeMap::new(),
            journal: Journal::Idle,
            journaled: Vec::new(),
            merged_journal: setup.journal.is_empty(),
            forgot_journal: false,
            told: Told::default(),
            setup,
        }
    }

    /// Takes one observation and returns what to do about everything that is known now.
    #[must_use = "an action that is not done leaves the run waiting for its end"]
    pub fn step(&mut self, now: Timestamp, event: Event) -> Vec<Action> {
        match event {
            Event::Tick => {}
            Event::Stop => self.stop_requested(now),
            Event::LedgerRead(read) => self.ledger_read(now, read),
            Event::Pushed(report) => self.pushed(now, report),
            Event::Journaled(result) => self.journaled(result),
            Event::Opened { channel, opening } => self.opened(now, &channel, opening),
            Event::Listed {
                channel,
                began_at,
                listing,
            } => self.listed(now, &channel, began_at, listing),
            Event::Sent {
                channel,
                tokens,
                outcome,
            } => self.sent(now, &channel, &tokens, &outcome),
            Event::Looked {
                delivery,
                operation,
                began_at,
                lookup,
            } => self.looked(now, &delivery, operation, began_at, lookup),
            Event::Prepared(delivery, prepared) => self.found(now, delivery, prepared),
            Event::CheckoutSeen(behind) => self.checkout_seen(behind),
            Event::Checked(item, result) => self.checked(now, item, result),
        }
        self.advance(now);
        std::mem::take(&mut self.actions)
    }

    fn ledger_read(&mut self, now: Timestamp, read: Result<Box<Snapshot>, ReadFailure>) {
        let failure = read.as_ref().err().cloned();
        if let Some(failure) = failure.as_ref().filter(|_| self.outbox.failure().is_none()) {
            self.tell(Notice::Warning(failure.reason.clone()));
        }
        let read = read
            .map(|snapshot| *snapshot)
            .map_err(|failure| failure.reason);
        let tip_before = self.outbox.snapshot().map(|snapshot| snapshot.tip.clone());
        let landed = self.outbox.was_read(now, read);
        if tip_before != self.outbox.snapshot().map(|snapshot| snapshot.tip.clone()) {
            for desk in self.desks.values_mut() {
                desk.list_is_old = true;
            }
        }
        self.landed(now, landed);
        match failure {
            // Waiting for it is for nothing.
            Some(failure) if failure.lasting => self.give_up(failure.reason),
            Some(_) | None => self.surveyed(now),
        }
    }

    /// Asks for everything that can be done now.
    fn advance(&mut self, now: Timestamp) {
        self.wakes.clear();
        self.save_before_leaving(now);
        if self.fatal.is_some() {
            self.save_to_journal();
            return;
        }
        if self.outbox.is_checking() {
            // The push's outcome is known only from the tip.
            return;
        }
        if self.outbox.snapshot().is_none() {
            self.impatience(now);
            let errand = self.outbox.read(now);
            self.run_errand(errand);
            return;
        }
        for name in self.desks.keys().cloned().collect::<Vec<_>>() {
            self.advance_channel(now, &name);
        }
        self.prepare_header(now);
        let gap = if self.is_leaving(now) {
            Duration::ZERO
        } else {
            self.setup.limits.push_gap
        };
        let flush = self.stop.is_some() || !self.has_work_ahead(now);
        let errand = self.outbox.errand(now, gap, flush);
        self.run_errand(errand);
        self.poll_busy(now);
        self.impatience(now);
        self.forget_journal();
    }

    /// Whether the run is on its last steps, so that the gap between pushes must not hold it up.
    fn is_leaving(&self, now: Timestamp) -> bool {
        let out_of_time = self
            .setup
            .limits
            .deadline
            .is_some_and(|deadline| now.plus(self.setup.limits.push_allowance) >= deadline);
        self.stop.is_some() || out_of_time
    }

    fn run_errand(&mut self, errand: Option<Errand>) {
        match errand {
            None => {}
            Some(Errand::Read) => self.actions.push(Action::ReadLedger),
            Some(Errand::Push(batch)) => self.actions.push(Action::Push(*batch)),
            Some(Errand::PushAgain(commit)) => self.actions.push(Action::PushAgain(commit)),
        }
    }

    fn pushed(&mut self, now: Timestamp, report: PushReport) {
        let landed = self.outbox.pushed(now, report);
        if self.outbox.is_checking() {
            self.actions.push(Action::ReadLedger);
        }
        self.landed(now, landed);
    }

    /// Turns claims that are on the remote into ones that may be sent.
    fn landed(&mut self, now: Timestamp, landed: Landed) {
        if let Some(notice) = landed.notice {
            self.tell(Notice::Warning(notice));
        }
        if let Some(reason) = landed.fatal {
            self.give_up(reason);
        }
        if landed.lost_race {
            let wait = race_jitter(self.outbox.races(), self.entropy.bits());
            self.outbox.hold_until(now.plus(wait));
        }
        let landing = self
            .outbox
            .snapshot()
            .map_or_else(|| Landing::attest([]), Snapshot::landing);
        for claim in landed.claims {
            let channel = claim.channel.clone();
            self.claims_made += 1;
            let Some(pushed) = PushedClaim::prove(claim, &landing) else {
                continue;
            };
            if let Some(desk) = self.desks.get_mut(&channel) {
                desk.ready.push(pushed);
            }
        }
        for (delivery, token) in self.outbox.landed_late() {
            let event = delivery::Event::Deferred {
                reason: "its claim reached the ledger too late and was not sent".to_owned(),
                not_before: now,
                counts: Counts::Nothing,
                at: now,
            };
            self.record(&delivery, vec![event], Sort::Outcome(token), true);
        }
        // A claim that lost the race is not ours any more: it is rebuilt with a fresh token.
        let rows = self.outbox.rows();
        let standing: BTreeSet<_> = rows
            .values()
            .flat_map(|row| row.operations.values())
            .filter_map(Record::token)
            .collect();
        for desk in self.desks.values_mut() {
            // One that was on the remote stays: its answer may come after another run took over.
            let sent = desk.is_working;
            desk.own.retain(|token, _| sent || standing.contains(token));
        }
    }

    /// Joins articles and rows anew after each read of the ledger.
    fn surveyed(&mut self, now: Timestamp) {
        let Some(snapshot) = self.outbox.snapshot().cloned() else {
            return;
        };
        if let Some(reason) = snapshot.standing.trouble() {
            self.give_up(reason);
            return;
        }
        let setup = Arc::clone(&self.setup);
        let survey = survey(
            &setup.catalog,
            &setup.config,
            &snapshot,
            &setup.selection,
            now,
        );
        let first = self.survey.is_none();
        if first {
            for notice in &survey.notices {
                self.tell(Notice::Plain(notice.clone()));
            }
            for (channel, kept) in &survey.kept_back {
                self.tell(Notice::Warning(kept.sentence(channel)));
            }
            if let Standing::Sound {
                notice: Some(notice),
            } = &snapshot.standing
            {
                self.tell(Notice::Plain(notice.clone()));
            }
            // At the end of the run what is listed now has rows, and nobody could tell any more.
            let rows = self.outbox.rows();
            self.alarms = short_feed(
                &setup.config,
                &setup.catalog,
                &survey,
                &snapshot.baseline,
                &rows,
            );
        }
        if !survey.new_channels.is_empty() {
            let mut baseline: Baseline = snapshot.baseline.clone();
            baseline.extend(survey.new_channels.clone());
            self.outbox.write_baseline(baseline);
        }
        self.survey = Some(survey);
        if !self.merged_journal {
            self.merged_journal = true;
            self.merge_journal(now);
        }
        if first && !self.told.inherited {
            self.told.inherited = true;
            self.tell_inherited();
        }
    }

    /// A run that follows a killed one begins by saying what it found.
    fn tell_inherited(&mut self) {
        let Some(survey) = &self.survey else { return };
        let inherited: Vec<_> = survey
            .deliveries
            .iter()
            .filter_map(|surveyed| {
                let record = self.outbox.row(&surveyed.id)?.record()?;
                matches!(record.state, State::InFlight | State::InDoubt).then(|| {
                    Notice::Inherited {
                        delivery: surveyed.id.clone(),
                        state: record.state,
                        claimed_at: record.claim.as_ref().map(|claim| claim.claimed_at),
                    }
                })
            })
            .collect();
        for notice in inherited {
            self.tell(notice);
        }
    }

    /// Lets the next commit register the configured channels, and what their servers told.
    fn prepare_header(&mut self, now: Timestamp) {
        let (Some(snapshot), Some(survey)) = (self.outbox.snapshot(), &self.survey) else {
            return;
        };
        let planned = self.outbox.header();
        let before = planned.cloned().unwrap_or_else(Header::blank);
        let setup = &self.setup;
        let announce = setup.selection.announce;
        let mut header = registered(&before, &setup.config, survey, snapshot, announce, now);
        for (name, desk) in &self.desks {
            let Some(known) = header.channels.get_mut(name) else {
                continue;
            };
            if let Some(session) = desk.session() {
                known.limits = session.limits;
            }
            if desk.asked_until.is_some() {
                known.not_before = desk.asked_until;
            }
        }
        if header.lineage.is_empty() {
            header.lineage.clone_from(&self.lineage);
        }
        if planned != Some(&header) {
            self.outbox.write_header(header);
        }
    }

    /// While other runs work on what is left, the ledger is read now and then, as long as this run may wait for them.
    fn poll_busy(&mut self, now: Timestamp) {
        let quiet = self.survey.iter().flat_map(|survey| &survey.deliveries);
        let any_busy = quiet
            .filter(|surveyed| {
                self.desks
                    .get(&surveyed.id.channel)
                    .is_some_and(|desk| !desk.is_closed())
            })
            .filter_map(|surveyed| self.busy_elsewhere_until(&surveyed.id))
            .any(|until| now <= until && self.is_within_reach(until, now));
        if !any_busy || self.stop.is_some() {
            return;
        }
        let Some(read_at) = self.outbox.read_at() else {
            return;
        };
        let due = read_at.plus(BUSY_POLL);
        if due <= now {
            let errand = self.outbox.read(now);
            self.run_errand(errand);
        } else {
            self.wakes
                .push((due, "another run to finish what it is sending".to_owned()));
        }
    }

    /// Returns until when another run's claim stands; none if there is none.
    pub(super) fn busy_elsewhere_until(&self, id: &DeliveryId) -> Option<Timestamp> {
        let record = self.outbox.row(id).and_then(Row::record)?;
        let token = record.token()?;
        let ours = self
            .desks
            .get(&id.channel)
            .is_some_and(|desk| desk.own.contains_key(token));
        let claim = record.claim.as_ref()?;
        (record.state == State::InFlight && !ours).then_some(claim.quiet_until)
    }

    fn stop_requested(&mut self, now: Timestamp) {
        if self.stop.is_some() {
            return;
        }
        self.stop = Some(now);
        self.tell(Notice::Stopping);
        self.outbox.abandon_waiting();
        self.drop_claims();
    }

    /// Forgets claims that no push carries yet: they will not be sent, so nobody should read that they are.
    pub(super) fn drop_claims(&mut self) {
        for claim in self.outbox.drop_claims() {
            if let Some(desk) = self.desks.get_mut(&claim.channel) {
                desk.own.remove(&claim.token);
            }
        }
    }

    /// Whether a stop was asked for.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_some()
    }

    /// Returns when the machine wants to be asked again, with what it waits for; none: not by itself.
    pub fn wake_at(&self, now: Timestamp) -> Option<(Timestamp, String)> {
        let by_stop = self.stop.iter().flat_map(|at| {
            let limits = &self.setup.limits;
            [
                at.plus(limits.stop_answer),
                self.save_at().unwrap_or(*at),
                at.plus(limits.stop_out),
            ]
        });
        let by_remote = self.outbox.wake_at(self.setup.limits.push_gap);
        let remote = match self.outbox.failure() {
            Some(_) => "the ledger's remote",
            None => "the next push to the ledger",
        };
        let by_clock = by_stop
            .map(|at| (at, "the answer in hand".to_owned()))
            .chain(by_remote.map(|at| (at, remote.to_owned())))
            .filter(|(at, _)| *at > now);
        let by_channel = self
            .wakes
            .iter()
            .filter(|(at, _)| self.is_within_reach(*at, now))
            .cloned();
        by_clock.chain(by_channel).min()
    }

    /// Whether the run may wait until `at`.
    fn is_within_reach(&self, at: Timestamp, now: Timestamp) -> bool {
        match self.setup.limits.deadline {
            Some(deadline) => at < deadline,
            None => at <= now.plus(self.setup.limits.max_wait),
        }
    }

    /// Whether something will be due that this run may wait for.
    fn has_work_ahead(&self, now: Timestamp) -> bool {
        self.desks
            .values()
            .any(|desk| desk.is_working || !desk.ready.is_empty())
            || self.is_scouting()
            || self.is_asking_for_checkout()
            || self
                .wakes
                .iter()
                .any(|(at, _)| self.is_within_reach(*at, now))
    }

    /// Whether the run is over: nothing under way, nothing to save, nothing to wait for.
    pub fn is_finished(&self, now: Timestamp) -> bool {
        let limits = &self.setup.limits;
        if self.stop.is_some_and(|at| now >= at.plus(limits.stop_out)) {
            // A machine that stood still meanwhile is late, and still saves what it knows before it leaves.
            let is_kept = self.fatal.is_some() || self.outbox.unsaved().is_empty();
            return self.journal == Journal::Idle && is_kept;
        }
        let answer_awaited = self.stop.is_none_or(|at| now < at.plus(limits.stop_answer));
        let working = self.desks.values().any(|desk| desk.is_working) && answer_awaited;
        if self.fatal.is_some() {
            return self.journal == Journal::Idle && !working;
        }
        let has_wakes = self.stop.is_none() && self.has_work_ahead(now);
        self.survey.is_some() && !working && self.outbox.is_clear() && !has_wakes
    }

    /// Whether nothing is under way, so that time passes only by waiting.
    pub fn is_waiting(&self) -> bool {
        self.outbox.is_idle()
            && !self.is_scouting()
            && !self.is_asking_for_checkout()
            && self.desks.values().all(|desk| !desk.is_working)
    }

    /// Whether there is time for one more claim: send, answer and two pushes.
    pub(super) fn has_time_for(&self, now: Timestamp, timeout: Duration) -> bool {
        let needed = timeout.saturating_add(self.setup.limits.push_allowance);
        self.stop.is_none()
            && self
                .setup
                .limits
                .deadline
                .is_none_or(|deadline| now.plus(needed) <= deadline)
    }

    /// Tells events to the operation that a delivery stands at, keeping the row's identity.
    pub(super) fn record(
        &mut self,
        id: &DeliveryId,
        events: Vec<delivery::Event>,
        sort: Sort,
        urgent: bool,
    ) {
        let operation = self.outbox.row(id).map_or(Operation::Publish, Row::current);
        self.record_of(id, operation, events, sort, urgent);
    }

    /// Tells events to one operation of a delivery.
    pub(super) fn record_of(
        &mut self,
        id: &DeliveryId,
        operation: Operation,
        events: Vec<delivery::Event>,
        sort: Sort,
        urgent: bool,
    ) {
        let identity = self.outbox.row(id).cloned().or_else(|| self.blank_row(id));
        if let Some(identity) = identity {
            self.record_on(identity, operation, events, sort, urgent);
        }
    }

    /// Tells events to the row of a delivery, with this identity.
    pub(super) fn record_on(
        &mut self,
        identity: Row,
        operation: Operation,
        events: Vec<delivery::Event>,
        sort: Sort,
        urgent: bool,
    ) {
        let id = identity.delivery_id();
        if let Err(illegal) = self.outbox.tell(identity, operation, events, sort, urgent) {
            self.tell(Notice::Warning(format!(
                "{id}: {illegal}; the row is left as it is"
            )));
        }
    }

    pub(super) fn tell(&mut self, notice: Notice) {
        self.actions.push(Action::Tell(notice));
    }

    /// Says once in a run what a post goes without.
    pub(super) fn tell_left_out(&mut self, id: &DeliveryId, what: &str) {
        let told = self.left_out.entry(id.clone()).or_default();
        if !told.iter().any(|earlier| earlier == what) {
            told.push(what.to_owned());
            self.tell(Notice::Plain(format!("{id}: {what}")));
        }
    }
}
