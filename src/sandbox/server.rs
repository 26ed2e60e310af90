//! The loopback HTTP server below every stand-in: a thread that accepts, and one a connection.
//!
//! Invariant: it listens on loopback only, and nothing that a client sends makes it panic.

use std::io::{self, Read as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::message::{Reply, Request, Unreadable, read_request};
use crate::model::time::Timestamp;

/// How long a client may fall silent, in the machine's time: loopback is never slow.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// Most connections at a time: a client that needs more is broken.
const CONNECTIONS_MAX: usize = 256;
/// How much is read after the reply: of a body that was refused for its length, all that a client would send.
const LEFTOVER_MAX: usize = 16 * 1024 * 1024;

/// What answers the requests.
pub(crate) trait Handler: Send + Sync {
    /// Answers a request; `None` cuts the connection.
    fn handle(&self, request: &Request) -> Option<Reply>;

    /// Answers what could not be read; `None` cuts the connection.
    fn refuse(&self, unreadable: Unreadable) -> Option<Reply>;

    /// The service's time.
    fn now(&self) -> Timestamp;
}

/// A listening server. Dropping it closes the port; requests already being worked on are finished.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    accepting: Option<thread::JoinHandle<()>>,
}

/// Opens a port on loopback: `wanted` if it is free, else any.
///
/// A rehearsal that goes on after a kill wants its old port again, because accounts and posts carry the address.
pub(crate) fn listen(wanted: Option<u16>) -> io::Result<TcpListener> {
    if let Some(port) = wanted
        && let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
    {
        return Ok(listener);
    }
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
}

impl Server {
    /// Starts to accept.
    pub(crate) fn start(
        name: &str,
        listener: TcpListener,
        handler: Arc<dyn Handler>,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let accepting = thread::Builder::new()
            .name(format!("sandbox-{name}"))
            .spawn(move || accept(&listener, &handler, &stopped))?;
        Ok(Self {
            address,
            stop,
            accepting: Some(accepting),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // The thread sits in `accept`: one more connection wakes it. If that fails, the listener is gone already.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            drop(accepting.join());
        }
    }
}

fn accept(listener: &TcpListener, handler: &Arc<dyn Handler>, stop: &AtomicBool) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if open.load(Ordering::SeqCst) >= CONNECTIONS_MAX {
            continue;
        }
        let connection = Connection::count(&open);
        let handler = Arc::clone(handler);
        let worker = thread::Builder::new().spawn(move || {
            serve(stream, handler.as_ref());
            drop(connection);
        });
        // Without a thread the connection is closed, as an overloaded service does.
        drop(worker);
    }
}

/// Counts a connection as long as it lives, also when its thread could not be started.
struct Connection(Arc<AtomicUsize>);

impl Connection {
    fn count(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(open))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn serve(mut stream: TcpStream, handler: &dyn Handler) {
    let timeouts = stream
        .set_read_timeout(Some(SILENCE_MAX))
        .and_then(|()| stream.set_write_timeout(Some(SILENCE_MAX)));
    if timeouts.is_err() {
        return;
    }
    let (reply, method) = match read_request(&mut stream) {
        Ok(request) => (handler.handle(&request), request.method),
        Err(unreadable) => (handler.refuse(unreadable), String::new()),
    };
    let Some(reply) = reply else { return };
    let sent = reply
        .write(&mut stream, &method, handler.now())
        .and_then(|()| stream.shutdown(Shutdown::Write));
    if sent.is_ok() {
        linger(stream);
    }
}

/// Reads until the client closes: closing over unread bytes would reset the connection, and the reply with it.
fn linger(mut stream: TcpStream) {
    let mut piece = [0; 4 * 1024];
    let mut left = LEFTOVER_MAX;
    while left > 0 {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(length) => left = left.saturating_sub(length),
        }
    }
}
