//! A whole job against the dev.to stand-in, with a proxy between them that holds both sides against Forem's own
//! specification.

use std::sync::Arc;

use sayonce::clock::SystemClock;
use sayonce::model::channel::Kind;
use sayonce::model::ids::ChannelName;
use sayonce::sandbox::{Sandbox, SandboxOptions, StandIn};
use serde_json::{Value, json};

use super::blog::{Blog, hard_articles};
use super::client::Call;
use super::relay::Relay;
use super::servers::{Prism, forem_specification};

const SECRET: &str = "DEVTO_API_KEY";

/// As the relay sees it: with the prefix that the specification leaves out.
const POST: &str = "POST /api/articles ";

/// Where the specification says what the tags of an article are that is written.
const TAGS: &str = "/components/schemas/Article/properties/article/properties/tags";

/// Where it says what an article in a list has at least.
const LISTED: &str = "/components/schemas/ArticleIndex/required";

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
    specification
}

#[test]
fn every_request_and_every_answer_fits_forems_own_specification() {
    let Some(specification) = forem_specification() else {
        return;
    };
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
    let Some(prism) = Prism::before(&format!("{}/api", sandbox.url(&channel)), &path) else {
        return;
    };
    let relay = Relay::without_prefix(&prism.url, "/api");
    let lines = format!(
        "kind = \"devto\"\nserver = \"{}\"\napi_key_env = \"{SECRET}\"\n",
        relay.url()
    );
    let blog = Blog::new(&lines, (SECRET, Sandbox::secret(Kind::Devto)));
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
