//! A release's archive: what is in it, that packing it again gives the same bytes, and that the action installs it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::install::{Machine, sum};
use super::metadata::read;
use crate::cli::program::Program;

const TARGET: &str = "x86_64-unknown-linux-musl";

/// Where archives are packed, and what is packed: a script that becomes the program under test, which is big.
struct Bench {
    root: TempDir,
}

impl Bench {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("built");
        let real = assert_cmd::cargo::cargo_bin!("sayonce");
        let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", real.display());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        Self { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Packs into a directory, as a machine with such settings does, and returns the archive.
    fn pack(&self, directory: &str, umask: &str, timezone: &str, epoch: &str) -> PathBuf {
        let command = format!("umask {umask} && exec bash action/archive.sh \"$@\"");
        let [out, program] = [directory, "built"].map(|name| self.path(name).display().to_string());
        let ran = Program::new(
            "bash",
            Path::new(env!("CARGO_MANIFEST_DIR")),
            &self.path("home"),
        )
        .arguments(["-c", &command, "pack", TARGET, &out, &program])
        .environment([("TZ", timezone), ("SOURCE_DATE_EPOCH", epoch)])
        .run();
        assert!(ran.status.success(), "{ran:?}");
        self.path(directory).join(archive())
    }

    /// The archive's list as its bytes have it: permissions, owner, time, and name.
    fn list(&self, archive: &Path) -> String {
        let ran = Program::new("gzip", self.root.path(), &self.path("home"))
            .arguments(["-dc", archive.to_str().unwrap()])
            .run();
        assert!(ran.status.success(), "{ran:?}");
        let mut lines = Vec::new();
        let mut rest = ran.stdout.as_bytes();
        while rest.first().is_some_and(|first| *first != 0) {
            let (head, files) = rest.split_at(512);
            let field = |range: Range<usize>| {
                let text = std::str::from_utf8(&head[range]).unwrap();
                text.trim_end_matches(['\0', ' ']).to_owned()
            };
            let number = |range: Range<usize>| u64::from_str_radix(&field(range), 8).unwrap();
            let [mode, user, group, size, time] =
                [100..108, 108..116, 116..124, 124..136, 136..148].map(number);
            let names = [field(265..297), field(297..329)].concat();
            lines.push(format!(
                "{mode:o} {user}:{group}{names} {time} {}",
                field(0..100)
            ));
            let blocks = usize::try_from(size.div_ceil(512)).unwrap();
            rest = files.split_at(blocks * 512).1;
        }
        lines.join("\n").replace(&inner(), "@")
    }
}

fn inner() -> String {
    format!("sayonce-v{}-{TARGET}", env!("CARGO_PKG_VERSION"))
}

fn archive() -> String {
    format!("{}.tar.gz", inner())
}

#[test]
fn the_archive_has_all_that_packages_need_and_nothing_of_the_machine() {
    let bench = Bench::new();
    let packed = bench.pack("out", "022", "UTC", "1767225600");
    insta::assert_snapshot!(bench.list(&packed), @"
    644 0:0 1767225600 @/CHANGELOG.md
    644 0:0 1767225600 @/LICENSE-APACHE
    644 0:0 1767225600 @/LICENSE-MIT
    644 0:0 1767225600 @/README.md
    644 0:0 1767225600 @/THIRD-PARTY-LICENSES
    644 0:0 1767225600 @/completions/_sayonce
    644 0:0 1767225600 @/completions/_sayonce.ps1
    644 0:0 1767225600 @/completions/sayonce.bash
    644 0:0 1767225600 @/completions/sayonce.elv
    644 0:0 1767225600 @/completions/sayonce.fish
    644 0:0 1767225600 @/man/sayonce-adopt.1
    644 0:0 1767225600 @/man/sayonce-again.1
    644 0:0 1767225600 @/man/sayonce-approve.1
    644 0:0 1767225600 @/man/sayonce-audit.1
    644 0:0 1767225600 @/man/sayonce-baseline.1
    644 0:0 1767225600 @/man/sayonce-completions.1
    644 0:0 1767225600 @/man/sayonce-doctor.1
    644 0:0 1767225600 @/man/sayonce-init.1
    644 0:0 1767225600 @/man/sayonce-ledger-accept.1
    644 0:0 1767225600 @/man/sayonce-ledger-repair.1
    644 0:0 1767225600 @/man/sayonce-ledger.1
    644 0:0 1767225600 @/man/sayonce-man.1
    644 0:0 1767225600 @/man/sayonce-plan.1
    644 0:0 1767225600 @/man/sayonce-rehearse.1
    644 0:0 1767225600 @/man/sayonce-rename.1
    644 0:0 1767225600 @/man/sayonce-resolve.1
    644 0:0 1767225600 @/man/sayonce-retract.1
    644 0:0 1767225600 @/man/sayonce-retry.1
    644 0:0 1767225600 @/man/sayonce-run.1
    644 0:0 1767225600 @/man/sayonce-skip.1
    644 0:0 1767225600 @/man/sayonce-status.1
    644 0:0 1767225600 @/man/sayonce-update.1
    644 0:0 1767225600 @/man/sayonce.1
    755 0:0 1767225600 @/sayonce
    ");
}

#[test]
fn packing_again_elsewhere_gives_the_same_bytes() {
    let bench = Bench::new();
    let one = std::fs::read(bench.pack("one", "022", "UTC", "1767225600")).unwrap();
    let other = std::fs::read(bench.pack("other", "077", "Asia/Tokyo", "1767225600")).unwrap();
    assert_eq!(sum(&one), sum(&other));
    // It is the commit's time that counts.
    let later = std::fs::read(bench.pack("later", "022", "UTC", "1767225602")).unwrap();
    assert_ne!(sum(&one), sum(&later));
}

#[test]
fn the_action_installs_the_archive_whose_checksum_stands_beside_it() {
    let bench = Bench::new();
    let packed = bench.pack("out", "022", "UTC", "1767225600");
    let bytes = std::fs::read(&packed).unwrap();
    let (version, name) = (env!("CARGO_PKG_VERSION"), archive());
    let path = format!("/sayonce/sayonce/releases/download/v{version}/{name}");
    let line = format!("{}  {name}\n", sum(&bytes));
    let machine = Machine::new(BTreeMap::from([(path, bytes)]));
    machine.checksums(&line);
    let told = machine.told("").replace(version, "VERSION");
    insta::assert_snapshot!(told, @"
    sayonce VERSION
    exit code 0
    program=@/temporary/sayonce/sayonce-vVERSION-x86_64-unknown-linux-musl/sayonce
    ");
    let installed = machine.path("temporary/sayonce").join(inner());
    assert_eq!(
        std::fs::read(installed.join("sayonce")).unwrap(),
        std::fs::read(bench.path("built")).unwrap()
    );
    assert_eq!(
        std::fs::read_to_string(installed.join("README.md")).unwrap(),
        read("README.md")
    );
}
