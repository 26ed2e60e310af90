//! The program as people start it: the real binary, a real repository with a remote, and services on loopback.

mod audit;
mod clones;
mod floods;
mod homes;
mod job;
mod killed;
mod ledger;
mod options;
mod people;
mod program;
mod rehearsal;
mod secrets;
mod site;
mod stopped;
mod trouble;
