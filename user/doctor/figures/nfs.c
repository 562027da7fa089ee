/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NFS servers (nfs-ganesha): one process, whose threads each read a request, do it and answer. */
#include "doctor/figures/kinds.h"

#include "bpf/programs.h"
#include "doctor/figures/clients.h"
#include "doctor/figures/handed.h"
#include "doctor/figures/measure_priv.h"
#include "doctor/figures/sessions.h"

#define NFS_NOSPC 28
#define NFS_ROFS  30

/* RFC 1813, 7530 */
#define NFS3_READDIR     16
#define NFS3_READDIRPLUS 17
#define NFS4_READDIR     26

/* Also by threads that work for no request: the log is written by all. */
static void nfs_look_log(const struct handed *h)
{
	double n = (double)h->requests.all.a.sum.answered, calls = 0, ns = 0, own = 0;

	for (size_t c = 0; c < ACCOUNT_N_COLUMNS; c++)
		own += c == ACCOUNT_OTHER || c == ACCOUNT_STOPPED || c == ACCOUNT_RUNQ ? 0
										       : h->did[c];
	for (size_t i = 0; i < h->l->n_parts; i++) {
		const struct ledger_part *p = &h->l->part[i];

		if (p->role != AFS_ROLE_SERVER || p->object != AFS_OBJECT_LOG)
			continue;
		ns += (double)(p->part.cpu_ns + p->part.blocked_ns);
		calls += (double)p->part.calls;
	}
	run_figure_share(h->out, RUN_FIGURE_LOG, ns, own);
	run_figure_set(h->out, RUN_FIGURE_LOG_TIME, ns);
	run_figure_share(h->out, RUN_FIGURE_LOG_CALLS, calls, n);
	run_figure_share(h->out, RUN_FIGURE_OWN, own, h->whole_ns);
}

static bool nfs_is_list(unsigned int account)
{
	return account == AFS_RPC_NFS + NFS3_READDIR || account == AFS_RPC_NFS + NFS3_READDIRPLUS ||
	       account == AFS_RPC_COMPOUND + NFS4_READDIR;
}

static void nfs_look_lists(const struct handed *h)
{
	double n = 0, ns = 0;

	for (size_t i = 0; i < h->requests.n; i++) {
		const struct request *r = &h->requests.request[i];

		if (!nfs_is_list(r->number))
			continue;
		n += (double)r->a.sum.answered;
		ns += (double)r->service_ns;
	}
	run_figure_set(h->out, RUN_FIGURE_LIST_REQUESTS, n);
	run_figure_share(h->out, RUN_FIGURE_LIST, ns, h->all_ns);
}

/* A thread does one request. */
static void nfs_look_workers(const struct handed *h)
{
	double n = (double)h->run->limit.workers;

	if (!(n > 0)) {
		run_figure_who(h->out, RUN_FIGURE_WORKERS, "the settings are not known");
		return;
	}
	run_figure_set(h->out, RUN_FIGURE_WORKERS, n);
	run_figure_share(h->out, RUN_FIGURE_WORKERS_BUSY, h->all_ns, h->ns * n);
}

/* The process, and what it has not answered. */
static void nfs_look_process(struct run_figures *out, const struct run *r, double ns)
{
	struct measure m = { .out = out, .run = r, .ns = ns };

	measure_ends(&m);
	/* A request whose reply was lost looks as one without an answer. */
	if (!(out->known[RUN_FIGURE_UNCOUNTED] && out->value[RUN_FIGURE_UNCOUNTED] >= 1))
		measure_service(out, r, NULL);
	doctor_sessions(out, r, ns);
	doctor_actions(out, r);
}

/* Of what Kerberos signs or encrypts neither the kind of request nor its result is seen. */
static void nfs_look_sealed(const struct handed *h)
{
	static const enum run_figure unseen[] = { RUN_FIGURE_DISK_FULL, RUN_FIGURE_DISK_FULL_SHARE,
						  RUN_FIGURE_LOCKED,    RUN_FIGURE_LOCKED_SHARE,
						  RUN_FIGURE_LIST,      RUN_FIGURE_LIST_REQUESTS };
	const struct ledger_account *a = ledger_account(h->l, AFS_RPC_SEALED);

	if (!a || !a->sum.answered)
		return;
	for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++) {
		if (h->out->value[unseen[i]] > 0)
			continue;
		h->out->known[unseen[i]] = false;
		run_figure_who(h->out, unseen[i], "requests are signed or encrypted by Kerberos");
	}
}

int doctor_nfs(struct run_figures *out, const struct run *r, const struct view *v, double ns)
{
	struct handed h;
	int e;

	if (!v->all.has_requests)
		return 0;
	e = handed_init(&h, out, r, v, ns);
	if (e)
		return e;
	handed_requests(&h);
	nfs_look_log(&h);
	nfs_look_lists(&h);
	nfs_look_workers(&h);
	nfs_look_process(out, r, ns);
	/* No request opens a volume: an export whose folder is not there is said all the same. */
	run_figure_set(out, RUN_FIGURE_VOLUMES_SHARE, 0);
	handed_stopped(&h, 0);
	handed_cpu(&h);
	handed_disk(&h);
	handed_share(&h, RUN_FIGURE_NET, h.did[ACCOUNT_NET]);
	handed_refused(&h, NFS_NOSPC, RUN_FIGURE_DISK_FULL, RUN_FIGURE_DISK_FULL_SHARE);
	handed_refused(&h, NFS_ROFS, RUN_FIGURE_LOCKED, RUN_FIGURE_LOCKED_SHARE);
	nfs_look_sealed(&h);
	handed_fini(&h);
	return 0;
}
