//! A Bluesky account whose server is not configured: who is asked for it, and who gets the password.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use sayonce::channel::Channel;
use sayonce::channel::http::Wire;
use sayonce::channel::registry::build_over;
use sayonce::config::ServiceConfig;
use sayonce::environment::Environment;
use serde_json::{Value, json};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use url::Url;

use super::server::{Act, Server, answer, json as json_answer};
use super::{SECRET, TestClock, channel_config, claim, pushed, site, tell, tell_opening};

const DID: &str = "did:plc:sr5mvwooquzbasmceq2ksxfe";
const KEY: &str = "3mabcdefghj2z";

/// Finds hosts in a list: the tests ask no name server.
#[derive(Debug)]
struct Book(Vec<(String, SocketAddr)>);

impl Resolver for Book {
    fn resolve(
        &self,
        uri: &Uri,
        _config: &Config,
        _timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().unwrap_or_default();
        let listed = self.0.iter().find(|(name, _)| name == host);
        let literal = || {
            let address: IpAddr = host.parse().ok()?;
            Some(SocketAddr::new(address, uri.port_u16()?))
        };
        let address = listed.map(|(_, address)| *address).or_else(literal);
        let mut found = self.empty();
        found.push(address.ok_or(ureq::Error::HostNotFound)?);
        Ok(found)
    }
}

/// What the configuration says, and which hosts there are.
struct World {
    handle: &'static str,
    service: Option<Url>,
    resolver: Url,
    plc_directory: Url,
    hosts: Vec<(String, SocketAddr)>,
}

impl World {
    fn of(resolver: &Server, plc_directory: &Server) -> Self {
        Self {
            handle: "blog.example",
            service: None,
            resolver: resolver.url(),
            plc_directory: plc_directory.url(),
            hosts: Vec::new(),
        }
    }

    fn host(mut self, name: &str, port: u16) -> Self {
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
        self.hosts.push((name.to_owned(), address));
        self
    }

    fn channel(self, clock: std::sync::Arc<TestClock>) -> Box<dyn Channel> {
        let service = ServiceConfig::Bluesky {
            handle: self.handle.to_owned(),
            service: self.service,
            resolver: self.resolver,
            plc_directory: self.plc_directory,
            app_password_env: "SECRET".to_owned(),
            labels: Vec::new(),
        };
        let wire = Wire {
            connector: DefaultConnector::default(),
            resolver: Book(self.hosts),
        };
        let environment = Environment::of([("SECRET", SECRET)]);
        build_over(wire, &channel_config(service), &site(), &environment, clock).unwrap()
    }

    fn open(self) -> String {
        tell_opening(&self.channel(TestClock::still()).open())
    }
}

fn port_of(server: &Server) -> u16 {
    server.url().port().unwrap()
}

fn resolved(did: &str) -> Act {
    json_answer(200, &json!({ "did": did }).to_string())
}

fn error(status: u16, name: &str) -> Act {
    json_answer(
        status,
        &json!({ "error": name, "message": "m" }).to_string(),
    )
}

fn document_of(did: &str, handle: &str, server: &str) -> Act {
    let document = json!({
        "id": did,
        "alsoKnownAs": [format!("at://{handle}")],
        "service": [{ "id": "#atproto_pds", "type": "AtprotoPersonalDataServer", "serviceEndpoint": server }],
    });
    json_answer(200, &document.to_string())
}

fn document(server: &str) -> Act {
    document_of(DID, "blog.example", server)
}

fn session(did: &str) -> Act {
    let session = json!({ "accessJwt": "token-1", "did": did, "handle": "blog.example" });
    json_answer(200, &session.to_string())
}

fn written() -> Act {
    let uri = format!("at://{DID}/app.bsky.feed.post/{KEY}");
    json_answer(200, &json!({ "uri": uri, "cid": "bafyrei" }).to_string())
}

fn post() -> Value {
    json!({ "text": "hello", "rkey": KEY, "record": { "text": "hello" } })
}

/// The first line of each request, and whether the password was in it.
fn asked(server: &Server) -> Vec<String> {
    let requests = server.requests();
    let lines = requests.iter().map(|request| {
        let line = request.lines().next().unwrap_or_default();
        let line = line.trim_end_matches(" HTTP/1.1");
        if request.contains(SECRET) {
            format!("{line} with the password")
        } else {
            line.to_owned()
        }
    });
    lines.collect()
}

fn ready() -> String {
    format!("ready as {DID}, limit None, skew None")
}

#[test]
fn an_account_is_found_by_its_handle_and_only_its_server_gets_the_password() {
    let pds = Server::start([session(DID), written(), session(DID)]);
    let resolver = Server::start([resolved(DID)]);
    let directory = Server::start([document(pds.url().as_str())]);
    let clock = TestClock::still();
    let mut channel = World::of(&resolver, &directory).channel(clock.clone());
    assert_eq!(channel.found_on(), None);
    assert_eq!(tell_opening(&channel.open()), ready());
    let told = tell(&channel.publish(&[pushed(claim(DID, &post()))]));
    assert!(told.starts_with("accepted by response: "), "{told}");
    // It is looked for once, however often it is logged in.
    clock.advance(Duration::from_hours(1));
    assert_eq!(tell_opening(&channel.open()), ready());
    assert_eq!(
        asked(&resolver),
        ["GET /xrpc/com.atproto.identity.resolveHandle?handle=blog.example"]
    );
    assert_eq!(asked(&directory), [format!("GET /{DID}")]);
    let login = "POST /xrpc/com.atproto.server.createSession with the password";
    assert_eq!(
        asked(&pds),
        [login, "POST /xrpc/com.atproto.repo.putRecord", login]
    );
    let url = pds.url();
    assert_eq!(
        channel.found_on().as_deref(),
        Some(url.as_str().trim_end_matches('/'))
    );
}

#[test]
fn a_did_needs_no_resolver_and_may_have_its_document_on_a_site() {
    let pds = Server::start([session(DID)]);
    let resolver = Server::start([]);
    let directory = Server::start([document_of(DID, "any.example", pds.url().as_str())]);
    let mut world = World::of(&resolver, &directory);
    world.handle = DID;
    assert_eq!(world.open(), ready());

    let did = "did:web:localhost";
    let pds = Server::start([session(did)]);
    let own_site = Server::start([document_of(did, "any.example", pds.url().as_str())]);
    let directory = Server::start([]);
    let mut world = World::of(&resolver, &directory).host("localhost", port_of(&own_site));
    world.handle = did;
    assert_eq!(world.open(), ready().replace(DID, did));
    assert_eq!(asked(&own_site), ["GET /.well-known/did.json"]);
    assert_eq!(resolver.requests(), Vec::<String>::new());
    assert_eq!(directory.requests(), Vec::<String>::new());
}

#[test]
fn the_file_on_the_accounts_site_counts_where_the_resolver_has_no_answer() {
    let check = |resolver_says: Act, file: Act| {
        let pds = Server::start([session(DID)]);
        let resolver = Server::start([resolver_says]);
        let directory = Server::start([document_of(DID, "blog.localhost", pds.url().as_str())]);
        let own_site = Server::start([file]);
        let mut world = World::of(&resolver, &directory).host("blog.localhost", port_of(&own_site));
        world.handle = "blog.localhost";
        let told = world.open();
        assert_eq!(asked(&own_site), ["GET /.well-known/atproto-did"]);
        resolver.without_port(&told)
    };
    let file = || answer(200, "Content-Type: text/plain\r\n", &format!("{DID}\n"));
    let unknown = || error(400, "InvalidRequest");
    assert_eq!(check(unknown(), file()), ready());
    assert_eq!(check(error(502, "UpstreamFailure"), file()), ready());
    assert_eq!(check(Act::HangUp, file()), ready());
    assert_eq!(check(resolved("<b>"), file()), ready());

    let page = || answer(200, "Content-Type: text/html\r\n", "<!doctype html>");
    let no_account = "closed, credentials: the handle `blog.localhost` leads to no account: check its spelling, its DNS record `_atproto.blog.localhost`, or http://blog.localhost/.well-known/atproto-did";
    assert_eq!(check(unknown(), page()), no_account);
    assert_eq!(check(unknown(), answer(404, "", DID)), no_account);
    assert_eq!(check(unknown(), Act::HangUp), no_account);
    // The resolver's trouble is no sign that there is no such account.
    assert_eq!(
        check(error(502, "UpstreamFailure"), page()),
        r#"closed, unreachable: HTTP 502: {"error":"UpstreamFailure","message":"m"}"#
    );
    assert_eq!(
        check(error(401, "AuthMissing"), page()),
        r#"closed, unreachable: HTTP 401: {"error":"AuthMissing","message":"m"}"#
    );
    assert_eq!(
        check(answer(429, "Retry-After: 9\r\n", ""), page()),
        "closed, rate limited (wait 9000 ms): HTTP 429"
    );
    assert_eq!(
        check(answer(400, "", "<html>"), page()),
        "closed, unreachable: HTTP 400: <html>"
    );
    assert_eq!(
        check(resolved("<b>"), page()),
        r#"closed, unreachable: HTTP 200: {"did":"<b>"}"#
    );
    let hung_up = check(Act::HangUp, page());
    assert!(
        hung_up.starts_with("closed, unreachable: the answer of 127.0.0.1 was lost: "),
        "{hung_up}"
    );
}

#[test]
fn without_a_document_that_names_a_server_nobody_gets_the_password() {
    let check = |says: Act| {
        let resolver = Server::start([resolved(DID)]);
        let directory = Server::start([says]);
        let told = World::of(&resolver, &directory).open();
        directory.without_port(&told)
    };
    assert_eq!(
        check(error(404, "NotFound")),
        format!("closed, credentials: {DID} is no account: http://server/{DID} answers HTTP 404")
    );
    assert_eq!(
        check(answer(410, "", "")),
        format!("closed, credentials: {DID} is no account: http://server/{DID} answers HTTP 410")
    );
    assert_eq!(
        check(answer(500, "", "down")),
        "closed, unreachable: HTTP 500: down"
    );
    assert_eq!(
        check(answer(200, "", "<html>")),
        "closed, unreachable: HTTP 200: <html>"
    );
    assert_eq!(
        check(answer(429, "Retry-After: 9\r\n", "")),
        "closed, rate limited (wait 9000 ms): HTTP 429"
    );
    assert_eq!(
        check(document_of(DID, "other.example", "https://pds.example")),
        format!(
            "closed, credentials: the handle `blog.example` leads to {DID}, but that account does not have this handle: set it there as the account's handle, or write the DID as `handle`"
        )
    );
    assert_eq!(
        check(document("http://pds.example")),
        format!(
            "closed, credentials: the document of {DID} names the server `http://pds.example`, which is not https; `service` may name the right one"
        )
    );
    let resolver = Server::start([resolved("did:key:z6Mk")]);
    let directory = Server::start([]);
    assert_eq!(
        World::of(&resolver, &directory).open(),
        "closed, credentials: did:key:z6Mk is a DID of a method that accounts don't have"
    );
}

/// A name on the net may lead into the user's own network. What the configuration names is the user's own choice.
#[test]
fn what_strangers_name_is_reached_on_the_public_net_only() {
    let not_public =
        "its address, 127.0.0.1, is not public, and the configuration does not name it";
    let resolver = Server::start([resolved(DID)]);
    let directory = Server::start([document("https://pds.example")]);
    let inside = Server::start([Act::CloseAtOnce]);
    let told = World::of(&resolver, &directory)
        .host("pds.example", port_of(&inside))
        .open();
    assert_eq!(
        told,
        format!("closed, unreachable: no connection to pds.example: {not_public}")
    );

    let check = |did: &'static str, host: &str| {
        let resolver = Server::start([resolved(did)]);
        let inside = Server::start([Act::CloseAtOnce]);
        World::of(&resolver, &directory)
            .host(host, port_of(&inside))
            .open()
    };
    assert_eq!(
        check("did:web:other.example", "other.example"),
        format!("closed, unreachable: no connection to other.example: {not_public}")
    );
    // The handle is configured, so its site is the user's own: what fails is its TLS.
    let own = check("did:web:blog.example", "blog.example");
    assert!(
        own.starts_with("closed, unreachable: no connection to blog.example: ")
            && !own.contains(not_public),
        "{own}"
    );
}

#[test]
fn accounts_on_blueskys_own_servers_log_in_at_the_entryway() {
    let resolver = Server::start([resolved(DID)]);
    let directory = Server::start([document("https://morel.us-east.host.bsky.network")]);
    let mut channel = World::of(&resolver, &directory).channel(TestClock::still());
    assert_eq!(
        tell_opening(&channel.open()),
        "closed, unreachable: no connection to bsky.social: host not found"
    );
    assert_eq!(
        channel.found_on().as_deref(),
        Some("https://morel.us-east.host.bsky.network, logged in at https://bsky.social")
    );
}

#[test]
fn a_server_that_logs_us_in_as_somebody_else_is_sent_nothing() {
    let other = "did:plc:zzzzzzzzzzzzzzzzzzzzzzzz";
    let pds = Server::start([session(other), session(other)]);
    let resolver = Server::start([resolved(DID)]);
    let directory = Server::start([document(pds.url().as_str())]);
    let mut channel = World::of(&resolver, &directory).channel(TestClock::still());
    let reason = format!(
        "`blog.example` is {DID}, but http://server/ logs us in as {other}: nothing is sent"
    );
    let told = pds.without_port(&tell_opening(&channel.open()));
    assert_eq!(told, format!("closed, credentials: {reason}"));
    let told = tell(&channel.publish(&[pushed(claim(other, &post()))]));
    assert_eq!(
        pds.without_port(&told),
        format!("refused for our credentials: {reason}")
    );
    let login = "POST /xrpc/com.atproto.server.createSession with the password";
    assert_eq!(asked(&pds), [login, login]);
}

#[test]
fn a_configured_server_that_is_the_wrong_one_is_told_with_the_right_one() {
    let refusal = || error(401, "AuthenticationRequired");
    let said = r#"HTTP 401: {"error":"AuthenticationRequired","message":"m"}"#;
    let check = |resolver_says: Act, server: &str, configured_is_right: bool| {
        let wrong = Server::start([refusal()]);
        let resolver = Server::start([resolver_says]);
        let named = if configured_is_right {
            wrong.url().to_string()
        } else {
            server.to_owned()
        };
        let directory = Server::start([document(&named)]);
        let mut world = World::of(&resolver, &directory);
        world.service = Some(wrong.url());
        let told = world.open();
        let login = "POST /xrpc/com.atproto.server.createSession with the password";
        assert_eq!(asked(&wrong), [login]);
        told
    };
    assert_eq!(
        check(resolved(DID), "https://pds.example", false),
        format!(
            "closed, credentials: {said}; blog.example is at https://pds.example: leave `service` out, or name that"
        )
    );
    let hosted = "https://morel.us-east.host.bsky.network";
    assert_eq!(
        check(resolved(DID), hosted, false),
        format!(
            "closed, credentials: {said}; blog.example is at https://bsky.social: leave `service` out, or name that"
        )
    );
    let plain = format!("closed, credentials: {said}");
    assert_eq!(check(resolved(DID), "", true), plain);
    // What can't be found adds nothing, and changes nothing.
    assert_eq!(check(Act::HangUp, "https://pds.example", false), plain);
    assert_eq!(check(resolved(DID), "http://pds.example", false), plain);
}
