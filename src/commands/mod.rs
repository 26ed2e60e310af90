//! One file per verb, and what they share.

mod audit;
mod baseline;
mod commit;
mod decisions;
mod example;
mod ledger;
mod plan;
mod rehearse;
mod run;
mod verbs;
mod world;

use crate::cli::{Cli, Command, LedgerCommand};
use crate::environment::Environment;
use crate::error::Failure;
use crate::exit::Exit;
use crate::report::terminal::Terminal;

use self::verbs::Verb;

/// Does what the command line says.
pub fn dispatch(
    cli: Cli,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let place = world::Place {
        config: cli.config,
        repo: cli.repo,
    };
    match cli.command {
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
        Command::Ledger(LedgerCommand::Accept) => ledger::accept(&place, environment, terminal),
        Command::Ledger(LedgerCommand::Repair) => ledger::repair(&place, environment, terminal),
        Command::Rename(arguments) => decisions::rename(&place, &arguments, environment, terminal),
    }
}
