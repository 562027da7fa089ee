/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be wrong with a server over Rx, as the study of AFS at CERN (2012) found it, or with its
 * clients. Limits were chosen with tests/doctor/rx.py.
 */
#include "doctor/rules/rules_priv.h"

/* clang-format off */
static const struct doctor_rule rules[] = {
	{
		.key = "socket-buffer", .name = "socket buffer", .kind = DOCTOR_FAILS,
		TESTS(LEAST(DROPPED, 0.001), LEAST(DROPPED_N, 10), MOST(LISTENER, 0.9)), NO_HARM,
		EVIDENCE(F(DROPPED), F(DROPPED_N), F(QUEUE), F(BUFFER), F(LISTENER), F(MEAN)),
		.says = "the server's socket had no room for {dropped} of the datagrams[ ({dropped.who})]: who sent them waits, and sends them again[; the buffer has {buffer} bytes]",
		.todo = "a receive buffer of {buffer_need} bytes (for {buffer_clients} clients that write at once), by the server's option (fileserver -udpsize BYTES, rxperf -u KIB, rx --serve --buffer)[; a server gets net.core.rmem_max at most, now {buffer_max}: first sysctl -w net.core.rmem_max={buffer_raise}]",
		.disproof = "the drops of the socket in /proc/PID/net/udp do not grow while calls are slow",
		.next = "ss -lunm; cat /proc/sys/net/core/rmem_max",
	},
	{
		.key = "own-buffer", .name = "the clients' own buffers", .kind = DOCTOR_FAILS,
		TESTS(LEAST(OWN_DROPPED, 0.001)), NO_HARM,
		EVIDENCE(F(OWN_DROPPED), F(OWN_BUFFER), F(DROPPED), F(MEAN)),
		.says = "the clients' own sockets had no room for {own_dropped} of the datagrams that came: it is not the server that loses them",
		.todo = "larger buffers in the clients (option -u KIB; now {own_buffer}), or fewer calls of a client at a time (-t)",
		.disproof = "with -u 4096 calls take as long",
		.next = "afpscope rx -u 4096 and the same options",
	},
	{
		.key = "fragments", .name = "lost fragments", .kind = DOCTOR_WAIT,
		TESTS(LEAST(REASSEMBLY, 1), MOST(DROPPED, 0.001)), NO_HARM, UNSURE,
		EVIDENCE(F(REASSEMBLY), F(RESENT), F(TIMED_OUT), F(MEAN)),
		.says = "datagrams came to this host of which a fragment was missing: {reassembly}, the server's or those of others; who sent them waits, and sends them again",
		.todo = "smaller packets (-rxmaxmtu 1400, -nojumbo), or look for what drops fragments: a firewall, a tunnel with a smaller MTU, a full queue",
		.disproof = "ReasmFails in nstat does not grow while calls are slow",
		.next = "nstat -az IpReasmFails IpReasmTimeout; ping -M do -s 1472 CLIENT",
	},
	{
		.key = "threads", .name = "shortage of threads", .kind = DOCTOR_WAIT,
		TESTS(LEAST(SHORT, 0.2), LEAST(WAIT_THREAD, 0.2)), HARM(WAIT_THREAD, 0.2), REASONS(F(WAIT_DISK), F(WAIT_CPU)),
		EVIDENCE(F(WAIT_THREAD), F(SHORT), F(WAITING), F(WAITED), F(MEAN)),
		.says = "calls wait for a thread of the server: {wait_thread} of their time, up to {waiting} at a time; no thread was idle in {short} of the looks",
		.todo = "more threads (fileserver -p N, rxperf -S N, rx --serve -S N), or a quota for each client (--quota), so that a few do not have all threads",
		.disproof = "while calls are slow rxdebug SERVER PORT shows idle threads, and no calls that wait",
		.next = "rxdebug SERVER PORT -noconns; afpscope record --kind rx -d 30",
	},
	{
		.key = "listener-waits", .name = "the listener has no CPU", .kind = DOCTOR_WAIT,
		TESTS(LEAST(LISTENER, 0.9), LEAST(LISTENER_WAIT, 0.3)), HARM(LISTENER, 0.9), REASONS(F(WAIT_DISK)),
		EVIDENCE(F(LISTENER), F(LISTENER_CPU), F(LISTENER_WAIT), F(PACKET_CPU), F(DROPPED), F(MEAN)),
		.says = "one thread receives all datagrams and has always something to do ({listener} of the time), but {listener_wait} of this time it waits for a CPU: it needs one of its own[; other programs use {others} of the CPUs, most of it {others.who}]",
		.todo = "keep other work off one CPU for it (taskset -p, AllowedCPUs=), or raise its priority (nice)",
		.disproof = "calls are as slow when that thread has a CPU of its own",
		.next = "pidstat -t -p PID 1; afpscope record --kind rx -d 30",
	},
	{
		.key = "listener", .name = "one thread is the limit", .kind = DOCTOR_WAIT,
		TESTS(LEAST(LISTENER, 0.9), MOST(LISTENER_WAIT, 0.3)), HARM(LISTENER, 0.9), REASONS(F(WAIT_DISK)),
		EVIDENCE(F(LISTENER), F(LISTENER_CPU), F(PACKET_CPU), F(ACKS_MB), F(DROPPED), F(MEAN)),
		.says = "one thread receives all datagrams and has always something to do ({listener} of the time, on a CPU {listener_cpu}), {packet_cpu} of CPU time a datagram on average: more threads or CPUs do not help",
		.todo = "less work for each byte: jumbograms (not -nojumbo), larger packets (-rxmaxmtu), fewer ACKs; a faster CPU; clients on several servers",
		.disproof = "the rate grows with more threads",
		.next = "perf top -t TID; afpscope record --kind rx -d 30 -v",
	},
	{
		.key = "cpu-limit", .name = "CPU quota", .kind = DOCTOR_WORK,
		TESTS(LEAST(THROTTLED, THROTTLED_LEAST), LEAST(THREADS_WAIT, 0.2)), HARM(QUOTA_WAIT, QUOTA_HARM), WITHIN(WAIT_CPU), REASONS(F(OTHERS_WAIT), F(KERNEL_WAIT), F(WAIT_DISK)),
		EVIDENCE(F(QUOTA_WAIT), F(WAIT_CPU), F(THROTTLED), F(QUOTA), F(THREADS_WAIT), F(MEAN)),
		.says = "a CPU quota of its cgroup holds the server back, in {throttled} of the quota's periods[ ({throttled.who})]; calls waited for it {quota_wait} of their time at most",
		.todo = "raise CPUQuota= of its systemd unit (cpu.max of the cgroup)",
		.disproof = "throttled_usec in the cgroup's cpu.stat does not grow while calls are slow",
		.next = "systemctl show -p CPUQuotaPerSecUSec UNIT",
	},
	{
		.key = "other-programs", .name = "other programs", .kind = DOCTOR_WAIT,
		TESTS(LEAST(THREADS_WAIT, 0.5), LEAST(OTHERS, 0.3), LEAST(OWN_CPUS, 0.75), MOST(QUOTA_WAIT, QUOTA_ALONE), MOST(LISTENER, 0.9)), HARM(OTHERS_WAIT, 0.1), REASONS(F(WAIT_DISK)),
		EVIDENCE(F(OTHERS_WAIT), F(WAIT_CPU), F(THREADS_WAIT), F(OTHERS), F(OWN_CPUS), F(MEAN)),
		.says = "the server's threads wait for a CPU {threads_wait} of the time in which they could work, and calls with them {wait_cpu} of their time at most; other programs use {others} of the CPUs that the server may use[, most of all {others.who}]",
		.todo = "move or stop these programs (clients that run on the server's host are such), or give the server CPUs of its own (AllowedCPUs=, taskset)",
		.disproof = "latency stays when they are paused for a moment",
		.next = "top -o %CPU",
	},
	{
		.key = "load-generator", .name = "afpscope on the server's CPUs", .kind = DOCTOR_WAIT,
		TESTS(LEAST(THREADS_WAIT, 0.5), LEAST(SELF, SELF_CPU), LEAST(OWN_CPUS, 0.75), MOST(LISTENER, 0.9)), HARM(SELF_WAIT, 0.1), UNSURE,
		EVIDENCE(F(SELF_WAIT), F(WAIT_CPU), F(THREADS_WAIT), F(SELF), F(OWN_CPUS), F(MEAN)),
		.says = "the server's threads wait for a CPU {threads_wait} of the time in which they could work, and calls with them {wait_cpu} of their time at most; this afpscope, with the clients that it runs, uses {self} of the CPUs that the server may use",
		.todo = "run it on another machine, or with taskset on CPUs that the server does not use",
		.disproof = "calls wait as long when the same load comes from another machine",
		.next = "top -o %CPU",
	},
	{
		.key = "cpu-short", .name = "shortage of CPUs", .kind = DOCTOR_WAIT,
		TESTS(LEAST(THREADS_WAIT, 0.5), MOST(SELF, SELF_CPU), MOST(OTHERS, 0.3), LEAST(OWN_CPUS, 0.75), MOST(QUOTA_WAIT, QUOTA_HARM), MOST(STEAL, 0.1), MOST(LISTENER, 0.9)), HARM(OWN_WAIT, 0.2), REASONS(F(WAIT_DISK)),
		EVIDENCE(F(OWN_WAIT), F(WAIT_CPU), F(THREADS_WAIT), F(OWN_CPUS), F(RATE), F(MEAN)),
		.says = "the server uses all its CPUs, and its threads wait for each other's: {threads_wait} of the time in which they could work; calls waited for that {own_wait} of their time at most",
		.todo = "more CPUs, or fewer clients at a time",
		.disproof = "CPUs are idle while calls wait",
		.next = "afpscope record --kind rx -d 30",
	},
	{
		.key = "locks", .name = "contention for locks", .kind = DOCTOR_WAIT,
		TESTS(LEAST(LISTENER_ASLEEP, 0.3), MOST(LISTENER, 0.7), MOST(DROPPED, 0.001)), HARM(LISTENER_ASLEEP, 0.3), REASONS(F(WAIT_DISK)),
		EVIDENCE(F(LISTENER_ASLEEP), F(LISTENER), F(SHORT), F(MEAN)),
		.says = "the thread that receives all datagrams waits for a lock that others hold, in {listener_asleep} of the looks at it",
		.todo = "find who holds it: stacks of the server's threads while calls are slow",
		.disproof = "while calls are slow the listener sleeps in recvmsg, not in futex (/proc/PID/task/TID/syscall)",
		.next = "gdb -p PID -batch -ex 'thread apply all bt'",
	},
	{
		.key = "resends", .name = "lost packets", .kind = DOCTOR_WAIT,
		TESTS(LEAST(TIMED_OUT, RESENDS_LEAST), MOST(DROPPED, 0.001), MOST(OWN_DROPPED, 0.001)), HARM(TIMED_OUT, RESENDS_LEAST), REASONS(F(TIMED_GUESS)),
		EVIDENCE(F(TIMED_OUT), F(RESENT), F(RESENT_BACK), F(OWN_DROPPED), F(MEAN)),
		.says = "calls wait until lost packets are sent again: {timed_out} of the time of all calls is in calls that Rx's timers made long[; the server's own socket lost {dropped} of the datagrams]",
		.todo = "look for the loss: first on the server (its socket buffer), then switches, a firewall, the clients' network; where only large calls are slow, a path whose MTU is smaller, which drops large datagrams",
		.disproof = "no DATA packet is sent twice while calls are slow (tshark -Y rx.type==1)",
		.next = "on the server: afpscope doctor --kind rx -d 30",
	},
	{
		.key = "failures", .name = "failed calls", .kind = DOCTOR_WORK,
		TESTS(LEAST(FAILED, 0.1)), HARM(FAILED, 0.1),
		EVIDENCE(F(FAILED), F(REQUESTS), F(MEAN), F(LONGEST)),
		.says = "{failed} of the calls failed",
		.todo = "look at all errors, on the server (rx prints the first only)",
		.disproof = "only clients that ask for something this server does not offer see errors",
		.next = "afpscope record --kind rx -d 30 -v",
	},
};
/* clang-format on */

const struct doctor_rules doctor_rules_rx = { .of = OF(CALLS),
					      .n = sizeof(rules) / sizeof(rules[0]),
					      .rule = rules };
