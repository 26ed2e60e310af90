//! What a stand-in did, kept in memory and, for a rehearsal that is to survive a kill, on disk.
//!
//! The file is append-only, one JSON object a line. A request and all that it stored are *one* line, so that a kill
//! in the middle of the write leaves neither. Start reading at [`Line`].

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::message::Request;
use super::service::Checks;
use crate::model::ids::ChannelName;
use crate::model::time::Timestamp;

/// A request as the log shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedRequest {
    /// The channel whose stand-in got it.
    pub channel: ChannelName,
    /// Which write to this channel it was, from 1; 0 for reads, logins and media.
    pub number: usize,
    /// The method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// What stood after the `?`.
    pub query: String,
    /// How it was answered.
    pub answered: Answered,
    /// What makes the write recognisable: the idempotency key, the record key or the canonical URL.
    pub key: Option<String>,
    /// When it came in.
    pub at: Timestamp,
}

/// How a request was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// With this status.
    Status(u16),
    /// The connection was cut.
    Cut,
    /// Not yet: the service is slow.
    Open,
}

impl fmt::Display for Answered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(code) => write!(formatter, "{code}"),
            Self::Cut => formatter.write_str("cut"),
            Self::Open => formatter.write_str("open"),
        }
    }
}

/// One line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(crate) enum Line<E> {
    /// The port that was opened.
    Port {
        #[serde(with = "wire_time")]
        at: Timestamp,
        port: u16,
    },
    /// A slow write came in; a [`Line::Request`] with its number follows when it is done.
    Slow {
        #[serde(with = "wire_time")]
        at: Timestamp,
        #[serde(with = "wire_time")]
        due: Timestamp,
        number: usize,
        key: Option<String>,
        checks: Checks,
        request: Request,
    },
    /// A request was dealt with.
    Request(Entry<E>),
}

/// A request that was dealt with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry<E> {
    /// When it came in.
    #[serde(with = "wire_time")]
    pub(crate) at: Timestamp,
    /// When it was done with.
    #[serde(with = "wire_time")]
    pub(crate) done_at: Timestamp,
    /// Which write it was; 0 for reads.
    pub(crate) number: usize,
    /// The method.
    pub(crate) method: String,
    /// The path.
    pub(crate) path: String,
    /// The query.
    pub(crate) query: String,
    /// What makes the write recognisable.
    pub(crate) key: Option<String>,
    /// The status of the answer, or `"cut"`.
    pub(crate) status: WireStatus,
    /// What it changed in the service.
    pub(crate) stored: Vec<E>,
}

impl<E> Line<E> {
    /// Returns the newest time in the line.
    fn newest(&self) -> Timestamp {
        match self {
            Self::Port { at, .. } | Self::Slow { at, .. } => *at,
            Self::Request(entry) => entry.done_at.max(entry.at),
        }
    }
}

/// An answer as the file writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum WireStatus {
    Code(u16),
    Word(WireWord),
}

/// An answer that has no status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WireWord {
    Cut,
}

impl From<WireStatus> for Answered {
    fn from(status: WireStatus) -> Self {
        match status {
            WireStatus::Code(code) => Self::Status(code),
            WireStatus::Word(WireWord::Cut) => Self::Cut,
        }
    }
}

/// Timestamps in the ledger's own form.
pub(crate) mod wire_time {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    use crate::model::time::Timestamp;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(crate) fn serialize<S: Serializer>(
        time: &Timestamp,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(time)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(deserializer)?;
        Timestamp::parse(&text).map_err(de::Error::custom)
    }
}

/// The stand-ins' file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file or its directory can't be opened, read or made.
    #[error("can't use {}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A line that is not the last can't be read.
    #[error("line {line} of {} is not a stand-in's record", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}

/// Where lines are appended; nowhere if the sandbox is not kept.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    file: Option<File>,
}

impl Journal {
    /// Opens the file of one channel below `directory` and returns what is in it.
    ///
    /// A last line that a kill cut short is taken off.
    pub(crate) fn open<E: DeserializeOwned>(
        directory: &Path,
        channel: &ChannelName,
    ) -> Result<(Self, Vec<Line<E>>), JournalError> {
        let services = services(directory);
        let path = services.join(format!("{channel}.jsonl"));
        let io_error = |path: &Path| {
            let path = path.to_owned();
            move |source| JournalError::Io { path, source }
        };
        fs::create_dir_all(&services).map_err(io_error(&services))?;
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .map_err(io_error(&path))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io_error(&path))?;
        let (lines, whole) = parse(&path, &bytes)?;
        file.set_len(u64::try_from(whole).unwrap_or(u64::MAX))
            .and_then(|()| file.sync_all())
            .map_err(io_error(&path))?;
        sync_directory(&services).map_err(io_error(&services))?;
        Ok((Self { file: Some(file) }, lines))
    }

    /// Appends a line and waits until the disk has it.
    pub(crate) fn append<E: Serialize>(&mut self, line: &Line<E>) -> io::Result<()> {
        let Some(file) = self.file.as_mut() else {
            return Ok(());
        };
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        file.write_all(&bytes)?;
        file.sync_all()
    }
}

/// Returns the newest time that any stand-in wrote below `directory`.
pub(crate) fn newest_time(directory: &Path) -> Option<Timestamp> {
    let files = fs::read_dir(services(directory)).ok()?;
    files
        .filter_map(|file| fs::read(file.ok()?.path()).ok())
        .filter_map(|bytes| {
            bytes
                .split(|byte| *byte == b'\n')
                .filter_map(|line| serde_json::from_slice::<Line<serde_json::Value>>(line).ok())
                .map(|line| line.newest())
                .max()
        })
        .max()
}

fn services(directory: &Path) -> PathBuf {
    directory.join("services")
}

/// Returns the lines and how many bytes of the file they fill.
fn parse<E: DeserializeOwned>(
    path: &Path,
    bytes: &[u8],
) -> Result<(Vec<Line<E>>, usize), JournalError> {
    let mut lines = Vec::new();
    let mut whole = 0;
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let last = whole + line.len() == bytes.len();
        match serde_json::from_slice(line) {
            Ok(read) if line.ends_with(b"\n") => lines.push(read),
            Err(source) if !last => {
                return Err(JournalError::Line {
                    path: path.to_owned(),
                    line: index + 1,
                    source,
                });
            }
            // Torn by a kill: it was never answered, so it never was.
            Ok(_) | Err(_) => break,
        }
        whole += line.len();
    }
    Ok((lines, whole))
}

/// A new file's name is on disk only once its directory is.
#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}
