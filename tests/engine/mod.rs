//! The delivery protocol, played through in a world under a virtual clock.

mod accounts;
mod alarms;
mod basics;
mod changes;
mod crowds;
mod doubts;
mod floods;
mod kills;
mod later;
mod limits;
mod memory;
mod panics;
mod people;
mod reading;
mod remote;
mod seeds;
mod stops;

use std::time::Duration;

use sayonce::engine::ending::Ending;
use sayonce::model::delivery::{Record, State};
use sayonce::model::ids::ChannelName;
use sayonce::model::item::{ItemChannelSettings, ItemImage};
use sayonce::model::notice::Notice;
use sayonce::model::outcome::Evidence;
use sayonce::model::time::Timestamp;

use crate::simulation::{Run, World};

const SITE: &str = r#"
[site]
url = "https://blog.example"
feed = "feed.xml"
"#;
/// Told again when in doubt; can't be asked.
const SEARCH: &str = r#"
[channels.search]
kind = "indexnow"
key = "0123456789abcdef"
"#;
/// Repeated under the same record key when in doubt.
const BLUESKY: &str = r#"
[channels.bluesky]
kind = "bluesky"
handle = "blog.example"
app_password_env = "BLUESKY_APP_PASSWORD"
"#;
/// Looked up when in doubt.
pub(crate) const MASTODON: &str = r#"
[channels.mastodon]
kind = "mastodon"
server = "https://mastodon.example"
token_env = "MASTODON_TOKEN"
timeout = "10s"
"#;
/// Looked up when in doubt, and paced.
const DEVTO: &str = r#"
[channels.devto]
kind = "devto"
api_key_env = "DEVTO_API_KEY"
interval = "75s"
"#;
/// One channel of each kind.
const FOUR: [&str; 4] = [SEARCH, BLUESKY, MASTODON, DEVTO];

/// A site with these channels.
fn site(channels: &[&str]) -> String {
    [&[SITE], channels].concat().concat()
}

/// A world with these channels and so many articles.
pub(crate) fn world(channels: &[&str], articles: usize) -> World {
    World::new(&site(channels), articles)
}

fn name(channel: &str) -> ChannelName {
    ChannelName::new(channel).expect("a channel's name")
}

/// What people would see of an ending: the exit code, every delivery, every problem.
fn told(ending: &Ending) -> Vec<String> {
    let code = format!("exit {}", ending.exit.code());
    let deliveries = ending.deliveries.iter().map(|delivery| {
        let state = delivery.state.map_or("pending", State::label);
        let evidence = delivery.evidence.map(Evidence::label);
        let why = evidence.or(delivery.reason.as_deref());
        match why {
            Some(why) => format!("{}: {state}: {why}", delivery.id),
            None => format!("{}: {state}", delivery.id),
        }
    });
    let problems = ending.problems.iter().map(|problem| format!("! {problem}"));
    [code]
        .into_iter()
        .chain(deliveries)
        .chain(problems)
        .collect()
}

/// Runs a run that is killed as soon as `channel` has received so many writes.
fn run_killed_at_write(world: &mut World, channel: &str, number: usize) {
    let channel = name(channel);
    let run = world.start();
    world.kill_when(run, |world, _| {
        world
            .services
            .get(&channel)
            .is_some_and(|service| service.writes() == number)
    });
}

/// The record of the only row.
fn only_record(world: &World) -> Record {
    let mut rows = world.remote.rows();
    let record = rows.next().and_then(|row| row.publish().cloned());
    assert_eq!(rows.count(), 0, "one row");
    record.expect("a record of the announcement")
}

/// The gaps between moments, in whole seconds.
fn gaps(times: &[Timestamp]) -> Vec<u64> {
    times
        .windows(2)
        .map(|pair| pair[1].since(pair[0]).as_secs())
        .collect()
}

/// Warnings and held deliveries among what a run told.
fn warnings(run: &Run) -> Vec<String> {
    run.notices
        .iter()
        .filter_map(|notice| match notice {
            Notice::Warning(text) => Some(text.clone()),
            Notice::Held { delivery, reason } => Some(format!("{delivery}: {reason}")),
            Notice::Inherited { .. }
            | Notice::Sending { .. }
            | Notice::Proved { .. }
            | Notice::Adopted { .. }
            | Notice::Deferred { .. }
            | Notice::Doubted { .. }
            | Notice::NotFound { .. }
            | Notice::Refused { .. }
            | Notice::ChannelClosed { .. }
            | Notice::Waiting { .. }
            | Notice::Stopping
            | Notice::Plain(_) => None,
        })
        .collect()
}

const HOUR: Duration = Duration::from_hours(1);

/// The author gives the first article a picture on Mastodon.
pub(crate) fn with_picture(world: &mut World) {
    let images = vec![ItemImage {
        url: "/cat.png".to_owned(),
        alt: "A cat".to_owned(),
    }];
    world.items[0].settings.channels.insert(
        name("mastodon"),
        ItemChannelSettings::Custom {
            text: None,
            content_warning: None,
            language: None,
            image: None,
            alt: None,
            images,
            series: None,
        },
    );
}
