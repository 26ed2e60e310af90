//! One file per verb, and what they share.

mod accounts;
mod action;
mod adopt;
mod album;
mod audit;
mod baseline;
mod commit;
mod completions;
mod decisions;
mod digests;
mod doctor;
mod example;
mod forgotten;
mod init;
mod later;
mod ledger;
mod man;
mod plan;
mod rechannel;
mod rehearse;
mod run;
mod schedule;
mod verbs;
mod world;

use crate::cli::{Cli, Command, LedgerCommand};
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::model::ids::hex;
use crate::report::github::GitHub;
use crate::report::terminal::Terminal;

use self::later::Later;
use self::verbs::Verb;

/// Does what the command line says, and tells people and programs how it ended.
pub fn perform(cli: Cli, environment: &Environment, terminal: &mut Terminal) -> Exit {
    let (fail_on, ended) = match prepared(cli, environment, terminal) {
        Ok(Some(cli)) => {
            let fail_on = cli.command.fail_on().cloned();
            (fail_on, dispatch(cli, environment, terminal))
        }
        Ok(None) => (None, Ok(Exit::Proved)),
        Err(failure) => (None, Err(failure)),
    };
    let (exit, failure) = match ended {
        Ok(exit) => (exit, None),
        Err(failure) => {
            terminal.error_line(&failure.render());
            (failure.exit, Some(failure))
        }
    };
    let counts = fail_on.is_none_or(|codes| codes.0.contains(&exit.code()));
    let passes = exit != Exit::Proved && !counts;
    if passes && !terminal.is_in_job() {
        terminal.error_line(&format!(
            "warning: exit code {} counts as a success here",
            exit.code()
        ));
    }
    terminal.end(exit, failure.as_ref(), passes);
    if passes { Exit::Proved } else { exit }
}

/// Reads the Action's inputs, and begins for the job that this is; none: all is said.
fn prepared(
    cli: Cli,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Option<Cli>, Failure> {
    if matches!(cli.command, Command::Completions(_) | Command::Man(_)) {
        // Files for packages, also where a job makes them.
        return Ok(Some(cli));
    }
    let random = hex(&world::seed()?);
    let (token, name) = random.split_at(random.len() / 2);
    if let Some(github) = GitHub::of(environment, token.to_owned(), name.to_owned()) {
        terminal.enter(github);
    }
    let mut cli = cli;
    let mut notices = Vec::new();
    if matches!(cli.command, Command::Action) {
        let resolved = action::resolve(environment)?;
        if let Some(page) = resolved.page {
            terminal.result(&page);
            return Ok(None);
        }
        let repo = cli.repo.take();
        cli = resolved.cli;
        cli.repo = repo;
        notices = resolved.notices;
    }
    let (word, prints_json) = (cli.command.word(), cli.command.prints_json());
    let secrets = if terminal.is_in_job() {
        digests::secrets(&place_of(&cli), environment)
    } else {
        Vec::new()
    };
    terminal.begin(word, prints_json, &secrets);
    for notice in &notices {
        terminal.tell(notice);
    }
    Ok(Some(cli))
}

fn place_of(cli: &Cli) -> world::Place {
    world::Place {
        config: cli.config.clone(),
        repo: cli.repo.clone(),
    }
}

fn dispatch(cli: Cli, environment: &Environment, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let place = place_of(&cli);
    match cli.command {
        Command::Init(arguments) => init::init(&place, &arguments, terminal),
        Command::Plan(arguments) => plan::plan(&place, &arguments, environment, terminal),
        Command::Status(arguments) => plan::status(&place, &arguments, environment, terminal),
        Command::Run(arguments) => run::run(&place, &arguments, environment, terminal),
        Command::Rehearse(arguments) => {
            rehearse::rehearse(&place, &arguments, environment, terminal)
        }
        Command::Audit(arguments) => audit::audit(&place, &arguments, environment, terminal),
        Command::Baseline(arguments) => {
            baseline::baseline(&place, &arguments, environment, terminal)
        }
        Command::Adopt(arguments) => adopt::adopt(&place, &arguments, environment, terminal),
        Command::Doctor(arguments) => doctor::doctor(&place, &arguments, environment, terminal),
        Command::Approve(arguments) => {
            decisions::approve(&place, &arguments, environment, terminal)
        }
        Command::Resolve(arguments) => {
            decisions::resolve(&place, &arguments, environment, terminal)
        }
        Command::Retry(arguments) => {
            decisions::one(&Verb::Retry, &place, &arguments, environment, terminal)
        }
        Command::Again(arguments) => {
            decisions::one(&Verb::Again, &place, &arguments, environment, terminal)
        }
        Command::Skip(arguments) => {
            decisions::one(&Verb::Skip, &place, &arguments, environment, terminal)
        }
        Command::Update(arguments) => {
            later::later(Later::Update, &place, &arguments, environment, terminal)
        }
        Command::Retract(arguments) => {
            later::later(Later::Retract, &place, &arguments, environment, terminal)
        }
        Command::Ledger(LedgerCommand::Accept(arguments)) => {
            ledger::accept(&place, &arguments, environment, terminal)
        }
        Command::Ledger(LedgerCommand::Repair(arguments)) => {
            ledger::repair(&place, &arguments, environment, terminal)
        }
        Command::Rename(arguments) => decisions::rename(&place, &arguments, environment, terminal),
        Command::Completions(arguments) => Ok(completions::completions(&arguments, terminal)),
        Command::Man(arguments) => man::man(&arguments),
        Command::Action => unreachable!("the inputs name another command"),
    }
}
