/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What top has above its table: the server as a whole, and what watching costs. */
#include "report/cell.h"
#include "report/screen/screen_text.h"
#include "run/kind.h"
#include "run/requests.h"
#include "top/top_line.h"
#include "top/top_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_S 1e9
/* From this age on, a request without an answer is to stand out. */
#define HANGING_NS 1000000000u

/* A piece of a line, if there is room for all of it. */
static bool piece(struct top_line *l, size_t width, const char *text)
{
	size_t gap = l->columns ? 2 : 0;

	if (l->columns + gap + text_columns(text) > width)
		return false;
	line_pad(l, l->columns + gap);
	line_add(l, text);
	return true;
}

static double top_head_seconds_of(const struct live_step *step)
{
	return step->ended_ns > step->begun_ns
		   ? (double)(step->ended_ns - step->begun_ns) / NS_PER_S
		   : 1;
}

/* As much as there is room for, at the right. */
static void put_watched(struct top_line *l, const struct top_status *s, size_t width)
{
	static const char *const forms[] = { "watched for %s, every %g s", "%s, every %g s", "%s" };
	uint64_t seconds = (uint64_t)((double)s->watched_ns / NS_PER_S);
	char text[96], time[32];

	snprintf(time, sizeof(time), "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, seconds / 3600,
		 seconds / 60 % 60, seconds % 60);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		snprintf(text, sizeof(text), forms[i], time, s->delay_s);
		if (l->columns + 2 + strlen(text) > width)
			continue;
		line_pad(l, width - strlen(text));
		line_add(l, text);
		return;
	}
}

static void top_head_put_server(struct top_line *l, const struct top_status *s, size_t width)
{
	line_printf(l, "%s, process %d", s->program, s->pid);
	if (s->port)
		line_printf(l, ", port %u", s->port);
	if (s->ended_at) {
		line_add(l, ": ");
		l->alarm_at = l->len;
		line_printf(l, "ended at %s; waiting for it", s->ended_at);
		l->alarm_len = l->len - l->alarm_at;
		return;
	}
	if (s->restarted_at)
		line_printf(l, ", restarted at %s", s->restarted_at);
	line_printf(l, ": %" PRIu64 " of %" PRIu64 " sessions active", s->step->active,
		    s->step->sessions);
	put_watched(l, s, width);
}

static struct cell top_head_rate(double v)
{
	return v > 0 && v < 9.95 ? cell_fixed(v, 1) : cell_count((uint64_t)(v + 0.5));
}

static void top_head_put_work(struct top_line *l, const struct live_step *step, size_t width)
{
	const struct live_sum *all = &step->all;
	double seconds = top_head_seconds_of(step);
	char text[128];
	size_t at;

	snprintf(text, sizeof(text), "%s requests/s",
		 top_head_rate((double)all->requests / seconds).text);
	piece(l, width, text);
	snprintf(text, sizeof(text), "mean %s", screen_time(live_sum_mean(all)).text);
	piece(l, width, all->requests ? text : "mean -");
	snprintf(text, sizeof(text), "%" PRIu64 " in service", step->in_service);
	if (step->in_service)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ", oldest %s",
			 screen_about((double)step->oldest_ns, 0).text);
	at = l->len + (l->columns ? 2 : 0);
	if (piece(l, width, text) && step->oldest_ns >= HANGING_NS) {
		l->alarm_at = at;
		l->alarm_len = l->len - at;
	}
	snprintf(text, sizeof(text), "%s errors/s",
		 top_head_rate((double)all->errors / seconds).text);
	piece(l, width, text);
	snprintf(text, sizeof(text), "%s logins/s",
		 top_head_rate((double)step->logins / seconds).text);
	piece(l, width, text);
}

struct top_part {
	size_t column;
	uint64_t ns;
};

/* The parts that are not 0, the largest first. Returns how many. */
static size_t sort_parts(struct top_part out[TOP_PARTS], const uint64_t ns[TOP_PARTS])
{
	size_t n = 0, at;

	for (size_t c = 0; c < TOP_PARTS; c++) {
		if (!ns[c])
			continue;
		for (at = n++; at && out[at - 1].ns < ns[c]; at--)
			out[at] = out[at - 1];
		out[at] = (struct top_part) { c, ns[c] };
	}
	return n;
}

static void put_legend(struct top_line *l, const struct top_status *s, size_t width)
{
	const struct live_step *step = s->step;
	const struct live_sum *all = &step->all;
	struct top_part part[TOP_PARTS];
	uint64_t ns[TOP_PARTS], sum = line_parts(ns, all, true);
	unsigned int percent[TOP_PARTS];
	size_t n = sort_parts(part, ns);
	char text[RUN_WORD_MAX + 64], name[RUN_WORD_MAX];

	if (!n)
		piece(l, width,
		      step->in_service ? "no request was answered"
				       : "no request was in the server");
	for (size_t i = 0; i < n; i++)
		ns[i] = part[i].ns;
	requests_shares(percent, ns, n, sum, 100);
	for (size_t i = 0; i < n && percent[i]; i++) {
		size_t c = part[i].column;

		run_kind_text(s->kind,
			      c < ACCOUNT_N_COLUMNS ? account_columns[c].text
						    : run_kind_rest(s->kind),
			      name, sizeof(name));
		snprintf(text, sizeof(text), "%c %s %u%%", top_letters[c], name, percent[i]);
		if (piece(l, width, text))
			l->mark[l->n_marks++] = l->len - strlen(text);
	}
}

/* "12%", "0.4%" */
static struct cell top_head_share(double v)
{
	struct cell c = cell_fixed(100 * v, v < 0.0995);

	strcat(c.text, "%");
	return c;
}

/* What is lost comes first: it is never left out. */
static void top_head_put_cost(struct top_line *l, const struct top_status *s, size_t width)
{
	double ns = top_head_seconds_of(s->step) * NS_PER_S;
	char text[128];

	line_printf(l, "lost %s", cell_count(s->step->lost).text);
	l->alarm_len = s->step->lost ? l->len : 0;
	snprintf(text, sizeof(text), "CPU: server %s, %s %s",
		 top_head_share((double)s->step->server_cpu_ns / ns).text,
		 run_kind_word(s->kind, RUN_WORD_ASKED),
		 top_head_share((double)s->step->backend_cpu_ns / ns).text);
	piece(l, width, text);
	snprintf(text, sizeof(text), "watching: afpscope %s, in the kernel %s",
		 top_head_share(s->own_cpu).text,
		 s->programs_cpu < 0 ? "n/a" : top_head_share(s->programs_cpu).text);
	piece(l, width, text);
}

static bool has_doctor(const struct run_kind *kind)
{
	return !kind || kind->has_diagnosis;
}

static void put_opinion(struct top_line *l, const char *opinion, const struct run_kind *kind,
			size_t width)
{
	char text[600];

	snprintf(text, sizeof(text), "Doctor: %s",
		 opinion            ? opinion
		 : has_doctor(kind) ? "in a few seconds"
				    : "knows no rules for this kind of server");
	line_cell(l, text, width, true);
}

size_t top_head(struct top_line out[TOP_HEAD], const struct top_status *s, size_t width)
{
	for (size_t i = 0; i < TOP_HEAD; i++)
		line_clear(&out[i]);
	top_head_put_server(&out[0], s, width);
	top_head_put_work(&out[1], s->step, width);
	line_bar(&out[2], &s->step->all, width, true);
	put_legend(&out[3], s, width);
	top_head_put_cost(&out[4], s, width);
	put_opinion(&out[5], s->opinion, s->kind, width);
	for (size_t i = 0; i < TOP_HEAD; i++)
		line_trim(&out[i], width);
	return TOP_HEAD;
}
