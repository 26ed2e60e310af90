//! A ledger that can't be read, or can't be made durable: nothing is sent that could not be proved.

use super::site::{Site, mastodon};
use super::trouble::{assert_untouched, told};

/// Changes a file of the ledger on the remote, as a person would.
fn edit_ledger(site: &Site, path: &str, edit: impl Fn(&str) -> String) -> String {
    site.git(&["pull", "--quiet", "--ff-only", "origin", "main"]);
    let text = edit(&std::fs::read_to_string(site.path("site").join(path)).unwrap());
    site.write(path, &text);
    site.commit_and_push("edited by hand");
    text
}

const ROW: &str = "ledger/article-1/mastodon.json";

fn check_unreadable(edit: impl Fn(&str) -> String) -> String {
    let mut site = mastodon().articles(2).every_channel("").start();
    site.run(&["--item", "article-1"]).assert_code(0);
    let text = edit_ledger(&site, ROW, edit);
    site.plan.articles.push(3);
    site.build();
    site.commit_and_push("a new article");
    let ran = site.run(&[]);
    ran.assert_code(3);
    assert_eq!(ran.summary(), "done 2, pending 1");
    assert_eq!(
        site.remote(&["show", &format!("main:{ROW}")]),
        text.trim_end()
    );
    assert_eq!(site.writes(), "mastodon 3");
    site.assert_exactly_once();
    ran.problems().join("\n")
}

#[test]
fn a_row_in_conflict_is_left_as_it_is_and_the_rest_is_done() {
    let problems = check_unreadable(|text| {
        text.replace(
            "  \"schema\": 1,",
            "<<<<<<< HEAD\n  \"schema\": 1,\n=======\n>>>>>>> other",
        )
    });
    insta::assert_snapshot!(problems, @r"
    ledger/article-1/mastodon.json can't be read and is left as it is: it has merge conflict markers
    ");
}

#[test]
fn a_row_of_a_newer_version_is_left_as_it_is_and_the_rest_is_done() {
    let problems = check_unreadable(|text| text.replace("\"schema\": 1,", "\"schema\": 9,"));
    insta::assert_snapshot!(problems, @r"
    ledger/article-1/mastodon.json can't be read and is left as it is: it has schema 9, which a newer version of sayonce wrote; this one reads up to 1
    ");
}

#[test]
fn a_ledger_of_a_newer_version_is_not_written() {
    let mut site = mastodon().articles(1).every_channel("").start();
    site.run(&[]).assert_code(0);
    edit_ledger(&site, "ledger/ledger.json", |text| {
        text.replace("\"least_reader\": 1", "\"least_reader\": 9")
    });
    site.plan.articles.push(2);
    site.build();
    site.commit_and_push("a new article");
    let tip = site.remote(&["rev-parse", "main"]);
    let ran = site.sayonce(&["run"]);
    ran.assert_code(3);
    assert_eq!(told(&site, &ran), "");
    insta::assert_snapshot!(ran.stdout, @r"
    alarm: the ledger was written by a newer version: writing it takes one that knows schema 9; nothing is sent
    Nothing was announced.
    ");
    assert_eq!(site.writes(), "mastodon 1");
    assert_eq!(site.remote(&["rev-parse", "main"]), tip);
}

#[test]
fn a_ledger_whose_header_is_in_conflict_is_named() {
    let site = mastodon().articles(1).every_channel("").start();
    site.run(&[]).assert_code(0);
    edit_ledger(&site, "ledger/ledger.json", |text| {
        format!("<<<<<<< HEAD\n{text}")
    });
    let ran = site.run(&["--deadline", "1s"]);
    ran.assert_code(3);
    insta::assert_snapshot!(ran.problems().join("\n"), @r"
    ledger/ledger.json on `main` can't be read: it has merge conflict markers; find its last good version with `git log -p main -- ledger/ledger.json` and commit that
    ");
    assert!(
        ran.stderr.contains("problem: ledger/ledger.json "),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_ledger_that_was_rolled_back_stops_everything() {
    let site = mastodon()
        .articles(2)
        .every_channel("")
        .ledger("branch = \"sayonce-ledger\"")
        .start();
    site.run(&[]).assert_code(0);
    site.remote(&[
        "update-ref",
        "refs/heads/sayonce-ledger",
        "refs/heads/sayonce-ledger~2",
    ]);
    let tip = site.remote(&["rev-parse", "sayonce-ledger"]);
    for _ in 0..2 {
        let ran = site.sayonce(&["run"]);
        ran.assert_code(3);
        insta::allow_duplicates! {
            insta::assert_snapshot!(ran.stdout, @r"
            alarm: the ledger was rewound: the row of article-2 on mastodon is gone; nothing is sent. `sayonce ledger repair` brings back what its witness remembers, `sayonce ledger accept` takes the ledger as it is now; to start afresh, delete the branch and `refs/sayonce/witness`, and run `sayonce baseline` next, or what is online is announced again
            Nothing was announced.
            ");
        }
    }
    assert_eq!(site.writes(), "mastodon 2");
    assert_eq!(site.remote(&["rev-parse", "sayonce-ledger"]), tip);
    let ran = site.sayonce(&["ledger", "repair"]);
    ran.assert_code(0);
    assert_eq!(ran.stdout, "1 row was brought back from the witness\n");
    site.run(&[]).assert_code(0);
    assert_eq!(site.writes(), "mastodon 2");
}

#[test]
fn a_remote_that_must_be_there_and_is_not_stops_everything() {
    let site = mastodon()
        .articles(1)
        .every_channel("")
        .ledger("push = \"always\"")
        .start();
    site.git(&["remote", "rename", "origin", "upstream"]);
    let ran = site.sayonce(&["run"]);
    ran.assert_code(3);
    insta::assert_snapshot!(told(&site, &ran), @r#"
    error: there is no remote `origin`, and `push` is `always`
      hint: add it with `git remote add origin URL`, name another `remote` under `[ledger]`, or set `push = "never"`
    "#);
    assert_untouched(&site);
}

#[test]
fn with_a_remote_out_of_reach_nothing_is_sent() {
    let site = mastodon().articles(1).every_channel("").start();
    site.git(&["remote", "set-url", "origin", "http://127.0.0.1:1/blog.git"]);
    let ran = site.sayonce(&["run", "--deadline", "1s"]);
    ran.assert_code(3);
    let (short, rest) = ran.stderr.split_once('\n').unwrap();
    assert!(
        short.starts_with("mastodon: nothing is sent in 1s"),
        "{short}"
    );
    let (first, rest) = rest.split_once('\n').unwrap();
    assert!(
        rest.lines()
            .all(|line| line.starts_with("waiting ") && line.ends_with(" for the ledger's remote")),
        "{rest}"
    );
    let reason =
        "the remote `origin` can't be used: fatal: unable to access 'http://127.0.0.1:1/blog.git/'";
    assert!(first.starts_with(reason), "{first}");
    assert_eq!(
        ran.stdout,
        format!("problem: {first}\nNothing was announced.\n")
    );
    assert_untouched(&site);
}

#[test]
fn a_protected_branch_sends_nothing_and_names_the_way_out() {
    let site = mastodon().articles(1).every_channel("").start();
    site.hook(
        "pre-receive",
        "echo 'error: GH006: Protected branch update failed for refs/heads/main.' >&2; exit 1",
    );
    let ran = site.sayonce(&["run"]);
    ran.assert_code(3);
    assert_eq!(told(&site, &ran), "");
    insta::assert_snapshot!(ran.stdout, @r#"
    Article 1  [article-1]
      mastodon  not sent yet
                due now

    problem: [remote rejected] (pre-receive hook declined): error: GH006: Protected branch update failed for refs/heads/main.; a rule of `origin` forbids pushes to `main`: keep the ledger on a branch of its own, with `branch = "sayonce"` under `[ledger]` (ledger.branch)
    1 delivery: 1 not sent yet.
    Work remains: the next is due at once (article-1 on mastodon).
    "#);
    assert_eq!(site.writes(), "mastodon 0");
    assert_eq!(
        site.remote(&["for-each-ref", "--format=%(refname)"]),
        "refs/heads/main"
    );
}

#[test]
fn an_outcome_that_can_not_be_pushed_is_kept_on_this_machine_and_brought_by_the_next_run() {
    let site = mastodon().articles(1).every_channel("").start();
    // The claim is taken, its result is not.
    site.hook(
        "pre-receive",
        "if [ -e claimed ]; then echo 'error: GH006: Protected branch update failed.' >&2; exit 1; fi; : > claimed",
    );
    let ran = site.run(&[]);
    ran.assert_code(3);
    assert_eq!(ran.deliveries(), "article-1 mastodon done response 1\n");
    assert!(
        ran.stderr
            .contains("outcomes that could not be pushed are kept in "),
        "{}",
        ran.stderr
    );
    let journal = site.path("site/.git/sayonce/journal");
    assert_eq!(std::fs::read_dir(&journal).unwrap().count(), 1);
    assert_eq!(
        site.remote(&[
            "log",
            "-1",
            "--format=%(trailers:key=State,valueonly)",
            "main"
        ]),
        "in_flight"
    );

    std::fs::remove_file(site.path("remote.git/hooks/pre-receive")).unwrap();
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.deliveries(), "article-1 mastodon done response 1\n");
    assert_eq!(
        site.remote(&[
            "log",
            "-1",
            "--format=%(trailers:key=State,valueonly)",
            "main"
        ]),
        "done"
    );
    assert_eq!(site.writes(), "mastodon 1");
    assert_eq!(
        std::fs::read_dir(&journal).unwrap().count(),
        0,
        "it is in the ledger now"
    );
    site.assert_exactly_once();
}
