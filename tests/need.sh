#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# need.sh GROUP...: install with apt-get what the groups need and is missing:
#   build    what compiles afpscope
#   server   what builds and runs the test servers of tests/server (not the judges)
#   check    what the tests and lints run, ruff included
#   gluster  the GlusterFS server, client and headers of tests/server/gluster-up.sh
#   openafs  the OpenAFS servers and tools of tests/server/afs-up.sh
#   bench    what the benchmarks compare with, besides
#   deb      what "make deb" makes packages with
#   roots    what tests/packages.sh makes roots with and runs debian/tests in them
#   vm       what tests/vm builds and runs its virtual machines with
#   analysis what "make analysis" and "make install" make the package in analysis/ run with
#   site     what "make site" needs besides
#   pictures what "make pictures" needs besides
#   python   what the package in analysis/ needs, and what tests and types are checked with
# need.sh --python: print the path of the interpreter of that group. Debian 12 does
# not have all of it: a venv of the cache, as for ruff.
# PySpark is included if there is Java (700 MB); AFPSCOPE_SPARK=1 in the environment adds
# both, AFPSCOPE_SPARK=0 neither.
# need.sh --ruff, --clang-format: print the path of that program. Its versions differ in
# what they find: the one named below lives in a venv of the cache (AFPSCOPE_CACHE,
# default ${XDG_CACHE_HOME:-~/.cache}/afpscope) and is made there if missing.
#
# need.sh --site: print the path of the interpreter that has mkdocs and what draws a terminal, in a
# venv of the cache.
#
# need.sh --forwarders: print the path of the folder with programs that carry on
# connections (haproxy, nginx, docker-proxy, ...), whose packages would start services.
#
# need.sh --kerberos: print the path of the folder with Kerberos' key distribution
# centre, whose package would start and enable a service.
#
# need.sh --libnfs: print the path of the folder with the library libnfs.so.14. Debian 12 has only
# libnfs.so.13, which --libnfs4 unpacks: there it is built from the source package of Debian 13.
#
# need.sh --libsmb2: print the path of the folder with the library libsmb2.so.6. Debian 12 has no
# package of it: there it is built from the source package of Debian 13.
#
# need.sh --smbprotocol: print the path of the interpreter that has this package, a client of SMB.
#
# need.sh --prometheus: print the path of the folder with Debian's prometheus and
# promtool. Its package would start a service at once and at each boot: it is
# only unpacked in the cache.
#
# Prints one line with what it installs, and nothing if nothing is missing. Asks
# nothing. Without root: if something is missing, says so and exits with 1.
set -euo pipefail

ruff_version=0.17.5
clang_format_version=14.0.6
smbprotocol_version=1.17.0
here=$(cd "$(dirname "$0")" && pwd)
python_more=(pytest==9.2.0 pytest-xdist==3.8.0 hypothesis==6.170.15 mypy==2.4.1 flit_core==3.12.0
    perfetto==0.59.1 protobuf==7.36.2)
site=(mkdocs==1.6.1 mkdocs-material==9.8.1 mdformat==1.0.0 mdformat-mkdocs==5.3.0 rich==15.0.0)
spark=${AFPSCOPE_SPARK:-$(command -v java > /dev/null && echo 1 || echo 0)}
[ "$spark" = 0 ] || python_more+=(pyspark==4.3.0)
cache=${AFPSCOPE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/afpscope}

die() { echo "need.sh: $*" >&2; exit 1; }

# The folder of a virtual environment of the cache that has this program.
own_venv() { # NAME PROGRAM PACKAGES...
    local venv=$cache/$1
    if [ ! -x "$venv/bin/$2" ]; then
        need python3-venv
        echo "need.sh: installing ${*:3} in $venv" >&2
        python3 -m venv --clear "$venv" >&2
        "$venv/bin/pip" install -q --root-user-action=ignore "${@:3}" >&2 ||
            { rm -rf "$venv"; die "no $2"; }
    fi
    echo "$venv"
}

ruff_path() {
    local venv
    venv=$(own_venv "ruff-$ruff_version" ruff "ruff==$ruff_version") || exit
    echo "$venv/bin/ruff"
}

clang_format_path() {
    local venv name=clang-format
    venv=$(own_venv "$name-$clang_format_version" $name "$name==$clang_format_version") || exit
    echo "$venv/bin/$name"
}

site_path() {
    local venv
    venv=$(own_venv "site-$(cksum <<< "${site[*]}" | cut -d ' ' -f 1)" mkdocs "${site[@]}") || exit
    echo "$venv/bin/python"
}

smbprotocol_path() {
    local venv
    venv=$(own_venv "smbprotocol-$smbprotocol_version" pyspnego-parse \
        "smbprotocol==$smbprotocol_version") || exit
    echo "$venv/bin/python"
}

python_path() {
    local venv
    venv=$cache/python-$(cat "$here/../analysis/requirements.txt" - <<< "${python_more[*]}" | cksum | cut -d ' ' -f 1)
    [ -e "$venv/complete" ] || need python3-venv
    PYTHON=python3 "$here/../analysis/venv.sh" "$venv" "${python_more[@]}" || exit
    echo "$venv/bin/python"
}

unpacked() { # NAME PACKAGES...: the folder of the cache in which they are
    local at
    at=$cache/$1-$(cksum <<< "${*:2}" | cut -d ' ' -f 1)
    if [ ! -e "$at/usr" ]; then
        echo "need.sh: unpacking ${*:2} in $at" >&2
        rm -rf "$at.part" && mkdir -p "$at.part"
        (
            cd "$at.part"
            apt-get -qq download "${@:2}" > /dev/null 2>&1 ||
                { quiet apt-get -qq update; quiet apt-get -qq download "${@:2}"; }
            for deb in *.deb; do quiet dpkg-deb -x "$deb" .; done
            rm -- *.deb
        )
        rm -rf "$at" && mv "$at.part" "$at"
    fi
    echo "$at"
}

# Of these, those that this release has.
there_are() { # PACKAGES...
    local each
    for each in "$@"; do
        if (candidate "$each") > /dev/null 2>&1; then echo "$each"; fi
    done
}

forwarders_path() {
    local libs # of haproxy and sshd
    mapfile -t libs < <(there_are liblua5.3-0 liblua5.4-0 libjemalloc2 libopentracing-c-wrapper0 \
        libopentracing-c-wrapper0t64 libopentracing1 libwtmpdb0)
    unpacked forwarders haproxy "${libs[@]}" nginx libnginx-mod-stream redir xinetd \
        openssh-server docker.io
}

prometheus_path() {
    local tool
    mapfile -t tool < <(there_are promtool)
    unpacked prometheus prometheus "${tool[@]}"
}

kerberos_path() { unpacked kerberos krb5-kdc krb5-admin-server; }

# The source package of SUITE, unpacked in the folder NAME of this one, with Debian's patches. Its
# .dsc, which says the same as the index that apt has checked, is not needed.
debian_source() { # PACKAGE SUITE NAME
    local apt=$PWD/apt url name
    mkdir -p "$apt"/{state/lists/partial,cache/archives/partial,etc/apt.conf.d,etc/preferences.d} "$3"
    : > "$apt/status"
    {
        apt-config dump | grep -i '^Acquire::.*\(proxy\|cainfo\)' || :
        printf '%s "%s";\n' Dir::State "$apt/state" Dir::State::status "$apt/status" \
            Dir::Cache "$apt/cache" Dir::Etc "$apt/etc" APT::Sandbox::User root \
            Acquire::Languages none
    } > "$apt/apt.conf"
    url=$("$here/mirror.sh")
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $url $2 main" \
        > "$apt/etc/sources.list"
    APT_CONFIG=$apt/apt.conf quiet apt-get -qq update
    APT_CONFIG=$apt/apt.conf apt-get -qq --print-uris source "$1" 2> /dev/null > "$apt/uris"
    while read -r url name _ hash; do
        case $name in *.dsc) continue ;; esac
        url=${url//\'/}
        quiet /usr/lib/apt/apt-helper -c "$apt/apt.conf" download-file "$url" "$name" "$hash"
        case $name in
        *.orig.tar.*) tar -x --strip-components=1 -C "$3" -f "$name" ;;
        *.debian.tar.*) tar -x -C "$3" -f "$name" ;;
        esac
    done < "$apt/uris"
    while read -r name; do
        quiet patch -s -d "$3" -p1 -i "debian/patches/$name"
    done < <(grep '^[^#]' "$3/debian/patches/series" 2> /dev/null)
}

multiarch() { dpkg-architecture -qDEB_HOST_MULTIARCH 2> /dev/null || gcc -print-multiarch; }

# Builds a library of Debian 13 where its package is not to be had, and prints the folder.
built() { # SOURCE_PACKAGE TARGET FILE CMAKE_OPTIONS...
    local at=$cache/$1-built
    need cmake patch gcc libc6-dev make
    mkdir -p "$cache"
    (
        flock 9
        [ ! -e "$at/$3" ] || exit 0
        echo "need.sh: building $1 in $at" >&2
        rm -rf "$at.part" && mkdir -p "$at.part" && cd "$at.part"
        debian_source "$1" trixie source
        quiet cmake -S source -B build -DCMAKE_BUILD_TYPE=Release -DENABLE_EXAMPLES=OFF "${@:4}"
        quiet make -C build -j2 "$2"
        cp -R source/include . && cp -L "build/lib/$1.so" "$3"
        rm -rf source build apt ./*.tar.*
        rm -rf "$at" && mv "$at.part" "$at"
    ) 9> "$cache/$1.lock" || exit
    echo "$at"
}

libnfs_path() {
    if (candidate libnfs14) > /dev/null 2>&1; then
        echo "$(unpacked libnfs14 libnfs14)/usr/lib/$(multiarch)"
    else
        built libnfs nfs libnfs.so.14
    fi
}

libsmb2_path() {
    if (candidate libsmb2-6) > /dev/null 2>&1; then
        echo "$(unpacked libsmb2 libsmb2-6)/usr/lib/$(multiarch)"
    else
        built libsmb2 smb2 libsmb2.so.6 -DENABLE_LIBKRB5=OFF -DENABLE_GSSAPI=OFF
    fi
}

declare -A there=() # package -> 1: asked once for all packages
installed() { # PACKAGE
    local name
    if [ ${#there[@]} = 0 ]; then
        while read -r name; do there[$name]=1; done \
            < <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
    fi
    [ -n "${there[$1]:-}" ]
}

# The first of NAME|NAME... that apt can install; the names of libclang-rt and
# others include a version or differ between releases.
candidate() { # NAMES
    local name
    for name in ${1//|/ }; do
        if apt-cache policy "$name" 2>/dev/null | grep '^  Candidate: [^(]' > /dev/null; then
            echo "$name"
            return
        fi
    done
    die "no package ${1//|/ or }"
}

clang_rt() { # the sanitizers of the default clang
    local major
    major=$(apt-cache show clang 2>/dev/null |
        sed -n 's/^Version: \(1:\)\?\([0-9]*\).*/\2/p' | sort -n | tail -n 1)
    echo "libclang-rt-${major:-14}-dev"
}

quiet() { # COMMAND...: its output only where it fails
    local out
    out=$("$@" 2>&1 < /dev/null) || die "$* failed: $out"
}

# As quiet; meanwhile no package starts a service (invoke-rc.d(8)).
without_services() { # COMMAND...
    local policy=/usr/sbin/policy-rc.d
    if [ ! -e $policy ] || grep -qs '^# of need.sh$' $policy; then
        # If this script is killed, the file that stays forbids nothing.
        printf '#!/bin/sh\n# of need.sh\n! kill -0 %d 2> /dev/null || exit 101\n' $$ > $policy
        chmod +x $policy
        # Another one that runs meanwhile has put its own there.
        # shellcheck disable=SC2064 # their values now
        trap "! grep -qs 'kill -0 $$ ' $policy || rm -f $policy" EXIT
    fi
    quiet "$@"
}

need() { # NAMES...: install what is missing; a name may stand there twice
    local names name missing=() pkgs=()
    for names in "$@"; do
        [[ " ${missing[*]} " != *" $names "* ]] || continue
        for name in ${names//|/ }; do
            if installed "$name"; then continue 2; fi
        done
        missing+=("$names")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    [ "$(id -u)" = 0 ] || die "missing, install as root: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    local apt=(apt-get -qq -y --no-install-recommends -o DPkg::Lock::Timeout=300)
    quiet "${apt[@]}" update
    for names in "${missing[@]}"; do
        pkgs+=("$(candidate "$names")")
    done
    echo "need.sh: installing ${pkgs[*]}" >&2
    without_services "${apt[@]}" install "${pkgs[@]}"
}

[ $# -gt 0 ] || die "usage: need.sh build|server|analysis|check|gluster|openafs|bench|deb|roots|vm|python... or need.sh --ruff|--clang-format|--python|--site|--prometheus|--forwarders|--kerberos|--libnfs|--libnfs4|--libsmb2"
list=()
for group in "$@"; do
    case $group in
    build)
        list+=(gcc libc6-dev clang llvm libbpf-dev 'bpftool|linux-tools-common'
            libelf-dev zlib1g-dev libgcrypt20-dev libjansson-dev libmicrohttpd-dev
            libncurses-dev 'pkg-config|pkgconf' make po4a) ;;
    server)
        list+=(apt dpkg tar xz-utils debian-archive-keyring ca-certificates
            openssl util-linux mount e2fsprogs gawk\|mawk libc-bin gcc libc6-dev) ;;
    check)
        list+=(ccache libcmocka-dev clang "$(clang_rt)" shellcheck zsh fish tshark
            babeltrace2 bpftrace strace curl git python3 python3-pytest python3-pytest-xdist python3-yaml
            iproute2 mandoc tmux mariadb-server-core 'linux-perf|linux-tools-generic' python3-venv fio gettext man-db musl-tools
            openmpi-bin libopenmpi-dev mpich libmpich-dev libfuse3-dev socat nftables
            gvfs-backends libglib2.0-bin 'dbus-daemon|dbus'
            krb5-user 'libverto-libev1|libverto-libev1t64|libverto-libevent1|libverto-libevent1t64'
            libgssapi-krb5-2) ;;
    gluster) list+=(glusterfs-server glusterfs-client libglusterfs-dev) ;;
    openafs) list+=(openafs-fileserver openafs-dbserver openafs-client iproute2 util-linux) ;;
    bench) list+=(wrk fio) ;;
    deb) list+=(build-essential debhelper dh-python dpkg-dev lintian python3-venv ca-certificates) ;;
    roots) list+=(debootstrap autopkgtest ca-certificates) ;;
    vm)
        list+=(qemu-system-x86 qemu-system-arm cpio kmod e2fsprogs xz-utils zstd
            apt dpkg tar debian-archive-keyring ca-certificates util-linux
            gcc-aarch64-linux-gnu) ;;
    site) list+=(mandoc python3-venv) ;;
    pictures) list+=('chromium|chromium-browser' fonts-dejavu-core python3-venv) ;;
    analysis) list+=(python3-venv ca-certificates) ;;
    python)
        list+=(python3-venv babeltrace2 fonts-dejavu-core fonts-ipafont-gothic
            'chromium|chromium-browser')
        [ "$spark" = 0 ] || command -v java > /dev/null ||
            list+=('default-jre-headless|openjdk-17-jre-headless|openjdk-21-jre-headless') ;;
    --python)
        [ $# = 1 ] || die "--python stands alone"
        python_path
        exit ;;
    --site)
        [ $# = 1 ] || die "--site stands alone"
        site_path
        exit ;;
    --prometheus)
        [ $# = 1 ] || die "--prometheus stands alone"
        echo "$(prometheus_path)/usr/bin"
        exit ;;
    --forwarders)
        [ $# = 1 ] || die "--forwarders stands alone"
        forwarders_path
        exit ;;
    --libnfs)
        [ $# = 1 ] || die "--libnfs stands alone"
        libnfs_path
        exit ;;
    --libnfs4)
        [ $# = 1 ] || die "--libnfs4 stands alone"
        echo "$(unpacked libnfs13 libnfs13)/usr/lib/$(multiarch)"
        exit ;;
    --libsmb2)
        [ $# = 1 ] || die "--libsmb2 stands alone"
        libsmb2_path
        exit ;;
    --smbprotocol)
        [ $# = 1 ] || die "--smbprotocol stands alone"
        smbprotocol_path
        exit ;;
    --kerberos)
        [ $# = 1 ] || die "--kerberos stands alone"
        kerberos_path
        exit ;;
    --ruff)
        [ $# = 1 ] || die "--ruff stands alone"
        ruff_path
        exit ;;
    --clang-format)
        [ $# = 1 ] || die "--clang-format stands alone"
        clang_format_path
        exit ;;
    *) die "no group $group" ;;
    esac
done
need "${list[@]}"
for group in "$@"; do
    case $group in
    check)
        { ruff_path; clang_format_path; prometheus_path; forwarders_path; kerberos_path; } > /dev/null ;;
    python) python_path > /dev/null ;;
    esac
done
