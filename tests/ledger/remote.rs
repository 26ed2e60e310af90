//! With a remote: what a run writes, and what it leaves alone.

use insta::assert_snapshot;
use sayonce::ledger::{FetchedFrom, PushReport, Standing, Store as _};
use sayonce::model::claim::PushedClaim;

use super::world::{
    batch, claimed, claimed_with, config, delivery, open, own_branch, proved, rows, write,
};
use crate::git::sandbox::Sandbox;

const SOUND: Standing = Standing::Sound { notice: None };

fn url(sandbox: &Sandbox) -> String {
    sandbox.path("origin.git").display().to_string()
}

#[test]
fn a_claim_is_on_the_remote_and_nothing_of_the_users_has_moved() {
    let sandbox = Sandbox::new();
    let remote = sandbox.remote();
    let site = sandbox.clone_of(&url(&sandbox), "site", &[]);
    // A dirty work tree never matters with a remote.
    std::fs::write(site.join("index.md"), "# Edited\n").unwrap();
    let before = sandbox.git(&site, &["rev-parse", "main"]);
    let mut store = open(&site, config(), sandbox.environment()).unwrap();
    assert!(store.is_pushed());
    assert_eq!(store.branch(), "main");
    let empty = store.read().unwrap();
    assert_eq!(
        (rows(&empty), &empty.header, &empty.standing),
        (vec![], &None, &SOUND)
    );

    let row = claimed("news/2026/hello", 1);
    let PushReport::Landed { commit, notice, .. } =
        store.push(&batch(&empty, std::slice::from_ref(&row)))
    else {
        panic!("the claim did not land");
    };
    assert_eq!(notice, None);
    for name in ["refs/heads/main", "refs/sayonce/witness"] {
        assert_eq!(
            sandbox.git(&remote, &["rev-parse", name]),
            commit.0,
            "{name}"
        );
    }
    assert_eq!(sandbox.git(&site, &["rev-parse", "main"]), before);
    assert_eq!(
        sandbox.git(&site, &["status", "--porcelain"]),
        " M index.md"
    );
    assert_snapshot!(sandbox.git(&remote, &["log", "-1", "--format=%an <%ae>%n%ct%n%B", "main"]), @r"
    sayonce <sayonce@localhost>
    1795946400
    ledger: news/2026/hello on mastodon: being sent (attempt 1) [skip ci]

    Item: news/2026/hello
    Channel: mastodon
    Operation: publish
    State: in_flight
    Attempt: 1
    Run: github:4711/1
    ");
    assert_snapshot!(sandbox.git(&remote, &["diff", "--name-status", &before, "main"]), @r"
    A	ledger/ledger.json
    A	ledger/news/2026/hello/mastodon.json
    ");
    assert_eq!(
        sandbox.git(
            &remote,
            &[
                "log",
                "-1",
                "--format=%(trailers:key=Item,valueonly)",
                "main"
            ]
        ),
        "news/2026/hello"
    );

    // Another run, on another machine.
    let elsewhere = sandbox.clone_of(&url(&sandbox), "elsewhere", &[]);
    let mut other = open(&elsewhere, config(), sandbox.environment()).unwrap();
    let seen = other.read().unwrap();
    assert_eq!(rows(&seen), [row]);
    assert_eq!(seen.tip, Some(commit));
    assert_eq!(seen.standing, SOUND);
    assert_eq!(seen.header.unwrap().lineage.len(), 32);
}

#[test]
fn a_result_and_the_next_claim_share_a_commit() {
    let sandbox = Sandbox::new();
    let remote = sandbox.remote();
    let site = sandbox.clone_of(&url(&sandbox), "site", &[]);
    let mut store = open(&site, config(), sandbox.environment()).unwrap();
    let first = claimed("news/a", 1);
    write(&mut store, std::slice::from_ref(&first));
    write(&mut store, &[proved(first, "7"), claimed("news/b", 2)]);
    assert_eq!(
        sandbox.git(&remote, &["log", "--format=%s", "main"]),
        "ledger: 2 deliveries: 1 being sent, 1 posted [skip ci]\n\
         ledger: news/a on mastodon: being sent (attempt 1) [skip ci]\n\
         site"
    );
}

#[test]
fn a_push_builds_on_the_last_one_without_reading_again() {
    let sandbox = Sandbox::new();
    sandbox.remote();
    let site = sandbox.clone_of(&url(&sandbox), "site", &[]);
    let mut store = open(&site, config(), sandbox.environment()).unwrap();
    let snapshot = store.read().unwrap();
    let row = claimed("news/a", 1);
    let PushReport::Landed { commit, blobs, .. } =
        store.push(&batch(&snapshot, std::slice::from_ref(&row)))
    else {
        panic!("the claim did not land");
    };
    let mut next = batch(&snapshot, &[proved(row, "7")]);
    next.base = Some(commit);
    next.changes[0].expected = blobs.get(&delivery("news/a")).cloned();
    let report = store.push(&next);
    assert!(matches!(report, PushReport::Landed { .. }), "{report:?}");
}

#[test]
fn of_two_runs_one_wins_and_the_other_sees_whose_claim_it_is() {
    let sandbox = Sandbox::new();
    sandbox.remote();
    let environment = sandbox.environment();
    let mut stores = ["one", "other"].map(|name| {
        let clone = sandbox.clone_of(&url(&sandbox), name, &[]);
        open(&clone, config(), environment.clone()).unwrap()
    });
    let [one, other] = &mut stores;
    let (seen_by_one, seen_by_other) = (one.read().unwrap(), other.read().unwrap());
    let (mine, theirs) = (claimed("news/a", 1), claimed("news/a", 2));
    let won = one.push(&batch(&seen_by_one, std::slice::from_ref(&mine)));
    assert!(matches!(won, PushReport::Landed { .. }), "{won:?}");
    let lost = other.push(&batch(&seen_by_other, std::slice::from_ref(&theirs)));
    assert!(matches!(lost, PushReport::Rejected { .. }), "{lost:?}");

    let now = other.read().unwrap();
    assert_eq!(rows(&now), [mine]);
    assert_eq!(now.standing, SOUND);
    let stale = other.push(&batch(&seen_by_other, &[theirs]));
    assert!(matches!(stale, PushReport::Rejected { .. }), "{stale:?}");
}

#[test]
fn the_very_same_commit_of_two_jobs_lands_for_one() {
    let sandbox = Sandbox::new();
    sandbox.remote();
    let environment = sandbox
        .environment()
        .with("GIT_AUTHOR_NAME", "bot")
        .with("GIT_COMMITTER_NAME", "bot");
    let mut stores = ["one", "other"].map(|name| {
        let clone = sandbox.clone_of(&url(&sandbox), name, &[]);
        open(&clone, config(), environment.clone()).unwrap()
    });
    let [one, other] = &mut stores;
    write(one, &[claimed("news/a", 1)]);
    let (seen_by_one, seen_by_other) = (one.read().unwrap(), other.read().unwrap());
    let same = claimed("news/b", 2);
    let first = one.push(&batch(&seen_by_one, std::slice::from_ref(&same)));
    assert!(matches!(first, PushReport::Landed { .. }), "{first:?}");
    // git says "up to date" and ends with 0.
    let PushReport::Rejected { commit, reason } = other.push(&batch(&seen_by_other, &[same]))
    else {
        panic!("only one can have won");
    };
    assert_eq!(reason, "the remote already had this commit");
    assert_eq!(other.read().unwrap().tip, Some(commit));
}

#[test]
fn a_row_is_not_written_over_another_than_it_was_decided_from() {
    let sandbox = Sandbox::new();
    sandbox.remote();
    let site = sandbox.clone_of(&url(&sandbox), "site", &[]);
    let mut store = open(&site, config(), sandbox.environment()).unwrap();
    let row = claimed("news/a", 1);
    write(&mut store, std::slice::from_ref(&row));
    let snapshot = store.read().unwrap();
    let mut stale = batch(&snapshot, &[proved(row, "7")]);
    stale.changes[0].expected = None;
    let PushReport::NotBuilt { reason } = store.push(&stale) else {
        panic!("a stale row was written");
    };
    assert_eq!(
        reason,
        "the row of news/a on mastodon is not the one that the decision was made from"
    );
}

#[test]
fn a_branch_of_its_own_holds_nothing_but_the_ledger() {
    let sandbox = Sandbox::new();
    let remote = sandbox.remote();
    let site = sandbox.clone_of(&url(&sandbox), "site", &[]);
    let mut store = open(&site, own_branch(), sandbox.environment()).unwrap();
    assert_eq!(store.branch(), "sayonce");
    assert_eq!(store.read().unwrap().tip, None);
    write(&mut store, &[claimed("news/a", 1)]);
    write(&mut store, &[claimed("news/b", 2)]);
    assert_eq!(
        sandbox.git(&remote, &["ls-tree", "-r", "--name-only", "sayonce"]),
        "ledger/ledger.json\nledger/news/a/mastodon.json\nledger/news/b/mastodon.json"
    );
    assert_eq!(
        sandbox.git(&remote, &["rev-list", "--count", "sayonce"]),
        "2"
    );
    assert_eq!(sandbox.git(&remote, &["rev-list", "--count", "main"]), "1");
    assert_eq!(sandbox.git(&site, &["branch", "--list"]), "* main");
    assert_eq!(sandbox.git(&site, &["status", "--porcelain"]), "");
}

#[test]
fn a_checked_out_branch_that_is_not_on_the_remote_is_not_made_there() {
    let sandbox = Sandbox::new();
    let remote = sandbox.remote();
    let site = sandbox.clone_of(&url(&sandbox), "site", &[]);
    sandbox.git(&site, &["switch", "--quiet", "--create", "draft"]);
    let mut store = open(&site, config(), sandbox.environment()).unwrap();
    let snapshot = store.read().unwrap();
    assert_eq!(
        store.push(&batch(&snapshot, &[claimed("news/a", 1)])),
        PushReport::Refused {
            reason: "the branch `draft` is not on `origin` yet".to_owned(),
            hint:
                "push it first with `git push origin draft`, or keep the ledger on a branch of its \
                   own: set `branch = \"sayonce\"` under `[ledger]` (ledger.branch)"
                    .to_owned(),
        }
    );
    assert_eq!(sandbox.git(&remote, &["branch", "--list"]), "* main");
}

#[test]
fn a_shallow_clone_of_actions_works_and_stays_shallow() {
    let sandbox = Sandbox::new();
    let remote = sandbox.remote();
    let seed = sandbox.path("seed");
    for text in ["two", "three"] {
        std::fs::write(seed.join("index.md"), text).unwrap();
        sandbox.commit_all(&seed, text);
    }
    sandbox.git(&seed, &["push", "--quiet", &url(&sandbox), "main"]);
    let shallow = sandbox.clone_of(
        &format!("file://{}", url(&sandbox)),
        "shallow",
        &["--depth=1"],
    );
    sandbox.git(&shallow, &["checkout", "--quiet", "--detach"]);
    // Meanwhile the branch goes on, as it does when a job is run again.
    let elsewhere = sandbox.clone_of(&url(&sandbox), "elsewhere", &[]);
    let mut other = open(&elsewhere, config(), sandbox.environment()).unwrap();
    write(&mut other, &[claimed("news/a", 1)]);

    let error = open(&shallow, config(), sandbox.environment()).unwrap_err();
    assert_eq!(
        error.message,
        "no branch is checked out here, so the ledger's branch is not known"
    );
    assert_eq!(
        error.hint.unwrap(),
        "set `branch` under `[ledger]`, such as `branch = \"sayonce\"`"
    );
    let actions = sandbox
        .environment()
        .with("GITHUB_ACTIONS", "true")
        .with("GITHUB_REF", "refs/heads/main")
        .with("GITHUB_REF_NAME", "main");
    let mut store = open(&shallow, config(), actions).unwrap();
    assert_eq!(rows(&store.read().unwrap()), [claimed("news/a", 1)]);
    write(&mut store, &[proved(claimed("news/a", 1), "7")]);
    assert_eq!(
        sandbox.git(&remote, &["log", "-1", "--format=%cn", "main"]),
        "github-actions[bot]"
    );
    assert_eq!(
        sandbox.git(&shallow, &["rev-parse", "--is-shallow-repository"]),
        "true"
    );
    // The boundary, and the two commits since.
    assert_eq!(
        sandbox.git(
            &shallow,
            &["rev-list", "--count", "refs/sayonce/fetched/main"]
        ),
        "3"
    );
}

#[test]
fn a_partial_clone_fetches_what_it_lacks() {
    let sandbox = Sandbox::new();
    let remote = sandbox.remote();
    sandbox.git(&remote, &["config", "uploadpack.allowFilter", "true"]);
    sandbox.git(
        &remote,
        &["config", "uploadpack.allowAnySHA1InWant", "true"],
    );
    let elsewhere = sandbox.clone_of(&url(&sandbox), "elsewhere", &[]);
    let mut other = open(&elsewhere, config(), sandbox.environment()).unwrap();
    let all = [claimed("news/a", 1), claimed("news/b", 2)];
    write(&mut other, &all);
    for filter in ["blob:none", "tree:0"] {
        let partial = sandbox.clone_of(
            &format!("file://{}", url(&sandbox)),
            &filter.replace(':', "-"),
            &["--no-checkout", &format!("--filter={filter}")],
        );
        let mut store = open(&partial, config(), sandbox.environment()).unwrap();
        assert_eq!(rows(&store.read().unwrap()), all, "{filter}");
    }
    let partial = sandbox.path("blob-none");
    let mut store = open(&partial, config(), sandbox.environment()).unwrap();
    write(&mut store, &[claimed("news/c", 3)]);
}

#[test]
fn a_linked_work_tree_works() {
    let sandbox = Sandbox::new();
    sandbox.remote();
    let site = sandbox.clone_of(&url(&sandbox), "site", &[]);
    sandbox.git(
        &site,
        &[
            "worktree", "add", "--quiet", "-b", "side", "../side", "main",
        ],
    );
    let linked = sandbox.path("side");
    let mut store = open(&linked, own_branch(), sandbox.environment()).unwrap();
    assert_eq!(
        store.top().canonicalize().unwrap(),
        linked.canonicalize().unwrap()
    );
    write(&mut store, &[claimed("news/a", 1)]);
    assert_eq!(rows(&store.read().unwrap()).len(), 1);
    let journal = store
        .journal_writer()
        .write(&[claimed("news/a", 1)])
        .unwrap();
    assert!(journal.ends_with("site/.git/sayonce/journal"), "{journal}");
}

#[test]
fn a_long_body_comes_with_the_claim_and_goes_with_the_proof() {
    let sandbox = Sandbox::new();
    let remote = sandbox.remote();
    let site = sandbox.clone_of(&url(&sandbox), "site", &[]);
    let mut store = open(&site, config(), sandbox.environment()).unwrap();
    let body = "A long article.\n".repeat(400);
    let post = serde_json::json!({ "title": "Hello", "body_markdown": body });
    let row = claimed_with("news/a", 1, post.as_object().unwrap().clone());
    write(&mut store, std::slice::from_ref(&row));
    let path = "main:ledger/news/a/mastodon.body.md";
    assert_eq!(sandbox.git(&remote, &["show", path]), body.trim_end());
    let fresh = sandbox.clone_of(&url(&sandbox), "fresh", &[]);
    let mut fresh = open(&fresh, config(), sandbox.environment()).unwrap();
    assert_eq!(rows(&fresh.read().unwrap()), std::slice::from_ref(&row));

    write(&mut store, &[proved(row, "7")]);
    assert!(!sandbox.try_git(&remote, &["show", path]).0);
    let done = store.read().unwrap();
    assert_eq!(done.unreadable, []);
    assert_eq!(done.rows.len(), 1);
}

#[test]
fn a_landed_claim_can_be_proved_from_the_tip() {
    let sandbox = Sandbox::new();
    sandbox.remote();
    let site = sandbox.clone_of(&url(&sandbox), "site", &[]);
    let mut store = open(&site, config(), sandbox.environment()).unwrap();
    let row = claimed("news/a", 1);
    write(&mut store, std::slice::from_ref(&row));
    let landing = store.read().unwrap().landing();
    let record = row.publish().unwrap().claim.clone().unwrap();
    let claim = |token| sayonce::model::claim::Claim {
        item: row.item.clone(),
        channel: row.channel.clone(),
        account: row.account.clone().unwrap(),
        operation: sayonce::model::delivery::Operation::Publish,
        target: None,
        token,
        key: record.key.clone(),
        attempt: 1,
        post: record.post.clone(),
        canonical_url: row.canonical_url.clone(),
        first_claimed_at: record.first_claimed_at,
        send_before: record.send_before,
    };
    assert!(PushedClaim::prove(claim(record.token.clone()), &landing).is_some());
    let foreign = sayonce::model::ids::Token::from_bytes([9; 16]);
    assert!(PushedClaim::prove(claim(foreign), &landing).is_none());
}

#[test]
fn plan_reads_what_was_fetched_last_and_says_when() {
    let sandbox = Sandbox::new();
    sandbox.remote();
    let site = sandbox.clone_of(&url(&sandbox), "site", &[]);
    let elsewhere = sandbox.clone_of(&url(&sandbox), "elsewhere", &[]);
    let mut other = open(&elsewhere, config(), sandbox.environment()).unwrap();
    write(&mut other, &[claimed("news/a", 1)]);

    let mut store = open(&site, config(), sandbox.environment()).unwrap();
    let (snapshot, fetched) = store.read_local().unwrap();
    assert_eq!(rows(&snapshot), []);
    assert_eq!(fetched.from, FetchedFrom::TrackingRef);
    assert_eq!(rows(&store.read().unwrap()).len(), 1);
    let (snapshot, fetched) = store.read_local().unwrap();
    assert_eq!(rows(&snapshot).len(), 1);
    assert_eq!(fetched.from, FetchedFrom::OwnFetch);
    assert!(fetched.at.is_some());
    write(&mut other, &[claimed("news/b", 2)]);
    sandbox.git(&site, &["fetch", "--quiet"]);
    let (snapshot, fetched) = store.read_local().unwrap();
    assert_eq!(rows(&snapshot).len(), 2);
    assert_eq!(fetched.from, FetchedFrom::TrackingRef);
    assert!(fetched.at.is_some());

    let mut unknown = open(&site, own_branch(), sandbox.environment()).unwrap();
    let (snapshot, fetched) = unknown.read_local().unwrap();
    assert_eq!((snapshot.tip, fetched.from), (None, FetchedFrom::Nowhere));
}
