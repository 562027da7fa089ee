#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# matrix.sh [-j JOBS] [-l | -i | -r] [ROW...]: the BPF tests under several kernels, and what
# a watch says where something is missing. Runs the rows named, or all, JOBS (2) at
# a time, each in a virtual machine of its own (run.sh). -l: only list them.
# -i: the machine has other work, which has precedence: a row may take longer, and one that
# fails is no error; those that judge times (*-times) are left out, and those of make check-judges
# (*-judges): there a kernel repeats what another one, or this machine, has shown.
# -r: only the rows that did not pass at the last time: after -i, alone.
#
# Wants what is run in the guests to be built (see files): below build/tests, and
# below build/arm64/tests by cross.sh. Kernels come from kernel.sh.
#
# Prints one line for each row: name, kernel, seconds, result. After all of them, for
# each that FAILED: the end of its output, less the tests that passed, and what the
# tests that failed said. All of the output is left in build/vm/ROW.log. Exit status:
# 0 when all rows have run and passed.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=tests/vm logs=build/vm

declare -A kernel words cpus expect script
rows=()

# For the guest's shell. run: a test, whose failure is the row's; part: the same for a command
# whose lines begin with NAME then.
# shellcheck disable=SC2016 # for the guest
functions='
set -o pipefail
export REF_TENTH=1
bad=0
run() { echo "== $*"; time "$@" || bad=1; }
part() { name=$1; shift; "$@" 2>&1 | sed "s/^/$name: /" || bad=1; }
'

# Says what a row is; its commands for the guest's shell come on stdin, and name the programs that
# it is given by ./NAME. It passes when none has failed and each EXPECT, an extended regular
# expression, is found in a line of their output.
row() { # NAME SUITE[/ARCH] CPUS CMDLINE [EXPECT...]
    rows+=("$1")
    kernel[$1]=$2 cpus[$1]=$3 words[$1]=$4
    script[$1]="$functions$(cat)"$'\nexit $bad\n'
    expect[$1]=$(printf '%s\n' "${@:5}")
}

# Runs these tests, even where one has failed; NAME:PATTERN: of a test what matches. Their files are
# on ext4. Each test loads the programs anew, which takes an emulator seconds: a kernel runs what its
# rungs do otherwise than those of the others, and where they are the same, once what has to be
# loaded.
tests() { # NAME[:PATTERN]...
    local name
    echo 'mount -o bind /disk /tmp'
    for name; do
        case $name in
        *:*) echo "run ./test_${name%%:*} '${name#*:}'" ;;
        *) echo "run ./test_$name" ;;
        esac
    done
    echo 'echo "== the ladder"'
    echo './afpscope check -v 2> /dev/null | sed -n "/^What can be/,/^Machine/p"'
}
# Of many requests a share; of these make check has the first two.
share=(requests:bulk_data_t* trace_records:every_* connections:a_c* slow_records:only_* cnid:the_cnid_* streams:requests_*)

# Which rung of each layer is to be taken, as "afpscope check" says it. The longest rows come first.
requests="yes[*]bytes of the client's connection"
storage='yes[*]reads and writes of files: fentry'
bios='yes[*]time of block I/O: tp_btf'
# Where programs can be preempted those on functions (fentry) lose events, kprobes do not.
row linux-7 testing 2 '' '^calls +yes[*]tp raw_syscalls:' "$requests" "${storage/fentry/kprobe}" "$bios" \
    < <(tests calls 'rungs:every_*' storage 'operations:re*' "${share[@]:0:2}")
row linux-7-judges testing 2 '' \
    < <(tests follow 'rungs:a_full_*' 'rx:any_*' 'sunrpc:replies_*' tables target tcp 'handover:a_request_is_*' \
        "${share[@]:2}")
row linux-7-times testing 2 '' < <(tests stalls)
# Older than the programs: /proc is read.
# Place: kernel before Linux 5.15, without BTF, or that forbids BPF | `/proc` is sampled, with
#   the reason
row linux-5.10 bullseye 1 '' '^old: reads: not counted$' '^old: rung not.bpf: this kernel is too old: .* need Linux 5.15' << END
part old ./rung
END
# All but storage is observed as on the host: here this kernel's verifier has to accept it. Then
# BPF is forbidden, in three ways.
# Place: kernel before Linux 5.15, without BTF, or that forbids BPF
row linux-6.1 bookworm 2 '' '^calls +yes[*]tp_btf:' "$requests" "$storage" "$bios" \
    '^no capabilities: reads: not counted$' '^no capabilities: rung not.bpf: .*although this is root' \
    '^no bpf[(][)]: reads: not counted$' '^no bpf[(][)]: rung not.bpf: .*although this is root' \
    '^no BTF: reads: not counted$' '^no BTF: rung not.bpf: no type information' << END
$(tests 'calls:reads_*' storage 'operations:re*' "${share[@]:0:2}")
part 'no capabilities' ./setpriv --bounding-set=-bpf,-perfmon,-sys_admin ./rung
part 'no bpf()' ./nobpf ./rung
mount -t tmpfs none /sys/kernel/btf
part 'no BTF' ./rung
END
row linux-6.1-judges bookworm 2 '' \
    < <(tests "${share[@]:2:3}" 'streams:requests_a*' 'nfs:a_request_*' 'handover:a_request_is_*')
# Eight threads on one CPU: where programs can be preempted, BTF tracepoints lose events, not often:
# many reads.
crowd='./rung 8 100000'
counted='reads: 800000 of 800000$'
preempt() { # MODE
    echo "echo $1 > /sys/kernel/debug/sched/preempt"
    echo "grep -q '($1)' /sys/kernel/debug/sched/preempt || bad=1"
    echo "part '$1 preemption' $crowd"
}
# The rungs are those of 6.1.
row linux-6.12-judges trixie 1 '' '^calls +yes[*]tp_btf:' "$requests" "$storage" "$bios" "^full preemption: $counted" << END
$(tests 'calls:reads_*' storage)
$(preempt full)
END
# Kernel memory cannot be read: descriptors are not told apart.
# Place: locked down kernel | calls exact, objects and requests n/a, said
row lockdown trixie 1 'lsm=lockdown,bpf lockdown=confidentiality' \
    '^rung calls: tp_btf' '^reads: 100 of 100$' '^warning objects: ' '^requests +no  ' << 'END'
run ./rung
./afpscope check -v || : # no server here
END
# Linux 7 wants the tracepoints of tracefs first; the others may lose a call, and say so.
row linux-7-preemption-judges testing 1 '' "^full preemption: $counted" "^lazy preemption: $counted" \
    '^no tracefs: rung calls: tp_btf' '^no tracefs: rung calls.not: tp raw_syscalls' << END
$(preempt full)
$(preempt lazy)
umount /sys/kernel/tracing /sys/kernel/debug
part 'no tracefs' sh -c './rung || :'
END
# Room for many CPUs, of which few are there.
# Place: a machine that may get 256 CPUs
row cpus-256-judges bookworm 2 possible_cpus=256 "^256 possible CPUs [(]the kernel's[)]" \
    < <(tests cpus 'calls:reads_*')
# CPUs go and come; the first one only where the kernel lets it, as on arm64.
# Place: a CPU that is off, goes or comes while the watch goes on, the first one, too, where the
#   kernel lets it go (arm64; x86-64 not since Linux 6.5) | exact, and so is a trace
row hotplug trixie 4 '' '^rung calls: tp_btf' '^CPUs went and came 6 times$' '^CPU 0 cannot be switched off' << 'END'
run ./hotplug 1
./hotplug 0 || [ $? = 77 ] || bad=1
END
# Place: a CPU that is off, goes or comes while the watch goes on, the first one, too, where the
#   kernel lets it go (arm64; x86-64 not since Linux 6.5)
row hotplug-arm64-judges trixie/arm64 2 '' '^CPUs went and came 4 times$' << 'END'
run ./hotplug 0
END
row arm64 trixie/arm64 1 '' '^reads: 80000 of 80000$' << 'END'
run ./rung 8 10000
run ./test_calls
END

# What a row's guest is given, in words for run.sh.
files() { # ROW
    local name build=build sysroot
    if [[ ${kernel[$1]} = */* ]]; then
        build=build/${kernel[$1]#*/}
        sysroot=$($here/sysroot.sh "${kernel[$1]#*/}") || return
        echo -s "$sysroot"
    fi
    grep -o '\./[a-z_]*' <<< "${script[$1]}" | sort -u | while read -r name; do
        case ${name#./} in
        test_*) echo -f "$build/tests/bpf/${name#./}" ;;
        afpscope) echo -f "$build/afpscope" ;;
        setpriv) echo -f "$(command -v setpriv)" ;;
        *) echo -f "$build/tests/vm/${name#./}" ;;
        esac
    done
}

run_row() { # ROW: its status, its output on stdout; sets version
    local arch=() folder with disk=()
    [[ ${kernel[$1]} != */* ]] || arch=(-a "${kernel[$1]#*/}")
    folder=$($here/kernel.sh "${arch[@]}" "${kernel[$1]%/*}") || return
    version=$(cat "$folder/version")
    [[ ${script[$1]} != *"/disk"* ]] || disk=(-d 64)
    with=$(files "$1") || return
    # shellcheck disable=SC2086
    setpriv --pdeathsig TERM $here/run.sh -k "$folder" $with -c "${cpus[$1]}" \
        -a "${words[$1]}" -i tcp_diag -i unix_diag -t $patience_s "${disk[@]}" -- sh -c "${script[$1]}"
}

one() { # ROW: its line on stdout; what went wrong in logs/ROW.why
    local status=0 missing=() text log=$logs/$1.log begin=$EPOCHREALTIME version='no kernel'
    rm -f "$logs/$1.why" "$logs/$1.ok"
    run_row "$1" > "$log" 2>&1 || status=$?
    while read -r text; do
        grep -Eq -- "$text" "$log" || missing+=("$text")
    done <<< "${expect[$1]}"
    printf '%-26s %-30s %3d s  ' "$1" "$version" \
        $(((${EPOCHREALTIME/./} - ${begin/./}) / 1000000))
    if [ $status = 0 ] && [ ${#missing[@]} = 0 ]; then
        text=$(sed -n 's/^\[  SKIPPED \] \([a-z]\)/\1/p' "$log" | sort -u | xargs)
        echo "ok${text:+, skipped: $text}"
        return
    fi
    echo FAILED
    {
        echo "$1:"
        grep -v '^\[ RUN \|^\[       OK ' "$log" | tail -n 40 | sed 's/^/    /'
        echo "  $1: status $status, all of it is in $log"
        for text in "${missing[@]}"; do echo "  $1: no line like $text"; done
        grep '^\[  ERROR   \]\|^\[   LINE   \]\|^\[  FAILED  \]' "$log" | sed "s/^/  $1: /"
    } > "$logs/$1.why"
    return 1
}

jobs=2 list=0 beside=0 rest=0 patience_s=450
while getopts j:lir o; do
    case $o in
    j) jobs=$OPTARG ;;
    l) list=1 ;;
    i) beside=1 patience_s=1500 ;;
    r) rest=1 ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
if [ $# -gt 0 ]; then
    for name in "$@"; do
        [ -n "${kernel[$name]:-}" ] || { echo "matrix.sh: no row $name" >&2; exit 2; }
    done
    rows=("$@")
fi
if [ $list = 1 ]; then
    printf '%s\n' "${rows[@]}"
    exit
fi
[ "$(uname -m)" = x86_64 ] || { echo "matrix.sh: wants an x86-64 machine" >&2; exit 1; }

mkdir -p $logs
if [ $rest = 1 ]; then
    all=("${rows[@]}") rows=()
    for name in "${all[@]}"; do [[ $name = *-judges || -e $logs/$name.ok ]] || rows+=("$name"); done
    [ ${#rows[@]} -gt 0 ] || exit 0
fi
if [ $beside = 1 ]; then
    all=("${rows[@]}") rows=()
    for name in "${all[@]}"; do [[ $name =~ -(times|judges)$ ]] || rows+=("$name"); done
fi
for name in "${rows[@]}"; do rm -f "$logs/$name.ok"; done
pids=()
stop() { for p in "${pids[@]}"; do kill "$p" 2> /dev/null || :; done; }
trap stop EXIT
trap 'exit 143' INT TERM HUP
for name in "${rows[@]}"; do
    while [ "$(jobs -pr | wc -l)" -ge "$jobs" ]; do sleep 0.2; done
    {
        status=0
        one "$name" > "$logs/$name.end" || status=$?
        cat "$logs/$name.end"       # at once: rows that end together do not mix
        rm "$logs/$name.end"
        [ "$status" != 0 ] || touch "$logs/$name.ok"
    } &
    pids+=($!)
done
failed=0
wait
pids=()
for name in "${rows[@]}"; do
    [ -e "$logs/$name.ok" ] || failed=$((failed + 1))
    [ ! -e "$logs/$name.why" ] || cat "$logs/$name.why"
done
if [ $beside = 1 ]; then
    echo "${#rows[@]} rows beside other work, $failed to be run again"
    exit
fi
echo "${#rows[@]} rows, $failed failed"
[ $failed = 0 ]
