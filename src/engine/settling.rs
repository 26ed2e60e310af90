//! From what a channel said to what the ledger holds.

use std::sync::Arc;

use crate::config::ChannelConfig;
use crate::exit::Exit;
use crate::model::channel::Policy;
use crate::model::delivery::{self, Counts, Finding, LookupRecord, Operation, Record};
use crate::model::ids::{ChannelName, Token};
use crate::model::mutant::{Mutant, on};
use crate::model::notice::Notice;
use crate::model::outcome::{
    Evidence, Listing, Lookup, Opening, Outcome, Refusal, Remote, SeenPost, Trouble, Wait,
};
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;
use crate::plan::alarms::{account_changed, adopted, twice};
use crate::plan::read_back::{gone, read_back};
use crate::plan::survey::Verdict;

use super::backoff::backoff;
use super::core::Core;
use super::desk::{DOUBTS_MAX, Desk, FAILURES_MAX, Phase};
use super::matching::{Seen, edition_since, seen, surplus};
use super::outbox::Sort;

/// The longest that a service is known to remember what it answered to a key.
const MEMORY_OF_KEYS_MAX: std::time::Duration = std::time::Duration::from_hours(6);

impl Core {
    /// Takes the answer to a login.
    pub(super) fn opened(&mut self, now: Timestamp, name: &ChannelName, opening: Opening) {
        let Some(desk) = self.desks.get_mut(name) else {
            return;
        };
        desk.is_working = false;
        match opening {
            Opening::Ready(session) => {
                let skew = session
                    .clock_skew
                    .filter(|skew| *skew > self.setup.limits.clock_skew);
                let account = session.account.clone();
                desk.phase = Phase::Open(session);
                if let (Some(skew), None) = (skew, self.skewed) {
                    self.skewed = Some(skew);
                    self.tell(Notice::Warning(format!(
                        "this machine's clock and {name}'s are {} apart: claims of other runs are not taken over in this run",
                        crate::model::time::duration_text(skew)
                    )));
                }
                let rows = self.outbox.rows();
                let changed = account_changed(rows.values().copied(), name, &account);
                self.alarm(changed);
            }
            Opening::Closed {
                trouble: Trouble::Credentials,
                reason,
            } => {
                let reason = format!("{name} refuses the credentials: {reason}");
                self.close(name, reason, Exit::NeedsPerson);
            }
            Opening::Closed {
                trouble: Trouble::Unreachable,
                reason,
            } => self.failed(now, name, None, &reason),
            Opening::Closed {
                trouble: Trouble::RateLimited(wait),
                reason,
            } => {
                self.failed(now, name, wait, &reason);
                // The runs that follow are told: a login that is refused may count as well.
                if let Some(desk) = self.desks.get_mut(name).filter(|_| wait.is_some()) {
                    desk.asked_until = desk.not_before;
                }
            }
        }
    }

    /// Takes a failure to reach a channel that sent nothing.
    pub(super) fn failed(
        &mut self,
        now: Timestamp,
        name: &ChannelName,
        wait: Option<Wait>,
        reason: &str,
    ) {
        let Some(desk) = self.desks.get_mut(name) else {
            return;
        };
        desk.failures += 1;
        desk.not_before =
            Some(wait.map_or_else(|| now.plus(backoff(desk.failures)), |wait| until(wait, now)));
        if desk.failures >= FAILURES_MAX {
            self.close(
                name,
                format!("{name} can't be reached: {reason}"),
                Exit::WorkRemains,
            );
        } else {
            self.tell(Notice::Warning(format!("{name}: {reason}")));
        }
    }

    /// Takes a rate limit: the whole channel rests, and later runs are told.
    fn limited(&mut self, now: Timestamp, name: &ChannelName, wait: Option<Wait>, reason: &str) {
        let Some(desk) = self.desks.get_mut(name) else {
            return;
        };
        desk.limits += 1;
        let rest = limit_end(now, wait, desk.limits);
        desk.not_before = Some(rest);
        desk.asked_until = Some(rest);
        if desk.limits >= FAILURES_MAX {
            let reason =
                format!("{name} refused {FAILURES_MAX} requests in a row as too many: {reason}");
            self.close(name, reason, Exit::WorkRemains);
        }
    }

    /// Takes the account's recent posts: what is there already is adopted, not posted.
    pub(super) fn listed(
        &mut self,
        now: Timestamp,
        name: &ChannelName,
        began_at: Timestamp,
        listing: Listing,
    ) {
        let Some(desk) = self.desks.get_mut(name) else {
            return;
        };
        desk.is_working = false;
        let posts = match listing {
            Listing::Posts(posts) => posts,
            Listing::CannotTell { reason } => {
                // The one before it, if there is one, says no more than it did.
                desk.list_is_old = true;
                self.failed(
                    now,
                    name,
                    None,
                    &format!("its recent posts can't be read: {reason}"),
                );
                return;
            }
        };
        desk.listed_at = Some(began_at);
        self.note_surplus(now, name, &posts);
        let Some(survey) = &self.survey else { return };
        // What is on its way to the remote (an earlier run's outcome from the journal) is not compared now, so it is not
        // sent before the list is read once more.
        let mut on_their_way = survey.deliveries.iter().filter(|surveyed| {
            let record = self.outbox.row(&surveyed.id).and_then(Row::record);
            surveyed.id.channel == *name
                && self.outbox.is_unsettled(&surveyed.id)
                && record.is_some_and(|record| record.state == delivery::State::Retry)
        });
        let is_old = on_their_way.next().is_some();
        if let Some(desk) = self.desks.get_mut(name) {
            desk.list_is_old |= is_old;
        }
        let pending: Vec<_> = survey
            .deliveries
            .iter()
            .filter(|surveyed| surveyed.id.channel == *name && surveyed.verdict == Verdict::InPlay)
            .filter(|surveyed| !self.outbox.is_unsettled(&surveyed.id))
            .filter(|surveyed| !self.is_of_another_account(&surveyed.id))
            .filter_map(|surveyed| {
                let record = self.outbox.row(&surveyed.id).and_then(Row::record);
                let announced = self
                    .outbox
                    .row(&surveyed.id)
                    .is_some_and(|row| row.current() != Operation::Publish);
                let open = !announced
                    && record.is_none_or(|record| record.state == delivery::State::Retry);
                let item = survey.items.get(&surveyed.id.item);
                let row = self.outbox.row(&surveyed.id);
                let url = item
                    .map(|item| item.canonical_url.clone())
                    .or_else(|| row.map(|row| row.canonical_url.clone()))?;
                let published =
                    item.map_or_else(|| row.and_then(|row| row.published), |item| item.published);
                let skew = self.setup.limits.clock_skew;
                let not_before =
                    published.max(record.and_then(|record| edition_since(record, skew)));
                open.then(|| (surveyed.id.clone(), url, not_before, record.cloned()))
            })
            .collect();
        let missing = self.missing(now, name, &posts);
        self.alarm(missing);
        for (id, url, not_before, record) in pending {
            // Times alone don't tell the editions apart: a person may be quick.
            let earlier = record.iter().flat_map(|record| &record.receipts);
            let earlier: Vec<&Remote> = earlier.map(|receipt| &receipt.remote).collect();
            let seen = seen(&posts, &url, not_before, &earlier);
            self.compare(now, &id, record.as_ref(), &seen);
        }
    }

    /// Returns what is done and not in the account's list, as far as that reaches back for sure: one that is cut, or not
    /// in the order of time, says nothing about older posts.
    fn missing(&self, now: Timestamp, name: &ChannelName, posts: &[SeenPost]) -> Vec<String> {
        let times: Vec<_> = posts.iter().map_while(|post| post.created_at).collect();
        let (true, Some(oldest), Some(session)) = (
            times.len() == posts.len() && times.is_sorted_by(|one, other| one >= other),
            times.last(),
            self.desks.get(name).and_then(Desk::session),
        ) else {
            return Vec::new();
        };
        let rows = self.outbox.rows();
        let settled = rows.values().copied().filter(|row| {
            let claim = row.publish().and_then(|record| record.claim.as_ref());
            // A list may lag behind as long as that.
            row.channel == *name && claim.is_some_and(|claim| claim.quiet_until < now)
        });
        let result = read_back(settled, &session.account, posts, *oldest);
        result
            .gone
            .iter()
            .map(|(id, remote)| gone(id, remote))
            .collect()
    }

    /// Takes something that somebody should look at.
    fn alarm(&mut self, sentences: impl IntoIterator<Item = String>) {
        for sentence in sentences {
            if !self.alarms.contains(&sentence) {
                self.alarms.push(sentence);
            }
        }
    }

    /// A request that took effect later than its service was given made a second post: it is told, and kept in the row.
    fn note_surplus(&mut self, now: Timestamp, name: &ChannelName, posts: &[SeenPost]) {
        let ids = self.survey.iter().flat_map(|survey| &survey.deliveries);
        let found: Vec<_> = ids
            .map(|surveyed| &surveyed.id)
            .filter(|id| id.channel == *name && !self.outbox.is_unsettled(id))
            .filter(|id| !self.is_of_another_account(id))
            .filter_map(|id| {
                let row = self.outbox.row(id)?;
                Some((id, row, row.publish()?))
            })
            .flat_map(|(id, row, record)| {
                surplus(posts, &row.canonical_url, record)
                    .into_iter()
                    .map(|second| (id.clone(), record.remote.clone(), second))
                    .collect::<Vec<_>>()
            })
            .collect();
        for (id, first, remote) in found {
            self.alarm([twice(&id, first.as_ref(), &remote)]);
            let event = delivery::Event::Proved {
                remote,
                evidence: Evidence::ReadBack,
                at: now,
            };
            self.record_of(&id, Operation::Publish, vec![event], Sort::Finding, true);
        }
    }

    fn compare(&mut self, now: Timestamp, id: &DeliveryId, record: Option<&Record>, seen: &Seen) {
        let event = match seen {
            Seen::No => return,
            Seen::Aside(what) => {
                self.tell(Notice::Plain(format!(
                    "{id}: {what}; it does not count as the announcement"
                )));
                return;
            }
            Seen::Once(remote) => {
                self.tell(Notice::Adopted {
                    delivery: id.clone(),
                    remote: remote.clone(),
                });
                self.alarms.push(adopted(id, remote));
                let attempted = record.is_some_and(|record| record.frozen);
                let evidence = if attempted {
                    Evidence::ReadBack
                } else {
                    Evidence::Adopted
                };
                delivery::Event::Proved {
                    remote: remote.clone(),
                    evidence,
                    at: now,
                }
            }
            Seen::Several(posts) => self.held(
                now,
                id,
                format!("{} posts of ours have its link", posts.len()),
            ),
            Seen::Draft(what) => self.held(now, id, what.clone()),
        };
        self.record(id, vec![event], Sort::Finding, true);
    }

    fn held(&mut self, now: Timestamp, id: &DeliveryId, reason: String) -> delivery::Event {
        self.tell(Notice::Held {
            delivery: id.clone(),
            reason: reason.clone(),
        });
        delivery::Event::Held { reason, at: now }
    }

    /// Takes what came of a request.
    pub(super) fn sent(
        &mut self,
        now: Timestamp,
        name: &ChannelName,
        tokens: &[Token],
        outcome: &Outcome,
    ) {
        let setup = Arc::clone(&self.setup);
        let Some(channel) = setup
            .config
            .channels
            .iter()
            .find(|channel| channel.name() == name)
        else {
            return;
        };
        let Some(desk) = self.desks.get_mut(name) else {
            return;
        };
        desk.is_working = false;
        desk.list_is_old |= !matches!(outcome, Outcome::Accepted { .. });
        match outcome {
            Outcome::Accepted { .. } => {
                desk.failures = 0;
                desk.limits = 0;
                desk.late = 0;
            }
            Outcome::NotSent { reason } => {
                let reason = reason.clone();
                self.failed(now, name, None, &reason);
            }
            Outcome::Refused {
                refusal: Refusal::RateLimited(wait),
                reason,
            } => self.limited(now, name, *wait, reason),
            Outcome::Refused {
                refusal: Refusal::Credentials,
                reason,
            } => {
                let reason = format!("{name} refuses the credentials: {reason}");
                self.close(name, reason, Exit::NeedsPerson);
            }
            Outcome::Refused {
                refusal: Refusal::Permanent,
                ..
            } => desk.singly |= tokens.len() > 1,
            Outcome::Refused {
                refusal: Refusal::Temporary(_) | Refusal::Picture | Refusal::Replayed,
                ..
            } => {}
            Outcome::InDoubt { .. } => {
                desk.doubts += 1;
                if desk.doubts >= DOUBTS_MAX {
                    let reason = format!(
                        "{name} left {DOUBTS_MAX} requests in doubt in this run: it is given a rest"
                    );
                    self.close(name, reason, Exit::WorkRemains);
                }
            }
        }
        let of_each = of_each(outcome, tokens.len());
        for token in tokens {
            self.settle(now, channel, token, &of_each);
        }
    }

    fn settle(
        &mut self,
        now: Timestamp,
        channel: &ChannelConfig,
        token: &Token,
        outcome: &Outcome,
    ) {
        let own = self
            .desks
            .get_mut(channel.name())
            .and_then(|desk| desk.own.get(token).cloned());
        let Some((id, operation)) = own else {
            self.tell(Notice::Warning(format!(
                "an answer came for a claim that this run did not make: {outcome:?}"
            )));
            return;
        };
        let row = self.outbox.row(&id);
        let record = row.and_then(|row| row.operations.get(&operation)).cloned();
        // Another run may have found it done under our own claim, or taken it over after the quiet point.
        let ours = |record: &Record| {
            record.state == delivery::State::InFlight && record.token() == Some(token)
        };
        let Some(record) = record.filter(ours) else {
            self.overtaken(now, &id, operation, outcome);
            return;
        };
        let failures = record.attempts_counted().max(1);
        let event = match outcome {
            Outcome::Accepted { remote, evidence } => {
                // What follows asks anew what it needs.
                if let Some(desk) = self.desks.get_mut(channel.name()) {
                    desk.prepared.remove(&id);
                }
                self.proved(now, &id, operation, remote, *evidence)
            }
            Outcome::Refused {
                refusal: Refusal::Permanent,
                reason,
            } => {
                self.tell(Notice::Refused {
                    delivery: id.clone(),
                    reason: reason.clone(),
                });
                delivery::Event::Refused {
                    reason: reason.clone(),
                    at: now,
                }
            }
            Outcome::Refused {
                refusal: Refusal::Temporary(wait),
                reason,
            } => self.deferred(now, &id, *wait, backoff(failures), reason, Counts::Attempt),
            Outcome::Refused {
                refusal: Refusal::Picture,
                reason,
            } => self.picture_refused(now, &id, operation, &record, reason),
            Outcome::Refused {
                refusal: Refusal::Replayed,
                reason,
            } => self.replayed(now, &id, &record, reason),
            Outcome::Refused {
                refusal: Refusal::RateLimited(wait),
                reason,
            } => {
                let limits = self.desks.get(channel.name()).map_or(1, |desk| desk.limits);
                let wait = Wait::Until(limit_end(now, *wait, limits));
                self.deferred(now, &id, Some(wait), backoff(1), reason, Counts::Nothing)
            }
            Outcome::Refused {
                refusal: Refusal::Credentials,
                reason,
            } => self.deferred(
                now,
                &id,
                None,
                std::time::Duration::ZERO,
                reason,
                Counts::Nothing,
            ),
            Outcome::NotSent { reason } => {
                let failures = self
                    .desks
                    .get(channel.name())
                    .map_or(1, |desk| desk.failures.max(1));
                self.deferred(now, &id, None, backoff(failures), reason, Counts::Nothing)
            }
            Outcome::InDoubt { reason } if on(Mutant::TimeoutIsNotSent) => {
                self.deferred(now, &id, None, backoff(1), reason, Counts::Nothing)
            }
            Outcome::InDoubt { reason } => {
                self.tell(Notice::Doubted {
                    delivery: id.clone(),
                    next: after_doubt(channel, operation),
                    reason: reason.clone(),
                });
                delivery::Event::Doubted {
                    reason: reason.clone(),
                    at: now,
                }
            }
        };
        self.record_of(
            &id,
            operation,
            vec![event],
            Sort::Outcome(token.clone()),
            true,
        );
    }

    /// Takes an answer from the service's memory. Where nothing was ever sent that may be there, the post goes out under
    /// another key; what may have been sent keeps its key, and waits until the service has forgotten.
    fn replayed(
        &mut self,
        now: Timestamp,
        id: &DeliveryId,
        record: &Record,
        reason: &str,
    ) -> delivery::Event {
        let wait = if record.frozen {
            Wait::For(MEMORY_OF_KEYS_MAX)
        } else {
            if let Some(desk) = self.desks.get_mut(&id.channel) {
                desk.used_keys.insert(id.clone());
            }
            Wait::Until(now)
        };
        self.deferred(now, id, Some(wait), backoff(1), reason, Counts::Attempt)
    }

    /// An answer that comes after another run took the delivery over or found it: a receipt always wins, the rest is
    /// history.
    fn overtaken(
        &mut self,
        now: Timestamp,
        id: &DeliveryId,
        operation: Operation,
        outcome: &Outcome,
    ) {
        match outcome {
            Outcome::Accepted { .. } if on(Mutant::LateReceiptDropped) => {}
            Outcome::Accepted { remote, evidence } => {
                let event = self.proved(now, id, operation, remote, *evidence);
                self.record_of(id, operation, vec![event], Sort::Finding, true);
            }
            Outcome::Refused { .. } | Outcome::NotSent { .. } | Outcome::InDoubt { .. } => {
                self.tell(Notice::Plain(format!(
                    "{id}: another run settled it meanwhile; what this run's request was answered changes nothing"
                )));
            }
        }
    }

    fn proved(
        &mut self,
        now: Timestamp,
        id: &DeliveryId,
        operation: Operation,
        remote: &Remote,
        evidence: Evidence,
    ) -> delivery::Event {
        self.tell(Notice::Proved {
            delivery: id.clone(),
            operation,
            remote: remote.clone(),
            evidence,
        });
        delivery::Event::Proved {
            remote: remote.clone(),
            evidence,
            at: now,
        }
    }

    pub(super) fn deferred(
        &mut self,
        now: Timestamp,
        id: &DeliveryId,
        wait: Option<Wait>,
        otherwise: std::time::Duration,
        reason: &str,
        counts: Counts,
    ) -> delivery::Event {
        let not_before = wait.map_or_else(|| now.plus(otherwise), |wait| until(wait, now));
        self.tell(Notice::Deferred {
            delivery: id.clone(),
            reason: reason.to_owned(),
            not_before,
        });
        delivery::Event::Deferred {
            reason: reason.to_owned(),
            not_before,
            counts,
            at: now,
        }
    }

    /// Takes what a lookup said.
    pub(super) fn looked(
        &mut self,
        now: Timestamp,
        id: &DeliveryId,
        operation: Operation,
        began_at: Timestamp,
        lookup: Lookup,
    ) {
        if let Some(desk) = self.desks.get_mut(&id.channel) {
            desk.is_working = false;
        }
        let row = self.outbox.row(id);
        let record = row.and_then(|row| row.operations.get(&operation)).cloned();
        let Some(record) = record else {
            return;
        };
        let in_doubt = record.state == delivery::State::InDoubt;
        let of_earlier_edition = |remote: &Remote| {
            let mut receipts = record.receipts.iter();
            operation == Operation::Publish
                && record.edition > 1
                && receipts.any(|receipt| receipt.remote.is_same_post(remote))
        };
        let (finding, said) = match lookup {
            Lookup::Found(remote) if of_earlier_edition(&remote) => {
                let reason = format!(
                    "what is there is the earlier announcement{}; if this service takes an article only once, delete \
                     that one and say `sayonce retry`",
                    place(&remote)
                );
                if in_doubt {
                    self.hold(now, id, reason);
                    return;
                }
                (Finding::CannotTell, reason)
            }
            Lookup::Found(remote) => {
                self.tell(Notice::Proved {
                    delivery: id.clone(),
                    operation,
                    remote: remote.clone(),
                    evidence: Evidence::ReadBack,
                });
                let seen = LookupRecord {
                    at: began_at,
                    finding: Finding::Found,
                };
                let mut events: Vec<_> = in_doubt
                    .then(|| delivery::Event::Looked(seen))
                    .into_iter()
                    .collect();
                events.push(delivery::Event::Proved {
                    remote,
                    evidence: Evidence::ReadBack,
                    at: now,
                });
                self.record_of(id, operation, events, Sort::Finding, true);
                return;
            }
            Lookup::Several(remotes) if in_doubt => {
                self.hold(now, id, several(&remotes));
                return;
            }
            Lookup::Several(remotes) => (Finding::CannotTell, several(&remotes)),
            Lookup::Absent => (Finding::Absent, absent_words(operation).to_owned()),
            Lookup::CannotTell { reason } => (Finding::CannotTell, reason),
        };
        self.tell(Notice::NotFound {
            delivery: id.clone(),
            finding: said,
            again_at: None,
        });
        if in_doubt && self.tells_time_for(id) {
            // Not worth a push of its own: a run that dies here only looks again.
            let event = delivery::Event::Looked(LookupRecord {
                at: began_at,
                finding,
            });
            self.record_of(id, operation, vec![event], Sort::Finding, false);
        }
    }

    fn hold(&mut self, now: Timestamp, id: &DeliveryId, reason: String) {
        self.tell(Notice::Held {
            delivery: id.clone(),
            reason: reason.clone(),
        });
        let event = delivery::Event::Held { reason, at: now };
        self.record(id, vec![event], Sort::Finding, true);
    }
}

/// What the answer to a request about several articles says of each: one of them may be at fault for all.
fn of_each(outcome: &Outcome, articles: usize) -> Outcome {
    if let Outcome::Refused {
        refusal: Refusal::Permanent,
        reason,
    } = outcome
        && articles > 1
    {
        return Outcome::Refused {
            refusal: Refusal::Temporary(Some(Wait::For(std::time::Duration::ZERO))),
            reason: format!("together with {} others: {reason}", articles - 1),
        };
    }
    outcome.clone()
}

const fn absent_words(operation: Operation) -> &'static str {
    match operation {
        Operation::Publish => "it is not there (yet)",
        Operation::Update(_) => "it is not changed (yet)",
        Operation::Retract => "it is still there",
    }
}

fn place(remote: &Remote) -> String {
    remote
        .url
        .as_deref()
        .map_or_else(String::new, |url| format!(", {url}"))
}

/// What comes of a doubt, in plain words.
fn after_doubt(channel: &ChannelConfig, operation: Operation) -> &'static str {
    let readable = match operation {
        Operation::Publish => channel.traits().readable,
        Operation::Update(_) | Operation::Retract => channel.shows_posts(),
    };
    match (readable, channel.rules.policy, operation) {
        (true, _, _) => "it will be looked for",
        (false, Policy::AtMostOnce, Operation::Publish) => "and it can't be looked for",
        (false, _, _) => "it will be sent again, which does no harm",
    }
}

fn several(remotes: &[Remote]) -> String {
    let places: Vec<_> = remotes
        .iter()
        .filter_map(|remote| remote.url.as_deref())
        .collect();
    format!("{} posts match it: {}", remotes.len(), places.join(", "))
}

/// Returns when a channel may be used again after so many rate limits in a row: not before the service says, and
/// later each time if it says nothing useful.
fn limit_end(now: Timestamp, wait: Option<Wait>, limits: u32) -> Timestamp {
    let asked = wait.map(|wait| until(wait, now)).filter(|at| *at > now);
    match asked {
        Some(at) if limits < 2 => at,
        Some(at) => at.max(now.plus(backoff(limits - 1))),
        None => now.plus(backoff(limits)),
    }
}

fn until(wait: Wait, now: Timestamp) -> Timestamp {
    match wait {
        Wait::For(duration) => now.plus(duration),
        Wait::Until(at) => at.max(now),
    }
}
