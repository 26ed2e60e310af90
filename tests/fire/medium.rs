//! git as a hostile medium, with a remote: what is said, and that nothing is sent that is not written down.

use std::path::Path;

use super::stage::{POLICIES, Pace, Stage, Start};
use crate::cli::program::{Program, Ran};
use crate::cli::site::{Plan, Site, mastodon};
use crate::cli::stopped::until_a_write_is_open;
use crate::git::http::{GitServer, HttpFault};
use crate::git::sandbox::path_variable;

/// A minute's patience with the remote is a second.
const QUICK: Pace = Pace {
    speed: 60,
    lines: "timeout = \"60s\"",
};

/// A blog of two articles on one channel.
fn two() -> Plan {
    mastodon().articles(2).every_channel("interval = \"0s\"")
}

/// What a run said, with the world's directory as `ROOT`.
fn said(site: &Site, ran: &Ran) -> String {
    let root = site.path("").display().to_string();
    let text = format!("{}{}", ran.stderr, ran.stdout);
    text.replace(&root, "ROOT/")
}

#[track_caller]
fn says(site: &Site, ran: &Ran, code: i32, lines: &[&str]) {
    ran.assert_code(code);
    let said = said(site, ran);
    for line in lines {
        assert!(
            said.lines().any(|one| one == *line),
            "{line}\nis not said:\n{said}"
        );
    }
}

#[test]
fn a_stale_lock_on_the_remote_is_named_with_its_remedy() {
    let stage = Stage::new(&POLICIES[2..3], 1, QUICK);
    let kept = stage.kept("kept", Start::Clone);
    let lock = kept.directory.join("remote.git/refs/heads/sayonce.lock");
    std::fs::write(&lock, "").unwrap();
    let ran = kept.run();
    ran.assert_code(3);
    let remote = kept.directory.join("remote.git").display().to_string();
    assert_eq!(
        ran.problems().join("\n").replace(&remote, "REMOTE"),
        "the ledger's remote confirms no push: [remote rejected] (atomic transaction failed): error: cannot lock ref \
         'refs/heads/sayonce': Unable to create 'REMOTE/./refs/heads/sayonce.lock': File exists.; if no other push \
         is at work there, remove the stale lock on the remote: rm 'REMOTE/./refs/heads/sayonce.lock'"
    );
    assert!(lock.exists());
    assert_eq!(kept.evidence().services["mastodon"].writes.len(), 0);
}

#[test]
fn a_branch_that_is_forced_back_under_a_run_stops_it_and_loses_nothing() {
    let site = two().fault("mastodon:1=slow=1500ms").start();
    let run = site.start(&["run"]);
    until_a_write_is_open(&site);
    site.remote(&["update-ref", "refs/heads/main", "main~1"]);
    let ran = run.end();
    says(
        &site,
        &ran,
        3,
        &[
            "outcomes that could not be pushed are kept in ROOT/site/.git/sayonce/journal; the next run on this \
             machine brings them to the ledger",
            "alarm: the ledger was rewound: `ledger.json` is gone; nothing is sent. `sayonce ledger repair` brings \
             back what its witness remembers, `sayonce ledger accept` takes the ledger as it is now; to start afresh, \
             delete the branch and `refs/sayonce/witness`, and run `sayonce baseline` next, or what is online is \
             announced again",
            "not on the ledger's remote, article-1 on mastodon:",
            "2 deliveries: 1 posted and proved, 1 not sent yet.",
        ],
    );
    assert_eq!(site.writes(), "mastodon 1");
    let repaired = site.sayonce(&["ledger", "repair"]);
    says(
        &site,
        &repaired,
        0,
        &["1 row was brought back from the witness"],
    );
    let ran = site.run(&[]);
    ran.assert_code(0);
    // From the journal: the answer itself, and not a lookup in its stead.
    assert_eq!(
        ran.deliveries(),
        "article-1 mastodon done response 1\narticle-2 mastodon done response 1\n"
    );
    site.assert_exactly_once();
}

#[test]
fn a_ledger_that_is_set_back_whole_under_a_run_gets_the_receipt_all_the_same() {
    let site = two().fault("mastodon:1=slow=1500ms").start();
    let run = site.start(&["run", "--format", "json"]);
    until_a_write_is_open(&site);
    // As a restored backup does: branch and witness together.
    site.remote(&["update-ref", "refs/heads/main", "main~1"]);
    site.remote(&["update-ref", "-d", "refs/sayonce/witness"]);
    let ran = run.end();
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-1 mastodon done response 1\narticle-2 mastodon done response 1\n"
    );
    site.assert_exactly_once();
}

#[test]
fn a_ledger_that_is_set_back_whole_under_a_run_does_not_make_it_forget_what_it_doubts() {
    let site = two()
        .channel("mastodon", "timeout = \"1s\"")
        .fault("mastodon:1=slow=3s")
        .start();
    let run = site.start(&["run", "--format", "json"]);
    until_a_write_is_open(&site);
    site.remote(&["update-ref", "refs/heads/main", "main~1"]);
    site.remote(&["update-ref", "-d", "refs/sayonce/witness"]);
    let ran = run.end();
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-1 mastodon done read_back 1\narticle-2 mastodon done response 1\n"
    );
    site.assert_exactly_once();
}

#[test]
fn a_remote_that_is_away_when_the_result_is_pushed_gets_it_when_it_is_back() {
    let site = two().fault("mastodon:1=slow=1s").start();
    let server = GitServer::start(&site.path(""), &path_variable());
    site.remote(&["config", "http.receivepack", "true"]);
    site.git(&["remote", "set-url", "origin", &server.url("remote.git")]);
    let [name, value] = server.credential();
    site.git(&["config", &name, &value]);
    let run = site.start(&["run", "--format", "json"]);
    until_a_write_is_open(&site);
    for _ in 0..2 {
        server.fail_next_push(HttpFault::Unavailable);
    }
    let ran = run.end();
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-1 mastodon done response 1\narticle-2 mastodon done response 1\n"
    );
    site.assert_exactly_once();
    assert_eq!(
        site.remote(&["rev-parse", "main"]),
        site.remote(&["rev-parse", "refs/sayonce/witness"])
    );
}

/// Puts an entry in the place of the first article's row, and runs.
fn check_entry(mode: &str, kind: &str) -> String {
    let mut site = two().start();
    site.plan.articles.truncate(1);
    site.build();
    site.run(&[]).assert_code(0);
    site.plan.articles.push(2);
    site.build();
    let path = "ledger/article-1/mastodon.json";
    let object = match kind {
        "commit" => site.remote(&["rev-parse", "main"]),
        "tree" => site.remote(&["rev-parse", "main:ledger/article-1"]),
        _ => site.remote(&["rev-parse", &format!("main:{path}")]),
    };
    // Built in the remote, as a hostile or clumsy tool would.
    let tree = site.path("remote.git").display().to_string();
    let script = format!(
        "row=$(printf '{mode} {kind} {object}\\tmastodon.json\\n' | git mktree) &&\n\
         ledger=$(git ls-tree main:ledger | sed \"s/tree [0-9a-f]*\\tarticle-1/tree $row\\tarticle-1/\" | git mktree) &&\n\
         top=$(git ls-tree main | sed \"s/tree [0-9a-f]*\\tledger/tree $ledger\\tledger/\" | git mktree) &&\n\
         git update-ref refs/heads/main $(git -c user.name=x -c user.email=x@blog.example commit-tree -p main -m x $top)"
    );
    let ran = Program::new("sh", Path::new(&tree), &site.home())
        .arguments(["-c", &script])
        .run();
    assert!(ran.status.success(), "{ran:?}");
    let entry = site.remote(&["ls-tree", "main", "ledger/article-1/"]);
    assert!(entry.starts_with(mode), "{entry}");
    let ran = site.run(&[]);
    assert_eq!(
        site.remote(&["ls-tree", "main", "ledger/article-1/"]),
        entry,
        "{mode}"
    );
    let report = ran.json();
    let alarms = report["alarms"].as_array().unwrap().iter();
    let alarms = alarms.map(|alarm| alarm.as_str().unwrap().to_owned());
    let said: Vec<_> = alarms.chain(ran.problems()).collect();
    format!("{:?}, {}: {}", ran.code(), site.writes(), said.join("; "))
}

#[test]
fn what_stands_in_the_place_of_a_row_is_named_and_left() {
    let is = |what: &str| {
        format!(
            "Some(3), mastodon 2: ledger/article-1/mastodon.json can't be read and is left as it is: it is {what}, \
             not a plain file"
        )
    };
    assert_eq!(check_entry("120000", "blob"), is("a symbolic link"));
    assert_eq!(check_entry("160000", "commit"), is("a submodule"));
    assert_eq!(check_entry("100755", "blob"), is("an executable file"));
    // A directory is no row at all, so the row is gone.
    assert_eq!(
        check_entry("040000", "tree"),
        "Some(3), mastodon 1: the ledger was rewound: the row of article-1 on mastodon is gone; nothing is sent. \
         `sayonce ledger repair` brings back what its witness remembers, `sayonce ledger accept` takes the ledger as \
         it is now; to start afresh, delete the branch and `refs/sayonce/witness`, and run `sayonce baseline` next, \
         or what is online is announced again; \
         ledger/article-1/mastodon.json/mastodon.json can't be read and is left as it is: it says that it is \
         `article-1 on mastodon`, which belongs under another path"
    );
}

#[test]
fn hooks_signatures_and_a_stale_index_lock_of_the_user_are_not_in_the_way() {
    let site = two().start();
    let hooks = site.path("hooks");
    std::fs::create_dir(&hooks).unwrap();
    for hook in [
        "pre-push",
        "pre-commit",
        "commit-msg",
        "reference-transaction",
        "post-commit",
        "prepare-commit-msg",
    ] {
        super::stage::write_executable(&hooks.join(hook), "echo \"the hook $0 ran\" >&2; exit 1");
    }
    for (name, value) in [
        ("core.hooksPath", hooks.to_str().unwrap()),
        ("commit.gpgSign", "true"),
        ("tag.gpgSign", "true"),
        ("push.gpgSign", "true"),
        ("gpg.program", "/bin/false"),
        ("push.default", "nothing"),
        ("push.followTags", "true"),
        ("core.ignoreCase", "true"),
        ("core.autocrlf", "true"),
        ("fetch.prune", "true"),
        ("remote.origin.mirror", "false"),
    ] {
        site.git(&["config", name, value]);
    }
    let lock = site.path("site/.git/index.lock");
    std::fs::write(&lock, "").unwrap();
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert!(!ran.stderr.contains("hook"), "{}", ran.stderr);
    assert!(lock.exists());
    assert_eq!(site.remote(&["log", "-1", "--format=%G?", "main"]), "N");
    site.assert_exactly_once();
}

#[test]
fn a_remote_with_the_branch_checked_out_is_refused_with_the_way_out() {
    let site = two().start();
    site.git_in(&site.path(""), &["clone", "--quiet", "remote.git", "desk"]);
    site.git(&[
        "remote",
        "set-url",
        "origin",
        &site.path("desk").display().to_string(),
    ]);
    let ran = site.sayonce(&["run"]);
    ran.assert_code(3);
    let said = said(&site, &ran);
    let problem = said
        .lines()
        .find_map(|line| line.strip_prefix("problem: "))
        .unwrap();
    // Between the two, git's own words.
    assert!(
        problem.starts_with("[remote rejected] (branch is currently checked out)"),
        "{problem}"
    );
    let remedy = "; `origin` is a work tree with `main` checked out: use a bare repository, or a branch of the \
                  ledger's own (ledger.branch)";
    assert!(problem.ends_with(remedy), "{problem}");
    assert_eq!(site.writes(), "mastodon 0");
}

#[test]
fn addresses_that_differ_by_case_alone_have_rows_of_their_own_on_every_file_system() {
    let site = two().start();
    let feed = crate::cli::site::feed(&[1, 2]).replace("/article-2/", "/Article-1/");
    site.write("_site/feed.xml", &feed);
    site.write("_site/article-2/index.html", "");
    site.git(&["config", "core.ignoreCase", "true"]);
    site.run(&[]).assert_code(0);
    assert_eq!(
        site.remote(&["ls-tree", "-r", "--name-only", "main", "ledger/"]),
        "ledger/%41rticle-1/mastodon.json\nledger/article-1/mastodon.json\nledger/ledger.json"
    );
    assert_eq!(site.writes(), "mastodon 2");
}
