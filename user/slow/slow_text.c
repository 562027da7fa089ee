/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slow requests as lines: when, how long, what, why, who, on what. Only the last is cut. */
#include "report/slow.h"

#include "base/text.h"
#include "report/cell.h"
#include "report/paint.h"
#include "run/kind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COMMAND_WIDTH 17
#define WHAT_WIDTH    (12 + 1 + 6 + 1 + COMMAND_WIDTH + GAP)
#define WHO_USUAL     38  /* columns for who and on what: the column before it is narrower ... */
#define NARROW        100 /* columns: less has no room for a path */
#define WHO_MOST      40  /* ... and parts are left out, so that there are so many */
#define PARTS_MAX     3
#define GAP           2
#define NS_PER_S      1000000000

/* A text that grows. */
struct text {
	FILE *out;
	char *is; /* owned */
	size_t len;
};

static int text_open(struct text *t)
{
	*t = (struct text) { 0 };
	t->out = open_memstream(&t->is, &t->len);
	return t->out ? 0 : -ENOMEM;
}

static int text_close(struct text *t)
{
	bool failed = !t->out || ferror(t->out);

	return (t->out && fclose(t->out)) || failed ? -ENOMEM : 0;
}

static size_t text_width(struct text *t)
{
	return fflush(t->out) ? 0 : text_columns(t->is);
}

/* At most so many columns, "…" at the end of what does not fit. */
static void put_most(FILE *out, const char *text, size_t columns)
{
	bool cut = text_columns(text) > columns;
	size_t n = cut && columns ? columns - 1 : columns, len = 0;

	while (text[len] && n--)
		for (len++; ((unsigned char)text[len] & 0xc0) == 0x80;)
			len++;
	fwrite(text, 1, len, out);
	if (cut && columns)
		fputs("…", out);
}

/* "00:41:07.123" of this machine's time zone. */
static void put_clock(FILE *out, uint64_t at_ns, const struct slow_view *v)
{
	int64_t wall_ns = (int64_t)at_ns + v->offset_ns;
	time_t s = (time_t)(wall_ns / NS_PER_S);
	char text[16] = "";
	struct tm tm;

	if (localtime_r(&s, &tm))
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	fprintf(out, "%s.%03d", text, (int)(wall_ns % NS_PER_S / 1000000));
}

/* The code, and what it means if that fits. */
static void put_result(struct text *to, const struct slow_request *q, const struct slow_view *v,
		       size_t room)
{
	const char *text = run_kind_result_text(v->kind, q->r.result);
	char code[RUN_RESULT_MAX];

	if (q->running || !q->r.result)
		return;
	fprintf(to->out, "; error %s", run_kind_result(v->kind, q->r.result, code));
	if (text && text_width(to) + strlen(text) + strlen(" ()") <= room)
		fprintf(to->out, " (%s)", text);
}

/* The parts that matter: the longest, and others of a tenth or more as long as they fit. */
static void put_why(struct text *to, const struct slow_request *q, const struct slow_view *v,
		    size_t room)
{
	struct slow_part part[SLOW_PARTS];
	size_t n = slow_parts(&q->r, v->kind, part);
	char one[RUN_WORD_MAX + 64], text[RUN_WORD_MAX];

	if (q->running)
		fputs("still running: ", to->out);
	for (size_t i = 0; i < n && i < PARTS_MAX; i++) {
		snprintf(one, sizeof(one), "%s%s %s", i ? ", " : "",
			 run_kind_text(v->kind, part[i].text, text, sizeof(text)),
			 cell_time((double)part[i].ns).text);
		if (i &&
		    (part[i].ns < q->r.time_ns / 10 || text_width(to) + text_columns(one) > room))
			break;
		fputs(one, to->out);
	}
	put_result(to, q, v, room);
}

/* Of a volume that is known by its folder only the last part, where there is little room. */
static const char *volume_text(const char *volume, bool narrow)
{
	const char *last = strrchr(volume, '/');

	return narrow && last && last[1] ? last + 1 : volume;
}

static void slow_text_put_volumes(FILE *out, const struct run_session *s, bool narrow)
{
	const char *volume;

	for (size_t i = 0; i < s->n_volumes; i++) {
		volume = volume_text(s->volume[i], narrow);
		fputc(i ? ',' : ' ', out);
		text_put(out, volume, strlen(volume));
	}
	if (s->more_volumes)
		fputs(s->n_volumes ? ",…" : " …", out);
}

/* The address without the port. */
static void slow_text_put_session(FILE *out, const struct run_session *s, bool narrow)
{
	const char *user = s && s->user ? s->user : "-";
	const char *address = s && s->address ? s->address : "-";
	const char *port = strrchr(address, ':');

	text_put(out, user, strlen(user));
	fputc('@', out);
	text_put(out, address, port ? (size_t)(port - address) : strlen(address));
	if (s)
		slow_text_put_volumes(out, s, narrow);
}

static void slow_text_put_name(FILE *out, const struct slow_request *q)
{
	const struct afs_record_names *name = &q->name;

	if (!name->timestamp)
		return;
	if (!name->name)
		fputs(" name not read", out);
	else if (!name->len)
		fprintf(out, " directory %u", name->dir);
	else if (!q->text)
		fprintf(out, " #%08x", (unsigned int)(name->name >> 32));
	else
		fputc(' ', out);
	if (name->len && q->text)
		text_put(out, q->text, strlen(q->text));
}

static void put_what(struct text *to, const struct slow_request *q, const struct slow_view *v)
{
	const struct account_names *names = run_kind_accounts(v->kind);
	char buf[ACCOUNT_NAME_MAX], age[48];

	put_clock(to->out, q->r.t, v);
	fputc(' ', to->out);
	/* Of one from before only what its client sent last is known. */
	snprintf(age, sizeof(age), "%s%s", q->before ? "≥" : "",
		 cell_time((double)q->r.time_ns).text);
	put_text(to->out, age, 6);
	fputc(' ', to->out);
	put_text(to->out,
		 q->before ? RUN_SERVICE_EARLIER : account_name_of(names, q->r.command, buf),
		 -COMMAND_WIDTH);
	fputs("  ", to->out);
}

/* Of the column, in which most reasons fit: as wide as the one behind it leaves. */
static size_t why_width(const struct slow_view *v)
{
	size_t left = v->width > WHAT_WIDTH + WHO_USUAL ? v->width - WHAT_WIDTH - WHO_USUAL : 0;

	return left < 14 ? 14 : left > 28 ? 28 : left;
}

/* Fills both, which are open. */
static void slow_text_fill(struct text *line, struct text *who, const struct slow_request *q,
			   const struct slow_view *v)
{
	size_t end = WHAT_WIDTH + why_width(v), at, room, who_width;

	slow_text_put_session(who->out, q->session, v->width < NARROW);
	slow_text_put_name(who->out, q);
	who_width = text_width(who) + GAP;
	who_width = who_width < WHO_MOST ? who_width : WHO_MOST;
	room = v->width > who_width ? v->width - who_width : 0;
	put_what(line, q, v);
	put_why(line, q, v, room);
	at = text_width(line);
	fprintf(line->out, "%*s", at < end ? (int)(end - at) : 0, "");
}

static int slow_text_put_line(FILE *out, const struct slow_request *q, const struct slow_view *v)
{
	struct text line = { 0 }, who = { 0 };
	int r = text_open(&line);
	size_t at;

	r = r ? r : text_open(&who);
	if (!r)
		slow_text_fill(&line, &who, q, v);
	r = text_close(&line) | text_close(&who) | r ? -ENOMEM : 0;
	if (!r) {
		at = text_columns(line.is) + GAP;
		put_most(out, line.is, v->width);
		fprintf(out, "%*s", at < v->width ? GAP : 0, "");
		put_most(out, who.is, at < v->width ? v->width - at : 0);
		fputc('\n', out);
	}
	free(who.is);
	free(line.is);
	return r;
}

static void slow_text_put_call(FILE *out, const struct slow_call *c, uint64_t begin)
{
	static const char *const waits[] = {
#define X(NAME, value, text) [value] = (text),
		AFS_KINDS(X)
#undef X
	};
	char what[64];

	fputs("    +", out);
	put_text(out, cell_time(c->t > begin ? (double)(c->t - begin) : 0).text, -7);
	put_text(out, cell_time((double)c->ns).text, 7);
	print_state(what, c->class, c->object);
	if (c->kind) {
		fprintf(out, "    %s", waits[c->kind % (sizeof(waits) / sizeof(waits[0]))]);
		fprintf(out, c->class == AFS_CLASS_USER ? "\n" : " in %s\n", what);
		return;
	}
	fprintf(out, "  %s: %s", c->name ? c->name : "call", what);
	if (c->fd >= 0)
		fprintf(out, ", fd %d", c->fd);
	fprintf(out, " = %" PRId64 "\n", c->ret);
}

static void slow_text_put_calls(FILE *out, const struct slow_request *q)
{
	const struct slow_calls *c = q->calls;

	fprintf(out, "    process %u, port %u, request %u, %u calls\n", q->r.session, q->r.port,
		q->r.dsi_id, q->r.calls);
	for (uint32_t i = 0; i < c->n; i++)
		slow_text_put_call(out, &c->call[i], q->r.t);
	if (c->more)
		fprintf(out, "    and %" PRIu64 " shorter calls and waits, together %s\n", c->more,
			cell_time((double)c->more_ns).text);
}

int slow_text(FILE *out, const struct slow_request *q, const struct slow_view *v)
{
	int r = slow_text_put_line(out, q, v);

	if (!r && q->calls)
		slow_text_put_calls(out, q);
	return r;
}

void slow_text_heads(FILE *out, const struct slow_view *v)
{
	char heads[160];

	snprintf(heads, sizeof(heads), "%-12s %6s %-*s  %-*s  user@client volume name", "begin",
		 "took", COMMAND_WIDTH, "command", (int)why_width(v), "why");
	put_most(out, heads, v->width);
	fputc('\n', out);
}

void slow_text_sum(FILE *out, const struct slow_sum *s)
{
	double part = s->ns ? 100 * (double)s->cpu_ns / (double)s->ns : 0;

	fprintf(out, "%.1f s watched: %s requests, ", (double)s->ns / NS_PER_S,
		cell_count(s->requests).text);
	fprintf(out, "%s lost\n", cell_count(s->lost).text);
	fprintf(out, "  %s slow (%s or more), ", cell_count(s->slow).text,
		cell_time((double)s->over_ns).text);
	if (s->running)
		fprintf(out, "%s more without an answer yet, ", cell_count(s->running).text);
	fprintf(out, "%s left out\n", cell_count(s->left_out).text);
	fprintf(out, "  own CPU time %s (%.1f %%), ", cell_time((double)s->cpu_ns).text, part);
	fprintf(out, "in the kernel %s, ", cell_time((double)s->programs_ns).text);
	fprintf(out, "to attach %s\n", cell_time((double)s->attach_ns).text);
}
