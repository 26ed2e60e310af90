//! A whole job against a real PDS, read back past the program.

use serde_json::{Value, json};

use super::blog::{Blog, hard_articles, one_article};
use super::client::Call;
use super::relay::{Order, Relay};
use super::servers::{Pds, PdsAccount};
use super::troubles::Behind;

const SECRET: &str = "BLUESKY_APP_PASSWORD";

pub(super) const LOGIN: &str = "com.atproto.server.createSession";

pub(super) const PUT: &str = "com.atproto.repo.putRecord";

pub(super) fn blog(url: &str, account: &PdsAccount) -> Blog {
    let channel = format!(
        "kind = \"bluesky\"\nhandle = \"{}\"\nservice = \"{url}\"\napp_password_env = \"{SECRET}\"\n",
        account.handle
    );
    Blog::new(&channel, (SECRET, &account.app_password))
}

/// The account's posts as its server has them.
pub(super) fn posts(pds: &Pds, account: &PdsAccount) -> Vec<Value> {
    let url = format!(
        "{}/xrpc/com.atproto.repo.listRecords?repo={}&collection=app.bsky.feed.post&limit=100",
        pds.url(),
        account.did
    );
    let list = Call::get(url).send().json();
    let posts = list["records"].as_array();
    posts.unwrap_or_else(|| panic!("{list}")).clone()
}

/// The account's records, by the article that their card shows.
fn records(pds: &Pds, account: &PdsAccount) -> Vec<(String, Value)> {
    let mut records: Vec<(String, Value)> = posts(pds, account)
        .iter()
        .map(|record| {
            let card = &record["value"]["embed"]["external"]["uri"];
            (card.as_str().unwrap().to_owned(), record.clone())
        })
        .collect();
    records.sort_by(|one, other| one.0.cmp(&other.0));
    records
}

/// What each facet marks, with the mark: the server takes any offsets, so they are held against the text here.
fn marks(record: &Value) -> Vec<String> {
    let text = record["text"].as_str().unwrap();
    let facets = record["facets"].as_array().cloned().unwrap_or_default();
    let at = |facet: &Value, end: &str| {
        let offset = facet["index"][end].as_u64().unwrap();
        usize::try_from(offset).unwrap()
    };
    facets
        .iter()
        .map(|facet| {
            let marked = text.get(at(facet, "byteStart")..at(facet, "byteEnd"));
            let feature = &facet["features"][0];
            let mark = feature["uri"].as_str().or(feature["tag"].as_str());
            format!("{} = {}", marked.unwrap(), mark.unwrap())
        })
        .collect()
}

#[test]
fn a_job_posts_each_article_once_and_whole() {
    let Some(pds) = Pds::shared() else { return };
    let account = pds.account("whole");
    let relay = Relay::before(pds.url());
    let blog = blog(&relay.url(), &account);
    let ran = blog.run();
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "cjk there done response 1\n\
         emoji there done response 1\n\
         l there done response 1\n\
         mentions there done response 1\n\
         plain there done response 1\n"
    );
    let stored = records(pds, &account);
    assert_eq!(stored.len(), hard_articles().len(), "{stored:#?}");
    // What stands on the server is what the row says was sent, and its receipt names it.
    for (card, record) in &stored {
        let name = card.trim_end_matches('/').rsplit('/').next().unwrap();
        assert_eq!(record["value"], blog.sent(name)["record"], "{name}");
        let row = blog.row(name);
        assert_eq!(
            row["operations"]["publish"]["remote"]["id"], record["uri"],
            "{row}"
        );
    }
    let shown: Vec<String> = stored
        .iter()
        .map(|(_, record)| {
            let value = &record["value"];
            format!("{}\n  {}\n", value["langs"], marks(value).join("\n  "))
        })
        .collect();
    insta::assert_snapshot!(shown.concat(), @r#"
    ["ja"]
      #静的サイト = 静的サイト
      #日本語 = 日本語
      https://blog.example/cjk/ = https://blog.example/cjk/
    ["ar"]
      #party = party
      https://blog.example/emoji/ = https://blog.example/emoji/
    ["en"]
      #long = long
      #reads = reads
      https://blog.example/l/ = https://blog.example/l/
    ["en"]
      #cpp = cpp
      https://blog.example/mentions/ = https://blog.example/mentions/
    ["de"]
      https://docs.example/a?b=1&c=ü#teil = https://docs.example/a?b=1&c=ü#teil
      #Käse = Käse
      #StaticSite = StaticSite
      https://blog.example/plain/ = https://blog.example/plain/
    "#);
    let external = &stored[4].1["value"]["embed"]["external"];
    assert_eq!(
        external,
        &json!({
            "uri": "https://blog.example/plain/",
            "title": "Ein Käse & zwei <Brote>: 50 % \"billiger\"",
            "description": "Mehr unter https://docs.example/a?b=1&c=ü#teil.",
        })
    );

    // One login, for the list that comes first and for all of them.
    assert_eq!(relay.count(LOGIN), 1);

    // Again: nothing is written.
    assert_eq!(relay.count(PUT), 5);
    let again = blog.run();
    again.assert_code(0);
    assert_eq!(again.summary(), "done 5");
    assert_eq!(relay.count(PUT), 5);

    // A new ledger knows of no post, and finds them all.
    blog.throw_ledger_away();
    let adopted = blog.run();
    adopted.assert_code(0);
    assert_eq!(
        adopted.deliveries(),
        "cjk there done adopted 0\n\
         emoji there done adopted 0\n\
         l there done adopted 0\n\
         mentions there done adopted 0\n\
         plain there done adopted 0\n"
    );
    assert_eq!(relay.count(PUT), 5);
    assert_eq!(records(pds, &account), stored);
}

/// The handle is all that is configured; the network's own directory leads to the server.
#[test]
fn an_account_is_found_by_its_handle() {
    let Some(pds) = Pds::shared() else { return };
    let account = pds.account("job-found");
    let resolver = Relay::before(pds.url());
    let directory = Relay::before(pds.plc_directory());
    let channel = |handle: &str| {
        format!(
            "kind = \"bluesky\"\nhandle = \"{handle}\"\nresolver = \"{}\"\nplc_directory = \"{}\"\napp_password_env = \"{SECRET}\"\n",
            resolver.url(),
            directory.url()
        )
    };
    let mut blog = Blog::new(&channel(&account.handle), (SECRET, &account.app_password));
    let ran = blog.run();
    ran.assert_code(0);
    assert_eq!(ran.summary(), "done 5");
    assert_eq!(records(pds, &account).len(), 5);
    // Once a run, and nothing else was asked there: no login, no write.
    let asked = (
        resolver.count("resolveHandle"),
        directory.count(&account.did),
    );
    assert_eq!(asked, (1, 1));
    assert_eq!((resolver.count(" "), directory.count(" ")), (1, 1));

    let doctor = blog.doctor().stdout;
    let server = format!("there, server: {}\n", pds.url());
    assert!(doctor.contains(&server), "{doctor}");

    // A DID needs no resolver.
    blog.configure(&account.handle, &account.did);
    blog.throw_ledger_away();
    let adopted = blog.run();
    adopted.assert_code(0);
    assert_eq!(adopted.summary(), "done 5");
    assert_eq!(resolver.count("resolveHandle"), 2, "doctor's");

    // A wrong password is the password's trouble, and it went to the account's server alone.
    blog.take_secret("wrong-pass-word-here");
    let refused = blog.doctor().stdout;
    assert!(
        refused.contains("Invalid identifier or password"),
        "{refused}"
    );
    assert_eq!(resolver.count("createSession"), 0);
    assert_eq!(directory.count("createSession"), 0);
    assert_eq!(records(pds, &account).len(), 5);
}

/// A server says the same of a wrong password and of an account that it does not have.
#[test]
fn a_server_that_is_not_the_accounts_is_told_with_the_right_one() {
    let Some(pds) = Pds::shared() else { return };
    let account = pds.account("job-found");
    let blog = blog(pds.other(), &account);
    let (resolver, directory) = (pds.url(), pds.plc_directory());
    blog.configure(
        "interval = \"0s\"",
        &format!("interval = \"0s\"\nresolver = \"{resolver}\"\nplc_directory = \"{directory}\""),
    );
    let ran = blog.run();
    ran.assert_code(5);
    let said = ran
        .problems()
        .join("\n")
        .replace(pds.url(), "http://SERVER");
    insta::assert_snapshot!(said, @r#"there refuses the credentials: HTTP 401: {"error":"AuthenticationRequired","message":"Invalid identifier or password"}; job-found.test is at http://SERVER: leave `service` out, or name that"#);
}

/// The server's own limit, which counts the logins of everybody who tries an account from here.
#[test]
fn too_many_logins_are_waited_for() {
    let Some(pds) = Pds::shared() else { return };
    let account = PdsAccount {
        handle: "busy.test".to_owned(),
        ..pds.account("job-found")
    };
    let url = format!("{}/xrpc/{LOGIN}", pds.other());
    let login = Call::post(
        url,
        json!({ "identifier": account.handle, "password": "x" }),
    );
    // Each takes the server a while, so that nobody can tell what was wrong.
    let logins: Vec<_> = (0..30)
        .map(|_| {
            let login = login.clone();
            std::thread::spawn(move || login.send().status)
        })
        .collect();
    for login in logins {
        assert_eq!(login.join().unwrap(), 401);
    }
    let relay = Relay::before(pds.other());
    let blog = blog(&relay.url(), &account);
    blog.write_articles(&[one_article("busy")]);
    let ran = blog.run_with(&["--max-wait", "0s"]);
    ran.assert_code(6);
    assert_eq!(relay.count(" "), 1, "one login, and nothing else");
    assert!(
        ran.stderr
            .contains(r#"HTTP 429: {"error":"RateLimitExceeded","message":"Rate Limit Exceeded"}"#),
        "{}",
        ran.stderr
    );
    let report = ran.json();
    let reason = report["deliveries"][0]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("due at ") && reason.ends_with(": the service asked for a pause"),
        "{reason}"
    );
}

/// A blog before a relay before the server.
fn behind(pds: &Pds, account: &PdsAccount) -> Behind {
    let relay = Relay::before(pds.url());
    Behind {
        blog: blog(&relay.url(), account),
        relay,
        write: PUT,
    }
}

#[test]
fn a_run_that_is_killed_before_it_hears_the_answer_leaves_one_post() {
    let Some(pds) = Pds::shared() else { return };
    let account = pds.account("killed");
    behind(pds, &account).killed_before_the_answer(|| records(pds, &account).len());
}

#[test]
fn a_lost_answer_is_settled_in_the_same_run() {
    let Some(pds) = Pds::shared() else { return };
    let account = pds.account("lost");
    behind(pds, &account).lost_answer(|| records(pds, &account).len());
}

#[test]
fn a_wrong_password_is_the_channels_trouble_and_not_the_articles() {
    let Some(pds) = Pds::shared() else { return };
    let account = pds.account("passwords");
    let said = behind(pds, &account).wrong_secret("wrong-pass-word-here", &account.app_password);
    insta::assert_snapshot!(said, @r#"there refuses the credentials: HTTP 401: {"error":"AuthenticationRequired","message":"Invalid identifier or password"}"#);
}

/// A token that the server does not take costs a login, not the post.
#[test]
fn a_token_that_is_no_longer_taken_is_replaced() {
    let Some(pds) = Pds::shared() else { return };
    let account = pds.account("tokens");
    let relay = Relay::before(pds.url());
    let blog = blog(&relay.url(), &account);
    blog.configure("interval = \"0s\"", "interval = \"0s\"\nprecheck = false");
    blog.write_articles(&[one_article("expired")]);
    relay.order(LOGIN, Order::Token(account.expired_token.clone()));
    let ran = blog.run();
    ran.assert_code(0);
    assert_eq!(ran.deliveries(), "expired there done response 2\n");
    assert_eq!(relay.count(LOGIN), 2);
    assert_eq!((relay.count(PUT), records(pds, &account).len()), (2, 1));
}
