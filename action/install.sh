#!/usr/bin/env bash
# Gets the program for the action's last step and names it in the step's outputs. Everything comes in by environment:
#   SAYONCE_VERSION     empty (the release of this very action), `source`, or `installed`
#   SAYONCE_ACTION      the action's own directory
#   SAYONCE_REPOSITORY  owner/name of the action; empty where it is used from a checkout
#   SAYONCE_SERVER      the host that has the releases
# An archive is trusted by the checksum that stands beside this script, so a tag (better: a commit) names the program too.
set -euo pipefail

notice() { printf '::notice title=sayonce::%s\n' "$*"; }
fail() { printf '::error title=sayonce::%s\n' "$*"; exit 1; }

# A path as bash has it: on Windows the runner's variables hold backslashes.
unix() { if command -v cygpath >/dev/null; then cygpath -u "$1"; else printf '%s\n' "$1"; fi; }

action=$(unix "$SAYONCE_ACTION")
scratch=$(unix "${RUNNER_TEMP:?it is set by the runner}")/sayonce
mkdir -p "$scratch"

finish() {
    "$1" --version || fail "$1 does not run on this machine"
    printf 'program=%s\n' "$1" >>"$GITHUB_OUTPUT"
    exit 0
}

build() {
    command -v cargo >/dev/null ||
        fail "building sayonce needs Rust, and there is no cargo here: install Rust before this step, or use a released version of the action"
    local target=${CARGO_TARGET_DIR:-$scratch/target}
    echo "::group::Building sayonce"
    CARGO_TARGET_DIR=$target cargo build --release --locked --manifest-path "$action/Cargo.toml" --bin sayonce ||
        fail "sayonce could not be built: see the log above"
    echo "::endgroup::"
    local program=$target/release/sayonce
    [ -e "$program" ] || program=$program.exe
    finish "$program"
}

case ${SAYONCE_VERSION:-} in
    "") ;;
    source) build ;;
    installed)
        command -v sayonce >/dev/null || fail "version is 'installed', and there is no sayonce on the path"
        finish "$(command -v sayonce)"
        ;;
    *) fail "version is '$SAYONCE_VERSION', and may be empty, 'source', or 'installed'. For another release name it in 'uses:', as in ${SAYONCE_REPOSITORY:-sayonce/sayonce}@v0.1.0: its checksums stand there" ;;
esac

case ${RUNNER_OS:-}-${RUNNER_ARCH:-} in
    Linux-X64) target=x86_64-unknown-linux-musl ;;
    Linux-ARM64) target=aarch64-unknown-linux-musl ;;
    macOS-X64) target=x86_64-apple-darwin ;;
    macOS-ARM64) target=aarch64-apple-darwin ;;
    Windows-X64) target=x86_64-pc-windows-msvc ;;
    *) target=none ;;
esac

read -r checksum archive < <(grep -E "^[0-9a-f]{64}  sayonce-v[^ ]+-$target\.tar\.gz$" "$action/action/checksums.txt" || echo) || true
if [ -z "${archive:-}" ]; then
    notice "there is no released program for this version of the action on ${RUNNER_OS:-this system} ${RUNNER_ARCH:-}: it is built from source, which takes some minutes"
    build
fi

tag=${archive#sayonce-}
tag=${tag%"-$target.tar.gz"}
server=${SAYONCE_SERVER:-https://github.com}
url=$server/${SAYONCE_REPOSITORY:-sayonce/sayonce}/releases/download/$tag/$archive
if ! curl --proto "=${server%%:*},https" --fail --silent --show-error --location --retry 3 --max-time 120 --output "$scratch/$archive" "$url"; then
    notice "$url could not be fetched: the program is built from source, which takes some minutes"
    build
fi

if command -v sha256sum >/dev/null; then
    found=$(sha256sum "$scratch/$archive")
else
    found=$(shasum -a 256 "$scratch/$archive")
fi
[ "${found%% *}" = "$checksum" ] ||
    fail "$url has the SHA-256 ${found%% *}, and this version of the action expects $checksum: it is not run. Tell the developers"

tar -xzf "$scratch/$archive" -C "$scratch"
program=$scratch/${archive%.tar.gz}/sayonce
[ -e "$program" ] || program=$program.exe
finish "$program"
