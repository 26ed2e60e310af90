//! When two URLs are one address.

use url::Url;

/// Returns whether two URLs name the same page: scheme http or https, host without case, default port and fragment
/// aside. A path with and without its final `/` are two addresses, as `www` is another host.
pub fn same_address(one: &str, other: &str) -> bool {
    match (normal(one), normal(other)) {
        (Some(one), Some(other)) => one == other,
        (None, _) | (_, None) => one == other,
    }
}

/// Returns the form in which equal addresses are equal texts; none for what is not an absolute http(s) URL.
pub fn normal(text: &str) -> Option<String> {
    let mut url = Url::parse(text.trim()).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let port = url.port().filter(|port| !matches!(port, 80 | 443));
    url.set_fragment(None);
    url.set_port(port).ok()?;
    let rest = url.as_str().split_once("://").map(|(_, rest)| rest)?;
    Some(normal_escapes(rest))
}

/// Decodes needless percent escapes and writes the others in upper case, as RFC 3986 section 6.2.2 says.
fn normal_escapes(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            normal.push(character);
            continue;
        }
        let rest = characters.as_str();
        let digits: String = rest.chars().take(2).collect();
        match u8::from_str_radix(&digits, 16) {
            Ok(byte) if digits.len() == 2 => {
                let plain = char::from(byte);
                if plain.is_ascii_alphanumeric() || matches!(plain, '-' | '.' | '_' | '~') {
                    normal.push(plain);
                } else {
                    normal.push('%');
                    normal.push_str(&digits.to_ascii_uppercase());
                }
                characters.next();
                characters.next();
            }
            Ok(_) | Err(_) => normal.push('%'),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_compared_as_a_browser_would_go_to_them() {
        let check = |one: &str, other: &str| same_address(one, other);
        assert!(check(
            "https://Blog.example/a",
            "http://blog.example:80/a#top"
        ));
        assert!(check("https://blog.example", "https://blog.example/"));
        assert!(check(
            "https://blog.example/%7euser/%c3%a4",
            "https://blog.example/~user/ä"
        ));
        assert!(!check("https://blog.example/a", "https://blog.example/a/"));
        assert!(!check(
            "https://blog.example/a",
            "https://blog.example/a?x=1"
        ));
        assert!(!check(
            "https://blog.example/a",
            "https://www.blog.example/a"
        ));
        assert!(!check("https://blog.example/a", "https://blog.example/ab"));
        assert!(check("not a url", "not a url"));
    }
}
