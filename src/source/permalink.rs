//! The addresses of Markdown files, where nothing but `site.permalink` gives them.
//!
//! `:title` and `:slug` are both the file's slug (its `slug` key, else its name without date), `:filename` its name.

use chrono::Datelike as _;
use chrono_tz::Tz;
use url::Url;

use super::SourceError;
use super::markdown::{MarkdownFile, Parsed, slugify};

/// Returns the address of a file; none if the pattern needs a date and the file has none.
pub(super) fn address(
    pattern: &str,
    file: &MarkdownFile,
    parsed: &Parsed,
    site: &Url,
    timezone: Tz,
) -> Result<Option<String>, SourceError> {
    if let Some(own) = parsed
        .permalink
        .clone()
        .or_else(|| parsed.canonical.clone())
    {
        return Ok(Some(own));
    }
    let mut path = String::new();
    let mut rest = spelled_out(pattern);
    while let Some((before, after)) = rest.split_once(':') {
        path.push_str(before);
        let length = after
            .bytes()
            .take_while(|byte| byte.is_ascii_lowercase() || *byte == b'_')
            .count();
        let (name, tail) = after.split_at(length);
        match value(name, file, parsed, timezone) {
            Ok(value) => path.push_str(&value),
            Err(NoValue::NoDate) => return Ok(None),
            Err(NoValue::Unknown) => {
                return Err(SourceError::BadPermalink {
                    pattern: pattern.to_owned(),
                    name: name.to_owned(),
                });
            }
        }
        rest = tail;
    }
    path.push_str(rest);
    // Without categories `/:categories/` leaves an empty segment.
    while path.contains("//") {
        path = path.replace("//", "/");
    }
    Ok(site
        .join(path.trim_start_matches('/'))
        .ok()
        .map(String::from))
}

/// Jekyll's names for whole patterns.
fn spelled_out(pattern: &str) -> &str {
    match pattern {
        "date" => "/:categories/:year/:month/:day/:title.html",
        "pretty" => "/:categories/:year/:month/:day/:title/",
        "none" => "/:categories/:title.html",
        other => other,
    }
}

/// Why a placeholder has no value.
#[derive(Clone, Copy, Debug)]
enum NoValue {
    NoDate,
    Unknown,
}

fn value(
    name: &str,
    file: &MarkdownFile,
    parsed: &Parsed,
    timezone: Tz,
) -> Result<String, NoValue> {
    let slug = file.slugs.first().map(String::as_str).unwrap_or_default();
    let day = file.day(timezone).ok_or(NoValue::NoDate);
    let of_day = |format: &str| day.map(|day| day.format(format).to_string());
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
        _ => Err(NoValue::Unknown),
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
        match address(pattern, &file, &parsed, &site, Tz::UTC) {
            Ok(Some(url)) => url,
            Ok(None) => "no date".to_owned(),
            Err(error) => error.to_string(),
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
        assert_eq!(
            check("/:section/:slug/", post),
            "`site.permalink` has `:section` in `/:section/:slug/`, which is unknown: it takes :title, :slug, :filename, :categories, :year, :short_year, :month, :i_month, :day, and :i_day"
        );
    }
}
