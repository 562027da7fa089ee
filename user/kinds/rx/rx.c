/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Servers over Rx: those of OpenAFS, rxperf's, and "afpscope rx --serve". They are found by their
 * programs' names, their clients' sockets by the ports that they have.
 */
#include "base/vec.h"
#include "bpf/services.h"
#include "host/cgroup.h"
#include "host/net/udp.h"
#include "host/owner.h"
#include "host/proc/procfs.h"
#include "kinds/kind.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES_MAX 32
#define SOCKETS_MAX   4
#define WORD_LEN      256
/* A packet of usual length in the kernel's memory, and a client's window. */
#define PACKET_LEN 2304
#define WINDOW     32
/* A buffer with less room than for the windows of so many clients is worth a warning. */
#define CLIENTS_LEAST 64

struct rx_daemon {
	pid_t pid;
	bool known;         /* by its program's name */
	const char *option; /* for its receive buffer; NULL: it has none */
	char name[sizeof(((struct procstat *)0)->comm)];
	size_t n;
	struct udp_socket socket[SOCKETS_MAX];
};

/* Those that are asked for. */
struct rx_daemons {
	const char *exe;   /* only of this name; NULL: of any */
	unsigned int port; /* only with this one; 0: with any */
	bool all;          /* whatever its name, and whose ever it is */
	size_t n;
	struct rx_daemon daemon[PROCESSES_MAX];
	pid_t pid[PROCESSES_MAX]; /* of these */
};

/* The names of the programs, and their options for the receive buffer. */
static const struct {
	const char *name, *option;
} programs[] = {
	{ "fileserver", "-udpsize BYTES" },
	{ "dafileserver", "-udpsize BYTES" },
	{ "volserver", "-udpsize BYTES" },
	{ "davolserver", "-udpsize BYTES" },
	{ "vlserver", NULL },
	{ "ptserver", NULL },
	{ "buserver", NULL },
	{ "bosserver", NULL },
	{ "rxperf", "-u KIB" },
	{ "afpscope", "--buffer BYTES" },
};

/* Which program it is. false: there is no such process. */
static bool look_at_program(struct rx_daemon *d, pid_t pid)
{
	struct procstat st;

	*d = (struct rx_daemon) { .pid = pid };
	if (procstat_read(&st, pid) || !procstat_lives(&st))
		return false;
	snprintf(d->name, sizeof(d->name), "%s", st.comm);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]) && !d->known; i++) {
		if (strcmp(d->name, programs[i].name) != 0)
			continue;
		d->known = strcmp(d->name, "afpscope") != 0 || procfs_has_word(pid, "--serve");
		d->option = programs[i].option;
	}
	return true;
}

static int rx_add_socket(void *arg, const struct udp_socket *s)
{
	struct rx_daemon *d = arg;

	if (s->port && d->n < SOCKETS_MAX)
		d->socket[d->n++] = *s;
	return 0;
}

static int rx_is_port(void *arg, const struct udp_socket *s)
{
	return s->port == *(const unsigned int *)arg;
}

static bool is_asked_for(const struct rx_daemons *m, const struct rx_daemon *d)
{
	if (!m->all && (!d->known || !owner_counts(owner_of(d->pid))))
		return false;
	if (m->exe && strcmp(d->name, m->exe) != 0)
		return false;
	return !m->port || udp_of(d->pid, rx_is_port, (void *)&m->port) == 1;
}

/* Of no use without a socket of datagrams. */
static int rx_add(void *arg, pid_t pid)
{
	struct rx_daemons *m = arg;
	struct rx_daemon *d = &m->daemon[m->n];

	if (m->n == PROCESSES_MAX || !look_at_program(d, pid) || !is_asked_for(m, d))
		return 0;
	udp_of(pid, rx_add_socket, d);
	m->pid[m->n] = pid;
	m->n += d->n > 0;
	return 0;
}

static int rx_choose_pid(struct rx_daemons *m, pid_t pid, struct err *e)
{
	struct procstat st;

	m->all = true;
	rx_add(m, pid);
	if (m->n)
		return 0;
	if (procstat_read(&st, pid) || !procstat_lives(&st))
		return err_set(e, -ESRCH, "there is no process %d%s", pid, procfs_hides());
	return err_set(e, -ENXIO,
		       "process %d has no UDP socket: it is no server over Rx, or there is no "
		       "right to see its sockets",
		       pid);
}

/* A server may have the port whose sockets cannot be seen; the port itself can. */
static int no_server_at(unsigned int port, struct err *e)
{
	if (udp_each(0, rx_is_port, &port) == 1)
		return err_set(e, -EACCES,
			       "no right to see which process has UDP port %u: run as root "
			       "(afpscope check says more), if it is not the kernel itself",
			       port);
	return err_set(e, -ENXIO, "no server over Rx of this host has UDP port %u%s", port,
		       procfs_hides());
}

/* If none that is known by its name has the port, whatever has it. */
static int rx_choose_port(struct rx_daemons *m, const struct kind_wish *w, struct err *e)
{
	char what[64];

	m->port = w->port;
	procfs_each(rx_add, m);
	m->all = true;
	if (!m->n && !w->known)
		procfs_each(rx_add, m);
	if (!m->n)
		return no_server_at(w->port, e);
	snprintf(what, sizeof(what), "several servers have UDP port %u", w->port);
	return m->n > 1 ? owner_refuse(m->pid, m->n, what, "--pid", e) : 0;
}

static int rx_choose(struct rx_daemons *m, const struct kind_wish *w, struct err *e)
{
	if (w->pid)
		return rx_choose_pid(m, (pid_t)w->pid, e);
	if (w->port)
		return rx_choose_port(m, w, e);
	if (w->unit)
		return cgroup_each_process(w->unit, rx_add, m, e);
	m->exe = w->exe;
	procfs_each(rx_add, m);
	return 0;
}

static int rx_make_target(struct target *out, const struct rx_daemons *m, bool named, struct err *e)
{
	int r = named ? 0 : owner_one(m->pid, m->n, "several servers over Rx run here", e);

	if (r)
		return r;
	if (!m->n)
		return err_set(
		    e, -ENXIO,
		    "no such server over Rx (fileserver, dafileserver, vlserver, ptserver, "
		    "volserver, bosserver, rxperf) runs here: ps -e lists the processes%s",
		    procfs_hides());
	target_processes(out, m->pid, m->n);
	for (size_t i = 0; i < m->n; i++)
		for (size_t k = 0; k < m->daemon[i].n; k++)
			target_add_port(out, m->daemon[i].socket[k].port, AFS_OBJECT_CLIENT);
	return 0;
}

/* The partitions of a file server: the folders of its root whose names begin so. */
#define PARTITION      "vicep"
#define PARTITIONS_MAX 16

static bool has_files(const struct rx_daemons *m)
{
	return VEC_FIND(d, m->daemon, m->n,
			strstr(d->name, "fileserver") || strstr(d->name, "volserver"));
}

static int take_partitions(struct kind_found *out)
{
	struct dirent *entry;
	char root[64];
	DIR *d;

	procfs_inside(root, sizeof(root), out->target.server, "");
	d = opendir(root);
	out->folder = d ? calloc(PARTITIONS_MAX, sizeof(*out->folder)) : NULL;
	while (out->folder && out->n_folders < PARTITIONS_MAX && (entry = readdir(d)))
		if (!strncmp(entry->d_name, PARTITION, strlen(PARTITION)))
			snprintf(out->folder[out->n_folders++], CENSUS_PATH_MAX, "/%.200s",
				 entry->d_name);
	if (d)
		closedir(d);
	return d && !out->folder ? -ENOMEM : 0;
}

static int rx_find_daemons(struct kind_found *out, const struct kind_wish *w, struct err *e)
{
	struct rx_daemons *m = calloc(1, sizeof(*m));
	int r = m ? rx_choose(m, w, e) : err_set(e, -ENOMEM, "out of memory");

	r = r ? r : rx_make_target(&out->target, m, w->pid || w->port || w->unit, e);
	if (!r && has_files(m) && take_partitions(out))
		r = err_set(e, -ENOMEM, "out of memory");
	free(m);
	return r;
}

/* The kernel makes the half of a buffer's memory the size that was asked for. */
static int warn_of_buffer(struct run *r, const struct rx_daemon *d, const struct udp_socket *s,
			  uint64_t memory)
{
	uint64_t most = udp_buffer_max(), asked = 0;
	char word[WORD_LEN];

	if (!procfs_argument(word, sizeof(word), d->pid, "-udpsize"))
		asked = strtoull(word, NULL, 10);
	if (asked > memory / 2)
		return run_note(&r->warnings, "socket-buffer",
				"%s (process %d) asked for a receive buffer of %" PRIu64
				" bytes for UDP port %u and got %" PRIu64
				": net.core.rmem_max is %" PRIu64
				"; raise it with sysctl and start the server again",
				d->name, d->pid, asked, s->port, memory / 2, most);
	if (memory >= (uint64_t)CLIENTS_LEAST * WINDOW * PACKET_LEN)
		return 0;
	return run_note(&r->warnings, "socket-buffer",
			"the receive buffer of %s (process %d, UDP port %u) is %" PRIu64
			" bytes, room for some %" PRIu64
			" packets: it overflows when several clients write at once%s%s; "
			"net.core.rmem_max, the most that it gets, is %" PRIu64,
			d->name, d->pid, s->port, memory / 2, memory / PACKET_LEN,
			d->option ? "; raise it with " : "", d->option ? d->option : "", most);
}

static int describe_socket(struct run *r, const struct rx_daemon *d, const struct udp_socket *s)
{
	char key[32], text[64] = "n/a";
	uint64_t memory;
	bool known = !udp_buffer(&memory, d->pid, s->fd);
	int e;

	if (known)
		snprintf(text, sizeof(text), "%" PRIu64 " bytes", memory / 2);
	snprintf(key, sizeof(key), "port %u", s->port);
	e = run_note(&r->server, key, "%s (process %d), receive buffer %s", d->name, d->pid, text);
	return !e && known ? warn_of_buffer(r, d, s, memory) : e;
}

static int rx_describe(const struct kind_found *f, struct run *r)
{
	const struct target *t = &f->target;
	const struct target_process *p;
	struct rx_daemon d;
	int e = 0;

	for (size_t at = 0; (p = target_next(t, AFS_ROLE_SERVER, &at));) {
		if (look_at_program(&d, p->pid))
			udp_of(d.pid, rx_add_socket, &d);
		for (size_t k = 0; k < d.n && !e; k++)
			e = describe_socket(r, &d, &d.socket[k]);
	}
	if (!e && t->n > 1)
		return run_note(&r->server, "name", "%zu servers over Rx", t->n);
	return e ? e : run_note(&r->server, "name", "%s", d.name);
}

/*
 * Operations of services by account (bpf/services.h). They have the names that the file server's
 * own statistics have, else those that Wireshark shows.
 */

/* clang-format off */

/* Operations that are seldom asked for, or were followed by others: they have no histogram. */
static const char *const seldom[AFS_RX_SECURED] = {
	[AFS_RX_VL] = "VL CreateEntry", "VL DeleteEntry", "VL GetEntryById",
	"VL GetEntryByName", [AFS_RX_VL + 5] = "VL ReplaceEntry", "VL UpdateEntry",
	[AFS_RX_VL + 9] = "VL ListEntry", "VL ListAttributes", "VL LinkedList",
	[AFS_RX_VL + 23] = "VL UpdateEntryByName", [AFS_RX_PT + 1] = "PT WhereIsIt",
	"PT DumpEntry", [AFS_RX_PT + 30] = "PT ListSupergroups",
	[AFS_RX_FS + 13] = "OldSetLock", "OldExtendLock", "OldReleaseLock",
	[AFS_RX_FS + 31] = "DfsLookup", "DfsFlushcps", "DfsSymlink",
	[AFS_RX_BOS] = "BOS CreateBnode", "BOS DeleteBnode", "BOS SetStatus",
	"BOS GetStatus", "BOS EnumerateInstance", "BOS GetInstanceInfo",
	"BOS GetInstanceParm", "BOS AddSuperuser", "BOS DeleteSuperuser",
	"BOS ListSuperusers", "BOS ListKeys", "BOS AddKey", "BOS DeleteKey",
	"BOS SetCellName", "BOS GetCellName", "BOS GetCellHost", "BOS AddCellHost",
	"BOS DeleteCellHost", "BOS SetTStatus", "BOS ShutdownAll", "BOS RestartAll",
	"BOS StartupAll", "BOS SetNoauthFlag", "BOS ReBozo", "BOS Restart",
	"BOS Install", "BOS Uninstall", "BOS GetDates", "BOS Exec", "BOS Prune",
	"BOS SetRestartTime", "BOS GetRestartTime", "BOS GetLog", "BOS WaitAll",
	"BOS GetInstanceStrings", "BOS GetRestricted", "BOS SetRestricted",
	[AFS_RX_VOL] = "VOL CreateVolume", "VOL DeleteVolume", "VOL Restore",
	"VOL Forward", "VOL EndTrans", "VOL Clone", "VOL SetFlags", "VOL GetFlags",
	"VOL TransCreate", "VOL Dump", "VOL GetNthVolume", "VOL SetForwarding",
	"VOL GetName", "VOL GetStatus", "VOL SigRestore", "VOL ListPartitions",
	"VOL ListVolumes", "VOL SetIdTypes", "VOL Monitor", "VOL PartitionInfo",
	"VOL Reclone", "VOL ListOneVolume", "VOL Nuke", "VOL SetDate",
	"VOL XListVolumes", "VOL XListOneVolume", "VOL SetInfo", "VOL XListPartitions",
	"VOL ForwardMultiple", [AFS_RX_VOL_LATER] = "VOL ConvertRo", "VOL GetSize",
	"VOL DumpV2", "VOL PartitionInfo64", [AFS_RX_VOTE] = "VOTE Beacon",
	"VOTE DebugOld", "VOTE SDebugOld", "VOTE GetSyncSite", "VOTE Debug",
	"VOTE SDebug", "VOTE XDebug", "VOTE XSDebug", [AFS_RX_DISK] = "DISK Begin",
	"DISK Commit", "DISK Lock", "DISK Write", "DISK GetVersion", "DISK GetFile",
	"DISK SendFile", "DISK Abort", "DISK ReleaseLocks", "DISK Truncate",
	"DISK Probe", "DISK WriteV", "DISK InterfaceAddr", "DISK SetVersion",
};

static void rx_unnamed(unsigned int number, char buf[ACCOUNT_NAME_MAX])
{
	static const struct {
		const char *name;
		unsigned int first, n, at;
	} services[] = {
#define X(NAME, service, first, n, at) { #NAME, first, n, at },
		AFS_RX_SERVICES(X)
#undef X
	};

	snprintf(buf, ACCOUNT_NAME_MAX, "account %u", number);
	if (number < AFS_RX_SECURED && seldom[number]) {
		snprintf(buf, ACCOUNT_NAME_MAX, "%s", seldom[number]);
		return;
	}
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
		if (number - services[i].at < services[i].n)
			snprintf(buf, ACCOUNT_NAME_MAX, "%.*s operation %u",
				 (int)strcspn(services[i].name, "_"), services[i].name,
				 services[i].first + number - services[i].at);
}

static const struct account_names rx_accounts = {
	.unnamed = rx_unnamed,
	.name = {
		[AFS_RX_FS] = "FetchData", "FetchACL", "FetchStatus", "StoreData", "StoreACL",
		"StoreStatus", "RemoveFile", "CreateFile", "Rename", "Symlink", "Link",
		"MakeDir", "RemoveDir", [AFS_RX_FS + 16] = "GetStatistics", "GiveUpCallbacks",
		"GetVolumeInfo", "GetVolumeStatus", "SetVolumeStatus", "GetRootVolume",
		"CheckToken", "GetTime", "NGetVolumeInfo", "BulkStatus", "SetLock", "ExtendLock",
		"ReleaseLock", "XStatsVersion", "GetXStats",
		[AFS_RX_FS_LATER] = "InlineBulkStatus", "FetchData64", "StoreData64",
		"GiveUpAllCallbacks", "GetCapabilities", "CallBackRxConnAddr", "GetStatistics64",
		[AFS_RX_VL + 4] = "VL GetNewVolumeId", [AFS_RX_VL + 7] = "VL SetLock",
		"VL ReleaseLock", [AFS_RX_VL + 12] = "VL GetStats", "VL Probe", "VL GetAddrs",
		"VL ChangeAddr", "VL CreateEntryN", "VL GetEntryByIdN", "VL GetEntryByNameN",
		"VL ReplaceEntryN", "VL ListEntryN", "VL ListAttribN", "VL LinkedListN",
		[AFS_RX_VL + 24] = "VL CreateEntryU", "VL GetEntryByIdU", "VL GetEntryByNameU",
		"VL ReplaceEntryU", "VL ListEntryU", "VL ListAttribU", "VL LinkedListU",
		"VL RegAddr", "VL GetAddrsU", "VL ListAttribN2", [AFS_RX_PT] = "PT NewUser",
		[AFS_RX_PT + 3] = "PT AddToGroup", "PT NameToId", "PT IdToName", "PT Delete",
		"PT RemoveFromGroup", "PT GetCPS", "PT NewEntry", "PT ListMax", "PT SetMax",
		"PT ListEntry", "PT ChangeEntry", "PT ListElements", "PT IsMemberOf",
		"PT SetFieldsEntry", "PT ListOwned", "PT GetCPS2", "PT GetHostCPS",
		"PT UpdateEntry", "PT ListEntries", [AFS_RX_RXPERF] = "SEND", "RECV",
		[AFS_RX_RXPERF + 3] = "RPC", "FILE",
		[AFS_RX_SECURED] = "encrypted or signed calls", [AFS_RX_OTHER] = "other operations",
		[AFS_ACCOUNT_BETWEEN] = "between calls",
		[AFS_ACCOUNT_THREADS] = "all threads but the first",
		[AFS_ACCOUNT_NONE] = "first threads", [AFS_ACCOUNT_MORE] = "unassigned",
	},
};
/* clang-format on */

/* What a call's code means. */
static const struct result_name rx_results[] = {
	{ -1, "the other end does not answer" },
	{ -2, "no such service" },
	{ -3, "timed out" },
	{ -5, "protocol error" },
	{ -6, "given up" },
	{ -100, "the server is starting" },
	{ -453, "arguments cannot be decoded" },
	{ -455, "no such operation" },
	{ 101, "volume needs a salvage" },
	{ 102, "no such file" },
	{ 103, "no such volume" },
	{ 104, "volume exists already" },
	{ 106, "volume is off line" },
	{ 107, "volume is on line already" },
	{ 108, "partition is full" },
	{ 109, "over the quota" },
	{ 110, "volume is busy" },
	{ 111, "volume has moved" },
};

static const char *rx_result_text(int32_t code)
{
	return code > 0 && code <= 100 ? strerrordesc_np(code) : NULL;
}

static const char *rx_foreign(pid_t pid)
{
	char exe[PATH_MAX], *end;
	struct rx_daemon d;

	/* A thread takes any name. */
	procfs_link(exe, sizeof(exe), pid, "exe");
	end = strstr(exe, " (deleted)");
	if (end)
		*end = '\0';
	end = strrchr(exe, '/');
	return look_at_program(&d, pid) && d.known && end && !strcmp(end + 1, d.name)
		   ? way_by_name
		   : "no server of OpenAFS or rxperf by name";
}

const struct kind kind_rx = {
	.is = { .name = "rx",
		.role = { [AFS_ROLE_SERVER] = "server", [AFS_ROLE_BACKEND] = "backend" },
		.has_requests = true,
		.has_threads = true,
		.has_diagnosis = true,
		.judged = RUN_JUDGED_CALLS,
		.accounts = &rx_accounts,
		.results = rx_results,
		.n_results = sizeof(rx_results) / sizeof(rx_results[0]),
		.result_text = rx_result_text },
	.decoder = AFS_DECODER_RX,
	.any_order = true,
	.foreign = rx_foreign,
	.find = rx_find_daemons,
	.describe = rx_describe,
};
