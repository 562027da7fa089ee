#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# judge.sh PORT OUT -- COMMAND [ARGUMENT...]: run COMMAND and write to OUT how
# often the server of PORT executed each AFP command meanwhile: lines
# "CODE COUNT", sorted by code. Independent of what is tested: bpftrace counts
# the server's own USDT probe afp:afpfunc__start (first argument: the code) in
# the kernel, in all sessions of that afpd, also those begun before, and no
# event can be lost. Other servers on the same binary are left out by parent.
#
# The count ends when the sessions begun during COMMAND have ended, at most
# JUDGE_WAIT seconds (default 60) after it: sessions left then make it fail.
# Exit status: COMMAND's; 125 where judging failed (no OUT is left then).
# Needs root, bpftrace, and a kernel with BTF.
set -Eeuo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=wait.sh
. "$(dirname "$0")/wait.sh"
trap 'exit 125' ERR
die() { echo "judge.sh: $*" >&2; exit 125; }

if [ $# -lt 4 ] || [ "$3" != -- ]; then
    die "usage: judge.sh PORT OUT -- COMMAND..."
fi
port=$1 out=$2
: "${JUDGE_WAIT:=60}"
shift 3
env_of "$port"
rm -f "$out"
tmp=$(mktemp -d)
bt=
trap '[ -z "$bt" ] || kill "$bt"; rm -rf "$tmp"' EXIT

# The probe sits behind a semaphore, which the kernel raises in every process
# that maps the binary, present and future. BEGIN prints when all is attached.
bpftrace -B none -e '
    BEGIN { printf("ready\n"); }
    usdt:'"$AFPD_ROOT"'/usr/sbin/afpd:afp:afpfunc__start
    /((struct task_struct *)curtask)->real_parent->tgid == '"$AFPD_PID"'/ {
        @afp[arg0] = count();
    }' < /dev/null > "$tmp/counts" 2> "$tmp/err" &
bt=$!
# shellcheck disable=SC2317
attached() { grep -qs ready "$tmp/counts" || ! kill -0 "$bt" 2>/dev/null; }
wait_until 30 attached || :
grep -qs ready "$tmp/counts" || die "bpftrace did not attach: $(cat "$tmp/err")"

before=$(server_sessions)
status=0
"$@" || status=$?
wait_sessions "$before" || die "sessions still run: $(server_sessions)"

# bpftrace 0.17 can lose the signal and sleep on: tell it until it has heard.
for ((n = 0; n < 200; n++)); do
    kill -0 $bt 2>/dev/null || break
    if ((n % 40 == 0)); then kill -INT $bt; fi
    sleep 0.05
done
wait $bt || die "bpftrace failed: $(cat "$tmp/err")"
bt=
sed -n 's/^@afp\[\([0-9]*\)\]: \([0-9]*\)$/\1 \2/p' "$tmp/counts" | sort -n > "$out"
exit $status
