#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# demo-gluster.sh: small files in every way there is. Starts a private GlusterFS server with three
# volumes and netatalk, all with their files in memory, and does the same loads by libgfapi, on FUSE
# mounts, on the file system below and over AFP; prints one table, and makes the HTML report. Needs
# root, a built build/afpscope and build/afpscope-report.
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "demo-gluster.sh: needs root: sudo make demo-gluster" >&2; exit 1; }

out=build/demo-gluster
rm -rf "$out"
mkdir -p "$out"
AFPD_PORT='' GLUSTER_HOST=''
down() {
	[ -z "$AFPD_PORT" ] || tests/server/down.sh "$AFPD_PORT"
	[ -z "$GLUSTER_HOST" ] || tests/server/gluster-down.sh "$GLUSTER_HOST"
}
trap down EXIT
trap 'exit 130' INT TERM HUP
GLUSTER_MOUNT="one rep dist" GLUSTER_MEMORY=512M tests/server/gluster-up.sh > "$out/gluster"
# shellcheck source=/dev/null
. "./$out/gluster"
AFPD_MEMORY=256M tests/server/up.sh forky 0 dbd > "$out/netatalk"
# shellcheck source=/dev/null
. "./$out/netatalk"

# What is read, is compared with what was written.
run() { # NAME PLACE
	AFPSCOPE_PASSWORD=secret1 build/afpscope smallfile -n 2 -f 300 \
		-l create,stat,read,append,rename,delete -o "$out/$1" "$2" > "$out/$1.txt" 2>&1 ||
		{ cat "$out/$1.txt"; exit 1; }
}
mkdir -p "$GLUSTER_BRICKS/local"
run below "$GLUSTER_BRICKS/local"
for volume in one rep dist; do
	run "gfapi-$volume" "gluster://$GLUSTER_HOST/$volume"
	run "mount-$volume" "$GLUSTER_MNT/$volume"
done
run afp "afp://bench1@127.0.0.1:$AFPD_PORT/vol1"

set -- below gfapi-one mount-one gfapi-rep mount-rep gfapi-dist mount-dist afp
echo "2 clients, 300 files of 4 KiB each: files a second, and system calls of the server for one file"
echo "(one: a brick; rep: three replicas; dist: three bricks; afp: netatalk $AFPD_VERSION)"
echo
python3 -B tests/demo_table.py "$out" "$@"
(cd "$out" && ../afpscope report "$@" -o report.html > log)
echo
echo "Each of them: $PWD/$out/NAME.txt. All as a page, with pictures: $PWD/$out/report.html"
echo "The servers are stopped again."
