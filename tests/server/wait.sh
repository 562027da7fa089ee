# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Sourced beside lib.sh.

# Runs COMMAND 20 times a second, until it succeeds; 1 when the time is over, at least 60 s: the
# machine may be busy.
wait_until() { # SECONDS COMMAND...
    local n seconds=$(($1 > 60 ? $1 : 60))
    for ((n = 0; n <= seconds * 20; n++)); do
        if "${@:2}"; then return 0; fi
        sleep 0.05
    done
    return 1
}
