//! When two URLs are one address.
//!
//! Invariant: a match is exact after normalisation, never by prefix: `/x` is not `/x-2`, and not `/x/`.

use url::Url;

/// Returns whether two URLs name the same page.
///
/// `http` and `https` are one, as are the cases of a host, a default port and none, an empty path and `/`, and the
/// ways to percent-encode the same bytes; a fragment does not count. A final `/`, the query and `www` do.
pub fn same_address(one: &str, other: &str) -> bool {
    match (normal_address(one), normal_address(other)) {
        (Some(one), Some(other)) => one == other,
        (None, _) | (_, None) => one == other,
    }
}

/// Returns the form in which equal addresses are equal texts; none for what is not an absolute http(s) URL.
pub fn normal_address(text: &str) -> Option<String> {
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

/// Whether an IndexNow key in the file at `key_location` is good for `url`: a key below the top of its host speaks for
/// its own directory only. On another host it is another file that counts.
pub fn is_under_key(key_location: &Url, url: &Url) -> bool {
    url.host_str() != key_location.host_str()
        || url.path().starts_with(&key_directory(key_location))
}

/// Returns the path of the directory that the key file at `key_location` speaks for, with its final `/`.
pub fn key_directory(key_location: &Url) -> String {
    let (directory, _file) = key_location.path().rsplit_once('/').unwrap_or_default();
    format!("{directory}/")
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
            assert!(same_address(left, right), "{left} {right}");
            assert!(same_address(right, left), "{right} {left}");
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
            assert!(!same_address(left, right), "{left} {right}");
        }
    }
}
