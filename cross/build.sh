#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds a static musl binary for each target named, or for every target of targets.txt.
# usage: build.sh [--package NAME] [TARGET…]     NAME is kmote unless told; prints the path of each binary
set -eu

cross=$(cd "$(dirname "$0")" && pwd)
cache=${KMOTE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kmote}
package=kmote
if [ "${1:-}" = --package ]; then
    package=$2
    shift 2
fi
# shellcheck disable=SC2046 # targets are words
[ $# -gt 0 ] || set -- $(awk '!/^#/ { print $1 }' "$cross/targets.txt")

# The first of these programs that this machine has.
first_of() {
    for program; do
        if command -v "$program"; then return; fi
    done
    echo "build.sh: none of these is installed: $*" >&2
    exit 1
}

sysroot=$(rustc --print sysroot)
host=$(rustc -vV | awk '/^host:/ { print $2 }')
version=$(rustc --version | awk '{ print $2 }')
CROSS_CLANG=$(first_of "${CLANG:-clang-19}" clang)
CROSS_LLD=$(first_of "$sysroot/lib/rustlib/$host/bin/gcc-ld/ld.lld" ld.lld-19 ld.lld)
ar=$(first_of llvm-ar-19 llvm-ar)
objcopy=$(first_of llvm-objcopy-19 llvm-objcopy)
export CROSS_CLANG CROSS_LLD

# cargo looks for std's sources in the sysroot, unless this variable, which is its own tests', names another tree.
std_sources() {
    [ -e "$sysroot/lib/rustlib/src/rust/library/Cargo.lock" ] ||
        export __CARGO_TESTS_ONLY_SRC_ROOT="$cache/rust-src-$version/library"
}

# No path of this machine in the binary: neither the tree's nor cargo's, std's or the user's.
remap() {
    printf ' --remap-path-prefix=%s' "$(dirname "$cross")=kmote" "${CARGO_HOME:-$HOME/.cargo}=cargo" \
        "$sysroot/lib/rustlib/src/rust=rust" "$(readlink -f "$cache/rust-src-$version" || echo "$cache")=rust"
}

# Of kmote only, since tests print much: it prints nothing by Debug, but its dependencies and std bring the code along;
# no rule of kmote ends in a panic, and what does in spite of them ends it at once, without the 35 KB that say where; and
# not position-independent: 12 KB, and the rows stay in the file's pages, where a relocated copy is memory of its own. No
# RELRO: it pads the file, by 64 KB on arm, and musl does not protect its pages in a static program.
smallest() {
    [ "$package" != kmote ] || printf %s ' -Z fmt-debug=none -Z location-detail=none' \
        " -C relocation-model=static -C link-arg=-Wl,-z,nosectionheader,-z,norelro,--no-eh-frame-hdr$(outliner "$1" " -C llvm-args=")"
}

# libbpf and libelf are in kmote alone.
c_flags() {
    [ "$package" != kmote ] || printf %s "-fno-pic$(thumb "$1" " -mthumb")$(outliner "$1" " -mllvm ")"
}

# Code that stands in many places stands in one. Not on arm: a function that LLVM has made of such code and makes smaller
# in a second run may call and then go on to another one, with the way back lost (read in the code at which kmote by LLVM 22
# ended by SIGSEGV on armhf), and not on mips: LLVM has it not.
outliner() { # TARGET OPTION
    case $1 in
    arm* | mips*) ;;
    *) printf %s "$2-enable-machine-outliner=always$2-machine-outliner-reruns=3" ;;
    esac
}

# Arm has a short form of its instructions.
thumb() { # TARGET OPTION
    case $1 in armv7*) printf %s "$2" ;; esac
}

panics() {
    [ "$package" != kmote ] || printf '%s' '-Z panic-immediate-abort --config profile.release.panic="immediate-abort"'
}

# libunwind.a, which std's linking asks for. Renamed into place, because two builds may share the cache.
archive_unwind() {
    new=$(mktemp -d "$CROSS_INPUTS/unwind.XXXXXX")
    "$cross/cc.sh" -Oz -c "$cross/unwind.c" -o "$new/unwind.o"
    "$ar" rcsD "$new/libunwind.a" "$new/unwind.o"
    mv "$new/libunwind.a" "$CROSS_INPUTS/libunwind.a"
    rm -r "$new"
}

# The same code without the note that it passes floating-point numbers in registers of the coprocessor, which lld does not
# link with ours, that has none: kmote calls no function with such a number, and dist.sh looks for what is left of them.
soften_musl() { # TARGET
    case $1 in mips*) ;; *) return 0 ;; esac
    new=$(mktemp -d "$CROSS_INPUTS/soft.XXXXXX")
    for file in "$CROSS_INPUTS"/musl/usr/lib/*/*crt*.o "$CROSS_INPUTS"/musl/usr/lib/*/lib*.a; do
        "$objcopy" --remove-section=.MIPS.abiflags --remove-section=.gnu.attributes "$file" "$new/${file##*/}"
    done
    rm -rf "$CROSS_INPUTS/soft"
    mv -T "$new" "$CROSS_INPUTS/soft"
}

build() { # TARGET
    "$cross/fetch.sh" "$1"
    std_sources
    CROSS_TARGET=$1 CROSS_INPUTS=$cache/$1
    export CROSS_TARGET CROSS_INPUTS
    archive_unwind
    soften_musl "$1"
    small=$(echo "$1" | tr - _)
    capital=$(echo "$small" | tr '[:lower:]' '[:upper:]')
    # std is built too, which stable cargo only does when told that it may; the flags are its own for small programs.
    # shellcheck disable=SC2046 # options are words
    env RUSTC_BOOTSTRAP=1 "CC_$small=$cross/cc.sh" "CFLAGS_$small=$(c_flags "$1")" "AR_$small=$ar" "CARGO_TARGET_${capital}_LINKER=$cross/cc.sh" \
        "CARGO_TARGET_${capital}_RUSTFLAGS=-C target-feature=+crt-static$(thumb "$1" ",+thumb-mode") -C link-self-contained=no -C force-unwind-tables=no$(smallest "$1")$(remap)" \
        cargo build --manifest-path "$cross/../Cargo.toml" --locked --release --package "$package" --target "$1" \
        $(panics) -Z build-std=std,panic_abort -Z build-std-features=optimize_for_size >&2
    echo "$(target_directory)/$1/release/$package"
}

target_directory() {
    echo "${CARGO_TARGET_DIR:-$(dirname "$cross")/target}"
}

for target; do build "$target"; done
