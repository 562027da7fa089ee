#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.sh JOBS PROGRAM...: run test programs, JOBS at a time, all of them even when
# one has failed. The output of each is printed when it has ended, and kept in
# PROGRAM.log. Exit status: 0 when all ended with 0; else those that failed are
# named at the end.
set -euo pipefail

[[ $# -ge 2 && $1 =~ ^[1-9][0-9]*$ ]] || { echo "usage: run.sh JOBS PROGRAM..." >&2; exit 2; }
jobs=$1
shift

failures=$(mktemp)
trap 'rm -f "$failures"' EXIT

one() { # PROGRAM
    local status=0
    "$1" > "$1.log" 2>&1 < /dev/null || status=$?
    {
        flock 3
        echo "== $1"
        cat "$1.log"
        [ $status = 0 ] || { tail -n 5 "$1.log" && echo "run.sh: $1 ended with $status"; } >> "$failures"
    } 3< "$0"
    [ $status = 0 ]
}

running=0 failed=0
end_one() {
    wait -n || failed=1
    running=$((running - 1))
}
for program; do
    [ $running -lt "$jobs" ] || end_one
    one "$program" &
    running=$((running + 1))
done
while [ $running -gt 0 ]; do end_one; done
cat "$failures"
exit $failed
