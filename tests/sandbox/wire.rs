use sayonce::model::channel::Kind;
use serde_json::json;

use super::{Call, mastodon, start};

#[test]
fn bodies_come_by_length_or_in_chunks() {
    let world = start(Kind::Mastodon);
    let head = format!(
        "POST /api/v1/statuses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n",
        mastodon::token()
    );
    let body = json!({ "status": "One" }).to_string();
    let (front, back) = body.split_at(5);
    let chunked = format!(
        "{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{front}\r\n{:X};ext=1\r\n{back}\r\n0\r\nTrailer: x\r\n\r\n",
        front.len(),
        back.len()
    );
    assert_eq!(world.send_raw(chunked.as_bytes()).unwrap().status, 200);
    let expecting = format!(
        "{head}Expect: 100-continue\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    assert_eq!(world.send_raw(expecting.as_bytes()).unwrap().status, 200);
    let whole_url = expecting.replace("POST /api", "POST http://x/api");
    assert_eq!(world.send_raw(whole_url.as_bytes()).unwrap().status, 200);
    assert_eq!(world.posts().len(), 3);
}

#[test]
fn nonsense_is_refused_in_the_services_own_form() {
    let world = start(Kind::Mastodon);
    let check = |bytes: &str| {
        world
            .send_raw(bytes.as_bytes())
            .map(|response| response.line())
    };
    let refused = Some(r#"400 {"error":"Bad Request"}"#.to_owned());
    for bad in [
        "nonsense\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET nowhere HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx",
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n",
        "\u{0}\u{1}\u{2}\r\n\r\n",
    ] {
        assert_eq!(check(bad), refused, "{bad:?}");
    }
    let huge = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", u64::MAX);
    assert_eq!(check(&huge).unwrap(), r#"413 {"error":"Bad Request"}"#);
    let fields = "X: y\r\n".repeat(200);
    let too_many = check(&format!("GET / HTTP/1.1\r\n{fields}\r\n"));
    assert_eq!(too_many.unwrap(), r#"431 {"error":"Bad Request"}"#);
    let body = "x".repeat(2 * 1024 * 1024 + 1);
    let call = Call::new("POST", "/api/v1/statuses").body("text/plain", body);
    assert_eq!(
        world.get_answer(&call).line(),
        r#"413 {"error":"Bad Request"}"#
    );
    // Nothing of it reached the service, and it still works.
    assert_eq!(world.log(), Vec::<String>::new());
    assert_eq!(world.get_answer(&mastodon::post("One")).status, 200);
}

#[test]
fn an_answer_carries_the_services_time() {
    let world = start(Kind::Mastodon);
    let answer = world.get_answer(&Call::new("GET", "/api/v1/instance"));
    assert_eq!(answer.header("Date"), Some("Sun, 29 Nov 2026 10:00:00 GMT"));
    assert_eq!(answer.header("Connection"), Some("close"));
    let head = world.get_answer(&Call::new("HEAD", "/api/v1/instance"));
    assert_eq!(head.body, "");
}
