/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Servers that are stopped or traced, of every kind whose threads serve several clients. Those of
 * AFP, of which a session's own thread is known, are in rules_server.c. A tracer stops the threads
 * that make calls. The others are idle, as many as the server has: of the time of all of them its
 * stops may be any share.
 */
#include "doctor/rules/rules_priv.h"

/* clang-format off */
static const struct doctor_rule rules[] = {
	{
		.key = "server-traced", .name = "traced server", .kind = DOCTOR_FAILS,
		TESTS(ANY(TRACED), LEAST(STOPPED_FOR, TRACED_LEAST)), HARM(STOPPED_WAIT, STOPPED_HARM), UNSURE,
		EVIDENCE(F(TRACED), F(STOPPED_FOR), F(STOPPED_WAIT), F(SLOW_N), F(LONGEST)),
		.says = "tracing by {traced.who} paused threads of {server} for {stopped_for} in all",
		.todo = "end the tracer; what is measured beside it is not the server's own speed",
		.disproof = "requests take as long without the tracer",
		.next = "grep -H TracerPid /proc/*/status | grep -vw 0",
		.now = F(TRACED_NOW), .over = {
			.todo = "keep debuggers and strace away from the server while people use it: this tracer has left, and what was measured beside it is not the server's own speed",
			.disproof = "requests take as long now that the tracer has left",
			.next = "afpscope doctor[ --kind {kind}][ -p {port}]",
		},
	},
	{
		.key = "server-stopped", .name = "paused server", .kind = DOCTOR_FAILS,
		TESTS(LEAST(STOPPED, STOPPED_LEAST), MOST(TRACED, 0.5)), HARM(STOPPED_WAIT, STOPPED_HARM), REASONS(F(STOPPED_IDLE)),
		EVIDENCE(F(STOPPED), F(STOPS), F(SLOW_N), F(LONGEST)),
		.says = "{server} processes were paused by a signal, a debugger or a freezer for {stopped} of the time of their threads[; paused {stops} time{stops.s}, {stops.who}][; paused now: {stopped_now.who}][; of {bricks_held.who}]",
		.todo = "find who sent SIGSTOP or froze its cgroup; kill -CONT PID lets it go on",
		.disproof = "no {server} process is in state T, and no cgroup of it is frozen",
		.next = "ps -eo pid,stat,comm | grep ' T'",
		.now = F(STOPPED_NOW), .over = {
			.todo = "find who sent SIGSTOP, attached a debugger or froze its cgroup: the server goes on now, and may be paused again",
			.disproof = "nobody paused a {server} process, attached a debugger to it or froze its cgroup in that time",
			.next = "journalctl -n 50; afpscope doctor[ --kind {kind}][ -p {port}]",
		},
	},
};
/* clang-format on */

const struct doctor_rules doctor_rules_stops = { .of = OF(BRICKS) | OF(CALLS) | OF(SHARES) |
						       OF(EXPORTS),
						 .n = sizeof(rules) / sizeof(rules[0]),
						 .rule = rules };
