# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Common part of kernel.sh and sysroot.sh (sourced, not run): a folder made of
# Debian packages and kept in the cache. Nothing is installed on the host and no
# maintainer script runs: apt resolves and downloads with a private state,
# dpkg-deb unpacks.
#
# The script that sources this does
#     keep NAME       ends here when the folder is there and young enough
#     index SUITE ARCH; version=...
#     renew VERSION   ends here when the folder is of this version
#     ...             fills $part with download and unpack
#     finish VERSION
# and prints the folder's path, in either case. A folder is named after what it
# holds and the contents of what makes it. It serves for a week without the
# network; after that, where it cannot be made anew, for a day at a time.
#
# AFPSCOPE_CACHE  where the folders live, in "vm" (default:
#                 ${XDG_CACHE_HOME:-~/.cache}/afpscope)
# AFPD_MIRROR     Debian mirror (default: that of the host's own apt sources)

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${AFPSCOPE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/afpscope}/vm
PATH=$PATH:/usr/sbin:/sbin

die() { echo "${0##*/}: $*" >&2; exit 1; }

leave() { # at exit: what serves when nothing better could be made
    local status=$?
    rm -rf "$part" "$apt"
    if [ $status != 0 ] && [ -e "$dir/.made" ]; then
        touch -d '-6 days' "$dir/.made"
        echo "${0##*/}: cannot look for a newer $name, the old one serves" >&2
        echo "$dir"
        exit 0
    fi
}

keep() { # NAME
    local key
    key=$(cat "$here/lib.sh" "$0" | sha256sum)
    name=$1 dir=$cache/$1-${key:0:12} part=$cache/$1.part apt=$cache/$1.apt
    umask 022
    mkdir -p "$cache"
    exec 9> "$cache/$name.lock"
    flock 9                         # one builder at a time
    if [ -n "$(find "$dir/.made" -mtime -7 2>/dev/null)" ]; then
        echo "$dir"
        exit 0
    fi
    trap leave EXIT
    trap 'exit 143' INT TERM HUP
    rm -rf "$part" "$apt"
    mkdir -p "$part"
}

index() { # SUITE ARCH: from here on apt sees this suite only, and nothing installed
    local url
    url=$("$here/../mirror.sh") || exit
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" \
        "$apt/etc/apt.conf.d" "$apt/etc/preferences.d"
    touch "$apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $url $1 main" \
        > "$apt/etc/sources.list"
    {
        apt-config dump | grep -i '^Acquire::.*\(proxy\|cainfo\)' || :
        cat <<END
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Dir::Etc "$apt/etc";
APT::Architecture "$2";
APT::Architectures "$2";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
Acquire::Check-Valid-Until "false";
END
    } > "$apt/apt.conf"
    export APT_CONFIG=$apt/apt.conf
    apt-get -qq update >&2
}

renew() { # VERSION
    [ -e "$dir/.made" ] && [ "$(cat "$dir/version")" = "$1" ] || return 0
    touch "$dir/.made"
    echo "$dir"
    exit 0
}

download() { # PACKAGE...: these and no others
    (cd "$apt/cache/archives" && apt-get -qq download "$@") >&2
}

unpack() { # FOLDER: all that was downloaded
    local deb
    for deb in "$apt"/cache/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$1" -f -
    done
}

finish() { # VERSION
    echo "$1" > "$part/version"
    touch "$part/.made"
    rm -rf "$cache/$name"-????????????
    mv "$part" "$dir"
    echo "$dir"
}
