/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Round trips: how many an action takes, and the time to expect at longer round-trip times. */
#include "report/trips.h"

#include "report/section.h"

#include <string.h>

#define INDENT 7 /* of notes: as in the heading */

enum {
	COL_NAME,
	COL_N,
	COL_REQUESTS,
	COL_TRIPS,
	COL_LEAST,
	COL_SHARE,
	COL_RTT,
	COL_HERE,
	COL_AT,
	COL_TOGETHER = COL_AT + RUN_RTTS_MAX,
};

#define AT                                                                                         \
	{                                                                                          \
		.head = "", .off = true                                                            \
	}

static const struct section_column columns[] = {
	[COL_NAME] = { .head = "action" },
	[COL_N] = { .head = "done", .unprinted = true },
	[COL_REQUESTS] = { .head = "requests", .drop = 3 },
	[COL_TRIPS] = { .head = "round trips", .name = "round_trips" },
	[COL_LEAST] = { .head = "needed", .drop = 4 },
	[COL_SHARE] = { .head = "net%", .name = "network", .unit = "%", .drop = 2 },
	[COL_RTT] = { .head = "RTT" GLUE "here", .name = "rtt", .unprinted = true },
	[COL_HERE] = { .head = "here" },
	[COL_AT] = AT,
	AT,
	AT,
	AT,
	AT,
	AT,
	[COL_TOGETHER] = { .head = "could" GLUE "overlap",
			   .name = "together",
			   .left = true,
			   .drop = 1 },
};

static const struct section_type trips_section = {
	.key = "round-trips",
	.title = "Round trips",
	.rest = "  of one action: requests that each waited for the answer to the one\n"
		"       before; here: mean time; at: the time to expect at that round-trip time",
	SECTION_OF(columns),
	.gap = 1,
	.silent = true,
};

/* What the columns of other round-trip times are called. */
struct trips_table {
	struct section s;
	struct run_rtts at;
	char head[RUN_RTTS_MAX][24], name[RUN_RTTS_MAX][24];
	bool fills, unknown, lists; /* >=; no round-trip time; requests that could go together */
	double rtt_ns;
};

static struct cell trips_number(double v)
{
	return cell_fixed(v, v == (double)(uint64_t)v ? 0 : 1);
}

/* "FPCreateFile 1, FPGetFileDirParms 2": of one action. */
static struct cell cell_together(const struct trips_row *row)
{
	char text[160] = "";
	size_t len = 0;

	for (size_t i = 0; row->of && i < RUN_TOGETHER_MAX && row->of->together[i].what; i++) {
		const struct run_together *t = &row->of->together[i];

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s %s", len ? ", " : "",
					t->what, trips_number((double)t->n / (double)row->n).text);
		if (len >= sizeof(text))
			break;
	}
	if (!*text)
		return row->of ? cell_dash() : cell_blank();
	return cell_text(text, sizeof(((struct cell *)0)->text) - 1);
}

static void trips_put_row(void *user, const struct trips_row *row)
{
	struct trips_table *t = user;
	struct cell *cell = section_row(&t->s)->cell;

	cell[COL_NAME] = cell_text(row->name, 32);
	cell[COL_N] = cell_count(row->n);
	cell[COL_REQUESTS] = trips_number(row->requests);
	cell[COL_TRIPS] = trips_number(row->trips);
	cell[COL_LEAST] = row->least < 0 ? cell_na() : trips_number(row->least);
	cell[COL_HERE] = cell_time(row->took_ns);
	cell[COL_TOGETHER] = cell_together(row);
	t->lists |= row->of && row->of->together[0].what;
	cell[COL_SHARE] = cell[COL_RTT] = cell_na();
	for (size_t i = 0; i < t->at.n; i++)
		cell[COL_AT + i] = cell_na();
	t->unknown |= row->rtt_ns <= 0;
	if (row->rtt_ns <= 0)
		return;
	t->rtt_ns = row->rtt_ns;
	cell[COL_RTT] = cell_time(row->rtt_ns);
	t->fills |= row->fills;
	cell[COL_SHARE] = cell_fixed(100 * run_trips_share(row->took_ns, row->trips, row->rtt_ns),
				     0);
	for (size_t i = 0; i < t->at.n; i++) {
		struct cell *at = &cell[COL_AT + i];
		char text[sizeof(at->text)];

		*at = cell_time(run_trips_at(row->took_ns, row->trips, row->rtt_ns, t->at.ns[i]));
		if (!row->fills || t->at.ns[i] <= row->rtt_ns)
			continue;
		snprintf(text, sizeof(text), "≥%.30s", at->text);
		memcpy(at->text, text, sizeof(text));
	}
}

/* From this column on. */
static void trips_name_columns(struct trips_table *t, size_t first)
{
	for (size_t i = 0; i < t->at.n; i++) {
		struct section_column *c = &t->s.column[first + i];

		snprintf(t->head[i], sizeof(t->head[i]), "at" GLUE "%.4gms", t->at.ns[i] / 1e6);
		snprintf(t->name[i], sizeof(t->name[i]), "at_%.4gms", t->at.ns[i] / 1e6);
		c->head = t->head[i];
		c->name = t->name[i];
		c->off = false;
	}
}

/* Below the table, in the column of the heading's lines. */
static void trips_put_note(struct trips_table *t, bool said, const char *text)
{
	if (!said)
		return;
	section_indented(&t->s, "", INDENT);
	section_more(&t->s, "%s", text);
}

static void trips_put_notes(struct trips_table *t)
{
	section_below(&t->s);
	if (t->rtt_ns > 0) {
		section_indented(&t->s, "", INDENT);
		section_more(&t->s,
			     "The round-trip time here is %s, the least that TCP has measured. The "
			     "time to expect differs from that here by the round trips alone: "
			     "bandwidth, losses, TCP's slow start and a server that has less to do "
			     "are not in it.",
			     cell_time(t->rtt_ns).text);
	}
	trips_put_note(t, t->unknown,
		       "Where the round-trip time is not known, it cannot be told how long an "
		       "action would take.");
	trips_put_note(t, t->fills,
		       "≥: at least. More data goes in a round trip than TCP sends at once after "
		       "a pause, so that it may take more of them.");
	trips_put_note(t, t->lists,
		       "Could overlap: requests, per action, that were sent after an answer that "
		       "they do not need. Needed: the round trips that would be left if all such "
		       "requests were in flight together.");
}

int paint_trips(const struct paint *p)
{
	struct trips_table t = { 0 };

	section_open(&t.s, p, &trips_section);
	trips_asked(p->view.run, &t.at);
	trips_name_columns(&t, COL_AT);
	trips_each(&p->view, trips_put_row, &t);
	section_hide_empty(&t.s, COL_LEAST, COL_LEAST + 1);
	section_hide_empty(&t.s, COL_TOGETHER, COL_TOGETHER + 1);
	if (t.s.n_rows)
		trips_put_notes(&t);
	return section_close(&t.s);
}

/* ---- sessions of other people's clients ---- */

enum {
	SES_USER,
	SES_CLIENT,
	SES_REQUESTS,
	SES_TRIPS,
	SES_SHARED,
	SES_BURSTS,
	SES_EACH,
	SES_RTT,
	SES_AT
};

static const struct section_column session_columns[] = {
	[SES_USER] = { .head = "user" },
	[SES_CLIENT] = { .head = "client", .left = true, .drop = 1 },
	[SES_REQUESTS] = { .head = "requests" },
	[SES_TRIPS] = { .head = "round trips", .name = "round_trips" },
	[SES_SHARED] = { .head = "shared", .drop = 2 },
	[SES_BURSTS] = { .head = "bursts" },
	[SES_EACH] = { .head = "round trips/burst", .name = "each" },
	[SES_RTT] = { .head = "RTT", .name = "rtt" },
	[SES_AT] = AT,
	AT,
	AT,
	AT,
	AT,
	AT,
};

static const struct section_type sessions_section = {
	.key = "session-round-trips",
	.title = "Round trips of the sessions",
	.rest = "  requests that came when the server had none of that client\n"
		"       (shared: the others); burst: requests less than 1 s after a reply; at:\n"
		"       how long a burst waits for the network at that round-trip time; which\n"
		"       actions of users they were cannot be told",
	SECTION_OF(session_columns),
	.gap = 1,
	.silent = true,
};

#define SESSIONS 20 /* shown */

static void trips_put_session(struct trips_table *t, const struct run_session *s)
{
	struct trips_session is;
	struct cell *cell;
	double each;

	if (!trips_of_session(s, &is))
		return;
	cell = section_row(&t->s)->cell;
	each = (double)is.trips / (double)is.bursts;
	cell[SES_USER] = cell_text(s->user ? s->user : "n/a", 16);
	cell[SES_CLIENT] = cell_text(s->address ? s->address : "n/a", 39);
	cell[SES_REQUESTS] = cell_count(is.requests);
	cell[SES_TRIPS] = cell_count(is.trips);
	cell[SES_SHARED] = cell_count(is.requests - is.trips);
	cell[SES_BURSTS] = cell_count(is.bursts);
	cell[SES_EACH] = trips_number(each);
	cell[SES_RTT] = s->tcp.known && s->tcp.min_rtt_ns ? cell_time((double)s->tcp.min_rtt_ns)
							  : cell_na();
	for (size_t i = 0; i < t->at.n; i++)
		cell[SES_AT + i] = cell_time(each * t->at.ns[i]);
}

/* Those with most requests first, as many as are shown. */
static size_t trips_busiest(const struct run *r, const struct run_session *out[static SESSIONS])
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_sessions; i++) {
		const struct run_session *s = &r->session[i], *other;

		for (size_t k = 0; k < n; k++) {
			if (out[k]->requests >= s->requests)
				continue;
			other = out[k];
			out[k] = s;
			s = other;
		}
		if (n < SESSIONS)
			out[n++] = s;
	}
	return n;
}

int paint_session_trips(const struct paint *p)
{
	const struct run_session *of[SESSIONS];
	struct trips_table t = { 0 };
	size_t n = trips_busiest(p->view.run, of);

	section_open(&t.s, p, &sessions_section);
	trips_asked(p->view.run, &t.at);
	trips_name_columns(&t, SES_AT);
	for (size_t i = 0; i < n; i++)
		trips_put_session(&t, of[i]);
	return section_close(&t.s);
}
