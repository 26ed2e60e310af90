//! What services answer: any bytes, from the status line to the end of the body.

use std::sync::Arc;
use std::time::Duration;

use sayonce::channel::Channel;
use sayonce::channel::registry::build_over;
use sayonce::clock::Clock;
use sayonce::config::{ChannelConfig, Config};
use sayonce::environment::Environment;
use sayonce::model::channel::Kind;
use sayonce::model::claim::{Claim, Landing, PushedClaim};
use sayonce::model::delivery::Operation;
use sayonce::model::ids::{Account, IdempotencyKey, Token};
use sayonce::model::item::ItemId;
use sayonce::model::outcome::{Evidence, Listing, Lookup, Opening, Outcome, Refusal, Remote, Wait};
use sayonce::model::post::Post;
use sayonce::model::time::Timestamp;
use serde_json::{Value, json};

use super::wire::{RESET, play};
use super::{assert_showable, parts};

/// The secret of every channel. It must never be seen.
const SECRET: &str = "s3cret-value";

const DID: &str = "did:plc:abc";

const CONFIGURATION: &str = r#"
[site]
url = "https://blog.example"
feed = "feed.xml"
[channels.indexnow]
kind = "indexnow"
key = "0123456789abcdef"
endpoint = "http://localhost:9/indexnow"
[channels.bluesky]
kind = "bluesky"
handle = "blog.example"
service = "http://localhost:9"
app_password_env = "SECRET"
[channels.mastodon]
kind = "mastodon"
server = "http://localhost:9"
token_env = "SECRET"
[channels.devto]
kind = "devto"
server = "http://localhost:9"
api_key_env = "SECRET"
[channels.http]
kind = "http"
secrets = { token = "SECRET" }
account = "blog"
request = { url = "http://localhost:9/{{ secret.token }}", headers = { Authorization = "Basic {{ secret.token | base64 }}" }, json = { text = "{{ text }}" } }
success = { status = [200, 201, 202], pointer = "/ok", equals = true }
receipt = { id = "/id", url = "/url" }
lookup = { url = "http://localhost:9/list?{{ secret.token }}", status = 200, list = "/posts", match_url = "/url", match_text = "/text", id = "/id", post_url = "/url", time = "/at", covers = "older", page_size = 3 }
update = { method = "PUT", url = "http://localhost:9/{{ id }}", json = { text = "{{ text }}" }, status = 200 }
retract = { method = "DELETE", url = "http://localhost:9/{{ id }}", status = 204 }
read = { url = "http://localhost:9/{{ id }}?{{ secret.token }}", status = 200, gone = { status = 404, pointer = "/code", equals = 7 }, shows = { "/text" = "{{ text }}" } }
answer = [
  { status = 400, means = "refused" },
  { status = [401, 403], means = "credentials" },
  { status = 429, means = "rate_limited", wait_pointer = "/wait" },
]
"#;

/// Plays a service: a byte for the kind (`i`, `b`, `m`, `h`, `d`), a byte for the call, then the answers of one connection
/// each, with `\x1e` between them; a final `\x01` resets the connection that it ends.
///
/// The calls: `w` writes after a good login, `u` changes a post and `x` takes one down, `l` looks up, `y` looks whether
/// the post is gone and `v` whether it was changed, `r` lists after one; in capitals, and for `o` (open), every answer is
/// from the input.
pub(crate) fn services(bytes: &[u8]) -> bool {
    let [kind, call, rest @ ..] = bytes else {
        return false;
    };
    let kind = match kind {
        b'i' => Kind::IndexNow,
        b'b' => Kind::Bluesky,
        b'm' => Kind::Mastodon,
        b'h' => Kind::Http,
        _ => Kind::Devto,
    };
    // IndexNow has no secret that it could give back: its key is public.
    let shows_secret = String::from_utf8_lossy(rest).contains(SECRET);
    if kind == Kind::IndexNow && shows_secret {
        return false;
    }
    let answers: Vec<Vec<u8>> = parts(rest).map(<[u8]>::to_vec).collect();
    let (login, account) = login(kind);
    let is_logged_in = call.is_ascii_lowercase() && *call != b'o';
    let login = login.filter(|_| is_logged_in).into_iter();
    let mut channel = channel(kind, login.chain(answers.iter().cloned()).collect());
    let claim = claim(kind, account);
    match call {
        b'w' | b'W' => {
            let landing = Landing::attest([claim.token.clone()]);
            let pushed = PushedClaim::prove(claim, &landing).expect("its token landed");
            let outcome = channel.publish(&[pushed]);
            assert_outcome(kind, &outcome);
            if is_logged_in {
                assert_justified(kind, &outcome, answers.first().map_or(&[], Vec::as_slice));
            }
            !matches!(outcome, Outcome::InDoubt { .. } | Outcome::NotSent { .. })
        }
        b'u' | b'U' | b'x' | b'X' => {
            let is_removal = call.eq_ignore_ascii_case(&b'x');
            let claim = later_claim(kind, claim, is_removal);
            let landing = Landing::attest([claim.token.clone()]);
            let pushed = PushedClaim::prove(claim, &landing).expect("its token landed");
            let outcome = if is_removal {
                channel.retract(&pushed)
            } else {
                channel.update(&pushed)
            };
            assert_outcome(kind, &outcome);
            if let Outcome::Accepted { evidence, .. } = &outcome {
                let is_read_back = *evidence == Evidence::ReadBack;
                assert_eq!(is_read_back, is_removal, "{outcome:?}");
            }
            !matches!(outcome, Outcome::InDoubt { .. } | Outcome::NotSent { .. })
        }
        b'y' | b'Y' | b'v' | b'V' => {
            let is_removal = call.eq_ignore_ascii_case(&b'y');
            let lookup = channel.effect(&later_claim(kind, claim, is_removal));
            assert_lookup(&lookup);
            !matches!(lookup, Lookup::CannotTell { .. })
        }
        b'l' | b'L' => {
            let lookup = channel.lookup(&claim);
            assert_lookup(&lookup);
            !matches!(lookup, Lookup::CannotTell { .. })
        }
        b'r' | b'R' => {
            let listing = channel.recent(claim.first_claimed_at);
            assert_listing(&listing);
            matches!(listing, Listing::Posts(_))
        }
        _ => {
            let opening = channel.open();
            assert_opening(&opening);
            matches!(opening, Opening::Ready(_))
        }
    }
}

/// The codes that a channel's own table lists as "nothing was done".
const fn refusals(kind: Kind) -> &'static [u16] {
    match kind {
        Kind::IndexNow => &[400, 403, 422, 429],
        Kind::Bluesky => &[400, 401, 403, 413, 429],
        Kind::Mastodon => &[400, 401, 403, 422, 429],
        Kind::Devto => &[401, 403, 422, 429],
        Kind::Http => &[400, 401, 403, 429],
    }
}

/// Asserts what an answer to a write may come to, read here by other means than the program's.
fn assert_justified(kind: Kind, outcome: &Outcome, raw: &[u8]) {
    let status = final_status(raw);
    let told = || format!("{outcome:?} for {}", String::from_utf8_lossy(raw));
    match outcome {
        Outcome::Accepted { remote, .. } => {
            let is_success = matches!(status, Some(200..=202));
            assert!(is_success, "{}", told());
            let needs_receipt = kind != Kind::IndexNow;
            assert_eq!(remote.id.is_some(), needs_receipt, "{}", told());
        }
        Outcome::Refused { .. } => {
            let is_listed = status.is_some_and(|status| refusals(kind).contains(&status));
            assert!(is_listed, "{}", told());
        }
        // The request was handed to the connection, so it may have arrived.
        Outcome::NotSent { .. } => panic!("{}", told()),
        Outcome::InDoubt { .. } => {}
    }
}

/// The status of the answer after any `1xx` before it; none if there is no whole head.
fn final_status(raw: &[u8]) -> Option<u16> {
    let raw = raw.strip_suffix(&[RESET]).unwrap_or(raw);
    let mut rest = raw;
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 256];
        let mut response = httparse::Response::new(&mut headers);
        let Ok(httparse::Status::Complete(length)) = response.parse(rest) else {
            return None;
        };
        let status = response.code?;
        if !(100..200).contains(&status) {
            return Some(status);
        }
        rest = rest.get(length..)?;
    }
}

fn assert_outcome(kind: Kind, outcome: &Outcome) {
    match outcome {
        Outcome::Accepted { remote, .. } => {
            if kind != Kind::IndexNow {
                assert_receipt(remote);
            }
        }
        Outcome::Refused { refusal, reason } => {
            assert_reason(reason);
            match refusal {
                Refusal::Temporary(wait) | Refusal::RateLimited(wait) => assert_wait(*wait),
                Refusal::Permanent
                | Refusal::Picture
                | Refusal::Replayed
                | Refusal::Credentials => {}
            }
        }
        Outcome::NotSent { reason } | Outcome::InDoubt { reason } => assert_reason(reason),
    }
}

/// Nonsense in a header does not put a channel to sleep for a year.
fn assert_wait(wait: Option<Wait>) {
    let day = Duration::from_hours(24);
    let is_short = match wait {
        None => true,
        Some(Wait::For(duration)) => duration <= day,
        Some(Wait::Until(moment)) => moment <= StillClock.now().plus(day),
    };
    assert!(is_short, "{wait:?}");
}

fn assert_lookup(lookup: &Lookup) {
    match lookup {
        Lookup::Found(remote) => assert_receipt(remote),
        Lookup::Several(remotes) => {
            assert!(remotes.len() > 1, "{remotes:?}");
            remotes.iter().for_each(assert_receipt);
        }
        Lookup::Absent => {}
        Lookup::CannotTell { reason } => assert_reason(reason),
    }
}

fn assert_listing(listing: &Listing) {
    match listing {
        Listing::Posts(posts) => posts.iter().for_each(|post| assert_receipt(&post.remote)),
        Listing::CannotTell { reason } => assert_reason(reason),
    }
}

fn assert_opening(opening: &Opening) {
    match opening {
        Opening::Ready(session) => {
            let account = session.account.to_string();
            assert!(!account.is_empty(), "an account without a name");
            assert_unseen(&account);
            assert_showable("an account", &account);
        }
        Opening::Closed { reason, .. } => assert_reason(reason),
    }
}

/// A receipt goes into the row, the commit, and the report.
fn assert_receipt(remote: &Remote) {
    let id = remote.id.as_deref().unwrap_or_default();
    assert!(!id.trim().is_empty(), "a receipt without an id: {remote:?}");
    for text in [&remote.id, &remote.url].into_iter().flatten() {
        assert_unseen(text);
        assert_showable("a receipt", text);
    }
}

fn assert_reason(reason: &str) {
    assert!(!reason.is_empty(), "nothing is said");
    assert_unseen(reason);
    assert_showable("a reason", reason);
}

fn assert_unseen(text: &str) {
    assert!(!text.contains(SECRET), "a secret is shown: {text}");
}

/// A good answer to the first request of a kind that asks who it is, and who that is.
fn login(kind: Kind) -> (Option<Vec<u8>>, &'static str) {
    let (body, account) = match kind {
        Kind::IndexNow => return (None, "localhost/blog.example"),
        Kind::Bluesky => (
            json!({"did": DID, "handle": "blog.example", "accessJwt": "eyJ0.eyJz.c2ln"}),
            DID,
        ),
        Kind::Mastodon => (
            json!({"id": "42", "acct": "blog", "url": "https://m.example/@blog"}),
            "https://m.example/@blog",
        ),
        Kind::Devto => (json!({"username": "blog"}), "http://localhost/blog"),
        Kind::Http => return (None, "blog"),
    };
    let body = body.to_string();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    (Some((head + &body).into_bytes()), account)
}

fn claim(kind: Kind, account: &str) -> Claim {
    let time = |text| Timestamp::parse(text).expect("that is a time");
    Claim {
        item: ItemId::from_stored("a"),
        channel: config(kind).name().clone(),
        account: Account::new(account),
        operation: Operation::Publish,
        target: None,
        token: Token::from_bytes([7; 16]),
        key: IdempotencyKey::parse(&format!("so1-{}", "5f".repeat(32))).expect("that is a key"),
        attempt: 1,
        post: post(kind),
        canonical_url: "https://blog.example/a".to_owned(),
        first_claimed_at: time("2026-11-29T10:00:00.400Z"),
        send_before: time("2026-11-29T10:00:30.400Z"),
    }
}

/// A claim that changes or takes down a post which stands.
fn later_claim(kind: Kind, claim: Claim, is_removal: bool) -> Claim {
    let id = match kind {
        Kind::Bluesky => format!("at://{DID}/app.bsky.feed.post/3mxsq2xq2xk2a"),
        Kind::IndexNow | Kind::Mastodon | Kind::Devto | Kind::Http => "7".to_owned(),
    };
    Claim {
        operation: if is_removal {
            Operation::Retract
        } else {
            Operation::Update(1)
        },
        target: Some(Remote {
            id: Some(id),
            url: Some("https://service.example/7".to_owned()),
        }),
        ..claim
    }
}

fn post(kind: Kind) -> Post {
    let fields = match kind {
        Kind::IndexNow => json!({"url": "https://blog.example/a"}),
        Kind::Bluesky => json!({
            "rkey": "3mxsq2xq2xk2a",
            "record": {"text": "Hello", "createdAt": "2026-11-29T10:00:00.400Z"},
        }),
        Kind::Http => json!({"text": "Hello", "url": "https://blog.example/a"}),
        Kind::Mastodon => json!({"text": "Hello\n\nhttps://blog.example/a", "language": "en"}),
        Kind::Devto => json!({"title": "Hello", "body_markdown": "Text", "published": true}),
    };
    let Value::Object(fields) = fields else {
        unreachable!("each is an object")
    };
    Post::new(fields)
}

fn channel(kind: Kind, answers: Vec<Vec<u8>>) -> Box<dyn Channel> {
    let environment = Environment::of([("SECRET", SECRET)]);
    let site = configuration(|config| config.site.clone());
    build_over(
        play(answers),
        &config(kind),
        &site,
        &environment,
        Arc::new(StillClock),
    )
    .expect("the secret is set")
}

fn config(kind: Kind) -> ChannelConfig {
    configuration(|config| {
        let mut channels = config.channels.iter();
        let channel = channels.find(|channel| channel.rules.kind == kind);
        channel.expect("each kind is configured").clone()
    })
}

fn configuration<T>(read: impl FnOnce(&Config) -> T) -> T {
    thread_local! {
        static CONFIG: Config = Config::parse("sayonce.toml".as_ref(), CONFIGURATION)
            .expect("that is a configuration");
    }
    CONFIG.with(read)
}

/// A clock that stands still.
#[derive(Debug)]
struct StillClock;

impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        Timestamp::parse("2026-11-29T10:00:00.900Z").expect("that is a time")
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn real(&self, duration: Duration) -> Duration {
        duration
    }

    fn told(&self, real: Duration) -> Duration {
        real
    }

    fn sleep(&self, _duration: Duration) {}
}
