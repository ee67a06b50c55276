#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds kmote for every target (or those named) into dist/, checks that each binary is what its name says, and writes
# SHA256SUMS. Fails if one is not static, not of its architecture, over the budget, or needs a coprocessor that not all
# chips of its kind have.
# usage: dist.sh [TARGET…]
set -eu

cross=$(cd "$(dirname "$0")" && pwd)
dist=$(dirname "$cross")/dist
# shellcheck disable=SC2046 # targets are words
[ $# -gt 0 ] || set -- $(awk '!/^#/ { print $1 }' "$cross/targets.txt")

# A static binary asks for no interpreter and for no library.
is_static() { # BINARY
    ! readelf --wide --program-headers --dynamic "$1" | grep -q -e INTERP -e NEEDED
}

# Many chips of MIPS have no floating-point unit, and their kernels nothing that stands in for it.
needs_no_fpu() { # TARGET BINARY
    case $1 in mips*) ;; *) return 0 ;; esac
    code=$("${OBJDUMP:-llvm-objdump-19}" --disassemble --no-show-raw-insn "$2")
    echo "$code" | grep -q 'jr.*\$ra' && ! echo "$code" | grep -q -E '\$f[0-9]|\<([cm][ft]c1|bc1[ft])\>'
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
    read -r _ _ _ _ _ _ wanted most _ <<END
$(awk -v target="$1" '$1 == target' "$cross/targets.txt")
END
    bytes=$(wc -c <"$2")
    static=0 architecture=0 budget=0 fpu=0
    is_static "$2" || static=1
    [ "$(architecture "$2")" = "$wanted" ] || architecture=1
    [ "$bytes" -le "$most" ] || budget=1
    needs_no_fpu "$1" "$2" || fpu=1
    printf '%-32s %8d  %-6s  %-12s  %-6s  %s\n' "$1" "$bytes" \
        "$(verdict $static)" "$(verdict $architecture)" "$(verdict $fpu)" "$(verdict $budget) ($most)"
    [ $((static + architecture + budget + fpu)) -eq 0 ] || failed=1
}

mkdir -p "$dist"
rm -f "$dist"/kmote-* "$dist/SHA256SUMS"
for target; do
    binary=$("$cross/build.sh" "$target")
    cp "$binary" "$dist/kmote-$target"
done

failed=0
printf '%-32s %8s  %-6s  %-12s  %-6s  %s\n' target bytes static architecture no-fpu "within the budget"
for target; do check "$target" "$dist/kmote-$target"; done
(cd "$dist" && sha256sum kmote-* >SHA256SUMS)
exit $failed
