//! The integration tests, one module per part of the program.

#[cfg(test)]
#[cfg(unix)]
mod action;
#[cfg(test)]
mod channel;
#[cfg(test)]
mod channels_doc;
#[cfg(test)]
#[cfg(unix)]
mod cli;
#[cfg(test)]
mod config;
#[cfg(test)]
mod config_http;
#[cfg(test)]
#[cfg(unix)]
mod contract;
#[cfg(test)]
mod engine;
#[cfg(test)]
#[cfg(unix)]
mod fire;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod git;
#[cfg(test)]
mod guarantees_doc;
#[cfg(test)]
mod ledger;
#[cfg(test)]
mod named;
#[cfg(test)]
mod own_ledger;
#[cfg(test)]
mod problems_doc;
#[cfg(test)]
mod protocol_doc;
#[cfg(test)]
mod render;
#[cfg(test)]
mod sandbox;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod source;
#[cfg(test)]
mod tidy;
