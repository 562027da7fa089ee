#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# pictures.sh: make the pictures of docs/tutorial.md again, from the saved run of a real server that
# the tests use. The figures are those that the report draws (tests/python/test_docs.py fails if
# docs/pictures has others); the page's picture needs chromium and is not changed without it.
set -eu
cd "$(dirname "$0")/.."
work=build/pictures
rm -rf "$work"
mkdir -p "$work/lantest" docs/pictures
gzip -dc tests/python/data/lantest-1.json.gz > "$work/lantest/run.json"
build/afpscope report "$work/lantest" -o "$work/report.html" --figures "$work"
for name in where cnid latency-2; do
	cp "$work/$name.svg" docs/pictures
done
if command -v chromium > /dev/null; then
	chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,760 \
		--screenshot="$PWD/docs/pictures/report.png" "file://$PWD/$work/report.html" > "$work/log" 2>&1
else
	echo 'pictures.sh: no chromium: docs/pictures/report.png is left as it is' >&2
fi
