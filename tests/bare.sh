#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# bare.sh SUITE [root|user]: type every command of README.md, docs/building.md and docs/commands.md,
# in their order and each once, in a fresh Debian of that suite (bookworm, trixie) that has only sudo
# and what README says to install, as root or as a user who may use sudo. Prints each command with
# its exit status and seconds; their output goes to build/bare-SUITE-WHO.log. Exit status 1 if one
# failed.
#
# Needs root and debootstrap. "make check" and "make check-judges" are left out, and a real server of
# tests/server takes the place of the one README speaks of. The fresh root is kept in the cache as a folder, a copy of it
# is used and removed. apt and pip use the settings of this host: mirror, proxy, certificates.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=$1 who=${2:-root}
# shellcheck source=bareroot.sh
. tests/bareroot.sh
top=$PWD
log=$top/build/bare-$suite-$who.log
[ "$(id -u)" = 0 ] || { echo "bare.sh: needs root" >&2; exit 1; }
mkdir -p build
bare_base "$suite" "$log"
root=$(mktemp -d "$cache/bare-$suite.XXXXXX")
# shellcheck disable=SC2317 # called by the trap
leave() {
    if [ -n "${port:-}" ]; then within "sudo tests/server/down.sh $port" || :; fi
    if bare_unmount "$root"; then rm -rf --one-file-system "$root"; fi
}
trap leave EXIT
trap 'exit 130' INT TERM
cp -a "$base/." "$root"
bare_mount "$root"
chroot "$root" useradd -m -s /bin/bash ann
echo 'ann ALL=(ALL) NOPASSWD: ALL' > "$root/etc/sudoers.d/ann"

home=/root
[ "$who" = root ] || home=/home/ann
mkdir "$root$home/afpscope"
tests/files.sh | tar -c -T - | tar -x -C "$root$home/afpscope"
[ "$who" = root ] || chroot "$root" chown -R ann: "$home/afpscope"

as=()
[ "$who" = root ] || as=(sudo -u ann '--preserve-env=HOME,PATH,AFPSCOPE_PASSWORD')
within() { # COMMAND: what the user's shell does with it in the source folder
    chroot "$root" env -i HOME="$home" TERM=dumb LANG=C.UTF-8 AFPSCOPE_PASSWORD=secret1 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        "${as[@]}" sh -c "cd $home/afpscope && $1" < /dev/null
}

# Their commands unchanged, those that install first, except for a time for those that watch, the
# test server's address, and a password that sudo passes on (a person is asked for it).
pages() { # -v: all but those that begin with afpscope; nothing: these
    sed -n 's/^    \(\$ \)\?\(\(sudo \|apt-get \|make\|pipx \|build\/\|afpscope \).*\)/\2/p' \
        README.md docs/building.md docs/commands.md |
        sed 's/  *#.*//' | awk '!seen[$0]++' | grep -v '^sudo make check' | grep "$@" '^\(sudo \)\?afpscope'
}
typed() {
    sed "s|-d 60|-d 3 --port $port|; s|gate before --accept|gate before after --accept|; s|afp://test@localhost/Volume|$url|
        s|afpscope slow$|& -d 3|; s|afpscope top$|& -n 3|; s|afpscope exporter$|& --once --interval 1|
        s|^sudo afpscope|sudo --preserve-env=AFPSCOPE_PASSWORD afpscope|"
}

bad=0
try() { # COMMAND
    local begin=$SECONDS rc=0
    printf '\n\n$ %s\n' "$1" >> "$log"
    within "$1" >> "$log" 2>&1 || rc=$?
    printf '%4d s  exit %d  %s\n' $((SECONDS - begin)) $rc "$1"
    [ $rc = 0 ] || bad=1
}
all() {
    local line
    while read -r line <&3; do try "$(typed <<< "$line")"; done 3<&0
}
: > "$log"
port='' url=''
try 'sudo apt-get -qq update'
try 'sudo apt-get -qq -y --no-install-recommends install make'
all < <(pages -v)
port=$(within 'sudo tests/server/up.sh forky' | sed -n 's/^AFPD_PORT=//p')
url=afp://bench1@127.0.0.1:$port/vol1
all < <(pages)
try 'sudo make uninstall'
exit $bad
