//! The integration tests, one module per part of the program.

mod config;
mod engine;
mod render;
mod simulation;
mod channel;
mod source;
#[cfg(test)]
mod sandbox;
