//! What must never happen, looked at from outside: at every request that leaves, and at every row that reaches the remote.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::config::ChannelConfig;
use crate::model::channel::{Gate, Policy};
use crate::model::claim::Claim;
use crate::model::delivery::{Record, State};
use crate::model::ids::{Fingerprint, IdempotencyKey, Token};
use crate::model::outcome::Remote;
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;

use super::world::World;

/// A rule that was broken, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) rule: Rule,
    pub(super) how: String,
}

/// What must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    /// At most one post of an article (`verified`, `keyed`).
    OnePost,
    /// At most one request that may have had an effect, and one more for each release (`at_most_once`, `gate = "confirm"`).
    OneRequest,
    /// A request leaves only when the remote's tip has shown its claim, and inside the send window.
    IntentFirst,
    /// A token is sent once.
    OneShot,
    /// One key stands for one text, and what may have been sent is sent again as it was.
    OneText,
    /// A request carries no more articles than the service takes at once.
    OneAtATime,
    /// What the service asked for is kept: it is left alone after "too many requests".
    LeftAlone,
    /// No more requests than `max_attempts` allows.
    FewAttempts,
    /// After a stop no request leaves.
    StopsSending,
    /// With too much in doubt, nothing else is claimed.
    Breaker,
    /// Two claims on a channel are `interval` apart.
    Paced,
    /// `done` has a receipt that the service gave.
    TrueDone,
    /// `failed` has no post.
    TrueFailed,
    /// A row moves only as the protocol says.
    LegalMove,
    /// A receipt that a run was told is in the ledger when it ends, or in its journal.
    ReceiptKept,
    /// What is left at the end is finished by one healthy run.
    NothingForgotten,
    /// A run ends.
    RunEnds,
}

/// What keeps a run from sending.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bars {
    pub(super) stopped: bool,
    pub(super) paused_until: Option<Timestamp>,
}

/// Everything that the rules need to remember.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    shown: BTreeSet<Token>,
    sent: BTreeSet<Token>,
    /// Whose claims they are, and how far the clock was ahead by which they bear their times.
    makers: BTreeMap<Token, (usize, Duration)>,
    texts: BTreeMap<IdempotencyKey, Fingerprint>,
    /// Requests that may have had an effect.
    pub(super) effects: BTreeMap<DeliveryId, usize>,
    /// Requests that count against `max_attempts`.
    pub(super) attempts: BTreeMap<DeliveryId, usize>,
    pub(super) released: usize,
    /// The article was edited: what was refused may be due again.
    pub(super) edited: bool,
    /// What was sent last of each delivery.
    pub(super) sent_as: BTreeMap<DeliveryId, Fingerprint>,
    /// Lookups since the last claim that did not find it, by the moment at which they began.
    pub(super) absent: BTreeMap<DeliveryId, Vec<Timestamp>>,
}

pub(super) type Checked = Result<(), Violation>;

fn require(holds: bool, rule: Rule, how: impl FnOnce() -> String) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(Violation { rule, how: how() })
    }
}

pub(super) fn delivery_of(claim: &Claim) -> DeliveryId {
    DeliveryId {
        item: claim.item.clone(),
        channel: claim.channel.clone(),
    }
}

impl Watch {
    /// Whether a token was on the remote, and whether it was sent.
    pub(super) fn bits(&self, token: &Token) -> [bool; 2] {
        [self.shown.contains(token), self.sent.contains(token)]
    }

    /// A run made these claims: they are in a commit of its.
    pub(super) fn made(&mut self, run: usize, ahead: Duration, rows: &[&Row]) {
        for token in rows.iter().filter_map(|row| row.publish()?.token()) {
            self.makers.entry(token.clone()).or_insert((run, ahead));
        }
    }

    /// A run brings what an earlier one on its machine could not push: it speaks for that one.
    pub(super) fn brings(&mut self, run: usize, ahead: Duration, journal: &[Row]) {
        for token in journal.iter().filter_map(|row| row.publish()?.token()) {
            self.makers.insert(token.clone(), (run, ahead));
        }
    }

    /// A request leaves.
    pub(super) fn sends(
        &mut self,
        claims: &[Claim],
        channel: &ChannelConfig,
        now: Timestamp,
        bars: Bars,
    ) -> Checked {
        let rules = &channel.rules;
        require(!bars.stopped, Rule::StopsSending, || {
            "a request left after the stop".to_owned()
        })?;
        let most = channel.traits().batch_max;
        require(claims.len() <= most, Rule::OneAtATime, || {
            format!("{} articles in one request", claims.len())
        })?;
        let limited = bars.paused_until.is_some_and(|until| now < until);
        require(!limited, Rule::LeftAlone, || {
            "a request left though the service asked for a pause".to_owned()
        })?;
        for claim in claims {
            let [shown, sent] = self.bits(&claim.token);
            require(shown, Rule::IntentFirst, || {
                "a request left whose claim never was on the remote".to_owned()
            })?;
            require(now < claim.send_before, Rule::IntentFirst, || {
                "a request left after the send window".to_owned()
            })?;
            require(!sent, Rule::OneShot, || {
                "one token was sent twice".to_owned()
            })?;
            self.sent.insert(claim.token.clone());
            let text = claim.post.fingerprint();
            let before = self.texts.insert(claim.key.clone(), text.clone());
            require(
                before.is_none_or(|before| before == text),
                Rule::OneText,
                || "one key was sent with two texts".to_owned(),
            )?;
            let id = delivery_of(claim);
            let effects = self.effects.entry(id.clone()).or_default();
            let before = self.sent_as.insert(id, text.clone());
            let same = *effects == 0 || before == Some(text);
            require(same, Rule::OneText, || {
                "what may have been sent was sent otherwise".to_owned()
            })?;
            *effects += 1;
            let attempts = self.attempts.entry(delivery_of(claim)).or_default();
            *attempts += 1;
            let most = usize::try_from(rules.max_attempts).unwrap_or(usize::MAX);
            require(*attempts <= most + self.released, Rule::FewAttempts, || {
                format!("{attempts} requests")
            })?;
            let by_itself = rules.policy != Policy::AtMostOnce && rules.gate != Gate::Confirm;
            let once = by_itself || *effects <= 1 + self.released;
            require(once, Rule::OneRequest, || {
                format!("{effects} requests, {} releases", self.released)
            })?;
        }
        Ok(())
    }

    /// A request is said not to have been sent, or to have come too soon.
    pub(super) fn uncounted(&mut self, claims: &[Claim]) {
        for claim in claims {
            *self.attempts.entry(delivery_of(claim)).or_default() -= 1;
        }
    }

    /// It is known of a request that it had no effect.
    pub(super) fn no_effect(&mut self, claims: &[Claim]) {
        for claim in claims {
            *self.effects.entry(delivery_of(claim)).or_default() -= 1;
        }
    }

    /// A lookup that did not find it was told to a run.
    pub(super) fn absent(&mut self, delivery: &DeliveryId, began_at: Timestamp) {
        self.absent
            .entry(delivery.clone())
            .or_default()
            .push(began_at);
    }

    /// A row reached the remote. `clocks`: the time, and what the machine whose clock is ahead takes for it.
    pub(super) fn landed(
        &mut self,
        run: usize,
        before: Option<&Row>,
        after: &Row,
        policy: Policy,
        clocks: [Timestamp; 2],
    ) -> Checked {
        let Some(new) = after.publish() else {
            return Ok(());
        };
        let id = after.delivery_id();
        if let Some(old) = before.and_then(Row::publish) {
            self.moved(run, &id, old, new, policy, clocks)?;
        }
        if let Some(token) = new.token()
            && self.shown.insert(token.clone())
        {
            self.absent.remove(&id);
        }
        Ok(())
    }

    fn moved(
        &self,
        run: usize,
        id: &DeliveryId,
        old: &Record,
        new: &Record,
        policy: Policy,
        [now, latest]: [Timestamp; 2],
    ) -> Checked {
        let legal = |holds: bool, what: &str| {
            require(holds, Rule::LegalMove, || {
                format!("{} to {}: {what}", old.state, new.state)
            })
        };
        let receipts = receipts(new);
        legal(
            self::receipts(old)
                .iter()
                .all(|receipt| receipts.contains(receipt)),
            "a receipt is gone",
        )?;
        legal(
            old.state != State::Done || new.state == State::Done,
            "it was done",
        )?;
        let resting = matches!(old.state, State::Failed | State::Held | State::Skipped);
        let by_receipt = new.state == State::Done;
        let revised = self.edited && old.state == State::Failed && !old.frozen;
        legal(
            !resting || by_receipt || revised || old.state == new.state || run == 0,
            "only a person may",
        )?;
        legal(new.attempt >= old.attempt, "the attempt falls")?;
        let same = old.token() == new.token();
        legal(
            same == (old.attempt == new.attempt) || old.claim.is_none(),
            "each attempt has one token",
        )?;
        let early = old.state == State::Retry
            && !same
            && old.not_before.is_some_and(|not_before| latest < not_before);
        legal(!early, "before its time")?;
        let Some(claim) = &old.claim else {
            return Ok(());
        };
        let maker = self.makers.get(&claim.token);
        let foreign = maker.is_none_or(|(maker, _)| *maker != run);
        let ahead = maker.map_or(Duration::ZERO, |(_, ahead)| *ahead);
        let quiet_until = claim.quiet_until.minus(ahead);
        let quiet = now > quiet_until;
        legal(
            old.state != State::InFlight || !foreign || by_receipt || quiet,
            "another run's claim, before its quiet point",
        )?;
        let doubtful = old.state == State::InDoubt || (old.state == State::InFlight && foreign);
        let given_up = new.state == State::Retry || !same;
        if policy == Policy::Verified && doubtful && given_up && run != 0 {
            let late = self.absent.get(id).into_iter().flatten();
            let late: Vec<_> = late.filter(|at| **at > quiet_until).collect();
            let apart = late
                .iter()
                .min()
                .zip(late.iter().max())
                .is_some_and(|(first, last)| last.since(**first) >= ABSENT_APART);
            legal(
                apart,
                "absent was not looked up twice after the quiet point",
            )?;
        }
        Ok(())
    }
}

const ABSENT_APART: Duration = Duration::from_secs(30);

pub(super) fn receipts(record: &Record) -> Vec<Remote> {
    let late = record.receipts.iter().map(|receipt| receipt.remote.clone());
    record.remote.iter().cloned().chain(late).collect()
}

/// What must hold in every state.
pub(super) fn check(world: &World) -> Checked {
    let policy = world.scenario.policy;
    if matches!(policy, Policy::Verified | Policy::Keyed) {
        for url in world.service.posts.iter().map(|post| &post.url) {
            let count = world.service.count(url);
            require(count == 1, Rule::OnePost, || {
                format!("{count} posts of {url}")
            })?;
        }
    }
    for row in world.remote.rows() {
        let Some(record) = row.publish() else {
            continue;
        };
        let true_done = record.state != State::Done
            || record
                .remote
                .as_ref()
                .is_some_and(|remote| world.service.gave(remote));
        require(true_done, Rule::TrueDone, || {
            "done without a post".to_owned()
        })?;
        // A person who lets it be sent again says that it is not there. A service that takes harmless repeats and can't be
        // read can't be asked whether what it refused was done all the same.
        let true_failed = record.state != State::Failed
            || policy == Policy::AtLeastOnce
            || world.watch.released > 0
            || world.service.count(&row.canonical_url) == 0;
        require(true_failed, Rule::TrueFailed, || {
            "failed with a post".to_owned()
        })?;
    }
    Ok(())
}

/// A channel with too much in doubt: a claim of something else must not land in such a ledger.
pub(super) fn breaker(rows: &[Row], claimed: &DeliveryId, policy: Policy) -> Checked {
    let limit = if policy == Policy::AtMostOnce { 1 } else { 2 };
    let doubts: Vec<_> = rows
        .iter()
        .filter(|row| {
            row.publish()
                .is_some_and(|record| record.state == State::InDoubt)
        })
        .map(Row::delivery_id)
        .collect();
    let open = doubts.len() < limit || doubts.contains(claimed);
    require(open, Rule::Breaker, || {
        format!("{claimed} was claimed with {} in doubt", doubts.len())
    })
}

/// Two claims on one channel keep its gap, whoever made them.
pub(super) fn paced(before: &[Row], claimed: &Row, interval: Duration) -> Checked {
    let claimed_at = |row: &Row| Some(row.publish()?.claim.as_ref()?.claimed_at);
    let last = before.iter().filter_map(claimed_at).max();
    let kept = last
        .zip(claimed_at(claimed))
        .is_none_or(|(last, now)| now >= last.plus(interval));
    require(kept, Rule::Paced, || {
        "two claims too close to each other".to_owned()
    })
}
