/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rank 0 of several, in the order of a run. ranks_other.c is the others. */
#include "ranks/ranks_priv.h"

#include "afp/proto.h"
#include "base/clock.h"
#include "ranks/offset.h"
#include "ranks/post.h"
#include "store/store.h"
#include "work/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NS_PER_S     1000000000ull
#define SLICE_NS     100000000u /* how soon a stop is noticed */
#define HELLO_NS     (60 * NS_PER_S)
#define STEP_NS      (600 * NS_PER_S) /* opening all sessions, making or removing all files */
#define HURRY_NS     (15 * NS_PER_S)  /* after an interrupt */
#define MARGIN_NS    (10 * NS_PER_S)
#define MEASURE_MS   1000
#define AGAIN_MS     600      /* of the lead, for the second measurement */
#define OTHERS_END_S 1        /* which none can say any more, before their directory is removed */
#define LEAD_NS      NS_PER_S /* from the agreement on the start to it */

/* Another rank. */
struct ranks_peer {
	struct run_rank is; /* who it is, how its clock differs, whether it is lost */
	uint64_t lost_ns;   /* and when, CLOCK_MONOTONIC; 0: not known */
	struct offset offset;
	bool noted;    /* the warnings have it */
	bool answered; /* the last order; with this, unless it is lost: */
	struct post answer;
};

struct ranks {
	struct ranks_opts o;
	struct session *session; /* the command's own, which is kept alive */
	struct ranks_peer *peer; /* by number; that of rank 0 is not used */
	uint64_t start_ns;
	bool told_stop, again; /* the next round trips are a second measurement */
	bool gone;             /* MPI is: nothing will come any more */
};

/* ---- orders and answers ---- */

static void ranks_lose(struct ranks_peer *p, const char *why, uint64_t at_ns)
{
	if (p->is.end == RUN_RANK_LOST)
		return;
	p->is.end = RUN_RANK_LOST;
	p->lost_ns = at_ns;
	snprintf(p->is.why, sizeof(p->is.why), "%.255s", why);
}

/* MPI is gone; what the others have done they save themselves. */
static void ranks_lose_all(struct ranks *k)
{
	k->gone = true;
	for (unsigned int i = 1; i < k->o.launch->size; i++) {
		if (k->peer[i].answered)
			continue;
		ranks_lose(&k->peer[i], "mpirun has ended the job", clock_now_ns());
		k->peer[i].answered = true;
	}
}

static void ranks_send(struct ranks *k, enum post_type type, uint32_t arg, const void *data,
		       size_t len)
{
	if (!k->gone && post_send(k->o.launch->fd, type, arg, data, len))
		ranks_lose_all(k);
}

static void ranks_order(struct ranks *k, enum post_type type, uint32_t trips_ms, const void *data,
			size_t len)
{
	for (unsigned int i = 1; i < k->o.launch->size; i++)
		k->peer[i].answered = k->gone;
	ranks_send(k, type, trips_ms, data, len);
}

/* The second measurement knows nothing of the first. */
static void ranks_take_trips(struct ranks *k, const struct post *m)
{
	const struct offset *to = (const struct offset *)m->data;
	struct ranks_peer *p;

	for (unsigned int i = 1; i < k->o.launch->size && (i + 1) * sizeof(*to) <= m->head.len;
	     i++) {
		p = &k->peer[i];
		if (!k->again) {
			p->offset = to[i];
			p->is.has_skew = false;
			p->is.unsure_ns = to[i].trip_ns / 2;
			continue;
		}
		p->is.has_skew = to[i].n && p->offset.n;
		p->is.skew_ns = offset_between(&to[i], &p->offset);
		if (p->is.has_skew && to[i].trip_ns / 2 > p->is.unsure_ns)
			p->is.unsure_ns = to[i].trip_ns / 2; /* what bounds the error */
	}
	k->again = !k->again;
}

static void ranks_take_answer(struct ranks_peer *p, struct post *m)
{
	struct post_lost lost;

	p->answered = true;
	if (m->head.type != POST_LOST) {
		post_fini(&p->answer);
		p->answer = *m;
		*m = (struct post) { 0 };
	} else if (!post_read(m, &lost, sizeof(lost))) {
		lost.why[sizeof(lost.why) - 1] = '\0';
		ranks_lose(p, lost.why,
			   p->offset.n ? lost.at_ns - (uint64_t)p->offset.ahead_ns : 0);
	}
}

/* What has come, or comes within wait_ns. Whether there was something. */
static bool ranks_take(struct ranks *k, uint64_t wait_ns)
{
	struct post m = { 0 };
	int r = k->gone ? 0 : post_take(&m, k->o.launch->fd, wait_ns);

	if (r < 0)
		ranks_lose_all(k);
	else if (r && m.head.type == POST_TRIPS)
		ranks_take_trips(k, &m);
	else if (r && m.head.arg && m.head.arg < k->o.launch->size)
		ranks_take_answer(&k->peer[m.head.arg], &m);
	post_fini(&m);
	return r > 0;
}

static bool ranks_all_answered(const struct ranks *k)
{
	bool all = true;

	for (unsigned int i = 1; i < k->o.launch->size; i++)
		all &= k->peer[i].answered;
	return all;
}

/*
 * Waits until all have answered the last order. Who has not after wait_ns is lost. 0, or -EINTR
 * (a stop is heeded only if heeds_stop).
 */
static int ranks_await(struct ranks *k, uint64_t wait_ns, bool heeds_stop)
{
	uint64_t until_ns = clock_now_ns() + wait_ns;
	bool hurried = false;

	while (!ranks_all_answered(k)) {
		if (heeds_stop && cmd_stop)
			return -EINTR;
		ranks_take(k, SLICE_NS);
		session_keep_alive(k->session);
		if (clock_now_ns() < until_ns)
			continue;
		if (hurried)
			ranks_lose_all(k);
		ranks_send(k, POST_WORD, POST_GIVE_UP, NULL, 0);
		hurried = true;
		until_ns += MARGIN_NS;
	}
	return 0;
}

/* ---- steps ---- */

static int ranks_check_hello(struct ranks *k, const struct ranks_hello *own, struct err *e)
{
	struct ranks_hello hello;
	struct ranks_peer *p;

	for (unsigned int i = 1; i < k->o.launch->size; i++) {
		p = &k->peer[i];
		if (p->is.end == RUN_RANK_LOST)
			continue;
		if (post_read(&p->answer, &hello, sizeof(hello)))
			hello = (struct ranks_hello) { .host = "unknown" };
		snprintf(p->is.host, sizeof(p->is.host), "%.64s", hello.host);
		p->is.pid = hello.pid;
		if (memcmp(hello.terms, own->terms, sizeof(own->terms)))
			return err_set(e, -EINVAL,
				       "rank %u (%s) was started with other options, or is another "
				       "version of afpscope",
				       i, p->is.host);
	}
	return 0;
}

static void ranks_order_open(struct ranks *k, unsigned int from)
{
	const struct ranks_turn turn = { from, from + CLIENTS_OPENING_MAX };

	ranks_order(k, POST_OPEN, 0, &turn, sizeof(turn));
}

int ranks_open(struct ranks **out, const struct ranks_opts *o, struct session *s, struct err *e)
{
	struct ranks_run run = { 0 };
	struct ranks_hello own;
	struct ranks *k;

	*out = k = calloc(1, sizeof(*k));
	if (!k || ranks_hello(o, &own))
		return err_set(e, -ENOMEM, "out of memory");
	k->o = *o;
	k->session = s;
	k->peer = calloc(o->launch->size, sizeof(*k->peer));
	if (!k->peer)
		return err_set(e, -ENOMEM, "out of memory");
	for (unsigned int i = 1; i < o->launch->size; i++)
		snprintf(k->peer[i].is.host, sizeof(k->peer[i].is.host), "unknown");
	tree_name(run.base);
	memcpy(run.id, s->run.id, sizeof(run.id));
	memcpy(run.started, s->run.started, sizeof(run.started));
	if (s->folder.path && !realpath(s->folder.path, run.folder))
		*run.folder = '\0';
	ranks_order(k, POST_HELLO, 0, &run, sizeof(run));
	if (ranks_await(k, HELLO_NS, true))
		return err_set(e, -EINTR, "interrupted");
	if (ranks_check_hello(k, &own, e))
		return -EINVAL;
	ranks_order_open(k, 0);
	return 0;
}

/*
 * What rank i reported; NULL: nothing, it is lost. One that has failed by itself is lost, too; what
 * the server has refused is left to the caller.
 */
static const struct ranks_report *ranks_report_of(struct ranks *k, unsigned int i,
						  struct ranks_report *out)
{
	struct ranks_peer *p = &k->peer[i];

	if (p->is.end == RUN_RANK_LOST)
		return NULL;
	if (post_read(&p->answer, out, sizeof(*out)))
		ranks_lose(p, "its report makes no sense", clock_now_ns());
	out->text[sizeof(out->text) - 1] = '\0';
	if (p->is.end != RUN_RANK_LOST && out->result < 0)
		ranks_lose(p, out->text, clock_now_ns());
	return p->is.end == RUN_RANK_LOST ? NULL : out;
}

/* What those of a turn have answered. */
static int ranks_opened_turn(struct ranks *k, unsigned int from, unsigned int *not_open,
			     struct err *e)
{
	const struct ranks_report *got;
	struct ranks_report report;

	if (ranks_await(k, STEP_NS, true))
		return err_set(e, -EINTR, "interrupted");
	for (unsigned int i = from ? from : 1;
	     i < from + CLIENTS_OPENING_MAX && i < k->o.launch->size; i++) {
		got = ranks_report_of(k, i, &report);
		if (!got || !got->not_open)
			continue;
		if (!*not_open)
			err_set(e, 0, "%s", got->text);
		*not_open += got->not_open;
	}
	return 0;
}

int ranks_opened(struct ranks *k, unsigned int *not_open, struct err *e)
{
	unsigned int from = 0;
	int r = k ? ranks_opened_turn(k, from, not_open, e) : 0;

	while (k && !r && (from += CLIENTS_OPENING_MAX) < k->o.launch->size) {
		ranks_order_open(k, from);
		r = ranks_opened_turn(k, from, not_open, e);
	}
	return r;
}

void ranks_make(struct ranks *k)
{
	if (k)
		ranks_order(k, POST_MAKE, 0, NULL, 0);
}

int ranks_made(struct ranks *k, struct err *e)
{
	const struct ranks_report *got;
	struct ranks_report report;

	if (!k)
		return 0;
	if (ranks_await(k, STEP_NS, true))
		return err_set(e, -EINTR, "interrupted");
	for (unsigned int i = 1; i < k->o.launch->size; i++) {
		got = ranks_report_of(k, i, &report);
		if (got && got->result)
			return err_set(e, got->result, "rank %u (%s): %s", i, k->peer[i].is.host,
				       got->text);
	}
	return 0;
}

uint64_t ranks_start(struct ranks *k)
{
	uint64_t longest_ns = 0, *begin_ns;
	struct ranks_peer *p;

	if (!k)
		return 0;
	k->again = false;
	ranks_order(k, POST_CLOCKS, MEASURE_MS, NULL, 0);
	ranks_await(k, HURRY_NS, false);
	for (unsigned int i = 1; i < k->o.launch->size; i++)
		if (k->peer[i].offset.trip_ns > longest_ns)
			longest_ns = k->peer[i].offset.trip_ns;
	k->start_ns = clock_now_ns() + LEAD_NS + 4 * longest_ns;
	begin_ns = calloc(k->o.launch->size, sizeof(*begin_ns));
	for (unsigned int i = 1; i < k->o.launch->size; i++) {
		p = &k->peer[i];
		if (!begin_ns || !p->offset.n)
			ranks_lose(p, "its clock could not be measured", clock_now_ns());
		else
			begin_ns[i] = offset_there(&p->offset, k->start_ns);
	}
	ranks_order(k, POST_LOAD, AGAIN_MS, begin_ns,
		    begin_ns ? k->o.launch->size * sizeof(*begin_ns) : 0);
	free(begin_ns);
	return k->start_ns;
}

void ranks_await_start(struct ranks *k)
{
	const struct timespec moment = { 0, 1000000 };

	while (k && !cmd_stop && clock_now_ns() < k->start_ns)
		nanosleep(&moment, NULL);
}

void ranks_look(struct ranks *k)
{
	if (!k)
		return;
	if (cmd_stop && !k->told_stop) {
		k->told_stop = true;
		ranks_send(k, POST_WORD, POST_STOP, NULL, 0);
	}
	while (ranks_take(k, 0))
		;
}

/* ---- results ---- */

/* Rank 0's own clients have sent nearly all that the others have. */
static const char *ranks_command_name(void *user, uint8_t code)
{
	const struct run_phase *p = user;

	for (size_t i = 0; i < p->n_commands; i++)
		if (p->command[i]->code == code)
			return p->command[i]->name;
	return code < N_STORE_VERBS ? store_verb_name((enum store_verb)code) : "command";
}

static const char *afp_name(void *user, uint8_t code)
{
	(void)user;
	return afp_command_name(code);
}

/* Reads what a rank did and adds it. A rank whose figures are not usable is lost. */
static int ranks_take_part(struct ranks *k, struct run_phase *p, unsigned int i)
{
	struct ranks_peer *from = &k->peer[i];
	struct run_rank *to = &p->load->rank[i];
	const struct part_like like = { .load = p->load,
					.n_clients = to->clients,
					.command = k->o.session->local ? ranks_command_name
								       : afp_name,
					.user = p };
	struct part part = { 0 };
	struct err e = { 0 };
	int r = 0;

	if (from->is.end != RUN_RANK_LOST &&
	    part_unpack(&part, from->answer.data, from->answer.head.len, &like, &e))
		ranks_lose(from, e.text, clock_now_ns());
	others_visits_add(&k->session->visits, &part.visits, part.greeted);
	from->is.clients = to->clients;
	from->is.lost_ns = from->lost_ns > k->start_ns ? from->lost_ns - k->start_ns : 0;
	*to = from->is;
	/* where its clients logged in from, nobody knows any more */
	k->session->visits.list.partial |= to->end == RUN_RANK_LOST && k->session->visits.list.n;
	if (to->end == RUN_RANK_LOST)
		ranks_sum_lose(p->load, i, from->noted);
	else
		r = ranks_sum_take(p, i, &part);
	part_fini(&part);
	return r;
}

/* Own clients' load becomes one of all clients. */
static int ranks_take_own(struct ranks *k, struct run_phase *p)
{
	struct run_load *all = ranks_sum_new(&k->o, p->load);
	struct part own = { .end = cmd_stop ? PART_STOPPED : PART_DONE, .load = p->load };
	struct run_rank *rank;

	if (!all)
		return -ENOMEM;
	p->load = all;
	ranks_sum_take(p, 0, &own);
	rank = &all->rank[0];
	*rank->why = '\0';
	gethostname(rank->host, sizeof(rank->host) - 1);
	rank->pid = getpid();
	rank->has_skew = true;
	return 0;
}

static void ranks_warn(struct ranks *k, const struct run_load *all, struct run_notes *warnings)
{
	const struct run_rank *rank;

	for (unsigned int i = 1; i < all->n_ranks; i++) {
		rank = &all->rank[i];
		if (k->peer[i].noted)
			continue;
		k->peer[i].noted = rank->end != RUN_RANK_DONE;
		if (rank->end == RUN_RANK_LOST && rank->lost_ns)
			run_note(
			    warnings, "rank",
			    "rank %u (%s, process %d) was lost %.1f s after the start: %s; what its %u "
			    "clients did is not in the figures",
			    i, rank->host, (int)rank->pid, (double)rank->lost_ns / NS_PER_S,
			    rank->why, rank->clients);
		else if (rank->end == RUN_RANK_LOST)
			run_note(
			    warnings, "rank",
			    "rank %u (%s) was lost before the start: %s; its %u clients are missing",
			    i, rank->host, rank->why, rank->clients);
		else if (rank->end == RUN_RANK_STOPPED)
			run_note(
			    warnings, "rank",
			    "rank %u (%s, process %d) ended early: %s; its %u clients did less than "
			    "they were to",
			    i, rank->host, (int)rank->pid, rank->why, rank->clients);
	}
}

int ranks_gather(struct ranks *k, struct run_phase *p, struct run_notes *warnings, struct err *e)
{
	uint64_t patience_ns = k ? k->o.session->c.timeout_s * NS_PER_S + MARGIN_NS : 0;
	int r;

	if (!k)
		return 0;
	ranks_look(k);
	if (cmd_stop || ranks_await(k, patience_ns, true)) {
		ranks_look(k);
		ranks_await(k, HURRY_NS, false);
	}
	r = ranks_take_own(k, p);
	for (unsigned int i = 1; !r && i < k->o.launch->size; i++)
		r = ranks_take_part(k, p, i);
	if (r)
		return err_set(e, r, "out of memory");
	ranks_warn(k, p->load, warnings);
	run_load_join_common(p->load);
	return 0;
}

void ranks_close(struct ranks *k)
{
	if (!k)
		return;
	if (k->peer) {
		ranks_look(k);
		if (!ranks_all_answered(k))
			ranks_send(k, POST_WORD, POST_STOP, NULL, 0);
		ranks_await(k, HURRY_NS, false);
		ranks_order(k, POST_REMOVE, 0, NULL, 0);
		ranks_await(k, cmd_stop ? HURRY_NS : STEP_NS, false);
	}
	if (k->gone)
		sleep(OTHERS_END_S);
	for (unsigned int i = 0; k->peer && i < k->o.launch->size; i++)
		post_fini(&k->peer[i].answer);
	free(k->peer);
	free(k);
}
