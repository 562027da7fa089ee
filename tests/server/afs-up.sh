#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# afs-up.sh [NUMBER]: start a private OpenAFS cell, number 1 to 30 (default: the first free one), in
# a network namespace of its own, afpscope-afs-NUMBER, at address 198.19.(220 + NUMBER).2; the host
# is .1 at the other end of its veth pair. Any number of cells may run side by side. All files of
# the servers are in the instance folder, CACHE/afs-NUMBER: the servers and the tools see it in
# place of /etc/openafs, /var/lib/openafs, /var/log/openafs and /vicepa. Needs root, and the packages
# of "need.sh openafs".
#
# Servers: bosserver, ptserver, vlserver, dafileserver, davolserver. Nobody has to authenticate, and
# the addresses of host and cell may do everything. Volumes: root.afs, and "work" without a quota.
#
# AFS_FILESERVER  options of dafileserver (default: -L -p 128 -udpsize 4194304)
# SERVER_FOR      pid of a process: the cell ends when this process has ended
#
# Prints NAME=VALUE lines with what a test needs to know, also left in the file env of the instance
# folder: AFS_NUMBER, AFS_HOST, AFS_NETNS, AFS_CELL, AFS_RUN (a command: AFS_RUN vos listvol ... runs
# a tool inside), AFS_LOG, and the processes' numbers AFS_BOSSERVER, AFS_PTSERVER, AFS_VLSERVER,
# AFS_DAFILESERVER, AFS_DAVOLSERVER. afs-down.sh NUMBER stops the cell.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=wait.sh
. "$(dirname "$0")/wait.sh"

[ $# -le 1 ] || die "usage: afs-up.sh [NUMBER]"
[ "$(id -u)" = 0 ] || die "must be root"
command -v bosserver vos rxdebug > /dev/null || die "no OpenAFS: run tests/need.sh openafs"
umask 022
mkdir -p "$cache"
number=
up=
trap '[ -n "$up" ] || [ -z "$number" ] || "$here/afs-down.sh" "$number" >&2' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

take() { # NUMBER: make its instance folder, which belongs to one cell only
    mkdir "$cache/afs-$1" 2>/dev/null || return 1
    number=$1
    inst=$cache/afs-$1
    net=afpscope-afs-$1
    address=198.19.$((220 + $1)).2
    other=198.19.$((220 + $1)).1
    cell=afpscope$1.test
}
if [ $# = 1 ]; then
    take "$1" || die "cell $1 is there already (afs-down.sh $1 ends it)"
else
    for ((i = 1; i <= 30; i++)); do
        if take "$i"; then break; fi
    done
    [ -n "$number" ] || die "no free number"
fi

make_net() {
    ip netns add "$net"
    ip link add "afs$number-h" type veth peer name "afs$number-c" netns "$net"
    ip addr add "$other/30" dev "afs$number-h"
    ip link set "afs$number-h" up
    ip -n "$net" addr add "$address/30" dev "afs$number-c"
    ip -n "$net" link set "afs$number-c" up
    ip -n "$net" link set lo up
}
make_files() {
    local at
    mkdir -p "$inst"/{etc/server,lib/db,lib/local,log,vicepa,root}
    chmod 700 "$inst/lib/db" "$inst/lib/local"
    touch "$inst/vicepa/AlwaysAttach" "$inst/lib/local/NoAuth"
    echo "$address" > "$inst/lib/local/NetInfo"
    for at in "$inst/etc" "$inst/etc/server"; do
        echo "$cell" > "$at/ThisCell"
        printf '>%s\n%s #%s\n' "$cell" "$address" "$cell" > "$at/CellServDB"
    done
    cat > "$inst/enter" << END
#!/bin/bash
# Makes the cell's view of the files, and runs a command in it. Called in a new mount namespace.
set -e
mount --make-rprivate /
mount -t tmpfs afpscope "$inst/root"
for at in /*; do
    if [ -L "\$at" ]; then
        cp -a "\$at" "$inst/root\$at"
    elif [ -d "\$at" ] && [ "\$at" != /vicepa ]; then
        mkdir "$inst/root\$at"
        mount --rbind "\$at" "$inst/root\$at"
    fi
done
mkdir "$inst/root/vicepa"
mount --bind "$inst/vicepa" "$inst/root/vicepa"
mount --bind "$inst/etc" "$inst/root/etc/openafs"
mount --bind "$inst/lib" "$inst/root/var/lib/openafs"
mount --bind "$inst/log" "$inst/root/var/log/openafs"
exec chroot "$inst/root" "\$@"
END
    cat > "$inst/run" << END
#!/bin/sh
exec nsenter --target "\$(cat "$inst/pid")" --net --mount --root --wd=/ "\$@"
END
    chmod +x "$inst/enter" "$inst/run"
}

# The overseer, with a clean environment and no file of ours.
start() {
    (
        for fd in "/proc/$BASHPID/fd"/*; do
            fd=${fd##*/}
            if [ "$fd" -gt 2 ]; then eval "exec $fd>&-"; fi
        done
        exec ip netns exec "$net" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
            setsid unshare -m "$inst/enter" bosserver -nofork -noauth
    ) > "$inst/log/start.out" 2>&1 < /dev/null &
    echo $! > "$inst/pid"
}
answers() { # COMMAND...: of the cell
    "$inst/run" "$@" > "$inst/log/last.out" 2>&1 < /dev/null
}
tool() { # COMMAND...
    answers "$@" || die "$*: $(cat "$inst/log/last.out")"
}
pid_of() { # PROGRAM
    local p
    for p in $(ip netns pids "$net"); do
        if [ "$(comm "$p")" = "$1" ]; then echo "$p"; fi
    done
}

make_net
make_files
start
wait_until 20 answers bos status "$address" -noauth ||
    die "no answer: $(cat "$inst/log/start.out" "$inst/log/last.out" 2>/dev/null)"
at=/usr/lib/openafs
tool bos create "$address" ptserver simple "$at/ptserver" -noauth
tool bos create "$address" vlserver simple "$at/vlserver" -noauth
wait_until 60 answers pts createuser "$address" -noauth ||
    die "ptserver: $(cat "$inst/log/last.out")"
tool pts createuser "$other" -noauth
tool pts adduser "$address" system:administrators -noauth
tool pts adduser "$other" system:administrators -noauth
tool bos create "$address" dafs dafs \
    "$at/dafileserver ${AFS_FILESERVER:--L -p 128 -udpsize 4194304}" "$at/davolserver" \
    "$at/salvageserver" "$at/dasalvager" -noauth
wait_until 60 answers vos create "$address" a root.afs -noauth ||
    die "davolserver: $(cat "$inst/log/last.out")"
tool vos create "$address" a work -maxquota 0 -noauth
{
    echo "AFS_NUMBER=$number"
    echo "AFS_HOST=$address"
    echo "AFS_NETNS=$net"
    echo "AFS_CELL=$cell"
    echo "AFS_RUN=$inst/run"
    echo "AFS_LOG=$inst/log"
    for name in bosserver ptserver vlserver dafileserver davolserver; do
        echo "AFS_${name^^}=$(pid_of "$name")"
    done
} > "$inst/env"
end_with_owner "$inst" "$here/afs-down.sh" "$number"
up=yes
cat "$inst/env"
