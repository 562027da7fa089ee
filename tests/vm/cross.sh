#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# cross.sh TARGET...: make targets, given below the build folder (tests/bpf/test_calls),
# for arm64 in build/arm64, with what watches: without clients, reports and commands.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$(tests/vm/sysroot.sh arm64)
build=build/arm64
export PKG_CONFIG_SYSROOT_DIR=$root
export PKG_CONFIG_LIBDIR=$root/usr/lib/aarch64-linux-gnu/pkgconfig:$root/usr/share/pkgconfig
"${MAKE:-make}" --no-print-directory BUILD=$build MACHINE=aarch64 \
    CC="aarch64-linux-gnu-gcc --sysroot=$root" AR=aarch64-linux-gnu-ar SYSROOT="$root" \
    LIBRARY="user/base/% user/host/% user/kinds/% user/run/% user/watch/%" \
    "${@/#/$build/}"
