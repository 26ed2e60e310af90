//! The integration tests, one module per part of the program.

mod channel;
mod config;
mod engine;
mod git;
mod ledger;
mod render;
#[cfg(test)]
mod sandbox;
mod simulation;
mod source;
