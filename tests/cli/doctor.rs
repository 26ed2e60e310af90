//! What a run needs is looked at beforehand, and nothing is sent for it.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use sayonce::model::channel::Kind;

use super::program::Ran;
use super::site::{Plan, Site, mastodon};

/// Standard output without what differs from run to run.
fn said(ran: &Ran, site: &Site) -> String {
    let remote = site.path("remote.git").display().to_string();
    let top = site.path("site").display().to_string();
    let text = ran.stdout.replace(&remote, "REMOTE").replace(&top, "SITE");
    let lines = text
        .lines()
        .map(|line| match line.split_once("next run at ") {
            Some((before, _)) => format!("{before}next run at TIME"),
            None => line.to_owned(),
        });
    lines.collect::<Vec<_>>().join("\n")
}

fn three_channels() -> Plan {
    Plan::of(&[
        ("bluesky", Kind::Bluesky),
        ("mastodon", Kind::Mastodon),
        ("devto", Kind::Devto),
    ])
    .every_channel("")
    .ledger("branch = \"sayonce-ledger\"")
}

#[test]
fn a_site_that_is_in_order_is_told_so_before_and_after_its_first_run() {
    let site = three_channels().articles(2).start();
    let job = "jobs:\n  a:\n    steps:\n      - uses: sayonce/sayonce@v1\n";
    site.write(
        ".github/workflows/announce.yml",
        &format!("on:\n  schedule:\n    - cron: '17 * * * *'\n{job}"),
    );
    let before = site.sayonce(&["doctor"]);
    before.assert_code(0);
    insta::assert_snapshot!(said(&before, &site), @r"
    ok       configuration: 3 channels
    ok       articles: 2 articles of 2 in scope
    ok       bluesky, login: did:plc:igrx6wyc5jstfcqwtnlgzm5u
    ok       bluesky, clock: no difference that shows
    ok       bluesky, texts: 2 texts fit, limit 300
    ok       mastodon, login: https://mastodon.rehearsal.example/@blog
    ok       mastodon, clock: no difference that shows
    ok       mastodon, texts: 2 texts fit, limit 500
    ok       devto, login: http://127.0.0.1/rehearsal_devto
    ok       devto, clock: no difference that shows
    ok       devto, texts: 2 texts fit, limit 128
    ok       ledger: not begun yet; the first run makes it on `sayonce-ledger`
    ok       push: `origin` lets us push to `sayonce-ledger`
    ok       schedule: next run at TIME
    14 checks: 0 wrong, 0 warnings.
    ");
    assert_eq!(
        site.remote(&["for-each-ref", "--format=%(refname)"]),
        "refs/heads/main"
    );
    site.run(&["--channel", "mastodon"]).assert_code(0);
    let refs = site.remote(&["for-each-ref"]);
    let after = site.sayonce(&["doctor", "--channel", "mastodon", "--format", "json"]);
    after.assert_code(0);
    let report = after.json();
    assert_eq!(report["schema"], 1);
    assert_eq!(report["ok"], true);
    let checks = report["checks"].as_array().unwrap().iter();
    let lines = checks.map(|check| {
        format!(
            "{} {} {}",
            check["check"].as_str().unwrap(),
            check["channel"].as_str().unwrap_or("-"),
            check["verdict"].as_str().unwrap()
        )
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r"
    configuration - ok
    articles - ok
    login mastodon ok
    clock mastodon ok
    texts mastodon ok
    ledger - ok
    push - ok
    witness - ok
    schedule - ok
    ");
    assert_eq!(site.remote(&["for-each-ref"]), refs);
    assert_eq!(site.writes(), "bluesky 0, mastodon 2, devto 0");
}

#[test]
fn a_server_that_was_found_is_named() {
    let site = Plan::of(&[("bluesky", Kind::Bluesky)]).articles(1).start();
    let configuration = site.configuration();
    let (before, rest) = configuration.split_once("service = ").unwrap();
    let (base, after) = rest.split_once('\n').unwrap();
    let by_handle = format!("{before}resolver = {base}\nplc_directory = {base}\n{after}");
    site.write("sayonce.toml", &by_handle);
    let ran = site.sayonce(&["doctor"]);
    ran.assert_code(0);
    let server = base.trim_matches('"');
    let said = said(&ran, &site).replace(server, "http://SERVER");
    let lines = said.lines().filter(|line| line.contains("bluesky, "));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r"
    ok       bluesky, login: did:plc:igrx6wyc5jstfcqwtnlgzm5u
    ok       bluesky, server: http://SERVER
    ok       bluesky, clock: no difference that shows
    ok       bluesky, texts: 1 text fits, limit 300
    ");
    site.run(&[]).assert_code(0);
    site.assert_exactly_once();

    // It may be the handle that leads to the wrong account.
    let refused = site
        .program(&["doctor"])
        .environment([("BLUESKY_APP_PASSWORD", "wrong")])
        .run();
    refused.assert_code(5);
    let lines = refused.stdout.lines();
    let lines = lines
        .skip_while(|line| !line.contains("bluesky, login"))
        .take(2);
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    wrong    bluesky, login: HTTP 401: {"error":"AuthenticationRequired","message":"Invalid identifier or password"}
               if the handle is right, make a new secret there, and set it where this runs
    "#);
}

#[test]
fn secrets_that_are_missing_or_wrong() {
    let site = three_channels().articles(1).start();
    let wrong = site
        .program_without_secrets(&site.path("site"), &["doctor"])
        .environment([
            ("BLUESKY_APP_PASSWORD", "wrong"),
            ("MASTODON_TOKEN", "wrong"),
        ])
        .run();
    wrong.assert_code(2);
    insta::assert_snapshot!(said(&wrong, &site), @r#"
    ok       configuration: 3 channels
    ok       articles: 1 article of 1 in scope
    wrong    bluesky, login: HTTP 401: {"error":"AuthenticationRequired","message":"Invalid identifier or password"}
               make a new secret there, and set it where this runs
    ok       bluesky, texts: 1 text fits, limit 300
    wrong    mastodon, login: HTTP 401: {"error":"The access token is invalid"}
               make a new secret there, and set it where this runs
    ok       mastodon, texts: 1 text fits, limit 500
    wrong    devto, login: DEVTO_API_KEY is not set
               set DEVTO_API_KEY to the secret itself: locally with `export`, in GitHub Actions from the repository's secrets with `env:`
    ok       devto, texts: 1 text fits, limit 128
    ok       ledger: not begun yet; the first run makes it on `sayonce-ledger`
    ok       push: `origin` lets us push to `sayonce-ledger`
    10 checks: 3 wrong, 0 warnings.
    "#);
    let revoked = site
        .program(&["doctor", "--channel", "mastodon"])
        .environment([("MASTODON_TOKEN", "wrong")])
        .run();
    revoked.assert_code(5);
}

#[test]
fn a_site_that_is_not_built_and_a_workflow_without_a_schedule() {
    let site = mastodon().articles(1).start();
    std::fs::remove_file(site.path("site/_site/feed.xml")).unwrap();
    site.write(
        ".github/workflows/announce.yml",
        "on: push\njobs:\n  a:\n    steps:\n      - uses: sayonce/sayonce@v1\n",
    );
    let ran = site.sayonce(&["doctor"]);
    ran.assert_code(2);
    insta::assert_snapshot!(said(&ran, &site), @r#"
    warning  configuration: SITE/sayonce.toml:14: `channels.mastodon.interval` is below 1s, which is what mastodon takes without a rate limit
    wrong    articles: can't read `_site/feed.xml`: build the site first, or correct `site.feed`: No such file or directory (os error 2); nothing new is announced
               build the site first, or mend `[site]` in the configuration
    ok       mastodon, login: https://mastodon.rehearsal.example/@blog
    ok       mastodon, clock: no difference that shows
    ok       ledger: not begun yet; the first run makes it on `main`
    ok       push: `origin` lets us push to `main`
    warning  schedule: Nobody will make the next run on GitHub: no workflow that uses sayonce has a schedule. Add these lines to .github/workflows/announce.yml:
               on:
                 schedule:
                   - cron: "17 * * * *"
    7 checks: 1 wrong, 2 warnings.
    "#);
    site.write("_site/feed.xml", &super::site::feed(&[]));
    let ran = site.sayonce(&["doctor"]);
    ran.assert_code(0);
    assert!(
        ran.stdout
            .contains("\nwarning  articles: the sources list no article\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_remote_that_takes_no_push_or_is_not_there() {
    let site = mastodon().articles(1).start();
    site.git(&["config", "remote.origin.receivepack", "false"]);
    let ran = site.sayonce(&["doctor"]);
    ran.assert_code(3);
    assert!(ran.stdout.contains("\nwrong    push: "), "{}", ran.stdout);
    site.git(&["config", "--unset", "remote.origin.receivepack"]);
    std::fs::remove_dir_all(site.path("remote.git")).unwrap();
    let ran = site.sayonce(&["doctor"]);
    ran.assert_code(3);
    assert!(
        ran.stdout
            .contains("\nwrong    ledger: the remote `origin` can't be used: "),
        "{}",
        ran.stdout
    );
}

#[test]
fn texts_that_do_not_fit() {
    let site = mastodon().articles(1).every_channel("").start();
    let configuration = site.configuration();
    let long = "x ".repeat(300);
    site.write(
        "sayonce.toml",
        &format!("{configuration}template = \"{{{{ title }}}} {long} {{{{ url }}}}\"\n"),
    );
    let ran = site.sayonce(&["doctor"]);
    ran.assert_code(2);
    insta::assert_snapshot!(said(&ran, &site), @r"
    ok       configuration: 1 channel
    ok       articles: 1 article of 1 in scope
    ok       mastodon, login: https://mastodon.rehearsal.example/@blog
    ok       mastodon, clock: no difference that shows
    wrong    mastodon, texts: 1 text can't be made; article-1: the text has 624 characters, 500 are allowed, and nothing more can be shortened
               change the template, or the article's own text
    ok       ledger: not begun yet; the first run makes it on `main`
    ok       push: `origin` lets us push to `main`
    7 checks: 1 wrong, 0 warnings.
    ");
    site.write("sayonce.toml", &configuration);
    let title = "word ".repeat(200);
    let feed = super::site::feed(&[1]).replace("Article 1", &title);
    site.write("_site/feed.xml", &feed);
    let ran = site.sayonce(&["doctor"]);
    ran.assert_code(0);
    let line = ran.stdout.lines().find(|line| line.contains("texts"));
    insta::assert_snapshot!(line.unwrap(), @"warning  mastodon, texts: 1 text made to fit, limit 500; article-1: the title is shortened from 999 to 475 characters");
}

#[test]
fn the_key_file_is_looked_for_on_the_site_itself() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let site = Plan::of(&[("search", Kind::IndexNow)]).articles(0).start();
    let configuration = site.configuration();
    let own = configuration.replace("https://blog.example", &format!("http://{address}"));
    site.write("sayonce.toml", &own);
    let server = std::thread::spawn(move || {
        for text in ["0123456789abcdef\n", "another"] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap();
            assert!(request[..length].starts_with(b"GET /0123456789abcdef.txt "));
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
                text.len()
            )
            .unwrap();
        }
    });
    let key_line = |ran: &Ran| {
        let line = ran.stdout.lines().find(|line| line.contains("key file"));
        line.unwrap().replace(&address.to_string(), "SITE")
    };
    let right = site.sayonce(&["doctor"]);
    let wrong = site.sayonce(&["doctor"]);
    server.join().unwrap();
    let gone = site.sayonce(&["doctor"]);
    assert_eq!(
        key_line(&right),
        "ok       search, key file: http://SITE/0123456789abcdef.txt"
    );
    assert_eq!(
        key_line(&wrong),
        "warning  search, key file: http://SITE/0123456789abcdef.txt has another text than the key"
    );
    assert!(key_line(&gone).starts_with("warning  search, key file: "));
    gone.assert_code(0);
}
