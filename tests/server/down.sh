#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# down.sh PORT: stop what up.sh started on PORT and nothing else: the daemons,
# sessions and cnid_dbd, told by their root and configuration, so also those
# that a crashed daemon or a failed up.sh left, and its MariaDB. Unmounts what up.sh mounted and
# removes the instance. With AFPD_KEEP set, volumes, databases and the log stay in the root
# for the next up.sh on PORT.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=wait.sh
. "$(dirname "$0")/wait.sh"

[ $# -eq 1 ] || die "usage: down.sh PORT"
port=$1
inst=$cache/inst-$port
[ -d "$inst" ] || { echo "down.sh: nothing runs on port $port"; exit 0; }
root=$(sed -n 's/^AFPD_ROOT=//p' "$inst/env" 2>/dev/null || :)
watcher=$(sed -n 's/^WATCHER=//p' "$inst/env" 2>/dev/null || :)
mariadb=$(sed -n 's/^MARIADB_PID=//p' "$inst/env" 2>/dev/null | tail -n 1)

called() { # COMMAND_PATTERN
    local p
    for p in $(procs "$port" "$root"); do
        if [[ $(comm "$p") =~ $1 ]]; then echo "$p"; fi
    done
}
# What it wrote is removed, or recovered at the next start: it need not end well.
stop_mariadb() {
    gone() { ! grep -qsa -- "/inst/$port/mysql" "/proc/$mariadb/cmdline"; }
    gone && return
    kill -KILL "$mariadb" 2>/dev/null || :
    wait_until 5 gone || die "still running: $mariadb"
}
if [ -n "$root" ] && [ -d "$root" ]; then
    end_all 3 called '^afpd$'
    end_all 3 called .
    [ -z "$mariadb" ] || stop_mariadb
    dir=$root/inst/$port
    mounts=("$dir/vol1")
    [ -n "${AFPD_KEEP:-}" ] || mounts+=("$dir") # in memory nothing stays without it
    for at in "${mounts[@]}"; do
        while mountpoint -q "$at"; do
            umount "$at" 2>/dev/null || umount -l "$at"
        done
    done
    [ -n "${AFPD_KEEP:-}" ] || rm -rf --one-file-system "$dir"
fi
rm -rf "$inst"
end_watcher "$watcher"
