//! The only file that speaks HTTP.
//!
//! Invariants: one request on one fresh connection, never repeated and never redirected; whether a byte of it left is
//! known, not guessed; a write starts inside its send window or not at all; every call ends within its timeout.
//!
//! Start reading at `Http::send`; `phase` says how it is known what left.

mod phase;
mod public;

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use ureq::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use ureq::http::{HeaderName, Method, Request as WireRequest, Response};
use ureq::unversioned::resolver::{DefaultResolver, Resolver};
use ureq::unversioned::transport::{Connector, DefaultConnector, Transport};
use ureq::{Agent, AsSendBody, Body, Proxy};
use url::{Host, Url};

pub(crate) use self::phase::Fence;
use self::phase::{Phase, PhaseConnector, SharedProgress};
pub(crate) use self::public::may_be_public;
use self::public::{GuardedResolver, PublicResolver, Strangers};
use super::answer::{Answer, Reply};
use super::redact::Scrubber;
use crate::clock::Clock;
use crate::model::time::duration_text;

/// Who we say we are. dev.to's edge answers 403 to a missing or a library's name.
const USER_AGENT: &str = concat!("sayonce/", env!("CARGO_PKG_VERSION"));

/// Largest body of an API's answer that is read. dev.to's list carries the whole text of every article.
const ANSWER_SIZE_MAX: u64 = 64 * 1024 * 1024;

/// Largest source that is read from a URL.
const SOURCE_SIZE_MAX: u64 = 50 * 1000 * 1000;

/// Longest time for reading a source from a URL, every redirect included.
const SOURCE_TIMEOUT: Duration = Duration::from_mins(1);

/// Longest time for reading a picture from a URL, every redirect included: it holds up its post.
const PICTURE_TIMEOUT: Duration = Duration::from_secs(5);

/// Largest picture that is read from a URL.
const PICTURE_SIZE_MAX: u64 = 20 * 1000 * 1000;

/// Most redirects from a source's URL: a move of host, of scheme and of path, and some room.
const SOURCE_REDIRECTS_MAX: usize = 5;

/// Largest header block of an answer.
const HEADERS_SIZE_MAX: usize = 64 * 1024;

/// How hosts are found and connections made: the network, except where a test plays the service byte by byte.
#[derive(Debug)]
pub struct Wire<C, R> {
    /// Makes the connections.
    pub connector: C,
    /// Finds the addresses.
    pub resolver: R,
}

impl Wire<DefaultConnector, DefaultResolver> {
    /// The network.
    pub fn network() -> Self {
        Self {
            connector: DefaultConnector::default(),
            resolver: DefaultResolver::default(),
        }
    }
}

/// The HTTP agent of one channel: one request at a time.
#[derive(Debug)]
pub(crate) struct Http {
    agent: Agent,
    progress: SharedProgress,
    clock: Arc<dyn Clock>,
    timeout: Duration,
    deadline: Duration,
    scrubber: Scrubber,
    strangers: Strangers,
}

impl Http {
    /// Makes an agent whose calls last at most `timeout` of the clock's time.
    pub(crate) fn new<C, R>(
        wire: Wire<C, R>,
        clock: Arc<dyn Clock>,
        timeout: Duration,
        scrubber: Scrubber,
    ) -> Self
    where
        C: Connector<Out = Box<dyn Transport>>,
        R: Resolver,
    {
        let progress = SharedProgress::default();
        let strangers = Strangers::default();
        let wire = Wire {
            connector: wire.connector,
            resolver: GuardedResolver::new(wire.resolver, strangers.clone()),
        };
        Self {
            agent: agent(wire, Proxy::try_from_env(), &progress, &clock),
            strangers,
            progress,
            deadline: clock.elapsed() + timeout,
            clock,
            timeout,
            scrubber,
        }
    }

    /// Takes note that a stranger named this URL's host: it is reached on the public net only.
    pub(crate) fn distrust(&self, url: &Url) {
        self.strangers.add(url);
    }

    /// Starts the time of one call of the channel: all its requests together have one timeout.
    pub(crate) fn begin(&mut self) {
        self.deadline = self.clock.elapsed() + self.timeout;
    }

    /// Returns the clock.
    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Returns the clock, for what has to know the time by itself.
    pub(crate) fn shared_clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    /// Returns what makes texts of this channel's services fit to be shown.
    pub(crate) fn scrubber(&mut self) -> &mut Scrubber {
        &mut self.scrubber
    }

    /// Returns a text without this channel's secrets, otherwise as it is.
    pub(crate) fn scrubbed(&self, text: &str) -> String {
        self.scrubber.clean(text)
    }

    /// Sends one request, once.
    pub(crate) fn send(&mut self, request: &Request) -> Reply {
        if let Err(reason) = check_scheme(&request.url) {
            return Reply::NotSent { reason };
        }
        if let Some(fence) = &request.fence
            && !fence.is_open(&*self.clock)
        {
            return too_late();
        }
        let time_left = self.deadline.saturating_sub(self.clock.elapsed());
        if time_left.is_zero() {
            return Reply::NotSent {
                reason: format!(
                    "{} were over before the request",
                    duration_text(self.timeout)
                ),
            };
        }
        self.progress.restart(request.fence.clone());
        let started = self.clock.elapsed();
        let real_time_left = self.clock.real(time_left);
        match exchange(&self.agent, request, real_time_left) {
            Ok(response) => {
                let round_trip = self.clock.elapsed().saturating_sub(started);
                Reply::Answer(self.receive(response, round_trip))
            }
            Err(error) => self.failure(&request.url, &error),
        }
    }

    /// Sends one request that may take no more than `limit` of the call's time.
    pub(crate) fn send_within(&mut self, request: &Request, limit: Duration) -> Reply {
        let (timeout, deadline) = (self.timeout, self.deadline);
        self.timeout = timeout.min(limit);
        self.deadline = deadline.min(self.clock.elapsed() + limit);
        let reply = self.send(request);
        (self.timeout, self.deadline) = (timeout, deadline);
        reply
    }

    /// Says in one line what was answered.
    pub(crate) fn describe(&self, answer: &Answer) -> String {
        let mut text = format!("HTTP {}", answer.status);
        if let Some(location) = answer.header("Location")
            && (300..400).contains(&answer.status)
        {
            text.push_str(" to ");
            text.push_str(&self.scrubber.line(location));
        }
        let excerpt = self.scrubber.excerpt(&answer.body);
        if !excerpt.is_empty() {
            text.push_str(": ");
            text.push_str(&excerpt);
        }
        if !answer.body_complete {
            text.push_str(" (cut short)");
        }
        text
    }

    fn receive(&self, response: Response<Body>, round_trip: Duration) -> Answer {
        let received_at = self.clock.now();
        let (parts, body) = response.into_parts();
        let (body, body_complete) = match read_body(body, ANSWER_SIZE_MAX) {
            Ok(body) => (body, true),
            Err(CutBody { beginning, .. }) => (beginning, false),
        };
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
            body_complete,
            received_at,
            round_trip,
        }
    }

    fn failure(&self, url: &Url, error: &ureq::Error) -> Reply {
        let host = url.host_str().unwrap_or_default();
        let timeout = duration_text(self.timeout);
        let is_timeout = matches!(error, ureq::Error::Timeout(_));
        // Such as a token with a line break in it, which can't stand in a header.
        let is_malformed = matches!(error, ureq::Error::Http(_) | ureq::Error::BadUri(_));
        // Without ureq's prefix: the system's words say enough.
        let cause = if let ureq::Error::Io(cause) = error {
            cause.to_string()
        } else {
            error.to_string()
        };
        let cause = self.scrubber.line(&cause);
        match self.progress.phase() {
            Phase::TooLate => too_late(),
            Phase::NotConnected if is_malformed => Reply::NotSent {
                reason: format!("no request to {host} could be made: {cause}"),
            },
            Phase::NotConnected if is_timeout => Reply::NotSent {
                reason: format!("no connection to {host} within {timeout}"),
            },
            Phase::NotConnected => Reply::NotSent {
                reason: format!("no connection to {host}: {cause}"),
            },
            Phase::Connected => Reply::NotSent {
                reason: format!("nothing was sent to {host}: {cause}"),
            },
            Phase::Sending if is_timeout => Reply::Lost {
                reason: format!("no answer from {host} within {timeout}"),
            },
            Phase::Sending => Reply::Lost {
                reason: format!("the answer of {host} was lost: {cause}"),
            },
        }
    }
}

/// One request. It has no `Debug`: its headers carry secrets.
pub(crate) struct Request {
    method: Method,
    url: Url,
    headers: Vec<(HeaderName, String)>,
    body: Option<Vec<u8>>,
    fence: Option<Fence>,
}

impl Request {
    /// Reads, past any cache that heeds the wish.
    pub(crate) fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: vec![
                (ACCEPT, "application/json".to_owned()),
                (CACHE_CONTROL, "no-cache".to_owned()),
            ],
            body: None,
            fence: None,
        }
    }

    /// Posts JSON that changes nothing that anybody sees, such as a login.
    pub(crate) fn post(url: Url, body: &Value) -> Self {
        Self {
            method: Method::POST,
            headers: vec![
                (ACCEPT, "application/json".to_owned()),
                (CONTENT_TYPE, "application/json; charset=utf-8".to_owned()),
            ],
            body: Some(serde_json::to_vec(body).expect("a JSON value can be written")),
            ..Self::get(url)
        }
    }

    /// Posts JSON that has an effect: not past the fence.
    pub(crate) fn write(url: Url, body: &Value, fence: Fence) -> Self {
        Self {
            fence: Some(fence),
            ..Self::post(url, body)
        }
    }

    /// Sends a body of any type, or none, by any method. It has an effect if it has a fence.
    pub(crate) fn any(
        method: Method,
        url: Url,
        body: Option<(String, Vec<u8>)>,
        fence: Option<Fence>,
    ) -> Self {
        let mut request = Self {
            method,
            fence,
            ..Self::get(url)
        };
        if let Some((media_type, bytes)) = body {
            request.headers.push((CONTENT_TYPE, media_type));
            request.body = Some(bytes);
        }
        request
    }

    /// Posts bytes that are nobody's to see before something names them: not past the fence either.
    pub(crate) fn write_bytes(url: Url, bytes: Vec<u8>, fence: Fence) -> Self {
        Self {
            method: Method::POST,
            body: Some(bytes),
            fence: Some(fence),
            ..Self::get(url)
        }
    }

    /// Sets the method.
    #[must_use]
    pub(crate) fn by(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// Sets a header, in place of one that is set by default.
    #[must_use]
    pub(crate) fn header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.into()));
        self
    }
}

/// Reads sources that are given as URLs.
#[derive(Debug)]
pub struct HttpFetch {
    agent: Agent,
    clock: Arc<dyn Clock>,
    timeout: Duration,
    size_max: u64,
}

impl HttpFetch {
    /// Makes a reader.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            agent: agent(
                Wire::network(),
                Proxy::try_from_env(),
                &SharedProgress::default(),
                &clock,
            ),
            clock,
            timeout: SOURCE_TIMEOUT,
            size_max: SOURCE_SIZE_MAX,
        }
    }

    /// Makes a reader of pictures, whose addresses anybody may have written into a page: it is quick, and connects to
    /// public addresses only, never by way of a proxy.
    pub fn of_pictures(clock: Arc<dyn Clock>) -> Self {
        let wire = Wire {
            connector: DefaultConnector::default(),
            resolver: PublicResolver::default(),
        };
        Self {
            agent: agent(wire, None, &SharedProgress::default(), &clock),
            clock,
            timeout: PICTURE_TIMEOUT,
            size_max: PICTURE_SIZE_MAX,
        }
    }

    /// Returns what `url` shows, following redirects; a sentence says why not.
    ///
    /// Plain `http` is for this machine only, and nothing on the net may redirect to it.
    pub fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        let mut url = Url::parse(url).map_err(|error| format!("`{url}` is not a URL: {error}"))?;
        let deadline = self.clock.elapsed() + self.timeout;
        for _redirect in 0..=SOURCE_REDIRECTS_MAX {
            check_scheme(&url)?;
            let time_left = deadline.saturating_sub(self.clock.elapsed());
            if time_left.is_zero() {
                break;
            }
            let request = Request::get(url.clone()).header(ACCEPT, "*/*");
            let response = exchange(&self.agent, &request, self.clock.real(time_left))
                .map_err(|error| format!("{url}: {error}"))?;
            let status = response.status();
            if status.as_u16() == 200 {
                return read_body(response.into_body(), self.size_max)
                    .map_err(|cut| format!("{url}: {}", cut.cause));
            }
            let next = response
                .headers()
                .get("Location")
                .filter(|_| status.is_redirection())
                .and_then(|location| location.to_str().ok())
                .and_then(|location| url.join(location).ok());
            match next {
                Some(next) if is_loopback(&next) && !is_loopback(&url) => {
                    return Err(format!("{url} redirects to this machine"));
                }
                Some(next) => url = next,
                None => return Err(format!("{url}: HTTP {}", status.as_u16())),
            }
        }
        Err(format!("{url}: too many redirects, or too slow"))
    }
}

/// Tells whether a URL's host is this machine: `localhost`, a name below it, or a loopback address.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn too_late() -> Reply {
    Reply::NotSent {
        reason: "the send window was over before the request could start".to_owned(),
    }
}

fn check_scheme(url: &Url) -> Result<(), String> {
    if url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url)) {
        return Ok(());
    }
    // What stands behind the path may be a key.
    let mut shown = url.clone();
    shown.set_query(None);
    Err(format!(
        "{shown}: only https is used, except for this machine's own addresses"
    ))
}

fn agent<C, R>(
    wire: Wire<C, R>,
    proxy: Option<Proxy>,
    progress: &SharedProgress,
    clock: &Arc<dyn Clock>,
) -> Agent
where
    C: Connector<Out = Box<dyn Transport>>,
    R: Resolver,
{
    let config = Agent::config_builder()
        .user_agent(USER_AGENT)
        .accept_encoding("gzip")
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_response_header_size(HEADERS_SIZE_MAX)
        // A connection that was used before may break under a request for reasons of the one before it.
        .max_idle_connections(0)
        .max_idle_connections_per_host(0)
        .no_delay(true)
        .proxy(proxy)
        .build();
    let connector = PhaseConnector::new(wire.connector, progress.clone(), Arc::clone(clock));
    Agent::with_parts(config, connector, wire.resolver)
}

fn exchange(
    agent: &Agent,
    request: &Request,
    time_left: Duration,
) -> Result<Response<Body>, ureq::Error> {
    let mut wire = WireRequest::builder()
        .method(request.method.clone())
        .uri(request.url.as_str());
    for (name, value) in &request.headers {
        wire = wire.header(name, value);
    }
    match &request.body {
        None => agent.run(timed(agent, wire.body(())?, &request.url, time_left)),
        Some(body) => agent.run(timed(agent, wire.body(body)?, &request.url, time_left)),
    }
}

/// Every phase may take what is left, and so may all of them together.
fn timed<B: AsSendBody>(
    agent: &Agent,
    request: WireRequest<B>,
    url: &Url,
    time_left: Duration,
) -> WireRequest<B> {
    let limit = Some(time_left);
    let config = agent
        .configure_request(request)
        .https_only(!is_loopback(url))
        .timeout_global(limit)
        .timeout_per_call(limit)
        .timeout_resolve(limit)
        .timeout_connect(limit)
        .timeout_send_request(limit)
        .timeout_await_100(limit)
        .timeout_send_body(limit)
        .timeout_recv_response(limit)
        .timeout_recv_body(limit)
        .timeout_per_read(limit)
        .timeout_per_write(limit);
    if is_loopback(url) {
        config.proxy(None).build()
    } else {
        config.build()
    }
}

/// A body of which only the beginning came.
struct CutBody {
    beginning: Vec<u8>,
    cause: std::io::Error,
}

fn read_body(body: Body, size_max: u64) -> Result<Vec<u8>, CutBody> {
    let mut reader = body.into_with_config().limit(size_max).reader();
    let mut bytes = Vec::new();
    // What was read before a failure stays in `bytes`.
    match reader.read_to_end(&mut bytes) {
        Ok(_size) => Ok(bytes),
        Err(cause) => Err(CutBody {
            beginning: bytes,
            cause,
        }),
    }
}
