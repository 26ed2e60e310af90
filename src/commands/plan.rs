//! `plan` and `status`: what would be sent, and where everything stands. Nothing is sent or written.

use std::sync::Arc;

use anyhow::anyhow;
use serde_json::{Value, json};

use crate::cli::{Format, OutputArgs, PlanArgs, PlanCommandArgs, PlanFormat};
use crate::clock::{Clock, SystemClock};
use crate::engine::ending::next_due;
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ledger::{Snapshot, Store as _};
use crate::model::delivery::Operation;
use crate::model::outcome::ServerLimits;
use crate::model::row::Row;
use crate::model::time::Timestamp;
use crate::plan::matrix::{by_channel, by_shard};
use crate::plan::outlook::{Circumstances, Outlook, outlook};
use crate::plan::pacing::pace;
use crate::plan::survey::{Survey, survey};
use crate::report::digest::{Digest, NextRun, Shown};
use crate::report::terminal::Terminal;
use crate::report::{human, json};

use super::world::{Place, World};
use super::{digests, schedule};

/// What both verbs compute, and `audit` with them.
pub(super) struct View {
    pub(super) world: World,
    pub(super) snapshot: Snapshot,
    pub(super) survey: Survey,
    pub(super) deliveries: Vec<Outlook>,
    pub(super) branch: String,
    pub(super) fetched_at: Option<Timestamp>,
    /// Outcomes that only this machine has.
    pub(super) journal: Vec<Row>,
    pub(super) now: Timestamp,
}

/// Which copy of the ledger is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copy {
    /// The remote's.
    Fetched,
    /// What was fetched last; how to have it anew.
    Local(&'static str),
}

/// Shows what would be sent, and for every other delivery why not.
pub(super) fn plan(
    place: &Place,
    command: &PlanCommandArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    if command.shards.is_some() && command.format != PlanFormat::Matrix {
        return Err(Failure::new(
            Exit::Usage,
            anyhow!("`--shards` is for `--format matrix`"),
        ));
    }
    let mut view = planned(place, &command.as_plan(), environment, terminal)?;
    let out_of_scope = view.out_of_scope();
    // A job waits for its turn by itself, so that the matrix has what is due without regard to pacing.
    let matrix = view.matrix(command)?;
    view.pace();
    let text = match command.format {
        PlanFormat::Json => view.json(json::Posts::Shown, &out_of_scope),
        PlanFormat::Matrix => format!("{matrix}\n"),
        PlanFormat::Text => {
            let titles = view.world.titles(Some(&view.snapshot));
            human::plan(
                &view.deliveries,
                &out_of_scope,
                &titles,
                view.world.config.site.timezone,
            )
        }
    };
    terminal.result(&text);
    let next_run = schedule::next_run(&view.world.top, environment, view.now);
    if let NextRun::Nobody(sentence) = &next_run {
        terminal.error_line(&format!("note: {sentence}"));
    }
    if terminal.is_in_job() {
        let mut digest = view.digest(Shown::Unsettled, json::Posts::Shown, &out_of_scope);
        let any = matrix["include"]
            .as_array()
            .is_some_and(|jobs| !jobs.is_empty());
        digest.outputs = vec![("matrix", matrix.to_string()), ("any", any.to_string())];
        digest.next_run = next_run;
        terminal.digest(&view.world.top, digest);
    }
    Ok(view.exit())
}

/// Shows where every article stands on every channel.
pub(super) fn status(
    place: &Place,
    arguments: &PlanArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let mut view = planned(place, arguments, environment, terminal)?;
    view.pace();
    let out_of_scope = view.out_of_scope();
    let text = match arguments.output.format {
        Format::Json => view.json(json::Posts::LeftOut, &out_of_scope),
        Format::Text => {
            let titles = view.world.titles(Some(&view.snapshot));
            human::status(
                &view.deliveries,
                out_of_scope.len(),
                &titles,
                view.world.config.site.timezone,
            )
        }
    };
    terminal.result(&text);
    if terminal.is_in_job() {
        let digest = view.digest(Shown::All, json::Posts::LeftOut, &out_of_scope);
        terminal.digest(&view.world.top, digest);
    }
    Ok(view.exit())
}

impl View {
    /// Both verbs succeed if they could compute, whatever they found; an article that had to be left out is one that
    /// they could not compute.
    const fn exit(&self) -> Exit {
        if self.world.catalog.problems.is_empty() {
            Exit::Proved
        } else {
            Exit::Usage
        }
    }

    /// Tells each delivery that waits for others on its channel when its turn is.
    fn pace(&mut self) {
        let rows: Vec<_> = self
            .snapshot
            .rows
            .values()
            .map(|stored| &stored.row)
            .collect();
        let channels = self.world.config.channels.iter();
        let rules = channels.map(|channel| &channel.rules);
        pace(&mut self.deliveries, rules, &rows, self.now);
    }

    pub(super) fn out_of_scope(&self) -> Vec<(String, String)> {
        let items = self
            .survey
            .out_of_scope
            .iter()
            .map(|(id, reason)| (id.to_string(), reason.clone()));
        let foreign = self.world.catalog.foreign.iter();
        items
            .chain(foreign.map(|url| (url.clone(), "not below `site.url`".to_owned())))
            .collect()
    }

    fn json(&self, posts: json::Posts, out_of_scope: &[(String, String)]) -> String {
        let notices: Vec<_> = self
            .survey
            .notices
            .iter()
            .chain(&self.world.catalog.notices)
            .cloned()
            .collect();
        json::plan(
            json::PlanFacts {
                deliveries: &self.deliveries,
                out_of_scope,
                problems: &problems(&self.world, &self.snapshot, &self.survey),
                notices: &notices,
                ledger: self.ledger(),
            },
            posts,
        )
    }

    /// Returns what a job is told of it.
    fn digest(
        &self,
        shown: Shown,
        posts: json::Posts,
        out_of_scope: &[(String, String)],
    ) -> Digest {
        let site = digests::Site::of(&self.world);
        let mut blank = site.blank(&self.deliveries);
        blank.notices.extend(self.survey.notices.iter().cloned());
        Digest {
            titles: self.world.titles(Some(&self.snapshot)),
            problems: problems(&self.world, &self.snapshot, &self.survey),
            out_of_scope: out_of_scope.len(),
            next_due: next_due(&self.deliveries, self.now),
            shown,
            exit: self.exit(),
            report: self.json(posts, out_of_scope),
            ..blank
        }
    }

    /// Returns what is due now as the matrix of a job.
    fn matrix(&self, command: &PlanCommandArgs) -> Result<Value, Failure> {
        let output = command.as_plan().output;
        let selection = self.world.selection(&output, &self.snapshot)?;
        let entries = if let Some(shards) = command.shards {
            let channels: Vec<_> = selection.channels.into_iter().collect();
            by_shard(&self.deliveries, &channels, shards, self.now)
        } else {
            let items: Vec<_> = selection.items.into_iter().collect();
            by_channel(&self.deliveries, &items, self.now)
        };
        let jobs: Vec<_> = entries
            .into_iter()
            .map(|entry| json!({ "channels": entry.channels, "items": entry.items }))
            .collect();
        Ok(json!({ "include": jobs }))
    }

    /// Says which ledger this was.
    pub(super) fn ledger(&self) -> json::LedgerReport {
        json::LedgerReport {
            branch: self.branch.clone(),
            tip: self.snapshot.tip.as_ref().map(|tip| tip.0.clone()),
            fetched_at: self.fetched_at.map(|at| at.to_string()),
        }
    }
}

fn planned(
    place: &Place,
    arguments: &PlanArgs,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<View, Failure> {
    let copy = if arguments.fetch {
        Copy::Fetched
    } else {
        Copy::Local("--fetch reads it anew")
    };
    let view = view(place, &arguments.output, copy, environment, terminal)?;
    for problem in problems(&view.world, &view.snapshot, &view.survey) {
        terminal.error_line(&format!("problem: {problem}"));
    }
    Ok(view)
}

/// Reads everything and judges nothing.
pub(super) fn view(
    place: &Place,
    output: &OutputArgs,
    copy: Copy,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<View, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let now = clock.now();
    let world = World::read(place, &clock)?;
    terminal.set_timezone(world.config.site.timezone);
    let mut store = world.store(environment, &clock)?;
    let (snapshot, fetched_at) = match copy {
        Copy::Fetched => (store.read()?, Some(now)),
        Copy::Local(_) => {
            let (snapshot, last_fetched) = store.read_local()?;
            (snapshot, last_fetched.at)
        }
    };
    let journal = store.read_journal()?;
    let selection = world.selection(output, &snapshot)?;
    let survey = survey(&world.catalog, &world.config, &snapshot, &selection, now);
    let outlooks = |put_off: Option<&str>| -> Vec<Outlook> {
        let surveyed = survey.deliveries.iter();
        let outlooks = surveyed.filter_map(|surveyed| {
            let channel = world
                .config
                .channels
                .iter()
                .find(|channel| *channel.name() == surveyed.id.channel)?;
            let header = snapshot
                .header
                .as_ref()
                .and_then(|header| header.channels.get(channel.name()));
            Some(outlook(
                surveyed,
                snapshot.rows.get(&surveyed.id).map(|stored| &stored.row),
                &survey,
                channel,
                Circumstances {
                    put_off,
                    limits: header.map_or_else(ServerLimits::default, |known| known.limits),
                    paused_until: header.and_then(|known| known.not_before),
                    announce: selection.announce,
                    closed: None,
                },
                None,
                now,
            ))
        });
        outlooks.collect()
    };
    let mut deliveries = outlooks(None);
    let changes = |delivery: &Outlook| matches!(delivery.operation, Operation::Update(_));
    if world.config.site.is_read_from_files() && deliveries.iter().any(changes) {
        let behind = match copy {
            Copy::Fetched => store.behind()?,
            Copy::Local(_) => store.checkout_behind_here()?,
        };
        if behind.is_some() {
            deliveries = outlooks(behind.as_deref());
        }
    }
    for notice in world
        .config
        .warnings
        .iter()
        .chain(&survey.notices)
        .chain(&world.catalog.notices)
    {
        terminal.error_line(&format!("note: {notice}"));
    }
    if let Copy::Local(way) = copy
        && let Some(age) = human::ledger_age(fetched_at, now)
    {
        terminal.error_line(&format!("note: {age}; {way}"));
    }
    Ok(View {
        branch: store.branch().to_owned(),
        world,
        snapshot,
        survey,
        deliveries,
        fetched_at,
        journal,
        now,
    })
}

fn problems(world: &World, snapshot: &Snapshot, survey: &Survey) -> Vec<String> {
    let mut problems = world.catalog.problems.clone();
    problems.extend(
        survey
            .kept_back
            .iter()
            .map(|(channel, kept)| kept.sentence(channel)),
    );
    problems.extend(snapshot.unreadable.iter().map(|file| {
        format!(
            "{} can't be read and is left as it is: {}",
            file.path, file.reason
        )
    }));
    problems.extend(snapshot.standing.trouble());
    problems
}
