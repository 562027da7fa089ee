#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# integration.sh WORKERS PYTEST_ARGUMENT...: run tests/integration with so many workers. A case that
# fails beside the others may have been disturbed by them: at most LIMIT such cases are then run
# alone, each TIMES times, and the whole fails unless each of these passes. What they
# said the first time is printed, and they are named at the end. Exit status: 0 when all is well.
set -euo pipefail

[[ $# -ge 2 && $1 =~ ^[1-9][0-9]*$ ]] || { echo "usage: integration.sh WORKERS PYTEST_ARGUMENT..." >&2; exit 2; }
workers=$1 LIMIT=10 TIMES=3
shift

AFPSCOPE_FAILED=$(mktemp)
export AFPSCOPE_FAILED
trap 'rm -f "$AFPSCOPE_FAILED"' EXIT

run() { "${PYTHON:-/usr/bin/python3}" -B -m pytest -p no:cacheprovider -q "$@" < /dev/null; }

status=0
run -n "$workers" --dist loadgroup -rs --durations=20 "$@" tests/integration || status=$?
# 1: some tests failed. Others: no tests, an internal error, an end by a signal.
[ $status = 1 ] || exit $status
mapfile -t cases < "$AFPSCOPE_FAILED"
if [ ${#cases[@]} = 0 ] || [ ${#cases[@]} -gt $LIMIT ]; then
    echo "integration.sh: ${#cases[@]} cases failed"
    exit 1
fi
for it in "${cases[@]}"; do
    for ((i = 1; i <= TIMES; i++)); do
        run "tests/integration/$it" || { echo "integration.sh: failed also alone: $it"; exit 1; }
    done
done
for it in "${cases[@]}"; do
    echo "integration.sh: failed beside others, passed alone $TIMES times: $it"
done
