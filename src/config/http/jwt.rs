//! Signed tokens for requests: JSON Web Tokens under HMAC-SHA-256.

use hmac::{Hmac, KeyInit as _, Mac as _};
use minijinja::value::Kwargs;
use minijinja::{Error, ErrorKind};
use serde_json::json;
use sha2::Sha256;

use super::check::base64;

/// What a template calls it.
pub const FILTER: &str = "jwt_hs256";

/// What is said of a key that can't sign.
pub(super) const NO_KEY: &str =
    "the key for the token is not of the form `ID:SECRET` with a secret in hex digits";

/// How long a token is good for, unless the template says otherwise: services take five minutes at most.
const LIFETIME_SECONDS: i64 = 300;

/// Makes a token from a key of the form `ID:SECRET`, the secret in hex digits, as Ghost gives them out.
///
/// `now` is in seconds since 1970. `audience` and `lifetime` (in seconds) may be named. No error repeats the key.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine passes its arguments by value"
)]
pub(super) fn jwt_hs256(key: String, now: i64, options: Kwargs) -> Result<String, Error> {
    let audience: Option<String> = options.get("audience")?;
    let lifetime: Option<i64> = options.get("lifetime")?;
    options.assert_all_used()?;
    let (id, secret) = key
        .trim()
        .split_once(':')
        .and_then(|(id, secret)| Some((id, bytes_of(secret)?)))
        .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, NO_KEY))?;
    let head = json!({ "alg": "HS256", "kid": id, "typ": "JWT" });
    let mut claims = json!({
        "iat": now,
        "exp": now.saturating_add(lifetime.unwrap_or(LIFETIME_SECONDS)),
    });
    if let (Some(audience), Some(claims)) = (audience, claims.as_object_mut()) {
        claims.insert("aud".to_owned(), audience.into());
    }
    let part = |value: &serde_json::Value| base64_url(value.to_string().as_bytes());
    let signed = format!("{}.{}", part(&head), part(&claims));
    let mut signature =
        Hmac::<Sha256>::new_from_slice(&secret).expect("HMAC takes a key of any length");
    signature.update(signed.as_bytes());
    let signature = base64_url(&signature.finalize().into_bytes());
    Ok(format!("{signed}.{signature}"))
}

/// Returns what hex digits stand for; none for anything else, and for nothing.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> = pairs
        .map(|pair| match pair {
            [high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()
            }
            _ => None,
        })
        .collect();
    bytes.filter(|bytes| !bytes.is_empty())
}

fn base64_url(bytes: &[u8]) -> String {
    let text = base64(bytes).replace('+', "-").replace('/', "_");
    text.trim_end_matches('=').to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::check::environment;

    fn render(template: &str, key: &str) -> Result<String, String> {
        environment()
            .render_str(
                template,
                minijinja::context! { key => key, now => 1_732_874_400_i64 },
            )
            .map_err(|error| error.detail().unwrap_or_default().to_owned())
    }

    #[test]
    fn a_token_is_the_one_that_other_libraries_make() {
        let template = "Ghost {{ key | jwt_hs256(now, audience='/admin/') }}";
        assert_eq!(
            render(template, "6748592f4b9b7700010f6564:efbeadde"),
            Ok("Ghost eyJhbGciOiJIUzI1NiIsImtpZCI6IjY3NDg1OTJmNGI5Yjc3MDAwMTBmNjU2NCIsInR5cCI6IkpXVCJ9.eyJpYXQiOjE3MzI4NzQ0MDAsImV4cCI6MTczMjg3NDcwMCwiYXVkIjoiL2FkbWluLyJ9.-8_vbxHJjZYNyJOkzWxXzGVB7-ozMAU4DJ9E8Lfo-y4".to_owned())
        );
        let short = render("{{ key | jwt_hs256(now, lifetime=60) }}", "k:00").unwrap();
        assert_eq!(short.split('.').count(), 3);
        assert!(short.contains(".eyJpYXQiOjE3MzI4NzQ0MDAsImV4cCI6MTczMjg3NDQ2MH0."));
    }

    #[test]
    fn a_key_of_another_form_is_refused_without_being_repeated() {
        let wrong =
            "the key for the token is not of the form `ID:SECRET` with a secret in hex digits";
        for key in ["", "abc", "id:", "id:xyz", "id:abc", "id:+1"] {
            let said = render("{{ key | jwt_hs256(now) }}", key);
            assert_eq!(said, Err(wrong.to_owned()), "{key}");
        }
    }
}
