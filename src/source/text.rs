//! Text out of HTML, and links in it.
//!
//! Invariant: entities are decoded exactly once, and only in what is HTML.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use lol_html::html_content::TextType;
use lol_html::{
    AsciiCompatibleEncoding, HtmlRewriter, Settings, doc_text, element, end_tag, rewrite_str,
};
use quick_xml::escape::resolve_html5_entity;
use serde_json::{Map, Value};
use url::Url;

use crate::model::item::FrontMatter;

/// Turns every run of white space and control characters into one space, and takes away what surrounds the text.
pub(super) fn collapse(text: &str) -> String {
    text.split(|character: char| character.is_whitespace() || character.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns a text as it stands, or collapsed if it holds what a terminal would obey.
pub(super) fn showable(text: String) -> String {
    if text.chars().any(char::is_control) {
        collapse(&text)
    } else {
        text
    }
}

/// Returns the fields of a front matter without what a terminal would obey; lines stay lines.
pub(super) fn showable_fields(fields: Map<String, Value>) -> FrontMatter {
    Arc::new(showable_map(fields))
}

fn showable_map(fields: Map<String, Value>) -> Map<String, Value> {
    let fields = fields.into_iter();
    fields
        .map(|(name, value)| (name, showable_value(value)))
        .collect()
}

fn showable_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(
            text.chars()
                .filter(|char| !char.is_control() || matches!(char, '\n' | '\t'))
                .collect(),
        ),
        Value::Array(entries) => entries.into_iter().map(showable_value).collect(),
        Value::Object(fields) => Value::Object(showable_map(fields)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// Returns an address as it stands, or as a browser reads it if it holds what a terminal would obey.
pub(super) fn showable_link(link: String) -> String {
    if !link.chars().any(char::is_control) {
        return link;
    }
    Url::parse(&link).map_or_else(|_no_url| collapse(&link), String::from)
}

/// Returns the text of an HTML fragment as a reader sees it, on one line.
pub(super) fn html_to_text(html: &str) -> String {
    let text = Rc::new(RefCell::new(String::new()));
    let settings = Settings::new()
        .with_strict(false)
        .with_encoding(AsciiCompatibleEncoding::utf_8())
        .append_element_content_handler(element!("*", |element| {
            if !is_inline(&element.tag_name()) {
                text.borrow_mut().push(' ');
                if element.can_have_content() {
                    let text = Rc::clone(&text);
                    element.on_end_tag(end_tag!(move |_end| {
                        text.borrow_mut().push(' ');
                        Ok(())
                    }))?;
                }
            }
            Ok(())
        }))
        .append_document_content_handler(doc_text!(|chunk| {
            match chunk.text_type() {
                TextType::Data
                | TextType::RCData
                | TextType::PlainText
                | TextType::CDataSection => text.borrow_mut().push_str(chunk.as_str()),
                // What scripts, styles, and frames hold is not shown.
                TextType::RawText | TextType::ScriptData => {}
            }
            Ok(())
        }));
    let mut rewriter = HtmlRewriter::new(settings, |_output: &[u8]| {});
    let read = rewriter
        .write(html.as_bytes())
        .and_then(|()| rewriter.end());
    // The parser takes any bytes; if it gives up for memory, what was read is still the beginning of the text.
    drop(read);
    // A chunk may end inside an entity, so that decoding waits for the whole.
    let decoded = decode_entities(&text.borrow());
    collapse(&decoded)
}

/// Decodes the character references of HTML, once. What is no reference stays as it is.
///
/// Only references that end in `;` are decoded: `?a=1&copy=2` is a query, not a copyright sign.
pub(super) fn decode_entities(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        decoded.push_str(before);
        let reference = after
            .split_once(';')
            .filter(|(name, _rest)| name.len() <= ENTITY_NAME_BYTES_MAX)
            .and_then(|(name, tail)| Some((resolve(name)?, tail)));
        if let Some((resolved, tail)) = reference {
            decoded.push_str(&resolved);
            rest = tail;
        } else {
            decoded.push('&');
            rest = after;
        }
    }
    decoded.push_str(rest);
    decoded
}

/// Writes text as HTML that shows it, blank lines between paragraphs kept.
pub(super) fn text_to_html(text: &str) -> String {
    text.replace("\r\n", "\n")
        .split("\n\n")
        .filter(|paragraph| !paragraph.trim().is_empty())
        .map(|paragraph| {
            format!(
                "<p>{}</p>",
                quick_xml::escape::minimal_escape(paragraph.trim())
            )
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Makes the relative links and pictures of an HTML fragment absolute; everything else stays byte for byte.
pub(super) fn resolve_links(html: &str, base: &Url) -> String {
    let resolve_attribute = |name: &'static str| {
        element!(format!("[{name}]"), move |element| {
            let absolute = element
                .get_attribute(name)
                .and_then(|value| resolve_relative(&decode_entities(&value), base));
            if let Some(absolute) = absolute {
                element.set_attribute(name, &absolute.replace('&', "&amp;"))?;
            }
            Ok(())
        })
    };
    let settings = Settings::new()
        .with_strict(false)
        .append_element_content_handler(resolve_attribute("href"))
        .append_element_content_handler(resolve_attribute("src"));
    rewrite_str(html, settings).unwrap_or_else(|_gave_up| html.to_owned())
}

/// The longest name in HTML's table is `CounterClockwiseContourIntegral`.
const ENTITY_NAME_BYTES_MAX: usize = 31;

/// What pages mean by the numbers 128 to 159, which are no characters: Windows' own.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Elements that stand inside a line, so that the text around them is one word. All others part it.
fn is_inline(tag: &str) -> bool {
    [
        "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i",
        "ins", "kbd", "mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strong",
        "sub", "sup", "time", "tt", "u", "var", "wbr",
    ]
    .contains(&tag)
}

fn resolve(name: &str) -> Option<String> {
    let Some(number) = name.strip_prefix('#') else {
        return resolve_html5_entity(name).map(str::to_owned);
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    let windows = code
        .checked_sub(128)
        .and_then(|index| usize::try_from(index).ok())
        .and_then(|index| WINDOWS_1252.get(index));
    let character = match windows {
        Some(character) => *character,
        None => char::from_u32(code).filter(|character| *character != '\0')?,
    };
    Some(character.to_string())
}

/// Returns the absolute form of a link that has none; anchors stay: they point into the same text.
fn resolve_relative(link: &str, base: &Url) -> Option<String> {
    let link = link.trim();
    let is_relative = matches!(
        Url::parse(link),
        Err(url::ParseError::RelativeUrlWithoutBase)
    );
    (is_relative && !link.is_empty() && !link.starts_with('#'))
        .then(|| base.join(link).ok())
        .flatten()
        .map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_are_decoded_once() {
        let check = decode_entities;
        assert_eq!(check("A &amp; B"), "A & B");
        assert_eq!(check("A &amp;amp; B"), "A &amp; B");
        assert_eq!(check("&lt;code&gt;"), "<code>");
        assert_eq!(check("&amp;lt;code&amp;gt;"), "&lt;code&gt;");
        assert_eq!(check("it&#8217;s &#x201C;x&#x201d; &hellip;"), "it’s “x” …");
        assert_eq!(check("it&#146;s"), "it’s");
        assert_eq!(
            check("AT&T; R&D & more &nothing; &#0; &#x110000;"),
            "AT&T; R&D & more &nothing; &#0; &#x110000;"
        );
        assert_eq!(check("?a=1&copy=2"), "?a=1&copy=2");
        assert_eq!(check(""), "");
    }

    proptest::proptest! {
        #[test]
        fn decoding_undoes_one_escaping(text in ".*") {
            let escaped = quick_xml::escape::escape(text.as_str());
            proptest::prop_assert_eq!(decode_entities(&escaped), text);
        }

        #[test]
        fn any_text_is_read_as_html_without_a_panic(text in ".*") {
            let shown = html_to_text(&text);
            proptest::prop_assert_eq!(collapse(&shown), shown);
        }
    }

    #[test]
    fn html_is_read_as_a_reader_sees_it() {
        let check = html_to_text;
        assert_eq!(
            check("Use <code>Vec&lt;T&gt;</code> &amp; go"),
            "Use Vec<T> & go"
        );
        assert_eq!(check("one<br>two<p>three</p>four"), "one two three four");
        assert_eq!(check("un<b>believ</b>able"), "unbelievable");
        assert_eq!(
            check("a<!-- no --> b<script>no()</script><style>p{}</style>"),
            "a b"
        );
        assert_eq!(check("  5 < 6\n and\t7&nbsp;> 6 "), "5 < 6 and 7 > 6");
        assert_eq!(check("plain"), "plain");
    }

    #[test]
    fn only_relative_links_change() {
        let base = Url::parse("https://blog.example/news/hello/").unwrap();
        let check = |html: &str| resolve_links(html, &base);
        assert_eq!(
            check("<p>a &amp; b<a class=x href='/docs/?a=1&amp;b=2'>x</a><img src=\"me.png\">"),
            "<p>a &amp; b<a class=x href=\"https://blog.example/docs/?a=1&amp;b=2\">x</a><img src=\"https://blog.example/news/hello/me.png\">"
        );
        let untouched = "<a href=https://x.example/?a&b>x</a> <a href='#top'>up</a> <a href='mailto:a@b.example'>m</a><br />";
        assert_eq!(check(untouched), untouched);
    }

    #[test]
    fn plain_text_is_escaped_into_html() {
        assert_eq!(
            text_to_html("1 < 2 & so\n\nnext\nline\n\n"),
            "<p>1 &lt; 2 &amp; so</p>\n<p>next\nline</p>"
        );
    }
}
