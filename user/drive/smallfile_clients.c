/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients with small files: what they do together, and how far they are. */
#include "drive/smallfile_clients.h"

#include "app/cmd.h"
#include "base/clock.h"
#include "host/pagecache.h"
#include "load/room.h"
#include "report/cell.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S 1000000000u
#define LOOKED   32 /* files of a client, at most */

struct smallfile_clients {
	struct smallfile_clients_opts o;
	struct clients *all;
	struct places places;
	struct places_client *at;  /* of each client */
	struct smallfile **work;   /* of each client */
	atomic_bool out_of_memory; /* any thread says it */
	enum smallfile_load load;  /* under way */
	uint64_t duration_ns;      /* of it; 0: each file once */
	uint64_t begun_ns;         /* 0: there is none */
	struct ticker live;
	struct ticker_second second; /* the last one */
	char progress[80], phase[48];
};

static const char *smallfile_clients_name(unsigned int load)
{
	return smallfile_name((enum smallfile_load)load);
}

static int smallfile_clients_begin(void *own, unsigned int i, struct store **out, uint8_t *scratch,
				   struct err *e)
{
	const struct smallfile_clients *f = own;

	return places_begin(&f->places, &f->at[i], out, scratch, e);
}

static struct script *smallfile_clients_script(void *own, unsigned int i, enum clients_task task)
{
	struct smallfile_clients *f = own;
	struct script *s;

	if (task == CLIENTS_MAKE)
		return smallfile_make(f->work[i]);
	s = smallfile_use(f->work[i], f->load, f->o.duration_ns);
	if (!s)
		f->out_of_memory = true;
	return s;
}

/* ---- what each second brought ---- */

/* "12,345 of 100,000, 15 s left", or, where it ends by time, "15 s left". */
static void smallfile_clients_say_progress(struct smallfile_clients *f)
{
	uint64_t done = clients_done(f->all), all = (uint64_t)f->o.clients * f->o.set.files;
	uint64_t ns = clock_now_ns() - f->begun_ns;
	double left_ns = done ? (double)ns * (double)(all - done) / (double)done : 0;
	size_t len = 0;

	if (f->duration_ns)
		left_ns = ns < f->duration_ns ? (double)(f->duration_ns - ns) : 0;
	else
		len = (size_t)snprintf(f->progress, sizeof(f->progress), "%s of %s%s",
				       cell_count(done).text, cell_count(all).text,
				       left_ns > 0 ? ", " : "");
	if (f->duration_ns || left_ns > 0)
		snprintf(f->progress + len, sizeof(f->progress) - len, "%.0f s left",
			 ceil(left_ns / NS_PER_S));
}

static void smallfile_clients_tick(void *own)
{
	struct smallfile_clients *f = own;

	if (!f->begun_ns)
		return;
	smallfile_clients_say_progress(f);
	clients_show(f->all, &f->live, &f->second, f->begun_ns, f->begun_ns);
}

static void smallfile_clients_ended(void *own)
{
	struct smallfile_clients *f = own;

	clients_show_end(f->all, &f->live, &f->second, f->begun_ns, f->begun_ns);
	f->begun_ns = 0;
}

static int smallfile_clients_joined(void *own, struct run_phase *p, struct err *e)
{
	struct smallfile_clients *f = own;

	p->load->given = true;
	if (f->out_of_memory)
		return err_set(e, -ENOMEM, "out of memory: the files have too many records");
	return 0;
}

/* ---- opening ---- */

static void smallfile_clients_free(void *own)
{
	struct smallfile_clients *f = own;

	for (unsigned int i = 0; f->work && i < f->o.clients; i++)
		smallfile_free(f->work[i]);
	places_close(&f->places);
	free(f->work);
	free(f->at);
	free(f);
}

static int smallfile_clients_fill(struct smallfile_clients *f, struct err *e)
{
	unsigned int n = f->o.clients, step = f->o.step ? f->o.step : 1;
	bool there;

	f->at = calloc(n, sizeof(*f->at));
	f->work = calloc(n, sizeof(struct smallfile *));
	there = f->at && f->work;
	for (unsigned int i = 0; there && i < n; i++) {
		f->at[i] = places_client(&f->places, NULL, 1, f->o.first + i * step);
		f->work[i] = smallfile_new(&f->o.set, f->o.first + i * step);
		there = f->work[i];
	}
	return there ? 0 : err_set(e, -ENOMEM, "out of memory");
}

int smallfile_clients_open(struct clients **out, const struct smallfile_clients_opts *o,
			   struct err *e)
{
	static const struct clients_type type = {
		.opens = "session",
		.all_or_none = true,
		.actions = { N_SMALLFILE_LOADS, smallfile_clients_name },
		.begin = smallfile_clients_begin,
		.address = connect_address,
		.script = smallfile_clients_script,
		.tick = smallfile_clients_tick,
		.ended = smallfile_clients_ended,
		.joined = smallfile_clients_joined,
		.free = smallfile_clients_free,
	};
	struct smallfile_clients *f = calloc(1, sizeof(*f));
	struct clients_opts opts = { .n = o->clients,
				     .threads = o->clients,
				     .opening_max = CLIENTS_OPENING_MAX };
	unsigned int not_open;
	int r;

	*out = NULL;
	r = f ? clients_new(out, &type, f, e) : err_set(e, -ENOMEM, "out of memory");
	if (r)
		return r;
	f->o = *o;
	f->all = *out;
	opts.places = &f->places;
	r = places_open(&f->places, o->session, e);
	r = r ? r : smallfile_clients_fill(f, e);
	return r ? r : clients_open(f->all, &opts, &not_open, e);
}

/* ---- what they do ---- */

int smallfile_clients_make(struct clients *all, const char *base, struct err *e)
{
	struct smallfile_clients *f = clients_own(all);

	f->o.set.base = base;
	return clients_do(all, CLIENTS_MAKE, 0, 0, e);
}

int smallfile_clients_start(struct clients *all, enum smallfile_load load, uint64_t begin_ns,
			    struct err *e)
{
	struct smallfile_clients *f = clients_own(all);
	bool repeats = smallfile_flags(load) & SMALLFILE_REPEATS;
	const struct engine_job how = { .begin_ns = begin_ns,
					.duration_ns = repeats ? f->o.duration_ns : 0,
					.pause_ns = f->o.pause_ns,
					.keeps_progress = f->o.step != 0,
					.keeps_recent = f->o.live != TICKER_OFF };
	int r;

	f->load = load;
	f->duration_ns = how.duration_ns;
	snprintf(f->phase, sizeof(f->phase), "%s%s", smallfile_name(load),
		 f->o.step ? " (rank 0)" : "");
	f->second = (struct ticker_second) { .phase = f->phase, .progress = f->progress };
	ticker_begin(&f->live, f->o.session->progress, f->o.live);
	r = clients_start(all, &how, e);
	if (!r && f->o.live != TICKER_OFF)
		f->begun_ns = begin_ns ? begin_ns : clock_now_ns();
	return r;
}

int smallfile_clients_judge(struct run_phase *p, struct err *e)
{
	run_phase_from_load(p);
	if (cmd_stop)
		return err_set(e, -EINTR, "interrupted");
	if (p->load->n_lost == p->load->n_clients)
		return err_set(e, -ECONNRESET, "all sessions were lost: %s", p->load->why);
	p->complete = true;
	return 0;
}

void smallfile_clients_look(const struct clients *all, struct run_phase *p)
{
	const struct smallfile_clients *f = clients_own(all);
	unsigned int files = f->o.set.files, n = files < LOOKED ? files : LOOKED;
	uint64_t looked = 0, cached = 0;
	char path[PATH_MAX];
	int at;

	for (unsigned int i = 0; f->o.cached && i < f->o.clients; i++) {
		for (unsigned int k = 0; k < n; k++) {
			at = snprintf(path, sizeof(path), "%s/", f->o.cached);
			if (at < PATH_MAX)
				smallfile_path(f->work[i], (unsigned int)((uint64_t)k * files / n),
					       path + at, sizeof(path) - (size_t)at);
			pagecache_look(path, &looked, &cached);
		}
	}
	if (!looked)
		return;
	run_set(p, METRIC_CACHE_LOOKED, looked);
	run_set(p, METRIC_CACHED, cached);
}

int smallfile_clients_room(const struct session *s, const struct smallfile_opts *set,
			   unsigned int clients, const enum smallfile_load *load, unsigned int n,
			   struct err *e)
{
	const struct session_cfg *cfg = s->cfg;
	const struct room_need need = {
		.where = cfg->local ? cfg->directory : cfg->c.volume,
		.bytes = smallfile_most(set, clients, load, n),
		.force = cfg->force_how,
	};

	return cfg->force ? 0 : room_check(s->store, &need, e);
}

const struct smallfile_counts *smallfile_clients_counts(const struct clients *all,
							unsigned int client)
{
	return smallfile_counts(((struct smallfile_clients *)clients_own(all))->work[client]);
}

uint64_t smallfile_clients_skew_ns(const struct run_load *load)
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
