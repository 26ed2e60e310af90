//! What is on the channels already is recorded, and nothing is sent for it.

use sayonce::model::channel::Kind;
use serde_json::json;

use super::program::Ran;
use super::site::{Plan, Site, four_channels, mastodon};
use crate::channel;
use crate::channel::server::Server;

/// A site whose articles were announced by other means: the posts are there, the ledger knows nothing.
fn with_a_history(plan: Plan, announced: usize) -> Site {
    let all = plan.articles.clone();
    let mut site = plan.articles(announced).start();
    site.run(&[]).assert_code(0);
    forget_the_ledger(&site);
    site.plan.articles = all;
    site.build();
    site
}

fn aside() -> Plan {
    mastodon().ledger("branch = \"sayonce-ledger\"")
}

fn forget_the_ledger(site: &Site) {
    for name in ["refs/heads/sayonce-ledger", "refs/sayonce/witness"] {
        site.remote(&["update-ref", "-d", name]);
    }
}

/// Standard output without what the stand-ins make up anew each time.
fn said(ran: &Ran) -> String {
    let hidden = ran.stdout.lines().map(|line| {
        let words = line.split(' ').map(|word| {
            let end = word.trim_end_matches([',', ';']);
            let tail = word.strip_prefix(end).unwrap_or_default();
            match end.rsplit_once('/') {
                Some((place, last)) if last.len() > 12 || last.parse::<u64>().is_ok() => {
                    format!("{place}/ID{tail}")
                }
                Some(_) | None => word.to_owned(),
            }
        });
        words.collect::<Vec<_>>().join(" ")
    });
    hidden.collect::<Vec<_>>().join("\n")
}

/// `item channel state evidence attempt verb` of each row on the ledger's branch.
fn rows(site: &Site) -> String {
    let files = site.remote(&["ls-tree", "-r", "--name-only", "sayonce-ledger", "ledger/"]);
    let rows = files.lines().filter(|path| path.matches('/').count() > 1);
    let lines = rows.map(|path| {
        let text = site.remote(&["show", &format!("sayonce-ledger:{path}")]);
        let row: serde_json::Value = serde_json::from_str(&text).unwrap();
        let record = &row["operations"]["publish"];
        assert!(record["remote"]["id"].is_string(), "{row}");
        assert!(row["account"].is_string(), "{row}");
        let word = |key: &str| record[key].as_str().unwrap_or("-").to_owned();
        format!(
            "{} {} {} {} {} {}",
            row["item"].as_str().unwrap(),
            row["channel"].as_str().unwrap(),
            word("state"),
            word("evidence"),
            record["attempt"],
            record["by"]["verb"].as_str().unwrap_or("-"),
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn commits(site: &Site) -> String {
    site.remote(&["rev-list", "--count", "sayonce-ledger"])
}

#[test]
fn posts_that_are_there_become_done_and_the_rest_is_told() {
    let site = with_a_history(aside(), 2);
    let dry = site.sayonce(&["adopt", "--dry-run"]);
    dry.assert_code(0);
    insta::assert_snapshot!(said(&dry), @r"
    mastodon (https://mastodon.rehearsal.example/@blog): 2 posts read
      article-1: would be adopted: https://mastodon.rehearsal.example/@blog/ID
      article-2: would be adopted: https://mastodon.rehearsal.example/@blog/ID
      article-3: not found
    3 deliveries were looked for: 2 adopted, 1 not found. Nothing was written.
    ");
    assert_eq!(
        site.remote(&["for-each-ref", "refs/heads/sayonce-ledger"]),
        ""
    );
    let ran = site.sayonce(&["adopt", "--why", "moved from another tool"]);
    ran.assert_code(0);
    insta::assert_snapshot!(said(&ran), @r"
    mastodon (https://mastodon.rehearsal.example/@blog): 2 posts read
      article-1: adopted: https://mastodon.rehearsal.example/@blog/ID
      article-2: adopted: https://mastodon.rehearsal.example/@blog/ID
      article-3: not found
    3 deliveries were looked for: 2 adopted, 1 not found. What was not found is announced when it is due; `sayonce baseline` marks it as announced before.
    ");
    insta::assert_snapshot!(rows(&site), @r"
    article-1 mastodon done adopted 0 adopt
    article-2 mastodon done adopted 0 adopt
    ");
    assert_eq!(commits(&site), "1");
    let message = site.remote(&["log", "-1", "--format=%B", "sayonce-ledger"]);
    let lines = message
        .lines()
        .filter(|line| !line.starts_with("Remote-Id: "));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r"
    ledger: 2 deliveries found on the channels and adopted [skip ci]

    - article-1 on mastodon: posted, proved, by `adopt`
    - article-2 on mastodon: posted, proved, by `adopt`

    Item: article-1
    Channel: mastodon
    Operation: publish
    State: done
    Attempt: 0
    Decision: adopt
    Decided-By: sayonce <sayonce@localhost>
    Why: moved from another tool
    Item: article-2
    Channel: mastodon
    Operation: publish
    State: done
    Attempt: 0
    Decision: adopt
    Decided-By: sayonce <sayonce@localhost>
    Why: moved from another tool
    ");
    assert_eq!(site.writes(), "mastodon 2");
    // Whoever looked is not alarmed by what they saw.
    site.sayonce(&["audit", "--item", "article-1"])
        .assert_code(0);
    // A second look finds nothing new, and writes nothing.
    let again = site.sayonce(&["adopt"]);
    again.assert_code(0);
    insta::assert_snapshot!(said(&again), @r"
    mastodon (https://mastodon.rehearsal.example/@blog): 2 posts read
      article-3: not found
    1 delivery was looked for: 1 not found. What was not found is announced when it is due; `sayonce baseline` marks it as announced before.
    ");
    assert_eq!(commits(&site), "1");
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 3");
    site.assert_exactly_once();
}

/// A site with one declared channel whose list is at this address.
fn declared(list: &str) -> Site {
    let site = Plan::of(&[])
        .articles(2)
        .ledger("branch = \"sayonce-ledger\"")
        .start();
    let configuration = format!(
        "{}\n[channels.own]\nkind = \"http\"\nrequest = {{ url = \"http://127.0.0.1:9/posts\" }}\n\
         success = {{ status = 201 }}\nreceipt = {{ id = \"/id\" }}\n{list}\n",
        site.configuration()
    );
    site.write("sayonce.toml", &configuration);
    site
}

#[test]
fn a_declared_channel_is_read_by_its_declaration() {
    let posts = json!([{ "id": "77", "link": "https://blog.example/article-1/", "at": "2026-06-01T00:00:00Z" }]);
    let server = Server::start([channel::server::json(200, &posts.to_string())]);
    let list = |address: &str| {
        format!(
            "lookup = {{ url = \"{}list{address}\", status = 200, list = \"\", match_url = \"/link\", id = \"/id\", \
             time = \"/at\", covers = \"all\" }}",
            server.url()
        )
    };
    let site = declared(&list(""));
    let ran = site.sayonce(&["adopt"]);
    ran.assert_code(0);
    insta::assert_snapshot!(said(&ran), @r"
    own (http:own): 1 post read
      article-1: adopted: 77
      article-2: not found
    2 deliveries were looked for: 1 adopted, 1 not found. What was not found is announced when it is due; `sayonce baseline` marks it as announced before.
    ");
    insta::assert_snapshot!(rows(&site), @"article-1 own done adopted 0 adopt");
    // What is asked for one article only can't be listed, and what has no list neither.
    for lines in [&*list("?slug={{ slug }}"), ""] {
        let site = declared(lines);
        let named = site.sayonce(&[
            "adopt",
            "article-1",
            "own",
            "--url",
            "https://own.example/77",
        ]);
        named.assert_code(2);
        assert_eq!(
            named.stderr,
            "error: the posts on own can't be listed, so none can be found there\n  hint: `sayonce resolve article-1 \
             own --posted URL` takes your word for it\n"
        );
        site.sayonce(&[
            "resolve",
            "article-1",
            "own",
            "--posted",
            "https://own.example/77",
        ])
        .assert_code(0);
    }
}

#[test]
fn every_kind_of_channel_gives_its_ids() {
    let plan = four_channels().ledger("branch = \"sayonce-ledger\"");
    let site = with_a_history(plan, 3);
    let ran = site.sayonce(&["adopt", "--format", "json"]);
    ran.assert_code(0);
    let report = ran.json();
    let count = |key: &str| report[key].as_array().unwrap().len();
    assert_eq!(count("adopted"), 9, "{report}");
    assert_eq!(count("accounts"), 3);
    assert_eq!(
        [count("several"), count("left"), count("not_found")],
        [0, 0, 0]
    );
    insta::assert_snapshot!(report["unread"], @r#"
    [{"channel":"search","reason":"its posts can't be listed"}]
    "#);
    let keys: Vec<_> = report.as_object().unwrap().keys().cloned().collect();
    insta::assert_snapshot!(keys.join(" "), @"schema dry_run accounts adopted several left not_found unread");
    insta::assert_snapshot!(rows(&site), @r"
    article-1 bluesky done adopted 0 adopt
    article-1 devto done adopted 0 adopt
    article-1 mastodon done adopted 0 adopt
    article-2 bluesky done adopted 0 adopt
    article-2 devto done adopted 0 adopt
    article-2 mastodon done adopted 0 adopt
    article-3 bluesky done adopted 0 adopt
    article-3 devto done adopted 0 adopt
    article-3 mastodon done adopted 0 adopt
    ");
    // The account has them, by the ids that were recorded.
    let audit = site.sayonce(&["audit", "--remote", "--channel", "bluesky"]);
    audit.assert_code(0);
}

#[test]
fn two_posts_of_one_article_are_named_and_a_person_says_which() {
    let site = with_a_history(aside(), 1);
    site.run(&["--item", "article-1"]).assert_code(0);
    site.sayonce(&["again", "article-1", "mastodon"])
        .assert_code(0);
    site.run(&["--item", "article-1"]).assert_code(0);
    forget_the_ledger(&site);
    let ran = site.sayonce(&["adopt", "article-1", "mastodon"]);
    ran.assert_code(5);
    insta::assert_snapshot!(said(&ran), @r"
    mastodon (https://mastodon.rehearsal.example/@blog): 2 posts read
      article-1: 2 posts have its link, and none is recorded: https://mastodon.rehearsal.example/@blog/ID, https://mastodon.rehearsal.example/@blog/ID; `sayonce adopt article-1 mastodon --url URL` records the one that counts
    1 delivery was looked for: 1 with several posts.
    ");
    let ran = site.sayonce(&["adopt", "--item", "article-1", "--format", "json"]);
    ran.assert_code(5);
    let report = ran.json();
    let posts = report["several"][0]["remotes"].as_array().unwrap().clone();
    assert_eq!(posts.len(), 2, "{report}");
    let (first, second) = (&posts[0], &posts[1]);
    let id = first["id"].as_str().unwrap();
    let url = second["url"].as_str().unwrap();
    let neither = site.sayonce(&["adopt", "article-1", "mastodon", "--url", url, "--id", id]);
    neither.assert_code(2);
    insta::assert_snapshot!(neither.stderr, @r"
    error: among the 2 posts that were read of https://mastodon.rehearsal.example/@blog there is no such post
      hint: if it is there all the same, `sayonce resolve article-1 mastodon --posted URL` takes it on your word
    ");
    let ran = site.sayonce(&["adopt", "article-1", "mastodon", "--url", url]);
    ran.assert_code(0);
    insta::assert_snapshot!(said(&ran), @r"
    mastodon (https://mastodon.rehearsal.example/@blog): 2 posts read
      article-1: adopted: https://mastodon.rehearsal.example/@blog/ID
    1 delivery was looked for: 1 adopted.
    ");
    insta::assert_snapshot!(rows(&site), @"article-1 mastodon done adopted 0 adopt");
    let other = site.sayonce(&["adopt", "article-1", "mastodon", "--id", id]);
    other.assert_code(2);
    assert!(
        other
            .stderr
            .contains("article-1 on mastodon is posted, proved already: "),
        "{}",
        other.stderr
    );
}

#[test]
fn a_baseline_keeps_what_is_there_with_its_address() {
    let site = with_a_history(aside().articles(9), 2);
    let dry = site.sayonce(&["baseline", "--from-remote", "--dry-run"]);
    dry.assert_code(0);
    insta::assert_snapshot!(said(&dry), @r"
    mastodon (https://mastodon.rehearsal.example/@blog): 2 posts read
      article-1: would be adopted: https://mastodon.rehearsal.example/@blog/ID
      article-2: would be adopted: https://mastodon.rehearsal.example/@blog/ID
      article-3: not found; it counts as announced before
      article-4: not found; it counts as announced before
      article-5: not found; it counts as announced before
      article-6: not found; it counts as announced before
      article-7: not found; it counts as announced before
      article-8: not found; it counts as announced before
      article-9: not found; it counts as announced before
    mastodon: 7 articles would be marked as announced before
    9 deliveries were looked for: 2 adopted, 7 not found. Nothing was written.
    ");
    let ran = site.sayonce(&["baseline", "--from-remote"]);
    ran.assert_code(0);
    insta::assert_snapshot!(said(&ran), @r"
    mastodon (https://mastodon.rehearsal.example/@blog): 2 posts read
      article-1: adopted: https://mastodon.rehearsal.example/@blog/ID
      article-2: adopted: https://mastodon.rehearsal.example/@blog/ID
      article-3: not found; it counts as announced before
      article-4: not found; it counts as announced before
      article-5: not found; it counts as announced before
      article-6: not found; it counts as announced before
      article-7: not found; it counts as announced before
      article-8: not found; it counts as announced before
      article-9: not found; it counts as announced before
    mastodon: 7 articles are marked as announced before
    9 deliveries were looked for: 2 adopted, 7 not found.
    ");
    insta::assert_snapshot!(rows(&site), @r"
    article-1 mastodon done adopted 0 baseline --from-remote
    article-2 mastodon done adopted 0 baseline --from-remote
    ");
    assert_eq!(commits(&site), "1");
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 2, skipped 7");
    assert_eq!(site.writes(), "mastodon 2");
}

#[test]
fn what_is_baselined_already_can_be_adopted_later() {
    let site = with_a_history(aside(), 2);
    site.sayonce(&["baseline"]).assert_code(0);
    let ran = site.sayonce(&["adopt"]);
    ran.assert_code(0);
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 2, skipped 1");
}

#[test]
fn an_account_that_can_not_be_read_is_left_and_the_others_go_on() {
    let plan = Plan::of(&[("bluesky", Kind::Bluesky), ("mastodon", Kind::Mastodon)])
        .ledger("branch = \"sayonce-ledger\"");
    let site = with_a_history(plan, 3);
    let ran = site
        .program_without_secrets(&site.path("site"), &["baseline", "--from-remote"])
        .environment([(
            "MASTODON_TOKEN",
            sayonce::sandbox::Sandbox::secret(Kind::Mastodon),
        )])
        .run();
    ran.assert_code(2);
    insta::assert_snapshot!(said(&ran), @r"
    mastodon (https://mastodon.rehearsal.example/@blog): 3 posts read
      article-1: adopted: https://mastodon.rehearsal.example/@blog/ID
      article-2: adopted: https://mastodon.rehearsal.example/@blog/ID
      article-3: adopted: https://mastodon.rehearsal.example/@blog/ID
    bluesky: not read, BLUESKY_APP_PASSWORD is not set
    mastodon: nothing new to baseline
    3 deliveries were looked for: 3 adopted.
    ");
    let wrong = site
        .program(&["adopt", "--channel", "bluesky"])
        .environment([("BLUESKY_APP_PASSWORD", "wrong")])
        .run();
    wrong.assert_code(5);
    insta::assert_snapshot!(said(&wrong), @r#"
    bluesky: not read, HTTP 401: {"error":"AuthenticationRequired","message":"Invalid identifier or password"}
    Nothing was looked for.
    "#);
}

#[test]
fn two_channels_on_one_account_are_both_left() {
    let site = with_a_history(aside(), 1);
    let configuration = site.configuration();
    let (_, channel) = configuration.split_once("[channels.mastodon]").unwrap();
    let twin = channel.replace("MASTODON_TOKEN", "TWIN_TOKEN");
    site.write(
        "sayonce.toml",
        &format!("{configuration}\n[channels.twin]{twin}"),
    );
    let secret = sayonce::sandbox::Sandbox::secret(Kind::Mastodon);
    let ran = site
        .program(&["adopt"])
        .environment([("TWIN_TOKEN", secret)])
        .run();
    ran.assert_code(2);
    insta::assert_snapshot!(said(&ran), @r"
    mastodon: not read, twin posts to the same account, https://mastodon.rehearsal.example/@blog
    twin: not read, mastodon posts to the same account, https://mastodon.rehearsal.example/@blog
    Nothing was looked for.
    ");
}

#[test]
fn a_channel_under_a_new_name_keeps_its_rows() {
    let mut site = aside().articles(2).start();
    site.run(&[]).assert_code(0);
    site.plan.articles.push(3);
    site.build();
    let configuration = site.configuration();
    let still = site.sayonce(&["adopt", "--rename", "mastodon", "fediverse"]);
    still.assert_code(2);
    let renamed = configuration.replace("[channels.mastodon]", "[channels.fediverse]");
    site.write("sayonce.toml", &renamed);
    // However often it is tried, a run does not take it for a new channel.
    for _ in 0..3 {
        site.run(&[]).assert_code(2);
    }
    assert_eq!(site.writes(), "mastodon 2");
    let before = commits(&site);
    let dry = site.sayonce(&["adopt", "--rename", "mastodon", "fediverse", "--dry-run"]);
    dry.assert_code(0);
    assert_eq!(
        dry.stdout,
        "2 rows of mastodon would move to fediverse. Nothing was written.\n"
    );
    assert_eq!(commits(&site), before);
    let ran = site.sayonce(&[
        "adopt",
        "--rename",
        "mastodon",
        "fediverse",
        "--why",
        "a better name",
    ]);
    ran.assert_code(0);
    assert_eq!(
        ran.stdout,
        "mastodon is fediverse from now on: 2 rows were moved\n"
    );
    insta::assert_snapshot!(rows(&site), @r"
    article-1 fediverse done response 1 -
    article-2 fediverse done response 1 -
    ");
    let message = site.remote(&["log", "-1", "--format=%B", "sayonce-ledger"]);
    let lines = message
        .lines()
        .filter(|line| !line.starts_with("Remote-Id: ") && !line.starts_with("Run: "));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r"
    ledger: the channel mastodon is fediverse from now on [skip ci]

    - article-1 on fediverse: posted, proved
    - article-2 on fediverse: posted, proved

    Item: article-1
    Channel: fediverse
    Operation: publish
    State: done
    Attempt: 1
    Item: article-2
    Channel: fediverse
    Operation: publish
    State: done
    Attempt: 1
    Decision: adopt --rename
    Decided-By: sayonce <sayonce@localhost>
    Why: a better name
    ");
    let ran = site.run(&[]);
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 3");
    assert_eq!(site.writes(), "mastodon 3");
    site.assert_exactly_once();
    // Whoever still has the old configuration is told, and announces nothing.
    site.plan.articles.push(4);
    site.build();
    site.write("sayonce.toml", &configuration);
    let ran = site.run(&[]);
    ran.assert_code(2);
    assert_eq!(site.writes(), "mastodon 3");
}

#[test]
fn a_run_under_way_stops_where_its_channel_gets_another_name() {
    let site = aside()
        .articles(3)
        .every_channel("interval = \"4s\"")
        .start();
    let mut run = site.start(&["run", "--format", "json"]);
    run.until_it_says("article-1 on mastodon: posted");
    let configuration = site.configuration();
    let renamed = configuration.replace("[channels.mastodon]", "[channels.fediverse]");
    site.write("renamed.toml", &renamed);
    let rename = || {
        site.sayonce(&[
            "--config",
            "renamed.toml",
            "adopt",
            "--rename",
            "mastodon",
            "fediverse",
        ])
    };
    // As long as the first result is not on the remote, its row does not move.
    let moved = (0..20).find(|_| rename().code() == Some(0));
    assert!(moved.is_some());
    let ran = run.end();
    assert_ne!(ran.code(), Some(0), "{ran:?}");
    assert!(rows(&site).starts_with("article-1 fediverse done"));
    let posts = site.writes();
    site.sayonce(&["--config", "renamed.toml", "run"])
        .assert_code(0);
    site.assert_exactly_once();
    assert_eq!(posts, "mastodon 1");
}

#[test]
fn what_may_be_under_way_does_not_move() {
    let site = aside()
        .articles(1)
        .fault("mastodon:1=lost-answer")
        .channel("mastodon", "lookups = []\nquarantine = \"1h\"")
        .start();
    site.run(&["--max-wait", "0s"]).assert_code(6);
    let configuration = site.configuration();
    let renamed = configuration.replace("[channels.mastodon]", "[channels.fediverse]");
    site.write("sayonce.toml", &renamed);
    let ran = site.sayonce(&["adopt", "--rename", "mastodon", "fediverse"]);
    ran.assert_code(2);
    assert!(
        ran.stderr.contains("may still be under way until "),
        "{}",
        ran.stderr
    );
    let none = site.sayonce(&["adopt", "--rename", "masto", "fediverse"]);
    none.assert_code(2);
    insta::assert_snapshot!(none.stderr.lines().filter(|line| !line.starts_with("warning")).collect::<Vec<_>>().join("\n"), @r"
    error: the ledger has nothing of a channel `masto`
      hint: the channels with rows are mastodon
    ");
}

#[test]
fn rows_do_not_move_to_a_channel_of_another_kind_or_account() {
    let site = Plan::of(&[("mastodon", Kind::Mastodon), ("devto", Kind::Devto)])
        .articles(1)
        .start();
    site.run(&["--channel", "mastodon"]).assert_code(0);
    let configuration = site.configuration();
    let (head, rest) = configuration.split_once("[channels.mastodon]").unwrap();
    let (mastodon, devto) = rest.split_once("[channels.devto]").unwrap();
    let check = |name: &str, section: &str| {
        site.write("sayonce.toml", &format!("{head}[channels.{name}]{section}"));
        let ran = site.sayonce(&["adopt", "--rename", "mastodon", name]);
        ran.assert_code(2);
        let lines = ran.stderr.lines();
        let lines = lines.filter(|line| !line.starts_with("warning") && !line.starts_with("note"));
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(check("articles", devto), @"
    error: `articles` is of kind devto, and article-1 on mastodon was written for one of kind mastodon
      hint: leave the rows of mastodon where they are: articles is a channel of its own, and starts with the next article
    ");
    site.git(&["pull", "--quiet", "--ff-only", "origin", "main"]);
    let path = "ledger/article-1/mastodon.json";
    let row = std::fs::read_to_string(site.path("site").join(path)).unwrap();
    site.write(path, &row.replace("/@blog\"", "/@somebody\""));
    site.commit_and_push("another account");
    insta::assert_snapshot!(check("fediverse", mastodon), @"
    error: `fediverse` posts as https://mastodon.rehearsal.example/@blog, and article-1 on mastodon was posted as https://mastodon.rehearsal.example/@somebody
      hint: leave the rows of mastodon where they are: fediverse is a channel of its own, and starts with the next article
    ");
}
