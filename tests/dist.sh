#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dist.sh VERSION FOLDER: unpack the tarball that "make dist" left in FOLDER where there is no git,
# neither a repository nor the program, build it and run "make check-quick". Needs root, as that.
set -euo pipefail
cd "$(dirname "$0")/.."
tarball=$PWD/$2/afpscope-$1.tar.gz
tests/need.sh build server check python
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT TERM
mkdir "$place/bin"
printf '#!/bin/sh\necho "git: there is none" >&2\nexit 127\n' > "$place/bin/git"
chmod +x "$place/bin/git"
tar -x -C "$place" -f "$tarball"
PATH=$place/bin:$PATH make -C "$place/afpscope-$1" check-quick
