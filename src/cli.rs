//! The command line.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::model::time::parse_duration;
use crate::sandbox::FaultOrder;

/// Announce every article of a site on every channel exactly once
///
/// The state is a ledger of small JSON files in git, written around every remote call: `git log` shows what was sent,
/// when, and what proves it. A run that was killed is continued by running the same command again.
#[derive(Debug, Parser)]
#[command(
    name = "sayonce",
    version,
    long_version = env!("SAYONCE_LONG_VERSION"),
    max_term_width = 100,
    arg_required_else_help = true
)]
pub struct Cli {
    /// Read this configuration instead of `sayonce.toml` at the repository's top
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Work on this repository instead of the one around the current directory
    #[arg(long, global = true, value_name = "DIR")]
    pub repo: Option<PathBuf>,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a configuration and a workflow to begin with
    ///
    /// For the generator that it finds: Jekyll, Hugo, Zola, Astro, or Eleventy. What is there already is left as it is.
    Init(InitArgs),
    /// Show what would be sent, and for every other delivery why not
    ///
    /// Sends nothing, writes nothing, and needs no secrets. It reads the ledger as it was last fetched.
    Plan(PlanCommandArgs),
    /// Announce what is due, and prove it
    Run(RunArgs),
    /// Rehearse the whole job against built-in stand-ins of the services
    ///
    /// Takes the configuration and articles at hand, or a built-in example where there are none. Nothing leaves this
    /// machine, no secrets are needed, and the ledger is a scratch copy.
    Rehearse(RehearseArgs),
    /// Show where every article stands on every channel
    Status(PlanArgs),
    /// Ask whether every delivery is proved, and list what is not, with the command that frees it
    ///
    /// It reads the ledger at its remote. The exit code is 0 only if everything is proved.
    Audit(AuditArgs),
    /// Mark what is online now as announced before
    ///
    /// For a site with a history: nothing that is online now will be announced on the channels named (default: all).
    Baseline(BaselineArgs),
    /// Record posts that are on the channels already
    ///
    /// Reads what each account has posted and records every post that links to an article as that article's
    /// announcement there. Sends nothing. Needs the secrets.
    Adopt(AdoptArgs),
    /// Check credentials, clocks, limits, push rights, and everything else that a run needs
    ///
    /// It asks the services and the remote, and sends nothing that shows.
    Doctor(DoctorArgs),
    /// Let a delivery be sent for the first time, or let all new articles through a flood guard
    Approve(ApproveArgs),
    /// Say whether a held delivery is posted
    Resolve(ResolveArgs),
    /// Send once more what is held or was refused
    Retry(DecisionArgs),
    /// Announce once more what is done, as a new edition
    Again(DecisionArgs),
    /// Never announce this article on this channel
    Skip(DecisionArgs),
    /// Change a post to what its article says now, though nobody edited it or the channel does not follow edits
    Update(LaterArgs),
    /// Take a post down
    ///
    /// The next run takes it down, and looks whether it is gone. The ledger keeps what was there.
    Retract(LaterArgs),
    /// Say that an article is known under an older address
    Rename(RenameArgs),
    /// Answer a ledger that was rewound, or that belongs to another repository
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// Write the completion script of a shell to standard output
    Completions(CompletionsArgs),
    /// Write the manual pages of every command into a directory
    Man(ManArgs),
    /// Do what the GitHub Action's inputs say, which are in variables named `SAYONCE_INPUT_*`
    #[command(hide = true)]
    Action,
}

impl Command {
    /// Returns the exit codes that count as failures, where the command takes them.
    pub const fn fail_on(&self) -> Option<&Codes> {
        match self {
            Self::Run(arguments) => arguments.fail_on.as_ref(),
            Self::Audit(arguments) => arguments.fail_on.as_ref(),
            Self::Rehearse(arguments) => arguments.fail_on.as_ref(),
            Self::Plan(_)
            | Self::Status(_)
            | Self::Baseline(_)
            | Self::Adopt(_)
            | Self::Init(_)
            | Self::Doctor(_)
            | Self::Approve(_)
            | Self::Resolve(_)
            | Self::Retry(_)
            | Self::Again(_)
            | Self::Skip(_)
            | Self::Update(_)
            | Self::Retract(_)
            | Self::Rename(_)
            | Self::Ledger(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Action => None,
        }
    }

    /// Returns the command's word.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Plan(_) => "plan",
            Self::Run(_) => "run",
            Self::Rehearse(_) => "rehearse",
            Self::Status(_) => "status",
            Self::Audit(_) => "audit",
            Self::Baseline(_) => "baseline",
            Self::Adopt(_) => "adopt",
            Self::Init(_) => "init",
            Self::Doctor(_) => "doctor",
            Self::Approve(_) => "approve",
            Self::Resolve(_) => "resolve",
            Self::Retry(_) => "retry",
            Self::Again(_) => "again",
            Self::Skip(_) => "skip",
            Self::Update(_) => "update",
            Self::Retract(_) => "retract",
            Self::Rename(_) => "rename",
            Self::Ledger(LedgerCommand::Accept(_)) => "ledger accept",
            Self::Ledger(LedgerCommand::Repair(_)) => "ledger repair",
            Self::Completions(_) => "completions",
            Self::Man(_) => "man",
            Self::Action => "action",
        }
    }

    /// Whether standard output is for programs.
    pub fn prints_json(&self) -> bool {
        let output = match self {
            Self::Plan(arguments) => return arguments.format != PlanFormat::Text,
            Self::Init(arguments) => return arguments.format == Format::Json,
            Self::Status(arguments) => &arguments.output,
            Self::Run(arguments) => &arguments.output,
            Self::Rehearse(arguments) => &arguments.output,
            Self::Audit(arguments) => &arguments.output,
            Self::Baseline(arguments) => &arguments.output,
            Self::Adopt(arguments) => &arguments.output,
            Self::Doctor(arguments) => &arguments.output,
            Self::Approve(_)
            | Self::Resolve(_)
            | Self::Retry(_)
            | Self::Again(_)
            | Self::Skip(_)
            | Self::Update(_)
            | Self::Retract(_)
            | Self::Rename(_)
            | Self::Ledger(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Action => return false,
        };
        output.format == Format::Json
    }

    /// Returns the selection of a command that takes `--item` and `--channel`.
    pub const fn selection_mut(&mut self) -> Option<(&mut Vec<String>, &mut Vec<String>)> {
        let output = match self {
            Self::Plan(arguments) => {
                return Some((&mut arguments.items, &mut arguments.channels));
            }
            Self::Status(arguments) => &mut arguments.output,
            Self::Run(arguments) => &mut arguments.output,
            Self::Rehearse(arguments) => &mut arguments.output,
            Self::Audit(arguments) => &mut arguments.output,
            Self::Baseline(arguments) => &mut arguments.output,
            Self::Adopt(arguments) => &mut arguments.output,
            Self::Doctor(arguments) => &mut arguments.output,
            Self::Init(_)
            | Self::Approve(_)
            | Self::Resolve(_)
            | Self::Retry(_)
            | Self::Again(_)
            | Self::Skip(_)
            | Self::Update(_)
            | Self::Retract(_)
            | Self::Rename(_)
            | Self::Ledger(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Action => return None,
        };
        Some((&mut output.items, &mut output.channels))
    }
}

/// The verbs of `ledger`.
#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    /// Take the ledger as it is now: a fork's own, or a rewound one
    Accept(WhyArgs),
    /// Bring back the rows that a rewound ledger lost, from its witness
    Repair(WhyArgs),
}

/// What `plan` takes.
#[derive(Debug, Args)]
pub struct PlanCommandArgs {
    /// Fetch the ledger from its remote first
    #[arg(long)]
    pub fetch: bool,
    /// With `--format matrix`: one job for each of N parts of the articles, instead of one for each channel
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub shards: Option<u32>,
    /// How to print the result
    #[arg(
        long,
        value_enum,
        default_value_t = PlanFormat::Text,
        help_heading = "Output and selection"
    )]
    pub format: PlanFormat,
    /// Only this item: its id, its URL or its source file; can be given several times
    #[arg(
        long = "item",
        value_name = "ID",
        help_heading = "Output and selection"
    )]
    pub items: Vec<String>,
    /// Only this channel; can be given several times
    #[arg(
        long = "channel",
        value_name = "NAME",
        help_heading = "Output and selection"
    )]
    pub channels: Vec<String>,
}

/// How to print a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    /// For people.
    Text,
    /// One JSON object.
    Json,
    /// The matrix of a job of GitHub Actions: what is due now, by channel or in shards.
    Matrix,
}

impl PlanCommandArgs {
    /// Returns the same as `status` would take it.
    pub fn as_plan(&self) -> PlanArgs {
        PlanArgs {
            fetch: self.fetch,
            output: OutputArgs {
                format: match self.format {
                    PlanFormat::Text => Format::Text,
                    PlanFormat::Json | PlanFormat::Matrix => Format::Json,
                },
                items: self.items.clone(),
                channels: self.channels.clone(),
            },
        }
    }
}

/// What `completions` takes.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// What `man` takes.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Where to write them; it is made if it is not there
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

/// What `status` takes.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// Fetch the ledger from its remote first
    #[arg(long)]
    pub fetch: bool,
    /// What to show and how.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What `audit` takes.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Read the accounts too: are the posts still there? Needs the secrets
    #[arg(long)]
    pub remote: bool,
    /// Fetch the ledger from its remote first (the default)
    #[arg(long)]
    pub fetch: bool,
    /// Take the ledger as it was last fetched
    #[arg(long, conflicts_with = "fetch")]
    pub offline: bool,
    /// Fail only with these exit codes, such as `1-5`; the others become 0, with a warning
    #[arg(long, value_name = "CODES", value_parser = codes)]
    pub fail_on: Option<Codes>,
    /// What to show and how.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What `run` takes.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// End by then; what is left is for the next run
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub deadline: Option<Duration>,
    /// Make at most this many attempts
    #[arg(long, value_name = "N")]
    pub max: Option<usize>,
    /// Without a deadline: wait at most this long for the next thing to do
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "30m")]
    pub max_wait: Duration,
    /// Fail only with these exit codes, such as `1-5`; the others become 0, with a warning
    #[arg(long, value_name = "CODES", value_parser = codes)]
    pub fail_on: Option<Codes>,
    /// What to show and how.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What `rehearse` takes.
#[derive(Debug, Args)]
pub struct RehearseArgs {
    /// Let a service misbehave: the Nth write to CHANNEL meets FAULT
    ///
    /// FAULT is one of `lost-answer`, `lost-request`, `slow=12s`, `status=500`, `status=500-stored`,
    /// `status=429:30`, `kill`, `kill-before`. Can be given several times.
    #[arg(long, value_name = "CHANNEL:N=FAULT")]
    pub fault: Vec<FaultOrder>,
    /// Divide every wait by this
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub speed: u32,
    /// Keep the scratch repository and the stand-ins' state there, and continue from them
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Fail only with these exit codes, such as `1-5`; the others become 0, with a warning
    #[arg(long, value_name = "CODES", value_parser = codes)]
    pub fail_on: Option<Codes>,
    /// What to show and how.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What `baseline` takes.
#[derive(Debug, Args)]
pub struct BaselineArgs {
    /// Look what is on the accounts first, and record what is there with its address. Needs the secrets
    #[arg(long)]
    pub from_remote: bool,
    /// With --from-remote: show what would be recorded, and write nothing
    #[arg(long, requires = "from_remote")]
    pub dry_run: bool,
    /// Why.
    #[command(flatten)]
    pub reason: WhyArgs,
    /// What to show and how.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What `init` takes.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// What `doctor` takes.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// What to show and how.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What `adopt` takes.
#[derive(Debug, Args)]
pub struct AdoptArgs {
    /// Only this article: its id, its URL or its source file
    #[arg(requires = "channel", conflicts_with_all = ["items", "channels"])]
    pub item: Option<String>,
    /// Only on this channel
    pub channel: Option<String>,
    /// The post at this address is the announcement, whatever else links to the article
    #[arg(long, value_name = "URL", requires = "item")]
    pub url: Option<String>,
    /// The post with this id is the announcement
    #[arg(long, value_name = "ID", requires = "item")]
    pub id: Option<String>,
    /// A channel has another name in the configuration now: its rows move to that name
    #[arg(
        long,
        num_args = 2,
        value_names = ["OLD_CHANNEL", "NEW_CHANNEL"],
        conflicts_with_all = ["item", "items", "channels"]
    )]
    pub rename: Option<Vec<String>>,
    /// Show what would be recorded, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Why.
    #[command(flatten)]
    pub reason: WhyArgs,
    /// What to show and how.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What `approve` takes.
#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// The article: its id, its URL or its source file
    #[arg(requires = "channel")]
    pub item: Option<String>,
    /// The channel
    pub channel: Option<String>,
    /// Let all new articles through on channels that were left out because there were too many
    #[arg(long, conflicts_with = "item")]
    pub all_new: bool,
    /// With --all-new: only this channel; can be given several times
    #[arg(
        long = "channel",
        value_name = "NAME",
        requires = "all_new",
        id = "only"
    )]
    pub only: Vec<String>,
    /// Why, for the ledger
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,
}

/// What `resolve` takes.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("fact").required(true)))]
pub struct ResolveArgs {
    /// It is posted, at this address
    #[arg(long, value_name = "URL", group = "fact")]
    pub posted: Option<String>,
    /// It is not posted; the next run sends it once more
    #[arg(long, group = "fact")]
    pub not_posted: bool,
    /// Which delivery.
    #[command(flatten)]
    pub decision: DecisionArgs,
}

/// Which delivery a decision is about.
#[derive(Debug, Args)]
pub struct DecisionArgs {
    /// The article: its id, its URL or its source file
    pub item: String,
    /// The channel
    pub channel: String,
    /// Why, for the ledger
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,
}

/// What `update` and `retract` take.
#[derive(Debug, Args)]
pub struct LaterArgs {
    /// The article: its id, its URL or its source file
    pub item: String,
    /// The channels; none: all on which it is posted
    #[arg(value_name = "CHANNEL")]
    pub channels: Vec<String>,
    /// Why.
    #[command(flatten)]
    pub reason: WhyArgs,
}

/// What `rename` takes.
#[derive(Debug, Args)]
pub struct RenameArgs {
    /// The article as the ledger knows it: its id or its old URL
    pub old: String,
    /// The same article now: its id, its URL or its source file
    pub new: String,
    /// Why.
    #[command(flatten)]
    pub reason: WhyArgs,
}

/// Why somebody decides so.
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// Why, for the ledger
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,
}

/// What to show and how.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output and selection")]
pub struct OutputArgs {
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Only this item: its id, its URL or its source file; can be given several times
    #[arg(long = "item", value_name = "ID")]
    pub items: Vec<String>,
    /// Only this channel; can be given several times
    #[arg(long = "channel", value_name = "NAME")]
    pub channels: Vec<String>,
}

/// How to print the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON object.
    Json,
}

/// Exit codes that count as failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codes(pub BTreeSet<u8>);

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

pub(crate) fn codes(text: &str) -> Result<Codes, String> {
    let error = || format!("`{text}` is not a list of exit codes such as `1-5` or `1,3,4`");
    let mut codes = BTreeSet::new();
    for part in text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let from: u8 = from.trim().parse().map_err(|_not_a_number| error())?;
        let to: u8 = to.trim().parse().map_err(|_not_a_number| error())?;
        if from > to || to > 6 {
            return Err(error());
        }
        codes.extend(from..=to);
    }
    Ok(Codes(codes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }

    #[test]
    fn exit_codes_are_listed_or_ranges() {
        let check = |text: &str| {
            codes(text)
                .map(|codes| codes.0.into_iter().collect::<Vec<_>>())
                .ok()
        };
        assert_eq!(check("1-5"), Some(vec![1, 2, 3, 4, 5]));
        assert_eq!(check("1, 3,6"), Some(vec![1, 3, 6]));
        assert_eq!(check(""), Some(vec![]));
        assert_eq!(check("7"), None);
        assert_eq!(check("5-1"), None);
        assert_eq!(check("x"), None);
    }
}
