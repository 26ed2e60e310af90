//! The ledger in real repositories, and its files.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail loudly, like the tests"
)]

mod files;
mod local;
mod remote;
mod remote_trouble;
mod world;
