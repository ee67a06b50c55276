#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Proves that the matrix can fail: hooks dead namesakes in a copy of the tree and expects the runner to name the rows.
# Both are still in 6.12, a program attaches to them, and nothing that the modules count calls them.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cd "$root"
git ls-files -z | xargs -0 cp --parents -t "$copy"
# A target folder of its own, so that no wrong kmote stays behind where the right one is looked for.
CARGO_TARGET_DIR=$copy/target
export CARGO_TARGET_DIR

# mutate MODULE SED-SCRIPT ROW: by each mechanism a row that ends in ROW must have failed.
mutate() {
    row=core/src/modules/$1.rs
    sed -i "$2" "$copy/$row"
    if cmp -s "$copy/$row" "$row"; then
        echo "mutation.sh: nothing was changed in $row" >&2
        exit 2
    fi
    status=0
    cargo run --quiet --release --manifest-path "$copy/Cargo.toml" -p qemu-tests -- --kernel 6.12 --only "$1" \
        >"$copy/table" 2>/dev/null || status=$?
    cp "$row" "$copy/$row"
    grep "FAILED" "$copy/table" || true
    tail -n 1 "$copy/table"
    for mechanism in fentry kprobe best; do
        if [ "$status" -ne 1 ] || ! grep -q "$1 *$mechanism .* $3  *FAILED" "$copy/table"; then
            echo "mutation.sh: $1: the dead hook went unnoticed by $mechanism (status $status)" >&2
            exit 1
        fi
    done
    echo "mutation.sh: $1: the runner failed, as it must, and named the rows"
}

# Pages come by filemap_add_folio; what is left is add_to_page_cache_lru.
mutate cachestat '/("filemap_add_folio"),/d' 'added  *96  *0'
# close(2) comes by its own function.
mutate fd 's/("__x64_sys_close"),/("close_fd"),/' 'close  *5  *0'
