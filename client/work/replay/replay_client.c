/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one client of a replay sends, and whether it is answered as in the recording. A request is
 * one request again, but a read or write that is longer than the store takes, and a listing by
 * paths, for which the directory is looked up.
 */
#include "work/replay/replay_client_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MOST_NS 10000000000u /* for a request of another client */
#define MODIFIED_S   1700000000u  /* what files are said to be from */
#define LIST_MOST    (4u << 20)   /* bytes of a reply that are taken, at most */
#define LATE_NS      1000000u     /* a delay that counts */

static const uint8_t no_finder_data[STORE_FINDER_LEN];

const char *replay_outcome_text(enum replay_outcome o)
{
	static const char *const text[REPLAY_N_OUTCOMES] = {
#define X(name, text) text,
		REPLAY_OUTCOMES(X)
#undef X
	};

	return text[o];
}

static struct replay_client *replay_client_of(struct script *s)
{
	_Static_assert(offsetof(struct replay_client, s) == 0,
		       "a script is the head of its client");
	return (struct replay_client *)s;
}

static bool client_fails(enum store_result r)
{
	return r != STORE_OK && r != STORE_SHORT;
}

static void client_note_outcome(struct replay_client *c, const struct replay_step *s,
				enum replay_outcome o)
{
	const bool moves = s->verb == STORE_READ || s->verb == STORE_WRITE,
		   refused = o == REPLAY_NEW_ERROR || o == REPLAY_UNSENT || o == REPLAY_LACKS ||
			     (o == REPLAY_OTHER_SIZE && moves && c->moved < s->done);

	c->done.n[s->verb][o]++;
	c->done.n_were_done += !client_fails(s->result);
	c->done.n_refused_anew += refused && !client_fails(s->result);
}

/* ---- the next request ---- */

static const struct replay_step *client_step(const struct replay_client *c)
{
	return &c->c->plan->step[c->plan->step[c->at]];
}

static bool client_is_over(const struct replay_client *c)
{
	return c->at >= c->plan->n_steps;
}

static uint64_t client_due(struct script *s)
{
	const struct replay_client *c = replay_client_of(s);

	if (c->work != REPLAY_USE || client_is_over(c))
		return SCRIPT_AT_ONCE;
	if (c->c->plan->o.no_think) /* a copy begins later all the same */
		return c->at || !c->c->later_ns ? SCRIPT_AT_ONCE : c->c->later_ns;
	return client_step(c)->due_ns + c->c->later_ns;
}

/* It has done something, or waits itself: the others wait for it, also if they had given it up. */
static void client_is_there(const struct replay_client *c)
{
	atomic_uint *progress = &c->c->progress[c->number];
	const uint32_t next = atomic_load_explicit(progress, memory_order_relaxed) + 1;

	atomic_store_explicit(progress, next == REPLAY_NONE ? 0 : next, memory_order_relaxed);
}

/* A request of another client is not due yet: it began later in the recording than the one that
 * waits for it, but was answered before that one. */
static bool client_is_ahead_of(const struct replay_client *c, uint32_t need, uint64_t waited_ns)
{
	const struct replay_plan *p = c->c->plan;

	return !p->o.no_think && p->step[need].due_ns > client_step(c)->due_ns + waited_ns;
}

/* Whether a request of another client is still to be waited for: not if that does nothing any more,
 * though it has something to do. */
static bool client_waits(struct replay_client *c, uint32_t need, uint64_t waited_ns)
{
	atomic_uint *progress = &c->c->progress[c->c->plan->step[need].client];
	const uint32_t now = atomic_load_explicit(progress, memory_order_relaxed);

	if (now == REPLAY_NONE)
		return false;
	if (!c->waited || c->awaited != need || c->seen != now ||
	    client_is_ahead_of(c, need, waited_ns)) {
		c->done.n_waited += !c->waited;
		c->waited = true;
		c->awaited = need;
		c->seen = now;
		c->seen_ns = waited_ns;
	}
	if (waited_ns - c->seen_ns < WAIT_MOST_NS)
		return true;
	atomic_store_explicit(progress, REPLAY_NONE, memory_order_relaxed);
	return false;
}

static bool client_may_begin(struct script *s, uint64_t waited_ns)
{
	struct replay_client *c = replay_client_of(s);
	const struct replay_plan *p = c->c->plan;
	const struct replay_step *step;
	bool unordered = false;
	uint32_t need;

	if (c->work != REPLAY_USE || client_is_over(c))
		return true;
	step = client_step(c);
	for (uint32_t i = 0; i < step->n_needs; i++) {
		need = p->need[step->first_need + i];
		if (atomic_load_explicit(&c->c->answered[need], memory_order_acquire))
			continue;
		if (client_waits(c, need, waited_ns)) {
			client_is_there(c);
			return false;
		}
		unordered = true;
	}
	c->done.n_unordered += unordered;
	return true;
}

/* Its answer is known, or there will be none. */
static void client_pass(struct replay_client *c)
{
	atomic_store_explicit(&c->c->answered[c->plan->step[c->at]], 1, memory_order_release);
	client_is_there(c);
	c->at++;
	c->waited = false;
}

static bool client_names(struct replay_client *c, const struct replay_step *s)
{
	const uint32_t step = c->plan->step[c->at];

	if (c->by_id)
		return replay_client_again(c, s);
	if (s->attr != REPLAY_NONE) {
		replay_attr_name(c->name[1], &c->c->plan->attr[s->attr]);
		c->op.to_name = c->name[1];
	}
	if (s->dir == REPLAY_NONE)
		return true;
	if (s->verb == STORE_LIST) {
		if (s->object == REPLAY_NONE)
			return false;
		return replay_client_name(c, s->object, REPLAY_NONE, step, &c->op.dir, &c->op.name,
					  c->name[0]);
	}
	if (!replay_client_name(c, s->dir, s->slot, step, &c->op.dir, &c->op.name, c->name[0]))
		return false;
	return s->to_dir == REPLAY_NONE ||
	       replay_client_name(c, s->to_dir, s->to_slot, step, &c->op.to_dir, &c->op.to_name,
				  c->name[1]);
}

static void client_prepare_reply(struct replay_client *c)
{
	c->op.buf = c->list;
	c->op.len = c->list_len - (c->by_id ? 0 : STORE_XATTR_HEAD);
}

/* By paths a directory is looked up before it is listed from its begin. */
static void client_prepare_list(struct replay_client *c, const struct replay_step *s)
{
	c->op.offset = s->offset;
	c->op.with_attrs = s->with_attrs;
	c->looks_up = !c->by_id && (!s->offset || c->listed_object != s->object);
	if (c->looks_up)
		c->op.verb = STORE_LOOKUP;
	else if (!c->by_id)
		c->op.dir = c->listed;
}

static bool client_prepare_file(struct replay_client *c, const struct replay_step *s)
{
	if (s->file == REPLAY_NONE || !c->file[s->file].open)
		return false;
	c->op.file = c->file[s->file].file;
	c->again.fork = (uint16_t)c->op.file.id;
	c->op.offset = s->offset;
	c->op.len = s->len;
	if ((s->verb == STORE_LOCK || s->verb == STORE_UNLOCK) &&
	    (s->offset > REPLAY_LAST_BYTE || s->len > REPLAY_LAST_BYTE - s->offset))
		c->op.len = s->offset > REPLAY_LAST_BYTE ? 1 : REPLAY_LAST_BYTE - s->offset;
	return true;
}

/* false: it cannot be sent. */
static bool client_prepare(struct replay_client *c, const struct replay_step *s)
{
	c->op = (struct store_op) { .verb = s->verb, .how = s->how };
	c->moved = c->begun_ns = 0;
	c->looks_up = c->closes = false;
	if (!client_names(c, s))
		return false;
	switch (s->verb) {
	case STORE_LIST:
		client_prepare_reply(c);
		client_prepare_list(c, s);
		return true;
	case STORE_SEARCH:
	case STORE_ROOM:
	case STORE_GET_XATTR:
	case STORE_LIST_XATTRS:
	case STORE_OTHER:
		client_prepare_reply(c);
		return true;
	case STORE_SET_XATTR:
		c->op.data = c->c->data;
		c->op.len = s->len;
		return s->len <= c->c->data_len;
	case STORE_CLOSE:
	case STORE_LENGTH:
	case STORE_SET_LEN:
	case STORE_FLUSH:
	case STORE_LOCK:
	case STORE_UNLOCK:
		return client_prepare_file(c, s);
	case STORE_READ:
	case STORE_WRITE:
		return client_prepare_file(c, s) && replay_client_move(c, s->offset, s->len);
	case STORE_MKDIR:
		c->op.how = c->by_id ? 0 : STORE_UNUSED;
		return true;
	case STORE_SET_MODE:
		if (c->c->for_all) /* others work there who now are other users */
			c->op.how |= s->how & 0111 ? REPLAY_DIR_FOR_ALL : REPLAY_FILE_FOR_ALL;
		return true;
	case STORE_SET_TIME:
		c->op.offset = MODIFIED_S;
		return true;
	case STORE_SET_FINDER:
		c->op.data = no_finder_data;
		return true;
	default:
		return true;
	}
}

static bool client_lacks(const struct replay_client *c, const struct replay_step *s)
{
	return !c->by_id && s->verb == STORE_OPEN && s->how & STORE_RSRC;
}

static int client_begin_request(struct replay_client *c)
{
	const struct replay_step *s;

	if (client_is_over(c))
		return SCRIPT_END;
	s = client_step(c);
	if (!client_lacks(c, s) && client_prepare(c, s))
		return s->verb;
	client_note_outcome(c, s, client_lacks(c, s) ? REPLAY_LACKS : REPLAY_UNSENT);
	client_pass(c);
	return SCRIPT_LATER;
}

static int client_begin_close(struct replay_client *c)
{
	while (c->at < c->plan->n_files && !c->file[c->at].open)
		c->at++;
	if (c->at >= c->plan->n_files)
		return c->c->for_all ? replay_copy_begin_dir(c) : SCRIPT_END;
	c->op = (struct store_op) { .verb = STORE_CLOSE, .file = c->file[c->at].file };
	c->file[c->at].open = false;
	return STORE_CLOSE;
}

static int client_begin(struct script *s, const struct store *store)
{
	struct replay_client *c = replay_client_of(s);

	c->store = store;
	c->by_id = store_afp_session((struct store *)(uintptr_t)store) != NULL;
	c->sent = false;
	if (c->work == REPLAY_USE)
		return client_begin_request(c);
	return c->work == REPLAY_FINISH ? client_begin_close(c) : replay_make_begin(c);
}

static struct store_op *client_next(struct script *s)
{
	struct replay_client *c = replay_client_of(s);

	if (c->sent)
		return NULL;
	c->sent = true;
	return c->work <= REPLAY_MAKE_FILES ? replay_make_next(c) : &c->op;
}

/* ---- the answer ---- */

static bool client_other_size(const struct replay_client *c, const struct replay_step *s)
{
	if (s->done == REPLAY_UNKNOWN)
		return false;
	if (s->verb == STORE_READ || s->verb == STORE_WRITE)
		return c->moved != s->done;
	return (s->verb == STORE_LIST || s->verb == STORE_GET_XATTR ||
		s->verb == STORE_LIST_XATTRS) &&
	       c->op.done != s->done;
}

static enum replay_outcome client_outcome(const struct replay_client *c,
					  const struct replay_step *s)
{
	const bool fails = client_fails(c->op.result), failed = client_fails(s->result);

	if (c->op.result == STORE_UNKNOWN && s->result != STORE_UNKNOWN)
		return REPLAY_LACKS;
	if (fails && failed)
		return c->op.result == s->result ? REPLAY_AS_RECORDED : REPLAY_OTHER_ERROR;
	if (fails || failed)
		return fails ? REPLAY_NEW_ERROR : REPLAY_NO_ERROR;
	return client_other_size(c, s) ? REPLAY_OTHER_SIZE : REPLAY_AS_RECORDED;
}

/* "read: 4096 bytes, in the recording 8192" */
static void client_say(struct replay_client *c, const struct replay_step *s, enum replay_outcome o,
		       struct err *e)
{
	const bool moves = s->verb == STORE_READ || s->verb == STORE_WRITE;
	const unsigned long long now = moves ? c->moved : c->op.done;

	if (o == REPLAY_OTHER_SIZE)
		err_set(e, -EIO, "%s: %llu %s, in the recording %llu", store_verb_name(s->verb),
			now, s->verb == STORE_LIST ? "entries" : "bytes",
			(unsigned long long)s->done);
	else if (o == REPLAY_NO_ERROR)
		err_set(e, -EIO, "%s: done, in the recording refused", store_verb_name(s->verb));
	else
		err_set(e, -EIO, "%s: %s", store_verb_name(s->verb),
			c->op.why ? c->op.why : "refused");
	if (!*c->done.first)
		snprintf(c->done.first, sizeof(c->done.first), "%.255s", e->text);
}

/* More of the same request: of a long read or write, a list whose directory was looked up. */
static bool client_goes_on(struct replay_client *c, const struct replay_step *s)
{
	if (c->looks_up && c->op.result == STORE_OK) {
		c->looks_up = false;
		c->listed = c->op.made;
		c->listed_object = s->object;
		c->op.verb = STORE_LIST;
		c->op.dir = c->listed;
		client_prepare_reply(c);
		c->op.offset = s->offset;
		return true;
	}
	if ((s->verb != STORE_READ && s->verb != STORE_WRITE) || client_fails(c->op.result))
		return false;
	c->moved += c->op.done;
	c->s.bytes += c->op.done;
	c->done.read_b += s->verb == STORE_READ ? c->op.done : 0;
	c->done.written_b += s->verb == STORE_WRITE ? c->op.done : 0;
	return c->op.result == STORE_OK && s->len && replay_client_move(c, s->offset, s->len);
}

/* What others need of it: a directory's id, an open file. true: it is closed at once. */
static bool client_keep(struct replay_client *c, const struct replay_step *s)
{
	const bool names = s->verb == STORE_MKDIR ||
			   (c->by_id && (s->verb == STORE_PROBE || s->verb == STORE_LOOKUP));

	if (s->verb == STORE_CLOSE)
		c->file[s->file].open = false;
	if (s->verb == STORE_SEARCH)
		memcpy(c->place, c->op.place, sizeof(c->place));
	if (client_fails(c->op.result))
		return false;
	if (names && s->object != REPLAY_NONE && c->op.made.id)
		atomic_store_explicit(&c->c->id[s->object], c->op.made.id, memory_order_release);
	if (s->verb != STORE_OPEN)
		return false;
	if (s->file != REPLAY_NONE)
		c->file[s->file] = (struct replay_open_file) { c->op.opened, true };
	return s->file == REPLAY_NONE;
}

/* How much later it began than if each request had begun when it was due or the one before had
 * ended. */
static void client_note_delay(struct replay_client *c, const struct replay_step *s)
{
	const uint64_t begin_ns = c->c->begin_ns, begun_ns = c->begun_ns - begin_ns;
	const uint64_t due_ns = s->due_ns + c->c->later_ns;
	const uint64_t ideal_ns = c->ideal_ns > due_ns ? c->ideal_ns : due_ns;
	const uint64_t delay_ns = begun_ns > ideal_ns ? begun_ns - ideal_ns : 0;

	if (!begin_ns || c->begun_ns < begin_ns || c->op.t.last_ns < c->begun_ns)
		return;
	c->ideal_ns = ideal_ns + c->op.t.last_ns - c->begun_ns;
	c->done.n_delayed += delay_ns > LATE_NS;
	if (delay_ns > c->done.delayed_max_ns)
		c->done.delayed_max_ns = delay_ns;
}

static enum script_state client_answered_request(struct replay_client *c, struct err *e)
{
	const struct replay_step *s = client_step(c);
	enum replay_outcome o;

	c->begun_ns = c->begun_ns ? c->begun_ns : c->op.t.begun_ns;
	client_is_there(c); /* also if this was one of many parts */
	if (c->closes) {
		client_note_delay(c, s);
		client_pass(c);
		return SCRIPT_DONE;
	}
	if (client_goes_on(c, s)) {
		c->sent = false;
		return SCRIPT_GOES_ON;
	}
	o = client_outcome(c, s);
	client_note_outcome(c, s, o);
	if (o != REPLAY_AS_RECORDED && o != REPLAY_LACKS)
		client_say(c, s, o, e);
	c->closes = client_keep(c, s);
	if (c->closes) {
		c->op = (struct store_op) { .verb = STORE_CLOSE, .file = c->op.opened };
		c->sent = false;
		return SCRIPT_GOES_ON;
	}
	client_note_delay(c, s);
	client_pass(c);
	return o == REPLAY_NEW_ERROR || o == REPLAY_OTHER_ERROR ? SCRIPT_FAILED : SCRIPT_DONE;
}

static enum script_state client_answered(struct script *s, struct store_op *op, struct err *e)
{
	struct replay_client *c = replay_client_of(s);

	(void)op;
	if (c->work <= REPLAY_MAKE_FILES)
		return replay_make_answered(c, e);
	if (c->work == REPLAY_USE)
		return client_answered_request(c, e);
	c->at++;
	return SCRIPT_DONE;
}

/* ---- the client ---- */

static const struct script_type replay_script = {
	.begin = client_begin,
	.next = client_next,
	.answered = client_answered,
};

/* One that keeps the times of the recording. */
static const struct script_type replay_timed_script = {
	.begin = client_begin,
	.next = client_next,
	.answered = client_answered,
	.due = client_due,
	.may_begin = client_may_begin,
};

struct replay_client *replay_client_new(const struct replay_copy *c, unsigned int number,
					void *sink, size_t sink_len)
{
	struct replay_client *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->c = c;
	r->number = number;
	r->plan = &c->plan->client[number];
	r->sink = sink;
	r->sink_len = sink_len;
	r->listed_object = REPLAY_NONE;
	r->list_len = STORE_LIST_LEN;
	if (r->plan->room_max > r->list_len)
		r->list_len = r->plan->room_max < LIST_MOST ? r->plan->room_max : LIST_MOST;
	r->list_len += REPLAY_LIST_MORE;
	r->file = calloc(r->plan->n_files + 1, sizeof(*r->file));
	r->list = malloc(r->list_len);
	if (r->file && r->list)
		return r;
	replay_client_free(r);
	return NULL;
}

void replay_client_free(struct replay_client *c)
{
	if (!c)
		return;
	free(c->file);
	free(c->list);
	free(c);
}

static struct script *client_script(struct replay_client *c, enum replay_work work)
{
	c->work = work;
	c->at = c->object = c->fill = c->slot = 0;
	c->stage = 0;
	c->ideal_ns = 0;
	c->waited = false;
	c->s.type = work == REPLAY_USE ? &replay_timed_script : &replay_script;
	return &c->s;
}

struct script *replay_client_make_dirs(struct replay_client *c)
{
	return client_script(c, REPLAY_MAKE_DIRS);
}

struct script *replay_client_make_files(struct replay_client *c)
{
	return client_script(c, REPLAY_MAKE_FILES);
}

struct script *replay_client_use(struct replay_client *c)
{
	return client_script(c, REPLAY_USE);
}

struct script *replay_client_finish(struct replay_client *c)
{
	return client_script(c, REPLAY_FINISH);
}

void replay_client_add_done(const struct replay_client *c, struct replay_done *to)
{
	for (unsigned int v = 0; v < N_STORE_VERBS; v++)
		for (unsigned int o = 0; o < REPLAY_N_OUTCOMES; o++)
			to->n[v][o] += c->done.n[v][o];
	to->n_refused_anew += c->done.n_refused_anew;
	to->n_were_done += c->done.n_were_done;
	to->read_b += c->done.read_b;
	to->written_b += c->done.written_b;
	to->n_waited += c->done.n_waited;
	to->n_unordered += c->done.n_unordered;
	to->n_delayed += c->done.n_delayed;
	if (c->done.delayed_max_ns > to->delayed_max_ns)
		to->delayed_max_ns = c->done.delayed_max_ns;
	if (!*to->first)
		snprintf(to->first, sizeof(to->first), "%s", c->done.first);
}
