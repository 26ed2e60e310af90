//! What people and programs are told: notices while a run works, the result at its end.
//!
//! Invariant: results go to standard output, everything else to standard error; nothing here decides anything.

pub mod adoption;
pub mod audit;
pub mod digest;
pub mod doctor;
pub mod github;
pub mod human;
pub mod json;
pub mod notices;
pub mod rehearsal;
pub mod terminal;
