//! `man`: the manual pages, one for each command.

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::cli::{Cli, ManArgs};
use crate::error::Failure;
use crate::exit::Exit;

/// Writes every page into a directory.
pub(super) fn man(arguments: &ManArgs) -> Result<Exit, Failure> {
    let directory = &arguments.directory;
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), directory))
        .with_context(|| format!("can't write into {}", directory.display()))
        .map_err(|error| Failure::new(Exit::Usage, error))?;
    Ok(Exit::Proved)
}
