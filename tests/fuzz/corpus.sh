#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# corpus.sh SECONDS PROGRAM...: make corpus/NAME.tar.gz of each fuzzer anew, from what it has and
# what the fuzzer finds in so many seconds: the fewest inputs that reach all of it.
set -euo pipefail

[ $# -ge 2 ] || { echo "usage: corpus.sh SECONDS PROGRAM..." >&2; exit 2; }
here=$(dirname "$0") seconds=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for fuzzer; do
    packed=$here/corpus/${fuzzer##*/fuzz_}.tar.gz
    rm -rf "${folder:?}"/*
    mkdir "$folder/found" "$folder/kept"
    [ ! -e "$packed" ] || tar -xzf "$packed" -C "$folder/found"
    "$fuzzer" "-max_total_time=$seconds" -verbosity=0 "-artifact_prefix=${fuzzer%/*}/" "$folder/found"
    "$fuzzer" -merge=1 -verbosity=0 "$folder/kept" "$folder/found"
    mkdir -p "$here/corpus"
    tar -C "$folder/kept" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - . |
        gzip -9n > "$packed"
    echo "$packed: $(find "$folder/kept" -type f | wc -l) inputs"
done
