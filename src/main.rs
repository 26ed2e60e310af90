//! The program: the command line in, an exit code out.

use std::process::ExitCode;

use clap::Parser as _;

use sayonce::cli::Cli;
use sayonce::commands::perform;
use sayonce::environment::Environment;
use sayonce::panics;
use sayonce::report::terminal::Terminal;

fn main() -> ExitCode {
    panics::install();
    let cli = Cli::parse();
    let environment = Environment::of_process();
    let mut terminal = Terminal::new(chrono_tz::UTC);
    perform(cli, &environment, &mut terminal).into()
}
