#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# init.sh: the first process of the virtual machine. Mounts what is wanted, runs
# /vm/run in /vm, tells its status and what it left in /out on the console (see
# run.sh), powers off.
export PATH=/bin:/sbin:/usr/bin:/usr/sbin HOME=/root
/bin/busybox mkdir -p /proc /sys /dev /tmp /out /sbin /usr/bin /usr/sbin /root
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev 2> /dev/null
mount -t tmpfs tmp /tmp
mount -t bpf bpf /sys/fs/bpf
mount -t debugfs debugfs /sys/kernel/debug 2> /dev/null
mount -t tracefs tracefs /sys/kernel/tracing 2> /dev/null
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up
if [ -e /modules/order ]; then
    while read -r module; do insmod "/modules/$module"; done < /modules/order
fi
if [ -b /dev/vda ]; then
    mkdir /disk
    mount -t ext4 /dev/vda /disk
fi
cd /vm || exit
echo "@@BEGIN $(uname -r)"
sh /vm/run < /dev/null 2>&1
status=$?
echo
if [ -n "$(ls /out)" ]; then
    dmesg -n 1
    echo @@OUT
    tar -C /out -cz . | base64
fi
echo "@@END $status"
poweroff -f
