//! What must be so after each run, and at the end of a history.

use std::collections::BTreeMap;
use std::time::Duration;

use sayonce::engine::ending::Ending;
use sayonce::exit::Exit;
use sayonce::model::channel::{Gate, Policy};
use sayonce::model::delivery::{Operation, Record, State};
use sayonce::model::notice::Notice;
use sayonce::model::outcome::{Evidence, Remote};
use sayonce::model::post::Post;
use sayonce::model::row::{DeliveryId, Row};

use super::history::History;
use crate::simulation::Run;

/// Runs of a few articles that take longer have lost their way.
const RUN_MAX: Duration = Duration::from_hours(3);

impl History {
    /// What a run tells must be so.
    pub(super) fn check_ending(
        &self,
        run: &Run,
        ending: &Ending,
        undisturbed: bool,
    ) -> Result<(), String> {
        let unproved = self.unproved();
        if undisturbed && ending.exit == Exit::Proved && !unproved.is_empty() {
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
            let known = self.world.remote.remembered(delivery).chain(saved);
            if !known
                .flat_map(|row| row.operations.values())
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
        for notice in &run.notices {
            if let Notice::Warning(text) = notice {
                let strange = ["can't take the event", "that this run did not make"];
                if strange.iter().any(|words| text.contains(words)) {
                    return Err(text.clone());
                }
            }
            if let Notice::Held { delivery, reason } = notice
                && reason.contains(" posts ")
            {
                self.seen_twice.insert(delivery.clone());
            }
            if let Notice::Plain(text) = notice
                && text.contains("taken from the journal")
            {
                self.met.merged_journals += 1;
            }
        }
        Ok(())
    }

    /// When nothing is left to do by itself, what is not proved needs a person, and for a reason.
    pub(super) fn check_exit(&mut self, ending: &Ending) -> Result<(), String> {
        let unproved = self.unproved();
        self.met.held = unproved.len();
        let strange = unproved
            .iter()
            .find(|(id, state)| !self.may_need_person(id, *state));
        let refused = unproved
            .iter()
            .any(|(_, state)| *state == Some(State::Failed));
        let expected = match (unproved.is_empty(), refused) {
            (true, _) => Exit::Proved,
            (false, true) => Exit::Refused,
            (false, false) => Exit::NeedsPerson,
        };
        if strange.is_some() || ending.exit != expected || !self.disk.is_empty() {
            return Err(format!(
                "{strange:?} is strange: {:#?}, journal: {:?}",
                told(ending),
                self.disk
            ));
        }
        Ok(())
    }

    fn may_need_person(&self, id: &DeliveryId, state: Option<State>) -> bool {
        let rules = &self.channel(id).rules;
        match state {
            None => rules.gate == Gate::Manual,
            Some(State::Held) => {
                let careful = rules.gate == Gate::Confirm || rules.policy == Policy::AtMostOnce;
                // What can't be asked is told so often and no more.
                let unreadable = !self.channel(id).kind().traits().readable;
                careful || unreadable || self.weather.broken || self.touched.contains(id)
            }
            Some(State::Failed) => self.world.services[&id.channel].lies(self.url(id)) > 0,
            Some(
                State::InFlight | State::InDoubt | State::Retry | State::Done | State::Skipped,
            ) => false,
        }
    }

    /// After people had their say, everything is proved or not to be announced.
    pub(super) fn check_settled(&self) -> Result<(), String> {
        let left = self.unproved();
        let skipped = self.world.remote.rows().find(|row| {
            let state = row.publish().map(|record| record.state);
            state == Some(State::Skipped) && !self.touched.contains(&row.delivery_id())
        });
        match (left.is_empty(), skipped) {
            (true, None) => Ok(()),
            (_, skipped) => Err(format!(
                "unsettled: {left:?}, skipped by nobody: {:?}",
                skipped.map(Row::delivery_id)
            )),
        }
    }

    /// Every delivery is posted as often as its policy and people allow, and every receipt is the one of its post.
    pub(super) fn judge(&mut self) -> Result<(), String> {
        if self.met.longest > RUN_MAX {
            return Err(format!("runs took {:?}", self.met.longest));
        }
        for id in self.deliveries() {
            let row = self.row(&id).ok_or("a delivery without a row")?.clone();
            let record = row.publish().ok_or("a row without a record")?;
            let service = &self.world.services[&id.channel];
            let url = &row.canonical_url;
            let late = record.receipts.iter().map(|receipt| &receipt.remote);
            let receipts: Vec<_> = record.remote.iter().chain(late).collect();
            let real = receipts.iter().all(|receipt| service.gave(receipt, url));
            let is_done = record.state == State::Done;
            if !real || (is_done && record.remote.is_none()) {
                return Err(format!("{id}: {receipts:?}"));
            }
            let lies = service.lies(url);
            self.met.lies += lies;
            let repeats = record.attempt.saturating_sub(1);
            self.met.repeats += usize::try_from(repeats).expect("few");
            self.met.read_back += usize::from(record.evidence == Some(Evidence::ReadBack));
            let count = service.stored(url);
            if is_done && count == 0 {
                return Err(format!("{id}: done, and nothing was posted"));
            }
            self.judge_what_stands(&id, &row)?;
            let service = &self.world.services[&id.channel];
            let of = |counted: &BTreeMap<DeliveryId, usize>| {
                counted.get(&id).copied().unwrap_or_default()
            };
            let ordered = 1 + of(&self.agains);
            let policy = self.channel(&id).rules.policy;
            let allowed = match policy {
                Policy::AtLeastOnce => usize::MAX,
                Policy::Verified => ordered,
                // The service promises one post for an id, not that its refusals are true.
                Policy::Keyed => ordered + lies,
                Policy::AtMostOnce => {
                    let (effects, licensed) = (service.effects(url), ordered + of(&self.licences));
                    if effects > licensed {
                        return Err(format!("{id}: {effects} requests, {licensed} allowed"));
                    }
                    licensed + lies
                }
            };
            if count <= allowed {
                continue;
            }
            let mut posts: Vec<&Remote> = Vec::new();
            for receipt in receipts {
                if !posts.iter().any(|post| post.is_same_post(receipt)) {
                    posts.push(receipt);
                }
            }
            let seen = posts.len() == count || self.seen_twice.contains(&id);
            if policy == Policy::Verified && self.weather.broken && seen {
                self.met.duplicates_seen += count - allowed;
            } else {
                return Err(format!(
                    "{id}: {count} posts, {allowed} allowed; the row has {posts:?}"
                ));
            }
        }
        Ok(())
    }

    /// What was done to a post later is so: it is gone, or shows what the ledger says that it shows.
    fn judge_what_stands(&mut self, id: &DeliveryId, row: &Row) -> Result<(), String> {
        let service = &self.world.services[&id.channel];
        let (url, now) = (&row.canonical_url, self.world.now);
        let is_done = row
            .record()
            .is_some_and(|record| record.state == State::Done);
        match row.current() {
            Operation::Retract if is_done => {
                self.met.retractions += 1;
                // Others of it stand where the service posted twice, or a person announced it again.
                let others = row.publish().map_or(0, |record| record.receipts.len());
                let standing = service.standing(url, now);
                if standing > others && !self.seen_twice.contains(id) {
                    return Err(format!("{id}: taken down, and {standing} posts stand"));
                }
            }
            Operation::Update(_) if is_done => {
                self.met.changes += 1;
                let shown = row.shown().map(Post::fingerprint);
                let remote = row.publish().and_then(|record| record.remote.clone());
                // A service that takes longer than its quarantine may do an old change after a newer one, and one that
                // refused a retraction and did it all the same has no post that could be changed.
                if let Some((shown, remote)) = shown.zip(remote)
                    && !self.weather.broken
                    && service.lies(url) == 0
                    && !service.shows(&remote, &shown, now)
                {
                    return Err(format!("{id}: it does not show what was claimed last"));
                }
            }
            Operation::Publish | Operation::Update(_) | Operation::Retract => {}
        }
        Ok(())
    }

    fn unproved(&self) -> Vec<(DeliveryId, Option<State>)> {
        self.deliveries()
            .into_iter()
            .map(|id| {
                let record = self.row(&id).and_then(Row::record);
                let state = record.map(|record| record.state);
                (id, state)
            })
            .filter(|(_, state)| !matches!(state, Some(State::Done | State::Skipped)))
            .collect()
    }
}

fn holds(record: &Record, receipt: &Remote) -> bool {
    let late = record.receipts.iter().map(|receipt| &receipt.remote);
    record.remote.iter().chain(late).any(|kept| kept == receipt)
}

/// What people would see of an ending.
fn told(ending: &Ending) -> Vec<String> {
    let code = format!("exit {}", ending.exit.code());
    let deliveries = ending.deliveries.iter().map(|delivery| {
        let state = delivery.state.map_or("pending", State::label);
        format!("{}: {state}: {:?}", delivery.id, delivery.reason)
    });
    let problems = ending.problems.iter().map(|problem| format!("! {problem}"));
    [code]
        .into_iter()
        .chain(deliveries)
        .chain(problems)
        .collect()
}
