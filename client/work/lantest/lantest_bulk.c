/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One large file, written and read with every request in flight at once, as far
 * as the sockets let them. Each reply is parsed and checked; FPCloseFork ends the timed region.
 */
#include "work/lantest/lantest_priv.h"

int bulk_write_setup(struct lantest *t)
{
	int r = lt_create(t, LT_BIG_FILE);

	r = r ? r : lt_params(t, t->base, LT_BIG_FILE, 0x072d, 0);
	r = r ? r : lt_params(t, t->base, LT_BIG_FILE, 0x073f, 0x133f);
	r = r ? r : lt_open(t, t->base, LT_BIG_FILE, 0x0302, LT_ACCESS_RW_DENY_ALL);
	return r ? r : lt_fork_params(t, 0x0002);
}

/* Refuses a file shorter than what will be read, before anything is read. */
static int check_len(struct lantest *t, const char *name)
{
	uint64_t need = t->n_chunks * t->chunk;
	struct afp_params p;

	if (!afp_get_fork_params(&t->op, &p))
		return lt_refuse(t, "FPGetForkParms %s: malformed reply", name);
	if (p.data_len < need && p.data_len != UINT32_MAX)
		return lt_refuse(
		    t,
		    "%s has %llu bytes, the test reads %llu: use a larger file or a smaller size",
		    name, (unsigned long long)p.data_len, (unsigned long long)need);
	return 0;
}

int bulk_read_setup(struct lantest *t)
{
	const char *name = t->opts->file ? t->opts->file : LT_BIG_FILE;
	uint32_t dir = t->opts->file ? AFP_ROOT_ID : t->base;
	int r = lt_probe(t, dir, name, AFP_ERR_OK);

	r = r ? r : lt_open(t, dir, name, 0x0342, LT_ACCESS_R_DENY_W);
	r = r ? r : lt_fork_params(t, 0x0242);
	return r ? r : check_len(t, name);
}

static void prep(struct lantest *t, struct afp_op *op, uint64_t i, bool write)
{
	uint64_t offset = i * t->chunk;

	op->user = op;
	if (write)
		afp_prep_write_ext(op, t->fork, offset, t->zeros, t->chunk);
	else
		afp_prep_read_ext(op, t->fork, offset, t->sink, t->chunk);
}

static int lantest_bulk_check(struct lantest *t, const struct afp_op *op)
{
	uint64_t end = 0;
	bool ok;

	t->op.code = op->code; /* the command that a refusal is about */
	if (op->dsi.result)
		return lt_refuse(t, "%s: %s (AFP %d)", afp_op_name(op),
				 afp_result_text(op->dsi.result), op->dsi.result);
	if (op->code == AFP_WriteExt)
		ok = afp_get_written(op, &end) && end && end % t->chunk == 0;
	else
		ok = op->dsi.reply_len == t->chunk;
	if (!ok && op->code == AFP_WriteExt && op->dsi.reply_len >= 8)
		return lt_refuse(t, "%s: written up to byte %llu only: is the volume full?",
				 afp_op_name(op), (unsigned long long)end);
	if (!ok)
		return lt_refuse(t, "%s: short: %zu bytes of reply", afp_op_name(op),
				 op->dsi.reply_len);
	load_add_bytes(t->load, t->chunk);
	return 0;
}

static int reap_one(struct lantest *t, struct afp_op **free_op)
{
	int r = load_reap(t->load, free_op, t->e);

	return r ? r : lantest_bulk_check(t, *free_op);
}

static int lantest_bulk_transfer(struct lantest *t, bool write)
{
	struct afp_op *op = NULL;
	uint64_t sent = 0;
	int r = 0;

	while (!r && sent < t->n_chunks) {
		if (sent < t->n_ops)
			op = &t->ops[sent];
		else
			r = reap_one(t, &op);
		if (r)
			break;
		prep(t, op, sent++, write);
		r = load_submit(t->load, op, t->e);
	}
	while (!r && dsi_lent(t->load->afp->dsi))
		r = reap_one(t, &op);
	return r;
}

static int lantest_bulk_timed(struct lantest *t, bool write)
{
	int r = lantest_bulk_transfer(t, write);

	return r ? r : lt_close(t);
}

int bulk_write(struct lantest *t)
{
	return lantest_bulk_timed(t, true);
}

int bulk_read(struct lantest *t)
{
	return lantest_bulk_timed(t, false);
}
