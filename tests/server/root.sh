#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# root.sh SUITE: unpack netatalk, and netatalk-tests where the suite has it, of
# a Debian suite (forky, sid, trixie, bullseye) into a small root tree of the
# cache, and print its path, as tree.sh says. Where forky has no usable index,
# sid serves.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tree.sh
. "$(dirname "$0")/tree.sh"

[ $# -eq 1 ] || die "usage: root.sh SUITE"
suite=$1
if [ -n "${AFPD_TREE:-}" ]; then
    [ -e "$AFPD_TREE/.version" ] || die "no root tree in $AFPD_TREE"
    echo "$AFPD_TREE"
    exit
fi
tree_find "$suite" inst AFPD_ROOT root.sh rlimit-clamp.c
# What afpd and its tests do not need at run time here.
unneeded=(adduser avahi-daemon base-passwd dbus dbus-daemon dbus-system-bus-common dconf-cli debconf
    fontconfig-config glib-networking gsettings-desktop-schemas init-system-helpers libpam-runtime
    localsearch login.defs lsb-base passwd perl perl-base shared-mime-info sysvinit-utils tinysparql
    tracker)
if ! tree_index "$suite" "${unneeded[@]}"; then
    [ "$suite" = forky ] || die "no package index for $suite"
    echo "root.sh: no index for forky, taking sid" >&2
    tree_index sid "${unneeded[@]}" || die "no package index for sid"
fi
pkgs=(netatalk)
if tree_has netatalk-tests; then pkgs+=(netatalk-tests); fi
tree_unpack "${pkgs[@]}"
tree_accounts bench1:5001 bench2:5002 longpw:5003

mkdir -p proc_io var/lib/netatalk/CNID
printf '%s\n' 'root:*:19000:0:99999:7:::' 'nobody:*:19000:0:99999:7:::' > etc/shadow
chmod 600 etc/shadow
password() { # NAME PASSWORD
    echo "$1:$(openssl passwd -6 "$2"):19000:0:99999:7:::" >> etc/shadow
}
password bench1 secret1
password bench2 secret1
password longpw correct-horse-battery
echo /bin/sh > etc/shells
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
tree_done
