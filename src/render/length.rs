//! Lengths, counted as the services count them.

use unicode_segmentation::UnicodeSegmentation as _;

use super::scan::{Link, links, mentions};

/// What a link counts on Mastodon itself, whatever its length.
const MASTODON_URL_LENGTH: usize = 23;

/// Returns the number of user-perceived characters (extended grapheme clusters).
pub fn graphemes(text: &str) -> usize {
    text.graphemes(true).count()
}

/// Returns the length of a status as Mastodon counts it: graphemes, a link as 23 (or what the server told: 0 counts its
/// characters), `@user@server` as `@user`.
pub fn mastodon(text: &str, link_length: Option<usize>) -> usize {
    mastodon_with("", text, link_length)
}

/// Returns the length of a status with a content warning: the warning's own characters, links in it counted in full, are
/// put before what is left of the text once its links and mentions are shortened.
pub fn mastodon_with(warning: &str, text: &str, link_length: Option<usize>) -> usize {
    let link_length = link_length.unwrap_or(MASTODON_URL_LENGTH);
    let links = links(text, None);
    let mentions = mentions(text, &links);
    let shortened: Vec<&Link> = links
        .iter()
        .filter(|link| link_length > 0 && has_public_host(link))
        .collect();
    let mut pieces: Vec<(std::ops::Range<usize>, String)> = shortened
        .iter()
        // One sign stands for it; the rest of its length is added at the end.
        .map(|link| (link.range.clone(), "x".to_owned()))
        .chain(
            mentions
                .into_iter()
                .map(|mention| (mention.range, mention.local)),
        )
        .collect();
    pieces.sort_by_key(|(range, _)| range.start);
    let mut counted = warning.to_owned();
    let mut done = 0;
    for (range, stand_in) in pieces {
        counted.push_str(text.get(done..range.start).unwrap_or_default());
        counted.push_str(&stand_in);
        done = range.end;
    }
    counted.push_str(text.get(done..).unwrap_or_default());
    let rest = shortened
        .len()
        .saturating_mul(link_length.saturating_sub(1));
    graphemes(&counted).saturating_add(rest)
}

/// Returns the length of a text as Weibo counts it: two ASCII characters are one, and a half is a whole.
pub fn weibo(text: &str) -> usize {
    let halves: usize = text
        .chars()
        .map(|char| if char.is_ascii() { 1 } else { 2 })
        .sum();
    halves.div_ceil(2)
}

/// Returns the length of a text as Threads counts it: an emoji counts its UTF-8 bytes, any other character one.
///
/// What may be a part of an emoji counts as one, so that nothing is too long.
pub fn threads(text: &str) -> usize {
    let count = |char: char| match char {
        '\u{A9}'
        | '\u{AE}'
        | '\u{200D}'
        | '\u{203C}'
        | '\u{2049}'
        | '\u{20E3}'
        | '\u{2122}'
        | '\u{2139}'
        | '\u{2190}'..='\u{2BFF}'
        | '\u{3030}'
        | '\u{303D}'
        | '\u{3297}'
        | '\u{3299}'
        | '\u{FE0F}'
        | '\u{1F000}'.. => char.len_utf8(),
        _ => 1,
    };
    text.chars().map(count).sum()
}

/// Mastodon takes an address for a link only if its host looks like one of the internet; others count in full.
fn has_public_host(link: &Link) -> bool {
    url::Url::parse(&link.uri)
        .ok()
        .and_then(|url| url.host_str().map(|host| host.contains('.')))
        .unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_threads_an_emoji_counts_its_bytes() {
        for (text, length) in [
            ("abc", 3),
            ("你好", 2),
            ("é", 1),
            ("🎉", 4),
            ("❤️", 6),
            ("a👍🏽", 9),
            ("“x”", 3),
            ("©®", 4),
            ("‼⁉™ℹ", 12),
            ("〰〽㊗㊙", 12),
            ("㊗️", 6),
        ] {
            assert_eq!(threads(text), length, "{text}");
        }
    }

    #[test]
    fn clusters_count_once() {
        for (text, length) in [
            ("", 0),
            ("abc", 3),
            ("👩‍👩‍👧‍👦", 1),
            ("🇩🇪🇫🇷", 2),
            ("👍🏽", 1),
            ("e\u{301}", 1),
            ("你好", 2),
            ("שלום", 4),
            ("\r\n", 1),
            ("हिन्दी", 2),
        ] {
            assert_eq!(graphemes(text), length, "{text}");
        }
    }

    #[test]
    fn mastodon_counts_links_and_mentions_by_its_own_rule() {
        for (text, length) in [
            ("https://a.example", 23),
            (
                "https://blog.example/a/very/long/path/that/goes/on/and/on/?q=1",
                23,
            ),
            ("x https://a.example y", 27),
            ("https://a.example https://b.example", 47),
            ("@user@server.example", 5),
            ("@user", 5),
            ("http://localhost/abcdefghijklmnopqrstuvwxyz", 43),
            ("👩‍👩‍👧‍👦 #tag", 6),
        ] {
            assert_eq!(mastodon(text, None), length, "{text}");
        }
        assert_eq!(mastodon("x https://a.example", Some(0)), 19);
        assert_eq!(
            mastodon("x https://a.example", Some(usize::MAX)),
            usize::MAX
        );
    }
}
