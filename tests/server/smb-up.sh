#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# smb-up.sh SUITE [PORT]: start a private smbd of a Debian suite on 127.0.0.1:PORT; PORT 0 or none: a
# free one between 29100 and 29900. The suite's root tree is built first where there is none
# (smb-root.sh). Any number of servers may run side by side.
#
# Shares: share1, share2. Users: bench1, bench2 (password secret1). Samba counts its requests
# (smbstatus -P). There is no list of shares, as what answers for it would outlive the server.
#
# SMB_GLOBAL  more lines for the section [global]
# SMB_SHARE   more lines for each share
# SMB_PRELOAD a library of this machine to preload in smbd
# SMB_CPU     CPU list to pin the server's processes to
# SERVER_FOR  pid of a process: the server ends when this process has ended
#
# Prints NAME=VALUE lines with what a test needs to know, also left in the file env of the instance
# folder, CACHE/smb-inst-PORT: SMB_PORT, SMB_PID (the main process), SMB_VERSION, SMB_ROOT (the root
# tree), SMB_CONF (smb.conf, below the root), SMB_SHARE1, SMB_SHARE2 (folders of this machine).
# smb-down.sh PORT stops the server.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=wait.sh
. "$(dirname "$0")/wait.sh"

case $# in [12]) ;; *) die "usage: smb-up.sh SUITE [PORT]" ;; esac
suite=$1 port=${2:-0}
[ "$(id -u)" = 0 ] || die "must be root"
umask 022
root=$("$here/smb-root.sh" "$suite")

claim() { # PORT: make its instance folder, which belongs to one server only
    mkdir "$cache/smb-inst-$1" 2> /dev/null || return 1
    echo "SMB_ROOT=$root" > "$cache/smb-inst-$1/env"
    end_with_owner "$cache/smb-inst-$1" "$here/smb-down.sh" "$1"
}
if [ "$port" -ne 0 ]; then
    claim "$port" || die "port $port is taken by $cache/smb-inst-$port (smb-down.sh $port)"
else
    first=$((RANDOM % 800))
    for ((i = 0; i < 800; i++)); do
        port=$((29100 + (first + i) % 800))
        if ! listening $port && claim $port; then break; fi
    done
    [ "$i" -lt 800 ] || die "no free port"
fi
inst=$cache/smb-inst-$port
dir=/inst/$port
at=$root$dir
up=
trap '[ -n "$up" ] || "$here/smb-down.sh" "$port" >&2' EXIT

mkdir -p "$at"/{share1,share2,private,lock,state,cache,pid,ncalrpc,log}
chmod 777 "$at/share1" "$at/share2"
{
    printf '%s\n' "[global]" "server role = standalone server" "workgroup = TEST" \
        "netbios name = T$port" "smb ports = $port" "interfaces = 127.0.0.1" \
        "bind interfaces only = yes" "disable netbios = yes" "dns proxy = no" \
        "passdb backend = tdbsam:$dir/private/passdb.tdb" "private dir = $dir/private" \
        "lock directory = $dir/lock" "state directory = $dir/state" \
        "cache directory = $dir/cache" "pid directory = $dir/pid" \
        "ncalrpc dir = $dir/ncalrpc" "log file = $dir/log/log.%m" "max log size = 0" \
        "load printers = no" "printing = bsd" "printcap name = /dev/null" \
        "disable spoolss = yes" "rpc start on demand helpers = no" \
        "smbd profiling level = on" "${SMB_GLOBAL:-}"
    for share in share1 share2; do
        printf '%s\n' "[$share]" "path = $dir/$share" "read only = no" "${SMB_SHARE:-}"
    done
} > "$at/smb.conf"
[ -z "${SMB_PRELOAD:-}" ] || cp "$SMB_PRELOAD" "$at/preload.so"
for user in bench1 bench2; do
    printf 'secret1\nsecret1\n' |
        chroot "$root" pdbedit -s "$dir/smb.conf" -a -t -u "$user" > "$inst/pdbedit" 2>&1 ||
        die "pdbedit: $(cat "$inst/pdbedit")"
done
(
    for fd in "/proc/$BASHPID/fd"/*; do
        fd=${fd##*/}
        if [ "$fd" -gt 2 ]; then eval "exec $fd>&-"; fi
    done
    exec env -i PATH=/usr/sbin:/usr/bin LC_ALL=C.UTF-8 \
        ${SMB_PRELOAD:+"LD_PRELOAD=$dir/preload.so"} setsid \
        ${SMB_CPU:+taskset -c "$SMB_CPU"} chroot "$root" /usr/sbin/smbd -F --no-process-group -s "$dir/smb.conf" --debug-stdout
) > "$inst/smbd.out" 2>&1 < /dev/null &
pid=$!
came_up() { listening "$port" || ! kill -0 "$pid" 2> /dev/null; }
wait_until 10 came_up || :
if ! listening "$port" || ! kill -0 "$pid" 2> /dev/null; then
    die "smbd did not come up: $(tail -n 5 "$inst/smbd.out")"
fi
{
    echo "SMB_SUITE=$suite"
    echo "SMB_VERSION=$(cat "$root/.version")"
    echo "SMB_PORT=$port"
    echo "SMB_PID=$pid"
    echo "SMB_ROOT=$root"
    echo "SMB_CONF=$dir/smb.conf"
    echo "SMB_SHARE1=$at/share1"
    echo "SMB_SHARE2=$at/share2"
    grep '^WATCHER=' "$inst/env" || :
} > "$inst/env.new"
mv "$inst/env.new" "$inst/env"
up=yes
cat "$inst/env"
