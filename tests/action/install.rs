//! How the action gets the program: the release's archive with the right checksum, a build, or what is there; never anything else.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::linters::installed;
use super::metadata::read;
use crate::cli::program::{Program, Ran};

const ARCHIVE: &str = "sayonce-v0.9.0-x86_64-unknown-linux-musl.tar.gz";

/// What every runner has. Rust is not among it.
const TOOLS: [&str; 11] = [
    "bash",
    "cat",
    "chmod",
    "curl",
    "grep",
    "gzip",
    "mkdir",
    "sh",
    "sha256sum",
    "shasum",
    "tar",
];

/// An action of its own in a temporary directory, and a machine that has only what a test puts there.
pub(super) struct Machine {
    root: TempDir,
    server: String,
}

impl Machine {
    pub(super) fn new(files: BTreeMap<String, Vec<u8>>) -> Self {
        let machine = Self {
            root: tempfile::tempdir().unwrap(),
            server: serve(files),
        };
        machine.write("action/action/install.sh", &read("action/install.sh"));
        machine.checksums("");
        std::fs::create_dir(machine.path("bin")).unwrap();
        for tool in TOOLS.iter().filter_map(|tool| installed(tool)) {
            symlink(&tool, machine.path("bin").join(tool.file_name().unwrap())).unwrap();
        }
        machine
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(super) fn checksums(&self, line: &str) {
        self.write(
            "action/action/checksums.txt",
            &format!("# of this version\n{line}"),
        );
    }

    /// A program that is on the path.
    fn tool(&self, name: &str, script: &str) {
        self.write(&format!("bin/{name}"), script);
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.path("bin").join(name), executable).unwrap();
    }

    pub(super) fn install(&self, version: &str) -> Ran {
        let path = |name: &str| self.path(name).display().to_string();
        std::fs::create_dir_all(self.path("temporary")).unwrap();
        self.write("outputs", "");
        Program::new("bash", self.root.path(), &self.path("home"))
            .arguments([path("action/action/install.sh").as_str()])
            .environment([
                ("PATH", path("bin").as_str()),
                ("SAYONCE_VERSION", version),
                ("SAYONCE_ACTION", &path("action")),
                ("SAYONCE_REPOSITORY", "sayonce/sayonce"),
                ("SAYONCE_SERVER", &self.server),
                ("RUNNER_OS", "Linux"),
                ("RUNNER_ARCH", "X64"),
                ("RUNNER_TEMP", &path("temporary")),
                ("GITHUB_OUTPUT", &path("outputs")),
            ])
            .run()
    }

    /// What was printed, the exit code, and the outputs, with this machine's paths left out.
    pub(super) fn told(&self, version: &str) -> String {
        let ran = self.install(version);
        let outputs = std::fs::read_to_string(self.path("outputs")).unwrap();
        let code = ran.code().unwrap();
        format!("{}exit code {code}\n{outputs}", ran.stdout)
            .replace(&self.root.path().display().to_string(), "@")
            .replace(&self.server, "https://github.com")
    }
}

/// Serves files on loopback for as long as the test's process lives.
fn serve(files: BTreeMap<String, Vec<u8>>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let request = lines.next().unwrap().unwrap();
            while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            let path = request.split(' ').nth(1).unwrap();
            let (status, body) = files
                .get(path)
                .map_or((404, &[][..]), |body| (200, body.as_slice()));
            write!(
                stream,
                "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            )
            .unwrap();
            stream.write_all(body).unwrap();
        }
    });
    format!("http://{address}")
}

/// An archive with a program that only says its version.
fn archive() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let inner = ARCHIVE.strip_suffix(".tar.gz").unwrap();
    let program = directory.path().join(inner).join("sayonce");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::fs::write(&program, "#!/bin/sh\necho sayonce 0.9.0\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let file = directory.path().join("archive");
    let ran = Program::new("tar", directory.path(), directory.path())
        .arguments(["-czf", file.to_str().unwrap(), inner])
        .run();
    assert!(ran.status.success(), "{ran:?}");
    std::fs::read(file).unwrap()
}

pub(super) fn sum(bytes: &[u8]) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(bytes) {
        write!(hex, "{byte:02x}").unwrap();
    }
    hex
}

fn released(bytes: Vec<u8>) -> BTreeMap<String, Vec<u8>> {
    let path = format!("/sayonce/sayonce/releases/download/v0.9.0/{ARCHIVE}");
    BTreeMap::from([(path, bytes)])
}

/// A cargo that makes the same program.
fn cargo(machine: &Machine) {
    machine.tool(
        "cargo",
        "#!/bin/sh\necho \"cargo $1 $2 $3\"\nmkdir -p \"$CARGO_TARGET_DIR/release\"\n\
         printf '#!/bin/sh\\necho sayonce of this source\\n' >\"$CARGO_TARGET_DIR/release/sayonce\"\n\
         chmod +x \"$CARGO_TARGET_DIR/release/sayonce\"\n",
    );
}

#[test]
fn the_release_of_the_same_version_is_taken_if_it_has_the_right_checksum() {
    let bytes = archive();
    let machine = Machine::new(released(bytes.clone()));
    machine.checksums(&format!("{}  {ARCHIVE}\n", sum(&bytes)));
    insta::assert_snapshot!(machine.told(""), @"
    sayonce 0.9.0
    exit code 0
    program=@/temporary/sayonce/sayonce-v0.9.0-x86_64-unknown-linux-musl/sayonce
    ");
}

#[test]
fn an_archive_with_another_checksum_is_not_run() {
    let machine = Machine::new(released(b"something else".to_vec()));
    machine.checksums(&format!("{}  {ARCHIVE}\n", "0".repeat(64)));
    cargo(&machine);
    insta::assert_snapshot!(machine.told(""), @"
    ::error title=sayonce::https://github.com/sayonce/sayonce/releases/download/v0.9.0/sayonce-v0.9.0-x86_64-unknown-linux-musl.tar.gz has the SHA-256 f41f3fa625ff120ddca7ef456bf66371ecea23c129f4e4c32367101edb516cf8, and this version of the action expects 0000000000000000000000000000000000000000000000000000000000000000: it is not run. Tell the developers
    exit code 1
    ");
}

#[test]
fn without_a_release_for_the_machine_it_is_built_and_says_so() {
    let machine = Machine::new(BTreeMap::new());
    cargo(&machine);
    insta::assert_snapshot!(machine.told(""), @"
    ::notice title=sayonce::there is no released program for this version of the action on Linux X64: it is built from source, which takes some minutes
    ::group::Building sayonce
    cargo build --release --locked
    ::endgroup::
    sayonce of this source
    exit code 0
    program=@/temporary/sayonce/target/release/sayonce
    ");
}

#[test]
fn a_release_that_cannot_be_fetched_is_built_instead() {
    let machine = Machine::new(BTreeMap::new());
    machine.checksums(&format!("{}  {ARCHIVE}\n", "0".repeat(64)));
    cargo(&machine);
    insta::assert_snapshot!(machine.told(""), @"
    ::notice title=sayonce::https://github.com/sayonce/sayonce/releases/download/v0.9.0/sayonce-v0.9.0-x86_64-unknown-linux-musl.tar.gz could not be fetched: the program is built from source, which takes some minutes
    ::group::Building sayonce
    cargo build --release --locked
    ::endgroup::
    sayonce of this source
    exit code 0
    program=@/temporary/sayonce/target/release/sayonce
    ");
}

#[test]
fn a_build_without_rust_says_what_to_do() {
    let machine = Machine::new(BTreeMap::new());
    insta::assert_snapshot!(machine.told("source"), @"
    ::error title=sayonce::building sayonce needs Rust, and there is no cargo here: install Rust before this step, or use a released version of the action
    exit code 1
    ");
}

#[test]
fn what_is_installed_is_taken_on_request_only() {
    let machine = Machine::new(BTreeMap::new());
    insta::assert_snapshot!(machine.told("installed"), @"
    ::error title=sayonce::version is 'installed', and there is no sayonce on the path
    exit code 1
    ");
    machine.tool("sayonce", "#!/bin/sh\necho sayonce of mine\n");
    insta::assert_snapshot!(machine.told("installed"), @"
    sayonce of mine
    exit code 0
    program=@/bin/sayonce
    ");
}

#[test]
fn another_version_is_asked_for_where_the_action_is_named() {
    let machine = Machine::new(BTreeMap::new());
    insta::assert_snapshot!(machine.told("0.2.0"), @"
    ::error title=sayonce::version is '0.2.0', and may be empty, 'source', or 'installed'. For another release name it in 'uses:', as in sayonce/sayonce@v0.1.0: its checksums stand there
    exit code 1
    ");
}

#[test]
fn the_checksums_of_the_project_are_well_formed() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("action/checksums.txt");
    for line in std::fs::read_to_string(file).unwrap().lines() {
        let comment = line.starts_with("# ");
        let entry = line
            .split_once("  sayonce-v")
            .is_some_and(|(sum, name)| sum.len() == 64 && name.ends_with(".tar.gz"));
        assert!(comment || entry, "{line}");
    }
}
