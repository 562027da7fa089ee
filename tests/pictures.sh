#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# pictures.sh: make the pictures of README.md and docs/ again. Those of the report are of the saved
# run of a real server that the tests use (lantest of netatalk 4.5.1 with "log level =
# default:maxdebug"; its port and paths are as they would be without tests/server): the figures are
# those that the report draws, and the page's picture is one of the page, whose words are kept
# beside it. That of the screen is of a run that is made now, by demo.sh (as root).
# tests/python/test_docs.py fails where the program would draw something else. Needs chromium, and
# the Python packages of need.sh --site.
set -eu
cd "$(dirname "$0")/.."
work=build/pictures
python=$(tests/need.sh --site)
rm -rf "$work"
mkdir -p "$work/before" docs/pictures
gzip -dc tests/python/data/tutorial.json.gz > "$work/before/run.json"
build/afpscope report "$work/before" -o "$work/report.html" --figures "$work"
for name in where cnid latency-5; do
	cp "$work/$name.svg" docs/pictures
done
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,760 \
	--screenshot="$PWD/docs/pictures/report.png" "file://$PWD/$work/report.html" > "$work/log" 2>&1
python3 -B tests/pages.py --words "$work/report.html" > docs/pictures/report.txt

[ "$(id -u)" = 0 ] || {
	echo 'pictures.sh: not root: docs/pictures/screen.svg is left as it is' >&2
	exit
}
# On a terminal, for its colours; what is only shown while it works goes to standard error.
TERM=xterm-256color script -qec 'tests/demo.sh 2> /dev/null' /dev/null < /dev/null > "$work/demo"
tr -d '\r' < "$work/demo" | sed '/^The same as a page/,$d; 1,/^$/d' |
	"$python" -B tests/terminal.py 'sudo afpscope lantest afp://...' > docs/pictures/screen.svg
