/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the server answered: errors, by what they mean; and lists of folders. */
#include "doctor/figures/measure_priv.h"

#include <math.h>

#define LIST_LONG  12 /* requests for the list of a folder: less is no huge folder */
#define READS_MORE 2
#define FEW_OF     10 /* one of so many */

static uint64_t answers_answered(const struct measure *m, unsigned int account)
{
	const struct ledger_account *a = ledger_account(&m->view.all, account);

	return a ? a->sum.answered : 0;
}

/* Requests that were refused for one reason, and how many there were of their commands. */
struct refusals {
	double n, most, asked;
	unsigned int last; /* account that "asked" has */
};

static void answers_refuse(struct refusals *to, struct measure *m, const struct ledger_result *x,
			   enum run_figure figure)
{
	char name[ACCOUNT_NAME_MAX];

	to->n += (double)x->n;
	if (x->account != to->last)
		to->asked += (double)answers_answered(m, x->account);
	to->last = x->account;
	if ((double)x->n > to->most)
		run_figure_who(m->out, figure, "%s", account_name(x->account, name));
	to->most = fmax(to->most, (double)x->n);
}

static double answers_share_of(const struct refusals *r)
{
	return r->asked > 0 ? fmin(1, r->n / r->asked) : 0;
}

/* A volume that the user may not open: nothing is broken. */
static bool is_forbidden(int32_t code)
{
	return code == AFP_ERR_ACCESS_DENIED || code == AFP_ERR_NOT_AUTHENTICATED;
}

static bool is_denied(int32_t code)
{
	return code == AFP_ERR_DENY_CONFLICT || code == AFP_ERR_FILE_BUSY ||
	       code == AFP_ERR_LOCK_CONFLICT;
}

static void look_refusals(struct measure *m)
{
	struct refusals full = { .last = AFS_N_ACCOUNTS }, denied = full, volumes = full;
	struct refusals locked = full;
	const struct ledger *l = &m->view.all;

	for (size_t i = 0; i < l->n_results; i++) {
		const struct ledger_result *x = &l->result[i];

		if (x->code == AFP_ERR_DISK_FULL)
			answers_refuse(&full, m, x, RUN_FIGURE_DISK_FULL);
		else if (x->code == AFP_ERR_VOLUME_LOCKED)
			answers_refuse(&locked, m, x, RUN_FIGURE_LOCKED);
		else if (is_denied(x->code))
			answers_refuse(&denied, m, x, RUN_FIGURE_DENIED);
		else if (measure_is(x->account, "FPOpenVol") && !is_forbidden(x->code))
			answers_refuse(&volumes, m, x, RUN_FIGURE_VOLUMES_REFUSED);
	}
	run_figure_set(m->out, RUN_FIGURE_DISK_FULL, full.n);
	run_figure_set(m->out, RUN_FIGURE_DISK_FULL_SHARE, answers_share_of(&full));
	run_figure_set(m->out, RUN_FIGURE_LOCKED, locked.n);
	run_figure_set(m->out, RUN_FIGURE_LOCKED_SHARE, answers_share_of(&locked));
	run_figure_set(m->out, RUN_FIGURE_DENIED, denied.n);
	measure_per_second(m, RUN_FIGURE_DENIED_RATE, denied.n);
	run_figure_set(m->out, RUN_FIGURE_DENIED_SHARE, answers_share_of(&denied));
	run_figure_set(m->out, RUN_FIGURE_VOLUMES_REFUSED, volumes.n);
	run_figure_set(m->out, RUN_FIGURE_VOLUMES_SHARE, answers_share_of(&volumes));
	run_figure_set(m->out, RUN_FIGURE_CNID_HARM,
		       fmax(answers_share_of(&volumes), m->out->value[RUN_FIGURE_CNID_MUTE]));
}

/* netatalk answers AFP_ERR_MISC for an attribute that is not there to clients older than AFP 3.4.
 */
static bool is_normal(const struct ledger_result *x)
{
	return x->code == account_normal_result(NULL, x->account) ||
	       (x->code == AFP_ERR_MISC && measure_is(x->account, "FPGetExtAttr"));
}

/* One command that one error answers again and again. */
static void look_repeated(struct measure *m)
{
	const struct ledger *l = &m->view.all;
	const struct ledger_result *most = NULL;
	double all = (double)m->requests.all.a.sum.answered, n, ns = 0;
	char name[ACCOUNT_NAME_MAX];

	for (size_t i = 0; i < l->n_results; i++)
		if (account_is_request(l->result[i].account) && !is_normal(&l->result[i]) &&
		    (!most || l->result[i].n > most->n))
			most = &l->result[i];
	n = most ? (double)most->n : 0;
	for (size_t i = 0; i < m->requests.n && most; i++) {
		const struct request *r = &m->requests.request[i];

		if (r->number == most->account && r->a.sum.answered)
			ns = measure_own_ns(r) * fmin(1, n / (double)r->a.sum.answered);
	}
	run_figure_share(m->out, RUN_FIGURE_REPEATED, n, all);
	run_figure_set(m->out, RUN_FIGURE_REPEATED_N, n);
	if (most)
		run_figure_share(m->out, RUN_FIGURE_REPEATED_OF, n,
				 (double)answers_answered(m, most->account));
	measure_per_second(m, RUN_FIGURE_REPEATED_RATE, n);
	measure_share(m, RUN_FIGURE_REPEATED_TIME, ns);
	if (most)
		run_figure_who(m->out, RUN_FIGURE_REPEATED, "%s, AFP error %d",
			       account_name(most->account, name), most->code);
}

struct lists {
	struct measure_calls all; /* requests, and their time */
	double n, work_ns;
	double ended; /* requests that were told that there is no more */
	/* Of folders: one whose names fit into one read has two, the last one empty. */
	double reads;
};

/* How many requests of a command were told that there is no more (its normal result), or failed. */
static double answers_with(const struct ledger *l, unsigned int account, bool normal)
{
	double n = 0;

	for (size_t i = 0; i < l->n_results; i++)
		if (l->result[i].account == account &&
		    (l->result[i].code == account_normal_result(NULL, account)) == normal)
			n += (double)l->result[i].n;
	return n;
}

/* Without requests that failed: they listed nothing. */
static void add_list(struct lists *to, const struct measure *m, const struct request *r)
{
	const struct ledger *l = &m->view.all;
	double n = (double)r->a.sum.begun - answers_with(l, r->number, false), share;

	if (n <= 0)
		return;
	share = n / (double)r->a.sum.begun;
	to->ended += answers_with(l, r->number, true);
	to->all.n += n;
	to->all.ns += measure_request_ns(r) * share;
	to->work_ns += measure_own_ns(r) * share;
	to->n += (double)ledger_part_sum(l, AFS_ROLE_SERVER, r->number, AFS_CLASS_CLOSE,
					 AFS_OBJECT_DIR)
		     .calls;
	to->reads += (double)ledger_part_sum(l, AFS_ROLE_SERVER, r->number, AFS_CLASS_DIR,
					     AFS_OBJECT_DIR)
			 .calls;
}

/*
 * Why one of the lists may be huge, though they are short on average: how many requests it took, or
 * will take, is not known. NULL: none is.
 */
static const char *hides_huge(const struct lists *l)
{
	bool more = l->reads - 2 * l->n >= READS_MORE;
	/* A few lists are always under way when a watch begins or ends. */
	bool older = (l->ended - l->n) * FEW_OF > l->n && l->all.n - l->n - l->ended >= READS_MORE;

	if (l->all.n <= 0 || l->all.n >= LIST_LONG * fmax(l->n, 1))
		return NULL;
	if (l->n < 1 || older)
		return "a list was begun before the watch: its length was not seen";
	if (more && l->n > 1)
		return "folders of more than 1,000 files were listed among smaller ones";
	return more && l->ended < 1 ? "the list of a folder of more than 1,000 files has no end yet"
				    : NULL;
}

/*
 * The list of a folder is asked for in pieces. At its first the server opens the folder, reads all
 * names, and closes it: so often lists were begun, and as many reads tell of folders with many
 * names (seen with netatalk 3.1.12 to 4.5.1).
 */
static void look_lists(struct measure *m)
{
	static const char *const commands[] = { "FPEnumerate", "FPEnumerateExt",
						"FPEnumerateExt2" };
	struct lists l = { 0 };
	const char *why;

	for (size_t i = 0; i < m->requests.n; i++)
		if (measure_is_one_of(m->requests.request[i].number, commands,
				      sizeof(commands) / sizeof(*commands)))
			add_list(&l, m, &m->requests.request[i]);
	measure_share_of_work(m, RUN_FIGURE_LIST, l.work_ns);
	why = hides_huge(&l);
	if (why) {
		run_figure_who(m->out, RUN_FIGURE_LIST_REQUESTS, "%s", why);
		run_figure_who(m->out, RUN_FIGURE_LIST_TIME, "%s", why);
		return;
	}
	/* One that goes on since before the watch was opened then. */
	if (l.all.n > 0 && l.n < 1)
		l.n = 1;
	run_figure_share(m->out, RUN_FIGURE_LIST_TIME, l.all.ns, l.n);
	run_figure_share(m->out, RUN_FIGURE_LIST_REQUESTS, l.all.n, l.n);
}

void measure_answers(struct measure *m)
{
	look_refusals(m);
	look_repeated(m);
	look_lists(m);
}
