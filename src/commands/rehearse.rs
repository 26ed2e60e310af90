//! `rehearse`: the whole job against built-in stand-ins, on a scratch copy of the ledger.
//!
//! Invariant: nothing leaves this machine, no secret is read, and the user's repository is only read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use tempfile::TempDir;
use url::Url;

use crate::cli::{Format, RehearseArgs};
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, PushMode, ServiceConfig};
use crate::engine::ending::Ending;
use crate::engine::setup::Limits;
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::git::scratch;
use crate::ledger::git_store::GitStore;
use crate::model::address::same_address;
use crate::model::channel::Kind;
use crate::model::delivery::State;
use crate::model::ids::ChannelName;
use crate::model::item::ItemId;
use crate::model::row::DeliveryId;
use crate::model::time::Timestamp;
use crate::plan::outlook::Standing;
use crate::report::json::{PostCount, RehearsalReport};
use crate::report::terminal::Terminal;
use crate::report::{human, json, rehearsal};
use crate::sandbox::{Sandbox, SandboxOptions, SandboxPost, StandIn};

use super::album::Reach;
use super::digests;
use super::example;
use super::run::{Job, tell_notices, tell_problems};
use super::world::{Place, World, is_top, open_store};

/// A rehearsal waits for everything, as a sequence of real runs would.
const MAX_WAIT: Duration = Duration::from_hours(24 * 366);
/// A claim must be pushed inside its send window, and git does not run faster because the clock does.
const SEND_WINDOW_REAL_MIN: Duration = Duration::from_secs(2);
/// The scratch ledger's branch where the user has none.
const BRANCH: &str = "main";
const EXAMPLE_NOTE: &str =
    "there is no sayonce.toml here: this is the built-in example, a blog with three articles";
/// After a signal, in real time: time for the answer in hand, and until the run is out.
const STOP_ANSWER: Duration = Duration::from_secs(4);
const STOP_OUT: Duration = Duration::from_millis(4_800);

/// Rehearses.
pub(super) fn rehearse(
    place: &Place,
    arguments: &RehearseArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let real: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let scratch = Scratch::at(arguments.keep.as_deref())?;
    let stage = Stage::set(place, scratch.path(), environment, &real)?;
    terminal.set_timezone(stage.world.config.site.timezone);
    if let Some(note) = stage.note {
        terminal.error_line(note);
    }
    let begins_at =
        Sandbox::newest_time(scratch.path()).map_or(real.now(), |newest| newest.max(real.now()));
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::starting_at(begins_at, arguments.speed));
    let sandbox = start(&stage.world.config, arguments, scratch.path(), &clock)?;
    let (world, environment) = directed(stage.world, &sandbox, &clock, environment)?;
    let repository = scratch::clone_in(scratch.path(), &stage.branch, &stage.ledger, begins_at)
        .map_err(|error| Failure::new(Exit::Ledger, error))?;
    let mut store = open_store(&repository, &world.config.ledger, &environment, &clock)?;
    let mut selection = world.selection_before(&arguments.output, &mut store)?;
    selection.rehearses = true;
    tell_notices(&world, terminal);
    let limits = Limits {
        deadline: None,
        max_wait: MAX_WAIT,
        max_claims: None,
        push_gap: Duration::ZERO,
        stop_answer: clock.told(STOP_ANSWER),
        stop_out: clock.told(STOP_OUT),
        clock_skew: world.config.ledger.clock_skew,
        push_allowance: Duration::ZERO,
    };
    let journal = crate::ledger::Store::read_journal(&mut store)?;
    let facts = SiteFacts::of(&world, stage.settled);
    let (titles, timezone) = (world.titles(None), world.config.site.timezone);
    let site = digests::Site::of(&world);
    let job = Job {
        world,
        store,
        selection,
        limits,
        journal,
        clock,
        reach: Reach::PagesOnly,
    };
    let (ending, taken) = job.run(&environment, terminal)?;
    // What is stored late counts as well.
    sandbox.settle();
    let posts = sandbox.posts();
    let counted = count(&ending, &posts, &facts, arguments.keep.as_deref());
    let text = match arguments.output.format {
        Format::Json => {
            tell_problems(&ending, terminal);
            json::run(&ending, taken, Some(counted.clone()))
        }
        Format::Text => {
            let log = scratch::log(scratch.path(), &stage.branch)
                .map_err(|error| Failure::new(Exit::Ledger, error))?;
            rehearsal::text(&rehearsal::Facts {
                ending: &ending,
                titles: &titles,
                timezone,
                // Continued or not, all of it is shown.
                began_at: Timestamp::EPOCH,
                posts: &posts,
                counted: &counted,
                log: &log,
                kept: arguments.keep.as_ref().map(|_| scratch.path()),
                branch: &stage.branch,
            })
        }
    };
    terminal.result(&text);
    if terminal.is_in_job() {
        let report = json::run(&ending, taken, Some(counted.clone()));
        let digest = site.of_rehearsal(&ending, report);
        terminal.digest(&site.top, digest);
    }
    if counted.duplicates > 0 {
        let found = human::number(counted.duplicates, "post stands twice", "posts stand twice");
        return Err(Failure::new(
            Exit::Internal,
            anyhow!("{found}: the promise was broken"),
        ));
    }
    Ok(ending.exit)
}

/// Where the scratch repository and the stand-ins' state are.
enum Scratch {
    Kept(PathBuf),
    Passing(TempDir),
}

impl Scratch {
    fn at(keep: Option<&Path>) -> Result<Self, Failure> {
        let made = match keep {
            Some(directory) => std::fs::create_dir_all(directory)
                .and_then(|()| directory.canonicalize())
                .map(Self::Kept)
                .with_context(|| format!("can't make {}", directory.display())),
            None => tempfile::Builder::new()
                .prefix("sayonce-rehearsal-")
                .tempdir()
                .map(Self::Passing)
                .context("can't make a temporary directory"),
        };
        made.map_err(|error| Failure::new(Exit::Usage, error))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Passing(directory) => directory.path(),
        }
    }
}

/// What is rehearsed: the user's site and ledger, or the example's.
struct Stage {
    world: World,
    branch: String,
    /// The ledger's files by path.
    ledger: BTreeMap<String, Vec<u8>>,
    /// What is settled in it.
    settled: BTreeSet<DeliveryId>,
    note: Option<&'static str>,
}

impl Stage {
    fn set(
        place: &Place,
        scratch: &Path,
        environment: &Environment,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, Failure> {
        // A site that is not in a repository yet can be rehearsed all the same: its ledger is empty.
        let top = place
            .top()
            .unwrap_or_else(|_no_repository| PathBuf::from("."));
        let config = place.config_path(&top);
        if place.config.is_none() && !config.exists() {
            return Self::example(scratch, clock);
        }
        let world = World::of(top, Config::load(&config)?, clock);
        if GitStore::top_of(&world.top).is_err() {
            return Ok(Self::without_ledger(world));
        }
        let mut settings = world.config.ledger.clone();
        settings.push = PushMode::Auto;
        let mut store = open_store(&world.top, &settings, environment, clock)?;
        if !is_top(&store, &world.top) {
            return Ok(Self::without_ledger(world));
        }
        let (snapshot, _) = store.read_local()?;
        let ledger = store.files_of(&snapshot)?;
        let settled = snapshot
            .rows
            .iter()
            .filter(|(_, stored)| {
                stored
                    .row
                    .publish()
                    .is_some_and(|record| record.state.is_settled())
            })
            .map(|(id, _)| id.clone())
            .collect();
        let branch = store.branch().to_owned();
        Ok(Self {
            world,
            branch,
            ledger,
            settled,
            note: None,
        })
    }

    fn without_ledger(world: World) -> Self {
        let branch = world.config.ledger.branch.clone();
        Self {
            world,
            branch: branch.unwrap_or_else(|| BRANCH.to_owned()),
            ledger: BTreeMap::new(),
            settled: BTreeSet::new(),
            note: None,
        }
    }

    fn example(scratch: &Path, clock: &Arc<dyn Clock>) -> Result<Self, Failure> {
        let top = example::write(scratch)?;
        let config = Config::load(&top.join(super::world::CONFIG_NAME))?;
        let stage = Self::without_ledger(World::of(top, config, clock));
        Ok(Self {
            note: Some(EXAMPLE_NOTE),
            ..stage
        })
    }
}

fn start(
    config: &Config,
    arguments: &RehearseArgs,
    directory: &Path,
    clock: &Arc<dyn Clock>,
) -> Result<Sandbox, Failure> {
    let stand_ins = config
        .channels
        .iter()
        .map(|channel| StandIn {
            channel: channel.name().clone(),
            kind: channel.kind(),
        })
        .collect();
    let declared = config.channels.iter().filter_map(|channel| {
        let declaration = channel.declaration()?.clone();
        Some((channel.name().clone(), declaration))
    });
    let options = SandboxOptions {
        stand_ins,
        faults: arguments.fault.clone(),
        directory: arguments.keep.as_ref().map(|_| directory.to_owned()),
        clock: Arc::clone(clock),
        site_host: config.site.url.host_str().unwrap_or_default().to_owned(),
    };
    Sandbox::start_with(options, declared.collect())
        .map_err(|error| Failure::new(Exit::Usage, error))
}

/// Directs every channel to its stand-in, and the ledger to the scratch remote.
fn directed(
    mut world: World,
    sandbox: &Sandbox,
    clock: &Arc<dyn Clock>,
    environment: &Environment,
) -> Result<(World, Environment), Failure> {
    let mut environment = environment.clone();
    for channel in &mut world.config.channels {
        let base = Url::parse(sandbox.url(channel.name()))
            .context("a stand-in has no address")
            .map_err(|error| Failure::new(Exit::Internal, error))?;
        let variable = format!(
            "SAYONCE_REHEARSAL_{}",
            channel.kind().label().to_ascii_uppercase()
        );
        environment = environment.with(&variable, Sandbox::secret(channel.kind()));
        let name = channel.rules.name.clone();
        match &mut channel.service {
            ServiceConfig::IndexNow { endpoint, .. } => {
                let path = endpoint.path().to_owned();
                *endpoint = base;
                endpoint.set_path(if path == "/" { "/indexnow" } else { &path });
            }
            ServiceConfig::Bluesky {
                service,
                app_password_env,
                ..
            } => {
                *service = Some(base);
                *app_password_env = variable;
            }
            ServiceConfig::Mastodon {
                server, token_env, ..
            } => {
                *server = base;
                *token_env = variable;
            }
            ServiceConfig::Devto {
                server,
                api_key_env,
                ..
            } => {
                *server = base;
                *api_key_env = variable;
            }
            ServiceConfig::Http(declaration) => {
                let names: Vec<String> = declaration.secrets.keys().cloned().collect();
                for secret in names {
                    let value = Sandbox::declared_secret(declaration, &name, &secret);
                    let variable = format!("{variable}_{name}_{secret}");
                    environment = environment.with(&variable, &value);
                    declaration.secrets.insert(secret, variable);
                }
                declaration.redirect = Some(base);
            }
        }
        channel.rules.send_window = channel
            .rules
            .send_window
            .max(clock.told(SEND_WINDOW_REAL_MIN));
    }
    // The articles of a rehearsal need not be online.
    world.config.site.wait_live = Duration::ZERO;
    let ledger = &mut world.config.ledger;
    "origin".clone_into(&mut ledger.remote);
    ledger.push = PushMode::Always;
    ledger.push_gap = Some(Duration::ZERO);
    Ok((world, environment))
}

/// What the counts need of the site.
struct SiteFacts {
    /// Channels on which a repeat is no second post.
    repeats_are_harmless: BTreeSet<ChannelName>,
    urls: BTreeMap<ItemId, String>,
    settled_before: BTreeSet<DeliveryId>,
}

impl SiteFacts {
    fn of(world: &World, settled_before: BTreeSet<DeliveryId>) -> Self {
        let channels = world.config.channels.iter();
        Self {
            settled_before,
            repeats_are_harmless: channels
                .filter(|channel| match channel.declaration() {
                    Some(declaration) => declaration.repeat_harmless,
                    None => channel.kind() == Kind::IndexNow,
                })
                .map(|channel| channel.name().clone())
                .collect(),
            urls: world
                .catalog
                .items
                .iter()
                .map(|item| (item.id.clone(), item.canonical_url.clone()))
                .collect(),
        }
    }
}

/// Counts posts by delivery, as the stand-ins hold them.
fn count(
    ending: &Ending,
    posts: &[SandboxPost],
    facts: &SiteFacts,
    kept: Option<&Path>,
) -> RehearsalReport {
    let mut report = RehearsalReport {
        posts: Vec::new(),
        duplicates: 0,
        missing: 0,
        kept: kept.map(|path| path.display().to_string()),
    };
    for delivery in &ending.deliveries {
        let Some(url) = facts.urls.get(&delivery.id.item) else {
            continue;
        };
        let submitted: usize = posts
            .iter()
            .filter(|post| post.channel == delivery.id.channel)
            .filter(|post| {
                post.canonical_url
                    .as_deref()
                    .is_some_and(|found| same_address(found, url))
            })
            .map(|post| post.times)
            .sum();
        let repeats_are_harmless = facts.repeats_are_harmless.contains(&delivery.id.channel);
        let count = if repeats_are_harmless {
            submitted.min(1)
        } else {
            submitted
        };
        // What was settled before the rehearsal is not on the stand-ins.
        let due = delivery.standing == Standing::ByState
            && delivery.state != Some(State::Skipped)
            && !facts.settled_before.contains(&delivery.id);
        if due && count == 0 {
            report.missing += 1;
        }
        report.duplicates += count.saturating_sub(1);
        report.posts.push(PostCount {
            channel: delivery.id.channel.to_string(),
            item: delivery.id.item.to_string(),
            count,
            submitted,
        });
    }
    report
}
