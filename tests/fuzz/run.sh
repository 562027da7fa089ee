#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.sh SECONDS PROGRAM...: run all fuzzers at once, first with the inputs of corpus/NAME.tar.gz
# (which corpus.sh makes), then with changed ones, for so long or MOST times. What they say is left
# in PROGRAM.log, what they found beside it. Exit status: 0 when none found anything.
set -euo pipefail

[ $# -ge 2 ] || { echo "usage: run.sh SECONDS PROGRAM..." >&2; exit 2; }
here=$(dirname "$0") seconds=$1
shift
# Enough of the quick ones in 10 s, so that the others have more of the CPUs.
most=$((seconds * 4000))
# Freed memory is kept for a while, so that its use is noticed: in megabytes, of which each page is
# made anew. And no input is preferred, as that costs more than it finds in so short a time.
export ASAN_OPTIONS="quarantine_size_mb=4${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
pids=() failed=0
for fuzzer; do
    inputs=$fuzzer.inputs name=${fuzzer##*/fuzz_}
    rm -rf "$inputs"
    mkdir "$inputs"
    tar -xzf "$here/corpus/$name.tar.gz" -C "$inputs"
    "$fuzzer" -len_control=0 -entropic=0 "-max_total_time=$seconds" "-runs=$most" -verbosity=0 \
        -print_final_stats=1 "-artifact_prefix=${fuzzer%/*}/" "$inputs" > "$fuzzer.log" 2>&1 &
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
