//! `run`: the job.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::channel::Channel;
use crate::channel::registry;
use crate::cli::{Format, RunArgs};
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::config::advice::of_push_gap;
use crate::engine::core::Core;
use crate::engine::driver::{Hands, Line, Taken, drive};
use crate::engine::ending::Ending;
use crate::engine::setup::{Limits, Setup};
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ledger::Store as _;
use crate::ledger::git_store::GitStore;
use crate::model::ids::ChannelName;
use crate::model::notice::Notice;
use crate::model::row::Row;
use crate::model::time::duration_text;
use crate::plan::survey::Selection;
use crate::report::digest::NextRun;
use crate::report::terminal::Terminal;
use crate::report::{human, json};

use super::album::{Reach, Shelf};
use super::digests;
use super::schedule;
use super::world::{Fetcher, Place, World, deadline, run_id, seed};

/// What the two pushes around a send may take, when a deadline is kept.
const PUSH_ALLOWANCE: Duration = Duration::from_secs(10);
/// After a signal: time for the answer in hand, and until the run is out (the job runner kills at 10 s).
const STOP_ANSWER: Duration = Duration::from_secs(4);
const STOP_OUT: Duration = Duration::from_millis(4_800);
/// GitHub recommends at most six pushes a minute.
const PUSH_GAP_ON_GITHUB: Duration = Duration::from_secs(10);

/// Announces what is due.
pub(super) fn run(
    place: &Place,
    arguments: &RunArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let started = clock.now();
    let world = World::read(place, &clock)?;
    terminal.set_timezone(world.config.site.timezone);
    let mut store = world.store(environment, &clock)?;
    let selection = world.selection_before(&arguments.output, &mut store)?;
    let limits = Limits {
        deadline: deadline(started, arguments.deadline),
        max_wait: arguments.max_wait,
        max_claims: arguments.max,
        push_gap: push_gap(&world.config, &store),
        stop_answer: STOP_ANSWER,
        stop_out: STOP_OUT,
        clock_skew: world.config.ledger.clock_skew,
        push_allowance: PUSH_ALLOWANCE,
    };
    tell_notices(&world, terminal);
    if world.config.ledger.push_gap.is_none() {
        // What the file itself says was warned of when it was read.
        let rules = world.config.channels.iter().map(|channel| &channel.rules);
        for unwise in rules.filter_map(|rules| of_push_gap(rules, limits.push_gap)) {
            terminal.tell(&Notice::Warning(unwise));
        }
    }
    if let Some(given) = arguments.deadline {
        for short in too_short(&world.config, &selection, given) {
            terminal.tell(&Notice::Warning(short));
        }
    }
    let journal = store.read_journal()?;
    let timezone = world.config.site.timezone;
    let titles = world.titles(None);
    let site = digests::Site::of(&world);
    let job = Job {
        world,
        store,
        selection,
        limits,
        journal,
        clock,
        reach: Reach::Network,
    };
    let (ending, taken) = job.run(environment, terminal)?;
    let text = match arguments.output.format {
        Format::Json => {
            tell_problems(&ending, terminal);
            json::run(&ending, taken, None)
        }
        Format::Text => human::ending(&ending, &titles, timezone, started),
    };
    terminal.result(&text);
    let next_run = schedule::next_run(&site.top, environment, started);
    if let (Exit::WorkRemains, NextRun::Nobody(sentence)) = (ending.exit, &next_run) {
        terminal.error_line(&format!("note: {sentence}"));
    }
    if terminal.is_in_job() {
        let report = json::run(&ending, taken, None);
        let digest = site.of_run(&ending, started, next_run, report);
        terminal.digest(&site.top, digest);
    }
    Ok(ending.exit)
}

/// A run that is ready to start; a rehearsal is one, too.
pub(super) struct Job {
    pub(super) world: World,
    pub(super) store: GitStore,
    pub(super) selection: Selection,
    pub(super) limits: Limits,
    pub(super) journal: Vec<Row>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) reach: Reach,
}

impl Job {
    /// Runs to the end, or until a signal.
    pub(super) fn run(
        self,
        environment: &Environment,
        terminal: &mut Terminal,
    ) -> Result<(Ending, Taken), Failure> {
        let Self {
            world,
            store,
            selection,
            limits,
            journal,
            clock,
            reach,
        } = self;
        let mut unavailable = BTreeMap::new();
        let mut channels: BTreeMap<ChannelName, Box<dyn Channel>> = BTreeMap::new();
        for channel in &world.config.channels {
            match registry::build(channel, &world.config.site, environment, Arc::clone(&clock)) {
                Ok(service) => {
                    channels.insert(channel.name().clone(), service);
                }
                Err(missing) => {
                    terminal.tell(&Notice::ChannelClosed {
                        channel: channel.name().clone(),
                        reason: missing.to_string(),
                    });
                    unavailable.insert(channel.name().clone(), missing.to_string());
                }
            }
        }
        let album = Shelf::of(&world, reach, &clock);
        let setup = Setup {
            config: world.config,
            catalog: world.catalog,
            selection,
            run: run_id(environment)?,
            limits,
            unavailable,
            journal,
        };
        let line = Line::new();
        if let Err(error) = crate::signals::stop_on_signals(line.stopper()) {
            terminal.tell(&Notice::Warning(format!(
                "signals can't be handled: {error}"
            )));
        }
        let core = Core::new(Arc::new(setup), seed()?);
        let hands = Hands {
            store: Box::new(store),
            channels,
            scout: Box::new(Fetcher::new(&clock)),
            album: Arc::new(album),
        };
        Ok(drive(core, hands, &clock, line, &mut |notice| {
            terminal.tell(notice);
        }))
    }
}

/// Says what the configuration and the sources have to say before anything is done.
pub(super) fn tell_notices(world: &World, terminal: &mut Terminal) {
    for warning in &world.config.warnings {
        terminal.tell(&Notice::Warning(warning.clone()));
    }
    for notice in &world.catalog.notices {
        terminal.tell(&Notice::Plain(notice.clone()));
    }
    for problem in &world.catalog.problems {
        terminal.tell(&Notice::Warning(problem.clone()));
    }
}

/// Says on standard error what went wrong: JSON goes to programs, and the log is what people look at then.
pub(super) fn tell_problems(ending: &Ending, terminal: &mut Terminal) {
    for problem in &ending.problems {
        terminal.error_line(&format!("problem: {problem}"));
    }
    for alarm in &ending.alarms {
        terminal.error_line(&format!("alarm: {alarm}"));
    }
}

/// Says which channels a run with so short a deadline can't send anything on.
fn too_short(config: &Config, selection: &Selection, deadline: Duration) -> Vec<String> {
    let selected = config.channels.iter().filter(|channel| {
        selection.channels.is_empty() || selection.channels.contains(channel.name())
    });
    selected
        .filter_map(|channel| {
            let timeout = channel.rules.timeout;
            let needed = timeout.saturating_add(PUSH_ALLOWANCE);
            (deadline < needed).then(|| {
                format!(
                    "{}: nothing is sent in {}, since one post may take {} (`timeout` {}, and {} for two pushes): \
                     give a longer `--deadline`, or the channel a shorter `timeout`",
                    channel.name(),
                    duration_text(deadline),
                    duration_text(needed),
                    duration_text(timeout),
                    duration_text(PUSH_ALLOWANCE),
                )
            })
        })
        .collect()
}

fn push_gap(config: &Config, store: &GitStore) -> Duration {
    match config.ledger.push_gap {
        Some(gap) => gap,
        None if store.is_on_github() => PUSH_GAP_ON_GITHUB,
        None => Duration::ZERO,
    }
}
