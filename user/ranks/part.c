/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The same steps write a rank's figures and read them: each takes a number from its place and
 * appends it, or takes it from the bytes and puts it there.
 */
#include "ranks/part.h"

#include "base/buf.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART_VERSION 12

/* Of slots: 2^53 ns are 104 days. */
#define PROGRESS_SHIFT_MAX 53

struct part_io {
	bool writes;
	uint8_t *data; /* what was written */
	size_t len;
	struct rbuf in; /* what is read */
	bool bad;       /* no memory; or the bytes make no sense */
	bool no_memory;
};

/* ---- numbers and texts ---- */

static uint64_t part_io_u64(struct part_io *io, uint64_t v, size_t len)
{
	if (!io->writes)
		v = rbuf_uint(&io->in, len);
	for (size_t i = len; io->writes && i-- && !io->no_memory;)
		io->no_memory = VEC_PUSH(io->data, io->len, (uint8_t)(v >> 8 * i));
	io->bad |= io->no_memory || io->in.bad;
	return io->bad ? 0 : v;
}

/* An unsigned number of any width but one byte's. */
#define PART_IO(io, field) ((field) = (__typeof__(field))part_io_u64((io), (field), sizeof(field)))

/* Also where its width is known only now: 4 or 8 bytes. */
static void part_io_number(struct part_io *io, void *field, size_t len)
{
	if (len == sizeof(uint64_t))
		PART_IO(io, *(uint64_t *)field);
	else
		PART_IO(io, *(uint32_t *)field);
}

static void part_io_flag(struct part_io *io, bool *flag)
{
	*flag = part_io_u64(io, *flag, 1) == 1;
}

/* At most 255 bytes. */
static void part_io_text(struct part_io *io, char *text, size_t room)
{
	size_t len = part_io_u64(io, strnlen(text, 255), 1);

	if (len >= room)
		io->bad = true;
	for (size_t i = 0; i < len && !io->bad; i++)
		text[i] = (char)part_io_u64(io, (uint8_t)text[i], 1);
	text[io->bad ? 0 : len] = '\0';
}

/*
 * Of an array of n numbers, those that are not 0, each after its index: their sum. What is read
 * into was 0.
 */
static uint64_t part_io_sparse(struct part_io *io, void *array, size_t n, size_t width)
{
	static const char zero[sizeof(uint64_t)];
	uint64_t sum = 0, used = 0;
	char *at = array;
	size_t i = 0;

	for (size_t k = 0; k < n; k++)
		used += memcmp(at + k * width, zero, width) != 0;
	for (used = part_io_u64(io, used, 2); used && !io->bad; used--) {
		while (io->writes && !memcmp(at + i * width, zero, width))
			i++;
		i = part_io_u64(io, i, 2);
		if (i >= n) {
			io->bad = true;
			return 0;
		}
		part_io_number(io, at + i * width, width);
		sum += width == sizeof(uint64_t) ? *(uint64_t *)(at + i * width)
						 : *(uint32_t *)(at + i * width);
		i++;
	}
	return sum;
}

/* ---- what a load consists of ---- */

/* Buckets, whose sum must be n. */
static void part_io_hist(struct part_io *io, struct hist *h)
{
	PART_IO(io, h->n);
	PART_IO(io, h->sum);
	PART_IO(io, h->min);
	PART_IO(io, h->max);
	io->bad |= part_io_sparse(io, h->bucket, HIST_BUCKETS(HIST_BITS), 8) != h->n && !io->writes;
}

static void part_io_second(struct part_io *io, struct run_second *s)
{
	uint64_t sum;

	PART_IO(io, s->n);
	PART_IO(io, s->failed);
	PART_IO(io, s->dropped);
	PART_IO(io, s->bytes);
	PART_IO(io, s->sum_ns);
	PART_IO(io, s->max_ns);
	sum = part_io_sparse(io, s->bucket, HIST_BUCKETS(RUN_SECOND_BITS), 4);
	io->bad |= !io->writes && (s->failed > s->n || sum != s->n - s->failed);
}

static void part_io_progress(struct part_io *io, struct run_load *l)
{
	bool kept = l->progress;

	part_io_flag(io, &kept);
	if (!kept || io->bad)
		return;
	if (!io->writes && run_load_keep_progress(l)) {
		io->bad = io->no_memory = true;
		return;
	}
	PART_IO(io, l->progress->shift);
	io->bad |= l->progress->shift > PROGRESS_SHIFT_MAX;
	part_io_sparse(io, l->progress->n, RUN_PROGRESS_SLOTS, 8);
	part_io_sparse(io, l->progress->bytes, RUN_PROGRESS_SLOTS, 8);
}

static void part_io_client(struct part_io *io, struct run_client *c)
{
	PART_IO(io, c->actions);
	PART_IO(io, c->failed);
	PART_IO(io, c->bytes);
	PART_IO(io, c->last_ns);
	PART_IO(io, c->sum_ns);
	PART_IO(io, c->max_ns);
	PART_IO(io, c->outlasting_ns);
	PART_IO(io, c->begun_p50_ns);
	PART_IO(io, c->begun_p99_ns);
	PART_IO(io, c->begun_max_ns);
	part_io_flag(io, &c->opened);
	part_io_flag(io, &c->lost);
	part_io_text(io, c->address, sizeof(c->address));
}

/* Rows of commands are written up to the first free one. */
static void part_io_trips(struct part_io *io, struct run_trips *t, const struct part_like *like)
{
	PART_IO(io, t->n);
	PART_IO(io, t->requests);
	PART_IO(io, t->sum);
	PART_IO(io, t->most);
	PART_IO(io, t->bytes);
	PART_IO(io, t->n_least);
	PART_IO(io, t->least);
	PART_IO(io, t->least_of);
	for (size_t i = 0; i < RUN_TOGETHER_MAX; i++) {
		struct run_together *row = &t->together[i];
		bool used = row->what;

		part_io_flag(io, &used);
		if (!used || io->bad)
			return;
		row->command = (uint8_t)part_io_u64(io, row->command, 1);
		PART_IO(io, row->n);
		if (!io->writes)
			row->what = like->command(like->user, row->command);
		io->bad |= !row->what;
	}
}

static void part_io_load(struct part_io *io, struct run_load *l, const struct part_like *like)
{
	const struct run_load_figure *f = run_load_figures;

	for (size_t i = 0; i < RUN_LOAD_N_FIGURES; i++)
		part_io_number(io, (char *)l + f[i].at, f[i].len);
	part_io_text(io, l->why, sizeof(l->why));
	part_io_text(io, l->first_failure, sizeof(l->first_failure));
	part_io_progress(io, l);
	part_io_hist(io, &l->undone);
	for (size_t i = 0; i < l->n_actions; i++) {
		PART_IO(io, l->action[i].n);
		PART_IO(io, l->action[i].failed);
		part_io_hist(io, &l->action[i].planned);
		part_io_hist(io, &l->action[i].begun);
		part_io_trips(io, &l->action[i].trips, like);
	}
	for (size_t i = 0; i < l->n_seconds; i++)
		part_io_second(io, &l->second[i]);
	for (size_t i = 0; i < l->n_stages; i++) {
		PART_IO(io, l->stage[i].n_planned);
		PART_IO(io, l->stage[i].done.n);
		PART_IO(io, l->stage[i].done.failed);
		part_io_hist(io, &l->stage[i].done.planned);
	}
	for (unsigned int i = 0; i < l->n_clients; i++)
		part_io_client(io, &l->client[i]);
}

/* What it must be like, before there is room for it. */
static bool part_io_shape(struct part_io *io, const struct run_load *l, unsigned int n_clients)
{
	bool same = part_io_u64(io, PART_VERSION, 2) == PART_VERSION;

	same &= part_io_u64(io, n_clients, 4) == n_clients;
	same &= part_io_u64(io, l->n_actions, 4) == l->n_actions;
	return (part_io_u64(io, l->n_seconds, 4) == l->n_seconds) & same;
}

static struct run_command *part_take_command(struct part_io *io, struct run_phase *p, uint8_t code,
					     const struct part_like *like)
{
	const char *name = like->command(like->user, code);
	struct run_command *c = name && !io->bad ? run_command(p, code, name) : NULL;

	io->bad |= !c;
	io->no_memory |= name && !c && !io->in.bad;
	if (c)
		memset(&c->latency, 0, sizeof(c->latency));
	return c;
}

static void part_io_commands(struct part_io *io, struct run_phase *p, const struct part_like *like)
{
	size_t n = part_io_u64(io, p->n_commands, 2);
	struct run_command *c;
	uint8_t code;

	for (size_t i = 0; i < n && !io->bad; i++) {
		code = (uint8_t)part_io_u64(io, io->writes ? p->command[i]->code : 0, 1);
		c = io->writes ? p->command[i] : part_take_command(io, p, code, like);
		if (!c)
			return;
		PART_IO(io, c->errors);
		part_io_hist(io, &c->latency);
	}
}

/* Only the addresses: of each other rank's they are ours. */
static void part_io_visits(struct part_io *io, struct others_list *l)
{
	size_t n = part_io_u64(io, l->n, 4);
	char address[RUN_ADDRESS_LEN];

	part_io_flag(io, &l->partial);
	for (size_t i = 0; i < n && !io->bad; i++) {
		snprintf(address, sizeof(address), "%s", io->writes ? l->client[i].address : "");
		part_io_text(io, address, sizeof(address));
		if (!io->writes && !io->bad)
			others_add(l, address, 0, true);
	}
	part_io_flag(io, &l->failed);
}

static void part_io_all(struct part_io *io, struct part *p, const struct part_like *like)
{
	uint64_t end = part_io_u64(io, p->end, 1);

	io->bad |= end > PART_ORPHANED;
	p->end = io->bad ? PART_DONE : (enum part_end)end;
	PART_IO(io, p->late_ns);
	part_io_load(io, p->load, like);
	part_io_commands(io, &p->commands, like);
	PART_IO(io, p->greeted);
	part_io_visits(io, &p->visits);
}

uint8_t *part_pack(const struct part *part, size_t *len)
{
	struct part_io io = { .writes = true };
	struct part p = *part; /* nothing in it changes */

	part_io_shape(&io, p.load, p.load->n_clients);
	part_io_all(&io, &p, NULL);
	*len = io.len;
	if (!io.bad)
		return io.data;
	free(io.data);
	return NULL;
}

int part_unpack(struct part *out, const void *data, size_t len, const struct part_like *like,
		struct err *e)
{
	struct part_io io = { .in = rbuf_of(data, len) };
	const struct run_load *l = like->load;

	memset(out, 0, sizeof(*out));
	if (!part_io_shape(&io, l, like->n_clients))
		return err_set(e, -EPROTO, "its figures have the form of another version");
	out->load = run_load_new(like->n_clients, l->n_actions, l->n_seconds);
	if (!out->load || run_load_keep_stages(out->load, l->stage, l->n_stages))
		return err_set(e, -ENOMEM, "out of memory");
	out->load->rate_per_s = l->rate_per_s;
	out->load->stages_of_clients = l->stages_of_clients;
	for (size_t i = 0; i < l->n_actions; i++)
		out->load->action[i].name = l->action[i].name;
	part_io_all(&io, out, like);
	if (io.no_memory)
		return err_set(e, -ENOMEM, "out of memory");
	if (io.bad || rbuf_left(&io.in))
		return err_set(e, -EPROTO, "its figures make no sense");
	return 0;
}

void part_fini(struct part *p)
{
	run_load_free(p->load);
	run_clear_commands(&p->commands);
	others_fini(&p->visits);
	memset(p, 0, sizeof(*p));
}
