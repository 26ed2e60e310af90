//! `adopt --rename`: a channel has another name in the configuration, and its rows follow.
//!
//! Invariant: all of them move in one commit, or none does; what may still be under way does not move.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::anyhow;

use crate::channel::registry;
use crate::cli::{AdoptArgs, Format};
use crate::clock::Clock;
use crate::config::ChannelConfig;
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ledger::git_store::GitStore;
use crate::ledger::{Change, Header, Snapshot, StoredRow};
use crate::model::channel::Kind;
use crate::model::delivery::{Decision, State};
use crate::model::ids::{Account, ChannelName};
use crate::model::outcome::Opening;
use crate::model::row::{DeliveryId, Row};
use crate::model::time::Timestamp;
use crate::render::kinds_of;
use crate::report::human::number;
use crate::report::terminal::Terminal;

use super::adopt::write_or_show;
use super::commit::Commit;
use super::world::World;

/// Moves every row of one channel to another name.
pub(super) fn rechannel(
    world: &World,
    store: &mut GitStore,
    clock: &Arc<dyn Clock>,
    environment: &Environment,
    arguments: &AdoptArgs,
    (old, new): (&str, &str),
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let channel = world.channel(new)?;
    let old = old_name(world, old)?;
    let account = match account(channel, world, environment, clock) {
        Ok(account) => Some(account),
        Err(reason) => {
            terminal.error_line(&format!(
                "note: whether {new} posts to the same account is not known: {reason}"
            ));
            None
        }
    };
    let names = Names {
        old,
        new: channel.name().clone(),
        kind: channel.kind(),
        account,
    };
    let who = store.who();
    let mut count = 0;
    write_or_show(store, arguments.dry_run, &mut |snapshot| {
        let now = clock.now();
        let mut commit = names.commit(snapshot, now)?;
        count = commit.changes.len();
        commit.decision = Some(Decision {
            who: who.clone(),
            at: now,
            verb: "adopt --rename".to_owned(),
            why: arguments.reason.why.clone(),
        });
        Ok(Some(commit))
    })?;
    let told = match arguments.output.format {
        Format::Text => names.told(count, arguments.dry_run),
        Format::Json => {
            let report = serde_json::json!({
                "schema": 1,
                "dry_run": arguments.dry_run,
                "renamed": { "old": names.old.as_str(), "new": names.new.as_str(), "rows": count },
            });
            format!("{report:#}\n")
        }
    };
    terminal.result(&told);
    Ok(Exit::Proved)
}

/// The old name must be free: rows of a channel that is still configured are that channel's.
fn old_name(world: &World, old: &str) -> Result<ChannelName, Failure> {
    let name = ChannelName::new(old).map_err(|error| Failure::new(Exit::Usage, error))?;
    let config = &world.config;
    let is_configured = config.disabled.contains(&name)
        || config
            .channels
            .iter()
            .any(|channel| *channel.name() == name);
    if is_configured {
        return Err(Failure::new(
            Exit::Usage,
            anyhow!("`{old}` is still a channel of the configuration, so its rows are its own"),
        )
        .hinted(
            "give the channel its new name in the configuration first, and take the old one out",
        ));
    }
    Ok(name)
}

/// Asks the channel who it posts as.
fn account(
    channel: &ChannelConfig,
    world: &World,
    environment: &Environment,
    clock: &Arc<dyn Clock>,
) -> Result<Account, String> {
    let site = &world.config.site;
    let mut service = registry::build(channel, site, environment, Arc::clone(clock))
        .map_err(|missing| format!("{} is not set", missing.variable))?;
    match service.open() {
        Opening::Ready(session) => Ok(session.account),
        Opening::Closed { reason, .. } => Err(reason),
    }
}

struct Names {
    old: ChannelName,
    new: ChannelName,
    kind: Kind,
    /// Who posts there; none: it could not be asked.
    account: Option<Account>,
}

impl Names {
    fn commit(&self, snapshot: &Snapshot, now: Timestamp) -> Result<Commit, Failure> {
        let rows: Vec<_> = snapshot
            .rows
            .iter()
            .filter(|(id, _)| id.channel == self.old)
            .collect();
        self.check(snapshot, &rows, now)?;
        let changes: Vec<_> = rows
            .iter()
            .map(|(_, stored)| Change {
                row: Row {
                    channel: self.new.clone(),
                    ..stored.row.clone()
                },
                expected: None,
            })
            .collect();
        let removed: BTreeMap<_, _> = rows
            .iter()
            .map(|(id, stored)| ((*id).clone(), stored.blob.clone()))
            .collect();
        let mut header = snapshot.header.clone().unwrap_or_else(Header::blank);
        let known = header.channels.remove(&self.old).unwrap_or_default();
        header.channels.insert(self.new.clone(), known);
        let mut baseline = snapshot.baseline.clone();
        if let Some(items) = baseline.remove(&self.old) {
            let known = baseline.entry(self.new.clone()).or_default();
            known.extend(items);
        }
        Ok(Commit {
            changes,
            removed,
            header: Some(header),
            baseline: (baseline != snapshot.baseline).then_some(baseline),
            subject: Some(format!(
                "ledger: the channel {} is {} from now on",
                self.old, self.new
            )),
            at: now,
            ..Commit::default()
        })
    }

    fn check(
        &self,
        snapshot: &Snapshot,
        rows: &[(&DeliveryId, &StoredRow)],
        now: Timestamp,
    ) -> Result<(), Failure> {
        let wrong = |error: anyhow::Error| Failure::new(Exit::Usage, error);
        let unreadable = snapshot.unreadable.iter().find(|file| {
            let named = file.delivery.as_ref().map(|id| &id.channel);
            named == Some(&self.old) || named == Some(&self.new)
        });
        if let Some(file) = unreadable {
            return Err(Failure::new(
                Exit::Ledger,
                anyhow!("{} can't be read: {}", file.path, file.reason),
            )
            .hinted("mend the file first; a row that can't be read can't be moved"));
        }
        if rows.is_empty() && !snapshot.baseline.contains_key(&self.old) {
            return Err(wrong(anyhow!(
                "the ledger has nothing of a channel `{}`",
                self.old
            ))
            .hinted(Self::known(snapshot)));
        }
        if let Some(clash) = snapshot.rows.keys().find(|id| id.channel == self.new) {
            return Err(wrong(anyhow!(
                "`{}` has rows of its own in the ledger ({clash}), so it is another channel",
                self.new
            )));
        }
        self.check_same(rows).map_err(|error| {
            wrong(error).hinted(format!(
                "leave the rows of {} where they are: {} is a channel of its own, and starts with the next article",
                self.old, self.new
            ))
        })?;
        let busy = rows.iter().find_map(|(id, stored)| {
            let record = stored.row.publish()?;
            let quiet_until = record.claim.as_ref()?.quiet_until;
            let open = matches!(record.state, State::InFlight | State::InDoubt);
            (open && quiet_until >= now).then_some((*id, quiet_until))
        });
        if let Some((id, until)) = busy {
            return Err(wrong(anyhow!(
                "{id} may still be under way until {until}: its row can't be moved before that"
            ))
            .hinted("run the same command again after that"));
        }
        Ok(())
    }

    /// Rows tell what they were written for only by their posts and accounts.
    fn check_same(&self, rows: &[(&DeliveryId, &StoredRow)]) -> Result<(), anyhow::Error> {
        for (id, stored) in rows {
            let claim = stored
                .row
                .publish()
                .and_then(|record| record.claim.as_ref());
            let kinds = claim.map_or_else(|| Kind::ALL.to_vec(), |claim| kinds_of(&claim.post));
            if let Some(first) = kinds.first().filter(|_| !kinds.contains(&self.kind)) {
                return Err(anyhow!(
                    "`{}` is of kind {}, and {id} was written for one of kind {first}",
                    self.new,
                    self.kind
                ));
            }
            if let Some((posts, row)) = self.account.as_ref().zip(stored.row.account.as_ref())
                && posts != row
            {
                return Err(anyhow!(
                    "`{}` posts as {posts}, and {id} was posted as {row}",
                    self.new
                ));
            }
        }
        Ok(())
    }

    fn known(snapshot: &Snapshot) -> String {
        let names: BTreeSet<_> = snapshot.rows.keys().map(|id| id.channel.as_str()).collect();
        let names: Vec<_> = names.into_iter().collect();
        match names.as_slice() {
            [] => "the ledger has no row at all".to_owned(),
            names => format!("the channels with rows are {}", names.join(", ")),
        }
    }

    fn told(&self, count: usize, dry_run: bool) -> String {
        let (old, new) = (&self.old, &self.new);
        if dry_run {
            return format!(
                "{} of {old} would move to {new}. Nothing was written.\n",
                number(count, "row", "rows")
            );
        }
        format!(
            "{old} is {new} from now on: {} moved\n",
            number(count, "row was", "rows were")
        )
    }
}
