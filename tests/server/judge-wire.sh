#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# judge-wire.sh PORT OUT -- COMMAND [ARGUMENT...]: like judge.sh (same OUT,
# same exit status), but counts the AFP requests that went over the loopback
# to PORT, as tshark reads them: a second opinion, for small runs. The whole
# payload is captured, for tshark must put the DSI stream together again.
# OUT.forks: in how many requests each number of an open file was.
# Fails (125) where the capture lost packets or tshark missed a piece.
# Needs root (or the right to capture), dumpcap and tshark.
set -Eeuo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=wait.sh
. "$(dirname "$0")/wait.sh"
trap 'exit 125' ERR
die() { echo "judge-wire.sh: $*" >&2; exit 125; }

if [ $# -lt 4 ] || [ "$3" != -- ]; then
    die "usage: judge-wire.sh PORT OUT -- COMMAND..."
fi
port=$1 out=$2
: "${JUDGE_WAIT:=60}"
shift 3
env_of "$port"
rm -f "$out"
tmp=$(mktemp -d)
cap=
trap '[ -z "$cap" ] || kill "$cap"; rm -rf "$tmp"' EXIT

dumpcap -i lo -f "port $port" -B 256 -w "$tmp/cap" < /dev/null > "$tmp/err" 2>&1 &
cap=$!
# shellcheck disable=SC2317
begun() { grep -qs '^File: ' "$tmp/err" || ! kill -0 "$cap" 2>/dev/null; }
wait_until 10 begun || :
grep -qs '^File: ' "$tmp/err" || die "dumpcap did not start: $(cat "$tmp/err")"

before=$(server_sessions)
status=0
"$@" || status=$?
wait_sessions "$before" || die "sessions still run: $(server_sessions)"
# What is captured is written in order, and not at once: all of it is there when this is.
marker="the end of $port $$ $RANDOM"
echo "$marker" > "/dev/udp/127.0.0.1/$port"
wait_until 10 grep -qsaF "$marker" "$tmp/cap" || die "the capture does not end"

kill -INT $cap
wait $cap || die "dumpcap failed: $(cat "$tmp/err")"
cap=
# Packets received/dropped on interface '...': 12/0 (pcap:0/dumpcap:0/flushed:0/ps_ifdrop:0) (100.0%)
grep -q '^Packets received/dropped.*: [0-9]*/0 (pcap:0/dumpcap:0/' "$tmp/err" ||
    die "packets were lost: $(grep Packets "$tmp/err")"

read_cap() { # FILTER FIELD
    tshark -n -r "$tmp/cap" -d "tcp.port==$port,dsi" -Y "$1" -T fields -e "$2" \
        -E occurrence=a -E aggregator=' ' 2>> "$tmp/err"
}
lost=$(read_cap "tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment" frame.number)
[ -z "$lost" ] || die "tshark misses segments before frames ${lost//[[:space:]]/ }"
count_cap() { # FIELD
    read_cap "tcp.dstport == $port && $1" "$1" | tr -s ' ' '\n' | sort -n | uniq -c |
        awk '{ print $2, $1 }'
}
count_cap afp.command > "$out"
count_cap afp.ofork > "$out.forks"
exit $status
