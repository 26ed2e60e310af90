//! The ledger's history on its remote: every commit of the branch, every version of every row.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use git2::{ObjectType, Oid, Repository, Sort, TreeWalkMode, TreeWalkResult};
use serde_json::Value;

/// The history of a ledger's branch.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The rows' versions by path (`<item>/<channel>`), oldest first.
    pub(crate) rows: BTreeMap<String, Vec<Version>>,
    /// The commits, oldest first.
    pub(crate) commits: Vec<String>,
    /// Commits with more or less than one parent, the first aside.
    pub(crate) not_linear: Vec<String>,
    /// Rows that a commit took away.
    pub(crate) gone: Vec<String>,
    /// The words that were looked for and found in some object.
    pub(crate) leaked: BTreeSet<String>,
    /// Where the witness is.
    pub(crate) witness: Option<String>,
}

/// A row as one commit has it.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) commit: String,
    pub(crate) row: Value,
}

impl Version {
    /// A field of the publish record.
    pub(crate) fn get(&self, key: &str) -> &Value {
        &self.row["operations"]["publish"][key]
    }

    /// The same, as text; empty if it is not there.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.get(key).as_str().unwrap_or_default()
    }

    pub(crate) fn attempt(&self) -> u64 {
        self.get("attempt").as_u64().unwrap_or_default()
    }

    /// Every receipt's id, or URL where there are no ids; as JSON, because IndexNow has neither.
    pub(crate) fn receipts(&self) -> BTreeSet<String> {
        let late = self.get("receipts").as_array().into_iter().flatten();
        [self.get("remote")]
            .into_iter()
            .filter(|remote| !remote.is_null())
            .chain(late)
            .map(|receipt| receipt["id"].to_string())
            .collect()
    }
}

/// Reads the history of `branch` in the repository at `path`, and looks for `secrets` in all objects.
pub(crate) fn read(path: &Path, branch: &str, secrets: &[&str]) -> Result<History, git2::Error> {
    let mut history = History::default();
    // A kill may have come before there was a remote.
    let Ok(repository) = Repository::open_bare(path) else {
        return Ok(history);
    };
    let commit_at = |name: &str| repository.refname_to_id(name).ok();
    history.witness = commit_at("refs/sayonce/witness").map(|id| id.to_string());
    let Some(tip) = commit_at(&format!("refs/heads/{branch}")) else {
        return Ok(history);
    };
    let mut walk = repository.revwalk()?;
    walk.push(tip)?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
    let mut before = BTreeMap::new();
    for id in walk {
        let commit = repository.find_commit(id?)?;
        let name = commit.id().to_string();
        if commit.parent_count() != 1 && !history.commits.is_empty() {
            history.not_linear.push(name.clone());
        }
        let now = rows_in(&repository, &commit.tree()?)?;
        for (row, blob) in &now {
            if before.get(row) != Some(blob) {
                let version = Version {
                    commit: name.clone(),
                    row: serde_json::from_slice(repository.find_blob(*blob)?.content())
                        .unwrap_or(Value::Null),
                };
                history.rows.entry(row.clone()).or_default().push(version);
            }
        }
        let gone = before.keys().filter(|row| !now.contains_key(*row));
        history
            .gone
            .extend(gone.map(|row| format!("{row} in {name}")));
        before = now;
        history.commits.push(name);
    }
    history.leaked = leaked(&repository, secrets)?;
    Ok(history)
}

/// The blobs of the rows, by their path below the ledger without `.json`.
fn rows_in(
    repository: &Repository,
    tree: &git2::Tree<'_>,
) -> Result<BTreeMap<String, Oid>, git2::Error> {
    let mut rows = BTreeMap::new();
    let Ok(ledger) = tree.get_path(Path::new("ledger")) else {
        return Ok(rows);
    };
    let ledger = ledger.to_object(repository)?.peel_to_tree()?;
    ledger.walk(TreeWalkMode::PreOrder, |directory, entry| {
        let name = entry.name().unwrap_or_default();
        if !directory.is_empty()
            && let Some(channel) = name.strip_suffix(".json")
        {
            rows.insert(format!("{directory}{channel}"), entry.id());
        }
        TreeWalkResult::Ok
    })?;
    Ok(rows)
}

fn leaked(repository: &Repository, secrets: &[&str]) -> Result<BTreeSet<String>, git2::Error> {
    let objects = repository.odb()?;
    let mut ids = Vec::new();
    objects.foreach(|id| {
        ids.push(*id);
        true
    })?;
    let mut leaked = BTreeSet::new();
    for id in ids {
        let object = objects.read(id)?;
        if !matches!(object.kind(), ObjectType::Blob | ObjectType::Commit) {
            continue;
        }
        let text = String::from_utf8_lossy(object.data());
        let found = secrets.iter().filter(|secret| text.contains(**secret));
        leaked.extend(found.map(|secret| format!("{secret} in {id}")));
    }
    Ok(leaked)
}
