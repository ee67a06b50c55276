#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the Debian package beside Debian's netdata, sees its charts in a Netdata that runs as its own user, purges the
# package, and sees that nothing is left. Changes this machine while it runs: for CI. usage: test-package.sh PACKAGE.deb
set -euo pipefail

package=$1
passed=0 failed=0
work=$(mktemp -d)
daemon=""
finish() {
    [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
    dpkg --purge kmote >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap finish EXIT

check() { # WHAT COMMAND…
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "ok: $what"
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
    fi
}

# The answer to a request of Netdata's API.
get() { # PATH
    exec 3<>"/dev/tcp/127.0.0.1/$port" || return 1
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$1" >&3
    cat <&3
    exec 3>&-
}

shows_kmote() {
    for _ in $(seq 40); do
        get "/api/v1/charts" 2>/dev/null | grep -q '"plugin": *"kmote.plugin"' && return 0
        sleep 1
    done
    tail -n 40 "$work/log/error.log" "$work/log/stderr"
    return 1
}

runs_as_netdata() {
    [ "$(ps -o user= -C kmote.plugin | sort -u | tr -d ' ')" = netdata ]
}

dpkg --install "$package" >/dev/null
files=$(dpkg --listfiles kmote | while read -r file; do [ -d "$file" ] || echo "$file"; done)
check "the program runs" kmote --version
check "the plugin is for Netdata's group only" [ "$(stat -c %a:%U:%G /usr/lib/kmote/kmote.plugin)" = 750:root:netdata ]

port=$((20000 + RANDOM % 10000))
mkdir "$work"/{cache,lib,log,run,conf}
cat >"$work/conf/netdata.conf" <<EOF
[global]
    run as user = netdata
[directories]
    config = $work/conf
    cache = $work/cache
    lib = $work/lib
    log = $work/log
    lock = $work/run
[db]
    mode = ram
[web]
    bind to = 127.0.0.1
    default port = $port
[ml]
    enabled = no
[cloud]
    enabled = no
[registry]
    enabled = no
EOF
touch "$work/conf/.opt-out-from-anonymous-statistics"
chown -R netdata: "$work"
chmod 755 "$work"
DISABLE_TELEMETRY=1 netdata -D -c "$work/conf/netdata.conf" -P "$work/run/netdata.pid" </dev/null >"$work/log/stdout" 2>"$work/log/stderr" &
daemon=$!
check "Netdata shows its charts with no further step" shows_kmote
check "the plugin runs as Netdata's user" runs_as_netdata
kill "$daemon"
wait "$daemon" || true
daemon=""
check "the plugin ends with Netdata" bash -c 'for _ in 1 2 3 4 5; do pgrep -x kmote.plugin >/dev/null || exit 0; sleep 1; done; exit 1'

dpkg --purge kmote >/dev/null
left=$(for file in $files /var/lib/kmote; do [ ! -e "$file" ] || echo "$file"; done)
check "nothing is left after a purge" [ -z "$left" ]
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
