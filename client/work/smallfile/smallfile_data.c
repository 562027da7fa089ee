/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a client of smallfile reads and writes of a file, and whether it is what it should be. */
#include "base/clock.h"
#include "work/pattern.h"
#include "work/smallfile/smallfile_priv.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t chance(const struct smallfile *c, uint64_t file, uint64_t use)
{
	return smallfile_chance(c->o, c->number, file, use);
}

static uint64_t created_len(const struct smallfile *c, unsigned int file)
{
	return smallfile_len(c->o, c->number, file);
}

/* Whether MIX reads the file, the mix-th time; else it appends to it. */
bool smallfile_is_read(const struct smallfile *c, unsigned int file, unsigned int mix)
{
	uint64_t r = chance(c, file, FOR_MIX + mix);

	return r % 100 * 100 + r / 100 % 100 < c->o->read_percent * 100 + c->o->read_hundredths;
}

/* How long the file is now. */
static uint64_t file_len(const struct smallfile *c, unsigned int file)
{
	uint64_t times = 1 + c->appends;

	if (c->o->foreign)
		return created_len(c, file);
	for (unsigned int m = 0; m < c->mixes; m++)
		times += !c->o->overwrites && !smallfile_is_read(c, file, m);
	return created_len(c, file) * times;
}

static bool is_random(const struct smallfile *c)
{
	return c->load == SMALLFILE_RND_WR || c->load == SMALLFILE_RND_RD;
}

/* Records of the longest file there can be, in an order at random, the same for every file. */
bool smallfile_order_records(struct smallfile *c)
{
	uint64_t most = c->o->exponential ? SMALLFILE_LEN_TIMES * c->o->file_len : c->o->file_len;
	uint64_t n = (most * (1 + c->appends + c->mixes) + c->o->record_len - 1) / c->o->record_len;

	if (!is_random(c) || (n == c->n_records && c->order))
		return true;
	free(c->order);
	c->order = n < UINT32_MAX ? smallfile_order(c->o, c->number, (uint32_t)n) : NULL;
	c->n_records = (uint32_t)n;
	return c->order;
}

/* The next record of the action: where and how long; 0: there is none. */
uint64_t smallfile_next_record(struct smallfile *c, uint64_t *offset)
{
	uint64_t most = c->o->record_len, left;

	*offset = c->from + c->moved;
	if (is_random(c)) {
		while (c->moved == 0 && c->k < c->n_records &&
		       c->order[c->k] * most >= c->to) /* a longer file's */
			c->k++;
		if (c->k >= c->n_records || (c->o->records && c->n_done >= c->o->records))
			return 0;
		*offset = c->order[c->k] * most + c->moved;
		left = (c->order[c->k] + 1) * most;
		left = (left < c->to ? left : c->to) - *offset;
	} else {
		left = c->to - *offset;
	}
	return left < most ? left : most;
}

static uint64_t smallfile_data_chunk(const struct smallfile *c, uint64_t len)
{
	uint64_t most = c->at->verb == STORE_READ ? c->store->chunk_read : c->store->chunk_write;

	return len < most ? len : most;
}

/* What of the file the action is about. */
void smallfile_set_range(struct smallfile *c)
{
	uint64_t len = c->load == SMALLFILE_CREATE ? 0 : file_len(c, c->file);

	c->from = 0;
	c->to = len;
	if (c->load == SMALLFILE_CREATE || c->load == SMALLFILE_APPEND) {
		c->from = len;
		c->to = len + created_len(c, c->file);
	}
	if (c->load == SMALLFILE_OVERWRITE)
		c->to = created_len(c, c->file);
}

void smallfile_found_len(struct smallfile *c, uint64_t len)
{
	c->from = len;
	c->to = len + created_len(c, c->file);
}

/* Data to be written are made, those that were read compared, in no client's time. */
static void data_fill(struct smallfile *c, uint8_t *at, size_t len, uint64_t offset)
{
	const uint64_t begun_ns = clock_now_ns();

	pattern_fill(at, len, offset, c->seed);
	c->s.aside_ns += clock_now_ns() - begun_ns;
}

/* How many bytes are as they should be, until the first that is not. */
static size_t data_good(struct smallfile *c, const uint8_t *at, size_t len, uint64_t offset)
{
	const uint64_t begun_ns = clock_now_ns();
	size_t good = pattern_check(at, len, offset, c->seed);

	c->s.aside_ns += clock_now_ns() - begun_ns;
	return good;
}

void smallfile_fill_data(struct smallfile *c, struct store_op *op)
{
	op->len = smallfile_data_chunk(c, smallfile_next_record(c, &op->offset));
	op->buf = c->buf;
	op->data = c->buf;
	op->discard = !c->o->verify && c->store->discard_from && op->len >= c->store->discard_from;
	if (op->verb == STORE_WRITE && c->o->verify)
		data_fill(c, c->buf, op->len, op->offset);
}

void smallfile_fill_attr(struct smallfile *c, struct store_op *op)
{
	op->len = SMALLFILE_ATTR_LEN;
	op->buf = c->attr;
	op->data = c->attr;
	if (op->verb == STORE_SET_XATTR)
		data_fill(c, c->attr, SMALLFILE_ATTR_LEN, 0);
}

static int differs(const struct smallfile *c, uint64_t offset, struct err *e)
{
	return err_set(e, -EIO, "%s/%s: byte %llu is not what was written", c->name[OF_HOME],
		       c->name[OF_FILE], (unsigned long long)offset);
}

int smallfile_check_data(struct smallfile *c, const struct store_op *op, struct err *e)
{
	size_t good;

	if (op->done != op->len)
		return err_set(e, -EIO, "%s/%s ends at byte %llu of %llu", c->name[OF_HOME],
			       c->name[OF_FILE], (unsigned long long)(op->offset + op->done),
			       (unsigned long long)file_len(c, c->file));
	if (!c->o->verify)
		return 0;
	good = data_good(c, c->buf, op->len, op->offset);
	return good == op->len ? 0 : differs(c, op->offset + good, e);
}

int smallfile_check_attr(struct smallfile *c, const struct store_op *op, struct err *e)
{
	if (op->done == SMALLFILE_ATTR_LEN &&
	    (!c->o->verify || data_good(c, c->attr, SMALLFILE_ATTR_LEN, 0) == SMALLFILE_ATTR_LEN))
		return 0;
	return err_set(e, -EIO, "%s/%s: attribute %s is not what was set", c->name[OF_HOME],
		       c->name[OF_FILE], SMALLFILE_ATTR);
}

void smallfile_moved(struct smallfile *c, const struct store_op *op)
{
	uint64_t left, whole = c->moved / c->o->record_len;

	c->s.bytes += op->done;
	c->moved += op->len;
	if (!is_random(c)) {
		c->counts.records += c->moved / c->o->record_len - whole;
		c->counts.records += c->from + c->moved == c->to && c->moved % c->o->record_len;
		return;
	}
	left = op->offset % c->o->record_len + op->len;
	if (left < c->o->record_len && op->offset + op->len < c->to)
		return; /* a part of a record: the store takes no more at a time */
	c->k++;
	c->n_done++;
	c->counts.records++;
	c->moved = 0;
}
