/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be wrong with an NFS server (nfs-ganesha) itself; the machine below it is as that of an
 * AFP server (rules_machine.c, rules_storage.c). tests/integration/doctor/test_doctor_ganesha.py
 * makes the faults on nfs-ganesha 4.3.
 */
#include "doctor/rules/rules_priv.h"

/* clang-format off */
static const struct doctor_rule rules[] = {
	{
		.key = "server-ended", .name = "server that ended", .kind = DOCTOR_FAILS,
		TESTS(ANY(SERVER_ENDED), MOST(SERVER_RESTARTED, 0.5)), HARM(SERVER_ENDED, 0.5),
		EVIDENCE(F(REQUESTS), F(ELAPSED)),
		.says = "nfs-ganesha ended while it was watched[: {server_ended.who}], and none has taken its place: clients wait until it is back",
		.todo = "start it again (systemctl start nfs-ganesha), and look at the end of its log for the reason",
		.disproof = "a client can mount an export",
		.next = "journalctl -u nfs-ganesha -n 50; tail -n 50 /var/log/ganesha/ganesha.log",
	},
	{
		.key = "server-restarted", .name = "server that restarted", .kind = DOCTOR_FAILS,
		TESTS(ANY(SERVER_RESTARTED)), HARM(SERVER_ENDED, 0.5),
		EVIDENCE(F(REQUESTS), F(ELAPSED)),
		.says = "nfs-ganesha was restarted while it was watched[: {server_ended.who}][; {server_restarted.who}]; clients of NFSv4 wait for its grace period as well",
		.todo = "if nobody did it on purpose, look for the reason at the end of its log, and for the OOM killer in the kernel's",
		.disproof = "somebody restarted it on purpose",
		.next = "journalctl -u nfs-ganesha -n 50; journalctl -k -g 'Out of memory'",
	},
	{
		.key = "log", .name = "verbose log", .kind = DOCTOR_WORK,
		TESTS(LEAST(LOG_CALLS, LOG_CALLS_LEAST)), OWN_HARM(LOG, LOG_HARM),
		EVIDENCE(F(LOG), F(LOG_CALLS), F(LOG_TIME), F(MEAN)),
		.says = "writing the log takes {log} of the threads' own time, {log_calls} calls a request on average",
		.todo = "Default_Log_Level = EVENT, and no COMPONENTS at DEBUG or FULL_DEBUG, in the block LOG of ganesha.conf; then restart nfs-ganesha",
		.disproof = "with Default_Log_Level = EVENT requests take as long",
		.next = "grep -A9 LOG /etc/ganesha/ganesha.conf",
	},
	{
		.key = "folder-lists", .name = "lists of folders", .kind = DOCTOR_NOTE,
		TESTS(LEAST(LIST, 0.4), LEAST(LIST_REQUESTS, 20)), NO_HARM,
		.fact = "reading folders takes {list} of the request time, in {list_requests} requests: of many small folders, or of a few with thousands of files, each list of which is many requests",
	},
	{
		.key = "workers", .name = "busy worker threads", .kind = DOCTOR_NOTE,
		TESTS(LEAST(WORKERS_BUSY, 0.6)), NO_HARM,
		.fact = "nfs-ganesha works on {workers} requests at a time at most (RPC_Ioq_ThrdMax), and {workers_busy} of that was in use on average; while all of it is, further requests wait unread, for how long is not seen here",
	},
};
/* clang-format on */

const struct doctor_rules doctor_rules_nfs = { .of = OF(EXPORTS),
					       .n = sizeof(rules) / sizeof(rules[0]),
					       .rule = rules };
