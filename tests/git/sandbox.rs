//! A world of repositories in a temporary directory, out of reach of the user's own git configuration.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sayonce::environment::Environment;
use tempfile::TempDir;

/// Where git lives on the machines that run the tests.
pub(crate) fn path_variable() -> String {
    let inherited = Environment::of_process();
    inherited.get("PATH").unwrap_or("/usr/bin:/bin").to_owned()
}

pub(crate) struct Sandbox {
    directory: TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The environment of every git here: no configuration but the repository's own.
    pub(crate) fn environment(&self) -> Environment {
        Environment::of([
            ("HOME", &self.path("home").display().to_string()),
            ("PATH", &path_variable()),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
        ])
    }

    /// Runs git and returns what it printed; panics with its words if it fails.
    pub(crate) fn git(&self, directory: &Path, arguments: &[&str]) -> String {
        let (ok, out, err) = self.try_git(directory, arguments);
        assert!(
            ok,
            "git {arguments:?} in {}: {out}{err}",
            directory.display()
        );
        out.trim_end().to_owned()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the tests' own git, beside the one under test"
    )]
    pub(crate) fn try_git(&self, directory: &Path, arguments: &[&str]) -> (bool, String, String) {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=Site owner",
                "-c",
                "user.email=owner@blog.example",
            ])
            .args([
                "-c",
                "init.defaultBranch=main",
                "-c",
                "protocol.file.allow=always",
            ])
            .args(arguments)
            .current_dir(directory)
            .env_clear()
            .envs(self.environment().iter())
            .env("GIT_TERMINAL_PROMPT", "0")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    }

    /// Makes a bare remote `origin.git` whose `main` has one commit of a site, and returns its path.
    pub(crate) fn remote(&self) -> PathBuf {
        let remote = self.path("origin.git");
        let root = self.directory.path();
        self.git(root, &["init", "--quiet", "--bare", "origin.git"]);
        self.git(root, &["init", "--quiet", "seed"]);
        let seed = self.path("seed");
        std::fs::write(seed.join("index.md"), "# Site\n").unwrap();
        self.commit_all(&seed, "site");
        self.git(
            &seed,
            &["push", "--quiet", remote.to_str().unwrap(), "main"],
        );
        remote
    }

    /// Clones the remote.
    pub(crate) fn clone_of(&self, remote: &str, name: &str, options: &[&str]) -> PathBuf {
        let mut arguments = vec!["clone", "--quiet"];
        arguments.extend(options);
        arguments.extend([remote, name]);
        self.git(self.directory.path(), &arguments);
        self.path(name)
    }

    pub(crate) fn commit_all(&self, directory: &Path, message: &str) {
        self.git(directory, &["add", "--all"]);
        self.git(directory, &["commit", "--quiet", "--message", message]);
    }

    /// Writes an executable hook into a repository.
    pub(crate) fn hook(repository: &Path, name: &str, script: &str) {
        let path = repository.join("hooks").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
}
