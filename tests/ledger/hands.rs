//! What people and their tools do to the ledger by hand, and remotes that can do less than they should.

use std::path::Path;

use sayonce::ledger::git_store::GitStore;
use sayonce::ledger::{PushReport, Standing, Store as _};

use super::world::{batch, claimed, config, open, proved, write};
use crate::git::sandbox::Sandbox;

const DONE: &str = "news/a/mastodon.json";
const CLAIMED: &str = "news/b/mastodon.json";

/// A ledger with a row that is done and one that is claimed.
fn world() -> (Sandbox, GitStore) {
    let sandbox = Sandbox::new();
    let remote = sandbox.remote();
    let site = sandbox.clone_of(remote.to_str().unwrap(), "site", &[]);
    let mut store = open(&site, config(), sandbox.environment()).unwrap();
    let row = claimed("news/a", 1);
    write(&mut store, std::slice::from_ref(&row));
    write(&mut store, &[proved(row, "7"), claimed("news/b", 2)]);
    (sandbox, store)
}

fn remote(sandbox: &Sandbox, arguments: &[&str]) -> String {
    sandbox.git(&sandbox.path("origin.git"), arguments)
}

/// Commits a change of a file of the ledger on a desk of its own, and pushes it.
fn edit(sandbox: &Sandbox, path: &str, change: impl FnOnce(&Path)) {
    let desk = sandbox.clone_of(sandbox.path("origin.git").to_str().unwrap(), "desk", &[]);
    change(&desk.join("ledger").join(path));
    sandbox.commit_all(&desk, "by hand");
    sandbox.git(&desk, &["push", "--quiet"]);
}

/// What a run sees of the ledger.
fn seen(store: &mut GitStore) -> String {
    let snapshot = store.read().unwrap();
    let mut unreadable = snapshot.unreadable.iter().map(|file| &file.reason);
    match (unreadable.next().cloned(), snapshot.standing) {
        (Some(reason), Standing::Sound { .. }) => format!("unreadable: {reason}"),
        (None, Standing::Sound { .. }) => "sound".to_owned(),
        (_, Standing::Rewound { reason }) => format!("rewound: {reason}"),
        (_, other @ (Standing::Foreign { .. } | Standing::TooNew { .. })) => panic!("{other:?}"),
    }
}

#[test]
fn a_row_that_a_person_edits_moves_forwards_or_stops_everything_or_is_left_out() {
    let check = |path: &str, old: &str, new: &str| {
        let (sandbox, mut store) = world();
        edit(&sandbox, path, |file| {
            let text = std::fs::read_to_string(file).unwrap();
            assert!(text.contains(old), "{text}");
            std::fs::write(file, text.replace(old, new)).unwrap();
        });
        seen(&mut store)
    };
    let state = |state: &str| format!("\"state\": \"{state}\"");
    assert_eq!(
        check(DONE, "\"title\": \"Hello\"", "\"title\": \"Hi\""),
        "sound"
    );
    assert_eq!(check(CLAIMED, &state("in_flight"), &state("held")), "sound");
    assert_eq!(
        check(DONE, &state("done"), &state("retry")),
        "rewound: the row of news/a on mastodon went back from done to retry (`publish`)"
    );
    assert_eq!(
        check(DONE, &state("done"), &state("in_flight")),
        "rewound: the row of news/a on mastodon went back from done to in_flight (`publish`)"
    );
    assert_eq!(
        check(DONE, "\"id\": \"7\"", "\"id\": \"8\""),
        "rewound: the row of news/a on mastodon lost a receipt (`publish`)"
    );
    assert_eq!(
        check(DONE, "\"attempt\": 1", "\"attempt\": 0"),
        "rewound: the row of news/a on mastodon fell from attempt 1 to 0 (`publish`)"
    );
    assert_eq!(
        check(CLAIMED, &state("in_flight"), &state("done")),
        "unreadable: its operation `publish` is done without a receipt and its evidence"
    );
    assert_eq!(
        check(CLAIMED, &state("in_flight"), &state("sent")),
        "unreadable: its operation `publish` has the state `sent`, which this version does not know"
    );
}

#[test]
fn a_row_that_is_no_row_any_more_is_left_byte_for_byte_and_nothing_is_claimed_over_it() {
    let deep = format!("{{\"schema\": 1, \"x\": {}", "[".repeat(100_000));
    let huge = format!("{{\"schema\": 1, \"x\": \"{}\"}}", "x".repeat(2 << 20));
    let cases: [(&[u8], &str); 8] = [
        (b"", "it is not the JSON that it should be: "),
        (
            b"{\"schema\": 1, \"item\": \"new",
            "it is not the JSON that it should be: ",
        ),
        (b"[]\n", "it is not a JSON object"),
        (b"{}\n", "it has no `schema` number"),
        (
            b"{\"schema\": 1, \"title\": \"\xff\xfe\"}",
            "it is not UTF-8",
        ),
        (
            b"{\"schema\": 1, \"schema\": 1}",
            "it is not the JSON that it should be: ",
        ),
        (
            deep.as_bytes(),
            "it is not the JSON that it should be: recursion limit exceeded",
        ),
        (
            huge.as_bytes(),
            "it has 2097174 bytes, more than the 1048576 that are read",
        ),
    ];
    let (sandbox, mut store) = world();
    let desk = sandbox.clone_of(sandbox.path("origin.git").to_str().unwrap(), "desk", &[]);
    for (bytes, expected) in cases {
        std::fs::write(desk.join("ledger").join(CLAIMED), bytes).unwrap();
        sandbox.commit_all(&desk, "by hand");
        sandbox.git(&desk, &["push", "--quiet"]);
        let snapshot = store.read().unwrap();
        let reason = &snapshot.unreadable[0].reason;
        assert!(reason.starts_with(expected), "{expected}: {reason}");
        let blob = remote(&sandbox, &["rev-parse", "main:ledger/news/b/mastodon.json"]);
        let report = store.push(&batch(&snapshot, &[claimed("news/b", 3)]));
        assert!(matches!(report, PushReport::NotBuilt { .. }), "{report:?}");
        write(&mut store, &[claimed("news/c", 4)]);
        assert_eq!(
            remote(&sandbox, &["rev-parse", "main:ledger/news/b/mastodon.json"]),
            blob
        );
        // So that the next edit builds on it, and `news/c` can be claimed once more.
        sandbox.git(&desk, &["pull", "--quiet"]);
        sandbox.git(&desk, &["rm", "--quiet", "ledger/news/c/mastodon.json"]);
        sandbox.git(
            &desk,
            &["commit", "--quiet", "--amend", "--no-edit", "--allow-empty"],
        );
        sandbox.git(&desk, &["push", "--quiet", "--force"]);
        let tip = remote(&sandbox, &["rev-parse", "main"]);
        remote(&sandbox, &["update-ref", "refs/sayonce/witness", &tip]);
    }
}

#[test]
fn a_remote_that_can_not_move_both_refs_together_is_refused() {
    let (sandbox, mut store) = world();
    remote(&sandbox, &["config", "receive.advertiseAtomic", "false"]);
    let before = remote(&sandbox, &["for-each-ref"]);
    let snapshot = store.read().unwrap();
    let PushReport::Refused { hint, .. } = store.push(&batch(&snapshot, &[claimed("news/c", 3)]))
    else {
        panic!("half a push was made");
    };
    assert_eq!(
        hint,
        "`origin` can't move two refs at once, which the ledger needs: use another host for it (ledger.remote)"
    );
    assert_eq!(remote(&sandbox, &["for-each-ref"]), before);
}

/// A remote that was killed between its two refs, or a person's commit.
#[test]
fn a_witness_that_was_left_behind_is_moved_up_by_the_next_commit() {
    let (sandbox, mut store) = world();
    remote(&sandbox, &["update-ref", "refs/sayonce/witness", "main~1"]);
    assert_eq!(seen(&mut store), "sound");
    write(&mut store, &[claimed("news/c", 3)]);
    assert_eq!(
        remote(&sandbox, &["rev-parse", "refs/sayonce/witness"]),
        remote(&sandbox, &["rev-parse", "main"])
    );
}

#[test]
fn a_remote_on_github_is_known_by_its_address() {
    let (sandbox, store) = world();
    assert!(!store.is_on_github());
    for (address, is_there) in [
        ("https://github.com/blog/site.git", true),
        ("git@github.com:blog/site.git", true),
        ("https://git.example/github.com/site.git", false),
    ] {
        let site = sandbox.path("site");
        sandbox.git(&site, &["remote", "set-url", "origin", address]);
        let store = open(&site, config(), sandbox.environment()).unwrap();
        assert_eq!(store.is_on_github(), is_there, "{address}");
    }
}
