/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connects watch, session and trace, which know nothing of each other. */
#include "attach/tracing.h"

#include "app/runs.h"
#include "host/net/sockets.h"
#include "kinds/kind.h"
#include "trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const tracing_choices[] = { "off", "all", "requests", NULL };

struct tracing {
	struct trace *trace;
	struct watch *watch;
	struct afp *afp;
	uint16_t port; /* the client's, as the server knows it */
	uint64_t ring_len;
};

int tracing_cpu(void *cfg, const char *arg, struct err *e)
{
	struct tracing_cfg *c = cfg;
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	unsigned long n;
	char *end;

	n = strtoul(arg, &end, 10);
	if (*arg < '0' || *arg > '9' || *end || n_cpus < 1 || n >= (unsigned long)n_cpus)
		return err_set(e, -EINVAL, "'%s': this machine has CPUs 0 to %ld", arg, n_cpus - 1);
	c->pinned = true;
	c->cpu = (unsigned int)n;
	return 0;
}

int tracing_check(const struct tracing_cfg *cfg, struct err *e)
{
	const struct {
		const char *name;
		bool given;
	} options[] = {
		{ "--names", cfg->names },           { "--replayable", cfg->replayable },
		{ "--trace-buffer", cfg->ring_len }, { "--trace-cpu", cfg->pinned },
		{ "--max-size", cfg->max_len },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i].given && !cfg->what)
			return err_set(e, -EINVAL,
				       "%s is about a trace: add --trace, or leave it out",
				       options[i].name);
	return 0;
}

int tracing_check_kind(const struct tracing_cfg *c, const struct run_kind *kind, struct err *e)
{
	char live[ERR_TEXT_MAX];

	if (c->what && !kind->has_live)
		return err_set(e, -EINVAL, "--trace records requests of --kind %s, not of %s",
			       kind_live_names(live), kind->name);
	if (c->replayable && !kind->by_session)
		return err_set(e, -EINVAL,
			       "--replayable records what requests of --kind afp asked for, not of "
			       "%s",
			       kind->name);
	return 0;
}

int tracing_open(struct tracing **out, const struct tracing_cfg *cfg,
		 const struct runs_folder *folder, struct run *r, struct err *e)
{
	const struct trace_opts opts = { .only_requests = cfg->what == TRACING_REQUESTS,
					 .names = cfg->names,
					 .replayable = cfg->replayable,
					 .max_len = cfg->max_len,
					 .pinned = cfg->pinned,
					 .cpu = cfg->cpu,
					 .kind = r->kind,
					 .run = r->id,
					 .command = r->command };
	struct tracing *t;
	char *path;
	int err;

	*out = NULL;
	if (!cfg->what)
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(e, -ENOMEM, "out of memory");
	t->ring_len = cfg->ring_len;
	path = runs_path(folder->path, "trace");
	err = path ? trace_open(&t->trace, folder->dir, path, &opts, e)
		   : err_set(e, -ENOMEM, "out of memory");
	free(path);
	if (!err && (run_note(&r->options, "trace", "%s", tracing_choices[cfg->what]) ||
		     (cfg->replayable && run_note(&r->options, "replayable", "yes"))))
		err = err_set(e, -ENOMEM, "out of memory");
	if (err)
		tracing_close(t);
	else
		*out = t;
	return err;
}

void tracing_sink(struct tracing *t, struct watch_sink *out)
{
	if (!t)
		return;
	*out = (struct watch_sink) {
		.what = trace_wants(t->trace),
		.ring_len = t->ring_len,
		.user = t->trace,
		.put = trace_put,
	};
}

static int pull(void *user, int timeout_ms)
{
	return watch_pull(user, timeout_ms);
}

static uint64_t pull_lost(const void *user, unsigned int stream)
{
	return watch_pull_lost(user, stream);
}

/* An answer came to the client. */
static void seen(void *user, const struct afp_op *op)
{
	const struct dsi_request *d = &op->dsi;
	const struct dsi_times *at = &d->t;
	struct tracing *t = user;
	const struct afs_record_client record = {
		.timestamp = at->last_ns,
		.t = at->begun_ns,
		.port = t->port,
		.dsi_id = d->id,
		.command = op->code,
		.result = d->result,
		.sent_ns = at->sent_ns - at->begun_ns,
		.first_ns = at->first_ns - at->begun_ns,
		.last_ns = at->last_ns - at->begun_ns,
		.len = d->data_len + d->reply_len,
	};

	trace_client(t->trace, &record);
}

/* Of the client's end, as the server knows it. */
static uint16_t client_port(const struct watch *w, const struct afp *a)
{
	struct sockaddr_storage local, peer;
	uint16_t port = w ? watch_client_port(w) : 0;
	struct sockets_addr at = { 0 };

	dsi_ends(a->dsi, &local, &peer);
	return port || !sockets_addr(&at, &local) ? port : at.port;
}

void tracing_start(struct tracing *t, struct watch *w, struct afp *a, struct run *r)
{
	const struct trace_source source = { .user = w, .pull = pull, .lost = pull_lost };
	const char *rung = w ? watch_rung(w) : NULL;
	struct err e = { 0 };

	if (!t)
		return;
	t->watch = w;
	if (!rung || strcmp(rung, "bpf"))
		run_note(&r->warnings, "trace",
			 "no records of the server in the trace: only watching by BPF makes them");
	if (trace_start(t->trace, &source, &e)) {
		run_note(&r->warnings, "trace", "%s", e.text);
		return;
	}
	if (!a)
		return;
	t->afp = a;
	t->port = client_port(w, a);
	a->seen_user = t;
	a->seen = seen;
}

int tracing_finish(struct tracing *t, struct run *r)
{
	if (!t)
		return 0;
	if (t->afp)
		t->afp->seen = NULL;
	t->afp = NULL;
	trace_stop(t->trace);
	return trace_note(t->trace, r);
}

void tracing_close(struct tracing *t)
{
	if (!t)
		return;
	if (t->afp)
		t->afp->seen = NULL;
	trace_close(t->trace);
	free(t);
}
