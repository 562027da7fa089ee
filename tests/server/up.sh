#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# up.sh SUITE [PORT [CNID]]: start cnid_metad (when CNID is dbd) and afpd of a
# Debian suite on 127.0.0.1:PORT. PORT 0 or none: a free pair PORT, PORT + 1
# between 20000 and 29000 is chosen. CNID: dbd (default), sqlite, ...; with
# mysql a MariaDB of this machine (mariadb-server-core, see need.sh) is started
# and reached by its socket, with mysql-tcp by TCP on PORT + 1. The suite's
# root tree is built first where there is none. Any number of servers may run
# side by side.
#
# Volumes: vol1, vol2, and ro (read only, with the file hello.txt). Users:
# bench1, bench2 (password secret1), longpw (correct-horse-battery), guest.
# UAMs: clear text, DHX2, guest, unless AFPD_UAMS names others.
#
# AFPD_GLOBAL    more lines for the [Global] section
# AFPD_UAMS      its "uam list"
# AFPD_VOLUME    more lines for each volume
# AFPD_KEEP      when set, keep the volumes and databases of an earlier start
# AFPD_CPU       CPU list to pin the server's processes to
# AFPD_VOL_SIZE  size of vol1, e.g. 24M: a file system of its own (ext4 on a
#                loop device; a tmpfs where there is none: user xattrs need
#                Linux 6.6 then)
# AFPD_MEMORY    size of a tmpfs, e.g. 64M, for all volumes and databases: no disk makes
#                noise (Linux 6.6; not with AFPD_VOL_SIZE)
# AFPD_PRELOAD   a library of this machine to preload in afpd
# AFPD_PRELOAD_IN  in this daemon instead, and what it starts: cnid_metad
# AFPD_PAM       the lines of PAM's configuration in place of "auth required pam_unix.so
#                nodelay", which answers a wrong password at once; INST stands for the folder of
#                the instance as the server sees it
# AFPD_USERS     more users of this server, a line each: NAME:PASSWORD, and from a second colon on
#                what /etc/shadow has behind it (default 19000:0:99999:7:::); a PASSWORD that
#                begins with ! is locked
# AFPD_VOLUMES   names of more volumes, one a line, which everybody may write
# AFPD_ENV       NAME=VALUE words more for the daemons' environment
# SERVER_FOR     pid of a process: the server ends when this process has ended
# CNID_PORT      port of cnid_metad (default: PORT + 1)
#
# Prints NAME=VALUE lines with what a test needs to know, also left in the file
# env of the instance folder, CACHE/inst-PORT. down.sh PORT stops the server.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=wait.sh
. "$(dirname "$0")/wait.sh"

case $# in [123]) ;; *) die "usage: up.sh SUITE [PORT [CNID]]" ;; esac
suite=$1 port=${2:-0} cnid=${3:-dbd}
[ "$(id -u)" = 0 ] || die "must be root"
umask 022
root=$("$here/root.sh" "$suite")
# The answer to a wrong password need not take 2 s.
pam=$root/etc/pam.d/netatalk
grep -qx 'auth required pam_unix.so nodelay' "$pam" ||
    sed -i 's/^auth required pam_unix.so$/& nodelay/' "$pam"

claim() { # PORT: make its instance folder, which belongs to one server only
    mkdir "$cache/inst-$1" 2>/dev/null || return 1
    echo "AFPD_ROOT=$root" > "$cache/inst-$1/env"
    end_with_owner "$cache/inst-$1" "$here/down.sh" "$1"
}
mkdir -p "$cache"
if [ "$port" -ne 0 ]; then
    claim "$port" || die "port $port is taken by $cache/inst-$port (down.sh $port)"
else
    first=$((RANDOM % 4500))
    for ((i = 0; i < 4500; i++)); do
        port=$((20000 + 2 * ((first + i) % 4500)))
        if ! listening $port && ! listening $((port + 1)) &&
            [ ! -e "$cache/inst-$((port - 1))" ] && [ ! -e "$cache/inst-$((port + 1))" ] &&
            claim $port; then break; fi
    done
    [ "$i" -lt 4500 ] || die "no free port"
fi
cport=${CNID_PORT:-$((port + 1))}
inst=$cache/inst-$port
dir=$root/inst/$port

up=
trap '[ -n "$up" ] || "$here/down.sh" "$port" >&2' EXIT

failed() {
    cat "$inst"/*.out "$dir/log" >&2 2>/dev/null || :
    die "$*"
}

[ -n "${AFPD_KEEP:-}" ] || rm -rf --one-file-system "$dir"
mkdir -p "$dir"
[ -z "${AFPD_MEMORY:-}" ] || mountpoint -q "$dir" || mount -t tmpfs -o "size=$AFPD_MEMORY,mode=755" afpscope "$dir"
mkdir -p "$dir/vol1" "$dir/vol2" "$dir/ro" "$dir/cnid"
if [ -n "${AFPD_VOL_SIZE:-}" ]; then
    img=$dir/vol1.img
    if [ ! -e "$img" ]; then
        truncate -s "$AFPD_VOL_SIZE" "$img"
        mkfs.ext4 -q -F -m 0 "$img" || failed "no file system of size $AFPD_VOL_SIZE"
    fi
    mount -o loop "$img" "$dir/vol1" 2>/dev/null ||
        mount -t tmpfs -o "size=$AFPD_VOL_SIZE" afpscope "$dir/vol1" ||
        failed "vol1 cannot be mounted"
    rm -rf "$dir/vol1/lost+found"
fi
chmod 777 "$dir/vol1" "$dir/vol2"
echo "read me" > "$dir/ro/hello.txt"

# The root is that of other servers, too: this one sees FILEs of its own in a mount namespace.
own=()
own_files=()
see_own() { # FILE PATH
    own_files+=("$1" "$root/$2")
    # shellcheck disable=SC2016 # that shell's own words
    own=(unshare -m --propagation slave sh -c '
        while [ "$1" != -- ]; do mount --bind "$1" "$2" && shift 2 || exit; done
        shift; exec "$@"' sh "${own_files[@]}" --)
}
if [ -n "${AFPD_PAM:-}" ]; then
    { echo "${AFPD_PAM//INST//inst/$port}"; sed 1d "$pam"; } > "$dir/pam"
    see_own "$dir/pam" etc/pam.d/netatalk
fi
if [ -n "${AFPD_USERS:-}" ]; then
    for f in passwd group shadow; do
        cp -p "$root/etc/$f" "$dir/$f"
        see_own "$dir/$f" "etc/$f"
    done
    id=5100
    while IFS=: read -r name password rest; do
        id=$((id + 1))
        lock=${password%%[!!]*}
        hash=$lock$(openssl passwd -6 -stdin <<< "${password#"$lock"}")
        printf '%s:x:%d:%d::/home/bench1:/bin/sh\n' "$name" $id $id >> "$dir/passwd"
        printf '%s:x:%d:\n' "$name" $id >> "$dir/group"
        printf '%s:%s:%s\n' "$name" "$hash" "${rest:-19000:0:99999:7:::}" >> "$dir/shadow"
    done <<< "$AFPD_USERS"
fi

[ -z "${AFPD_PRELOAD:-}" ] || cp "$AFPD_PRELOAD" "$dir/preload.so"

{
    echo "[Global]"
    echo "afp listen = 127.0.0.1"
    echo "afp port = $port"
    echo "cnid listen = localhost:$cport"
    echo "cnid server = localhost:$cport"
    echo "vol dbpath = /inst/$port/cnid"
    echo "uam list = ${AFPD_UAMS:-uams_clrtxt.so uams_dhx2.so uams_guest.so}"
    echo "guest account = nobody"
    echo "zeroconf = no"
    echo "max connections = 1000"
    echo "log file = /inst/$port/log"
    echo "log level = default:severe"
    case $cnid in
    mysql) echo "cnid mysql host = localhost" ;;
    mysql-tcp) echo "cnid mysql host = 127.0.0.1" ;;
    esac
    if [ "${cnid%-tcp}" = mysql ]; then
        printf 'cnid mysql %s\n' "user = root" "pw = none" "db = cnid"
    fi
    [ -z "${AFPD_GLOBAL:-}" ] || echo "$AFPD_GLOBAL"
    for v in vol1 vol2 ro; do
        echo "[$v]"
        echo "path = /inst/$port/$v"
        echo "cnid scheme = ${cnid%-tcp}"
        [ $v != ro ] || echo "read only = yes"
        [ -z "${AFPD_VOLUME:-}" ] || echo "$AFPD_VOLUME"
    done
    n=0
    while IFS= read -r name; do
        n=$((n + 1))
        printf '%s\n' "[more$n]" "volume name = $name" "path = /inst/$port/more$n" \
            "cnid scheme = ${cnid%-tcp}"
        mkdir -p "$dir/more$n"
        chmod 777 "$dir/more$n"
    done < <([ -z "${AFPD_VOLUMES:-}" ] || echo "$AFPD_VOLUMES")
} > "$dir/afp.conf"

# Starts a daemon in its foreground mode (-d), in the root, with a clean
# environment and no file of ours but the log of its output: $! is its pid.
start() { # COMMAND
    local more
    # The host's ld.so says in the output that it does not find the library, the root's does.
    read -ra more <<< "${AFPD_ENV:-}"
    if [ "${cnid%-tcp}" = mysql ]; then
        more+=("MYSQL_UNIX_PORT=/inst/$port/mysql.sock" "MYSQL_TCP_PORT=$cport")
    fi
    if [ "$1" = "${AFPD_PRELOAD_IN:-afpd}" ] && [ -n "${AFPD_PRELOAD:-}" ]; then
        more+=("LD_PRELOAD=/inst/$port/preload.so")
    fi
    (
        for fd in "/proc/$BASHPID/fd"/*; do
            fd=${fd##*/}
            if [ "$fd" -gt 2 ]; then eval "exec $fd>&-"; fi
        done
        exec "${own[@]}" ${AFPD_CPU:+taskset -c "$AFPD_CPU"} \
            env -i PATH=/usr/sbin:/usr/bin LC_ALL=C.UTF-8 "${more[@]}" setsid \
            chroot "$root" "/usr/sbin/$1" -d -F "/inst/$port/afp.conf"
    ) > "$inst/$1.out" 2>&1 < /dev/null &
}
wait_for() { # COMMAND PID PORT
    came_up() { listening "$2" || ! kill -0 "$1" 2>/dev/null; }
    wait_until 10 came_up "$2" "$3" || :
    listening "$3" || failed "$1 did not come up"
    kill -0 "$2" 2>/dev/null || failed "port $3 belongs to someone else"
}
# An empty folder is enough: no tables of users, so anybody may do everything, on this host.
start_mariadb() {
    mkdir -p "$dir/mysql"
    echo "CREATE DATABASE IF NOT EXISTS cnid;" > "$inst/mysql.sql"
    ${AFPD_CPU:+taskset -c "$AFPD_CPU"} setsid "${MARIADBD:-/usr/sbin/mariadbd}" --no-defaults \
        --user=root --skip-grant-tables --datadir="$dir/mysql" --socket="$dir/mysql.sock" \
        --bind-address=127.0.0.1 --port="$cport" --pid-file="$dir/mysql.pid" \
        --max-connections=1000 --init-file="$inst/mysql.sql" --innodb-log-file-size=8M \
        --innodb-buffer-pool-size=32M > "$inst/mariadbd.out" 2>&1 < /dev/null &
    echo "MARIADB_PID=$!" >> "$inst/env"
}

metad=
mariadb=
if [ "${cnid%-tcp}" = mysql ]; then
    start_mariadb
    mariadb=$!
    wait_for mariadbd $mariadb "$cport"
    chmod 777 "$dir/mysql.sock"
fi
if [ "$cnid" = dbd ]; then
    start cnid_metad
    metad=$!
    wait_for cnid_metad $metad "$cport"
fi
start afpd
wait_for afpd $! "$port"
{
    echo "AFPD_SUITE=$suite"
    echo "AFPD_VERSION=$(cat "$root/.version")"
    echo "AFPD_PORT=$port"
    echo "AFPD_CNID=$cnid"
    echo "AFPD_PID=$!"
    [ -z "$metad" ] || echo "METAD_PID=$metad"
    [ -z "$mariadb" ] || echo "MARIADB_PID=$mariadb"
    echo "AFPD_ROOT=$root"
    echo "AFPD_VOL1=$dir/vol1"
    echo "AFPD_VOL2=$dir/vol2"
    echo "AFPD_RO=$dir/ro"
    echo "AFPD_CONF=$dir/afp.conf"
    echo "AFPD_LOG=$dir/log"
    grep '^WATCHER=' "$inst/env" || :
} > "$inst/env.new"
mv "$inst/env.new" "$inst/env"
up=yes
cat "$inst/env"
