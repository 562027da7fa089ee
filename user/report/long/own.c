/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report for people: the order of its parts. */
#include "report/about.h"
#include "report/paint.h"
#include "report/report.h"
#include "report/screen/screen.h"
#include "report/transfer.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_WIDTH 116

/* What the server did: requests, what they reached, and sessions if there are so many. */
static int paint_served(const struct paint *p, size_t sessions)
{
	int e;

	if (run_is_by_session(p->view.run)) {
		e = paint_requests(p);
	} else {
		e = paint_procedures(p, SIZE_MAX);
		e = e ? e : paint_threads(p, SIZE_MAX);
	}
	e = e ? e : paint_below(p);
	return e || p->view.run->n_sessions < sessions ? e : paint_sessions(p);
}

/* A run of tests: what the client saw, then what the server did. */
static int paint_by_test(const struct paint *p)
{
	const struct run *r = p->view.run;
	int e;

	e = screen_is_of_files(r) ? screen_files(p) : screen_load(p);
	if (!e && screen_is_of_files(r))
		e = paint_each(p);
	if (!e)
		e = paint_tests(p);
	if (!e)
		e = paint_metrics(p);
	if (!e)
		e = paint_trips(p);
	if (!e)
		e = paint_commands(p);
	if (e || transfer_is_local(p->view.run))
		return e;
	e = paint_served(p, 2);
	e = e ? e : paint_roles(p);
	return e || !run_is_by_session(r) ? e : paint_compat(p);
}

/*
 * A run of transfers: findings first, and the short answers last, at the end of the terminal. What
 * the server did is shown by AFP command over the whole run: each work sends different commands.
 */
static int paint_by_transfer(const struct paint *p)
{
	int e = paint_transfers(p);

	if (!e)
		e = paint_metrics(p);
	if (!e)
		e = paint_verdicts(p);
	if (e || transfer_is_local(p->view.run))
		return e;
	e = paint_copies(p);
	if (!e)
		e = paint_connection(p);
	if (!e)
		e = paint_trips(p);
	if (!e)
		e = paint_commands(p);
	e = e ? e : paint_served(p, 2);
	return e ? e : paint_calls(p);
}

/* A run that only watched. */
static int paint_whole(const struct paint *p)
{
	int e = paint_metrics(p);

	e = e ? e : paint_served(p, 1);
	e = e ? e : paint_session_trips(p);
	return e ? e : paint_calls(p);
}

/* Calls over Rx. */
static int paint_by_call(const struct paint *p)
{
	int e;

	if (!p->view.run->n_phases)
		return paint_whole(p);
	e = screen_calls(p);
	if (!e)
		e = screen_call_times(p);
	if (e || run_note_find(&p->view.run->absent, "*"))
		return e;
	e = paint_served(p, 1);
	return e ? e : paint_calls(p);
}

static int paint_calls_clients(const struct paint *p)
{
	int e = screen_calls(p);

	return e || !p->view.run->figures ? e : screen_opinion(p, p->view.run->figures);
}

const struct report_about report_about_calls = { .clients = paint_calls_clients,
						 .own = paint_by_call };
const struct report_about report_about_server = { .own = paint_whole };

static int paint_all(struct paint *p)
{
	const struct run *r = p->view.run;
	const struct report_about *about = report_about(r);
	bool tests = false;
	int e;

	for (size_t i = 0; i < r->n_phases; i++)
		tests |= r->phase[i]->test != 0;
	if (about->own)
		e = about->own(p);
	else
		e = transfer_run(r) ? paint_by_transfer(p)
		    : tests         ? paint_by_test(p)
				    : paint_whole(p);
	e = e ? e : paint_looked_for(p);
	return e ? e : paint_series(p);
}

int report_own(const struct run *r, const struct report_opts *opts, FILE *out)
{
	struct paint p = { .out = out, .color = opts->color, .width = DEFAULT_WIDTH };
	int e;

	if (opts->width)
		p.width = opts->width;
	if (view_init(&p.view, r))
		return -ENOMEM;
	e = paint_head(&p);
	e = e ? e : paint_all(&p);
	if (!e && transfer_run(r))
		e = paint_brief(&p);
	view_fini(&p.view);
	if (!e && (fflush(out) || ferror(out)))
		e = errno ? -errno : -EIO;
	return e;
}

int report_sections(const struct run *r, struct section_sink *to)
{
	struct paint p = { .sink = to, .width = DEFAULT_WIDTH };
	char *text = NULL;
	size_t len;
	int e;

	if (view_init(&p.view, r))
		return -ENOMEM;
	/* Blank lines between the sections, which nobody reads. */
	p.out = open_memstream(&text, &len);
	e = p.out ? paint_all(&p) : -ENOMEM;
	if (p.out)
		fclose(p.out);
	free(text);
	view_fini(&p.view);
	return e;
}
