//! The site's own files: feeds, pages, sitemaps, Markdown with front matter, manifests.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use sayonce::config::Site;
use sayonce::ledger::row;
use sayonce::model::ids::ChannelName;
use sayonce::model::item::{Item, ItemId};
use sayonce::model::row::DeliveryId;
use sayonce::model::time::Timestamp;
use sayonce::source::{Catalog, Fetch, check_live, load};
use tempfile::TempDir;
use url::Url;

use super::assert_showable;

/// Where every list is fetched from.
const LIST: &str = "https://blog.example/list";

/// The article that pages and files are about.
const ARTICLE: &str = "https://blog.example/news/hello/";

/// Reads an input as a feed.
pub(crate) fn feed(bytes: &[u8]) -> bool {
    sayonce::panics::install();
    let mut site = site();
    site.feed = Some(LIST.to_owned());
    read(&site, Path::new("."), &[(LIST, bytes)])
}

/// Reads an input as a manifest.
pub(crate) fn manifest(bytes: &[u8]) -> bool {
    let mut site = site();
    site.manifest = Some(LIST.to_owned());
    read(&site, Path::new("."), &[(LIST, bytes)])
}

/// Reads an input as a sitemap, whose parts are the same file again.
pub(crate) fn sitemap(bytes: &[u8]) -> bool {
    let mut site = site();
    site.manifest = Some("https://blog.example/none".to_owned());
    site.sitemap = Some(LIST.to_owned());
    let none = br#"{"items": []}"#;
    read(
        &site,
        Path::new("."),
        &[("https://blog.example/none", none), (LIST, bytes)],
    )
}

/// Reads an input as a built page: as an article of the site, and as the page that may be live by now.
pub(crate) fn page(bytes: &[u8]) -> bool {
    let web = Web::of(&[(ARTICLE, bytes)]);
    if let Err(reason) = check_live(ARTICLE, &web) {
        assert_showable("the reason why a page is not live", &reason);
    }
    let mut site = site();
    site.pages = Some("_site".to_owned());
    with_file("_site/news/hello/index.html", bytes, |repo| {
        read(&site, repo, &[])
    })
}

/// Reads an input as a Markdown file.
pub(crate) fn markdown(bytes: &[u8]) -> bool {
    let mut site = site();
    site.markdown = Some("_posts/*.md".to_owned());
    site.permalink = Some("/:year/:categories/:slug/".to_owned());
    with_file("_posts/2026-01-02-hello.md", bytes, |repo| {
        read(&site, repo, &[])
    })
}

fn read(site: &Site, repo: &Path, web: &[(&str, &[u8])]) -> bool {
    let now = Timestamp::parse("2026-11-29T12:00:00Z").expect("that is a time");
    let channels: BTreeSet<ChannelName> = ["bluesky", "devto", "mastodon"]
        .map(|name| ChannelName::new(name).expect("that is a name"))
        .into();
    match load(site, &channels, repo, now, &Web::of(web)) {
        Ok(catalog) => {
            assert_sound(&catalog, &site.url);
            // A sitemap's addresses are told, unless a page says that one is an article.
            !(catalog.items.is_empty() && catalog.foreign.is_empty() && catalog.notices.is_empty())
        }
        Err(error) => {
            let mut reason = error.to_string();
            let mut cause = std::error::Error::source(&error);
            while let Some(error) = cause {
                reason.push_str(&error.to_string());
                cause = error.source();
            }
            assert!(!reason.is_empty(), "refused without a reason");
            assert_showable("a source's error", &reason);
            false
        }
    }
}

fn assert_sound(catalog: &Catalog, site: &Url) {
    let mut ids = BTreeSet::new();
    for item in &catalog.items {
        assert_item(item, site);
        assert!(ids.insert(&item.id), "two items are {}", item.id);
    }
    for (what, texts) in [
        ("a foreign address", &catalog.foreign),
        ("a notice", &catalog.notices),
        ("a problem", &catalog.problems),
    ] {
        for text in texts {
            assert_showable(what, text);
        }
    }
}

fn assert_item(item: &Item, site: &Url) {
    assert!(!item.title.is_empty(), "{item:?}");
    let own = [&item.title, &item.canonical_url];
    let optional = [
        &item.description,
        &item.guid,
        &item.language,
        &item.image,
        &item.source_file,
    ];
    let lists = [&item.tags, &item.authors, &item.aliases];
    for text in own
        .into_iter()
        .chain(optional.into_iter().flatten())
        .chain(lists.into_iter().flatten())
    {
        assert_showable("an item's field", text);
    }
    assert_legal(&item.id);
    let again = ItemId::from_url(site, &item.canonical_url);
    assert_eq!(again.as_ref(), Ok(&item.id));
    for time in [item.published, item.updated].into_iter().flatten() {
        let text = time.to_string();
        assert_eq!(Timestamp::parse(&text), Ok(time), "{text} can't be read");
    }
}

/// Asserts that an id is a path that every file system and git take, and names its delivery and no other.
fn assert_legal(id: &ItemId) {
    let text = id.as_str();
    assert!(!text.is_empty(), "an empty id");
    for segment in text.split('/') {
        assert!(!segment.is_empty() && segment.len() <= 100, "{text:?}");
        // A hidden name is hidden no more.
        assert!(
            !segment.starts_with('.') || segment.contains('_'),
            "{text:?}"
        );
        assert!(!segment.to_lowercase().ends_with(".json"), "{text:?}");
        assert!(
            segment.bytes().all(|byte| byte.is_ascii_lowercase()
                || byte.is_ascii_digit()
                || b"._-%".contains(&byte)),
            "{text:?}"
        );
        let device = segment.split('.').next().unwrap_or_default();
        assert!(
            !["con", "prn", "aux", "nul", "com1", "lpt1"].contains(&device),
            "{text:?}"
        );
    }
    let delivery = DeliveryId {
        item: id.clone(),
        channel: ChannelName::new("mastodon").expect("that is a name"),
    };
    // What is too long for a path is refused when it is written, with its own words.
    if text.len() <= 2_000 {
        let path = row::path_of("ledger", &delivery);
        let below = path.strip_prefix("ledger/").expect("that is the directory");
        assert_eq!(row::delivery_of(below), Some(delivery), "{text:?}");
    }
}

/// What a fetch finds.
struct Web(BTreeMap<String, Vec<u8>>);

impl Web {
    fn of(pages: &[(&str, &[u8])]) -> Self {
        Self(
            pages
                .iter()
                .map(|(url, bytes)| ((*url).to_owned(), bytes.to_vec()))
                .collect(),
        )
    }
}

impl Fetch for Web {
    fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        let found = self.0.get(url).cloned();
        found.ok_or_else(|| "HTTP 404".to_owned())
    }
}

thread_local! {
    /// Pages and Markdown are read from disk: one directory a thread, made once.
    static REPOSITORY: OnceCell<TempDir> = const { OnceCell::new() };
}

/// Writes a file into a repository that holds nothing else of its kind.
fn with_file<T>(path: &str, bytes: &[u8], work: impl FnOnce(&Path) -> T) -> T {
    REPOSITORY.with(|directory| {
        let directory = directory.get_or_init(|| {
            let shared_memory = Path::new("/dev/shm");
            if shared_memory.is_dir() {
                tempfile::tempdir_in(shared_memory)
            } else {
                tempfile::tempdir()
            }
            .expect("a temporary directory can be made")
        });
        let file = directory.path().join(path);
        if !file.exists() {
            let parent = file.parent().expect("it has a directory");
            fs::create_dir_all(parent).expect("a directory can be made");
        }
        fs::write(&file, bytes).expect("the file can be written");
        work(directory.path())
    })
}

fn site() -> Site {
    Site {
        url: "https://blog.example/".parse().expect("that is a URL"),
        feed: None,
        pages: None,
        sitemap: None,
        markdown: None,
        manifest: None,
        timezone: chrono_tz::Europe::Berlin,
        since: None,
        permalink: None,
        first_run_max: 5,
        max_new: 5,
        wait_live: Duration::ZERO,
        overdue: Duration::from_hours(24),
        enabled: true,
    }
}
