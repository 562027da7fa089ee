#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# deb.sh VERSION BUILD: make Debian's packages of BUILD/dist/afpscope-VERSION.tar.gz in BUILD/deb, for
# the release that this machine runs, and let lintian look at them: its errors and warnings
# are this script's failure.
#
# WHEELS  what Debian lacks and is taken from PyPI, as analysis/requirements.txt pins it, into
#         afpscope-analysis (default: duckdb; empty: nothing, and no network is needed)
set -eu
cd "$(dirname "$0")/.."
version=$1
top=$(pwd)/$2/deb
tree=$top/afpscope-$version
wheels=${WHEELS-duckdb}

rm -rf "$top"
mkdir -p "$top"
tar -x -C "$top" -f "$2/dist/afpscope-$version.tar.gz"
export DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-parallel=$(nproc)}"
(cd "$tree" && dpkg-buildpackage -S -d -us -uc)
if [ -n "$wheels" ]; then
	python3 -m venv "$top/pip"
	for wheel in $wheels; do
		"$top/pip/bin/pip" -q --disable-pip-version-check download --no-deps --only-binary :all: \
			-d "$tree/debian/wheels" "$(grep "^$wheel==" analysis/requirements.txt)"
	done
	rm -r "$top/pip"
fi
(cd "$tree" && dpkg-buildpackage -b -us -uc)
cd "$top"
# Not with --show-overrides: then lintian of Debian 12 also fails because of what is overridden.
lintian --allow-root --fail-on error,warning ./*.changes
[ -z "${SUDO_UID:-}" ] || chown -hR "$SUDO_UID:${SUDO_GID:?}" "$top"
ls "$top"/*.deb
