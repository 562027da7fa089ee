#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# test.sh SOURCE: builds and runs the tests of a source, as tested.py finds them; those in bpf/ and
# integration/ need root. "make test T=SOURCE" sets MAKE, BUILD and K (pytest -k).
set -euo pipefail
cd "$(dirname "$0")/.."

[[ $# = 1 && -f $1 ]] || { echo "usage: make test T=SOURCE, such as T=user/drive/gun.c" >&2; exit 2; }
mapfile -t tests < <(python3 -B tests/tested.py "$1")
programs=() whole=() package=()
for test in "${tests[@]}"; do
    case $test in
    *.c) programs+=("$BUILD/${test%.c}") ;;
    tests/integration/*) whole+=("$test") ;;
    *) package+=("$test") ;;
    esac
done
[ ${#tests[@]} -gt 0 ] || { echo "test.sh: no test names $1" >&2; exit 1; }
printf 'tests of %s:\n' "$1"
printf '    %s\n' "${tests[@]}"
# shellcheck disable=SC2086 # words
$MAKE all "${programs[@]}"
[ ${#programs[@]} = 0 ] || tests/run.sh 1 "${programs[@]}"
# 5: K chooses none of these tests, but may choose others.
chosen=0
pytests() { # INTERPRETER TEST...
    local status=0
    "$1" -B -m pytest -q -p no:cacheprovider ${K:+-k "$K"} "${@:2}" || status=$?
    [ $status = 5 ] && [ -n "$K" ] && return
    chosen=1
    return $status
}
[ ${#package[@]} = 0 ] || pytests "$(tests/need.sh --python)" "${package[@]}"
if [ ${#whole[@]} -gt 0 ]; then
    # shellcheck disable=SC2086 # words
    $MAKE "$BUILD/tests/integration/lib/verbs" "$BUILD/tests/integration/lib/rx_relay"
    AFPSCOPE=$PWD/$BUILD/afpscope pytests python3 "${whole[@]}"
fi
[ -z "$K" ] || [ $chosen = 1 ] || {
    echo "test.sh: K=$K chooses none of the tests in Python" >&2
    [ ${#programs[@]} -gt 0 ] # they have run
}
