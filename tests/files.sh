#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# files.sh [--tracked] [PATTERN...]: print the files of the tree in the current folder, a line each:
# those that git has or would take (--tracked: only what it has). In a tree without git, as that of
# "make dist", all but what .gitignore names. PATTERN as for git: a path, a folder, or a name
# with *, which also stands for /.
set -euo pipefail
which=(--cached --others --exclude-standard)
if [ "${1:-}" = --tracked ]; then
    which=(--cached)
    shift
fi
# Another repository, in which this tree was unpacked, does not know it.
if [ "$(git rev-parse --show-toplevel 2> /dev/null)" = "$(pwd -P)" ]; then
    exec git ls-files "${which[@]}" -- "$@"
fi
# Git does not read a repository of another user.
if [ -e .git ] && command -v git > /dev/null; then
    echo "files.sh: git does not read $PWD: git config --global --add safe.directory '$PWD'" >&2
    exit 1
fi

skip=(-name .git)
while IFS= read -r line; do
    case $line in
    /*/) skip+=(-o -path ".${line%/}") ;;
    */) skip+=(-o -name "${line%/}") ;;
    esac
done < <(cat .gitignore 2> /dev/null)
find . \( "${skip[@]}" \) -prune -o \( -type f -o -type l \) -printf '%P\n' | LC_ALL=C sort |
    while IFS= read -r file; do
        [ $# -gt 0 ] || echo "$file"
        for pattern in "$@"; do
            # shellcheck disable=SC2053 # a pattern it is
            if [[ $file == $pattern || $file == $pattern/* ]]; then
                echo "$file"
                break
            fi
        done
    done
