#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# smb-root.sh SUITE: unpack Samba, smbclient and smbtorture of a Debian suite (bookworm, trixie, sid)
# into a small root tree of the cache, and print its path, as tree.sh says.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tree.sh
. "$(dirname "$0")/tree.sh"

[ $# -eq 1 ] || die "usage: smb-root.sh SUITE"
tree_find "smb-$1" smb-inst SMB_ROOT smb-root.sh
# Of Python's packages Samba wants one version.
tree_index "$1" adduser avahi-daemon base-passwd dbus dbus-daemon dbus-system-bus-common \
    dbus-broker dbus-system-bus default-dbus-system-bus debconf default-systemd-sysusers \
    init-system-helpers libpam-modules libpam-runtime login.defs lsb-base passwd perl perl-base \
    procps systemd systemd-standalone-sysusers systemd-sysusers systemd-sysv sysvinit-utils ucf ||
    die "no package index for $1"
pkgs=(samba smbclient)
for p in samba-vfs-modules samba-testsuite; do
    if tree_has "$p"; then pkgs+=("$p"); fi
done
tree_unpack "${pkgs[@]}"
tree_accounts bench1:5001 bench2:5002
tree_done
