//! The threads that act: one for the ledger, one for each channel. Each does one thing at a time.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::channel::Channel;
use crate::clock::Clock;
use crate::ledger::Store;
use crate::model::claim::{Claim, PushedClaim};
use crate::model::delivery::Operation;
use crate::model::ids::ChannelName;
use crate::model::media::Prepared;
use crate::model::outcome::{Listing, Lookup, Opening, Outcome, Trouble};
use crate::model::row::DeliveryId;

use super::action::{Action, Event, ReadFailure};
use super::driver::{Album, Hands};
use super::liveness::Scout;

/// A fault of ours in an adapter says nothing about what the service did.
const PANICKED: &str = "the adapter failed on the answer (a fault of this program)";

/// The threads of one run. When it is dropped, they end after what they are doing.
#[derive(Debug)]
pub(super) struct Crew {
    committer: Sender<Action>,
    scout: Sender<Action>,
    workers: BTreeMap<ChannelName, Sender<Action>>,
}

impl Crew {
    pub(super) fn start(hands: Hands, clock: &Arc<dyn Clock>, events: &Sender<Event>) -> Self {
        let Hands {
            store,
            channels,
            scout,
            album,
        } = hands;
        let (committer, jobs) = channel();
        let answers = events.clone();
        drop(thread::spawn(move || commit(store, &jobs, &answers)));
        let (scouting, jobs) = channel();
        let answers = events.clone();
        drop(thread::spawn(move || look_around(scout, &jobs, &answers)));
        let workers = channels
            .into_iter()
            .map(|(name, service)| {
                let (worker, jobs) = channel();
                let (answers, clock) = (events.clone(), Arc::clone(clock));
                let album = Arc::clone(&album);
                drop(thread::spawn(move || {
                    serve(service, &*album, &jobs, &answers, &clock);
                }));
                (name, worker)
            })
            .collect();
        Self {
            committer,
            scout: scouting,
            workers,
        }
    }

    /// Hands an action to the thread that does it. An action for a thread that is gone is lost; its panic was told.
    pub(super) fn hand(&self, action: Action) {
        let thread = match &action {
            Action::ReadLedger | Action::SeeCheckout | Action::Push(_) | Action::PushAgain(_) => {
                Some(&self.committer)
            }
            Action::Open(name)
            | Action::List(name, _)
            | Action::Send(name, _)
            | Action::Look(name, _) => self.workers.get(name),
            Action::Prepare(delivery, _) => self.workers.get(&delivery.channel),
            Action::CheckLive(..) => Some(&self.scout),
            Action::Journal(_) | Action::ForgetJournal(_) | Action::Tell(_) => None,
        };
        if let Some(thread) = thread {
            drop(thread.send(action));
        }
    }
}

fn commit(mut store: Box<dyn Store>, jobs: &Receiver<Action>, events: &Sender<Event>) {
    for job in jobs {
        let event = match job {
            Action::ReadLedger => {
                Event::LedgerRead(store.read().map(Box::new).map_err(|error| ReadFailure {
                    reason: error.in_full(),
                    lasting: error.lasting,
                }))
            }
            Action::SeeCheckout => Event::CheckoutSeen(store.behind().unwrap_or_else(|error| {
                Some(format!(
                    "whether this checkout is the newest commit can't be told: {}",
                    error.in_full()
                ))
            })),
            Action::Push(batch) => Event::Pushed(store.push(&batch)),
            Action::PushAgain(commit) => Event::Pushed(store.push_again(&commit)),
            Action::Open(_)
            | Action::List(..)
            | Action::Prepare(..)
            | Action::Send(..)
            | Action::Look(..)
            | Action::CheckLive(..)
            | Action::Journal(_)
            | Action::ForgetJournal(_)
            | Action::Tell(_) => continue,
        };
        if events.send(event).is_err() {
            return;
        }
    }
}

fn look_around(mut scout: Box<dyn Scout>, jobs: &Receiver<Action>, events: &Sender<Event>) {
    for job in jobs {
        if let Action::CheckLive(item, url) = job {
            let result = guarded(|| scout.check(&url)).unwrap_or_else(|| Err(PANICKED.to_owned()));
            if events.send(Event::Checked(item, result)).is_err() {
                return;
            }
        }
    }
}

fn serve(
    mut service: Box<dyn Channel>,
    album: &dyn Album,
    jobs: &Receiver<Action>,
    events: &Sender<Event>,
    clock: &Arc<dyn Clock>,
) {
    for job in jobs {
        let began_at = clock.now();
        let event = match job {
            Action::Open(channel) => Event::Opened {
                channel,
                opening: guarded(|| service.open()).unwrap_or_else(|| Opening::Closed {
                    trouble: Trouble::Unreachable,
                    reason: PANICKED.to_owned(),
                }),
            },
            Action::List(channel, since) => Event::Listed {
                channel,
                began_at,
                listing: guarded(|| service.recent(since)).unwrap_or_else(|| Listing::CannotTell {
                    reason: PANICKED.to_owned(),
                }),
            },
            Action::Prepare(delivery, wants) => {
                let prepared = guarded(|| {
                    let wishes = wants.pictures.iter();
                    let pictures = wishes.map(|wish| album.picture(&wish.url)).collect();
                    service.prepare(&wants, pictures)
                });
                let prepared = prepared.unwrap_or_else(|| Prepared {
                    notes: vec![format!(
                        "its pictures and mentions are left out: {PANICKED}"
                    )],
                    ..Prepared::default()
                });
                Event::Prepared(delivery, prepared)
            }
            Action::Send(channel, claims) => Event::Sent {
                channel,
                tokens: claims
                    .iter()
                    .map(|pushed| pushed.claim().token.clone())
                    .collect(),
                outcome: guarded(|| send(&mut *service, &claims)).unwrap_or_else(|| {
                    Outcome::InDoubt {
                        reason: PANICKED.to_owned(),
                    }
                }),
            },
            Action::Look(channel, claim) => Event::Looked {
                delivery: DeliveryId {
                    item: claim.item.clone(),
                    channel,
                },
                operation: claim.operation,
                began_at,
                lookup: guarded(|| look(&mut *service, &claim)).unwrap_or_else(|| {
                    Lookup::CannotTell {
                        reason: PANICKED.to_owned(),
                    }
                }),
            },
            Action::ReadLedger
            | Action::SeeCheckout
            | Action::Push(_)
            | Action::PushAgain(_)
            | Action::Journal(_)
            | Action::ForgetJournal(_)
            | Action::CheckLive(..)
            | Action::Tell(_) => continue,
        };
        if events.send(event).is_err() {
            return;
        }
    }
}

/// What changes or takes down a post goes alone. Only notices go in batches, and an edit is a notice like any other.
fn send(service: &mut dyn Channel, claims: &[PushedClaim]) -> Outcome {
    match claims {
        [claim] => match claim.claim().operation {
            Operation::Publish => service.publish(claims),
            Operation::Update(_) => service.update(claim),
            Operation::Retract => service.retract(claim),
        },
        claims => service.publish(claims),
    }
}

fn look(service: &mut dyn Channel, claim: &Claim) -> Lookup {
    match claim.operation {
        Operation::Publish => service.lookup(claim),
        Operation::Update(_) | Operation::Retract => service.effect(claim),
    }
}

/// A panic in an adapter is caught at the thread's edge: what was sent stays in doubt, the rest goes on.
fn guarded<T>(call: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(call)).ok()
}
