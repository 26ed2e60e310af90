//! What an outsider can see: what each service got and holds, and when each push was on the remote.
//!
//! "When" is a position in a service's file for a kept rehearsal, and nanoseconds for services in this process; a
//! hook of the remote notes the same measure for each push.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sayonce::model::channel::Kind;
use sayonce::sandbox::{Answered, Sandbox};
use serde_json::Value;

use crate::cli::site::Site;

/// Everything that the checker is given.
#[derive(Debug)]
pub(crate) struct Evidence {
    /// The ledger's remote.
    pub(crate) remote: PathBuf,
    /// The ledger's branch.
    pub(crate) branch: String,
    /// By channel.
    pub(crate) services: BTreeMap<String, Service>,
    /// When a commit was on the remote, for the channel's service.
    pub(crate) landed: BTreeMap<String, BTreeMap<String, u128>>,
    /// Channels that never send twice.
    pub(crate) at_most_once: BTreeSet<String>,
    /// The least time between a claim's quiet point and its repeat is checked for these: they are read back.
    pub(crate) verified: BTreeSet<String>,
    /// The remote's end of a push was killed: git moves two refs as one against all but that.
    pub(crate) remote_was_killed: bool,
    /// What must not be in the ledger.
    pub(crate) secrets: Vec<&'static str>,
}

/// What one service saw.
#[derive(Debug, Default)]
pub(crate) struct Service {
    /// Whether a repeat makes no second post.
    pub(crate) repeats_are_harmless: bool,
    pub(crate) writes: Vec<Write>,
    /// When reads of the account's list came in, in the service's time.
    pub(crate) reads: Vec<String>,
    /// What stands: the article's URL, and the id's last part.
    pub(crate) posts: BTreeSet<(String, String)>,
}

/// A write request.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) number: u64,
    /// In the order of [`Evidence::landed`].
    pub(crate) position: u128,
    /// In the service's time.
    pub(crate) at: String,
    /// The idempotency key, the record key or the article's URL.
    pub(crate) key: Option<String>,
    /// The status of the answer; none if the connection was cut or is open.
    pub(crate) status: Option<u64>,
}

/// The hook of a kept rehearsal's remote: how long each service's file was when a push had landed.
pub(crate) const NOTE_LENGTHS: &str = "while read -r old new ref; do\n\
     printf '%s %s\\n' \"$new\" \"$(wc -c ../services/*.jsonl | tr -s '\\n ' '  ')\" >> landed.log\ndone";

/// The hook of another remote: the time at which a push had landed.
pub(crate) const NOTE_TIMES: &str = "while read -r old new ref; do printf '%s %s\\n' \"$new\" \"$(date +%s%N)\" >> landed.log; done";

/// The secrets of all stand-ins. IndexNow's key is public.
pub(crate) fn secrets() -> Vec<&'static str> {
    [Kind::Bluesky, Kind::Mastodon, Kind::Devto]
        .map(Sandbox::secret)
        .to_vec()
}

/// Reads what the stand-ins of a kept rehearsal wrote down.
pub(crate) fn of_kept(directory: &Path, channels: &[(String, Kind)]) -> Evidence {
    let services = channels.iter().map(|(name, kind)| {
        let path = directory.join("services").join(format!("{name}.jsonl"));
        // Not there: the kill came before.
        let text = std::fs::read_to_string(path).unwrap_or_default();
        (name.clone(), service(*kind, &text))
    });
    Evidence {
        remote: directory.join("remote.git"),
        branch: "sayonce".to_owned(),
        services: services.collect(),
        landed: landed_lengths(&directory.join("remote.git/landed.log")),
        at_most_once: BTreeSet::new(),
        verified: BTreeSet::new(),
        remote_was_killed: false,
        secrets: secrets(),
    }
}

/// What services in this process saw. The remote's hook is [`NOTE_TIMES`].
pub(crate) fn of_site(site: &Site, branch: &str, channels: &[(&str, Kind)]) -> Evidence {
    let mut services: BTreeMap<String, Service> = channels
        .iter()
        .map(|(name, kind)| {
            let service = Service {
                repeats_are_harmless: *kind == Kind::IndexNow,
                ..Service::default()
            };
            ((*name).to_owned(), service)
        })
        .collect();
    site.sandbox().settle();
    for request in site.sandbox().requests() {
        let Some(service) = services.get_mut(request.channel.as_str()) else {
            continue;
        };
        if request.number == 0 {
            if is_list(&request.path) {
                service.reads.push(request.at.to_string());
            }
            continue;
        }
        service.writes.push(Write {
            number: u64::try_from(request.number).unwrap(),
            position: u128::try_from(request.at.as_millis()).unwrap(),
            at: request.at.to_string(),
            key: request.key,
            status: match request.answered {
                Answered::Status(code) => Some(u64::from(code)),
                Answered::Cut | Answered::Open => None,
            },
        });
    }
    for post in site.sandbox().posts() {
        if let Some(service) = services.get_mut(post.channel.as_str()) {
            let url = post.canonical_url.unwrap_or_default();
            let id = post.id.rsplit('/').next().unwrap_or_default().to_owned();
            let id = if service.repeats_are_harmless {
                String::new()
            } else {
                id
            };
            service.posts.insert((url, id));
        }
    }
    let names: Vec<String> = services.keys().cloned().collect();
    Evidence {
        remote: site.path("remote.git"),
        branch: branch.to_owned(),
        landed: landed_times(&site.path("remote.git/landed.log"), &names),
        services,
        at_most_once: BTreeSet::new(),
        verified: BTreeSet::new(),
        remote_was_killed: false,
        secrets: secrets(),
    }
}

fn is_list(path: &str) -> bool {
    ["statuses", "listRecords", "getRecord", "articles"]
        .iter()
        .any(|word| path.contains(word))
}

fn service(kind: Kind, text: &str) -> Service {
    let mut service = Service {
        repeats_are_harmless: kind == Kind::IndexNow,
        ..Service::default()
    };
    let mut writes = BTreeMap::new();
    let mut offset = 0_u128;
    for line in text.split_inclusive('\n') {
        let position = offset;
        offset += u128::try_from(line.len()).unwrap();
        // Torn by a kill: it was never answered.
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let Some(number) = line["number"].as_u64() else {
            continue;
        };
        for effect in line["stored"].as_array().into_iter().flatten() {
            service.posts.extend(posts(kind, effect));
        }
        if number == 0 {
            if is_list(&text("path")) {
                service.reads.push(text("at"));
            }
            continue;
        }
        let write = writes.entry(number).or_insert(Write {
            number,
            position,
            at: text("at"),
            key: line["key"].as_str().map(str::to_owned),
            status: None,
        });
        write.status = line["status"].as_u64();
    }
    service.writes = writes.into_values().collect();
    service
}

/// The posts that an effect made: the article's URL, and the id's last part.
fn posts(kind: Kind, effect: &Value) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let is = |name: &str| effect["effect"] == name;
    let one = match kind {
        Kind::IndexNow => {
            let urls = effect["urls"].as_array().into_iter().flatten();
            return urls
                .filter_map(|url| Some((word(url)?, String::new())))
                .collect();
        }
        Kind::Mastodon if is("posted") => {
            let text = word(&effect["status"]["fields"]["text"]).unwrap_or_default();
            let url = text
                .split_whitespace()
                .find(|word| word.starts_with("https://"));
            url.map(|url| (url.to_owned(), effect["status"]["id"].to_string()))
        }
        Kind::Bluesky if is("put") => {
            word(&effect["value"]["embed"]["external"]["uri"]).zip(word(&effect["key"]["rkey"]))
        }
        Kind::Devto if is("created") => word(&effect["article"]["draft"]["canonical_url"])
            .map(|url| (url, effect["article"]["id"].to_string())),
        Kind::Http => word(&effect["article"]).zip(word(&effect["id"])),
        Kind::Mastodon | Kind::Bluesky | Kind::Devto => None,
    };
    one.into_iter().collect()
}

/// Lines of a commit and, for each file, its length and path.
fn landed_lengths(log: &Path) -> BTreeMap<String, BTreeMap<String, u128>> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let mut landed: BTreeMap<String, BTreeMap<String, u128>> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(commit) = words.next() else { continue };
        let words: Vec<_> = words.collect();
        let lengths = words.chunks(2).filter_map(|pair| {
            let [length, path] = pair else { return None };
            let name = Path::new(path).file_stem()?.to_str()?.to_owned();
            Some((name, length.parse().ok()?))
        });
        // Branch and witness are pushed together: the first line is the earlier one.
        landed
            .entry(commit.to_owned())
            .or_insert_with(|| lengths.collect());
    }
    landed
}

/// Lines of a commit and a time.
fn landed_times(log: &Path, channels: &[String]) -> BTreeMap<String, BTreeMap<String, u128>> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines = text.lines().filter_map(|line| {
        let (commit, time) = line.split_once(' ')?;
        // Requests are noted by the millisecond.
        let time = time.parse::<u128>().ok()? / 1_000_000;
        let all = channels.iter().map(|name| (name.clone(), time));
        Some((commit.to_owned(), all.collect()))
    });
    let mut landed = BTreeMap::new();
    for (commit, times) in lines {
        landed.entry(commit).or_insert(times);
    }
    landed
}
