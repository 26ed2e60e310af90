//! How Mastodon shows a text: paragraphs, shortened links, hashtags.

use serde_json::{Value, json};

use crate::sandbox::text::{Piece, escape, pieces};

/// How much of a link people see.
const LINK_SHOWN: usize = 30;

/// Returns a text as HTML.
pub(super) fn content(text: &str, host: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut html = String::new();
    for paragraph in text.split("\n\n") {
        let paragraph = paragraph.trim_matches('\n');
        if paragraph.is_empty() {
            continue;
        }
        html.push_str("<p>");
        for piece in pieces(paragraph) {
            html.push_str(&match piece {
                Piece::Link(url) => link(url),
                Piece::Plain(plain) => plain_html(plain, host),
            });
        }
        html.push_str("</p>");
    }
    html
}

/// Returns the hashtags of a text, as the API lists them.
pub(super) fn tags(text: &str, host: &str) -> Vec<Value> {
    pieces(text)
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Link(_) => None,
            Piece::Plain(plain) => Some(words(plain)),
        })
        .flatten()
        .filter_map(hashtag)
        .map(|(tag, _)| {
            let name = tag.to_lowercase();
            json!({ "name": name, "url": tag_url(&name, host) })
        })
        .collect()
}

/// Returns the text with `@user@server` as `@user`, which is how a mention counts.
pub(super) fn without_servers(text: &str) -> String {
    words(text)
        .map(|word| {
            let mention = word
                .strip_prefix('@')
                .and_then(|rest| rest.split_once('@'))
                .filter(|(user, server)| !user.is_empty() && server.contains('.'));
            match mention {
                Some((user, server)) => {
                    let rest = server.trim_start_matches(is_host_character);
                    format!("@{user}{rest}")
                }
                None => word.to_owned(),
            }
        })
        .collect()
}

fn is_host_character(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '-' | ':')
}

/// Cuts a text so that each piece is white space or has none.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace).flat_map(|piece| {
        let word = piece.trim_end_matches(char::is_whitespace);
        let (word, space) = piece.split_at(word.len());
        [word, space].into_iter().filter(|part| !part.is_empty())
    })
}

fn link(url: &str) -> String {
    let prefix_length = ["https://www.", "http://www.", "https://", "http://"]
        .into_iter()
        .find(|prefix| url.starts_with(prefix))
        .map_or(0, str::len);
    let (prefix, rest) = url.split_at(prefix_length);
    let shown_length = rest
        .char_indices()
        .nth(LINK_SHOWN)
        .map_or(rest.len(), |(at, _)| at);
    let (shown, hidden) = rest.split_at(shown_length);
    let class = if hidden.is_empty() { "" } else { "ellipsis" };
    format!(
        "<a href=\"{}\" target=\"_blank\" rel=\"nofollow noopener\" translate=\"no\">\
         <span class=\"invisible\">{}</span><span class=\"{class}\">{}</span><span class=\"invisible\">{}</span></a>",
        escape(url),
        escape(prefix),
        escape(shown),
        escape(hidden)
    )
}

fn plain_html(text: &str, host: &str) -> String {
    words(text)
        .map(|word| match hashtag(word) {
            Some((tag, rest)) => format!(
                "<a href=\"{}\" class=\"mention hashtag\" rel=\"tag\">#<span>{tag}</span></a>{}",
                tag_url(&tag.to_lowercase(), host),
                escape(rest)
            ),
            None => escape(word).replace('\n', "<br />"),
        })
        .collect()
}

/// Returns the tag that a word starts with, and what follows it; digits alone are no tag.
fn hashtag(word: &str) -> Option<(&str, &str)> {
    let rest = word.strip_prefix('#')?;
    let end = rest
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    let (tag, rest) = rest.split_at(end);
    let named = tag.chars().any(|c| !c.is_numeric() && c != '_');
    named.then_some((tag, rest))
}

fn tag_url(tag: &str, host: &str) -> String {
    let tag = percent_encoding::utf8_percent_encode(tag, percent_encoding::NON_ALPHANUMERIC);
    format!("https://{host}/tags/{tag}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shown_as_mastodon_does() {
        let check = |text: &str| content(text, "social.example");
        assert_eq!(
            check(
                "Tom & <Jerry>\r\nnext #Rust, #1\n\n\nhttps://blog.example/news/2026/a-long-article/?a=1&b=2"
            ),
            concat!(
                "<p>Tom &amp; &lt;Jerry&gt;<br />next <a href=\"https://social.example/tags/rust\" class=\"mention hashtag\" rel=\"tag\">#<span>Rust</span></a>, #1</p>",
                "<p><a href=\"https://blog.example/news/2026/a-long-article/?a=1&amp;b=2\" target=\"_blank\" rel=\"nofollow noopener\" translate=\"no\">",
                "<span class=\"invisible\">https://</span><span class=\"ellipsis\">blog.example/news/2026/a-long-</span><span class=\"invisible\">article/?a=1&amp;b=2</span></a></p>"
            )
        );
        assert_eq!(
            check("https://www.blog.example/"),
            concat!(
                "<p><a href=\"https://www.blog.example/\" target=\"_blank\" rel=\"nofollow noopener\" translate=\"no\">",
                "<span class=\"invisible\">https://www.</span><span class=\"\">blog.example/</span><span class=\"invisible\"></span></a></p>"
            )
        );
        assert_eq!(check(""), "");
    }

    #[test]
    fn mentions_count_without_their_server() {
        assert_eq!(
            without_servers("hi @me@a.example!  and a@b @x"),
            "hi @me!  and a@b @x"
        );
    }
}
