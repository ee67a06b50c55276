#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Fetches what clang and rustc lack for one target: musl's headers and libc.a, the kernel's user headers, and the sources
# of Rust's std where rustup has none. Debian's packages, checked by apt's signatures and by debian.sha256, unpacked and
# never installed. The system's apt lists are left alone: each suite and architecture has a private apt tree in the cache.
# usage: fetch.sh RUST_TARGET    prints nothing; the result is $cache/<target>/{musl,kernel} and, if wanted, $cache/rust-src
set -eu

cross=$(cd "$(dirname "$0")" && pwd)
cache=${KMOTE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kmote}

die() {
    echo "fetch.sh: $*" >&2
    exit 1
}

# The mirror this machine already uses for its own Debian packages, as apt understands its configuration.
debian_mirror() {
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && [ "$ID" = debian ] && echo "$VERSION_CODENAME") || return 0
    # shellcheck disable=SC2016 # apt's own variables
    apt-get indextargets --no-release-info --format '$(REPO_URI)' \
        'Identifier: Packages' 'Component: main' "Release: $codename" | head -n 1
}

apt_private() { # SUITE ARCHITECTURE APT_COMMAND...
    architecture=$2
    tree=$cache/apt/$1-$2
    shift 2
    "$@" \
        -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture" \
        -o "Dir::State=$tree/state" -o "Dir::State::status=$tree/status" -o "Dir::Cache=$tree/cache" \
        -o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$tree/sources" \
        -o "Dir::Etc::Preferences=/dev/null" -o "Dir::Etc::PreferencesParts=/dev/null" \
        -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none
}

# Makes the private apt tree of a suite and an architecture, once a day at most.
apt_tree() { # SUITE ARCHITECTURE
    tree=$cache/apt/$1-$2
    [ -z "$(find "$tree/fresh" -mtime -1 2>/dev/null)" ] || return 0
    mirror=${KMOTE_DEBIAN_MIRROR:-$(debian_mirror)}
    [ -n "$mirror" ] || die "apt knows no mirror of Debian; name one in \$KMOTE_DEBIAN_MIRROR"
    mkdir -p "$tree/sources" "$tree/state/lists/partial" "$tree/cache/archives/partial"
    : >"$tree/status"
    cat >"$tree/sources/debian.sources" <<END
Types: deb
URIs: $mirror
Suites: $1
Components: main
Targets: Packages
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
    echo "fetch.sh: reading the package list of $1, $2" >&2
    apt_private "$1" "$2" apt-get -q update >&2
    touch "$tree/fresh"
}

# A file that debian.sha256 names must be that file; another version is good if apt's signature is.
check_pin() { # FILE
    name=$(basename "$1")
    pinned=$(awk -v name="$name" '$2 == name { print $1 }' "$cross/debian.sha256")
    if [ -z "$pinned" ]; then
        echo "fetch.sh: $name is not in debian.sha256; its signature is good" >&2
    else
        echo "$pinned  $1" | sha256sum --check --quiet - || die "$name is not the file that debian.sha256 names"
    fi
}

# Downloads PACKAGE[=VERSION] and unpacks it; the directory is named like the file.
unpack() { # SUITE ARCHITECTURE PACKAGE
    apt_tree "$1" "$2"
    download=$(mktemp -d "$cache/download.XXXXXX")
    (cd "$download" && apt_private "$1" "$2" apt-get -q download "$3" >&2)
    file=$(find "$download" -name '*.deb')
    [ -n "$file" ] || die "apt downloaded nothing for $3"
    check_pin "$file"
    unpacked=$cache/unpacked/$(basename "$file" .deb)
    if [ ! -d "$unpacked" ]; then
        mkdir -p "$cache/unpacked"
        dpkg-deb --extract "$file" "$download/tree"
        mv "$download/tree" "$unpacked"
    fi
    rm -r "$download"
}

fetch_target() { # RUST_TARGET
    row=$(awk -v target="$1" '$1 == target' "$cross/targets.txt")
    [ -n "$row" ] || die "$1 is not in targets.txt"
    architecture=$(echo "$row" | awk '{ print $3 }') suite=$(echo "$row" | awk '{ print $4 }')
    mkdir -p "$cache/$1"
    if [ ! -d "$cache/$1/musl/" ]; then
        unpack "$suite" "$architecture" musl-dev
        ln -sfn "$unpacked" "$cache/$1/musl"
    fi
    if [ ! -d "$cache/$1/kernel/" ]; then
        unpack "$suite" "$architecture" linux-libc-dev
        ln -sfn "$unpacked" "$cache/$1/kernel"
    fi
}

# std is built from the sources of exactly this rustc: rustup's component, else Debian's package of the same version.
fetch_rust_src() {
    version=$(rustc --version | awk '{ print $2 }')
    library=lib/rustlib/src/rust/library/Cargo.lock
    sysroot=$(rustc --print sysroot)
    [ ! -e "$sysroot/$library" ] || return 0
    [ ! -e "$cache/rust-src-$version/library/Cargo.lock" ] || return 0
    if command -v rustup >/dev/null && rustup component add rust-src >&2; then return 0; fi
    host=$(dpkg --print-architecture)
    apt_tree trixie-backports "$host"
    package=$(apt_private trixie-backports "$host" apt-cache madison rust-src | awk -v version="$version" \
        '$3 ~ "^" version "[+-]" { print $3; exit }')
    [ -n "$package" ] || die "neither rustup nor Debian has rust-src $version"
    unpack trixie-backports "$host" "rust-src=$package"
    ln -sfn "$unpacked/usr/src/rustc-$version" "$cache/rust-src-$version"
}

mkdir -p "$cache"
fetch_target "$1"
fetch_rust_src
