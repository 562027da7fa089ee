/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of top: which columns fit, headings, rows. */
#include "top/top_rows.h"

#include "base/text.h"
#include "report/cell.h"
#include "report/screen/screen_text.h"
#include "run/kind.h"
#include "run/requests.h"
#include "top/top_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S  1e9
#define NAME_MOST 60 /* columns of a name */
#define NAME_LONG 30 /* where each name is long, it has so many at least */
#define BAR_MOST  80
#define GAP       1

static const struct {
	const char *heading;
	size_t columns;
} columns[] = {
#define X(NAME, key, heading, columns) { heading, columns },
	TOP_COLUMNS(X)
#undef X
};

static const char *const views[] = {
#define X(NAME, key, heading) heading,
	LIVE_BYS(X)
#undef X
};

/* Who comes first stays longest. What is worth nothing alone comes in pairs. */
#define TOGETHER 4
static const struct {
	enum top_column column[TOGETHER];
	size_t n;
} ranks[] = {
	{ { TOP_NAME }, 1 },   { { TOP_BUSY }, 1 },
	{ { TOP_RATE }, 1 },   { { TOP_P99 }, 1 },
	{ { TOP_MEAN }, 1 },   { { TOP_P50 }, 1 },
	{ { TOP_TIME }, 1 },   { { TOP_OLDEST }, 1 },
	{ { TOP_ERRORS }, 1 }, { { TOP_IN, TOP_OUT }, 2 },
	{ { TOP_NOW }, 1 },    { { TOP_CPU, TOP_RUNQ, TOP_DISK, TOP_CNID }, 4 },
	{ { TOP_VOLUME }, 1 },
};

static bool is_in(enum top_column c, enum live_by by)
{
	if (c == TOP_VOLUME)
		return by == LIVE_SESSION;
	if (c == TOP_P50 || c == TOP_P99)
		return by == LIVE_COMMAND;
	if (c == TOP_MEAN)
		return by != LIVE_COMMAND;
	/* Of commands and files it is not known what is in service. */
	return (c != TOP_NOW && c != TOP_OLDEST) || (by != LIVE_COMMAND && by != LIVE_FILE);
}

static size_t least_of(enum top_column c, enum live_by by)
{
	return c == TOP_NAME && (by == LIVE_SESSION || by == LIVE_FILE) ? NAME_LONG
									: columns[c].columns;
}

static size_t longest_name(const struct live_row **row, size_t n)
{
	size_t most = 0, columns_of;

	for (size_t i = 0; i < n; i++) {
		columns_of = text_columns(row[i]->name) + GAP;
		most = columns_of > most ? columns_of : most;
	}
	return most < NAME_MOST ? most : NAME_MOST;
}

static void add_columns(struct top_layout *out, bool in[TOP_N_COLUMNS])
{
	for (size_t c = 0; c < TOP_N_COLUMNS; c++)
		if (in[c]) {
			out->cell[out->n].is = (enum top_column)c;
			out->cell[out->n++].columns = least_of((enum top_column)c, out->by);
		}
}

/* Columns that are left go to names that need them, then to the bar. */
static void widen(struct top_layout *l, size_t left, size_t name)
{
	size_t most = name > l->cell[0].columns ? name - l->cell[0].columns : 0;
	size_t *last = &l->cell[l->n - 1].columns;

	most = most < left ? most : left;
	l->cell[0].columns += most;
	left -= most;
	if (l->n > 1 && l->cell[l->n - 1].is == TOP_TIME)
		*last += left < BAR_MOST - *last ? left : BAR_MOST - *last;
}

void top_lay(struct top_layout *out, const struct top_view *v, const struct live_row **row,
	     size_t n, size_t width)
{
	bool in[TOP_N_COLUMNS] = { false };
	size_t used = 0;

	*out = (struct top_layout) { .width = width < TOP_WIDTH_MAX ? width : TOP_WIDTH_MAX,
				     .by = v->by };
	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		size_t more = 0;

		for (size_t k = 0; k < ranks[i].n; k++)
			more += least_of(ranks[i].column[k], v->by);
		if (!is_in(ranks[i].column[0], v->by))
			continue;
		if (used + more > out->width && used)
			break;
		used += more;
		for (size_t k = 0; k < ranks[i].n; k++)
			in[ranks[i].column[k]] = true;
	}
	add_columns(out, in);
	widen(out, out->width > used ? out->width - used : 0, longest_name(row, n));
}

void top_heading(struct top_line *out, const struct top_layout *l, const struct top_view *v,
		 const struct run_kind *kind)
{
	char text[RUN_WORD_MAX + 8];

	line_clear(out);
	for (size_t i = 0; i < l->n; i++) {
		enum top_column c = l->cell[i].is;
		const char *heading = c == TOP_CNID        ? run_kind_word(kind, RUN_WORD_ASKED)
				      : columns[c].heading ? columns[c].heading
							   : views[v->by];
		bool left = c == TOP_NAME || c == TOP_VOLUME || c == TOP_TIME;

		snprintf(text, sizeof(text), "%s%s%s", left && c != TOP_NAME ? " " : "", heading,
			 c != v->sort  ? ""
			 : v->inverted ? "^"
				       : "*");
		if (!left)
			line_cell(out, "", GAP, true);
		line_cell(out, text, l->cell[i].columns - (left ? 0 : GAP), left);
	}
	line_trim(out, l->width);
}

static struct cell top_text_number(double v)
{
	if (v >= 99999.5)
		return cell_short(v);
	return cell_fixed(v, v > 0 && v < 9.95);
}

/* 0 only of nothing at all. */
static struct cell mega(double v)
{
	return cell_fixed(v, v <= 0 ? 0 : v < 0.095 ? 2 : v < 99.95);
}

static struct cell nothing(void)
{
	return cell_zero();
}

static struct cell top_text_quantile(const struct live_sum *s, double q)
{
	return s->requests ? screen_about(live_sum_quantile(s, q), 0) : nothing();
}

/* "12%" of the time of the row's requests, by parts. */
static struct cell top_text_share(const struct live_row *r, uint64_t ns, enum live_by by)
{
	uint64_t part[TOP_PARTS], all = line_parts(part, &r->sum, by == LIVE_COMMAND);

	if (r->sum.requests && r->sum.handed == r->sum.requests)
		return cell_na();
	return all ? screen_percent((double)ns, (double)all) : nothing();
}

static struct cell part_value(const struct live_row *r, enum top_column c, enum live_by by)
{
	const uint64_t *ns = r->sum.time_ns;

	switch (c) {
	case TOP_CPU:
		return top_text_share(r, ns[ACCOUNT_USER] + ns[ACCOUNT_CALLS], by);
	case TOP_RUNQ:
		return top_text_share(r, ns[ACCOUNT_RUNQ], by);
	case TOP_DISK:
		return top_text_share(r, ns[ACCOUNT_DISK], by);
	case TOP_CNID:
		return top_text_share(r, ns[ACCOUNT_CNID], by);
	default:
		return cell_na();
	}
}

static struct cell top_text_value(const struct live_row *r, enum top_column c, double step_ns,
				  enum live_by by)
{
	const struct live_sum *s = &r->sum;
	double seconds = step_ns / NS_PER_S;

	switch (c) {
	case TOP_BUSY:
		return cell_rate((double)s->service_ns / step_ns);
	case TOP_RATE:
		return top_text_number((double)s->requests / seconds);
	case TOP_ERRORS:
		return top_text_number((double)s->errors / seconds);
	case TOP_P50:
		return top_text_quantile(s, 0.5);
	case TOP_P99:
		return top_text_quantile(s, 0.99);
	case TOP_MEAN:
		return s->requests ? screen_time(live_sum_mean(s)) : nothing();
	case TOP_IN:
		return mega((double)s->bytes_in / seconds / 1e6);
	case TOP_OUT:
		return mega((double)s->bytes_out / seconds / 1e6);
	case TOP_NOW:
		return cell_fixed((double)r->in_service, 0);
	case TOP_OLDEST:
		return r->in_service ? screen_about((double)r->oldest_ns, 0) : nothing();
	default:
		return part_value(r, c, by);
	}
}

static void top_text_put_name(struct top_line *out, const char *name, size_t width)
{
	line_cell(out, *name ? name : "(not known)", width - GAP, true);
	line_cell(out, "", GAP, true);
	out->name_len = out->len;
	out->name_columns = width;
}

void top_row(struct top_line *out, const struct top_layout *l, const struct live_row *r,
	     uint64_t step_ns)
{
	double ns = step_ns ? (double)step_ns : 1;

	line_clear(out);
	for (size_t i = 0; i < l->n; i++) {
		enum top_column c = l->cell[i].is;

		if (c == TOP_NAME) {
			top_text_put_name(out, r->name, l->cell[i].columns);
		} else if (c == TOP_VOLUME) {
			line_cell(out, "", GAP, true);
			line_cell(out, r->volume ? r->volume : "", l->cell[i].columns - GAP, true);
		} else if (c == TOP_TIME) {
			line_cell(out, "", GAP, true);
			line_bar(out, &r->sum, l->cell[i].columns - GAP, l->by == LIVE_COMMAND);
		} else {
			line_cell(out, top_text_value(r, c, ns, l->by).text, l->cell[i].columns,
				  false);
		}
	}
	line_trim(out, l->width);
}

/* Rows of a table as lines */

static void top_text_put_line(FILE *out, const struct top_line *l)
{
	size_t len = l->len;

	while (len && l->text[len - 1] == ' ')
		len--;
	fprintf(out, "%.*s\n", (int)len, l->text);
}

static void top_text_put_rows(FILE *out, const struct top_layout *l, const struct top_status *s,
			      const struct live_row **row, size_t n)
{
	const struct live_step *step = s->step;
	struct top_line line;

	for (size_t i = 0; i < n; i++) {
		top_row(&line, l, row[i], step->ended_ns - step->begun_ns);
		top_text_put_line(out, &line);
	}
}

int top_text(FILE *out, const struct top_status *s, const struct top_view *v,
	     const struct live_table *t, size_t width, size_t lines)
{
	const struct live_row **row = malloc(LIVE_ROWS * sizeof(*row));
	struct top_line head[TOP_HEAD], line;
	size_t n = row ? top_rows(row, t, v) : 0, n_head = top_head(head, s, width), room, shown;
	struct top_layout l;

	if (!row)
		return -ENOMEM;
	room = lines > n_head + 2 ? lines - n_head - 2 : 1;
	shown = n <= room && !t->more ? n : n < room - 1 ? n : room - 1;
	for (size_t i = 0; i < n_head; i++)
		top_text_put_line(out, &head[i]);
	top_lay(&l, v, row, shown, width);
	top_heading(&line, &l, v, s->kind);
	top_text_put_line(out, &line);
	top_text_put_rows(out, &l, s, row, shown);
	if (shown < n || t->more)
		fprintf(out, "and %zu more rows%s\n", n - shown,
			t->more ? "; more names than can be told apart" : "");
	fputc('\n', out);
	free(row);
	return 0;
}

void top_text_event(FILE *out, const struct top_status *s)
{
	if (s->ended_at)
		fprintf(out, "server ended at %s; waiting for it\n\n", s->ended_at);
	else
		fprintf(out, "server restarted at %s as process %d\n\n", s->restarted_at, s->pid);
}

void top_text_sum(FILE *out, const struct top_sum *s)
{
	double part = s->ns ? 100 * (double)s->cpu_ns / (double)s->ns : 0;

	fprintf(out, "%.1f s watched: %s requests, ", (double)s->ns / NS_PER_S,
		cell_count(s->requests).text);
	fprintf(out, "%s lost\n", cell_count(s->lost).text);
	fprintf(out, "  own CPU time %s (%.1f %%), ", cell_time((double)s->cpu_ns).text, part);
	fprintf(out, "in the kernel %s, ", cell_time((double)s->programs_ns).text);
	fprintf(out, "to attach %s\n", cell_time((double)s->attach_ns).text);
}
