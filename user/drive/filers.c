/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients with small files: their threads and stores, and what they do together. */
#include "drive/filers.h"

#include "app/cmd.h"
#include "base/clock.h"
#include "drive/opener.h"
#include "drive/places.h"
#include "host/pagecache.h"
#include "load/engine.h"
#include "load/load.h"
#include "report/cell.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPENING_MAX 8 /* sessions that are opened at a time: afpd's queue has 20 places */
#define TICK_NS     100000000u
#define NS_PER_S    1000000000u
#define LOOKED      32 /* files of a client, at most */

/* One client. */
struct filer {
	struct filers *all;
	struct smallfile *work;
	struct afp_login login;
	char address[RUN_ADDRESS_LEN]; /* its end of the connection */
};

struct filers {
	struct filers_opts o;
	struct opener opener;
	struct places places;
	struct engine *engine;
	struct filer *filer;
	bool out_of_memory;
	enum smallfile_load load; /* under way */
	struct engine_job job;    /* likewise */
	uint64_t begun_ns, shown_ns;
};

static const char *load_name(unsigned int load)
{
	return smallfile_name((enum smallfile_load)load);
}

static int filers_begin_store(void *user, struct store **out, uint8_t *scratch, struct err *e)
{
	const struct filer *f = user;
	const struct opener_client how = { &f->login, f->all->opener.session->cfg->c.volume, 1 };

	return opener_begin(&f->all->opener, &how, out, scratch, e);
}

static void filers_note_address(void *user, struct store *store)
{
	connect_address(store, ((struct filer *)user)->address);
}

static struct script *filers_make_of(void *user)
{
	return smallfile_make(((struct filer *)user)->work);
}

static struct script *filers_use_of(void *user)
{
	struct filer *f = user;
	struct script *s = smallfile_use(f->work, f->all->load, f->all->o.duration_ns);

	f->all->out_of_memory |= !s;
	return s;
}

/* ---- jobs ---- */

/* "read: 12,345 of 100,000, 5,678/s, 15 s left", or "read (rank 0): ..." */
static void filers_show(const struct filers *f, const struct engine_job *job, uint64_t ns)
{
	uint64_t done = engine_done(f->engine), all = (uint64_t)f->o.clients * f->o.set.files;
	double per_s = ns ? (double)done * 1e9 / (double)ns : 0;
	FILE *out = f->o.session->progress;

	fprintf(out, "\r\033[K%s%s: ", load_name(f->load), f->o.step ? " (rank 0)" : "");
	if (job->duration_ns)
		fprintf(out, "%.0f s of %.0f", (double)ns / NS_PER_S,
			(double)job->duration_ns / NS_PER_S);
	else
		fprintf(out, "%s of %s", cell_count(done).text, cell_count(all).text);
	fprintf(out, ", %s/s", cell_rate(per_s).text);
	if (!job->duration_ns && per_s > 0 && done < all)
		fprintf(out, ", %.0f s left", (double)(all - done) / per_s);
	fflush(out);
}

/* A guest has no terminal. */
static bool shows(const struct filers *f)
{
	return f->o.session->progress && isatty(fileno(f->o.session->progress));
}

static void filers_tick(struct filers *f)
{
	places_keep_alive(&f->places);
	if (f->o.session->watch)
		watch_tick(f->o.session->watch);
}

/* Does a job; *load is the caller's. */
static int filers_do_job(struct filers *f, const struct engine_job *job, struct run_load **load,
			 struct err *e)
{
	int r = engine_start(f->engine, job, e);

	if (r)
		return r;
	while (!engine_wait(f->engine, TICK_NS))
		filers_tick(f);
	return engine_join(f->engine, load, NULL, e);
}

/* Opens the clients' stores, or makes their directories: all or none. */
static int prepare_clients(struct filers *f, const struct engine_job *job, struct err *e)
{
	struct run_load *load = NULL;
	struct run_action all;
	int r = filers_do_job(f, job, &load, e);

	if (r)
		return r;
	run_load_all(load, &all);
	if (cmd_stop)
		r = err_set(e, -EINTR, "interrupted");
	else if (job->what == ENGINE_OPEN && load->n_open < f->o.clients)
		r = err_set(e, -ECONNREFUSED, "%u of %u clients could not open a session: %s",
			    f->o.clients - load->n_open, f->o.clients, load->why);
	else if (load->n_lost)
		r = err_set(e, -ECONNRESET, "%u sessions were lost: %s", load->n_lost, load->why);
	else if (all.failed)
		r = err_set(e, LOAD_REFUSED, "%s", load->first_failure);
	run_load_free(load);
	return r;
}

/* ---- opening ---- */

static int new_clients(struct filers *f, struct err *e)
{
	unsigned int n = f->o.clients;
	const struct engine_opts o = { .n_threads = n, .opening_max = 1, .stop = &cmd_stop };
	unsigned int step = f->o.step ? f->o.step : 1;
	struct engine_client *clients = calloc(n, sizeof(*clients));
	struct filer *one;
	bool there;
	int r;

	f->filer = calloc(n, sizeof(*f->filer));
	there = clients && f->filer;
	for (unsigned int i = 0; there && i < n; i++) {
		one = &f->filer[i];
		*one = (struct filer) { .all = f,
					.work = smallfile_new(&f->o.set, f->o.first + i * step),
					.login = opener_login(&f->opener, NULL) };
		clients[i] = (struct engine_client) { filers_begin_store, one,
						      filers_note_address };
		there = one->work;
	}
	r = there ? engine_new(&f->engine, &o, clients, n, e)
		  : err_set(e, -ENOMEM, "out of memory");
	free(clients);
	return r;
}

/* A part of the sessions at a time. */
static int open_clients(struct filers *f, struct err *e)
{
	int r = 0;

	for (unsigned int from = 0; !r && from < f->o.clients; from += OPENING_MAX) {
		const struct engine_job job = { .what = ENGINE_OPEN,
						.from = from,
						.to = from + OPENING_MAX };
		struct run_load *load = NULL;

		r = filers_do_job(f, &job, &load, e);
		run_load_free(load);
	}
	return r ? r : prepare_clients(f, &(const struct engine_job) { .what = ENGINE_OPEN }, e);
}

/* ---- what they do ---- */

static void filers_set_metrics(struct run_phase *p)
{
	const struct run_load *load = p->load;
	struct run_action all;
	uint64_t bytes = 0, requests = 0;

	run_load_all(load, &all);
	for (unsigned int i = 0; i < load->n_clients; i++)
		bytes += load->client[i].bytes;
	for (size_t i = 0; i < p->n_commands; i++)
		requests += p->command[i]->latency.n;
	run_set(p, METRIC_ELAPSED, load->done_ns ? load->done_ns - load->begin_ns : 0);
	run_set(p, METRIC_OPS, requests);
	run_set(p, METRIC_ERRORS, all.failed);
	run_set(p, METRIC_BYTES, bytes);
	run_set(p, METRIC_CLIENT_CPU, load->cpu_ns);
}

int filers_open(struct filers **out, const struct filers_opts *o, struct err *e)
{
	const struct session_cfg *cfg = o->session->cfg;
	struct filers *f = calloc(1, sizeof(*f));
	int r;

	*out = f;
	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	f->o = *o;
	places_init(&f->places, cfg->local ? "" : cfg->c.volume, o->session->store);
	f->places.n = !o->guest;
	cmd_allow_files();
	r = opener_init(&f->opener, o->session, e);
	r = r ? r : new_clients(f, e);
	r = r ? r : open_clients(f, e);
	opener_forget(&f->opener);
	return r;
}

int filers_make(struct filers *f, const char *base, struct err *e)
{
	const struct engine_job job = { .what = ENGINE_WORK,
					.script = filers_make_of,
					.n_actions = 1,
					.action_name = load_name };

	f->o.set.base = base;
	return prepare_clients(f, &job, e);
}

int filers_start(struct filers *f, enum smallfile_load load, uint64_t begin_ns, struct err *e)
{
	bool repeats = smallfile_flags(load) & SMALLFILE_REPEATS;

	f->job = (struct engine_job) { .what = ENGINE_WORK,
				       .begin_ns = begin_ns,
				       .script = filers_use_of,
				       .n_actions = N_SMALLFILE_LOADS,
				       .action_name = load_name,
				       .duration_ns = repeats ? f->o.duration_ns : 0,
				       .pause_ns = f->o.pause_ns,
				       .keeps_progress = f->o.step != 0 };
	f->load = load;
	f->begun_ns = f->shown_ns = begin_ns ? begin_ns : clock_now_ns();
	return engine_start(f->engine, &f->job, e);
}

bool filers_wait(struct filers *f, uint64_t ns)
{
	uint64_t now_ns;

	if (engine_wait(f->engine, ns)) {
		if (shows(f))
			fputs("\r\033[K", f->o.session->progress);
		return true;
	}
	filers_tick(f);
	now_ns = clock_now_ns();
	if (shows(f) && now_ns > f->shown_ns && now_ns - f->shown_ns >= NS_PER_S) {
		f->shown_ns = now_ns;
		filers_show(f, &f->job, now_ns - f->begun_ns);
	}
	return false;
}

int filers_join(struct filers *f, struct run_phase *p, struct err *e)
{
	int r = engine_join(f->engine, &p->load, p, e);

	if (r)
		return r;
	for (unsigned int i = 0; i < f->o.clients; i++)
		memcpy(p->load->client[i].address, f->filer[i].address, RUN_ADDRESS_LEN);
	p->load->given = true;
	if (f->out_of_memory)
		return err_set(e, -ENOMEM, "out of memory: the files have too many records");
	return 0;
}

int filers_judge(struct run_phase *p, struct err *e)
{
	filers_set_metrics(p);
	if (cmd_stop)
		return err_set(e, -EINTR, "interrupted");
	if (p->load->n_lost == p->load->n_clients)
		return err_set(e, -ECONNRESET, "all sessions were lost: %s", p->load->why);
	p->complete = true;
	return 0;
}

int filers_do(struct filers *f, enum smallfile_load load, struct run_phase *p, struct err *e)
{
	int r;

	p->start_ns = clock_now_ns();
	r = filers_start(f, load, 0, e);
	if (r)
		return r;
	while (!filers_wait(f, TICK_NS))
		;
	r = filers_join(f, p, e);
	return r ? r : filers_judge(p, e);
}

void filers_look(struct filers *f, struct run_phase *p)
{
	unsigned int files = f->o.set.files, n = files < LOOKED ? files : LOOKED;
	uint64_t looked = 0, cached = 0;
	char path[PATH_MAX];
	int at;

	for (unsigned int i = 0; f->o.cached && i < f->o.clients; i++) {
		for (unsigned int k = 0; k < n; k++) {
			at = snprintf(path, sizeof(path), "%s/", f->o.cached);
			if (at < PATH_MAX)
				smallfile_path(f->filer[i].work,
					       (unsigned int)((uint64_t)k * files / n), path + at,
					       sizeof(path) - (size_t)at);
			pagecache_look(path, &looked, &cached);
		}
	}
	if (!looked)
		return;
	run_set(p, METRIC_CACHE_LOOKED, looked);
	run_set(p, METRIC_CACHED, cached);
}

const struct smallfile_counts *filers_counts(const struct filers *f, unsigned int client)
{
	return smallfile_counts(f->filer[client].work);
}

uint64_t filers_skew_ns(const struct run_load *load)
{
	uint64_t first_ns = UINT64_MAX, last_ns = 0, ns;

	for (unsigned int i = 0; i < load->n_clients; i++) {
		ns = load->client[i].first_ns;
		if (ns && ns < first_ns)
			first_ns = ns;
		if (ns > last_ns)
			last_ns = ns;
	}
	return last_ns > first_ns ? last_ns - first_ns : 0;
}

void filers_close(struct filers *f)
{
	const struct engine_job job = { .what = ENGINE_END, .ignores_stop = true };
	struct run_load *load = NULL;

	if (!f)
		return;
	if (f->engine && !filers_do_job(f, &job, &load, NULL))
		run_load_free(load);
	engine_free(f->engine);
	for (unsigned int i = 0; f->filer && i < f->o.clients; i++)
		smallfile_free(f->filer[i].work);
	free(f->filer);
	opener_fini(&f->opener);
	places_close(&f->places);
	free(f);
}
