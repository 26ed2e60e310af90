//! What a person decides: each decision is a commit on the remote, and the next run acts on it.

use sayonce::model::channel::Kind;
use serde_json::Value;

use super::program::Ran;
use super::site::{Plan, Site, address, mastodon};

/// A person's command, which says one line, makes one commit on the remote, and leaves the work tree alone.
#[track_caller]
fn decide(site: &Site, arguments: &[&str]) -> String {
    let (before, tip) = (local(site), site.remote(&["rev-parse", "main"]));
    let ran = site.sayonce(arguments);
    ran.assert_code(0);
    assert_eq!(ran.stderr.lines().find(|line| !is_aside(line)), None);
    assert_eq!(
        site.remote(&["rev-list", "--count", &format!("{tip}..main")]),
        "1"
    );
    assert_eq!(local(site), before, "the clone is left alone");
    ran.stdout
}

/// The clone, what was fetched into it aside.
fn local(site: &Site) -> String {
    let state = site.repository_state();
    let lines = state
        .lines()
        .filter(|line| !line.contains("\trefs/sayonce/") && !line.contains("\trefs/remotes/"));
    lines.collect::<Vec<_>>().join("\n")
}

/// A command that is refused: nothing is written, and this is said.
#[track_caller]
fn refused(site: &Site, arguments: &[&str]) -> String {
    let tip = site.remote(&["rev-parse", "main"]);
    let ran = site.sayonce(arguments);
    ran.assert_code(2);
    assert_eq!(site.remote(&["rev-parse", "main"]), tip);
    assert_eq!(ran.stdout, "");
    let lines = ran.stderr.lines().filter(|line| !is_aside(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Configuration warnings, which are not what these tests are about.
fn is_aside(line: &str) -> bool {
    line.contains(" is below ")
}

/// The trailers of the newest commit on the remote, and its subject.
fn newest_commit(site: &Site) -> String {
    let text = site.remote(&["log", "-1", "--format=%s%n%(trailers)", "main"]);
    let lines = text
        .lines()
        .filter(|line| !line.starts_with("Remote-Id: ") && !line.starts_with("Run: "));
    lines.collect::<Vec<_>>().join("\n")
}

/// Who decided what and why, as the row keeps it.
#[track_caller]
fn decision(site: &Site, item: &str) -> String {
    let by = &site.row(item, "mastodon")["operations"]["publish"]["by"];
    assert!(by["at"].is_string(), "{by}");
    let word = |key: &str| by[key].as_str().unwrap_or("-").to_owned();
    [word("who"), word("verb"), word("why")].join(" | ")
}

/// State, attempt, edition and evidence of a row.
fn standing(site: &Site, item: &str) -> String {
    let record = &site.row(item, "mastodon")["operations"]["publish"];
    let word = |key: &str| match (record[key].as_str(), record[key].as_u64()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(number)) => number.to_string(),
        // A row is silent about its first edition.
        (None, None) if key == "edition" => "1".to_owned(),
        (None, None) => "-".to_owned(),
    };
    ["state", "attempt", "edition", "evidence"]
        .map(word)
        .join(" ")
}

/// The reason of the only delivery that is not done.
#[track_caller]
fn reason(ran: &Ran) -> String {
    let report = ran.json();
    let open: Vec<_> = report["deliveries"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|delivery| delivery["state"] != "done")
        .map(|delivery| delivery["reason"].as_str().unwrap_or("-").to_owned())
        .collect();
    assert_eq!(open.len(), 1, "{report}");
    open.concat()
}

#[test]
fn a_first_send_under_a_gate_waits_for_approval() {
    let site = mastodon()
        .articles(1)
        .channel("mastodon", "gate = \"manual\"")
        .start();
    let ran = site.run(&[]);
    ran.assert_code(5);
    assert_eq!(
        reason(&ran),
        "`gate = \"manual\"`: `sayonce approve article-1 mastodon` sends it"
    );
    assert_eq!(site.writes(), "mastodon 0");
    let said = decide(
        &site,
        &[
            "approve",
            "article-1",
            "mastodon",
            "--why",
            "read and liked",
        ],
    );
    assert_eq!(
        said,
        "article-1 on mastodon: approved; the next run sends it\n"
    );
    assert_eq!(
        decision(&site, "article-1"),
        "sayonce <sayonce@localhost> | approve | read and liked"
    );
    insta::assert_snapshot!(newest_commit(&site), @r"
    ledger: article-1 on mastodon: due, by `approve` [skip ci]
    Item: article-1
    Channel: mastodon
    Operation: publish
    State: retry
    Attempt: 0
    Decision: approve
    Decided-By: sayonce <sayonce@localhost>
    Why: read and liked
    ");
    assert_eq!(site.writes(), "mastodon 0", "approving sends nothing");
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.deliveries(), "article-1 mastodon done response 1\n");
    assert_eq!(
        decision(&site, "article-1"),
        "sayonce <sayonce@localhost> | approve | read and liked",
        "it stays on record"
    );
    site.assert_exactly_once();
}

/// A request that was lost under `gate = "confirm"`: looked for twice after its quiet point, then held.
pub(super) fn lost_and_held() -> Site {
    let site = mastodon()
        .articles(1)
        .channel(
            "mastodon",
            "gate = \"confirm\"\nlookups = [\"1s\"]\nquarantine = \"30m\"",
        )
        .fault("mastodon:1=lost-request")
        .start();
    site.run(&["--max-wait", "0s"]).assert_code(6);
    assert_eq!(standing(&site, "article-1"), "in_doubt 1 1 -");
    for state in ["in_doubt", "held"] {
        site.let_hours_pass(1);
        let ran = site.run(&["--max-wait", "0s"]);
        ran.assert_code(if state == "held" { 5 } else { 6 });
        assert_eq!(
            standing(&site, "article-1"),
            format!("{state} 1 1 -"),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(site.writes(), "mastodon 1", "never sent again by itself");
    site
}

#[test]
fn what_is_held_is_sent_once_more_if_a_person_says_that_it_is_not_there() {
    let site = lost_and_held();
    insta::assert_snapshot!(reason(&site.sayonce(&["status", "--fetch", "--format", "json"])), @r#"
    it is not there after the quiet point, and `gate = "confirm"` lets only a person send it again
    "#);
    site.run(&[]).assert_code(5);
    assert_eq!(site.writes(), "mastodon 1");
    let said = decide(&site, &["resolve", "article-1", "mastodon", "--not-posted"]);
    insta::assert_snapshot!(said, @r"
    article-1 on mastodon: taken as not posted, on your word; the next run sends it once more
    ");
    assert_eq!(
        decision(&site, "article-1"),
        "sayonce <sayonce@localhost> | resolve --not-posted | -"
    );
    insta::assert_snapshot!(newest_commit(&site), @r"
    ledger: article-1 on mastodon: due, by `resolve --not-posted` [skip ci]
    Item: article-1
    Channel: mastodon
    Operation: publish
    State: retry
    Attempt: 1
    Decision: resolve --not-posted
    Decided-By: sayonce <sayonce@localhost>
    ");
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.deliveries(), "article-1 mastodon done response 2\n");
    assert_eq!(site.writes(), "mastodon 2");
    site.assert_exactly_once();
}

#[test]
fn what_is_held_is_done_if_a_person_says_where_it_is() {
    let site = lost_and_held();
    let post = "https://mastodon.rehearsal.example/@blog/1";
    let said = decide(
        &site,
        &[
            "resolve",
            "article-1",
            "mastodon",
            "--posted",
            post,
            "--why",
            "I see it",
        ],
    );
    insta::assert_snapshot!(said, @r"
    article-1 on mastodon: taken as posted, on your word
    ");
    insta::assert_snapshot!(newest_commit(&site), @r"
    ledger: article-1 on mastodon: posted, proved, by `resolve --posted` [skip ci]
    Item: article-1
    Channel: mastodon
    Operation: publish
    State: done
    Attempt: 1
    Decision: resolve --posted
    Decided-By: sayonce <sayonce@localhost>
    Why: I see it
    ");
    assert_eq!(standing(&site, "article-1"), "done 1 1 person");
    assert_eq!(
        site.row("article-1", "mastodon")["operations"]["publish"]["remote"]["url"],
        post
    );
    assert_eq!(
        decision(&site, "article-1"),
        "sayonce <sayonce@localhost> | resolve --posted | I see it"
    );
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(site.writes(), "mastodon 1");
    let article = address(1);
    let posted_at_home = ["resolve", "article-1", "mastodon", "--posted", &article];
    assert_eq!(
        refused(&lost_and_held(), &posted_at_home),
        "error: `https://blog.example/article-1/` is the article itself; --posted takes the address of its post on \
         mastodon"
    );
    assert_eq!(
        refused(
            &site,
            &["resolve", "article-1", "mastodon", "--posted", "here"]
        ),
        "error: `here` is not a URL; --posted takes the address of the post"
    );
}

#[test]
fn what_was_refused_is_sent_once_more_or_never() {
    let site = mastodon()
        .articles(2)
        .fault("mastodon:1=status=422")
        .fault("mastodon:2=status=422")
        .start();
    let ran = site.run(&[]);
    ran.assert_code(4);
    assert_eq!(ran.summary(), "failed 2");
    let said = decide(&site, &["retry", "article-1", "mastodon", "--why", "fixed"]);
    insta::assert_snapshot!(said, @r"
            article-1 on mastodon: the next run sends it once more
        ");
    insta::assert_snapshot!(newest_commit(&site), @r"
    ledger: article-1 on mastodon: due, by `retry` [skip ci]
    Item: article-1
    Channel: mastodon
    Operation: publish
    State: retry
    Attempt: 1
    Decision: retry
    Decided-By: sayonce <sayonce@localhost>
    Why: fixed
    ");
    assert_eq!(
        decision(&site, "article-1"),
        "sayonce <sayonce@localhost> | retry | fixed"
    );
    let said = decide(&site, &["skip", "article-2", "mastodon"]);
    insta::assert_snapshot!(said, @r"
    article-2 on mastodon: will not be announced
    ");
    insta::assert_snapshot!(newest_commit(&site), @r"
    ledger: article-2 on mastodon: not announced, by `skip` [skip ci]
    Item: article-2
    Channel: mastodon
    Operation: publish
    State: skipped
    Attempt: 1
    Decision: skip
    Decided-By: sayonce <sayonce@localhost>
    ");
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-1 mastodon done response 2\narticle-2 mastodon skipped - 1\n"
    );
    assert_eq!(site.writes(), "mastodon 3");
    // A person may change their mind.
    decide(&site, &["approve", "article-2", "mastodon"]);
    site.run(&[]).assert_code(0);
    site.assert_exactly_once();
}

#[test]
fn an_article_that_was_never_sent_can_be_skipped() {
    let site = mastodon().articles(2).start();
    decide(&site, &["skip", "article-1", "mastodon", "--why", "a test"]);
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 1, skipped 1");
    assert_eq!(site.writes(), "mastodon 1");
    assert_eq!(
        decision(&site, "article-1"),
        "sayonce <sayonce@localhost> | skip | a test"
    );
}

#[test]
fn a_decision_before_the_first_run_makes_no_other_channel_new() {
    let site = Plan::of(&[("search", Kind::IndexNow), ("mastodon", Kind::Mastodon)])
        .articles(3)
        .channel("mastodon", "gate = \"manual\"")
        .start();
    decide(&site, &["skip", "article-1", "mastodon"]);
    decide(&site, &["approve", "article-2", "mastodon"]);
    let ran = site.run(&[]);
    ran.assert_code(5);
    insta::assert_snapshot!(ran.deliveries(), @r"
    article-1 search done response 1
    article-1 mastodon skipped - 0
    article-2 search done response 1
    article-2 mastodon done response 1
    article-3 search done response 1
    article-3 mastodon pending - 0
    ");
}

/// The post that stands in a row, and the key under which it was sent.
fn receipt(site: &Site) -> (String, String) {
    let record = &site.row("article-1", "mastodon")["operations"]["publish"];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&record["remote"]["id"]), text(&record["key"]))
}

#[test]
fn a_deliberate_second_announcement_is_a_new_edition_and_happens_once() {
    let site = mastodon().articles(1).start();
    site.run(&[]).assert_code(0);
    let (first_id, first_key) = receipt(&site);
    let said = decide(
        &site,
        &["again", "article-1", "mastodon", "--why", "a reprint"],
    );
    insta::assert_snapshot!(said, @r"
    article-1 on mastodon: the next run announces it once more, as a new edition
    ");
    insta::assert_snapshot!(newest_commit(&site), @r"
    ledger: article-1 on mastodon: due, by `again` [skip ci]
    Item: article-1
    Channel: mastodon
    Operation: publish
    State: retry
    Attempt: 1
    Decision: again
    Decided-By: sayonce <sayonce@localhost>
    Why: a reprint
    ");
    assert_eq!(standing(&site, "article-1"), "retry 1 2 -");
    for _ in 0..2 {
        let ran = site.run(&[]);
        ran.assert_code(0);
        assert_eq!(ran.json()["alarms"], Value::Array(Vec::new()));
        assert_eq!(site.writes(), "mastodon 2", "one more, and no more");
    }
    assert_eq!(standing(&site, "article-1"), "done 2 2 response");
    let (second_id, second_key) = receipt(&site);
    assert_ne!((&second_id, &second_key), (&first_id, &first_key));
    let receipts = &site.row("article-1", "mastodon")["operations"]["publish"]["receipts"];
    assert_eq!(receipts.as_array().unwrap().len(), 1);
    assert_eq!(receipts[0]["id"].as_str(), Some(first_id.as_str()));
    let twice = [(("mastodon".to_owned(), address(1)), 2)];
    assert_eq!(site.posts(), twice.into());
}

#[test]
fn a_second_announcement_that_a_service_does_not_take_is_not_believed() {
    let site = Plan::of(&[
        ("search", Kind::IndexNow),
        ("bluesky", Kind::Bluesky),
        ("devto", Kind::Devto),
    ])
    .articles(1)
    .channel("devto", "lookups = [\"0s\"]")
    .start();
    site.run(&[]).assert_code(0);
    for channel in ["search", "bluesky", "devto"] {
        decide(&site, &["again", "article-1", channel]);
    }
    let ran = site.run(&[]);
    ran.assert_code(5);
    assert_eq!(
        ran.deliveries(),
        "article-1 search done response 2\narticle-1 bluesky done response 2\narticle-1 devto held - 2\n"
    );
    let said = reason(&ran);
    assert!(
        said.starts_with("what is there is the earlier announcement, https://"),
        "{said}"
    );
    let counts: Vec<_> = site.posts().into_values().collect();
    assert_eq!(counts, [2, 1, 2], "bluesky, devto, search");
}

/// A blog whose first article was announced, and then moved to another address.
fn moved() -> Site {
    let site = Plan::of(&[("search", Kind::IndexNow), ("mastodon", Kind::Mastodon)])
        .articles(1)
        .start();
    site.run(&[]).assert_code(0);
    let feed = super::site::feed(&[1]).replace("/article-1/", "/moved/");
    site.write("_site/feed.xml", &feed);
    std::fs::remove_dir_all(site.path("site/_site/article-1")).unwrap();
    site.write(
        "_posts/2026-01-01-article-1.md",
        "---\ntitle: Article 1\ndate: 2026-01-01 09:00:00 +0000\npermalink: /moved/\n---\n\nThe body of article 1.\n",
    );
    let ran = site.run(&[]);
    ran.assert_code(5);
    assert_eq!(
        ran.deliveries(),
        "article-1 search done response 1\narticle-1 mastodon done response 1\n\
         moved search pending - 0\nmoved mastodon pending - 0\n"
    );
    let report = ran.json();
    insta::allow_duplicates! {
        insta::assert_snapshot!(report["deliveries"][3]["reason"].as_str().unwrap(), @r"
        it looks like article-1 under a new address; `sayonce rename article-1 moved` if it is the same article, `sayonce approve moved mastodon` if it is another
        ");
    }
    assert_eq!(site.writes(), "search 1, mastodon 1");
    site
}

#[test]
fn a_moved_article_is_not_announced_again_once_a_person_says_so() {
    let site = moved();
    let said = decide(
        &site,
        &[
            "rename",
            "article-1",
            "https://blog.example/moved/",
            "--why",
            "a better address",
        ],
    );
    insta::assert_snapshot!(said, @r"
    https://blog.example/moved/ is article-1 from now on: it is not announced again
    ");
    insta::assert_snapshot!(newest_commit(&site), @r"
    ledger: article-1 moved to https://blog.example/moved/ [skip ci]
    Item: article-1
    Channel: mastodon
    Operation: publish
    State: done
    Attempt: 1
    Item: article-1
    Channel: search
    Operation: publish
    State: done
    Attempt: 1
    Decision: rename
    Decided-By: sayonce <sayonce@localhost>
    Why: a better address
    ");
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-1 search done response 1\narticle-1 mastodon done response 1\n"
    );
    assert_eq!(site.writes(), "search 1, mastodon 1");
    let answers = [
        ["rename", "article-1", "moved"],
        ["rename", "article-2", "moved"],
        ["rename", "article-1", "article-3"],
    ]
    .map(|arguments| refused(&site, &arguments));
    insta::assert_snapshot!(answers.join("\n"), @r"
    error: `article-1` and `moved` are the same article, article-1, already
    error: there is no item `article-2`
      hint: name it by its id, its URL or its source file; `sayonce plan` lists the ids
    error: there is no item `article-3`
      hint: name it by its id, its URL or its source file; `sayonce plan` lists the ids
    ");
    // Its new address and its file are the article that the ledger knows.
    for name in ["moved", "./_posts/2026-01-01-article-1.md"] {
        let said = refused(&site, &["retry", name, "mastodon"]);
        assert!(
            said.starts_with("error: article-1 on mastodon is done"),
            "{said}"
        );
    }
}

#[test]
fn a_moved_article_is_announced_as_a_new_one_once_a_person_says_so() {
    let site = moved();
    let said = decide(
        &site,
        &["approve", "./_posts/2026-01-01-article-1.md", "mastodon"],
    );
    assert_eq!(said, "moved on mastodon: approved; the next run sends it\n");
    let ran = site.run(&["--channel", "mastodon"]);
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "article-1 mastodon done response 1\nmoved mastodon done response 1\n"
    );
    assert_eq!(site.writes(), "search 1, mastodon 2");
}

#[test]
fn an_article_that_is_still_there_has_not_moved() {
    let site = mastodon().articles(2).start();
    site.run(&["--item", "article-1"]).assert_code(0);
    insta::assert_snapshot!(refused(&site, &["rename", "article-1", "article-2"]), @r"
    error: `article-1` is still an article of the site, so `article-2` is another one
      hint: `sayonce approve article-2 CHANNEL` announces it
    ");
}

#[test]
fn a_flood_is_let_through_by_one_decision() {
    let site = Plan::of(&[("blog", Kind::Mastodon), ("second", Kind::Devto)])
        .articles(6)
        .start();
    let ran = site.run(&[]);
    ran.assert_code(2);
    assert_eq!(site.writes(), "blog 0, second 0");
    insta::assert_snapshot!(refused(&site, &["approve", "--all-new", "--channel", "masto"]), @r"
    error: there is no enabled channel `masto`
      hint: the channels are blog, second
    ");
    insta::assert_snapshot!(refused(&site, &["approve", "--all-new", "article-1", "blog"]), @r"
    error: the argument '--all-new' cannot be used with '[ITEM]'

    Usage: sayonce approve --all-new [ITEM] <CHANNEL>

    For more information, try '--help'.
    ");
    let why = ["--why", "a new section"];
    let said = decide(
        &site,
        &[&["approve", "--all-new", "--channel", "blog"][..], &why].concat(),
    );
    insta::assert_snapshot!(said, @r"
    blog: 6 articles will be announced by the next run
    ");
    insta::assert_snapshot!(newest_commit(&site), @r"
    ledger: all new articles are approved [skip ci]
    Decision: approve --all-new
    Decided-By: sayonce <sayonce@localhost>
    Why: a new section
    ");
    let header = site.remote(&["show", "main:ledger/ledger.json"]);
    let header: Value = serde_json::from_str(&header).unwrap();
    let mut by = header["channels"]["blog"]["admitted_by"].clone();
    assert!(by["at"].take().is_string());
    assert_eq!(
        by.to_string(),
        r#"{"who":"sayonce <sayonce@localhost>","at":null,"verb":"approve --all-new","why":"a new section"}"#
    );
    assert_eq!(header["channels"]["second"]["admitted_by"], Value::Null);
    let ran = site.run(&[]);
    ran.assert_code(2);
    assert_eq!(ran.summary(), "done 6, pending 6");
    assert_eq!(site.writes(), "blog 6, second 0");
    insta::assert_snapshot!(refused(&site, &["approve", "--all-new", "--channel", "blog"]), @r"
    error: blog: not left out for too many new articles
      hint: `sayonce plan` says what would be sent, and why the rest would not
    ");
    insta::assert_snapshot!(decide(&site, &["approve", "--all-new"]), @r"
    second: 6 articles will be announced by the next run
    ");
    site.run(&[]).assert_code(0);
    site.assert_exactly_once();
    insta::assert_snapshot!(refused(&site, &["approve", "--all-new"]), @r"
    error: no channel is left out for too many new articles
      hint: `sayonce plan` says what would be sent, and why the rest would not
    ");
}

#[test]
fn what_is_decided_about_the_whole_ledger_says_who_and_why() {
    let site = mastodon().articles(2).start();
    decide(
        &site,
        &["baseline", "--item", "article-1", "--why", "mailed"],
    );
    insta::assert_snapshot!(newest_commit(&site), @r"
    ledger: baseline of 1 delivery [skip ci]
    Decision: baseline
    Decided-By: sayonce <sayonce@localhost>
    Why: mailed
    ");
    site.run(&[]).assert_code(0);
    for (verb, subject) in [
        ("repair", "ledger: repaired from its witness [skip ci]"),
        ("accept", "ledger: accepted as it is [skip ci]"),
    ] {
        site.remote(&["update-ref", "refs/heads/main", "main~1"]);
        decide(&site, &["ledger", verb, "--why", "a bad push"]);
        let commit = newest_commit(&site);
        assert!(commit.starts_with(subject), "{commit}");
        assert!(
            commit.ends_with(&format!(
                "Decision: ledger {verb}\nDecided-By: sayonce <sayonce@localhost>\nWhy: a bad push"
            )),
            "{commit}"
        );
    }
}

#[test]
fn every_verb_takes_an_article_by_each_of_its_names() {
    let site = mastodon().articles(1).start();
    site.run(&[]).assert_code(0);
    for name in [
        "article-1",
        "/article-1/",
        "https://blog.example/article-1/",
        "http://blog.example/article-1/index.html#top",
        "_posts/2026-01-01-article-1.md",
        "./_posts/2026-01-01-article-1.md",
    ] {
        for (verb, more) in [
            ("approve", None),
            ("retry", None),
            ("skip", None),
            ("resolve", Some("--not-posted")),
        ] {
            let arguments: Vec<_> = [verb, name, "mastodon"].into_iter().chain(more).collect();
            let said = refused(&site, &arguments);
            let known = "error: article-1 on mastodon is done: ";
            assert!(said.starts_with(known), "{arguments:?}: {said}");
        }
        let said = refused(&site, &["rename", name, name]);
        assert!(
            said.ends_with("are the same article, article-1, already"),
            "{said}"
        );
        for verb in ["plan", "status", "audit", "run"] {
            let ran = site.sayonce(&[verb, "--format", "json", "--item", name]);
            ran.assert_code(0);
            let known = "article-1 mastodon done response ";
            assert!(ran.deliveries().starts_with(known), "{}", ran.deliveries());
        }
        let said = decide(&site, &["again", name, "mastodon"]);
        assert!(
            said.starts_with("article-1 on mastodon: the next run"),
            "{said}"
        );
        site.run(&[]).assert_code(0);
    }
}

#[test]
fn an_article_has_several_names() {
    let site = mastodon().articles(4).start();
    for (number, name) in [
        (1, "article-1"),
        (2, "https://blog.example/article-2/"),
        (3, "_posts/2026-01-03-article-3.md"),
        (4, "./_posts/2026-01-04-article-4.md"),
    ] {
        let said = decide(&site, &["skip", name, "mastodon"]);
        assert_eq!(
            said,
            format!("article-{number} on mastodon: will not be announced\n")
        );
    }
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "skipped 4");
    assert_eq!(site.writes(), "mastodon 0");
}

#[test]
fn a_wrong_verb_is_answered_with_the_right_one_and_changes_nothing() {
    let site = mastodon()
        .articles(3)
        .fault("mastodon:2=status=422")
        .start();
    site.run(&["--item", "article-1"]).assert_code(0);
    site.run(&["--item", "article-2"]).assert_code(4);
    decide(&site, &["skip", "article-3", "mastodon"]);
    let answers = [
        &["approve", "article-1", "mastodon"][..],
        &["skip", "article-1", "mastodon"],
        &["again", "article-2", "mastodon"],
        &["resolve", "article-2", "mastodon", "--not-posted"],
        &["retry", "article-3", "mastodon"],
        &["skip", "article-3", "mastodon"],
        &["retry", "article-9", "mastodon"],
        &["retry", "https://elsewhere.example/article-1/", "mastodon"],
        &["retry", "article-1", "masto"],
        &["approve", "article-1"],
        &["approve"],
        &["resolve", "article-1", "mastodon"],
    ]
    .map(|arguments| refused(&site, arguments));
    insta::assert_snapshot!(answers.join("\n"), @r"
    error: article-1 on mastodon is done: `approve` is not for that
      hint: it is posted and proved; `sayonce again article-1 mastodon` announces it once more
    error: article-1 on mastodon is done: `skip` is not for that
      hint: it is posted: `sayonce retract article-1 mastodon` takes the post down, where its service lets programs do that
    error: article-2 on mastodon is failed: `again` is not for that
      hint: `sayonce retry article-2 mastodon` sends it once more; if it is there, `sayonce resolve article-2 mastodon --posted URL`
    error: article-2 on mastodon is failed: `resolve --not-posted` is not for that
      hint: it was refused, so it is not there; `sayonce retry article-2 mastodon` sends it once more
    error: article-3 on mastodon is skipped: `retry` is not for that
      hint: `sayonce approve article-3 mastodon` lets the next run announce it
    error: article-3 on mastodon is skipped: `skip` is not for that
      hint: it is not announced already
    error: there is no item `article-9`
      hint: name it by its id, its URL or its source file; `sayonce plan` lists the ids
    error: there is no item `https://elsewhere.example/article-1/`
      hint: name it by its id, its URL or its source file; `sayonce plan` lists the ids
    error: there is no enabled channel `masto`
      hint: the channels are mastodon
    error: the following required arguments were not provided:
      <CHANNEL>

    Usage: sayonce approve <ITEM> <CHANNEL>

    For more information, try '--help'.
    error: name an ITEM and a CHANNEL, or --all-new
    error: the following required arguments were not provided:
      <--posted <URL>|--not-posted>

    Usage: sayonce resolve <--posted <URL>|--not-posted> <ITEM> <CHANNEL>

    For more information, try '--help'.
    ");
}

#[test]
fn an_authors_no_stands_until_it_is_taken_back() {
    let site = mastodon().articles(1).start();
    site.write(
        "_posts/2026-01-01-article-1.md",
        "---\ntitle: Article 1\ndate: 2026-01-01\nsayonce:\n  mastodon: false\n---\n\nText.\n",
    );
    insta::assert_snapshot!(refused(&site, &["approve", "article-1", "mastodon"]), @r"
    error: the author excluded article-1 on mastodon
      hint: remove `mastodon: false` from its front matter first
    ");
}
