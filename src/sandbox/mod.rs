//! Loopback stand-ins of the services, for `rehearse` and for the tests.
//!
//! They answer as the real services do (ids, limits, errors, idempotency, authentication) and misbehave when ordered
//! to. Each listens on a port of its own and takes one made-up credential.
//!
//! Invariant: they share no code with the adapters that they stand in for, so that a misunderstanding on one side
//! is not repeated on the other, and nothing here opens a connection to anywhere but loopback.
//!
//! Start reading at [`Sandbox`]; a request goes through `server`, `desk` and its service.

mod bluesky;
mod declared;
mod desk;
mod devto;
mod fault;
mod indexnow;
mod journal;
mod mastodon;
mod message;
mod server;
mod service;
mod text;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::bluesky::Bluesky;
use self::declared::Declared;
use self::desk::{Counter, Desk, Past};
use self::devto::Devto;
pub use self::fault::{Fault, FaultError, FaultOrder};
use self::indexnow::IndexNow;
pub use self::journal::{Answered, JournalError, LoggedRequest};
use self::mastodon::Mastodon;
use self::server::{Handler, Server};
pub use self::service::SandboxPost;
use self::service::{Identity, Service};
use crate::clock::Clock;
use crate::config::http::Declaration;
use crate::model::channel::Kind;
use crate::model::ids::ChannelName;
use crate::model::time::Timestamp;

/// The stand-ins, listening. Dropping it closes the ports.
pub struct Sandbox {
    running: Vec<Running>,
}

/// Which stand-ins there are and how they behave.
#[derive(Clone, Debug)]
pub struct SandboxOptions {
    /// One for each channel.
    pub stand_ins: Vec<StandIn>,
    /// What goes wrong.
    pub faults: Vec<FaultOrder>,
    /// Where to keep everything, in `DIR/services`; a sandbox that is started there again goes on as the same.
    pub directory: Option<PathBuf>,
    /// Decides all times and windows.
    pub clock: Arc<dyn Clock>,
    /// The host of the site that is announced.
    pub site_host: String,
}

/// A service to stand in for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandIn {
    /// The channel.
    pub channel: ChannelName,
    /// Its service.
    pub kind: Kind,
}

/// The stand-ins can't be started.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Two stand-ins under one name.
    #[error("two stand-ins for the channel `{0}`")]
    Twice(ChannelName),
    /// A declared service without its declaration.
    #[error("nothing declares the service of `{0}`")]
    NotDeclared(ChannelName),
    /// A fault for a channel that is not there.
    #[error("the fault order `{order}` names no channel here; there is {known}")]
    NoSuchChannel {
        /// The order.
        order: FaultOrder,
        /// The channels there are.
        known: String,
    },
    /// A fault for no write.
    #[error("the fault order `{0}` does not number a write: count from 1")]
    NoSuchWrite(FaultOrder),
    /// Two faults for one write.
    #[error("the fault orders `{first}` and `{second}` are for the same write")]
    FaultTwice {
        /// One.
        first: FaultOrder,
        /// The other.
        second: FaultOrder,
    },
    /// What an earlier sandbox kept can't be used.
    #[error("can't go on with what the stand-in of `{channel}` kept")]
    Journal {
        /// The channel.
        channel: ChannelName,
        /// Why.
        #[source]
        source: JournalError,
    },
    /// No port, no thread or no disk for a stand-in.
    #[error("can't start the stand-in of `{channel}`")]
    Start {
        /// The channel.
        channel: ChannelName,
        /// Why.
        #[source]
        source: io::Error,
    },
}

struct Running {
    channel: ChannelName,
    url: String,
    desk: Arc<dyn Desk>,
    /// Holds the port open.
    _server: Server,
}

impl Sandbox {
    /// Starts all stand-ins; none of them is of a declared service.
    pub fn start(options: SandboxOptions) -> Result<Self, SandboxError> {
        Self::start_with(options, BTreeMap::new())
    }

    /// Starts all stand-ins, those of declared services by their declarations.
    pub fn start_with(
        options: SandboxOptions,
        mut declared: BTreeMap<ChannelName, Declaration>,
    ) -> Result<Self, SandboxError> {
        let faults = assign(&options)?;
        let SandboxOptions {
            stand_ins,
            faults: _,
            directory,
            clock,
            site_host,
        } = options;
        let running = stand_ins
            .into_iter()
            .zip(faults)
            .map(|(stand_in, faults)| {
                let declaration = declared.remove(&stand_in.channel);
                let start = Start {
                    channel: stand_in.channel,
                    faults,
                    directory: directory.as_deref(),
                    clock: &clock,
                    site_host: &site_host,
                };
                match stand_in.kind {
                    Kind::IndexNow => start.run(IndexNow::new),
                    Kind::Bluesky => start.run(Bluesky::new),
                    Kind::Mastodon => start.run(Mastodon::new),
                    Kind::Devto => start.run(Devto::new),
                    Kind::Http => match declaration {
                        Some(declaration) => {
                            start.run(|identity| Declared::new(identity, declaration))
                        }
                        None => Err(SandboxError::NotDeclared(start.channel)),
                    },
                }
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { running })
    }

    /// Returns the address of a stand-in, such as `http://127.0.0.1:40123`.
    ///
    /// A channel that was not among the options is the caller's mistake, and a panic.
    pub fn url(&self, channel: &ChannelName) -> &str {
        &self.find(channel).url
    }

    /// Returns the made-up credential that a stand-in accepts; any other gets 401.
    ///
    /// IndexNow takes any well-formed key, this one too: its key is no secret.
    pub fn secret(kind: Kind) -> &'static str {
        match kind {
            Kind::IndexNow => "rehearsal-indexnow-key",
            Kind::Bluesky => bluesky::APP_PASSWORD,
            Kind::Mastodon => mastodon::ACCESS_TOKEN,
            Kind::Devto => devto::API_KEY,
            Kind::Http => declared::SECRET,
        }
    }

    /// Returns the made-up value of a secret of a declared channel: the stand-in accepts it and no other.
    pub fn declared_secret(declaration: &Declaration, channel: &ChannelName, name: &str) -> String {
        declared::secret(declaration, channel, name)
    }

    /// Returns every post that stands, channel by channel, oldest first.
    pub fn posts(&self) -> Vec<SandboxPost> {
        self.running
            .iter()
            .flat_map(|running| running.desk.posts())
            .collect()
    }

    /// Returns every request, channel by channel, in the order in which they came in.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.running
            .iter()
            .flat_map(|running| running.desk.requests())
            .collect()
    }

    /// Returns how many writes a channel got, refused ones included.
    ///
    /// A channel that was not among the options is the caller's mistake, and a panic.
    pub fn writes(&self, channel: &ChannelName) -> usize {
        self.find(channel).desk.writes()
    }

    /// Waits until every slow write that came in is stored, so that [`Sandbox::posts`] misses none.
    pub fn settle(&self) {
        for running in &self.running {
            running.desk.settle();
        }
    }

    /// Returns the newest time that stand-ins wrote below `directory`: a clock must not start before it.
    pub fn newest_time(directory: &Path) -> Option<Timestamp> {
        journal::newest_time(directory)
    }

    fn find(&self, channel: &ChannelName) -> &Running {
        self.running
            .iter()
            .find(|running| running.channel == *channel)
            .expect("callers ask for channels that they gave at the start")
    }
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_map()
            .entries(
                self.running
                    .iter()
                    .map(|running| (running.channel.as_str(), &running.url)),
            )
            .finish()
    }
}

/// Returns the faults of each stand-in, in the order of the stand-ins.
fn assign(options: &SandboxOptions) -> Result<Vec<BTreeMap<usize, Fault>>, SandboxError> {
    let names: Vec<_> = options.stand_ins.iter().map(|s| &s.channel).collect();
    for (index, name) in names.iter().enumerate() {
        if names.iter().take(index).any(|earlier| earlier == name) {
            return Err(SandboxError::Twice((*name).clone()));
        }
    }
    let mut faults = vec![BTreeMap::new(); names.len()];
    for order in &options.faults {
        if order.number == 0 {
            return Err(SandboxError::NoSuchWrite(order.clone()));
        }
        let place = names
            .iter()
            .zip(&mut faults)
            .find_map(|(name, faults)| (**name == order.channel).then_some(faults));
        let Some(place) = place else {
            let known: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            return Err(SandboxError::NoSuchChannel {
                order: order.clone(),
                known: known.join(", "),
            });
        };
        if let Some(fault) = place.insert(order.number, order.fault) {
            return Err(SandboxError::FaultTwice {
                first: FaultOrder {
                    fault,
                    ..order.clone()
                },
                second: order.clone(),
            });
        }
    }
    Ok(faults)
}

struct Start<'a> {
    channel: ChannelName,
    faults: BTreeMap<usize, Fault>,
    directory: Option<&'a Path>,
    clock: &'a Arc<dyn Clock>,
    site_host: &'a str,
}

impl Start<'_> {
    fn run<S: Service>(self, make: impl FnOnce(Identity) -> S) -> Result<Running, SandboxError> {
        let channel = self.channel;
        let past =
            Past::read(self.directory, &channel).map_err(|source| SandboxError::Journal {
                channel: channel.clone(),
                source,
            })?;
        let start = || -> io::Result<Running> {
            let listener = server::listen(past.port())?;
            let port = listener.local_addr()?.port();
            let url = format!("http://127.0.0.1:{port}");
            let service = make(Identity {
                channel: channel.clone(),
                url: url.clone(),
                site_host: self.site_host.to_ascii_lowercase(),
            });
            let desk = Counter::start(&channel, self.clock, self.faults, (service, past, port))?;
            let handler: Arc<dyn Handler> = desk.clone();
            Ok(Running {
                channel: channel.clone(),
                url,
                desk,
                _server: Server::start(channel.as_str(), listener, handler)?,
            })
        };
        start().map_err(|source| SandboxError::Start {
            channel: channel.clone(),
            source,
        })
    }
}
