#!/usr/bin/env bash
# Builds the program for a target and puts the archive and the Python wheel of a release into a directory:
#   action/archive.sh TARGET DIRECTORY
# Whoever builds the same commit with the same Rust for the same target gets the same files within the archive.
set -euo pipefail

target=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
# Paths of the machine that builds don't belong in what it builds.
export CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$PWD=sayonce"$'\x1f'"--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
cargo build --release --locked --target "$target"

directory=${CARGO_TARGET_DIR:-target}/$target/release
program=$directory/sayonce
[ -e "$program" ] || program=$program.exe
version=$(awk -F '"' '/^version = / { print $2; exit }' Cargo.toml)
name=sayonce-v$version-$target

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/$name/completions" "$scratch/$name/man"
cp "$program" README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$scratch/$name/"
"$program" man "$scratch/$name/man"
for shell in bash elvish fish powershell zsh; do
    "$program" completions "$shell" >"$scratch/$name/completions/sayonce.$shell"
done
order=()
if tar --version | grep -q GNU; then
    order=(--sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH")
fi
tar ${order[@]+"${order[@]}"} -C "$scratch" -cf - "$name" | gzip -n -9 >"$out/$name.tar.gz"

# The wheel carries the same program, for `uvx sayonce rehearse` and `pipx install sayonce`.
python3 -m venv "$scratch/venv"
bin=$scratch/venv/bin
[ -e "$bin" ] || bin=$scratch/venv/Scripts
"$bin/python" -m pip install --quiet 'maturin>=1.9,<2' wheel
"$bin/maturin" build --release --locked --target "$target" --compatibility linux --out "$scratch/wheel"
case $target in
    # Linked statically, it runs with either C library.
    *-linux-musl) "$bin/python" -m wheel tags --remove --platform-tag "manylinux_2_17_${target%%-*}.musllinux_1_1_${target%%-*}" "$scratch"/wheel/*.whl ;;
esac
cp "$scratch"/wheel/*.whl "$out/"
ls -l "$out"
