//! What stands in a feed's text that the library normalises away or does not read.

use std::collections::{BTreeMap, BTreeSet};

use quick_xml::Reader;
use quick_xml::encoding::DecodingReader;
use quick_xml::events::{BytesStart, Event};
use serde_json::Value;
use url::Url;

use super::text::decode_entities;

/// What the library normalises away or does not read, taken from the feed's own text.
#[derive(Debug, Default)]
pub(super) struct AsWritten {
    /// Absolute links by their normalised form.
    links: BTreeMap<String, String>,
    /// RSS ids that are addresses.
    pub(super) permalinks: BTreeSet<String>,
    /// The items of a JSON Feed, in their order.
    pub(super) json_items: Vec<JsonItem>,
    /// The entries of an XML feed, in their order.
    xml_entries: Vec<XmlEntry>,
}

#[derive(Debug, Default)]
pub(super) struct JsonItem {
    pub(super) image: Option<String>,
    pub(super) language: Option<String>,
}

/// What an entry of an XML feed says beside what the library reads.
#[derive(Debug, Default)]
pub(super) struct XmlEntry {
    /// Where its content's links start, if `xml:base` says it, there or around it.
    pub(super) base: Option<Url>,
    /// A picture that is called one without a media type; may be relative.
    pub(super) picture: Option<String>,
}

/// The elements around what is read, as far as `xml:base` and entries are concerned.
#[derive(Debug)]
struct Around {
    depth: usize,
    /// The depth at which an entry began.
    entry: Option<usize>,
    /// Each `xml:base` with the depth of its element, outermost first. They resolve against each other.
    bases: Vec<(usize, Url)>,
}

impl Around {
    fn close(&mut self) {
        let depth = self.depth;
        self.bases.retain(|(at, _base)| *at < depth);
        if self.entry == Some(depth) {
            self.entry = None;
        }
        self.depth = depth.saturating_sub(1);
    }

    fn base(&self) -> Option<Url> {
        self.bases.last().map(|(_depth, base)| base.clone())
    }
}

impl AsWritten {
    /// Reads a feed's text. `base` is its own address.
    pub(super) fn scan(bytes: &[u8], base: &Url) -> Self {
        serde_json::from_slice::<Value>(bytes).map_or_else(
            |_not_json| Self::scan_xml(bytes, base),
            |feed| Self::scan_json(&feed),
        )
    }

    fn scan_json(feed: &Value) -> Self {
        let mut written = Self::default();
        for item in feed
            .get("items")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
            for link in ["url", "external_url"].into_iter().filter_map(text) {
                written.add_link(&link);
            }
            written.json_items.push(JsonItem {
                image: text("image").or_else(|| text("banner_image")),
                language: text("language"),
            });
        }
        written
    }

    /// Reads as far as it goes: whether this is XML was the library's question.
    fn scan_xml(bytes: &[u8], base: &Url) -> Self {
        let mut written = Self::default();
        let mut reader = Reader::from_reader(DecodingReader::new(bytes));
        let mut buffer = Vec::new();
        let mut inside = Inside::Other;
        let mut around = Around {
            depth: 0,
            entry: None,
            bases: Vec::new(),
        };
        let mut text = String::new();
        while let Ok(event) = reader.read_event_into(&mut buffer) {
            match event {
                Event::Decl(declaration) => {
                    if let Some(encoding) = declaration.encoder() {
                        reader.get_mut().set_encoding(encoding);
                    }
                }
                Event::Start(start) => {
                    written.open(&start, &mut around, base);
                    inside = written.enter(&start);
                    text.clear();
                }
                Event::Empty(start) => {
                    written.open(&start, &mut around, base);
                    around.close();
                    inside = written.enter(&start);
                    text.clear();
                }
                Event::Text(piece) => text.push_str(&piece),
                Event::CData(piece) => text.push_str(&piece),
                Event::GeneralRef(reference) => {
                    text.push_str(&decode_entities(&format!("&{};", &*reference)));
                }
                Event::End(_) => {
                    around.close();
                    match inside {
                        Inside::Link => written.add_link(text.trim()),
                        Inside::Permalink => {
                            let id = text.trim();
                            if id.starts_with("http://") || id.starts_with("https://") {
                                written.permalinks.insert(id.to_owned());
                            }
                        }
                        Inside::Other => {}
                    }
                    inside = Inside::Other;
                }
                Event::Eof => break,
                Event::Comment(_) | Event::PI(_) | Event::DocType(_) => {}
            }
            buffer.clear();
        }
        written
    }

    /// Returns what the text says of an entry, if it and the library see the same entries.
    pub(super) fn xml_entry(&self, index: usize, count: usize) -> Option<&XmlEntry> {
        let entry = self.xml_entries.get(index);
        entry.filter(|_entry| self.xml_entries.len() == count)
    }

    /// Notes where links start inside an element, and what it says of its entry.
    fn open(&mut self, start: &BytesStart<'_>, around: &mut Around, base: &Url) {
        around.depth += 1;
        let outer = around.base().unwrap_or_else(|| base.clone());
        if let Some(base) =
            attribute(start, "xml:base").and_then(|xml_base| outer.join(xml_base.trim()).ok())
        {
            around.bases.push((around.depth, base));
        }
        let whole_name = start.name();
        let name = start.local_name();
        let is_media = whole_name.as_ref() == "media:content";
        match name.as_ref() {
            "entry" | "item" if around.entry.is_none() => {
                around.entry = Some(around.depth);
                self.xml_entries.push(XmlEntry {
                    base: around.base(),
                    picture: None,
                });
            }
            // The library reads the last one that is there.
            "content" | "encoded" | "description" if !is_media => {
                let is_own = around.entry.is_some_and(|entry| entry + 1 == around.depth);
                if let Some(entry) = self.xml_entries.last_mut().filter(|_entry| is_own) {
                    entry.base = around.base();
                }
            }
            "content" if around.entry.is_some() => {
                let is_picture = attribute(start, "medium").as_deref() == Some("image")
                    && attribute(start, "type").is_none();
                if let Some(entry) = self.xml_entries.last_mut().filter(|_entry| is_picture) {
                    entry.picture = entry.picture.take().or_else(|| attribute(start, "url"));
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, start: &BytesStart<'_>) -> Inside {
        let attribute = |name: &str| attribute(start, name);
        match start.local_name().as_ref() {
            "link" => {
                if let Some(href) = attribute("href") {
                    self.add_link(href.trim());
                }
                Inside::Link
            }
            "guid" if attribute("isPermaLink").is_none_or(|value| value != "false") => {
                Inside::Permalink
            }
            _ => Inside::Other,
        }
    }

    fn add_link(&mut self, link: &str) {
        if let Ok(url) = Url::parse(link) {
            self.links
                .entry(url.into())
                .or_insert_with(|| link.to_owned());
        }
    }

    /// Returns a link as the feed wrote it; a relative one made absolute.
    pub(super) fn link(&self, href: &str, base: &Url) -> String {
        let absolute = base
            .join(href)
            .map_or_else(|_no_url| href.to_owned(), String::from);
        self.links.get(&absolute).cloned().unwrap_or(absolute)
    }
}

fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    start
        .attributes()
        .flatten()
        .find(|attribute| attribute.key.as_ref() == name)
        .map(|attribute| decode_entities(&attribute.value))
}

/// Which element the text belongs to.
#[derive(Clone, Copy, Debug)]
enum Inside {
    Link,
    Permalink,
    Other,
}
