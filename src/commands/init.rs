//! `init`: a configuration and a workflow to begin with, for the generator that the site is built with.
//!
//! Invariant: a file that is there is left as it is.

mod generator;

use std::io::Write as _;
use std::path::Path;

use anyhow::anyhow;
use serde_json::json;

use crate::cli::{Format, InitArgs};
use crate::error::Failure;
use crate::exit::Exit;
use crate::model::ids::hex;
use crate::report::terminal::Terminal;

use self::generator::{Found, Generator, find};
use super::world::{Place, seed};

/// Where the workflow goes.
const WORKFLOW: &str = ".github/workflows/announce.yml";
const WORKFLOW_TEXT: &str = include_str!("../../examples/workflows/announce.yml");
/// Stands for an address that the generator's own configuration does not tell.
const UNKNOWN_URL: &str = "https://blog.example";

/// Writes what is not there yet, and says what to do next.
pub(super) fn init(
    place: &Place,
    arguments: &InitArgs,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let top = place.top()?;
    let found = find(&top);
    let key: String = hex(&seed()?).chars().take(32).collect();
    let mut written = Vec::new();
    let mut left = Vec::new();
    let config = place.config_path(&top);
    let config_name = config
        .strip_prefix(&top)
        .unwrap_or(&config)
        .display()
        .to_string();
    for (name, path, text) in [
        (config_name, config, configuration(&found, &key)),
        (
            WORKFLOW.to_owned(),
            top.join(WORKFLOW),
            WORKFLOW_TEXT.to_owned(),
        ),
    ] {
        if write_new(&path, &text)? {
            written.push(name);
        } else {
            left.push(name);
        }
    }
    let next = next_steps(&found);
    let text = match arguments.format {
        Format::Text => told(&found, &written, &left, &next),
        Format::Json => {
            let report = json!({
                "schema": 1,
                "generator": found.generator.map(Generator::label),
                "written": written,
                "left": left,
                "next": next,
            });
            format!("{report:#}\n")
        }
    };
    terminal.result(&text);
    Ok(Exit::Proved)
}

/// Writes a file that is not there, its directory included; returns whether it was not there.
fn write_new(path: &Path, text: &str) -> Result<bool, Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(
            Exit::Usage,
            anyhow!("{} can't be written: {error}", path.display()),
        )
    };
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    let opened = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path);
    match opened {
        Ok(mut file) => {
            file.write_all(text.as_bytes()).map_err(failed)?;
            Ok(true)
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

fn configuration(found: &Found, key: &str) -> String {
    let url = found.url.as_deref().unwrap_or(UNKNOWN_URL);
    let url_note = if found.url.is_some() {
        "the root; item ids are paths below it"
    } else {
        "CHANGE THIS: the site's address"
    };
    let feed_note = if found.feed_is_there {
        "lists the articles"
    } else {
        "lists the articles; is this where the build puts it?"
    };
    let markdown = match &found.markdown {
        Some(glob) => format!(
            "markdown = {}  # front matter, and the text for dev.to\n",
            quoted(glob)
        ),
        None => {
            "# markdown = \"content/**/*.md\"  # front matter, and the text for dev.to\n".to_owned()
        }
    };
    let timezone = match &found.timezone {
        Some(zone) => format!("timezone = {}  # for dates without one\n", quoted(zone)),
        None => "# timezone = \"Europe/Berlin\"  # for dates without one\n".to_owned(),
    };
    let host = url.split("://").nth(1).unwrap_or("blog.example");
    let host = host.split(['/', ':']).next().unwrap_or("blog.example");
    format!(
        "# What sayonce announces, and where. docs/configuration.md of sayonce has every key; `sayonce doctor` checks it all.\n\
         \n\
         [site]\n\
         url = {url}  # {url_note}\n\
         feed = {feed}  # {feed_note}\n\
         pages = {pages}  # built HTML: canonical links, descriptions, dates\n\
         {markdown}{timezone}\
         wait_live = \"10m\"  # an article is announced when its page is online\n\
         \n\
         [ledger]\n\
         branch = \"sayonce-ledger\"  # a branch of its own: no commits of a bot on the site's branch\n\
         \n\
         # The channels: take the `#` away from those that you have. Secrets are named here, and never written.\n\
         \n\
         # [channels.search]\n\
         # kind = \"indexnow\"\n\
         # key = \"{key}\"  # the site serves it as /{key}.txt, a file with the key in it\n\
         \n\
         # [channels.bluesky]\n\
         # kind = \"bluesky\"\n\
         # handle = \"{host}\"  # the account's handle\n\
         # app_password_env = \"BLUESKY_APP_PASSWORD\"\n\
         \n\
         # [channels.mastodon]\n\
         # kind = \"mastodon\"\n\
         # server = \"https://mastodon.example\"  # the account's server\n\
         # token_env = \"MASTODON_TOKEN\"\n\
         \n\
         # [channels.devto]\n\
         # kind = \"devto\"\n\
         # api_key_env = \"DEVTO_API_KEY\"\n\
         # interval = \"75s\"\n",
        url = quoted(url),
        feed = quoted(&found.feed),
        pages = quoted(&found.pages),
    )
}

/// Writes a text as TOML takes it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn next_steps(found: &Found) -> Vec<String> {
    let mut steps = Vec::new();
    if found.url.is_none() {
        steps.push("write the site's address into `url` under `[site]`".to_owned());
    }
    if !found.feed_is_there {
        steps.push(format!(
            "build the site; if its feed is not {}, correct `feed` under `[site]`",
            found.feed
        ));
    }
    steps.extend(
        [
            "take the `#` away from the channels that you have",
            "set their secrets: here with `export`, for GitHub Actions with `gh secret set NAME`",
            "`sayonce doctor` checks it all, `sayonce plan` shows what would be sent, `sayonce rehearse` plays it through",
            "`sayonce baseline --from-remote` marks what is online as announced before, and records what is on your accounts",
        ]
        .map(str::to_owned),
    );
    steps.push(format!(
        "in {WORKFLOW}: name the workflow that puts the site online where it says `deploy`, and build the site where it says so"
    ));
    steps
}

fn told(found: &Found, written: &[String], left: &[String], next: &[String]) -> String {
    let mut lines = vec![match found.generator {
        Some(generator) => format!("This is a site of {}.", generator.label()),
        None => {
            "No generator was recognised: the paths in the configuration are guesses.".to_owned()
        }
    }];
    lines.extend(written.iter().map(|name| format!("{name} is written.")));
    lines.extend(
        left.iter()
            .map(|name| format!("{name} is there already, and left as it is.")),
    );
    if !written.is_empty() {
        lines.push("Next:".to_owned());
        let steps = next.iter().zip(1..);
        lines.extend(steps.map(|(step, number)| format!("{number}. {step}")));
    }
    lines.push(String::new());
    lines.join("\n")
}
