/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one client of a mix does: an action is a list of steps, one request each, but those that
 * move data or list a directory, which are many requests. If a request fails, what is open is
 * closed, the action's cure is carried out, and the action has failed; the next one finds the set
 * as it should be, or the mark that it may not be, which only costs requests at the end.
 */
#include "load/load.h"
#include "load/pace.h"
#include "work/mix/mix_client_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- choosing ---- */

/* Client i of N owns the directories i, i + N, ...; a shared set is directory 0. */
static unsigned int homes_of(const struct mix_client_opts *o)
{
	if (o->mix->shared || o->number >= o->n_dirs)
		return o->mix->shared;
	return (o->n_dirs - o->number + o->n_clients - 1) / o->n_clients;
}

static void mix_client_enter(struct mix_client *c, unsigned int home)
{
	if (home == c->in && *c->name[OF_HOME])
		return;
	c->in = home;
	snprintf(c->name[OF_HOME], NAME_LEN, "d%05u", home_number(c));
}

static void name_files(struct mix_client *c, unsigned int file)
{
	c->file = file;
	c->len = mix_file_len(mix_of(c), c->o.seed, file_number(c));
	snprintf(c->name[OF_FILE], NAME_LEN, "f%05u", file);
	stpcpy(stpcpy(c->name[OF_NEW], c->name[OF_FILE]), ".new");
	stpcpy(stpcpy(c->name[OF_OLD], c->name[OF_FILE]), ".old");
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
	memset(c->search_at, 0, sizeof(c->search_at));
	mix_files_begin(c);
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
	if (action == MIX_LOGIN || action == MIX_LOGOUT)
		action = c->logged_in ? MIX_LOGOUT : MIX_LOGIN;
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

static int begin_verify(struct script *s, const struct store *store)
{
	struct mix_client *c = mix_client_of(s)->c;

	while (c->verify_home < c->n_homes && makes_set(c)) {
		mix_client_enter(c, c->verify_home);
		if (home_of(c)->there && c->verify_file < mix_of(c)->files) {
			name_files(c, c->verify_file++);
			c->verified.n_files++;
			mix_client_begin(c, store, VERIFY);
			return MIX_READ;
		}
		c->verify_home++;
		c->verify_file = 0;
	}
	return SCRIPT_END;
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
	mix_files_keep(c);
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

/* Data of the file itself. */
static bool moves_data(const struct mix_step *step)
{
	return (step->verb == STORE_READ || step->verb == STORE_WRITE) && !(step->how & STORE_RSRC);
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
	if (c->action == MIX_LOCK)
		return c->n_sent >= 1;
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

/* One of the places at whole requests from the file's begin. */
static uint64_t place_of(struct mix_client *c, uint64_t most)
{
	if (c->len <= most)
		return 0;
	return (uint64_t)(erand48(c->random) * (double)(c->len / most)) * most;
}

static void fill_data(struct mix_client *c, struct mix_request *r)
{
	struct store_op *op = &r->op;
	uint64_t most = mix_client_chunk(c, op->verb), at = c->sent;

	if (is_scattered(c))
		at = place_of(c, most);
	if (c->action == MIX_LOCK)
		at = c->place;
	op->offset = at;
	op->len = c->len - at < most ? c->len - at : most;
	c->n_sent++;
	if (op->verb == STORE_WRITE)
		mix_files_fill(c, r);
	op->data = r->own;
	op->buf = mix_of(c)->verify ? r->own : c->o.data->in + c->o.sink * c->o.data->len;
	op->discard = !mix_of(c)->verify && c->store->discard_from &&
		      op->len >= c->store->discard_from;
	c->sent += op->len;
}

/* A lock, and what a Mac keeps beside the data of a file that TextEdit has saved. */
static void fill_other(struct mix_client *c, struct store_op *op)
{
	static const char encoding[] = "utf-8;134217984";
	static const uint8_t finder[STORE_FINDER_LEN] = "TEXTttxt";
	static const uint8_t resources[286]; /* the length of an empty resource map */
	uint64_t most = mix_client_chunk(c, STORE_READ);

	switch (op->verb) {
	case STORE_LOCK:
		c->place = place_of(c, most);
		/* fall through */
	case STORE_UNLOCK:
		op->offset = c->place;
		op->len = c->len - c->place < most ? c->len - c->place : most;
		break;
	case STORE_SET_XATTR:
		op->to_name = "com.apple.TextEncoding";
		op->data = encoding;
		op->len = sizeof(encoding) - 1;
		break;
	case STORE_SET_FINDER:
		op->data = finder;
		break;
	case STORE_WRITE:
		op->data = resources;
		op->len = sizeof(resources);
		break;
	default:
		break;
	}
}

/* Asks for entries, in as many requests as it takes. */
static bool mix_client_lists(const struct mix_step *step)
{
	return step->verb == STORE_LIST || step->verb == STORE_SEARCH;
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
		fill_data(c, r);
	else
		fill_other(c, op);
	if (mix_client_lists(step)) {
		op->dir = home_of(c)->dir;
		op->offset = c->n_listed;
		memcpy(op->place, c->search_at, sizeof(op->place));
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
	default:
		break;
	}
}

/* Whether a request names what it is about; the others are about what is open. */
static bool mix_client_has_name(const struct store_op *op)
{
	return op->verb <= STORE_OPEN || op->verb == STORE_RENAME || op->verb == STORE_LOOKUP ||
	       op->verb == STORE_SEARCH;
}

/* The end of a list or search: whether what is there was in it. */
static bool has_listed(struct mix_client *c, const struct store_op *op, struct err *e)
{
	const bool searched = op->verb == STORE_SEARCH;
	const unsigned int least = searched ? 1 : mix_of(c)->files;

	c->list_done = true;
	if (c->n_listed >= least)
		return true;
	if (searched)
		err_set(e, -EIO, "%s: did not find %s, which is there", op->what, op->name);
	else
		err_set(e, -EIO, "%s: listed %llu entries of a directory with %u files", op->what,
			(unsigned long long)c->n_listed, least);
	return false;
}

/* Whether op's answer is what its step needs; if not, why. */
static bool is_good(struct mix_client *c, const struct store_op *op, struct err *e)
{
	char name[64];

	if (mix_client_lists(c->at) && op->result == STORE_NONE)
		return has_listed(c, op, e);
	if (op->result == STORE_OK && op->verb == STORE_READ && mix_of(c)->verify)
		return mix_files_compare(c, op);
	if (op->result == STORE_OK && (op->verb != STORE_LIST || op->done))
		return true;
	if (op->verb == STORE_LOGIN || op->verb == STORE_LOGOUT) {
		err_set(e, LOAD_REFUSED, "%s: %s", op->what, op->why);
		return false;
	}
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
	return !mix_client_lists(c->at) || c->list_done;
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

/* Steps without a request are passed over: data of files that are empty, and locks of them, as
 * there is none of 0 bytes. */
static void mix_client_pass_over(struct mix_client *c)
{
	while (!c->len &&
	       (moves_data(c->at) || c->at->verb == STORE_LOCK || c->at->verb == STORE_UNLOCK))
		c->at++;
}

/* Another client has the range: the action is over without it. */
static bool meets_lock(struct mix_client *c, const struct store_op *op)
{
	return c->at->verb == STORE_LOCK && op->result == STORE_LOCKED && !c->failed;
}

static void leave_lock(struct mix_client *c)
{
	mix_client_of(&c->use.s)->s.contended++;
	while (c->at->verb != STORE_CLOSE)
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
	if (op->verb == STORE_LOGIN || op->verb == STORE_LOGOUT)
		c->logged_in = op->verb == STORE_LOGIN && op->result == STORE_OK;
	if (op->result == STORE_OK)
		mix_client_note(c, op);
	if (mix_client_lists(c->at)) {
		c->n_listed += op->done;
		memcpy(c->search_at, op->place, sizeof(c->search_at));
	}
	if (meets_lock(c, op)) {
		leave_lock(c);
		return SCRIPT_GOES_ON;
	}
	if (!c->at->any && !c->failed && !is_good(c, op, &c->why)) {
		c->failed = true;
		c->verified.n_wrong += c->action == VERIFY;
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
		{ .begin = mix_client_begin_make,
		  .next = mix_client_next,
		  .answered = mix_client_answered },
		{ .begin = begin_use, .next = mix_client_next, .answered = mix_client_answered },
		{ .begin = begin_remove, .next = mix_client_next, .answered = mix_client_answered },
		{ .begin = begin_verify, .next = mix_client_next, .answered = mix_client_answered },
	};
	struct mix_client *c = calloc(1, sizeof(*c) + o->mix->window * sizeof(c->request[0]));
	bool lists;

	_Static_assert(offsetof(struct mix_request, op) == 0, "an op is the head of its request");
	if (!c)
		return NULL;
	c->o = *o;
	c->make = (struct mix_part) { { .type = &types[0] }, c, false };
	c->use = (struct mix_part) { { .type = &types[1] }, c, false };
	c->remove = (struct mix_part) { { .type = &types[2] }, c, false };
	c->verify = (struct mix_part) { { .type = &types[3] }, c, false };
	c->content = (struct mix_content) { o->seed, o->mix->compressible, o->mix->duplicate };
	pace_seed(c->random, o->seed, o->number);
	for (size_t i = 0; i < N_MIX_ACTIONS; i++)
		c->weights += o->mix->weight[i];
	snprintf(c->name[OF_TEMP], NAME_LEN, "t%05u", o->number);
	snprintf(c->name[OF_TEMP_NEW], NAME_LEN, "t%05u.new", o->number);
	c->n_homes = homes_of(o);
	c->home = calloc(c->n_homes, sizeof(*c->home));
	lists = o->mix->weight[MIX_LIST] || o->mix->weight[MIX_SEARCH];
	if (lists)
		c->list = malloc(STORE_LIST_LEN);
	if (c->home && mix_files_new(c) && (c->list || !lists))
		return c;
	mix_client_free(c);
	return NULL;
}

void mix_client_free(struct mix_client *c)
{
	if (c) {
		mix_files_free(c);
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

struct script *mix_client_verify(struct mix_client *c)
{
	return mix_of(c)->verify ? &c->verify.s : NULL;
}

void mix_client_add_verified(const struct mix_client *c, struct mix_verified *to)
{
	to->n_files += c->verified.n_files;
	to->n_wrong += c->verified.n_wrong;
	to->bytes += c->verified.bytes;
}

struct script *mix_client_remove(struct mix_client *c)
{
	return &c->remove.s;
}
