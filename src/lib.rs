//! Announces every article of a site on every channel exactly once.
//!
//! The pipeline, in the order of the modules: [`source`] reads the site's articles, [`config`] says where they go,
//! [`ledger`] knows what was done, [`plan`] decides, [`render`] writes the posts, [`engine`] acts through
//! [`channel`], and [`report`] tells. `ARCHITECTURE.md` is the map.

pub mod channel;
pub mod cli;
pub mod clock;
pub mod commands;
pub mod config;
pub mod engine;
pub mod environment;
pub mod error;
pub mod exit;
pub mod git;
pub mod ledger;
pub mod model;
pub mod panics;
pub mod plan;
pub mod render;
pub mod report;
pub mod sandbox;
pub mod secret;
pub mod signals;
pub mod source;

#[cfg(test)]
extern crate self as sayonce;

/// The integration tests' simulation, which names the crate as they do: here it runs with a rule of the protocol broken.
#[cfg(test)]
#[path = "../tests/simulation/mod.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod simulation;
