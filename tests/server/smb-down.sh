#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# smb-down.sh PORT: stop what smb-up.sh started on PORT and nothing else, told by the databases that
# Samba's processes have mapped: also what a killed main process left. Removes the instance.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -eq 1 ] || die "usage: smb-down.sh PORT"
port=$1
inst=$cache/smb-inst-$port
[ -d "$inst" ] || { echo "smb-down.sh: nothing runs on port $port"; exit 0; }
root=$(sed -n 's/^SMB_ROOT=//p' "$inst/env")
watcher=$(sed -n 's/^WATCHER=//p' "$inst/env")

smb_procs() {
    local f p
    # shellcheck disable=SC2013
    for f in $(grep -ls -- "/inst/$port/.*\.tdb" /proc/[0-9]*/maps); do
        p=${f#/proc/}
        p=${p%/maps}
        if [ "/proc/$p/root" -ef "$root" ]; then echo "$p"; fi
    done
}
end_all 3 smb_procs
rm -rf --one-file-system "$root/inst/$port" "$inst"
end_watcher "$watcher"
