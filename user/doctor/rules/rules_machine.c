/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be wrong with the CPUs below a server of AFP or bricks of GlusterFS: those that the
 * server may use, and its cgroup, with the requests' wait for them. Limits were chosen with
 * tests/doctor/lab.py.
 */
#include "doctor/rules/rules_priv.h"

/* clang-format off */
static const struct doctor_rule rules[] = {
	{
		.key = "cpu-limit", .name = "CPU quota", .kind = DOCTOR_WAIT,
		TESTS(LEAST(THROTTLED, THROTTLED_LEAST)), HARM(QUOTA_WAIT, QUOTA_HARM), WITHIN(WAIT_CPU), WORTH_US(50), REASONS(F(OTHERS_WAIT), F(KERNEL_WAIT)),
		EVIDENCE(F(QUOTA_WAIT), F(WAIT_CPU), F(UNREAD_SHARE), F(THROTTLED), F(QUOTA), F(MEAN)),
		.says = "a CPU quota of its cgroup holds the server back, in {throttled} of the quota's periods[ ({throttled.who})]; requests waited for it {quota_wait} of their time, and for a CPU {wait_cpu} in all[; the requests lay unread for {unread_share} of their time]",
		.todo = "raise CPUQuota= of its systemd unit (cpu.max, or cpu.cfs_quota_us, of that cgroup)",
		.disproof = "nr_throttled in that cgroup's cpu.stat does not grow while requests are slow",
		.next = "systemctl show -p CPUQuotaPerSecUSec {unit}",
		.fact = "a CPU quota of its cgroup paused the server in {throttled} of the quota's periods[ ({throttled.who})]; requests waited for it {quota_wait} of their time, and for a CPU {wait_cpu} in all[; the requests lay unread for {unread_share} of their time]",
	},
	{
		.key = "steal", .name = "CPUs taken by the hypervisor", .kind = DOCTOR_WAIT,
		TESTS(LEAST(STEAL, 0.1), LEAST(ON_CPU, 0.3)), HARM(STEAL_WAIT, 0.1), WORTH_US(200),
		EVIDENCE(F(STEAL_WAIT), F(ON_CPU), F(UNREAD_SHARE), F(STEAL), F(WAIT_CPU), F(MEAN)),
		.says = "this is a virtual machine, and its host gave {steal} of its CPUs' time to others; requests used or waited for a CPU {on_cpu} of their time[; the requests lay unread for {unread_share} of their time]",
		.todo = "ask whoever runs the host: fewer guests on it, or CPUs that are reserved for this one",
		.disproof = "st in vmstat 1 is 0 while requests are slow",
		.next = "vmstat 1 5",
	},
	{
		.key = "interrupts", .name = "interrupts", .kind = DOCTOR_WAIT,
		TESTS(LEAST(INTERRUPTS_ONE, 0.4), LEAST(ON_CPU, 0.3)), HARM(INTERRUPTS_WAIT, 0.05), UNSURE,
		EVIDENCE(F(INTERRUPTS_WAIT), F(ON_CPU), F(UNREAD_SHARE), F(INTERRUPTS_ONE), F(INTERRUPTS), F(WAIT_CPU), F(MEAN)),
		.says = "interrupts take {interrupts_one} of {interrupts_one.who}; requests used or waited for a CPU {on_cpu} of their time[; the requests lay unread for {unread_share} of their time]",
		.todo = "spread them over the CPUs: irqbalance, more queues of the network card (ethtool -l), RPS; find what makes them in /proc/softirqs",
		.disproof = "%soft and %irq of every CPU stay below 20% while requests are slow",
		.next = "mpstat -P ALL 1 5",
	},
	{
		.key = "other-programs", .name = "other programs", .kind = DOCTOR_WAIT,
		TESTS(LEAST(OWN_CPUS, 0.75), LEAST(OTHERS, 0.25), LEAST(WAIT_CPU, CPU_HARM), MOST(QUOTA_WAIT, QUOTA_ALONE)), HARM(OTHERS_WAIT, 0.1), WORTH_US(500),
		EVIDENCE(F(WAIT_CPU), F(UNREAD_SHARE), F(OTHERS_WAIT), F(OTHERS), F(CPUS_USED), F(MEAN)),
		.says = "requests waited for a CPU {wait_cpu} of their time while other programs used {others} of the CPUs that the server may use[, most of all {others.who}][; the requests lay unread for {unread_share} of their time]",
		.todo = "move or renice them, or give the server CPUs of its own (systemd: CPUWeight=, AllowedCPUs=)",
		.disproof = "latency stays when they are paused for a moment",
		.next = "top -o %CPU",
	},
	{
		.key = "kernel-threads", .name = "threads of the kernel", .kind = DOCTOR_WAIT,
		TESTS(LEAST(KERNEL_THREADS, 0.25), LEAST(WAIT_CPU, CPU_HARM), MOST(QUOTA_WAIT, QUOTA_ALONE)), HARM(KERNEL_WAIT, 0.1), WORTH_US(500),
		EVIDENCE(F(WAIT_CPU), F(UNREAD_SHARE), F(KERNEL_WAIT), F(KERNEL_THREADS), F(CPUS_USED), F(MEAN)),
		.says = "requests waited for a CPU {wait_cpu} of their time while threads of the kernel used {kernel_threads} of the CPUs that the server may use[, most of all {kernel_threads.who}][; the requests lay unread for {unread_share} of their time]",
		.todo = "see what they do: encryption of disks (kcryptd), swapping (kswapd), writing back (kworker), RAID",
		.disproof = "latency stays while they are idle",
		.next = "top -o %CPU",
	},
	{
		.key = "load-generator", .name = "afpscope on the server's CPUs", .kind = DOCTOR_WAIT,
		TESTS(LEAST(OWN_CPUS, 0.75), LEAST(SELF, SELF_CPU), LEAST(WAIT_CPU, CPU_HARM)), HARM(SELF_WAIT, 0.1), WORTH_US(500), UNSURE,
		EVIDENCE(F(WAIT_CPU), F(UNREAD_SHARE), F(SELF_WAIT), F(SELF), F(OWN_WAIT), F(CPUS_USED), F(MEAN)),
		.says = "requests waited for a CPU {wait_cpu} of their time while this afpscope, with the clients that it runs, used {self} of the CPUs that the server may use[; the requests lay unread for {unread_share} of their time]",
		.todo = "run it on another machine, or with taskset on CPUs that the server does not use",
		.disproof = "requests wait as long when the same load comes from another machine",
		.next = "top -o %CPU",
	},
	{
		.key = "cpu-short", .name = "shortage of CPUs", .kind = DOCTOR_WAIT,
		TESTS(LEAST(OWN_CPUS, 0.75), MOST(SELF, SELF_CPU), MOST(OTHERS, 0.25), MOST(QUOTA_WAIT, QUOTA_HARM), MOST(STEAL, 0.1), MOST(INTERRUPTS_ONE, 0.4), MOST(KERNEL_THREADS, 0.25), MOST(UNATTRIBUTED, 0.3)), HARM(OWN_WAIT, CPU_HARM),
		EVIDENCE(F(WAIT_CPU), F(UNREAD_SHARE), F(OWN_WAIT), F(CPUS_USED), F(BUSY), F(RATE), F(MEAN)),
		.says = "the server's own processes wait for each other's CPUs: {own_wait} of the requests' time, {busy} requests at a time on average[; the requests lay unread for {unread_share} of their time]",
		.todo = "more CPUs, fewer clients at a time, or fewer requests of the command that costs most",
		.disproof = "CPUs are idle while requests wait",
		.next = "afpscope record[ --kind {kind}] -p {port} -d 30",
	},
};
/* clang-format on */

const struct doctor_rules doctor_rules_machine = { .of = OF(SESSIONS) | OF(BRICKS) | OF(SHARES) |
							 OF(EXPORTS),
						   .n = sizeof(rules) / sizeof(rules[0]),
						   .rule = rules };
