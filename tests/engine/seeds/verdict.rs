//! What must be so after each run, and at the end of a history.

use std::time::Duration;

use sayonce::engine::ending::Ending;
use sayonce::exit::Exit;
use sayonce::model::delivery::{Record, State};
use sayonce::model::notice::Notice;
use sayonce::model::outcome::{Evidence, Remote};
use sayonce::model::row::{DeliveryId, Row};

use super::history::History;
use crate::engine::{told, warnings};
use crate::simulation::Run;

/// A run of a few articles that takes longer has lost its way.
const RUN_MAX: Duration = Duration::from_hours(3);

impl History {
    /// What a run tells must be so.
    pub(super) fn check_ending(&self, run: &Run, ending: &Ending) -> Result<(), String> {
        let unproved = self.unproved();
        if ending.exit == Exit::Proved && !unproved.is_empty() {
            return Err(format!("a false proof: {unproved:?}"));
        }
        if !ending.unsaved.is_empty() && ending.exit != Exit::Ledger {
            return Err(format!("unsaved, and {:?}", told(ending)));
        }
        for notice in &run.notices {
            let Notice::Proved {
                delivery, remote, ..
            } = notice
            else {
                continue;
            };
            let saved = run
                .journal
                .iter()
                .filter(|row| row.delivery_id() == *delivery);
            let known = self.row(delivery).into_iter().chain(saved);
            if !known
                .filter_map(Row::publish)
                .any(|record| holds(record, remote))
            {
                return Err(format!(
                    "a receipt of {delivery} is nowhere: {:?}",
                    told(ending)
                ));
            }
        }
        Ok(())
    }

    pub(super) fn check_notices(&mut self, run: &Run) -> Result<(), String> {
        let strange = |text: &String| {
            text.contains("can't take the event") || text.contains("that this run did not make")
        };
        if let Some(text) = warnings(run).into_iter().find(strange) {
            return Err(text);
        }
        let merged = run.notices.iter().filter(|notice| {
            matches!(notice, Notice::Plain(text) if text.contains("taken from the journal"))
        });
        self.met.merged_journals += merged.count();
        Ok(())
    }

    /// At the end everything is proved; only what can't be asked may need a person.
    pub(super) fn check_exit(&mut self, ending: &Ending) -> Result<(), String> {
        let unproved = self.unproved();
        self.met.held = unproved.len();
        let expected = if unproved.is_empty() {
            Exit::Proved
        } else {
            Exit::NeedsPerson
        };
        let may_need_person = |(delivery, state): &(DeliveryId, Option<State>)| {
            delivery.channel.as_str() == "search" && *state == Some(State::Held)
        };
        let all_may = unproved.iter().all(may_need_person);
        if !all_may || ending.exit != expected || !self.disk.is_empty() {
            return Err(format!("{:#?}, journal: {:?}", told(ending), self.disk));
        }
        Ok(())
    }

    /// Every delivery is posted exactly once, and every receipt is the one of its post.
    pub(super) fn judge(&mut self) -> Result<(), String> {
        if self.met.longest > RUN_MAX {
            return Err(format!("a run took {:?}", self.met.longest));
        }
        let wrong: Vec<_> = self
            .world
            .posts()
            .into_iter()
            .filter(|(_, count)| *count != 1)
            .collect();
        if !wrong.is_empty() {
            return Err(format!("not exactly once: {wrong:?}"));
        }
        for row in self.world.remote.rows() {
            let record = row.publish().ok_or("a row without a record")?;
            let service = &self.world.services[&row.channel];
            let late = record.receipts.iter().map(|receipt| &receipt.remote);
            let receipts: Vec<_> = record.remote.iter().chain(late).collect();
            let real = receipts
                .iter()
                .all(|receipt| service.gave(receipt, &row.canonical_url));
            if !real || receipts.len() > 1 || receipts.is_empty() != (record.state != State::Done) {
                return Err(format!("{}: {receipts:?}", row.delivery_id()));
            }
            let repeats = record.attempt.saturating_sub(1);
            self.met.repeats += usize::try_from(repeats).expect("few");
            self.met.read_back += usize::from(record.evidence == Some(Evidence::ReadBack));
        }
        Ok(())
    }

    fn unproved(&self) -> Vec<(DeliveryId, Option<State>)> {
        let channels: Vec<_> = self.world.services.keys().collect();
        let deliveries = self.world.items.iter().flat_map(|item| {
            channels.iter().map(|channel| DeliveryId {
                item: item.id.clone(),
                channel: (*channel).clone(),
            })
        });
        deliveries
            .map(|id| {
                let record = self.row(&id).and_then(Row::publish);
                let state = record.map(|record| record.state);
                (id, state)
            })
            .filter(|(_, state)| *state != Some(State::Done))
            .collect()
    }

    fn row(&self, id: &DeliveryId) -> Option<&Row> {
        self.world
            .remote
            .rows()
            .find(|row| row.delivery_id() == *id)
    }
}

fn holds(record: &Record, receipt: &Remote) -> bool {
    let late = record.receipts.iter().map(|receipt| &receipt.remote);
    record.remote.iter().chain(late).any(|kept| kept == receipt)
}
