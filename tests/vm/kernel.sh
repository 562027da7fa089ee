#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# kernel.sh [-a ARCH] SUITE: fetch the kernel of a Debian suite (bullseye,
# trixie, testing, ...) for ARCH (amd64, or arm64; default: the host's) and print
# the folder of the cache that it is in:
#   vmlinuz
#   version      as uname -r says it
#   arch
#   lib/modules  with modules.dep
#   busybox      static, of the same suite
# The cloud flavour: small, and ext4 is built in.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

arch=$(dpkg --print-architecture)
while getopts a: o; do
    case $o in
    a) arch=$OPTARG ;;
    *) die "usage: kernel.sh [-a ARCH] SUITE" ;;
    esac
done
shift $((OPTIND - 1))
[ $# = 1 ] || die "usage: kernel.sh [-a ARCH] SUITE"
suite=$1

keep "kernel-$suite-$arch"
index "$suite" "$arch" || die "no package index for $suite"
image=$(apt-cache depends --no-recommends --no-suggests "linux-image-cloud-$arch" |
    awk '/Depends:.*linux-image-[0-9]/ { print $2; exit }')
[ -n "$image" ] || die "no kernel in $suite for $arch"
version=${image#linux-image-}
renew "$version"

# One package up to trixie; Linux 7 comes in parts.
pkgs=("$image")
if apt-cache show "linux-binary-$version" > /dev/null 2>&1; then
    pkgs=("linux-binary-$version" "linux-base-$version" "linux-modules-$version")
fi
download "${pkgs[@]}" busybox-static
mkdir "$part/all"
unpack "$part/all"
one() { find "$part/all" "$@" -print -quit; }
cp "$(one -name 'vmlinuz*')" "$part/vmlinuz"
cp "$(one -type f -name busybox -perm -u+x)" "$part/busybox"
mkdir -p "$part/lib/modules"
mv "$(one -type d -path "*/lib/modules/$version")" "$part/lib/modules/"
rm -rf "$part/all"
ln -s . "$part/usr"                 # kmod looks in /lib or in /usr/lib
depmod -b "$part" "$version"
echo "$arch" > "$part/arch"
finish "$version"
