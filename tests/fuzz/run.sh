#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.sh SECONDS PROGRAM...: run all fuzzers at once, each until it has tried LEAST inputs, and
# with more than 5 s also until SECONDS have passed or it has tried MOST: first those of
# corpus/NAME.tar.gz (which corpus.sh makes), then changed ones. So a busy machine makes it longer,
# not weaker. What they say is left in PROGRAM.log, what they found beside it. Prints the inputs,
# seconds and CPU seconds of each.
# Exit status: 0 when none found anything.
set -euo pipefail

[ $# -ge 2 ] || { echo "usage: run.sh SECONDS PROGRAM..." >&2; exit 2; }
here=$(dirname "$0") seconds=$1 LEAST=20000
shift
# A cap for quick fuzzers, so that the others have more of the CPUs. With 5 s or less, each makes
# LEAST runs only.
most=$((seconds * 4000 > LEAST ? seconds * 4000 : LEAST))
# Freed memory is kept for a while, so that its use is noticed: in megabytes, of which each page is
# made anew. And no input is preferred, as that costs more than it finds in so short a time.
export ASAN_OPTIONS="quarantine_size_mb=4${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
fuzz=(-len_control=0 -entropic=0 -timeout=120 -verbosity=0 -print_final_stats=1)
pids=() failed=0

executed() { awk '/number_of_executed_units/ { n += $2 } END { print n + 0 }' "$1"; }

# Two runs, as libFuzzer ends one by the first limit that it reaches.
one() { # PROGRAM
    local inputs=$1.inputs name=${1##*/fuzz_} begin=$SECONDS left TIMEFORMAT='cpu %U %S'
    rm -rf "$inputs"
    mkdir "$inputs"
    tar -xzf "$here/corpus/$name.tar.gz" -C "$inputs"
    time {
        "$1" "${fuzz[@]}" "-runs=$LEAST" "-artifact_prefix=${1%/*}/" "$inputs" 2>&1 || return
        left=$((seconds - (SECONDS - begin)))
        [ $left -le 0 ] || [ $most = $LEAST ] ||
            "$1" "${fuzz[@]}" "-runs=$((most - LEAST))" "-max_total_time=$left" \
                "-artifact_prefix=${1%/*}/" "$inputs" 2>&1 || return
    }
    echo "took $((SECONDS - begin))"
}

for fuzzer; do
    one "$fuzzer" > "$fuzzer.log" 2>&1 &
    pids+=($!)
done
for fuzzer; do
    echo "== $fuzzer"
    if wait "${pids[0]}"; then
        n=$(executed "$fuzzer.log")
        [ "$n" -ge $LEAST ] || { echo "run.sh: only $n inputs were tried, $LEAST are the least"; failed=1; }
        awk -v n="$n" '$1 == "cpu" { cpu = $2 + $3 } $1 == "took" { s = $2 }
            END { printf "%d inputs in %d s, %.1f s of CPU\n", n, s, cpu }' "$fuzzer.log"
    else
        tail -n 40 "$fuzzer.log"
        failed=1
    fi
    pids=("${pids[@]:1}")
done
exit $failed
