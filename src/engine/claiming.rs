//! What one channel can do now: open, read, look, claim, send.

use std::sync::Arc;
use std::time::Duration;

use crate::config::ChannelConfig;
use crate::exit::Exit;
use crate::model::channel::Policy;
use crate::model::claim::Claim;
use crate::model::delivery::{self, Counts, Operation, Record, State};
use crate::model::ids::ChannelName;
use crate::model::mutant::{Mutant, on};
use crate::model::notice::Notice;
use crate::model::row::{DeliveryId, Row};
use crate::model::time::{Timestamp, duration_text};
use crate::plan::decide::{Again, Step};

use super::action::Action;
use super::backoff::backoff;
use super::core::Core;
use super::desk::{Desk, Phase};
use super::outbox::Sort;
use super::posting::claim_of;

/// Claims in a row that came too late to be sent, after which a channel is closed for the run.
const LATE_MAX: u32 = 3;
/// How far before the oldest article due the account's list is read, for clocks and dates without a time.
const LIST_MARGIN: Duration = Duration::from_hours(24);

impl Core {
    /// Asks for the next thing that a channel can do.
    pub(super) fn advance_channel(&mut self, now: Timestamp, name: &ChannelName) {
        let setup = Arc::clone(&self.setup);
        let Some(channel) = setup
            .config
            .channels
            .iter()
            .find(|channel| channel.name() == name)
        else {
            return;
        };
        self.send_ready(now, channel);
        let Some(desk) = self.desks.get(name) else {
            return;
        };
        let busy = desk.is_working || !desk.ready.is_empty();
        if self.is_change_put_off(channel) {
            self.ask_for_checkout();
        }
        let steps = self.steps(now, channel);
        if busy || self.is_stopping() {
            return;
        }
        self.settle_by_itself(now, channel, &steps);
        if self.closed(name) {
            return;
        }
        self.note_wakes(&steps);
        if let Some(until) = self.rests_until(name).filter(|until| *until > now) {
            if steps.iter().any(|(_, step)| needs_service(step)) {
                self.wakes.push((
                    until,
                    format!("{name}, which asked for a pause or could not be reached"),
                ));
            }
            return;
        }
        if steps.iter().any(|(id, step)| self.wants_open(id, step)) && !self.open(now, channel) {
            return;
        }
        if self.look(now, channel, &steps) {
            return;
        }
        self.claim(now, channel, &steps);
    }

    /// A pause that the service asked for, or that follows a failure.
    fn rests_until(&self, name: &ChannelName) -> Option<Timestamp> {
        if on(Mutant::PauseIgnored) {
            return None;
        }
        let own = self.desks.get(name).and_then(|desk| desk.not_before);
        own.max(self.paused_until(name))
    }

    /// A pause that the service asked for, in this run or in one before.
    pub(super) fn paused_until(&self, name: &ChannelName) -> Option<Timestamp> {
        let header = self
            .outbox
            .snapshot()
            .and_then(|snapshot| snapshot.header.as_ref());
        let recorded = header
            .and_then(|header| header.channels.get(name))
            .and_then(|known| known.not_before);
        let own = self.desks.get(name).and_then(|desk| desk.asked_until);
        own.max(recorded)
    }

    fn closed(&self, name: &ChannelName) -> bool {
        self.desks.get(name).is_none_or(Desk::is_closed)
    }

    /// Sends what is on the remote, or gives it back if its send window is over.
    fn send_ready(&mut self, now: Timestamp, channel: &ChannelConfig) {
        let stopping = self.is_stopping();
        let Some(desk) = self.desks.get_mut(channel.name()) else {
            return;
        };
        if desk.is_working || desk.ready.is_empty() {
            return;
        }
        let (sendable, late): (Vec<_>, Vec<_>) = std::mem::take(&mut desk.ready)
            .into_iter()
            .partition(|pushed| {
                let in_time = now < pushed.claim().send_before || on(Mutant::WindowIgnored);
                in_time && (!stopping || on(Mutant::StopIgnored))
            });
        if !sendable.is_empty() {
            desk.is_working = true;
            for pushed in &sendable {
                self.actions.push(Action::Tell(Notice::Sending {
                    delivery: delivery_of(pushed.claim()),
                    operation: pushed.claim().operation,
                    attempt: pushed.claim().attempt,
                }));
            }
            self.actions
                .push(Action::Send(channel.name().clone(), sendable));
        }
        for pushed in late {
            self.give_back(now, channel, pushed.claim(), stopping);
        }
    }

    /// Records that a claim was not sent.
    fn give_back(
        &mut self,
        now: Timestamp,
        channel: &ChannelConfig,
        claim: &Claim,
        stopping: bool,
    ) {
        let Some(desk) = self.desks.get_mut(channel.name()) else {
            return;
        };
        let (reason, wait) = if stopping {
            ("the run was stopped before it was sent", Duration::ZERO)
        } else {
            desk.late += 1;
            (
                "its send window was over before it could be sent",
                backoff(desk.late),
            )
        };
        let late = desk.late;
        let event = delivery::Event::Deferred {
            reason: reason.to_owned(),
            not_before: now.plus(wait),
            counts: Counts::Nothing,
            at: now,
        };
        self.record(
            &delivery_of(claim),
            vec![event],
            Sort::Outcome(claim.token.clone()),
            true,
        );
        if late >= LATE_MAX && !stopping {
            let reason = format!(
                "{}: {LATE_MAX} claims in a row reached the ledger's remote only after `send_window` ({}) was over; \
                 raise it",
                channel.name(),
                duration_text(channel.rules.send_window)
            );
            self.close(channel.name(), reason, Exit::WorkRemains);
        }
    }

    /// Moves that need no service: a dead run's claim taken over, a doubt that became certainty, a delivery held.
    fn settle_by_itself(
        &mut self,
        now: Timestamp,
        channel: &ChannelConfig,
        steps: &[(DeliveryId, Step)],
    ) {
        for (id, step) in steps {
            match step {
                Step::TakeOver if self.is_opened(channel.name()) && !self.is_own(id) => {
                    let run = self
                        .outbox
                        .row(id)
                        .and_then(Row::record)
                        .and_then(|record| record.claim.as_ref());
                    let run = run.map_or_else(String::new, |claim| claim.run.to_string());
                    let reason = format!("the run {run} ended without saying what came of it");
                    self.record(
                        id,
                        vec![delivery::Event::Doubted { reason, at: now }],
                        Sort::Finding,
                        false,
                    );
                    self.wakes.push((
                        now.plus(Duration::from_millis(1)),
                        format!("{id}: to look whether it is there"),
                    ));
                }
                Step::Absent => {
                    if let Some(desk) = self.desks.get_mut(channel.name()) {
                        desk.list_is_old = true;
                    }
                    self.tell(Notice::Plain(format!(
                        "{id}: it is not there and can't get there any more, so it was never posted"
                    )));
                    self.record(
                        id,
                        vec![delivery::Event::Absent {
                            not_before: now,
                            at: now,
                        }],
                        Sort::Finding,
                        false,
                    );
                    self.wakes.push((
                        now.plus(Duration::from_millis(1)),
                        format!("{id}: to send it again"),
                    ));
                }
                Step::Hold(reason) => {
                    self.tell(Notice::Held {
                        delivery: id.clone(),
                        reason: reason.clone(),
                    });
                    let event = delivery::Event::Held {
                        reason: reason.clone(),
                        at: now,
                    };
                    self.record(id, vec![event], Sort::Finding, true);
                }
                Step::Rest if self.is_revised(channel, id) => {
                    self.record(
                        id,
                        vec![delivery::Event::Revised { at: now }],
                        Sort::Finding,
                        false,
                    );
                    self.wakes.push((
                        now.plus(Duration::from_millis(1)),
                        format!("{id}: changed since it was refused"),
                    ));
                }
                Step::TakeOver
                | Step::Send { .. }
                | Step::Later { .. }
                | Step::Busy { .. }
                | Step::Look
                | Step::Rest
                | Step::NeedsApproval => {}
            }
        }
        debug_assert!(
            steps.iter().all(|(id, _)| id.channel == *channel.name()),
            "the steps are this channel's"
        );
    }

    fn is_opened(&self, name: &ChannelName) -> bool {
        self.desks
            .get(name)
            .is_some_and(|desk| desk.session().is_some())
    }

    /// Whether a delivery's claim is this run's: jobs of one matrix share their run's name, never a token.
    pub(super) fn is_own(&self, id: &DeliveryId) -> bool {
        let token = self
            .outbox
            .row(id)
            .and_then(Row::record)
            .and_then(Record::token);
        let desk = self.desks.get(&id.channel);
        token.is_some_and(|token| desk.is_some_and(|desk| desk.own.contains_key(token)))
            && !on(Mutant::OwnIsForeign)
    }

    fn note_wakes(&mut self, steps: &[(DeliveryId, Step)]) {
        for (id, step) in steps {
            match step {
                Step::Later { until, why } => self.wakes.push((*until, format!("{id}: {why}"))),
                Step::Busy { until } if !self.is_own(id) => {
                    let at = until.plus(Duration::from_millis(1));
                    self.wakes
                        .push((at, format!("{id}: another run may be sending it")));
                }
                Step::Busy { .. }
                | Step::Send { .. }
                | Step::TakeOver
                | Step::Look
                | Step::Absent
                | Step::Hold(_)
                | Step::Rest
                | Step::NeedsApproval => {}
            }
        }
    }

    /// Whether a step is worth a login.
    fn wants_open(&self, id: &DeliveryId, step: &Step) -> bool {
        needs_service(step) || self.wants_found_look(id, step)
    }

    /// Another run's claim may be found done at any time: it is looked for once in a run.
    fn wants_found_look(&self, id: &DeliveryId, step: &Step) -> bool {
        let readable = self
            .setup
            .config
            .channels
            .iter()
            .any(|channel| *channel.name() == id.channel && channel.traits().readable);
        let looked = self.was_looked_for(id);
        matches!(step, Step::Busy { .. }) && readable && !looked && !self.is_own(id)
    }

    /// Returns whether the channel is open; else asks for it.
    fn open(&mut self, now: Timestamp, channel: &ChannelConfig) -> bool {
        let Some(desk) = self.desks.get_mut(channel.name()) else {
            return false;
        };
        match &desk.phase {
            Phase::Open(_) => self.is_alone_on_its_account(now, channel),
            Phase::Closed { .. } => false,
            Phase::New
                if self
                    .setup
                    .limits
                    .deadline
                    .is_some_and(|deadline| now.plus(channel.rules.timeout) > deadline) =>
            {
                false
            }
            Phase::New => {
                desk.is_working = true;
                self.actions.push(Action::Open(channel.name().clone()));
                false
            }
        }
    }

    /// Two channels on one account would announce everything twice: both are left out.
    fn is_alone_on_its_account(&mut self, now: Timestamp, channel: &ChannelConfig) -> bool {
        let setup = Arc::clone(&self.setup);
        let of_same_kind: Vec<_> = setup
            .config
            .channels
            .iter()
            .filter(|other| other.kind() == channel.kind() && other.name() != channel.name())
            .map(ChannelConfig::name)
            .collect();
        let account = self
            .desks
            .get(channel.name())
            .and_then(|desk| desk.session())
            .map(|session| session.account.clone());
        for other in of_same_kind {
            let Some(desk) = self.desks.get_mut(other) else {
                continue;
            };
            match &desk.phase {
                // It has to be asked who it is before either may write.
                Phase::New if desk.not_before.is_some_and(|until| until > now) => {
                    let until = desk.not_before.unwrap_or(now);
                    self.wakes
                        .push((until, format!("{other} to say who it is")));
                    return false;
                }
                Phase::New if !desk.is_working => {
                    desk.is_working = true;
                    self.actions.push(Action::Open(other.clone()));
                    return false;
                }
                Phase::New => return false,
                Phase::Open(session) if Some(&session.account) == account.as_ref() => {
                    let reason = format!(
                        "{} and {other} are the same account, {}; remove one of them",
                        channel.name(),
                        session.account
                    );
                    for name in [other, channel.name()] {
                        self.close(name, reason.clone(), Exit::Usage);
                    }
                    return false;
                }
                Phase::Open(_) | Phase::Closed { .. } => {}
            }
        }
        true
    }

    /// Closes a channel for the rest of the run.
    pub(super) fn close(&mut self, name: &ChannelName, reason: String, exit: Exit) {
        if let Some(desk) = self.desks.get_mut(name) {
            desk.phase = Phase::Closed {
                reason: reason.clone(),
                exit,
            };
            self.actions.push(Action::Tell(Notice::ChannelClosed {
                channel: name.clone(),
                reason,
            }));
        }
    }

    /// Asks for a lookup, if one is due.
    fn look(
        &mut self,
        now: Timestamp,
        channel: &ChannelConfig,
        steps: &[(DeliveryId, Step)],
    ) -> bool {
        let due = steps
            .iter()
            .filter(|(id, step)| matches!(step, Step::Look) || self.wants_found_look(id, step))
            .find_map(|(id, _)| Some((id, claim_of(self.outbox.row(id)?, channel)?)));
        let Some((id, claim)) = due else {
            return false;
        };
        let in_time = self
            .setup
            .limits
            .deadline
            .is_none_or(|deadline| now.plus(channel.rules.timeout) <= deadline);
        if !in_time {
            return false;
        }
        let Some(desk) = self.desks.get_mut(channel.name()) else {
            return false;
        };
        desk.is_working = true;
        desk.looked_for.insert(id.clone());
        self.actions
            .push(Action::Look(channel.name().clone(), claim));
        true
    }

    /// Makes the next claim, if nothing forbids it.
    fn claim(&mut self, now: Timestamp, channel: &ChannelConfig, steps: &[(DeliveryId, Step)]) {
        let doubtful = self.is_in_doubt(channel);
        let mut due: Vec<_> = steps
            .iter()
            .filter_map(|(id, step)| match step {
                Step::Send { again } => Some((id, *again)),
                Step::Later { .. }
                | Step::Busy { .. }
                | Step::TakeOver
                | Step::Look
                | Step::Absent
                | Step::Hold(_)
                | Step::Rest
                | Step::NeedsApproval => None,
            })
            // With too much in doubt, only what settles a doubt goes out.
            .filter(|(id, _)| !doubtful || self.is_doubt(id))
            .collect();
        // What changes an old post, and perhaps can't, does not keep new articles waiting.
        due.sort_by_key(|(id, _)| self.stand(channel, id).operation != Operation::Publish);
        let allowed = self.setup.limits.max_claims.map_or(usize::MAX, |max| {
            max.saturating_sub(self.claims_made + self.outbox.claims_under_way())
        });
        if due.is_empty()
            || allowed == 0
            || !self.has_time_for(now, channel.rules.timeout)
            || self.has_own_claim(channel.name())
        {
            return;
        }
        if let Some(paced_until) = self.paced_until(channel).filter(|until| *until > now) {
            self.wakes.push((
                paced_until,
                format!("{}: the gap between two posts", channel.name()),
            ));
            return;
        }
        if self.needs_list(channel, &due) {
            self.list(now, channel, &due);
            return;
        }
        let singly = self
            .desks
            .get(channel.name())
            .is_some_and(|desk| desk.singly);
        let batch_max = if singly {
            1
        } else {
            channel.traits().batch_max
        };
        let mut left = batch_max.min(allowed);
        let mut host = None;
        for (id, again) in due {
            // One that can't be sent does not keep the others waiting.
            let operation = self.stand(channel, id).operation;
            let announces = operation == Operation::Publish;
            if left == 0 || (announces && !self.is_live(now, &id.item, again)) {
                continue;
            }
            // One request is about one host: another one's addresses wait for the next.
            let own_host = self.host_of(id, again);
            if host.as_ref().is_some_and(|host| *host != own_host) {
                continue;
            }
            if operation != Operation::Retract && !self.is_prepared(channel, id, operation, again) {
                return;
            }
            if self.claim_one(now, channel, id, again) {
                left -= 1;
                host = Some(own_host);
            }
        }
    }

    fn is_doubt(&self, id: &DeliveryId) -> bool {
        let record = self.outbox.row(id).and_then(Row::record);
        record.is_some_and(|record| record.state == State::InDoubt)
    }

    fn has_own_claim(&self, name: &ChannelName) -> bool {
        let rows = self.outbox.rows();
        rows.iter().any(|(id, row)| {
            id.channel == *name
                && row
                    .record()
                    .is_some_and(|record| record.state == State::InFlight)
                && self.is_own(id)
        })
    }

    /// Pacing is read from the ledger, not from memory: from the last claim on this channel, whoever made it.
    fn paced_until(&self, channel: &ChannelConfig) -> Option<Timestamp> {
        if on(Mutant::PaceIgnored) {
            return None;
        }
        let rows = self.outbox.rows();
        rows.values()
            .filter(|row| row.channel == *channel.name())
            .flat_map(|row| row.operations.values())
            .filter_map(|record| Some(record.claim.as_ref()?.claimed_at))
            .max()
            .map(|last| last.plus(channel.rules.interval))
    }

    /// A channel with too much in doubt at this moment is not written to until that is settled.
    fn is_in_doubt(&self, channel: &ChannelConfig) -> bool {
        let limit = match channel.rules.policy {
            Policy::AtMostOnce => 1,
            Policy::AtLeastOnce | Policy::Keyed | Policy::Verified => 2,
        };
        let rows = self.outbox.rows();
        let in_doubt = rows
            .values()
            .filter(|row| row.channel == *channel.name())
            .filter(|row| {
                row.record()
                    .is_some_and(|record| record.state == State::InDoubt)
            })
            .count();
        in_doubt >= limit && !on(Mutant::BreakerOff)
    }

    /// The first write of a run, and every later attempt, needs a look at what is there already.
    fn needs_list(&self, channel: &ChannelConfig, due: &[(&DeliveryId, Again)]) -> bool {
        if !channel.rules.precheck || !channel.traits().readable {
            return false;
        }
        let Some(desk) = self.desks.get(channel.name()) else {
            return false;
        };
        // What changes a post needs no look at what is there.
        let announces = |id: &DeliveryId| self.stand(channel, id).operation == Operation::Publish;
        if !due.iter().take(1).any(|(id, _)| announces(id)) {
            return false;
        }
        let Some(listed_at) = desk.listed_at else {
            return true;
        };
        // Told by what happened, not by times: the attempt may be another run's, by another clock. Only what has waited for
        // its moment in this run is not on a list from before that moment. What is repeated while in doubt was looked for.
        !on(Mutant::NotListedAgain)
            && due.iter().take(1).any(|(id, _)| {
                let record = self.outbox.row(id).and_then(Row::record);
                record.is_some_and(|record| {
                    let waited = record.due_at().is_some_and(|at| listed_at < at);
                    let refused = record.state == State::Retry && record.attempt > 0;
                    refused && (desk.list_is_old || waited)
                })
            })
    }

    fn list(&mut self, now: Timestamp, channel: &ChannelConfig, due: &[(&DeliveryId, Again)]) {
        let survey = self.survey.as_ref();
        let oldest = due
            .iter()
            .filter_map(|(id, _)| survey?.items.get(&id.item)?.published)
            .min()
            .unwrap_or(now);
        let Some(desk) = self.desks.get_mut(channel.name()) else {
            return;
        };
        desk.is_working = true;
        desk.list_is_old = false;
        self.actions.push(Action::List(
            channel.name().clone(),
            oldest.minus(LIST_MARGIN),
        ));
    }
}

fn needs_service(step: &Step) -> bool {
    match step {
        // What a clock that is far off says is not believed, and services tell the time.
        Step::Send { .. } | Step::Look | Step::TakeOver => true,
        Step::Later { .. }
        | Step::Busy { .. }
        | Step::Absent
        | Step::Hold(_)
        | Step::Rest
        | Step::NeedsApproval => false,
    }
}

fn delivery_of(claim: &Claim) -> DeliveryId {
    DeliveryId {
        item: claim.item.clone(),
        channel: claim.channel.clone(),
    }
}
