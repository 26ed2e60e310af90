//! Whether two URLs are the same article, and which URLs a post shows.
//!
//! Invariant: a match is exact after normalisation, never by prefix: `/x` is not `/x-2`, and not `/x/`.

use std::cell::RefCell;
use std::rc::Rc;

use lol_html::{RewriteStrSettings, element, rewrite_str};
use url::Url;

/// Tells whether `left` and `right` name the same page.
///
/// `http` and `https` are one, as are the cases of a host, a default port and none, an empty path and `/`, and the
/// ways to percent-encode the same bytes; a fragment does not count. A final `/`, the query and `www` do.
pub fn same_url(left: &str, right: &str) -> bool {
    match (normalised(left), normalised(right)) {
        (Some(left), Some(right)) => left == right,
        _ => left == right,
    }
}

/// Returns the targets of all links in a piece of HTML, in order, entities decoded.
pub(crate) fn html_links(html: &str) -> Vec<String> {
    let links = Rc::new(RefCell::new(Vec::new()));
    let found = Rc::clone(&links);
    let settings = RewriteStrSettings::new().append_element_content_handler(element!(
        "a[href]",
        move |link| {
            if let Some(target) = link.get_attribute("href") {
                found.borrow_mut().push(without_entities(target.trim()));
            }
            Ok(())
        }
    ));
    // Broken HTML has the links that were found up to the break; the rewritten text is not needed.
    drop(rewrite_str(html, settings));
    links.take()
}

fn normalised(text: &str) -> Option<String> {
    let url = Url::parse(text.trim()).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = url.host_str()?;
    let host = host.strip_suffix('.').unwrap_or(host);
    let port = match url.port() {
        None | Some(80 | 443) => String::new(),
        Some(port) => format!(":{port}"),
    };
    let query = match url.query() {
        None | Some("") => String::new(),
        Some(query) => format!("?{}", with_one_encoding(query)),
    };
    Some(format!(
        "{host}{port}{}{query}",
        with_one_encoding(url.path())
    ))
}

/// Writes each byte in one way: unreserved characters as they are, reserved ones as they stand (`%2F` is not `/`),
/// everything else percent-encoded in upper case.
fn with_one_encoding(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    let mut rest = text.as_bytes();
    loop {
        rest = match rest {
            [] => return encoded,
            [b'%', high, low, after @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                let byte = hex_value(*high) * 16 + hex_value(*low);
                push_byte(&mut encoded, byte, is_unreserved);
                after
            }
            [byte, after @ ..] => {
                push_byte(&mut encoded, *byte, |byte| {
                    is_unreserved(byte) || is_reserved(byte) || byte == b'%'
                });
                after
            }
        };
    }
}

fn push_byte(text: &mut String, byte: u8, is_plain: impl Fn(u8) -> bool) {
    use std::fmt::Write as _;
    if is_plain(byte) {
        text.push(char::from(byte));
    } else {
        write!(text, "%{byte:02X}").expect("writing to a string can't fail");
    }
}

fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit - b'A' + 10,
    }
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn is_reserved(byte: u8) -> bool {
    b":/?#[]@!$&'()*+,;=".contains(&byte)
}

/// Decodes the entities that occur in attribute values; anything else stays as it is.
fn without_entities(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from_entity)) = rest.split_once('&') {
        decoded.push_str(before);
        let entity = from_entity
            .split_once(';')
            .and_then(|(name, after)| Some((entity_character(name)?, after)));
        if let Some((character, after)) = entity {
            decoded.push(character);
            rest = after;
        } else {
            decoded.push('&');
            rest = from_entity;
        }
    }
    decoded.push_str(rest);
    decoded
}

fn entity_character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => number.parse(),
        };
        return code.ok().and_then(char::from_u32);
    }
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_page_is_recognised_however_it_is_written() {
        for (left, right) in [
            ("https://blog.example/a", "https://blog.example/a"),
            ("https://blog.example/a", "http://blog.example/a"),
            ("https://blog.example/a", "https://BLOG.example:443/a"),
            ("http://blog.example:80/a", "https://blog.example/a"),
            ("https://blog.example", "https://blog.example/"),
            ("https://blog.example/a#top", "https://blog.example/a"),
            ("https://blog.example/a?", "https://blog.example/a"),
            ("https://blog.example/ä", "https://blog.example/%c3%a4"),
            ("https://blog.example/%41%7e", "https://blog.example/A~"),
            ("https://blog.example/a|b", "https://blog.example/a%7Cb"),
            (
                "https://bücher.example/a",
                "https://xn--bcher-kva.example/a",
            ),
            ("https://blog.example/x/../a", "https://blog.example/a"),
            (" https://blog.example/a ", "https://blog.example/a"),
            ("mailto:me@blog.example", "mailto:me@blog.example"),
        ] {
            assert!(same_url(left, right), "{left} {right}");
            assert!(same_url(right, left), "{right} {left}");
        }
    }

    #[test]
    fn another_page_is_not_taken_for_it() {
        for (left, right) in [
            ("https://blog.example/a", "https://blog.example/a/"),
            ("https://blog.example/a", "https://blog.example/a-2"),
            ("https://blog.example/a", "https://blog.example/A"),
            ("https://blog.example/a", "https://www.blog.example/a"),
            ("https://blog.example/a", "https://blog.example:8443/a"),
            ("https://blog.example/a", "https://blog.example/a?x=1"),
            (
                "https://blog.example/a?x=1&y=2",
                "https://blog.example/a?y=2&x=1",
            ),
            ("https://blog.example/a/b", "https://blog.example/a%2Fb"),
            ("https://blog.example/a%25b", "https://blog.example/a%b"),
            ("not a url", "https://blog.example/a"),
        ] {
            assert!(!same_url(left, right), "{left} {right}");
        }
    }

    #[test]
    fn links_are_read_from_html_as_servers_write_it() {
        // Mastodon hides most of a long URL; only the attribute has all of it.
        let html = concat!(
            r#"<p>Hi <a href="https://blog.example/news/2026/hello-world-again?a=1&amp;b=2" target="_blank" "#,
            r#"rel="nofollow noopener" translate="no"><span class="invisible">https://</span>"#,
            r#"<span class="ellipsis">blog.example/news/2026/hello-</span>"#,
            r#"<span class="invisible">world-again?a=1&amp;b=2</span></a> "#,
            r##"<a href='https://m.example/tags/x' class="mention hashtag">#<span>x</span></a>"##,
            r#"<a name="no link">x</a> https://plain.example/ <A HREF=https://c.example/&#38;&#x26;&unknown;&>"#,
        );
        assert_eq!(
            html_links(html),
            [
                "https://blog.example/news/2026/hello-world-again?a=1&b=2",
                "https://m.example/tags/x",
                "https://c.example/&&&unknown;&",
            ]
        );
    }
}
