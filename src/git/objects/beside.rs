//! Whether two commits have the same files, the ledger's aside.

use git2::{Oid, Tree};

use super::{Objects, ObjectsError, missing_or};

impl Objects {
    /// Whether two commits have the same files, those below `directory` aside.
    pub fn is_same_beside(
        &self,
        one: Oid,
        other: Oid,
        directory: &str,
    ) -> Result<bool, ObjectsError> {
        let root = |commit: Oid| {
            self.repository
                .find_commit(commit)
                .map(|commit| commit.tree_id())
                .map_err(missing_or(commit, "reading a commit"))
        };
        let segments: Vec<_> = directory.split('/').collect();
        self.is_same_tree(root(one)?, root(other)?, &segments)
    }

    /// Whether two trees differ at most below the path that `beside` names.
    fn is_same_tree(&self, one: Oid, other: Oid, beside: &[&str]) -> Result<bool, ObjectsError> {
        let Some((segment, rest)) = beside.split_first() else {
            return Ok(true);
        };
        if one == other {
            return Ok(true);
        }
        let (one, other) = (self.tree(one)?, self.tree(other)?);
        let others = |tree: &Tree<'_>| -> Vec<(Vec<u8>, Oid, i32)> {
            tree.iter()
                .filter(|entry| entry.name_bytes() != segment.as_bytes())
                .map(|entry| (entry.name_bytes().to_vec(), entry.id(), entry.filemode()))
                .collect()
        };
        if others(&one) != others(&other) {
            return Ok(false);
        }
        let inner = |tree: &Tree<'_>| tree.get_name(segment).map(|entry| entry.id());
        match (inner(&one), inner(&other)) {
            (Some(one), Some(other)) => self.is_same_tree(one, other, rest),
            (None, None) => Ok(true),
            // The directories that lead to the ledger are there with the first row, and hold nothing else then.
            (Some(only), None) | (None, Some(only)) => self.leads_only_to(only, rest),
        }
    }

    fn leads_only_to(&self, tree: Oid, path: &[&str]) -> Result<bool, ObjectsError> {
        let Some((segment, rest)) = path.split_first() else {
            return Ok(true);
        };
        let tree = self.tree(tree)?;
        let inner = tree.get_name(segment).map(|entry| entry.id());
        match inner {
            Some(inner) if tree.len() == 1 => self.leads_only_to(inner, rest),
            Some(_) | None => Ok(tree.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use git2::{FileMode, Repository, Signature};

    use super::super::Durability;
    use super::*;

    /// Makes a commit of files, and of directories that hold nothing, which end with `/`.
    fn commit(repository: &Repository, files: &[&str]) -> Oid {
        let tree = write(repository, files);
        let tree = repository.find_tree(tree).unwrap();
        let author = Signature::now("a", "a@blog.example").unwrap();
        repository
            .commit(None, &author, &author, "c", &tree, &[])
            .unwrap()
    }

    fn write(repository: &Repository, files: &[&str]) -> Oid {
        let mut below: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut builder = repository.treebuilder(None).unwrap();
        for file in files.iter().filter(|file| !file.is_empty()) {
            if let Some((directory, rest)) = file.split_once('/') {
                below.entry(directory).or_default().push(rest);
            } else {
                let blob = repository.blob(file.as_bytes()).unwrap();
                builder.insert(file, blob, FileMode::Blob.into()).unwrap();
            }
        }
        for (directory, files) in below {
            let tree = write(repository, &files);
            builder
                .insert(directory, tree, FileMode::Tree.into())
                .unwrap();
        }
        builder.write().unwrap()
    }

    #[test]
    fn only_what_is_not_the_ledgers_counts() {
        let directory = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(directory.path()).unwrap();
        let check = |ledger: &str, one: &[&str], other: &[&str]| {
            let objects = Objects::open(directory.path(), Durability::Scratch).unwrap();
            let (one, other) = (commit(&repository, one), commit(&repository, other));
            let there = objects.is_same_beside(one, other, ledger).unwrap();
            let back = objects.is_same_beside(other, one, ledger).unwrap();
            assert_eq!(there, back);
            there
        };
        assert!(check("ledger", &["a"], &["a"]));
        assert!(check("ledger", &["a"], &["a", "ledger/r"]));
        assert!(check("ledger", &["a", "ledger/q"], &["a", "ledger/r"]));
        assert!(!check("ledger", &["a", "ledger/q"], &["b", "ledger/q"]));
        assert!(!check("ledger", &["a"], &["a", "ledgers/r"]));
        // One further down: the way to it comes with the first row.
        assert!(check("x/y/ledger", &["a"], &["a", "x/y/ledger/r"]));
        assert!(check(
            "x/y/ledger",
            &["a", "x/z"],
            &["a", "x/z", "x/y/ledger/r"]
        ));
        assert!(!check("x/y/ledger", &["a"], &["a", "x/z", "x/y/ledger/r"]));
        assert!(!check(
            "x/y/ledger",
            &["a"],
            &["a", "x/y/z", "x/y/ledger/r"]
        ));
        assert!(!check("x/y/ledger", &["x/y/z"], &["x/y/ledger/r"]));
        assert!(check("x/y/ledger", &["a"], &["a", "x/y/"]));
        assert!(!check("x/y/ledger", &["a"], &["a", "x/z/"]));
    }
}
