//! What must hold when a run has ended, and when all have.

use std::time::Duration;

use crate::model::delivery::{self, Decision, Operation, State};
use crate::model::row::{DeliveryId, Row};
use crate::plan::outlook::Standing;

use super::choice::{Choice, Left};
use super::watch::{self, Checked, Rule, Violation};
use super::world::World;

impl World {
    /// A run ended by itself: what it was told must not be lost.
    pub(super) fn end(&mut self, machine: usize) -> Checked {
        let run = self.runs[machine].clone().expect("it ended");
        self.leave(machine);
        let ending = run.core.ending(self.now.plus(self.ahead(machine)));
        self.told = ending
            .deliveries
            .into_iter()
            .filter(|delivery| delivery.standing == Standing::NeedsPerson)
            .map(|delivery| delivery.id)
            .collect();
        let was_reset = self.left.rollbacks < self.scenario.rollbacks;
        for (delivery, receipt) in run.receipts.iter().filter(|_| !was_reset) {
            let knows = |row: &Row| {
                let record = row.publish();
                row.delivery_id() == *delivery
                    && record.is_some_and(|record| watch::receipts(record).contains(receipt))
            };
            let kept = self.remote.rows().any(knows) || self.disks[machine].iter().any(knows);
            if !kept {
                return Err(Violation {
                    rule: Rule::ReceiptKept,
                    how: format!("the receipt of {delivery} is nowhere"),
                });
            }
        }
        Ok(())
    }

    pub(super) fn release(&mut self) {
        let held = self.remote.rows().find(|row| {
            row.publish()
                .is_some_and(|record| record.state == State::Held)
        });
        let mut row = held
            .cloned()
            .expect("a release is a choice only if something is held");
        let by = Decision {
            who: "a person".to_owned(),
            at: self.now,
            verb: "release".to_owned(),
            why: None,
        };
        let record = delivery::next(row.publish(), delivery::Event::Released { by });
        row.operations.insert(
            Operation::Publish,
            record.expect("what is held can be released"),
        );
        self.watch.released += 1;
        self.remote.write(row);
    }

    /// Nothing goes wrong any more: long after, one run must finish what is left.
    pub(super) fn settle_down(&self, steps_max: usize) -> Checked {
        let mut world = self.clone();
        world.now = world.now.plus(Duration::from_hours(2));
        world.left = Left {
            starts: 1,
            kills: 0,
            faults: 0,
            releases: 0,
            edits: 0,
            stops: 0,
            rollbacks: 0,
        };
        world.remote.late.clear();
        world.service.forget(world.now);
        let journal = world.disks.first().cloned().unwrap_or_default();
        world.happen(Choice::Start(0))?;
        let mut steps = 0;
        while !world.is_quiet() {
            steps += 1;
            let choice = world.choices().first().copied();
            let (Some(choice), true) = (choice, steps < steps_max) else {
                return Err(Violation {
                    rule: Rule::RunEnds,
                    how: "a healthy run does not end".to_owned(),
                });
            };
            world.happen(choice)?;
        }
        world.is_settled(&journal)
    }

    fn is_settled(&self, journal: &[Row]) -> Checked {
        let forgotten = |how: String| Violation {
            rule: Rule::NothingForgotten,
            how,
        };
        for item in self.scenario.items(&self.config, 0) {
            let id = DeliveryId {
                item: item.id,
                channel: self.channel().name().clone(),
            };
            let state = self
                .remote
                .row(&id)
                .and_then(Row::publish)
                .map(|record| record.state);
            let rests = matches!(state, Some(State::Done | State::Held | State::Failed));
            if !rests && !self.told.contains(&id) {
                return Err(forgotten(format!("{id} stays {state:?}")));
            }
        }
        for row in journal {
            let wanted = row.publish().map(watch::receipts).unwrap_or_default();
            let stands = self.remote.row(&row.delivery_id()).and_then(Row::publish);
            let known = stands.map(watch::receipts).unwrap_or_default();
            if !wanted.iter().all(|receipt| known.contains(receipt)) {
                return Err(forgotten(
                    "a receipt in the journal is not in the ledger".to_owned(),
                ));
            }
        }
        Ok(())
    }
}
