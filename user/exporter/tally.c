/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds the readings of one watch to what those before it have counted. */
#include "exporter/tally.h"

#include "run/requests.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct tally_loss *loss_of(struct tally_reading *r, const char *what)
{
	for (size_t i = 0; i < r->n_losses; i++)
		if (!strcmp(r->loss[i].what, what))
			return &r->loss[i];
	if (r->n_losses == TALLY_LOSSES)
		return NULL;
	snprintf(r->loss[r->n_losses].what, sizeof(r->loss[0].what), "%s", what);
	r->loss[r->n_losses].n = 0;
	return &r->loss[r->n_losses++];
}

void tally_lose(struct tally_reading *r, const char *what, uint64_t n)
{
	struct tally_loss *to = loss_of(r, what);

	if (to)
		to->n += n;
}

/* At least this much. */
static void raise_to(uint64_t *to, uint64_t n)
{
	if (*to < n)
		*to = n;
}

static void take_numbers(struct tally *t, const struct tally_reading *r)
{
	struct tally_reading *to = &t->shown;

	for (size_t i = 0; i < TALLY_N; i++) {
		to->known[i] = r->known[i] || (t->base.known[i] && i != TALLY_PROGRAMS_NS);
		raise_to(&to->n[i], t->base.n[i] + (r->known[i] ? r->n[i] : 0));
	}
	for (size_t i = 0; i < r->n_losses; i++) {
		struct tally_loss *before = loss_of(&t->base, r->loss[i].what);
		struct tally_loss *now = loss_of(to, r->loss[i].what);

		if (before && now)
			raise_to(&now->n, before->n + r->loss[i].n);
	}
}

/* Of several steps of one login only the last is answered by success. */
static void count_logins(struct tally_reading *r, const struct account_names *names)
{
	static const unsigned int afp[] = { 18, 19, 63 }; /* FPLogin, FPLoginCont, FPLoginExt */
	const unsigned int own[] = { names ? names->login : 0 };
	const unsigned int *login = names ? own : afp;
	size_t n_login = names ? names->login != 0 : sizeof(afp) / sizeof(afp[0]);
	const struct ledger_account *a;
	uint64_t n = 0;

	for (size_t i = 0; i < n_login; i++) {
		a = ledger_account(&r->ledger, login[i]);
		r->known[TALLY_LOGINS] |= a != NULL;
		/* Both change while they are read. */
		n += a && a->sum.answered > a->sum.errors ? a->sum.answered - a->sum.errors : 0;
	}
	raise_to(&r->n[TALLY_LOGINS], n);
}

int tally_take(struct tally *t, const struct tally_reading *r)
{
	struct ledger sum = { 0 };
	int e = ledger_add(&sum, &t->base.ledger);

	if (!e)
		e = ledger_add(&sum, &r->ledger);
	if (!e)
		e = ledger_raise(&t->shown.ledger, &sum);
	ledger_fini(&sum);
	if (e)
		return e;
	take_numbers(t, r);
	count_logins(&t->shown, t->names);
	for (size_t i = 0; i < t->shown.ledger.n_accounts; i++) {
		const struct ledger_account *a = &t->shown.ledger.account[i];

		if (a->account < AFS_N_ACCOUNTS)
			raise_to(&t->parked_ns[a->account], requests_parked_ns(&a->sum));
	}
	memcpy(t->shown.rung, r->rung, sizeof(r->rung));
	memcpy(t->shown.server, r->server, sizeof(r->server));
	t->shown.port = r->port ? r->port : t->shown.port;
	t->shown.sessions = r->sessions;
	t->watches += !t->up;
	t->up = true;
	return 0;
}

int tally_end(struct tally *t)
{
	struct ledger sum = { 0 };
	int e = ledger_add(&sum, &t->shown.ledger);

	if (e)
		return e;
	ledger_fini(&t->base.ledger);
	t->base = t->shown;
	t->base.ledger = sum;
	t->shown.sessions = 0;
	t->up = false;
	return 0;
}

void tally_fini(struct tally *t)
{
	ledger_fini(&t->base.ledger);
	ledger_fini(&t->shown.ledger);
}
