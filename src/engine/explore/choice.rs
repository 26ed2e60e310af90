//! What can happen next in a world.

use std::time::Duration;

use crate::model::delivery::State;
use crate::model::outcome::Lookup;
use crate::model::row::Row;
use crate::model::time::Timestamp;

use super::scenario::Fault;
use super::service::Client;
use super::world::{Job, Run, Work, World};

/// Just past the send window.
const STALL: Duration = Duration::from_secs(35);
/// Past everything.
const SLEEP: Duration = Duration::from_secs(150);

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// A run starts on this machine.
    Start(usize),
    /// The run on this machine is killed.
    Kill(usize),
    /// It is asked to stop.
    Stop(usize),
    /// It stands still for a while.
    Freeze(usize, Duration),
    /// A timer of this run goes off.
    Tick(usize),
    /// What this run asked of the remote is done and answered.
    Ledger(usize),
    /// What this run asked of the service is done and answered.
    Answer(usize),
    /// The client gives up on its request.
    GiveUp(usize),
    /// What this run asked of the remote goes wrong.
    LedgerFails(usize),
    /// What this run asked of the service goes wrong.
    ServiceFails(usize, Fault),
    /// A request that nobody waits for is stored.
    Store(usize),
    /// The same, and it shows late.
    StoreHidden(usize),
    /// The push of a run that stands still lands.
    LandsUnheard(usize),
    /// A push that nobody waits for lands.
    LateLands(usize),
    /// A person releases what is held.
    Release,
    /// The article is edited.
    Edit,
    /// Somebody resets the branch to the commit before.
    RollBack,
    /// Time passes until something is due.
    Time,
}

/// What may still happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) starts: usize,
    pub(super) kills: usize,
    pub(super) faults: usize,
    pub(super) releases: usize,
    pub(super) edits: usize,
    pub(super) stops: usize,
    pub(super) rollbacks: usize,
}

impl World {
    /// Everything that can happen now. The first ones are what happens if nothing goes wrong.
    pub(super) fn choices(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        for (machine, run) in self.runs.iter().enumerate() {
            if let Some(run) = run {
                self.healthy(machine, run, &mut choices);
            }
        }
        let busy = !choices.is_empty();
        let fault = |fault: Fault| self.left.faults > 0 && self.scenario.can(fault);
        if self.next_moment(busy).is_some() && (!busy || fault(Fault::Hurries)) {
            choices.push(Choice::Time);
        }
        if self.left.starts > 0 {
            let free = (0..self.runs.len()).filter(|machine| self.runs[*machine].is_none());
            // Machines with nothing on their disks are alike.
            let mut blank = false;
            for machine in free {
                let is_blank = self.disks[machine].is_empty() && self.scenario.ahead.is_zero();
                if !(is_blank && blank) {
                    choices.push(Choice::Start(machine));
                }
                blank |= is_blank;
            }
        }
        for (machine, run) in self.runs.iter().enumerate() {
            if let Some(run) = run {
                self.troubles(machine, run, &mut choices);
            }
        }
        for request in &self.service.requests {
            let is_alone = request.client != Client::Waits && request.stored.is_none();
            if is_alone && self.now <= request.accept_by {
                choices.push(Choice::Store(request.number));
                if fault(Fault::ShowsLate) {
                    choices.push(Choice::StoreHidden(request.number));
                }
            }
        }
        for (index, id) in self.remote.late.iter().enumerate() {
            if self.remote.takes(id) {
                choices.push(Choice::LateLands(index));
            }
        }
        let held = |row: &Row| {
            row.publish()
                .is_some_and(|record| record.state == State::Held)
        };
        if self.left.releases > 0 && self.remote.rows().any(held) {
            choices.push(Choice::Release);
        }
        if self.left.edits > 0 && self.started > 0 {
            choices.push(Choice::Edit);
        }
        if self.left.rollbacks > 0 && !self.remote.history.is_empty() {
            choices.push(Choice::RollBack);
        }
        choices
    }

    /// What happens to a run if nothing goes wrong.
    fn healthy(&self, machine: usize, run: &Run, choices: &mut Vec<Choice>) {
        if run.frozen_until.is_some_and(|until| self.now < until) {
            return;
        }
        if run.wake.is_some_and(|wake| wake <= self.now) {
            choices.push(Choice::Tick(machine));
        }
        if !run.jobs.is_empty() {
            choices.push(Choice::Ledger(machine));
        }
        match &run.work {
            None => {}
            Some(Work::Open | Work::List { .. } | Work::Look { .. }) => {
                choices.push(Choice::Answer(machine));
            }
            Some(Work::Send {
                request,
                until,
                deaf,
                ..
            }) => {
                let request = self.service.find(*request);
                let answered = request.is_some_and(|request| {
                    request.stored.is_some() || self.now <= request.accept_by
                });
                if answered && !deaf {
                    choices.push(Choice::Answer(machine));
                }
                if *until <= self.now {
                    choices.push(Choice::GiveUp(machine));
                }
            }
        }
    }

    /// What may go wrong with a run.
    fn troubles(&self, machine: usize, run: &Run, choices: &mut Vec<Choice>) {
        if self.left.kills > 0 {
            choices.push(Choice::Kill(machine));
        }
        if run.frozen_until.is_some_and(|until| self.now < until) {
            if let Some(Job::Push(id)) = run.jobs.front()
                && self.remote.takes(id)
            {
                choices.push(Choice::LandsUnheard(machine));
            }
            return;
        }
        if self.left.stops > 0 && !run.core.is_stopping() {
            choices.push(Choice::Stop(machine));
        }
        if self.left.faults == 0 {
            return;
        }
        let can = |fault: Fault| self.scenario.can(fault);
        let waits = !run.jobs.is_empty() || run.work.is_some();
        for (fault, duration) in [(Fault::Stalls, STALL), (Fault::Sleeps, SLEEP)] {
            if waits && can(fault) {
                choices.push(Choice::Freeze(machine, duration));
            }
        }
        let ledger = match run.jobs.front() {
            None | Some(Job::Landed(_)) => None,
            Some(Job::Read) => Some(Fault::ReadFails),
            Some(Job::Push(_)) => Some(Fault::PushUnseen),
        };
        if ledger.is_some_and(can) {
            choices.push(Choice::LedgerFails(machine));
        }
        let service: &[Fault] = match &run.work {
            None => &[],
            Some(Work::Open) => &[Fault::OpenFails],
            Some(Work::List { .. }) => &[Fault::LookFails],
            Some(Work::Look { .. }) => &[Fault::LookFails, Fault::LookLags],
            Some(Work::Send { request, deaf, .. }) => {
                let request = self.service.find(*request);
                let stored = request.is_some_and(|request| request.stored.is_some());
                // Later than its quarantine a service does nothing any more, whatever it answers.
                let in_time = request.is_some_and(|request| self.now <= request.accept_by);
                if *deaf {
                    &[]
                } else if stored {
                    &[Fault::Unanswered]
                } else if !in_time {
                    &[
                        Fault::Unanswered,
                        Fault::ServerError,
                        Fault::NotSent,
                        Fault::Refused,
                        Fault::RateLimited,
                    ]
                } else {
                    &[
                        Fault::Unanswered,
                        Fault::ServerError,
                        Fault::NotSent,
                        Fault::Refused,
                        Fault::RateLimited,
                        Fault::RateLimitedStored,
                    ]
                }
            }
        };
        for fault in service {
            let news = *fault != Fault::LookLags
                || matches!(
                    &run.work,
                    Some(Work::Look {
                        lookup: Lookup::Found(_),
                        ..
                    })
                );
            if can(*fault) && news {
                choices.push(Choice::ServiceFails(machine, *fault));
            }
        }
    }

    /// When something is due next.
    pub(super) fn next_moment(&self, busy: bool) -> Option<Timestamp> {
        let mut next: Option<Timestamp> = None;
        let mut add = |at: Timestamp| {
            if at > self.now {
                next = Some(next.map_or(at, |next| next.min(at)));
            }
        };
        for run in self.runs.iter().flatten() {
            if let Some(until) = run.frozen_until.filter(|until| self.now < *until) {
                add(until);
                continue;
            }
            run.wake.into_iter().for_each(&mut add);
            if let Some(Work::Send { until, deaf, .. }) = &run.work
                && (*deaf || busy)
            {
                add(*until);
            }
        }
        next
    }
}
