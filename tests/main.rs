//! The integration tests, one module per part of the program.

mod config;
mod render;
