#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes a Debian package and a tarball of each static binary in dist/ (of those targets that are named, else of all).
# usage: package.sh [TARGET…]
set -eu
umask 022

cross=$(cd "$(dirname "$0")" && pwd)
dist=$(dirname "$cross")/dist
packaging=$cross/packaging
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$(dirname "$cross")/Cargo.toml" | head -n 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The same commit makes the same bytes: every file is as old as the commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$cross" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
[ $# -gt 0 ] || set -- $(awk '!/^#/ { print $1 }' "$cross/targets.txt")

# The manual and completions are the program's own: any kmote that runs here writes them.
runs_here() {
    for candidate in "$dist"/kmote-*-linux-musl*; do
        if "$candidate" --version >/dev/null 2>&1; then
            echo "$candidate"
            return
        fi
    done
    echo "package.sh: none of dist/kmote-* runs on this machine, so the manual cannot be written" >&2
    exit 1
}

package() { # TARGET
    binary=$dist/kmote-$1
    [ -f "$binary" ] || { echo "package.sh: $binary is missing: make dist builds it" >&2; exit 1; }
    architecture=$(awk -v target="$1" '$1 == target { print $3 }' "$cross/targets.txt")
    root=$work/$architecture
    mkdir -p "$root/DEBIAN"
    install -D -m 0755 "$binary" "$root/usr/sbin/kmote"
    install -D -m 0750 "$binary" "$root/usr/lib/kmote/kmote.plugin"
    mkdir -p "$root/usr/lib/netdata/plugins.d"
    ln -s ../../kmote/kmote.plugin "$root/usr/lib/netdata/plugins.d/kmote.plugin"
    install -D -m 0644 "$packaging/kmote.conf" "$root/etc/netdata/kmote.conf"
    install -D -m 0644 "$packaging/kmote.service" "$root/lib/systemd/system/kmote.service"
    install -D -m 0644 "$packaging/netdata.conf" "$root/lib/systemd/system/netdata.service.d/kmote.conf"
    install -D -m 0644 "$work/kmote.8.gz" "$root/usr/share/man/man8/kmote.8.gz"
    install -D -m 0644 "$work/kmote.bash" "$root/usr/share/bash-completion/completions/kmote"
    install -D -m 0644 "$(dirname "$cross")/LICENSE" "$root/usr/share/doc/kmote/copyright"
    install -m 0755 "$packaging/postinst" "$packaging/postrm" "$root/DEBIAN/"
    echo /etc/netdata/kmote.conf >"$root/DEBIAN/conffiles"
    # Netdata may come later, and with it the group that may run the plugin.
    echo "interest-noawait /usr/lib/netdata" >"$root/DEBIAN/triggers"
    cat >"$root/DEBIAN/control" <<EOF
Package: kmote
Version: $version
Architecture: $architecture
Section: admin
Priority: optional
Maintainer: kmote maintainers <kmote@localhost>
Depends: libcap2-bin
Enhances: netdata, prometheus-node-exporter
Installed-Size: $(du -sk --apparent-size "$root" | cut -f 1)
Description: tiny collector of kernel metrics by eBPF
 Counts page-cache hits, processes, files, sync, swap, interrupts, disk and
 filesystem latency with eBPF, for Netdata (as an external plugin, under the
 chart ids of ebpf.plugin), for Prometheus, and for people.
EOF
    find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group --build -Zxz "$root" "$dist/kmote_${version}_$architecture.deb" >/dev/null
}

tarball() { # TARGET
    name=kmote-$version-$1
    mkdir -p "$work/$name"
    install -m 0755 "$dist/kmote-$1" "$work/$name/kmote"
    install -m 0755 "$packaging/install.sh" "$packaging/kmote.init" "$work/$name/"
    install -m 0644 "$work/kmote.8" "$packaging/kmote.conf" "$packaging/kmote.service" "$(dirname "$cross")/LICENSE" "$work/$name/"
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime "@$SOURCE_DATE_EPOCH" -cf - "$name" |
        gzip -9n >"$dist/$name.tar.gz"
}

native=$(runs_here)
"$native" man >"$work/kmote.8"
gzip -9nk "$work/kmote.8"
"$native" completions bash >"$work/kmote.bash"
for target; do
    package "$target"
    tarball "$target"
done
(cd "$dist" && rm -f SHA256SUMS && sha256sum kmote* >SHA256SUMS && cat SHA256SUMS)
