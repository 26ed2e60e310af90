//! The sites that histories are about: every policy and every gate.

use crate::simulation::World;

const SITE: &str = r#"
[site]
url = "https://blog.example"
feed = "feed.xml"
"#;
/// `at_least_once`: told again when in doubt; can't be asked.
const SEARCH: &str = r#"
[channels.search]
kind = "indexnow"
key = "0123456789abcdef"
"#;
/// `at_most_once` where nothing can be asked: what a chat's webhook is.
const CHAT: &str = r#"
[channels.chat]
kind = "indexnow"
key = "0123456789abcdef"
endpoint = "https://chat.example/indexnow"
policy = "at_most_once"
"#;
/// `keyed`: repeated under the same record key when in doubt.
const BLUESKY: &str = r#"
[channels.bluesky]
kind = "bluesky"
handle = "blog.example"
app_password_env = "BLUESKY_APP_PASSWORD"
"#;
/// `verified`: looked up when in doubt.
const MASTODON: &str = r#"
[channels.mastodon]
kind = "mastodon"
server = "https://mastodon.example"
token_env = "MASTODON_TOKEN"
timeout = "10s"
"#;
/// `verified`, and paced.
const DEVTO: &str = r#"
[channels.devto]
kind = "devto"
api_key_env = "DEVTO_API_KEY"
interval = "75s"
"#;
const AT_MOST_ONCE: &str = "policy = \"at_most_once\"\n";
const CONFIRM: &str = "gate = \"confirm\"\n";
const MANUAL: &str = "gate = \"manual\"\n";
/// Posts are changed when their articles are edited.
const FOLLOWS: &str = "follow_edits = true\n";

/// A site for each way to be careful; the usual ones are drawn as often as all others together.
pub(crate) struct Worlds(Vec<World>);

impl Worlds {
    pub(crate) fn new() -> Self {
        let usual = [SEARCH, BLUESKY, MASTODON, DEVTO].as_slice();
        let sites = [
            usual,
            usual,
            &[SEARCH, BLUESKY, MASTODON, FOLLOWS, DEVTO],
            &[SEARCH, BLUESKY, MASTODON, FOLLOWS, DEVTO, FOLLOWS],
            &[CHAT, SEARCH, MASTODON, AT_MOST_ONCE, DEVTO],
            &[CHAT, BLUESKY, CONFIRM, MASTODON, CONFIRM],
            &[SEARCH, MANUAL, BLUESKY, MANUAL, MASTODON, MANUAL],
            &[SEARCH, CONFIRM, BLUESKY, MASTODON, DEVTO, AT_MOST_ONCE],
        ];
        let world = |channels: &[&str]| World::new(&[&[SITE], channels].concat().concat(), 3);
        Self(sites.into_iter().map(world).collect())
    }

    pub(super) fn of_seed(&self, seed: u64) -> World {
        let count = u64::try_from(self.0.len()).expect("few");
        self.0[usize::try_from(seed % count).expect("few")].clone()
    }
}
