#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.sh SECONDS PROGRAM...: run all fuzzers at once for so long. What they say is left in
# PROGRAM.log, what they found beside it. Exit status: 0 when none found anything.
set -euo pipefail

[ $# -ge 2 ] || { echo "usage: run.sh SECONDS PROGRAM..." >&2; exit 2; }
seconds=$1
shift
pids=() failed=0
for fuzzer; do
    "$fuzzer" -len_control=0 "-max_total_time=$seconds" -verbosity=0 -print_final_stats=1 \
        "-artifact_prefix=${fuzzer%/*}/" > "$fuzzer.log" 2>&1 &
    pids+=($!)
done
for fuzzer; do
    echo "== $fuzzer"
    if wait "${pids[0]}"; then
        grep number_of_executed_units "$fuzzer.log"
    else
        tail -n 40 "$fuzzer.log"
        failed=1
    fi
    pids=("${pids[@]:1}")
done
exit $failed
