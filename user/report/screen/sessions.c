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
	COL_PID,
	COL_BEGUN,
	COL_ENDED,
	COL_REQUESTS,
	COL_BUSY,
	COL_SHARE,
	COL_CALLS,
	COL_IN,
	COL_OUT,
	N_COLS
};

static const struct grid_column heads[N_COLS] = {
	[COL_USER] = { .head = "user" },
	[COL_ADDRESS] = { .head = "client", .left = true },
	[COL_VOLUME] = { .head = "volume", .left = true },
	[COL_PID] = { .head = "pid" },
	[COL_BEGUN] = { .head = "from" },
	[COL_ENDED] = { .head = "to" },
	[COL_REQUESTS] = { .head = "requests" },
	[COL_BUSY] = { .head = "busy" },
	[COL_SHARE] = { .head = "all%" },
	[COL_CALLS] = { .head = "calls" },
	[COL_IN] = { .head = "MB" GLUE "in" },
	[COL_OUT] = { .head = "MB" GLUE "out" },
};

/* What is left out when the terminal is too narrow, in this order. */
static const unsigned int drops[] = { COL_PID, COL_BEGUN, COL_ENDED, COL_CALLS, COL_SHARE };

static const unsigned int screen_drops[] = { COL_IN, COL_OUT, COL_SHARE };

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
	struct cell c;

	if (!ns)
		snprintf(c.text, sizeof(c.text), "%s", otherwise);
	else
		snprintf(c.text, sizeof(c.text), "%+.1fs", ((double)ns - (double)start) / 1e9);
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

static int screen_sessions_put_session(struct grid *g, const struct run *r,
				       const struct run_session *s, uint64_t all_ns)
{
	struct grid_row *row = grid_row(g);
	struct cell *cell;

	if (!row)
		return -ENOMEM;
	cell = row->cell;
	cell[COL_USER] = cell_text(s->user ? s->user : "n/a", 16);
	cell[COL_ADDRESS] = cell_text(s->address ? s->address : "n/a", 39);
	cell[COL_VOLUME] = screen_sessions_volumes(s);
	cell[COL_PID] = cell_fixed(s->pid, 0);
	cell[COL_BEGUN] = since(r, s->begun_ns, "before");
	cell[COL_ENDED] = since(r, s->ended_ns, "still");
	cell[COL_REQUESTS] = cell_count(s->requests);
	cell[COL_BUSY] = cell_time((double)s->busy_ns);
	cell[COL_SHARE] = cell_fixed(all_ns ? 100 * (double)s->busy_ns / (double)all_ns : 0, 1);
	cell[COL_CALLS] = s->shared ? cell_na() : cell_count(s->calls);
	cell[COL_IN] = cell_short((double)s->bytes_in / 1e6);
	cell[COL_OUT] = cell_short((double)s->bytes_out / 1e6);
	return 0;
}

/* A line for sessions that are not in the table. */
static int screen_sessions_put_others(struct grid *g, const struct run *r,
				      struct run_session *const *list, size_t n)
{
	uint64_t requests = r->rest.requests, busy = r->rest.busy_ns;

	for (size_t i = 0; i < n; i++) {
		requests += list[i]->requests;
		busy += list[i]->busy_ns;
	}
	return grid_text(g, INK_NONE, "  %s others: %s requests, busy %s",
			 cell_count(n + r->n_rest).text, cell_count(requests).text,
			 cell_time((double)busy).text);
}

static int screen_sessions_fill(struct grid *g, const struct run *r,
				struct run_session *const *list, size_t most)
{
	size_t n = r->n_sessions > most + 1 ? most : r->n_sessions, i;
	uint64_t all_ns = r->rest.busy_ns;
	int e = 0;

	for (i = 0; i < r->n_sessions; i++)
		all_ns += list[i]->busy_ns;
	for (i = 0; i < n && !e; i++)
		e = screen_sessions_put_session(g, r, list[i], all_ns);
	if (!e && (i < r->n_sessions || r->n_rest))
		e = screen_sessions_put_others(g, r, list + i, r->n_sessions - i);
	return e;
}

/* "user: how it is known": each way once. */
static void put_ways(const struct paint *p, const char *what, struct run_session *const *list,
		     size_t member)
{
	size_t n = p->view.run->n_sessions;
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
			fprintf(p->out, "  %s: ", what);
		fprintf(p->out, "%s%s", gap, way);
		gap = "; ";
	}
	if (*gap)
		fputc('\n', p->out);
}

/* Sessions are counted from the start of the watch, a recording's tables from slightly later. */
static void put_earlier(const struct paint *p)
{
	const struct run *r = p->view.run;
	uint64_t all = 0, told = 0;

	for (size_t i = 0; i < r->n_sessions; i++)
		all += r->session[i].requests;
	for (size_t i = 0; i < r->n_phases; i++)
		told += ledger_answered(&r->phase[i]->ledger);
	if (all > told && r->about == RUN_ABOUT_SERVER)
		fprintf(p->out, "  requests: %s of them before the tables above begin\n",
			cell_count(all - told).text);
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

/* The rows of the busiest. *list, of all, is to be freed even after -ENOMEM. */
static int fill_busiest(struct grid *g, const struct run *r, struct run_session ***list,
			size_t most)
{
	memcpy(g->column, heads, sizeof(heads));
	*list = screen_sessions_busiest_first(r);
	return *list ? screen_sessions_fill(g, r, *list, most) : -ENOMEM;
}

int screen_sessions(const struct paint *p, size_t most)
{
	const struct run *r = p->view.run;
	struct grid g = { .n_columns = N_COLS, .gap = 2 };
	struct run_session **list;
	int e;

	if (!r->n_sessions)
		return 0;
	e = fill_busiest(&g, r, &list, most);
	for (unsigned int k = 0; k < N_COLS; k++)
		g.column[k].off = k == COL_PID || k == COL_BEGUN || k == COL_ENDED;
	g.column[COL_CALLS].off = true;
	for (size_t i = 0; i < g.n_rows && !e; i++)
		if (!g.row[i].text)
			g.row[i].cell[COL_BUSY] = screen_time((double)list[i]->busy_ns);
	if (!e) {
		grid_fit(&g, p->width, screen_drops,
			 sizeof(screen_drops) / sizeof(screen_drops[0]));
		fputc('\n', p->out);
		grid_put(&g, p);
	}
	grid_clear(&g);
	free(list);
	return e;
}

int paint_sessions(const struct paint *p)
{
	const struct run *r = p->view.run;
	struct grid g = { .n_columns = N_COLS, .gap = 2 };
	struct run_session **list;
	int e;

	if (!r->n_sessions)
		return 0;
	e = fill_busiest(&g, r, &list, SESSIONS);
	if (!e) {
		grid_fit(&g, p->width, drops, sizeof(drops) / sizeof(drops[0]));
		paint_heading(
		    p, "Sessions",
		    "  busy: with a request in service; all%: of all busy; MB: on the wire");
		grid_put(&g, p);
		put_earlier(p);
		put_ways(p, "user", list, offsetof(struct run_session, user_from));
		put_ways(p, "volume", list, offsetof(struct run_session, volume_from));
	}
	grid_clear(&g);
	free(list);
	return e;
}
