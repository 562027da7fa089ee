# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# Sourced beside lib.sh by the scripts that unpack a server of a Debian suite into a small root tree
# of the cache: nothing is installed on the host and no maintainer script runs. apt resolves and
# downloads with a private state directory, dpkg-deb unpacks. Needs root (device nodes, file
# owners). A tree is named after what it is and the contents of what builds it; a finished one is
# left as it is; those made by other versions of the scripts go, unless in use.
#
# In this order: tree_find, tree_index, tree_unpack, tree_accounts, and what the server needs more
# (in the tree, the working directory); tree_done.
#
# AFPD_MIRROR  Debian mirror (default: that of the host's own apt sources)

# Prints the tree's path and ends the script if it is there; else waits for others who build it, and
# takes "root", "part" (the tree that is being made) and "apt".
tree_find() { # NAME INSTANCES VARIABLE FILE...: in INSTANCES-PORT/env, VARIABLE says which is in use
    local key old i
    key=$(cd "$here" && cat "${@:4}" tree.sh | sha256sum)
    root=$cache/$1-${key:0:12}
    [ ! -e "$root/.version" ] || { echo "$root"; exit 0; }
    [ "$(id -u)" = 0 ] || die "must be root"
    mkdir -p "$cache"
    exec 9> "$cache/$1.lock"
    flock 9 # one builder at a time
    [ ! -e "$root/.version" ] || { echo "$root"; exit 0; }
    umask 022
    for old in "$cache/$1"-????????????; do
        [ -d "$old" ] || continue
        for i in "$cache/$2"-*/env; do
            if grep -qsFx "$3=$old" "$i"; then continue 2; fi
        done
        rm -rf --one-file-system "$old"
    done
    part=$root.part
    apt=$cache/$1.apt
    trap 'rm -rf "$part" "$apt"' EXIT
    rm -rf "$part" "$apt"
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" \
             "$apt/etc/apt.conf.d" "$apt/etc/preferences.d" "$part"
}

tree_retry() { # COMMAND...: up to three times
    local n
    for n in 1 2 3; do
        if "$@"; then return 0; fi
        sleep "$n"
    done
    return 1
}

# Fetches the index of a suite; 1: there is none. The packages that the server does not need at run
# time are said to be installed, so that the resolver brings neither these nor what they pull in.
tree_index() { # SUITE PACKAGE_NOT_NEEDED...
    local arch p url
    arch=$(dpkg --print-architecture)
    for p in "${@:2}"; do
        printf '%s\n' "Package: $p" "Status: install ok installed" \
            "Priority: optional" "Section: misc" "Maintainer: none" \
            "Architecture: $arch" "Multi-Arch: allowed" "Version: 9999" \
            "Description: placeholder" ""
    done > "$apt/status"
    {
        apt-config dump | grep -i '^Acquire::.*\(proxy\|cainfo\)' || :
        cat << END
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Dir::Etc "$apt/etc";
APT::Architecture "$arch";
APT::Architectures "$arch";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
END
    } > "$apt/apt.conf"
    url=$("$here/../mirror.sh") || exit
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $url $1 main" \
        > "$apt/etc/sources.list"
    APT_CONFIG=$apt/apt.conf tree_retry apt-get -qq update >&2
}

tree_has() { # PACKAGE: the suite has it
    APT_CONFIG=$apt/apt.conf apt-cache show "$1" > /dev/null 2>&1
}

# The version of the first package, without what Debian adds, is in "version".
tree_unpack() { # PACKAGE...
    local d deb
    APT_CONFIG=$apt/apt.conf tree_retry apt-get -qq --no-install-recommends --download-only -y \
        install "$@" >&2 || die "cannot download $*"
    version=$(APT_CONFIG=$apt/apt.conf apt-cache show "$1" | awk '$1 == "Version:" {
        sub("^[0-9]*:", "", $2); sub("[+~].*|-[^-]*$", "", $2); print $2; exit }')
    # Older suites carry files in both /lib and /usr/lib: tar must not replace the links below by
    # folders.
    for d in bin sbin lib lib64; do
        mkdir -p "$part/usr/$d"
        ln -s "usr/$d" "$part/$d"
    done
    for deb in "$apt"/cache/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$part" -f -
    done
    ldconfig -r "$part"
    cd "$part" || exit
    mkdir -p etc dev proc root run tmp var/lock var/log inst home
    [ -e var/run ] || ln -s ../run var/run
    chmod 1777 tmp
    for d in null zero random urandom; do
        [ -e dev/$d ] || cp -a /dev/$d dev/$d
    done
}

tree_accounts() { # NAME:ID...: beside root and nobody
    local user name id t
    printf '%s\n' root:x:0: shadow:x:42: nogroup:x:65534: > etc/group
    printf '%s\n' root:x:0:0:root:/root:/bin/sh \
        nobody:x:65534:65534:nobody:/:/bin/sh > etc/passwd
    for user in "$@"; do
        name=${user%:*} id=${user#*:}
        mkdir -p "home/$name"
        echo "$name:x:$id:$id:$name:/home/$name:/bin/sh" >> etc/passwd
        echo "$name:x:$id:" >> etc/group
    done
    for t in passwd group shadow hosts services protocols; do
        echo "$t: files"
    done > etc/nsswitch.conf
    echo '127.0.0.1 localhost' > etc/hosts
}

tree_done() { # the last act
    echo "$version" > .version
    mv "$part" "$root"
    echo "$root"
}
