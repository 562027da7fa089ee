/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clients of a replay: what they do together, and how far they are. */
#include "replay/replay_clients.h"

#include "app/cmd.h"
#include "base/clock.h"
#include "report/cell.h"
#include "work/pattern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA_MOST (4u << 20) /* bytes of one request */
#define PAGE_LEN  4096u
#define BELOW_LEN 16
#define NS_PER_S  1000000000u

/* A copy and its directory; "": it is the first, which has that of all. */
struct replay_clients_copy {
	struct replay_copy c;
	char below[BELOW_LEN];
};

struct replay_clients {
	struct replay_clients_opts o;
	struct replay_clients_copy *copy; /* o.copies */
	struct clients *all;
	struct places places;
	struct places_client *at;
	/* Client i of the plan in copy k is i * o.copies + k here: the first clients of copies come
	 * first. */
	struct replay_client **client;
	unsigned int n, threads, n_sinks;
	uint8_t *data, *sinks;
	size_t data_len, sink_len;
	bool makes_dirs;
	uint64_t begun_ns; /* 0: the replay is not under way */
	struct ticker live;
	struct ticker_second second;
	char progress[112];
};

static const char *replay_clients_name(unsigned int verb)
{
	return store_verb_name((enum store_verb)verb);
}

static int replay_clients_begin(void *own, unsigned int i, struct store **out, uint8_t *scratch,
				struct err *e)
{
	const struct replay_clients *c = own;

	return places_begin(&c->places, &c->at[i], out, scratch, e);
}

static struct script *replay_clients_script(void *own, unsigned int i, enum clients_task task)
{
	struct replay_clients *c = own;

	switch (task) {
	case CLIENTS_MAKE:
		return c->makes_dirs ? replay_client_make_dirs(c->client[i])
				     : replay_client_make_files(c->client[i]);
	case CLIENTS_REMOVE:
		return replay_client_finish(c->client[i]);
	default:
		return replay_client_use(c->client[i]);
	}
}

/* ---- what each second brought ---- */

static void replay_clients_tick(void *own)
{
	struct replay_clients *c = own;

	if (!c->begun_ns)
		return;
	snprintf(c->progress, sizeof(c->progress), "%s of %s requests",
		 cell_count(clients_done(c->all)).text,
		 cell_count((uint64_t)c->o.plan->n_steps * c->o.copies).text);
	clients_show(c->all, &c->live, &c->second, c->begun_ns, c->begun_ns);
}

static void replay_clients_ended(void *own)
{
	struct replay_clients *c = own;

	if (!c->begun_ns)
		return;
	clients_show_end(c->all, &c->live, &c->second, c->begun_ns, c->begun_ns);
	c->begun_ns = 0;
}

static void replay_clients_free_copies(struct replay_clients_copy *copy, unsigned int n)
{
	for (unsigned int k = 0; copy && k < n; k++)
		replay_copy_fini(&copy[k].c);
	free(copy);
}

static void replay_clients_free(void *own)
{
	struct replay_clients *c = own;

	for (unsigned int i = 0; c->client && i < c->n; i++)
		replay_client_free(c->client[i]);
	replay_clients_free_copies(c->copy, c->o.copies);
	places_close(&c->places);
	free(c->client);
	free(c->at);
	free(c->data);
	free(c->sinks);
	free(c);
}

/* ---- opening ---- */

/* What is written is the same for all. What is read is not looked at, but no two threads put it
 * into the same memory: clients whose stores block may have a thread each. */
static bool replay_clients_buffers(struct replay_clients *c)
{
	const struct replay_plan *p = c->o.plan;
	const bool blocks = session_blocks(c->o.session->cfg);
	uint64_t write_max = PAGE_LEN, read_max = PAGE_LEN;

	for (uint32_t i = 0; i < p->n_clients; i++) {
		if (p->client[i].read_max > read_max)
			read_max = p->client[i].read_max;
		if (p->client[i].write_max > write_max)
			write_max = p->client[i].write_max;
	}
	write_max = write_max < (1u << 20) ? 1u << 20 : write_max; /* the image's files */
	c->data_len = write_max < DATA_MOST ? (size_t)write_max : DATA_MOST;
	c->sink_len = read_max < DATA_MOST ? (size_t)read_max : DATA_MOST;
	c->sink_len = (c->sink_len + PAGE_LEN - 1) / PAGE_LEN * PAGE_LEN;
	if (blocks && c->sink_len > c->o.session->store->chunk_read)
		c->sink_len = c->o.session->store->chunk_read;
	c->n_sinks = blocks ? c->n : c->threads;
	if (posix_memalign((void **)&c->data, PAGE_LEN, c->data_len) ||
	    posix_memalign((void **)&c->sinks, PAGE_LEN, c->sink_len * c->n_sinks))
		return false;
	pattern_fill(c->data, c->data_len / 8 * 8, 0, 1);
	return true;
}

/* They begin one after the other within a second: else all would send the same at the same moment.
 */
static int replay_clients_copy(struct replay_clients *c, unsigned int k)
{
	struct replay_clients_copy *copy = &c->copy[k];

	if (k)
		snprintf(copy->below, sizeof(copy->below), "copy-%u", k + 1);
	copy->c = (struct replay_copy) { .plan = c->o.plan,
					 .base = c->o.base,
					 .below = k ? copy->below : NULL,
					 .found = c->o.found,
					 .for_all = c->o.account != NULL,
					 .later_ns = NS_PER_S / c->o.copies * k,
					 .data = c->data,
					 .data_len = c->data_len };
	return replay_copy_init(&copy->c);
}

static int replay_clients_client(struct replay_clients *c, unsigned int i)
{
	const unsigned int number = i / c->o.copies;
	const struct user *as = c->o.account ? c->o.account[number] : NULL;

	c->at[i] = places_client(&c->places, as, 1, i);
	c->client[i] = replay_client_new(&c->copy[i % c->o.copies].c, number,
					 c->sinks + c->sink_len * (i % c->n_sinks), c->sink_len);
	return c->client[i] ? 0 : -ENOMEM;
}

static int replay_clients_fill(struct replay_clients *c, struct err *e)
{
	const bool again = c->copy;
	int r;

	c->n = c->o.plan->n_clients * c->o.copies;
	c->threads = c->o.threads < c->n ? c->o.threads : c->n;
	if (!c->threads)
		c->threads = session_threads(c->o.session->cfg, c->n, SESSION_THREADS_MAX);
	c->at = calloc(c->n, sizeof(*c->at));
	c->client = calloc(c->n, sizeof(struct replay_client *));
	if (!again)
		c->copy = calloc(c->o.copies, sizeof(*c->copy));
	r = c->at && c->client && c->copy && replay_clients_buffers(c) ? 0 : -ENOMEM;
	for (unsigned int k = 0; !r && !again && k < c->o.copies; k++)
		r = replay_clients_copy(c, k);
	for (unsigned int k = 0; !r && k < c->o.copies; k++)
		c->copy[k].c.data = c->data;
	for (unsigned int i = 0; !r && i < c->n; i++)
		r = replay_clients_client(c, i);
	return r ? err_set(e, r, "out of memory") : 0;
}

/* copy: those of clients that were closed, owned; NULL: they are made. */
static int replay_clients_open_for(struct clients **out, const struct replay_clients_opts *o,
				   struct replay_clients_copy *copy, struct err *e)
{
	static const struct clients_type type = {
		.opens = "session",
		.all_or_none = true,
		.actions = { N_STORE_VERBS, replay_clients_name },
		.begin = replay_clients_begin,
		.address = connect_address,
		.script = replay_clients_script,
		.tick = replay_clients_tick,
		.ended = replay_clients_ended,
		.free = replay_clients_free,
	};
	struct replay_clients *c = calloc(1, sizeof(*c));
	struct clients_opts opts = { .opening_max = CLIENTS_OPENING_MAX };
	unsigned int not_open;
	int r;

	*out = NULL;
	r = c ? clients_new(out, &type, c, e) : err_set(e, -ENOMEM, "out of memory");
	if (r) {
		replay_clients_free_copies(copy, o->copies);
		return r;
	}
	c->o = *o;
	c->copy = copy;
	c->all = *out;
	opts.places = &c->places;
	r = places_open(&c->places, o->session, e);
	r = r ? r : replay_clients_fill(c, e);
	opts.n = c->n;
	opts.threads = c->threads;
	opts.realtime = o->realtime;
	opts.data_b = c->data_len + c->sink_len * c->n_sinks;
	return r ? r : clients_open(c->all, &opts, &not_open, e);
}

int replay_clients_open(struct clients **out, const struct replay_clients_opts *o, struct err *e)
{
	return replay_clients_open_for(out, o, NULL, e);
}

int replay_clients_reopen(struct clients **all, struct err *e)
{
	struct replay_clients *c = clients_own(*all);
	struct replay_clients_copy *copy = c->copy;
	const struct replay_clients_opts o = c->o;

	c->copy = NULL;
	clients_close(*all, NULL);
	return replay_clients_open_for(all, &o, copy, e);
}

/* ---- what they do ---- */

int replay_clients_make(struct clients *all, struct err *e)
{
	struct replay_clients *c = clients_own(all);
	int r = 0;

	if (c->o.account)
		r = places_make(&c->places, c->o.base, true, e);
	c->makes_dirs = true;
	r = r ? r : clients_do(all, CLIENTS_MAKE, 0, c->o.copies, e);
	c->makes_dirs = false;
	r = r ? r : clients_do(all, CLIENTS_MAKE, 0, 0, e);
	return !r && cmd_stop ? err_set(e, -EINTR, "interrupted") : r;
}

void replay_clients_anew(struct clients *all)
{
	struct replay_clients *c = clients_own(all);

	for (unsigned int k = 0; k < c->o.copies; k++)
		c->copy[k].c.found = false;
}

int replay_clients_start(struct clients *all, struct err *e)
{
	struct replay_clients *c = clients_own(all);
	const struct engine_job how = { .begin_ns = clock_now_ns(),
					.keeps_recent = c->o.live != TICKER_OFF,
					.keeps_late = true };
	int r;

	for (unsigned int k = 0; k < c->o.copies; k++)
		c->copy[k].c.begin_ns = c->o.plan->o.no_think ? 0 : how.begin_ns;
	c->second = (struct ticker_second) { .phase = "replay",
					     .progress = c->progress,
					     .mixed = true };
	ticker_begin(&c->live, c->o.session->progress, c->o.live);
	r = clients_start(all, &how, e);
	if (!r && c->o.live != TICKER_OFF)
		c->begun_ns = clock_now_ns();
	return r;
}

void replay_clients_finish(struct clients *all)
{
	clients_do(all, CLIENTS_REMOVE, 0, 0, NULL);
}

void replay_clients_done(const struct clients *all, struct replay_done *out)
{
	const struct replay_clients *c = clients_own(all);

	*out = (struct replay_done) { 0 };
	for (unsigned int i = 0; i < c->n; i++)
		replay_client_add_done(c->client[i], out);
}
