#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# threads.sh BUILD UNIT...: what threads share, under the thread sanitizer. BUILD is the folder of a build
# with SANITIZE=thread. In these unit programs, and in short loads of four threads, it must find no race; in
# the program that takes one look without a lock, it must find that.
set -euo pipefail

[[ $# -ge 2 && -x $1/afpscope ]] || { echo "usage: threads.sh BUILD UNIT..." >&2; exit 2; }
build=$1 here=$(mktemp -d) server='' port='' peer=''
shift
export TSAN_OPTIONS="exitcode=66 halt_on_error=1 suppressions=$PWD/tests/threads.supp"
trap 'kill $server $peer 2> /dev/null || true; rm -rf "$here"' EXIT

fail() { echo "threads.sh: $*" >&2; exit 1; }

run() { # WORD... of the program, which is to find all well
    timeout 300 "$build/afpscope" "$@" > "$here/out" 2> "$here/err" && return
    status=$?
    tail -n 40 "$here/err" >&2
    fail "afpscope $* ended with $status"
}

tests/run.sh 4 "${@/#/$build/tests/unit/}" > "$here/unit" || { cat "$here/unit" >&2; exit 1; }

printf '%s\n' '[mix]' 'files = 1' 'file_size = 0' '[actions]' 'look = 1' > "$here/mix"
: > "$here/server"
build/tests/known/server --workers 4 --service 2 > "$here/server" &
server=$!
for _ in {1..100}; do
    port=$(sed -n 's/^port //p' "$here/server")
    [ -z "$port" ] || break
    sleep 0.1
done
[ -n "$port" ] || fail "the server does not listen"
many=(load --threads 4 -n 8 --ramp 0 -d 2 --no-save --watch off)
afp=("${many[@]}" --uam guest --no-probe -m "$here/mix")
open=("${afp[@]}" --rate 1000 --live=json "afp://127.0.0.1:$port/vol1")
if timeout 300 "$build/tests/planted" "${open[@]}" > "$here/planted" 2>&1; then
    fail "a race that was planted is not found"
fi
grep -q "ThreadSanitizer: data race" "$here/planted" || {
    cat "$here/planted" >&2
    fail "what was planted is found as no race"
}
run "${open[@]}"
run "${afp[@]}" --think uniform:0.001-0.01 --clients 0:2,1:8,2:2 "afp://127.0.0.1:$port/vol1"
run "${many[@]}" -m office --rate 200 --verify "$here"
run smallfile --threads 4 -n 4 -f 200 --no-save --watch off "$here"

: > "$here/peer"
"$build/afpscope" rx --serve --threads-least 4 --port 0 > "$here/peer" 2>&1 &
peer=$!
for _ in {1..100}; do
    port=$(sed -n 's/.* UDP port \([0-9]*\),.*/\1/p' "$here/peer")
    [ -z "$port" ] || break
    sleep 0.1
done
[ -n "$port" ] || fail "rx --serve does not listen"
run rx -n 4 -t 4 -T 20 -c recv,send,rpc -b 64K --no-save --watch off "127.0.0.1:$port"
kill -INT $peer
status=0
wait $peer || status=$?
[ $status -ne 66 ] || { cat "$here/peer" >&2; fail "rx --serve has a race"; }
peer=''
echo "threads.sh: the race that was planted is found, and no other"
