/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sessions of a run: who kept the server busy. */
#include "report/screen/screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SESSIONS 20 /* shown; JSON has all */

enum {
	COL_USER,
	COL_ADDRESS,
	COL_VOLUME,
	COL_DIALECT,
	COL_PID,
	COL_BEGUN,
	COL_ENDED,
	COL_REQUESTS,
	COL_BUSY,
	COL_SHARE,
	COL_CALLS,
	COL_IN,
	COL_OUT
};

static const struct section_column columns[] = {
	[COL_USER] = { .head = "user" },
	[COL_ADDRESS] = { .head = "client", .left = true },
	[COL_VOLUME] = { .head = "volume", .left = true },
	[COL_DIALECT] = { .head = "dialect", .drop = 6 },
	[COL_PID] = { .head = "pid", .drop = 1 },
	[COL_BEGUN] = { .head = "from", .drop = 2 },
	[COL_ENDED] = { .head = "to", .drop = 3 },
	[COL_REQUESTS] = { .head = "requests" },
	[COL_BUSY] = { .head = "busy" },
	[COL_SHARE] = { .head = "all%", .name = "share", .unit = "%", .drop = 5 },
	[COL_CALLS] = { .head = "calls", .drop = 4 },
	[COL_IN] = { .head = "MB" GLUE "in", .name = "mb_in", .unit = "MB" },
	[COL_OUT] = { .head = "MB" GLUE "out", .name = "mb_out", .unit = "MB" },
};

static const struct section_type sessions_section = {
	.key = "sessions",
	.title = "Sessions",
	.rest = "  busy: a request in service; all%: of all busy; MB: requests, replies",
	SECTION_OF(columns),
};

static const struct section_type busiest_sessions = {
	.key = "sessions",
	.begin = SECTION_BLANK_LINE,
	SECTION_OF(columns),
};

static int by_busy(const void *a, const void *b)
{
	const struct run_session *x = *(struct run_session *const *)a;
	const struct run_session *y = *(struct run_session *const *)b;

	if (x->busy_ns != y->busy_ns)
		return x->busy_ns < y->busy_ns ? 1 : -1;
	if (x->requests != y->requests)
		return x->requests < y->requests ? 1 : -1;
	return x < y ? -1 : 1;
}

/* Seconds since the first phase began. */
static struct cell since(const struct run *r, uint64_t ns, const char *otherwise)
{
	uint64_t start = r->n_phases ? r->phase[0]->start_ns : 0;
	struct cell c = { .kind = CELL_NUMBER, .unit = "s" };

	if (!ns)
		return cell_name(otherwise);
	c.v = ((double)ns - (double)start) / 1e9;
	snprintf(c.text, sizeof(c.text), "%+.1fs", c.v);
	return c;
}

#define VOLUME_COLUMNS 20

/* "vol1, vol2 +1": as many as have room, and how often others were opened. */
static struct cell screen_sessions_volumes(const struct run_session *s)
{
	uint64_t left = s->n_volumes + s->more_volumes;
	char text[1024] = "", next[1024], more[24] = "", rest[24];
	size_t room = VOLUME_COLUMNS;
	struct cell c;

	if (!s->n_volumes)
		return cell_na();
	for (size_t i = 0; i < s->n_volumes; i++) {
		left--;
		snprintf(next, sizeof(next), "%.480s%s%.480s", text, i ? ", " : "", s->volume[i]);
		rest[0] = '\0';
		if (left)
			snprintf(rest, sizeof(rest), " +%llu", (unsigned long long)left);
		if (i && (text_columns(next) > VOLUME_COLUMNS - strlen(rest) ||
			  strlen(next) + strlen(rest) > sizeof(c.text) - sizeof("…")))
			break;
		memcpy(text, next, sizeof(text));
		memcpy(more, rest, sizeof(more));
		room = VOLUME_COLUMNS - strlen(rest);
	}
	do
		c = cell_text(text, room--);
	while (strlen(c.text) + strlen(more) >= sizeof(c.text));
	strcat(c.text, more);
	return c;
}

static void screen_sessions_put_session(struct section *to, const struct run *r,
					const struct run_session *s, uint64_t all_ns)
{
	struct cell *cell = section_row(to)->cell;
	char dialect[RUN_DIALECT_MAX];

	cell[COL_USER] = cell_text(s->user ? s->user : "n/a", 16);
	cell[COL_ADDRESS] = cell_text(s->address ? s->address : "n/a", 39);
	cell[COL_VOLUME] = screen_sessions_volumes(s);
	cell[COL_DIALECT] = s->dialect ? cell_name(run_dialect(s->dialect, dialect)) : cell_na();
	cell[COL_PID] = cell_fixed(s->pid, 0);
	cell[COL_BEGUN] = since(r, s->begun_ns, "before");
	cell[COL_ENDED] = since(r, s->ended_ns, "still");
	cell[COL_REQUESTS] = cell_count(s->requests);
	cell[COL_BUSY] = cell_time((double)s->busy_ns);
	cell[COL_SHARE] = cell_fixed(all_ns ? 100 * (double)s->busy_ns / (double)all_ns : 0, 1);
	cell[COL_CALLS] = s->shared ? cell_na() : cell_count(s->calls);
	cell[COL_IN] = cell_short((double)s->bytes_in / 1e6);
	cell[COL_OUT] = cell_short((double)s->bytes_out / 1e6);
}

/* A line for sessions that are not in the table. */
static void screen_sessions_put_others(struct section *s, const struct run *r,
				       struct run_session *const *list, size_t n)
{
	uint64_t requests = r->rest.requests, busy = r->rest.busy_ns;

	for (size_t i = 0; i < n; i++) {
		requests += list[i]->requests;
		busy += list[i]->busy_ns;
	}
	section_text(s, INK_NONE, "  %s others: %s requests, busy %s",
		     cell_count(n + r->n_rest).text, cell_count(requests).text,
		     cell_time((double)busy).text);
}

static void screen_sessions_fill(struct section *s, const struct run *r,
				 struct run_session *const *list, size_t most)
{
	size_t n = r->n_sessions > most + 1 ? most : r->n_sessions, i;
	uint64_t all_ns = r->rest.busy_ns;

	for (i = 0; i < r->n_sessions; i++)
		all_ns += list[i]->busy_ns;
	for (i = 0; i < n; i++)
		screen_sessions_put_session(s, r, list[i], all_ns);
	if (i < r->n_sessions || r->n_rest)
		screen_sessions_put_others(s, r, list + i, r->n_sessions - i);
}

/* "user: how it is known": each way once. */
static void put_ways(struct section *s, const char *what, struct run_session *const *list,
		     size_t member)
{
	size_t n = s->p->view.run->n_sessions;
	const char *gap = "";

	for (size_t i = 0; i < n; i++) {
		const char *way = *(const char *const *)((const char *)list[i] + member);
		bool seen = !way;

		for (size_t k = 0; k < i && !seen; k++) {
			const char *before = *(const char *const *)((const char *)list[k] + member);

			seen = before && !strcmp(before, way);
		}
		if (seen)
			continue;
		if (!*gap)
			section_indented(s, what, 0);
		section_more(s, "%s%s", gap, way);
		gap = "; ";
	}
}

/* Sessions are counted from the start of the watch, a recording's tables from slightly later. */
static void put_earlier(struct section *s)
{
	const struct run *r = s->p->view.run;
	uint64_t all = 0, told = 0;

	for (size_t i = 0; i < r->n_sessions; i++)
		all += r->session[i].requests;
	for (size_t i = 0; i < r->n_phases; i++)
		told += ledger_answered(&r->phase[i]->ledger);
	if (all > told && r->about == RUN_ABOUT_SERVER) {
		section_indented(s, "  requests: ", 0);
		section_more(s, "%s of them before the tables above begin",
			     cell_count(all - told).text);
	}
}

/* To be freed; NULL without memory. */
static struct run_session **screen_sessions_busiest_first(const struct run *r)
{
	struct run_session **list = calloc(r->n_sessions, sizeof(struct run_session *));

	for (size_t i = 0; list && i < r->n_sessions; i++)
		list[i] = &r->session[i];
	if (list)
		qsort(list, r->n_sessions, sizeof(struct run_session *), by_busy);
	return list;
}

int screen_sessions(const struct paint *p, size_t most)
{
	static const struct {
		unsigned int column, drop;
	} drops[] = { { COL_IN, 1 }, { COL_OUT, 2 }, { COL_SHARE, 3 } };
	struct run_session **list;
	struct section s;

	if (!p->view.run->n_sessions)
		return 0;
	list = screen_sessions_busiest_first(p->view.run);
	if (!list)
		return -ENOMEM;
	section_open(&s, p, &busiest_sessions);
	for (size_t k = 0; k < s.n_columns; k++) {
		s.column[k].off = s.column[k].drop && k != COL_SHARE;
		s.column[k].drop = 0;
	}
	for (size_t k = 0; k < sizeof(drops) / sizeof(drops[0]); k++)
		s.column[drops[k].column].drop = drops[k].drop;
	screen_sessions_fill(&s, p->view.run, list, most);
	for (size_t i = 0; i < s.n_rows; i++)
		if (!s.row[i].text)
			s.row[i].cell[COL_BUSY] = screen_time((double)list[i]->busy_ns);
	free(list);
	return section_close(&s);
}

int paint_sessions(const struct paint *p)
{
	struct run_session **list;
	struct section s;

	if (!p->view.run->n_sessions)
		return 0;
	list = screen_sessions_busiest_first(p->view.run);
	if (!list)
		return -ENOMEM;
	section_open(&s, p, &sessions_section);
	screen_sessions_fill(&s, p->view.run, list, SESSIONS);
	section_hide_empty(&s, COL_DIALECT, COL_DIALECT + 1);
	section_below(&s);
	put_earlier(&s);
	put_ways(&s, "  user: ", list, offsetof(struct run_session, user_from));
	put_ways(&s, "  volume: ", list, offsetof(struct run_session, volume_from));
	free(list);
	return section_close(&s);
}
