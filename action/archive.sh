#!/usr/bin/env bash
# Builds the program for a target and puts the archive and the Python wheel of a release into a directory:
#   action/archive.sh TARGET DIRECTORY [PROGRAM]
# With PROGRAM nothing is built: that file is packed, and there is no wheel.
#
# Whoever builds the same commit with the same Rust for the same target gets the same archive: the times are the commit's, and
# neither owner, permissions, nor order come from the machine that packs.
set -euo pipefail

target=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
given=${3:-}
[ -z "$given" ] || given=$(cd "$(dirname "$given")" && pwd)/$(basename "$given")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH
# GNU's and BSD's own ways to say the same.
day=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M.%S 2>/dev/null || date -u -r "$SOURCE_DATE_EPOCH" +%Y%m%d%H%M.%S)

if [ -n "$given" ]; then
    program=$given
else
    # Paths of the machine that builds don't belong in what it builds.
    export CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$PWD=sayonce"$'\x1f'"--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
    # Nor does it depend on which libraries that machine has: those that come with the crates are taken.
    export LIBGIT2_NO_PKG_CONFIG=1 LIBZ_SYS_STATIC=1
    cargo build --release --locked --target "$target"
    program=${CARGO_TARGET_DIR:-target}/$target/release/sayonce
    [ -e "$program" ] || program=$program.exe
fi
version=$(awk -F '"' '/^version = / { print $2; exit }' Cargo.toml)
name=sayonce-v$version-$target
suffix=
case $target in *-windows-*) suffix=.exe ;; esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
packed=$scratch/$name
mkdir -p "$packed/completions" "$packed/man"
cp "$program" "$packed/sayonce$suffix"
cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE THIRD-PARTY-LICENSES "$packed/"
"$program" man "$packed/man"
# Named as each shell looks for them.
for file in bash:sayonce.bash elvish:sayonce.elv fish:sayonce.fish powershell:_sayonce.ps1 zsh:_sayonce; do
    "$program" completions "${file%%:*}" >"$packed/completions/${file#*:}"
done
find "$packed" -type f -exec chmod 644 {} + -exec env TZ=UTC touch -t "$day" {} +
chmod 755 "$packed/sayonce$suffix"
case $(tar --version) in
    *GNU*) owner=(--owner=0 --group=0 --numeric-owner) ;;
    *) owner=(--uid 0 --gid 0 --uname '' --gname '') ;;
esac
(
    cd "$scratch"
    find "$name" -type f | LC_ALL=C sort >files
    tar --format=ustar "${owner[@]}" -cf - -T files
) | gzip -n -9 >"$out/$name.tar.gz"

if [ -z "$given" ]; then
    # The wheel carries the same program, for `uvx sayonce rehearse` and `pipx install sayonce`.
    python3 -m venv "$scratch/venv"
    bin=$scratch/venv/bin
    [ -e "$bin" ] || bin=$scratch/venv/Scripts
    "$bin/python" -m pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2' wheel
    "$bin/maturin" build --release --locked --target "$target" --compatibility linux --out "$scratch/wheel"
    case $target in
        # Linked statically, it runs with either C library.
        *-linux-musl) "$bin/python" -m wheel tags --remove --platform-tag "manylinux_2_17_${target%%-*}.musllinux_1_1_${target%%-*}" "$scratch"/wheel/*.whl ;;
    esac
    cp "$scratch"/wheel/*.whl "$out/"
fi
ls -l "$out"
