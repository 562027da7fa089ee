#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# beside.sh BEHIND FRONT...: run make's targets FRONT, and meanwhile BEHIND in the time that
# they leave idle (SCHED_IDLE: it never keeps a CPU from them). What BEHIND prints is kept in
# build/BEHIND.log and printed at the end, also if FRONT has failed. Exit status: 0 when both
# ended with 0.
set -uo pipefail

[ $# -ge 2 ] || { echo "usage: beside.sh BEHIND FRONT..." >&2; exit 2; }
behind=$1 log=build/$1.log
shift

mkdir -p build
setpriv --pdeathsig TERM chrt --idle 0 "${MAKE:-make}" --no-print-directory -j1 "$behind" > "$log" 2>&1 < /dev/null &
pid=$!
trap 'kill $pid 2> /dev/null' EXIT
trap 'exit 143' INT TERM HUP

failed=0
"${MAKE:-make}" --no-print-directory -j1 "$@" || failed=1
# Nobody else wants the CPUs any more.
[ $failed = 1 ] || echo "== $behind"
wait $pid || failed=1
trap - EXIT
cat "$log"
exit $failed
