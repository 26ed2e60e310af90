//! `[channels.*]`: the rules that every channel goes by.

use std::time::Duration;

use toml::de::DeValue;

use super::document::{Findings, Given, Place, Section, Wrong};
use super::http::{Declaration, Preset};
use super::keys::{CHANNEL_KEYS, kind_keys};
use super::load::place_of_key;
use super::site::{SiteRead, value_of};
use super::suggest::closest;
use super::template::{self, DEFAULT_TEMPLATE};
use super::values::{duration, durations, flag, hours, language, moment, number, text, word};
use super::{ChannelConfig, ServiceConfig, advice, service};
use crate::model::channel::{ChannelRules, Gate, Kind, KindTraits, Policy, ReceiptKind};
use crate::model::ids::ChannelName;

const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
const SEND_WINDOW_DEFAULT: Duration = Duration::from_secs(30);
/// The longest that a service has been seen to work on a request whose answer was lost.
const QUARANTINE_DEFAULT: Duration = Duration::from_mins(10);
const SETTLE_DEFAULT: Duration = Duration::from_mins(1);
const MAX_ATTEMPTS_DEFAULT: u32 = 5;
const LOOKUPS_DEFAULT: [Duration; 3] = [
    Duration::from_secs(3),
    Duration::from_secs(10),
    Duration::from_secs(30),
];

const POLICIES: [(&str, Policy); 4] = [
    (Policy::AtLeastOnce.label(), Policy::AtLeastOnce),
    (Policy::Keyed.label(), Policy::Keyed),
    (Policy::Verified.label(), Policy::Verified),
    (Policy::AtMostOnce.label(), Policy::AtMostOnce),
];

const GATES: [(&str, Gate); 3] = [
    (Gate::Auto.label(), Gate::Auto),
    (Gate::Confirm.label(), Gate::Confirm),
    (Gate::Manual.label(), Gate::Manual),
];

/// A channel that could be read, with what only the loader needs of it.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) channel: ChannelConfig,
    pub(super) enabled: bool,
    pub(super) place: Place,
}

/// Reads all channels, in the order of the file; those with a problem are left out.
pub(super) fn read_all(
    root: &Section<'_>,
    site: &SiteRead,
    findings: &mut Findings<'_>,
) -> Vec<Loaded> {
    let channels = root.section("channels", findings);
    let keys = channels.as_ref().map(Section::keys).unwrap_or_default();
    if keys.is_empty()
        && root
            .value("channels")
            .is_none_or(|value| value.get_ref().is_table())
    {
        findings.warning(None, "no channel is configured, so nothing is announced");
    }
    let Some(channels) = channels else {
        return Vec::new();
    };
    keys.into_iter()
        .filter_map(|(key, place)| {
            let name = ChannelName::new(key);
            if let Err(error) = &name {
                findings.problem(place, error.to_string(), None);
            }
            let section = channels.section(key, findings)?;
            let loaded = read(name.ok(), &section, site, findings);
            loaded.map(|(channel, enabled)| Loaded {
                channel,
                enabled,
                place,
            })
        })
        .collect()
}

fn read(
    name: Option<ChannelName>,
    section: &Section<'_>,
    site: &SiteRead,
    findings: &mut Findings<'_>,
) -> Option<(ChannelConfig, bool)> {
    let kind = read_kind(section, findings);
    let enabled = value_of(section.read("enabled", findings, flag)).unwrap_or(true);
    let service = kind.and_then(|kind| service::read(kind, section, site, findings));
    let rules = read_rules(kind, service.as_ref(), name, section, site, findings);
    let template = read_template(kind, section, findings);
    let language = value_of(section.read("language", findings, language));
    refuse_unknown(kind, section, findings);
    let channel = ChannelConfig {
        rules: rules?,
        service: service?,
        template,
        language,
        timezone: site.timezone,
    };
    advice::of_channel(&channel, section, findings);
    Some((channel, enabled))
}

fn read_kind(section: &Section<'_>, findings: &mut Findings<'_>) -> Option<Kind> {
    let words = Kind::ALL.map(|kind| (kind.label(), kind));
    let labels = Kind::ALL.map(Kind::label);
    let name = section.name.rsplit('.').next().unwrap_or_default();
    let hint = match closest(name, &labels) {
        Some(near) => format!(
            "write `kind = \"{near}\"`; the kinds are {}",
            labels.join(", ")
        ),
        None => format!("the kinds are {}", labels.join(", ")),
    };
    let read = |value: &DeValue<'_>| {
        word(value, &words).map_err(|wrong| match value.as_str().and_then(Preset::find) {
            Some(Preset { name, .. }) => Wrong::new(
                wrong.message,
                format!("`{name}` is a preset: write `kind = \"http\"` and `preset = \"{name}\"`"),
            ),
            None => wrong,
        })
    };
    value_of(section.require("kind", &hint, findings, read))
}

/// Reads the rules; without a kind they are read for their problems alone.
fn read_rules(
    kind: Option<Kind>,
    service: Option<&ServiceConfig>,
    name: Option<ChannelName>,
    section: &Section<'_>,
    site: &SiteRead,
    findings: &mut Findings<'_>,
) -> Option<ChannelRules> {
    let policy = section.read("policy", findings, |value| word(value, &POLICIES));
    let gate = value_of(section.read("gate", findings, |value| word(value, &GATES)));
    let interval = value_of(section.read("interval", findings, duration));
    let timeout = value_of(section.read("timeout", findings, duration));
    let send_window = value_of(section.read("send_window", findings, duration));
    let quarantine = value_of(section.read("quarantine", findings, duration));
    let settle = value_of(section.read("settle", findings, duration));
    let lookups = value_of(section.read("lookups", findings, durations));
    let max_attempts = section.read("max_attempts", findings, number::<u32>);
    let precheck = value_of(section.read("precheck", findings, flag));
    let follow_edits = section.read("follow_edits", findings, flag);
    let since = value_of(section.read("since", findings, |value| moment(value, site.timezone)));
    let delay = value_of(section.read("delay", findings, duration));
    let hours = value_of(section.read("hours", findings, |value| hours(value, site.timezone)));
    if let Some(given) = max_attempts.as_ref().filter(|given| given.value == 0) {
        findings.problem(
            given.place,
            format!("`{}` is 0", section.path_of("max_attempts")),
            Some("write at least 1; `enabled = false` turns a channel off"),
        );
    }
    let (kind, name) = (kind?, name?);
    let declaration = service.and_then(ServiceConfig::declaration);
    let traits = declaration.map_or(kind.traits(), Declaration::traits);
    // What a declaration with a problem could carry is not known.
    if kind != Kind::Http || declaration.is_some() {
        refuse_policy(kind, traits, policy.as_ref(), section, findings);
    }
    if let Some(given) = follow_edits
        .as_ref()
        .filter(|given| given.value && !traits.updates)
    {
        findings.problem(
            given.place,
            format!("`{}` can't be carried out", section.path_of("follow_edits")),
            Some("a post can't be changed on this service; leave the line out"),
        );
    }
    let lists = declaration
        .and_then(|declaration| declaration.lookup.as_ref())
        .is_none_or(|lookup| lookup.lists);
    let policy = value_of(policy).unwrap_or(traits.default_policy);
    // To say that an article changed is what harmless notices are for.
    let gate = gate.unwrap_or(Gate::Auto);
    let is_notice = traits.receipt == ReceiptKind::None && policy == Policy::AtLeastOnce;
    let follows = traits.updates && is_notice && gate != Gate::Manual;
    let (default_quarantine, default_settle) = match policy {
        // A repeat does no harm, so nobody waits for the quiet point.
        Policy::AtLeastOnce | Policy::Keyed => (Duration::ZERO, Duration::ZERO),
        Policy::Verified | Policy::AtMostOnce => (QUARANTINE_DEFAULT, SETTLE_DEFAULT),
    };
    let mut lookups = lookups.unwrap_or_else(|| LOOKUPS_DEFAULT.to_vec());
    lookups.sort_unstable();
    Some(ChannelRules {
        name,
        kind,
        policy,
        gate,
        interval: interval.unwrap_or(traits.default_interval),
        timeout: timeout.unwrap_or(TIMEOUT_DEFAULT),
        send_window: send_window.unwrap_or(SEND_WINDOW_DEFAULT),
        quarantine: quarantine.unwrap_or(default_quarantine),
        settle: settle.unwrap_or(default_settle),
        lookups,
        max_attempts: value_of(max_attempts).unwrap_or(MAX_ATTEMPTS_DEFAULT),
        precheck: precheck.unwrap_or(true) && traits.readable && lists,
        follow_edits: value_of(follow_edits).unwrap_or(follows),
        since,
        delay: delay.unwrap_or(Duration::ZERO),
        hours,
    })
}

/// A policy is a promise; a service that can't keep it must not be given it.
fn refuse_policy(
    kind: Kind,
    traits: KindTraits,
    policy: Option<&Given<Policy>>,
    section: &Section<'_>,
    findings: &mut Findings<'_>,
) {
    let Some(given) = policy else {
        return;
    };
    let declared = kind == Kind::Http;
    let reason = match given.value {
        Policy::AtLeastOnce if traits.default_policy != Policy::AtLeastOnce && declared => {
            "nothing says `repeat_harmless = true`, and a post that is sent again stands there twice"
        }
        Policy::AtLeastOnce if traits.default_policy != Policy::AtLeastOnce => {
            "a post that is sent again stands there twice"
        }
        Policy::Keyed if !traits.keyed && declared => {
            "nothing in `request` says `key_lifetime = \"permanent\"`"
        }
        Policy::Keyed if !traits.keyed => "it takes no id that the client chooses for ever",
        Policy::Verified if !traits.verified && declared => "it has no `lookup`",
        Policy::Verified if !traits.verified => "its posts can't be read back",
        Policy::AtLeastOnce | Policy::Keyed | Policy::Verified | Policy::AtMostOnce => return,
    };
    let carried: Vec<String> = POLICIES
        .into_iter()
        .filter(|(_, policy)| match policy {
            Policy::AtLeastOnce => traits.default_policy == Policy::AtLeastOnce,
            Policy::Keyed => traits.keyed,
            Policy::Verified => traits.verified,
            Policy::AtMostOnce => true,
        })
        .map(|(label, _)| format!("`{label}`"))
        .collect();
    let who = if declared {
        "this declaration"
    } else {
        kind.label()
    };
    findings.problem(
        given.place,
        format!(
            "`{}` is `{}`, which {who} can't carry: {reason}",
            section.path_of("policy"),
            given.value.label()
        ),
        Some(&format!("{who} carries {}", carried.join(", "))),
    );
}

fn read_template(kind: Option<Kind>, section: &Section<'_>, findings: &mut Findings<'_>) -> String {
    let Some(given) = section.read("template", findings, text) else {
        return DEFAULT_TEMPLATE.to_owned();
    };
    if let Err(error) = template::check(&given.value) {
        let raw = section.value("template").map(|value| findings.raw(value));
        let lines_below = error
            .line
            .map_or(0, |line| lines_below(raw.unwrap_or_default(), line));
        findings.problem_below(
            given.place,
            lines_below,
            format!("`{}`: {error}", section.path_of("template")),
            error.hint.as_deref(),
        );
    } else if matches!(kind, Some(Kind::IndexNow | Kind::Devto)) {
        findings.warning(
            given.place,
            format!(
                "`{}` has no effect: {} takes no text",
                section.path_of("template"),
                kind.map_or("this kind", Kind::label)
            ),
        );
    }
    given.value
}

/// A string on one line shows its line breaks as `\n`; only one in triple quotes has lines of the file.
fn lines_below(raw: &str, template_line: usize) -> usize {
    let Some(inner) = raw
        .strip_prefix("\"\"\"")
        .or_else(|| raw.strip_prefix("'''"))
    else {
        return 0;
    };
    // TOML leaves out a line break right after the opening quotes.
    let first_is_left_out = inner.starts_with('\n') || inner.starts_with("\r\n");
    template_line - 1 + usize::from(first_is_left_out)
}

fn refuse_unknown(kind: Option<Kind>, section: &Section<'_>, findings: &mut Findings<'_>) {
    let mut known: Vec<&str> = CHANNEL_KEYS.to_vec();
    match kind {
        Some(kind) => known.extend(kind_keys(kind)),
        // Which keys are right can't be known; those of any kind pass.
        None => known.extend(Kind::ALL.into_iter().flat_map(kind_keys)),
    }
    section.refuse_unknown(&known, findings, |key| {
        service::secret_hint(kind, key).or_else(|| place_of_key(key))
    });
}
