//! A whole job against a server of Mastodon's client API, read back past the program.

use serde_json::{Value, json};

use super::blog::{Blog, hard_articles};
use super::client::Call;
use super::relay::Relay;
use super::servers::MastodonMock;
use super::troubles::Behind;

const SECRET: &str = "MASTODON_TOKEN";

pub(super) const POST: &str = "POST /api/v1/statuses ";

pub(super) fn blog(url: &str) -> Blog {
    let channel = format!("kind = \"mastodon\"\nserver = \"{url}\"\ntoken_env = \"{SECRET}\"\n");
    Blog::new(&channel, (SECRET, MastodonMock::TOKEN))
}

pub(super) fn get(server: &MastodonMock, path: &str) -> Value {
    let call = Call::get(format!("{}{path}", server.url)).bearer(MastodonMock::TOKEN);
    let answer = call.send();
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

/// The account's statuses, oldest first.
pub(super) fn statuses(server: &MastodonMock) -> Vec<Value> {
    let whoami = get(server, "/api/v1/accounts/verify_credentials");
    let id = whoami["id"].as_str().unwrap();
    let list = get(server, &format!("/api/v1/accounts/{id}/statuses?limit=40"));
    let mut list = list.as_array().unwrap().clone();
    list.reverse();
    list
}

#[test]
fn a_job_posts_each_article_once_and_whole() {
    let Some(server) = MastodonMock::start() else {
        return;
    };
    let relay = Relay::before(&server.url);
    let blog = blog(&relay.url());
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
    let posted = statuses(&server);
    assert_eq!(posted.len(), hard_articles().len(), "{posted:#?}");
    let mut shown = Vec::new();
    for article in hard_articles() {
        let name = article["url"].as_str().unwrap().trim_end_matches('/');
        let name = name.rsplit('/').next().unwrap();
        let row = blog.row(name);
        let id = &row["operations"]["publish"]["remote"]["id"];
        let status = posted.iter().find(|status| status["id"] == *id);
        let status = status.unwrap_or_else(|| panic!("{id} is not there"));
        // The text as the server keeps it.
        let source = get(
            &server,
            &format!("/api/v1/statuses/{}/source", id.as_str().unwrap()),
        );
        let sent = blog.sent(name);
        assert_eq!(source["text"], sent["text"], "{name}");
        assert_eq!(
            (&status["visibility"], &status["language"]),
            (&json!("public"), &article["language"])
        );
        let text = source["text"].as_str().unwrap();
        shown.push(format!("{}\n----\n", text.replace('\u{301}', "\\u{301}")));
    }
    insta::assert_snapshot!(shown.concat(), @r#"
    Ein Käse & zwei <Brote>: 50 % "billiger"

    Mehr unter https://docs.example/a?b=1&c=ü#teil.

    #Käse #StaticSite

    https://blog.example/plain/
    ----
    To @alice.test, @bob@mastodon.example and @nobody

    An e-mail to a@b.example is no mention, and #5 is no tag.

    #cpp

    https://blog.example/mentions/
    ----
    静的サイトを一度だけ告知する方法

    記事は一度だけ告知されます。二度はありません。

    #静的サイト #日本語

    https://blog.example/cjk/
    ----
    👩‍👩‍👧‍👦 and 🏳️‍🌈 and e\u{301}, in one line 🇩🇪🇯🇵

    مرحبا بالعالم — שלום עולם

    #party

    https://blog.example/emoji/
    ----
    A long one

    Many words that go on and on, with 🚀 in between, until no post can hold them. Many words that go on and on, with 🚀 in between, until no post can hold them. Many words that go on and on, with 🚀 in between, until no post can hold them. Many words that go on and on, with 🚀 in between, until no post can hold them. Many words that go on and on, with 🚀 in between, until no post can hold them. Many words that go on and on, with 🚀 in between, until no…

    #long #reads

    https://blog.example/l/
    ----
    "#);

    // Again: nothing is written.
    assert_eq!(relay.count(POST), 5);
    let again = blog.run();
    again.assert_code(0);
    assert_eq!(again.summary(), "done 5");
    assert_eq!(relay.count(POST), 5);

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
    assert_eq!(relay.count(POST), 5);
    assert_eq!(statuses(&server), posted);
}

/// A blog before a relay before the server.
fn behind(server: &MastodonMock) -> Behind {
    let relay = Relay::before(&server.url);
    Behind {
        blog: blog(&relay.url()),
        relay,
        write: POST,
    }
}

#[test]
fn a_run_that_is_killed_before_it_hears_the_answer_leaves_one_post() {
    let Some(server) = MastodonMock::start() else {
        return;
    };
    behind(&server).killed_before_the_answer(|| statuses(&server).len());
}

#[test]
fn a_lost_answer_is_settled_in_the_same_run() {
    let Some(server) = MastodonMock::start() else {
        return;
    };
    behind(&server).lost_answer(|| statuses(&server).len());
}

#[test]
fn a_token_that_is_not_known_is_the_channels_trouble_and_not_the_articles() {
    let Some(server) = MastodonMock::start() else {
        return;
    };
    let said = behind(&server).wrong_secret("a-token-of-nobody", MastodonMock::TOKEN);
    insta::assert_snapshot!(said, @r#"there refuses the credentials: HTTP 401: {"error":"This method requires an authenticated user"}"#);
}
