//! Without a remote: the branch moves, index and work tree follow, and `git status` stays clean.

use std::path::PathBuf;

use sayonce::config::{LedgerConfig, PushMode};
use sayonce::ledger::git_store::GitStore;
use sayonce::ledger::{PushReport, Store as _};

use super::world::{batch, claimed, claimed_with, config, open, own_branch, proved, rows, write};
use crate::git::sandbox::Sandbox;

fn local() -> LedgerConfig {
    LedgerConfig {
        push: PushMode::Never,
        ..config()
    }
}

fn world() -> (Sandbox, PathBuf, GitStore) {
    let sandbox = Sandbox::new();
    let site = sandbox.path("site");
    std::fs::create_dir(&site).unwrap();
    sandbox.git(&site, &["init", "--quiet"]);
    std::fs::write(site.join("index.md"), "# Site\n").unwrap();
    sandbox.commit_all(&site, "site");
    let store = open(&site, local(), sandbox.environment()).unwrap();
    (sandbox, site, store)
}

#[test]
fn index_and_work_tree_follow_the_rows_alone() {
    let (sandbox, site, mut store) = world();
    assert!(!store.is_pushed());
    std::fs::write(site.join("index.md"), "# Edited\n").unwrap();
    std::fs::write(site.join("staged.md"), "staged\n").unwrap();
    sandbox.git(&site, &["add", "staged.md"]);
    let row = claimed("news/a", 1);
    write(&mut store, std::slice::from_ref(&row));
    assert_eq!(
        sandbox.git(&site, &["status", "--porcelain"]),
        " M index.md\nA  staged.md"
    );
    let on_disk = std::fs::read_to_string(site.join("ledger/news/a/mastodon.json")).unwrap();
    assert!(on_disk.contains("\"state\": \"in_flight\""), "{on_disk}");
    write(&mut store, &[proved(row.clone(), "7")]);
    assert_eq!(
        sandbox.git(&site, &["status", "--porcelain"]),
        " M index.md\nA  staged.md"
    );
    assert_eq!(
        sandbox.git(&site, &["log", "--format=%s"]),
        "ledger: news/a on mastodon: posted, proved [skip ci]\n\
         ledger: news/a on mastodon: being sent (attempt 1) [skip ci]\n\
         site"
    );
    let mut again = open(&site, local(), sandbox.environment()).unwrap();
    assert_eq!(rows(&again.read().unwrap()), [proved(row, "7")]);
}

#[test]
fn a_row_that_was_changed_by_hand_is_not_overwritten() {
    let (sandbox, site, mut store) = world();
    let row = claimed("news/a", 1);
    write(&mut store, std::slice::from_ref(&row));
    let path = site.join("ledger/news/a/mastodon.json");
    std::fs::write(&path, "mine\n").unwrap();
    let snapshot = store.read().unwrap();
    let report = store.push(&batch(&snapshot, &[proved(row, "7")]));
    assert_eq!(
        report,
        PushReport::NotBuilt {
            reason:
                "`ledger/news/a/mastodon.json` was changed here by hand; commit it or restore it \
                     with `git restore --staged --worktree ledger/news/a/mastodon.json`"
                    .to_owned()
        }
    );
    assert_eq!(std::fs::read_to_string(path).unwrap(), "mine\n");
    assert_eq!(sandbox.git(&site, &["rev-list", "--count", "HEAD"]), "2");
    // Another row is none of its business.
    write(&mut store, &[claimed("news/b", 2)]);
}

#[test]
fn what_a_kill_left_undone_is_finished_by_the_next_run() {
    let (sandbox, site, mut store) = world();
    let row = claimed("news/a", 1);
    write(&mut store, std::slice::from_ref(&row));
    let before = sandbox.git(&site, &["rev-parse", "HEAD"]);
    write(&mut store, &[proved(row.clone(), "7")]);
    // As if the run had been killed after the branch moved: the note is there, index and work tree are old.
    let new = sandbox.git(&site, &["rev-parse", "HEAD:ledger/news/a/mastodon.json"]);
    let old = sandbox.git(
        &site,
        &[
            "rev-parse",
            &format!("{before}:ledger/news/a/mastodon.json"),
        ],
    );
    sandbox.git(&site, &["read-tree", &before]);
    sandbox.git(&site, &["checkout-index", "--force", "--all"]);
    assert_eq!(
        sandbox.git(&site, &["status", "--porcelain"]),
        "M  ledger/news/a/mastodon.json"
    );
    let note = format!(
        r#"{{"files":[{{"path":"ledger/news/a/mastodon.json","old":"{old}","new":"{new}"}}]}}"#
    );
    std::fs::write(site.join(".git/sayonce/follow.json"), &note).unwrap();
    let mut next_run = open(&site, local(), sandbox.environment()).unwrap();
    assert_eq!(rows(&next_run.read().unwrap()), [proved(row, "7")]);
    assert_eq!(sandbox.git(&site, &["status", "--porcelain"]), "");
    assert!(!site.join(".git/sayonce/follow.json").exists());

    // What a person has changed since is left to them.
    std::fs::write(site.join("ledger/news/a/mastodon.json"), "mine\n").unwrap();
    std::fs::write(site.join(".git/sayonce/follow.json"), &note).unwrap();
    next_run.read().unwrap();
    assert_eq!(
        std::fs::read_to_string(site.join("ledger/news/a/mastodon.json")).unwrap(),
        "mine\n"
    );
}

#[test]
fn a_stale_lock_is_reported_and_left() {
    let (sandbox, site, mut store) = world();
    let lock = site.join(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    let snapshot = store.read().unwrap();
    let PushReport::NotBuilt { reason } = store.push(&batch(&snapshot, &[claimed("news/a", 1)]))
    else {
        panic!("the index is locked");
    };
    assert!(
        reason.contains("index.lock exists; if no other git is at work in this repository, remove the stale lock: rm '"),
        "{reason}"
    );
    assert!(lock.exists());
    std::fs::remove_file(lock).unwrap();
    let lock = site.join(".git/refs/heads/main.lock");
    std::fs::write(&lock, "").unwrap();
    let PushReport::NotBuilt { reason } = store.push(&batch(&snapshot, &[claimed("news/a", 1)]))
    else {
        panic!("the branch is locked");
    };
    assert!(reason.contains("rm '"), "{reason}");
    assert!(lock.exists());
    std::fs::remove_file(lock).unwrap();
    write(&mut store, &[claimed("news/a", 1)]);
    assert_eq!(sandbox.git(&site, &["status", "--porcelain"]), "");
}

#[test]
fn a_repository_without_a_commit_gets_its_first() {
    let sandbox = Sandbox::new();
    let site = sandbox.path("site");
    std::fs::create_dir(&site).unwrap();
    sandbox.git(&site, &["init", "--quiet"]);
    // No remote, and `push = "auto"`.
    let mut store = open(&site, config(), sandbox.environment()).unwrap();
    assert_eq!((store.is_pushed(), store.branch()), (false, "main"));
    write(&mut store, &[claimed("news/a", 1)]);
    assert_eq!(sandbox.git(&site, &["status", "--porcelain"]), "");
    assert_eq!(
        sandbox.git(&site, &["ls-files"]),
        "ledger/ledger.json\nledger/news/a/mastodon.json"
    );
}

#[test]
fn a_branch_of_its_own_moves_without_a_work_tree() {
    let (sandbox, site, _) = world();
    let aside = LedgerConfig {
        push: PushMode::Never,
        ..own_branch()
    };
    let mut store = open(&site, aside.clone(), sandbox.environment()).unwrap();
    write(&mut store, &[claimed("news/a", 1)]);
    assert_eq!(sandbox.git(&site, &["status", "--porcelain"]), "");
    assert_eq!(sandbox.git(&site, &["rev-list", "--count", "main"]), "1");
    assert_eq!(
        sandbox.git(&site, &["ls-tree", "--name-only", "sayonce"]),
        "ledger"
    );
    sandbox.git(&site, &["worktree", "add", "--quiet", "../side", "sayonce"]);
    let error = open(&site, aside, sandbox.environment()).unwrap_err();
    assert_eq!(
        error.message,
        "the branch `sayonce` is checked out in another work tree of this repository"
    );
}

#[test]
fn a_long_body_comes_and_goes_in_the_work_tree_too() {
    let (sandbox, site, mut store) = world();
    let body = "A long article.\n".repeat(400);
    let post = serde_json::json!({ "title": "Hello", "body_markdown": body });
    let row = claimed_with("news/a", 1, post.as_object().unwrap().clone());
    write(&mut store, std::slice::from_ref(&row));
    let file = site.join("ledger/news/a/mastodon.body.md");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), body);
    write(&mut store, &[proved(row, "7")]);
    assert!(!file.exists());
    assert_eq!(sandbox.git(&site, &["status", "--porcelain"]), "");
}

#[test]
fn line_ends_of_the_checkout_do_not_make_rows_dirty() {
    let (sandbox, site, mut store) = world();
    sandbox.git(&site, &["config", "core.autocrlf", "true"]);
    let row = claimed("news/a", 1);
    write(&mut store, std::slice::from_ref(&row));
    write(&mut store, &[proved(row.clone(), "7")]);
    assert_eq!(sandbox.git(&site, &["status", "--porcelain"]), "");
    assert_eq!(rows(&store.read().unwrap()), [proved(row, "7")]);
}

#[test]
fn of_two_local_runs_one_wins() {
    let (sandbox, site, mut one) = world();
    let mut other = open(&site, local(), sandbox.environment()).unwrap();
    let (seen_by_one, seen_by_other) = (one.read().unwrap(), other.read().unwrap());
    let first = one.push(&batch(&seen_by_one, &[claimed("news/a", 1)]));
    assert!(matches!(first, PushReport::Landed { .. }), "{first:?}");
    let second = other.push(&batch(&seen_by_other, &[claimed("news/b", 2)]));
    assert!(matches!(second, PushReport::Rejected { .. }), "{second:?}");
    assert_eq!(rows(&other.read().unwrap()), [claimed("news/a", 1)]);
    assert_eq!(sandbox.git(&site, &["status", "--porcelain"]), "");
}
