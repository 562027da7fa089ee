#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# root.sh SUITE: unpack netatalk, and netatalk-tests where the suite has it, of
# a Debian suite (forky, sid, trixie, bullseye) into a small root tree of the
# cache, and print its path. A finished tree is left as it is; trees of the
# same suite made by other versions of these scripts go, unless in use.
#
# Nothing is installed on the host and no maintainer script runs: apt resolves
# and downloads with a private state directory, dpkg-deb unpacks. Needs root
# (device nodes, file owners). Where forky has no usable index, sid serves.
#
# AFPD_MIRROR  Debian mirror (default: that of the host's own apt sources)
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -eq 1 ] || die "usage: root.sh SUITE"
suite=$1
root=$(root_of "$suite")
[ -e "$root/.version" ] && { echo "$root"; exit 0; }
[ "$(id -u)" = 0 ] || die "must be root"
[ -z "${AFPD_TREE:-}" ] || die "no root tree in $AFPD_TREE"

mkdir -p "$cache"
exec 9> "$cache/$suite.lock"
flock 9                         # one builder at a time
[ -e "$root/.version" ] && { echo "$root"; exit 0; }
umask 022

for old in "$cache/$suite"-????????????; do
    [ -d "$old" ] || continue
    for i in "$cache"/inst-*/env; do
        if grep -qsFx "AFPD_ROOT=$old" "$i"; then continue 2; fi
    done
    rm -rf --one-file-system "$old"
done

part=$root.part
apt=$cache/$suite.apt
trap 'rm -rf "$part" "$apt"' EXIT
rm -rf "$part" "$apt"
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" \
         "$apt/etc/apt.conf.d" "$apt/etc/preferences.d" "$part"

# What afpd and its tests do not need at run time here: said to be installed,
# so that the resolver brings neither these packages nor what they pull in.
arch=$(dpkg --print-architecture)
for p in adduser avahi-daemon base-passwd dbus dbus-daemon \
         dbus-system-bus-common dconf-cli debconf fontconfig-config \
         glib-networking gsettings-desktop-schemas init-system-helpers \
         libpam-runtime localsearch login.defs lsb-base passwd perl perl-base \
         shared-mime-info sysvinit-utils tinysparql tracker; do
    printf '%s\n' "Package: $p" "Status: install ok installed" \
        "Priority: optional" "Section: misc" "Maintainer: none" \
        "Architecture: $arch" "Multi-Arch: allowed" "Version: 9999" \
        "Description: placeholder" ""
done > "$apt/status"

{
    apt-config dump | grep -i '^Acquire::.*\(proxy\|cainfo\)' || :
    cat <<END
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

retry() { # COMMAND...: up to three times
    local n
    for n in 1 2 3; do
        if "$@"; then return 0; fi
        sleep "$n"
    done
    return 1
}
index() { # SUITE
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $url $1 main" \
        > "$apt/etc/sources.list"
    retry apt-get -qq update >&2
}
url=$("$here/../mirror.sh") || exit
export APT_CONFIG=$apt/apt.conf
if ! index "$suite"; then
    [ "$suite" = forky ] || die "no package index for $suite"
    echo "root.sh: no index for forky, taking sid" >&2
    index sid || die "no package index for sid"
fi
pkgs=(netatalk)
if apt-cache show netatalk-tests >/dev/null 2>&1; then pkgs+=(netatalk-tests); fi
retry apt-get -qq --no-install-recommends --download-only -y install "${pkgs[@]}" >&2 ||
    die "cannot download ${pkgs[*]} of $suite"
version=$(apt-cache show netatalk | awk '$1 == "Version:" { sub("~ds.*|-[^-]*$", "", $2); print $2; exit }')
unset APT_CONFIG

# Older suites carry files in both /lib and /usr/lib: tar must not replace the
# links below by folders.
for d in bin sbin lib lib64; do
    mkdir -p "$part/usr/$d"
    ln -s "usr/$d" "$part/$d"
done
for deb in "$apt"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" |
        tar -x --keep-directory-symlink -C "$part" -f -
done
ldconfig -r "$part"

cd "$part"
mkdir -p etc dev proc proc_io root run tmp var/run var/lock var/log inst \
         var/lib/netatalk/CNID home/bench1 home/bench2 home/longpw
chmod 1777 tmp
for n in null zero random urandom; do
    [ -e dev/$n ] || cp -a /dev/$n dev/$n
done
printf '%s\n' root:x:0: shadow:x:42: nogroup:x:65534: > etc/group
printf '%s\n' root:x:0:0:root:/root:/bin/sh \
    nobody:x:65534:65534:nobody:/:/bin/sh > etc/passwd
printf '%s\n' 'root:*:19000:0:99999:7:::' 'nobody:*:19000:0:99999:7:::' > etc/shadow
chmod 600 etc/shadow
user() { # NAME ID PASSWORD
    echo "$1:x:$2:$2:$1:/home/$1:/bin/sh" >> etc/passwd
    echo "$1:x:$2:" >> etc/group
    echo "$1:$(openssl passwd -6 "$3"):19000:0:99999:7:::" >> etc/shadow
}
user bench1 5001 secret1
user bench2 5002 secret1
user longpw 5003 correct-horse-battery
echo /bin/sh > etc/shells
for t in passwd group shadow hosts services protocols; do
    echo "$t: files"
done > etc/nsswitch.conf
echo '127.0.0.1 localhost' > etc/hosts
for t in auth account password session; do
    echo "$t required pam_unix.so"
done > etc/pam.d/netatalk

# cnid_metad ends at once where it may not set RLIMIT_NOFILE to 65535 (hard
# limit below that and no CAP_SYS_RESOURCE): there, a shim asks for less.
hard=$(ulimit -Hn)
if [ "$hard" != unlimited ] && [ "$hard" -lt 65535 ]; then
    cc -shared -fPIC -nostdlib -O2 -o usr/lib/rlimit-clamp.so "$here/rlimit-clamp.c"
    echo /usr/lib/rlimit-clamp.so > etc/ld.so.preload
fi
echo "$version" > .version
mv "$part" "$root"
echo "$root"
