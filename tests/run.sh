#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.sh JOBS PROGRAM...: run test programs, JOBS at a time, all of them even when
# one has failed. The output of each is printed when it has ended, and kept in
# PROGRAM.log. A program that failed may have been disturbed by the others: if at
# most LIMIT did, each is then run alone, TIMES times, and counts as failed unless
# it always passes; it is named at the end in either case. Exit status: 0 when
# none counts as failed.
set -euo pipefail

[[ $# -ge 2 && $1 =~ ^[1-9][0-9]*$ ]] || { echo "usage: run.sh JOBS PROGRAM..." >&2; exit 2; }
jobs=$1 LIMIT=3 TIMES=3 EACH_S=${EACH_S:-600}
shift

failures=$(mktemp) failed=$(mktemp)
trap 'rm -f "$failures" "$failed"' EXIT

one() { # PROGRAM
    local status=0
    # In this process group: what ends it also ends the programs.
    timeout --foreground -k 10 "$EACH_S" "$1" > "$1.log" 2>&1 < /dev/null || status=$?
    [ $status != 124 ] || echo "run.sh: $1 had not ended after $EACH_S s" >> "$1.log"
    {
        flock 3
        echo "== $1"
        cat "$1.log"
        [ $status = 0 ] || { tail -n 5 "$1.log" && echo "run.sh: $1 ended with $status"; } >> "$failures"
        [ $status = 0 ] || echo "$1" >> "$failed"
    } 3< "$0"
    [ $status = 0 ]
}

running=0
for program; do
    [ $running -lt "$jobs" ] || { wait -n || :; running=$((running - 1)); }
    one "$program" &
    running=$((running + 1))
done
wait

mapfile -t again < "$failed"
cat "$failures"
[ ${#again[@]} -le $LIMIT ] || exit 1
status=0
for program in "${again[@]}"; do
    for ((i = 1; i <= TIMES; i++)); do one "$program" || break; done
    if [ $i -gt $TIMES ]; then
        echo "run.sh: $program failed beside others, and passed alone $TIMES times"
    else
        echo "run.sh: $program failed also alone"
        status=1
    fi
done
exit $status
