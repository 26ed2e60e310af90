//! Session tokens. They need no table: a token is its scope, its time and a digest, as a signed one would be.

use std::time::Duration;

use crate::model::ids::sha256_hex;
use crate::model::time::Timestamp;

const ACCESS_LIFETIME: Duration = Duration::from_hours(2);
const REFRESH_LIFETIME: Duration = Duration::from_hours(90 * 24);

/// What a token may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Calls.
    Access,
    /// New tokens.
    Refresh,
}

impl Scope {
    fn label(self) -> &'static str {
        match self {
            Self::Access => "rehearsal-access",
            Self::Refresh => "rehearsal-refresh",
        }
    }

    fn lifetime(self) -> Duration {
        match self {
            Self::Access => ACCESS_LIFETIME,
            Self::Refresh => REFRESH_LIFETIME,
        }
    }
}

/// A token that this server gave out.
#[derive(Clone, Debug)]
pub(super) struct Token {
    scope: Scope,
    issued_at: Timestamp,
    did: String,
}

impl Token {
    pub(super) fn issue(scope: Scope, did: &str, now: Timestamp) -> Self {
        Self {
            scope,
            issued_at: now,
            did: did.to_owned(),
        }
    }

    /// Returns the token if it is ours, expired or not.
    pub(super) fn read(text: &str, did: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let label = parts.next()?;
        let millis = parts.next()?.parse().ok()?;
        let scope = [Scope::Access, Scope::Refresh]
            .into_iter()
            .find(|scope| scope.label() == label)?;
        let token = Self::issue(scope, did, Timestamp::from_millis(millis));
        (token.text() == text).then_some(token)
    }

    pub(super) fn text(&self) -> String {
        let claims = format!("{}.{}", self.scope.label(), self.issued_at.as_millis());
        let digest = sha256_hex(format!("{claims}.{}", self.did).as_bytes());
        format!("{claims}.{digest}")
    }

    pub(super) fn scope(&self) -> Scope {
        self.scope
    }

    pub(super) fn expired(&self, now: Timestamp) -> bool {
        now.since(self.issued_at) >= self.scope.lifetime()
    }
}
