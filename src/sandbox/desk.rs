//! The desk of one stand-in: takes requests one at a time, counts writes, carries out fault orders, and writes
//! everything down before it answers.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::fault::Fault;
use super::journal::{
    Answered, Entry, Journal, JournalError, Line, LoggedRequest, WireStatus, WireWord,
};
use super::message::{Reply, Request, Unreadable};
use super::server::Handler;
use super::service::{Checks, Failure, SandboxPost, Service};
use crate::clock::Clock;
use crate::model::ids::ChannelName;
use crate::model::time::Timestamp;

/// What the sandbox asks of a desk, whatever its service.
pub(crate) trait Desk: Handler {
    /// Every post that stands.
    fn posts(&self) -> Vec<SandboxPost>;
    /// Every request, in the order in which they came in.
    fn requests(&self) -> Vec<LoggedRequest>;
    /// How many writes came in.
    fn writes(&self) -> usize;
    /// Waits until no slow write is open.
    fn settle(&self);
}

/// A stand-in's past, as its file has it.
pub(crate) struct Past<E> {
    journal: Journal,
    lines: Vec<Line<E>>,
}

impl<E: serde::de::DeserializeOwned> Past<E> {
    /// Reads the past of a channel; without a directory there is none.
    pub(crate) fn read(
        directory: Option<&Path>,
        channel: &ChannelName,
    ) -> Result<Self, JournalError> {
        let (journal, lines) = match directory {
            Some(directory) => Journal::open(directory, channel)?,
            None => (Journal::default(), Vec::new()),
        };
        Ok(Self { journal, lines })
    }

    /// Returns the port that was open last.
    pub(crate) fn port(&self) -> Option<u16> {
        self.lines.iter().rev().find_map(|line| match line {
            Line::Port { port, .. } => Some(*port),
            Line::Slow { .. } | Line::Request(_) => None,
        })
    }
}

/// The desk of a service.
pub(crate) struct Counter<S: Service> {
    channel: ChannelName,
    clock: Arc<dyn Clock>,
    faults: BTreeMap<usize, Fault>,
    state: Mutex<State<S>>,
    /// Told whenever a slow write is done with.
    done: Condvar,
}

struct State<S: Service> {
    service: S,
    journal: Journal,
    log: Vec<LoggedRequest>,
    writes: usize,
    slow: BTreeMap<usize, Slow>,
}

/// A write that a slow service has not stored yet.
#[derive(Clone)]
struct Slow {
    at: Timestamp,
    due: Timestamp,
    checks: Checks,
    request: Request,
}

/// What the client of one request gets to see.
enum Ending {
    /// This reply.
    Reply(Reply),
    /// A closed connection.
    Cut,
    /// Nothing ever again.
    Kill,
}

impl<S: Service> Counter<S> {
    /// Sets up the desk and replays its past. Slow writes that a kill of this process interrupted go on: the
    /// real service would not have died with its client.
    pub(crate) fn start(
        channel: &ChannelName,
        clock: &Arc<dyn Clock>,
        faults: BTreeMap<usize, Fault>,
        (service, past, port): (S, Past<S::Effect>, u16),
    ) -> io::Result<Arc<Self>> {
        let mut state = State {
            service,
            journal: past.journal,
            log: Vec::new(),
            writes: 0,
            slow: BTreeMap::new(),
        };
        for line in past.lines {
            state.take(channel, line);
        }
        state.record(
            channel,
            Line::Port {
                at: clock.now(),
                port,
            },
        )?;
        let open: Vec<_> = state.slow.clone().into_iter().collect();
        let desk = Arc::new(Self {
            channel: channel.clone(),
            clock: Arc::clone(clock),
            faults,
            state: Mutex::new(state),
            done: Condvar::new(),
        });
        for (number, slow) in open {
            let desk = Arc::clone(&desk);
            thread::Builder::new().spawn(move || {
                desk.clock.sleep(slow.due.since(desk.clock.now()));
                // Whoever waited for this reply is gone.
                drop(desk.finish(number, &slow));
            })?;
        }
        Ok(desk)
    }

    fn lock(&self) -> MutexGuard<'_, State<S>> {
        // A panic in another connection leaves the state as it was: it changes by whole lines only.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deals with a request, from its number to its ending. `None` is a cut.
    fn deal(&self, request: &Request) -> Option<Reply> {
        let mut state = self.lock();
        let now = self.clock.now();
        let number = if S::is_write(request) {
            state.writes + 1
        } else {
            0
        };
        // Reads have the number 0, which no order can name.
        let fault = self.faults.get(&number).copied();
        let (ending, effects) = match fault {
            None => {
                let answer = state.service.answer(request, now, Checks::Due);
                (Ending::Reply(answer.reply), answer.effects)
            }
            Some(Fault::Slow(delay)) => return self.deal_slowly(state, number, request, delay),
            Some(Fault::LostAnswer) => (Ending::Cut, state.effects(request, now)),
            Some(Fault::LostRequest) => (Ending::Cut, Vec::new()),
            Some(Fault::Status {
                code,
                retry_after,
                stored,
            }) => {
                let failure = Failure { code, retry_after };
                let effects = if stored {
                    state.effects(request, now)
                } else {
                    Vec::new()
                };
                (Ending::Reply(state.service.fail(failure, now)), effects)
            }
            Some(Fault::Kill) => (Ending::Kill, state.effects(request, now)),
            Some(Fault::KillBefore) => (Ending::Kill, Vec::new()),
        };
        let entry = Entry {
            at: now,
            done_at: now,
            number,
            method: request.method.clone(),
            path: request.path.clone(),
            query: request.query.clone(),
            key: S::key(request),
            status: ending.status(),
            stored: effects,
        };
        // What can't be written down did not happen: the client gets no answer either.
        let recorded = state.record(&self.channel, Line::Request(entry));
        match ending {
            Ending::Kill => kill_self(),
            Ending::Reply(reply) => recorded.is_ok().then_some(reply),
            Ending::Cut => None,
        }
    }

    fn deal_slowly(
        &self,
        mut state: MutexGuard<'_, State<S>>,
        number: usize,
        request: &Request,
        delay: Duration,
    ) -> Option<Reply> {
        let at = self.clock.now();
        // What an earlier post decides (a key that is known, a title that was just used) is decided on arrival,
        // so that a repeat that overtakes this request makes a second post, as it did at real services.
        let early = state.service.answer(request, at, Checks::Due);
        let slow = Slow {
            at,
            due: at.plus(delay),
            checks: if early.effects.is_empty() {
                Checks::Due
            } else {
                Checks::Passed
            },
            request: request.clone(),
        };
        let line = Line::Slow {
            at,
            due: slow.due,
            number,
            key: S::key(request),
            checks: slow.checks,
            request: request.clone(),
        };
        state.record(&self.channel, line).ok()?;
        drop(state);
        self.clock.sleep(delay);
        self.finish(number, &slow)
    }

    /// Stores a slow write at the end of its delay.
    fn finish(&self, number: usize, slow: &Slow) -> Option<Reply> {
        let mut state = self.lock();
        let now = self.clock.now();
        let answer = state.service.answer(&slow.request, now, slow.checks);
        let entry = Entry {
            at: slow.at,
            done_at: now,
            number,
            method: slow.request.method.clone(),
            path: slow.request.path.clone(),
            query: slow.request.query.clone(),
            key: S::key(&slow.request),
            status: WireStatus::Code(answer.reply.status),
            stored: answer.effects,
        };
        let recorded = state.record(&self.channel, Line::Request(entry));
        // Also if it could not be written down: nobody must wait for it for ever.
        state.slow.remove(&number);
        drop(state);
        self.done.notify_all();
        recorded.is_ok().then_some(answer.reply)
    }
}

impl Ending {
    fn status(&self) -> WireStatus {
        match self {
            Self::Reply(reply) => WireStatus::Code(reply.status),
            Self::Cut | Self::Kill => WireStatus::Word(WireWord::Cut),
        }
    }
}

impl<S: Service> State<S> {
    fn effects(&self, request: &Request, now: Timestamp) -> Vec<S::Effect> {
        self.service.answer(request, now, Checks::Due).effects
    }

    /// Writes a line down, then takes it on.
    fn record(&mut self, channel: &ChannelName, line: Line<S::Effect>) -> io::Result<()> {
        self.journal.append(&line)?;
        self.take(channel, line);
        Ok(())
    }

    fn take(&mut self, channel: &ChannelName, line: Line<S::Effect>) {
        match line {
            Line::Port { .. } => {}
            Line::Slow {
                at,
                due,
                number,
                key,
                checks,
                request,
            } => {
                self.writes = self.writes.max(number);
                self.log.push(LoggedRequest {
                    channel: channel.clone(),
                    number,
                    method: request.method.clone(),
                    path: request.path.clone(),
                    query: request.query.clone(),
                    answered: Answered::Open,
                    key,
                    at,
                });
                self.slow.insert(
                    number,
                    Slow {
                        at,
                        due,
                        checks,
                        request,
                    },
                );
            }
            Line::Request(entry) => {
                self.writes = self.writes.max(entry.number);
                for effect in entry.stored {
                    self.service.apply(effect);
                }
                let logged = LoggedRequest {
                    channel: channel.clone(),
                    number: entry.number,
                    method: entry.method,
                    path: entry.path,
                    query: entry.query,
                    answered: entry.status.into(),
                    key: entry.key,
                    at: entry.at,
                };
                let was_slow = self.slow.remove(&entry.number).is_some();
                let place = self
                    .log
                    .iter_mut()
                    .find(|earlier| was_slow && earlier.number == logged.number);
                match place {
                    Some(place) => *place = logged,
                    None => self.log.push(logged),
                }
            }
        }
    }
}

impl<S: Service> Handler for Counter<S> {
    fn handle(&self, request: &Request) -> Option<Reply> {
        self.deal(request)
    }

    fn refuse(&self, unreadable: Unreadable) -> Option<Reply> {
        let code = match unreadable {
            Unreadable::Gone => return None,
            Unreadable::Malformed => 400,
            Unreadable::HeadTooLong => 431,
            Unreadable::BodyTooLong => 413,
        };
        let failure = Failure {
            code,
            retry_after: None,
        };
        Some(self.lock().service.fail(failure, self.clock.now()))
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

impl<S: Service> Desk for Counter<S> {
    fn posts(&self) -> Vec<SandboxPost> {
        self.lock().service.posts()
    }

    fn requests(&self) -> Vec<LoggedRequest> {
        self.lock().log.clone()
    }

    fn writes(&self) -> usize {
        self.lock().writes
    }

    fn settle(&self) {
        let mut state = self.lock();
        while !state.slow.is_empty() {
            state = self
                .done
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Dies as a machine that is switched off does: no destructor, no flush, no signal handler.
fn kill_self() -> ! {
    #[cfg(unix)]
    drop(signal_hook::low_level::raise(
        signal_hook::consts::signal::SIGKILL,
    ));
    std::process::abort()
}
