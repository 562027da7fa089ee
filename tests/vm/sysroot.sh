#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# sysroot.sh ARCH: fetch what afpscope and its tests are linked with, for another
# architecture (arm64), and print the folder of the cache that it is in: a root
# tree for a cross compiler (cross.sh) and for run.sh -s.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

[ $# = 1 ] || die "usage: sysroot.sh ARCH"
suite=trixie

keep "sysroot-$suite-$1"
index "$suite" "$1" || die "no package index for $suite"
version=$(apt-cache policy libc6 libbpf1 libmicrohttpd-dev | awk '$1 == "Candidate:" { print $2 }' | xargs)
renew "$version"
apt-get -qq -y --download-only install libc6-dev libbpf-dev libelf-dev zlib1g-dev \
    libgcrypt20-dev libjansson-dev libmicrohttpd-dev libncurses-dev libcmocka-dev >&2
# Some packages carry files in /lib: tar must not replace the links by folders.
for d in bin sbin lib; do
    mkdir -p "$part/usr/$d"
    ln -s "usr/$d" "$part/$d"
done
unpack "$part"
rm -rf "${part:?}/usr/share"
finish "$version"
