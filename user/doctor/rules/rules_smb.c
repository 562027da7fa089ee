/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be wrong with an SMB server (Samba's smbd) itself; the machine below it is as that of an
 * AFP server (rules_machine.c, rules_storage.c). Limits were chosen with faults that were made on
 * smbd 4.17: tests/integration/doctor/test_doctor_samba.py makes them again.
 */
#include "doctor/rules/rules_priv.h"

/* clang-format off */
static const struct doctor_rule rules[] = {
	{
		.key = "server-ended", .name = "server that ended", .kind = DOCTOR_FAILS,
		TESTS(ANY(SERVER_ENDED), MOST(SERVER_RESTARTED, 0.5)), HARM(SERVER_ENDED, 0.5),
		EVIDENCE(F(SESSIONS), F(ELAPSED)),
		.says = "smbd's main process ended while it was watched[: {server_ended.who}]; nobody new can connect, and none has taken its place",
		.todo = "start it again (systemctl start smbd), and look at the end of its log for the reason",
		.disproof = "a new client can connect",
		.next = "journalctl -u smbd -n 50",
	},
	{
		.key = "server-restarted", .name = "server that restarted", .kind = DOCTOR_FAILS,
		TESTS(ANY(SERVER_RESTARTED)), HARM(SERVER_ENDED, 0.5),
		EVIDENCE(F(SESSIONS), F(ELAPSED)),
		.says = "smbd was restarted while it was watched[: {server_ended.who}][; {server_restarted.who}]",
		.todo = "if nobody did it on purpose, look for the reason at the end of its log, and for the OOM killer in the kernel's",
		.disproof = "somebody restarted it on purpose",
		.next = "journalctl -u smbd -n 50; journalctl -k -g 'Out of memory'",
	},
	{
		.key = "not-accepting", .name = "server that accepts no connections", .kind = DOCTOR_FAILS,
		TESTS(LEAST(UNACCEPTED, 1)), HARM(UNACCEPTED_SHARE, 0.001),
		EVIDENCE(F(UNACCEPTED), F(UNACCEPTED_FOR), F(SESSIONS)),
		.says = "nobody can connect: {unaccepted} connections have not been accepted for {unaccepted_for} or more[; {unaccepted.who}]",
		.todo = "if the main process is paused (state T), kill -CONT {pid}; else restart the server",
		.disproof = "a new client can connect",
		.next = "ss -ltn; ps -o pid,stat,wchan,comm -p {pid}; cat /proc/{pid}/stack",
	},
	{
		.key = "crash", .name = "sessions that crash", .kind = DOCTOR_FAILS,
		TESTS(LEAST(CRASHED, 1)), HARM(CRASHED_SHARE, 0.001),
		EVIDENCE(F(CRASHED), F(CRASHED_SHARE), F(SESSIONS)),
		.says = "sessions crash: {crashed}, {crashed_share} of all; the last one was {crashed.who}",
		.todo = "look for PANIC and the backtrace in Samba's log, and report it to Samba with its version; until then keep away from what those users did last",
		.disproof = "somebody sent that signal to smbd by hand",
		.next = "grep -r PANIC /var/log/samba; coredumpctl list smbd",
	},
	{
		.key = "session-stopped", .name = "paused session", .kind = DOCTOR_FAILS,
		TESTS(LEAST(STOPPED_NOW, 1), MOST(STOPPED_WAIT, STOPPED_HARM), MOST(TRACED, 0.5)), HARM(STOPPED_NOW_SHARE, 0.001), UNSURE,
		EVIDENCE(F(STOPPED_NOW), F(STOPPED_NOW_SHARE), F(STOPPED), F(SESSIONS)),
		.says = "processes of smbd that are paused by a signal, a debugger or a freezer: {stopped_now}, such as {stopped_now.who}; each serves one client, which waits if it asks for something",
		.todo = "find who sent SIGSTOP or froze its cgroup; kill -CONT PID lets it go on",
		.disproof = "no smbd is in state T, and no cgroup of it is frozen",
		.next = "ps -o pid,stat,wchan,comm -C smbd",
	},
	{
		.key = "log", .name = "verbose log", .kind = DOCTOR_WORK,
		TESTS(LEAST(LOG_CALLS, LOG_CALLS_LEAST)), OWN_HARM(LOG, LOG_HARM),
		EVIDENCE(F(LOG), F(LOG_CALLS), F(LOG_TIME), F(MEAN)),
		.says = "writing the log takes {log} of the requests' own time, {log_calls} calls a request on average",
		.todo = "log level = 1 in smb.conf; smbcontrol all debug 1 takes effect at once",
		.disproof = "with log level = 1 requests take as long",
		.next = "testparm -s --parameter-name='log level'; smbcontrol {pid} debuglevel",
	},
	{
		.key = "huge-folder", .name = "huge folders", .kind = DOCTOR_WORK,
		TESTS(ANY(CASE_FOLDED), LEAST(SCAN_MEAN, 300e3)), OWN_HARM(SCAN, 0.25),
		EVIDENCE(F(SCAN), F(SCAN_MEAN), F(CASE_FOLDED), F(RATE), F(MEAN)),
		.says = "for a name that does not exist smbd reads the whole folder, as the name may exist in another case: {scan} of the requests' own time[, most in {scan.who}], {scan_mean} on average for a request that may look for a name",
		.todo = "split folders of thousands of files; or case sensitive = yes for a share whose clients write names as they are (smb.conf(5): also preserve case, short preserve case)",
		.disproof = "find FOLDER -maxdepth 1 shows fewer than 1,000 entries in each folder in which files are made or renamed",
		.next = "find SHARE -type d -size +100k",
	},
	{
		.key = "folder-scans", .name = "reading of folders", .kind = DOCTOR_WORK,
		TESTS(LEAST(SCAN_MEAN, 300e3), MOST(CASE_FOLDED, 0.5)), OWN_HARM(SCAN, 0.25), UNSURE,
		EVIDENCE(F(SCAN), F(SCAN_MEAN), F(RATE), F(MEAN)),
		.says = "folders are read in requests that look a name up: {scan} of the requests' own time[, most in {scan.who}], {scan_mean} a request on average; that a share looks names up whatever their case is not seen in the settings",
		.todo = "see what case sensitive is, and whether folders of thousands of files are worked in",
		.disproof = "find FOLDER -maxdepth 1 shows fewer than 1,000 entries in each folder in which files are made or renamed",
		.next = "testparm -s -v | grep 'case sensitive'",
	},
	{
		.key = "acl-module", .name = "Windows ACLs beside the files", .kind = DOCTOR_WORK,
		TESTS(ANY(ACL_MODULE), LEAST(CREATE_CALLS, 75)), OWN_HARM(CREATE, 0.4), UNSURE,
		EVIDENCE(F(CREATE), F(CREATE_CALLS), F(ACL_MODULE), F(MEAN)),
		.says = "opening and making files takes {create} of the requests' own time, {create_calls} system calls on average: a share stores Windows ACLs beside its files (vfs objects = acl_xattr or acl_tdb)[, {acl_module.who}]",
		.todo = "if nobody needs Windows ACLs on that share, leave the module out",
		.disproof = "without the module CREATE takes as many calls (afpscope record --kind smb -v)",
		.next = "testparm -s -v | grep 'vfs objects'",
	},
	{
		.key = "oplock-breaks", .name = "waits for other clients' oplocks", .kind = DOCTOR_WAIT,
		TESTS(LEAST(BREAKS, 3), LEAST(BREAK_MEAN, 1e6)), HARM(BREAK_WAIT, 0.3), WORTH_US(500), UNSURE,
		EVIDENCE(F(BREAK_WAIT), F(BREAKS), F(BREAK_MEAN), F(MEAN), F(LONGEST)),
		.says = "clients that opened files were told to wait: {breaks} time{breaks.s}, {break_mean} on average, {break_wait} of all request time; as a rule for another client that has the file open and must give up its oplock or lease first",
		.todo = "see who has these files open: a client that sleeps, or is far away, answers late; oplocks = no for a share whose files several clients use at a time",
		.disproof = "with oplocks = no for that share, opening takes as long",
		.next = "smbstatus -L",
	},
	{
		.key = "oplock-breaks", .name = "waits for other clients' oplocks", .kind = DOCTOR_WAIT,
		TESTS(LEAST(BREAKS, 1), MOST(BREAKS, 2.5), LEAST(BREAK_MEAN, 1e9)), HARM(BREAK_WAIT, 0.3), UNSURE,
		EVIDENCE(F(BREAK_WAIT), F(BREAKS), F(BREAK_MEAN), F(MEAN), F(OLDEST)),
		.says = "clients that opened files were told to wait: {breaks} time{breaks.s}, {break_mean} on average, {break_wait} of all request time; as a rule for another client that has the file open and must give up its oplock or lease first",
		.todo = "see who has these files open: a client that sleeps, or is far away, answers late; oplocks = no for a share whose files several clients use at a time",
		.disproof = "with oplocks = no for that share, opening takes as long",
		.next = "smbstatus -L",
	},
	{
		.key = "tdb", .name = "waits for Samba's databases", .kind = DOCTOR_WAIT,
		TESTS(LEAST(TDB, 0.2), MOST(WAIT_CPU, 0.5)), HARM(TDB, 0.2), WORTH_US(200), UNSURE,
		EVIDENCE(F(TDB), F(SESSIONS), F(BUSY), F(MEAN)),
		.says = "sessions waited for locks of files, or for each other: {tdb} of all request time[, most in {tdb.who}]; as a rule for Samba's databases (*.tdb)",
		.todo = "see who holds them: a process that is paused, or a disk that is slow below Samba's lock directory; many clients in one folder wait for each other there",
		.disproof = "no smbd sleeps in fcntl or futex while requests wait",
		.next = "grep -H . /proc/locks; ps -C smbd -o pid,stat,wchan:30",
	},
	{
		.key = "name-service", .name = "name service", .kind = DOCTOR_WAIT,
		TESTS(LEAST(ASKED_OTHERS, 0.2)), HARM(ASKED_OTHERS, 0.2), WORTH_US(200), UNSURE,
		EVIDENCE(F(ASKED_OTHERS), F(MEAN), F(LONGEST)),
		.says = "requests waited for the answers of other programs on this host or in the network, as winbindd and name services give them: {asked_others} of all request time[, most in {asked_others.who}]",
		.todo = "find which one: winbindd, sssd, nscd or DNS",
		.disproof = "getent passwd and getent group answer at once for every user of the shares while requests wait",
		.next = "wbinfo -t; time getent passwd USER; ss -xp | grep smbd",
	},
	{
		.key = "notifyd", .name = "busy smbd-notifyd", .kind = DOCTOR_NOTE,
		TESTS(LEAST(NOTIFYD, 0.99)), NO_HARM,
		.fact = "smbd-notifyd was never idle: it was on a CPU {notifyd_cpu} of the time, and waited for one the rest; it tells clients of changes late (change notify = no turns it off)",
	},
	{
		.key = "notifyd", .name = "busy smbd-notifyd", .kind = DOCTOR_NOTE,
		TESTS(LEAST(NOTIFYD, 0.9), MOST(NOTIFYD, 0.99)), NO_HARM,
		.fact = "smbd-notifyd was on a CPU {notifyd_cpu} of the time, and with its waits for one {notifyd}: whether it tells clients of changes late cannot be told",
	},
	{
		.key = "lock-waits", .name = "waits for other clients' locks", .kind = DOCTOR_NOTE,
		TESTS(LEAST(LOCK_WAITS, 1)), NO_HARM,
		.fact = "clients waited for ranges of files that other clients had locked: {lock_waits} time{lock_waits.s}; that time is in no other figure",
	},
};
/* clang-format on */

const struct doctor_rules doctor_rules_smb = { .of = OF(SHARES),
					       .n = sizeof(rules) / sizeof(rules[0]),
					       .rule = rules };
