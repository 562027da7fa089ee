#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# beside.sh BEHIND FRONT: run make's targets FRONT, and meanwhile BEHIND in the time that FRONT
# leaves idle (SCHED_IDLE: it never keeps a CPU from FRONT). Each is one word with one or more
# targets. What BEHIND prints is kept in build/beside.log and printed at the end. Exit status: 0
# when both ended with 0. When FRONT fails, or this script is ended, nothing that they started is
# left running.
set -uo pipefail

[ $# = 2 ] || { echo "usage: beside.sh BEHIND FRONT" >&2; exit 2; }
log=build/beside.log sessions=()

# Each in a session of its own, so that all of it can be ended. Bash lets what it starts in the
# background ignore ^C, and tests would pass that on to what they start.
start() { # COMMAND...
    env --default-signal=INT,QUIT setpriv --pdeathsig TERM setsid "$@" < /dev/null &
    sessions+=($!)
}

# First by ^C, on which tests end their servers.
end_all() {
    local signal session left
    trap '' INT TERM HUP
    for signal in INT TERM KILL; do
        for session in "${sessions[@]}"; do kill "-$signal" -- "-$session" 2> /dev/null; done
        for _ in {1..200}; do
            left=0
            for session in "${sessions[@]}"; do ! kill -0 -- "-$session" 2> /dev/null || left=1; done
            [ $left = 1 ] || return
            sleep 0.1
        done
    done
}
trap end_all EXIT
trap 'exit 130' INT
# Who ends it wants to know what it waited for.
trap 'echo "== beside, ended in: $1"; tail -n 60 "$log"; exit 143' TERM HUP

mkdir -p build
make=("${MAKE:-make}" --no-print-directory -j1)
# The kernel shares the CPUs among sessions first, and SCHED_IDLE counts only inside one: the
# session itself gets the lowest weight, too (man 7 sched, autogroup).
# shellcheck disable=SC2016,SC2086
start sh -c '[ ! -e "$0" ] || echo 19 > "$0"; exec chrt --idle 0 "$@"' /proc/self/autogroup \
    "${make[@]}" $1 > "$log" 2>&1
# shellcheck disable=SC2086
start "${make[@]}" $2

failed=0
wait "${sessions[1]}" || { failed=1; end_all; }
echo "== beside: $1"
wait "${sessions[0]}" || failed=1
cat "$log"
[ $failed = 0 ]
