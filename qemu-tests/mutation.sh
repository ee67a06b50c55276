#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Proves that the matrix can fail: hooks a dead namesake in a copy of the tree and expects the runner to name the rows.
# add_to_page_cache_lru is still in 6.12, a program attaches to it, and nothing calls it.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cd "$root"
git ls-files -z | xargs -0 cp --parents -t "$copy"
row=$copy/core/src/modules/cachestat.rs
sed -i '/("filemap_add_folio"),/d' "$row"
if cmp -s "$row" core/src/modules/cachestat.rs; then
    echo "mutation.sh: nothing was changed in $row" >&2
    exit 2
fi

# A target folder of its own, so that no wrong kmote stays behind where the right one is looked for.
CARGO_TARGET_DIR=$copy/target
export CARGO_TARGET_DIR
status=0
cargo run --quiet --release --manifest-path "$copy/Cargo.toml" -p qemu-tests -- --kernel 6.12 --only cachestat \
    >"$copy/table" 2>/dev/null || status=$?
grep FAILED "$copy/table" || true
tail -n 1 "$copy/table"
for mechanism in fentry kprobe; do
    if [ "$status" -ne 1 ] || ! grep -q "cachestat *$mechanism .* added  *96  *0  *FAILED" "$copy/table"; then
        echo "mutation.sh: the dead hook went unnoticed by $mechanism (status $status)" >&2
        exit 1
    fi
done
echo "mutation.sh: the runner failed, as it must, and named the rows"
