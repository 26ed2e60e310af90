//! A secret is in the environment and in the request that needs it, and nowhere else.

use std::path::Path;

use sayonce::model::channel::Kind;
use sayonce::sandbox::Sandbox;

use crate::channel::server::{Server, json};

use super::program::Ran;
use super::site::{Plan, Site, four_channels, secret_variable};

/// Nothing that was printed, committed or left on disk contains one of `secrets`.
#[track_caller]
fn assert_not_seen(site: &Site, rans: &[Ran], secrets: &[&str]) {
    let mut texts = Vec::new();
    for ran in rans {
        texts.push(("standard output".to_owned(), ran.stdout.clone()));
        texts.push(("standard error".to_owned(), ran.stderr.clone()));
    }
    for repository in ["remote.git", "site"] {
        let objects = ["cat-file", "--batch-all-objects", "--batch", "--buffer"];
        let text = site.git_in(&site.path(repository), &objects);
        assert!(text.contains("Article 1"), "the objects are read: {text}");
        texts.push((format!("the objects of {repository}"), text));
    }
    for root in ["remote.git", "site", "home"] {
        files(&site.path(root), &mut texts);
    }
    for secret in secrets {
        for (place, text) in &texts {
            assert!(!text.contains(secret), "`{secret}` is in {place}:\n{text}");
        }
    }
}

fn files(directory: &Path, texts: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, texts);
        } else if let Ok(bytes) = std::fs::read(&path) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            texts.push((path.display().to_string(), text));
        }
    }
}

#[test]
fn the_secrets_of_a_good_and_of_a_bad_day_are_not_seen() {
    let site = four_channels()
        .fault("mastodon:1=status=500")
        .fault("mastodon:2=status=401")
        .fault("bluesky:1=status=500-stored")
        .fault("bluesky:2=status=401")
        .fault("devto:1=status=422")
        .fault("devto:2=lost-answer")
        .every_channel("interval = \"0s\"\nlookups = [\"1ms\"]")
        .start();
    let rans: Vec<_> = (0..2)
        .map(|_| site.sayonce(&["run", "--max-wait", "1s"]))
        .collect();
    let told = &rans[0].stderr;
    for words in [
        "mastodon is left out of this run: ",
        "article-1 on devto: refused: ",
    ] {
        assert!(told.contains(words), "{told}");
    }
    let readable = [Kind::Bluesky, Kind::Mastodon, Kind::Devto];
    assert_not_seen(&site, &rans, &readable.map(Sandbox::secret));
}

#[test]
fn secrets_that_are_refused_are_not_seen() {
    let site = four_channels().articles(1).start();
    let secrets = [
        (secret_variable(Kind::Bluesky), "wrong-app-password-1c9f"),
        (secret_variable(Kind::Mastodon), "wrong-access-token-7e2a"),
        (secret_variable(Kind::Devto), "wrong-api-key-55d0"),
    ];
    let run = |format: &str| {
        site.program(&["run", "--format", format])
            .environment(secrets)
            .run()
    };
    let rans = [run("json"), run("text")];
    for ran in &rans {
        ran.assert_code(5);
    }
    assert_eq!(rans[0].summary(), "done 1, pending 3");
    assert_not_seen(&site, &rans, &secrets.map(|(_, secret)| secret));
}

#[test]
fn a_service_that_repeats_a_secret_in_its_answer_does_not_get_it_into_the_ledger() {
    let secret = "echoed-api-key-90ab";
    let echo = format!("{{\"error\":\"the key {secret} may not post this\",\"status\":422}}");
    let server = Server::start([
        json(200, "{\"type_of\":\"user\",\"id\":3,\"username\":\"blog\"}"),
        json(422, &echo),
    ]);
    let site = Plan::of(&[("devto", Kind::Devto)])
        .articles(1)
        .channel("devto", "precheck = false")
        .start();
    let configuration = site.configuration();
    let own = configuration
        .lines()
        .find(|line| line.starts_with("server"))
        .unwrap();
    let other = format!("server = \"{}\"", server.url());
    site.write("sayonce.toml", &configuration.replace(own, &other));
    let ran = site
        .program(&["run"])
        .environment([(secret_variable(Kind::Devto), secret)])
        .run();
    ran.assert_code(4);
    let sent = server.requests();
    assert!(
        sent.iter().all(|request| request.contains(secret)),
        "{sent:?}"
    );
    let row = site.remote(&["show", "main:ledger/article-1/devto.json"]);
    assert!(row.contains("the key *** may not post this"), "{row}");
    assert_not_seen(&site, &[ran], &[secret]);
}

#[test]
fn the_credentials_of_the_remote_are_not_seen() {
    let site = four_channels().articles(1).start();
    site.git(&[
        "remote",
        "set-url",
        "origin",
        "http://bot:remote-password-3b1d@127.0.0.1:1/blog.git",
    ]);
    let ran = site.sayonce(&["run", "--deadline", "1s"]);
    ran.assert_code(3);
    assert!(
        ran.stdout.contains("127.0.0.1:1/blog.git"),
        "{}",
        ran.stdout
    );
    let printed = ran.stdout + &ran.stderr;
    assert!(!printed.contains("remote-password-3b1d"), "{printed}");
}
