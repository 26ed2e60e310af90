//! `action`: what the GitHub Action's inputs say, as if it stood on the command line.
//!
//! Invariant: no shell reads an input. The words of `command` are split here, and are only ever this program's own.

use std::path::{Component, Path};
use std::time::Duration;

use anyhow::anyhow;
use clap::Parser as _;
use clap::error::ErrorKind;

use crate::cli::{Cli, Codes, Command, PlanCommandArgs, PlanFormat, RunArgs, codes, duration};
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::model::notice::Notice;

/// A job that nobody waits for costs money, and what is left is done by the next one.
const DEADLINE: Duration = Duration::from_mins(10);
/// Exit code 6 is a warning: only another run is needed.
const FAIL_ON: &str = "1-5";

/// What shall be done, and what is to be said before.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) cli: Cli,
    pub(super) notices: Vec<Notice>,
    /// Text to print instead, such as a help page.
    pub(super) page: Option<String>,
}

/// Reads the inputs.
pub(super) fn resolve(environment: &Environment) -> Result<Resolved, Failure> {
    let event = environment.get("GITHUB_EVENT_NAME").unwrap_or_default();
    if event == "pull_request_target" {
        return Err(Failure::new(
            Exit::Usage,
            anyhow!("this does not run on `pull_request_target`, which hands the secrets to what a stranger wrote"),
        )
        .hinted("use `pull_request`: there the plan is shown, without secrets"));
    }
    let mut words = vec!["sayonce".to_owned()];
    words.extend(split(environment)?);
    let mut cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => {
            let text = error.to_string();
            if !matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            ) {
                let text = text.strip_prefix("error: ").unwrap_or(&text);
                return Err(bad("command", text.trim_end()));
            }
            return Ok(Resolved {
                cli: Cli {
                    config: None,
                    repo: None,
                    command: Command::Action,
                },
                notices: Vec::new(),
                page: Some(text),
            });
        }
    };
    refuse_strange(&cli)?;
    apply(&mut cli, environment)?;
    let mut notices = Vec::new();
    if event == "pull_request" {
        cli.command = on_pull_request(cli.command, &mut notices)?;
    }
    Ok(Resolved {
        cli,
        notices,
        page: None,
    })
}

fn split(environment: &Environment) -> Result<Vec<String>, Failure> {
    let text = input(environment, "COMMAND").unwrap_or("run");
    let words =
        shlex::split(text).ok_or_else(|| bad("command", "a quotation mark is not closed"))?;
    // Whoever types the program's name means the same.
    let words = match words.split_first() {
        Some((first, rest)) if first == "sayonce" => rest.to_vec(),
        Some(_) | None => words,
    };
    if words.is_empty() {
        return Ok(vec!["run".to_owned()]);
    }
    Ok(words)
}

/// What makes sense on a person's machine only.
fn refuse_strange(cli: &Cli) -> Result<(), Failure> {
    if cli.repo.is_some() {
        return Err(bad(
            "command",
            "`--repo` has no place here: the input `working-directory` says where the site is",
        ));
    }
    let paths = match &cli.command {
        Command::Action => {
            return Err(bad(
                "command",
                "`action` reads this input, and can't be in it",
            ));
        }
        Command::Init(_) | Command::Completions(_) | Command::Man(_) => {
            return Err(bad("command", "this command is for people's own machines"));
        }
        Command::Rehearse(arguments) => [cli.config.as_deref(), arguments.keep.as_deref()],
        Command::Plan(_)
        | Command::Run(_)
        | Command::Status(_)
        | Command::Audit(_)
        | Command::Baseline(_)
        | Command::Adopt(_)
        | Command::Doctor(_)
        | Command::Approve(_)
        | Command::Resolve(_)
        | Command::Retry(_)
        | Command::Again(_)
        | Command::Skip(_)
        | Command::Update(_)
        | Command::Retract(_)
        | Command::Rename(_)
        | Command::Ledger(_) => [cli.config.as_deref(), None],
    };
    match paths.into_iter().flatten().find(|path| leaves(path)) {
        Some(path) => Err(bad(
            "command",
            &format!("the path {} leaves the repository", path.display()),
        )),
        None => Ok(()),
    }
}

fn leaves(path: &Path) -> bool {
    path.components()
        .any(|part| !matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Adds what the other inputs say, where the command takes it and does not say it itself.
fn apply(cli: &mut Cli, environment: &Environment) -> Result<(), Failure> {
    let config = input(environment, "CONFIG").map(Into::into);
    cli.config = cli.config.take().or(config);
    let wanted_deadline = input(environment, "DEADLINE")
        .map(|text| duration(text).map_err(|error| bad("deadline", &error)))
        .transpose()?;
    let max = input(environment, "MAX")
        .map(|text| {
            let number = text.parse();
            number.map_err(|_no_number| bad("max", &format!("`{text}` is not a number")))
        })
        .transpose()?;
    let fail_on = codes(input(environment, "FAIL_ON").unwrap_or(FAIL_ON))
        .map_err(|error| bad("fail-on", &error))?;
    if let Command::Run(arguments) = &mut cli.command {
        let deadline = wanted_deadline.unwrap_or(DEADLINE);
        arguments.deadline = arguments.deadline.or(Some(deadline));
        arguments.max = arguments.max.or(max);
    }
    if let Some(own) = fail_on_of(&mut cli.command) {
        own.get_or_insert(fail_on);
    }
    if let Some((items, channels)) = cli.command.selection_mut() {
        for (own, name) in [(items, "ITEMS"), (channels, "CHANNELS")] {
            if own.is_empty() {
                own.extend(listed(input(environment, name).unwrap_or_default()));
            }
        }
    }
    Ok(())
}

const fn fail_on_of(command: &mut Command) -> Option<&mut Option<Codes>> {
    match command {
        Command::Run(arguments) => Some(&mut arguments.fail_on),
        Command::Audit(arguments) => Some(&mut arguments.fail_on),
        Command::Rehearse(arguments) => Some(&mut arguments.fail_on),
        Command::Plan(_)
        | Command::Status(_)
        | Command::Baseline(_)
        | Command::Adopt(_)
        | Command::Init(_)
        | Command::Doctor(_)
        | Command::Approve(_)
        | Command::Resolve(_)
        | Command::Retry(_)
        | Command::Again(_)
        | Command::Skip(_)
        | Command::Update(_)
        | Command::Retract(_)
        | Command::Rename(_)
        | Command::Ledger(_)
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Action => None,
    }
}

/// What may be done for a pull request: nothing is sent, and nothing is written.
fn on_pull_request(command: Command, notices: &mut Vec<Notice>) -> Result<Command, Failure> {
    match command {
        Command::Run(RunArgs { output, .. }) => {
            notices.push(Notice::Plain(
                "this is a pull request: nothing is sent, this is the plan".to_owned(),
            ));
            Ok(Command::Plan(PlanCommandArgs {
                fetch: false,
                shards: None,
                format: match output.format {
                    crate::cli::Format::Text => PlanFormat::Text,
                    crate::cli::Format::Json => PlanFormat::Json,
                },
                items: output.items,
                channels: output.channels,
            }))
        }
        Command::Plan(_)
        | Command::Status(_)
        | Command::Audit(_)
        | Command::Doctor(_)
        | Command::Rehearse(_) => Ok(command),
        Command::Baseline(_)
        | Command::Adopt(_)
        | Command::Init(_)
        | Command::Approve(_)
        | Command::Resolve(_)
        | Command::Retry(_)
        | Command::Again(_)
        | Command::Skip(_)
        | Command::Update(_)
        | Command::Retract(_)
        | Command::Rename(_)
        | Command::Ledger(_)
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Action => Err(bad(
            "command",
            &format!(
                "`{}` writes to the ledger, and a pull request may not",
                command.word()
            ),
        )),
    }
}

fn input<'a>(environment: &'a Environment, name: &str) -> Option<&'a str> {
    let text = environment.get(&format!("SAYONCE_INPUT_{name}"))?.trim();
    (!text.is_empty()).then_some(text)
}

fn listed(text: &str) -> Vec<String> {
    text.split(|letter: char| letter == ',' || letter.is_whitespace())
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

fn bad(input: &str, reason: &str) -> Failure {
    Failure::new(Exit::Usage, anyhow!("the input `{input}`: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<const N: usize>(variables: [(&str, &str); N]) -> Result<Cli, String> {
        resolve(&Environment::of(variables))
            .map(|resolved| resolved.cli)
            .map_err(|failure| failure.render())
    }

    #[track_caller]
    fn check_refused<const N: usize>(variables: [(&str, &str); N], expected: &str) {
        let error = with(variables).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn without_inputs_it_is_a_run_of_ten_minutes() {
        let Command::Run(run) = with([]).unwrap().command else {
            panic!("it is a run")
        };
        assert_eq!(run.deadline, Some(Duration::from_mins(10)));
        assert_eq!(run.fail_on, Some(codes("1-5").unwrap()));
        assert_eq!(run.max, None);
        // What is empty is not given.
        let empty = with([
            ("SAYONCE_INPUT_COMMAND", " \n"),
            ("SAYONCE_INPUT_DEADLINE", ""),
            ("SAYONCE_INPUT_MAX", " "),
            ("SAYONCE_INPUT_CHANNELS", ",\n"),
        ]);
        let Command::Run(run) = empty.unwrap().command else {
            panic!("it is a run")
        };
        assert_eq!(run.deadline, Some(Duration::from_mins(10)));
        assert!(run.output.channels.is_empty());
    }

    #[test]
    fn inputs_are_options_and_the_command_itself_has_the_last_word() {
        let cli = with([
            (
                "SAYONCE_INPUT_COMMAND",
                "sayonce run --deadline 4m --channel 'bluesky'",
            ),
            ("SAYONCE_INPUT_CONFIG", "site/sayonce.toml"),
            ("SAYONCE_INPUT_DEADLINE", "1h"),
            ("SAYONCE_INPUT_CHANNELS", "mastodon"),
            ("SAYONCE_INPUT_ITEMS", "a, b\nc  d"),
            ("SAYONCE_INPUT_FAIL_ON", "3"),
            ("SAYONCE_INPUT_MAX", "7"),
        ])
        .unwrap();
        assert_eq!(cli.config.as_deref(), Some(Path::new("site/sayonce.toml")));
        let Command::Run(run) = cli.command else {
            panic!("it is a run")
        };
        assert_eq!(run.deadline, Some(Duration::from_mins(4)));
        assert_eq!((run.max, run.fail_on), (Some(7), Some(codes("3").unwrap())));
        assert_eq!(run.output.channels, ["bluesky"]);
        assert_eq!(run.output.items, ["a", "b", "c", "d"]);
        let decision = with([
            (
                "SAYONCE_INPUT_COMMAND",
                "resolve news/a mastodon --posted https://mastodon.example/1 --why 'I see it'",
            ),
            ("SAYONCE_INPUT_CHANNELS", "bluesky"),
        ]);
        let Command::Resolve(resolve) = decision.unwrap().command else {
            panic!("it is a decision")
        };
        assert_eq!(resolve.decision.why.as_deref(), Some("I see it"));
        assert_eq!(resolve.decision.channel, "mastodon");
    }

    #[test]
    fn a_pull_request_gets_a_plan_and_may_write_nothing() {
        let event = ("GITHUB_EVENT_NAME", "pull_request");
        let resolved = resolve(&Environment::of([event])).unwrap();
        assert_eq!(resolved.cli.command.word(), "plan");
        assert_eq!(resolved.notices.len(), 1);
        check_refused(
            [event, ("SAYONCE_INPUT_COMMAND", "skip a mastodon")],
            "the input `command`: `skip` writes to the ledger, and a pull request may not",
        );
        check_refused(
            [("GITHUB_EVENT_NAME", "pull_request_target")],
            "this does not run on `pull_request_target`",
        );
    }

    #[test]
    fn bad_inputs_are_named() {
        let check = |name: &str, text: &str, expected: &str| {
            check_refused([(format!("SAYONCE_INPUT_{name}").as_str(), text)], expected);
        };
        check(
            "COMMAND",
            "run 'a",
            "the input `command`: a quotation mark is not closed",
        );
        check(
            "COMMAND",
            "rm -rf /",
            "the input `command`: unrecognized subcommand 'rm'",
        );
        check(
            "COMMAND",
            "run; rm x",
            "the input `command`: unrecognized subcommand 'run;'",
        );
        check(
            "COMMAND",
            "action",
            "the input `command`: `action` reads this input",
        );
        check(
            "COMMAND",
            "man x",
            "the input `command`: this command is for people's own machines",
        );
        check(
            "COMMAND",
            "--repo /x run",
            "the input `command`: `--repo` has no place here",
        );
        check(
            "COMMAND",
            "run --config ../x",
            "the input `command`: the path ../x leaves the repository",
        );
        check(
            "COMMAND",
            "rehearse --keep /x",
            "the input `command`: the path /x leaves the repository",
        );
        check("DEADLINE", "ten", "the input `deadline`: ");
        check("MAX", "-1", "the input `max`: `-1` is not a number");
        check("FAIL_ON", "1-9", "the input `fail-on`: ");
    }
}
