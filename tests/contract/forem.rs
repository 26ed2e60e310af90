//! A whole job against the dev.to stand-in, with a proxy between them that holds both sides against Forem's own
//! specification.

use std::sync::Arc;

use sayonce::channel::registry::build;
use sayonce::clock::SystemClock;
use sayonce::config::Config;
use sayonce::environment::Environment;
use sayonce::model::channel::Kind;
use sayonce::model::claim::{Claim, Landing, PushedClaim};
use sayonce::model::delivery::Operation;
use sayonce::model::ids::ChannelName;
use sayonce::model::outcome::{Evidence, Lookup, Opening, Outcome, Remote};
use sayonce::sandbox::{Sandbox, SandboxOptions, StandIn};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::blog::{Blog, hard_articles};
use super::client::Call;
use super::relay::Relay;
use super::replay::claim;
use super::servers::{Prism, forem_specification};

const SECRET: &str = "DEVTO_API_KEY";

/// Before any test.
const MADE_AT: &str = "2026-01-01T00:00:00.000Z";

/// As the relay sees it: with the prefix that the specification leaves out.
const POST: &str = "POST /api/articles ";

/// Where the specification says what the tags of an article are that is written.
const TAGS: &str = "/components/schemas/Article/properties/article/properties/tags";

/// Where it says what an article in a list has at least.
const LISTED: &str = "/components/schemas/ArticleIndex/required";

/// Where it says what an article in a list has. It forgets drafts, which have no time of publication: one field of it is
/// `null`, the other an empty text.
const FIELDS: &str = "/components/schemas/ArticleIndex/properties";

/// What the list of one's own articles lacks, by Forem's own view `articles/me.json.jbuilder`. The specification has one
/// schema for it and for the public list.
const NOT_IN_OWN_LIST: [&str; 7] = [
    "created_at",
    "crossposted_at",
    "edited_at",
    "last_comment_at",
    "readable_publish_date",
    "social_image",
    "tags",
];

/// The specification, right where it is wrong. It says that tags are one string, while the server drops a string and
/// takes a list.
fn corrected(mut specification: Value) -> Value {
    let tags = specification.pointer_mut(TAGS).unwrap();
    assert_eq!(*tags, json!({ "type": "string" }), "it says so no more");
    *tags = json!({ "type": "array", "items": { "type": "string" } });
    let listed = specification.pointer_mut(LISTED).unwrap();
    let required = listed.as_array_mut().unwrap();
    let before = required.len();
    required.retain(|name| !NOT_IN_OWN_LIST.contains(&name.as_str().unwrap()));
    assert_eq!(required.len(), before - NOT_IN_OWN_LIST.len());
    for (name, right) in [
        (
            "published_at",
            json!({ "type": "string", "nullable": true }),
        ),
        ("published_timestamp", json!({ "type": "string" })),
    ] {
        let place = format!("{FIELDS}/{name}");
        let field = specification.pointer_mut(&place).unwrap();
        assert_eq!(field["format"], "date-time", "it says so no more");
        *field = right;
    }
    specification
}

/// The stand-in, and a relay to a proxy before it that holds requests and answers against the specification.
struct Held {
    sandbox: Sandbox,
    prism: Prism,
    relay: Relay,
    _directory: TempDir,
}

impl Held {
    fn start() -> Option<Self> {
        let specification = forem_specification()?;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("forem.json");
        std::fs::write(&path, corrected(specification).to_string()).unwrap();
        let channel = ChannelName::new("there").unwrap();
        let sandbox = Sandbox::start(SandboxOptions {
            stand_ins: vec![StandIn {
                channel: channel.clone(),
                kind: Kind::Devto,
            }],
            faults: Vec::new(),
            directory: None,
            clock: Arc::new(SystemClock::new()),
            site_host: "blog.example".to_owned(),
        })
        .unwrap();
        let prism = Prism::before(&format!("{}/api", sandbox.url(&channel)), &path)?;
        let relay = Relay::without_prefix(&prism.url, "/api");
        Some(Self {
            sandbox,
            prism,
            relay,
            _directory: directory,
        })
    }

    /// The lines of a channel that goes by way of the proxy.
    fn lines(&self) -> String {
        format!(
            "kind = \"devto\"\nserver = \"{}\"\napi_key_env = \"{SECRET}\"\n",
            self.relay.url()
        )
    }
}

#[test]
fn every_request_and_every_answer_fits_forems_own_specification() {
    let Some(held) = Held::start() else {
        return;
    };
    let Held {
        sandbox,
        prism,
        relay,
        ..
    } = &held;
    let blog = Blog::new(&held.lines(), (SECRET, Sandbox::secret(Kind::Devto)));
    // More than one write in a second is refused.
    blog.configure("interval = \"0s\"", "interval = \"2s\"");
    blog.write_articles(&hard_articles()[..3]);
    let ran = blog.run();
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "cjk there done response 1\n\
         mentions there done response 1\n\
         plain there done response 1\n"
    );
    let tags: Vec<Value> = ["cjk", "mentions", "plain"]
        .map(|name| blog.sent(name)["tags"].clone())
        .into();
    assert!(tags.iter().any(|tags| tags != &json!([])), "{tags:?}");

    let again = blog.run();
    again.assert_code(0);
    assert_eq!(
        (again.summary(), relay.count(POST)),
        ("done 3".to_owned(), 3)
    );
    blog.throw_ledger_away();
    let adopted = blog.run();
    adopted.assert_code(0);
    assert_eq!(
        adopted.deliveries(),
        "cjk there done adopted 0\n\
         mentions there done adopted 0\n\
         plain there done adopted 0\n"
    );
    assert_eq!(relay.count(POST), 3);

    // The proxy does hold requests against the specification: what does not fit never reaches the stand-in.
    let before = sandbox.requests().len();
    let wrong = Call::post(
        format!("{}/articles", prism.url),
        json!({ "article": { "title": 5 } }),
    );
    let refused = wrong.header("api-key", Sandbox::secret(Kind::Devto)).send();
    assert_eq!(refused.status, 422, "{}", refused.text);
    assert!(refused.text.contains("prism"), "{}", refused.text);
    assert_eq!(sandbox.requests().len(), before);
}

#[test]
fn a_change_and_a_draft_fit_forems_own_specification() {
    let Some(held) = Held::start() else {
        return;
    };
    let text = format!(
        "[site]\nurl = \"https://blog.example\"\nfeed = \"feed.xml\"\n\n[channels.there]\n{}",
        held.lines()
    );
    let config = Config::parse("sayonce.toml".as_ref(), &text).unwrap();
    let environment = Environment::of([(SECRET, Sandbox::secret(Kind::Devto))]);
    let clock = Arc::new(SystemClock::new());
    let mut channel = build(&config.channels[0], &config.site, &environment, clock).unwrap();
    let Opening::Ready(session) = channel.open() else {
        panic!("the key is right")
    };
    let claim = |operation: Operation, target: Option<Remote>, title: &str, more: &Value| {
        let mut post = json!({
            "title": title, "body_markdown": "# It", "canonical_url": "https://blog.example/a", "tags": ["news"], "published": true,
        });
        let fields = post.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let claim = claim(
            session.account.as_str(),
            post,
            "https://blog.example/a",
            MADE_AT,
        );
        let landing = Landing::attest([claim.token.clone()]);
        let claim = Claim {
            operation,
            target,
            ..claim
        };
        (PushedClaim::prove(claim.clone(), &landing).unwrap(), claim)
    };
    let (publish, _) = claim(
        Operation::Publish,
        None,
        "Old",
        &json!({ "description": "On it", "main_image": "https://blog.example/a.png", "series": "Of it" }),
    );
    let Outcome::Accepted { remote, .. } = channel.publish(&[publish]) else {
        panic!("it is accepted")
    };
    let accepted = |evidence: Evidence| Outcome::Accepted {
        remote: remote.clone(),
        evidence,
    };
    let (update, changed) = claim(
        Operation::Update(1),
        Some(remote.clone()),
        "New",
        &json!({}),
    );
    assert_eq!(channel.update(&update), accepted(Evidence::Response));
    assert_eq!(channel.effect(&changed), Lookup::Found(remote.clone()));
    // What the article has no more is said, and fits.
    let nothing = json!({ "tags": [], "description": "", "main_image": null, "series": null });
    let (update, _) = claim(Operation::Update(2), Some(remote.clone()), "New", &nothing);
    assert_eq!(channel.update(&update), accepted(Evidence::Response));
    let (retract, gone) = claim(Operation::Retract, Some(remote.clone()), "New", &json!({}));
    assert_eq!(channel.retract(&retract), accepted(Evidence::ReadBack));
    assert_eq!(channel.effect(&gone), Lookup::Found(remote.clone()));
    let posts: Vec<(String, bool)> = held
        .sandbox
        .posts()
        .into_iter()
        .map(|post| (post.title_or_text, post.draft))
        .collect();
    assert_eq!(posts, [("New".to_owned(), true)]);
    assert_eq!(held.relay.count("PUT /api/articles/"), 3);
}
