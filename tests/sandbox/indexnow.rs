use sayonce::model::channel::Kind;
use serde_json::{Value, json};

use super::{Call, start};

pub(crate) fn submit(urls: &[&str]) -> Call {
    submission(&json!({ "host": "blog.example", "key": "0123456789abcdef", "urlList": urls }))
}

fn submission(body: &Value) -> Call {
    Call::new("POST", "/indexnow").body("application/json; charset=utf-8", body.to_string())
}

#[test]
fn urls_are_taken_and_counted() {
    let world = start(Kind::IndexNow);
    let first = world.get_answer(&submit(&[
        "https://blog.example/1/",
        "http://blog.example/2/",
    ]));
    assert_eq!(first.line(), "202 ");
    let second = world.get_answer(&submit(&["https://blog.example/1/"]));
    assert_eq!(second.line(), "200 ");
    let by_query = Call::new(
        "GET",
        "/indexnow?url=https%3A%2F%2Fblog.example%2F1%2F&key=0123456789abcdef",
    );
    assert_eq!(world.get_answer(&by_query).line(), "200 ");
    assert_eq!(
        world.posts(),
        ["https://blog.example/1/ x3", "http://blog.example/2/ x1"]
    );
    assert_eq!(world.writes(), 3);
}

#[test]
fn what_breaks_the_rules_is_refused() {
    let world = start(Kind::IndexNow);
    let check = |host: &str, key: &str, urls: &[&str]| {
        let body = json!({ "host": host, "key": key, "urlList": urls });
        world.get_answer(&submission(&body)).status
    };
    let key = "0123456789abcdef";
    let url = "https://blog.example/1/";
    assert_eq!(check("blog.example", "short", &[url]), 422);
    assert_eq!(check("blog.example", &"x".repeat(129), &[url]), 422);
    assert_eq!(check("blog.example", "with space", &[url]), 422);
    assert_eq!(
        check("blog.example", key, &[url, "https://other.example/"]),
        422
    );
    assert_eq!(check("blog.example", key, &["/1/"]), 422);
    assert_eq!(
        check("other.example", key, &["https://other.example/"]),
        403
    );
    assert_eq!(check("blog.example", key, &[]), 400);
    assert_eq!(check("blog.example", key, &vec![url; 10_001]), 400);
    let outside = json!({
        "host": "blog.example", "key": key, "urlList": [url],
        "keyLocation": "https://blog.example/keys/k.txt"
    });
    assert_eq!(world.get_answer(&submission(&outside)).status, 422);
    for body in ["", "[]", "nonsense", r#"{"host":"blog.example"}"#] {
        let call = Call::new("POST", "/indexnow").body("application/json", body);
        assert_eq!(world.get_answer(&call).status, 400, "{body}");
    }
    assert_eq!(world.get_answer(&Call::new("GET", "/indexnow")).status, 400);
    assert_eq!(world.get_answer(&Call::new("PUT", "/indexnow")).status, 405);
    assert_eq!(world.get_answer(&Call::new("GET", "/")).status, 404);
    assert_eq!(world.posts(), Vec::<String>::new());
    assert_eq!(check("blog.example", key, &vec![url; 10_000]), 202);
}
