/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "work/mix/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME "probe"
#define BUFFER    (2 * PROBE_LEN) /* where blocks are longer, a READ needs room for one */

/* The requests of each action, one after the other. */
static const enum store_verb steps[][6] = {
	[PROBE_STAT] = { STORE_PROBE, N_STORE_VERBS },
	[PROBE_READ] = { STORE_OPEN, STORE_READ, STORE_CLOSE, N_STORE_VERBS },
	[PROBE_WRITE] = { STORE_OPEN, STORE_WRITE, STORE_CLOSE, N_STORE_VERBS },
	[N_PROBE_ACTIONS] = { STORE_LOOKUP, STORE_CREATE, STORE_OPEN, STORE_WRITE, STORE_CLOSE,
			      N_STORE_VERBS },
	[N_PROBE_ACTIONS + 1] = { STORE_DELETE, N_STORE_VERBS },
};

#define MAKE   N_PROBE_ACTIONS
#define REMOVE (N_PROBE_ACTIONS + 1)

/* One of the three. */
struct probe_part {
	struct script s;
	struct probe *probe;
	unsigned int action; /* the next one */
	bool once, done;
};

struct probe {
	struct probe_part make, use, remove;
	const struct store *store;
	const char *base;
	struct store_dir dir;
	struct store_file file;
	unsigned int action, step; /* of the one under way */
	bool has_dir, lent, open, failed;
	struct err why; /* it failed; other answers come before the action's end */
	struct store_op op;
	void *buffer;
};

const char *probe_action_name(unsigned int a)
{
	static const char *const names[N_PROBE_ACTIONS] = {
#define X(name, key) [PROBE_##name] = key,
		PROBE_ACTIONS(X)
#undef X
	};

	return names[a];
}

static struct probe_part *mix_probe_of(struct script *s)
{
	_Static_assert(offsetof(struct probe_part, s) == 0, "a script is the head of its part");
	return (struct probe_part *)s;
}

static int mix_probe_begin(struct script *s, const struct store *store)
{
	struct probe_part *part = mix_probe_of(s);
	struct probe *p = part->probe;

	if (part->done || (part->action == REMOVE && !p->has_dir))
		return SCRIPT_END;
	p->store = store;
	p->action = part->action;
	p->step = 0;
	p->failed = false;
	part->done = part->once;
	if (part->once)
		return 0;
	part->action = (part->action + 1) % N_PROBE_ACTIONS;
	return (int)p->action;
}

static struct store_op *mix_probe_next(struct script *s)
{
	struct probe *p = mix_probe_of(s)->probe;
	enum store_verb verb = steps[p->action][p->step];
	const bool reads = p->action == PROBE_READ;

	if (p->lent || verb == N_STORE_VERBS)
		return NULL;
	p->op = (struct store_op) {
		.verb = verb,
		.dir = verb == STORE_LOOKUP ? p->store->root[0] : p->dir,
		.name = verb == STORE_LOOKUP ? p->base : FILE_NAME,
		.file = p->file,
		.how = verb != STORE_OPEN ? 0
		       : reads            ? STORE_FOR_READ
					  : STORE_FOR_READ | STORE_FOR_WRITE,
		.len = PROBE_LEN,
		.buf = p->buffer,
		.data = p->buffer,
	};
	p->lent = true;
	return &p->op;
}

/* An answer that is not the one needed. What is open is closed before the action ends. */
static void mix_probe_fail(struct probe *p)
{
	err_set(&p->why, -EIO, "probe: %s of %s: %s (%d)", p->op.what, p->op.name,
		p->op.why ? p->op.why : "not what was expected", p->op.code);
	p->failed = true;
	while (steps[p->action][p->step] != (p->open ? STORE_CLOSE : N_STORE_VERBS))
		p->step++;
}

static enum script_state mix_probe_answered(struct script *s, struct store_op *op, struct err *e)
{
	struct probe *p = mix_probe_of(s)->probe;
	enum store_verb verb = op->verb;

	p->lent = false;
	p->step++;
	if (verb == STORE_CLOSE)
		p->open = false;
	if (p->op.result != STORE_OK && !p->failed &&
	    !(verb == STORE_CREATE && p->op.result == STORE_EXISTS)) { /* of a probe before */
		mix_probe_fail(p);
	} else if (verb == STORE_LOOKUP) {
		p->dir = p->op.made;
		p->has_dir = true;
	} else if (verb == STORE_OPEN) {
		p->file = p->op.opened;
		p->open = true;
	} else if (verb == STORE_READ || verb == STORE_WRITE) {
		s->bytes += p->op.done;
	}
	if (steps[p->action][p->step] != N_STORE_VERBS)
		return SCRIPT_GOES_ON;
	if (!p->failed)
		return SCRIPT_DONE;
	*e = p->why;
	return SCRIPT_FAILED;
}

struct probe *probe_new(const char *base)
{
	static const struct script_type type = { .begin = mix_probe_begin,
						 .next = mix_probe_next,
						 .answered = mix_probe_answered };
	struct probe *p = calloc(1, sizeof(*p));

	if (!p || posix_memalign(&p->buffer, PROBE_LEN, BUFFER)) {
		free(p);
		return NULL;
	}
	memset(p->buffer, 'p', BUFFER);
	p->make = (struct probe_part) { { .type = &type }, p, MAKE, true, false };
	p->use = (struct probe_part) { { .type = &type }, p, 0, false, false };
	p->remove = (struct probe_part) { { .type = &type }, p, REMOVE, true, false };
	p->base = base;
	return p;
}

void probe_free(struct probe *p)
{
	if (!p)
		return;
	free(p->buffer);
	free(p);
}

struct script *probe_make(struct probe *p)
{
	p->make.done = p->lent = p->open = false; /* also in a new session */
	return &p->make.s;
}

struct script *probe_use(struct probe *p)
{
	return &p->use.s;
}

struct script *probe_remove(struct probe *p)
{
	return &p->remove.s;
}
