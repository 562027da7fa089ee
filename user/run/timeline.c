/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/timeline.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void run_timeline_free(struct run_timeline *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_intervals; i++)
		free(t->interval[i].command);
	for (size_t i = 0; i < t->n_marks; i++)
		free(t->mark[i].text);
	free(t->interval);
	free(t->mark);
	free(t);
}

/* Their number first, so that each interval has memory for its own commands only. */
static int add_commands(struct run_interval *i, const struct ledger *done)
{
	size_t n = 0;

	for (size_t k = 0; k < done->n_accounts; k++)
		n += account_is_request(done->account[k].account) && done->account[k].sum.answered;
	i->command = calloc(n + 1, sizeof(*i->command));
	if (!i->command)
		return -ENOMEM;
	for (size_t k = 0; k < done->n_accounts; k++) {
		const struct ledger_account *a = &done->account[k];

		if (account_is_request(a->account) && a->sum.answered)
			i->command[i->n_commands++] = (struct run_moment_command) { a->account,
										    a->sum.answered,
										    a->sum.ns };
	}
	return 0;
}

/* The time of requests only, as under "where the server's time goes". */
static void run_timeline_add_times(struct run_interval *i, const struct ledger *done)
{
	for (size_t k = 0; k < done->n_parts; k++) {
		const struct ledger_part *part = &done->part[k];

		if (part->role == AFS_ROLE_SERVER && account_is_request(part->account))
			account_add_part(i->time_ns, part);
	}
}

int run_timeline_interval(struct run_timeline *t, uint64_t end_ns, const struct ledger *done)
{
	struct run_interval *i = VEC_ADD(t->interval, t->n_intervals);

	if (!i)
		return -ENOMEM;
	i->end_ns = end_ns;
	i->known = done && done->has_requests;
	if (i->known) {
		i->answered = ledger_answered(done);
		i->unread_ns = ledger_part_sum(done, AFS_ROLE_SERVER, AFS_ACCOUNT_BETWEEN,
					       LEDGER_ALL, LEDGER_ALL)
				   .runq_ns;
		run_timeline_add_times(i, done);
		if (add_commands(i, done))
			return -ENOMEM;
	}
	return 0;
}

int run_timeline_mark(struct run_timeline *t, uint64_t at_ns, const char *text)
{
	char *copy = strdup(text);

	if (copy && !VEC_PUSH(t->mark, t->n_marks, (struct run_mark) { at_ns, copy }))
		return 0;
	free(copy);
	return -ENOMEM;
}
