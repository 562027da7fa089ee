#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# demo.sh: the main job on a real server. Starts netatalk (tests/server), runs the twelve lantest
# tests twice with the exact watch, prints the results, stops the server, and makes the HTML
# report. Needs root, a built build/afpscope and build/afpscope-report.
#
# AFPSCOPE_DEMO_CPU  the CPU for client and server (default: the last one). One CPU for both: their
#                    work never overlaps, and waking each other across CPUs would be most of the time.
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "demo.sh: needs root (the server and eBPF): sudo make demo" >&2; exit 1; }

cpu=${AFPSCOPE_DEMO_CPU:-$(($(nproc) - 1))}
out=build/demo
mkdir -p "$out"
rm -rf "$out/run" "$out/report.html"
AFPD_CPU=$cpu tests/server/up.sh forky 0 dbd > "$out/server"
# shellcheck source=/dev/null
. "./$out/server"
trap 'tests/server/down.sh "$AFPD_PORT"' EXIT
trap 'exit 130' INT TERM HUP

echo "netatalk $AFPD_VERSION on 127.0.0.1 port $AFPD_PORT; client and server on CPU $cpu"
echo
AFPSCOPE_PASSWORD=secret1 taskset -c "$cpu" \
	build/afpscope lantest -o "$out/run" "afp://bench1@127.0.0.1:$AFPD_PORT/vol1"
build/afpscope report "$out/run" -o "$out/report.html" > "$out/log"
echo
echo "The same as a page, with pictures: $PWD/$out/report.html"
echo "Open it in a browser (xdg-open, or copy it to where one is). The server is stopped again."
