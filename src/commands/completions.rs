//! `completions`: the completion script of a shell.

use clap::CommandFactory as _;

use crate::cli::{Cli, CompletionsArgs};
use crate::exit::Exit;
use crate::report::terminal::Terminal;

/// Writes the script to standard output.
pub(super) fn completions(arguments: &CompletionsArgs, terminal: &mut Terminal) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "sayonce", &mut script);
    terminal.result(&String::from_utf8_lossy(&script));
    Exit::Proved
}
