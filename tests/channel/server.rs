//! A scripted server on loopback: one connection, one act, in order. After the last act it refuses.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use url::Url;

/// What the server does with one connection.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Reads the request, writes these bytes and closes.
    Answer(Vec<u8>),
    /// Reads the request and closes without a word.
    HangUp,
    /// Closes without reading anything.
    CloseAtOnce,
    /// Lets the request arrive, reads none of it and closes: the client sees a reset.
    Reset,
    /// Writes these bytes when the request begins to arrive, reads none of it and closes.
    Early(Vec<u8>),
    /// Reads the request and says nothing until the client leaves.
    Silence,
    /// Takes no request and says nothing until the client leaves.
    Deaf,
}

/// Returns an act that answers with a status, headers and a body.
pub(crate) fn answer(status: u16, headers: &str, body: &str) -> Act {
    Act::Answer(raw_answer(status, headers, body, body.len()).into_bytes())
}

/// Returns an act that answers with JSON.
pub(crate) fn json(status: u16, body: &str) -> Act {
    answer(status, "Content-Type: application/json\r\n", body)
}

/// Returns an act whose answer breaks off in the body.
pub(crate) fn cut(status: u16, body: &str) -> Act {
    Act::Answer(raw_answer(status, "", body, body.len() + 10).into_bytes())
}

fn raw_answer(status: u16, headers: &str, body: &str, length: usize) -> String {
    format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
}

/// The server, and what it was asked.
pub(crate) struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn start(acts: impl IntoIterator<Item = Act>) -> Self {
        Self::start_knowing_itself(|_url| acts)
    }

    /// Starts a server whose answers name its own address.
    pub(crate) fn start_knowing_itself<I: IntoIterator<Item = Act>>(
        acts: impl FnOnce(&Url) -> I,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            requests: Arc::default(),
        };
        let acts: Vec<Act> = acts(&server.url()).into_iter().collect();
        let requests = Arc::clone(&server.requests);
        std::thread::spawn(move || {
            for act in acts {
                let (stream, _) = listener.accept().unwrap();
                perform(act, stream, &requests);
            }
        });
        server
    }

    pub(crate) fn url(&self) -> Url {
        Url::parse(&format!("http://127.0.0.1:{}/", self.port)).unwrap()
    }

    /// Returns the requests so far: start line, headers and body, without what differs from run to run.
    pub(crate) fn requests(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests
            .iter()
            .map(|request| self.without_port(request))
            .collect()
    }

    pub(crate) fn without_port(&self, text: &str) -> String {
        text.replace(&format!("127.0.0.1:{}", self.port), "server")
            .replace(
                concat!("sayonce/", env!("CARGO_PKG_VERSION")),
                "sayonce/VERSION",
            )
    }
}

fn perform(act: Act, mut stream: TcpStream, requests: &Mutex<Vec<String>>) {
    let wait_for_leaving = |mut stream: TcpStream| {
        let mut rest = Vec::new();
        // A client that gives up may close with or without a reset.
        drop(stream.read_to_end(&mut rest));
    };
    match act {
        Act::Answer(bytes) => {
            read_request(&mut stream, requests);
            stream.write_all(&bytes).unwrap();
        }
        Act::HangUp => read_request(&mut stream, requests),
        Act::CloseAtOnce => {}
        Act::Reset => {
            stream.peek(&mut [0]).unwrap();
        }
        Act::Early(bytes) => {
            stream.peek(&mut [0]).unwrap();
            stream.write_all(&bytes).unwrap();
        }
        Act::Silence => {
            read_request(&mut stream, requests);
            wait_for_leaving(stream);
        }
        Act::Deaf => wait_for_leaving(stream),
    }
}

fn read_request(stream: &mut TcpStream, requests: &Mutex<Vec<String>>) {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let size = stream.read(&mut chunk).unwrap();
        bytes.extend_from_slice(&chunk[..size]);
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut request = httparse::Request::new(&mut headers);
        let httparse::Status::Complete(head) = request.parse(&bytes).unwrap() else {
            // The client left before the request was complete.
            if size == 0 {
                return;
            }
            continue;
        };
        let length = request
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case("content-length"))
            .map_or(0, |header| {
                std::str::from_utf8(header.value).unwrap().parse().unwrap()
            });
        if bytes.len() < head + length && size > 0 {
            continue;
        }
        requests
            .lock()
            .unwrap()
            .push(String::from_utf8_lossy(&bytes).replace("\r\n", "\n"));
        return;
    }
}
