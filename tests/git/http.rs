//! git over smart HTTP with basic authentication, on loopback, with faults on order.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// What goes wrong with the next push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpFault {
    /// The server answers 503 and does nothing.
    Unavailable,
    /// The server does it and closes the connection without an answer.
    DropAnswer,
}

/// The password of the one account; `actions/checkout` sends it as `x-access-token`.
const AUTHORIZATION: &str = "basic eC1hY2Nlc3MtdG9rZW46c2VjcmV0";

pub(crate) struct GitServer {
    port: u16,
    faults: Arc<Mutex<Vec<HttpFault>>>,
}

impl GitServer {
    /// Serves the bare repositories below `root`, for as long as the test's process lives.
    pub(crate) fn start(root: &Path, path_variable: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        let port = listener
            .local_addr()
            .expect("a bound listener has an address")
            .port();
        let faults = Arc::new(Mutex::new(Vec::new()));
        let handler = Handler {
            root: root.to_owned(),
            path_variable: path_variable.to_owned(),
            faults: faults.clone(),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let handler = handler.clone();
                std::thread::spawn(move || drop(handler.serve(&stream)));
            }
        });
        Self { port, faults }
    }

    pub(crate) fn url(&self, repository: &str) -> String {
        format!("http://127.0.0.1:{}/{repository}", self.port)
    }

    /// The setting that `actions/checkout` leaves in the repository.
    pub(crate) fn credential(&self) -> [String; 2] {
        [
            format!("http.http://127.0.0.1:{}/.extraheader", self.port),
            format!("AUTHORIZATION: {AUTHORIZATION}"),
        ]
    }

    pub(crate) fn fail_next_push(&self, fault: HttpFault) {
        self.faults
            .lock()
            .expect("no handler panics with the lock")
            .push(fault);
    }
}

#[derive(Clone)]
struct Handler {
    root: PathBuf,
    path_variable: String,
    faults: Arc<Mutex<Vec<HttpFault>>>,
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    fn header(&self, name: &str) -> &str {
        self.headers
            .iter()
            .find(|(header, _)| header == name)
            .map_or("", |(_, value)| value)
    }
}

impl Handler {
    fn serve(&self, stream: &TcpStream) -> std::io::Result<()> {
        let request = read_request(stream)?;
        if request.header("authorization").to_lowercase() != AUTHORIZATION.to_lowercase() {
            return answer(
                stream,
                "401 Unauthorized",
                "WWW-Authenticate: Basic realm=\"git\"\r\n",
                b"",
            );
        }
        let is_push = request.method == "POST" && request.path.ends_with("/git-receive-pack");
        let fault = if is_push {
            let mut faults = self.faults.lock().expect("no handler panics with the lock");
            faults.pop()
        } else {
            None
        };
        if fault == Some(HttpFault::Unavailable) {
            return answer(stream, "503 Service Unavailable", "", b"");
        }
        let output = self.backend(&request)?;
        if fault == Some(HttpFault::DropAnswer) {
            return Ok(());
        }
        let split = output
            .windows(4)
            .position(|bytes| bytes == b"\r\n\r\n")
            .unwrap_or(output.len().saturating_sub(4));
        let (head, body) = output.split_at(split + 4);
        let head = String::from_utf8_lossy(head);
        let mut status = "200 OK".to_owned();
        let mut headers = String::new();
        for line in head.lines().filter(|line| !line.is_empty()) {
            if let Some(other) = line.strip_prefix("Status: ") {
                other.clone_into(&mut status);
            } else {
                headers.push_str(line);
                headers.push_str("\r\n");
            }
        }
        answer(stream, &status, &headers, body)
    }

    #[expect(clippy::disallowed_methods, reason = "the server's own git")]
    fn backend(&self, request: &Request) -> std::io::Result<Vec<u8>> {
        let mut child = Command::new("git")
            .arg("http-backend")
            .env_clear()
            .env("PATH", &self.path_variable)
            .env("HOME", "/nonexistent")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("REMOTE_USER", "ci")
            .env("REMOTE_ADDR", "127.0.0.1")
            .env("REQUEST_METHOD", &request.method)
            .env("PATH_INFO", &request.path)
            .env("QUERY_STRING", &request.query)
            .env("CONTENT_TYPE", request.header("content-type"))
            .env("CONTENT_LENGTH", request.body.len().to_string())
            .env("HTTP_CONTENT_ENCODING", request.header("content-encoding"))
            .env("GIT_PROTOCOL", request.header("git-protocol"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut stdin = child.stdin.take().expect("it was piped");
        let body = request.body.clone();
        let writer = std::thread::spawn(move || stdin.write_all(&body));
        let output = child.wait_with_output()?;
        drop(writer.join());
        Ok(output.stdout)
    }
}

fn read_request(stream: &TcpStream) -> std::io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request {
        method,
        path,
        query,
        headers,
        body: Vec::new(),
    };
    if request.header("transfer-encoding") == "chunked" {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
            let mut chunk = vec![0; length + 2];
            reader.read_exact(&mut chunk)?;
            chunk.truncate(length);
            if chunk.is_empty() {
                break;
            }
            request.body.extend(chunk);
        }
    } else {
        let length = request.header("content-length").parse().unwrap_or(0);
        request.body.resize(length, 0);
        reader.read_exact(&mut request.body)?;
    }
    Ok(request)
}

fn answer(mut stream: &TcpStream, status: &str, headers: &str, body: &[u8]) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}
