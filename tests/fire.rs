//! The protocol under fire: the real binary is killed, stopped and lied to, and an outsider counts what came of it.
//!
//! Nothing here looks into the program: [`checker`] reads what the services got and what the ledger's remote holds.
//! Each test has a short form for `cargo test`; the environment asks for more, and under `--nocapture` each prints a line
//! with its figure:
//!
//! | variable | what it does |
//! |---|---|
//! | `SAYONCE_KILLS=all` | kills at every system call that has an effect, and prints how many there were |
//! | `SAYONCE_KILLS=500` | kills at as many of them, evenly spread |
//! | `SAYONCE_ROUNDS=300` | as many rounds of kills at random moments |
//! | `SAYONCE_CANCELS=60` | as many signals at random moments |
//! | `SAYONCE_NETNS=60` | as many rounds over a slow and lossy wire between two network namespaces |
//! | `SAYONCE_NETNS_DELAY=12` | the wire's delay in seconds, each way |
//! | `SAYONCE_SLOW=60` | as many rounds of a service that finishes after its client gave up |
//! | `SAYONCE_SPEED=1` | the same in true seconds |
//! | `SAYONCE_RUNNERS=16` | as many runs at once on one ledger, in `SAYONCE_ROUNDS` rounds |
//! | `SAYONCE_RECEIPTS=50` | as many rounds in which the ledger's remote is away when results are to be pushed |
//! | `SAYONCE_SEED=7` | the random moments of an earlier run |
//! | `SAYONCE_KEEP=DIR` | keeps the rehearsals in which something went wrong |
//! | `SAYONCE_REQUIRE=1` | what this machine lacks (strace, python3, the right to mount and to make network namespaces) is a failure, not a skipped test |

mod cancels;
mod checker;
mod checker_tests;
mod disk;
mod evidence;
mod git_calls;
mod history;
mod medium;
mod medium_local;
mod moves;
mod netns;
mod power;
mod receipts;
mod rounds;
mod runners;
mod slow;
pub(crate) mod stage;
mod syscalls;
mod wire;
