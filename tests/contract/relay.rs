//! A relay between the program and a server: it passes everything on, and can lose the answer to a write or change a
//! word in one.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A program that is about to be killed has this long to get its request through.
const WAIT_MAX: Duration = Duration::from_mins(2);

/// What is done with the next request that contains some words.
#[derive(Clone, Debug)]
pub(super) enum Order {
    /// The server answers, and nobody hears it: the connection stays open and silent.
    Swallow,
    /// The server answers, and the connection is closed.
    Lose,
    /// The server hears nothing of it, and the connection is closed.
    Drop,
    /// The answer has another status.
    Status(&'static str),
    /// The access token in the answer is exchanged for another of the same length.
    Token(String),
}

type Orders = Arc<Mutex<Vec<(&'static str, Order)>>>;

/// The relay.
#[derive(Debug)]
pub(super) struct Relay {
    port: u16,
    orders: Orders,
    /// Each request's first line, as it came.
    seen: Arc<Mutex<Vec<String>>>,
    /// Says when an order was carried out.
    done: Receiver<()>,
}

impl Relay {
    /// Listens before the server at `url`.
    pub(super) fn before(url: &str) -> Self {
        Self::without_prefix(url, "")
    }

    /// Listens before the server at `url`, which does not know the beginning of its paths.
    pub(super) fn without_prefix(url: &str, prefix: &'static str) -> Self {
        let target = url.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (sender, done) = channel();
        let relay = Self {
            port: listener.local_addr().unwrap().port(),
            orders: Orders::default(),
            seen: Arc::default(),
            done,
        };
        let (orders, seen) = (Arc::clone(&relay.orders), Arc::clone(&relay.seen));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(&target).unwrap();
                let (orders, seen, sender) =
                    (Arc::clone(&orders), Arc::clone(&seen), sender.clone());
                std::thread::spawn(move || {
                    relay_one(client, server, prefix, &orders, &seen, &sender);
                });
            }
        });
        relay
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What to do with the next request that contains `words`.
    pub(super) fn order(&self, words: &'static str, order: Order) {
        self.orders.lock().unwrap().push((words, order));
    }

    /// Waits until the server has answered a request with an order.
    pub(super) fn until_done(&self) {
        self.done
            .recv_timeout(WAIT_MAX)
            .expect("the order's request");
    }

    /// How many requests contained `words` in their first line.
    pub(super) fn count(&self, words: &str) -> usize {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|line| line.contains(words)).count()
    }
}

/// Passes one request on, and its answer back.
fn relay_one(
    mut client: TcpStream,
    mut server: TcpStream,
    prefix: &str,
    orders: &Mutex<Vec<(&'static str, Order)>>,
    seen: &Mutex<Vec<String>>,
    done: &Sender<()>,
) {
    let Some(request) = read_message(&mut client) else {
        return;
    };
    let text = String::from_utf8_lossy(&request).into_owned();
    let first_line = text.lines().next().unwrap_or_default();
    seen.lock().unwrap().push(first_line.to_owned());
    let order = {
        let mut orders = orders.lock().unwrap();
        let place = orders.iter().position(|(words, _)| text.contains(words));
        place.map(|place| orders.remove(place).1)
    };
    if matches!(order, Some(Order::Drop)) {
        done.send(()).unwrap();
        drop(client.shutdown(Shutdown::Both));
        return;
    }
    let request = without_prefix(request, prefix);
    server.write_all(&request).unwrap();
    let Some(mut answer) = read_message(&mut server) else {
        return;
    };
    match &order {
        None | Some(Order::Drop) => {}
        Some(Order::Swallow) => {
            done.send(()).unwrap();
            // Until the client is gone.
            drop(client.read(&mut [0]));
            return;
        }
        Some(Order::Lose) => {
            done.send(()).unwrap();
            drop(client.shutdown(Shutdown::Both));
            return;
        }
        Some(Order::Status(status)) => {
            answer = with_status(&answer, status);
            done.send(()).unwrap();
        }
        Some(Order::Token(token)) => {
            answer = with_token(&String::from_utf8(answer).unwrap(), token).into_bytes();
            done.send(()).unwrap();
        }
    }
    // A client that was killed does not read it.
    drop(client.write_all(&answer));
}

/// A request whose path begins later.
fn without_prefix(request: Vec<u8>, prefix: &str) -> Vec<u8> {
    if prefix.is_empty() {
        return request;
    }
    let text = String::from_utf8(request).unwrap();
    let shorter = text.replacen(&format!(" {prefix}/"), " /", 1);
    assert_ne!(shorter, text, "every path begins with {prefix}");
    shorter.into_bytes()
}

/// An answer with another status.
fn with_status(answer: &[u8], status: &str) -> Vec<u8> {
    let end = answer.iter().position(|byte| *byte == b'\r').unwrap();
    [format!("HTTP/1.1 {status}").as_bytes(), &answer[end..]].concat()
}

/// The answer to a login, with another token.
fn with_token(answer: &str, token: &str) -> String {
    let (before, rest) = answer.split_once("\"accessJwt\":\"").unwrap();
    let (old, after) = rest.split_once('"').unwrap();
    assert_eq!(old.len(), token.len(), "the length stands in the head");
    format!("{before}\"accessJwt\":\"{token}\"{after}")
}

/// Reads one message to its end, as its head tells it; none if the other side leaves before.
fn read_message(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 8192];
    loop {
        let size = stream.read(&mut chunk).ok()?;
        bytes.extend_from_slice(chunk.get(..size)?);
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some(end) = text.find("\r\n\r\n") {
            let head = text.get(..end).unwrap_or_default();
            let field = |name: &str| {
                head.lines()
                    .filter_map(|line| line.split_once(':'))
                    .find(|(field, _)| *field == name)
                    .map(|(_, value)| value.trim().to_owned())
            };
            let complete = match field("content-length") {
                Some(length) => bytes.len() >= end + 4 + length.parse::<usize>().ok()?,
                None if field("transfer-encoding").is_some() => bytes.ends_with(b"0\r\n\r\n"),
                None => true,
            };
            if complete {
                return Some(bytes);
            }
        }
        if size == 0 {
            return None;
        }
    }
}
