//! What the loader accepts, what it fills in, and what it says about the rest.

use std::path::Path;
use std::time::Duration;

use sayonce::config::keys::{CHANNEL_KEYS, LEDGER_KEYS, SITE_KEYS, kind_keys};
use sayonce::config::template::{DEFAULT_TEMPLATE, VARIABLES};
use sayonce::config::{Config, ServiceConfig};
use sayonce::model::channel::Kind;

/// The least that a configuration must have.
const SITE: &str = "[site]\nurl = \"https://blog.example\"\nfeed = \"feed.xml\"\n";

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(Path::new("sayonce.toml"), text).map_err(|error| error.to_string())
}

/// Returns every problem of a configuration, as a person sees them.
fn problems(text: &str) -> String {
    parse(text).expect_err("the configuration is wrong")
}

/// Returns the problems of `lines` below a channel of one kind.
fn check(kind: &str, lines: &str) -> String {
    let needed = match kind {
        "indexnow" => "key = \"0123456789abcdef\"\n",
        "bluesky" => "handle = \"blog.example\"\n",
        "mastodon" => "server = \"https://mastodon.example\"\n",
        _ => "",
    };
    let text = format!("{SITE}[channels.c]\nkind = \"{kind}\"\n{needed}{lines}\n");
    match parse(&text) {
        Ok(config) => format!("ok {}", config.warnings.join("\n")),
        Err(problems) => problems,
    }
}

#[test]
fn every_key_is_read() {
    let text = include_str!("data/config/complete.toml");
    let config = parse(text).unwrap();
    assert_eq!(config.warnings, Vec::<String>::new());
    let names: Vec<&str> = config
        .channels
        .iter()
        .map(|channel| channel.name().as_str())
        .collect();
    assert_eq!(names, ["search", "bluesky", "mastodon", "devto"]);
    insta::assert_snapshot!(format!("{:#?}\n{:#?}", config.site.since, config.ledger), @r#"
    Some(
        Timestamp(
            1767222000000,
        ),
    )
    LedgerConfig {
        dir: "data/ledger",
        branch: Some(
            "sayonce-ledger",
        ),
        remote: "upstream",
        push: Always,
        clock_skew: 90s,
        push_gap: Some(
            10s,
        ),
        skip_ci: "[ci skip]",
    }
    "#);
    assert_eq!(config.site.url.as_str(), "https://blog.example/journal/");
    assert_eq!(config.site.first_run_max, 3);
    assert_eq!(config.site.max_new, 4);
    assert_eq!(config.site.wait_live, Duration::from_mins(10));
    assert_eq!(config.site.overdue, Duration::from_hours(12));
    insta::assert_snapshot!(format!("{:?}", config.channels[1]), @r#"ChannelConfig { rules: ChannelRules { name: ChannelName("bluesky"), kind: Bluesky, policy: Verified, gate: Confirm, interval: 2s, timeout: 20s, send_window: 40s, quarantine: 900s, settle: 30s, lookups: [5s, 60s], max_attempts: 3, precheck: false, follow_edits: false, since: Some(Timestamp(1780308000000)), delay: 3600s, hours: Some(Hours { from_minute: 1320, to_minute: 390, timezone: Europe/Berlin }) }, service: Bluesky { handle: "blog.example", service: Some(Url { scheme: "https", cannot_be_a_base: false, username: "", password: None, host: Some(Domain("pds.blog.example")), port: None, path: "/", query: None, fragment: None }), resolver: Url { scheme: "https", cannot_be_a_base: false, username: "", password: None, host: Some(Domain("resolver.blog.example")), port: None, path: "/", query: None, fragment: None }, plc_directory: Url { scheme: "https", cannot_be_a_base: false, username: "", password: None, host: Some(Domain("plc.blog.example")), port: None, path: "/dids/", query: None, fragment: None }, app_password_env: "BSKY_PASSWORD", labels: ["porn", "nudity"] }, template: "{{ title }}\n{{ hashtags }}\n{{ url }}", language: Some("en-GB"), timezone: Europe/Berlin }"#);
    insta::assert_snapshot!(
        format!("{:?}\n{:?}", config.channels[2].service, config.channels[3].service),
        @r#"
        Mastodon { server: Url { scheme: "https", cannot_be_a_base: false, username: "", password: None, host: Some(Domain("mastodon.example")), port: None, path: "/", query: None, fragment: None }, token_env: "TOOT_TOKEN", visibility: Unlisted, content_warning: Some("blog") }
        Devto { server: Url { scheme: "http", cannot_be_a_base: false, username: "", password: None, host: Some(Domain("localhost")), port: Some(8080), path: "/", query: None, fragment: None }, api_key_env: "DEV_KEY", published: false, organization_id: Some(42) }
        "#
    );
}

#[test]
fn defaults_are_those_of_the_documentation() {
    let config = parse(&format!(
        "{SITE}
[channels.search]
kind = \"indexnow\"
key = \"0123456789abcdef\"
[channels.bluesky]
kind = \"bluesky\"
handle = \"blog.example\"
[channels.mastodon]
kind = \"mastodon\"
server = \"https://mastodon.example\"
[channels.devto]
kind = \"devto\"
"
    ))
    .unwrap();
    assert_eq!(config.warnings, Vec::<String>::new());
    insta::assert_snapshot!(format!("{:?}\n{:?}", config.site, config.ledger), @r#"
    Site { url: Url { scheme: "https", cannot_be_a_base: false, username: "", password: None, host: Some(Domain("blog.example")), port: None, path: "/", query: None, fragment: None }, feed: Some("feed.xml"), pages: None, sitemap: None, markdown: None, manifest: None, timezone: UTC, since: None, permalink: None, first_run_max: 5, max_new: 5, wait_live: 0ns, overdue: 86400s, enabled: true }
    LedgerConfig { dir: "ledger", branch: None, remote: "origin", push: Auto, clock_skew: 120s, push_gap: None, skip_ci: "[skip ci]" }
    "#);
    let channels: Vec<String> = config
        .channels
        .iter()
        .map(|channel| {
            let rules = &channel.rules;
            format!(
                "{} {} {} every {:?} timeout {:?} window {:?} quarantine {:?} settle {:?} lookups {:?} attempts {} precheck {}\n  {:?} {:?}",
                rules.name, rules.policy.label(), rules.gate.label(), rules.interval, rules.timeout, rules.send_window,
                rules.quarantine, rules.settle, rules.lookups, rules.max_attempts, rules.precheck, channel.service, channel.template
            )
        })
        .collect();
    insta::assert_snapshot!(channels.join("\n"), @r#"
    search at_least_once auto every 0ns timeout 30s window 30s quarantine 0ns settle 0ns lookups [3s, 10s, 30s] attempts 5 precheck false
      IndexNow { key: "0123456789abcdef", key_location: None, endpoint: Url { scheme: "https", cannot_be_a_base: false, username: "", password: None, host: Some(Domain("api.indexnow.org")), port: None, path: "/indexnow", query: None, fragment: None } } "{{ title }}\n\n{{ url }}"
    bluesky keyed auto every 1s timeout 30s window 30s quarantine 0ns settle 0ns lookups [3s, 10s, 30s] attempts 5 precheck true
      Bluesky { handle: "blog.example", service: None, resolver: Url { scheme: "https", cannot_be_a_base: false, username: "", password: None, host: Some(Domain("bsky.social")), port: None, path: "/", query: None, fragment: None }, plc_directory: Url { scheme: "https", cannot_be_a_base: false, username: "", password: None, host: Some(Domain("plc.directory")), port: None, path: "/", query: None, fragment: None }, app_password_env: "BLUESKY_APP_PASSWORD", labels: [] } "{{ title }}\n\n{{ url }}"
    mastodon verified auto every 1s timeout 30s window 30s quarantine 600s settle 60s lookups [3s, 10s, 30s] attempts 5 precheck true
      Mastodon { server: Url { scheme: "https", cannot_be_a_base: false, username: "", password: None, host: Some(Domain("mastodon.example")), port: None, path: "/", query: None, fragment: None }, token_env: "MASTODON_TOKEN", visibility: Public, content_warning: None } "{{ title }}\n\n{{ url }}"
    devto verified auto every 4s timeout 30s window 30s quarantine 600s settle 60s lookups [3s, 10s, 30s] attempts 5 precheck true
      Devto { server: Url { scheme: "https", cannot_be_a_base: false, username: "", password: None, host: Some(Domain("dev.to")), port: None, path: "/", query: None, fragment: None }, api_key_env: "DEVTO_API_KEY", published: true, organization_id: None } "{{ title }}\n\n{{ url }}"
    "#);
}

#[test]
fn all_problems_are_found_at_once() {
    let text = r#"
[site]
url = "blog.example"
timezone = "Europe/Berlni"
since = "yesterday"
max_new = -1
feeed = "feed.xml"

[ledger]
dir = "../elsewhere"
push = "sometimes"
branch = "refs/heads/x"
remote = "--upload-pack=x"
clock_skew = 120

[channels.Mastodon]
kind = "mastodon"
token = "s3cret-value"
token_env = "ab-cd"
visibility = "publik"
timeout = "30"
hours = "9-18"

[channels.bluesky]
handle = "@blog.example"
service = "http://pds.example"

[channels.web]
kind = "telegram"
max_attempts = 0

[channel.x]
kind = "devto"
"#;
    let problems = problems(text);
    assert!(!problems.contains("s3cret-value"), "{problems}");
    assert!(!problems.contains("ab-cd"), "{problems}");
    insta::assert_snapshot!(problems, @r#"
    sayonce.toml:2: `[site]` names no source of articles
      hint: give at least one of feed, pages, sitemap, markdown, manifest, such as `feed = "_site/feed.xml"`
    sayonce.toml:3: `site.url` is not an absolute http or https address
      hint: write an absolute address, such as `"https://blog.example"`
    sayonce.toml:4: `site.timezone` is `Europe/Berlni`, no known timezone
      hint: did you mean `Europe/Berlin`?
    sayonce.toml:5: `site.since` is `yesterday`, no date
      hint: write a date such as `"2026-01-01"`
    sayonce.toml:6: `site.max_new` is out of range
      hint: write a whole number, without quotes
    sayonce.toml:7: `site.feeed` is not a known key
      hint: did you mean `feed`?
    sayonce.toml:10: `ledger.dir` leads out of the repository
      hint: write a directory below the repository's top with `/` between its parts, such as `"ledger"`
    sayonce.toml:11: `ledger.push` is `sometimes`, which is no known word
      hint: write one of auto, always, never
    sayonce.toml:12: `ledger.branch` is a ref, not the name of a branch
      hint: write the branch's name alone, such as `"sayonce-ledger"`
    sayonce.toml:13: `ledger.remote` is not the name of a remote
      hint: write a name that `git remote` lists, such as `"origin"`
    sayonce.toml:14: `ledger.clock_skew` is a number, not a duration
      hint: write an integer with `ms`, `s`, `m`, `h` or `d` in quotes, such as `"75s"`
    sayonce.toml:16: `Mastodon` can't be a channel's name: use 1 to 40 of a-z, 0-9, `-` and `_`, starting with a letter or digit, and no Windows device name
    sayonce.toml:16: `channels.Mastodon.server` is missing
      hint: write the account's server, such as `server = "https://mastodon.example"`
    sayonce.toml:18: `channels.Mastodon.token` is not a known key
      hint: secrets never stand in this file: name an environment variable with `token_env = "MASTODON_TOKEN"`, and replace the secret if it was committed
    sayonce.toml:19: `channels.Mastodon.token_env` can't be the name of a variable
      hint: write the name of an environment variable, such as `"MASTODON_TOKEN"`, and keep the secret itself out of the file
    sayonce.toml:20: `channels.Mastodon.visibility` is `publik`, which is no known word
      hint: did you mean `public`? The words are public, unlisted, private, direct
    sayonce.toml:21: `channels.Mastodon.timeout` is `30`, no duration
      hint: write an integer with `ms`, `s`, `m`, `h` or `d` in quotes, such as `"75s"`
    sayonce.toml:22: `channels.Mastodon.hours` is `9-18`, no window of the day
      hint: write two times of the day, such as `"09:00-18:00"`
    sayonce.toml:24: `channels.bluesky.kind` is missing
      hint: write `kind = "bluesky"`; the kinds are indexnow, bluesky, mastodon, devto, http
    sayonce.toml:29: `channels.web.kind` is `telegram`, which is no known word
      hint: `telegram` is a preset: write `kind = "http"` and `preset = "telegram"`
    sayonce.toml:30: `channels.web.max_attempts` is 0
      hint: write at least 1; `enabled = false` turns a channel off
    sayonce.toml:32: `channel` is not a known key
      hint: did you mean `[channels.NAME]`?
    "#);
}

#[test]
fn a_broken_file_says_where() {
    insta::assert_snapshot!(problems("[site]\nurl = \"https://blog.example\nfeed = \"feed.xml\"\n"), @r#"sayonce.toml:2: is not TOML: invalid basic string, expected `"`"#);
    insta::assert_snapshot!(problems(""), @r#"
    sayonce.toml: `[site]` is missing
      hint: begin with `[site]` and `url = "https://blog.example"`
    "#);
    insta::assert_snapshot!(problems("site = 1\nchannels = 2"), @r"
    sayonce.toml:1: `site` is not a table
      hint: write `[site]` and its keys below it
    sayonce.toml:2: `channels` is not a table
      hint: write `[channels]` and its keys below it
    ");
    insta::assert_snapshot!(problems("[site]\nurl = \"https://blog.example\"\n"), @r#"
    sayonce.toml:1: `[site]` names no source of articles
      hint: give at least one of feed, pages, sitemap, markdown, manifest, such as `feed = "_site/feed.xml"`
    "#);
    insta::assert_snapshot!(
        problems("[site]\nurl = \"https://blog.example\"\nmarkdown = \"_posts/*.md\"\n"),
        @r#"
        sayonce.toml:1: `site.markdown` alone doesn't tell the articles' addresses
          hint: add a feed or a sitemap, or `permalink = "/:year/:month/:title/"`
        "#
    );
}

#[test]
fn editors_line_ends_and_marks_are_no_problem() {
    let windows = format!("\u{feff}{}", SITE.replace('\n', "\r\n"));
    assert!(parse(&windows).is_ok());
    let wrong = format!("{windows}max_new = true\r\n");
    assert!(problems(&wrong).starts_with("sayonce.toml:4: "));
}

#[test]
fn a_file_that_is_not_there_is_a_problem_with_a_hint() {
    let error = Config::load(Path::new("tests/data/config/missing.toml")).unwrap_err();
    insta::assert_snapshot!(error, @r"
    tests/data/config/missing.toml: there is no such file
      hint: `sayonce init` writes one to begin with; or name it with `--config FILE`
    ");
    let config = Config::load(Path::new("tests/data/config/complete.toml")).unwrap();
    assert_eq!(config.channels.len(), 4);
}

#[test]
fn a_policy_must_be_one_that_the_kind_can_carry() {
    insta::assert_snapshot!(check("mastodon", "policy = \"keyed\""), @r"
    sayonce.toml:7: `channels.c.policy` is `keyed`, which mastodon can't carry: it takes no id that the client chooses for ever
      hint: mastodon carries `verified`, `at_most_once`
    ");
    insta::assert_snapshot!(check("bluesky", "policy = \"at_least_once\""), @r"
    sayonce.toml:7: `channels.c.policy` is `at_least_once`, which bluesky can't carry: a post that is sent again stands there twice
      hint: bluesky carries `keyed`, `verified`, `at_most_once`
    ");
    insta::assert_snapshot!(check("indexnow", "policy = \"verified\""), @r"
    sayonce.toml:7: `channels.c.policy` is `verified`, which indexnow can't carry: its posts can't be read back
      hint: indexnow carries `at_least_once`, `at_most_once`
    ");
    for (kind, policy) in [
        ("indexnow", "at_least_once"),
        ("indexnow", "at_most_once"),
        ("bluesky", "keyed"),
        ("bluesky", "verified"),
        ("mastodon", "verified"),
        ("mastodon", "at_most_once"),
        ("devto", "verified"),
        ("devto", "at_most_once"),
    ] {
        assert_eq!(
            check(kind, &format!("policy = \"{policy}\"")),
            "ok ",
            "{kind} {policy}"
        );
    }
}

#[test]
fn plain_http_is_for_this_machine_only() {
    let server = |server: &str| {
        let text = format!("{SITE}[channels.c]\nkind = \"mastodon\"\nserver = \"{server}\"\n");
        parse(&text).is_ok()
    };
    for good in [
        "https://mastodon.example",
        "http://127.0.0.1:3000",
        "http://127.8.9.1",
        "http://[::1]:80",
        "http://localhost:1",
    ] {
        assert!(server(good), "{good}");
    }
    for bad in [
        "http://mastodon.example",
        "http://localhost.example",
        "http://127.0.0.1.example",
        "http://10.0.0.1",
        "http://[::2]",
        "ftp://mastodon.example",
        "mastodon.example",
        "https://user:pass@mastodon.example",
        "https://mastodon.example/?x=1",
    ] {
        assert!(!server(bad), "{bad}");
    }
}

#[test]
fn secrets_are_named_never_written() {
    insta::assert_snapshot!(check("bluesky", "app_password = \"aaaa-bbbb-cccc-dddd\""), @r#"
    sayonce.toml:7: `channels.c.app_password` is not a known key
      hint: secrets never stand in this file: name an environment variable with `app_password_env = "BLUESKY_APP_PASSWORD"`, and replace the secret if it was committed
    "#);
    insta::assert_snapshot!(check("devto", "api_key_env = \"Zx81Zx81Zx81Zx81Zx81Zx81\""), @r#"
    sayonce.toml:6: `channels.c.api_key_env` looks like a secret, not like the name of a variable
      hint: write the name of an environment variable, such as `"MASTODON_TOKEN"`, and keep the secret itself out of the file
    "#);
    insta::assert_snapshot!(check("mastodon", "token_env = \"1TOKEN\""), @r#"
    sayonce.toml:7: `channels.c.token_env` can't be the name of a variable
      hint: write the name of an environment variable, such as `"MASTODON_TOKEN"`, and keep the secret itself out of the file
    "#);
}

#[test]
fn values_have_the_right_form() {
    let accepted = |kind, line: &str| check(kind, line).starts_with("ok");
    for (kind, line) in [
        ("mastodon", "hours = \"09:00-18:00\""),
        ("mastodon", "hours = \"22:00-06:00\""),
        ("mastodon", "hours = \"00:00-24:00\""),
        ("mastodon", "since = 2026-01-01"),
        ("mastodon", "since = 2026-01-01T10:00:00Z"),
        ("mastodon", "since = \"2026-01-01T10:00:00+02:00\""),
        ("mastodon", "delay = \"0s\""),
        ("mastodon", "lookups = []"),
        ("mastodon", "language = \"zh-Hant-TW\""),
        ("bluesky", "service = \"https://bsky.social\""),
        ("bluesky", "resolver = \"http://localhost:2583\""),
        ("bluesky", "plc_directory = \"https://plc.example\""),
        ("devto", "organization_id = 7"),
    ] {
        assert!(
            accepted(kind, line),
            "{kind}: {line}: {}",
            check(kind, line)
        );
    }
    for (kind, line) in [
        ("mastodon", "hours = \"9:00-18:00\""),
        ("mastodon", "hours = \"09:00-09:00\""),
        ("mastodon", "hours = \"24:00-08:00\""),
        ("mastodon", "hours = \"09:00-24:01\""),
        ("mastodon", "since = \"2026-02-30\""),
        ("mastodon", "since = 2026"),
        ("mastodon", "delay = \"1.5h\""),
        ("mastodon", "delay = 5"),
        ("mastodon", "lookups = \"3s\""),
        ("mastodon", "lookups = [3]"),
        ("mastodon", "language = \"English\""),
        ("mastodon", "enabled = \"yes\""),
        ("mastodon", "max_attempts = 5000000000"),
        ("mastodon", "visibility = \"\""),
        ("indexnow", "key_location = \"https://other.example/k.txt\""),
        ("indexnow", "engine = \"google\""),
        ("indexnow", "engine = [\"bing\", \"yandex\"]"),
        ("devto", "organization_id = \"7\""),
    ] {
        assert!(!accepted(kind, line), "{kind}: {line}");
    }
    for key in ["short", "has space in it", "ümlaut-key-1", &"x".repeat(129)] {
        let text = format!("{SITE}[channels.c]\nkind = \"indexnow\"\nkey = \"{key}\"\n");
        assert!(parse(&text).is_err(), "{key}");
    }
    for handle in [
        "blog",
        "@blog.example",
        "a b.example",
        "me@mail.example",
        "-a.example",
        "did:",
    ] {
        let text = format!("{SITE}[channels.c]\nkind = \"bluesky\"\nhandle = \"{handle}\"\n");
        assert!(parse(&text).is_err(), "{handle}");
    }
}

#[test]
fn dates_count_from_their_beginning_in_the_sites_timezone() {
    let since = |zone: &str, date: &str| {
        let text = format!(
            "[site]\nurl = \"https://blog.example\"\nfeed = \"f\"\ntimezone = \"{zone}\"\nsince = {date}\n"
        );
        parse(&text).unwrap().site.since.unwrap().to_string()
    };
    assert_eq!(since("UTC", "\"2026-01-01\""), "2026-01-01T00:00:00.000Z");
    assert_eq!(
        since("Europe/Berlin", "2026-07-01"),
        "2026-06-30T22:00:00.000Z"
    );
    assert_eq!(
        since("Europe/Berlin", "2026-07-01T08:30:00"),
        "2026-07-01T06:30:00.000Z"
    );
    assert_eq!(
        since("Europe/Berlin", "\"2026-07-01 08:30\""),
        "2026-07-01T06:30:00.000Z"
    );
    assert_eq!(
        since("Europe/Berlin", "2026-07-01T08:30:00Z"),
        "2026-07-01T08:30:00.000Z"
    );
    // Midnight that a clock change skips.
    assert_eq!(
        since("America/Sao_Paulo", "\"2018-11-04\""),
        "2018-11-04T03:00:00.000Z"
    );
}

#[test]
fn templates_are_checked_with_their_line() {
    insta::assert_snapshot!(check("mastodon", "template = \"{{ titel }} {{ url }}\""), @r"
    sayonce.toml:7: `channels.c.template`: there is no variable `titel`
      hint: did you mean `title`?
    ");
    insta::assert_snapshot!(check("mastodon", "template = \"\"\"\n{{ title }}\n{% if tags %}{{ url }}\n\"\"\""), @r"
    sayonce.toml:9: `channels.c.template`: unexpected end of input, expected end of block
      hint: write it like `{{ title }}` or `{% if tags %}{{ hashtags }}{% endif %}`
    ");
    insta::assert_snapshot!(check("mastodon", "template = \"{{ title | shorten }}\""), @r"
    sayonce.toml:7: `channels.c.template`: filter shorten is unknown
      hint: the filters are Jinja's, such as `upper`, `trim`, `join` and `default`
    ");
    insta::assert_snapshot!(check("devto", "template = \"{{ title }}\""), @"ok sayonce.toml:6: `channels.c.template` has no effect: devto takes no text");
}

#[test]
fn two_channels_on_one_account_are_refused() {
    let text = |second: &str| {
        format!(
            "{SITE}[channels.a]\nkind = \"bluesky\"\nhandle = \"blog.example\"\n\n[channels.b]\nkind = \"bluesky\"\n{second}"
        )
    };
    insta::assert_snapshot!(problems(&text("handle = \"Blog.example\"\n")), @r"
    sayonce.toml:8: `channels.a` and `channels.b` are the same account
      hint: every article would be posted twice: remove one, or give it an account of its own
    ");
    assert!(parse(&text("handle = \"other.example\"\n")).is_ok());
    assert!(parse(&text("handle = \"blog.example\"\nenabled = false\n")).is_ok());
}

#[test]
fn unwise_values_are_warnings() {
    insta::assert_snapshot!(
        check("mastodon", "interval = \"0s\"\ntimeout = \"20m\"\nsend_window = \"1s\"\nquarantine = \"1s\"\nsettle = \"0s\"\nmax_attempts = 99\nvisibility = \"direct\"\nlookups = []"),
        @r"
        ok sayonce.toml:7: `channels.c.interval` is below 1s, which is what mastodon takes without a rate limit
        sayonce.toml:8: `channels.c.timeout` is over 10m: one silent call would hold the whole run
        sayonce.toml:9: `channels.c.send_window` is below 5s: the push of a claim may take longer, and then it is not sent
        sayonce.toml:10: `channels.c.quarantine` is shorter than `timeout`: a slow service may still be working when the post is sent again
        sayonce.toml:11: `channels.c.settle` is 0s: a post that its service does not list at once would be sent again
        sayonce.toml:12: `channels.c.max_attempts` is over 20: a person should look before that
        sayonce.toml:13: `channels.c.visibility` is `direct`: nobody but those mentioned will see the posts
        sayonce.toml:14: `channels.c.lookups` is empty: what is in doubt waits for the next run
        "
    );
    insta::assert_snapshot!(check("indexnow", "precheck = true"), @"ok sayonce.toml:7: `channels.c.precheck` has no effect: indexnow can't be read");
    let text = "[site]\nurl = \"https://blog.example\"\nfeed = \"f\"\nmax_new = 500\nwait_live = \"2h\"\n[ledger]\nclock_skew = \"1h\"\npush_gap = \"1h\"\n";
    insta::assert_snapshot!(parse(text).unwrap().warnings.join("\n"), @r"
    sayonce.toml: no channel is configured, so nothing is announced
    sayonce.toml:4: `site.max_new` is 500: a mistake in a source would post that many articles at once
    sayonce.toml:5: `site.wait_live` is over an hour: a run would sleep that long for a page that never comes
    sayonce.toml:7: `ledger.clock_skew` is over 10m: everything in doubt waits that much longer
    sayonce.toml:8: `ledger.push_gap` is over 5m: nothing is sent before its claim is pushed
    ");
    let text = format!(
        "{SITE}enabled = false\n[ledger]\npush_gap = \"40s\"\n\
         [channels.a]\nkind = \"bluesky\"\nhandle = \"blog.example\"\n\
         [channels.b]\nkind = \"devto\"\nsend_window = \"40s\"\n\
         [channels.c]\nkind = \"devto\"\napi_key_env = \"OTHER_KEY\"\nenabled = false\n"
    );
    insta::assert_snapshot!(parse(&text).unwrap().warnings.join("\n"), @r"
    sayonce.toml:4: `site.enabled` is `false`: nothing new is announced
    sayonce.toml:7: `channels.a.send_window` (30s) is below the 40s between two pushes (`ledger.push_gap`): claims reach the ledger too late to be sent
    ");
}

#[test]
fn disabled_channels_are_checked_and_left_out() {
    let config = parse(&format!(
        "{SITE}[channels.d]\nkind = \"devto\"\nenabled = false\n"
    ))
    .unwrap();
    assert!(config.channels.is_empty());
    assert!(check("devto", "enabled = false\ntimeout = 3").contains("timeout"));
}

#[test]
fn a_key_in_the_wrong_table_is_told_its_place() {
    insta::assert_snapshot!(check("mastodon", "timezone = \"UTC\"\nhandle = \"x\"\nclock_skew = \"1s\"\nretries = 3"), @r"
    sayonce.toml:7: `channels.c.timezone` is not a known key
      hint: `timezone` is a key of `[site]`
    sayonce.toml:8: `channels.c.handle` is not a known key
      hint: `handle` is a key of channels of kind bluesky
    sayonce.toml:9: `channels.c.clock_skew` is not a known key
      hint: `clock_skew` is a key of `[ledger]`
    sayonce.toml:10: `channels.c.retries` is not a known key
      hint: the keys here are kind, enabled, template, language, policy, gate, interval, since, delay, hours, timeout, max_attempts, lookups, send_window, quarantine, settle, precheck, follow_edits, server, token_env, visibility, content_warning
    ");
}

/// The page that people read about the file.
const PAGE: &str = include_str!("../docs/configuration.md");

/// Returns the first column of the table below a heading of the page.
fn documented(heading: &str) -> Vec<&'static str> {
    let (_, below) = PAGE
        .split_once(&format!("\n{heading}\n"))
        .expect("the heading is there");
    below
        .lines()
        .skip_while(|line| !line.starts_with("| ---"))
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .filter_map(|line| line.split('`').nth(1))
        .collect()
}

#[test]
fn the_page_has_every_key_and_no_other() {
    assert_eq!(documented("## `[site]`"), SITE_KEYS);
    assert_eq!(documented("## `[ledger]`"), LEDGER_KEYS);
    assert_eq!(documented("### Keys of every channel"), CHANNEL_KEYS);
    for kind in Kind::ALL {
        let heading = format!("### `kind = \"{kind}\"`");
        assert_eq!(documented(&heading), kind_keys(kind), "{kind}");
    }
    assert_eq!(documented("## Templates"), VARIABLES);
    assert!(PAGE.contains(&format!("`{DEFAULT_TEMPLATE:?}`")));
}

#[test]
fn the_pages_examples_load() {
    let examples: Vec<&str> = PAGE
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        // An article's front matter.
        .filter(|example| !example.starts_with("+++"))
        .collect();
    assert_eq!(examples.len(), 2);
    for example in &examples {
        assert_eq!(parse(example).unwrap().warnings, Vec::<String>::new());
    }
    for key in SITE_KEYS.iter().chain(&LEDGER_KEYS).chain(&CHANNEL_KEYS) {
        assert!(examples[1].contains(&format!("\n{key} = ")), "{key}");
    }
}

#[test]
fn the_example_blog_loads() {
    let config = Config::load(Path::new("examples/blog/sayonce.toml")).unwrap();
    assert_eq!(config.warnings, Vec::<String>::new());
    let names: Vec<&str> = config
        .channels
        .iter()
        .map(|channel| channel.name().as_str())
        .collect();
    assert_eq!(names, ["search", "bluesky", "mastodon", "devto"]);
    assert_eq!(config.channels[3].rules.interval, Duration::from_secs(75));
    let ServiceConfig::IndexNow { key, .. } = &config.channels[0].service else {
        panic!("the first channel tells search engines");
    };
    assert_eq!(
        std::fs::read_to_string(format!("examples/blog/_site/{key}.txt")).unwrap(),
        *key
    );
}

#[test]
fn one_engine_is_named_by_its_word_or_its_address() {
    let endpoint = |line: &str| {
        let text = format!(
            "{SITE}[channels.c]\nkind = \"indexnow\"\nkey = \"0123456789abcdef\"\n{line}\n"
        );
        let config = parse(&text).unwrap();
        let ServiceConfig::IndexNow { endpoint, .. } = &config.channels[0].service else {
            unreachable!("the kind is IndexNow")
        };
        endpoint.to_string()
    };
    assert_eq!(endpoint(""), "https://api.indexnow.org/indexnow");
    for (engine, address) in [
        ("indexnow", "https://api.indexnow.org/indexnow"),
        ("bing", "https://www.bing.com/indexnow"),
        ("yandex", "https://yandex.com/indexnow"),
        ("naver", "https://searchadvisor.naver.com/indexnow"),
        ("seznam", "https://search.seznam.cz/indexnow"),
        ("yep", "https://indexnow.yep.com/indexnow"),
        ("amazon", "https://indexnow.amazonbot.amazon/indexnow"),
        (
            "internet_archive",
            "https://web-static.archive.org/indexnow",
        ),
    ] {
        assert_eq!(endpoint(&format!("engine = \"{engine}\"")), address);
    }
    insta::assert_snapshot!(
        check("indexnow", "engine = \"bing\"\nendpoint = \"https://www.bing.com/indexnow\""),
        @r"
    sayonce.toml:7: `channels.c.engine` and `channels.c.endpoint` both name the engine
      hint: keep one: `engine` for those that are known, `endpoint` for any other
    "
    );
}

#[test]
fn a_key_below_the_top_speaks_for_its_directory_only() {
    let location = |path: &str| {
        check(
            "indexnow",
            &format!("key_location = \"https://blog.example{path}\""),
        )
    };
    assert_eq!(location("/k.txt"), "ok ");
    insta::assert_snapshot!(location("/news/k.txt"), @"ok sayonce.toml:7: `channels.c.key_location` is good for addresses below `/news/` only: other articles are left out on this channel");
    let text = format!("{SITE}[channels.c]\nkind = \"indexnow\"\nkey = \"0123456789abcdef\"\nkey_location = \"https://blog.example/keys/k.txt\"\n")
        .replace("https://blog.example\"\n", "https://blog.example/blog/\"\n");
    insta::assert_snapshot!(problems(&text), @r"
    sayonce.toml:7: `channels.c.key_location` is good for addresses below `/keys/` only, and the site is not there
      hint: publish the key at the top of the site, or in a directory above it
    ");
}
