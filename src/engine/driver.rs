//! The one loop that acts: it feeds the core with what happened and hands out what it asks for.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::channel::Channel;
use crate::clock::Clock;
use crate::ledger::Store;
use crate::model::ids::ChannelName;
use crate::model::notice::Notice;
use crate::model::time::Timestamp;

use super::action::{Action, Event};
use super::core::Core;
use super::ending::Ending;
use super::liveness::Scout;
use super::worker::Crew;

/// Longest time between two looks at the clock: a timer stops while a laptop sleeps, the wall clock does not.
const LOOK_UP: Duration = Duration::from_millis(500);
/// Shorter waits are not worth a line.
const WAIT_WORTH_TELLING: Duration = Duration::from_secs(1);

/// Where stop requests come from and go to.
#[derive(Debug)]
pub struct Line {
    sender: Sender<Event>,
    receiver: Receiver<Event>,
}

/// Asks a run to stop.
#[derive(Clone, Debug)]
pub struct Stopper(Sender<Event>);

impl Stopper {
    /// Asks the run to start nothing new, save what is known, and leave.
    pub fn stop(&self) {
        // A run that is over does not listen any more.
        drop(self.0.send(Event::Stop));
    }
}

impl Line {
    /// Makes the line of one run.
    pub fn new() -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver }
    }

    /// Returns a handle that a signal's thread can keep.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.sender.clone())
    }
}

impl Default for Line {
    fn default() -> Self {
        Self::new()
    }
}

/// How long a run took, in the clock's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// From beginning to end.
    pub elapsed: Duration,
    /// Of that, with nothing under way.
    pub waited: Duration,
}

/// What a run acts with.
pub struct Hands {
    /// The ledger.
    pub store: Box<dyn Store>,
    /// The services.
    pub channels: BTreeMap<ChannelName, Box<dyn Channel>>,
    /// Looks whether pages are online.
    pub scout: Box<dyn Scout>,
    /// Reads pictures.
    pub album: Arc<dyn Album>,
}

/// Where the pictures of articles come from.
pub trait Album: Send + Sync {
    /// Returns the picture at `url`, or says in plain words why it can't be had. Blocks for a few seconds at most.
    fn picture(&self, url: &str) -> Result<Vec<u8>, String>;
}

impl std::fmt::Debug for Hands {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Hands")
            .field("channels", &self.channels.keys())
            .finish_non_exhaustive()
    }
}

/// Runs `core` to its end.
pub fn drive(
    mut core: Core,
    hands: Hands,
    clock: &Arc<dyn Clock>,
    line: Line,
    tell: &mut dyn FnMut(&Notice),
) -> (Ending, Taken) {
    let Line { sender, receiver } = line;
    // On this thread, because the committer may hang in a push just when the journal is needed.
    let mut journal = hands.store.journal_writer();
    let crew = Crew::start(hands, clock, &sender);
    let started = clock.elapsed();
    let mut waited = Duration::ZERO;
    let mut told_until = None;
    let mut events = VecDeque::from([Event::Tick]);
    loop {
        let event = events.pop_front().unwrap_or_else(|| {
            let (before, waits) = (clock.elapsed(), core.is_waiting());
            let event = next_event(&core, clock, &receiver, &mut told_until, tell);
            if waits {
                waited += clock.elapsed().saturating_sub(before);
            }
            event
        });
        for action in core.step(clock.now(), event) {
            match action {
                Action::Tell(notice) => tell(&notice),
                Action::Journal(rows) => {
                    let written = journal.write(&rows).map_err(|error| error.in_full());
                    events.push_back(Event::Journaled(written));
                }
                // Not left to a thread that the end of the run would cut off. What stays is merged once more by the
                // next run, which changes nothing.
                Action::ForgetJournal(rows) => drop(journal.clear(&rows)),
                Action::ReadLedger
                | Action::SeeCheckout
                | Action::Push(_)
                | Action::PushAgain(_)
                | Action::Open(_)
                | Action::List(..)
                | Action::Prepare(..)
                | Action::Send(..)
                | Action::Look(..)
                | Action::CheckLive(..) => crew.hand(action),
            }
        }
        if events.is_empty() && core.is_finished(clock.now()) {
            break;
        }
    }
    let elapsed = clock.elapsed().saturating_sub(started);
    (core.ending(clock.now()), Taken { elapsed, waited })
}

/// Waits for an answer, or until the core wants to be asked again.
fn next_event(
    core: &Core,
    clock: &Arc<dyn Clock>,
    receiver: &Receiver<Event>,
    told_until: &mut Option<Timestamp>,
    tell: &mut dyn FnMut(&Notice),
) -> Event {
    let now = clock.now();
    let wake = core.wake_at(now);
    if let Some((until, what)) = wake.as_ref().filter(|_| core.is_waiting()) {
        let duration = until.since(now);
        // The same wait is told once, however often the clock is looked at.
        if clock.real(duration) >= WAIT_WORTH_TELLING && *told_until != Some(*until) {
            *told_until = Some(*until);
            tell(&Notice::Waiting {
                what: what.clone(),
                until: *until,
                duration,
            });
        }
    }
    let wait = wake.map_or(LOOK_UP, |(until, _)| clock.real(until.since(now)));
    // Rounded up, so that the clock has moved when the core is asked again.
    let wait = (wait + Duration::from_micros(200)).min(LOOK_UP);
    match receiver.recv_timeout(wait) {
        Ok(event) => event,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Event::Tick,
    }
}
