/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A rank other than 0, from its first word to its last. It prints nothing but why it could not take
 * part: all else it tells rank 0. What rank 0 does not get, it saves itself.
 */
#include "ranks/ranks_priv.h"

#include "base/clock.h"
#include "ranks/post.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLICE_NS  50000000u
#define REMOVE_NS 10000000000u
#define AGAIN_US  200000

struct guest {
	const struct ranks_opts *o;
	struct session session; /* cfg, server, and the run */
	struct ranks_run told;
	struct clients *clients; /* NULL: not opened, or closed */
	bool failed;             /* to obey an order */
	bool begun;              /* to open them: rank 0 may have made the directory since */
	unsigned int n_loads;
};

static int ranks_other_answer(struct guest *g, const void *data, size_t len)
{
	return post_send(g->o->launch->fd, POST_ANSWER, 0, data, len);
}

static int ranks_other_report(struct guest *g, int r, unsigned int not_open, const struct err *e)
{
	struct ranks_report how = { .result = r, .not_open = not_open };
	int sent;

	snprintf(how.text, sizeof(how.text), "%.255s", r || not_open ? e->text : "");
	sent = ranks_other_answer(g, &how, sizeof(how));
	return r ? r : sent;
}

/* ---- orders ---- */

static int ranks_other_hello(struct guest *g, const struct post *order, struct err *e)
{
	struct ranks_hello hello;
	struct run *run = &g->session.run;

	if (post_read(order, &g->told, sizeof(g->told)))
		g->told = (struct ranks_run) { 0 };
	if (run_init(run, g->o->guests->command, g->o->guests->set) ||
	    g->o->describe(g->o->cfg, &run->options) || ranks_hello(g->o, &hello))
		return err_set(e, -ENOMEM, "out of memory");
	memcpy(run->id, g->told.id, sizeof(run->id));
	memcpy(run->started, g->told.started, sizeof(run->started));
	return ranks_other_answer(g, &hello, sizeof(hello));
}

static int find_server(struct guest *g, struct err *e)
{
	const struct connect_cfg *c = &g->o->session->c;
	char port[8];
	const struct dsi_opts opts = { .host = c->host,
				       .port = port,
				       .window = 1,
				       .timeout_ms = c->timeout_s * 1000,
				       .sources = &c->sources,
				       .stop = &cmd_stop };

	if (g->o->session->local)
		return 0;
	snprintf(port, sizeof(port), "%u", c->port);
	return afp_server_info(&g->session.server, &opts, e);
}

/* Opens the sessions. Without any it takes part all the same, and is counted so. */
static int ranks_other_open(struct guest *g, const struct post *order, struct err *e)
{
	unsigned int not_open = 0, rank = g->o->launch->rank;
	struct ranks_turn turn;
	int r;

	r = post_read(order, &turn, sizeof(turn));
	if (r)
		return ranks_other_report(g, err_set(e, r, "an order of rank 0 makes no sense"), 0,
					  e);
	if (rank < turn.from || rank >= turn.to)
		return ranks_other_answer(g, NULL, 0);
	r = find_server(g, e);
	g->begun = true;
	r = r ? r
	      : g->o->guests->open(&g->clients, g->o->cfg, &g->session, g->told.base, &not_open, e);
	if (r == -ECONNREFUSED && not_open)
		r = 0;
	return ranks_other_report(g, r, not_open, e);
}

static int ranks_other_make(struct guest *g, struct err *e)
{
	int r = g->o->guests->make(g->clients, g->o->cfg, g->told.base, e);

	return ranks_other_report(g, r, 0, e);
}

/*
 * What is sent is this rank's; what stays in the run, should rank 0 not get it, is of all clients,
 * as in rank 0: those of all other ranks are lost.
 */
static int ranks_other_keep(struct guest *g, struct run_phase *p, struct part *part)
{
	struct ranks_hello hello;
	unsigned int own = g->o->launch->rank;
	struct run_load *all = ranks_hello(g->o, &hello) ? NULL : ranks_sum_new(g->o, part->load);

	if (!all)
		return -ENOMEM;
	p->load = all;
	for (unsigned int i = 0; i < g->o->launch->size; i++)
		if (i != own)
			snprintf(all->rank[i].why, sizeof(all->rank[i].why),
				 "it is not in this file");
	part->commands = (struct run_phase) { 0 }; /* p has them */
	ranks_sum_take(p, own, part);
	for (unsigned int i = 0; i < g->o->launch->size; i++)
		if (i != own)
			ranks_sum_lose(all, i, false);
	memcpy(all->rank[own].host, hello.host, sizeof(hello.host));
	all->rank[own].pid = hello.pid;
	run_load_join_common(all);
	run_phase_from_load(p);
	p->complete = part->end == PART_DONE;
	return 0;
}

static int ranks_other_send(struct guest *g, const struct part *p)
{
	size_t len;
	uint8_t *data = part_pack(p, &len);
	int r = data ? ranks_other_answer(g, data, len) : -ENOMEM;

	free(data);
	return r;
}

static int ranks_other_load(struct guest *g, const struct post *order, struct err *e)
{
	const struct ranks_clients *its = g->o->guests;
	uint64_t begin_ns = 0, now_ns = clock_now_ns();
	unsigned int i = g->n_loads++, rank = g->o->launch->rank;
	struct part part = { 0 };
	struct run_phase *p;
	int r;

	if (order->head.len > rank * sizeof(begin_ns))
		memcpy(&begin_ns, order->data + rank * sizeof(begin_ns), sizeof(begin_ns));
	p = begin_ns ? run_phase(&g->session.run, i + 1, 1, its->title(g->o->cfg, i)) : NULL;
	if (!p)
		return -EPROTO;
	p->start_ns = begin_ns;
	part.late_ns = now_ns > begin_ns ? now_ns - begin_ns : 0;
	r = its->start(g->clients, g->o->cfg, i, begin_ns, e);
	if (r)
		return r;
	while (!clients_wait(g->clients, SLICE_NS))
		;
	r = clients_join(g->clients, p, e);
	if (r)
		return r;
	part.load = p->load;
	part.commands = *p;
	part.visits = g->session.visits.list; /* still the session's */
	part.greeted = g->session.visits.greeted;
	part.end = !cmd_stop                       ? PART_DONE
		   : cmd_stop == CMD_STOP_ORPHANED ? PART_ORPHANED
						   : PART_STOPPED;
	r = ranks_other_send(g, &part);
	if (ranks_other_keep(g, p, &part))
		cmd_say("out of memory");
	return r;
}

/* What is left in the volume, rank 0 removes. */
static void ranks_other_close(struct guest *g)
{
	struct err left = { 0 };

	clients_close(g->clients, &left);
	g->clients = NULL;
}

static int ranks_other_fail(struct guest *g, const char *why)
{
	struct post_lost lost = { .at_ns = clock_now_ns() };

	snprintf(lost.why, sizeof(lost.why), "%.255s", why);
	return post_send(g->o->launch->fd, POST_LOST, 0, &lost, sizeof(lost));
}

/* After a failure this rank has no more clients, and only waits for the end. */
static void ranks_other_obey(struct guest *g, const struct post *order)
{
	struct err e = { 0 };
	int r = 0;

	if (order->head.type == POST_REMOVE)
		ranks_other_close(g);
	if (order->head.type == POST_HELLO)
		r = ranks_other_hello(g, order, &e);
	else if (order->head.type == POST_OPEN)
		r = ranks_other_open(g, order, &e);
	else if (order->head.type == POST_MAKE && !g->failed)
		r = ranks_other_make(g, &e);
	else if (order->head.type == POST_LOAD && !g->failed)
		r = ranks_other_load(g, order, &e);
	else if (g->failed)
		ranks_other_fail(g, "it had failed");
	else
		ranks_other_answer(g, NULL, 0);
	if (r && (order->head.type == POST_HELLO || order->head.type == POST_LOAD))
		ranks_other_fail(g, *e.text ? e.text : strerror(r < 0 ? -r : r));
	g->failed |= r != 0;
	if (r)
		ranks_other_close(g);
}

/* ---- the end ---- */

/* Its file in the folder of the run has what rank 0 will not save. */
static void ranks_other_save(struct guest *g, const char *why)
{
	unsigned int rank = g->o->launch->rank;
	struct run *run = &g->session.run;
	struct err e = { 0 };

	session_take_back(&g->session); /* the folder is root's */
	run_note(&run->warnings, "rank", "rank %u of %u: %s; only what its clients did is here",
		 rank, g->o->launch->size, why);
	if (!run->n_phases)
		cmd_say("rank %u: %s before anything was measured", rank, why);
	else if (!*g->told.folder)
		cmd_say("rank %u: %s; what its clients did is not kept (--no-save)", rank, why);
	else if (runs_save_part(g->told.folder, rank, run, &e))
		cmd_say("rank %u: %s; what its clients did is lost: %s", rank, why, e.text);
	else
		cmd_say("rank %u: %s; what its clients did is in %s/rank-%u.json", rank, why,
			g->told.folder, rank);
	session_give_up(&g->session);
}

/*
 * Removes the directory in place of rank 0. All clients have ended, but the server may not have
 * noticed yet that those of rank 0 have.
 */
static void ranks_other_remove_base(struct guest *g)
{
	const struct session_cfg *cfg = g->o->session;
	struct session *s = &g->session;
	uint64_t until_ns = clock_now_ns() + REMOVE_NS;
	enum afp_stage stage;
	struct err e = { 0 };
	int r;

	cmd_stop = 0;
	if (cfg->local)
		r = store_open_local(&s->store, cfg->directory, !cfg->buffered, &e);
	else
		r = connect_open(&s->afp, &s->server, &cfg->c, 1, &stage, &e);
	memcpy(s->left->base[0], g->told.base, sizeof(g->told.base));
	while (!r && (r = session_remove_base(s, &e)) && r != -ENOENT && clock_now_ns() < until_ns)
		r = usleep(AGAIN_US);
	if (r && r != -ENOENT)
		cmd_say("rank %u: %s is still there (%s): afpscope clean removes it",
			g->o->launch->rank, g->told.base, e.text);
	store_close(s->store);
	afp_close(&s->afp);
}

void ranks_other(const struct ranks_opts *o)
{
	struct guest *g = calloc(1, sizeof(*g));
	struct post order = { 0 };
	struct err e = { 0 };
	int r = 0;

	if (g)
		*g = (struct guest) { .o = o, .session = { .cfg = o->session, .whole = true } };
	if (g)
		pthread_mutex_init(&g->session.visits.lock, NULL);
	if (!g || session_warden(&g->session, &e)) {
		cmd_say("out of memory");
		free(g);
		return;
	}
	session_give_up(&g->session);
	while (r >= 0 && order.head.type != POST_END) {
		r = post_take(&order, o->launch->fd, SLICE_NS);
		if (r == 1)
			ranks_other_obey(g, &order);
	}
	ranks_other_close(g);
	if (order.head.type == POST_END && order.head.len && !*order.data && g->begun) {
		ranks_other_save(g, "rank 0 was killed");
		if (o->launch->rank == 1)
			ranks_other_remove_base(g);
	} else if (g->begun && r < 0 && getppid() == o->launch->parent &&
		   cmd_stop != CMD_STOP_ORPHANED) {
		ranks_other_save(g, "it did not answer in time");
	} else if (g->begun && r < 0) {
		ranks_other_save(g, "mpirun has ended the job");
		cmd_say("rank %u: if rank 0 is gone, too, %s is still there", o->launch->rank,
			g->told.base);
	}
	post_fini(&order);
	run_fini(&g->session.run);
	others_fini(&g->session.visits.list);
	pthread_mutex_destroy(&g->session.visits.lock);
	warden_close(g->session.warden);
	free(g);
}
