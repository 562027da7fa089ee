#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# peer.sh SUITE COMMAND [ARGUMENT...]: run a program of netatalk-tests
# (afp_lantest, afp_speedtest, afp_spectest, ...) of that suite's root tree,
# which is built first where there is none. proc is also mounted at /proc_io
# there, which afp_lantest reads; all in a mount namespace of its own, so that
# nothing stays mounted. bullseye has no such programs: use another suite's.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -ge 2 ] || die "usage: peer.sh SUITE COMMAND [ARGUMENT...]"
root=$("$here/root.sh" "$1")
shift
# shellcheck disable=SC2016
exec unshare -m --propagation private sh -c '
    r=$1; shift
    mount -t proc -o hidepid=0 proc "$r/proc_io"
    mount -t proc -o hidepid=0 proc "$r/proc"
    exec chroot "$r" "$@"' peer "$root" "$@"
