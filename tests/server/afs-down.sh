#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# afs-down.sh NUMBER: stop the cell that afs-up.sh started under this number and nothing else: all
# processes in its network namespace, also those that a killed afs-up.sh left. Removes the
# namespace and the instance folder.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=wait.sh
. "$(dirname "$0")/wait.sh"

[ $# -eq 1 ] || die "usage: afs-down.sh NUMBER"
inst=$cache/afs-$1
net=afpscope-afs-$1
[ -d "$inst" ] || { echo "afs-down.sh: there is no cell $1"; exit 0; }

inside() { ip netns pids "$net" 2>/dev/null || :; }
killed() { # false, while there still was somebody
    local left
    mapfile -t left < <(inside)
    [ ${#left[@]} -gt 0 ] || return 0
    kill -KILL "${left[@]}" 2>/dev/null || :
    return 1
}

# What they keep is removed: they need not end well.
wait_until 10 killed || die "still running: $(inside)"
# Both ends of the pair at once: those of a namespace go some time after it.
ip link del "afs$1-h" 2> /dev/null || :
if [ -e "/run/netns/$net" ]; then ip netns del "$net"; fi
watcher=$(sed -n 's/^WATCHER=//p' "$inst/env" 2>/dev/null || :)
rm -rf --one-file-system "$inst"
end_watcher "$watcher"
