//! A panic of the feed library, met through the real program.

use std::path::Path;

use crate::cli::program::Program;
use crate::git::sandbox::Sandbox;

/// The library cuts authors' names at bytes, and panics inside a character.
const FEED: &str = "tests/data/fuzz/feed/rss_author_panic.xml";

#[test]
fn a_panic_that_is_caught_says_nothing_of_its_own() {
    let sandbox = Sandbox::new();
    let site = sandbox.path("site");
    std::fs::create_dir(&site).unwrap();
    sandbox.git(&site, &["init", "--quiet"]);
    let feed = Path::new(env!("CARGO_MANIFEST_DIR")).join(FEED);
    std::fs::copy(feed, site.join("feed.xml")).unwrap();
    std::fs::write(
        site.join("sayonce.toml"),
        "[site]\nurl = \"https://blog.example\"\nfeed = \"feed.xml\"\n[channels.search]\nkind = \"indexnow\"\nkey = \"0123456789abcdef\"\n",
    )
    .unwrap();
    sandbox.commit_all(&site, "site");
    let ran = Program::sayonce(&site, &sandbox.path("home"))
        .arguments(["plan"])
        .run();
    insta::assert_snapshot!(ran.stderr, @"problem: `feed.xml` is no feed that can be read (Atom, RSS, or JSON Feed): the feed library failed on it; nothing new is announced");
    ran.assert_code(2);
}
