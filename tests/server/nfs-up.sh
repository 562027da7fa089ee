#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# nfs-up.sh SUITE [PORT]: start a private nfs-ganesha of a Debian suite on 127.0.0.1:PORT, and its
# MOUNT on PORT + 1; PORT 0 or none: free ones between 30100 and 30900. The suite's root tree is
# built first where there is none (nfs-root.sh). Any number of servers may run side by side: each
# has mounts of its own, and a portmapper of its own, which no network sees.
#
# Exports: /share1, /share2 (their names for NFSv4; for MOUNT the folders NFS_PATH1, NFS_PATH2), by
# NFSv3 and NFSv4, to any user number; root stays root.
#
# NFS_CORE    more lines for NFS_CORE_PARAM { }
# NFS_V4      more lines for NFSv4 { }
# NFS_LOG     more lines for LOG { }
# NFS_EXPORT  more lines for each EXPORT { }
# NFS_MORE    more blocks of the configuration
# NFS_DISK    /share2 is a disk of its own of this size (12m), which only the server sees
# SERVER_FOR  pid of a process: the server ends when this process has ended
#
# Prints NAME=VALUE lines with what a test needs to know, also left in the file env of the instance
# folder, CACHE/nfs-inst-PORT: NFS_PORT, NFS_MOUNT_PORT, NFS_PID, NFS_VERSION, NFS_ROOT (the root
# tree), NFS_CONF (the configuration, below the root), NFS_PATH1, NFS_PATH2 (the exports, as the
# server calls them), NFS_SHARE1, NFS_SHARE2 (the same folders of this machine), NFS_MOUNTS (the
# number of its mount namespace). nfs-down.sh PORT stops the server.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=wait.sh
. "$(dirname "$0")/wait.sh"

case $# in [12]) ;; *) die "usage: nfs-up.sh SUITE [PORT]" ;; esac
suite=$1 port=${2:-0}
[ "$(id -u)" = 0 ] || die "must be root"
umask 022
root=$("$here/nfs-root.sh" "$suite")
version=$(cat "$root/.version")

below() { # GLOB: the first such path, as the server calls it
    local found
    # shellcheck disable=SC2206
    found=("$root"$1)
    echo "${found[0]#"$root"}"
}
claim() { # PORT: make its instance folder, which belongs to one server only
    mkdir "$cache/nfs-inst-$1" 2> /dev/null || return 1
    echo "NFS_ROOT=$root" > "$cache/nfs-inst-$1/env"
    end_with_owner "$cache/nfs-inst-$1" "$here/nfs-down.sh" "$1"
}
if [ "$port" -ne 0 ]; then
    claim "$port" || die "port $port is taken by $cache/nfs-inst-$port (nfs-down.sh $port)"
else
    first=$((RANDOM % 400))
    for ((i = 0; i < 400; i++)); do
        port=$((30100 + (first + i) % 400 * 2))
        if ! listening $port && ! listening $((port + 1)) && claim $port; then break; fi
    done
    [ "$i" -lt 400 ] || die "no free ports"
fi
inst=$cache/nfs-inst-$port
dir=/inst/$port
at=$root$dir
up=
trap '[ -n "$up" ] || "$here/nfs-down.sh" "$port" >&2' EXIT

mkdir -p "$at"/{share1,share2,state}
chmod 777 "$at/share1" "$at/share2"
{
    printf '%s\n' "NFS_CORE_PARAM {" "NFS_Port = $port;" "MNT_Port = $((port + 1));" \
        "Protocols = 3, 4;" "Bind_addr = 127.0.0.1;" "Enable_NLM = false;" \
        "Enable_RQUOTA = false;" "Enable_UDP = false;" \
        "Plugins_Dir = $(below '/usr/lib/*/ganesha');"
    # It ends where it may not call prctl(PR_SET_IO_FLUSHER), as without CAP_SYS_RESOURCE.
    case $version in 4.*) ;; *) echo "allow_set_io_flusher_fail = true;" ;; esac
    printf '%s\n' "${NFS_CORE:-}" "}" "NFSv4 {" "Graceless = true;" "RecoveryBackend = fs;" \
        "${NFS_V4:-}" "}" "EXPORT_DEFAULTS { SecType = sys; }" \
        "LOG { Default_Log_Level = EVENT; ${NFS_LOG:-} }"
    for n in 1 2; do
        printf '%s\n' "EXPORT {" "Export_Id = $n;" "Path = $dir/share$n;" "Pseudo = /share$n;" \
            "Access_Type = RW;" "Squash = No_Root_Squash;" "Protocols = 3, 4;" \
            "Transports = TCP;" "FSAL { Name = VFS; }" "${NFS_EXPORT:-}" "}"
    done
    printf '%s\n' "${NFS_MORE:-}"
} > "$at/ganesha.conf"

# Ganesha serves file systems that are mounted: the tree becomes one, in a namespace of its own,
# where /run is the server's alone. The portmapper, without which it does not serve NFSv3, listens
# in a network namespace of its own: they talk through a socket in /run.
# shellcheck disable=SC2016
inside='mount --bind "$1" "$1" && mount --bind /dev "$1/dev" && mount -t proc proc "$1/proc" &&
    mount -t tmpfs tmpfs "$1/run" && mount --bind "$1$2/state" "$1/var/lib/nfs/ganesha" &&
    { [ -z "$4" ] || mount -t tmpfs -o "size=$4,mode=777" afpscope "$1$2/share2"; } || exit
mkdir -p "$1/run/ganesha" "$1/run/rpcbind" && chown 107 "$1/run/rpcbind"
unshare -n chroot "$1" /usr/sbin/rpcbind -f &
for n in $(seq 200); do
    [ ! -S "$1/run/rpcbind.sock" ] || break
    sleep 0.05
done
exec chroot "$1" "$3" -F -L "$2/log" -f "$2/ganesha.conf" -p "$2/pid"'
(
    for fd in "/proc/$BASHPID/fd"/*; do
        fd=${fd##*/}
        if [ "$fd" -gt 2 ]; then eval "exec $fd>&-"; fi
    done
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 setsid \
        unshare -m sh -c "$inside" sh "$root" "$dir" "$(below '/usr/*bin/ganesha.nfsd')" \
        "${NFS_DISK:-}"
) > "$inst/ganesha.out" 2>&1 < /dev/null &
pid=$!
mounts=
took_mounts() {
    mounts=$(readlink "/proc/$pid/ns/mnt") || return 0
    [ "$mounts" != "$(readlink /proc/self/ns/mnt)" ]
}
wait_until 10 took_mounts || :
echo "NFS_MOUNTS=$mounts" >> "$inst/env"
came_up() {
    { listening "$port" && listening $((port + 1)); } || ! kill -0 "$pid" 2> /dev/null
}
wait_until 20 came_up || :
if ! listening "$port" || ! listening $((port + 1)) || ! kill -0 "$pid" 2> /dev/null; then
    die "ganesha did not come up: $(tail -n 3 "$inst/ganesha.out"; tail -n 8 "$at/log" 2> /dev/null)"
fi
{
    echo "NFS_SUITE=$suite"
    echo "NFS_VERSION=$version"
    echo "NFS_PORT=$port"
    echo "NFS_MOUNT_PORT=$((port + 1))"
    echo "NFS_PID=$pid"
    echo "NFS_ROOT=$root"
    echo "NFS_CONF=$dir/ganesha.conf"
    echo "NFS_PATH1=$dir/share1"
    echo "NFS_PATH2=$dir/share2"
    echo "NFS_SHARE1=$at/share1"
    echo "NFS_SHARE2=$at/share2"
    echo "NFS_MOUNTS=$mounts"
    grep '^WATCHER=' "$inst/env" || :
} > "$inst/env.new"
mv "$inst/env.new" "$inst/env"
up=yes
cat "$inst/env"
