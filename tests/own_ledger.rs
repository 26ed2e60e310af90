//! The project announces its own releases: its configuration, the list of its releases, and its ledger's directory.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sayonce::clock::SystemClock;
use sayonce::config::{Config, LedgerConfig, PushMode};
use sayonce::environment::Environment;
use sayonce::ledger::git_store::{GitStore, GitStoreOptions};
use sayonce::ledger::{Standing, Store as _};
use sayonce::model::ids::ChannelName;
use sayonce::model::time::Timestamp;
use sayonce::source::{NoNetwork, load};

const CONFIG: &str = ".github/sayonce.toml";

fn top() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_configuration_is_sound_also_with_its_channels_turned_on() {
    let text = fs::read_to_string(top().join(CONFIG)).unwrap();
    let config = Config::parse(Path::new(CONFIG), &text).unwrap();
    assert_eq!(config.site.manifest.as_deref(), Some("docs/releases.json"));
    let turned_on = text.replace("enabled = false", "enabled = true");
    let config = Config::parse(Path::new(CONFIG), &turned_on).unwrap();
    assert_eq!(config.warnings, Vec::<String>::new());
    let names: Vec<&str> = config
        .channels
        .iter()
        .map(|channel| channel.name().as_str())
        .collect();
    assert_eq!(names, ["bluesky", "mastodon"]);
}

#[test]
fn the_list_of_releases_is_that_of_the_changelog() {
    let changelog = fs::read_to_string(top().join("CHANGELOG.md")).unwrap();
    let released: BTreeSet<(String, String)> = releases_in(&changelog)
        .map(|(version, date)| (format!("releases/tag/v{version}"), date.to_owned()))
        .collect();
    let config = Config::load(&top().join(CONFIG)).unwrap();
    let names: BTreeSet<ChannelName> = config
        .channels
        .iter()
        .map(|channel| channel.name().clone())
        .collect();
    let now = Timestamp::parse("2100-01-01T00:00:00Z").unwrap();
    let catalog = load(&config.site, &names, &top(), now, &NoNetwork).unwrap();
    assert_eq!(catalog.problems, Vec::<String>::new());
    assert_eq!(catalog.foreign, Vec::<String>::new());
    let listed: BTreeSet<(String, String)> = catalog
        .items
        .iter()
        .map(|item| {
            let date = item.published.map_or_else(String::new, |date| {
                date.to_chrono().format("%Y-%m-%d").to_string()
            });
            (item.id.to_string(), date)
        })
        .collect();
    assert_eq!(
        listed, released,
        "docs/releases.json and CHANGELOG.md must list the same releases with the same dates"
    );
}

#[test]
fn headings_of_releases_are_read() {
    let text = "# Changelog\n\n## [Unreleased]\n\n- x\n\n## [1.2.0] - 2027-01-31\n\n## [0.1.0] - 2026-12-01\n";
    let releases: Vec<_> = releases_in(text).collect();
    assert_eq!(releases, [("1.2.0", "2027-01-31"), ("0.1.0", "2026-12-01")]);
}

/// Versions with their dates, from headings such as `## [0.1.0] - 2026-12-01`.
fn releases_in(changelog: &str) -> impl Iterator<Item = (&str, &str)> {
    changelog.lines().filter_map(|line| {
        let (version, date) = line.strip_prefix("## [")?.split_once("] - ")?;
        Some((version, date.trim()))
    })
}

#[test]
fn notes_beside_the_rows_are_no_rows_and_stay() {
    let directory = tempfile::tempdir().unwrap();
    let note = fs::read(top().join("ledger/README.md")).unwrap();
    commit(directory.path(), "ledger/README.md", &note);
    let mut store = GitStore::open(GitStoreOptions {
        repo: directory.path().to_owned(),
        config: LedgerConfig {
            push: PushMode::Never,
            ..Config::load(&top().join(CONFIG)).unwrap().ledger
        },
        environment: Environment::default(),
        clock: Arc::new(SystemClock::new()),
        push_timeout: std::time::Duration::from_secs(30),
    })
    .unwrap();
    let snapshot = store.read().unwrap();
    assert!(snapshot.rows.is_empty());
    assert_eq!(snapshot.unreadable, Vec::new());
    assert_eq!(snapshot.header, None);
    assert_eq!(snapshot.standing, Standing::Sound { notice: None });
}

/// Makes a repository with one commit of one file on the ledger's branch.
fn commit(directory: &Path, path: &str, bytes: &[u8]) {
    let config = Config::load(&top().join(CONFIG)).unwrap();
    let branch = config.ledger.branch.unwrap();
    let mut options = git2::RepositoryInitOptions::new();
    options.initial_head(&branch);
    let repository = git2::Repository::init_opts(directory, &options).unwrap();
    let blob = repository.blob(bytes).unwrap();
    let empty = repository
        .find_tree(repository.treebuilder(None).unwrap().write().unwrap())
        .unwrap();
    let tree = git2::build::TreeUpdateBuilder::new()
        .upsert(path, blob, git2::FileMode::Blob)
        .create_updated(&repository, &empty)
        .unwrap();
    let tree = repository.find_tree(tree).unwrap();
    let person = git2::Signature::now("sayonce", "sayonce@localhost").unwrap();
    repository
        .commit(Some("HEAD"), &person, &person, "ledger: a note", &tree, &[])
        .unwrap();
}
