#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.sh -k KERNEL [OPTION]... -- COMMAND...: run a command in a virtual machine
# (qemu, by software where there is no KVM) that lives only for it.
#
#   -k KERNEL      folder printed by kernel.sh
#   -f FILE[:DST]  copy a program into the guest (default DST: /vm/NAME) with the
#                  shared libraries that it needs; any number of times
#   -s SYSROOT     folder printed by sysroot.sh: where libraries come from, for
#                  another architecture
#   -a CMDLINE     more kernel command line
#   -i MODULE      insert a kernel module first; any number of times
#   -d MIB         an ext4 disk of this size, mounted on /disk
#   -o DIR         what the command leaves in /out comes back in DIR
#   -c CPUS, -m MIB (default 1, 768)
#   -t SEC         limit for the command (default 120)
#
# There is no image: static busybox, init.sh, the files and their libraries are
# the initrd. The command runs as root in /vm, with /proc, /sys, tracefs, bpffs
# and cgroup2 mounted and lo up. busybox's shell prefers its own applets: call
# another program of the same name by its path.
#
# Prints what the command printed, and the kernel's warnings. Exit status: the
# command's; 124: the limit was reached; 125: no VM, or it died. A VM that did not
# get as far as init is tried again, a command that began never is.
#
# Limits are in seconds of qemu's own CPU time, so that a VM may wait for a busy machine; or
# four times that by the clock.
#
# AFPSCOPE_VM_ACCEL  qemu's accelerator. Default: KVM where the processor has it (software, if
#                    the kernel does not boot there), else tcg,thread=single
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
boot_limit=40 tries=3 ticks=$(getconf CLK_TCK)
PATH=$PATH:/usr/sbin:/sbin

die() { echo "run.sh: $*" >&2; exit 125; }

kernel='' files=() sysroot='' words='' modules=() disk=0 out='' cpus=1 mem=768 limit=120
while getopts k:f:s:a:i:d:o:c:m:t: o; do
    case $o in
    k) kernel=$OPTARG ;;
    f) files+=("$OPTARG") ;;
    s) sysroot=$OPTARG ;;
    a) words=$OPTARG ;;
    i) modules+=("$OPTARG") ;;
    d) disk=$OPTARG ;;
    o) out=$OPTARG ;;
    c) cpus=$OPTARG ;;
    m) mem=$OPTARG ;;
    t) limit=$OPTARG ;;
    *) die "see the comment in the script" ;;
    esac
done
shift $((OPTIND - 1))
[ -s "$kernel/vmlinuz" ] || die "no kernel in '$kernel'"
[ $# -gt 0 ] || die "no command"
version=$(cat "$kernel/version")

tmp=$(mktemp -d)
qemu=''
trap '[ -z "$qemu" ] || kill -KILL "$qemu" 2> /dev/null || :; rm -rf "$tmp"' EXIT
trap 'exit 143' INT TERM HUP
root=$tmp/root log=$tmp/console

# Everything of a SYSROOT: a foreign program cannot be asked what it needs.
libraries() { # PROGRAM
    local lib
    if [ -n "$sysroot" ]; then
        mkdir -p "$root/lib"
        find "$sysroot/usr/lib" -maxdepth 2 -name '*.so*' -exec cp -an {} "$root/lib/" \;
        return
    fi
    { ldd "$1" 2> /dev/null || :; } | { grep -o '/[^ ]*' || :; } | while read -r lib; do
        mkdir -p "$root${lib%/*}"
        cp -L "$lib" "$root$lib"
    done
}

fill_root() { # COMMAND...
    local f src dst
    mkdir -p "$root"/{bin,etc,vm}
    cp "$kernel/busybox" "$root/bin/busybox"
    install -m 755 "$here/init.sh" "$root/init"
    printf '%s\n' root:x:0:0:root:/root:/bin/sh nobody:x:65534:65534:nobody:/:/bin/sh \
        > "$root/etc/passwd"
    printf '%s\n' root:x:0: nogroup:x:65534: > "$root/etc/group"
    for f in "${files[@]}"; do
        src=${f%%:*} dst=/vm/${src##*/}
        [ "$f" = "$src" ] || dst=${f#*:}
        [ -f "$src" ] || die "no file $src"
        mkdir -p "$root${dst%/*}"
        cp -L "$src" "$root$dst"
        libraries "$src"
    done
    printf '%q ' "$@" > "$root/vm/run"
}

add_modules() {
    local name path file
    mkdir "$root/modules"
    for name in "${modules[@]}"; do
        modprobe -d "$kernel" -S "$version" --show-depends "$name" || die "no module $name"
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r path; do
        file=${path##*/}
        file=${file%.[xz][zs]*}
        case $path in
        *.xz) xz -dc "$path" ;;
        *.zst) zstd -dcq "$path" ;;
        *) cat "$path" ;;
        esac > "$root/modules/$file"
        echo "$file" >> "$root/modules/order"
    done
}

# Before qemu 8 a cmpxchg16b run by software spoils the flags when an interrupt
# follows, of which kernels die now and then: none is offered. But Linux 7 gives
# BPF no task storage without it, and seldom uses it otherwise.
arch=$(cat "$kernel/arch")
case $arch in
amd64)
    cpu=qemu64,-cx16
    [ "${version%%.*}" -lt 7 ] || cpu=qemu64
    machine=(qemu-system-x86_64 -M pc)
    console=ttyS0 bus=virtio_pci device=virtio-blk-pci
    ;;
arm64)
    cpu=cortex-a72
    machine=(qemu-system-aarch64 -M virt)
    console=ttyAMA0 bus=virtio_mmio device=virtio-blk-device
    ;;
*) die "no machine for $arch" ;;
esac
# One thread for all CPUs: when one patches code that another runs, as the kernel does for its
# switches (BPF statistics is one), qemu 7.2 may go on in the middle of an instruction.
software=(-accel "tcg,thread=single" -cpu "$cpu")
has_kvm() {
    [ "$arch" = amd64 ] && [ "$(uname -m)" = x86_64 ] && [ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo
}
if [ -n "${AFPSCOPE_VM_ACCEL:-}" ]; then
    accel=(-accel "$AFPSCOPE_VM_ACCEL" -cpu "$cpu")
elif has_kvm; then
    accel=(-accel kvm -cpu host)
else
    accel=("${software[@]}")
fi
machine+=(-smp "$cpus" -m "$mem" -nodefaults -display none
    -no-reboot -serial "file:$log" -kernel "$kernel/vmlinuz" -initrd "$tmp/initrd"
    -append "console=$console quiet panic=-1 oops=panic nokaslr mitigations=off \
rcupdate.rcu_expedited=1 random.trust_cpu=on $words")
if [ "$disk" -gt 0 ]; then
    # virtio's: on PCI in a PC, memory-mapped in the machine for arm64
    modules+=("$bus" virtio_blk ext4)
    truncate -s "${disk}M" "$tmp/disk"
    mke2fs -q -t ext4 "$tmp/disk"
    machine+=(-drive "if=none,id=disk,format=raw,cache=unsafe,file=$tmp/disk"
        -device "$device,drive=disk")
fi
fill_root "$@"
add_modules
(cd "$root" && find . -mindepth 1 | cpio -o -H newc --quiet -R 0:0) > "$tmp/initrd"

# qemu's CPU time in seconds, in "used"; it stays what it was when qemu has ended.
look_used() {
    local field
    read -ra field 2> /dev/null < "/proc/$qemu/stat" || return 0
    used=$(((field[13] + field[14]) / ticks))
}

# Boots and waits for the end; true when the command began. Sets late.
boot() {
    local end=$boot_limit clock=$((SECONDS + 4 * boot_limit)) begun=0 used=0
    late=0
    : > "$log"
    setpriv --pdeathsig KILL "${machine[@]}" "${accel[@]}" < /dev/null > "$tmp/qemu" 2>&1 &
    qemu=$!
    while kill -0 "$qemu" 2> /dev/null; do
        look_used
        if [ $begun = 0 ] && grep -aq '^@@BEGIN' "$log"; then
            begun=1 end=$((used + limit)) clock=$((SECONDS + 4 * limit))
        fi
        if [ "$used" -ge "$end" ] || [ $SECONDS -ge "$clock" ]; then
            late=1
            kill -KILL "$qemu" 2> /dev/null || :
            break
        fi
        sleep 0.2
    done
    wait "$qemu" 2> /dev/null || :
    qemu=''
    sed -i 's/\r//g' "$log"
    grep -aq '^@@BEGIN' "$log"
}

until boot; do
    tries=$((tries - 1))
    echo "run.sh: the VM did not get as far as init:" >&2
    tail -n 15 "$log" "$tmp/qemu" >&2
    [ $tries -gt 0 ] || exit 125
    accel=("${software[@]}")
done
sed '0,/^@@BEGIN/d; /^@@OUT/,$d; /^@@END/,$d' "$log"
if [ -n "$out" ] && grep -aq '^@@OUT' "$log"; then
    mkdir -p "$out"
    sed '0,/^@@OUT/d; /^@@END/,$d' "$log" | base64 -d | tar -xz -C "$out"
fi
status=$(sed -n 's/^@@END \([0-9]*\)$/\1/p' "$log" | tail -n 1)
if [ -n "$status" ]; then exit "$status"; fi
if [ $late = 1 ]; then
    echo "run.sh: the limit of $limit s was reached" >&2
    exit 124
fi
echo "run.sh: the VM died" >&2
cat "$tmp/qemu" >&2
exit 125
