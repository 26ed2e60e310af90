//! The stand-in services, spoken to in raw HTTP.

mod bluesky;
mod declared;
mod devto;
mod faults;
mod indexnow;
mod kept;
mod later;
mod mastodon;
mod wire;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use sayonce::clock::Clock;
use sayonce::model::channel::Kind;
use sayonce::model::ids::ChannelName;
use sayonce::model::time::Timestamp;
use sayonce::sandbox::{FaultOrder, Sandbox, SandboxOptions, StandIn};
use serde_json::Value;

/// A clock that only moves when it is told to.
#[derive(Debug)]
pub(crate) struct HandClock {
    now: Mutex<Timestamp>,
    moved: Condvar,
    sleep: Sleep,
    asleep: AtomicUsize,
}

/// What a sleep on a [`HandClock`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleep {
    /// It moves the clock, and is over at once.
    Moves,
    /// It waits until somebody else has moved the clock far enough.
    Waits,
}

impl HandClock {
    pub(crate) fn at(time: &str, sleep: Sleep) -> Arc<Self> {
        Arc::new(Self {
            now: Mutex::new(Timestamp::parse(time).unwrap()),
            moved: Condvar::new(),
            sleep,
            asleep: AtomicUsize::new(0),
        })
    }

    /// Returns once somebody sleeps: moved before that, the clock would wake nobody.
    pub(crate) fn until_asleep(&self) {
        while self.asleep.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
    }

    pub(crate) fn advance(&self, duration: Duration) {
        let mut now = self.now.lock().unwrap();
        *now = now.plus(duration);
        self.moved.notify_all();
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }

    fn elapsed(&self) -> Duration {
        self.now().since(Timestamp::EPOCH)
    }

    fn real(&self, _duration: Duration) -> Duration {
        Duration::ZERO
    }

    fn told(&self, real: Duration) -> Duration {
        real
    }

    fn sleep(&self, duration: Duration) {
        match self.sleep {
            Sleep::Moves => self.advance(duration),
            Sleep::Waits => {
                let now = self.now.lock().unwrap();
                let until = now.plus(duration);
                self.asleep.fetch_add(1, Ordering::SeqCst);
                drop(self.moved.wait_while(now, |now| *now < until).unwrap());
            }
        }
    }
}

/// A sandbox with one stand-in, called by the label of its kind.
pub(crate) struct Server {
    pub(crate) sandbox: Sandbox,
    pub(crate) channel: ChannelName,
    pub(crate) address: String,
}

/// A server, and the hand on its clock.
pub(crate) struct World {
    server: Server,
    pub(crate) clock: Arc<HandClock>,
}

impl Deref for World {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

/// When the clocks start.
pub(crate) const START: &str = "2026-11-29T10:00:00.123Z";

pub(crate) fn start(kind: Kind) -> World {
    start_with(kind, &[], None)
}

pub(crate) fn start_with(kind: Kind, faults: &[&str], directory: Option<&Path>) -> World {
    let clock = HandClock::at(START, Sleep::Moves);
    let server = serve(kind, faults, directory, clock.clone());
    World { server, clock }
}

pub(crate) fn serve(
    kind: Kind,
    faults: &[&str],
    directory: Option<&Path>,
    clock: Arc<dyn Clock>,
) -> Server {
    let sandbox =
        Sandbox::start_with(options(kind, faults, directory, clock), declared::of(kind)).unwrap();
    let channel = ChannelName::new(kind.label()).unwrap();
    let address = sandbox.url(&channel).replace("http://", "");
    Server {
        sandbox,
        channel,
        address,
    }
}

pub(crate) fn options(
    kind: Kind,
    faults: &[&str],
    directory: Option<&Path>,
    clock: Arc<dyn Clock>,
) -> SandboxOptions {
    SandboxOptions {
        stand_ins: vec![StandIn {
            channel: ChannelName::new(kind.label()).unwrap(),
            kind,
        }],
        faults: faults
            .iter()
            .map(|fault| fault.parse::<FaultOrder>().unwrap())
            .collect(),
        directory: directory.map(Path::to_owned),
        clock,
        site_host: "blog.example".to_owned(),
    }
}

impl Server {
    /// Sends a call; `None` if the connection was cut without an answer.
    pub(crate) fn send(&self, call: &Call) -> Option<Response> {
        exchange(&self.address, &call.bytes(&self.address))
    }

    /// Sends a call that is answered.
    pub(crate) fn get_answer(&self, call: &Call) -> Response {
        self.send(call).expect("an answer")
    }

    /// Sends bytes as they are.
    pub(crate) fn send_raw(&self, bytes: &[u8]) -> Option<Response> {
        exchange(&self.address, bytes)
    }

    /// Opens a connection, sends a call, and goes away; returns once the call is in the log.
    pub(crate) fn send_and_leave(&self, call: &Call) {
        let before = self.log().len();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(&call.bytes(&self.address)).unwrap();
        drop(stream);
        while self.log().len() == before {
            thread::yield_now();
        }
    }

    pub(crate) fn writes(&self) -> usize {
        self.sandbox.writes(&self.channel)
    }

    /// Returns every post as `canonical URL xTIMES`.
    pub(crate) fn posts(&self) -> Vec<String> {
        self.sandbox
            .posts()
            .into_iter()
            .map(|post| format!("{} x{}", post.canonical_url.unwrap_or_default(), post.times))
            .collect()
    }

    /// Returns every request as `NUMBER METHOD PATH STATUS`.
    pub(crate) fn log(&self) -> Vec<String> {
        self.sandbox
            .requests()
            .into_iter()
            .map(|request| {
                let (number, answered) = (request.number, request.answered);
                format!("{number} {} {} {answered}", request.method, request.path)
            })
            .collect()
    }
}

/// One HTTP request.
#[derive(Clone)]
pub(crate) struct Call {
    method: &'static str,
    target: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Call {
    pub(crate) fn new(method: &'static str, target: impl Into<String>) -> Self {
        Self {
            method,
            target: target.into(),
            headers: vec![("User-Agent", "test".to_owned())],
            body: Vec::new(),
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self
    }

    pub(crate) fn bearer(self, token: &str) -> Self {
        self.header("Authorization", format!("Bearer {token}"))
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    pub(crate) fn body(mut self, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self.header("Content-Type", media_type)
    }

    pub(crate) fn bytes(&self, host: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        write!(
            bytes,
            "{} {} HTTP/1.1\r\nHost: {host}\r\n",
            self.method, self.target
        )
        .unwrap();
        for (name, value) in &self.headers {
            write!(bytes, "{name}: {value}\r\n").unwrap();
        }
        write!(bytes, "Content-Length: {}\r\n\r\n", self.body.len()).unwrap();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// One HTTP response.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn string(&self, pointer: &str) -> String {
        let body = self.json();
        let value = body.pointer(pointer).and_then(Value::as_str);
        value
            .unwrap_or_else(|| panic!("no {pointer} in {body}"))
            .to_owned()
    }

    /// Returns status and body in one line.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.status, self.body)
    }
}

fn exchange(address: &str, bytes: &[u8]) -> Option<Response> {
    let mut stream = TcpStream::connect(address).unwrap();
    // A server that has seen enough may close before it has read everything.
    drop(stream.write_all(bytes));
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer));
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let (head, body) = if head.starts_with("HTTP/1.1 100") {
        body.split_once("\r\n\r\n")?
    } else {
        (head, body)
    };
    Some(Response {
        status: head.split(' ').nth(1)?.parse().ok()?,
        head: head.to_owned(),
        body: body.to_owned(),
    })
}
