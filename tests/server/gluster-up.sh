#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# gluster-up.sh [ADDRESS]: start a private GlusterFS server on ADDRESS:24007, a loopback address
# that ends in 2 to 254 (default: a free one from 127.0.0.2 on; glusterd takes no brick on
# 127.0.0.1). Any number of servers may run side by side. State, logs, bricks and mounts are in
# the instance folder, CACHE/gluster-ADDRESS. Needs root, and the packages of "need.sh gluster".
#
# Volumes: one (1 brick), rep (replica 3), dist (distribute over 3).
#
# GLUSTER_MOUNT   volumes to mount by FUSE, "one rep": MNT/one, MNT/rep
# GLUSTER_MOUNT_OPTIONS  more options of the FUSE mounts: "--attribute-timeout=0"
# GLUSTER_SMALL   size of a tmpfs, e.g. 16M: a volume small (1 brick) of that size
# GLUSTER_MEMORY  size of a tmpfs, e.g. 512M, for all other bricks: no disk makes noise
# SERVER_FOR      pid of a process: the server ends when this process has ended
#
# Prints NAME=VALUE lines with what a test needs to know, also left in the file env of the
# instance folder: GLUSTER_HOST, GLUSTER_PID (glusterd), GLUSTER_CLI (the command gluster for this
# server), GLUSTER_BRICKS (a folder: one0, rep0, rep1, ...), GLUSTER_MNT, GLUSTER_LOG.
# gluster-down.sh ADDRESS stops the server.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=wait.sh
. "$(dirname "$0")/wait.sh"

[ $# -le 1 ] || die "usage: gluster-up.sh [ADDRESS]"
[ "$(id -u)" = 0 ] || die "must be root"
command -v glusterd gluster glusterfs > /dev/null || die "no GlusterFS: run tests/need.sh gluster"
umask 022
mkdir -p "$cache"
address=
up=
trap '[ -n "$up" ] || [ -z "$address" ] || "$here/gluster-down.sh" "$address" >&2' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

write_config() {
    mkdir -p "$inst"/{state,run,log,bricks,mnt}
    cat > "$inst/glusterd.vol" << END
volume management
    type mgmt/glusterd
    option working-directory $inst/state
    option run-directory $inst/run
    option logging-directory $inst/log
    option glusterd-sockfile $inst/glusterd.socket
    option transport-type socket
    option transport.socket.bind-address $address
    option transport.socket.listen-port 24007
    option ping-timeout 0
    option event-threads 1
    option max-port 60999
end-volume
END
    cat > "$inst/gluster" << END
#!/bin/sh
exec gluster --mode=script --glusterd-sock=$inst/glusterd.socket --log-file=$inst/log/cli.log "\$@"
END
    chmod +x "$inst/gluster"
}

answers() { "$inst/gluster" volume list > /dev/null 2>&1; }
glusterd_up() { answers || ! kill -0 "$(cat "$inst/glusterd.pid" 2>/dev/null)" 2>/dev/null; }

# Runs a daemon, which goes to the background itself, with a clean environment and no file of ours.
start() { # COMMAND...
    (
        for fd in "/proc/$BASHPID/fd"/*; do
            fd=${fd##*/}
            if [ "$fd" -gt 2 ]; then eval "exec $fd>&-"; fi
        done
        exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 setsid "$@"
    ) > "$inst/log/start.out" 2>&1 < /dev/null
}

try() { # ADDRESS: make its instance folder, which belongs to one server only, and start glusterd
    inst=$cache/gluster-$1
    mkdir "$inst" 2>/dev/null || return 1
    address=$1
    write_config
    start glusterd -f "$inst/glusterd.vol" -p "$inst/glusterd.pid" -l "$inst/log/glusterd.log" || :
    wait_until 10 glusterd_up || :
    if answers; then return 0; fi
    cat "$inst/log/start.out" >&2
    tail -n 5 "$inst/log/glusterd.log" >&2 || :
    "$here/gluster-down.sh" "$address" >&2
    address=
    return 1
}

taken() { # ADDRESS: somebody listens on its port 24007
    local a b c d
    IFS=. read -r a b c d <<< "$1"
    grep -qi " $(printf '%02X%02X%02X%02X:5DC7' "$d" "$c" "$b" "$a") 00000000:0000 0A" /proc/net/tcp
}

if [ $# = 1 ]; then
    try "$1" || die "cannot start a server on $1 (gluster-down.sh $1 ends one that runs)"
else
    for ((i = 2; i < 255; i++)); do
        if ! taken "127.0.0.$i" && try "127.0.0.$i"; then break; fi
    done
    [ "$i" -lt 255 ] || die "no free address"
fi
pid=$(cat "$inst/glusterd.pid")
echo "GLUSTER_PID=$pid" > "$inst/env"
end_with_owner "$inst" "$here/gluster-down.sh" "$address"

[ -z "${GLUSTER_MEMORY:-}" ] ||
    mount -t tmpfs -o "size=$GLUSTER_MEMORY,mode=755" afpscope "$inst/bricks"

gluster() { # WORD...
    local out
    out=$("$inst/gluster" "$@" 2>&1 < /dev/null) || die "gluster $*: $out"
}
volume() { # NAME BRICKS [WORD...]
    local name=$1 count=$2 n bricks=()
    for ((n = 0; n < count; n++)); do
        mkdir -p "$inst/bricks/$name$n"
        bricks+=("$address:$inst/bricks/$name$n/brick")
    done
    if [ "$name" = small ]; then mount -t tmpfs -o "size=$GLUSTER_SMALL" afpscope "$inst/bricks/small0"; fi
    for ((n = 0; n < count; n++)); do mkdir -m 777 "$inst/bricks/$name$n/brick"; done
    gluster volume create "$name" "${@:3}" "${bricks[@]}" force
    gluster volume start "$name"
}
volume one 1
volume rep 3 replica 3
volume dist 3
[ -z "${GLUSTER_SMALL:-}" ] || volume small 1

read -ra mount_options <<< "${GLUSTER_MOUNT_OPTIONS:-}"
for name in ${GLUSTER_MOUNT:-}; do
    mkdir "$inst/mnt/$name"
    start glusterfs -s "$address" --volfile-id="$name" -l "$inst/log/mnt-$name.log" \
        "${mount_options[@]}" "$inst/mnt/$name" ||
        die "cannot mount $name: $(tail -n 3 "$inst/log/mnt-$name.log")"
    wait_until 10 mountpoint -q "$inst/mnt/$name" || die "$name was not mounted"
done
{
    echo "GLUSTER_HOST=$address"
    echo "GLUSTER_CLI=$inst/gluster"
    echo "GLUSTER_BRICKS=$inst/bricks"
    echo "GLUSTER_MNT=$inst/mnt"
    echo "GLUSTER_LOG=$inst/log"
} >> "$inst/env"
up=yes
cat "$inst/env"
