/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The head of the own report: what was run, and how far it can be trusted. */
#include "doctor/notable.h"
#include "report/paint.h"
#include "report/report.h"
#include "report/screen/cost.h"
#include "report/section.h"
#include "report/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A line of the head; section_more adds to it. */
static void head_note(struct section *s, enum ink ink, const char *label)
{
	section_indented(s, label, SECTION_LABEL);
	section_ink(s, ink);
}

/* "key: text"; "key: 1 MiB" of what is noted as key_bytes. */
static void head_say_note(struct section *s, const struct run_note *n)
{
	size_t len = n->key ? strlen(n->key) : 0;
	char size[RUN_SIZE_MAX], *end;
	uint64_t bytes = strtoull(n->text, &end, 10);

	if (len > 6 && !strcmp(n->key + len - 6, "_bytes") && end != n->text && !*end)
		section_more(s, "%.*s: %s", (int)len - 6, n->key, run_size(bytes, size));
	else
		section_more(s, "%s%s%s", n->key ? n->key : "", n->key ? ": " : "", n->text);
}

/* "key: text; key: text" on as many lines as it takes. */
static void head_put_notes(struct section *s, const char *label, const struct run_notes *notes)
{
	head_note(s, INK_NONE, label);
	for (size_t i = 0; i < notes->n; i++) {
		section_more(s, "%s", i ? "; " : "");
		head_say_note(s, &notes->note[i]);
	}
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
	put_gap(p, sizeof("2026-11-21T17:22:05Z") - 1, &at);
	fprintf(p->out, "%.19sZ", r->started);
	snprintf(loss, sizeof(loss), "losses not counted");
	if (r->n_losses)
		snprintf(loss, sizeof(loss), "%s lost", cell_count(lost).text);
	put_gap(p, strlen(state) + 2 + text_columns(loss), &at);
	put_inked(p, r->complete ? INK_NONE : INK_RED, state);
	fputs(", ", p->out);
	put_inked(p, lost ? INK_RED : INK_NONE, loss);
	fputc('\n', p->out);
}

static void head_put_losses(struct section *s, const struct run *r)
{
	const char *comma = "";

	head_note(s, INK_RED, "LOST");
	for (size_t i = 0; i < r->n_losses; i++) {
		if (!r->loss[i].n)
			continue;
		section_more(s, "%s%s" GLUE "%s", comma, cell_count(r->loss[i].n).text,
			     r->loss[i].what);
		comma = ", ";
	}
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
static void head_say_book(struct section *s, const struct run_book *b)
{
	bool more = b->ours > b->theirs;

	section_more(s, "%s" GLUE "%s", b->name + account_len(b) + (b->name[account_len(b)] != 0),
		     cell_count(b->ours).text);
	if (!b->has_theirs)
		section_more(s, " (nothing to compare with any more)");
	else if (!b->closed)
		section_more(s, GLUE "≠" GLUE "%s" GLUE "(%s%s)", cell_count(b->theirs).text,
			     more ? "+" : "-",
			     cell_count(more ? b->ours - b->theirs : b->theirs - b->ours).text);
}

/* The cross-checks of one account that do not agree, on one wrapped line. */
static void put_account(struct section *s, const struct run *r, const struct run_book *first)
{
	const char *comma = ": ";

	head_note(s, INK_RED, "CROSS-CHECK DISAGREES");
	section_more(s, "%.*s", (int)account_len(first), first->name);
	for (size_t i = 0; i < r->n_books; i++) {
		if (r->book[i].closed || !same_account(first, &r->book[i]))
			continue;
		section_more(s, "%s", comma);
		head_say_book(s, &r->book[i]);
		comma = ", ";
	}
	if (first->has_theirs)
		section_more(s, " (%s)", first->with);
}

static void put_disagreeing(struct section *s, const struct run *r)
{
	bool seen;

	for (size_t i = 0; i < r->n_books; i++) {
		seen = r->book[i].closed;
		for (size_t k = 0; k < i && !seen; k++)
			seen = !r->book[k].closed && same_account(&r->book[i], &r->book[k]);
		if (!seen)
			put_account(s, r, &r->book[i]);
	}
}

/* All that agree, and with what: one line, however many there are. */
static void put_agreeing(struct section *s, const struct run *r)
{
	const char *comma = " comparisons, with ";
	size_t n = 0;
	bool seen;

	for (size_t i = 0; i < r->n_books; i++)
		n += r->book[i].closed;
	if (!n)
		return;
	head_note(s, INK_NONE, "Cross-checks agree");
	section_more(s, "%s of %s", cell_count(n).text, cell_count(r->n_books).text);
	for (size_t i = 0; i < r->n_books; i++) {
		seen = !r->book[i].closed;
		for (size_t k = 0; k < i && !seen; k++)
			seen = r->book[k].closed && !strcmp(r->book[k].with, r->book[i].with);
		if (seen)
			continue;
		section_more(s, "%s%s", comma, r->book[i].with);
		comma = ", ";
	}
}

/* One line for all metrics that are absent for the same reason: "why (key, key)". */
static void head_put_reason(struct section *s, const struct run_notes *absent,
			    const struct run_note *first)
{
	const char *comma = " (";

	head_note(s, INK_NONE, "n/a because");
	section_more(s, "%s", first->text);
	for (size_t i = 0; i < absent->n; i++) {
		if (strcmp(absent->note[i].text, first->text) || !strcmp(absent->note[i].key, "*"))
			continue;
		section_more(s, "%s%s", comma, absent->note[i].key);
		comma = ", ";
	}
	section_more(s, *comma == ',' ? ")" : " (all of the server)");
}

static void head_put_reasons(struct section *s, const struct run_notes *absent)
{
	bool seen;

	for (size_t i = 0; i < absent->n; i++) {
		seen = false;
		for (size_t k = 0; k < i; k++)
			seen |= !strcmp(absent->note[k].text, absent->note[i].text);
		if (!seen)
			head_put_reason(s, absent, &absent->note[i]);
	}
}

static int head_put_findings(struct section *s)
{
	struct run_notes found = { 0 };
	int e = doctor_notable(&found, s->p->view.run);

	for (size_t i = 0; i < found.n; i++) {
		head_note(s, INK_NONE, "Notable");
		section_more(s, "%s", found.note[i].text);
	}
	run_notes_fini(&found);
	return e;
}

/* Whether the figures can be trusted. 0 or -ENOMEM. */
static int head_put_trust(struct section *s, const struct run *r)
{
	if (!r->complete) {
		head_note(s, INK_RED, "INCOMPLETE");
		section_more(s, "the run broke off; the tables hold %s that were completed",
			     transfer_run(r) ? "the iterations" : "only the phases");
	}
	head_put_losses(s, r);
	put_disagreeing(s, r);
	put_agreeing(s, r);
	head_note(s, INK_NONE, "Cross-checks");
	if (!r->n_books)
		section_more(s, "none: nothing was counted that could be compared");
	for (size_t i = 0; i < r->warnings.n; i++) {
		head_note(s, INK_YELLOW, "Warning");
		section_more(s, "%s", r->warnings.note[i].text);
	}
	return head_put_findings(s);
}

/* What watching cost, what was not measured, and where. */
static void head_put_rest(struct section *s, const struct run *r)
{
	const char *price = run_note_find(&r->rungs, RUNGS_PRICE);
	struct screen_text cost = { 0 };

	head_note(s, INK_NONE, "Price of watching:");
	section_more(s, "%s", price ? price : "");
	cost_add(&cost, r, "", true);
	head_note(s, INK_NONE, "Cost");
	section_more(s, "%s", cost.text);
	head_put_reasons(s, &r->absent);
	head_put_notes(s, "Machine", &r->environment);
}

static const struct section_type head_section = { .key = "head", .begin = SECTION_AT_ONCE };

int paint_head(const struct paint *p)
{
	const struct run *r = p->view.run;
	struct section s;
	int e, ret;

	put_first_line(p);
	section_open(&s, p, &head_section);
	e = head_put_trust(&s, r);
	if (!e && transfer_run(r))
		paint_options(&s);
	head_put_notes(&s, "Server", &r->server);
	e = e ? e : paint_rungs(&s);
	head_put_rest(&s, r);
	ret = section_close(&s);
	return e ? e : ret;
}
