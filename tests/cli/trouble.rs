//! What goes wrong outside: everybody is told what and where, and what is not concerned goes on.

use sayonce::model::channel::Kind;

use super::program::Ran;
use super::site::{Plan, Site, address, four_channels, mastodon, secret_variable};

/// What a run said on standard error, without the places and ports that differ each time.
pub(super) fn told(site: &Site, ran: &Ran) -> String {
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
pub(super) fn assert_untouched(site: &Site) {
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
              hint: write one of indexnow, bluesky, mastodon, devto, http
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
      hint: `sayonce init` writes one to begin with; or name it with `--config FILE`
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
    assert_eq!(
        ran.json()["deliveries"][2]["reason"],
        "waits for its channel: channel `mastodon`: the environment variable MASTODON_TOKEN is not set"
    );
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
    assert_eq!(
        ran.json()["deliveries"][2]["reason"],
        "waits for its channel: mastodon refuses the credentials: HTTP 401: {\"error\":\"The access token is invalid\"}"
    );
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
                sayonce retry article-1 mastodon  # the next run sends it once more
                sayonce skip article-1 mastodon  # it shall not be announced
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
