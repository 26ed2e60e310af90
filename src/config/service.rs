//! `[channels.*]`: what each kind of service needs.

use toml::de::DeValue;
use url::Url;

use super::document::{Findings, Given, Section, Wrong};
use super::site::{SiteRead, value_of};
use super::values::{address, flag, number, server, text, variable, web_url, word, words};
use super::{ServiceConfig, Visibility};
use crate::model::address::{is_under_key, key_directory};
use crate::model::channel::Kind;

/// The engines that take part, by the word for each. They tell each other: one is enough.
const INDEXNOW_ENGINES: [(&str, &str); 8] = [
    ("indexnow", "https://api.indexnow.org/indexnow"),
    ("bing", "https://www.bing.com/indexnow"),
    ("yandex", "https://yandex.com/indexnow"),
    ("naver", "https://searchadvisor.naver.com/indexnow"),
    ("seznam", "https://search.seznam.cz/indexnow"),
    ("yep", "https://indexnow.yep.com/indexnow"),
    ("amazon", "https://indexnow.amazonbot.amazon/indexnow"),
    (
        "internet_archive",
        "https://web-static.archive.org/indexnow",
    ),
];
const INDEXNOW_ENDPOINT: &str = "https://api.indexnow.org/indexnow";
/// Bluesky's own server finds every handle of the network, by DNS and by file.
pub(super) const BLUESKY_RESOLVER: &str = "https://bsky.social/";
const PLC_DIRECTORY: &str = "https://plc.directory/";
const DEVTO_SERVER: &str = "https://dev.to/";

/// Keys under which people put secrets in other tools' files.
const SECRET_KEYS: [&str; 11] = [
    "token",
    "access_token",
    "bearer",
    "password",
    "app_password",
    "pass",
    "api_key",
    "apikey",
    "api_token",
    "secret",
    "key",
];

/// What an author may say of a post of their own.
const LABELS: [&str; 5] = [
    "!no-unauthenticated",
    "porn",
    "sexual",
    "nudity",
    "graphic-media",
];

const VISIBILITIES: [(&str, Visibility); 4] = [
    (Visibility::Public.label(), Visibility::Public),
    (Visibility::Unlisted.label(), Visibility::Unlisted),
    (Visibility::Private.label(), Visibility::Private),
    (Visibility::Direct.label(), Visibility::Direct),
];

/// Reads the keys of one kind.
pub(super) fn read(
    kind: Kind,
    section: &Section<'_>,
    site: &SiteRead,
    findings: &mut Findings<'_>,
) -> Option<ServiceConfig> {
    match kind {
        Kind::IndexNow => read_indexnow(section, site, findings),
        Kind::Bluesky => read_bluesky(section, findings),
        Kind::Mastodon => read_mastodon(section, findings),
        Kind::Devto => Some(read_devto(section, findings)),
        Kind::Http => super::http::read(section, findings)
            .map(|declaration| ServiceConfig::Http(Box::new(declaration))),
    }
}

/// Says how a secret is named, for a key under which one may stand.
pub(super) fn secret_hint(kind: Option<Kind>, key: &str) -> Option<String> {
    if !SECRET_KEYS.contains(&key.to_ascii_lowercase().as_str()) {
        return None;
    }
    let line = match kind {
        Some(Kind::Bluesky) => "`app_password_env = \"BLUESKY_APP_PASSWORD\"`",
        Some(Kind::Mastodon) => "`token_env = \"MASTODON_TOKEN\"`",
        Some(Kind::Devto) => "`api_key_env = \"DEVTO_API_KEY\"`",
        Some(Kind::Http) => "`secrets = { token = \"VARIABLE\" }`",
        Some(Kind::IndexNow) => return None,
        None => "a key that ends in `_env`",
    };
    Some(format!(
        "secrets never stand in this file: name an environment variable with {line}, and replace the secret if it was committed"
    ))
}

fn read_indexnow(
    section: &Section<'_>,
    site: &SiteRead,
    findings: &mut Findings<'_>,
) -> Option<ServiceConfig> {
    let key = section.require(
        "key",
        "make one up, 8 to 128 of a-z, A-Z, 0-9 and `-`, and publish it as `/<key>.txt` on the site",
        findings,
        indexnow_key,
    );
    let key_location = section.read("key_location", findings, |value| web_url(&text(value)?));
    let endpoint = section.read("endpoint", findings, address);
    let engine = section.read("engine", findings, |value| word(value, &INDEXNOW_ENGINES));
    if let (Some(_), Some(engine)) = (&endpoint, &engine) {
        findings.problem(
            engine.place,
            format!(
                "`{}` and `{}` both name the engine",
                section.path_of("engine"),
                section.path_of("endpoint")
            ),
            Some("keep one: `engine` for those that are known, `endpoint` for any other"),
        );
    }
    let host = site.url.as_ref().and_then(Url::host_str);
    let elsewhere = |url: &Url| host.is_some() && url.host_str() != host;
    if let Some(given) = key_location
        .as_ref()
        .filter(|given| elsewhere(&given.value))
    {
        findings.problem(
            given.place,
            format!(
                "`{}` is on another host than `site.url`",
                section.path_of("key_location")
            ),
            Some("engines take the key from the site itself only"),
        );
    }
    if let (Some(given), Some(site)) = (&key_location, &site.url) {
        check_key_directory(given, site, section, findings);
    }
    let endpoint = value_of(endpoint).or_else(|| value_of(engine).map(known_url));
    Some(ServiceConfig::IndexNow {
        key: value_of(key)?,
        key_location: value_of(key_location),
        endpoint: endpoint.unwrap_or_else(|| known_url(INDEXNOW_ENDPOINT)),
    })
}

/// A key that lies below the top is good for what lies beside and below it; engines refuse the rest.
fn check_key_directory(
    key_location: &Given<Url>,
    site: &Url,
    section: &Section<'_>,
    findings: &mut Findings<'_>,
) {
    let place = key_location.place;
    let directory = key_directory(&key_location.value);
    if key_location.value.host_str() != site.host_str() || is_under_key(&key_location.value, site) {
        return;
    }
    let path = section.path_of("key_location");
    if directory.starts_with(site.path()) {
        findings.warning(
            place,
            format!(
                "`{path}` is good for addresses below `{directory}` only: other articles are left out on this channel"
            ),
        );
    } else {
        findings.problem(
            place,
            format!(
                "`{path}` is good for addresses below `{directory}` only, and the site is not there"
            ),
            Some("publish the key at the top of the site, or in a directory above it"),
        );
    }
}

fn read_bluesky(section: &Section<'_>, findings: &mut Findings<'_>) -> Option<ServiceConfig> {
    let handle = section.require(
        "handle",
        "write the account's handle, such as `handle = \"blog.example\"`",
        findings,
        handle,
    );
    let service = section.read("service", findings, server);
    let resolver = section.read("resolver", findings, server);
    let plc_directory = section.read("plc_directory", findings, server);
    let app_password_env = section.read("app_password_env", findings, variable);
    let labels = section.read("labels", findings, |value| words(value, &LABELS));
    Some(ServiceConfig::Bluesky {
        handle: value_of(handle)?,
        service: value_of(service),
        resolver: value_of(resolver).unwrap_or_else(|| known_url(BLUESKY_RESOLVER)),
        plc_directory: value_of(plc_directory).unwrap_or_else(|| known_url(PLC_DIRECTORY)),
        app_password_env: value_of(app_password_env)
            .unwrap_or_else(|| "BLUESKY_APP_PASSWORD".to_owned()),
        labels: value_of(labels).unwrap_or_default(),
    })
}

fn read_mastodon(section: &Section<'_>, findings: &mut Findings<'_>) -> Option<ServiceConfig> {
    let server = section.require(
        "server",
        "write the account's server, such as `server = \"https://mastodon.example\"`",
        findings,
        server,
    );
    let token_env = section.read("token_env", findings, variable);
    let visibility = section.read("visibility", findings, |value| word(value, &VISIBILITIES));
    let content_warning = section.read("content_warning", findings, text);
    Some(ServiceConfig::Mastodon {
        server: value_of(server)?,
        token_env: value_of(token_env).unwrap_or_else(|| "MASTODON_TOKEN".to_owned()),
        visibility: value_of(visibility).unwrap_or(Visibility::Public),
        content_warning: value_of(content_warning),
    })
}

fn read_devto(section: &Section<'_>, findings: &mut Findings<'_>) -> ServiceConfig {
    let server = section.read("server", findings, server);
    let api_key_env = section.read("api_key_env", findings, variable);
    let published = section.read("published", findings, flag);
    let organization_id = section.read("organization_id", findings, number);
    ServiceConfig::Devto {
        server: value_of(server).unwrap_or_else(|| known_url(DEVTO_SERVER)),
        api_key_env: value_of(api_key_env).unwrap_or_else(|| "DEVTO_API_KEY".to_owned()),
        published: value_of(published).unwrap_or(true),
        organization_id: value_of(organization_id),
    }
}

fn known_url(text: &str) -> Url {
    Url::parse(text).expect("the constant is a URL")
}

/// The key is public by nature: it lies on the site for everybody to read.
fn indexnow_key(value: &DeValue<'_>) -> Result<String, Wrong> {
    let key = text(value)?;
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if !(8..=128).contains(&key.len()) || !key.bytes().all(legal) {
        return Err(Wrong::new(
            "is no IndexNow key",
            "a key is 8 to 128 of a-z, A-Z, 0-9 and `-`",
        ));
    }
    Ok(key)
}

fn handle(value: &DeValue<'_>) -> Result<String, Wrong> {
    let given = text(value)?;
    let is_did = ["did:plc:", "did:web:"].iter().any(|prefix| {
        given
            .strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty())
    }) && !given.contains(char::is_whitespace);
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_handle = given.len() <= 253 && given.contains('.') && given.split('.').all(is_label);
    if is_did || is_handle {
        return Ok(given);
    }
    let hint = match given.strip_prefix('@') {
        Some(rest) if rest.contains('.') => format!("write it without the `@`: `\"{rest}\"`"),
        Some(_) | None => {
            "write the whole handle, such as `\"name.bsky.social\"` or `\"blog.example\"`, or a DID"
                .to_owned()
        }
    };
    Err(Wrong::new("is no handle", hint))
}
