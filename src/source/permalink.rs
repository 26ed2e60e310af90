//! The addresses of Markdown files that a pattern gives them: `site.permalink`, or a `permalink` of their own.
//!
//! `:title` and `:slug` are both the file's slug (its `slug` key, else its name without date), `:filename` its name.

use chrono::Datelike as _;
use chrono_tz::Tz;
use url::Url;

use super::markdown::{MarkdownFile, Parsed, slugify};

/// Why a pattern gives no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoAddress {
    /// It needs a date, and the file has none that can be read.
    NoDate,
    /// It has a part that this program can't fill in.
    Unknown(String),
}

/// The placeholders, for people.
pub(super) const PLACEHOLDERS: &str =
    ":title, :slug, :filename, :categories, :year, :short_year, :month, :i_month, :day, and :i_day";

/// Whether a permalink in front matter is to be filled in: Jekyll's has placeholders, Eleventy's is a template.
pub(super) fn is_pattern(permalink: &str) -> bool {
    (permalink.contains(':') && !permalink.contains("://")) || is_template(permalink)
}

/// Returns the address of a file after a pattern.
pub(super) fn fill(
    pattern: &str,
    file: &MarkdownFile,
    parsed: &Parsed,
    site: &Url,
    timezone: Tz,
) -> Result<String, NoAddress> {
    if is_template(pattern) {
        return Err(NoAddress::Unknown(pattern.to_owned()));
    }
    let mut path = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once(':') {
        path.push_str(before);
        let length = after
            .bytes()
            .take_while(|byte| byte.is_ascii_lowercase() || *byte == b'_')
            .count();
        let (name, tail) = after.split_at(length);
        path.push_str(&value(name, file, parsed, timezone)?);
        rest = tail;
    }
    path.push_str(rest);
    // Without categories `/:categories/` leaves an empty segment.
    while path.contains("//") {
        path = path.replace("//", "/");
    }
    site.join(path.trim_start_matches('/'))
        .map(String::from)
        .map_err(|_no_address| NoAddress::Unknown(pattern.to_owned()))
}

fn is_template(permalink: &str) -> bool {
    ["{{", "{%", "${"].iter().any(|tag| permalink.contains(tag))
}

/// Jekyll's names for whole patterns.
pub(super) fn spelled_out(pattern: &str) -> &str {
    match pattern {
        "date" => "/:categories/:year/:month/:day/:title.html",
        "pretty" => "/:categories/:year/:month/:day/:title/",
        "none" => "/:categories/:title.html",
        other => other,
    }
}

fn value(
    name: &str,
    file: &MarkdownFile,
    parsed: &Parsed,
    timezone: Tz,
) -> Result<String, NoAddress> {
    let slug = file.slugs.first().map(String::as_str).unwrap_or_default();
    let day = file.day(timezone).ok_or(NoAddress::NoDate);
    let of_day = |format: &str| day.clone().map(|day| day.format(format).to_string());
    match name {
        "title" | "slug" => Ok(slugify(slug)),
        "filename" | "contentbasename" => {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            Ok(name
                .rsplit_once('.')
                .map_or(name, |(stem, _extension)| stem)
                .to_owned())
        }
        "categories" | "category" => Ok(parsed
            .categories
            .iter()
            .map(|category| slugify(category))
            .collect::<Vec<_>>()
            .join("/")),
        "year" => of_day("%Y"),
        "short_year" => of_day("%y"),
        "month" => of_day("%m"),
        "day" => of_day("%d"),
        "i_month" => day.map(|day| day.month().to_string()),
        "i_day" => day.map(|day| day.day().to_string()),
        _ => Err(NoAddress::Unknown(format!(":{name}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, path: &str) -> String {
        let file = MarkdownFile {
            path: path.to_owned(),
            stem: path.to_owned(),
            language: None,
            slugs: vec!["Hello World".to_owned()],
            path_names: Vec::new(),
            name_date: "2026-01-02"
                .parse()
                .ok()
                .filter(|_day| path.contains("2026")),
            parsed: Ok(Parsed::default()),
        };
        let parsed = Parsed {
            categories: vec!["News".to_owned(), "Big News".to_owned()]
                .into_iter()
                .filter(|_name| !path.contains("bare"))
                .collect(),
            ..Parsed::default()
        };
        let site = Url::parse("https://blog.example/sub/").unwrap();
        match fill(spelled_out(pattern), &file, &parsed, &site, Tz::UTC) {
            Ok(url) => url,
            Err(NoAddress::NoDate) => "no date".to_owned(),
            Err(NoAddress::Unknown(part)) => format!("unknown {part}"),
        }
    }

    #[test]
    fn patterns_are_filled_in() {
        let post = "_posts/2026-01-02-Hello World.md";
        assert_eq!(
            check("/:year/:month/:day/:title/", post),
            "https://blog.example/sub/2026/01/02/hello-world/"
        );
        assert_eq!(
            check("pretty", post),
            "https://blog.example/sub/news/big-news/2026/01/02/hello-world/"
        );
        assert_eq!(
            check("date", "_posts/bare-2026.md"),
            "https://blog.example/sub/2026/01/02/hello-world.html"
        );
        assert_eq!(
            check("/b/:i_month-:i_day-:short_year/:filename", post),
            "https://blog.example/sub/b/1-2-26/2026-01-02-Hello%20World"
        );
        assert_eq!(check("/:year/:slug/", "a.md"), "no date");
        assert_eq!(check("/:section/:slug/", post), "unknown :section");
        assert_eq!(
            check("/{{ page.fileSlug }}/", post),
            "unknown /{{ page.fileSlug }}/"
        );
    }
}
