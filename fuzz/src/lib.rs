//! One function per fuzz target. The checks themselves are shared with the program's own tests.

#[path = "../../tests/fuzz/bodies/mod.rs"]
mod bodies;

/// See `bodies`.
pub fn config(bytes: &[u8]) {
    bodies::config(bytes);
}

/// See `bodies`.
pub fn feed(bytes: &[u8]) {
    bodies::feed(bytes);
}

/// See `bodies`.
pub fn ledger(bytes: &[u8]) {
    bodies::ledger(bytes);
}

/// See `bodies`.
pub fn manifest(bytes: &[u8]) {
    bodies::manifest(bytes);
}

/// See `bodies`.
pub fn markdown(bytes: &[u8]) {
    bodies::markdown(bytes);
}

/// See `bodies`.
pub fn page(bytes: &[u8]) {
    bodies::page(bytes);
}

/// See `bodies`.
pub fn push(bytes: &[u8]) {
    bodies::push(bytes);
}

/// See `bodies`.
pub fn services(bytes: &[u8]) {
    bodies::services(bytes);
}

/// See `bodies`.
pub fn sitemap(bytes: &[u8]) {
    bodies::sitemap(bytes);
}

