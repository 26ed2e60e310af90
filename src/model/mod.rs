//! The words of the program as types: item, post, channel, delivery, receipt.
//!
//! Invariant: nothing here does I/O, reads a clock, or draws a random number.
//! Start reading at [`delivery`].

pub mod address;
pub mod channel;
pub mod claim;
pub mod delivery;
pub mod ids;
pub mod item;
pub mod media;
pub(crate) mod mutant;
pub mod notice;
pub mod outcome;
pub mod post;
pub mod row;
pub mod time;
