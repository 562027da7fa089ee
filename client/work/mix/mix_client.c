/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one client of a mix does: an action is a list of steps, one request each, but those that
 * move data or list a directory, which are many requests. If a request fails, what is open is
 * closed, the action's cure is carried out, and the action has failed; the next one finds the set
 * as it should be, or the mark that it may not be, which only costs requests at the end.
 */
#include "load/load.h"
#include "load/pace.h"
#include "work/mix/mix.h"
#include "work/mix/mix_steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE     4096u
#define NAME_LEN 24

/* ---- the client ---- */

struct mix_data {
	uint8_t *out, *in; /* what is written; where all that is read goes, each thread's */
	size_t len;        /* of out, and of each part of in */
};

/* One of the three scripts. */
struct mix_part {
	struct script s;
	struct mix_client *c;
	bool begun; /* of those that have one action */
};

struct mix_request {
	struct store_op op; /* first: an answer's request is found by it */
	bool lent;
};

/* A directory of the client. */
struct mix_home {
	struct store_dir dir;
	bool there;
	bool dirty; /* there may be more names than the set's */
};

struct mix_client {
	struct mix_client_opts o;
	struct mix_part make, use, remove;
	const struct store *store;
	unsigned short random[3];
	unsigned int weights; /* their sum */
	struct store_dir base;
	unsigned int n_homes;
	struct mix_home *home;

	/* The action under way */
	const struct mix_step *at;
	unsigned int action, in, file; /* in: home[] */
	bool failed, curing;
	struct err why; /* it failed; other answers come before the action's end */
	bool open;
	struct store_file opened;
	uint64_t len;            /* of the file */
	uint64_t sent, n_listed; /* bytes asked for; entries */
	unsigned int n_sent;     /* of requests at random places */
	unsigned int n_lent;
	bool list_done;
	char name[N_WHICH][NAME_LEN];
	uint8_t *list; /* STORE_LIST_LEN; NULL: the mix lists nothing */
	struct mix_request request[];
};

static const struct mix *mix_of(const struct mix_client *c)
{
	return c->o.mix;
}

struct mix_data *mix_data_new(const struct mix *m, unsigned int n_sinks)
{
	struct mix_data *d = calloc(1, sizeof(*d));
	size_t len = (m->request_len + 2 * PAGE - 1) / PAGE * PAGE;
	unsigned short random[3];

	if (!d)
		return NULL;
	if (posix_memalign((void **)&d->out, PAGE, len) ||
	    posix_memalign((void **)&d->in, PAGE, len * n_sinks)) {
		mix_data_free(d);
		return NULL;
	}
	/* not to be compressed */
	pace_seed(random, 0, 0);
	for (size_t i = 0; i < len; i += 4)
		memcpy(d->out + i, &(int32_t) { (int32_t)jrand48(random) }, 4);
	memset(d->in, 0, len * n_sinks);
	d->len = len;
	return d;
}

void mix_data_free(struct mix_data *d)
{
	if (!d)
		return;
	free(d->out);
	free(d->in);
	free(d);
}

/* ---- choosing ---- */

/* Client i of N owns the directories i, i + N, ...; a shared set is directory 0. */
static unsigned int homes_of(const struct mix_client_opts *o)
{
	if (o->mix->shared || o->number >= o->n_dirs)
		return o->mix->shared;
	return (o->n_dirs - o->number + o->n_clients - 1) / o->n_clients;
}

static struct mix_home *home_of(struct mix_client *c)
{
	return &c->home[c->in];
}

/* The directory's number among those of all clients. */
static unsigned int home_number(const struct mix_client *c)
{
	return mix_of(c)->shared ? 0 : c->o.number + c->in * c->o.n_clients;
}

static void mix_client_enter(struct mix_client *c, unsigned int home)
{
	c->in = home;
	snprintf(c->name[OF_HOME], NAME_LEN, "d%05u", home_number(c));
}

static void name_files(struct mix_client *c, unsigned int file)
{
	c->file = file;
	c->len = draw_numbered(&mix_of(c)->sizes, c->o.seed,
			       (uint64_t)home_number(c) * mix_of(c)->files + file);
	snprintf(c->name[OF_FILE], NAME_LEN, "f%05u", file);
	snprintf(c->name[OF_NEW], NAME_LEN, "f%05u.new", file);
	snprintf(c->name[OF_OLD], NAME_LEN, "f%05u.old", file);
}

static unsigned int draw(struct mix_client *c, unsigned int n)
{
	return (unsigned int)(erand48(c->random) * n);
}

static void mix_client_start(struct mix_client *c, unsigned int action)
{
	c->action = action;
	c->at = mix_steps[action];
	c->sent = c->n_listed = c->n_sent = 0;
	c->list_done = false;
}

static struct mix_part *mix_client_of(struct script *s)
{
	_Static_assert(offsetof(struct mix_part, s) == 0, "a script is the head of its part");
	return (struct mix_part *)s;
}

static void mix_client_begin(struct mix_client *c, const struct store *store, unsigned int action)
{
	c->store = store;
	c->failed = c->curing = false;
	mix_client_start(c, action);
}

static bool makes_set(const struct mix_client *c)
{
	return !mix_of(c)->shared || !c->o.number;
}

static int mix_client_begin_make(struct script *s, const struct store *store)
{
	struct mix_client *c = mix_client_of(s)->c;

	if (mix_client_of(s)->begun)
		return SCRIPT_END;
	mix_client_of(s)->begun = true;
	mix_client_enter(c, 0);
	mix_client_begin(c, store, makes_set(c) && !c->o.exists ? MAKE : FIND);
	return 0;
}

static int begin_use(struct script *s, const struct store *store)
{
	struct mix_client *c = mix_client_of(s)->c;
	unsigned int at = draw(c, c->weights), action = 0;

	while (at >= mix_of(c)->weight[action])
		at -= mix_of(c)->weight[action++];
	mix_client_enter(c, draw(c, c->n_homes));
	if (mix_of(c)->files)
		name_files(c, draw_popular(mix_of(c)->files, mix_of(c)->zipf, c->random));
	mix_client_begin(c, store, action);
	return (int)action;
}

/* The next directory from here on that is to be removed; false: there is none. */
static bool clear_from(struct mix_client *c, unsigned int home)
{
	while (home < c->n_homes && !c->home[home].there)
		home++;
	if (home == c->n_homes)
		return false;
	mix_client_enter(c, home);
	name_files(c, 0);
	if (home_of(c)->dirty)
		mix_client_start(c, mix_of(c)->files ? CLEAR_ALL : CLEAR_TEMP);
	else
		mix_client_start(c, mix_of(c)->files ? CLEAR : CLEAR_HOME);
	return true;
}

static int begin_remove(struct script *s, const struct store *store)
{
	struct mix_client *c = mix_client_of(s)->c;

	if (mix_client_of(s)->begun || !makes_set(c) || !clear_from(c, 0))
		return SCRIPT_END;
	mix_client_of(s)->begun = true;
	mix_client_begin(c, store, c->action);
	return 0;
}

/* Another file of the directory, with the same steps; false: there is none. */
static bool next_file(struct mix_client *c)
{
	if (c->file + 1 >= mix_of(c)->files)
		return false;
	name_files(c, c->file + 1);
	mix_client_start(c, c->action);
	return true;
}

/* Another directory, with these steps; false: there is none. */
static bool next_home(struct mix_client *c, unsigned int action)
{
	if (c->in + 1 >= c->n_homes)
		return false;
	mix_client_enter(c, c->in + 1);
	mix_client_start(c, action);
	return true;
}

/* After the last step: what follows in the same script's action. false: it is complete. */
static bool mix_client_go_further(struct mix_client *c)
{
	switch (c->action) {
	case MAKE:
	case MAKE_MORE:
		if (!mix_of(c)->files)
			return next_home(c, MAKE_MORE);
		name_files(c, 0);
		mix_client_start(c, MAKE_FILES);
		return true;
	case MAKE_FILES:
		return next_file(c) || next_home(c, MAKE_MORE);
	case FIND:
	case FIND_MORE:
		return next_home(c, FIND_MORE);
	case CLEAR:
	case CLEAR_ALL:
		if (!next_file(c))
			mix_client_start(c, home_of(c)->dirty ? CLEAR_TEMP : CLEAR_HOME);
		return true;
	case CLEAR_TEMP:
		mix_client_start(c, CLEAR_HOME);
		return true;
	case CLEAR_HOME:
		return clear_from(c, c->in + 1);
	default:
		return false;
	}
}

/* ---- requests ---- */

static bool moves_data(const struct mix_step *step)
{
	return step->verb == STORE_READ || step->verb == STORE_WRITE;
}

static uint64_t mix_client_chunk(const struct mix_client *c, enum store_verb verb)
{
	uint64_t most = verb == STORE_READ ? c->store->chunk_read : c->store->chunk_write;

	return mix_of(c)->request_len < most ? mix_of(c)->request_len : most;
}

static bool is_scattered(const struct mix_client *c)
{
	return c->action == MIX_RANDOM_READ || c->action == MIX_RANDOM_WRITE;
}

/* Whether all requests of the step under way, which moves data, were sent. */
static bool all_is_sent(const struct mix_client *c)
{
	return is_scattered(c) ? c->n_sent >= mix_of(c)->requests : c->sent >= c->len;
}

/* Whether the step under way has another request. */
static bool mix_client_has_more(const struct mix_client *c)
{
	if (c->at->verb == N_STORE_VERBS || (c->failed && !c->curing))
		return false;
	if (moves_data(c->at))
		return !all_is_sent(c) && c->n_lent < mix_of(c)->window;
	return !c->n_lent;
}

static struct store_dir dir_of(struct mix_client *c, enum mix_name name)
{
	if (name == OF_BASE)
		return c->store->root[0];
	return name == OF_HOME ? c->base : home_of(c)->dir;
}

static void fill_data(struct mix_client *c, struct store_op *op)
{
	uint64_t most = mix_client_chunk(c, op->verb), at = c->sent;

	/* One of the places at whole requests from the file's begin. */
	if (is_scattered(c) && c->len > most)
		at = (uint64_t)(erand48(c->random) * (double)(c->len / most)) * most;
	else if (is_scattered(c))
		at = 0;
	op->offset = at;
	op->len = c->len - at < most ? c->len - at : most;
	c->n_sent++;
	op->buf = c->o.data->in + c->o.sink * c->o.data->len;
	op->data = c->o.data->out;
	op->discard = c->store->discard_from && op->len >= c->store->discard_from;
	c->sent += op->len;
}

static struct store_op *mix_client_next(struct script *s)
{
	struct mix_client *c = mix_client_of(s)->c;
	const struct mix_step *step = c->at;
	struct mix_request *r = c->request;
	struct store_op *op = &r->op;

	if (!mix_client_has_more(c))
		return NULL;
	while (r->lent)
		r++;
	op = &r->op;
	*op = (struct store_op) { .verb = step->verb,
				  .dir = dir_of(c, step->name),
				  .to_dir = home_of(c)->dir,
				  .name = step->name == OF_BASE ? c->o.base : c->name[step->name],
				  .to_name = c->name[step->to],
				  .file = c->opened,
				  .how = step->how };
	if (moves_data(step))
		fill_data(c, op);
	if (step->verb == STORE_LIST) {
		op->dir = home_of(c)->dir;
		op->offset = c->n_listed;
		op->buf = c->list;
		op->len = STORE_LIST_LEN;
		op->with_attrs = true;
	}
	r->lent = true;
	c->n_lent++;
	return op;
}

/* ---- answers ---- */

static void mix_client_note(struct mix_client *c, const struct store_op *op)
{
	switch (op->verb) {
	case STORE_LOOKUP:
	case STORE_MKDIR:
		if (c->at->name == OF_BASE)
			c->base = op->made;
		else
			*home_of(c) = (struct mix_home) { op->made, true, false };
		break;
	case STORE_OPEN:
		c->opened = op->opened;
		c->open = true;
		break;
	case STORE_LIST:
		c->n_listed += op->done;
		break;
	default:
		break;
	}
}

/* Whether a request names what it is about; the others are about what is open. */
static bool mix_client_has_name(const struct store_op *op)
{
	return op->verb <= STORE_OPEN || op->verb == STORE_RENAME || op->verb == STORE_LOOKUP;
}

/* Whether op's answer is what its step needs; if not, why. */
static bool is_good(struct mix_client *c, const struct store_op *op, struct err *e)
{
	char name[64];

	if (op->verb == STORE_LIST && op->result == STORE_NONE) {
		c->list_done = true;
		if (c->n_listed >= mix_of(c)->files)
			return true;
		err_set(e, -EIO, "%s: listed %llu entries of a directory with %u files", op->what,
			(unsigned long long)c->n_listed, mix_of(c)->files);
		return false;
	}
	if (op->result == STORE_OK && (op->verb != STORE_LIST || op->done))
		return true;
	if (mix_client_has_name(op))
		snprintf(name, sizeof(name), "%s", op->name);
	else
		snprintf(name, sizeof(name), "%s/%s", c->name[OF_HOME], c->name[OF_FILE]);
	load_explain(op, name, e);
	return false;
}

/* The step is complete when all its requests are answered and it has no more. */
static bool mix_client_is_complete(const struct mix_client *c)
{
	if (c->n_lent)
		return false;
	if (moves_data(c->at))
		return all_is_sent(c);
	return c->at->verb != STORE_LIST || c->list_done;
}

/* An action has failed, and nothing of it is in flight: to close, to cure, or its end. */
static void cure(struct mix_client *c)
{
	static const struct mix_step nothing = { .verb = N_STORE_VERBS };

	c->curing = true;
	if (c->open)
		c->at = &mix_close;
	else
		c->at = c->action < N_MIX_ACTIONS ? mix_cures[c->action] : &nothing;
}

/* Steps without a request are passed over: data of files that are empty. */
static void mix_client_pass_over(struct mix_client *c)
{
	while (moves_data(c->at) && !c->len)
		c->at++;
}

static enum script_state mix_client_answered(struct script *s, struct store_op *op, struct err *e)
{
	struct mix_client *c = mix_client_of(s)->c;
	bool was_open = c->open;

	((struct mix_request *)op)->lent = false;
	c->n_lent--;
	if (op->result == STORE_OK || op->result == STORE_SHORT)
		s->bytes += moves_data(&(struct mix_step) { .verb = op->verb }) ? op->done : 0;
	if (op->verb == STORE_CLOSE)
		c->open = false;
	if (op->result == STORE_OK)
		mix_client_note(c, op);
	if (!c->at->any && !c->failed && !is_good(c, op, &c->why)) {
		c->failed = true;
		home_of(c)->dirty = true;
	}
	if (c->failed && !c->curing) {
		if (c->n_lent)
			return SCRIPT_GOES_ON;
		cure(c);
	} else if (c->at == &mix_close) {
		if (was_open)
			cure(c);
	} else if (mix_client_is_complete(c)) {
		c->at++;
		c->sent = c->n_sent = 0;
		mix_client_pass_over(c);
	}
	if (c->at->verb != N_STORE_VERBS || (!c->failed && mix_client_go_further(c)))
		return SCRIPT_GOES_ON;
	if (!c->failed)
		return SCRIPT_DONE;
	*e = c->why;
	return SCRIPT_FAILED;
}

/* ---- making ---- */

struct mix_client *mix_client_new(const struct mix_client_opts *o)
{
	static const struct script_type types[] = {
		{ mix_client_begin_make, mix_client_next, mix_client_answered },
		{ begin_use, mix_client_next, mix_client_answered },
		{ begin_remove, mix_client_next, mix_client_answered },
	};
	struct mix_client *c = calloc(1, sizeof(*c) + o->mix->window * sizeof(c->request[0]));

	_Static_assert(offsetof(struct mix_request, op) == 0, "an op is the head of its request");
	if (!c)
		return NULL;
	c->o = *o;
	c->make = (struct mix_part) { { &types[0], 0 }, c, false };
	c->use = (struct mix_part) { { &types[1], 0 }, c, false };
	c->remove = (struct mix_part) { { &types[2], 0 }, c, false };
	pace_seed(c->random, o->seed, o->number);
	for (size_t i = 0; i < N_MIX_ACTIONS; i++)
		c->weights += o->mix->weight[i];
	snprintf(c->name[OF_TEMP], NAME_LEN, "t%05u", o->number);
	snprintf(c->name[OF_TEMP_NEW], NAME_LEN, "t%05u.new", o->number);
	c->n_homes = homes_of(o);
	c->home = calloc(c->n_homes, sizeof(*c->home));
	if (o->mix->weight[MIX_LIST])
		c->list = malloc(STORE_LIST_LEN);
	if (c->home && (c->list || !o->mix->weight[MIX_LIST]))
		return c;
	mix_client_free(c);
	return NULL;
}

void mix_client_free(struct mix_client *c)
{
	if (c) {
		free(c->home);
		free(c->list);
	}
	free(c);
}

struct script *mix_client_make(struct mix_client *c)
{
	return &c->make.s;
}

struct script *mix_client_use(struct mix_client *c)
{
	return c->weights ? &c->use.s : NULL;
}

struct script *mix_client_remove(struct mix_client *c)
{
	return &c->remove.s;
}
