/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be wrong with bricks of GlusterFS themselves; the machine below them is as that of an
 * AFP server (rules_machine.c, rules_storage.c). No laboratory has bricks: the limits of "threads"
 * are those of AFP's waits, and nobody has measured how often they are right.
 */
#include "doctor/rules/rules_priv.h"

/* clang-format off */
static const struct doctor_rule rules[] = {
	{
		.key = "server-ended", .name = "brick that ended", .kind = DOCTOR_FAILS,
		TESTS(ANY(SERVER_ENDED)), HARM(SERVER_ENDED, 0.5),
		EVIDENCE(F(REQUESTS), F(ELAPSED)),
		.says = "the process of a brick ended while it was watched[: {server_ended.who}]; clients have lost this copy of the volume, or the volume",
		.todo = "start it again (gluster volume start VOLUME force), and look at the end of its log for the reason",
		.disproof = "gluster volume status shows the brick online, or somebody stopped its volume on purpose",
		.next = "gluster volume status; tail -n 50 /var/log/glusterfs/bricks/*.log",
	},
	{
		.key = "server-stopped", .name = "paused brick", .kind = DOCTOR_FAILS,
		TESTS(LEAST(BRICKS_HELD, 1), MOST(STOPPED_WAIT, 0.1)), HARM(BRICKS_HELD_SHARE, 0.001),
		EVIDENCE(F(BRICKS_HELD), F(BRICKS_HELD_SHARE), F(STOPPED)),
		.says = "a brick is paused by a signal, a debugger or a freezer: {bricks_held.who}; whoever asks it waits",
		.todo = "find who sent SIGSTOP or froze its cgroup; kill -CONT PID lets it go on",
		.disproof = "no glusterfsd is in state T, and no cgroup of it is frozen",
		.next = "ps -o pid,stat,wchan,comm -C glusterfsd",
	},
	{
		.key = "threads", .name = "shortage of io-threads", .kind = DOCTOR_WAIT,
		TESTS(LEAST(IO_THREADS_BUSY, IO_THREADS_MANY), LEAST(WAIT_THREAD, 0.3)), HARM(WAIT_THREAD, 0.3), UNSURE,
		EVIDENCE(F(WAIT_THREAD), F(IO_THREADS), F(IO_THREADS_BUSY), F(WAIT_DISK), F(MEAN)),
		.says = "all io-threads of the bricks, or of one of them, are at work: there are {io_threads}, busy for {io_threads_busy} of the time; for {wait_thread} of all request time no thread worked on the requests",
		.todo = "raise it: gluster volume set VOLUME performance.io-thread-count N; where they wait for disks (wait_disk), faster disks",
		.disproof = "with twice as many io-threads requests take as long",
		.next = "gluster volume get VOLUME performance.io-thread-count",
	},
	{
		.key = "self-heal", .name = "self-heal", .kind = DOCTOR_NOTE,
		TESTS(LEAST(HEAL_ENTRIES, 1)), NO_HARM,
		.fact = "the bricks' indices list {heal_entries} entries that wait to be healed[ ({heal_entries.who})][; the self-heal daemon was on a CPU {heal_cpu} of the time]",
	},
};
/* clang-format on */

const struct doctor_rules doctor_rules_gluster = { .of = OF(BRICKS),
						   .n = sizeof(rules) / sizeof(rules[0]),
						   .rule = rules };
