//! The delivery protocol: one pure machine that asks for actions and is told observations, one driver that acts.
//!
//! ```text
//!            Event                      Action
//!   driver ---------> core.step(now) ----------> driver
//!     |  committer thread: git, one push at a time     Read, Push, PushAgain, Journal
//!     |  worker thread per channel: HTTP, one request  Open, List, Send, Look
//! ```
//!
//! Invariant: `core` and everything it calls does no I/O, reads no clock and draws no random number: the time and the
//! seed are arguments. Only [`driver`] and the threads it starts act.

pub mod action;
pub mod adopting;
pub mod backoff;
mod checkout;
mod claiming;
pub mod core;
mod desk;
pub mod driver;
pub mod ending;
mod entropy;
#[cfg(test)]
mod explore;
mod later;
pub mod liveness;
pub mod matching;
mod outbox;
mod posting;
mod preparing;
mod retelling;
mod saving;
mod settling;
pub mod setup;
mod steps;
mod worker;
