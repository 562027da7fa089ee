# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Roots of a fresh Debian (sourced, not run; in the top folder of the tree). Needs root and
# debootstrap. apt and pip use the settings of this host: mirror, proxy, certificates.
#
# Who sources it has $log, where what commands say goes; $root, the root that they work in; and
# within COMMAND, which runs one there.
#
# AFPSCOPE_CACHE  where they are kept (default: ${XDG_CACHE_HOME:-~/.cache}/afpscope)

cache=${AFPSCOPE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/afpscope}

# Makes a root of SUITE with sudo and certificates once, and sets $base: other roots begin as that.
bare_base() { # SUITE LOG
    base=$cache/bare-$1
    [ ! -e "$base/.complete" ] || return 0
    rm -rf --one-file-system "$base"
    mkdir -p "$cache"
    debootstrap --variant=minbase --include=sudo,ca-certificates "$1" "$base" "$(tests/mirror.sh)" > "$2"
    touch "$base/.complete"
}

bare_mount() { # ROOT: what a program of this machine sees
    local dir
    # Else nobody in there is shown the mount on which it lies.
    mountpoint -q "$1" || mount --bind "$1" "$1"
    for dir in dev sys proc; do
        mount --rbind "/$dir" "$1/$dir"
        mount --make-rslave "$1/$dir"
    done
    cp /etc/resolv.conf "$1/etc/resolv.conf"
    cp /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/ca-certificates.crt"
    [ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$1/etc/pip.conf"
    { # a mirror may be a frozen one
        echo 'Acquire::Check-Valid-Until "false";'
        apt-config dump | grep -i '^Acquire::.*\(proxy\|cainfo\)' || :
    } > "$1/etc/apt/apt.conf.d/99host"
    echo "127.0.0.1 localhost $(uname -n)" > "$1/etc/hosts"
}

# False if something of it is still in use: then the root must not be removed.
bare_unmount() { # ROOT
    local dir
    for dir in dev sys proc .; do umount -lR "$1/$dir" 2> /dev/null || :; done
    if grep -q " $1[/ ]" /proc/self/mounts; then
        echo "$1 still has mounts: not removed" >&2
        return 1
    fi
}

# A program in $root, with an environment of its own. Each VARIABLE=VALUE is added to that. $root is
# its root as on a machine of its own: in a chroot the kernel makes no user namespaces. What it
# mounts is gone for the next program.
# shellcheck disable=SC2154 # root
bare_run() { # HOME [VARIABLE=VALUE...] PROGRAM [ARGUMENT...]
    # shellcheck disable=SC2016 # expanded by that shell
    unshare --mount sh -c 'mount --rbind "$0" "$0" && cd "$0" && pivot_root . mnt &&
        umount -l /mnt && exec "$@"' "$root" \
        env -i HOME="$1" TERM=dumb LANG=C.UTF-8 AFPSCOPE_PASSWORD=secret1 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${@:2}" < /dev/null
}

# Prints a command with its exit status and seconds; $bad becomes 1 if it failed.
bad=0
# shellcheck disable=SC2034,SC2154 # bad, log
bare_try() { # COMMAND
    local begin=$SECONDS rc=0
    printf '\n\n$ %s\n' "$1" >> "$log"
    within "$1" >> "$log" 2>&1 || rc=$?
    printf '%4d s  exit %d  %s\n' $((SECONDS - begin)) $rc "$1"
    [ $rc = 0 ] || bad=1
}
