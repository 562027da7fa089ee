/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which requests of an action wait for which. */
#include "load/chain.h"

#include "base/hash.h"

#include <string.h>

/* Besides names and files: what these requests are about. */
enum { KEY_NAME, KEY_FILE, KEY_DIR, KEY_LIST, KEY_SESSION };

enum chain_how { CHAIN_READS, CHAIN_WRITES, CHAIN_CHANGES, CHAIN_DESTROYS };

static enum chain_how chain_how_of(const struct store_op *op)
{
	switch (op->verb) {
	case STORE_PROBE:
	case STORE_LENGTH:
	case STORE_READ:
	case STORE_LOOKUP:
	case STORE_GET_XATTR:
	case STORE_ROOM:
		return CHAIN_READS;
	case STORE_WRITE:
		return CHAIN_WRITES;
	case STORE_DELETE:
	case STORE_RENAME:
	case STORE_SWAP:
		return CHAIN_DESTROYS;
	default: /* also an open, whose answer names the file, and a list, which goes on */
		return CHAIN_CHANGES;
	}
}

/* ---- keys ---- */

static uint32_t chain_hash(unsigned int kind, uint64_t id, const char *name)
{
	return (uint32_t)hash_number(
	    hash_text(hash_number(HASH_TEXT ^ kind) ^ hash_number(id), name));
}

static uint32_t chain_hash_dir(unsigned int kind, const struct store_dir *dir, const char *name)
{
	return chain_hash(kind, dir->id ^ (uint64_t)dir->volume << 63, name ? name : "");
}

static struct chain_key *chain_find(struct chain *c, uint32_t hash)
{
	for (unsigned int i = 0; i < c->n_keys; i++)
		if (c->key[i].hash == hash)
			return c->key[i].same ? &c->key[c->key[i].same - 1] : &c->key[i];
	return NULL;
}

/* NULL: there is no room. */
static struct chain_key *chain_key(struct chain *c, uint32_t hash)
{
	struct chain_key *k = chain_find(c, hash);

	if (k || c->n_keys == CHAIN_KEYS) {
		c->full |= !k;
		return k;
	}
	k = &c->key[c->n_keys++];
	*k = (struct chain_key) { .hash = hash };
	return k;
}

/* Whether it is about an open file. */
static bool is_of_file(enum store_verb verb)
{
	return verb == STORE_CLOSE || verb == STORE_LENGTH || verb == STORE_SET_LEN ||
	       verb == STORE_READ || verb == STORE_WRITE || verb == STORE_FLUSH ||
	       verb == STORE_LOCK || verb == STORE_UNLOCK;
}

static bool chain_has_second(enum store_verb verb)
{
	return verb == STORE_COPY || verb == STORE_RENAME || verb == STORE_LINK ||
	       verb == STORE_SWAP;
}

static uint32_t chain_first(const struct store_op *op)
{
	if (is_of_file(op->verb))
		return chain_hash(KEY_FILE, op->file.id, "");
	if (op->verb == STORE_LIST || op->verb == STORE_SEARCH)
		return chain_hash_dir(KEY_LIST, &op->dir, "");
	if (op->verb == STORE_LOGIN || op->verb == STORE_LOGOUT || op->verb == STORE_EXCHANGE)
		return chain_hash(KEY_SESSION, 0, "");
	return chain_hash_dir(KEY_NAME, &op->dir, op->name);
}

/* ---- how deep ---- */

static unsigned int chain_deeper(unsigned int a, unsigned int b)
{
	return a > b ? a : b;
}

/* What it has to wait for of one key; NULL: nothing. */
static unsigned int chain_before(const struct chain_key *k, enum chain_how how)
{
	if (!k)
		return 0;
	if (how == CHAIN_READS)
		return chain_deeper(k->changed, k->written);
	if (how == CHAIN_WRITES)
		return chain_deeper(k->changed, k->read);
	return chain_deeper(k->changed, chain_deeper(k->read, k->written));
}

static void chain_note(struct chain_key *k, enum chain_how how, unsigned int need)
{
	uint32_t *at;

	if (!k)
		return;
	at = how == CHAIN_READS ? &k->read : how == CHAIN_WRITES ? &k->written : &k->changed;
	*at = chain_deeper(*at, need);
}

static unsigned int chain_need(struct chain *c, const struct store_op *op)
{
	const enum chain_how how = chain_how_of(op);
	const bool lists = op->verb == STORE_LIST || op->verb == STORE_SEARCH;
	const struct chain_key *dir = chain_find(c, chain_hash_dir(KEY_DIR, &op->dir, ""));
	struct chain_key *k = chain_key(c, chain_first(op)), *second = NULL;
	unsigned int need = chain_before(k, how);

	if (chain_has_second(op->verb)) {
		second = chain_key(c, chain_hash_dir(KEY_NAME, &op->to_dir, op->to_name));
		need = chain_deeper(need, chain_before(second, how));
	}
	if (dir && !is_of_file(op->verb))
		need = chain_deeper(need, dir->changed);
	if (how == CHAIN_DESTROYS || lists)
		need = chain_deeper(need, c->changed);
	need++;
	chain_note(k, how, need);
	chain_note(second, how, need);
	if (how != CHAIN_READS && !lists)
		c->changed = chain_deeper(c->changed, need);
	return need;
}

/* ---- an action ---- */

void chain_begin(struct chain *c)
{
	memset(c, 0, offsetof(struct chain, key));
}

void chain_sent(struct chain *c, struct store_op *op)
{
	op->depth = c->done + 1;
	op->need = chain_need(c, op);
}

/* The name that the file was opened under is what requests on it are about. */
static void chain_opened(struct chain *c, const struct store_op *op)
{
	struct chain_key *name = chain_find(c, chain_hash_dir(KEY_NAME, &op->dir, op->name));
	const uint32_t hash = chain_hash(KEY_FILE, op->opened.id, "");

	for (unsigned int i = 0; i < c->n_keys; i++)
		if (c->key[i].hash == hash) /* of an earlier file with this number */
			c->key[i].hash = 0;
	if (name && chain_key(c, hash))
		c->key[c->n_keys - 1].same = (uint8_t)(name - c->key + 1);
}

/* Answers come in the order of their depth, but for those that share a round trip. */
static void chain_count(struct chain *c, const struct store_op *op)
{
	c->is.requests += op->parts ? op->n_parts : op->trips ? op->trips : 1;
	if (op->depth < c->depth)
		return;
	if (op->depth > c->depth) {
		c->before = c->need;
		c->depth = op->depth;
		c->need = 0;
	}
	c->need = chain_deeper(c->need, op->need);
	if (op->need <= c->before)
		run_trips_note(&c->is, op->command, op->what, 1);
}

void chain_answered(struct chain *c, const struct store_op *op)
{
	const unsigned int more = op->trips ? op->trips - 1 : 0;
	struct chain_key *dir;

	if (op->t.begun_ns == op->t.last_ns) /* refused here: nothing was sent */
		return;
	chain_count(c, op);
	c->more += more;
	c->done = chain_deeper(c->done, op->depth + more);
	c->least = chain_deeper(c->least, op->need);
	if (op->result != STORE_OK)
		return;
	if (op->verb == STORE_OPEN || (op->verb == STORE_CREATE && op->how))
		chain_opened(c, op);
	if (op->verb == STORE_MKDIR || op->verb == STORE_LOOKUP) {
		dir = chain_key(c, chain_hash_dir(KEY_DIR, &op->made, ""));
		chain_note(dir, CHAIN_CHANGES, op->need);
	}
}

void chain_end(struct chain *c, uint64_t bytes, struct run_trips *to)
{
	struct run_trips *is = &c->is;

	is->n = 1;
	is->sum = is->most = c->done;
	is->bytes = bytes;
	is->n_least = !c->full;
	is->least = c->full ? 0 : c->least + c->more;
	is->least_of = c->full ? 0 : c->done;
	run_trips_add(to, is);
}
