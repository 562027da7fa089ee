#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# nfs-down.sh PORT: stop what nfs-up.sh started on PORT and nothing else, told by the namespace of
# its mounts: also what a killed server left. Removes the instance.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -eq 1 ] || die "usage: nfs-down.sh PORT"
port=$1
inst=$cache/nfs-inst-$port
[ -d "$inst" ] || { echo "nfs-down.sh: nothing runs on port $port"; exit 0; }
root=$(sed -n 's/^NFS_ROOT=//p' "$inst/env")
watcher=$(sed -n 's/^WATCHER=//p' "$inst/env")
mounts=$(sed -n 's/^NFS_MOUNTS=//p' "$inst/env")

nfs_procs() { # zombies have no namespace
    local p
    [ -n "$mounts" ] && [ "$mounts" != "$(readlink /proc/self/ns/mnt)" ] || return 0
    for p in /proc/[0-9]*; do
        if [ "$(readlink "$p/ns/mnt" 2> /dev/null)" = "$mounts" ]; then echo "${p#/proc/}"; fi
    done
}
end_all 6 nfs_procs
rm -rf --one-file-system "$root/inst/$port" "$inst"
end_watcher "$watcher"
