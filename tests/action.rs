//! The GitHub Action: what it declares, how it gets the program, and whole workflows run for real.
//!
//! `act` runs the workflows where it is installed, and the linters lint them; `SAYONCE_REQUIRE=1` makes a missing one a failure.

mod archive;
mod install;
mod jobs;
mod licences;
mod linters;
mod metadata;
mod page;
mod runner;
