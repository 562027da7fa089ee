/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the time of an AFP server's requests went: what stands out, and no cause. Of what is a
 * cause by itself the limits are those of its rule.
 */
#include "doctor/rules/rules_priv.h"

#define TIME      .whom = true, .kind = DOCTOR_NOTE
#define TIME_STOP .whom = true, .kind = DOCTOR_FAILS /* before the others: it explains them */

/* clang-format off */
static const struct doctor_rule rules[] = {
	{
		.key = "no-answer", TESTS(LEAST(PENDING, 100e6)), NO_HARM,
		.fact = "{pending_n} request{pending_n.s} had no answer when the watch ended: {pending_share} of all request time ({pending})[; most of it {pending_share.who}]",
	},
	{
		.key = "stalls", TESTS(LEAST(STALLS, 1)), NO_HARM,
		.fact = "{stalls} of {requests} requests took about 100ms or more, the longest {longest}[ ({longest.who})][; these commands {stalls.who}]",
	},
	{
		.key = "afpd-stopped", TIME_STOP, TESTS(LEAST(STOPPED, STOPPED_LEAST)), HARM(STOPPED_WAIT, STOPPED_HARM),
		.fact = "afpd was paused for {stopped_for} in all, by a signal, a debugger or a freezer[; {stopped_for.who}]",
	},
	{
		.key = "afpd-stopped", TIME_STOP, TESTS(LEAST(STOPPED_FOR, STOPPED_FEW), MOST(STOPPED, STOPPED_LEAST)), HARM(STOPPED_WAIT, STOPPED_FEW_HARM),
		.fact = "afpd was paused for {stopped_for} in all, by a signal, a debugger or a freezer[; {stopped_for.who}]",
	},
	{
		.key = "cnid-stopped", TIME_STOP, TESTS(LEAST(CNID_STOPPED, STOPPED_LEAST)), HARM(CNID_STOPPED, STOPPED_HARM),
		.fact = "{backend} was paused (by a signal, a debugger or a freezer) while afpd waited for it: {cnid_stopped} of all request time ({cnid_stopped.time})[; paused {cnid_stops} time{cnid_stops.s}, {cnid_stops.who}]",
	},
	{
		.key = "log", TIME, TESTS(LEAST(LOG_CALLS, LOG_CALLS_LEAST)), OWN_HARM(LOG, LOG_HARM),
		.fact = "writing the log took {log} of the requests' own time ({log_time}), {log_calls} calls a request on average; 'log level' in afp.conf says what is written",
	},
	{
		.key = "lock", TIME, HARM(LOCK, LOCK_HARM),
		.fact = "afpd waited for file locks of other processes: {lock} of all request time ({lock.time})",
	},
	{
		.key = "cnid-run-queue", TIME, HARM(CNID_RUNQ, CPU_HARM),
		.fact = "{backend} waited for a CPU while afpd waited for it: {cnid_runq} of all request time ({cnid_runq.time})",
	},
	{
		.key = "run-queue", TIME, HARM(RUNQ, CPU_HARM),
		.fact = "afpd waited for a CPU: {runq} of all request time ({runq.time}); its other sessions, the client or other programs had the CPUs, or a CPU limit of its cgroup held it back",
	},
	{
		.key = "disk", TIME, HARM(DISK, DISK_HARM),
		.fact = "afpd waited for files and directories: {disk} of all request time ({disk.time})[, {disk.who}]",
	},
	{
		.key = "network", TIME, HARM(NET, NET_HARM),
		.fact = "afpd waited for clients to send their data or to take their replies: {net} of all request time ({net.time})",
	},
	{
		.key = "cnid", TIME, TESTS(LEAST(CNID_INSIDE, 1e-9)), HARM(CNID, CNID_WAIT_HARM),
		.fact = "afpd waited for its CNID server: {cnid} of all request time ({cnid.time}); in that wait {cnid_inside.who}",
	},
	{
		.key = "cnid", TIME, TESTS(MOST(CNID_INSIDE, 1e-9)), HARM(CNID, CNID_WAIT_HARM),
		.fact = "afpd waited for its CNID database: {cnid} of all request time ({cnid.time})",
	},
};
/* clang-format on */

const struct doctor_rules doctor_rules_time = { .of = OF(SESSIONS),
						.n = sizeof(rules) / sizeof(rules[0]),
						.rule = rules };
