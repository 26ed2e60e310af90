//! With a remote: rollbacks, refusals, unreadable files, lost answers.

use std::path::Path;

use insta::assert_snapshot;
use sayonce::config::{LedgerConfig, PushMode};
use sayonce::ledger::git_store::GitStore;
use sayonce::ledger::{PushReport, Standing, Store as _};

use super::world::{batch, claimed, config, open, own_branch, proved, rows, write};
use crate::git::http::{GitServer, HttpFault};
use crate::git::sandbox::{Sandbox, path_variable};

const SOUND: Standing = Standing::Sound { notice: None };

/// A remote whose ledger holds one proved row, and a store on a clone of it.
fn world() -> (Sandbox, GitStore) {
    let sandbox = Sandbox::new();
    let remote = sandbox.remote();
    let site = sandbox.clone_of(remote.to_str().unwrap(), "site", &[]);
    let mut store = open(&site, config(), sandbox.environment()).unwrap();
    let row = claimed("news/a", 1);
    write(&mut store, std::slice::from_ref(&row));
    write(&mut store, &[proved(row, "7")]);
    (sandbox, store)
}

fn remote(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.path("origin.git")
}

fn rewound(store: &mut GitStore) -> String {
    match store.read().unwrap().standing {
        Standing::Rewound { reason } => reason,
        other @ (Standing::Sound { .. } | Standing::Foreign { .. } | Standing::TooNew { .. }) => {
            panic!("{other:?}")
        }
    }
}

/// Commits a person's change of the ledger's files and pushes it.
fn edit(sandbox: &Sandbox, change: impl FnOnce(&Path)) {
    let desk = sandbox.path("desk");
    if !desk.exists() {
        sandbox.clone_of(remote(sandbox).to_str().unwrap(), "desk", &[]);
    }
    sandbox.git(&desk, &["pull", "--quiet"]);
    change(&desk.join("ledger"));
    sandbox.commit_all(&desk, "by hand");
    sandbox.git(&desk, &["push", "--quiet"]);
}

#[test]
fn a_branch_that_was_rolled_back_is_noticed() {
    let (sandbox, mut store) = world();
    let bare = remote(&sandbox);
    sandbox.git(&bare, &["update-ref", "refs/heads/main", "main~1"]);
    assert_eq!(
        rewound(&mut store),
        "the row of news/a on mastodon lost a receipt (`publish`)"
    );
    let at_witness = store.read_witness().unwrap().unwrap();
    assert_eq!(rows(&at_witness), [proved(claimed("news/a", 1), "7")]);
    sandbox.git(&bare, &["update-ref", "refs/heads/main", "main~1"]);
    assert_eq!(rewound(&mut store), "`ledger.json` is gone");
    sandbox.git(&bare, &["update-ref", "-d", "refs/heads/main"]);
    assert_eq!(
        rewound(&mut store),
        "the branch `main` is gone from `origin`, but its witness is there"
    );
}

#[test]
fn a_person_can_accept_a_rollback_by_writing() {
    let (sandbox, mut store) = world();
    sandbox.git(
        &remote(&sandbox),
        &["update-ref", "refs/heads/main", "main~1"],
    );
    assert!(!rewound(&mut store).is_empty());
    // What `ledger accept` does: a commit moves branch and witness together.
    let snapshot = store.read().unwrap();
    let mut accept = batch(&snapshot, &[]);
    accept.subject = Some("ledger: accepted as it stands".to_owned());
    let report = store.push(&accept);
    assert!(matches!(report, PushReport::Landed { .. }), "{report:?}");
    assert_eq!(store.read().unwrap().standing, SOUND);
}

#[test]
fn what_people_do_beside_and_in_the_ledger_is_no_rollback() {
    let (sandbox, mut store) = world();
    let witness = sandbox.git(&remote(&sandbox), &["rev-parse", "refs/sayonce/witness"]);
    edit(&sandbox, |ledger| {
        std::fs::write(ledger.join("../index.md"), "# New\n").unwrap();
        std::fs::write(ledger.join("README.md"), "Do not touch.\n").unwrap();
    });
    let snapshot = store.read().unwrap();
    assert_eq!((snapshot.standing, snapshot.unreadable), (SOUND, vec![]));
    assert_eq!(
        sandbox.git(&remote(&sandbox), &["rev-parse", "refs/sayonce/witness"]),
        witness
    );
    write(&mut store, &[claimed("news/b", 2)]);
    // A squash of the whole history changes no row.
    let bare = remote(&sandbox);
    let squashed = sandbox.git(&bare, &["commit-tree", "-m", "squash", "main^{tree}"]);
    sandbox.git(&bare, &["update-ref", "refs/heads/main", &squashed]);
    assert_eq!(store.read().unwrap().standing, SOUND);
    write(&mut store, &[claimed("news/c", 3)]);
}

#[test]
fn a_missing_witness_is_told_once_and_made_by_the_next_commit() {
    let (sandbox, mut store) = world();
    sandbox.git(
        &remote(&sandbox),
        &["update-ref", "-d", "refs/sayonce/witness"],
    );
    assert_eq!(
        store.read().unwrap().standing,
        Standing::Sound {
            notice: Some(
                "`origin` has no refs/sayonce/witness: the ledger is taken over as it stands, \
                 and a rollback is noticed from the next commit on"
                    .to_owned()
            )
        }
    );
    write(&mut store, &[claimed("news/b", 2)]);
    assert_eq!(store.read().unwrap().standing, SOUND);
}

#[test]
fn a_protected_branch_refuses_in_its_own_words() {
    let (sandbox, mut store) = world();
    let bare = remote(&sandbox);
    let before = sandbox.git(&bare, &["for-each-ref"]);
    Sandbox::hook(
        &bare,
        "pre-receive",
        "echo 'error: GH006: Protected branch update failed for refs/heads/main.' >&2\n\
         echo 'error: Changes must be made through a pull request.' >&2\n\
         exit 1",
    );
    let snapshot = store.read().unwrap();
    assert_eq!(
        store.push(&batch(&snapshot, &[claimed("news/b", 2)])),
        PushReport::Refused {
            reason: "[remote rejected] (pre-receive hook declined): \
                     error: GH006: Protected branch update failed for refs/heads/main.; \
                     error: Changes must be made through a pull request."
                .to_owned(),
            hint:
                "a rule of `origin` forbids pushes to `main`: keep the ledger on a branch of its \
                   own, with `branch = \"sayonce\"` under `[ledger]` (ledger.branch)"
                    .to_owned(),
        }
    );
    assert_eq!(sandbox.git(&bare, &["for-each-ref"]), before);
}

#[test]
fn a_host_that_refuses_the_witness_has_a_ledger_without_one() {
    let sandbox = Sandbox::new();
    let bare = sandbox.remote();
    let site = sandbox.clone_of(bare.to_str().unwrap(), "site", &[]);
    Sandbox::hook(
        &bare,
        "update",
        "case $1 in refs/sayonce/*) echo \"not $1\" >&2; exit 1;; esac",
    );
    let mut store = open(&site, config(), sandbox.environment()).unwrap();
    let notice = write(&mut store, &[claimed("news/a", 1)]).unwrap();
    assert!(
        notice.starts_with("`origin` does not take refs/sayonce/witness ("),
        "{notice}"
    );
    assert_eq!(sandbox.git(&bare, &["rev-list", "--count", "main"]), "2");
    let mut next_run = open(&site, config(), sandbox.environment()).unwrap();
    let snapshot = next_run.read().unwrap();
    assert_eq!(snapshot.standing, SOUND);
    assert!(snapshot.header.unwrap().witness_refused);
    assert_eq!(write(&mut next_run, &[claimed("news/b", 2)]), None);
}

#[test]
fn a_host_that_hides_the_witness_is_told_once_too() {
    let sandbox = Sandbox::new();
    let bare = sandbox.remote();
    let site = sandbox.clone_of(bare.to_str().unwrap(), "site", &[]);
    sandbox.git(&bare, &["config", "transfer.hideRefs", "refs/sayonce"]);
    let mut store = open(&site, config(), sandbox.environment()).unwrap();
    let notice = write(&mut store, &[claimed("news/a", 1)]).unwrap();
    assert!(notice.contains("deny updating a hidden ref"), "{notice}");
    assert_eq!(write(&mut store, &[claimed("news/b", 2)]), None);
    let snapshot = store.read().unwrap();
    assert_eq!(snapshot.standing, SOUND);
    assert!(snapshot.header.unwrap().witness_refused);
}

#[test]
fn unreadable_files_are_named_and_left_byte_for_byte() {
    let (sandbox, mut store) = world();
    let conflict = "{\n<<<<<<< HEAD\n  \"schema\": 1\n=======\n";
    edit(&sandbox, |ledger| {
        let good = std::fs::read_to_string(ledger.join("news/a/mastodon.json")).unwrap();
        let put = |path: &str, text: &str| {
            let path = ledger.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("news/b/mastodon.json", &good);
        put("news/c/mastodon.json", conflict);
        put(
            "news/d/mastodon.json",
            &good.replace("\"schema\": 1", "\"schema\": 2"),
        );
        put("news/e/mastodon.json", "");
        put("news/f/NotAChannel.json", &good);
        put("stray.json", &good);
        #[cfg(unix)]
        std::os::unix::fs::symlink("b/mastodon.json", ledger.join("news/link.json")).unwrap();
    });
    let snapshot = store.read().unwrap();
    let listed = snapshot
        .unreadable
        .iter()
        .map(|file| {
            let delivery = file
                .delivery
                .as_ref()
                .map_or_else(|| "-".to_owned(), ToString::to_string);
            format!("{} [{delivery}]: {}", file.path, file.reason)
        })
        .collect::<Vec<_>>()
        .join("\n");
    assert_snapshot!(listed, @r"
    ledger/news/b/mastodon.json [news/b on mastodon]: it says that it is `news/a on mastodon`, which belongs under another path
    ledger/news/c/mastodon.json [news/c on mastodon]: it has merge conflict markers
    ledger/news/d/mastodon.json [news/d on mastodon]: it has schema 2, which a newer version of sayonce wrote; this one reads up to 1
    ledger/news/e/mastodon.json [news/e on mastodon]: it is not the JSON that it should be: EOF while parsing a value at line 1 column 0
    ledger/news/f/NotAChannel.json [-]: its path is not that of a row: `<item id>/<channel>.json`
    ledger/news/link.json [news on link]: it is a symbolic link, not a plain file
    ledger/stray.json [-]: its path is not that of a row: `<item id>/<channel>.json`
    ");
    assert_eq!(snapshot.rows.len(), 1);
    assert_eq!(snapshot.standing, SOUND);
    write(&mut store, &[claimed("news/g", 3)]);
    assert_eq!(
        sandbox.git(
            &remote(&sandbox),
            &["show", "main:ledger/news/c/mastodon.json"]
        ),
        conflict.trim_end()
    );
    // A claim over it is refused: unreadable is never absent.
    let snapshot = store.read().unwrap();
    let report = store.push(&batch(&snapshot, &[claimed("news/c", 4)]));
    assert!(matches!(report, PushReport::NotBuilt { .. }), "{report:?}");
}

#[test]
fn a_newer_ledger_is_read_by_nobody_older() {
    let (sandbox, mut store) = world();
    edit(&sandbox, |ledger| {
        let path = ledger.join("ledger.json");
        let text = std::fs::read_to_string(&path).unwrap();
        let newer = text.replace("\"least_reader\": 1", "\"least_reader\": 2");
        std::fs::write(path, newer).unwrap();
    });
    let snapshot = store.read().unwrap();
    assert_eq!(
        snapshot.standing,
        Standing::TooNew {
            reason: "the ledger was written by a newer version: writing it takes one that knows schema 2"
                .to_owned()
        }
    );
    let report = store.push(&batch(&snapshot, &[claimed("news/b", 2)]));
    assert!(matches!(report, PushReport::Refused { .. }), "{report:?}");
}

#[test]
fn a_broken_header_or_baseline_stops_the_run() {
    for file in ["ledger.json", "baseline.json"] {
        let (sandbox, mut store) = world();
        edit(&sandbox, |ledger| {
            std::fs::write(ledger.join(file), "{").unwrap();
        });
        let error = store.read().unwrap_err();
        assert!(
            error.message.starts_with(&format!(
                "ledger/{file} on `main` can't be read: it is not the JSON that it should be"
            )),
            "{error}"
        );
        assert_eq!(
            error.hint.unwrap(),
            format!(
                "find its last good version with `git log -p main -- ledger/{file}` and commit that"
            )
        );
    }
}

#[test]
fn a_remote_that_is_gone_or_can_not_be_used_says_what_to_do() {
    let (sandbox, mut store) = world();
    let snapshot = store.read().unwrap();
    std::fs::rename(remote(&sandbox), sandbox.path("moved.git")).unwrap();
    let error = store.read().unwrap_err();
    assert!(
        error
            .message
            .starts_with("the remote `origin` can't be used: "),
        "{error}"
    );
    assert_eq!(
        error.hint.unwrap(),
        "check the address and the credentials with `git ls-remote origin`"
    );
    let report = store.push(&batch(&snapshot, &[claimed("news/b", 2)]));
    assert!(matches!(report, PushReport::Refused { .. }), "{report:?}");

    let site = sandbox.path("site");
    let always = LedgerConfig {
        remote: "upstream".to_owned(),
        push: PushMode::Always,
        ..config()
    };
    let error = open(&site, always, sandbox.environment()).unwrap_err();
    assert_eq!(
        error.message,
        "there is no remote `upstream`, and `push` is `always`"
    );
    sandbox.git(
        &site,
        &[
            "config",
            "remote.origin.pushurl",
            "https://git.example/other",
        ],
    );
    let error = open(&site, config(), sandbox.environment()).unwrap_err();
    assert!(
        error
            .message
            .contains("but pushes to https://git.example/other"),
        "{error}"
    );
}

#[test]
fn over_http_the_credentials_of_the_checkout_are_used() {
    let sandbox = Sandbox::new();
    let bare = sandbox.remote();
    sandbox.git(&bare, &["config", "http.receivepack", "true"]);
    let site = sandbox.clone_of(bare.to_str().unwrap(), "site", &[]);
    let server = GitServer::start(bare.parent().unwrap(), &path_variable());
    sandbox.git(
        &site,
        &["remote", "set-url", "origin", &server.url("origin.git")],
    );
    let mut stranger = open(&site, config(), sandbox.environment()).unwrap();
    let error = stranger.read().unwrap_err();
    assert_eq!(
        error.hint.unwrap(),
        "check the address and the credentials with `git ls-remote origin`"
    );

    let [name, value] = server.credential();
    sandbox.git(&site, &["config", &name, &value]);
    let mut store = open(&site, config(), sandbox.environment()).unwrap();
    assert_eq!(store.repository(), Some("127.0.0.1/origin"));
    let row = claimed("news/a", 1);
    write(&mut store, std::slice::from_ref(&row));
    let header = store.read().unwrap().header.unwrap();
    assert_eq!(header.repository.as_deref(), Some("127.0.0.1/origin"));

    // The server is unwell: not known, nothing landed, and the same commit goes through later.
    server.fail_next_push(HttpFault::Unavailable);
    let snapshot = store.read().unwrap();
    let PushReport::Unknown { commit, .. } = store.push(&batch(&snapshot, &[claimed("news/b", 2)]))
    else {
        panic!("a 503 is not an answer");
    };
    let again = store.push_again(&commit);
    assert!(matches!(again, PushReport::Landed { .. }), "{again:?}");
    let thrice = store.push_again(&commit);
    assert!(matches!(thrice, PushReport::Rejected { .. }), "{thrice:?}");

    // The answer is lost: git's client may ask twice and report the second failure. The tip tells.
    server.fail_next_push(HttpFault::DropAnswer);
    let snapshot = store.read().unwrap();
    let report = store.push(&batch(&snapshot, &[proved(row.clone(), "7")]));
    assert!(
        matches!(
            report,
            PushReport::Unknown { .. } | PushReport::Rejected { .. }
        ),
        "{report:?}"
    );
    assert!(rows(&store.read().unwrap()).contains(&proved(row, "7")));
}

#[test]
fn a_fork_with_the_ledger_of_another_stops() {
    let sandbox = Sandbox::new();
    let bare = sandbox.remote();
    sandbox.git(&bare, &["config", "http.receivepack", "true"]);
    let server = GitServer::start(bare.parent().unwrap(), &path_variable());
    let site = sandbox.clone_of(bare.to_str().unwrap(), "site", &[]);
    let [name, value] = server.credential();
    sandbox.git(&site, &["config", &name, &value]);
    sandbox.git(
        &site,
        &["remote", "set-url", "origin", &server.url("origin.git")],
    );
    let mut store = open(&site, config(), sandbox.environment()).unwrap();
    write(&mut store, &[claimed("news/a", 1)]);
    sandbox.clone_of(bare.to_str().unwrap(), "fork.git", &["--bare"]);
    sandbox.git(
        &sandbox.path("fork.git"),
        &["config", "http.receivepack", "true"],
    );
    sandbox.git(
        &site,
        &["remote", "set-url", "origin", &server.url("fork.git")],
    );
    let mut fork = open(&site, config(), sandbox.environment()).unwrap();
    let snapshot = fork.read().unwrap();
    assert_eq!(
        snapshot.standing,
        Standing::Foreign {
            reason: "the ledger belongs to 127.0.0.1/origin, and this repository is 127.0.0.1/fork"
                .to_owned()
        }
    );
    // What `ledger accept` does.
    let mut accept = batch(&snapshot, &[]);
    accept.header = snapshot.header.map(|header| sayonce::ledger::Header {
        repository: fork.repository().map(str::to_owned),
        ..header
    });
    let report = fork.push(&accept);
    assert!(matches!(report, PushReport::Landed { .. }), "{report:?}");
    assert_eq!(fork.read().unwrap().standing, SOUND);
}

#[test]
fn a_branch_of_its_own_that_is_protected_says_so() {
    let sandbox = Sandbox::new();
    let bare = sandbox.remote();
    let site = sandbox.clone_of(bare.to_str().unwrap(), "site", &[]);
    Sandbox::hook(&bare, "update", "case $1 in refs/heads/*) exit 1;; esac");
    let mut store = open(&site, own_branch(), sandbox.environment()).unwrap();
    let snapshot = store.read().unwrap();
    let PushReport::Refused { hint, .. } = store.push(&batch(&snapshot, &[claimed("news/a", 1)]))
    else {
        panic!("the hook refuses");
    };
    assert_eq!(
        hint,
        "a rule of `origin` forbids this push: let this account push to `sayonce`, or set another \
         `branch` under `[ledger]` (ledger.branch)"
    );
}
