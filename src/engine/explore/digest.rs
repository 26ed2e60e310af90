//! The name of a state: two states under one name go on alike.
//!
//! Tokens, commits, and keys are numbered in the order in which they appear, times are counted from now, and what is long
//! past is only that. What a person reads, and what was drawn at random, is left out.

use std::collections::BTreeMap;
use std::hash::Hasher;

use crate::engine::desk::{Desk, Phase};
use crate::engine::outbox::{Entry, Outbox, Sort};
use crate::engine::saving::Journal;
use crate::ledger::{CommitId, Header, PushReport};
use crate::model::delivery::{Event, Record};
use crate::model::ids::Token;
use crate::model::outcome::{Listing, Lookup, Outcome, Remote as Receipt};
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;
use crate::plan::survey::Verdict;

use super::remote::{Remote, Tree};
use super::service::{Client, Service};
use super::watch::Watch;
use super::world::{Job, Run, Work, World};

/// Beyond this, only the order of the past could matter, and nothing in the protocol asks for it.
const LONG_AGO_S: i64 = 1_200;

/// Returns the name of a world's state.
pub(super) fn digest(world: &World) -> u64 {
    let mut sink = Sink {
        hasher: Fold::default(),
        now: world.now,
        words: BTreeMap::new(),
    };
    sink.world(world);
    sink.hasher.finish()
}

/// A quick hash: a name is made of some hundred small numbers, and nobody chooses them to collide.
#[derive(Default)]
struct Fold(u64);

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ (mixed >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0.rotate_left(23) ^ number).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        self.0 = mixed ^ (mixed >> 31);
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(u64::from_ne_bytes(number.to_ne_bytes()));
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(u64::try_from(number).unwrap_or(u64::MAX));
    }
}

struct Sink<'a> {
    hasher: Fold,
    now: Timestamp,
    /// Names in the order in which they appeared.
    words: BTreeMap<&'a str, u32>,
}

impl<'a> Sink<'a> {
    fn number(&mut self, number: usize) {
        self.hasher.write_usize(number);
    }

    fn flags<const N: usize>(&mut self, flags: [bool; N]) {
        for flag in flags {
            self.hasher.write_u8(u8::from(flag));
        }
    }

    /// Seconds from now, rounded up: the world's clock stands on whole seconds.
    fn time(&mut self, time: Option<Timestamp>) {
        let Some(time) = time else {
            return self.hasher.write_i64(i64::MAX);
        };
        let millis = time.as_millis() - self.now.as_millis();
        let seconds = millis.div_euclid(1000) + i64::from(millis.rem_euclid(1000) > 0);
        self.hasher.write_i64(seconds.max(-LONG_AGO_S));
    }

    /// A name, of which only matters where else it stands.
    fn word(&mut self, word: Option<&'a str>) {
        let next = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
        let number = word.map_or(u32::MAX, |word| *self.words.entry(word).or_insert(next));
        self.hasher.write_u32(number);
    }

    /// A few words that are what they are.
    fn text(&mut self, text: &str) {
        self.hasher.write(text.as_bytes());
        self.hasher.write_u8(0xff);
    }

    fn token(&mut self, token: Option<&'a Token>) {
        self.word(token.map(Token::as_str));
    }

    fn commit(&mut self, commit: Option<&'a CommitId>) {
        self.word(commit.map(|commit| commit.0.as_str()));
    }

    fn receipt(&mut self, receipt: &Receipt) {
        self.text(receipt.id.as_deref().unwrap_or("none"));
    }

    fn delivery(&mut self, id: &DeliveryId) {
        self.text(id.item.as_str());
    }

    fn world(&mut self, world: &'a World) {
        let left = &world.left;
        for number in [
            left.starts,
            left.kills,
            left.faults,
            left.releases,
            left.edits,
            left.stops,
            left.rollbacks,
            world.edits,
            world.started.min(1),
        ] {
            self.number(number);
        }
        self.remote(&world.remote, world.scenario.rollbacks > 0);
        self.service(&world.service);
        for (run, disk) in world.runs.iter().zip(&world.disks) {
            self.number(disk.len());
            for row in disk {
                self.row(row);
            }
            self.flags([run.is_some()]);
            if let Some(run) = run {
                self.run(run, world);
            }
        }
        self.watch(&world.watch);
    }

    fn remote(&mut self, remote: &'a Remote, with_history: bool) {
        self.commit(remote.tip.as_ref());
        self.commit(remote.witness.as_ref());
        self.tree(&remote.tree);
        self.number(remote.late.len());
        for id in &remote.late {
            self.commit(Some(id));
            let commit = remote.built.get(id);
            self.commit(commit.and_then(|commit| commit.base.as_ref()));
            for delivery in commit.iter().flat_map(|commit| commit.blobs.keys()) {
                let stored = commit.and_then(|commit| commit.tree.rows.get(delivery));
                if let Some(stored) = stored {
                    self.row(&stored.row);
                }
            }
        }
        if with_history {
            self.number(remote.history.len());
            for id in remote.history.iter().chain(remote.built.keys()) {
                self.commit(Some(id));
            }
        }
    }

    fn tree(&mut self, tree: &'a Tree) {
        self.number(tree.rows.len());
        for stored in tree.rows.values() {
            self.row(&stored.row);
        }
        self.header(tree.header.as_ref());
        self.number(tree.baseline.len());
    }

    fn header(&mut self, header: Option<&'a Header>) {
        self.flags([header.is_some()]);
        let Some(header) = header else { return };
        self.word(Some(&header.lineage));
        for known in header.channels.values() {
            self.time(known.since);
            self.time(known.not_before);
        }
    }

    fn row(&mut self, row: &'a Row) {
        self.delivery(&row.delivery_id());
        let account = row.account.as_ref();
        self.text(account.map_or("nobody", |account| account.as_str()));
        self.text(&row.title);
        if let Some(record) = row.publish() {
            self.record(record);
        }
    }

    fn record(&mut self, record: &'a Record) {
        self.text(record.state.label());
        for number in [record.attempt, record.uncounted, record.edition] {
            self.hasher.write_u32(number);
        }
        self.flags([record.frozen, record.doubtful]);
        self.time(record.settled_at);
        self.time(record.doubt_since);
        self.time(record.not_before);
        self.text(record.evidence.map_or("", |evidence| evidence.label()));
        self.number(record.receipts.len());
        for receipt in &record.receipts {
            self.receipt(&receipt.remote);
        }
        if let Some(remote) = &record.remote {
            self.receipt(remote);
        }
        self.number(record.lookups.len());
        for lookup in &record.lookups {
            self.time(Some(lookup.at));
            self.text(lookup.finding.label());
        }
        self.time(record.by.as_ref().map(|by| by.at));
        self.flags([record.claim.is_some()]);
        if let Some(claim) = &record.claim {
            self.token(Some(&claim.token));
            self.word(Some(claim.key.as_str()));
            self.word(Some(claim.fingerprint.as_str()));
            self.word(Some(claim.run.as_str()));
            for time in [
                claim.claimed_at,
                claim.first_claimed_at,
                claim.send_before,
                claim.quiet_until,
            ] {
                self.time(Some(time));
            }
        }
    }

    fn service(&mut self, service: &'a Service) {
        self.number(service.posts.len());
        for post in &service.posts {
            self.text(&post.url);
            self.text(post.account.as_str());
            self.word(Some(&post.key));
            self.time(Some(post.visible_at));
        }
        self.number(service.requests.len());
        for request in &service.requests {
            self.time(Some(request.accept_by));
            self.number(
                usize::from(request.client != Client::Waits)
                    + usize::from(request.client == Client::Gone),
            );
            for claim in &request.claims {
                self.token(Some(&claim.token));
            }
            self.outcome(request.stored.as_ref());
        }
    }

    fn outcome(&mut self, outcome: Option<&Outcome>) {
        match outcome {
            None => self.text("none"),
            Some(Outcome::Accepted { remote, evidence }) => {
                self.receipt(remote);
                self.text(evidence.label());
            }
            Some(Outcome::Refused { .. } | Outcome::NotSent { .. } | Outcome::InDoubt { .. }) => {
                unreachable!("only what was stored is kept")
            }
        }
    }

    fn run(&mut self, run: &'a Run, world: &'a World) {
        self.time(run.wake);
        self.time(run.frozen_until);
        self.time(run.paused_until);
        self.number(run.edits);
        self.number(run.receipts.len());
        for (delivery, receipt) in &run.receipts {
            self.delivery(delivery);
            self.receipt(receipt);
        }
        self.number(run.jobs.len());
        for job in &run.jobs {
            match job {
                Job::Read => self.text("read"),
                Job::Push(commit) => self.commit(Some(commit)),
                Job::Landed(PushReport::Landed { commit, .. }) => {
                    self.text("landed");
                    self.commit(Some(commit));
                }
                Job::Landed(_) => unreachable!("it landed"),
            }
        }
        self.work(run.work.as_ref(), world);
        let core = &run.core;
        self.number(core.claims_made.min(9));
        self.flags([
            core.skewed.is_some(),
            core.fatal.is_some(),
            core.journal == Journal::Idle,
            core.merged_journal,
            core.forgot_journal,
            core.survey.is_some(),
        ]);
        self.time(core.stop);
        for row in core.journaled.iter().chain(&core.setup.journal) {
            self.row(row);
        }
        for surveyed in core.survey.iter().flat_map(|survey| &survey.deliveries) {
            self.delivery(&surveyed.id);
            self.flags([surveyed.verdict == Verdict::InPlay]);
        }
        self.outbox(&core.outbox, &world.remote);
        for desk in core.desks.values() {
            self.desk(desk, &world.watch);
        }
    }

    fn work(&mut self, work: Option<&'a Work>, world: &'a World) {
        match work {
            None => self.text("rests"),
            Some(Work::Open) => self.text("open"),
            Some(Work::List { began_at, listing }) => {
                self.text("list");
                self.time(Some(*began_at));
                match listing {
                    Listing::Posts(posts) => self.number(posts.len()),
                    Listing::CannotTell { .. } => self.text("unread"),
                }
            }
            Some(Work::Look {
                delivery,
                began_at,
                lookup,
            }) => {
                self.text("look");
                self.delivery(delivery);
                self.time(Some(*began_at));
                match lookup {
                    Lookup::Found(receipt) => self.receipt(receipt),
                    Lookup::Several(receipts) => self.number(receipts.len()),
                    Lookup::Absent => self.text("absent"),
                    Lookup::CannotTell { .. } => self.text("unread"),
                }
            }
            Some(Work::Send {
                request,
                claims,
                until,
                deaf,
            }) => {
                self.text("send");
                let requests = &world.service.requests;
                let index = requests.iter().position(|other| other.number == *request);
                self.number(index.unwrap_or(usize::MAX));
                self.time(Some(*until));
                self.flags([*deaf]);
                for claim in claims {
                    self.token(Some(&claim.token));
                }
            }
        }
    }

    fn outbox(&mut self, outbox: &'a Outbox, remote: &'a Remote) {
        match outbox.snapshot() {
            None => self.text("unread"),
            Some(snapshot) if snapshot.tip == remote.tip => {
                self.text("tip");
                self.flags([snapshot.standing.trouble().is_some()]);
            }
            Some(snapshot) => {
                self.text("before");
                self.commit(snapshot.tip.as_ref());
                for stored in snapshot.rows.values() {
                    self.row(&stored.row);
                }
                self.header(snapshot.header.as_ref());
            }
        }
        let contents = outbox.contents();
        self.hasher.write_u8(contents.stage);
        for entries in contents.entries {
            self.number(entries.len());
            for entry in entries.values() {
                self.entry(entry);
            }
        }
        for header in contents.headers {
            self.header(header);
        }
        self.flags(contents.baselines);
        for commit in contents.commits {
            self.commit(commit);
        }
        for time in contents.times {
            self.time(time);
        }
        for count in contents.counts {
            self.hasher.write_u32(count);
        }
        self.number(contents.abandoned.len());
        for token in contents.abandoned {
            self.token(Some(token));
        }
    }

    fn entry(&mut self, entry: &'a Entry) {
        self.flags([entry.urgent, entry.decided_on.is_some()]);
        if let Some(row) = &entry.decided_on {
            self.row(row);
        }
        self.row(&entry.row);
        match &entry.sort {
            Sort::Claim(claim) => self.token(Some(&claim.token)),
            Sort::Outcome(token) => {
                self.text("outcome");
                self.token(Some(token));
            }
            Sort::Finding => self.text("finding"),
        }
        self.number(entry.events.len());
        for (_, event) in &entry.events {
            self.text(event.label());
            if let Event::Proved { remote, .. } = event {
                self.receipt(remote);
            }
        }
    }

    fn desk(&mut self, desk: &'a Desk, watch: &'a Watch) {
        self.text(match &desk.phase {
            Phase::New => "new",
            Phase::Open(_) => "open",
            Phase::Closed { .. } => "closed",
        });
        self.flags([desk.is_working, desk.list_is_old, desk.singly]);
        self.time(desk.listed_at);
        self.number(desk.ready.len());
        for pushed in &desk.ready {
            self.token(Some(&pushed.claim().token));
        }
        self.number(desk.own.len());
        for (token, (delivery, _)) in &desk.own {
            self.token(Some(token));
            self.delivery(delivery);
            self.flags(watch.bits(token));
        }
        for time in [desk.not_before, desk.asked_until] {
            self.time(time);
        }
        self.number(desk.looked_for.len());
        for count in [desk.failures, desk.limits, desk.late, desk.doubts] {
            self.hasher.write_u32(count);
        }
        self.number(desk.prepared.len());
        self.number(desk.unsendable.len());
    }

    fn watch(&mut self, watch: &'a Watch) {
        self.number(watch.released);
        for count in watch.effects.values().chain(watch.attempts.values()) {
            self.number(*count);
        }
        for text in watch.sent_as.values() {
            self.word(Some(text.as_str()));
        }
        for (delivery, absent) in &watch.absent {
            self.delivery(delivery);
            for at in absent {
                self.time(Some(*at));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_dates_are_told_apart_but_not_looked_into() {
        let check = |now: i64, write: &dyn Fn(&mut Sink<'static>)| {
            let mut sink = Sink {
                hasher: Fold::default(),
                now: Timestamp::from_millis(now),
                words: BTreeMap::new(),
            };
            write(&mut sink);
            sink.hasher.finish()
        };
        let time = |at| move |sink: &mut Sink<'static>| sink.time(Some(Timestamp::from_millis(at)));
        assert_eq!(check(0, &time(1_000)), check(5_000, &time(6_000)));
        assert_eq!(check(0, &time(-2_000_000)), check(0, &time(-3_000_000)));
        assert_ne!(check(0, &time(1_000)), check(0, &time(2_000)));
        let words = |words: [&'static str; 3]| {
            move |sink: &mut Sink<'static>| words.iter().for_each(|word| sink.word(Some(word)))
        };
        assert_eq!(
            check(0, &words(["a", "b", "a"])),
            check(0, &words(["b", "a", "b"]))
        );
        assert_ne!(
            check(0, &words(["a", "b", "a"])),
            check(0, &words(["b", "a", "a"]))
        );
        let text = |text: &'static str| move |sink: &mut Sink<'static>| sink.text(text);
        assert_ne!(check(0, &text("a")), check(0, &text("b")));
    }
}
