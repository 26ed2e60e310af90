//! One run in the world: the real engine, and the answers that are on their way to it.

use std::collections::BTreeMap;

use sayonce::engine::action::{Action, Event};
use sayonce::engine::core::Core;
use sayonce::engine::ending::Ending;
use sayonce::ledger::{CommitId, PushReport};
use sayonce::model::notice::Notice;
use sayonce::model::row::Row;
use sayonce::model::time::Timestamp;

/// One run.
pub(crate) struct Run {
    pub(super) core: Core,
    queue: BTreeMap<(Timestamp, u64), Event>,
    queued: u64,
    /// When it wants to go on by itself, as it said at its last step.
    wakes_at: Option<Timestamp>,
    pub(crate) actions_done: usize,
    /// After so many actions it is dead.
    pub(crate) lives: usize,
    pub(crate) notices: Vec<Notice>,
    /// What is in the journal on its disk.
    pub(crate) journal: Vec<Row>,
    /// How far its machine's clock is ahead of the world's, in milliseconds.
    pub(crate) clock_ahead_ms: i64,
    /// Between these moments it does nothing, though what it sent out goes on.
    pub(crate) stands_still: Vec<(Timestamp, Timestamp)>,
    /// Where it saw the witness when it last read or wrote the ledger.
    pub(super) witness: Option<CommitId>,
    /// How many requests it sent.
    pub(crate) sends: usize,
    pub(crate) number: u32,
}

impl Run {
    pub(super) fn new(core: Core, journal: Vec<Row>, now: Timestamp, number: u32) -> Self {
        let mut run = Self {
            core,
            queue: BTreeMap::new(),
            queued: 0,
            wakes_at: None,
            actions_done: 0,
            lives: usize::MAX,
            notices: Vec::new(),
            journal,
            clock_ahead_ms: 0,
            stands_still: Vec::new(),
            witness: None,
            sends: 0,
            number,
        };
        run.put(now, Event::Tick);
        run
    }

    /// Asks the run to stop at a moment.
    pub(crate) fn stop(&mut self, at: Timestamp) {
        self.queue.insert((at, 0), Event::Stop);
    }

    /// Whether it was killed.
    pub(crate) fn is_dead(&self) -> bool {
        self.actions_done >= self.lives
    }

    pub(super) fn put(&mut self, at: Timestamp, event: Event) {
        self.queued += 1;
        self.queue.insert((at, self.queued), event);
    }

    /// Returns when the run goes on; none when it has ended or is dead.
    pub(super) fn next_at(&self, now: Timestamp) -> Option<Timestamp> {
        let clock = self.clock(now);
        if self.is_dead() || (self.actions_done > 0 && self.core.is_finished(clock)) {
            return None;
        }
        let answer = self.queue.keys().next().map(|(at, _)| *at);
        let at = answer.into_iter().chain(self.wakes_at).min()?.max(now);
        let still = self.stands_still.iter();
        let until = still.filter(|(from, to)| *from <= at && at < *to);
        Some(until.map(|(_, to)| *to).max().unwrap_or(at))
    }

    /// What its machine takes for the time.
    pub(crate) fn clock(&self, now: Timestamp) -> Timestamp {
        Timestamp::from_millis(now.as_millis() + self.clock_ahead_ms)
    }

    /// How its run ended, or stands.
    pub(crate) fn ending(&self, now: Timestamp) -> Ending {
        self.core.ending(self.clock(now))
    }

    /// Gives the engine its next event and returns what it asks for.
    pub(super) fn step(&mut self, now: Timestamp) -> Vec<Action> {
        let event = self.take(now);
        let clock = self.clock(now);
        let actions = self.core.step(clock, event);
        let ahead = self.clock_ahead_ms;
        let wakes_at = self.core.wake_at(clock).map(|(at, _)| at);
        self.wakes_at = wakes_at.map(|at| Timestamp::from_millis(at.as_millis() - ahead));
        actions
    }

    /// A push that landed moved the witness as well.
    pub(super) fn witness_moved(&mut self, report: &PushReport) {
        if let PushReport::Landed { commit, .. } = report {
            self.witness = Some(commit.clone());
        }
    }

    /// Takes the answer that is due, or just the time.
    fn take(&mut self, now: Timestamp) -> Event {
        match self.queue.first_entry() {
            Some(entry) if entry.key().0 <= now => entry.remove(),
            Some(_) | None => Event::Tick,
        }
    }
}
