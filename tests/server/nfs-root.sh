#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# nfs-root.sh SUITE: unpack nfs-ganesha, the portmapper that it wants for NFSv3, and the clients
# nfs-ls, nfs-cat and nfs-cp of a Debian suite (bookworm, trixie, sid) into a small root tree of the
# cache, and print its path, as tree.sh says.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tree.sh
. "$(dirname "$0")/tree.sh"

[ $# -eq 1 ] || die "usage: nfs-root.sh SUITE"
tree_find "nfs-$1" nfs-inst NFS_ROOT nfs-root.sh
tree_index "$1" adduser base-passwd dbus dbus-daemon dbus-system-bus-common dbus-broker \
    dbus-system-bus default-dbus-system-bus debconf default-systemd-sysusers init-system-helpers \
    libpam-modules libpam-runtime login.defs lsb-base nfs-common passwd perl perl-base procps \
    systemd systemd-standalone-sysusers systemd-sysusers systemd-sysv sysvinit-utils ucf ||
    die "no package index for $1"
tree_unpack nfs-ganesha nfs-ganesha-vfs rpcbind libnfs-utils
tree_accounts _rpc:107 bench1:5001 bench2:5002
mkdir -p var/lib/nfs/ganesha
ln -sfn /proc/self/mounts etc/mtab # where ganesha looks for file systems
tree_done
