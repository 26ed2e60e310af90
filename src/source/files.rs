//! Reading from disk and over the network, with limits.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::{Fetch, SourceError};

/// Larger than any feed, sitemap (50 MB by its standard), or manifest; smaller than what would fill a small machine.
const LIST_BYTES_MAX: u64 = 50 * 1024 * 1024;
/// More files than this are a wrong directory (`/`, `node_modules`), not a blog.
pub(super) const FILES_MAX: usize = 50_000;

/// Whether a source is given as a URL.
pub(super) fn is_url(source: &str) -> bool {
    source.starts_with("https://") || source.starts_with("http://")
}

/// Reads a source that is a path below `repo` or a URL.
pub(super) fn read_list(
    repo: &Path,
    key: &'static str,
    source: &str,
    fetch: &dyn Fetch,
) -> Result<Vec<u8>, SourceError> {
    let bytes = if is_url(source) {
        fetch.fetch(source).map_err(|reason| SourceError::Fetch {
            key,
            url: source.to_owned(),
            reason,
        })?
    } else {
        read_limited(&repo.join(source)).map_err(|cause| SourceError::Unreadable {
            key,
            path: source.to_owned(),
            cause,
        })?
    };
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LIST_BYTES_MAX {
        return Err(SourceError::TooLarge {
            key,
            path: source.to_owned(),
            limit_bytes: LIST_BYTES_MAX,
        });
    }
    Ok(as_utf8(bytes))
}

/// Takes away what stands in front of the text and says how it is encoded, where that is UTF-8 or UTF-16.
///
/// The XML reader panics where a byte order mark and the XML declaration disagree (`UTF-16` beside the mark of the
/// big-endian form is enough), so it never sees both.
fn as_utf8(bytes: Vec<u8>) -> Vec<u8> {
    let text = match bytes.as_slice() {
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0, b'<' | b'{', ..] => utf16(&bytes, u16::from_be_bytes),
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [b'<' | b'{', 0, ..] => utf16(&bytes, u16::from_le_bytes),
        _ => None,
    };
    let Some(text) = text else { return bytes };
    let without_declaration = text
        .strip_prefix("<?xml")
        .and_then(|rest| rest.split_once("?>"))
        .map(|(_declaration, rest)| rest.to_owned());
    without_declaration.unwrap_or(text).into_bytes()
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    String::from_utf16(&units)
        .ok()
        .filter(|_text| rest.is_empty())
}

/// Returns all files below a directory, relative to it with `/` between segments, sorted.
pub(super) fn below(
    root: &Path,
    key: &'static str,
    shown: &str,
) -> Result<Vec<String>, SourceError> {
    let mut files = Vec::new();
    let mut directories = vec![String::new()];
    while let Some(directory) = directories.pop() {
        let unreadable = |cause| SourceError::Unreadable {
            key,
            path: format!("{shown}/{directory}"),
            cause,
        };
        for entry in std::fs::read_dir(root.join(&directory)).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            // A name that is not Unicode belongs to no URL.
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            // Links are not followed: one that leads upwards would never end.
            let kind = entry.file_type().map_err(unreadable)?;
            if kind.is_dir() {
                directories.push(format!("{directory}{name}/"));
            } else if kind.is_file() {
                files.push(format!("{directory}{name}"));
            }
        }
        if files.len() > FILES_MAX {
            return Err(SourceError::TooManyFiles {
                key,
                path: shown.to_owned(),
                limit: FILES_MAX,
            });
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a path's extension is one of these, in lower or upper case.
pub(super) fn has_extension(path: &str, extensions: &[&str]) -> bool {
    Path::new(path)
        .extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| {
            extensions
                .iter()
                .any(|known| known.eq_ignore_ascii_case(extension))
        })
}

/// Reads a file, at most one byte more than the limit, so that too much is seen and not read.
pub(super) fn read_limited(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(LIST_BYTES_MAX + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}
