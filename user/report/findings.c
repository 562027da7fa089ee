/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sentences on what took the server's time. They name the wait, not its cause.
 */
#include "report/findings.h"

#include "base/hist.h"
#include "report/cell.h"
#include "report/transfer.h"
#include "run/account.h"
#include "run/requests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct facts {
	const struct view *view;
	const char *server,
	    *helper; /* what the server's processes, and the backend's, are called */
	struct requests requests;
	uint64_t all_ns;              /* of all requests, with an answer or without */
	uint64_t inside_ns;           /* of it, asleep on the backend */
	uint64_t stopped_ns;          /* of serving threads, also between requests */
	uint64_t log_ns, log_calls;   /* in calls on the log, for requests */
	uint64_t n_stalls, sync_ns;   /* sync_ns: blocked in fsync */
	uint64_t longest_ns;          /* of the stalls */
	unsigned int longest_account; /* whose that was */
	enum account_column stalled;  /* what commands with stalls waited for most */
	const struct request *hung;   /* those without an answer, the most of their time; or NULL */
};

static uint64_t stalls_of(const struct ledger_account *a)
{
	uint64_t n = 0;

	for (size_t i = 0; i < AFS_REQUEST_BUCKETS; i++)
		if (hist_low(i, AFS_REQUEST_BITS) >= FINDINGS_STALL_NS)
			n += a->hist[i];
	return n;
}

static void look_stalls(struct facts *f)
{
	uint64_t waits[ACCOUNT_N_COLUMNS] = { 0 };

	f->stalled = ACCOUNT_RUNQ;
	for (size_t i = 0; i < f->requests.n; i++) {
		const struct request *r = &f->requests.request[i];

		if (r->a.max_ns < FINDINGS_STALL_NS)
			continue;
		f->n_stalls += stalls_of(&r->a);
		for (size_t k = ACCOUNT_RUNQ; k < ACCOUNT_N_COLUMNS; k++)
			waits[k] += r->time_ns[k];
		if (r->a.max_ns > f->longest_ns) {
			f->longest_ns = r->a.max_ns;
			f->longest_account = r->number;
		}
	}
	for (size_t k = ACCOUNT_RUNQ; k < ACCOUNT_N_COLUMNS; k++)
		if (waits[k] > waits[f->stalled])
			f->stalled = k;
}

static void look_hung(struct facts *f)
{
	for (size_t i = 0; i < f->requests.n; i++) {
		const struct request *r = &f->requests.request[i];

		if (r->pending_ns >= FINDINGS_STALL_NS &&
		    (!f->hung || r->pending_ns > f->hung->pending_ns))
			f->hung = r;
	}
}

static void findings_look(struct facts *f)
{
	const struct ledger *l = &f->view->all;

	f->all_ns = f->requests.all.service_ns;
	for (size_t i = 0; i < AFS_N_INSIDE; i++)
		f->inside_ns += f->requests.all.a.sum.inside[i];
	for (size_t i = 0; i < l->n_parts; i++) {
		const struct ledger_part *p = &l->part[i];

		if (p->role != AFS_ROLE_SERVER || p->account > AFS_ACCOUNT_BETWEEN)
			continue;
		f->stopped_ns += p->part.stopped_ns;
		if (!account_is_request(p->account))
			continue;
		if (p->class == AFS_CLASS_SYNC)
			f->sync_ns += p->part.blocked_ns;
		if (p->object != AFS_OBJECT_LOG)
			continue;
		f->log_ns += p->part.cpu_ns + p->part.blocked_ns;
		f->log_calls += p->part.calls;
	}
	look_stalls(f);
	look_hung(f);
}

/* "58% of all request time (732ms)" */
static void add_share(FILE *to, const struct facts *f, uint64_t ns)
{
	fprintf(to, "%.0f%% of all request time (%s)", requests_percent(ns, f->all_ns),
		cell_time((double)ns).text);
}

/* Causes: what each took, and what is said of it. */

static uint64_t server_stopped(const struct facts *f)
{
	return f->stopped_ns;
}

static void say_server_stopped(FILE *to, const struct facts *f)
{
	uint64_t within_ns = f->requests.all.time_ns[ACCOUNT_STOPPED];

	fprintf(to, "%s was stopped for %s in all, by a signal, a debugger or a freezer", f->server,
		cell_time((double)f->stopped_ns).text);
	if (!within_ns) {
		fputs(", all of it between requests", to);
		return;
	}
	fputs("; within requests that was ", to);
	add_share(to, f, within_ns);
}

static uint64_t cnid_stopped(const struct facts *f)
{
	return f->requests.all.a.sum.inside[AFS_INSIDE_STOPPED];
}

static void say_cnid_stopped(FILE *to, const struct facts *f)
{
	fprintf(to,
		"%s was stopped (by a signal, a debugger or a freezer) while %s waited for "
		"it: ",
		f->helper, f->server);
	add_share(to, f, cnid_stopped(f));
}

static uint64_t cnid_waits(const struct facts *f)
{
	return f->requests.all.time_ns[ACCOUNT_CNID];
}

/* What the backend did meanwhile: the one or two ways that most of its time went. */
static void add_inside(FILE *to, const struct facts *f)
{
	static const char *const words[AFS_N_INSIDE] = {
		[AFS_INSIDE_CPU] = "on a CPU",
		[AFS_INSIDE_RUNQ] = "waiting for a CPU",
		[AFS_INSIDE_SYNC] = "in fsync",
		[AFS_INSIDE_LOCK] = "waiting for a lock",
		[AFS_INSIDE_IO] = "in other I/O",
		[AFS_INSIDE_IDLE] = "idle (the request or its answer was on its way)",
		[AFS_INSIDE_STOPPED] = "stopped",
		[AFS_INSIDE_UNKNOWN] = "not seen",
	};
	const __u64 *inside = f->requests.all.a.sum.inside;
	size_t first = 0, second;

	for (size_t i = 1; i < AFS_N_INSIDE; i++)
		if (inside[i] > inside[first])
			first = i;
	second = !first;
	for (size_t i = 0; i < AFS_N_INSIDE; i++)
		if (i != first && inside[i] > inside[second])
			second = i;
	fprintf(to, "; in that wait %s was %s for %.0f%%", f->helper, words[first],
		requests_percent(inside[first], f->inside_ns));
	if (requests_percent(inside[second], f->inside_ns) >= 1)
		fprintf(to, ", %s for %.0f%%", words[second],
			requests_percent(inside[second], f->inside_ns));
}

/* What is asked: a server, or a database that is open here. */
static const char *findings_backend(const struct facts *f)
{
	return run_word(f->view->run, f->inside_ns ? RUN_WORD_BACKEND : RUN_WORD_DATABASE);
}

static void say_cnid_waits(FILE *to, const struct facts *f)
{
	fprintf(to, "%s waited for its %s: ", f->server, findings_backend(f));
	add_share(to, f, cnid_waits(f));
	if (f->inside_ns)
		add_inside(to, f);
}

static uint64_t runq(const struct facts *f)
{
	return f->requests.all.time_ns[ACCOUNT_RUNQ];
}

static void say_runq(FILE *to, const struct facts *f)
{
	fprintf(to, "%s waited for a CPU: ", f->server);
	add_share(to, f, runq(f));
	fputs("; its other sessions, the client or other programs had the CPUs, or a CPU limit "
	      "of its cgroup held it back",
	      to);
}

static uint64_t cnid_runq(const struct facts *f)
{
	return f->requests.all.a.sum.inside[AFS_INSIDE_RUNQ];
}

static void say_cnid_runq(FILE *to, const struct facts *f)
{
	fprintf(to, "%s waited for a CPU while %s waited for it: ", f->helper, f->server);
	add_share(to, f, cnid_runq(f));
}

static uint64_t logging(const struct facts *f)
{
	return f->log_ns;
}

static void say_logging(FILE *to, const struct facts *f)
{
	fputs("writing the log took ", to);
	add_share(to, f, f->log_ns);
	fprintf(to, ", %.1f calls a request; %s says what is written",
		(double)f->log_calls / (double)requests_n(&f->requests.all),
		run_word(f->view->run, RUN_WORD_LOG));
}

static uint64_t disk(const struct facts *f)
{
	return f->requests.all.time_ns[ACCOUNT_DISK];
}

static void say_disk(FILE *to, const struct facts *f)
{
	fprintf(to, "%s waited for files and directories: ", f->server);
	add_share(to, f, disk(f));
	if (f->sync_ns)
		fprintf(to, ", fsync alone %.0f%%", requests_percent(f->sync_ns, f->all_ns));
}

static uint64_t locks(const struct facts *f)
{
	return f->requests.all.time_ns[ACCOUNT_LOCK];
}

static void say_locks(FILE *to, const struct facts *f)
{
	fprintf(to, "%s waited for file locks of other processes: ", f->server);
	add_share(to, f, locks(f));
}

static uint64_t network(const struct facts *f)
{
	return f->requests.all.time_ns[ACCOUNT_NET];
}

static void say_network(FILE *to, const struct facts *f)
{
	fprintf(to,
		"%s waited for clients to send their data or to take their replies: ", f->server);
	add_share(to, f, network(f));
}

struct cause {
	const char *key;
	double least; /* per cent of all request time, from which on it is said */
	bool first;   /* explains others: stands before them */
	uint64_t (*ns)(const struct facts *f);
	void (*say)(FILE *to, const struct facts *f);
};

static const struct cause causes[] = {
	{ "afpd-stopped", 2, true, server_stopped, say_server_stopped },
	{ "cnid-stopped", 2, true, cnid_stopped, say_cnid_stopped },
	{ "log", 5, false, logging, say_logging },
	{ "lock", 10, false, locks, say_locks },
	{ "cnid-run-queue", 20, false, cnid_runq, say_cnid_runq },
	{ "run-queue", 25, false, runq, say_runq },
	{ "disk", 30, false, disk, say_disk },
	{ "network", 30, false, network, say_network },
	{ "cnid", 40, false, cnid_waits, say_cnid_waits },
};

#define N_CAUSES (sizeof(causes) / sizeof(causes[0]))

static int findings_note(struct run_notes *out, const struct facts *f, const char *key,
			 void (*say)(FILE *to, const struct facts *f))
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	int e;

	if (!to)
		return -ENOMEM;
	say(to, f);
	e = fclose(to) ? -ENOMEM : run_note(out, key, "%s", text);
	free(text);
	return e;
}

/* What was waited for. */
static void wait_text(FILE *to, const struct facts *f, enum account_column c)
{
	static const char *const waits[ACCOUNT_N_COLUMNS] = {
		[ACCOUNT_RUNQ] = "for a CPU",
		[ACCOUNT_DISK] = "for files and directories",
		[ACCOUNT_LOCK] = "for file locks",
		[ACCOUNT_LOG] = "for the log",
		[ACCOUNT_NET] = "for the client",
		[ACCOUNT_OTHER] = "in sleeps and for other processes",
	};

	if (c == ACCOUNT_CNID)
		fprintf(to, "for the %s", findings_backend(f));
	else if (c == ACCOUNT_STOPPED)
		fprintf(to, "because %s was stopped", f->server);
	else
		fputs(waits[c], to);
}

static void say_hung(FILE *to, const struct facts *f)
{
	const struct request *all = &f->requests.all;
	enum account_column most = ACCOUNT_RUNQ;
	char name[ACCOUNT_NAME_MAX];

	for (size_t i = ACCOUNT_RUNQ; i < ACCOUNT_N_COLUMNS; i++)
		if (f->hung->time_ns[i] > f->hung->time_ns[most])
			most = i;
	fprintf(to,
		"%s request%s had no answer when the watch ended: ", cell_count(all->pending).text,
		all->pending == 1 ? "" : "s");
	add_share(to, f, all->pending_ns);
	fprintf(to, "; most of it %s, which waited most ",
		run_account_name(f->view->run, f->hung->number, name));
	wait_text(to, f, most);
}

static void say_stalls(FILE *to, const struct facts *f)
{
	char name[ACCOUNT_NAME_MAX];

	fprintf(to,
		"%s of %s requests took about 100ms or more, the longest %s (%s); these commands "
		"waited most ",
		cell_count(f->n_stalls).text, cell_count(f->requests.all.a.sum.answered).text,
		cell_time((double)f->longest_ns).text,
		run_account_name(f->view->run, f->longest_account, name));
	wait_text(to, f, f->stalled);
}

static bool stands_before(const struct facts *f, const struct cause *a, const struct cause *b)
{
	return a->first != b->first ? a->first : a->ns(f) > b->ns(f);
}

static int note_all(struct run_notes *out, const struct facts *f)
{
	bool said[N_CAUSES] = { false };
	int e = f->hung ? findings_note(out, f, "no-answer", say_hung) : 0;

	if (!e && f->n_stalls)
		e = findings_note(out, f, "stalls", say_stalls);

	for (size_t n = 0; n < N_CAUSES && !e; n++) {
		size_t most = N_CAUSES;

		for (size_t i = 0; i < N_CAUSES; i++)
			if (!said[i] &&
			    requests_percent(causes[i].ns(f), f->all_ns) >= causes[i].least &&
			    (most == N_CAUSES || stands_before(f, &causes[i], &causes[most])))
				most = i;
		if (most == N_CAUSES)
			break;
		said[most] = true;
		e = findings_note(out, f, causes[most].key, causes[most].say);
	}
	return e;
}

int findings_of(struct run_notes *out, const struct view *v)
{
	struct facts f = { .view = v,
			   .server = run_word(v->run, RUN_WORD_SERVER),
			   .helper = view_role_name(v->run, AFS_ROLE_BACKEND) };
	int e;

	if (!v->all.has_requests || !run_is_by_session(v->run) || transfer_run(v->run))
		return 0;
	e = requests_init(&f.requests, &v->all);
	if (e)
		return e;
	findings_look(&f);
	if (f.all_ns)
		e = note_all(out, &f);
	requests_fini(&f.requests);
	return e;
}
