use std::sync::Arc;
use std::time::Duration;

use sayonce::clock::SystemClock;
use sayonce::model::channel::Kind;
use sayonce::model::time::Timestamp;

use super::{
    Call, HandClock, START, Server, Sleep, bluesky, declared, devto, indexnow, mastodon, serve,
    start_with,
};

/// Returns the call that announces article `number`.
pub(crate) fn publish(world: &Server, kind: Kind, number: usize) -> Call {
    let url = format!("https://blog.example/{number}/");
    match kind {
        Kind::IndexNow => indexnow::submit(&[&url]),
        Kind::Mastodon => mastodon::post(&format!("Number {number}\n\n{url}")),
        Kind::Devto => devto::post(&devto::article(number)),
        Kind::Http => declared::post(number),
        Kind::Bluesky => {
            let rkey = format!("3mabcdefgh{number}2z");
            let record = bluesky::record(&format!("Number {number}\n\n{url}"));
            bluesky::login(world).put_call(&rkey, &record)
        }
    }
}

/// Sends articles 2, 3 and 4, the fault hitting the second; tells how it was answered and what is online.
fn check(kind: Kind, fault: &str) -> String {
    let world = start_with(kind, &[&format!("{kind}:2={fault}")], None);
    let answers: Vec<_> = (2..=4)
        .map(|number| match world.send(&publish(&world, kind, number)) {
            Some(response) => response.status.to_string(),
            None => "cut".to_owned(),
        })
        .collect();
    let online: Vec<_> = (2..=4)
        .filter(|number| {
            world
                .posts()
                .contains(&format!("https://blog.example/{number}/ x1"))
        })
        .map(|number: usize| number.to_string())
        .collect();
    assert_eq!(world.writes(), 3);
    format!("{}; online {}", answers.join(" "), online.join(" "))
}

#[test]
fn each_fault_hits_the_ordered_write_alone() {
    for (kind, first, fine) in [
        (Kind::IndexNow, 202, 200),
        (Kind::Bluesky, 200, 200),
        (Kind::Mastodon, 200, 200),
        (Kind::Devto, 201, 201),
        (Kind::Http, 200, 200),
    ] {
        // An IndexNow key that was seen once is known.
        for (fault, expected) in [
            ("lost-answer", format!("{first} cut {fine}; online 2 3 4")),
            ("lost-request", format!("{first} cut {fine}; online 2 4")),
            ("slow=12s", format!("{first} {fine} {fine}; online 2 3 4")),
            ("status=500", format!("{first} 500 {fine}; online 2 4")),
            (
                "status=500-stored",
                format!("{first} 500 {fine}; online 2 3 4"),
            ),
            ("status=429:30", format!("{first} 429 {fine}; online 2 4")),
            ("status=200", format!("{first} 200 {fine}; online 2 4")),
        ] {
            assert_eq!(check(kind, fault), expected, "{kind}:2={fault}");
        }
    }
}

#[test]
fn an_ordered_status_is_worded_as_the_service_does() {
    let check = |kind: Kind, fault: &str| {
        let world = start_with(kind, &[&format!("{kind}:1={fault}")], None);
        let response = world.get_answer(&publish(&world, kind, 2));
        let told = |field| response.header(field).unwrap_or("none").to_owned();
        let reset = match kind {
            Kind::Mastodon => told("X-RateLimit-Reset"),
            Kind::Bluesky => told("RateLimit-Reset"),
            Kind::IndexNow | Kind::Devto | Kind::Http => "-".to_owned(),
        };
        format!("{} | {} | {reset}", response.line(), told("Retry-After"))
    };
    assert_eq!(
        check(Kind::Mastodon, "status=429:30"),
        r#"429 {"error":"Too many requests"} | 30 | 2026-11-29T10:00:30.123000Z"#
    );
    assert_eq!(
        check(Kind::Mastodon, "status=503"),
        r#"503 {"error":"There was a temporary problem serving your request, please try again"} | none | 2026-11-29T12:00:00.000000Z"#
    );
    assert_eq!(
        check(Kind::Bluesky, "status=429:30"),
        r#"429 {"error":"RateLimitExceeded","message":"Rate Limit Exceeded"} | 30 | 1795946430"#
    );
    assert_eq!(
        check(Kind::Devto, "status=429:30"),
        r#"429 {"error":"Rate limit reached, try again in 30 seconds","status":429} | 30 | -"#
    );
    assert_eq!(
        check(Kind::Devto, "status=429"),
        "429 Retry later\n | none | -"
    );
    assert_eq!(
        check(Kind::IndexNow, "status=429:30"),
        r#"429 {"errorCode":"TooManyRequests","message":"too many requests (potential spam)","details":null} | 30 | -"#
    );
}

#[test]
fn refused_writes_count_and_reads_do_not() {
    let world = start_with(Kind::Mastodon, &["mastodon:3=lost-request"], None);
    let read = Call::new("GET", "/api/v1/accounts/verify_credentials").bearer(mastodon::token());
    world.get_answer(&mastodon::post(""));
    world.get_answer(&read);
    world.get_answer(&mastodon::post("One").bearer("wrong"));
    assert!(world.send(&mastodon::post("Two")).is_none());
    assert_eq!(
        world.log(),
        [
            "1 POST /api/v1/statuses 422",
            "0 GET /api/v1/accounts/verify_credentials 200",
            "2 POST /api/v1/statuses 401",
            "3 POST /api/v1/statuses cut",
        ]
    );
}

#[test]
fn a_lost_answer_burns_the_key_and_a_lost_request_does_not() {
    let check = |fault: &str| {
        let world = start_with(Kind::Mastodon, &[&format!("mastodon:1={fault}")], None);
        let call = mastodon::post("One https://blog.example/1/").header("Idempotency-Key", "k1");
        assert!(world.send(&call).is_none());
        let before = world.posts().len();
        let id = world.get_answer(&call).string("/id");
        assert_eq!(world.sandbox.posts()[0].id, id);
        (before, world.posts().len())
    };
    assert_eq!(check("lost-answer"), (1, 1));
    assert_eq!(check("lost-request"), (0, 1));
}

#[test]
fn a_slow_service_stores_although_the_client_has_gone() {
    let clock = SystemClock::starting_at(Timestamp::parse(START).unwrap(), 1000);
    let order = ["mastodon:1=slow=200s"];
    let server = serve(Kind::Mastodon, &order, None, Arc::new(clock));
    server.send_and_leave(&publish(&server, Kind::Mastodon, 2));
    server.sandbox.settle();
    assert_eq!(server.log(), ["1 POST /api/v1/statuses 200"]);
    assert_eq!(server.posts(), ["https://blog.example/2/ x1"]);
    let arrived = server.sandbox.requests()[0].at;
    let stored = server.sandbox.posts()[0].created_at;
    let delay = Duration::from_secs(200);
    assert!(stored.since(arrived) >= delay, "{arrived} {stored}");
}

#[test]
fn a_repeat_may_overtake_a_slow_request() {
    let check = |kind: Kind| {
        let clock = HandClock::at(START, Sleep::Waits);
        let server = serve(kind, &[&format!("{kind}:1=slow=12s")], None, clock.clone());
        let call = publish(&server, kind, 2).header("Idempotency-Key", "k1");
        server.send_and_leave(&call);
        clock.until_asleep();
        let first = || {
            let requests = server.sandbox.requests().into_iter();
            let mut first = requests.filter(|request| request.number == 1);
            first.next().unwrap().answered.to_string()
        };
        assert_eq!((first().as_str(), server.posts().len()), ("open", 0));
        clock.advance(Duration::from_secs(11));
        let repeat = server.get_answer(&call).status;
        clock.advance(Duration::from_secs(1));
        server.sandbox.settle();
        (first(), repeat, server.posts().join(" "))
    };
    let told = |slow: &str, repeat: u16, posts: &str| (slow.to_owned(), repeat, posts.to_owned());
    let one = "https://blog.example/2/ x1";
    // Mastodon 4.5 looks for the key before it works and stores it after: two posts, side by side.
    assert_eq!(
        check(Kind::Mastodon),
        told("200", 200, &format!("{one} {one}"))
    );
    // At dev.to the unique index stops the loser; a Bluesky repository has one writer at a time.
    assert_eq!(check(Kind::Devto), told("500", 201, one));
    assert_eq!(check(Kind::Bluesky), told("200", 200, one));
    // So has a service that promises to remember a key for ever.
    assert_eq!(check(Kind::Http), told("200", 200, one));
    assert_eq!(
        check(Kind::IndexNow),
        told("200", 202, "https://blog.example/2/ x2")
    );
}
