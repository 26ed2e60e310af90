//! One request, one connection: one that was used before may break under a request for reasons of the one before it,
//! and is where clients repeat requests by themselves.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use sayonce::config::ServiceConfig;
use serde_json::json;
use url::Url;

use super::{ARTICLE, TestClock, channel, claim, pushed, tell};

/// Answers the first request of each of `count` connections, and keeps them all open.
fn keep_alive(count: usize) -> (Url, Arc<Mutex<Vec<TcpStream>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/indexnow", listener.local_addr().unwrap());
    let kept: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    let open = Arc::clone(&kept);
    std::thread::spawn(move || {
        for _ in 0..count {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut chunk = [0; 4096];
            while !request.ends_with(b"\r\n\r\n") {
                let size = stream.read(&mut chunk).unwrap();
                request.extend_from_slice(&chunk[..size]);
            }
            let answer = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(answer.as_bytes()).unwrap();
            open.lock().unwrap().push(stream);
        }
    });
    (Url::parse(&url).unwrap(), kept)
}

#[test]
fn a_connection_that_could_be_kept_is_not_used_again() {
    let (endpoint, connections) = keep_alive(2);
    let service = ServiceConfig::IndexNow {
        key: "0123456789abcdef".to_owned(),
        key_location: None,
        endpoint,
    };
    let mut channel = channel(service, TestClock::fast());
    for _ in 0..2 {
        let claim = claim("engine", &json!({ "url": ARTICLE }));
        assert_eq!(
            tell(&channel.publish(&[pushed(claim)])),
            "accepted by response: none none"
        );
    }
    assert_eq!(connections.lock().unwrap().len(), 2);
}
