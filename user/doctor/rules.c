/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of causes. Limits were chosen with tests/doctor/matrix.py: none of its healthy loads
 * reaches one.
 */
#include "doctor/rules.h"

#define F(name) RUN_FIGURE_##name
#define LEAST(name, v)                                                                             \
	{                                                                                          \
		F(name), v, false                                                                  \
	}
#define MOST(name, v)                                                                              \
	{                                                                                          \
		F(name), v, true                                                                   \
	}
#define TESTS(...)                                                                                 \
	.n_tests = sizeof((struct doctor_test[]) { __VA_ARGS__ }) / sizeof(struct doctor_test),    \
	.test = { __VA_ARGS__ }
#define EVIDENCE(...)                                                                              \
	.n_evidence = sizeof((enum run_figure[]) { __VA_ARGS__ }) / sizeof(enum run_figure),       \
	.evidence = { __VA_ARGS__ }

/* clang-format off */
const struct doctor_rule doctor_rules[] = {
	{
		.key = "server-stopped", .name = "stopped server", .kind = DOCTOR_FACT,
		TESTS(LEAST(STOPPED, 0.02)), .weight = F(STOPPED),
		EVIDENCE(F(STOPPED), F(SLOW_N), F(LONGEST)),
		.says = "afpd was stopped by a signal, a debugger or a freezer for {stopped} of the time, all sessions together",
		.todo = "find who sent SIGSTOP or froze its cgroup; kill -CONT PID lets it go on",
		.disproof = "no afpd is in state T, and no cgroup of it is frozen",
		.next = "ps -eo pid,stat,comm | grep ' T'",
	},
	{
		.key = "cnid-stopped", .name = "stopped CNID server", .kind = DOCTOR_FACT,
		TESTS(LEAST(CNID_STOPPED, 0.02)), .weight = F(CNID_STOPPED),
		EVIDENCE(F(CNID_STOPPED), F(CNID), F(SLOW_N), F(LONGEST)),
		.says = "cnid_dbd was stopped while afpd waited for it: {cnid_stopped} of all request time",
		.todo = "find who stopped it; kill -CONT PID lets it go on",
		.disproof = "no cnid_dbd is in state T",
		.next = "ps -o pid,stat,wchan -C cnid_dbd",
	},
	{
		.key = "cnid-restarts", .name = "CNID server that ends", .kind = DOCTOR_FACT,
		TESTS(LEAST(CNID_ENDED, 1)), .weight = F(CNID),
		EVIDENCE(F(CNID_ENDED), F(CNID), F(LONGEST)),
		.says = "processes of the CNID server that ended while clients worked: {cnid_ended}[; afpd waited for it {cnid} of all request time]",
		.todo = "look at the end of netatalk's log; dbd -f VOLUME rebuilds a damaged database",
		.disproof = "cnid_dbd keeps its process id for minutes while clients work",
		.next = "ps -o pid,lstart -C cnid_dbd",
	},
	{
		.key = "cnid-lock", .name = "lock of the CNID database", .kind = DOCTOR_WAIT,
		TESTS(LEAST(CNID_LOCK, 0.2)), .weight = F(CNID_LOCK),
		EVIDENCE(F(CNID_LOCK), F(CNID), F(P99), F(LONGEST)),
		.says = "requests waited for the lock of the CNID database: {cnid_lock} of all request time",
		.todo = "find who holds the database open and locked (fuser, lslocks); for many writers use cnid scheme = dbd",
		.disproof = "lslocks shows no writer on the CNID database while requests wait",
		.next = "lslocks -u | grep -i cnid",
	},
	{
		.key = "cnid-slow", .name = "saturated CNID server", .kind = DOCTOR_WAIT,
		TESTS(LEAST(CNID_CPU, 0.3)), .weight = F(CNID_CPU),
		EVIDENCE(F(CNID), F(CNID_CPU), F(P99), F(RATE)),
		.says = "the CNID server was at work while clients waited: {cnid_cpu} of all request time; one process serves all sessions of a volume",
		.todo = "spread users over several volumes, or cnid scheme = sqlite",
		.disproof = "cnid_dbd uses much less than one CPU while requests wait",
		.next = "afpscope record -d 30 -v",
	},
	{
		.key = "cpu-limit", .name = "CPU quota", .kind = DOCTOR_FACT,
		TESTS(LEAST(THROTTLED, 0.1), LEAST(WAIT_CPU, 0.2)), .weight = F(WAIT_CPU),
		EVIDENCE(F(THROTTLED), F(WAIT_CPU), F(P99), F(CPUS_USED)),
		.says = "a CPU quota of its cgroup held the server back for {throttled} of the time; requests waited for a CPU {wait_cpu} of their time",
		.todo = "raise CPUQuota= of its systemd unit (cpu.max of the cgroup)",
		.disproof = "throttled_usec in the cgroup's cpu.stat does not grow",
		.next = "systemctl show -p CPUQuotaPerSecUSec netatalk",
	},
	{
		.key = "other-programs", .name = "other programs", .kind = DOCTOR_WAIT,
		TESTS(LEAST(WAIT_CPU, 0.25), LEAST(OTHERS, 0.3), MOST(THROTTLED, 0.1)), .weight = F(WAIT_CPU),
		EVIDENCE(F(WAIT_CPU), F(OTHERS), F(CPUS_USED), F(P99)),
		.says = "requests waited for a CPU {wait_cpu} of their time while other programs used {others} of the CPUs that the server may use[, most of it {others.who}]",
		.todo = "move or renice them, or give the server CPUs of its own (systemd: CPUWeight=, AllowedCPUs=)",
		.disproof = "latency stays when they are stopped for a moment",
		.next = "top -o %CPU",
	},
	{
		.key = "cpu-short", .name = "shortage of CPUs", .kind = DOCTOR_WAIT,
		TESTS(LEAST(WAIT_CPU, 0.35), MOST(OTHERS, 0.3), MOST(THROTTLED, 0.1)), .weight = F(WAIT_CPU),
		EVIDENCE(F(WAIT_CPU), F(CPUS_USED), F(BUSY), F(RATE), F(P99)),
		.says = "the server's own sessions wait for each other's CPUs: {wait_cpu} of their time, {busy} requests at a time",
		.todo = "more CPUs, or fewer clients at a time; see which command costs most with afpscope record",
		.disproof = "CPUs are idle while requests wait",
		.next = "afpscope record -d 30",
	},
	{
		.key = "disk-full", .name = "full disk", .kind = DOCTOR_FACT,
		TESTS(LEAST(DISK_FULL, 1)), .weight = N_RUN_FIGURES,
		EVIDENCE(F(DISK_FULL), F(ROOM)),
		.says = "requests refused because a disk or quota is full: {disk_full}[, most of them {disk_full.who}]",
		.todo = "free space on the volume, or raise the user's quota",
		.disproof = "df and quota show room on the volume's file system",
		.next = "df -h; repquota -a",
	},
	{
		.key = "disk-room", .name = "nearly full disk", .kind = DOCTOR_FACT,
		TESTS(MOST(ROOM, 0.005)), .weight = F(SLOW),
		EVIDENCE(F(ROOM)),
		.says = "a volume's file system is nearly full: {room} is free[ of {room.who}]",
		.todo = "free space on the volume",
		.disproof = "df shows room on the volume's file system",
		.next = "df -h",
	},
	{
		.key = "fsync", .name = "fsync storm", .kind = DOCTOR_WAIT,
		TESTS(LEAST(SYNC, 0.25)), .weight = F(SYNC),
		EVIDENCE(F(SYNC), F(SYNC_RATE), F(DEVICE_TIME), F(P99)),
		.says = "requests waited for fsync: {sync} of all request time, {sync_rate} fsync calls",
		.todo = "a disk with a write cache that survives a power loss; see which client flushes (Time Machine does after each band)",
		.disproof = "fsync of a small file on that disk takes less than a millisecond",
		.next = "afpscope record -d 30 -v",
	},
	{
		.key = "slow-disk", .name = "slow disk", .kind = DOCTOR_WAIT,
		TESTS(LEAST(WAIT_DISK, 0.3), MOST(SYNC, 0.25), MOST(XATTR, 0.35), MOST(META, 0.3), MOST(PRESSURE_MEMORY, 0.3)), .weight = F(WAIT_DISK),
		EVIDENCE(F(WAIT_DISK), F(PRESSURE_IO), F(DEVICE_BUSY), F(DEVICE_TIME), F(P99)),
		.says = "requests waited for the disk: {wait_disk} of all request time[; {device_busy.who} was busy {device_busy} of the time][, {device_time} an access]",
		.todo = "see which device and what else uses it: iostat -x 1, iotop; more memory if the same files are read again and again",
		.disproof = "the same reads from memory take as long",
		.next = "iostat -x 1 5",
	},
	{
		.key = "memory", .name = "shortage of memory", .kind = DOCTOR_WAIT,
		TESTS(LEAST(PRESSURE_MEMORY, 0.1)), .weight = F(PRESSURE_MEMORY),
		EVIDENCE(F(PRESSURE_MEMORY), F(SWAPPED_IN), F(WAIT_DISK)),
		.says = "programs waited for memory {pressure_memory} of the time[; {swapped_in} pages were read from swap]",
		.todo = "more memory, a higher memory limit, or fewer other programs",
		.disproof = "memory is free, and nothing is read from swap",
		.next = "vmstat 1 5",
	},
	{
		.key = "locks", .name = "file locks", .kind = DOCTOR_WAIT,
		TESTS(LEAST(LOCK, 0.1)), .weight = F(LOCK),
		EVIDENCE(F(LOCK), F(DENIED), F(LONGEST)),
		.says = "requests waited for file locks of other processes: {lock} of all request time",
		.todo = "find the holder with lslocks: another protocol (Samba, NFS) or a backup on the same files?",
		.disproof = "lslocks shows no other holder on the volume's files",
		.next = "lslocks",
	},
	{
		.key = "lock-conflicts", .name = "files in use by others", .kind = DOCTOR_FACT,
		TESTS(LEAST(DENIED_SHARE, 0.05), LEAST(DENIED, 10)), .weight = F(DENIED_SHARE),
		EVIDENCE(F(DENIED), F(DENIED_SHARE)),
		.says = "requests refused because a file is open elsewhere or a range of it is locked: {denied}[, most of them {denied.who}][, most often {denied_share.who}]",
		.todo = "find which file it is and who has it open (lsof, lslocks); a session that is dead keeps its files open until afpd ends it",
		.disproof = "the refusals go on after all other users have closed their files",
		.next = "lslocks -o PID,COMMAND,PATH | grep afpd",
	},
	{
		.key = "huge-folder", .name = "huge folders", .kind = DOCTOR_WORK,
		TESTS(LEAST(LIST_REQUESTS, 30), LEAST(LIST, 0.3), LEAST(LIST_TIME, 30e6)), .weight = F(LIST),
		EVIDENCE(F(LIST), F(LIST_REQUESTS), F(LIST_TIME), F(RATE)),
		.says = "listing folders takes {list} of all request time: {list_requests} requests and {list_time} in the server for one folder",
		.todo = "split folders of thousands of files; dircachesize in afp.conf must hold all of a folder's entries",
		.disproof = "find FOLDER -maxdepth 1 shows fewer than 1,000 entries in each folder that is listed",
		.next = "find VOLUME -type d -size +200k",
	},
	{
		.key = "cnid-behind", .name = "CNID database out of step", .kind = DOCTOR_WORK,
		TESTS(LEAST(CNID_WRITES, 2), LEAST(BEHIND, 0.05)), .weight = F(BEHIND),
		EVIDENCE(F(CNID_WRITES), F(BEHIND), F(CNID), F(P99)),
		.says = "requests that change nothing enter files in the CNID database, {cnid_writes}[, most of them {cnid_writes.who}]: {behind} of all request time. Other programs changed files on the volume",
		.todo = "let the programs that write to the volume (rsync, Samba, a restore) work through AFP, or run dbd on the volume after them",
		.disproof = "nobody but afpd has made or renamed files on the volume since it was last listed",
		.next = "find VOLUME -cmin -60 | head",
	},
	{
		.key = "no-login", .name = "connections without a login", .kind = DOCTOR_FACT,
		TESTS(LEAST(NO_LOGIN, 3)), .weight = F(SLOW),
		EVIDENCE(F(NO_LOGIN), F(SESSIONS), F(LOGINS)),
		.says = "connections that never log in, each with an afpd of its own and a place under max connections: {no_login}[, one of them from {no_login.who}]",
		.todo = "find who connects (ss -tnp): a port scanner, a monitor that only connects, or a load balancer",
		.disproof = "ss -tnp shows only connections of users who are logged in",
		.next = "ss -tnp | grep afpd",
	},
	{
		.key = "log", .name = "log", .kind = DOCTOR_WORK,
		TESTS(LEAST(LOG, 0.05), LEAST(LOG_CALLS, 0.5)), .weight = F(LOG),
		EVIDENCE(F(LOG), F(LOG_CALLS)),
		.says = "writing the log takes {log} of all request time, {log_calls} calls for each request",
		.todo = "log level = default:warn in afp.conf, and restart netatalk",
		.disproof = "log level is warn or less in afp.conf",
		.next = "grep -n 'log level' /etc/netatalk/afp.conf",
	},
	{
		.key = "xattr", .name = "slow extended attributes", .kind = DOCTOR_WORK,
		TESTS(LEAST(XATTR, 0.35), LEAST(XATTR_MEAN, 100e3)), .weight = F(XATTR),
		EVIDENCE(F(XATTR), F(XATTR_MEAN), F(P99)),
		.says = "calls on extended attributes take {xattr} of all request time, {xattr_mean} each",
		.todo = "on ZFS: zfs set xattr=sa; on ext4: inodes of 512 bytes; else a file system with attributes in its inodes",
		.disproof = "getfattr on such a file takes microseconds",
		.next = "afpscope record -d 30 -v",
	},
	{
		.key = "appledouble", .name = "AppleDouble files", .kind = DOCTOR_WORK,
		TESTS(LEAST(META, 0.15), LEAST(META_CALLS, 1)), .weight = F(META),
		EVIDENCE(F(META), F(META_CALLS)),
		.says = "work on ._ files takes {meta} of all request time, {meta_calls} calls for each request",
		.todo = "ea = sys on a file system with extended attributes, and convert the volume once with dbd",
		.disproof = "the volume has no ._ files and ea = sys",
		.next = "afpscope check",
	},
	{
		.key = "slow-login", .name = "slow logins", .kind = DOCTOR_FACT,
		TESTS(LEAST(LOGIN, 1e9), MOST(WAIT_CPU, 0.5)), .weight = N_RUN_FIGURES,
		EVIDENCE(F(LOGIN), F(LOGINS), F(LOGIN_PENDING)),
		.says = "a login takes {login} in the server; logins without an answer yet: {login_pending}",
		.todo = "time id USER and getent passwd USER on the server: a name service or PAM module that waits",
		.disproof = "id USER answers at once on the server",
		.next = "time getent passwd",
	},
	{
		.key = "login-loop", .name = "login loops", .kind = DOCTOR_FACT,
		TESTS(LEAST(SHORT_LIVED, 0.5)), .weight = N_RUN_FIGURES,
		EVIDENCE(F(SHORT_LIVED), F(LOGINS)),
		.says = "sessions that end within 10 s, again and again: {short_lived}[, the last one {short_lived.who}]",
		.todo = "look at that client: a monitor, a scanner, or an automounter that fails",
		.disproof = "sessions that end have lasted minutes",
		.next = "afpscope record -d 30",
	},
	{
		.key = "session-limit", .name = "limit of sessions", .kind = DOCTOR_FACT,
		TESTS(LEAST(REFUSED, 1)), .weight = N_RUN_FIGURES,
		EVIDENCE(F(REFUSED), F(SESSIONS)),
		.says = "sessions refused because the server has as many as it may: {refused}",
		.todo = "raise max connections in afp.conf, or end sessions that nobody uses",
		.disproof = "a new client can log in",
		.next = "grep -n 'max connections' /etc/netatalk/afp.conf",
	},
	{
		.key = "network", .name = "slow clients", .kind = DOCTOR_WAIT,
		TESTS(LEAST(NET, 0.4)), .weight = F(NET),
		EVIDENCE(F(NET), F(RETRANS), F(P99)),
		.says = "the server waited for clients to take replies or send data: {net} of all request time[; {retrans} of TCP segments were sent again]",
		.todo = "look at the client's CPU, its network and its disk; ss -ti shows its connection",
		.disproof = "the client is on the same switch, idle, and ss -ti shows no retransmissions",
		.next = "ss -tin",
	},
	{
		.key = "one-session", .name = "one session takes all", .kind = DOCTOR_WAIT, .whom = true,
		TESTS(LEAST(TOP_SESSION, 0.8), LEAST(SESSIONS, 3), LEAST(TOP_BUSY, 0.5)), .weight = F(TOP_SESSION),
		EVIDENCE(F(TOP_SESSION), F(TOP_BUSY), F(SESSIONS)),
		.says = "one session had {top_session} of all time in the server[: {top_session.who}]",
		.todo = "ask what that user does; renice that afpd",
		.disproof = "others are as slow when that session is idle",
		.next = "afpscope record -d 30",
	},
};
/* clang-format on */

const size_t doctor_n_rules = sizeof(doctor_rules) / sizeof(doctor_rules[0]);
