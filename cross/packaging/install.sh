#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs kmote from this tarball where there is no package manager for it; `install.sh remove` takes all of it away.
# $DESTDIR stands before every path.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=${DESTDIR:-}
plugins=${NETDATA_PLUGINS_DIR:-}
for directory in /usr/libexec/netdata/plugins.d /usr/lib/netdata/plugins.d /opt/netdata/usr/libexec/netdata/plugins.d; do
    [ -n "$plugins" ] || { [ ! -d "$root$directory" ] || plugins=$directory; }
done

if [ "${1:-install}" = remove ]; then
    rm -f "$root/usr/sbin/kmote" "$root/usr/share/man/man8/kmote.8"
    [ -z "$plugins" ] || rm -f "$root$plugins/kmote.plugin"
    exit 0
fi

mkdir -p "$root/usr/sbin" "$root/usr/share/man/man8"
cp "$here/kmote" "$root/usr/sbin/kmote"
chmod 0755 "$root/usr/sbin/kmote"
cp "$here/kmote.8" "$root/usr/share/man/man8/kmote.8"
echo "installed /usr/sbin/kmote; \`kmote check\` says what it can count here"
if [ -n "$plugins" ]; then
    ln -sf /usr/sbin/kmote "$root$plugins/kmote.plugin"
    echo "linked $plugins/kmote.plugin; Netdata must run it as root, or with CAP_BPF and CAP_PERFMON"
fi
