//! Names and identifiers. Each is a type of its own, valid once it exists.

use std::fmt;

use sha2::{Digest as _, Sha256};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(&self.0)
            }
        }
    };
}
pub(crate) use text_id;

text_id!(
    /// A channel's name: the key under `[channels]`, and the file name of its rows.
    ChannelName
);
text_id!(
    /// Who posts on a channel, as the service names it (a DID, a profile URL).
    Account
);
text_id!(
    /// The random 128-bit name of one claim, in hex. Whose token stands at the remote's tip owns the delivery.
    Token
);
text_id!(
    /// The name of a logical action, sent to services that take one: `so1-` and 64 hex digits.
    IdempotencyKey
);
text_id!(
    /// `sha256:` and the hex digest of the bytes of a post.
    Fingerprint
);
text_id!(
    /// Which run made a claim: `github:<run id>/<attempt>`, or `local:` and a random word.
    RunId
);

/// The channel name can't be used as a file name on every system.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` can't be a channel's name: use 1 to 40 of a-z, 0-9, `-` and `_`, starting with a letter or digit, and no Windows device name"
)]
pub struct ChannelNameError(pub String);

impl ChannelName {
    /// Longest allowed name, so that a row's path stays short on every system.
    const LENGTH_MAX: usize = 40;

    /// Takes a name that is safe as a file name everywhere, case-insensitive systems included.
    pub fn new(name: &str) -> Result<Self, ChannelNameError> {
        let legal = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_'
        };
        let starts_well = name
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if starts_well
            && name.len() <= Self::LENGTH_MAX
            && name.bytes().all(legal)
            && !is_windows_device(name)
        {
            Ok(Self(name.to_owned()))
        } else {
            Err(ChannelNameError(name.to_owned()))
        }
    }
}

/// Windows refuses these as file names, with any extension.
pub(crate) fn is_windows_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    match stem.as_str() {
        "con" | "prn" | "aux" | "nul" => true,
        _ => stem
            .strip_prefix("com")
            .or_else(|| stem.strip_prefix("lpt"))
            .is_some_and(|digit| {
                digit.len() == 1 && digit.bytes().all(|byte| byte.is_ascii_digit())
            }),
    }
}

impl Account {
    /// Takes the service's own name of the account.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }
}

impl RunId {
    /// Takes the name of a run.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }
}

impl Token {
    /// Makes a token from 128 random bits.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(hex(&bytes))
    }

    /// Reads a token back from a row.
    pub fn parse(text: &str) -> Option<Self> {
        let legal = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        legal.then(|| Self(text.to_owned()))
    }
}

impl IdempotencyKey {
    /// Derives the key of a logical action from everything that makes it that action.
    ///
    /// `publish_at` is the planned date or empty, never the article's own date: a
    /// corrected date must not make a second action.
    pub fn derive(action: &LogicalAction<'_>) -> Self {
        let mut digest = Sha256::new();
        for part in [
            action.site,
            action.item,
            action.channel,
            action.account,
            action.operation,
            action.publish_at,
            &action.edition.to_string(),
        ] {
            // The length goes in front, so that no two lists of parts run together alike.
            digest.update(part.len().to_be_bytes());
            digest.update(part.as_bytes());
        }
        Self(format!("so1-{}", hex(&digest.finalize())))
    }

    /// Reads a key back from a row.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("so1-")?;
        let legal = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        legal.then(|| Self(text.to_owned()))
    }
}

/// What an idempotency key stands for.
#[derive(Clone, Copy, Debug)]
pub struct LogicalAction<'a> {
    /// The site's root URL.
    pub site: &'a str,
    /// The item id.
    pub item: &'a str,
    /// The channel's name.
    pub channel: &'a str,
    /// The account that posts.
    pub account: &'a str,
    /// `publish`, `update:<n>` or `retract`.
    pub operation: &'a str,
    /// The planned date, or empty.
    pub publish_at: &'a str,
    /// Counts deliberate repeats, from 1.
    pub edition: u32,
}

impl Fingerprint {
    /// Takes the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("sha256:{}", sha256_hex(bytes)))
    }

    /// Reads a fingerprint back from a row.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:")?;
        let legal = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        legal.then(|| Self(text.to_owned()))
    }
}

/// Returns the SHA-256 of `bytes` in lower-case hex.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Writes bytes in lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string can't fail");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channel_names_are_file_names_everywhere() {
        for good in ["mastodon", "bluesky-2", "a_b", "9"] {
            assert!(ChannelName::new(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "Mastodon",
            "a/b",
            "a.b",
            "../x",
            "con",
            "lpt1",
            "-a",
            "ä",
            &"x".repeat(41),
        ] {
            assert!(ChannelName::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_key_changes_with_each_part_of_the_action() {
        let action = LogicalAction {
            site: "https://blog.example",
            item: "a",
            channel: "bc",
            account: "me",
            operation: "publish",
            publish_at: "",
            edition: 1,
        };
        let key = IdempotencyKey::derive(&action);
        assert_eq!(key.as_str().len(), 68);
        assert_eq!(key, IdempotencyKey::derive(&action));
        assert_ne!(
            key,
            IdempotencyKey::derive(&LogicalAction {
                item: "ab",
                channel: "c",
                ..action
            })
        );
        assert_ne!(
            key,
            IdempotencyKey::derive(&LogicalAction {
                edition: 2,
                ..action
            })
        );
        assert_eq!(IdempotencyKey::parse(key.as_str()), Some(key));
    }
}
