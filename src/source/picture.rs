//! The pictures that stand for articles: among the built pages first, else over the network.

use std::path::Path;

use url::Url;

use super::Fetch;
use super::files;
use super::page::path_below;
use crate::config::Site;

/// Larger than any picture of a page: those of cameras have about 10 MB.
const PICTURE_BYTES_MAX: usize = 20 * 1000 * 1000;

/// Reads the picture at an absolute address.
///
/// One below `site.url` is read from `site.pages`, where it is before the site is online. A sentence says why it can't
/// be had.
pub fn read_picture(
    site: &Site,
    repo: &Path,
    url: &str,
    fetch: &dyn Fetch,
) -> Result<Vec<u8>, String> {
    let address = Url::parse(url).map_err(|error| format!("`{url}` is not a URL: {error}"))?;
    let bytes = match read_built(site, repo, &address) {
        Some(bytes) => bytes,
        None => fetch.fetch(url)?,
    };
    if bytes.len() > PICTURE_BYTES_MAX {
        return Err(format!("{url} is larger than {PICTURE_BYTES_MAX} bytes"));
    }
    Ok(bytes)
}

fn read_built(site: &Site, repo: &Path, url: &Url) -> Option<Vec<u8>> {
    let path = path_below(&site.url, url)?;
    let directory = repo.join(site.pages.as_deref()?);
    let file = directory.join(path);
    // A link in the built site must not lead to a file of this machine that is nobody's business.
    let (file, directory) = (file.canonicalize().ok()?, directory.canonicalize().ok()?);
    if !file.starts_with(&directory) {
        return None;
    }
    files::read_limited(&file).ok()
}
