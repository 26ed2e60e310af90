//! One run in the world: the real engine, and the answers that are on their way to it.

use std::collections::BTreeMap;

use sayonce::engine::action::{Action, Event};
use sayonce::engine::core::Core;
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
}

impl Run {
    pub(super) fn new(core: Core, journal: Vec<Row>, now: Timestamp) -> Self {
        let mut run = Self {
            core,
            queue: BTreeMap::new(),
            queued: 0,
            wakes_at: None,
            actions_done: 0,
            lives: usize::MAX,
            notices: Vec::new(),
            journal,
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
        if self.is_dead() || (self.actions_done > 0 && self.core.is_finished(now)) {
            return None;
        }
        let answer = self.queue.keys().next().map(|(at, _)| *at);
        answer.into_iter().chain(self.wakes_at).min()
    }

    /// Gives the engine its next event and returns what it asks for.
    pub(super) fn step(&mut self, now: Timestamp) -> Vec<Action> {
        let event = self.take(now);
        let actions = self.core.step(now, event);
        self.wakes_at = self.core.wake_at(now).map(|(at, _)| at);
        actions
    }

    /// Takes the answer that is due, or just the time.
    fn take(&mut self, now: Timestamp) -> Event {
        match self.queue.first_entry() {
            Some(entry) if entry.key().0 <= now => entry.remove(),
            Some(_) | None => Event::Tick,
        }
    }
}
