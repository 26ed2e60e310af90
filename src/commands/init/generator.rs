//! Which generator a site is built with, by its files, and where that puts its feed.

use std::path::{Path, PathBuf};

use serde_json::Value;
use url::Url;

/// A configuration file above this is none.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// A site generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generator {
    Jekyll,
    Hugo,
    Zola,
    Astro,
    Eleventy,
}

/// What is known of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// None: not recognised.
    pub(super) generator: Option<Generator>,
    /// The site's address, where the generator's configuration tells it.
    pub(super) url: Option<String>,
    /// Where the built feed is, or is expected.
    pub(super) feed: String,
    pub(super) feed_is_there: bool,
    /// The directory of the built pages.
    pub(super) pages: String,
    /// The articles' sources.
    pub(super) markdown: Option<String>,
    pub(super) timezone: Option<String>,
}

impl Generator {
    const ALL: [Self; 5] = [
        Self::Jekyll,
        Self::Zola,
        Self::Hugo,
        Self::Astro,
        Self::Eleventy,
    ];

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Jekyll => "Jekyll",
            Self::Hugo => "Hugo",
            Self::Zola => "Zola",
            Self::Astro => "Astro",
            Self::Eleventy => "Eleventy",
        }
    }

    /// The files that its own configuration may be.
    const fn configurations(self) -> &'static [&'static str] {
        match self {
            Self::Jekyll => &["_config.yml", "_config.yaml", "_config.toml"],
            Self::Hugo => &[
                "hugo.toml",
                "hugo.yaml",
                "hugo.yml",
                "hugo.json",
                "config/_default/hugo.toml",
                "config/_default/hugo.yaml",
                "config/_default/config.toml",
                "config/_default/config.yaml",
                "config.toml",
                "config.yaml",
                "config.yml",
            ],
            Self::Zola => &["zola.toml", "config.toml"],
            Self::Astro => &[
                "astro.config.mjs",
                "astro.config.js",
                "astro.config.ts",
                "astro.config.mts",
            ],
            Self::Eleventy => &[
                "eleventy.config.js",
                "eleventy.config.mjs",
                "eleventy.config.cjs",
                ".eleventy.js",
            ],
        }
    }

    /// The key of the site's address; a file that others use too is its own only with it.
    const fn url_key(self) -> &'static str {
        match self {
            Self::Jekyll => "url",
            Self::Hugo => "baseURL",
            Self::Zola => "base_url",
            Self::Astro => "site",
            Self::Eleventy => "homepage",
        }
    }

    const fn pages(self) -> &'static str {
        match self {
            Self::Jekyll | Self::Eleventy => "_site",
            Self::Hugo | Self::Zola => "public",
            Self::Astro => "dist",
        }
    }

    /// The names of its feed below the pages, the usual one first.
    const fn feeds(self) -> &'static [&'static str] {
        match self {
            Self::Jekyll => &["feed.xml", "atom.xml", "rss.xml", "feed.json"],
            Self::Hugo => &["index.xml", "feed.xml", "atom.xml", "feed.json"],
            Self::Zola => &["atom.xml", "rss.xml", "feed.xml"],
            Self::Astro => &["rss.xml", "feed.xml", "atom.xml", "index.xml"],
            Self::Eleventy => &[
                "feed/feed.xml",
                "feed.xml",
                "rss.xml",
                "atom.xml",
                "feed.json",
            ],
        }
    }

    /// The endings of its articles' files.
    const fn endings(self) -> &'static str {
        match self {
            Self::Jekyll => "{md,markdown}",
            Self::Astro => "{md,mdx}",
            Self::Hugo | Self::Zola | Self::Eleventy => "md",
        }
    }

    /// The directories that its articles may be in, the likeliest first.
    const fn sources(self) -> &'static [&'static str] {
        match self {
            Self::Jekyll => &["_posts"],
            Self::Hugo | Self::Zola => &["content"],
            Self::Astro => &["src/content", "src/data", "src/pages"],
            Self::Eleventy => &["content", "posts", "src/posts", "src"],
        }
    }
}

/// Looks at the files of the site at `top`.
pub(super) fn find(top: &Path) -> Found {
    let known = Generator::ALL.into_iter().find_map(|generator| {
        let own = own_configuration(generator, top)?;
        Some((generator, own))
    });
    let generator = known.as_ref().map(|(generator, _)| *generator);
    let own = known.as_ref().map(|(_, own)| own);
    let like = generator.unwrap_or(Generator::Jekyll);
    let pages = like.pages();
    let feeds = like.feeds();
    let own_feeds = own.map(Own::feeds).unwrap_or_default();
    let feeds: Vec<&str> = own_feeds
        .iter()
        .map(String::as_str)
        .chain(feeds.iter().copied())
        .collect();
    let there = feeds
        .iter()
        .find(|name| top.join(pages).join(name).is_file());
    let name = there.or(feeds.first()).copied().unwrap_or("feed.xml");
    let sources = like.sources().iter();
    Found {
        generator,
        url: own.and_then(|own| own.url(like, top)),
        feed: format!("{pages}/{name}"),
        feed_is_there: there.is_some(),
        pages: pages.to_owned(),
        markdown: sources
            .copied()
            .find(|directory| top.join(directory).is_dir())
            .map(|directory| format!("{directory}/**/*.{}", like.endings())),
        timezone: own.and_then(Own::timezone),
    }
}

/// A generator's configuration, as far as it can be read.
#[derive(Clone, Debug)]
enum Own {
    Data(Value),
    /// A program; nothing of it is run.
    Code(String),
}

fn own_configuration(generator: Generator, top: &Path) -> Option<Own> {
    let mut files = generator.configurations().iter();
    files.find_map(|name| {
        let own = read(&top.join(name))?;
        let is_shared = name.starts_with("config.");
        let is_its_own = match &own {
            Own::Data(value) => get(value, generator.url_key()).is_some(),
            Own::Code(_) => true,
        };
        (!is_shared || is_its_own).then_some(own)
    })
}

fn read(path: &PathBuf) -> Option<Own> {
    let is_small = path.metadata().ok()?.len() <= FILE_BYTES_MAX;
    let text = is_small.then(|| std::fs::read_to_string(path).ok())??;
    let nothing = || Value::Object(serde_json::Map::new());
    let data = match path.extension()?.to_str()? {
        // Broken or not, the file says which generator it is.
        "toml" => toml::from_str(&text).unwrap_or_else(|_broken| nothing()),
        "yml" | "yaml" => serde_saphyr::from_str(&text).unwrap_or_else(|_broken| nothing()),
        "json" => serde_json::from_str(&text).unwrap_or_else(|_broken| nothing()),
        _ => return Some(Own::Code(text)),
    };
    Some(Own::Data(data))
}

/// Hugo's keys are taken in any case.
fn get<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    let fields = value.as_object()?;
    let found = fields
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(key));
    found?.1.as_str()
}

impl Own {
    fn url(&self, generator: Generator, top: &Path) -> Option<String> {
        let key = generator.url_key();
        let url = match self {
            Self::Data(value) => {
                let below = match generator {
                    Generator::Jekyll => get(value, "baseurl").unwrap_or_default(),
                    Generator::Hugo | Generator::Zola | Generator::Astro | Generator::Eleventy => {
                        ""
                    }
                };
                format!("{}{below}", get(value, key)?)
            }
            Self::Code(text) => match generator {
                Generator::Eleventy => match read(&top.join("package.json"))? {
                    Self::Data(package) => get(&package, key)?.to_owned(),
                    Self::Code(_) => return None,
                },
                Generator::Jekyll | Generator::Hugo | Generator::Zola | Generator::Astro => {
                    assigned(text, key)?
                }
            },
        };
        let parsed = Url::parse(&url).ok()?;
        let is_site = matches!(parsed.scheme(), "http" | "https") && parsed.host().is_some();
        is_site.then_some(url)
    }

    /// Zola's feeds, which its configuration names.
    fn feeds(&self) -> Vec<String> {
        let names = match self {
            Self::Data(value) => value.get("feed_filenames").and_then(Value::as_array),
            Self::Code(_) => None,
        };
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    }

    fn timezone(&self) -> Option<String> {
        match self {
            Self::Data(value) => {
                let zone = get(value, "timezone")?;
                let is_known = zone.parse::<chrono_tz::Tz>().is_ok();
                is_known.then(|| zone.to_owned())
            }
            Self::Code(_) => None,
        }
    }
}

/// Returns the text that a program's line gives a key: `site: "https://blog.example",`.
fn assigned(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let after = line.trim_start().strip_prefix(key)?;
        let after = after.trim_start().strip_prefix([':', '='])?.trim_start();
        let quote = after
            .chars()
            .next()
            .filter(|first| "\"'`".contains(*first))?;
        let value = after.trim_start_matches(quote).split(quote).next()?;
        Some(value.to_owned())
    })
}
