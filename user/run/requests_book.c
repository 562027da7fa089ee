/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cross-check of what clients sent with what the server answered. */
#include "run/account.h"
#include "run/run.h"

#include <stdio.h>

#define BOOK_CLIENT "the client's count"

static void count_commands(const struct run *r, uint64_t client[AFS_ACCOUNT_DSI],
			   uint64_t server[AFS_ACCOUNT_DSI])
{
	for (size_t i = 0; i < r->n_phases; i++) {
		const struct run_phase *p = r->phase[i];

		if (!p->ledger.has_requests || !p->complete)
			continue;
		for (size_t k = 0; k < p->n_commands; k++)
			client[p->command[k]->code] += p->command[k]->latency.n;
		for (size_t k = 0; k < p->ledger.n_accounts; k++)
			if (p->ledger.account[k].account < AFS_ACCOUNT_DSI)
				server[p->ledger.account[k].account] +=
				    p->ledger.account[k].sum.answered;
	}
}

struct own_requests {
	bool known;   /* of all phases that count */
	bool partial; /* of any of them */
	uint64_t ours, others, others_requests, client;
};

static struct own_requests count_connections(const struct run *r)
{
	struct own_requests c = { .known = true };

	for (size_t i = 0; i < r->n_phases; i++) {
		const struct run_phase *p = r->phase[i];

		if (!p->ledger.has_requests || !p->complete)
			continue;
		for (size_t k = 0; k < p->n_commands; k++)
			c.client += p->command[k]->latency.n;
		c.client += p->clients.greeted;
		c.known &= p->clients.known;
		c.partial |= p->clients.partial;
		c.ours += p->clients.ours;
		c.others_requests += p->clients.others_requests;
		/* The same ones, mostly, in each phase. */
		c.others = p->clients.others > c.others ? p->clients.others : c.others;
	}
	return c;
}

/* The server's commands are those of all clients; what they were on each connection is not kept.
 * Where some of our connections are not known any more, nothing can be compared. */
static int close_ours(struct run *r, const struct own_requests *c)
{
	int err = run_note(&r->server, RUN_OTHERS,
			   "%llu connections of other clients made %llu requests meanwhile; the "
			   "server's figures are of all",
			   (unsigned long long)c->others, (unsigned long long)c->others_requests);

	return err || c->partial ? err
				 : run_book(r, "requests answered on our connections", BOOK_CLIENT,
					    c->ours, c->client);
}

int run_close_requests(struct run *r)
{
	const struct own_requests c = count_connections(r);
	uint64_t client[AFS_ACCOUNT_DSI] = { 0 }, server[AFS_ACCOUNT_DSI] = { 0 };
	uint64_t ours = 0, theirs = 0;
	char name[64], number[ACCOUNT_NAME_MAX];
	bool agree = true;
	int err = 0;

	if ((c.known || c.partial) && c.others)
		return close_ours(r, &c);
	count_commands(r, client, server);
	for (unsigned int code = 0; code < AFS_ACCOUNT_DSI && !err; code++) {
		ours += server[code];
		theirs += client[code];
		if (server[code] == client[code])
			continue;
		agree = false;
		snprintf(name, sizeof(name), "requests %s", account_name(code, number));
		err = run_book(r, name, BOOK_CLIENT, server[code], client[code]);
	}
	if (err || !agree || (!ours && !theirs))
		return err;
	return run_book(r, "requests answered", BOOK_CLIENT, ours, theirs);
}
