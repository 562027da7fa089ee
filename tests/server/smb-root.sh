#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# smb-root.sh SUITE: unpack Samba, smbclient and smbtorture of a Debian suite (bookworm, trixie, sid)
# into a small root tree of the cache, and print its path. As root.sh does with netatalk: nothing is
# installed, no maintainer script runs, a finished tree is left as it is. Needs root.
#
# AFPD_MIRROR  Debian mirror (default: that of the host's own apt sources)
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -eq 1 ] || die "usage: smb-root.sh SUITE"
suite=$1
key=$(cd "$here" && sha256sum < smb-root.sh)
root=$cache/smb-$suite-${key:0:12}
[ -e "$root/.version" ] && { echo "$root"; exit 0; }
[ "$(id -u)" = 0 ] || die "must be root"

mkdir -p "$cache"
exec 9> "$cache/smb-$suite.lock"
flock 9                         # one builder at a time
[ -e "$root/.version" ] && { echo "$root"; exit 0; }
umask 022

for old in "$cache/smb-$suite"-????????????; do
    [ -d "$old" ] || continue
    for i in "$cache"/smb-inst-*/env; do
        if grep -qsFx "SMB_ROOT=$old" "$i"; then continue 2; fi
    done
    rm -rf --one-file-system "$old"
done

part=$root.part
apt=$cache/smb-$suite.apt
trap 'rm -rf "$part" "$apt"' EXIT
rm -rf "$part" "$apt"
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" \
         "$apt/etc/apt.conf.d" "$apt/etc/preferences.d" "$part"

# Not needed to serve files: said to be installed. Of Python's packages Samba wants one version.
arch=$(dpkg --print-architecture)
for p in adduser avahi-daemon base-passwd dbus dbus-daemon dbus-system-bus-common dbus-broker \
         dbus-system-bus default-dbus-system-bus debconf default-systemd-sysusers \
         init-system-helpers libpam-modules libpam-runtime login.defs lsb-base passwd perl \
         perl-base procps systemd systemd-standalone-sysusers systemd-sysusers systemd-sysv \
         sysvinit-utils ucf; do
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

retry() { # COMMAND...: up to three times
    local n
    for n in 1 2 3; do
        if "$@"; then return 0; fi
        sleep "$n"
    done
    return 1
}
url=$("$here/../mirror.sh") || exit
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $url $suite main" \
    > "$apt/etc/sources.list"
export APT_CONFIG=$apt/apt.conf
retry apt-get -qq update >&2 || die "no package index for $suite"
pkgs=(samba smbclient)
for p in samba-vfs-modules samba-testsuite; do
    if apt-cache show "$p" > /dev/null 2>&1; then pkgs+=("$p"); fi
done
retry apt-get -qq --no-install-recommends --download-only -y install "${pkgs[@]}" >&2 ||
    die "cannot download ${pkgs[*]} of $suite"
version=$(apt-cache show samba | awk '$1 == "Version:" { sub("^[0-9]*:", "", $2); sub("[+-].*", "", $2); print $2; exit }')
unset APT_CONFIG

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
mkdir -p etc dev proc root run tmp var/run var/lock var/log inst home/bench1 home/bench2
chmod 1777 tmp
for n in null zero random urandom; do
    [ -e dev/$n ] || cp -a /dev/$n dev/$n
done
printf '%s\n' root:x:0:0:root:/root:/bin/sh nobody:x:65534:65534:nobody:/:/bin/sh \
    bench1:x:5001:5001:bench1:/home/bench1:/bin/sh \
    bench2:x:5002:5002:bench2:/home/bench2:/bin/sh > etc/passwd
printf '%s\n' root:x:0: nogroup:x:65534: bench1:x:5001: bench2:x:5002: > etc/group
for t in passwd group shadow hosts services protocols; do
    echo "$t: files"
done > etc/nsswitch.conf
echo '127.0.0.1 localhost' > etc/hosts
echo "$version" > .version
mv "$part" "$root"
echo "$root"
