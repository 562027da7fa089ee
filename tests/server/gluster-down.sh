#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# gluster-down.sh ADDRESS: stop what gluster-up.sh started on ADDRESS and nothing else: glusterd,
# bricks, self-heal daemons and FUSE clients, told by the instance folder in their command line, so
# also those that a killed gluster-up.sh left. Unmounts its mounts and removes the instance folder.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=wait.sh
. "$(dirname "$0")/wait.sh"

[ $# -eq 1 ] || die "usage: gluster-down.sh ADDRESS"
inst=$cache/gluster-$1
[ -d "$inst" ] || { echo "gluster-down.sh: nothing runs on $1"; exit 0; }

gluster_procs() {
    local f p
    # shellcheck disable=SC2013
    for f in $(grep -als -- "$inst/" /proc/[0-9]*/cmdline); do
        p=${f#/proc/}
        p=${p%/cmdline}
        case $(comm "$p") in gluster*) echo "$p" ;; esac
    done
}
unmount_all() { # FOLDER
    local at
    for at in "$1"/*/ "$1"; do
        while mountpoint -q "$at"; do umount "$at" 2>/dev/null || umount -l "$at"; done
    done
}
killed() { # false, while there still was somebody
    local left
    mapfile -t left < <(gluster_procs)
    [ ${#left[@]} -gt 0 ] || return 0
    kill -KILL "${left[@]}" 2>/dev/null || :
    return 1
}
sockets() { # that they made in a folder of all servers; they are named after the instance
    local p
    for p in $(gluster_procs); do
        tr '\0' '\n' < "/proc/$p/cmdline" | grep -x '/var/run/gluster/[0-9a-f]*\.socket' || :
    done
}

mapfile -t made < <(sockets)
unmount_all "$inst/mnt"
# What they keep is removed: they need not end well.
wait_until 10 killed || die "still running: $(gluster_procs)"
[ ${#made[@]} = 0 ] || rm -f "${made[@]}"
unmount_all "$inst/bricks"
watcher=$(sed -n 's/^WATCHER=//p' "$inst/env" 2>/dev/null || :)
rm -rf --one-file-system "$inst"
end_watcher "$watcher"
