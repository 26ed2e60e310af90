//! A wire between two network namespaces: the program at one end, the services at the other.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use sayonce::model::channel::Kind;
use sayonce::model::ids::ChannelName;
use sayonce::sandbox::Sandbox;
use serde_json::Value;

use super::stage::skip;
use crate::cli::program::Program;
use crate::cli::site::{Site, secret_variable};

/// See its head for what it does and for the weather it knows.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/fire/wire.py");

/// A wire. Dropping it takes it down, with both namespaces.
#[derive(Debug)]
pub(crate) struct Wire {
    child: Child,
    control: ChildStdin,
    near: String,
}

impl Wire {
    /// Lays a wire to the services of a site; says so and returns none where this machine does not let it.
    #[expect(
        clippy::disallowed_methods,
        reason = "a helper of the tests, which is spoken to and needs this machine's own environment"
    )]
    pub(crate) fn to(site: &Site, channels: &[(&str, Kind)]) -> Option<Self> {
        let ports = channels.iter().map(|(name, _)| {
            let url = site.sandbox().url(&ChannelName::new(name).unwrap());
            url.rsplit(':').next().unwrap().to_owned()
        });
        let started = Command::new("python3")
            .args(["-I", SCRIPT])
            .args(ports)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut child) = started else {
            skip("python3 is not installed");
            return None;
        };
        let control = child.stdin.take().unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        let mut wire = Self {
            child,
            control,
            near: String::new(),
        };
        let said: Value = serde_json::from_str(&line).expect("the wire says where it is");
        let Some(near) = said["near"].as_str() else {
            skip(&format!("no network namespaces here: {}", said["lacks"]));
            return None;
        };
        near.clone_into(&mut wire.near);
        Some(wire)
    }

    /// Changes the weather.
    pub(crate) fn weather(&mut self, change: &Value) {
        writeln!(self.control, "{change}").unwrap();
    }

    /// The program at the near end, with every secret.
    pub(crate) fn program(&self, site: &Site, arguments: &[&str]) -> Program {
        let net = format!("--net={}", self.near);
        let binary: &Path = assert_cmd::cargo::cargo_bin!("sayonce");
        Program::new("nsenter", &site.path("site"), &site.home())
            .arguments([net.as_str(), binary.to_str().unwrap()])
            .arguments(arguments.iter().copied())
            .environment(Kind::ALL.map(|kind| (secret_variable(kind), Sandbox::secret(kind))))
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Seconds, as the wire takes them.
pub(crate) fn seconds(duration: Duration) -> Value {
    duration.as_secs_f64().into()
}
