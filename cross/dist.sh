#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds kmote for every target (or those named) into dist/, checks that each binary is what its name says, and writes
# SHA256SUMS. Fails if one is not static, not of its architecture, or over the budget.
# usage: dist.sh [TARGET…]
set -eu

BUDGET=$((512 * 1024))

cross=$(cd "$(dirname "$0")" && pwd)
dist=$(dirname "$cross")/dist
# shellcheck disable=SC2046 # targets are words
[ $# -gt 0 ] || set -- $(awk '!/^#/ { print $1 }' "$cross/targets.txt")

# A static binary asks for no interpreter and for no library.
is_static() { # BINARY
    ! readelf --wide --program-headers --dynamic "$1" | grep -q -e INTERP -e NEEDED
}

readelf() {
    command "${READELF:-llvm-readelf-19}" "$@"
}

# The ELF header's machine and class, as targets.txt has them.
architecture() { # BINARY
    readelf --file-header "$1" | awk -F': *' '/Class:/ { class = $2 } /Machine:/ { print class "," $2 }' | tr -d ' '
}

verdict() { # CONDITION-RESULT
    if [ "$1" -eq 0 ]; then echo yes; else echo NO; fi
}

check() { # TARGET BINARY
    wanted=$(awk -v target="$1" '$1 == target { print $6 }' "$cross/targets.txt")
    bytes=$(wc -c <"$2")
    static=0 architecture=0 budget=0
    is_static "$2" || static=1
    [ "$(architecture "$2")" = "$wanted" ] || architecture=1
    [ "$bytes" -le "$BUDGET" ] || budget=1
    printf '%-32s %8d  %-6s  %-12s  %s\n' "$1" "$bytes" \
        "$(verdict $static)" "$(verdict $architecture)" "$(verdict $budget)"
    [ $((static + architecture + budget)) -eq 0 ] || failed=1
}

mkdir -p "$dist"
rm -f "$dist"/kmote-* "$dist/SHA256SUMS"
for target; do
    binary=$("$cross/build.sh" "$target")
    cp "$binary" "$dist/kmote-$target"
done

failed=0
printf '%-32s %8s  %-6s  %-12s  %s\n' target bytes static architecture "within $BUDGET"
for target; do check "$target" "$dist/kmote-$target"; done
(cd "$dist" && sha256sum kmote-* >SHA256SUMS)
exit $failed
