/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lantest from beginning to end: Base, iterations, tests, and cleaning the volume.
 * What a test does is in lantest_tests.c, lantest_tests_46.c and lantest_bulk.c.
 */
#include "afp/quantum.h"
#include "load/room.h"
#include "work/lantest/lantest_priv.h"
#include "work/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BULK_OVERHEAD 36    /* DSI header and FPWriteExt: the chunk is the quantum less these */
#define OPS_MAX       32768 /* of one window, id table of DSI */
#define PAGE          4096  /* where the kernel copies to fastest */
#define SET_4_6_SINCE 40600
#define QUANTUM_MIN   40036 /* the file of locks is 40,000 bytes, written in one request */

const struct lantest_set *lantest_set_of(const char *machine)
{
	unsigned int version = afp_quantum_version(machine);

	return version && version < SET_4_6_SINCE ? &lantest_4_5 : &lantest_4_6;
}

uint32_t lantest_all(const struct lantest_set *set)
{
	return LANTEST_BIT(set->n_tests + 1) - 1;
}

size_t lantest_chunk(const struct lantest_opts *opts, uint32_t quantum, const char *machine)
{
	size_t most = opts->set->fills_quantum
			  ? afp_quantum_data(quantum, machine, AFP_WRITE_EXT_LEN)
			  : quantum - BULK_OVERHEAD;

	return most < opts->file_len ? most : (size_t)opts->file_len;
}

uint32_t lantest_selection(const struct lantest_opts *opts)
{
	const struct lantest_set *set = opts->set;
	uint32_t selection = opts->tests & lantest_all(set);

	for (unsigned int n = 1; n <= set->n_tests; n++) {
		if (!(selection & LANTEST_BIT(n)) || (n == set->read_test && opts->file))
			continue;
		selection |= set->test[n - 1].implies;
	}
	return selection;
}

/* base is set as soon as there may be something to remove; never to a directory of others. */
static int lantest_make_base(struct lantest *t, char base[static 32])
{
	char name[32];
	int r = lt_params(t, AFP_ROOT_ID, "", 0, 0x0100);

	_Static_assert(TREE_NAME_MAX < sizeof(name), "base holds a name");
	tree_name(name);
	r = r ? r : lt_probe(t, AFP_ROOT_ID, name, AFP_ERR_NO_OBJECT);
	if (r)
		return r;
	strcpy(base, name);
	r = lt_mkdir(t, AFP_ROOT_ID, name, &t->base);
	if (r > 0 && t->op.dsi.result)
		*base = '\0'; /* refused: it is not ours, or does not exist */
	r = r ? r : lt_params(t, t->base, "", 0, 0x0100);
	return r ? r : lt_probe(t, AFP_ROOT_ID, name, AFP_ERR_OK);
}

static int run_test(struct lantest *t, unsigned int n, unsigned int iteration)
{
	const struct lantest_test *test = &t->opts->set->test[n - 1];
	int r = 0;

	if (test->setup)
		r = test->setup(t);
	r = r ? r : load_phase_begin(t->load, n, iteration, test->title, t->e);
	if (!r) {
		r = test->timed(t);
		load_phase_end(t->load, !r);
	}
	if (!r && test->teardown)
		r = test->teardown(t);
	return r;
}

/* Removes files of a test that would disturb another one. */
static int isolate(struct lantest *t)
{
	if (!t->files_left)
		return 0;
	t->files_left = false;
	return tree_remove_legacy(t->load->afp, t->base, NULL, t->e);
}

static int run_iteration(struct lantest *t, unsigned int iteration)
{
	const struct lantest_set *set = t->opts->set;
	int r = 0;

	for (unsigned int n = 1; !r && n <= set->n_tests; n++) {
		if (t->selection & LANTEST_BIT(n)) {
			r = set->test[n - 1].shares ? 0 : isolate(t);
			r = r ? r : run_test(t, n, iteration);
		}
		/* the file that was written is kept until it has been read */
		if (!r && n == set->read_test && t->selection & LANTEST_BIT(set->write_test))
			r = lt_delete(t, t->base, LT_BIG_FILE);
		if (r > 0)
			r = err_prefix(t->e, r, "test %u, iteration %u", n, iteration);
	}
	return r;
}

/* Whole pages that have all been written to: no page faults in timed regions. */
static void *zeroed(size_t len)
{
	void *at;

	len = (len + PAGE - 1) / PAGE * PAGE;
	at = aligned_alloc(PAGE, len);
	return at ? memset(at, 0, len) : NULL;
}

static int init(struct lantest *t, struct load *l, const struct lantest_opts *opts,
		const char *machine, struct err *e)
{
	uint32_t quantum = dsi_quantum(l->afp->dsi);
	size_t len;

	t->load = l;
	t->opts = opts;
	t->e = e;
	t->selection = lantest_selection(opts);
	if (quantum < QUANTUM_MIN)
		return err_set(
		    e, LOAD_REFUSED,
		    "the server's quantum of %u bytes is less than the %d that lantest needs",
		    quantum, QUANTUM_MIN);
	t->chunk = lantest_chunk(opts, quantum, machine);
	t->n_chunks = opts->file_len / t->chunk;
	t->n_ops = t->n_chunks < OPS_MAX ? t->n_chunks : OPS_MAX;
	len = t->chunk > QUANTUM_MIN ? t->chunk : QUANTUM_MIN; /* the file of locks as well */
	t->zeros = zeroed(len);
	t->sink = zeroed(len);
	t->ops = zeroed(t->n_ops * sizeof(struct afp_op));
	if (!t->zeros || !t->sink || !t->ops)
		return err_set(e, -ENOMEM, "out of memory");
	return 0;
}

/* For the files of all tests together, which is no less than what is there at once. */
static int lantest_room(const struct lantest *t)
{
	struct room_need need = { .where = "the volume" };
	const struct store_afp_opts how = { .window = 1 };
	struct store *s;
	int r;

	if (t->selection & LANTEST_BIT(t->opts->set->write_test))
		need.bytes = t->opts->file_len;
	for (unsigned int n = 1; n <= t->opts->set->n_tests; n++)
		if (t->selection & LANTEST_BIT(n))
			need.bytes += t->opts->set->test[n - 1].bytes;
	r = store_open_afp(&s, t->load->afp, &how, t->e);
	if (r)
		return r;
	r = room_check(s, &need, t->e);
	store_close(s);
	return r;
}

/* Leaves the volume as it was found. Keeps the first error. */
static int lantest_clean_up(struct lantest *t, char base[static 32], int r)
{
	struct err later = { 0 };
	struct afp_op *late;
	int rc = 0;

	if (!*base)
		return r;
	dsi_ignore_stop(t->load->afp->dsi);
	while (!afp_reap(t->load->afp, &late, NULL))
		; /* what was in flight when the run broke off */
	if (t->fork_open)
		t->forks[t->n_forks++] = t->fork;
	while (!rc && t->n_forks) {
		afp_prep_close_fork(&t->op, t->forks[--t->n_forks]);
		rc = afp_call(t->load->afp, &t->op, &later);
	}
	rc = rc < 0 ? rc : tree_remove_legacy(t->load->afp, AFP_ROOT_ID, base, &later);
	if (!rc)
		*base = '\0';
	if (rc && !r)
		r = err_set(t->e, rc, "cannot remove %s again: %.400s", base, later.text);
	return r;
}

int lantest_run(struct load *l, const struct lantest_opts *opts, const char *machine,
		char base[static 32], struct err *e)
{
	struct lantest *t = zeroed(sizeof(*t));
	int r;

	base[0] = '\0';
	if (!t)
		return err_set(e, -ENOMEM, "out of memory");
	r = init(t, l, opts, machine, e);
	if (!r && !opts->force)
		r = lantest_room(t);
	if (!r) {
		r = lantest_make_base(t, base);
		r = r > 0 ? err_prefix(e, r, "test directory") : r;
	}
	if (!r)
		load_ready(l);
	for (unsigned int i = 1; !r && i <= opts->iterations; i++)
		r = run_iteration(t, i);
	r = lantest_clean_up(t, base, r);
	free(t->ops);
	free(t->sink);
	free(t->zeros);
	free(t);
	return r;
}
