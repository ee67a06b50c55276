#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds kmote for a target (x86_64 when none is named) here, and once more from a copy of the tree in another place with a
# target directory of its own; fails unless both binaries are the same, byte by byte.
# usage: test-reproducible.sh [TARGET]
set -eu

target=${1:-x86_64-unknown-linux-musl}
tree=$(cd "$(dirname "$0")/.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# Of what git knows, as it lies there now: changes that are not committed are part of it.
mkdir -p "$place/another/tree"
(cd "$tree" && git ls-files -z | tar --create --null --ignore-failed-read --files-from -) |
    tar --extract -C "$place/another/tree"

here=$("$tree/cross/build.sh" "$target")
there=$(CARGO_TARGET_DIR=$place/target "$place/another/tree/cross/build.sh" "$target")
sha256sum "$here" "$there"
cmp "$here" "$there"
