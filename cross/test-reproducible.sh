#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds kmote for a target (x86_64 when none is named) twice, from copies of the tree in two places, each into a target
# directory of its own, and fails unless both binaries are the same, byte by byte.
# usage: test-reproducible.sh [TARGET]
set -eu

target=${1:-x86_64-unknown-linux-musl}
tree=$(cd "$(dirname "$0")/.." && pwd)
places=$(mktemp -d)
trap 'rm -rf "$places"' EXIT

# Of what git knows, as it lies there now: changes that are not committed are part of it.
build() { # PLACE
    mkdir -p "$1/tree"
    (cd "$tree" && git ls-files -z | tar --create --null --ignore-failed-read --files-from -) | tar --extract -C "$1/tree"
    CARGO_TARGET_DIR=$1/target "$1/tree/cross/build.sh" "$target"
}

first=$(build "$places/one")
second=$(build "$places/another/and/deeper")
sha256sum "$first" "$second"
cmp "$first" "$second"
