use sayonce::channel::Channel;
use sayonce::config::ServiceConfig;
use serde_json::{Value, json};

use super::server::{Act, Server, answer, cut, json as json_answer};
use super::{
    SECRET, TestClock, channel, claim, pushed, tell, tell_listing, tell_lookup, tell_opening,
};

fn open_channel(server: &Server) -> Box<dyn Channel> {
    let service = ServiceConfig::Devto {
        server: server.url(),
        api_key_env: "SECRET".to_owned(),
        published: true,
        organization_id: None,
    };
    channel(service, TestClock::still())
}

fn whoami() -> Act {
    json_answer(200, r#"{"type_of":"user","id":3,"username":"blog"}"#)
}

/// A server on this machine has another port each time it starts, so accounts are named without it.
const ACCOUNT: &str = "http://127.0.0.1/blog";

fn post() -> Value {
    json!({
        "title": "Hello",
        "canonical_url": "https://blog.example/a",
        "description": "About it",
        "tags": ["news", "rust"],
        "body_markdown": "# Hello\n\nText.",
        "published": true,
        "main_image": "https://blog.example/a.png",
        "organization_id": 7,
    })
}

fn article(id: u64, canonical_url: &str, published: bool) -> Value {
    json!({
        "type_of": "article",
        "id": id,
        "title": "Hello",
        "published": published,
        "published_at": published.then_some("2026-11-29T10:00:01.000Z"),
        "slug": "hello-1ab",
        "path": format!("/blog/hello-{id}"),
        "url": format!("https://dev.example/blog/hello-{id}"),
        "canonical_url": canonical_url,
        "body_markdown": "# Hello\n\nText.",
        "tag_list": ["news", "rust"],
    })
}

fn list(articles: &[Value]) -> Act {
    json_answer(200, &Value::Array(articles.to_vec()).to_string())
}

#[test]
fn opening_tells_the_account_where_the_server_knows_it() {
    let check = |acts: Vec<Act>| {
        let server = Server::start(acts);
        let told = tell_opening(&open_channel(&server).open());
        server.without_port(&told)
    };
    let not_found = || json_answer(404, r#"{"error":"not found","status":404}"#);
    assert_eq!(
        check(vec![whoami()]),
        "ready as http://127.0.0.1/blog, limit None, skew None"
    );
    assert_eq!(
        check(vec![not_found(), list(&[article(1, "u", true)])]),
        "ready as http://127.0.0.1, limit None, skew None"
    );
    let unauthorized = || json_answer(401, r#"{"error":"unauthorized","status":401}"#);
    let closed = r#"closed, credentials: HTTP 401: {"error":"unauthorized","status":401}"#;
    assert_eq!(check(vec![unauthorized()]), closed);
    assert_eq!(check(vec![not_found(), unauthorized()]), closed);
    assert_eq!(
        check(vec![answer(403, "", "")]),
        "closed, unreachable: HTTP 403"
    );
    assert_eq!(
        check(vec![answer(429, "Retry-After: 1\r\n", "Retry later")]),
        "closed, rate limited (wait 1000 ms): HTTP 429: Retry later"
    );
    assert_eq!(
        check(vec![not_found(), answer(200, "", "<html>")]),
        "closed, unreachable: HTTP 200: <html>"
    );
}

#[test]
fn an_article_goes_out_as_it_stands_in_the_claim() {
    let server = Server::start([
        whoami(),
        json_answer(201, &article(5, "u", true).to_string()),
    ]);
    let told = tell(&open_channel(&server).publish(&[pushed(claim(ACCOUNT, &post()))]));
    assert_eq!(
        told,
        "accepted by response: 5 https://dev.example/blog/hello-5"
    );
    insta::assert_snapshot!(server.requests().join("\n---\n"), @r##"
    GET /api/users/me HTTP/1.1
    accept-encoding: gzip
    user-agent: sayonce/VERSION
    host: server
    cache-control: no-cache
    accept: application/vnd.forem.api-v1+json
    api-key: s3cret-value


    ---
    POST /api/articles HTTP/1.1
    accept-encoding: gzip
    content-length: 232
    user-agent: sayonce/VERSION
    host: server
    content-type: application/json; charset=utf-8
    accept: application/vnd.forem.api-v1+json
    api-key: s3cret-value

    {"article":{"title":"Hello","canonical_url":"https://blog.example/a","description":"About it","tags":["news","rust"],"body_markdown":"# Hello\n\nText.","published":true,"main_image":"https://blog.example/a.png","organization_id":7}}
    "##);
}

#[test]
fn every_answer_is_in_the_table_or_in_doubt() {
    let check = |act: Act| {
        let server = Server::start([whoami(), act]);
        let claim = claim(ACCOUNT, &post());
        let told = tell(&open_channel(&server).publish(&[pushed(claim)]));
        server.without_port(&told)
    };
    let error = |status: u16, text: &str| {
        json_answer(
            status,
            &json!({ "error": text, "status": status }).to_string(),
        )
    };
    assert_eq!(
        check(json_answer(200, r#"{"id":5,"path":"/blog/hello-5"}"#)),
        "accepted by response: 5 http://server/blog/hello-5"
    );
    assert_eq!(check(json_answer(201, "{}")), "in doubt: HTTP 201: {}");
    assert_eq!(
        check(cut(201, r#"{"id":5"#)),
        r#"in doubt: HTTP 201: {"id":5 (cut short)"#
    );
    assert_eq!(
        check(error(422, "Tag list exceed the maximum of 4 tags")),
        r#"refused permanently: HTTP 422: {"error":"Tag list exceed the maximum of 4 tags","status":422}"#
    );
    assert_eq!(
        check(error(
            422,
            "Canonical url has already been taken. Email yo@dev.example for further details."
        )),
        r#"in doubt: HTTP 422: {"error":"Canonical url has already been taken. Email yo@dev.example for further details.","status":422}"#
    );
    assert_eq!(
        check(error(
            422,
            "Title has already been used in the last five minutes"
        )),
        r#"in doubt: HTTP 422: {"error":"Title has already been used in the last five minutes","status":422}"#
    );
    assert_eq!(check(answer(422, "", "x")), "in doubt: HTTP 422: x");
    assert_eq!(
        check(answer(401, "", "")),
        "refused for our credentials: HTTP 401"
    );
    assert_eq!(
        check(cut(401, "")),
        "refused for our credentials: HTTP 401 (cut short)"
    );
    assert_eq!(
        check(error(403, "forbidden")),
        r#"refused for our credentials: HTTP 403: {"error":"forbidden","status":403}"#
    );
    // The edge in front of the service knows no JSON.
    assert_eq!(check(answer(403, "", "")), "refused for now: HTTP 403");
    assert_eq!(
        check(answer(
            429,
            "Retry-After: 30\r\n",
            r#"{"error":"Rate limit reached"}"#
        )),
        r#"refused for too many requests (wait 30000 ms): HTTP 429: {"error":"Rate limit reached"}"#
    );
    for status in [302, 400, 404, 408, 409, 500, 502, 503, 520] {
        let told = check(error(status, "x"));
        assert_eq!(
            told,
            format!(r#"in doubt: HTTP {status}: {{"error":"x","status":{status}}}"#)
        );
    }
    assert_eq!(
        check(answer(500, "", &format!("api-key: {SECRET}"))),
        "in doubt: HTTP 500: api-key: ***"
    );
}

#[test]
fn a_canonical_url_that_another_account_has_taken_is_a_refusal() {
    let taken = r#"{"error":"Canonical url has already been taken. Email yo@dev.example for further details.","status":422}"#;
    let check = |attempt: u32, acts: Vec<Act>| {
        let first = [whoami(), json_answer(422, taken)];
        let server = Server::start(first.into_iter().chain(acts));
        let mut claim = claim(ACCOUNT, &post());
        claim.attempt = attempt;
        let told = tell(&open_channel(&server).publish(&[pushed(claim)]));
        (told, server.requests().len())
    };
    let elsewhere = || list(&[article(1, "https://blog.example/other", true)]);
    let ours = || list(&[article(1, "https://blog.example/a", true)]);
    let doubt = format!("in doubt: HTTP 422: {taken}");
    assert_eq!(
        check(1, vec![elsewhere()]),
        (
            format!(
                "refused permanently: another account has published an article with this canonical URL: HTTP 422: {taken}"
            ),
            3
        )
    );
    // Ours is found by the lookup that follows.
    assert_eq!(check(1, vec![ours()]), (doubt.clone(), 3));
    // What an earlier attempt made may not be in the list yet.
    assert_eq!(check(2, vec![elsewhere()]), (doubt.clone(), 2));
    assert_eq!(check(1, vec![answer(500, "", "")]), (doubt, 3));
}

#[test]
fn nothing_is_sent_for_another_account_or_without_a_body() {
    let server = Server::start([whoami()]);
    let told = tell(&open_channel(&server).publish(&[pushed(claim("http://other", &post()))]));
    assert_eq!(
        server.without_port(&told),
        "not sent: the claim is for http://other, but the service says that we are http://127.0.0.1/blog"
    );
    let mut without_body = post();
    without_body
        .as_object_mut()
        .unwrap()
        .remove("body_markdown");
    assert_eq!(
        tell(&open_channel(&server).publish(&[pushed(claim("x", &without_body))])),
        "refused permanently: a post without `title` and `body_markdown` can't be sent to a Forem"
    );
}

#[test]
fn an_article_is_found_by_its_canonical_url() {
    let check = |published: bool, pages: Vec<Act>| {
        let server = Server::start(pages);
        let mut post = post();
        post.as_object_mut()
            .unwrap()
            .insert("published".to_owned(), published.into());
        tell_lookup(&open_channel(&server).lookup(&claim("x", &post)))
    };
    let ours = |id| article(id, "http://blog.example/a", true);
    let draft = |id| article(id, "https://blog.example/a", false);
    let other = |id| article(id, "https://blog.example/a/", true);
    assert_eq!(
        check(true, vec![list(&[other(1), ours(2)])]),
        "found 2 https://dev.example/blog/hello-2"
    );
    assert_eq!(check(true, vec![list(&[other(1)])]), "absent");
    assert_eq!(check(true, vec![list(&[])]), "absent");
    // A draft is not what a channel that publishes was about to make.
    assert_eq!(check(true, vec![list(&[draft(1)])]), "absent");
    assert_eq!(
        check(false, vec![list(&[draft(1)])]),
        "found 1 https://dev.example/blog/hello-1"
    );
    assert_eq!(
        check(false, vec![list(&[draft(1), ours(2)])]),
        "several: 1 https://dev.example/blog/hello-1, 2 https://dev.example/blog/hello-2"
    );
    assert_eq!(
        check(true, vec![answer(429, "", "Retry later")]),
        "cannot tell: HTTP 429: Retry later"
    );
    assert_eq!(
        check(true, vec![cut(200, "[]")]),
        "cannot tell: HTTP 200: [] (cut short)"
    );
}

#[test]
fn absent_needs_the_whole_list() {
    let page = |first: u64| -> Vec<Value> {
        (first..first + 40)
            .map(|id| article(id, "https://blog.example/other", true))
            .collect()
    };
    let check = |pages: Vec<Act>| {
        let server = Server::start(pages);
        let told = tell_lookup(&open_channel(&server).lookup(&claim("x", &post())));
        (told, server)
    };
    let ours = article(99, "https://blog.example/a", true);
    let (told, server) = check(vec![
        list(&page(1)),
        list(&page(41)),
        list(std::slice::from_ref(&ours)),
    ]);
    assert_eq!(told, "found 99 https://dev.example/blog/hello-99");
    assert!(server.requests()[2].starts_with("GET /api/articles/me/all?page=3&per_page=1000 "));
    // A server that doesn't page shows everything again.
    assert_eq!(check(vec![list(&page(1)), list(&page(1))]).0, "absent");
    assert_eq!(
        check(vec![list(&page(1)), answer(500, "", "")]).0,
        "cannot tell: HTTP 500"
    );
    assert_eq!(
        check(vec![answer(200, "Age: 7\r\n", "[]")]).0,
        "cannot tell: the answer is 7 s old, from a cache on the way"
    );
    // What was found is found, whatever the rest is.
    let mut with_ours = page(1);
    with_ours.push(ours);
    assert_eq!(
        check(vec![list(&with_ours), answer(500, "", "")]).0,
        "found 99 https://dev.example/blog/hello-99"
    );
    let endless = (0..10).map(|number| list(&page(number * 40))).collect();
    assert_eq!(
        check(endless).0,
        "cannot tell: the account has more articles than are read"
    );
}

#[test]
fn recent_articles_are_listed_with_drafts() {
    let server = Server::start([list(&[
        article(1, "https://blog.example/a", false),
        article(2, "https://blog.example/b", true),
    ])]);
    insta::assert_snapshot!(tell_listing(&open_channel(&server).recent(super::now())), @r"
    draft 1 https://dev.example/blog/hello-1 at no date: https://blog.example/a
    post 2 https://dev.example/blog/hello-2 at 2026-11-29T10:00:01.000Z: https://blog.example/b
    ");
}
