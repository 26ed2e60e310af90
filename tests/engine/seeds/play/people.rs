//! What people do between and during runs: decide with a command, edit the ledger by hand, reset its branch.

use sayonce::model::delivery::{Decision, Event, Operation, Record, State, next};
use sayonce::model::outcome::{Evidence, Remote};
use sayonce::model::row::{DeliveryId, Row};

use super::history::History;

/// A person's word about a delivery.
#[derive(Clone, Debug)]
enum Verb {
    /// `approve`, `retry` or `resolve --not-posted`: it may be sent.
    Release,
    Posted(Remote),
    Again,
    Retract,
    Skip,
}

impl History {
    pub(super) fn somebody_acts(&mut self) {
        self.acts += 1;
        self.world.remote.settle_late(self.world.now);
        if self.world.remote.is_rewound() {
            if self.draw.one_in(2) {
                self.world.note("somebody repairs the ledger");
                self.world.remote.repair();
            }
            return;
        }
        let what = self.draw.below(12);
        self.world.note(&format!("somebody does {what}"));
        match what {
            0..=5 => self.decide(),
            6 => self.edit_an_article(),
            7 | 8 if self.weather.rewinds => {
                let times = 1 + self.draw.count(2);
                let any = (0..times).any(|_| self.world.remote.reset());
                self.met.rewinds += usize::from(any);
            }
            9 if self.weather.rewinds => self.set_a_row_back(),
            10 => self.edit_a_row(),
            11 => self.break_or_mend_a_row(),
            _ => {}
        }
    }

    /// One delivery, and what a person who looks at the service says about it.
    fn decide(&mut self) {
        let deliveries = self.deliveries();
        let id = deliveries[self
            .draw
            .count(u64::try_from(deliveries.len()).expect("few"))]
        .clone();
        let broken = self
            .world
            .remote
            .remembered(&id)
            .next()
            .is_some_and(|_| self.row(&id).is_none());
        let unlikely = self.draw.one_in(2);
        let (posted, now) = (self.unknown_post(&id), self.world.now);
        let operation = self.row(&id).map_or(Operation::Publish, Row::current);
        let record = self.row(&id).and_then(Row::record);
        let state = record.map(|record| record.state);
        let is_quiet = record
            .and_then(|record| record.claim.as_ref())
            .is_none_or(|claim| claim.quiet_until < now);
        let retracts = self.channel(&id).traits().retracts;
        let verb = match (state, posted) {
            _ if broken => return,
            (Some(State::Done), _)
                if unlikely
                    && operation != Operation::Retract
                    && retracts
                    && self.draw.one_in(2) =>
            {
                Verb::Retract
            }
            (Some(State::Skipped), _) if operation != Operation::Publish => return,
            (Some(State::InDoubt | State::InFlight), _) if operation != Operation::Publish => {
                return;
            }
            (Some(State::Held | State::Failed), _)
                if operation != Operation::Publish && unlikely =>
            {
                Verb::Skip
            }
            (Some(State::Held | State::Failed), _) if operation != Operation::Publish => {
                Verb::Release
            }
            (None, None) if unlikely => Verb::Release,
            (None | Some(State::Retry), _) => Verb::Skip,
            (Some(State::Done), _) if unlikely => Verb::Again,
            (
                Some(State::InFlight | State::InDoubt | State::Held | State::Failed),
                Some(remote),
            ) => Verb::Posted(remote),
            (Some(State::InDoubt), None) if is_quiet && !self.weather.broken => Verb::Release,
            (Some(State::Held | State::Failed), None) if unlikely => Verb::Skip,
            (Some(State::Skipped), _) | (Some(State::Held | State::Failed), None) => Verb::Release,
            (Some(State::Done | State::InFlight | State::InDoubt), _) => return,
        };
        self.say(&id, &verb);
    }

    /// A post of a delivery that the ledger does not know.
    fn unknown_post(&self, id: &DeliveryId) -> Option<Remote> {
        let shown = self.world.services[&id.channel].shown(self.url(id), self.world.now);
        let record = self.row(id).and_then(Row::publish);
        let known = |remote: &Remote| {
            let late = record.into_iter().flat_map(|record| &record.receipts);
            let receipts = late.map(|receipt| &receipt.remote);
            let first = record.and_then(|record| record.remote.as_ref());
            receipts
                .chain(first)
                .any(|receipt| receipt.is_same_post(remote))
        };
        let unknown = shown.into_iter().find(|remote| !known(remote))?;
        Some(Remote {
            // A person copies an address.
            id: unknown.id.filter(|_| unknown.url.is_none()),
            url: unknown.url,
        })
    }

    fn say(&mut self, id: &DeliveryId, verb: &Verb) {
        let by = Decision {
            who: "a person".to_owned(),
            at: self.world.now,
            verb: format!("{verb:?}"),
            why: Some(format!("act {}", self.acts)),
        };
        let mut row = self.row_or_blank(id);
        let operation = match verb {
            Verb::Again => Operation::Publish,
            Verb::Retract => Operation::Retract,
            Verb::Release | Verb::Posted(_) | Verb::Skip => row.current(),
        };
        let before = row.operations.get(&operation).cloned();
        let event = match verb {
            // An earlier edition was taken down.
            Verb::Retract
                if before
                    .as_ref()
                    .is_some_and(|record| record.state == State::Done) =>
            {
                Event::Again { by }
            }
            Verb::Release | Verb::Retract => Event::Released { by },
            Verb::Posted(remote) => Event::Confirmed {
                remote: remote.clone(),
                evidence: Evidence::Person,
                by,
            },
            Verb::Again => Event::Again { by },
            Verb::Skip => Event::Skipped { by },
        };
        self.world.note(&format!("a person on {id}: {verb:?}"));
        let mut after = next(before.as_ref(), event).expect("a verb for this state");
        if operation != Operation::Publish {
            after.edition = row.publish().map_or(1, |record| record.edition);
        }
        row.operations.insert(operation, after);
        self.world.remote.decide(row);
        match verb {
            Verb::Release
                if operation == Operation::Publish
                    && before.is_some_and(|record| record.attempt > 0) =>
            {
                *self.licences.entry(id.clone()).or_default() += 1;
            }
            Verb::Again => *self.agains.entry(id.clone()).or_default() += 1,
            Verb::Release | Verb::Posted(_) | Verb::Retract | Verb::Skip => {}
        }
        self.touched.insert(id.clone());
        self.met.decisions += 1;
    }

    fn row_or_blank(&self, id: &DeliveryId) -> Row {
        self.row(id).cloned().unwrap_or_else(|| {
            let mut items = self.world.items.iter();
            let item = items.find(|item| item.id == id.item);
            Row::blank(item.expect("an article of the site"), &id.channel, None)
        })
    }

    fn edit_an_article(&mut self) {
        let count = u64::try_from(self.world.items.len()).expect("few");
        let index = self.draw.count(count);
        self.world.items[index].title.push_str(", edited");
    }

    fn any_row(&mut self) -> Option<Row> {
        let rows: Vec<_> = self.world.remote.rows().cloned().collect();
        let count = u64::try_from(rows.len()).expect("few");
        (count > 0).then(|| rows[self.draw.count(count)].clone())
    }

    /// A row is removed, or says less than it did.
    fn set_a_row_back(&mut self) {
        let Some(mut row) = self.any_row() else {
            return;
        };
        let id = row.delivery_id();
        let said = row.clone();
        for record in row.operations.values_mut() {
            set_back(record);
        }
        let left = (row != said && self.draw.one_in(2)).then_some(row);
        self.world.remote.edit_by_hand(&id, left);
        self.met.rewinds += 1;
    }

    /// A row is written by hand in a way that the protocol allows, or that no run understands.
    fn edit_a_row(&mut self) {
        let deliveries = self.deliveries();
        let id = deliveries[self
            .draw
            .count(u64::try_from(deliveries.len()).expect("few"))]
        .clone();
        if self.row(&id).is_none() && self.world.remote.remembered(&id).next().is_some() {
            return;
        }
        let mut row = self.row_or_blank(&id);
        if row.current() != Operation::Publish {
            return;
        }
        match row.publish().map(|record| record.state) {
            // Sent, it says, and neither what nor when.
            None => {
                let held = Event::Held {
                    reason: String::new(),
                    at: self.world.now,
                };
                let mut record = next(None, held).expect("what is pending can be held");
                record.state = State::InDoubt;
                record.doubt_since = Some(self.world.now);
                row.operations.insert(Operation::Publish, record);
            }
            Some(State::Held) => {
                for record in row.operations.values_mut() {
                    record.state = State::Retry;
                }
                *self.licences.entry(id.clone()).or_default() += 1;
            }
            Some(
                State::InFlight
                | State::InDoubt
                | State::Retry
                | State::Done
                | State::Failed
                | State::Skipped,
            ) => return,
        }
        self.world.remote.edit_by_hand(&id, Some(row));
        self.touched.insert(id);
        self.met.edits += 1;
    }

    fn break_or_mend_a_row(&mut self) {
        if self.draw.one_in(2) {
            self.world.remote.mend_rows();
        } else if let Some(row) = self.any_row() {
            self.world.remote.break_row(&row.delivery_id());
            self.met.edits += 1;
        }
    }

    /// Somebody mends what is broken.
    pub(super) fn put_in_order(&mut self) {
        self.world.remote.settle_late(self.world.now);
        self.world.remote.mend_rows();
        if self.world.remote.is_rewound() {
            self.world.remote.repair();
        }
    }

    /// Somebody goes through what needs a person, looks, and says what is so. Returns whether there was anything.
    pub(super) fn settle_what_needs_a_person(&mut self) -> bool {
        let mut any = false;
        for id in self.deliveries() {
            let record = self.row(&id).and_then(Row::record);
            let later =
                self.row(&id).map_or(Operation::Publish, Row::current) != Operation::Publish;
            let verb = match (record.map(|record| record.state), self.unknown_post(&id)) {
                (Some(State::Held | State::Failed), _) if later => Verb::Release,
                (None | Some(State::Held | State::Failed), Some(remote)) => Verb::Posted(remote),
                (None | Some(State::Held | State::Failed), None) => Verb::Release,
                (
                    Some(
                        State::InFlight
                        | State::InDoubt
                        | State::Retry
                        | State::Done
                        | State::Skipped,
                    ),
                    _,
                ) => continue,
            };
            self.acts += 1;
            let shown = self.world.services[&id.channel].shown(self.url(&id), self.world.now);
            if shown.len() > 1 {
                self.seen_twice.insert(id.clone());
            }
            self.say(&id, &verb);
            any = true;
        }
        any
    }
}

/// What a hand that means well does to a row that says "done".
fn set_back(record: &mut Record) {
    if record.state == State::Done {
        record.state = State::Retry;
        record.remote = None;
        record.receipts.clear();
    } else {
        record.attempt = record.attempt.saturating_sub(1);
    }
}
