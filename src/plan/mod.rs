//! What is to be done: every delivery is a step, or a skip with its reason.
//!
//! Pending work is a query over the ledger, not a cursor: a fresh run and a resumed one ask the same question.
//! [`survey`] joins articles, channels and rows into deliveries and guards against floods; [`decide`] says what the
//! next step of one delivery is; [`reconcile`] turns a doubt plus its lookups into the next step.
//!
//! Invariant: nothing here does I/O or reads a clock; the same inputs give the same plan.

pub mod alarms;
pub mod audit;
pub mod decide;
pub mod guard;
mod known;
pub mod later;
pub mod matrix;
pub mod outlook;
pub mod pacing;
pub mod read_back;
pub mod reconcile;
pub mod survey;
