//! The channels against real servers, and against what real servers answered.
//!
//! The servers are started here, on free ports of loopback, and end with their tests. Each is somebody else's program;
//! the environment says where it is, and a test whose server is not installed says so and does nothing:
//!
//! | variable | what it names |
//! |---|---|
//! | `SAYONCE_PDS_MODULES` | the `node_modules` with `@atproto/dev-env`: a Bluesky PDS (needs `node` in the `PATH`) |
//! | `SAYONCE_MASTODON_MOCK` | the program `mastodon_mock`: a server of Mastodon's client API |
//! | `SAYONCE_PRISM` | the program `prism`, which holds requests and answers against a specification |
//! | `SAYONCE_FOREM_SPEC` | Forem's own specification of its API, in `OpenAPI` |
//! | `SAYONCE_REQUIRE=1` | what is not there is a failure, the specification aside |
//!
//! `.ci/servers` installs them. `replay` needs none.

mod alike;
mod blog;
mod bluesky;
mod bluesky_pictures;
mod client;
mod forem;
mod mastodon;
mod mastodon_pictures;
mod relay;
mod replay;
mod servers;
mod troubles;
