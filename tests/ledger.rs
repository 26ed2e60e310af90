//! The ledger in real repositories, and its files.

mod files;
mod hands;
mod local;
mod remote;
mod remote_trouble;
pub(crate) mod world;
