//! Markdown sources: bodies, front matter, and what names a file's article (slug, date, permalink).

use std::collections::BTreeSet;
use std::path::Path;

use chrono::NaiveDate;
use chrono_tz::Tz;
use url::Url;

use crate::model::ids::ChannelName;
use crate::model::item::{Body, FrontMatter, ItemSettings};
use crate::model::time::Timestamp;

use super::dates::{self, DateField};
use super::fields::{
    Separator, field, flag, image, list_field, names, nested, plain_field, text_field,
};
use super::files::{self, FILES_MAX};
use super::front_matter::{self, Document};
use super::languages::{self, Languages};
use super::page::absolute;
use super::patterns;
use super::permalink;
use super::settings::{self, AuthorSays};
use super::text::{collapse, showable_fields};
use super::{Context, SourceError};

/// No article is longer; a larger file is something else with the same extension.
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Files whose text is Markdown. MDX is not: it holds code that other services would show.
const MARKDOWN_EXTENSIONS: [&str; 5] = ["md", "markdown", "mkd", "mkdn", "mdown"];
/// The endings that one site mixes.
const COMMON_ENDINGS: [&str; 3] = ["md", "markdown", "mdx"];
/// Files that have front matter and another kind of text.
const OTHER_EXTENSIONS: [&str; 3] = ["mdx", "html", "htm"];

/// The dates of publication, first the article's own.
const PUBLISHED: [&str; 4] = ["date", "pubDate", "publishDate", "published_at"];

/// A file, read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MarkdownFile {
    /// Relative to the repository's top, with `/` between segments.
    pub(super) path: String,
    /// Its path without extension and language, which all languages of one article share.
    pub(super) stem: String,
    /// The language in its name, in lower case.
    pub(super) language: Option<String>,
    /// The names that its article's address may end in; the first is the one that `site.permalink` takes.
    pub(super) slugs: Vec<String>,
    /// The names in its path, whatever its front matter says.
    pub(super) path_names: Vec<String>,
    /// The day in its name, as Jekyll's posts have it.
    pub(super) name_date: Option<NaiveDate>,
    /// What it holds, or what is wrong with it: then its article is left out, since the author may have said so.
    pub(super) parsed: Result<Parsed, String>,
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Parsed {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) published: DateField,
    /// The date of publication beside the article's own, as Hugo has it.
    pub(super) online_from: Option<Timestamp>,
    /// From when on it is online no more.
    pub(super) online_until: Option<Timestamp>,
    pub(super) updated: Option<Timestamp>,
    pub(super) authors: Vec<String>,
    pub(super) tags: Vec<String>,
    pub(super) categories: Vec<String>,
    /// Absolute.
    pub(super) aliases: Vec<String>,
    /// Relative to the article, as Hugo's are without a `/` in front.
    pub(super) relative_aliases: Vec<String>,
    pub(super) language: Option<String>,
    pub(super) series: Option<String>,
    /// May be relative to the article.
    pub(super) image: Option<String>,
    pub(super) is_draft: bool,
    /// `canonical_url`, absolute.
    pub(super) canonical: Option<String>,
    /// `permalink` and its relatives, absolute.
    pub(super) permalink: Option<String>,
    /// `permalink`, if it is to be filled in.
    pub(super) permalink_pattern: Option<String>,
    pub(super) author_says: Option<AuthorSays>,
    /// All fields.
    pub(super) front_matter: FrontMatter,
    /// None where the file's text is not Markdown.
    pub(super) body: Option<Body>,
}

impl MarkdownFile {
    /// Returns the day that the file gives its article.
    pub(super) fn day(&self, timezone: Tz) -> Option<NaiveDate> {
        self.parsed
            .as_ref()
            .ok()
            .and_then(|parsed| parsed.published.at())
            .map(|time| dates::day(time, timezone))
            .or(self.name_date)
    }

    /// Returns what the address of this file's article may end in, as the different generators write it.
    pub(super) fn slug_forms(&self) -> BTreeSet<String> {
        self.slugs
            .iter()
            .flat_map(|slug| [slug.clone(), slug.to_lowercase(), slugify(slug)])
            .filter(|form| !form.is_empty())
            .collect()
    }

    /// Puts the name with all its dots before the one without what looks like a language.
    fn take_name_literally(&mut self) {
        let is_own_slug = self.slugs != self.path_names;
        self.path_names.rotate_right(1);
        if !is_own_slug {
            self.slugs.clone_from(&self.path_names);
        }
    }

    /// Whether no article is to be expected yet: a draft, or dated in the future.
    pub(super) fn is_yet_to_come(&self, now: Timestamp) -> bool {
        self.parsed.as_ref().is_ok_and(|parsed| {
            let mut dates = parsed.published.at().into_iter().chain(parsed.online_from);
            parsed.is_draft || dates.any(|date| date > now)
        })
    }

    /// Returns its date as it is written, if nothing can be made of it and its name has none.
    pub(super) fn unreadable_date(&self) -> Option<&str> {
        match &self.parsed.as_ref().ok()?.published {
            DateField::Unreadable(text) if self.name_date.is_none() => Some(text),
            DateField::Unreadable(_) | DateField::Missing | DateField::At(_) => None,
        }
    }

    /// Whether its author says that it is not to be announced.
    pub(super) fn wish_is_silence(&self) -> bool {
        self.parsed
            .as_ref()
            .is_ok_and(|parsed| parsed.is_draft || parsed.author_says == Some(AuthorSays::Exclude))
    }

    /// Returns what its author says of its announcement, in words; none if nothing. Who knows what a file says that
    /// can't be read.
    pub(super) fn wish(&self) -> Option<&'static str> {
        let Ok(parsed) = &self.parsed else {
            return Some("it can't be read");
        };
        match &parsed.author_says {
            Some(AuthorSays::Exclude) => Some("it has `sayonce: false`"),
            _ if parsed.is_draft => Some("it is a draft"),
            Some(AuthorSays::Announce(settings)) if *settings != ItemSettings::default() => {
                Some("it has `sayonce` settings")
            }
            Some(AuthorSays::Announce(_)) | None => None,
        }
    }
}

/// Reads all files that `pattern` names.
pub(super) fn read_all(
    context: &Context<'_>,
    pattern: &str,
) -> Result<Vec<MarkdownFile>, SourceError> {
    let bad_pattern = |reason: String| SourceError::BadPattern {
        pattern: pattern.to_owned(),
        reason,
    };
    let mut paths = BTreeSet::new();
    for plain in patterns::expand(pattern, context.repo) {
        let found = find(context, &plain).map_err(|error| bad_pattern(error.msg.to_owned()))?;
        for path in found {
            paths.insert(path.map_err(unreadable)?);
        }
    }
    let mut files = Vec::new();
    for path in paths {
        let Some(shown) = shown_path(&path, context.repo) else {
            continue;
        };
        let is_source = files::has_extension(&shown, &MARKDOWN_EXTENSIONS)
            || files::has_extension(&shown, &OTHER_EXTENSIONS);
        if !is_source || is_section(&shown) || !path.is_file() {
            continue;
        }
        if files.len() == FILES_MAX {
            return Err(SourceError::TooManyFiles {
                key: "markdown",
                path: pattern.to_owned(),
                limit: FILES_MAX,
            });
        }
        files.push(read_file(context, &path, shown));
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let variants = Languages::new(&files);
    for file in &mut files {
        // `moving-to-fly.io.md` is in no language.
        let is_known = file.language.as_deref().map(languages::is_known);
        if is_known.is_some_and(|is_known| !is_known || !variants.is_translation(file)) {
            file.take_name_literally();
        }
    }
    Ok(files)
}

/// Says which files beside those of `pattern` look like articles and have another ending; none if there are none.
pub(super) fn left_beside(
    context: &Context<'_>,
    pattern: &str,
    files: &[MarkdownFile],
) -> Option<String> {
    let plain = patterns::expand(pattern, context.repo);
    let others = plain
        .iter()
        .flat_map(|plain| patterns::with_other_endings(plain, &COMMON_ENDINGS));
    let found = others.flat_map(|other| find(context, &other).into_iter().flatten().flatten());
    let shown: BTreeSet<String> = found
        .filter(|path| path.is_file())
        .filter_map(|path| shown_path(&path, context.repo))
        .filter(|shown| !is_section(shown) && files.iter().all(|file| file.path != *shown))
        .collect();
    let first = shown.first()?;
    let count = match shown.len() {
        1 => "a file that has".to_owned(),
        count => format!("{count} files that have"),
    };
    Some(format!(
        "`site.markdown` leaves out {count} another ending, `{first}`: `{{md,markdown,mdx}}` in place of the ending takes in all three"
    ))
}

fn find(context: &Context<'_>, plain: &str) -> Result<glob::Paths, glob::PatternError> {
    let top = glob::Pattern::escape(&context.repo.to_string_lossy());
    let options = glob::MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: true,
    };
    glob::glob_with(&format!("{top}/{plain}"), options)
}

fn unreadable(error: glob::GlobError) -> SourceError {
    SourceError::Unreadable {
        key: "markdown",
        path: error.path().display().to_string(),
        cause: error.into(),
    }
}

/// Returns the last segment of an article's address, decoded, without `.html` or `.htm`: what a slug is compared with.
pub(super) fn last_segment(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let mut segments: Vec<&str> = url
        .path()
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    if matches!(segments.last(), Some(&"index.html" | &"index.htm")) {
        segments.pop();
    }
    let last = segments.pop()?;
    let decoded = percent_encoding::percent_decode_str(last)
        .decode_utf8()
        .ok()?;
    let without_extension = [".html", ".htm"]
        .iter()
        .find_map(|extension| decoded.strip_suffix(extension));
    Some(without_extension.unwrap_or(&decoded).to_owned())
}

/// Makes a name into what most generators put into an address: lower case, `-` between words.
pub(super) fn slugify(name: &str) -> String {
    name.to_lowercase()
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

fn shown_path(path: &Path, repo: &Path) -> Option<String> {
    let relative = path.strip_prefix(repo).unwrap_or(path);
    Some(relative.to_str()?.replace(std::path::MAIN_SEPARATOR, "/"))
}

/// Hugo and Zola describe a section, not an article, in `_index.md`.
fn is_section(path: &str) -> bool {
    path.rsplit('/')
        .next()
        .is_some_and(|name| name.starts_with("_index."))
}

fn read_file(context: &Context<'_>, path: &Path, shown: String) -> MarkdownFile {
    let (stem, language) = languages::split(&shown);
    let (stem, whole) = (stem.to_owned(), whole_name(stem));
    let (name, name_date) = name_and_date(whole);
    // Not every generator takes a date, or a language, from the name.
    let mut path_names = vec![name];
    path_names.push(whole.to_owned());
    if language.is_some() {
        let literal = whole_name(without_extension(&shown));
        path_names.push(literal.to_owned());
    }
    let mut slugs = path_names.clone();
    let parsed = read_text(path)
        .map_err(|reason| format!("{shown}: {reason}"))
        .and_then(|text| {
            let document = front_matter::parse(&text)
                .map_err(|error| at_line(&shown, error.line, &error.message))?;
            // A slug of its own takes the place of the file's name.
            if let Some(slug) = text_field(&document.fields, &["slug"]) {
                let last = slug.trim_end_matches('/').rsplit('/').next();
                let last = last.filter(|last| *last != slug).map(str::to_owned);
                slugs = std::iter::once(slug).chain(last).collect();
            }
            read_parsed(context, &shown, &document)
        });
    MarkdownFile {
        path: shown,
        stem,
        language,
        slugs,
        path_names,
        name_date,
        parsed,
    }
}

fn read_text(path: &Path) -> Result<String, String> {
    let length = std::fs::metadata(path)
        .map_err(|error| error.to_string())?
        .len();
    if length > FILE_BYTES_MAX {
        return Err(format!(
            "it is larger than {FILE_BYTES_MAX} bytes, so it is not read"
        ));
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_not_utf8| "it is not UTF-8".to_owned())
}

/// Splits a name into slug and date: `2026-01-02-hello`.
fn name_and_date(name: &str) -> (String, Option<NaiveDate>) {
    let mut parts = name.splitn(4, '-');
    let (year, month, day, slug) = (parts.next(), parts.next(), parts.next(), parts.next());
    let date = match (year, month, day) {
        (Some(year), Some(month), Some(day)) if year.len() == 4 => {
            NaiveDate::parse_from_str(&format!("{year}-{month}-{day}"), "%Y-%m-%d").ok()
        }
        _ => None,
    };
    match (date, slug) {
        (Some(date), Some(slug)) if !slug.is_empty() => (slug.to_owned(), Some(date)),
        _ => (name.to_owned(), None),
    }
}

/// Returns the name that a path without extension gives an article: its last segment, or the directory whose index it
/// is.
fn whole_name(path: &str) -> &str {
    let mut segments = path.rsplit('/');
    let stem = segments.next().unwrap_or_default();
    if stem == "index" || stem.eq_ignore_ascii_case("readme") {
        segments.next().unwrap_or(stem)
    } else {
        stem
    }
}

fn without_extension(path: &str) -> &str {
    path.rsplit_once('.')
        .map_or(path, |(stem, _extension)| stem)
}

fn read_parsed(
    context: &Context<'_>,
    shown: &str,
    document: &Document<'_>,
) -> Result<Parsed, String> {
    let fields = &document.fields;
    let timezone = context.site.timezone;
    let date = |keys: &[&str]| {
        text_field(fields, keys).map_or(DateField::Missing, |text| DateField::read(&text, timezone))
    };
    let published = date(&PUBLISHED);
    let online_from = PUBLISHED
        .iter()
        .map(|key| date(&[*key]))
        .filter(|date| *date != DateField::Missing)
        .skip(1)
        .filter_map(|date| date.at())
        .max();
    let aliases = list_field(fields, &["aliases", "redirect_from"], Separator::None);
    // Zola's, and those of Jekyll's plugin, start at the root.
    let (relative_aliases, aliases): (Vec<String>, Vec<String>) =
        aliases.into_iter().partition(|alias| {
            let is_relative = !alias.starts_with('/') && !alias.contains("://");
            is_relative && field(fields, "redirect_from").is_none() && is_hugo(context.repo)
        });
    let permalink = text_field(fields, &["permalink", "url", "path"]);
    let is_markdown = files::has_extension(shown, &MARKDOWN_EXTENSIONS);
    let body = document.body.trim_start_matches(['\r', '\n']);
    Ok(Parsed {
        title: plain_field(fields, &["title"]),
        description: plain_field(fields, &["description", "summary", "excerpt"]),
        published,
        online_from,
        online_until: date(&["expiryDate", "unpublishDate"]).at(),
        updated: date(&["updated", "lastmod", "last_modified_at", "updatedDate"]).at(),
        authors: list_field(fields, &["authors", "author"], Separator::Comma),
        tags: nested(fields, &["taxonomies", "tags"]).map_or_else(
            || list_field(fields, &["tags", "tag"], Separator::CommaOrSpace),
            |value| names(value, Separator::Comma),
        ),
        categories: list_field(fields, &["categories", "category"], Separator::CommaOrSpace),
        aliases: aliases
            .iter()
            .filter_map(|alias| below_site(alias, &context.site.url))
            .collect(),
        relative_aliases,
        language: plain_field(fields, &["lang", "language"]),
        // Hugo has a list of them, of which a service takes one.
        series: list_field(fields, &["series"], Separator::None)
            .into_iter()
            .map(|name| collapse(&name))
            .find(|name| !name.is_empty()),
        image: image(fields),
        is_draft: flag(fields, "draft") == Some(true) || flag(fields, "published") == Some(false),
        canonical: text_field(fields, &["canonical_url", "canonicalURL", "canonical"])
            .and_then(|link| below_site(&link, &context.site.url)),
        permalink: permalink
            .as_deref()
            .filter(|link| !permalink::is_pattern(link))
            .and_then(|link| below_site(link, &context.site.url)),
        permalink_pattern: permalink.clone().filter(|link| permalink::is_pattern(link)),
        front_matter: showable_fields(fields.clone()),
        author_says: read_settings(context.known_channels, timezone, shown, document)?,
        body: (is_markdown && !body.trim().is_empty()).then(|| Body::Markdown(body.to_owned())),
    })
}

/// Whether the site is Hugo's, by the names that it alone has (Zola, too, has a `config.toml`).
fn is_hugo(repo: &Path) -> bool {
    [
        "hugo.toml",
        "hugo.yaml",
        "hugo.yml",
        "hugo.json",
        "config.yaml",
        "config/_default",
        "archetypes",
    ]
    .iter()
    .any(|name| repo.join(name).exists())
}

/// Whether a date is one that Eleventy looks up (<https://www.11ty.dev/docs/dates/>): the file has none of its own.
pub(super) fn is_told_by_the_generator(text: &str) -> bool {
    [
        "git Created",
        "git Last Modified",
        "Last Modified",
        "Created",
    ]
    .iter()
    .any(|word| text.trim().eq_ignore_ascii_case(word))
}

/// Reads `sayonce`, which Zola allows below `[extra]` only and Hugo wants below `params`.
fn read_settings(
    known_channels: &BTreeSet<ChannelName>,
    timezone: Tz,
    shown: &str,
    document: &Document<'_>,
) -> Result<Option<AuthorSays>, String> {
    let places: [&[&str]; 3] = [&["sayonce"], &["extra", "sayonce"], &["params", "sayonce"]];
    let said: Vec<_> = places
        .iter()
        .filter_map(|place| Some((place, nested(&document.fields, place)?)))
        .collect();
    // Whoever says in one place that it is not to be announced means it, whatever another place says.
    let silence = said.iter().find(|(_place, value)| **value == false);
    let Some((place, value)) = silence.or(said.first()) else {
        return Ok(None);
    };
    settings::read(value, known_channels, timezone)
        .map(Some)
        .map_err(|error| {
            let path: Vec<&str> = place
                .iter()
                .copied()
                .chain(error.path.iter().map(String::as_str))
                .collect();
            let line = front_matter::line_of(document.header, document.header_line, &path);
            at_line(shown, line, &error.message)
        })
}

fn at_line(shown: &str, line: Option<usize>, message: &str) -> String {
    match line {
        Some(line) => format!("{shown}:{line}: {message}"),
        None => format!("{shown}: {message}"),
    }
}

/// A path in front matter starts at the site's root, with or without a `/` in front.
fn below_site(link: &str, site: &Url) -> Option<String> {
    if link.contains("://") {
        return absolute(link, site);
    }
    let path = link.trim_start_matches('/');
    if path.is_empty() {
        return Some(site.to_string());
    }
    absolute(path, site)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_name_gives_slug_and_date() {
        let check = |path: &str| {
            let (slug, date) = name_and_date(whole_name(without_extension(path)));
            match date {
                Some(date) => format!("{slug} on {date}"),
                None => slug,
            }
        };
        assert_eq!(
            check("_posts/2026-01-02-hello-world.md"),
            "hello-world on 2026-01-02"
        );
        assert_eq!(
            check("_posts/2026-1-2-hello.markdown"),
            "hello on 2026-01-02"
        );
        assert_eq!(check("content/posts/hello/index.md"), "hello");
        assert_eq!(
            check("content/2026-01-02-hello/index.md"),
            "hello on 2026-01-02"
        );
        assert_eq!(check("Rust-1.88.0.md"), "Rust-1.88.0");
        assert_eq!(check("2026-13-02-x.md"), "2026-13-02-x");
        assert_eq!(check("2026-01-02.md"), "2026-01-02");
        assert_eq!(check("index.md"), "index");
        assert_eq!(check("content/hello/README.md"), "hello");
        assert_eq!(check("README.md"), "README");
    }

    #[test]
    fn slugs_are_compared_as_generators_write_them() {
        let check = |slug: &str, url: &str| {
            let file = MarkdownFile {
                path: String::new(),
                stem: String::new(),
                language: None,
                slugs: vec![slug.to_owned()],
                path_names: Vec::new(),
                name_date: None,
                parsed: Ok(Parsed::default()),
            };
            last_segment(url).is_some_and(|segment| file.slug_forms().contains(&segment))
        };
        assert!(check("hello", "https://blog.example/2026/hello/"));
        assert!(check("hello", "https://blog.example/2026/hello.html"));
        assert!(check("hello", "https://blog.example/2026/hello.htm"));
        assert!(check("hello", "https://blog.example/hello/index.html#top"));
        assert!(check("Rust-1.88.0", "https://blog.example/Rust-1.88.0/"));
        assert!(check("Rust-1.88.0", "https://blog.example/rust-1-88-0/"));
        assert!(check("Rust-1.88.0", "https://blog.example/rust-1.88.0/"));
        assert!(check("Grüße", "https://blog.example/gr%C3%BC%C3%9Fe/"));
        assert!(!check("hello", "https://blog.example/hello-world/"));
        assert!(!check("hello", "https://blog.example/hello/more/"));
        assert!(!check("hello", "https://blog.example/"));
    }
}
