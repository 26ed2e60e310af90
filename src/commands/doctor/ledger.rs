//! The ledger: can it be read, may it be pushed, is it in shape?

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::clock::Clock;
use crate::config::PushMode;
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ledger::git_store::GitStore;
use crate::ledger::git_store::probe::Probe;
use crate::ledger::{Snapshot, Store as _};
use crate::report::doctor::{Check, Verdict};
use crate::report::human::number;

use super::super::world::World;

/// Above this, hosts show a directory cut, and file systems and git grow slow.
const ENTRIES_MAX: usize = 3_000;

/// Looks at the ledger, and returns it for the other checks; an empty one where it can't be read.
pub(super) fn checks(
    world: &World,
    environment: &Environment,
    clock: &Arc<dyn Clock>,
) -> (Vec<Check>, Snapshot) {
    let mut store = match world.store(environment, clock) {
        Ok(store) => store,
        Err(failure) => return (vec![unusable(&failure)], Snapshot::empty()),
    };
    let snapshot = match store.read() {
        Ok(snapshot) => snapshot,
        Err(error) => return (vec![unusable(&error.into())], Snapshot::empty()),
    };
    let mut checks = vec![reading(&store, &snapshot)];
    checks.extend(snapshot.unreadable.iter().map(|file| {
        let message = format!("{} can't be read: {}", file.path, file.reason);
        Check::new("ledger", Verdict::Wrong(Exit::Ledger), message)
            .advised("mend the file; its delivery is left alone until then")
    }));
    checks.extend(pushing(world, &mut store));
    checks.extend(witness(&store, &snapshot));
    checks.extend(wide_directories(&world.config.ledger.dir, &snapshot));
    (checks, snapshot)
}

fn unusable(failure: &Failure) -> Check {
    let check = Check::new(
        "ledger",
        Verdict::Wrong(failure.exit),
        format!("{:#}", failure.error),
    );
    match failure.hints.first() {
        Some(hint) => check.advised(hint),
        None => check,
    }
}

fn reading(store: &GitStore, snapshot: &Snapshot) -> Check {
    if let Some(reason) = snapshot.standing.trouble() {
        return Check::new("ledger", Verdict::Wrong(Exit::Ledger), reason);
    }
    let branch = store.branch();
    let message = match (&snapshot.header, snapshot.rows.len()) {
        (None, _) => format!("not begun yet; the first run makes it on `{branch}`"),
        (Some(_), rows) => format!("{} on `{branch}`", number(rows, "row", "rows")),
    };
    Check::new("ledger", Verdict::Ok, message)
}

fn pushing(world: &World, store: &mut GitStore) -> Option<Check> {
    const NAME: &str = "push";
    let remote = &world.config.ledger.remote;
    let wrong = |message: String| Check::new(NAME, Verdict::Wrong(Exit::Ledger), message);
    let probe = match store.probe_push() {
        Ok(probe) => probe,
        Err(error) => return Some(unusable(&error.into())),
    };
    Some(match probe {
        Probe::Local => match world.config.ledger.push {
            PushMode::Never => return None,
            PushMode::Auto | PushMode::Always => Check::new(
                NAME,
                Verdict::Warning,
                format!("there is no remote `{remote}`: what a run claims is on this machine only"),
            )
            .advised("set `remote` or `push = \"never\"` under `[ledger]`"),
        },
        Probe::Allowed => Check::new(
            NAME,
            Verdict::Ok,
            format!("`{remote}` lets us push to `{}`", store.branch()),
        ),
        Probe::Refused { reason, hint } => {
            let check = wrong(reason);
            match hint {
                Some(hint) => check.advised(hint),
                None => check,
            }
        }
        Probe::NotThere { hint } => {
            wrong(format!("`{}` is not on `{remote}` yet", store.branch())).advised(hint)
        }
        Probe::NoCommit => Check::new(
            NAME,
            Verdict::Warning,
            "not known: nothing is committed here yet",
        ),
    })
}

fn witness(store: &GitStore, snapshot: &Snapshot) -> Option<Check> {
    const NAME: &str = "witness";
    let header = snapshot.header.as_ref()?;
    if !store.is_pushed() {
        return None;
    }
    Some(if header.witness_refused {
        Check::new(
            NAME,
            Verdict::Warning,
            "the host takes no `refs/sayonce/witness`: a rollback of the ledger's branch would not be noticed",
        )
        .advised("protect the ledger's branch against forced pushes")
    } else if store.has_witness() {
        Check::new(NAME, Verdict::Ok, "it stands beside the ledger's branch")
    } else {
        Check::new(
            NAME,
            Verdict::Warning,
            "there is none beside the ledger's branch; the next run makes it anew",
        )
    })
}

fn wide_directories(top: &str, snapshot: &Snapshot) -> Vec<Check> {
    let mut entries: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for id in snapshot.rows.keys() {
        let mut directory = top.to_owned();
        for segment in id.item.as_str().split('/') {
            let known = entries.entry(directory.clone()).or_default();
            known.insert(segment.to_owned());
            directory = format!("{directory}/{segment}");
        }
        let known = entries.entry(directory).or_default();
        known.insert(id.channel.to_string());
    }
    entries
        .into_iter()
        .filter(|(_, names)| names.len() > ENTRIES_MAX)
        .map(|(directory, names)| {
            let message = format!("{directory} has {} entries, more than {ENTRIES_MAX}", names.len());
            Check::new("directories", Verdict::Warning, message).advised(
                "it works, but hosts show only a part of it; addresses with the year in them spread by themselves",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::fixture::{claimed, row};
    use crate::ledger::{BlobId, StoredRow};

    #[test]
    fn a_directory_with_too_many_entries_is_named() {
        let mut snapshot = Snapshot::empty();
        let mut check = |count: usize| {
            for number in 0..count {
                let row = row(&format!("news/{number}"), "mastodon", [claimed(1)]);
                let blob = BlobId(number.to_string());
                snapshot
                    .rows
                    .insert(row.delivery_id(), StoredRow { row, blob });
            }
            let checks = wide_directories("ledger", &snapshot);
            let messages = checks.into_iter().map(|check| check.message);
            messages.collect::<Vec<_>>()
        };
        assert_eq!(check(3_000), [""; 0]);
        assert_eq!(
            check(3_001),
            ["ledger/news has 3001 entries, more than 3000"]
        );
    }
}
