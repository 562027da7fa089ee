/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope smallfile: operations on many small files, load after load, each by all clients at the
 * same time. What a client does is in client/work/smallfile/smallfile.c.
 */
#include "main/smallfile.h"

#include "base/clock.h"
#include "drive/gun.h"
#include "work/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NS_PER_S 1000000000u
#define TICK_NS  100000000u

struct smallfile_run {
	struct workload w;
	const struct smallfile_cfg *cfg;
	struct clients *clients;
	struct gun *gun;     /* NULL: there is none */
	struct ranks *ranks; /* NULL: this is the only process */
	struct child between[SMALLFILE_LIST_MAX];
};

static void main_smallfile_note_failures(struct smallfile_run *f, const struct run_phase *p)
{
	struct run_notes *warnings = &f->w.s.run.warnings;
	uint64_t n = (uint64_t)p->value[METRIC_ERRORS];

	if (p->load->n_lost)
		run_note(warnings, "lost", "%s: %u of %u sessions were lost: %s", p->title,
			 p->load->n_lost, p->load->n_clients, p->load->why);
	if (n)
		run_note(warnings, "failed", "%s: %llu operation%s failed, the first: %s", p->title,
			 (unsigned long long)n, n == 1 ? "" : "s", p->load->first_failure);
	f->w.faults.lost |= p->load->n_lost != 0;
	f->w.faults.refused |= n != 0;
}

/* A load of all ranks' clients. */
static int do_load(struct smallfile_run *f, enum smallfile_load load, struct run_phase *p,
		   struct err *e)
{
	uint64_t begin_ns = ranks_start(f->ranks);
	int r;

	p->start_ns = begin_ns ? begin_ns : clock_now_ns();
	r = smallfile_clients_start(f->clients, load, begin_ns, e);
	if (r)
		return r;
	ranks_await_start(f->ranks);
	while (!clients_wait(f->clients, TICK_NS))
		ranks_look(f->ranks);
	r = clients_join(f->clients, p, e);
	r = r ? r : ranks_gather(f->ranks, p, &f->w.s.run.warnings, e);
	return r ? r : smallfile_clients_judge(p, e);
}

static int main_smallfile_measure(struct smallfile_run *f, unsigned int i, struct err *e)
{
	enum smallfile_load load = f->cfg->list.load[i];
	struct run_phase *p = run_phase(&f->w.s.run, i + 1, 1, smallfile_name(load));
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	if (smallfile_flags(load) & SMALLFILE_READS)
		smallfile_clients_look(f->clients, p);
	session_region_begin(&f->w.s, p);
	r = do_load(f, load, p, e);
	session_region_end(&f->w.s, p);
	if (!p->load)
		return r;
	main_smallfile_note_failures(f, p);
	if (f->gun && !i)
		fprintf(f->w.s.progress, "%u clients began within %.6f s\n", f->cfg->clients,
			(double)smallfile_clients_skew_ns(p->load) / NS_PER_S);
	return r;
}

static void keep_alive(void *session)
{
	session_keep_alive(session);
}

static int main_smallfile_await_gun(struct smallfile_run *f, struct err *e)
{
	const struct gun_opts o = { .file = f->cfg->gun,
				    .threads = f->cfg->clients,
				    .timeout_s = f->cfg->gun_timeout_s,
				    .out = f->w.s.progress,
				    .tick = keep_alive,
				    .user = &f->w.s };

	return f->cfg->gun ? gun_wait(&f->gun, &o, e) : 0;
}

/* A stop ends the command as well. */
static int run_between(struct smallfile_run *f, struct child *c, struct err *e)
{
	int r = child_go(c, e);

	while (!r && !cmd_stop && !child_ended(c)) {
		usleep(TICK_NS / 1000);
		session_keep_alive(&f->w.s);
	}
	child_end(c);
	if (r)
		return err_prefix(e, LOAD_REFUSED, "--between");
	if (cmd_stop)
		return err_set(e, -EINTR, "interrupted");
	if (WIFSIGNALED(c->status))
		return err_set(e, LOAD_REFUSED, "--between: '%s' was ended by signal %d",
			       f->cfg->between, WTERMSIG(c->status));
	if (WEXITSTATUS(c->status))
		return err_set(e, LOAD_REFUSED, "--between: '%s' failed (exit code %d)",
			       f->cfg->between, WEXITSTATUS(c->status));
	return 0;
}

/* The directory that stays is made if it is not there. */
static int find_tree(struct smallfile_run *f, struct err *e)
{
	struct store *s = f->w.s.store;
	struct store_op op = {
		.verb = STORE_MKDIR, .dir = s->root[0], .name = f->cfg->tree, .how = STORE_UNUSED
	};
	int r = store_call(s, &op, e);

	if (r || op.result == STORE_OK || op.result == STORE_EXISTS)
		return r;
	return err_set(e, LOAD_REFUSED, "--tree %s: %s: %s", f->cfg->tree, op.what, op.why);
}

static int make_tree(struct smallfile_run *f, struct err *e)
{
	char name[TREE_NAME_MAX + 1];
	const struct smallfile_cfg *cfg = f->cfg;
	const char *base = cfg->tree;
	int r = smallfile_clients_room(&f->w.s, &cfg->o, cfg->clients, cfg->list.load, cfg->list.n,
				       e);

	if (r)
		return r;
	if (base) {
		r = find_tree(f, e);
	} else {
		tree_name(name);
		r = session_make_base(&f->w.s, name, e);
		base = f->w.s.left->base[0];
	}
	if (!r)
		ranks_make(f->ranks);
	r = r ? r : smallfile_clients_make(f->clients, base, e);
	return r ? r : ranks_made(f->ranks, e);
}

static int main_smallfile_do_loads(struct smallfile_run *f, struct err *e)
{
	int r = make_tree(f, e);

	if (r)
		return r;
	load_ready(&f->w.load);
	r = main_smallfile_await_gun(f, e);
	for (unsigned int i = 0; !r && i < f->cfg->list.n; i++) {
		r = i && f->cfg->between ? run_between(f, &f->between[i], e) : 0;
		r = r ? r : main_smallfile_measure(f, i, e);
	}
	return r;
}

/* Where reads may come from this machine's page cache: a directory of it. */
static const char *cached_place(const struct session *s)
{
	return s->cfg->local && s->cfg->buffered && !strcmp(s->store->type->name, "POSIX")
		   ? s->cfg->directory
		   : NULL;
}

/* The sessions of all ranks: all or none. */
static int main_smallfile_open_all(struct smallfile_run *f, struct err *e)
{
	const struct ranks_opts all = smallfile_ranks(f->cfg);
	struct smallfile_clients_opts o = smallfile_clients_of(f->cfg, &f->w.s);
	unsigned int not_open = 0;
	int r = f->cfg->mpi ? ranks_open(&f->ranks, &all, &f->w.s, e) : 0;

	o.cached = cached_place(&f->w.s);
	r = r ? r : smallfile_clients_open(&f->clients, &o, e);
	r = r ? r : ranks_opened(f->ranks, &not_open, e);
	if (!r && not_open)
		r = err_prefix(e, -ECONNREFUSED, "another rank");
	f->w.faults.none_open = r == -ECONNREFUSED;
	return r;
}

static int main_smallfile_work(struct workload *w, struct err *e)
{
	struct smallfile_run *f = (struct smallfile_run *)w;
	struct err gone = { 0 };
	int r = main_smallfile_open_all(f, e);

	r = r ? r : main_smallfile_do_loads(f, e);
	gun_close(f->gun);
	ranks_close(f->ranks);
	for (unsigned int i = 1; f->cfg->between && i < f->cfg->list.n; i++)
		child_end(&f->between[i]);
	if (*w->s.left->base[0] && session_remove_base(&w->s, &gone) && !r)
		r = err_set(e, LOAD_REFUSED, "not all files could be removed: %s", gone.text);
	clients_close(f->clients, NULL);
	return r;
}

static enum outcome main_smallfile_prepare(struct workload *w, struct err *e)
{
	struct smallfile_run *f = (struct smallfile_run *)w;
	size_t align = w->s.store->align;

	f->cfg = (const struct smallfile_cfg *)w->cfg;
	memcpy(f->between, f->cfg->child, sizeof(f->between));
	for (unsigned int i = 0; i < f->cfg->list.n; i++)
		if (smallfile_fits(f->cfg->list.load[i], w->s.store, e))
			return OUTCOME_USAGE;
	if (align < 2 || f->cfg->o.record_len % align == 0)
		return OUTCOME_OK;
	err_set(e, -EINVAL, "--direct: --record must be a multiple of %zu bytes here", align);
	return OUTCOME_USAGE;
}

static int main_smallfile_describe(struct workload *w)
{
	return smallfile_describe((const struct smallfile_cfg *)w->cfg, &w->s.run.options);
}

int cmd_smallfile(int argc, char **argv)
{
	static const struct workload_type type = {
		.name = "smallfile",
		.set = SMALLFILE_SET,
		.job = &smallfile_job,
		.help =
		    "Operations on many small files: create, stat, read, rename, ..., delete. Each\n"
		    "client has a thread, a session and a tree of its own; what is read is compared\n"
		    "with what was written.",
		.window = 1,
		.has_store = true,
		.many = true,
		.parse = smallfile_parse,
		.check = smallfile_check,
		.elsewhere = smallfile_elsewhere,
		.prepare = main_smallfile_prepare,
		.describe = main_smallfile_describe,
		.work = main_smallfile_work,
		.size = sizeof(struct smallfile_run),
	};
	struct smallfile_cfg cfg = SMALLFILE_DEFAULTS;

	return workload_main(&type, &cfg.w, argc, argv);
}
