/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums up what the CPUs have counted. */

#include "watch/bpf/view.h"

#include "base/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sums {
	struct afs_cell *cell; /* AFS_N_CELLS */
	struct afs_part *part; /* AFS_N_PARTS */
	uint32_t n_parts;
};

static void sum_parts(const struct bpf_view *v, struct sums *s)
{
	uint32_t n = __atomic_load_n(&v->shared->n_parts, __ATOMIC_ACQUIRE);

	s->n_parts = AFS_N_FIXED_PARTS + n;
	s->n_parts = s->n_parts < AFS_N_PARTS ? s->n_parts : AFS_N_PARTS;
	for (unsigned int cpu = 0; cpu < v->n_cpus; cpu++)
		sums_add(s->part, v->stripe[cpu].part, s->n_parts * sizeof(*s->part));
}

/* Adds the state each thread has been in since its last event; a part that is new comes later. */
static void add_time_in_progress(const struct bpf_view *v, struct sums *s)
{
	uint64_t now = bpf_view_until(v), since;
	uint32_t n = bpf_view_threads(v), i;
	const struct afs_thread *t;

	for (uint32_t k = 0; k < n; k++) {
		t = &v->thread[k];
		i = __atomic_load_n(&t->nr, __ATOMIC_ACQUIRE) == AFS_NR_NONE ? t->user_part
									     : t->part;
		since = __atomic_load_n(&t->since_ns, __ATOMIC_RELAXED);
		if (t->ended || !t->tid || i >= s->n_parts || since >= now)
			continue;
		bpf_view_add_since(t, since, now, &s->part[i]);
	}
}

/* Part i, and whose it is; the first ones belong to AFS_ACCOUNT_MORE. */
static struct ledger_part tables_part(const struct bpf_view *v, const struct sums *s, uint32_t i)
{
	uint32_t key = v->shared->part_key[i], at, state;

	if (i < AFS_N_FIXED_PARTS)
		key = (i / AFS_N_STATES * AFS_N_ACCOUNTS + AFS_ACCOUNT_MORE) * AFS_N_STATES +
		      i % AFS_N_STATES;
	at = key / AFS_N_STATES;
	state = key % AFS_N_STATES;
	return (struct ledger_part) {
		.role = (uint8_t)(at / AFS_N_ACCOUNTS),
		.account = (uint16_t)(at % AFS_N_ACCOUNTS),
		.class = (uint8_t)(state / AFS_N_OBJECTS),
		.object = (uint8_t)(state % AFS_N_OBJECTS),
		.part = s->part[i],
	};
}

/* A cell is the sum of its parts; a thread's own code has none. */
static void sum_cells(const struct bpf_view *v, struct sums *s)
{
	const struct afs_part *p;
	struct ledger_part of;
	struct afs_cell *c;

	for (uint32_t i = 0; i < s->n_parts; i++) {
		of = tables_part(v, s, i);
		if (of.class == AFS_CLASS_USER)
			continue;
		p = &s->part[i];
		c = &s->cell[AFS_CELL(of.role, of.class, of.object)];
		c->calls += p->calls;
		c->errors += p->errors;
		c->bytes += p->bytes;
		c->ns += p->cpu_ns + p->blocked_ns + p->runq_ns + p->stopped_ns;
	}
}

static int tables_put_rows(const struct bpf_view *v, const struct sums *s, struct ledger *out)
{
	struct ledger_row *row;

	out->row = calloc(AFS_N_CELLS, sizeof(*out->row));
	if (!out->row)
		return -ENOMEM;
	for (size_t i = 0; i < AFS_N_CELLS; i++) {
		if (!s->cell[i].calls && !s->cell[i].ns)
			continue;
		row = &out->row[out->n_rows++];
		*row = (struct ledger_row) {
			.role = (uint8_t)(i / AFS_N_OBJECTS / AFS_N_CLASSES),
			.class = (uint8_t)(i / AFS_N_OBJECTS % AFS_N_CLASSES),
			.object = (uint8_t)(i % AFS_N_OBJECTS),
			.cell = s->cell[i],
		};
		for (unsigned int lane = 0; lane < v->n_lanes; lane++)
			sums_add(row->cell.hist, v->times[lane].call[i], sizeof(row->cell.hist));
	}
	out->has_calls = true;
	return 0;
}

static int tables_put_parts(const struct bpf_view *v, const struct sums *s, struct ledger *out)
{
	static const struct afs_part none;

	out->part = calloc(s->n_parts + 1, sizeof(*out->part));
	if (!out->part)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_parts; i++)
		if (memcmp(&s->part[i], &none, sizeof(none)) != 0)
			out->part[out->n_parts++] = tables_part(v, s, i);
	return 0;
}

int tables_read(const struct bpf_view *v, bool parts, struct ledger *out)
{
	struct sums s = { .cell = calloc(AFS_N_CELLS, sizeof(*s.cell)),
			  .part = calloc(AFS_N_PARTS, sizeof(*s.part)) };
	int r = -ENOMEM;

	if (!s.cell || !s.part)
		goto out;
	sum_parts(v, &s);
	add_time_in_progress(v, &s);
	sum_cells(v, &s);
	r = tables_put_rows(v, &s, out);
	if (!r && parts)
		r = tables_put_parts(v, &s, out);
out:
	free(s.cell);
	free(s.part);
	return r;
}
