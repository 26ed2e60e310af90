//! The adapters against the stand-ins: a post is made, changed, and taken down, and the stand-in counts what stands.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sayonce::channel::Channel;
use sayonce::channel::registry::build;
use sayonce::clock::{Clock, SystemClock};
use sayonce::config::{ChannelConfig, Config, ServiceConfig};
use sayonce::environment::Environment;
use sayonce::model::channel::Kind;
use sayonce::model::claim::{Claim, Landing, PushedClaim};
use sayonce::model::delivery::Operation;
use sayonce::model::ids::{ChannelName, IdempotencyKey, Token};
use sayonce::model::item::ItemId;
use sayonce::model::media::Wants;
use sayonce::model::outcome::{Lookup, Opening, Outcome, Remote};
use sayonce::model::post::Post;
use sayonce::sandbox::Sandbox;
use serde_json::{Value, json};

use super::options;

/// A stand-in and the adapter that speaks to it.
struct World {
    sandbox: Sandbox,
    channel: Box<dyn Channel>,
    clock: Arc<dyn Clock>,
    account: String,
    count: u8,
}

impl World {
    fn start(kind: Kind, lines: &str, faults: &[&str]) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let text = |lines: &str| {
            format!(
                "[site]\nurl = \"https://blog.example\"\nfeed = \"feed.xml\"\n[channels.{kind}]\nkind = \"{kind}\"\n{lines}\n"
            )
        };
        let config = |lines: &str| -> ChannelConfig {
            let config = Config::parse(Path::new("sayonce.toml"), &text(lines));
            config.unwrap_or_else(|error| panic!("{error}")).channels[0].clone()
        };
        let name = ChannelName::new(kind.label()).unwrap();
        let declared = match kind {
            Kind::Http => {
                let declaration = config(lines).declaration().unwrap().clone();
                BTreeMap::from([(name.clone(), declaration)])
            }
            Kind::IndexNow | Kind::Bluesky | Kind::Mastodon | Kind::Devto => BTreeMap::new(),
        };
        let sandbox =
            Sandbox::start_with(options(kind, faults, None, Arc::clone(&clock)), declared).unwrap();
        let url = sandbox.url(&name);
        let lines = &lines.replace("SERVER", url);
        let mut environment = Environment::default();
        let config = if kind == Kind::Http {
            let mut config = config(lines);
            let mut declaration = config.declaration().unwrap().clone();
            for (secret, variable) in &declaration.secrets {
                let value = Sandbox::declared_secret(&declaration, &name, secret);
                environment = environment.with(variable, &value);
            }
            declaration.redirect = Some(url.parse().unwrap());
            config.service = ServiceConfig::Http(Box::new(declaration));
            config
        } else {
            environment = environment.with("SECRET", Sandbox::secret(kind));
            config(lines)
        };
        let site = Config::parse(Path::new("sayonce.toml"), &text(lines))
            .unwrap()
            .site;
        let mut channel = build(&config, &site, &environment, Arc::clone(&clock)).unwrap();
        let account = match channel.open() {
            Opening::Ready(session) => session.account.to_string(),
            Opening::Closed { reason, .. } => panic!("{reason}"),
        };
        Self {
            sandbox,
            channel,
            clock,
            account,
            count: 0,
        }
    }

    fn claim(&mut self, operation: Operation, post: &Value, target: Option<&Remote>) -> Claim {
        self.count += 1;
        let now = self.clock.now();
        Claim {
            item: ItemId::from_stored("a"),
            channel: ChannelName::new("test").unwrap(),
            account: sayonce::model::ids::Account::new(&self.account),
            operation,
            target: target.cloned(),
            token: Token::from_bytes([self.count; 16]),
            key: IdempotencyKey::parse(&format!(
                "so1-{}",
                format!("{:02x}", self.count).repeat(32)
            ))
            .unwrap(),
            attempt: 1,
            post: Post::new(post.as_object().unwrap().clone()),
            canonical_url: "https://blog.example/a".to_owned(),
            first_claimed_at: now,
            send_before: now.plus(Duration::from_secs(30)),
        }
    }

    fn publish(&mut self, post: &Value) -> Remote {
        let mut fields = post.as_object().unwrap().clone();
        let wants = Wants {
            draft: Some(Post::new(fields.clone())),
            ..Wants::default()
        };
        self.channel
            .prepare(&wants, Vec::new())
            .insert_made_into(&mut fields);
        let claim = self.claim(Operation::Publish, &Value::from(fields), None);
        match self.channel.publish(&[pushed(claim)]) {
            Outcome::Accepted { remote, .. } => remote,
            outcome @ (Outcome::Refused { .. }
            | Outcome::NotSent { .. }
            | Outcome::InDoubt { .. }) => panic!("{outcome:?}"),
        }
    }

    /// Sends a later write, and returns how it ended and what a look says afterwards.
    fn later(&mut self, operation: Operation, post: &Value, target: &Remote) -> String {
        let claim = self.claim(operation, post, Some(target));
        let sent = pushed(claim.clone());
        let outcome = if operation == Operation::Retract {
            self.channel.retract(&sent)
        } else {
            self.channel.update(&sent)
        };
        let outcome = match outcome {
            Outcome::Accepted { remote, evidence } => {
                assert!(remote.id.is_none() || remote.is_same_post(target));
                format!("accepted by {}", evidence.label())
            }
            Outcome::InDoubt { .. } => "in doubt".to_owned(),
            outcome @ (Outcome::Refused { .. } | Outcome::NotSent { .. }) => format!("{outcome:?}"),
        };
        self.sandbox.settle();
        let effect = match self.channel.effect(&claim) {
            Lookup::Found(_) => "found",
            Lookup::Absent => "absent",
            Lookup::CannotTell { .. } => "cannot tell",
            Lookup::Several(_) => "several",
        };
        format!("{outcome}, {effect}; {}", self.standing())
    }

    /// What the stand-in shows, by its own count.
    fn standing(&self) -> String {
        let posts = self.sandbox.posts();
        let posts: Vec<String> = posts
            .iter()
            .map(|post| {
                let draft = if post.draft { " (draft)" } else { "" };
                let text = post.title_or_text.replace('\n', " ");
                format!("{text}{draft} x{}", post.times)
            })
            .collect();
        if posts.is_empty() {
            return "nothing stands".to_owned();
        }
        posts.join(", ")
    }
}

fn pushed(claim: Claim) -> PushedClaim {
    let landing = Landing::attest([claim.token.clone()]);
    PushedClaim::prove(claim, &landing).unwrap()
}

/// Makes a post, changes it, changes it to the same, takes it down, and does that again. Faults count writes: 1 to 5.
fn life(kind: Kind, lines: &str, faults: &[&str], old: &Value, new: &Value) -> String {
    let mut world = World::start(kind, lines, faults);
    let target = world.publish(old);
    let first = world.standing();
    let steps = [
        world.later(Operation::Update(1), new, &target),
        world.later(Operation::Update(2), new, &target),
        world.later(Operation::Retract, new, &target),
        world.later(Operation::Retract, new, &target),
        world.later(Operation::Update(3), new, &target),
    ];
    format!("{first}\n{}\n", steps.join("\n"))
}

const MASTODON: &str = "server = \"SERVER\"\ntoken_env = \"SECRET\"";
const DEVTO: &str = "server = \"SERVER\"\napi_key_env = \"SECRET\"";
const BLUESKY: &str =
    "handle = \"blog.example\"\nservice = \"SERVER\"\napp_password_env = \"SECRET\"";

fn status(text: &str) -> Value {
    json!({ "text": format!("{text} https://blog.example/a"), "visibility": "public" })
}

fn article(title: &str) -> Value {
    json!({
        "title": title, "canonical_url": "https://blog.example/a", "tags": [], "body_markdown": "# It", "published": true,
    })
}

#[test]
fn a_status_lives_and_dies() {
    insta::assert_snapshot!(life(Kind::Mastodon, MASTODON, &[], &status("Old"), &status("New")), @r#"
    Old https://blog.example/a x1
    accepted by response, found; New https://blog.example/a x1
    accepted by response, found; New https://blog.example/a x1
    accepted by read_back, found; nothing stands
    accepted by read_back, found; nothing stands
    Refused { refusal: Permanent, reason: "there is no such post of this account" }, absent; nothing stands
    "#);
    let faults = [
        "mastodon:2=lost-answer",
        "mastodon:3=lost-request",
        "mastodon:4=status=500",
        "mastodon:5=lost-answer",
    ];
    insta::assert_snapshot!(life(Kind::Mastodon, MASTODON, &faults, &status("Old"), &status("New")), @r#"
    Old https://blog.example/a x1
    in doubt, found; New https://blog.example/a x1
    in doubt, found; New https://blog.example/a x1
    in doubt, absent; New https://blog.example/a x1
    accepted by read_back, found; nothing stands
    Refused { refusal: Permanent, reason: "there is no such post of this account" }, absent; nothing stands
    "#);
}

#[test]
fn an_article_lives_and_is_a_draft_in_the_end() {
    insta::assert_snapshot!(life(Kind::Devto, DEVTO, &[], &article("Old"), &article("New")), @r"
    Old x1
    accepted by response, found; New x1
    accepted by response, found; New x1
    accepted by read_back, found; New (draft) x1
    accepted by read_back, found; New (draft) x1
    accepted by response, found; New (draft) x1
    ");
    let faults = [
        "devto:2=status=500-stored",
        "devto:4=lost-answer",
        "devto:5=status=500",
    ];
    insta::assert_snapshot!(life(Kind::Devto, DEVTO, &faults, &article("Old"), &article("New")), @r"
    Old x1
    in doubt, found; New x1
    accepted by response, found; New x1
    accepted by read_back, found; New (draft) x1
    accepted by read_back, found; New (draft) x1
    accepted by response, found; New (draft) x1
    ");
}

#[test]
fn a_record_is_deleted() {
    let post = |text: &str| {
        let record = json!({
            "$type": "app.bsky.feed.post", "text": format!("{text} https://blog.example/a"), "createdAt": "2026-01-02T03:04:05.000Z",
        });
        json!({ "rkey": "3mabcdefghj2z", "record": record })
    };
    let check = |faults: &[&str]| {
        let mut world = World::start(Kind::Bluesky, BLUESKY, faults);
        let target = world.publish(&post("Old"));
        let first = world.standing();
        let steps = [(); 2].map(|()| world.later(Operation::Retract, &post("Old"), &target));
        format!("{first}\n{}\n", steps.join("\n"))
    };
    insta::assert_snapshot!(check(&[]), @r"
    Old https://blog.example/a x1
    accepted by read_back, found; nothing stands
    accepted by read_back, found; nothing stands
    ");
    insta::assert_snapshot!(check(&["bluesky:2=status=500", "bluesky:3=lost-answer"]), @r"
    Old https://blog.example/a x1
    in doubt, absent; Old https://blog.example/a x1
    accepted by read_back, found; nothing stands
    ");
}

fn declared_post(text: &str) -> Value {
    json!({
        "text": format!("{text} https://blog.example/a"), "title": text, "url": "https://blog.example/a", "tags": ["a"],
        "description": text,
    })
}

#[test]
fn what_the_presets_made_is_changed_and_taken_down() {
    let check = |lines: &str| {
        let told = life(
            Kind::Http,
            lines,
            &[],
            &declared_post("Old"),
            &declared_post("New"),
        );
        format!("{}\n{told}", lines.lines().next().unwrap())
    };
    let told = [
        check("preset = \"discord\""),
        check("preset = \"slack\"\nvalues = { channel = \"C1\" }"),
        check("preset = \"telegram\"\nvalues = { chat = \"@blog\" }"),
        check("preset = \"micropub\"\nvalues = { endpoint = \"https://second.example/micropub\" }"),
        check(
            "preset = \"wordpress\"\nvalues = { server = \"https://wordpress.example\", author = 7 }",
        ),
        check("preset = \"ghost\"\nvalues = { server = \"https://ghost.example\" }"),
        check(
            "preset = \"webmention\"\nvalues = { endpoint = \"https://bridge.example/webmention\", target = \"https://bridge.example/\" }",
        ),
    ];
    insta::assert_snapshot!(told.join("\n"), @r#"
    preset = "discord"
    Old https://blog.example/a x1
    accepted by response, found; New https://blog.example/a x1
    accepted by response, found; New https://blog.example/a x1
    accepted by read_back, found; nothing stands
    accepted by read_back, found; nothing stands
    Refused { refusal: Permanent, reason: "HTTP 404: {\"message\":\"404\",\"code\":10008}" }, absent; nothing stands

    preset = "slack"
    Old https://blog.example/a x1
    accepted by response, cannot tell; New https://blog.example/a x1
    accepted by response, cannot tell; New https://blog.example/a x1
    accepted by read_back, cannot tell; nothing stands
    accepted by read_back, cannot tell; nothing stands
    Refused { refusal: Permanent, reason: "HTTP 200: {\"error\":\"message_not_found\",\"ok\":false}" }, cannot tell; nothing stands

    preset = "telegram"
    Old https://blog.example/a x1
    accepted by response, cannot tell; New https://blog.example/a x1
    accepted by response, cannot tell; New https://blog.example/a x1
    accepted by read_back, cannot tell; nothing stands
    accepted by read_back, cannot tell; nothing stands
    Refused { refusal: Permanent, reason: "HTTP 400: {\"ok\":false,\"error_code\":400,\"description\":\"Error 400\"}" }, cannot tell; nothing stands

    preset = "micropub"
    Old https://blog.example/a x1
    accepted by response, cannot tell; New https://blog.example/a x1
    accepted by response, cannot tell; New https://blog.example/a x1
    accepted by read_back, found; nothing stands
    accepted by read_back, found; nothing stands
    Refused { refusal: Permanent, reason: "HTTP 400: {\"error\":\"invalid_request\"}" }, absent; nothing stands

    preset = "wordpress"
    <p>Old</p> <p><a href="https://blog.example/a">https://blog.example/a</a></p> x1
    accepted by response, found; <p>New</p> <p><a href="https://blog.example/a">https://blog.example/a</a></p> x1
    accepted by response, found; <p>New</p> <p><a href="https://blog.example/a">https://blog.example/a</a></p> x1
    accepted by read_back, found; nothing stands
    accepted by read_back, found; nothing stands
    Refused { refusal: Permanent, reason: "HTTP 200: {\"error\":\"200\",\"status\":\"trash\"}" }, absent; nothing stands

    preset = "ghost"
    <p>Old</p> <p><a href="https://blog.example/a">https://blog.example/a</a></p> x1
    accepted by response, cannot tell; <p>New</p> <p><a href="https://blog.example/a">https://blog.example/a</a></p> x1
    accepted by response, cannot tell; <p>New</p> <p><a href="https://blog.example/a">https://blog.example/a</a></p> x1
    accepted by read_back, found; nothing stands
    accepted by read_back, found; nothing stands
    Refused { refusal: Permanent, reason: "the post is not there any more, so it can't be changed: HTTP 404: {\"errors\":[{\"message\":\"Request not understood error.\",\"type\":\"NotFoundError\"}]}" }, absent; nothing stands

    preset = "webmention"
    https://blog.example/a x1
    accepted by response, cannot tell; https://blog.example/a x2
    accepted by response, cannot tell; https://blog.example/a x3
    Refused { refusal: Permanent, reason: "the declaration has no `retract`" }, cannot tell; https://blog.example/a x3
    Refused { refusal: Permanent, reason: "the declaration has no `retract`" }, cannot tell; https://blog.example/a x3
    accepted by response, cannot tell; https://blog.example/a x4
    "#);
}

#[test]
fn what_can_not_be_changed_is_taken_down_all_the_same() {
    let remove = |lines: &str, fault: &str| {
        let mut world = World::start(Kind::Http, lines, &[fault]);
        let post = declared_post("Old");
        let target = world.publish(&post);
        let steps = [(); 2].map(|()| world.later(Operation::Retract, &post, &target));
        format!("{}\n{}\n", lines.lines().next().unwrap(), steps.join("\n"))
    };
    let told = [
        remove(
            "preset = \"weibo\"\nvalues = { ip = \"192.0.2.1\", uid = 4711 }",
            "http:2=lost-answer",
        ),
        remove(
            "preset = \"threads\"\nvalues = { user = 17 }",
            "http:3=lost-answer",
        ),
        remove(
            "preset = \"linkedin\"\nvalues = { author = \"urn:li:person:x\" }",
            "http:2=lost-answer",
        ),
    ];
    insta::assert_snapshot!(told.join("\n"), @r#"
    preset = "weibo"
    accepted by read_back, cannot tell; nothing stands
    accepted by read_back, cannot tell; nothing stands

    preset = "threads"
    accepted by read_back, found; nothing stands
    accepted by read_back, found; nothing stands

    preset = "linkedin"
    accepted by read_back, found; nothing stands
    accepted by read_back, found; nothing stands
    "#);
}
