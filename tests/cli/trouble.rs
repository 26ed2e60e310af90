//! What goes wrong outside: everybody is told what and where, and nothing is sent that could not be proved.

use sayonce::model::channel::Kind;

use super::program::Ran;
use super::site::{Plan, Site, address, four_channels, mastodon, secret_variable};

/// What a run said on standard error, without the places and ports that differ each time.
fn told(site: &Site, ran: &Ran) -> String {
    let root = site.path("").canonicalize().unwrap().display().to_string();
    let lines = ran
        .stderr
        .lines()
        .filter(|line| !line.contains("` is below "));
    let text = lines.collect::<Vec<_>>().join("\n").replace(&root, "ROOT");
    let mut parts = text.split("127.0.0.1:");
    let mut scrubbed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        scrubbed.push_str("127.0.0.1:PORT");
        scrubbed.push_str(part.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    }
    scrubbed
}

/// Nothing was asked, written or committed.
#[track_caller]
fn assert_untouched(site: &Site) {
    assert_eq!(site.requests(), 0);
    assert_eq!(site.remote(&["log", "--format=%s", "main"]), "the blog");
    assert_eq!(
        site.remote(&["for-each-ref", "--format=%(refname)"]),
        "refs/heads/main"
    );
    assert_eq!(site.git(&["status", "--porcelain"]), "");
}

#[test]
fn every_problem_of_a_configuration_is_told_at_once() {
    let site = mastodon().start();
    site.write(
        "sayonce.toml",
        "[site]\nurl = \"blog.example\"\nfeed = \"_site/feed.xml\"\ntimezone = \"Mars/Olympus\"\n\n\
         [channels.\"Masto/don\"]\nkind = \"mastodon\"\nserver = \"http://mastodon.example\"\n\n\
         [channels.chat]\nkind = \"carrier-pigeon\"\n\n\
         [channels.devto]\nkind = \"devto\"\ninterval = \"75\"\npolicy = \"keyed\"\nintervall = \"75s\"\n",
    );
    site.commit_and_push("broken");
    for command in ["run", "plan", "status", "baseline", "rehearse"] {
        let ran = site.sayonce(&[command]);
        ran.assert_code(2);
        assert_eq!(ran.stdout, "", "{command}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(told(&site, &ran), @r#"
            error: ROOT/site/sayonce.toml:2: `site.url` is not an absolute http or https address
              hint: write an absolute address, such as `"https://blog.example"`
            ROOT/site/sayonce.toml:4: `site.timezone` is `Mars/Olympus`, no known timezone
              hint: write a name of the IANA database, such as `Europe/Berlin` or `UTC`
            ROOT/site/sayonce.toml:6: `Masto/don` can't be a channel's name: use 1 to 40 of a-z, 0-9, `-` and `_`, starting with a letter or digit, and no Windows device name
            ROOT/site/sayonce.toml:8: `channels.Masto/don.server` is a plain `http` address
              hint: write `https`; `http` is accepted for this machine only (127.0.0.0/8, ::1, localhost)
            ROOT/site/sayonce.toml:11: `channels.chat.kind` is `carrier-pigeon`, which is no known word
              hint: write one of indexnow, bluesky, mastodon, devto
            ROOT/site/sayonce.toml:15: `channels.devto.interval` is `75`, no duration
              hint: write an integer with `ms`, `s`, `m`, `h` or `d` in quotes, such as `"75s"`
            ROOT/site/sayonce.toml:16: `channels.devto.policy` is `keyed`, which devto can't carry: it takes no id that the client chooses for ever
              hint: devto carries `verified`, `at_most_once`
            ROOT/site/sayonce.toml:17: `channels.devto.intervall` is not a known key
              hint: did you mean `interval`?
            "#);
        }
    }
    assert_eq!(site.requests(), 0);
    assert_eq!(
        site.remote(&["log", "--format=%s", "main"]),
        "broken\nthe blog"
    );
}

#[test]
fn a_missing_configuration_and_a_missing_repository_are_told_apart() {
    let site = mastodon().start();
    let ran = site.sayonce(&["run", "--config", "other.toml"]);
    ran.assert_code(2);
    insta::assert_snapshot!(told(&site, &ran), @r"
    error: other.toml: there is no such file
      hint: write one (docs/configuration.md says how), or name it with `--config FILE`
    ");
    let nowhere = site.path("nowhere");
    std::fs::create_dir(&nowhere).unwrap();
    let ran = site.program_in(&nowhere, &["run"]).run();
    ran.assert_code(3);
    insta::assert_snapshot!(told(&site, &ran), @r"
    error: there is no git repository at . or above
      hint: run `git init`, or name the repository with `--repo DIR`
    ");
    let missing = site.path("missing").display().to_string();
    let ran = site.sayonce(&["run", "--repo", &missing]);
    ran.assert_code(2);
    insta::assert_snapshot!(told(&site, &ran), @r"
    error: can't read the directory ROOT/missing
      cause: No such file or directory (os error 2)
    ");
    assert_untouched(&site);
}

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
    problem: the ledger was written by a newer version: writing it takes one that knows schema 9; nothing is sent
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
            problem: the ledger was rewound: the row of article-2 on mastodon is gone; nothing is sent. `sayonce ledger repair` brings back what its witness remembers, `sayonce ledger accept` takes the ledger as it is now; to start afresh, delete the branch and `refs/sayonce/witness`
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
fn a_missing_secret_leaves_its_channel_out_and_the_others_go_on() {
    let site = four_channels().articles(1).every_channel("").start();
    let ran = site
        .program(&["run", "--format", "json"])
        .environment([(secret_variable(Kind::Mastodon), " ")])
        .run();
    ran.assert_code(2);
    assert_eq!(ran.summary(), "done 3, pending 1");
    assert_eq!(site.writes(), "search 1, bluesky 1, mastodon 0, devto 1");
    insta::assert_snapshot!(ran.problems().join("\n"), @r"
    channel `mastodon`: the environment variable MASTODON_TOKEN is not set
    ");
    site.run(&[]).assert_code(0);
    site.assert_exactly_once();
}

#[test]
fn a_feed_that_is_no_feed_announces_nothing() {
    let site = mastodon().articles(1).every_channel("").start();
    site.write(
        "_site/feed.xml",
        "<!DOCTYPE html><html><body>404</body></html>",
    );
    let ran = site.sayonce(&["run"]);
    ran.assert_code(2);
    insta::assert_snapshot!(told(&site, &ran), @r"
    `_site/feed.xml` is no feed that can be read (Atom, RSS, or JSON Feed): unable to parse feed: no root element; nothing new is announced
    ");
    insta::assert_snapshot!(ran.stdout, @r"
    problem: `_site/feed.xml` is no feed that can be read (Atom, RSS, or JSON Feed): unable to parse feed: no root element; nothing new is announced
    Nothing was announced.
    ");
    std::fs::remove_file(site.path("site/_site/feed.xml")).unwrap();
    let ran = site.sayonce(&["run"]);
    ran.assert_code(2);
    insta::assert_snapshot!(told(&site, &ran), @r"
    can't read `_site/feed.xml`: build the site first, or correct `site.feed`: No such file or directory (os error 2); nothing new is announced
    ");
    let ran = site.sayonce(&["baseline"]);
    ran.assert_code(2);
    insta::assert_snapshot!(told(&site, &ran), @r"
    error: the list of articles is not complete: can't read `_site/feed.xml`: build the site first, or correct `site.feed`: No such file or directory (os error 2); nothing new is announced
      hint: mend it first: what is not seen now can't be baselined
    ");
    assert_eq!(site.writes(), "mastodon 0");
    assert_eq!(site.remote(&["log", "--format=%s", "main"]), "the blog");
}

#[test]
fn two_articles_with_one_id_are_both_left_out_and_the_rest_is_done() {
    let site = mastodon().articles(2).every_channel("").start();
    // An id that ends in `.json` would look like a row's file.
    let feed = super::site::feed(&[1, 2]).replace("article-1/", "article-1.json/");
    let twin = feed
        .lines()
        .find(|line| line.contains("Article 1"))
        .unwrap()
        .replace("Article 1", "Its twin")
        .replace("article-1.json/", "article-1.json_/");
    site.write(
        "_site/feed.xml",
        &feed.replace("</feed>", &format!("{twin}</feed>")),
    );
    let ran = site.sayonce(&["run"]);
    ran.assert_code(2);
    insta::assert_snapshot!(told(&site, &ran).replace(&remote_id(&site), "ID"), @r"
    _posts/2026-01-01-article-1.md belongs to no article that is listed (a feed shows only its newest)
    `https://blog.example/article-1.json/` and `https://blog.example/article-1.json_/` would both be the item `article-1.json_`: both are left out; give each article an address of its own
    article-2 on mastodon: sending
    article-2 on mastodon: posted: https://mastodon.rehearsal.example/@blog/ID (the service answered with its id)
    ");
    let posts: Vec<_> = site.posts().into_keys().collect();
    assert_eq!(posts, [("mastodon".to_owned(), address(2))]);
}

/// The id of the only post.
fn remote_id(site: &Site) -> String {
    let status = site.sayonce(&["status", "--format", "json"]).json();
    let deliveries = status["deliveries"].as_array().unwrap();
    let ids: Vec<_> = deliveries
        .iter()
        .filter_map(|one| one["remote"]["id"].as_str())
        .collect();
    assert_eq!(ids.len(), 1, "{status}");
    ids[0].to_owned()
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
    let (first, rest) = ran.stderr.split_once('\n').unwrap();
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
    insta::assert_snapshot!(without_last_line(&ran.stdout), @r#"
    Article 1  [article-1]
      mastodon  not sent yet
                due now

    problem: [remote rejected] (pre-receive hook declined): error: GH006: Protected branch update failed for refs/heads/main.; a rule of `origin` forbids pushes to `main`: keep the ledger on a branch of its own, with `branch = "sayonce"` under `[ledger]` (ledger.branch)
    1 delivery: 1 not sent yet.
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

/// Without the line that says when the next is due: now.
fn without_last_line(text: &str) -> &str {
    let (before, last) = text.trim_end().rsplit_once('\n').unwrap();
    assert!(
        last.starts_with("Work remains: the next is due at "),
        "{text}"
    );
    assert!(!last.contains("Nothing needs doing"), "{text}");
    before
}

#[test]
fn a_wrong_token_is_the_channels_trouble_and_no_articles() {
    let site = four_channels().articles(2).start();
    let run = || {
        site.program(&["run", "--format", "json"])
            .environment([(secret_variable(Kind::Mastodon), "a-wrong-token")])
            .run()
    };
    let ran = run();
    ran.assert_code(5);
    assert_eq!(site.writes(), "search 1, bluesky 2, mastodon 0, devto 2");
    insta::assert_snapshot!(ran.problems().join("\n"), @r#"
    mastodon refuses the credentials: HTTP 401: {"error":"The access token is invalid"}
    "#);
    insta::assert_snapshot!(ran.deliveries(), @r"
    article-1 search done response 1
    article-1 bluesky done response 1
    article-1 mastodon pending - 0
    article-1 devto done response 1
    article-2 search done response 1
    article-2 bluesky done response 1
    article-2 mastodon pending - 0
    article-2 devto done response 1
    ");
    run().assert_code(5);
    site.run(&[]).assert_code(0);
    site.assert_exactly_once();
}

#[test]
fn a_token_that_is_revoked_between_login_and_send_makes_no_article_fail() {
    let site = mastodon()
        .articles(2)
        .fault("mastodon:1=status=401")
        .start();
    let ran = site.run(&[]);
    ran.assert_code(5);
    assert_eq!(site.writes(), "mastodon 1");
    insta::assert_snapshot!(ran.deliveries(), @r"
    article-1 mastodon retry - 1
    article-2 mastodon pending - 0
    ");
    insta::assert_snapshot!(ran.problems().join("\n"), @r#"
    mastodon refuses the credentials: HTTP 401: {"error":"Bad Request"}
    "#);
}

#[test]
fn what_a_service_refuses_for_good_is_told_until_a_person_decides() {
    let site = mastodon()
        .articles(2)
        .fault("mastodon:1=status=422")
        .start();
    for _ in 0..2 {
        let ran = site.run(&[]);
        ran.assert_code(4);
        assert_eq!(ran.summary(), "done 1, failed 1");
        assert_eq!(site.writes(), "mastodon 2");
    }
    let status = site.sayonce(&["status"]);
    status.assert_code(0);
    insta::assert_snapshot!(status.stdout.replace(&remote_id(&site), "ID"), @r#"
    Article 1  [article-1]
      mastodon  refused
                HTTP 422: {"error":"Bad Request"}
                sayonce retry article-1 mastodon, or: sayonce skip article-1 mastodon
    Article 2  [article-2]
      mastodon  posted, proved: the service answered with its id
                https://mastodon.rehearsal.example/@blog/ID

    2 deliveries: 1 posted and proved, 1 refused.
    "#);
}

#[test]
fn two_channels_on_one_account_are_both_left_out() {
    let site = Plan::of(&[("blog", Kind::Mastodon), ("again", Kind::Mastodon)])
        .articles(1)
        .every_channel("")
        .start();
    let configuration = site.configuration();
    let servers: Vec<_> = configuration
        .lines()
        .filter(|line| line.starts_with("server"))
        .collect();
    site.write(
        "sayonce.toml",
        &configuration.replace(servers[1], servers[0]),
    );
    let ran = site.sayonce(&["run"]);
    ran.assert_code(2);
    insta::assert_snapshot!(told(&site, &ran), @r"
    error: ROOT/site/sayonce.toml:16: `channels.blog` and `channels.again` are the same account
      hint: every article would be posted twice: remove one, or give it an account of its own
    ");
    assert_eq!(site.writes(), "blog 0, again 0");
}
