/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The head of the own report: what was run, and how far it can be trusted. */
#include "doctor/notable.h"
#include "report/cell.h"
#include "report/paint.h"
#include "report/report.h"
#include "report/screen/cost.h"
#include "report/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void head_put_line(const struct paint *p, enum ink ink, const char *label, const char *text)
{
	if (ink != INK_NONE)
		paint_ink(p, ink);
	put_wrapped(p->out, label, text, p->width);
	if (ink != INK_NONE)
		paint_ink(p, INK_NONE);
}

/* "key: text"; "key: 1 MiB" of what is noted as key_bytes. */
static void print_note(FILE *to, const struct run_note *n)
{
	size_t len = n->key ? strlen(n->key) : 0;
	char size[RUN_SIZE_MAX], *end;
	uint64_t bytes = strtoull(n->text, &end, 10);

	if (len > 6 && !strcmp(n->key + len - 6, "_bytes") && end != n->text && !*end)
		fprintf(to, "%.*s: %s", (int)len - 6, n->key, run_size(bytes, size));
	else
		fprintf(to, "%s%s%s", n->key ? n->key : "", n->key ? ": " : "", n->text);
}

/* "key: text; key: text" on as many lines as it takes. */
static int head_put_notes(const struct paint *p, const char *label, const struct run_notes *notes)
{
	const char *gap = "";
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < notes->n; i++) {
		const struct run_note *n = &notes->note[i];

		fputs(gap, to);
		print_note(to, n);
		gap = "; ";
	}
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
	if (*text)
		head_put_line(p, INK_NONE, label, text);
	free(text);
	return 0;
}

/* Two blanks before a part of the first line, or a new line where it finds no room. */
static void put_gap(const struct paint *p, size_t n, size_t *at)
{
	if (*at + 2 + n > p->width) {
		fputs("\n ", p->out);
		*at = 0;
	}
	fputs(*at ? "  " : " ", p->out);
	*at += 2 + n;
}

static void put_inked(const struct paint *p, enum ink ink, const char *text)
{
	if (ink != INK_NONE)
		paint_ink(p, ink);
	fputs(text, p->out);
	if (ink != INK_NONE)
		paint_ink(p, INK_NONE);
}

static void put_first_line(const struct paint *p)
{
	const struct run *r = p->view.run;
	const char *set = r->set && strcmp(r->set, r->command) ? r->set : NULL;
	const char *state = r->complete ? "complete" : "INCOMPLETE";
	uint64_t lost = run_losses(r);
	char text[256], loss[64];
	size_t at;

	snprintf(text, sizeof(text), "afpscope %s %s", AFPSCOPE_VERSION, r->command);
	put_inked(p, INK_BOLD, text);
	at = text_columns(text);
	if (set) {
		fprintf(p->out, " (%s)", set);
		at += 3 + text_columns(set);
	}
	put_gap(p, 4 + strlen(r->id), &at);
	fprintf(p->out, "run %s", r->id);
	put_gap(p, strlen(r->started), &at);
	fputs(r->started, p->out);
	snprintf(loss, sizeof(loss), "losses not counted");
	if (r->n_losses)
		snprintf(loss, sizeof(loss), "%s lost", cell_count(lost).text);
	put_gap(p, strlen(state) + 2 + text_columns(loss), &at);
	put_inked(p, r->complete ? INK_NONE : INK_RED, state);
	fputs(", ", p->out);
	put_inked(p, lost ? INK_RED : INK_NONE, loss);
	fputc('\n', p->out);
}

static int head_put_losses(const struct paint *p)
{
	const struct run *r = p->view.run;
	char *text = NULL;
	bool first = true;
	size_t len;
	FILE *to;

	if (!run_losses(r))
		return 0;
	to = open_memstream(&text, &len);
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_losses; i++) {
		if (!r->loss[i].n)
			continue;
		fprintf(to, "%s%s" GLUE "%s", first ? "" : ", ", cell_count(r->loss[i].n).text,
			r->loss[i].what);
		first = false;
	}
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
	head_put_line(p, INK_RED, "LOST", text);
	free(text);
	return 0;
}

/* Length of "afpd 4711 syscr" without its last word: what identifies the process. */
static size_t account_len(const struct run_book *b)
{
	const char *last = strrchr(b->name, ' ');

	return last ? (size_t)(last - b->name) : strlen(b->name);
}

static bool same_account(const struct run_book *a, const struct run_book *b)
{
	size_t len = account_len(a);

	return len == account_len(b) && !strncmp(a->name, b->name, len) &&
	       !strcmp(a->with, b->with);
}

/* " syscr 81,803", and the other count where it differs. */
static void print_book(FILE *to, const struct run_book *b)
{
	bool more = b->ours > b->theirs;

	fprintf(to, "%s" GLUE "%s", b->name + account_len(b) + (b->name[account_len(b)] != 0),
		cell_count(b->ours).text);
	if (!b->has_theirs)
		fputs(" (nothing to compare with any more)", to);
	else if (!b->closed)
		fprintf(to, GLUE "≠" GLUE "%s" GLUE "(%s%s)", cell_count(b->theirs).text,
			more ? "+" : "-",
			cell_count(more ? b->ours - b->theirs : b->theirs - b->ours).text);
}

/* The cross-checks of one account that do not agree, on one wrapped line. */
static int put_account(const struct paint *p, const struct run_book *first)
{
	const struct run *r = p->view.run;
	const char *comma = ": ";
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return -ENOMEM;
	fprintf(to, "%.*s", (int)account_len(first), first->name);
	for (size_t i = 0; i < r->n_books; i++) {
		if (r->book[i].closed || !same_account(first, &r->book[i]))
			continue;
		fputs(comma, to);
		print_book(to, &r->book[i]);
		comma = ", ";
	}
	if (first->has_theirs)
		fprintf(to, " (%s)", first->with);
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
	head_put_line(p, INK_RED, "CROSS-CHECK DISAGREES", text);
	free(text);
	return 0;
}

static int put_disagreeing(const struct paint *p)
{
	const struct run *r = p->view.run;
	bool seen;
	int e = 0;

	for (size_t i = 0; i < r->n_books && !e; i++) {
		if (r->book[i].closed)
			continue;
		seen = false;
		for (size_t k = 0; k < i; k++)
			seen |= !r->book[k].closed && same_account(&r->book[i], &r->book[k]);
		e = seen ? 0 : put_account(p, &r->book[i]);
	}
	return e;
}

/* All that agree, and with what: one line, however many there are. */
static int put_agreeing(const struct paint *p)
{
	const struct run *r = p->view.run;
	const char *comma = " comparisons, with ";
	char *text = NULL;
	size_t len, n = 0;
	bool seen;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_books; i++)
		n += r->book[i].closed;
	fprintf(to, "%s of %s", cell_count(n).text, cell_count(r->n_books).text);
	for (size_t i = 0; i < r->n_books; i++) {
		seen = !r->book[i].closed;
		for (size_t k = 0; k < i && !seen; k++)
			seen = r->book[k].closed && !strcmp(r->book[k].with, r->book[i].with);
		if (seen)
			continue;
		fprintf(to, "%s%s", comma, r->book[i].with);
		comma = ", ";
	}
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
	if (n)
		head_put_line(p, INK_NONE, "Cross-checks agree", text);
	free(text);
	return 0;
}

/* One line for all metrics that are absent for the same reason: "why (key, key)". */
static int head_put_reason(const struct paint *p, const struct run_note *first)
{
	const struct run_notes *absent = &p->view.run->absent;
	const char *comma = " (";
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return -ENOMEM;
	fputs(first->text, to);
	for (size_t i = 0; i < absent->n; i++) {
		if (strcmp(absent->note[i].text, first->text) || !strcmp(absent->note[i].key, "*"))
			continue;
		fprintf(to, "%s%s", comma, absent->note[i].key);
		comma = ", ";
	}
	fputs(*comma == ',' ? ")" : " (all of the server)", to);
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
	head_put_line(p, INK_NONE, "n/a because", text);
	free(text);
	return 0;
}

static int head_put_reasons(const struct paint *p)
{
	const struct run_notes *absent = &p->view.run->absent;
	bool seen;
	int e = 0;

	for (size_t i = 0; i < absent->n && !e; i++) {
		seen = false;
		for (size_t k = 0; k < i; k++)
			seen |= !strcmp(absent->note[k].text, absent->note[i].text);
		e = seen ? 0 : head_put_reason(p, &absent->note[i]);
	}
	return e;
}

static int head_put_findings(const struct paint *p)
{
	struct run_notes found = { 0 };
	int e = doctor_notable(&found, p->view.run);

	for (size_t i = 0; i < found.n; i++)
		head_put_line(p, INK_NONE, "Notable", found.note[i].text);
	run_notes_fini(&found);
	return e;
}

int paint_head(const struct paint *p)
{
	const struct run *r = p->view.run;
	const char *price = run_note_find(&r->rungs, RUNGS_PRICE);
	struct screen_text cost = { 0 };
	int e;

	put_first_line(p);
	if (!r->complete)
		head_put_line(p, INK_RED, "INCOMPLETE",
			      transfer_run(r)
				  ? "the run broke off; the tables hold the iterations that "
				    "were completed"
				  : "the run broke off; the tables hold only the phases "
				    "that were completed");
	e = head_put_losses(p);
	if (!e)
		e = put_disagreeing(p);
	if (!e)
		e = put_agreeing(p);
	if (e)
		return e;
	if (!r->n_books)
		head_put_line(p, INK_NONE, "Cross-checks",
			      "none: nothing was counted that could be compared");
	for (size_t i = 0; i < r->warnings.n; i++)
		head_put_line(p, INK_YELLOW, "Warning", r->warnings.note[i].text);
	e = head_put_findings(p);
	if (!e && transfer_run(r))
		e = paint_options(p);
	if (!e)
		e = head_put_notes(p, "Server", &r->server);
	if (!e)
		e = paint_rungs(p);
	if (!e && price)
		head_put_line(p, INK_NONE, "Price of watching:", price);
	cost_add(&cost, r, "", true);
	if (!e && cost.len)
		head_put_line(p, INK_NONE, "Cost", cost.text);
	if (!e)
		e = head_put_reasons(p);
	if (!e)
		e = head_put_notes(p, "Machine", &r->environment);
	return e;
}
