#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dist.sh VERSION FOLDER: make FOLDER/afpscope-VERSION.tar.gz of what git has, or of the whole tree
# where there is no git. What packages want with the version in it is made of its template, NAME.in.
# Two calls on the same tree make the same bytes.
#
# SOURCE_DATE_EPOCH  the time of the files, else that of the last commit, else that of docs/changes.md
set -eu
cd "$(dirname "$0")/.."
version=$1 out=$2
name=afpscope-$version
epoch=${SOURCE_DATE_EPOCH:-$({ git log -1 --format=%ct 2> /dev/null || stat -c %Y docs/changes.md; } | head -n 1)}

rm -rf "${out:?}/$name" "$out/$name.tar.gz"
mkdir -p "$out/$name"
tests/files.sh --tracked > "$out/files"
tar -c --no-recursion -T "$out/files" | tar -x -C "$out/$name"
rm "$out/files"
if [ -e .git ] && command -v git > /dev/null && ! git diff --quiet HEAD; then
	echo "dist.sh: changes that are not committed are in the tarball, too" >&2
fi
for template in debian/changelog packaging/afpscope.spec packaging/APKBUILD; do
	sed "s|@VERSION@|$version|g; s|@DATE@|$(LC_ALL=C date -u -R -d "@$epoch")|" \
		"$template.in" > "$out/$name/$template"
done
tar -c -C "$out" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
	"$name" | gzip -9n > "$out/$name.tar.gz"
rm -r "${out:?}/$name"
[ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:${SUDO_GID:?}" "$out"
echo "$out/$name.tar.gz"
