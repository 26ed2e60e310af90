//! Which URLs a post shows.

use std::cell::RefCell;
use std::rc::Rc;

use lol_html::{RewriteStrSettings, element, rewrite_str};

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

/// Returns every address in a text, as it stands there and without the punctuation of its sentence.
///
/// What a mark-up puts around an address (`<…>`, `(…)`, `|`) ends it; HTML is read as HTML too.
pub(crate) fn text_links(text: &str) -> Vec<String> {
    let mut links = html_links(text);
    let ends = |sign: char| {
        sign.is_whitespace() || matches!(sign, '<' | '>' | '"' | '`' | '|' | '[' | ']')
    };
    for word in text.split(ends) {
        let start = ["https://", "http://"]
            .into_iter()
            .filter_map(|scheme| word.find(scheme))
            .min();
        let Some(start) = start else { continue };
        let (_, link) = word.split_at(start);
        // Both readings are taken: a bracket or a full stop may belong to the address.
        let bare = link.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', ')']);
        for link in [link, bare] {
            let link = without_entities(link);
            if !links.contains(&link) {
                links.push(link);
            }
        }
    }
    links
}

/// Decodes the entities that occur in attribute values; anything else stays as it is.
pub(crate) fn without_entities(text: &str) -> String {
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
    fn addresses_are_found_in_any_mark_up() {
        let check = |text: &str| text_links(text).join(" ");
        assert_eq!(
            check("New: <https://blog.example/a?x=1&amp;y=2|title>"),
            "https://blog.example/a?x=1&y=2"
        );
        assert_eq!(
            check("(https://blog.example/a)."),
            "https://blog.example/a). https://blog.example/a"
        );
        assert_eq!(
            check(r#"<p><a href="https://blog.example/a">x</a></p>"#),
            "https://blog.example/a"
        );
        assert_eq!(check("nothing"), "");
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
