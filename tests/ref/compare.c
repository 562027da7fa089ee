/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every figure of a ledger must be the tally's, and nothing more may be there. */

#include "ref/compare.h"

#include "run/account.h"

#include <stdlib.h>
#include <string.h>

#define TOLD 5

typedef unsigned long long ull;

static bool differs(struct ref_compare *c)
{
	return c->n++ < TOLD;
}

static const char *name_of(unsigned int account, char buf[ACCOUNT_NAME_MAX])
{
	return account_name(account, buf);
}

static void check_cell(struct ref_compare *c, const struct ref_cell *got,
		       const struct ref_cell *want, const unsigned int at[4])
{
	char buf[ACCOUNT_NAME_MAX];

	if (!memcmp(got, want, sizeof(*got)) || !differs(c))
		return;
	fprintf(c->out,
		"%s, %s (%u), %s on %s: %llu calls, %llu errors, %llu bytes; made were %llu, %llu, "
		"%llu\n",
		ledger_role_name(at[0]), name_of(at[1], buf), at[1], ledger_class_name(at[2]),
		ledger_object_name(at[3]), (ull)got->calls, (ull)got->errors, (ull)got->bytes,
		(ull)want->calls, (ull)want->errors, (ull)want->bytes);
}

/* Moves all waits of the threads to where the serving thread's are. */
static void join_waits(struct ref_tally *t)
{
	struct ref_cell *to, *from;

	for (int role = 0; role < REF_N_ROLES; role++) {
		for (int object = 0; object < AFS_N_OBJECTS; object++) {
			to = &t->cell[role][AFS_ACCOUNT_BETWEEN][AFS_CLASS_WAIT][object];
			from = &t->cell[role][AFS_ACCOUNT_THREADS][AFS_CLASS_WAIT][object];
			to->calls += from->calls;
			to->errors += from->errors;
			memset(from, 0, sizeof(*from));
		}
	}
}

static void check_cells(struct ref_compare *c, struct ref_tally *got, struct ref_tally *want)
{
	unsigned int at[4];

	if (c->waits_together) {
		join_waits(got);
		join_waits(want);
	}
	for (at[0] = 0; at[0] < REF_N_ROLES; at[0]++)
		for (at[1] = 0; at[1] < AFS_N_ACCOUNTS; at[1]++)
			for (at[2] = 0; at[2] < AFS_N_CLASSES; at[2]++)
				for (at[3] = 0; at[3] < AFS_N_OBJECTS; at[3]++)
					check_cell(c, &got->cell[at[0]][at[1]][at[2]][at[3]],
						   &want->cell[at[0]][at[1]][at[2]][at[3]], at);
}

/* The parts as a tally. */
static void gather(struct ref_compare *c, struct ref_tally *got)
{
	const struct ledger_part *p;
	struct ref_cell *to;

	for (size_t i = 0; i < c->got->n_parts; i++) {
		p = &c->got->part[i];
		if (p->class == AFS_CLASS_USER || p->role >= REF_N_ROLES) {
			if (p->part.calls && differs(c))
				fprintf(c->out, "%llu calls of own code or of a helper\n",
					(ull)p->part.calls);
			continue;
		}
		to = &got->cell[p->role][p->account][p->class][p->object];
		to->calls += p->part.calls;
		to->errors += p->part.errors;
		to->bytes += p->part.bytes;
	}
}

/* Commands without a name have no histogram. */
static uint64_t has_hist(unsigned int number, const struct ref_account *want)
{
	return account_known_name(number) ? want->answered : 0;
}

static void check_account(struct ref_compare *c, unsigned int number)
{
	const struct ledger_account *row = ledger_account(c->got, number);
	const struct ref_account *want = &c->want->account[number];
	struct ref_account got = {};
	char buf[ACCOUNT_NAME_MAX];
	uint64_t hist = 0;

	if (row) {
		got = (struct ref_account) { row->sum.begun, row->sum.answered, row->sum.errors,
					     row->sum.bytes_in, row->sum.bytes_out };
		for (int i = 0; i < AFS_REQUEST_BUCKETS; i++)
			hist += row->hist[i];
	}
	if ((memcmp(&got, want, sizeof(got)) || hist != has_hist(number, want)) && differs(c))
		fprintf(c->out,
			"%s (%u): %llu begun, %llu answered, %llu errors, %llu bytes in, %llu out, "
			"%llu in the histogram; were %llu, %llu, %llu, %llu, %llu\n",
			name_of(number, buf), number, (ull)got.begun, (ull)got.answered,
			(ull)got.errors, (ull)got.bytes_in, (ull)got.bytes_out, (ull)hist,
			(ull)want->begun, (ull)want->answered, (ull)want->errors,
			(ull)want->bytes_in, (ull)want->bytes_out);
}

static uint64_t result_of(const struct ledger *l, uint32_t account, int32_t code)
{
	for (size_t i = 0; i < l->n_results; i++)
		if (l->result[i].account == account && l->result[i].code == code)
			return l->result[i].n;
	return 0;
}

static void check_results(struct ref_compare *c)
{
	const struct ref_result *r;
	uint64_t got, sum = 0, want = 0;

	for (size_t i = 0; i < c->want->n_results; i++) {
		r = &c->want->result[i];
		got = result_of(c->got, r->account, r->code);
		want += r->n;
		if (got != r->n && differs(c))
			fprintf(c->out, "account %u, result %d: %llu times; was %llu\n", r->account,
				r->code, (ull)got, (ull)r->n);
	}
	for (size_t i = 0; i < c->got->n_results; i++)
		sum += c->got->result[i].n;
	if (sum != want && differs(c))
		fprintf(c->out, "%llu results in all; were %llu\n", (ull)sum, (ull)want);
}

unsigned int ref_compare(struct ref_compare *c)
{
	struct ref_tally *got = calloc(1, sizeof(*got)), *want = malloc(sizeof(*want));

	if (!got || !want)
		abort();
	*want = *c->want;
	gather(c, got);
	for (unsigned int i = 0; i < AFS_N_ACCOUNTS; i++)
		check_account(c, i);
	check_results(c);
	check_cells(c, got, want);
	free(got);
	free(want);
	return c->n;
}

unsigned int ref_compare_sums(struct ref_compare *c)
{
	const struct ledger_row *row;
	struct afs_part sum;
	uint64_t calls = 0, rows = 0;

	for (size_t i = 0; i < c->got->n_rows; i++) {
		row = &c->got->row[i];
		sum = ledger_part_sum(c->got, row->role, LEDGER_ALL, row->class, row->object);
		rows += row->cell.calls;
		if ((sum.calls != row->cell.calls || sum.errors != row->cell.errors ||
		     sum.bytes != row->cell.bytes) &&
		    differs(c))
			fprintf(
			    c->out,
			    "%s on %s: %llu calls, %llu errors, %llu bytes in parts; %llu, %llu, "
			    "%llu in the calls ledger\n",
			    ledger_class_name(row->class), ledger_object_name(row->object),
			    (ull)sum.calls, (ull)sum.errors, (ull)sum.bytes, (ull)row->cell.calls,
			    (ull)row->cell.errors, (ull)row->cell.bytes);
	}
	for (size_t i = 0; i < c->got->n_parts; i++)
		calls += c->got->part[i].part.calls;
	if (calls != rows && differs(c))
		fprintf(c->out, "%llu calls in parts, %llu in the calls ledger\n", (ull)calls,
			(ull)rows);
	return c->n;
}
