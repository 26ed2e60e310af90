//! The ledger in real repositories, and its files.

mod local;
mod remote;
mod remote_trouble;
mod world;
