//! The site under `examples/blog/`, carried inside the binary: an installed `sayonce rehearse` works anywhere.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::error::Failure;
use crate::exit::Exit;

macro_rules! carried {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../examples/blog/", $path)))),+]
    };
}

/// The files that the example needs.
const FILES: &[(&str, &str)] = carried!(
    "sayonce.toml",
    "_posts/2026-10-05-backups-and-restores.md",
    "_posts/2026-10-19-a-garden-of-small-scripts.md",
    "_posts/2026-11-16-three-ways-to-write-a-changelog.md",
    "_site/0123456789abcdef.txt",
    "_site/a-garden-of-small-scripts/index.html",
    "_site/backups-and-restores/index.html",
    "_site/feed.xml",
    "_site/three-ways-to-write-a-changelog/index.html",
);

/// Writes the example's files below `directory` and returns where they are.
pub(super) fn write(directory: &Path) -> Result<PathBuf, Failure> {
    let top = directory.join("site");
    for (path, text) in FILES {
        let path = top.join(path);
        let parent = path.parent().unwrap_or(&top);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, text))
            .with_context(|| format!("can't write the example's file {}", path.display()))
            .map_err(|error| Failure::new(Exit::Internal, error))?;
    }
    Ok(top)
}
