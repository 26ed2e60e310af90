//! Built pages: what the head of an article's HTML says.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use chrono_tz::Tz;
use lol_html::{HtmlRewriter, Settings, element, text};
use percent_encoding::percent_decode_str;
use url::Url;

use super::SourceError;
use super::dates::DateField;
use super::files;
use super::text::{collapse, decode_entities, showable_link};

/// A page's head ends long before this; what comes later (a page without `<body>`) is not read.
const HEAD_BYTES_MAX: usize = 1024 * 1024;
/// How much is read before looking whether the head has ended.
const CHUNK_BYTES: usize = 16 * 1024;

/// The directory of built pages.
#[derive(Debug)]
pub(super) struct Pages<'a> {
    root: PathBuf,
    shown: &'a str,
    site: &'a Url,
    timezone: Tz,
}

/// What a page's head says. Texts are plain, entities decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PageHead {
    /// The file, for people.
    pub(super) place: String,
    /// Where it is online, by its place among the pages.
    pub(super) address: String,
    /// `<link rel="canonical">`, as the page writes it, made absolute.
    pub(super) canonical: Option<String>,
    /// `og:title`, else `<title>`.
    pub(super) title: Option<String>,
    /// `og:description`, else the description.
    pub(super) description: Option<String>,
    /// `og:image`, absolute.
    pub(super) image: Option<String>,
    /// `<html lang>`, else `og:locale`.
    pub(super) language: Option<String>,
    /// `article:published_time`.
    pub(super) published: DateField,
    /// `article:modified_time`.
    pub(super) modified: DateField,
    /// `article:tag`.
    pub(super) tags: Vec<String>,
    /// `article:author` where it is a name, else `author`.
    pub(super) authors: Vec<String>,
    /// It says that it is an article.
    pub(super) is_article: bool,
}

impl<'a> Pages<'a> {
    /// Takes a directory; one that is not there is an error: the site was not built.
    pub(super) fn open(
        repo: &Path,
        shown: &'a str,
        site: &'a Url,
        timezone: Tz,
    ) -> Result<Self, SourceError> {
        let root = repo.join(shown);
        let unreadable = |cause| SourceError::Unreadable {
            key: "pages",
            path: shown.to_owned(),
            cause,
        };
        let metadata = std::fs::metadata(&root).map_err(unreadable)?;
        if !metadata.is_dir() {
            return Err(unreadable(std::io::ErrorKind::NotADirectory.into()));
        }
        Ok(Self {
            root,
            shown,
            site,
            timezone,
        })
    }

    /// Reads the head of the page at `url`; none if there is no such page.
    pub(super) fn at(&self, url: &str) -> Option<PageHead> {
        let address = Url::parse(url).ok()?;
        let below = path_below(self.site, &address)?;
        if below.is_empty() && address.query().is_some() {
            // `/?p=12` is no file: the root's page would speak for every article.
            return None;
        }
        let candidates = if below.is_empty() || below.ends_with('/') {
            vec![format!("{below}index.html")]
        } else {
            vec![
                below.clone(),
                format!("{below}.html"),
                format!("{below}/index.html"),
            ]
        };
        candidates
            .iter()
            .filter(|path| files::has_extension(path, &["html", "htm", "xhtml"]))
            .find_map(|path| self.read(path, &address))
    }

    /// Reads every page that says that it is an article, in the order of their paths.
    pub(super) fn articles(&self) -> Result<Vec<PageHead>, SourceError> {
        let paths = files::below(&self.root, "pages", self.shown)?;
        Ok(paths
            .iter()
            .filter(|path| files::has_extension(path, &["html", "htm", "xhtml"]))
            .filter_map(|path| {
                let address = self.site.join(path).ok()?;
                self.read(path, &address)
            })
            .filter(|head| head.is_article)
            .collect())
    }

    fn read(&self, path: &str, address: &Url) -> Option<PageHead> {
        let mut file = File::open(self.root.join(path)).ok()?;
        let mut raw = read_head(&mut file)?;
        let base = &raw.base(address);
        Some(PageHead {
            place: format!("{}/{path}", self.shown.trim_end_matches('/')),
            address: address.to_string(),
            canonical: raw.canonical.and_then(|link| absolute(&link, base)),
            title: raw.og_title.or(raw.title),
            description: raw.og_description.or(raw.description),
            image: raw.image.and_then(|link| absolute(&link, base)),
            language: raw
                .language
                .or(raw.locale.map(|locale| locale.replace('_', "-"))),
            is_article: raw.kind.as_deref() == Some("article") || raw.published.is_some(),
            published: self.date(raw.published),
            modified: self.date(raw.modified),
            tags: raw.tags,
            authors: {
                raw.authors.retain(|author| !author.contains("://"));
                if raw.authors.is_empty() {
                    raw.authors.extend(raw.author);
                }
                raw.authors
            },
        })
    }

    fn date(&self, text: Option<String>) -> DateField {
        text.map_or(DateField::Missing, |text| {
            DateField::read(&text, self.timezone)
        })
    }
}

/// Returns a URL's path below the site's root, percent-decoded; none if it is not below it, or leads out of it.
pub(super) fn path_below(site: &Url, url: &Url) -> Option<String> {
    if url.host_str() != site.host_str() {
        return None;
    }
    let below = url
        .path()
        .strip_prefix(site.path().trim_end_matches('/'))?
        .strip_prefix('/')?;
    let decoded = percent_decode_str(below).decode_utf8().ok()?;
    let leads_out = decoded.contains(['\\', '\0'])
        || decoded
            .split('/')
            .any(|segment| segment == ".." || segment.contains(':'));
    (!leads_out && !decoded.starts_with('/')).then(|| decoded.into_owned())
}

/// Returns a link as it stands if it is absolute, else resolved.
pub(super) fn absolute(link: &str, base: &Url) -> Option<String> {
    let link = link.trim();
    if link.is_empty() {
        return None;
    }
    let url = base.join(link).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https");
    let stands_alone = Url::parse(link).is_ok();
    is_web.then(|| {
        if stands_alone {
            showable_link(link.to_owned())
        } else {
            url.into()
        }
    })
}

/// Returns the canonical link of a page's HTML, made absolute.
pub(super) fn canonical_link(mut html: &[u8], base: &Url) -> Option<String> {
    let head = read_head(&mut html)?;
    let base = head.base(base);
    absolute(&head.canonical?, &base)
}

/// The head's values; the first of each counts.
#[derive(Debug, Default)]
struct RawHead {
    base: Option<String>,
    canonical: Option<String>,
    title: Option<String>,
    og_title: Option<String>,
    description: Option<String>,
    og_description: Option<String>,
    image: Option<String>,
    kind: Option<String>,
    language: Option<String>,
    locale: Option<String>,
    published: Option<String>,
    modified: Option<String>,
    tags: Vec<String>,
    authors: Vec<String>,
    author: Option<String>,
    ended: bool,
}

impl RawHead {
    /// Returns where the page's links start.
    fn base(&self, address: &Url) -> Url {
        self.base
            .as_deref()
            .and_then(|base| address.join(base.trim()).ok())
            .unwrap_or_else(|| address.clone())
    }

    fn meta(&mut self, name: &str, content: &str) {
        let content = collapse(&decode_entities(content));
        if content.is_empty() {
            return;
        }
        let slot = match name.to_ascii_lowercase().as_str() {
            "og:title" => &mut self.og_title,
            "og:description" => &mut self.og_description,
            "description" => &mut self.description,
            "og:image" | "og:image:url" => &mut self.image,
            "og:type" => &mut self.kind,
            "og:locale" => &mut self.locale,
            "article:published_time" => &mut self.published,
            "article:modified_time" => &mut self.modified,
            "author" => &mut self.author,
            "article:tag" => return self.tags.push(content),
            "article:author" => return self.authors.push(content),
            _ => return,
        };
        slot.get_or_insert(content);
    }
}

fn read_head(file: &mut impl Read) -> Option<RawHead> {
    let head = RefCell::new(RawHead::default());
    let title = RefCell::new(String::new());
    let titles = Cell::new(0_usize);
    let settings = Settings::new()
        .with_strict(false)
        .with_adjust_charset_on_meta_tag(true)
        .append_element_content_handler(element!("html[lang]", |html| {
            head.borrow_mut().language = html
                .get_attribute("lang")
                .filter(|language| !language.is_empty());
            Ok(())
        }))
        .append_element_content_handler(element!("link[rel][href]", |link| {
            let rel = link.get_attribute("rel").unwrap_or_default();
            let is_canonical = rel
                .split_ascii_whitespace()
                .any(|word| word.eq_ignore_ascii_case("canonical"));
            if let (true, Some(href)) = (is_canonical, link.get_attribute("href")) {
                head.borrow_mut()
                    .canonical
                    .get_or_insert(decode_entities(&href));
            }
            Ok(())
        }))
        .append_element_content_handler(element!("meta[content]", |meta| {
            let name = meta
                .get_attribute("property")
                .or_else(|| meta.get_attribute("name"));
            if let (Some(name), Some(content)) = (name, meta.get_attribute("content")) {
                head.borrow_mut().meta(&name, &content);
            }
            Ok(())
        }))
        .append_element_content_handler(element!("base[href]", |base| {
            if let Some(href) = base.get_attribute("href") {
                head.borrow_mut().base.get_or_insert(decode_entities(&href));
            }
            Ok(())
        }))
        .append_element_content_handler(element!("title", |_title| {
            titles.set(titles.get() + 1);
            Ok(())
        }))
        .append_element_content_handler(text!("title", |chunk| {
            // A picture (SVG) in the body has a title too, and a page may leave out `<body>`.
            if titles.get() == 1 && !head.borrow().ended {
                title.borrow_mut().push_str(chunk.as_str());
            }
            Ok(())
        }))
        .append_element_content_handler(element!("body", |_body| {
            head.borrow_mut().ended = true;
            Ok(())
        }));
    let mut rewriter = HtmlRewriter::new(settings, |_output: &[u8]| {});
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut read_bytes = 0;
    while read_bytes < HEAD_BYTES_MAX && !head.borrow().ended {
        let length = file.read(&mut chunk).ok()?;
        if length == 0 {
            break;
        }
        read_bytes += length;
        rewriter.write(chunk.get(..length)?).ok()?;
    }
    // Not ended properly: the rest of the page is of no interest.
    drop(rewriter);
    let mut head = head.into_inner();
    let title = collapse(&decode_entities(&title.into_inner()));
    head.title = (!title.is_empty()).then_some(title);
    Some(head)
}
