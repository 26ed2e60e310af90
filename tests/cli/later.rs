//! What follows an announcement, with the real binary and git: an edited article changes its post where the channel
//! follows edits, and a post goes when a person says so.

use sayonce::model::channel::Kind;
use serde_json::Value;

use super::program::Ran;
use super::site::{Plan, Site, feed, mastodon};

const FOLLOWS: &str = "follow_edits = true";

/// A blog whose only article was announced, on a channel that follows edits.
fn announced() -> Site {
    let site = mastodon().articles(1).channel("mastodon", FOLLOWS).start();
    site.run(&[]).assert_code(0);
    site
}

/// The author gives the article another title, and the site is built and pushed.
fn edit(site: &Site, title: &str) {
    // Nothing is pushed onto a branch that one does not have.
    site.git(&["pull", "--quiet", "--ff-only", "origin", "main"]);
    site.write("_site/feed.xml", &feed(&[1]).replace("Article 1", title));
    site.commit_and_push("an edit");
}

/// What each write of the channel was.
fn requests(site: &Site) -> Vec<String> {
    let name = "mastodon";
    let requests = site.write_requests(name).into_iter();
    requests
        .map(|request| {
            let path = request
                .path
                .trim_end_matches(|letter: char| letter.is_ascii_digit());
            format!("{} {path}", request.method)
        })
        .collect()
}

/// The only delivery of a report: what it stands at, its state, its reason.
#[track_caller]
fn told(ran: &Ran) -> String {
    let report = ran.json();
    let deliveries = report["deliveries"].as_array().unwrap();
    let [delivery] = deliveries.as_slice() else {
        panic!("{report}");
    };
    let word = |key: &str| delivery[key].as_str().unwrap_or("-").to_owned();
    ["operation", "state", "reason"].map(word).join(" | ")
}

fn operations(site: &Site) -> Vec<String> {
    let row = site.row("article-1", "mastodon");
    let operations = row["operations"].as_object().unwrap().iter();
    operations
        .map(|(name, record)| {
            let word = |key: &str| record[key].as_str().unwrap_or("-").to_owned();
            format!("{name}: {} {}", word("state"), word("evidence"))
        })
        .collect()
}

#[test]
fn an_edited_article_changes_its_post_under_a_claim_of_its_own() {
    let site = announced();
    edit(&site, "A better title");
    let planned = site.sayonce(&["plan", "--fetch", "--format", "json"]);
    assert_eq!(
        told(&planned),
        "update:1 | pending | the article was edited: due now"
    );
    let text = planned.json()["deliveries"][0]["text"].clone();
    assert_eq!(text, "A better title\n\nhttps://blog.example/article-1/");
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(told(&ran), "update:1 | done | -");
    let sent = requests(&site);
    assert_eq!(
        sent,
        ["POST /api/v1/statuses", "PUT /api/v1/statuses/"],
        "{}",
        ran.stderr
    );
    assert_eq!(
        operations(&site),
        ["publish: done response", "update:1: done response"]
    );
    site.assert_exactly_once();
    // Each is a commit of its own, and says what it is about.
    insta::assert_snapshot!(site.remote(&["log", "-3", "--format=%s", "main", "--", "ledger"]), @r"
    ledger: article-1 on mastodon: update:1 done, proved [skip ci]
    ledger: article-1 on mastodon: update:1 being sent (attempt 1) [skip ci]
    ledger: article-1 on mastodon: posted, proved [skip ci]
    ");
    let again = site.run(&[]);
    again.assert_code(0);
    assert_eq!(requests(&site).len(), 2);
    site.sayonce(&["audit"]).assert_code(0);
    site.sayonce(&["audit", "--remote"]).assert_code(0);
}

/// A job that is run again checks out the commit of its first run.
#[test]
fn an_old_checkout_changes_nothing() {
    let site = announced();
    let old = site.git(&["rev-parse", "HEAD"]);
    edit(&site, "A better title");
    site.run(&[]).assert_code(0);
    let url = format!("file://{}", site.path("remote.git").display());
    site.git_in(&site.path(""), &["clone", "--quiet", &url, "job"]);
    let job = site.path("job");
    site.git_in(&job, &["checkout", "--quiet", "--detach", &old]);
    let variables = [
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_REF", "refs/heads/main"),
        ("GITHUB_REF_NAME", "main"),
        ("GITHUB_REF_TYPE", "branch"),
    ];
    let program = site.program_in(&job, &["run", "--format", "json"]);
    let ran = program.environment(variables).run();
    ran.assert_code(0);
    assert_eq!(
        told(&ran),
        "update:1 | done | the article was edited, but its post is not changed from here: main on origin is another \
         commit than the one that is checked out here: push yours, or pull"
    );
    assert_eq!(requests(&site).len(), 2);
}

/// An edit that was not pushed may be on no other machine yet.
#[test]
fn who_edits_and_does_not_push_is_told_why_nothing_changes() {
    let site = announced();
    site.git(&["fetch", "--quiet", "origin"]);
    site.write(
        "_site/feed.xml",
        &feed(&[1]).replace("Article 1", "A better title"),
    );
    site.git(&["add", "--all"]);
    site.git(&["commit", "--quiet", "--message", "an edit"]);
    let why = "main on origin is another commit than the one that is checked out here: push yours, or pull";
    let edited = format!("the article was edited, but its post is not changed from here: {why}");
    for command in ["run", "status", "plan"] {
        let said = site.program(&[command]).run();
        said.assert_code(0);
        assert!(
            said.stdout.contains(&edited),
            "{command:?}: {}",
            said.stdout
        );
    }
    site.sayonce(&["audit"]).assert_code(0);
    let wish = site.sayonce(&["update", "article-1"]);
    wish.assert_code(0);
    assert!(
        wish.stderr
            .contains(&format!("note: a run from here changes nothing: {why}\n")),
        "{}",
        wish.stderr
    );
    let waits = format!("its post is not changed from here: {why}");
    let ran = site.program(&["run"]).run();
    ran.assert_code(6);
    assert!(ran.stdout.contains(&waits), "{}", ran.stdout);
    let status = site.sayonce(&["status"]);
    assert!(status.stdout.contains(&waits), "{}", status.stdout);
    assert_eq!(requests(&site).len(), 1);
    site.git(&["pull", "--quiet", "--rebase", "origin", "main"]);
    site.git(&["push", "--quiet", "origin", "main"]);
    site.run(&[]).assert_code(0);
    assert_eq!(requests(&site).len(), 2);
    site.assert_exactly_once();
}

#[test]
fn a_post_is_taken_down_by_a_persons_word_and_announced_again_by_another() {
    let site = announced();
    let said = site.sayonce(&["retract", "article-1", "--why", "it was wrong"]);
    said.assert_code(0);
    assert_eq!(
        said.stdout,
        "article-1 on mastodon: the next run takes the post down, and looks whether it is gone\n"
    );
    assert_eq!(requests(&site).len(), 1, "the decision sends nothing");
    let status = site.sayonce(&["status", "--fetch", "--format", "json"]);
    assert_eq!(told(&status), "retract | retry | it was wrong");
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert!(
        ran.stderr.contains("article-1 on mastodon: taken down"),
        "{}",
        ran.stderr
    );
    let status = site.sayonce(&["status", "--fetch"]).stdout;
    assert!(
        status.ends_with("\n1 delivery: 1 taken down.\n"),
        "{status}"
    );
    assert_eq!(
        operations(&site),
        ["publish: done response", "retract: done read_back"]
    );
    assert_eq!(site.posts().len(), 0);
    site.sayonce(&["audit"]).assert_code(0);
    site.sayonce(&["audit", "--remote"]).assert_code(0);
    // It is not announced by itself, edited or not.
    edit(&site, "A better title");
    site.run(&[]).assert_code(0);
    assert_eq!(site.posts().len(), 0);
    site.sayonce(&["again", "article-1", "mastodon"])
        .assert_code(0);
    site.run(&[]).assert_code(0);
    site.assert_exactly_once();
    // And once more: the record of the first time is kept.
    site.sayonce(&["retract", "article-1", "mastodon"])
        .assert_code(0);
    site.run(&[]).assert_code(0);
    assert_eq!(site.posts().len(), 0);
}

#[test]
fn a_post_that_a_person_deleted_is_no_alarm_any_more_once_they_say_that_it_shall_be_gone() {
    let mut site = Plan::of(&[("bluesky", Kind::Bluesky)]).articles(1).start();
    site.run(&[]).assert_code(0);
    site.forget_posts();
    site.sayonce(&["audit", "--remote"]).assert_code(5);
    site.sayonce(&["retract", "article-1", "bluesky"])
        .assert_code(0);
    site.run(&[]).assert_code(0);
    let row = site.row("article-1", "bluesky");
    assert_eq!(row["operations"]["retract"]["evidence"], "read_back");
    site.sayonce(&["audit", "--remote"]).assert_code(0);
    let twice = site.sayonce(&["retract", "article-1", "bluesky"]);
    twice.assert_code(2);
    assert!(
        twice
            .stderr
            .contains("it was taken down; `sayonce again article-1 bluesky`"),
        "{}",
        twice.stderr
    );
    site.sayonce(&["again", "article-1", "bluesky"])
        .assert_code(0);
    site.run(&[]).assert_code(0);
    site.assert_exactly_once();
}

#[test]
fn a_change_is_asked_for_and_a_wrong_verb_is_answered() {
    let site = Plan::of(&[
        ("bluesky", Kind::Bluesky),
        ("mastodon", Kind::Mastodon),
        ("search", Kind::IndexNow),
    ])
    .articles(1)
    .start();
    let refused = |arguments: &[&str]| {
        let ran = site.sayonce(arguments);
        ran.assert_code(2);
        ran.stderr
    };
    insta::assert_snapshot!(refused(&["retract", "article-1", "mastodon"]), @r"
    error: article-1 on mastodon is not sent yet
      hint: `sayonce skip article-1 mastodon` if it shall not be announced
    ");
    site.run(&[]).assert_code(0);
    insta::assert_snapshot!(refused(&["update", "article-1", "bluesky"]), @r"
    error: article-1 on bluesky: on bluesky a post can't be changed
      hint: if you can, do it where the post stands
    ");
    insta::assert_snapshot!(refused(&["retract", "article-1", "search"]), @r"
    error: article-1 on search: on indexnow a post can't be taken down by a program
      hint: if you can, do it where the post stands
    ");
    insta::assert_snapshot!(refused(&["skip", "article-1", "mastodon"]), @r"
    error: article-1 on mastodon is done: `skip` is not for that
      hint: it is posted: `sayonce retract article-1 mastodon` takes the post down, where its service lets programs do that
    ");
    // On every channel that can: Bluesky can't change a post.
    let said = site.sayonce(&["update", "article-1"]);
    said.assert_code(0);
    insta::assert_snapshot!(said.stdout, @r"
    article-1 on mastodon: the next run changes the post to what the article says now
    article-1 on search: the next run changes the post to what the article says now
    ");
    insta::assert_snapshot!(refused(&["update", "article-1", "mastodon"]), @r"
    error: article-1 on mastodon is retry: `update` is not for that
      hint: the next run does what was asked for last; `sayonce skip` takes that back
    ");
    let said = site.sayonce(&["skip", "article-1", "mastodon"]);
    assert_eq!(
        said.stdout,
        "article-1 on mastodon: the post is left as it is\n"
    );
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(site.writes(), "bluesky 1, mastodon 1, search 2");
    let row: Value = site.row("article-1", "mastodon");
    assert_eq!(row["operations"]["update:1"]["state"], "skipped");
}
