/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums up what the CPUs have counted, and sums again what a call has changed meanwhile. */

#include "watch/bpf/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How often the calls of a CPU, class and object are read until both tables agree on them. */
#define TRIES 8

/* How long a thread that has no CPU may take to count its call. */
#define PATIENCE_NS 50000000

struct sums {
	struct afs_cell *cell; /* AFS_N_CELLS */
	struct afs_part *part; /* AFS_N_PARTS; NULL: not wanted */
	uint32_t n_parts;
};

/* What a part holds the calls of. */
struct part_key {
	uint32_t role, account, state;
};

static struct part_key part_key(const struct bpf_view *v, uint32_t i)
{
	uint32_t key = v->shared->part_key[i], at = key / AFS_N_STATES;

	if (i < AFS_N_FIXED_PARTS)
		return (struct part_key) { i / AFS_N_STATES, AFS_ACCOUNT_MORE, i % AFS_N_STATES };
	return (struct part_key) { at / AFS_N_ACCOUNTS, at % AFS_N_ACCOUNTS, key % AFS_N_STATES };
}

/* The cell with a part's calls; AFS_N_CELLS: a thread's own code has none. */
static uint32_t cell_of_part(const struct bpf_view *v, uint32_t i)
{
	struct part_key k = part_key(v, i);

	if (k.state >= AFS_N_CLASSES * AFS_N_OBJECTS)
		return AFS_N_CELLS;
	return k.role * AFS_N_CLASSES * AFS_N_OBJECTS + k.state;
}

static void sum_cell(const struct bpf_view *v, uint32_t i, struct afs_cell *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (unsigned int cpu = 0; cpu < v->n_cpus; cpu++)
		if (v->stripe[cpu].cell[i].calls)
			bpf_view_add(sum, &v->stripe[cpu].cell[i], sizeof(*sum));
}

static void sum_part(const struct bpf_view *v, uint32_t i, struct afs_part *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (unsigned int cpu = 0; cpu < v->n_cpus; cpu++)
		bpf_view_add(sum, &v->stripe[cpu].part[i], sizeof(*sum));
}

/* A cell, and the parts that have the same calls, of one CPU. */
struct slice {
	struct afs_cell cell;
	uint32_t n;
	uint32_t i[AFS_N_PARTS]; /* the n parts */
	struct afs_part part[AFS_N_PARTS];
};

/* false: a call was counted meanwhile. */
static bool slice_read(const struct bpf_view *v, unsigned int cpu, uint32_t cell, struct slice *s)
{
	const struct afs_stripe *from = &v->stripe[cpu];
	uint32_t n = bpf_view_parts(v);
	uint64_t calls = 0;

	s->n = 0;
	for (uint32_t i = 0; i < n; i++)
		if (cell_of_part(v, i) == cell)
			s->i[s->n++] = i;
	s->cell = from->cell[cell];
	for (uint32_t k = 0; k < s->n; k++) {
		s->part[k] = from->part[s->i[k]];
		calls += s->part[k].calls;
	}
	return calls == s->cell.calls;
}

/* A CPU counts each of its calls in both tables: they are read until they agree. */
static void sum_again(const struct bpf_view *v, uint32_t cell, struct slice *one, struct sums *s)
{
	memset(&s->cell[cell], 0, sizeof(*s->cell));
	for (uint32_t i = 0; i < s->n_parts; i++)
		if (cell_of_part(v, i) == cell)
			memset(&s->part[i], 0, sizeof(*s->part));
	for (unsigned int cpu = 0; cpu < v->n_cpus; cpu++) {
		for (int tries = TRIES; !slice_read(v, cpu, cell, one) && --tries;)
			bpf_view_wait_for_counts(v, PATIENCE_NS);
		bpf_view_add(&s->cell[cell], &one->cell, sizeof(one->cell));
		for (uint32_t k = 0; k < one->n; k++)
			bpf_view_add(&s->part[one->i[k]], &one->part[k], sizeof(one->part[k]));
	}
	s->n_parts = bpf_view_parts(v);
}

/* A call that returned between the readings of the two tables is in one of them only. */
static int mend(const struct bpf_view *v, struct sums *s)
{
	uint64_t *calls = calloc(AFS_N_CELLS + 1, sizeof(*calls));
	struct slice *one = malloc(sizeof(*one));

	for (uint32_t i = 0; i < s->n_parts && calls; i++)
		calls[cell_of_part(v, i)] += s->part[i].calls;
	for (uint32_t i = 0; i < AFS_N_CELLS && calls && one; i++)
		if (calls[i] != s->cell[i].calls)
			sum_again(v, i, one, s);
	free(calls);
	free(one);
	return calls && one ? 0 : -ENOMEM;
}

static int sum_all(const struct bpf_view *v, struct sums *s)
{
	for (uint32_t i = 0; i < AFS_N_CELLS; i++)
		sum_cell(v, i, &s->cell[i]);
	if (!s->part)
		return 0;
	s->n_parts = bpf_view_parts(v);
	for (uint32_t i = 0; i < s->n_parts; i++)
		sum_part(v, i, &s->part[i]);
	return mend(v, s);
}

/* A call in progress counts when it returns; its time until now counts already. */
static void add_calls_in_progress(const struct bpf_view *v, struct afs_cell *sum)
{
	uint32_t n = bpf_view_threads(v), cell;
	uint64_t now = bpf_view_until(v), entered;
	const struct afs_thread *t;

	for (uint32_t i = 0; i < n; i++) {
		t = &v->thread[i];
		cell = __atomic_load_n(&t->cell, __ATOMIC_RELAXED);
		entered = __atomic_load_n(&t->entered_ns, __ATOMIC_RELAXED);
		if (t->ended || __atomic_load_n(&t->nr, __ATOMIC_ACQUIRE) < 0)
			continue;
		if (cell < AFS_N_CELLS && entered < now)
			sum[cell].ns += now - entered;
	}
}

/* Adds the state each thread has been in since its last event. */
static void add_time_in_progress(const struct bpf_view *v, struct afs_part *sum)
{
	uint64_t now = bpf_view_until(v), since;
	uint32_t n = bpf_view_threads(v), i;
	const struct afs_thread *t;

	for (uint32_t k = 0; k < n; k++) {
		t = &v->thread[k];
		i = __atomic_load_n(&t->nr, __ATOMIC_ACQUIRE) == AFS_NR_NONE ? t->user_part
									     : t->part;
		since = __atomic_load_n(&t->since_ns, __ATOMIC_RELAXED);
		if (t->ended || t->stopped || !t->tid || i >= AFS_N_PARTS || since >= now)
			continue;
		bpf_view_add_since(t, since, now, &sum[i]);
	}
}

static int put_rows(const struct afs_cell *sum, struct ledger *out)
{
	size_t n = 0;

	for (size_t i = 0; i < AFS_N_CELLS; i++)
		n += sum[i].calls || sum[i].ns;
	out->row = calloc(n + 1, sizeof(*out->row));
	if (!out->row)
		return -ENOMEM;
	for (size_t i = 0; i < AFS_N_CELLS; i++) {
		if (!sum[i].calls && !sum[i].ns)
			continue;
		out->row[out->n_rows++] = (struct ledger_row) {
			.role = (uint8_t)(i / AFS_N_OBJECTS / AFS_N_CLASSES),
			.class = (uint8_t)(i / AFS_N_OBJECTS % AFS_N_CLASSES),
			.object = (uint8_t)(i % AFS_N_OBJECTS),
			.cell = sum[i],
		};
	}
	out->has_calls = true;
	return 0;
}

static uint64_t part_order(const struct ledger_part *p)
{
	return ((uint64_t)p->role * AFS_N_ACCOUNTS + p->account) * AFS_N_STATES +
	       AFS_STATE(p->class, p->object);
}

static int compare_parts(const void *a, const void *b)
{
	uint64_t x = part_order(a), y = part_order(b);

	return x < y ? -1 : x > y;
}

/* Two CPUs may have begun the same part at the same time. */
static void join_parts(struct ledger *l)
{
	size_t n = 0;

	qsort(l->part, l->n_parts, sizeof(*l->part), compare_parts);
	for (size_t i = 0; i < l->n_parts; i++) {
		if (n && !compare_parts(&l->part[n - 1], &l->part[i]))
			bpf_view_add(&l->part[n - 1].part, &l->part[i].part,
				     sizeof(l->part[i].part));
		else
			l->part[n++] = l->part[i];
	}
	l->n_parts = n;
}

static int put_parts(const struct bpf_view *v, const struct sums *s, struct ledger *out)
{
	static const struct afs_part none;
	struct part_key k;

	out->part = calloc(s->n_parts + 1, sizeof(*out->part));
	if (!out->part)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_parts; i++) {
		if (!memcmp(&s->part[i], &none, sizeof(none)))
			continue;
		k = part_key(v, i);
		out->part[out->n_parts++] = (struct ledger_part) {
			.role = (uint8_t)k.role,
			.account = (uint16_t)k.account,
			.class = (uint8_t)(k.state / AFS_N_OBJECTS),
			.object = (uint8_t)(k.state % AFS_N_OBJECTS),
			.part = s->part[i],
		};
	}
	join_parts(out);
	return 0;
}

int tables_read(const struct bpf_view *v, bool parts, struct ledger *out)
{
	struct sums s = { .cell = calloc(AFS_N_CELLS, sizeof(*s.cell)) };
	int r = -ENOMEM;

	if (parts)
		s.part = calloc(AFS_N_PARTS, sizeof(*s.part));
	if (!s.cell || (parts && !s.part))
		goto out;
	r = sum_all(v, &s);
	if (r)
		goto out;
	add_calls_in_progress(v, s.cell);
	r = put_rows(s.cell, out);
	if (r || !parts)
		goto out;
	add_time_in_progress(v, s.part);
	r = put_parts(v, &s, out);
out:
	free(s.cell);
	free(s.part);
	return r;
}
