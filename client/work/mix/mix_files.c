/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of a client hold: versions, what is written, and whether that was read. */
#include "work/mix/mix_client_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096u

struct mix_data *mix_data_new(const struct mix *m, unsigned int n_sinks)
{
	struct mix_data *d = calloc(1, sizeof(*d));
	size_t len = (m->request_len + 2 * PAGE - 1) / PAGE * PAGE;

	if (!d)
		return NULL;
	if (posix_memalign((void **)&d->in, PAGE, len * n_sinks)) {
		mix_data_free(d);
		return NULL;
	}
	memset(d->in, 0, len * n_sinks);
	d->len = len;
	return d;
}

void mix_data_free(struct mix_data *d)
{
	if (!d)
		return;
	free(d->in);
	free(d);
}

/* NULL: the file has version 0, in each block. */
static struct mix_versions *versions_of(const struct mix_client *c)
{
	return c->version ? &c->version[c->in * mix_of(c)->files + c->file] : NULL;
}

/* Whether the action writes all of a file; or parts, too. */
static bool writes_all(unsigned int action)
{
	return action == MIX_WRITE || action == MIX_SAVE || action == MIX_BAND ||
	       action == MIX_MAC_SAVE || action == MAKE_FILES;
}

static bool mix_files_writes(unsigned int action)
{
	return writes_all(action) || action == MIX_RANDOM_WRITE;
}

void mix_files_begin(struct mix_client *c)
{
	struct mix_versions *v = mix_files_writes(c->action) ? versions_of(c) : NULL;

	if (v)
		v->to++;
}

/* The action has succeeded: nothing is left of the versions before. */
void mix_files_keep(struct mix_client *c)
{
	struct mix_versions *v = writes_all(c->action) ? versions_of(c) : NULL;

	if (v)
		v->from = v->to;
}

/* Whether what was read is what was written; if not, where. */
bool mix_files_compare(struct mix_client *c, const struct store_op *op)
{
	const struct mix_versions first = { 0, 0 };
	const struct mix_versions *v = versions_of(c);
	size_t right;

	v = v ? v : &first;
	right = mix_content_check(&c->content, op->buf, op->done, file_number(c), v->from, v->to,
				  op->offset);
	c->verified.bytes += c->action == VERIFY ? op->done : 0;
	if (right == op->done)
		return true;
	err_set(&c->why, -EIO, "%s/%s: byte %llu is not what was written", c->name[OF_HOME],
		c->name[OF_FILE], (unsigned long long)(op->offset + right));
	return false;
}

static bool writes_in_use(const struct mix *m)
{
	for (unsigned int a = 0; a < N_MIX_ACTIONS; a++)
		if (m->weight[a] && mix_files_writes(a))
			return true;
	return false;
}

/* Memory of its own for what it writes, and for what it compares; and what it has written. */
bool mix_files_new(struct mix_client *c)
{
	const struct mix *m = mix_of(c);
	uint64_t most = draw_most(&m->sizes);
	size_t len = most < m->request_len ? most : m->request_len;
	bool needed = m->verify || writes_in_use(m) || (makes_set(c) && !c->o.exists);

	/* A read into it may be rounded up. */
	c->own_len = needed && most ? (len + 2 * PAGE - 1) / PAGE * PAGE : 0;
	for (unsigned int i = 0; i < m->window && c->own_len; i++)
		if (posix_memalign((void **)&c->request[i].own, PAGE, c->own_len))
			return false;
	if (!writes_in_use(m))
		return true;
	c->version = calloc((size_t)c->n_homes * m->files + 1, sizeof(*c->version));
	return c->version;
}

uint64_t mix_client_data_b(const struct mix_client *c)
{
	return (uint64_t)mix_of(c)->window * c->own_len;
}

void mix_files_free(struct mix_client *c)
{
	for (unsigned int i = 0; i < mix_of(c)->window; i++)
		free(c->request[i].own);
	free(c->version);
}

void mix_files_fill(struct mix_client *c, struct mix_request *r)
{
	const struct mix_versions *v = versions_of(c);

	mix_content_fill(&c->content, r->own, r->op.len, file_number(c), v ? v->to : 0,
			 r->op.offset);
}
