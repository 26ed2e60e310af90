//! Every key that the loader knows. `docs/configuration.md` has each of them.

use crate::model::channel::Kind;

/// Keys at the top of the file.
pub(super) const ROOT_KEYS: [&str; 3] = ["site", "ledger", "channels"];

/// Keys of `[site]`.
pub const SITE_KEYS: [&str; 14] = [
    "url",
    "feed",
    "pages",
    "sitemap",
    "markdown",
    "manifest",
    "timezone",
    "since",
    "permalink",
    "first_run_max",
    "max_new",
    "wait_live",
    "overdue",
    "enabled",
];

/// Keys of `[ledger]`.
pub const LEDGER_KEYS: [&str; 7] = [
    "dir",
    "branch",
    "remote",
    "push",
    "clock_skew",
    "push_gap",
    "skip_ci",
];

/// Keys of every `[channels.*]`.
pub const CHANNEL_KEYS: [&str; 18] = [
    "kind",
    "enabled",
    "template",
    "language",
    "policy",
    "gate",
    "interval",
    "since",
    "delay",
    "hours",
    "timeout",
    "max_attempts",
    "lookups",
    "send_window",
    "quarantine",
    "settle",
    "precheck",
    "follow_edits",
];

/// Keys of `[channels.*]` of one kind, beside those of every channel.
pub const fn kind_keys(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::IndexNow => &["key", "key_location", "engine", "endpoint"],
        Kind::Bluesky => &[
            "handle",
            "service",
            "resolver",
            "plc_directory",
            "app_password_env",
            "labels",
        ],
        Kind::Mastodon => &["server", "token_env", "visibility", "content_warning"],
        Kind::Devto => &["server", "api_key_env", "published", "organization_id"],
        Kind::Http => &HTTP_KEYS,
    }
}

/// Keys of a declared channel and of a preset.
pub const HTTP_KEYS: [&str; 17] = [
    "preset",
    "secrets",
    "values",
    "account",
    "limit",
    "count",
    "prepare",
    "request",
    "success",
    "receipt",
    "answer",
    "lookup",
    "update",
    "retract",
    "read",
    "rate_limit_headers",
    "repeat_harmless",
];
