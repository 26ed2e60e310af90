//! The address of a request. Pure.
//!
//! A template may begin with a whole address, such as a webhook's. What follows is then its path, also where that address
//! has a query or ends with `/`: a request to the webhook itself in place of one of its messages would take it away.

use url::Url;

use crate::channel::http::is_loopback;

/// Splits a template into the expression that it begins with, and the rest.
pub(super) fn head_of(template: &str) -> Option<(String, &str)> {
    let rest = template.trim().strip_prefix("{{")?;
    let (expression, rest) = rest.split_once("}}")?;
    Some((format!("{{{{{expression}}}}}"), rest))
}

/// Returns the secret that a template begins with.
pub(super) fn secret_of(template: &str) -> Option<&str> {
    let rest = template.trim_start().strip_prefix("{{")?;
    let (expression, _) = rest.split_once("}}")?;
    let name = expression.trim().strip_prefix("secret.")?;
    let legal = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    name.split(|sign: char| !legal(sign)).next()
}

/// Whether a text is an address by itself.
pub(super) fn is_whole(text: &str) -> bool {
    Url::parse(text.trim()).is_ok_and(|url| url.has_host())
}

/// Reads an address that may be used; an error says what is wrong and does not repeat it.
pub(super) fn parse(text: &str) -> Result<Url, String> {
    let url = Url::parse(text.trim())
        .ok()
        .filter(Url::has_host)
        .ok_or("is not an absolute address")?;
    if url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url)) {
        return Ok(url);
    }
    Err("is no `https` address, and others are used on this machine only".to_owned())
}

/// As [`parse`], for an address that more is added to: it has no fragment.
pub(super) fn parse_base(text: &str) -> Result<Url, String> {
    let url = parse(text)?;
    if url.fragment().is_some() {
        return Err("has a `#`, and what follows it is never sent: leave it out".to_owned());
    }
    Ok(url)
}

/// Adds a path, a query, or both to a whole address, whose own query stays.
pub(super) fn join(base: &str, rest: &str) -> Result<Url, String> {
    let mut url = parse_base(base)?;
    if !rest.starts_with(['/', '?']) {
        // What follows is no path of its own, but the end of the address.
        return match url.query() {
            Some(_) => Err("has a query, behind which more can't be written".to_owned()),
            None => parse_base(&format!("{}{rest}", base.trim())),
        };
    }
    let (path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (rest, None),
    };
    if rest.contains('#') || path.split('/').any(is_dots) {
        return Err("gets a path that is none".to_owned());
    }
    if !path.is_empty() {
        let whole = format!("{}{path}", url.path().trim_end_matches('/'));
        url.set_path(&whole);
    }
    if let Some(query) = query {
        let own = url.query().filter(|own| !own.is_empty());
        let both = own.map_or_else(|| query.to_owned(), |own| format!("{own}&{query}"));
        url.set_query(Some(&both));
    }
    Ok(url)
}

/// Whether a part of a path stands for the directory above, which would make another address.
fn is_dots(part: &str) -> bool {
    matches!(
        part.to_ascii_lowercase().replace("%2e", ".").as_str(),
        "." | ".."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_whole_address_is_its_path() {
        let check = |base: &str, rest: &str| {
            join(base, rest).map_or_else(|what| what, |url| url.to_string())
        };
        for (base, rest, expected) in [
            (
                "https://a.example/h/1",
                "/messages/2",
                "https://a.example/h/1/messages/2",
            ),
            (
                "https://a.example/h/1/",
                "/messages/2",
                "https://a.example/h/1/messages/2",
            ),
            (
                "https://a.example/h/1?t=5",
                "/messages/2",
                "https://a.example/h/1/messages/2?t=5",
            ),
            (
                "https://a.example/h/1/?t=5",
                "/messages/2?u=6",
                "https://a.example/h/1/messages/2?t=5&u=6",
            ),
            (
                "https://a.example/h/1?",
                "?u=6",
                "https://a.example/h/1?u=6",
            ),
            ("https://a.example", "/x/", "https://a.example/x/"),
            ("https://a.example/h-", "1", "https://a.example/h-1"),
            (
                "https://a.example/h?t=",
                "1",
                "has a query, behind which more can't be written",
            ),
            (
                "https://a.example/h#x",
                "/1",
                "has a `#`, and what follows it is never sent: leave it out",
            ),
            (
                "https://a.example/h",
                "/messages/..",
                "gets a path that is none",
            ),
            (
                "https://a.example/h",
                "/messages/%2E%2e",
                "gets a path that is none",
            ),
            (
                "https://a.example/h",
                "/messages/#1",
                "gets a path that is none",
            ),
            (
                "http://a.example/h",
                "/1",
                "is no `https` address, and others are used on this machine only",
            ),
        ] {
            assert_eq!(check(base, rest), expected, "{base} {rest}");
        }
    }

    #[test]
    fn a_template_may_begin_with_a_secret() {
        assert_eq!(secret_of("{{ secret.hook }}/messages"), Some("hook"));
        assert_eq!(secret_of("{{ secret.hook | trim }}/messages"), Some("hook"));
        assert_eq!(secret_of("https://a.example/{{ secret.hook }}"), None);
        assert_eq!(
            head_of("{{ secret.hook | trim }}/messages/{{ id }}"),
            Some(("{{ secret.hook | trim }}".to_owned(), "/messages/{{ id }}"))
        );
    }
}
