/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NFS servers in user space: nfs-ganesha. One process, whose threads each read a request, do it and
 * answer; its ports for MOUNT and for locks belong to it.
 */
#include "bpf/programs.h"
#include "host/proc/procfs.h"
#include "kinds/kind.h"
#include "kinds/nfs_settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GANESHA     "ganesha.nfsd"
#define LIBRARY     "/libganesha_nfsd.so"

#define FOLDERS_MAX 64

static const char *nfs_foreign(pid_t pid)
{
	return way_judge(pid, LIBRARY, GANESHA, "no ganesha.nfsd by name or library");
}

/* Those that are exported. 0 or -ENOMEM. */
static int nfs_take_folders(struct kind_found *out)
{
	struct nfs_settings set;

	nfs_settings_read(&set, &out->servers.entry[0]);
	out->folder = calloc(FOLDERS_MAX, sizeof(*out->folder));
	if (out->folder)
		out->n_folders = nfs_settings_folders(&set, out->folder, FOLDERS_MAX);
	nfs_settings_fini(&set);
	return out->folder ? 0 : -ENOMEM;
}

static int nfs_find(struct kind_found *out, const struct kind_wish *w, struct err *e)
{
	int r = kind_find_called(&out->servers, w, GANESHA, "NFS server", nfs_foreign, e);
	const struct servers_entry *s;

	if (r)
		return r;
	s = &out->servers.entry[0];
	target_processes(&out->target, &s->master, 1);
	for (size_t i = 0; i < s->n_ports; i++)
		target_add_port(&out->target, s->port[i], AFS_OBJECT_CLIENT);
	return nfs_take_folders(out) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

/* "4.3" of the library libganesha_nfsd.so.4.3 */
static void nfs_find_version(char out[static 32], pid_t pid)
{
	struct procfs_lines l;
	const char *at;

	procfs_lines(&l, pid, "maps");
	while (!*out && procfs_line(&l)) {
		at = strstr(l.text, LIBRARY ".");
		if (at)
			snprintf(out, 32, "%.*s", (int)strcspn(at + strlen(LIBRARY "."), " \n"),
				 at + strlen(LIBRARY "."));
	}
	procfs_lines_end(&l);
}

static int nfs_describe(const struct kind_found *f, struct run *r)
{
	const struct servers_entry *s = &f->servers.entry[0];
	char version[32] = "";
	int e = kind_note_server(s, r);
	struct nfs_settings set;

	nfs_find_version(version, f->target.server);
	if (version[0])
		e |= run_note(&r->server, "machine", "nfs-ganesha %s", version);
	nfs_settings_read(&set, s);
	e |= nfs_settings_note(&set, r);
	nfs_settings_fini(&set);
	return e ? -ENOMEM : 0;
}

/* Of the requests, how many Kerberos signs or encrypts. */
static int nfs_conclude(struct run *r)
{
	uint64_t all = 0, sealed = 0;

	for (size_t i = 0; i < r->n_phases; i++) {
		const struct ledger *l = &r->phase[i]->ledger;

		for (size_t k = 0; k < l->n_accounts; k++) {
			all += l->account[k].sum.begun;
			if (l->account[k].account == AFS_RPC_SEALED)
				sealed += l->account[k].sum.begun;
		}
	}
	if (!sealed)
		return 0;
	return run_note(&r->warnings, "encrypted",
			"%.3g %% of the requests are signed or encrypted by Kerberos: which they "
			"were, and whether they failed, is not known",
			100 * (double)sealed / (double)all);
}

#define NFS4(op)          (AFS_RPC_COMPOUND + (op))
#define NFS_NOENT         2
#define NFS4_OPEN         18
#define NFS_V3(procedure) (AFS_RPC_NFS + (procedure))

/* Names are looked up before they are made. */
static const struct account_normal nfs_normal[] = {
	{ NFS_V3(3), NFS_NOENT }, /* LOOKUP */
	{ NFS4(AFS_NFS4_LOOKUP), NFS_NOENT },
	{ NFS4(NFS4_OPEN), NFS_NOENT },
};

static void nfs_unnamed(unsigned int number, char buf[ACCOUNT_NAME_MAX])
{
	if (number - AFS_RPC_COMPOUND < AFS_RPC_N_NFS4)
		snprintf(buf, ACCOUNT_NAME_MAX, "v4 operation %u", number - AFS_RPC_COMPOUND);
	else
		snprintf(buf, ACCOUNT_NAME_MAX, "account %u", number);
}

/* Of version 3 as RFC 1813 names them; of version 4 the operation after which a COMPOUND is named.
 */
/* clang-format off */
static const struct account_names nfs_accounts = {
	.unnamed = nfs_unnamed,
	.normal = nfs_normal,
	.n_normal = sizeof(nfs_normal) / sizeof(nfs_normal[0]),
	.name = {
		[AFS_RPC_NFS] = "NULL", "GETATTR", "SETATTR", "LOOKUP", "ACCESS", "READLINK",
		"READ", "WRITE", "CREATE", "MKDIR", "SYMLINK", "MKNOD", "REMOVE", "RMDIR", "RENAME",
		"LINK", "READDIR", "READDIRPLUS", "FSSTAT", "FSINFO", "PATHCONF", "COMMIT",
		[AFS_RPC_MOUNT] = "MOUNT NULL", "MOUNT MNT", "MOUNT DUMP", "MOUNT UMNT",
		"MOUNT UMNTALL", "MOUNT EXPORT", [AFS_RPC_NLM] = "NLM",
		[AFS_RPC_COMPOUND] = "v4 COMPOUND",
		[NFS4(3)] = "v4 ACCESS", "v4 CLOSE", "v4 COMMIT", "v4 CREATE", "v4 DELEGPURGE",
		"v4 DELEGRETURN", "v4 GETATTR", "v4 GETFH", "v4 LINK", "v4 LOCK", "v4 LOCKT",
		"v4 LOCKU", "v4 LOOKUP", "v4 LOOKUPP", "v4 NVERIFY", "v4 OPEN", "v4 OPENATTR",
		"v4 OPEN_CONFIRM", "v4 OPEN_DOWNGRADE",
		[NFS4(25)] = "v4 READ", "v4 READDIR", "v4 READLINK", "v4 REMOVE", "v4 RENAME",
		"v4 RENEW",
		[NFS4(33)] = "v4 SECINFO", "v4 SETATTR", "v4 SETCLIENTID", "v4 SETCLIENTID_CONFIRM",
		"v4 VERIFY", "v4 WRITE", "v4 RELEASE_LOCKOWNER",
		[NFS4(41)] = "v4 BIND_CONN_TO_SESSION", "v4 EXCHANGE_ID", "v4 CREATE_SESSION",
		"v4 DESTROY_SESSION", "v4 FREE_STATEID",
		[NFS4(52)] = "v4 SECINFO_NO_NAME", "v4 SEQUENCE",
		[NFS4(57)] = "v4 DESTROY_CLIENTID", "v4 RECLAIM_COMPLETE", "v4 ALLOCATE", "v4 COPY",
		[NFS4(62)] = "v4 DEALLOCATE",
		[NFS4(68)] = "v4 READ_PLUS", "v4 SEEK", [NFS4(71)] = "v4 CLONE", "v4 GETXATTR",
		"v4 SETXATTR", "v4 LISTXATTRS", "v4 REMOVEXATTR",
		[AFS_RPC_SEALED] = "signed or encrypted", [AFS_RPC_OTHER] = "other programs",
		[AFS_ACCOUNT_BETWEEN] = "between requests",
		[AFS_ACCOUNT_THREADS] = "other threads",
		[AFS_ACCOUNT_NONE] = "first threads", [AFS_ACCOUNT_MORE] = "unassigned",
	},
};
/* clang-format on */

/* Statuses (RFC 1813, 7530, 8881). */
static const struct result_name nfs_results[] = {
	{ 1, "not the owner" },
	{ 2, "no such name" },
	{ 5, "input or output failed" },
	{ 6, "no such device" },
	{ 13, "access denied" },
	{ 17, "name exists" },
	{ 18, "on another file system" },
	{ 20, "not a directory" },
	{ 21, "is a directory" },
	{ 22, "argument invalid" },
	{ 27, "file too large" },
	{ 28, "disk full" },
	{ 30, "read-only" },
	{ 31, "too many links" },
	{ 63, "name too long" },
	{ 66, "directory not empty" },
	{ 69, "quota exceeded" },
	{ 70, "handle stale" },
	{ 10001, "handle invalid" },
	{ 10002, "changed meanwhile" },
	{ 10003, "cookie invalid" },
	{ 10004, "not supported" },
	{ 10005, "buffer too small" },
	{ 10006, "server fault" },
	{ 10007, "type invalid" },
	{ 10008, "try again later" },
	{ 10009, "attributes the same" },
	{ 10010, "lock denied" },
	{ 10011, "lease expired" },
	{ 10012, "locked" },
	{ 10013, "grace period" },
	{ 10015, "share denied" },
	{ 10016, "wrong security" },
	{ 10017, "client id in use" },
	{ 10018, "resources exhausted" },
	{ 10019, "moved" },
	{ 10020, "no file handle" },
	{ 10021, "minor version unknown" },
	{ 10022, "client id stale" },
	{ 10023, "state id stale" },
	{ 10024, "state id old" },
	{ 10025, "state id invalid" },
	{ 10026, "sequence id invalid" },
	{ 10027, "not the same" },
	{ 10029, "is a symbolic link" },
	{ 10032, "attribute not supported" },
	{ 10033, "no grace period" },
	{ 10036, "bad XDR" },
	{ 10037, "locks held" },
	{ 10038, "open mode wrong" },
	{ 10039, "owner invalid" },
	{ 10040, "bad character" },
	{ 10041, "bad name" },
	{ 10044, "operation unknown" },
	{ 10052, "session invalid" },
	{ 10063, "sequence misordered" },
	{ 10071, "operation not in a session" },
};

const struct kind kind_nfs = {
	.is = { .name = "nfs",
		.role = { [AFS_ROLE_SERVER] = "ganesha" },
		.word = { [RUN_WORD_PROTOCOL] = "NFS" },
		.has_requests = true,
		.has_threads = true,
		.has_live = true,
		.has_diagnosis = true,
		.judged = RUN_JUDGED_EXPORTS,
		.accounts = &nfs_accounts,
		.results = nfs_results,
		.n_results = sizeof(nfs_results) / sizeof(nfs_results[0]),
		.result_text = kind_rpc_text,
		.parks = true },
	.decoder = AFS_DECODER_SUNRPC,
	.any_order = true,
	.program = "nfs-ganesha",
	.place = "nfs://",
	.foreign = nfs_foreign,
	.find = nfs_find,
	.describe = nfs_describe,
	.conclude = nfs_conclude,
};
