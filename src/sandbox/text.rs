//! Links in texts, as the services find them.

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Anything but a link.
    Plain(&'a str),
    /// An `http` or `https` URL.
    Link(&'a str),
}

/// Cuts a text into links and what stands between them.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut plain = 0;
    while let Some(start) = next_scheme(rest, plain) {
        let (_, from_link) = rest.split_at(start);
        let length = link_length(from_link);
        let scheme = scheme_length(from_link);
        if length == scheme {
            plain = start + length;
            continue;
        }
        let (before, from_link) = rest.split_at(start);
        let (link, after) = from_link.split_at(length);
        if !before.is_empty() {
            pieces.push(Piece::Plain(before));
        }
        pieces.push(Piece::Link(link));
        rest = after;
        plain = 0;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Plain(rest));
    }
    pieces
}

/// Returns every link in a text.
pub(crate) fn links(text: &str) -> Vec<&str> {
    pieces(text)
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Plain(_) => None,
            Piece::Link(link) => Some(link),
        })
        .collect()
}

/// Returns the first link to the site, else the first link.
pub(crate) fn article_link<'a>(
    links: impl IntoIterator<Item = &'a str> + Clone,
    site_host: &str,
) -> Option<String> {
    let site_host = site_host.split(':').next();
    let to_site = links
        .clone()
        .into_iter()
        .find(|link| url::Url::parse(link).is_ok_and(|url| url.host_str() == site_host));
    to_site
        .or_else(|| links.into_iter().next())
        .map(str::to_owned)
}

/// Writes a text so that HTML shows it as it is.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

fn next_scheme(text: &str, from: usize) -> Option<usize> {
    text.match_indices("http").map(|(at, _)| at).find(|at| {
        let (before, from_here) = text.split_at(*at);
        let glued = before
            .chars()
            .next_back()
            .is_some_and(char::is_alphanumeric);
        *at >= from && !glued && scheme_length(from_here) > 0
    })
}

fn scheme_length(text: &str) -> usize {
    ["https://", "http://"]
        .into_iter()
        .find(|scheme| text.starts_with(scheme))
        .map_or(0, str::len)
}

/// A link ends at white space or a bracket, and not with the punctuation of its sentence.
fn link_length(text: &str) -> usize {
    let end = text
        .find(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`'))
        .unwrap_or(text.len());
    let (mut link, _) = text.split_at(end);
    loop {
        let closes_nothing = |close: char, open: char| {
            link.ends_with(close) && link.matches(close).count() > link.matches(open).count()
        };
        let sentence = link.ends_with(['.', ',', ';', ':', '!', '?', '\'']);
        if !sentence && !closes_nothing(')', '(') && !closes_nothing(']', '[') {
            return link.len();
        }
        let mut shorter = link.chars();
        shorter.next_back();
        link = shorter.as_str();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_end_where_people_see_them_end() {
        let check = |text: &str| links(text).join(" ");
        assert_eq!(
            check("Hello\n\nhttps://blog.example/a/?b=1&c=2#d"),
            "https://blog.example/a/?b=1&c=2#d"
        );
        assert_eq!(
            check("(see https://a.example/x_(y)), then http://b.example."),
            "https://a.example/x_(y) http://b.example"
        );
        assert_eq!(check("https:// http:// xhttps://a.example"), "");
        assert_eq!(
            check("ähttp ühttps://a.example „https://b.example/ü“ ok"),
            "https://b.example/ü“"
        );
        assert_eq!(check("<https://a.example/>"), "https://a.example/");
    }

    #[test]
    fn the_article_is_the_link_to_the_site() {
        let check = |links: &[&str]| article_link(links.iter().copied(), "blog.example");
        assert_eq!(check(&[]), None);
        assert_eq!(
            check(&["https://a.example/", "https://blog.example/x/"]).as_deref(),
            Some("https://blog.example/x/")
        );
        assert_eq!(
            check(&["https://a.example/", "https://b.example/"]).as_deref(),
            Some("https://a.example/")
        );
    }
}
