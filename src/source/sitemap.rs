//! Sitemaps and sitemap indexes: addresses, and when each page last changed.

use chrono_tz::Tz;
use quick_xml::Reader;
use quick_xml::encoding::DecodingReader;
use quick_xml::events::Event;

use super::dates::DateField;
use super::listed::Listed;
use super::text::decode_entities;

/// What the protocol lets one file have, of pages as of sitemaps. <https://www.sitemaps.org/protocol.html>
const ENTRIES_MAX: usize = 50_000;

/// What a sitemap file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sitemap {
    /// Pages.
    Pages(Vec<Listed>),
    /// Addresses of further sitemaps.
    Index(Vec<String>),
}

/// Reads a sitemap. `place` names it for people.
pub(super) fn read(bytes: &[u8], place: &str, timezone: Tz) -> Result<Sitemap, String> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(
            "it is compressed, which is not supported; name the file without `.gz`".to_owned(),
        );
    }
    let mut reader = Reader::from_reader(DecodingReader::new(bytes));
    let mut buffer = Vec::new();
    let mut kind: Option<Kind> = None;
    let mut text = String::new();
    let mut path: Vec<String> = Vec::new();
    let mut listed: Vec<Listed> = Vec::new();
    loop {
        buffer.clear();
        let event = reader
            .read_event_into(&mut buffer)
            .map_err(|error| error.to_string())?;
        match event {
            Event::Decl(declaration) => {
                if let Some(encoding) = declaration.encoder() {
                    reader.get_mut().set_encoding(encoding);
                }
            }
            Event::Start(start) => {
                let name = start.local_name().as_ref().to_owned();
                if path.is_empty() {
                    kind = Some(Kind::of(&name)?);
                } else if path.len() == 1 {
                    if listed.len() == ENTRIES_MAX {
                        return Err(format!(
                            "it has more than {ENTRIES_MAX} entries, which the protocol does not allow"
                        ));
                    }
                    listed.push(Listed::default());
                }
                path.push(name);
                text.clear();
            }
            Event::Text(piece) => text.push_str(&piece),
            Event::CData(piece) => text.push_str(&piece),
            Event::GeneralRef(reference) => {
                text.push_str(&decode_entities(&format!("&{};", &*reference)));
            }
            Event::End(_) => {
                let name = path.pop().unwrap_or_default();
                // Deeper ones are pictures and other extensions.
                if let (2, Some(entry)) = (path.len(), listed.last_mut()) {
                    match name.as_str() {
                        "loc" => entry.url = Some(text.trim().to_owned()),
                        "lastmod" => entry.updated = DateField::read(&text, timezone).at(),
                        _ => {}
                    }
                }
                text.clear();
            }
            Event::Eof => break,
            Event::Empty(_) | Event::Comment(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
    if !path.is_empty() {
        return Err("it breaks off before its end".to_owned());
    }
    listed.retain(|entry| entry.url.is_some());
    for (index, entry) in listed.iter_mut().enumerate() {
        entry.place = format!("{place}, entry {}", index + 1);
    }
    match kind {
        Some(Kind::Pages) => Ok(Sitemap::Pages(listed)),
        Some(Kind::Index) => Ok(Sitemap::Index(
            listed.into_iter().filter_map(|entry| entry.url).collect(),
        )),
        None => Err("it is empty".to_owned()),
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Pages,
    Index,
}

impl Kind {
    fn of(root: &str) -> Result<Self, String> {
        match root {
            "urlset" => Ok(Self::Pages),
            "sitemapindex" => Ok(Self::Index),
            other => Err(format!(
                "it begins with `<{other}>`, where a sitemap has `<urlset>` or `<sitemapindex>`"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        match read(text.as_bytes(), "sitemap.xml", Tz::UTC) {
            Ok(Sitemap::Pages(pages)) => pages
                .iter()
                .map(|page| {
                    let updated = page.updated.map(|time| time.to_string());
                    format!("{} {updated:?}", page.url.as_deref().unwrap_or_default())
                })
                .collect::<Vec<_>>()
                .join(", "),
            Ok(Sitemap::Index(urls)) => format!("index of {}", urls.join(", ")),
            Err(error) => error,
        }
    }

    #[test]
    fn sitemaps_and_indexes_are_read() {
        assert_eq!(
            check(
                "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\n<url><loc>\n https://blog.example/?a=1&amp;b=2 </loc><lastmod>2026-01-02</lastmod><image:image xmlns:image='x'><image:loc>https://blog.example/a.png</image:loc></image:image></url><url><loc>https://blog.example/b/</loc><lastmod>soon</lastmod></url><url/></urlset>"
            ),
            "https://blog.example/?a=1&b=2 Some(\"2026-01-02T00:00:00.000Z\"), https://blog.example/b/ None"
        );
        assert_eq!(
            check(
                "<sitemapindex><sitemap><loc>https://blog.example/s1.xml</loc></sitemap></sitemapindex>"
            ),
            "index of https://blog.example/s1.xml"
        );
    }

    #[test]
    fn what_is_no_sitemap_is_refused() {
        assert_eq!(
            check("<html><body></body></html>"),
            "it begins with `<html>`, where a sitemap has `<urlset>` or `<sitemapindex>`"
        );
        assert_eq!(check("<urlset><url>"), "it breaks off before its end");
        assert_eq!(check(""), "it is empty");
        let urls = |count| format!("<urlset>{}</urlset>", "<url></url>".repeat(count));
        assert_eq!(check(&urls(ENTRIES_MAX)), "");
        assert_eq!(
            check(&urls(ENTRIES_MAX + 1)),
            "it has more than 50000 entries, which the protocol does not allow"
        );
        assert_eq!(
            read(&[0x1f, 0x8b, 8], "sitemap.xml.gz", Tz::UTC),
            Err("it is compressed, which is not supported; name the file without `.gz`".to_owned())
        );
    }
}
