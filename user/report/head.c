/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The head of the own report: what was run, and how far it can be trusted. */
#include "report/cell.h"
#include "report/paint.h"
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>

void paint_ink(const struct paint *p, enum ink ink)
{
	static const char *const codes[] = {
		[INK_NONE] = "\033[0m",
		[INK_BOLD] = "\033[1m",
		[INK_RED] = "\033[1;31m",
		[INK_YELLOW] = "\033[33m",
	};

	if (p->color)
		fputs(codes[ink], p->out);
}

void paint_heading(const struct paint *p, const char *what, const char *rest)
{
	fputc('\n', p->out);
	paint_ink(p, INK_BOLD);
	fputs(what, p->out);
	paint_ink(p, INK_NONE);
	fprintf(p->out, "%s\n", rest);
}

static void put_line(const struct paint *p, enum ink ink, const char *label, const char *text)
{
	if (ink != INK_NONE)
		paint_ink(p, ink);
	put_wrapped(p->out, label, text, p->width);
	if (ink != INK_NONE)
		paint_ink(p, INK_NONE);
}

/* "key: text; key: text" on as many lines as it takes. */
static int put_notes(const struct paint *p, const char *label, const struct run_notes *notes)
{
	char *text = NULL;
	size_t len;
	FILE *to;

	if (!notes->n)
		return 0;
	to = open_memstream(&text, &len);
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < notes->n; i++) {
		const struct run_note *n = &notes->note[i];

		fprintf(to, "%s%s%s%s", i ? "; " : "", n->key ? n->key : "", n->key ? ": " : "",
			n->text);
	}
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
	put_line(p, INK_NONE, label, text);
	free(text);
	return 0;
}

static void put_first_line(const struct paint *p)
{
	const struct run *r = p->view.run;
	uint64_t lost = run_losses(r);

	paint_ink(p, INK_BOLD);
	fprintf(p->out, "afpscope %s %s", AFPSCOPE_VERSION, r->command);
	paint_ink(p, INK_NONE);
	fprintf(p->out, " (%s)  run %s  %s  ", r->set, r->id, r->started);
	if (!r->complete)
		paint_ink(p, INK_RED);
	fputs(r->complete ? "complete" : "INCOMPLETE", p->out);
	if (!r->complete)
		paint_ink(p, INK_NONE);
	fputs(", ", p->out);
	if (lost)
		paint_ink(p, INK_RED);
	if (r->n_losses)
		fprintf(p->out, "%s lost", cell_count(lost).text);
	else
		fputs("losses not counted", p->out);
	if (lost)
		paint_ink(p, INK_NONE);
	fputc('\n', p->out);
}

static int put_losses(const struct paint *p)
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
	put_line(p, INK_RED, "LOST", text);
	free(text);
	return 0;
}

static void print_book(FILE *to, const struct run_book *b)
{
	bool more = b->ours > b->theirs;

	fprintf(to, "%s" GLUE "%s" GLUE, b->name, cell_count(b->ours).text);
	if (b->closed)
		fprintf(to, "=" GLUE "%s", cell_count(b->theirs).text);
	else
		fprintf(to, "≠" GLUE "%s" GLUE "(%s%s)", cell_count(b->theirs).text,
			more ? "+" : "-",
			cell_count(more ? b->ours - b->theirs : b->theirs - b->ours).text);
}

/* The books that are closed, or those that are not, on one wrapped line. */
static int put_books(const struct paint *p, bool closed)
{
	const struct run *r = p->view.run;
	char *text = NULL;
	size_t len, n = 0;
	FILE *to;

	for (size_t i = 0; i < r->n_books; i++)
		n += r->book[i].closed == closed;
	if (!n)
		return 0;
	to = open_memstream(&text, &len);
	if (!to)
		return -ENOMEM;
	fprintf(to, "%zu of %zu: ", n, r->n_books);
	for (size_t i = 0; i < r->n_books; i++) {
		if (r->book[i].closed != closed)
			continue;
		print_book(to, &r->book[i]);
		if (--n)
			fputs(", ", to);
	}
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
	if (closed)
		put_line(p, INK_NONE, "Books closed", text);
	else
		put_line(p, INK_RED, "BOOKS OPEN", text);
	free(text);
	return 0;
}

int paint_head(const struct paint *p)
{
	const struct run *r = p->view.run;
	int e;

	put_first_line(p);
	if (!r->complete)
		put_line(p, INK_RED, "INCOMPLETE",
			 "the run broke off; the tables hold only the phases that were completed");
	e = put_losses(p);
	if (!e)
		e = put_books(p, false);
	if (!e)
		e = put_books(p, true);
	if (e)
		return e;
	if (!r->n_books)
		put_line(p, INK_NONE, "Books", "none: nothing was counted that could be compared");
	for (size_t i = 0; i < r->warnings.n; i++)
		put_line(p, INK_YELLOW, "Warning", r->warnings.note[i].text);
	e = put_notes(p, "Server", &r->server);
	if (!e)
		e = put_notes(p, "Observed by", &r->rungs);
	if (!e)
		e = put_notes(p, "Why n/a", &r->absent);
	if (!e)
		e = put_notes(p, "Machine", &r->environment);
	return e;
}
