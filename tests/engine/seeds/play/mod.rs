//! Plays one history. It names nothing of the tests around it, so that the crate's own tests can play the same ones with a
//! rule of the protocol broken.

mod draw;
mod history;
mod people;
mod verdict;
mod worlds;

use std::time::Duration;

use self::history::History;
pub(crate) use self::worlds::Worlds;

/// Plays the history of a seed. Returns what it met, or what was wrong.
pub(crate) fn play(seed: u64, worlds: &Worlds) -> Result<Met, String> {
    let mut history = History::draw(seed, worlds.of_seed(seed));
    history.play()?;
    Ok(history.met)
}

/// Plays the history of a seed and writes down every action of every run.
pub(crate) fn play_aloud(seed: u64, worlds: &Worlds) -> (Result<Met, String>, Vec<String>) {
    let mut history = History::draw(seed, worlds.of_seed(seed));
    history.world.trace = Some(Vec::new());
    let came = history.play();
    let trace = history.world.trace.take().unwrap_or_default();
    (came.map(|()| history.met), trace)
}

/// What histories met, so that a run of many can tell whether it tried anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Met {
    pub(crate) runs: usize,
    pub(crate) kills: usize,
    pub(crate) stops: usize,
    /// Runs that stood still for a while.
    pub(crate) stalls: usize,
    /// Runs on a machine whose clock was wrong.
    pub(crate) skews: usize,
    /// Claims beyond the first of a delivery.
    pub(crate) repeats: usize,
    pub(crate) read_back: usize,
    pub(crate) merged_journals: usize,
    pub(crate) moves: usize,
    /// Answers that said "refused" to what was stored.
    pub(crate) lies: usize,
    /// What people decided with a command.
    pub(crate) decisions: usize,
    /// What people did to the ledger past the program.
    pub(crate) edits: usize,
    /// How often a branch was reset, or a row removed or set back.
    pub(crate) rewinds: usize,
    /// Histories in which a service took longer than its quarantine.
    pub(crate) broken: usize,
    /// Second posts that came of that, each of which is in the ledger.
    pub(crate) duplicates_seen: usize,
    pub(crate) held: usize,
    /// Posts that were changed, and that were taken down, as they stand at the end.
    pub(crate) changes: usize,
    pub(crate) retractions: usize,
    pub(crate) longest: Duration,
}

impl Met {
    pub(crate) fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.kills += other.kills;
        self.stops += other.stops;
        self.stalls += other.stalls;
        self.skews += other.skews;
        self.repeats += other.repeats;
        self.read_back += other.read_back;
        self.merged_journals += other.merged_journals;
        self.moves += other.moves;
        self.lies += other.lies;
        self.decisions += other.decisions;
        self.edits += other.edits;
        self.rewinds += other.rewinds;
        self.broken += other.broken;
        self.duplicates_seen += other.duplicates_seen;
        self.held += other.held;
        self.changes += other.changes;
        self.retractions += other.retractions;
        self.longest = self.longest.max(other.longest);
    }
}
