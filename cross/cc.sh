#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# clang as a cross compiler and linker for static musl binaries: C compiler of the cc crate and linker of rustc.
# build.sh sets CROSS_TARGET (a row of targets.txt), CROSS_INPUTS (what fetch.sh fetched), CROSS_CLANG and CROSS_LLD.
set -eu

read -r _ clang_target _ _ musl kernel _ _ flags <<END
$(awk -v target="$CROSS_TARGET" '$1 == target' "$(dirname "$0")/targets.txt")
END
case $flags in -) flags= ;; *) flags=$(echo "$flags" | tr , ' ') ;; esac
libraries=$CROSS_INPUTS/musl/usr/lib/$musl
# build.sh's copy for chips without floating-point registers.
[ ! -d "$CROSS_INPUTS/soft" ] || libraries=$CROSS_INPUTS/soft
headers=$CROSS_INPUTS/kernel/usr/include

# The crt that fits: crt1.o links into a static PIE without a word, and the program then dies before main.
link=yes crt=crt1.o
for argument; do
    shift
    case $argument in
    -c | -E | -S | --version) link=no ;;
    -static-pie) crt=rcrt1.o ;;
    # The cc crate's idea of the target; ours has the flags that belong to it.
    --target=*) continue ;;
    esac
    set -- "$@" "$argument"
done

if [ $link = no ]; then
    # shellcheck disable=SC2086 # the flags are words
    exec "$CROSS_CLANG" "--target=$clang_target" $flags -nostdlibinc \
        -isystem "$CROSS_INPUTS/musl/usr/include/$musl" -idirafter "$headers/$kernel" -idirafter "$headers" "$@"
fi
# Relative relocations packed (musl 1.2.4 and later apply them): 24 KB of a static PIE.
# shellcheck disable=SC2086
exec "$CROSS_CLANG" "--target=$clang_target" $flags -nostdlib -nostartfiles "--ld-path=$CROSS_LLD" \
    -Wl,--pack-dyn-relocs=relr -Wl,--icf=all -Wl,--build-id=none -Wl,-T,"$(dirname "$0")/cold.ld" \
    -L "$CROSS_INPUTS" -L "$libraries" "$libraries/$crt" "$libraries/crti.o" "$@" -lc "$libraries/crtn.o"
