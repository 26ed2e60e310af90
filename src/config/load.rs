//! The whole file: its three parts, and what holds between them.

use std::path::Path;

use toml::de::DeTable;
use url::Url;

use super::channel::{self, Loaded};
use super::document::{Findings, Section};
use super::keys::{CHANNEL_KEYS, LEDGER_KEYS, ROOT_KEYS, SITE_KEYS, kind_keys};
use super::service::BLUESKY_RESOLVER;
use super::{Config, ConfigError, Problem, ServiceConfig, advice, ledger, site};
use crate::model::channel::Kind;

/// Reads a configuration; every problem is found in one go.
pub(super) fn parse(file: &Path, text: &str) -> Result<Config, ConfigError> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut findings = Findings::new(file, text);
    for error in &errors {
        findings.problem(
            error.span().map(|span| span.start),
            format!("is not TOML: {}", error.message()),
            None,
        );
    }
    if !errors.is_empty() {
        // What was recovered from a broken file would only give problems that are none.
        return Err(failed(findings.finish().0));
    }
    let root = Section::root(document.get_ref());
    let site = site::read(&root, &mut findings);
    let ledger = ledger::read(&root, &mut findings);
    let channels = channel::read_all(&root, &site, &mut findings);
    refuse_twins(&channels, &mut findings);
    if let Some(gap) = ledger.as_ref().and_then(|ledger| ledger.push_gap) {
        for loaded in channels.iter().filter(|loaded| loaded.enabled) {
            if let Some(unwise) = advice::of_push_gap(&loaded.channel.rules, gap) {
                findings.warning(loaded.place, unwise);
            }
        }
    }
    root.refuse_unknown(&ROOT_KEYS, &mut findings, place_of_key);
    let (problems, warnings) = findings.finish();
    if !problems.is_empty() {
        return Err(failed(problems));
    }
    let (Some(site), Some(ledger)) = (site.site, ledger) else {
        unreachable!("a part that can't be read is a problem")
    };
    let (enabled, disabled): (Vec<_>, Vec<_>) =
        channels.into_iter().partition(|loaded| loaded.enabled);
    let name = |loaded: Loaded| loaded.channel.name().clone();
    Ok(Config {
        site,
        ledger,
        channels: enabled.into_iter().map(|loaded| loaded.channel).collect(),
        disabled: disabled.into_iter().map(name).collect(),
        warnings,
    })
}

/// Says where a key belongs that stands in the wrong table.
pub(super) fn place_of_key(key: &str) -> Option<String> {
    if ROOT_KEYS.contains(&key) {
        return Some(format!("`[{key}]` is a table of its own"));
    }
    if key == "channel" {
        return Some("did you mean `[channels.NAME]`?".to_owned());
    }
    let common = SITE_KEYS.contains(&key) && CHANNEL_KEYS.contains(&key);
    if common {
        return Some(format!(
            "`{key}` is a key of `[site]` and of `[channels.NAME]`"
        ));
    }
    if SITE_KEYS.contains(&key) {
        return Some(format!("`{key}` is a key of `[site]`"));
    }
    if LEDGER_KEYS.contains(&key) {
        return Some(format!("`{key}` is a key of `[ledger]`"));
    }
    if CHANNEL_KEYS.contains(&key) {
        return Some(format!("`{key}` is a key of `[channels.NAME]`"));
    }
    let kinds: Vec<&str> = Kind::ALL
        .into_iter()
        .filter(|kind| kind_keys(*kind).contains(&key))
        .map(Kind::label)
        .collect();
    (!kinds.is_empty()).then(|| {
        format!(
            "`{key}` is a key of channels of kind {}",
            kinds.join(" and ")
        )
    })
}

/// Two channels on one account would post everything twice, each with a clean ledger.
fn refuse_twins(channels: &[Loaded], findings: &mut Findings<'_>) {
    let enabled: Vec<&Loaded> = channels.iter().filter(|loaded| loaded.enabled).collect();
    for (position, second) in enabled.iter().enumerate() {
        let account = account_of(&second.channel.service);
        let earlier = enabled
            .iter()
            .take(position)
            .find(|first| account_of(&first.channel.service) == account);
        if let Some(first) = earlier {
            findings.problem(
                second.place,
                format!(
                    "`channels.{}` and `channels.{}` are the same account",
                    first.channel.name(),
                    second.channel.name()
                ),
                Some("every article would be posted twice: remove one, or give it an account of its own"),
            );
        }
    }
}

/// What tells two accounts of one service apart, as far as the file shows it.
fn account_of(service: &ServiceConfig) -> (Kind, String, String) {
    match service {
        ServiceConfig::IndexNow { key, endpoint, .. } => {
            (Kind::IndexNow, endpoint.to_string(), key.clone())
        }
        ServiceConfig::Bluesky {
            handle, service, ..
        } => (
            Kind::Bluesky,
            // Where the server is found by the handle, that is most often the same one.
            service
                .as_ref()
                .map_or_else(|| BLUESKY_RESOLVER.to_owned(), Url::to_string),
            handle.to_ascii_lowercase(),
        ),
        ServiceConfig::Mastodon {
            server, token_env, ..
        } => (Kind::Mastodon, server.to_string(), token_env.clone()),
        ServiceConfig::Devto {
            server,
            api_key_env,
            ..
        } => (Kind::Devto, server.to_string(), api_key_env.clone()),
        // One address takes many chats, and many keys: all that tells requests apart counts.
        ServiceConfig::Http(declaration) => (
            Kind::Http,
            declaration.request.url.clone(),
            format!("{:?}{:?}", declaration.values, declaration.secrets),
        ),
    }
}

fn failed(problems: Vec<Problem>) -> ConfigError {
    ConfigError { problems }
}
