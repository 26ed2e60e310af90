//! HTTP messages as the stand-ins need them: one request and one reply a connection.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::time::Timestamp;

/// Longest head: more than any client sends, and little enough to parse again after each read.
const HEAD_MAX: usize = 64 * 1024;
/// Most header fields in a head.
const FIELDS_MAX: usize = 100;
/// Longest body that is kept: an IndexNow batch of 10,000 URLs fits.
pub(crate) const BODY_MAX: usize = 2 * 1024 * 1024;
/// Longest line of a chunk's size or of a trailer.
const LINE_MAX: usize = 8 * 1024;

/// A request, read whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Request {
    /// The method as sent.
    pub(crate) method: String,
    /// The path, as sent.
    pub(crate) path: String,
    /// What stands after the `?`, as sent.
    pub(crate) query: String,
    /// Names in lower case, values trimmed.
    pub(crate) headers: Vec<(String, String)>,
    /// The body without its framing.
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// Returns the first field of this name (in lower case).
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(field, _)| field == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns the token of an `Authorization: Bearer` field.
    pub(crate) fn bearer(&self) -> Option<&str> {
        let (scheme, token) = self.header("authorization")?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    }

    /// Returns a parameter of the query, decoded.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        url::form_urlencoded::parse(self.query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }

    /// Returns the path cut at its slashes, each segment decoded.
    pub(crate) fn segments(&self) -> Vec<String> {
        self.path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
            .collect()
    }

    /// Returns the media type of the body, in lower case and without parameters.
    pub(crate) fn media_type(&self) -> String {
        self.header("content-type")
            .and_then(|value| value.split(';').next())
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase()
    }

    /// Reads the body as JSON.
    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

/// Why no request could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// The client went away or fell silent: there is nobody to answer.
    Gone,
    /// It is not HTTP as we speak it.
    Malformed,
    /// The head is too long.
    HeadTooLong,
    /// The body is too long.
    BodyTooLong,
}

/// A reply, without the fields that the server adds itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The status code.
    pub(crate) status: u16,
    /// Further fields.
    pub(crate) headers: Vec<(Cow<'static, str>, String)>,
    /// The body.
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// Makes a JSON reply.
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![(
                Cow::Borrowed("Content-Type"),
                "application/json; charset=utf-8".to_owned(),
            )],
            body: body.to_string().into_bytes(),
        }
    }

    /// Makes a reply that is not JSON; an empty body has no type.
    pub(crate) fn text(status: u16, media_type: &str, body: &str) -> Self {
        let headers = match body {
            "" => Vec::new(),
            _ => vec![(Cow::Borrowed("Content-Type"), media_type.to_owned())],
        };
        Self {
            status,
            headers,
            body: body.as_bytes().to_vec(),
        }
    }

    /// Adds a field.
    #[must_use]
    pub(crate) fn with(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<String>,
    ) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Writes the reply whole; `now` is what the service believes the time to be.
    pub(crate) fn write(
        &self,
        stream: &mut impl Write,
        method: &str,
        now: Timestamp,
    ) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(self.body.len() + 512);
        write!(
            bytes,
            "HTTP/1.1 {} {}\r\n",
            self.status,
            reason(self.status)
        )?;
        write!(
            bytes,
            "Date: {}\r\n",
            now.to_chrono().format("%a, %d %b %Y %H:%M:%S GMT")
        )?;
        for (name, value) in &self.headers {
            write!(bytes, "{name}: {}\r\n", one_line(value))?;
        }
        write!(
            bytes,
            "Content-Length: {}\r\nConnection: close\r\n\r\n",
            self.body.len()
        )?;
        if method != "HEAD" {
            bytes.extend_from_slice(&self.body);
        }
        stream.write_all(&bytes)?;
        stream.flush()
    }
}

/// A field's value must not start a new field, whatever a client put into it.
fn one_line(value: &str) -> String {
    value.replace(['\r', '\n'], " ")
}

const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        413 => "Content Too Large",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Other",
    }
}

/// Reads one request.
pub(crate) fn read_request(stream: &mut (impl Read + Write)) -> Result<Request, Unreadable> {
    let mut incoming = Incoming {
        stream,
        buffer: Vec::new(),
    };
    let mut request = incoming.head()?;
    let framing = Framing::of(&request)?;
    if let Framing::Length(length) = framing
        && length > BODY_MAX
    {
        return Err(Unreadable::BodyTooLong);
    }
    let wants_nod = request
        .header("expect")
        .is_some_and(|value| value.eq_ignore_ascii_case("100-continue"));
    if wants_nod && framing != Framing::Length(0) {
        incoming
            .stream
            .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
            .and_then(|()| incoming.stream.flush())
            .map_err(|_gone| Unreadable::Gone)?;
    }
    request.body = match framing {
        Framing::Length(length) => incoming.take(length)?,
        Framing::Chunked => incoming.chunks()?,
    };
    Ok(request)
}

/// How the body is told from what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
}

impl Framing {
    fn of(request: &Request) -> Result<Self, Unreadable> {
        let all = |name: &'static str| {
            request
                .headers
                .iter()
                .filter(move |(field, _)| field == name)
                .map(|(_, value)| value.as_str())
        };
        let mut codings = all("transfer-encoding");
        let mut lengths = all("content-length");
        match (codings.next(), lengths.next()) {
            (Some(coding), None) => {
                let known = coding.eq_ignore_ascii_case("chunked") && codings.next().is_none();
                known.then_some(Self::Chunked).ok_or(Unreadable::Malformed)
            }
            // Both at once is how requests are smuggled past a proxy: no server takes it.
            (Some(_), Some(_)) => Err(Unreadable::Malformed),
            (None, None) => Ok(Self::Length(0)),
            (None, Some(length)) => {
                let legal = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
                if !legal || lengths.any(|other| other != length) {
                    return Err(Unreadable::Malformed);
                }
                // A number too large for us is a body too long for us.
                Ok(Self::Length(length.parse().unwrap_or(usize::MAX)))
            }
        }
    }
}

/// A stream with what was read from it and not used yet.
struct Incoming<'a, S> {
    stream: &'a mut S,
    buffer: Vec<u8>,
}

impl<S: Read> Incoming<'_, S> {
    fn fill(&mut self) -> Result<(), Unreadable> {
        let mut piece = [0; 8 * 1024];
        let length = self
            .stream
            .read(&mut piece)
            .map_err(|_gone| Unreadable::Gone)?;
        let read = piece.get(..length).unwrap_or_default();
        if read.is_empty() {
            return Err(Unreadable::Gone);
        }
        self.buffer.extend_from_slice(read);
        Ok(())
    }

    fn head(&mut self) -> Result<Request, Unreadable> {
        loop {
            if let Some((request, length)) = parse_head(&self.buffer)? {
                self.buffer.drain(..length);
                return Ok(request);
            }
            if self.buffer.len() > HEAD_MAX {
                return Err(Unreadable::HeadTooLong);
            }
            self.fill()?;
        }
    }

    fn take(&mut self, length: usize) -> Result<Vec<u8>, Unreadable> {
        while self.buffer.len() < length {
            self.fill()?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    fn line(&mut self) -> Result<Vec<u8>, Unreadable> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                return Ok(self.buffer.drain(..=end).collect());
            }
            if self.buffer.len() > LINE_MAX {
                return Err(Unreadable::Malformed);
            }
            self.fill()?;
        }
    }

    fn chunks(&mut self) -> Result<Vec<u8>, Unreadable> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let size = match httparse::parse_chunk_size(&line) {
                Ok(httparse::Status::Complete((_, size))) => usize::try_from(size),
                Ok(httparse::Status::Partial) | Err(_) => return Err(Unreadable::Malformed),
            };
            let size = size.map_err(|_too_large| Unreadable::BodyTooLong)?;
            if size == 0 {
                break;
            }
            if size > BODY_MAX.saturating_sub(body.len()) {
                return Err(Unreadable::BodyTooLong);
            }
            body.append(&mut self.take(size)?);
            if !self.line()?.trim_ascii().is_empty() {
                return Err(Unreadable::Malformed);
            }
        }
        while !self.line()?.trim_ascii().is_empty() {}
        Ok(body)
    }
}

fn parse_head(bytes: &[u8]) -> Result<Option<(Request, usize)>, Unreadable> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut head = httparse::Request::new(&mut fields);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Unreadable::HeadTooLong),
        Err(_) => return Err(Unreadable::Malformed),
    };
    let (method, target) = head.method.zip(head.path).ok_or(Unreadable::Malformed)?;
    let (path, query) = split_target(target).ok_or(Unreadable::Malformed)?;
    let headers = head
        .headers
        .iter()
        .map(|field| {
            (
                field.name.to_ascii_lowercase(),
                String::from_utf8_lossy(field.value).trim().to_owned(),
            )
        })
        .collect();
    let request = Request {
        method: method.to_owned(),
        path,
        query,
        headers,
        body: Vec::new(),
    };
    Ok(Some((request, length)))
}

/// Cuts a request's target into path and query; a client behind a proxy setting sends a whole URL.
fn split_target(target: &str) -> Option<(String, String)> {
    let local = match target.strip_prefix("http://") {
        Some(rest) => rest.find('/').map_or("/", |slash| rest.split_at(slash).1),
        None => target,
    };
    if !local.starts_with('/') {
        return None;
    }
    let (path, query) = local.split_once('?').unwrap_or((local, ""));
    Some((path.to_owned(), query.to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A client that sent everything at once.
    struct Sent<'a>(&'a [u8]);

    impl Read for Sent<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Write for Sent<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_cut_short_is_no_request() {
        let whole = b"POST / HTTP/1.1\r\nContent-Length: 8\r\nX: y\r\n\r\n{\"a\": 1}";
        for length in 0..whole.len() {
            let cut = read_request(&mut Sent(&whole[..length]));
            assert_eq!(cut, Err(Unreadable::Gone), "{length}");
        }
        assert!(read_request(&mut Sent(whole)).is_ok());
    }

    proptest! {
        #[test]
        fn a_request_is_read_alike_by_length_and_in_chunks(body: Vec<u8>, cut: prop::sample::Index) {
            let (front, back) = body.split_at(cut.index(body.len() + 1));
            let mut by_length =
                format!("PUT /a?b HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
            by_length.extend_from_slice(&body);
            let mut chunked = b"PUT /a?b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            for chunk in [front, back].into_iter().filter(|chunk| !chunk.is_empty()) {
                chunked.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                chunked.extend_from_slice(chunk);
                chunked.extend_from_slice(b"\r\n");
            }
            chunked.extend_from_slice(b"0\r\n\r\n");
            for bytes in [by_length, chunked] {
                let request = read_request(&mut Sent(&bytes)).unwrap();
                prop_assert_eq!((&*request.path, &*request.query, &request.body), ("/a", "b", &body));
            }
        }

        #[test]
        fn nonsense_never_panics(mut bytes: Vec<u8>, chunked: bool) {
            if chunked {
                bytes.splice(..0, *b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
            }
            if let Ok(request) = read_request(&mut Sent(&bytes)) {
                prop_assert!(request.path.starts_with('/'));
            }
        }
    }
}
