//! Which repository a ledger belongs to: a fork or a template copy must not announce what the original announces.

use url::Url;

use crate::environment::Environment;

/// The repository that a run works in, as far as it can be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    /// Host and path of the remote; none for a path on this machine, which is not checked.
    pub(super) repository: Option<String>,
    /// GitHub's own number: it outlives a rename, and a fork has another.
    pub(super) id: Option<String>,
}

impl Identity {
    /// Takes what the remote's URL and a GitHub Actions environment say.
    pub(super) fn new(remote_url: &str, environment: &Environment) -> Self {
        let repository = normalise(remote_url);
        // The variables are about the repository of the workflow, which may keep its ledger in another one.
        let ours = environment
            .get("GITHUB_REPOSITORY")
            .zip(environment.get("GITHUB_SERVER_URL"))
            .and_then(|(name, server)| normalise(&format!("{server}/{name}")));
        let id = environment
            .get("GITHUB_REPOSITORY_ID")
            .filter(|_id| ours.is_some() && ours == repository)
            .map(str::to_owned);
        Self { repository, id }
    }

    /// Whether a ledger that names `repository` and `id` belongs to another repository than this.
    pub(super) fn is_foreign_to(&self, repository: Option<&str>, id: Option<&str>) -> bool {
        match (self.id.as_deref(), id) {
            (Some(ours), Some(theirs)) => ours != theirs,
            (Some(_) | None, None) | (None, Some(_)) => self
                .repository
                .as_deref()
                .zip(repository)
                .is_some_and(|(ours, theirs)| ours != theirs),
        }
    }
}

/// Returns host and path of a remote's URL in lower case, without scheme, user, port and `.git`; none for a path
/// on this machine.
fn normalise(remote_url: &str) -> Option<String> {
    let (host, path) = match Url::parse(remote_url) {
        Ok(url) if url.scheme() == "file" => return None,
        // `C:\repo` reads as a URL with the scheme `c`, `host:path` as one without a host.
        Ok(url) if url.has_host() => (url.host_str()?.to_owned(), url.path().to_owned()),
        Ok(_) | Err(_) => scp_like(remote_url)?,
    };
    let path = path.trim_matches('/').to_lowercase();
    let path = path.strip_suffix(".git").unwrap_or(&path);
    (!host.is_empty() && !path.is_empty()).then(|| format!("{}/{path}", host.to_lowercase()))
}

/// Splits `user@host:path`, the short form of ssh addresses.
fn scp_like(text: &str) -> Option<(String, String)> {
    let (host, path) = text.split_once(':')?;
    // A drive letter, or a path that has a colon somewhere.
    if host.len() < 2 || host.contains(['/', '\\']) {
        return None;
    }
    let host = host.rsplit_once('@').map_or(host, |(_user, host)| host);
    Some((host.to_owned(), path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repository_has_one_name() {
        let check = |url: &str| normalise(url);
        let same = Some("github.com/blog/site".to_owned());
        for url in [
            "https://github.com/Blog/Site",
            "https://github.com/blog/site.git",
            "https://token@github.com/blog/site.git/",
            "https://github.com:443/blog/site",
            "ssh://git@github.com:22/blog/site.git",
            "ssh://git@GitHub.com/blog/site",
            "git@github.com:blog/site.git",
            "github.com:blog/site",
        ] {
            assert_eq!(check(url), same, "{url}");
        }
        assert_eq!(
            check("http://127.0.0.1:8080/ledger.git"),
            Some("127.0.0.1/ledger".to_owned())
        );
        for local in [
            "/srv/git/site.git",
            "../site",
            "file:///srv/git/site.git",
            "C:\\git\\site",
            "C:/git/site",
            "./odd:name",
            "",
        ] {
            assert_eq!(check(local), None, "{local}");
        }
    }

    #[test]
    fn a_fork_is_foreign_and_a_renamed_repository_is_not() {
        let actions = |name: &str, id: &str| {
            Environment::of([
                ("GITHUB_SERVER_URL", "https://github.com"),
                ("GITHUB_REPOSITORY", name),
                ("GITHUB_REPOSITORY_ID", id),
            ])
        };
        let check = |url: &str, environment: &Environment| {
            Identity::new(url, environment).is_foreign_to(Some("github.com/blog/site"), Some("1"))
        };
        let nowhere = Environment::default();
        assert!(!check("git@github.com:blog/site.git", &nowhere));
        assert!(check("git@github.com:fork/site.git", &nowhere));
        assert!(!check("/srv/git/fork", &nowhere));
        let renamed = actions("blog/renamed", "1");
        assert!(!check("https://github.com/blog/renamed", &renamed));
        let fork = actions("fork/site", "2");
        assert!(check("https://github.com/fork/site", &fork));
        // A workflow elsewhere that works on a checkout of this repository: its own number says nothing.
        let elsewhere = actions("blog/tools", "3");
        assert!(!check("https://github.com/blog/site", &elsewhere));
    }
}
