#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# packages.sh SUITE [--built]: build Debian's packages (make deb, from the tarball of make dist, with lintian)
# in a root of that suite (bookworm, trixie, sid); install them in a bare root of it, use them on a
# server of tests/server, remove them, and show that nothing is left; run debian/tests, which take
# the suite's own netatalk where it has one. Prints each command with its exit status and seconds;
# what they said, and the packages, are in build/packages/SUITE. Exit status 1 if one failed. With
# --built the packages that are there are taken.
#
# Needs root, debootstrap and autopkgtest (tests/need.sh server roots), and overlayfs. The root with what
# the build needs is kept in the cache. What was used writes its runs to a file system of its own,
# as those are the user's and stay.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=$1
top=$PWD
# shellcheck source=bareroot.sh
. tests/bareroot.sh
version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' analysis/afpscope/__init__.py)
tarball=build/dist/afpscope-$version.tar.gz
out=$top/build/packages/$suite
log=$out/log
[ "$(id -u)" = 0 ] || { echo "packages.sh: needs root" >&2; exit 1; }
[ "${2:-}" = --built ] || rm -rf "$out"
rm -rf "$out/used" "$out/autopkgtest"
mkdir -p "$out/used"
: > "$log"
bare_base "$suite" "$log"

roots=()
work=$(mktemp -d "$cache/packages-$suite.XXXXXX")
# shellcheck disable=SC2317 # called by the trap
leave() {
    local root gone=1
    [ -z "${AFPD_PORT:-}" ] || tests/server/down.sh "$AFPD_PORT" || :
    for root in "${roots[@]}"; do bare_unmount "$root" || gone=; done
    [ -z "$gone" ] || rm -rf --one-file-system "$work"
}
trap leave EXIT
trap 'exit 130' INT TERM

# A root that begins as the bare one: sets $root. What is written there is in WRITTEN.
new_root() { # WRITTEN
    root=$work/$(basename "$1").root
    rm -rf "$work/$(basename "$1").work"
    mkdir -p "$1" "$1.work" "$root"
    mount -t overlay -o "lowerdir=$base,upperdir=$1,workdir=$1.work" afpscope "$root"
    roots+=("$root")
    bare_mount "$root"
    # No service is started.
    printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
    chmod +x "$root/usr/sbin/policy-rc.d"
}
within() { bare_run /media/used DEBIAN_FRONTEND=noninteractive sh -c "$1"; }
fields() { # FIELD DEB...: without the packages themselves
    local deb
    for deb in "${@:2}"; do dpkg-deb -f "$deb" "$1"; done |
        tr ',' '\n' | sed 's/^ *//' | grep -v '^afpscope\|^$' | paste -sd ,
}

build() {
    echo "$suite: build"
    new_root "$cache/build-$suite"
    rm -rf "$root/root/afpscope-$version"
    tar -x -C "$root/root" -f "$tarball"
    bare_try "apt-get -qq update"
    bare_try "apt-get -qq -y --no-install-recommends install make"
    bare_try "cd /root/afpscope-$version && make deb"
    find "$root/root/afpscope-$version/build/deb" -maxdepth 1 -type f -exec mv -t "$out" {} +
    rm -rf "$root/root/afpscope-$version"
}
[ "${2:-}" = --built ] || build
[ "$bad" = 0 ] || exit 1

echo "$suite: install, use, remove"
eval "$(AFPD_MEMORY=256M SERVER_FOR=$$ tests/server/up.sh forky 0 dbd)"
url=afp://bench1@127.0.0.1:$AFPD_PORT/vol1
new_root "$work/bare"
mkdir "$root/media/used" "$root/media/debs"
mount --bind "$out/used" "$root/media/used"
mount --bind "$out" "$root/media/debs"
debs=("$out"/afpscope_*.deb "$out"/afpscope-analysis_*.deb)
bare_try "apt-get -qq update"
bare_try "apt-get -qq -y --no-install-recommends satisfy '$(fields Depends "${debs[@]}"), $(fields Recommends "${debs[@]}")'"
here() { within "find / -xdev -path /media -prune -o -printf '%y %p %l\n' | LC_ALL=C sort"; }
here > "$out/before"
touch "$root/media/debs/stamp"
bare_try "dpkg -i /media/debs/afpscope_*.deb /media/debs/afpscope-analysis_*.deb"
here > "$out/installed"
printf '        %d files and folders\n' "$(comm -13 "$out/before" "$out/installed" | wc -l)"
bare_try "afpscope --version"
bare_try "afpscope check --port $AFPD_PORT"
bare_try "cd /media/used && afpscope lantest --tests 2,5,8 -o run $url"
bare_try "cd /media/used && afpscope lantest --tests 2,5,8 --trace -o traced $url"
bare_try "cd /media/used && afpscope info run"
bare_try "cd /media/used && afpscope report run -o report.html && test -s report.html"
bare_try "cd /media/used && afpscope report run --lang ja -o ja.html && grep -q '<html lang=\"ja\"' ja.html"
bare_try "cd /media/used && afpscope query traced 'select command, time_ns from requests order by time_ns desc limit 3'"
bare_try "cd /media/used && afpscope export traced --to parquet -o parquet"
bare_try "cd /media/used && afpscope compare run run --force || [ \$? = 2 ]"
bare_try "cd /media/used && afpscope gate run --accept --counts counts.json"
bare_try "afpscope exporter --once --interval 1 --port $AFPD_PORT"
bare_try "/usr/lib/afpscope/bin/rxperf --help || [ \$? -le 2 ]"
bare_try "/usr/lib/afpscope/bin/afp_lantest -h 127.0.0.1 -p $AFPD_PORT -u bench1 -w secret1 -s vol1 -f 5"
bare_try "cd /usr/share && ls man/man1/afpscope-lantest.1.gz man/ja/man1/afpscope-lantest.1.gz man/ja/man1/afpscope-report.1.gz"
bare_try "cd /usr/share && bash -n bash-completion/completions/afpscope && ls zsh/vendor-completions/_afpscope fish/vendor_completions.d/afpscope.fish"
bare_try "cd /usr/share/afpscope/monitoring && ls afpscope-dashboard.json afpscope-alerts.yml && ls /lib/systemd/system/afpscope-exporter.service"
# What forgets the exporter's unit when the package goes, where somebody has enabled it.
bare_try "grep -q afpscope-exporter /var/lib/dpkg/info/afpscope.postrm"
bare_try "dpkg --purge afpscope-analysis afpscope"
here > "$out/after"
# dpkg's own books are newer, and folders in which something was.
within "find / -xdev -path /media -prune -o ! -type d -cnewer /media/debs/stamp -print" |
    grep -v '^/var/lib/dpkg/\|^/var/log/\|^/var/cache/\|^/etc/ld.so.cache$' > "$out/newer" || :
diff "$out/before" "$out/after" | grep '^[<>]' | grep -v ' /var/lib/dpkg/\| /var/log/\| /var/cache/' > "$out/left" || :
printf '        find -newer: %d files; not as before: %d\n' "$(wc -l < "$out/newer")" "$(wc -l < "$out/left")"
if [ -s "$out/newer" ] || [ -s "$out/left" ]; then
    head "$out/newer" "$out/left"
    bad=1
fi

echo "$suite: debian/tests"
new_root "$work/autopkgtest"
# As in tests/server/root.sh: cnid_metad ends where it may not have 65535 files open.
hard=$(ulimit -Hn)
if [ "$hard" != unlimited ] && [ "$hard" -lt 65535 ]; then
    cc -shared -fPIC -nostdlib -O2 -o "$root/usr/lib/rlimit-clamp.so" tests/server/rlimit-clamp.c
    echo /usr/lib/rlimit-clamp.so > "$root/etc/ld.so.preload"
fi
tar -x -C "$work" -f "$tarball"
rc=0
autopkgtest --apt-upgrade --no-built-binaries -o "$out/autopkgtest" "${debs[@]}" "$work/afpscope-$version/" \
    -- chroot "$root" >> "$log" 2>&1 || rc=$?
cat "$out/autopkgtest/summary"
# 2: one was skipped, as there is no netatalk in this suite
[ $rc = 0 ] || { [ $rc = 2 ] && [ "$suite" = bookworm ]; } || bad=1
echo "$suite: exit status $bad"
exit "$bad"
