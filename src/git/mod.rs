//! git: objects and refs of the repository on this machine through git2, everything that goes over the network
//! through the `git` program.
//!
//! The split is on purpose. The program honours every credential helper, `extraheader`, proxy and ssh setting as
//! the user has them; the library builds commits without an index and so without a work tree that could be dirty.
//!
//! Invariant: nothing here knows what a row is, and only [`process`] starts a program. Start reading at [`objects`].

pub mod objects;
pub mod process;
pub mod push;
pub mod remote;
pub mod scratch;
pub mod signature;
pub mod worktree;
