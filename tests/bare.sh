#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# bare.sh SUITE [root|user [COMMAND...]]: type every command of README.md, docs/building.md and docs/commands.md,
# in their order and each once, in a fresh Debian of that suite (bookworm, trixie) that has only sudo
# and what README says to install, as root or as a user who may use sudo. Prints each command with
# its exit status and seconds; their output goes to build/bare-SUITE-WHO.log. Exit status 1 if one
# failed. With COMMANDs these are typed in place of the pages', in a clone of what is committed here.
#
# Needs root and debootstrap. "make check" and "make check-judges" are left out, and a real server of
# tests/server takes the place of the one README speaks of. The fresh root is kept in the cache as a folder, a copy of it
# is used and removed. apt and pip use the settings of this host: mirror, proxy, certificates.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=$1 who=${2:-root}
commands=("${@:3}")
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
if [ ${#commands[@]} -gt 0 ]; then
    git bundle create -q "$root/media/afpscope.git" HEAD
else
    tests/files.sh | tar -c -T - | tar -x -C "$root$home/afpscope"
fi
[ "$who" = root ] || chroot "$root" chown -R ann: "$home/afpscope"

as=()
[ "$who" = root ] || as=(sudo -u ann '--preserve-env=HOME,PATH,AFPSCOPE_PASSWORD')
within() { # COMMAND: what the user's shell does with it in the source folder
    bare_run "$home" "${as[@]}" sh -c "cd $home/afpscope && $1"
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
        s,afpscope slow$,& -d 3 --port $port,; s,afpscope top$,& -n 3 --port $port,; s,afpscope doctor$,& -d 3 --port $port || [ \$? = 4 ],
        s,afpscope exporter$,& --once --interval 1 --port $port,
        s|^sudo afpscope|sudo --preserve-env=AFPSCOPE_PASSWORD afpscope|"
}

all() {
    local line
    while read -r line <&3; do bare_try "$(typed <<< "$line")"; done 3<&0
}
: > "$log"
port='' url=''
bare_try 'sudo apt-get -qq update'
bare_try 'sudo apt-get -qq -y --no-install-recommends install make'
if [ ${#commands[@]} -gt 0 ]; then
    bare_try 'sudo apt-get -qq -y --no-install-recommends install git && git clone -q /media/afpscope.git .'
    for command in "${commands[@]}"; do bare_try "$command"; done
    exit "$bad"
fi
all < <(pages -v)
port=$(within 'sudo tests/server/up.sh forky' | sed -n 's/^AFPD_PORT=//p')
url=afp://bench1@127.0.0.1:$port/vol1
# What docs/replay.md says comes before "afpscope replay monday": here users are a load.
bare_try "sudo --preserve-env=AFPSCOPE_PASSWORD afpscope record --trace --replayable -o monday --port $port -- \
    afpscope load -n 2 -d 2 --watch=off $url"
all < <(pages)
bare_try 'sudo make uninstall'
exit "$bad"
