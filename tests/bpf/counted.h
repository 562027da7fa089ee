/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_BPF_COUNTED_H
#define TESTS_BPF_COUNTED_H

/* What was counted of requests, after rig_read(). */

#include "rung_rig.h"

#define LOST "bytes of connections in no recognized request"
#define NONE "requests without an answer or answers without a request"

static inline const struct afs_account *counted(const struct rung_rig *g, unsigned int number)
{
	const struct ledger_account *a = ledger_account(&g->diff, number);

	if (!a)
		fail_msg("nothing in account %u", number);
	return &a->sum;
}

static inline uint64_t results(const struct rung_rig *g, unsigned int number, int32_t code)
{
	for (size_t i = 0; i < g->diff.n_results; i++)
		if (g->diff.result[i].account == number && g->diff.result[i].code == code)
			return g->diff.result[i].n;
	return 0;
}

/* Calls of the server's threads for requests of an account. */
static inline uint64_t calls_for(const struct rung_rig *g, unsigned int number)
{
	return ledger_part_sum(&g->diff, AFS_ROLE_SERVER, number, LEDGER_ALL, LEDGER_ALL).calls;
}

/* Requests, all of them answered, and their bytes. Where none is parked all are handed over. */
static inline void check(const struct rung_rig *g, unsigned int number, uint64_t n, uint64_t in,
			 uint64_t out)
{
	const struct afs_account *a = counted(g, number);

	assert_int_equal(a->begun, n);
	assert_int_equal(a->answered, n);
	assert_int_equal(a->handed, g->rung->load.setup->parks ? 0 : n);
	assert_int_equal(a->bytes_in, in);
	assert_int_equal(a->bytes_out, out);
}

#endif
