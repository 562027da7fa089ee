# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Common part of the test server's scripts (sourced, not run).
#
# AFPSCOPE_CACHE  where roots and instances live, in its folder "server"
#                 (default: ${XDG_CACHE_HOME:-~/.cache}/afpscope)
# AFPD_TREE       a ready root tree to use instead of the suite's own

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${AFPSCOPE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/afpscope}/server

die() { echo "${0##*/}: $*" >&2; exit 1; }

# The server's processes: those that run inside ROOT on the configuration of
# PORT. Holds for sessions and cnid_dbd whose parent has gone, and leaves out
# zombies and everybody else.
procs() { # PORT ROOT
    local f p
    # shellcheck disable=SC2013
    for f in $(grep -als -- "/inst/$1/afp.conf" /proc/[0-9]*/cmdline); do
        p=${f#/proc/}
        p=${p%/cmdline}
        if [ "/proc/$p/root" -ef "$2" ]; then echo "$p"; fi
    done
}

comm() { # PID
    local c
    { read -r c < "/proc/$1/comm"; } 2>/dev/null && echo "$c"
}

# Takes the variables of the server on PORT (see up.sh).
env_of() { # PORT
    [ -r "$cache/inst-$1/env" ] || die "no server on port $1"
    # shellcheck source=/dev/null
    . "$cache/inst-$1/env"
    [ -n "${AFPD_PID:-}" ] || die "the server on port $1 is not up"
}

# The live sessions, one line, of the server taken by env_of.
server_sessions() {
    local p list=
    for p in $(procs "$AFPD_PORT" "$AFPD_ROOT"); do
        if grep -qsx "PPid:[[:space:]]*$AFPD_PID" "/proc/$p/status"; then list+="$p "; fi
    done
    echo "$list"
}

# Waits, at most JUDGE_WAIT seconds, until it has no sessions but those LISTED.
wait_sessions() { # LISTED
    local n p new
    for ((n = 0; n <= ${JUDGE_WAIT:-10} * 20; n++)); do
        new=
        for p in $(server_sessions); do
            case " $1 " in *" $p "*) ;; *) new=$p ;; esac
        done
        [ -n "$new" ] || return 0
        sleep 0.05
    done
    return 1
}

# With SERVER_FOR, the pid of a process: COMMAND, which ends the server, runs when that process has
# ended, however it does (not before this script has: what it still starts would be left). The pid
# of what waits for that goes into the instance's env.
end_with_owner() { # INSTANCE_FOLDER COMMAND...
    [ -n "${SERVER_FOR:-}" ] || return 0
    # shellcheck disable=SC2016
    setsid bash -c 'tail --pid="$1" -f /dev/null; tail --pid="$2" -f /dev/null; shift 2; exec "$@"' \
        bash $$ "$SERVER_FOR" "${@:2}" > /dev/null 2>&1 < /dev/null &
    echo "WATCHER=$!" >> "$1/env"
}

# Ends all processes that LIST prints: asks them, asks again after a third of SECONDS, and kills them
# after all of it.
end_all() { # SECONDS LIST...
    local n left=() sig
    for ((n = 0; n < $1 * 50; n++)); do
        mapfile -t left < <("${@:2}")
        [ ${#left[@]} -gt 0 ] || return 0
        sig=
        if ((n == 0 || n == $1 * 20 / 3)); then sig=TERM; fi
        if ((n >= $1 * 20)); then sig=KILL; fi
        [ -z "$sig" ] || kill -$sig "${left[@]}" 2> /dev/null || :
        sleep 0.05
    done
    die "still running: ${left[*]}"
}

# Ends that. The last act of the script that stops a server, as it may be the watcher that runs it.
end_watcher() { # PID_OR_NOTHING
    if [ -n "$1" ] && grep -qsa -- "$here/${0##*/}" "/proc/$1/cmdline"; then
        kill -- "-$1" 2> /dev/null || :
    fi
}

listening() { # PORT: some socket listens on it (no connection is made)
    awk -v p="$(printf ':%04X' "$1")" \
        '$4 == "0A" && substr($2, length($2) - 4) == p { f = 1 } END { exit !f }' \
        /proc/net/tcp /proc/net/tcp6
}
