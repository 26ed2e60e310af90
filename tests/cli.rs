//! The program as people start it: the real binary, a real repository with a remote, and services on loopback.

mod actions;
mod alarms;
mod audit;
mod clones;
mod declared;
mod floods;
mod freed;
mod homes;
mod job;
mod killed;
mod ledger;
mod lies;
mod looking;
mod matrix;
mod moved;
mod options;
mod packages;
mod people;
pub(crate) mod program;
mod rehearsal;
mod rewound;
mod secrets;
pub(crate) mod site;
pub(crate) mod stopped;
mod switched;
mod trouble;
mod unsaved;
