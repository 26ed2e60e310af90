//! Values that are legal but unwise: each gets a warning, and the run goes on.

use std::time::Duration;

use super::document::{Findings, Section};
use super::{ChannelConfig, ServiceConfig, Visibility};
use crate::model::channel::{ChannelRules, Policy};
use crate::model::time::duration_text;

/// Below this, even a healthy service in another part of the world is taken for a silent one.
const TIMEOUT_SHORT: Duration = Duration::from_secs(2);
/// A job would hang that long in one call.
const TIMEOUT_LONG: Duration = Duration::from_mins(10);
/// A claim is pushed before its window begins to count for anything; pushes take a second or two.
const SEND_WINDOW_SHORT: Duration = Duration::from_secs(5);
/// Every other run leaves a claim alone that long.
const SEND_WINDOW_LONG: Duration = Duration::from_mins(10);
/// Attempts beyond this are a loop, not persistence.
const MAX_ATTEMPTS_MANY: u32 = 20;

/// Notes what is unwise about a channel.
pub(super) fn of_channel(
    channel: &ChannelConfig,
    section: &Section<'_>,
    findings: &mut Findings<'_>,
) {
    let rules = &channel.rules;
    let traits = channel.traits();
    let mut warn = |key: &str, unwise: bool, message: String| {
        let place = section
            .keys()
            .into_iter()
            .find(|(name, _)| *name == key)
            .and_then(|(_, place)| place);
        // A default is never warned about: nobody chose it here.
        if let (true, Some(_)) = (unwise, place) {
            findings.warning(place, format!("`{}` {message}", section.path_of(key)));
        }
    };
    warn(
        "interval",
        rules.interval < traits.default_interval,
        format!(
            "is below {}, which is what {} takes without a rate limit",
            duration_text(traits.default_interval),
            channel.service_name()
        ),
    );
    warn(
        "timeout",
        rules.timeout < TIMEOUT_SHORT,
        "is so short that sent posts will often be in doubt".to_owned(),
    );
    warn(
        "timeout",
        rules.timeout > TIMEOUT_LONG,
        "is over 10m: one silent call would hold the whole run".to_owned(),
    );
    warn(
        "send_window",
        rules.send_window < SEND_WINDOW_SHORT,
        "is below 5s: the push of a claim may take longer, and then it is not sent".to_owned(),
    );
    warn(
        "send_window",
        rules.send_window > SEND_WINDOW_LONG,
        "is over 10m: everything in doubt waits that much longer".to_owned(),
    );
    let waits = match rules.policy {
        Policy::Verified | Policy::AtMostOnce => true,
        Policy::AtLeastOnce | Policy::Keyed => false,
    };
    warn(
        "quarantine",
        waits && rules.quarantine < rules.timeout,
        "is shorter than `timeout`: a slow service may still be working when the post is sent again".to_owned(),
    );
    warn(
        "settle",
        waits && rules.settle.is_zero(),
        "is 0s: a post that its service does not list at once would be sent again".to_owned(),
    );
    warn(
        "max_attempts",
        rules.max_attempts > MAX_ATTEMPTS_MANY,
        format!("is over {MAX_ATTEMPTS_MANY}: a person should look before that"),
    );
    warn(
        "lookups",
        rules.policy == Policy::Verified && rules.lookups.is_empty(),
        "is empty: what is in doubt waits for the next run".to_owned(),
    );
    let unread = section
        .value("precheck")
        .is_some_and(|value| value.get_ref().as_bool() == Some(true))
        && !traits.readable;
    warn(
        "precheck",
        unread,
        format!("has no effect: {} can't be read", channel.service_name()),
    );
    let hidden = match &channel.service {
        ServiceConfig::Mastodon { visibility, .. } => *visibility == Visibility::Direct,
        ServiceConfig::IndexNow { .. }
        | ServiceConfig::Bluesky { .. }
        | ServiceConfig::Devto { .. }
        | ServiceConfig::Http(_) => false,
    };
    warn(
        "visibility",
        hidden,
        "is `direct`: nobody but those mentioned will see the posts".to_owned(),
    );
}

/// Says that pushes are further apart than a claim is good for; none if they are not.
pub(crate) fn of_push_gap(rules: &ChannelRules, gap: Duration) -> Option<String> {
    (rules.send_window < gap).then(|| {
        format!(
            "`channels.{}.send_window` ({}) is below the {} between two pushes (`ledger.push_gap`): claims reach the \
             ledger too late to be sent",
            rules.name,
            duration_text(rules.send_window),
            duration_text(gap)
        )
    })
}
