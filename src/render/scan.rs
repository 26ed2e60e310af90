//! Where links, hashtags, and mentions stand in a text. They are never cut, and services count or mark them.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

/// A link, as it stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) range: Range<usize>,
    /// The whole address, also where the text shows less of it.
    pub(super) uri: String,
}

/// A hashtag, as it stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) range: Range<usize>,
    /// Without the `#`.
    pub(super) name: String,
}

/// A mention of an account by its handle, which is a host name: `@name.example`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    pub(super) range: Range<usize>,
    /// Without the `@`, in lower case.
    pub(super) name: String,
}

/// A mention of an account on a named server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) range: Range<usize>,
    /// `@user`, without the server.
    pub(super) local: String,
}

/// An address that a text is known to have, and what it shows of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownLink<'a> {
    pub(super) shown: &'a str,
    pub(super) uri: &'a str,
}

/// The article's address, as a text shows it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Address<'a> {
    /// The post marks where it stands, so that nothing beside it matters.
    Marked(&'a str),
    /// The service looks for it in the text.
    Found(&'a str),
}

impl<'a> Address<'a> {
    pub(super) fn shown(self) -> &'a str {
        match self {
            Self::Marked(shown) | Self::Found(shown) => shown,
        }
    }
}

/// Finds every link; the `known` one is found exactly, whatever stands behind it.
pub(super) fn links(text: &str, known: Option<KnownLink<'_>>) -> Vec<Link> {
    let mut links = Vec::new();
    let mut done = 0;
    for (start, _) in text.char_indices() {
        let (before, rest) = text.split_at(start);
        if start < done {
            continue;
        }
        let exact = known.filter(|known| {
            let behind = rest.strip_prefix(known.shown);
            behind.is_some_and(ends_address)
        });
        let in_word = before
            .chars()
            .next_back()
            .is_some_and(|char| char.is_ascii_alphanumeric());
        if in_word && exact.is_none() {
            continue;
        }
        let found = match exact {
            Some(known) => Some((known.shown.len(), known.uri.to_owned())),
            None => plain_link(rest).map(|link| (link.len(), link.to_owned())),
        };
        if let Some((length, uri)) = found {
            done = start + length;
            links.push(Link {
                range: start..done,
                uri,
            });
        }
    }
    links
}

/// Whether an address ends in front of this text, and is not the beginning of a longer one.
fn ends_address(behind: &str) -> bool {
    let behind_sentence = behind.trim_start_matches(['.', ',', ';', ':', '!', '?', '~']);
    let next = behind_sentence.chars().next();
    next.is_none_or(|next| {
        !next.is_ascii_graphic()
            || matches!(
                next,
                '"' | '\'' | '*' | '<' | '>' | '[' | ']' | '\\' | '^' | '`' | '{' | '|' | '}' | ')'
            )
    })
}

/// Returns the link that `rest` begins with.
fn plain_link(rest: &str) -> Option<&str> {
    let scheme = ["https://", "http://"].into_iter().find(|scheme| {
        rest.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })?;
    let (_, behind) = rest.split_at(scheme.len());
    let first = behind.chars().next()?;
    if !first.is_alphanumeric() && first != '[' {
        return None;
    }
    let end = rest.find(ends_link).unwrap_or(rest.len());
    let link = trim_link(rest.get(..end)?);
    (link.len() > scheme.len()).then_some(link)
}

fn ends_link(char: char) -> bool {
    char.is_whitespace()
        || char.is_control()
        || matches!(
            char,
            '<' | '>'
                | '"'
                | '…'
                | '“'
                | '”'
                | '«'
                | '»'
                | '「'
                | '」'
                | '『'
                | '』'
                | '（'
                | '）'
                | '，'
                | '。'
                | '、'
                | '；'
                | '：'
                | '！'
                | '？'
        )
}

/// What ends a sentence, not an address.
fn is_trailing(char: char) -> bool {
    matches!(
        char,
        '.' | ','
            | ';'
            | ':'
            | '!'
            | '?'
            | '\''
            | '"'
            | '*'
            | '~'
            | '|'
            | ')'
            | ']'
            | '}'
            | '>'
            | '…'
    )
}

fn trim_link(mut link: &str) -> &str {
    let count = |sign: char| link.matches(sign).count();
    let mut brackets = [(')', '('), (']', '['), ('}', '{')]
        .map(|(closing, opening)| (closing, count(closing), count(opening)));
    while let Some(last) = link.chars().next_back() {
        let mut counts = brackets.iter_mut();
        let bracket = counts.find(|(closing, ..)| *closing == last);
        let balanced = bracket
            .as_ref()
            .is_some_and(|(_, closing, opening)| opening >= closing);
        if balanced || !is_trailing(last) {
            break;
        }
        if let Some((_, closing, _)) = bracket {
            *closing -= 1;
        }
        link = link.strip_suffix(last).unwrap_or_default();
    }
    link
}

/// Returns the text with the address in it: where it stands already, else below.
pub(super) fn with_address(text: &str, address: Address<'_>) -> String {
    let shown = address.shown();
    let known = KnownLink { shown, uri: shown };
    let places: Vec<Range<usize>> = links(text, Some(known))
        .into_iter()
        .map(|link| link.range)
        .filter(|range| text.get(range.clone()) == Some(shown))
        .collect();
    match address {
        _ if places.is_empty() => format!("{text}\n\n{shown}"),
        Address::Marked(_) => text.to_owned(),
        Address::Found(_) => with_gaps(text, &places),
    }
}

/// Puts a space where a service would take what stands beside an address for a part of it.
fn with_gaps(text: &str, places: &[Range<usize>]) -> String {
    let mut output = String::with_capacity(text.len());
    let mut done = 0;
    for place in places {
        let (before, _) = text.split_at(place.start);
        let (_, behind) = text.split_at(place.end);
        output.push_str(text.get(done..place.start).unwrap_or_default());
        let is_wrapped = is_wrapped(before, behind);
        if !is_wrapped && !begins_link(before) {
            output.push(' ');
        }
        output.push_str(text.get(place.clone()).unwrap_or_default());
        if !is_wrapped && !ends_found_link(behind) {
            output.push(' ');
        }
        done = place.end;
    }
    output.push_str(text.get(done..).unwrap_or_default());
    output
}

/// Whether a mark-up says where the address ends: `<…|`, `](…)`, an attribute of HTML, `BBCode`, code, JSON, or Textile
/// (`"title":…`).
fn is_wrapped(before: &str, behind: &str) -> bool {
    [
        ("<", ">"),
        ("<", "|"),
        ("](", ")"),
        ("=\"", "\""),
        ("='", "'"),
        ("=", "]"),
        ("`", "`"),
        (":\"", "\""),
        ("\":", ""),
    ]
    .into_iter()
    .any(|(open, close)| before.ends_with(open) && behind.starts_with(close))
}

/// Whether every service finds a link behind this text.
fn begins_link(before: &str) -> bool {
    before.chars().next_back().is_none_or(|char| {
        !char.is_alphanumeric()
            && !matches!(
                char,
                '/' | '='
                    | '?'
                    | '&'
                    | '#'
                    | '＃'
                    | '%'
                    | '@'
                    | '＠'
                    | '$'
                    | ':'
                    | '.'
                    | '_'
                    | '-'
                    | '+'
                    | '~'
            )
    })
}

/// Whether every service ends a link in front of this text: some take anything but white space and angle brackets for
/// a part of it, unless it ends a sentence in Latin script.
fn ends_found_link(behind: &str) -> bool {
    behind
        .chars()
        .take_while(|char| !char.is_whitespace() && !matches!(char, '<' | '>'))
        .all(|char| is_trailing(char) && !matches!(char, '}' | '…'))
}

/// Finds every hashtag outside of links. One of digits alone is none, on any service.
pub(super) fn tags(text: &str, links: &[Link]) -> Vec<Tag> {
    let mut tags = Vec::new();
    for (start, sign) in text.match_indices(['#', '＃']) {
        let (before, _) = text.split_at(start);
        let (_, behind) = text.split_at(start + sign.len());
        let free = before.chars().next_back().is_none_or(|char| {
            char.is_whitespace()
                || matches!(
                    char,
                    '(' | '[' | '{' | '"' | '“' | '«' | '（' | '「' | '、' | '。' | '，'
                )
        });
        if !free || inside(links, start) {
            continue;
        }
        let name: String = behind
            .graphemes(true)
            .take_while(|grapheme| is_word(grapheme))
            .collect();
        let range = start..start + sign.len() + name.len();
        let has_letter = name.chars().any(|char| !char.is_numeric() && char != '_');
        if has_letter && !meets(links, &range) {
            tags.push(Tag { range, name });
        }
    }
    tags
}

/// Finds every `@host.name` outside of links.
pub(super) fn handles(text: &str, links: &[Link]) -> Vec<Handle> {
    let mut handles = Vec::new();
    for (start, _) in text.match_indices('@') {
        let (before, _) = text.split_at(start);
        let (_, behind) = text.split_at(start + 1);
        if !begins_mention(before) || inside(links, start) {
            continue;
        }
        let name = name_at(behind, |char| {
            char.is_ascii_alphanumeric() || matches!(char, '.' | '-')
        });
        let next = behind
            .strip_prefix(name)
            .and_then(|rest| rest.chars().next());
        // In `@user.name@server` it is the beginning of something else.
        let goes_on = next.is_some_and(|next| matches!(next, '@' | '_' | '/'));
        let range = start..start + 1 + name.len();
        if !goes_on && is_host(name) && !meets(links, &range) {
            handles.push(Handle {
                range,
                name: name.to_ascii_lowercase(),
            });
        }
    }
    handles
}

/// Whether a text is a host name of two labels or more, as handles are.
fn is_host(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-')
    };
    let top = name.rsplit('.').next().unwrap_or_default();
    name.len() <= 253
        && name.contains('.')
        && name.split('.').all(is_label)
        && top.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// Whether an `@` may begin a mention behind this text: behind a letter it is an e-mail address.
fn begins_mention(before: &str) -> bool {
    before
        .chars()
        .next_back()
        .is_none_or(|char| !char.is_alphanumeric() && !matches!(char, '_' | '/' | '=' | '@'))
}

/// Finds every `@user@server` outside of links.
pub(super) fn mentions(text: &str, links: &[Link]) -> Vec<Mention> {
    let mut mentions = Vec::new();
    let mut done = 0;
    for (start, _) in text.match_indices('@') {
        let (before, _) = text.split_at(start);
        let (_, behind) = text.split_at(start + 1);
        if start < done || !begins_mention(before) || inside(links, start) {
            continue;
        }
        let user = name_at(behind, |char| {
            char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-')
        });
        let Some(server) = behind
            .strip_prefix(user)
            .and_then(|rest| rest.strip_prefix('@'))
        else {
            continue;
        };
        let server = name_at(server, |char| {
            char.is_alphanumeric() || matches!(char, '_' | '.' | '-')
        });
        let end = start + 1 + user.len() + 1 + server.len();
        if user.is_empty() || server.is_empty() || meets(links, &(start..end)) {
            continue;
        }
        done = end;
        mentions.push(Mention {
            range: start..done,
            local: format!("@{user}"),
        });
    }
    mentions
}

/// Returns the name that `text` begins with; dots and hyphens at its end belong to the sentence.
fn name_at(text: &str, legal: impl Fn(char) -> bool) -> &str {
    let end = text.find(|char| !legal(char)).unwrap_or(text.len());
    let (name, _) = text.split_at(end);
    name.trim_end_matches(['.', '-'])
}

/// Combining marks belong to the letter before them, so whole grapheme clusters are looked at.
pub(super) fn is_word(grapheme: &str) -> bool {
    grapheme
        .chars()
        .next()
        .is_some_and(|char| char.is_alphanumeric() || char == '_')
}

fn inside(links: &[Link], offset: usize) -> bool {
    let next = links.partition_point(|link| link.range.end <= offset);
    links
        .get(next)
        .is_some_and(|link| link.range.contains(&offset))
}

/// Whether a range touches a link.
fn meets(links: &[Link], range: &Range<usize>) -> bool {
    let next = links.partition_point(|link| link.range.end < range.start);
    links
        .get(next)
        .is_some_and(|link| link.range.start <= range.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, ranges: impl Iterator<Item = Range<usize>>) -> Vec<&str> {
        ranges.map(|range| text.get(range).unwrap()).collect()
    }

    #[test]
    fn links_end_where_people_see_them_end() {
        let check =
            |text: &'static str| shown(text, links(text, None).into_iter().map(|link| link.range));
        assert_eq!(check("see https://a.example/b."), ["https://a.example/b"]);
        assert_eq!(check("(http://a.example/b)"), ["http://a.example/b"]);
        assert_eq!(
            check("https://a.example/b_(c) x HTTPS://B.example!"),
            ["https://a.example/b_(c)", "HTTPS://B.example"]
        );
        assert_eq!(
            check("看https://a.example/你好。再见"),
            ["https://a.example/你好"]
        );
        assert_eq!(
            check("<https://a.example/?q=1&r=2#f>"),
            ["https://a.example/?q=1&r=2#f"]
        );
        assert_eq!(
            check("https:// xhttps://a.example ftp://b"),
            Vec::<&str>::new()
        );
    }

    #[test]
    fn a_known_link_is_found_exactly() {
        let check = |text: &'static str, url| {
            let known = KnownLink {
                shown: url,
                uri: url,
            };
            shown(
                text,
                links(text, Some(known)).into_iter().map(|link| link.range),
            )
        };
        let url = "https://a.example/x";
        assert_eq!(check("https://a.example/x。次", url), [url]);
        assert_eq!(check("https://a.example/x次", url), [url]);
        assert_eq!(check("https://a.example/xy", url), ["https://a.example/xy"]);
        assert_eq!(check("https://a.example/x).", url), [url]);
        assert_eq!(
            check("https://a.example/x)", "https://a.example/x)"),
            ["https://a.example/x)"]
        );
    }

    #[test]
    fn an_address_in_another_is_not_the_address() {
        let url = "https://a.example/x";
        for text in [
            "https://a.example/xy",
            "https://a.example/x/",
            "https://a.example/x?y",
            "https://a.example/x.html",
            "https://b.example/?u=https://a.example/x",
            "nothing",
        ] {
            for address in [Address::Marked(url), Address::Found(url)] {
                assert_eq!(with_address(text, address), format!("{text}\n\n{url}"));
            }
        }
    }

    #[test]
    fn an_address_stands_once_whatever_stands_beside_it() {
        let url = "https://a.example/x";
        // The text, and what is made of it where the service looks for links itself.
        for (text, found) in [
            ("U", "U"),
            ("see (U).", "see (U)."),
            ("a\nU\nb", "a\nU\nb"),
            ("标题（U）", "标题（U ）"),
            ("见U。", "见 U 。"),
            ("“U”", "“U ”"),
            ("«U»", "«U »"),
            ("« U »", "« U »"),
            ("U|2026", "U |2026"),
            ("U|", "U|"),
            ("U…", "U …"),
            ("{U}", "{U }"),
            ("U次", "U 次"),
            ("U),next", "U ),next"),
            ("at:U", "at: U"),
            ("aU", "a U"),
            ("U, U’s", "U, U ’s"),
            ("<U|title>", "<U|title>"),
            ("<b>U</b>", "<b>U</b>"),
            ("[title](U),next", "[title](U),next"),
            ("[url=U]title[/url]", "[url=U]title[/url]"),
            ("\"title\":U next", "\"title\":U next"),
            ("`U`", "`U`"),
            ("{\"link\":\"U\"}", "{\"link\":\"U\"}"),
            ("<a href=\"U\">title</a>", "<a href=\"U\">title</a>"),
        ] {
            let [text, found] = [text, found].map(|text| text.replace('U', url));
            assert_eq!(with_address(&text, Address::Marked(url)), text);
            assert_eq!(with_address(&text, Address::Found(url)), found);
        }
    }

    #[test]
    fn long_runs_of_signs_take_no_time() {
        let text = format!("https://a.example/{}", ")".repeat(200_000));
        let found = links(&text, None);
        assert_eq!(
            shown(&text, found.into_iter().map(|link| link.range)),
            ["https://a.example/"]
        );
        assert_eq!(links(&"https://-".repeat(100_000), None), []);
        let text = "#a https://a.example/ ".repeat(20_000);
        assert_eq!(tags(&text, &links(&text, None)).len(), 20_000);
    }

    #[test]
    fn hashtags_are_words_of_any_script() {
        let check = |text: &'static str| {
            let links = links(text, None);
            shown(text, tags(text, &links).into_iter().map(|tag| tag.range))
        };
        assert_eq!(
            check("#rust and #Straße, #日本語。 #हिन्दी"),
            ["#rust", "#Straße", "#日本語", "#हिन्दी"]
        );
        assert_eq!(check("#2026 #2026er # #_ a#b ##c"), ["#2026er"]);
        assert_eq!(check("https://a.example/#frag #x"), ["#x"]);
        assert_eq!(check("#https://a.example/y #x"), ["#x"]);
        assert_eq!(
            check("(#x) #y🎉 #cafe\u{301}"),
            ["#x", "#y", "#cafe\u{301}"]
        );
    }

    #[test]
    fn handles_are_host_names() {
        let check = |text: &'static str| {
            let links = links(text, None);
            handles(text, &links)
                .into_iter()
                .map(|handle| (text.get(handle.range).unwrap(), handle.name))
                .collect::<Vec<_>>()
        };
        let one = |shown: &'static str, name: &str| vec![(shown, name.to_owned())];
        assert_eq!(
            check("by @Blog.Example."),
            one("@Blog.Example", "blog.example")
        );
        assert_eq!(
            check("(@a-b.bsky.social), ok"),
            one("@a-b.bsky.social", "a-b.bsky.social")
        );
        assert_eq!(
            check("🎉@blog.example's"),
            one("@blog.example", "blog.example")
        );
        for none in [
            "me@blog.example",
            "@blog",
            "@user@server.example",
            "@user.name@server.example",
            "@-a.example @a-.example @a..example @.example",
            "@1.2",
            "https://host.example/@blog.example",
            "@blog.example/path",
            "@@blog.example",
            "@日本.example",
        ] {
            assert_eq!(check(none), [], "{none}");
        }
    }

    #[test]
    fn mentions_name_a_server() {
        let check = |text: &'static str| {
            let links = links(text, None);
            mentions(text, &links)
                .into_iter()
                .map(|mention| (text.get(mention.range).unwrap(), mention.local))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            check("hi @me@host.example. and @you, a@b.example"),
            [("@me@host.example", "@me".to_owned())]
        );
        assert_eq!(check("https://host.example/@me@other.example"), []);
    }
}
