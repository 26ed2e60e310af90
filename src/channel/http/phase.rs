//! How far a request got, and the fence that a write may not pass late.
//!
//! ureq's errors can't tell a connection that broke before the request from one that broke after it (`UnexpectedEof`
//! is both), so [`PhaseConnector`] wraps ureq's own connector and records each step.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};

use crate::clock::Clock;
use crate::model::claim::PushedClaim;
use crate::model::time::Timestamp;

/// The end of a send window: past it no first byte of a write may leave.
///
/// Both clocks count. The wall clock stands in the claim, but may be set back; the monotonic one can't be.
#[derive(Clone, Debug)]
pub(crate) struct Fence {
    send_before: Timestamp,
    deadline: Duration,
}

impl Fence {
    /// Takes the earliest end of the claims' windows, at the moment when the job was taken.
    pub(crate) fn of(claims: &[PushedClaim], clock: &dyn Clock) -> Self {
        let now = clock.now();
        let send_before = claims
            .iter()
            .map(|pushed| pushed.claim().send_before)
            .min()
            .unwrap_or(now);
        Self {
            send_before,
            deadline: clock.elapsed() + send_before.since(now),
        }
    }

    /// Returns a fence that ends halfway to this one: for what goes before the write that counts.
    pub(crate) fn first_half(&self, clock: &dyn Clock) -> Self {
        let half = self.left(clock) / 2;
        Self {
            send_before: self.send_before.min(clock.now().plus(half)),
            deadline: clock.elapsed() + half,
        }
    }

    /// Returns how long a write may still start.
    pub(crate) fn left(&self, clock: &dyn Clock) -> Duration {
        let by_wall = self.send_before.since(clock.now());
        by_wall.min(self.deadline.saturating_sub(clock.elapsed()))
    }

    /// Tells whether a write may still start.
    pub(crate) fn is_open(&self, clock: &dyn Clock) -> bool {
        clock.now() < self.send_before && clock.elapsed() < self.deadline
    }
}

/// How far a request got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Name lookup, connecting, proxy and TLS handshakes: nothing of the request exists on the wire.
    #[default]
    NotConnected,
    /// The connection stands; nothing was written to it.
    Connected,
    /// The connection stood when the send window was over; nothing was written to it.
    TooLate,
    /// Bytes were handed to the connection: they may have arrived.
    Sending,
}

#[derive(Debug, Default)]
struct Progress {
    phase: Phase,
    fence: Option<Fence>,
    /// Connectors that are at work inside each other: a proxy's connection is made by the same connector.
    nesting: u32,
}

/// What connector, connection and caller know of the one request under way.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedProgress(Arc<Mutex<Progress>>);

impl SharedProgress {
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the request before.
    pub(super) fn restart(&self, fence: Option<Fence>) {
        *self.lock() = Progress {
            fence,
            ..Progress::default()
        };
    }

    /// Returns how far the request got.
    pub(super) fn phase(&self) -> Phase {
        self.lock().phase
    }
}

/// Connects as another connector does, and records how far each request got.
#[derive(Debug)]
pub(super) struct PhaseConnector<C> {
    inner: C,
    progress: SharedProgress,
    clock: Arc<dyn Clock>,
}

impl<C> PhaseConnector<C> {
    /// Makes a connector that writes down its steps.
    pub(super) fn new(inner: C, progress: SharedProgress, clock: Arc<dyn Clock>) -> Self {
        Self {
            inner,
            progress,
            clock,
        }
    }
}

impl<C: Connector<Out = Box<dyn Transport>>> Connector for PhaseConnector<C> {
    type Out = Box<dyn Transport>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<()>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        let is_outermost = {
            let mut progress = self.progress.lock();
            progress.nesting += 1;
            progress.nesting == 1
        };
        let connected = self.inner.connect(details, chained);
        let mut progress = self.progress.lock();
        progress.nesting -= 1;
        // What is said to a proxy on an inner connection is not the request.
        if !is_outermost {
            return connected;
        }
        let Some(transport) = connected? else {
            return Ok(None);
        };
        progress.phase = Phase::Connected;
        Ok(Some(Box::new(PhaseTransport {
            inner: transport,
            progress: self.progress.clone(),
            clock: Arc::clone(&self.clock),
        })))
    }
}

#[derive(Debug)]
struct PhaseTransport {
    inner: Box<dyn Transport>,
    progress: SharedProgress,
    clock: Arc<dyn Clock>,
}

impl PhaseTransport {
    /// Lets the first bytes of a write leave only inside its send window.
    fn pass_fence(&self) -> Result<(), ureq::Error> {
        let mut progress = self.progress.lock();
        if progress.phase == Phase::Sending {
            return Ok(());
        }
        let is_open = progress
            .fence
            .as_ref()
            .is_none_or(|fence| fence.is_open(&*self.clock));
        if !is_open {
            progress.phase = Phase::TooLate;
            return Err(ureq::Error::ConnectionFailed);
        }
        progress.phase = Phase::Sending;
        Ok(())
    }
}

impl Transport for PhaseTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.pass_fence()?;
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.inner.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use ureq::unversioned::resolver::DefaultResolver;
    use ureq::unversioned::transport::DefaultConnector;
    use ureq::{Agent, Proxy};

    use super::*;
    use crate::clock::SystemClock;

    /// Sends a request through a proxy that answers to `CONNECT`, reads what follows, and hangs up.
    fn phase_behind_proxy(connect_answer: &'static [u8]) -> Phase {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let proxy = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut connect = Vec::new();
            while !connect.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                connect.extend(byte);
            }
            assert!(connect.starts_with(b"CONNECT blog.example:80 "));
            stream.write_all(connect_answer).unwrap();
            stream.read(&mut [0; 1024]).unwrap()
        });
        let progress = SharedProgress::default();
        let config = Agent::config_builder()
            .proxy(Some(Proxy::new(&format!("http://{address}")).unwrap()))
            .build();
        let connector = PhaseConnector::new(
            DefaultConnector::default(),
            progress.clone(),
            Arc::new(SystemClock::new()),
        );
        let agent = Agent::with_parts(config, connector, DefaultResolver::default());
        assert!(agent.get("http://blog.example/").call().is_err());
        drop(agent);
        proxy.join().unwrap();
        progress.phase()
    }

    #[test]
    fn what_is_said_to_a_proxy_is_not_the_request() {
        let refused = phase_behind_proxy(b"HTTP/1.1 403 Forbidden\r\n\r\n");
        assert_eq!(refused, Phase::NotConnected);
        let passed = phase_behind_proxy(b"HTTP/1.1 200 OK\r\n\r\n");
        assert_eq!(passed, Phase::Sending);
    }
}
