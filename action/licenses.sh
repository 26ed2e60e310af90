#!/usr/bin/env bash
# Writes the licences of all that is compiled into the program to THIRD-PARTY-LICENSES, which archives and wheels carry:
#   action/licenses.sh [--check]
# With --check it says how the file differs from what would be written, and fails if it does.
# Needs cargo-about, of this very version, so that the same commit gives the same file.
set -euo pipefail
version=0.9.3
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ "$(cargo about --version 2>/dev/null)" != "cargo-about $version" ]; then
    echo "this needs cargo-about $version: cargo install --locked --features cli cargo-about@$version" >&2
    exit 1
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cargo fetch --locked --quiet
# The texts are those in the crates themselves (`--frozen`): nothing is asked of the network.
cargo about generate --fail --frozen --config action/about.toml --output-file "$scratch/crates" action/about.hbs

cargo metadata --format-version 1 --frozen >"$scratch/metadata"
python3 - "$scratch" <<'PYTHON'
import json, os, re, sys

scratch = sys.argv[1]
rule = "=" * 80 + "\n"

def read(path):
    with open(path, encoding="utf-8", newline=None) as file:
        text = re.sub(r"[ \t\f]+$", "", file.read(), flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"

head, *sections = read(os.path.join(scratch, "crates")).split(rule)
written = [head]
for section in sections:
    name, used_by, text = section.split("\n\n", 2)
    # The program's own licences stand beside this file, and what its tests bring along is not compiled in.
    crates = sorted({line for line in used_by.splitlines() if line != "- sayonce"})
    if crates:
        written.append("\n\n".join([name, "\n".join(crates), text.strip("\n")]) + "\n\n")
# A crate's licence is not that of the C library in it. This file has also those of what libgit2 itself brings along.
packages = json.load(open(os.path.join(scratch, "metadata"), encoding="utf-8"))["packages"]
[manifest] = [package["manifest_path"] for package in packages if package["name"] == "libgit2-sys"]
written.append("libgit2, in libgit2-sys\n\n" + read(os.path.join(os.path.dirname(manifest), "libgit2", "COPYING")))
with open(os.path.join(scratch, "THIRD-PARTY-LICENSES"), "w", encoding="utf-8", newline="\n") as file:
    file.write(rule.join(written))
PYTHON

if [ "${1:-}" = --check ]; then
    diff -u THIRD-PARTY-LICENSES "$scratch/THIRD-PARTY-LICENSES"
else
    cp "$scratch/THIRD-PARTY-LICENSES" THIRD-PARTY-LICENSES
fi
