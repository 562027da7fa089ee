/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SMB servers: Samba's smbd. The main process listens and forks a process for each connection, a
 * session; two of its children serve nobody: smbd-notifyd, which all sessions tell what they
 * change, and cleanupd.
 */
#include "bpf/commands.h"
#include "host/proc/procfs.h"
#include "kinds/kind.h"
#include "kinds/smb_settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMBD    "smbd"
#define NOTIFYD "smbd-notifyd"

static bool smb_is_called(pid_t pid, const char *name)
{
	struct procstat st;

	return !procstat_read(&st, pid) && !strcmp(st.comm, name);
}

/*
 * Those that have a connection are sessions. The others are no clients' servers, or their client
 * has just gone.
 */
static void smb_make_target(struct target *out, struct servers_entry *s)
{
	struct servers_entry sessions = *s;
	size_t n = 0;

	sessions.session = calloc(s->n_sessions + 1, sizeof(*sessions.session));
	for (size_t i = 0; i < s->n_sessions && sessions.session; i++)
		if (s->session[i].client.port)
			sessions.session[n++] = s->session[i];
	sessions.n_sessions = n;
	target_server(out, &sessions, 0);
	free(sessions.session);
	for (size_t i = 0; i < s->n_sessions; i++)
		if (!s->session[i].client.port)
			target_add(out, s->session[i].pid,
				   smb_is_called(s->session[i].pid, NOTIFYD) ? AFS_ROLE_BACKEND
									     : AFS_ROLE_OTHER);
}

static const char *smb_foreign(pid_t pid)
{
	return way_judge(pid, "/libsmbd-base", SMBD, "no smbd by name or library");
}

static int smb_find(struct kind_found *out, const struct kind_wish *w, struct err *e)
{
	struct servers *s = &out->servers;
	int r = kind_find_called(s, w, SMBD, "SMB server", smb_foreign, e);
	pid_t master;

	if (r)
		return r;
	master = s->entry[0].master;
	if (s->session && w->whole && master) {
		servers_fini(s);
		r = servers_look(s, master, 0, e);
		if (r)
			return r;
	}
	if (s->session)
		target_server(&out->target, &s->entry[0], s->session);
	else
		smb_make_target(&out->target, &s->entry[0]);
	return 0;
}

static int describe_settings(const struct servers_entry *s, struct run *r)
{
	struct smb_settings set;
	int e;

	smb_settings_read(&set, s);
	e = smb_settings_note(&set, s, r);
	smb_settings_fini(&set);
	return e;
}

static int smb_describe(const struct kind_found *f, struct run *r)
{
	const struct servers_entry *s = &f->servers.entry[0];
	int e = kind_note_server(s, r);

	if (f->servers.session)
		e |= run_note(&r->options, "session", "%d", f->servers.session);
	return e | describe_settings(s, r) ? -ENOMEM : 0;
}

static int note_closed(struct run *r, unsigned int number, double percent)
{
	switch (number) {
	case AFS_SMB2_ENCRYPTED:
		return run_note(&r->warnings, "encrypted",
				"%.3g %% of the clients' bytes are encrypted: which requests they "
				"were is not known",
				percent);
	case AFS_SMB2_COMPRESSED:
		return run_note(&r->warnings, "compressed",
				"%.3g %% of the clients' bytes are compressed: which requests they "
				"were is not known",
				percent);
	default:
		return run_note(&r->warnings, "smb1",
				"%.3g %% of the clients' bytes are of SMB1: which requests they "
				"were is not known",
				percent);
	}
}

/* Of clients' bytes, how many cannot be read, and what they are. */
static int smb_conclude(struct run *r)
{
	uint64_t all = 0, closed[AFS_SMB2_SMB1 - AFS_SMB2_ENCRYPTED + 1] = { 0 }, bytes;
	int e = 0;

	for (size_t i = 0; i < r->n_phases; i++) {
		const struct ledger *l = &r->phase[i]->ledger;

		for (size_t k = 0; k < l->n_accounts; k++) {
			const struct ledger_account *a = &l->account[k];

			bytes = a->sum.bytes_in + a->sum.bytes_out;
			all += bytes;
			if (a->account >= AFS_SMB2_ENCRYPTED && a->account <= AFS_SMB2_SMB1)
				closed[a->account - AFS_SMB2_ENCRYPTED] += bytes;
		}
	}
	for (unsigned int i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
		if (closed[i])
			e |= note_closed(r, AFS_SMB2_ENCRYPTED + i,
					 100 * (double)closed[i] / (double)all);
	return e;
}

/* Lists end, logins go on, names are looked up before they are made, files are read to their end.
 */
static const struct account_normal normal[] = {
	{ AFS_SMB2_SESSION_SETUP, AFS_SMB2_GO_ON },
	{ AFS_SMB2_CREATE, AFS_SMB2_NO_NAME },
	{ AFS_SMB2_READ, AFS_SMB2_END_OF_FILE },
	{ AFS_SMB2_QUERY_DIRECTORY, AFS_SMB2_NO_MORE_FILES },
	{ AFS_SMB2_QUERY_INFO, AFS_SMB2_MORE_DATA },
	{ AFS_SMB2_CHANGE_NOTIFY + AFS_SMB2_WAITED, AFS_SMB2_NOTIFY_ENUM },
};

static void smb_unnamed(unsigned int number, char buf[ACCOUNT_NAME_MAX])
{
	snprintf(buf, ACCOUNT_NAME_MAX, "account %u", number);
}

/* clang-format off */
static const struct account_names smb_accounts = {
	.unnamed = smb_unnamed,
	.normal = normal,
	.n_normal = sizeof(normal) / sizeof(normal[0]),
	.login = AFS_SMB2_SESSION_SETUP,
	.idle = { AFS_SMB2_CHANGE_NOTIFY + AFS_SMB2_WAITED,
		  AFS_SMB2_CHANGE_NOTIFY + AFS_SMB2_CHAIN_WAITED },
	.name = {
#define X(NAME, number) [number] = #NAME, [AFS_SMB2_WAITED + (number)] = #NAME " that waited",     \
		[AFS_SMB2_CHAIN_WAITED + (number)] = "compound, " #NAME " waited",
		AFS_SMB2_COMMANDS(X)
#undef X
#define X(NAME, number) [AFS_SMB2_CREATE_AND + (number)] = "CREATE+" #NAME,
		AFS_SMB2_COMMANDS(X)
#undef X
		[AFS_SMB2_OTHER] = "other commands", [AFS_SMB2_COMPOUND] = "other compounds",
		[AFS_SMB2_ENCRYPTED] = "encrypted frames", [AFS_SMB2_COMPRESSED] = "compressed frames",
		[AFS_SMB2_SMB1] = "SMB1 frames",
		[AFS_ACCOUNT_BETWEEN] = "between requests",
		[AFS_ACCOUNT_THREADS] = "all threads but the first",
		[AFS_ACCOUNT_NONE] = "outside sessions", [AFS_ACCOUNT_MORE] = "unassigned",
	},
};
/* clang-format on */

/* Of MS-ERREF, 2.3.1: those that file servers send. */
static const struct result_name smb_results[] = {
	{ 0x00000103, "pending" },
	{ 0x0000010b, "notify cleanup" },
	{ 0x0000010c, "too many changes to list" },
	{ (int32_t)0x80000005, "more data than asked for" },
	{ (int32_t)0x80000006, "no more files" },
	{ (int32_t)0x80000014, "attributes inconsistent" },
	{ (int32_t)0xc0000003, "information class unknown" },
	{ (int32_t)0xc0000008, "handle unknown" },
	{ (int32_t)0xc000000d, "parameter invalid" },
	{ (int32_t)0xc000000f, "no such file" },
	{ (int32_t)0xc0000010, "device request unknown" },
	{ (int32_t)0xc0000011, "end of file" },
	{ (int32_t)0xc0000016, "login goes on" },
	{ (int32_t)0xc0000022, "access denied" },
	{ (int32_t)0xc0000023, "buffer too small" },
	{ (int32_t)0xc0000033, "name invalid" },
	{ (int32_t)0xc0000034, "no such name" },
	{ (int32_t)0xc0000035, "name exists" },
	{ (int32_t)0xc000003a, "no such path" },
	{ (int32_t)0xc0000043, "sharing violation" },
	{ (int32_t)0xc0000054, "lock conflict" },
	{ (int32_t)0xc0000055, "lock not granted" },
	{ (int32_t)0xc0000056, "delete pending" },
	{ (int32_t)0xc000006d, "login failed" },
	{ (int32_t)0xc000007e, "range not locked" },
	{ (int32_t)0xc000007f, "disk full" },
	{ (int32_t)0xc00000ba, "is a directory" },
	{ (int32_t)0xc00000bb, "not supported" },
	{ (int32_t)0xc00000cc, "no such share" },
	{ (int32_t)0xc0000101, "directory not empty" },
	{ (int32_t)0xc0000103, "not a directory" },
	{ (int32_t)0xc0000120, "cancelled" },
	{ (int32_t)0xc0000203, "session deleted" },
	{ (int32_t)0xc0000225, "not found" },
	{ (int32_t)0xc0000275, "no reparse point" },
};

const struct kind kind_smb = {
	.is = { .name = "smb",
		.role = { [AFS_ROLE_SERVER] = SMBD, [AFS_ROLE_BACKEND] = NOTIFYD },
		.word = { [RUN_WORD_PROTOCOL] = "SMB" },
		.has_requests = true,
		.has_threads = true,
		.has_live = true,
		.has_diagnosis = true,
		.judged = RUN_JUDGED_SHARES,
		.accounts = &smb_accounts,
		.results = smb_results,
		.n_results = sizeof(smb_results) / sizeof(smb_results[0]),
		.has_hex_results = true,
		.parks = true },
	.decoder = AFS_DECODER_SMB2,
	.any_order = true,
	.program = "Samba",
	.place = "smb://",
	.foreign = smb_foreign,
	.find = smb_find,
	.describe = smb_describe,
	.conclude = smb_conclude,
};
