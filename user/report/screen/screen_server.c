/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first screen's part about the server: where its time went, by AFP command. */
#include "report/screen/screen.h"
#include "run/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST  0.5 /* per cent: less would be shown as 0% */
#define WAYS   2   /* shown of the ways a command's time goes */

#define HANDED "n/a" /* time of requests whose parts are not known */

/* A way that time goes, and how much of it. */
struct screen_way {
	char name[32];
	uint64_t ns;
};

/* States and the run queue; or columns, what is unexplained, and what is not known. */
#define N_WAYS (AFS_N_STATES + 1)

struct ways {
	size_t n;
	struct screen_way way[N_WAYS];
};

static void ways_add(struct ways *w, const char *name, uint64_t ns)
{
	for (size_t i = 0; i < w->n; i++) {
		if (!strcmp(w->way[i].name, name)) {
			w->way[i].ns += ns;
			return;
		}
	}
	snprintf(w->way[w->n].name, sizeof(w->way[w->n].name), "%s", name);
	w->way[w->n++].ns = ns;
}

/* What a thread is doing in this state, in one word or two. */
static const char *way_name(const struct run *r, unsigned int class, unsigned int object)
{
	static const struct {
		unsigned int class, object;
		const char *name;
	} names[] = {
		{ AFS_CLASS_WRITE, AFS_OBJECT_CLIENT, "reply" },
		{ AFS_CLASS_SEND, AFS_OBJECT_CLIENT, "reply" },
		{ AFS_CLASS_SENDFILE, AFS_OBJECT_CLIENT, "reply" },
		{ AFS_CLASS_SENDFILE, AFS_OBJECT_DATA, "reply" },
		{ AFS_CLASS_RECV, AFS_OBJECT_CLIENT, "receive" },
		{ AFS_CLASS_READ, AFS_OBJECT_CLIENT, "receive" },
		{ AFS_CLASS_READ, AFS_OBJECT_DATA, "read file" },
		{ AFS_CLASS_WRITE, AFS_OBJECT_DATA, "write file" },
		{ AFS_CLASS_DIR, AFS_OBJECT_NONE, "directory calls" },
		{ AFS_CLASS_DIR, AFS_OBJECT_DIR, "directory calls" },
	};

	if (class == AFS_CLASS_USER)
		return "own code";
	if (object == AFS_OBJECT_BACKEND || object == AFS_OBJECT_CNIDDB)
		return run_word(r, RUN_WORD_ASKED);
	if (object == AFS_OBJECT_LOG)
		return "log";
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].class == class && names[i].object == object)
			return names[i].name;
	return ledger_class_name(class);
}

static int screen_server_most_first(const void *a, const void *b)
{
	const struct screen_way *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* "open 55%, own code 17%" */
static void add_ways(struct screen_text *t, struct ways *w, uint64_t all_ns, size_t most,
		     const char *blank)
{
	unsigned int percent[N_WAYS];
	uint64_t ns[N_WAYS];
	char name[sizeof(w->way[0].name)];

	qsort(w->way, w->n, sizeof(w->way[0]), screen_server_most_first);
	for (size_t i = 0; i < w->n; i++)
		ns[i] = w->way[i].ns;
	requests_shares(percent, ns, w->n, all_ns, 100);
	for (size_t i = 0; i < w->n && i < most && percent[i]; i++) {
		snprintf(name, sizeof(name), "%.31s", w->way[i].name);
		for (char *at = name; (at = strchr(at, ' '));)
			*at++ = *blank;
		screen_add(t, "%s%s%s%u%%", i ? ", " : "", name, blank, percent[i]);
	}
}

/* The states of one command, with waiting for a CPU as a separate one. */
static int add_states(struct screen_text *t, const struct view *v, const struct request *r)
{
	struct ways *w = calloc(1, sizeof(*w));
	uint64_t runq_ns = 0;

	if (!w)
		return -ENOMEM;
	for (size_t i = 0; i < v->all.n_parts; i++) {
		const struct ledger_part *part = &v->all.part[i];

		if (part->role != AFS_ROLE_SERVER || part->account != r->number || r->a.sum.handed)
			continue;
		ways_add(w, way_name(v->run, part->class, part->object),
			 part->part.cpu_ns + part->part.blocked_ns);
		runq_ns += part->part.runq_ns;
	}
	ways_add(w, account_columns[ACCOUNT_RUNQ].text, runq_ns);
	add_ways(t, w, r->service_ns, WAYS, " ");
	free(w);
	return 0;
}

/* "Server 8.47s of requests in 60.0s: system calls 68%, run queue 12%, ..." */
static int screen_server_put_sum(const struct paint *p, const struct request *all)
{
	const struct run_phase *first = p->view.run->n_phases ? p->view.run->phase[0] : NULL;
	struct ways *w = calloc(1, sizeof(*w));
	struct screen_text t = { 0 };

	if (!w)
		return -ENOMEM;
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		ways_add(w, i == ACCOUNT_CALLS ? "system calls" : run_column_name(p->view.run, i),
			 all->time_ns[i]);
	ways_add(w, "unexplained", all->a.sum.unexplained_ns);
	ways_add(w, HANDED, all->handed_ns);
	screen_add(&t, "Server %s", screen_time((double)all->service_ns).text);
	if (first && !first->test && first->known[METRIC_ELAPSED])
		screen_add(&t, " of requests in %s",
			   screen_time((double)first->value[METRIC_ELAPSED]).text);
	screen_add(&t, ": ");
	add_ways(&t, w, all->service_ns, w->n, GLUE);
	if (all->handed_ns)
		screen_add(&t, " (" HANDED ": these requests changed threads, or shared one)");
	if (all->pending_ns)
		screen_add(&t, "; %s without an answer: %s", cell_count(all->pending).text,
			   screen_time((double)all->pending_ns).text);
	free(w);
	screen_put(p, INK_NONE, t.text, 2);
	return 0;
}

/* The commands */

enum { COL_NAME, COL_REQUESTS, COL_ERRORS, COL_SHARE, COL_MEAN, COL_P99, COL_MAX, COL_WAYS };

static const struct section_column columns[] = {
	[COL_NAME] = { .head = "command" },
	[COL_REQUESTS] = { .head = "requests", .drop = 3 },
	[COL_ERRORS] = { .head = "errors", .drop = 2 },
	[COL_SHARE] = { .head = "time", .unit = "%" },
	[COL_MEAN] = { .head = "mean" },
	[COL_P99] = { .head = "p99", .drop = 1 },
	[COL_MAX] = { .head = "max" },
	[COL_WAYS] = { .head = "most" GLUE "of" GLUE "it", .left = true },
};

static const struct section_type server_section = {
	.key = "server",
	.begin = SECTION_AT_ONCE,
	SECTION_OF(columns),
};

static int screen_server_put_command(struct section *s, const struct request *r,
				     const struct request *all)
{
	const struct view *v = &s->p->view;
	struct cell *cell = section_row(s)->cell;
	struct screen_text t = { 0 };
	char name[ACCOUNT_NAME_MAX];
	uint64_t errors;
	int e;

	cell[COL_NAME] = cell_name(run_account_name(v->run, r->number, name));
	cell[COL_REQUESTS] = cell_count(r->a.sum.answered);
	errors = requests_errors(&v->all, NULL, r->number);
	cell[COL_ERRORS] = errors ? cell_count(errors) : cell_blank();
	cell[COL_SHARE] = screen_percent((double)r->service_ns, (double)all->service_ns);
	cell[COL_MEAN] = r->a.sum.answered
			     ? screen_time((double)r->a.sum.ns / (double)r->a.sum.answered)
			     : cell_na();
	cell[COL_P99] = screen_about(requests_quantile(&r->a, 0.99), (double)r->a.max_ns);
	cell[COL_MAX] = r->a.max_ns ? screen_time((double)r->a.max_ns) : cell_na();
	e = add_states(&t, v, r);
	cell[COL_WAYS] = cell_text(t.text, sizeof(cell->text) - 2);
	return e;
}

static int screen_server_put_commands(const struct paint *p, const struct requests *r, size_t most,
				      bool full)
{
	struct section s;
	size_t shown = 0;
	int e = 0, ret;

	section_open(&s, p, &server_section);
	for (unsigned int k = COL_REQUESTS; k <= COL_MAX; k++)
		s.column[k].off = !full && k != COL_SHARE && k != COL_MEAN;
	s.column[COL_ERRORS].off |= !requests_errors(&p->view.all, NULL, LEDGER_ALL);
	for (size_t i = 0; i < r->n && shown < most && !e; i++) {
		const struct request *one = &r->request[i];

		if (!requests_n(one))
			continue;
		if (shown && requests_percent(one->service_ns, r->all.service_ns) < LEAST)
			break;
		e = screen_server_put_command(&s, one, &r->all);
		shown++;
	}
	for (unsigned int k = 0; k < s.n_columns && !full; k++)
		s.column[k].head = NULL;
	ret = section_close(&s);
	return e ? e : ret;
}

int screen_server(const struct paint *p, size_t commands, bool full)
{
	struct requests r;
	bool any;
	int e;

	if (!p->view.all.has_requests)
		return 0;
	e = requests_init(&r, &p->view.all);
	if (e)
		return e;
	any = requests_n(&r.all);
	fputc('\n', p->out);
	if (any)
		e = screen_server_put_sum(p, &r.all);
	else
		screen_put(p, INK_NONE, "Server: no request was answered", 1);
	if (!e && any)
		e = screen_server_put_commands(p, &r, commands, full);
	requests_fini(&r);
	return e;
}
