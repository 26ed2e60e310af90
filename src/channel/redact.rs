//! What services wrote, made fit to be shown: one line, short, and without anything secret.
//!
//! Invariant: no text of a server reaches a row, a log or an error except through a [`Scrubber`]. Servers do echo
//! request headers in their error pages.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::secret::Secret;

/// Longest excerpt of a body, in characters: a sentence of an error message, not a page.
const EXCERPT_LENGTH_MAX: usize = 200;

/// Shorter forms would blank out ordinary words; no service has secrets that short.
const FORM_LENGTH_MIN: usize = 4;

/// What stands in place of a secret.
const MASK: &str = "***";

/// Removes the secrets of one channel from texts.
#[derive(Clone, Default)]
pub(crate) struct Scrubber {
    forms: Vec<String>,
}

impl Scrubber {
    /// Knows one secret, in every form in which a server might give it back.
    pub(crate) fn of(secret: &Secret) -> Self {
        let mut scrubber = Self::default();
        scrubber.add(secret);
        scrubber
    }

    /// Adds a secret that was learned later, such as a session's token.
    pub(crate) fn add(&mut self, secret: &Secret) {
        self.add_text(secret.expose());
    }

    /// Adds what was made from a secret, such as a header or an address with one in it.
    pub(crate) fn add_text(&mut self, value: &str) {
        let in_json = serde_json::to_string(value).unwrap_or_default();
        let in_url = utf8_percent_encode(value, NON_ALPHANUMERIC).to_string();
        for form in [value, in_json.trim_matches('"'), &in_url] {
            if form.len() >= FORM_LENGTH_MIN && !self.forms.iter().any(|known| known == form) {
                self.forms.push(form.to_owned());
            }
        }
        // A secret that contains another must go first, else its rest stays.
        self.forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
    }

    /// Whether `text` can be shown as it stands: no secret in it, and nothing that a terminal would obey.
    pub(crate) fn passes(&self, text: &str) -> bool {
        !text.chars().any(char::is_control)
            && !self.forms.iter().any(|form| text.contains(form.as_str()))
    }

    /// Returns the beginning of `body` as one short line without secrets.
    pub(crate) fn excerpt(&self, body: &[u8]) -> String {
        self.line(&String::from_utf8_lossy(body))
    }

    /// Returns `text` without secrets, otherwise as it is.
    pub(crate) fn clean(&self, text: &str) -> String {
        self.forms.iter().fold(text.to_owned(), |text, form| {
            text.replace(form.as_str(), MASK)
        })
    }

    /// Returns `text` as one short line without secrets.
    pub(crate) fn line(&self, text: &str) -> String {
        let text = self.clean(text);
        let text = self.without_cut_secret(text);
        let line: String = text
            .split(|character: char| character.is_whitespace() || character.is_control())
            .filter(|word| !word.is_empty())
            .map(without_token)
            .collect::<Vec<_>>()
            .join(" ");
        if line.chars().count() <= EXCERPT_LENGTH_MAX {
            return line;
        }
        let mut short: String = line.chars().take(EXCERPT_LENGTH_MAX - 1).collect();
        short.push('…');
        short
    }

    /// A body that was cut off in the middle of a secret ends with a piece of it.
    fn without_cut_secret(&self, text: String) -> String {
        for form in &self.forms {
            let cut = form
                .char_indices()
                .map(|(length, _)| length)
                .filter(|length| *length >= FORM_LENGTH_MIN)
                .rev()
                .find_map(|length| text.strip_suffix(form.split_at(length).0));
            if let Some(before) = cut {
                return format!("{before}{MASK}");
            }
        }
        text
    }
}

impl std::fmt::Debug for Scrubber {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(MASK)
    }
}

/// Masks JSON web tokens: an answer may carry a new one that nobody has told us of yet.
fn without_token(word: &str) -> String {
    let mut shown = String::new();
    let mut rest = word;
    while let Some((before, token_and_after)) = rest.split_once("eyJ") {
        let token_length = token_and_after
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
            .count();
        shown.push_str(before);
        shown.push_str(MASK);
        rest = token_and_after.split_at(token_length).1;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_short_line_without_secrets() {
        let scrubber = Scrubber::of(&Secret::new("pass\"word/1").unwrap());
        let check = |body: &str| scrubber.excerpt(body.as_bytes());
        assert_eq!(check("plain\r\n\t text\u{7}"), "plain text");
        assert_eq!(
            check("Authorization: Bearer pass\"word/1"),
            "Authorization: Bearer ***"
        );
        assert_eq!(
            check(r#"{"password":"pass\"word/1"}"#),
            r#"{"password":"***"}"#
        );
        assert_eq!(check("?token=pass%22word%2F1&x"), "?token=***&x");
        assert_eq!(
            check("cut in the middle: pass\"wo"),
            "cut in the middle: ***"
        );
        assert_eq!(
            check(r#"{"accessJwt":"eyJ0eXAi.eyJz-c_9.8z","did":"x"}"#),
            r#"{"accessJwt":"***","did":"x"}"#
        );
        assert_eq!(check(&"ä".repeat(300)), format!("{}…", "ä".repeat(199)));
        assert_eq!(scrubber.excerpt(b"\xff\xfe"), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn a_scrubber_does_not_show_what_it_looks_for() {
        let scrubber = Scrubber::of(&Secret::new("very-secret").unwrap());
        assert_eq!(format!("{scrubber:?}"), "***");
    }
}
