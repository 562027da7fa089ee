/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one client does: a load is a list of steps, one request each, but those that move data or
 * list a directory, which are many. If a request fails, what is open is closed and the action has
 * failed; the next file follows.
 */
#include "load/load.h"
#include "work/pattern.h"
#include "work/smallfile/smallfile_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE  4096u
#define MODES 2 /* of CHMOD, in turn */

/* ---- steps ---- */

/* clang-format off */
#define END		 { .verb = N_STORE_VERBS }
#define OPEN(flags)	 { .verb = STORE_OPEN, .how = flags }
#define WRITABLE	 (STORE_FOR_READ | STORE_FOR_WRITE)
#define DO(what)	 { .verb = STORE_##what }
#define ON(what, which)	 { .verb = STORE_##what, .name = which }
#define TO(what, second) { .verb = STORE_##what, .to = second }

#define FIND_BASE N_SMALLFILE_LOADS
#define MAKE_HOME (N_SMALLFILE_LOADS + 1)
#define FIND_HOME (N_SMALLFILE_LOADS + 2)

static const struct smallfile_step steps[][8] = {
	[SMALLFILE_CREATE] = { { .verb = STORE_CREATE, .how = WRITABLE }, OPEN(WRITABLE), DO(WRITE),
			       DO(FLUSH), DO(CLOSE), END },
	[SMALLFILE_APPEND] = { OPEN(WRITABLE), DO(LENGTH), DO(WRITE), DO(FLUSH), DO(CLOSE), END },
	[SMALLFILE_OVERWRITE] = { OPEN(WRITABLE), DO(WRITE), DO(FLUSH), DO(CLOSE), END },
	[SMALLFILE_READ] = { OPEN(STORE_FOR_READ), DO(READ), DO(CLOSE), END },
	[SMALLFILE_RND_WR] = { OPEN(WRITABLE), DO(WRITE), DO(FLUSH), DO(CLOSE), END },
	[SMALLFILE_RND_RD] = { OPEN(STORE_FOR_READ), DO(READ), DO(CLOSE), END },
	[SMALLFILE_STAT] = { DO(PROBE), END },
	[SMALLFILE_RENAME] = { TO(RENAME, OF_OTHER), END },
	[SMALLFILE_CHMOD] = { DO(SET_MODE), END },
	[SMALLFILE_SETXATTR] = { TO(SET_XATTR, OF_ATTR), END },
	[SMALLFILE_GETXATTR] = { TO(GET_XATTR, OF_ATTR), END },
	[SMALLFILE_LINK] = { TO(LINK, OF_LINK), END },
	[SMALLFILE_UNLINK] = { ON(DELETE, OF_LINK), END },
	[SMALLFILE_SYMLINK] = { ON(SYMLINK, OF_SYMLINK), END },
	[SMALLFILE_UNSYMLINK] = { ON(DELETE, OF_SYMLINK), END },
	[SMALLFILE_MKDIR] = { { .verb = STORE_MKDIR, .name = OF_DIR, .how = STORE_UNUSED }, END },
	[SMALLFILE_RMDIR] = { { .verb = STORE_DELETE, .name = OF_DIR, .how = STORE_IS_DIR }, END },
	[SMALLFILE_READDIR] = { DO(LIST), END },
	[SMALLFILE_LS_L] = { { .verb = STORE_LIST, .attrs = true }, END },
	[SMALLFILE_DELETE] = { DO(DELETE), END },
	[FIND_BASE] = { ON(LOOKUP, OF_BASE), END },
	[MAKE_HOME] = { ON(MKDIR, OF_HOME), END },
	[FIND_HOME] = { ON(LOOKUP, OF_HOME), END },
};
/* clang-format on */

static const struct smallfile_step close_step[] = { { .verb = STORE_CLOSE }, END };

/* Names are made for each file, in the time between two requests: not by snprintf(). */
static void name_home(struct smallfile *c, unsigned int home)
{
	if (c->home == home && *c->name[OF_HOME])
		return;
	c->home = home;
	snprintf(c->name[OF_HOME], SMALLFILE_NAME_LEN, "thrd%03u-d%04u", c->number, home);
}

/* Whether it is in BASE; else it is in the directory before it. */
static bool is_top(const struct smallfile *c, unsigned int home)
{
	return !c->o->depth || home % c->o->depth == 0;
}

/* "PREFIX.0000012", of which smallfile_name_of() makes names. It leaves room for their ends. */
static void name_number(struct smallfile *c, unsigned int file)
{
	size_t len = strlen(c->o->prefix), n = 7;

	for (unsigned int most = 10000000; file >= most && n < 10; most = n < 9 ? most * 10 : most)
		n++;
	memcpy(c->stem, c->o->prefix, len);
	c->stem[len] = '.';
	for (size_t i = n; i; i--, file /= 10)
		c->stem[len + i] = (char)('0' + file % 10);
	c->stem_len = len + 1 + n;
}

/* Its names are made when they are asked for: a load needs one or two of them. */
static void name_file(struct smallfile *c, unsigned int file)
{
	c->file = file;
	c->named = 0;
	name_number(c, file);
	name_home(c, smallfile_dir(c->o, c->number, file));
	c->seed = smallfile_chance(c->o, c->number, file, FOR_DATA);
}

static const char *smallfile_name_of(struct smallfile *c, enum smallfile_which which)
{
	static const char ends[OF_ATTR][4] = {
		[OF_OTHER] = ".r", [OF_LINK] = ".l", [OF_SYMLINK] = ".s", [OF_DIR] = ".d"
	};
	unsigned int end = which;

	if (which >= OF_ATTR || c->named & 1u << which)
		return c->name[which];
	if (c->renamed && which <= OF_OTHER)
		end = which == OF_FILE ? OF_OTHER : OF_FILE;
	memcpy(c->name[which], c->stem, c->stem_len);
	memcpy(c->name[which] + c->stem_len, ends[end], sizeof(ends[end]));
	c->named |= 1u << which;
	return c->name[which];
}

/* ---- what an action moves ---- */

static bool smallfile_moves(const struct smallfile_step *step)
{
	return step->verb == STORE_READ || step->verb == STORE_WRITE;
}

/* Not every step is for every file and store. */
static bool smallfile_is_idle(struct smallfile *c)
{
	uint64_t offset;

	switch (c->at->verb) {
	case STORE_OPEN:
		return c->open;
	case STORE_LENGTH:
		return !c->o->foreign;
	case STORE_FLUSH:
		return !c->o->flush;
	case STORE_READ:
	case STORE_WRITE:
		return c->failed || !smallfile_next_record(c, &offset);
	default:
		return false;
	}
}

static void smallfile_pass_over(struct smallfile *c)
{
	while (c->at->verb != N_STORE_VERBS && smallfile_is_idle(c))
		c->at++;
}

int smallfile_path(struct smallfile *c, unsigned int i, char *out, size_t size)
{
	unsigned int last, home;
	size_t at;

	name_file(c, smallfile_at(c->o, c->number, i));
	for (last = home = c->home; !is_top(c, home); home--)
		;
	at = (size_t)snprintf(out, size, "%s%s", c->o->base, *c->o->base ? "/" : "");
	for (; home <= last; home++) {
		name_home(c, home);
		if (at < size)
			at += (size_t)snprintf(out + at, size - at, "%s/", c->name[OF_HOME]);
	}
	if (at < size)
		at += (size_t)snprintf(out + at, size - at, "%s", smallfile_name_of(c, OF_FILE));
	return (int)at;
}

static void smallfile_start(struct smallfile *c, unsigned int load)
{
	c->at = steps[load];
	c->k = c->moved = c->n_done = 0;
	c->failed = c->open = c->absent = false;
}

static struct smallfile *smallfile_of(struct script *s)
{
	_Static_assert(offsetof(struct smallfile, s) == 0, "a script is the head of its client");
	return (struct smallfile *)s;
}

/* The load is over: what it has changed. */
static void finish_load(struct smallfile *c)
{
	c->appends += c->load == SMALLFILE_APPEND && !c->mixed;
	c->mixes += c->mixed;
	c->chmods += c->load == SMALLFILE_CHMOD;
	if (c->load == SMALLFILE_RENAME)
		c->renamed = !c->renamed;
}

static enum smallfile_load mixed_load(const struct smallfile *c)
{
	if (smallfile_is_read(c, c->file, c->mixes))
		return SMALLFILE_READ;
	return c->o->overwrites ? SMALLFILE_OVERWRITE : SMALLFILE_APPEND;
}

static int smallfile_begin(struct script *s, const struct store *store)
{
	struct smallfile *c = smallfile_of(s);

	c->store = store;
	if (c->i == c->n && c->again && c->n)
		c->i = 0;
	if (c->i == c->n) {
		if (c->n)
			finish_load(c);
		c->n = c->i = 0;
		return SCRIPT_END;
	}
	if (smallfile_flags(c->load) & SMALLFILE_EACH_DIR) {
		name_home(c, c->i++);
	} else {
		name_file(c, smallfile_at(c->o, c->number, c->i++));
		if (c->mixed)
			c->load = mixed_load(c);
		smallfile_set_range(c);
	}
	smallfile_start(c, c->load);
	smallfile_pass_over(c);
	return (int)c->load;
}

static unsigned int home_steps(const struct smallfile *c)
{
	return c->o->finds ? FIND_HOME : MAKE_HOME;
}

static int smallfile_begin_make(struct script *s, const struct store *store)
{
	struct smallfile *c = smallfile_of(s);

	if (c->store)
		return SCRIPT_END;
	c->store = store;
	c->base = store->root[0];
	name_home(c, 0);
	smallfile_start(c, *c->o->base ? FIND_BASE : home_steps(c));
	return 0;
}

/* ---- requests ---- */

/* What a step may have, one by one: all of an operation is more than a call of a directory takes to
 * write. The rest is 0 from the beginning. */
static void smallfile_prepare(struct smallfile *c, const struct smallfile_step *step)
{
	struct store_op *op = &c->op;

	op->verb = step->verb;
	op->dir = op->to_dir = c->dir[c->home];
	op->name = smallfile_name_of(c, step->name);
	op->to_name = smallfile_name_of(c, step->to);
	op->file = c->opened;
	op->how = step->how;
	op->offset = op->len = 0;
	op->buf = NULL;
	op->data = NULL;
	op->discard = op->with_attrs = false;
	op->t = (struct store_times) { 0 };
}

static struct store_op *smallfile_next(struct script *s)
{
	static const unsigned int modes[MODES] = { 0600, 0640 };
	struct smallfile *c = smallfile_of(s);
	const struct smallfile_step *step = c->at;
	struct store_op *op = &c->op;

	if (c->store->in_flight)
		return NULL;
	smallfile_prepare(c, step);
	if (step->name == OF_HOME)
		op->dir = is_top(c, c->home) ? c->base : c->dir[c->home - 1];
	if (step->name == OF_BASE) {
		op->dir = c->store->root[0];
		op->name = c->o->base;
	}
	if (smallfile_moves(step))
		smallfile_fill_data(c, op);
	if (step->verb == STORE_CREATE && !c->store->creates_open)
		op->how = 0;
	if (step->verb == STORE_SET_MODE)
		op->how = modes[c->chmods % MODES];
	if (step->verb == STORE_SET_XATTR || step->verb == STORE_GET_XATTR)
		smallfile_fill_attr(c, op);
	if (step->verb == STORE_LIST) {
		op->offset = c->n_done;
		op->buf = c->buf;
		op->len = STORE_LIST_LEN;
		op->with_attrs = step->attrs;
	}
	return op;
}

/* ---- answers ---- */

/* Files that are in the directory under way; hashed: not known. */
static unsigned int in_home(const struct smallfile *c)
{
	unsigned int first = c->home * c->o->files_per_dir, n = c->o->files - first;

	if (c->o->hashed || c->n_made < c->o->files || c->o->shuffled)
		return 0;
	return n < c->o->files_per_dir ? n : c->o->files_per_dir;
}

/* The end of a listing: whether all there is was listed. */
static int check_list(const struct smallfile *c, struct err *e)
{
	if (c->n_done >= in_home(c))
		return 0;
	return err_set(e, -EIO, "%s: %llu entries were listed, it has %u files", c->name[OF_HOME],
		       (unsigned long long)c->n_done, in_home(c));
}

/* 0, or why the answer is not what the action needs. */
static int smallfile_check_answer(struct smallfile *c, const struct store_op *op, struct err *e)
{
	char name[2 * SMALLFILE_NAME_LEN];

	if (op->verb == STORE_LIST && op->result == STORE_NONE)
		return check_list(c, e);
	if (op->verb == STORE_READ && op->result == STORE_SHORT)
		return smallfile_check_data(c, op, e);
	c->absent = c->load == SMALLFILE_DELETE && c->o->lenient && op->result == STORE_NONE;
	if (c->absent)
		return 0;
	if (op->result != STORE_OK) {
		snprintf(name, sizeof(name), "%s/%s", c->name[OF_HOME], c->name[c->at->name]);
		return load_explain(op, c->at->name >= OF_HOME ? op->name : name, e);
	}
	if (op->verb == STORE_READ)
		return smallfile_check_data(c, op, e);
	return op->verb == STORE_GET_XATTR ? smallfile_check_attr(c, op, e) : 0;
}

static void smallfile_note(struct smallfile *c, const struct store_op *op)
{
	switch (op->verb) {
	case STORE_LOOKUP:
	case STORE_MKDIR:
		if (c->at->name == OF_BASE)
			c->base = op->made;
		else if (c->at->name == OF_HOME)
			c->dir[c->home] = op->made;
		break;
	case STORE_CREATE:
	case STORE_OPEN:
		c->opened = op->opened;
		c->open = op->verb == STORE_OPEN || op->how;
		break;
	case STORE_CLOSE:
		c->open = false;
		break;
	case STORE_LIST:
		c->n_done += op->done;
		break;
	case STORE_LENGTH:
		smallfile_found_len(c, op->done);
		break;
	case STORE_READ:
	case STORE_WRITE:
		smallfile_moved(c, op);
		break;
	default:
		break;
	}
}

/* Whether the step under way has another request. */
static bool smallfile_has_more(struct smallfile *c, const struct store_op *op)
{
	uint64_t offset;

	if (op->verb == STORE_LIST)
		return op->result == STORE_OK && op->done;
	return smallfile_moves(c->at) && smallfile_next_record(c, &offset);
}

static void smallfile_go_further(struct smallfile *c, const struct store_op *op)
{
	if (c->failed) {
		c->at = c->open && op->verb != STORE_CLOSE ? close_step : &close_step[1];
		return;
	}
	if (smallfile_has_more(c, op))
		return;
	c->at++;
	smallfile_pass_over(c);
}

static void count_file(struct smallfile *c)
{
	const struct smallfile_step *step = steps[c->load];

	c->counts.missing += c->absent;
	c->counts.deleted += c->load == SMALLFILE_DELETE && !c->absent;
	for (; step->verb != N_STORE_VERBS; step++) {
		c->counts.read += step->verb == STORE_READ;
		c->counts.written += step->verb == STORE_WRITE;
	}
}

static enum script_state smallfile_end_action(struct smallfile *c, struct err *e)
{
	if (c->failed) {
		*e = c->why;
		return SCRIPT_FAILED;
	}
	count_file(c);
	return SCRIPT_DONE;
}

static enum script_state smallfile_answered(struct script *s, struct store_op *op, struct err *e)
{
	struct smallfile *c = smallfile_of(s);

	if (op->result == STORE_OK)
		smallfile_note(c, op);
	else if (op->result == STORE_SHORT && smallfile_moves(c->at))
		c->s.bytes += op->done;
	if (!c->failed)
		c->failed = smallfile_check_answer(c, op, &c->why) != 0;
	smallfile_go_further(c, op);
	if (c->at->verb != N_STORE_VERBS)
		return SCRIPT_GOES_ON;
	if (c->load == SMALLFILE_CREATE && c->n_made < c->i)
		c->n_made = c->i;
	return smallfile_end_action(c, e);
}

/* A directory that is there already is looked for instead. */
static enum script_state answered_make(struct script *s, struct store_op *op, struct err *e)
{
	struct smallfile *c = smallfile_of(s);

	if (op->verb == STORE_MKDIR && op->result == STORE_EXISTS) {
		smallfile_start(c, FIND_HOME);
		return SCRIPT_GOES_ON;
	}
	if (op->result != STORE_OK) {
		load_explain(op, op->name, e);
		return SCRIPT_FAILED;
	}
	smallfile_note(c, op);
	if (c->at->name == OF_BASE) {
		smallfile_start(c, home_steps(c));
		return SCRIPT_GOES_ON;
	}
	if (c->home + 1 == c->n_dirs)
		return SCRIPT_DONE;
	name_home(c, c->home + 1);
	smallfile_start(c, home_steps(c));
	return SCRIPT_GOES_ON;
}

/* ---- making ---- */

struct smallfile *smallfile_new(const struct smallfile_opts *o, unsigned int number)
{
	struct smallfile *c = calloc(1, sizeof(*c));
	size_t len = (o->record_len + 2 * PAGE - 1) / PAGE * PAGE;

	if (!c)
		return NULL;
	c->o = o;
	c->number = number;
	c->n_made = o->files; /* unless a load creates them */
	c->n_dirs = smallfile_dirs(o);
	c->dir = calloc(c->n_dirs, sizeof(*c->dir));
	snprintf(c->name[OF_ATTR], SMALLFILE_NAME_LEN, "%s", SMALLFILE_ATTR);
	len = len < STORE_LIST_LEN ? STORE_LIST_LEN : len;
	if (!c->dir || posix_memalign((void **)&c->buf, PAGE, len)) {
		c->buf = NULL;
		smallfile_free(c);
		return NULL;
	}
	pattern_fill(c->buf, len, 0, o->seed + number);
	return c;
}

void smallfile_free(struct smallfile *c)
{
	if (!c)
		return;
	free(c->dir);
	free(c->order);
	free(c->buf);
	free(c);
}

struct script *smallfile_make(struct smallfile *c)
{
	static const struct script_type type = { .begin = smallfile_begin_make,
						 .next = smallfile_next,
						 .answered = answered_make };

	c->s.type = &type;
	c->store = NULL;
	return &c->s;
}

struct script *smallfile_use(struct smallfile *c, enum smallfile_load load, bool again)
{
	static const struct script_type type = { .begin = smallfile_begin,
						 .next = smallfile_next,
						 .answered = smallfile_answered };

	c->s.type = &type;
	c->load = load;
	c->mixed = load == SMALLFILE_MIX;
	c->again = again && smallfile_flags(load) & SMALLFILE_REPEATS;
	c->n = smallfile_flags(load) & SMALLFILE_EACH_DIR ? c->n_dirs : c->n_made;
	if (load == SMALLFILE_CREATE) {
		c->n = c->o->files;
		c->n_made = 0;
	}
	c->i = 0;
	c->counts = (struct smallfile_counts) { 0 };
	if (!smallfile_order_records(c))
		return NULL;
	return &c->s;
}

const struct smallfile_counts *smallfile_counts(const struct smallfile *c)
{
	return &c->counts;
}
