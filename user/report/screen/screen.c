/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first screen of a run: whether it can be trusted, the results, where the server's time
 * went. All that was measured is in report_own and the HTML report.
 */
#include "report/screen/screen.h"

#include "base/text.h"
#include "doctor/notable.h"
#include "report/about.h"
#include "report/report.h"
#include "report/screen/cost.h"
#include "report/transfer.h"
#include "run/account.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ALARM_LINES    2  /* of one alarm */
#define WARNING_LINES  2  /* of one warning */
#define WARNINGS       3  /* shown; each alarm takes the place of one */
#define MORE_LINES     3  /* that runs_save prints below */
#define FINDINGS       3  /* shown */
#define NAME_MAX_COLS  30 /* of a volume in the head */
#define PLACE_MAX_COLS 36 /* of a directory or a URL there: what a cell holds */
#define SERVER_LINES   4  /* of screen_server, besides its commands */
#define COMMANDS       6  /* of the server, below a load */
#define ID_SHOWN       8

/* Alarms: reasons to doubt the figures come before everything else. */

#define BROKE_OFF "broke off: "

/* Why the run broke off; NULL: not known. */
static const char *why_broken(const struct run *r)
{
	for (size_t i = 0; i < r->warnings.n; i++)
		if (!strncmp(r->warnings.note[i].text, BROKE_OFF, strlen(BROKE_OFF)))
			return r->warnings.note[i].text + strlen(BROKE_OFF);
	return NULL;
}

static void put_incomplete(const struct paint *p)
{
	const struct run *r = p->view.run;
	const char *why = why_broken(r);
	struct screen_text t = { 0 };

	if (r->complete)
		return;
	screen_add(&t, "INCOMPLETE: the run broke off%s%s; these figures cover what was completed",
		   why ? ": " : "", why ? why : "");
	screen_put(p, INK_RED, t.text, ALARM_LINES);
}

static bool is_server_end(const struct run *r, const struct run_note *warning)
{
	return r->server_end.ended_ns && warning->key && !strcmp(warning->key, "server");
}

static void put_server_end(const struct paint *p)
{
	const struct run_notes *w = &p->view.run->warnings;
	struct screen_text t = { 0 };

	for (size_t i = 0; i < w->n && !t.len; i++)
		if (is_server_end(p->view.run, &w->note[i]))
			screen_add(&t, "ENDED: %s", w->note[i].text);
	if (t.len)
		screen_put(p, INK_RED, t.text, ALARM_LINES);
}

/* Threads or processes that were not watched: what is missing is what they did, not their number.
 */
static bool is_of_unwatched(const struct run_loss *l)
{
	return !strncmp(l->what, "threads ", strlen("threads ")) ||
	       !strncmp(l->what, "connections ", strlen("connections "));
}

static void put_lost(const struct paint *p)
{
	const struct run *r = p->view.run;
	struct screen_text t = { 0 };
	const char *comma = "LOST: ";
	bool unwatched = false;

	if (!run_losses(r))
		return;
	for (size_t i = 0; i < r->n_losses; i++) {
		if (!r->loss[i].n)
			continue;
		screen_add(&t, "%s%s %s", comma, cell_count(r->loss[i].n).text, r->loss[i].what);
		comma = ", ";
		unwatched |= is_of_unwatched(&r->loss[i]);
	}
	screen_add(&t, unwatched ? ": the counts are too low, by how much is not known"
				 : ": the counts are too low by these numbers");
	screen_put(p, INK_RED, t.text, ALARM_LINES);
}

static size_t open_books(const struct run *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_books; i++)
		n += !r->book[i].closed;
	return n;
}

static void put_open(const struct paint *p)
{
	const struct run *r = p->view.run;
	const struct run_book *b = r->book;
	struct screen_text t = { 0 };

	if (!open_books(r))
		return;
	while (b->closed)
		b++;
	screen_add(&t, "CROSS-CHECKS DISAGREE: %zu of %zu, first %s: %s counted, ", open_books(r),
		   r->n_books, b->name, cell_count(b->ours).text);
	if (b->has_theirs)
		screen_add(&t, "%s by %s", cell_count(b->theirs).text, b->with);
	else
		screen_add(&t, "%s is no longer available", b->with);
	screen_add(&t, "; do not trust the server's figures");
	screen_put(p, INK_RED, t.text, ALARM_LINES);
}

/* The head */

/* As one word of the head, or a part of one. */
static struct cell screen_whole(const char *text, size_t max_cols)
{
	struct cell cell = cell_text(text, max_cols);

	for (char *at = cell.text; (at = strchr(at, ' '));)
		*at++ = GLUE[0];
	return cell;
}

/* "netatalk 4.5.1" of "Netatalk4.5.1" */
static void add_server(struct screen_text *t, const struct run *r)
{
	static const char known[] = "Netatalk";
	const char *machine = run_note_find(&r->server, "machine");

	if (machine && !strncmp(machine, known, strlen(known)) &&
	    isdigit((unsigned char)machine[strlen(known)]))
		screen_add(t, "netatalk" GLUE "%s", cell_text(machine + strlen(known), 16).text);
	else if (machine)
		screen_add(t, " %s", screen_whole(machine, NAME_MAX_COLS).text);
}

/* "127.0.0.1:548/vol1" */
static void add_place(struct screen_text *t, const struct run *r)
{
	const char *host = run_note_find(&r->server, "host");
	const char *port = run_note_find(&r->server, "port");
	const char *volume = run_note_find(&r->server, "volume");
	const char *directory = run_note_find(&r->options, "directory");
	const char *name = run_note_find(&r->server, "name");

	if (!run_is_by_session(r))
		screen_add(t, " %s", screen_whole(name ? name : "?", NAME_MAX_COLS).text);
	if (host) {
		screen_add(t, strchr(host, ':') ? " [%s]" : " %s",
			   cell_text(host, NAME_MAX_COLS).text);
		screen_add(t, ":%s", port ? port : "?");
	} else if (port) {
		screen_add(t, strchr(port, ' ') ? " ports" GLUE "%s" : " port" GLUE "%s", port);
	}
	if (volume)
		screen_add(t, "/%s", screen_whole(volume, NAME_MAX_COLS).text);
	if (directory)
		screen_add(t, text_url(directory) ? " %s" : " directory" GLUE "%s",
			   screen_whole(directory, PLACE_MAX_COLS).text);
}

/* "AFP 3.4" of "AFP3.4" or "AFPX03" */
static void add_version(struct screen_text *t, const struct run *r)
{
	const char *version = run_note_find(&r->server, "afp_version");
	const char *digit = version ? strpbrk(version, "0123456789") : NULL;

	if (digit && strchr(digit, '.'))
		screen_add(t, " AFP" GLUE "%s", cell_text(digit, 8).text);
	else if (version)
		screen_add(t, " %s", cell_text(version, 16).text);
}

/* A run that only watched: how long, and how many sessions where the kind has such. */
static void add_watched(struct screen_text *t, const struct run *r)
{
	const struct run_phase *phase = r->n_phases ? r->phase[0] : NULL;
	const uint64_t sessions = r->n_sessions + r->n_rest;

	if (!phase || phase->test)
		return;
	if (phase->known[METRIC_ELAPSED])
		screen_add(t, " %s", screen_time((double)phase->value[METRIC_ELAPSED]).text);
	if (run_has_requests(r) && run_is_by_session(r))
		screen_add(t, " %" PRIu64 GLUE "session%s", sessions, sessions == 1 ? "" : "s");
}

/* A set of tests is named after the version of the tool that has them: "lantest-4.6". */
static void add_set(struct screen_text *t, const struct run *r)
{
	size_t len = strlen(r->command);

	if (r->set && !strncmp(r->set, r->command, len) && r->set[len] == '-' &&
	    strchr(r->set + len, '.'))
		screen_add(t, " set" GLUE "%s", r->set + len + 1);
}

/* Prints the parts of the head: two blanks between them, a new line where one does not fit. */
static void screen_put_head(const struct paint *p)
{
	const struct run *r = p->view.run;
	struct screen_text t = { 0 };
	size_t at;

	add_server(&t, r);
	add_place(&t, r);
	add_version(&t, r);
	add_watched(&t, r);
	paint_ink(p, INK_BOLD);
	fputs(r->command, p->out);
	paint_ink(p, INK_NONE);
	at = strlen(r->command);
	add_set(&t, r);
	screen_add(&t, " run" GLUE "%.*s", ID_SHOWN, r->id);
	for (char *save = NULL, *word = strtok_r(t.text, " ", &save); word;
	     word = strtok_r(NULL, " ", &save)) {
		size_t len = text_columns(word);

		if (at + 2 + len > p->width) {
			fputc('\n', p->out);
			at = 0;
		}
		fputs("  ", p->out);
		for (; *word; word++)
			fputc(*word == GLUE[0] ? ' ' : *word, p->out);
		at += 2 + len;
	}
	fputc('\n', p->out);
}

/* Trust */

static void add_counted(struct screen_text *t, const struct paint *p)
{
	const struct ledger *all = &p->view.all;
	struct afs_cell calls = ledger_sum(all, AFS_N_ROLES, AFS_N_CLASSES, AFS_N_OBJECTS);

	if (all->has_requests && run_has_requests(p->view.run) &&
	    p->view.run->about == RUN_ABOUT_SERVER)
		screen_add(t, "%s requests, ", cell_count(ledger_answered(all)).text);
	if (all->has_calls)
		screen_add(t, "%s system calls counted, ", cell_count(calls.calls).text);
	else if (all->has_compat[AFS_ROLE_SERVER])
		screen_add(t, "reads and writes sampled from /proc, calls not counted (%s), ",
			   rungs_why(p->view.run, "requests"));
}

/* Watched, but in no phase that is complete, which alone are summed. */
static bool watched_in_vain(const struct run *r)
{
	const char *how = run_note_find(&r->rungs, "calls");

	for (size_t i = 0; i < r->n_phases; i++)
		if (r->phase[i]->complete)
			return false;
	return how && strncmp(how, "off", 3);
}

static void put_trust(const struct paint *p)
{
	const struct run *r = p->view.run;
	const struct ledger *all = &p->view.all;
	struct screen_text t = { 0 };

	if (transfer_is_local(r))
		return;
	/* Not even a reason: the run is about no server. */
	if (!all->has_calls && !r->rungs.n && !r->absent.n && !r->n_books)
		return;
	if (!all->has_calls && !all->has_compat[AFS_ROLE_SERVER]) {
		if (watched_in_vain(r))
			screen_add(&t, "What the server did in a phase that is not complete is "
				       "only in run.json");
		else
			screen_add(&t, "The server was not watched: %s", rungs_why(r, "*"));
		screen_put(p, INK_YELLOW, t.text, 2);
		return;
	}
	add_counted(&t, p);
	if (r->n_losses)
		screen_add(&t, "%s lost, ", cell_count(run_losses(r)).text);
	else
		screen_add(&t, "losses not counted, ");
	if (open_books(r))
		screen_add(&t, "cross-checks DISAGREE");
	else
		screen_add(&t, r->n_books ? "cross-checks agree" : "no cross-checks");
	if (!cost_is_high(r))
		cost_add(&t, r, "; ", false);
	screen_put(p, INK_NONE, t.text, 2);
}

/* Whose work is in the server's figures, too. */
static void screen_put_others(const struct paint *p)
{
	const char *text = run_note_find(&p->view.run->server, RUN_OTHERS);
	struct screen_text t = { 0 };

	if (!text)
		return;
	screen_add(&t, "Others: %s", text);
	screen_put(p, INK_NONE, t.text, 2);
}

/* Warnings */

/* "allowed 1, last on 1": the only CPU that is allowed; -1: there are several. */
static int only_cpu(const char *note)
{
	int cpu, len = 0;

	if (!note || sscanf(note, "allowed %d%n", &cpu, &len) != 1 || !len ||
	    (note[len] && note[len] != ','))
		return -1;
	/* "allowed 1,3, last on 1" */
	return note[len] && isdigit((unsigned char)note[len + 1]) ? -1 : cpu;
}

static void put_warning(const struct paint *p, const char *text, const char *rest)
{
	struct screen_text t = { 0 };

	screen_add(&t, "Warning: %s%s", text, rest);
	screen_put(p, INK_YELLOW, t.text, WARNING_LINES);
}

/* A warning that is derived from the run and not stored in it. */
static void put_own_warning(const struct paint *p)
{
	const struct run *r = p->view.run;
	int client = only_cpu(run_note_find(&r->environment, "client.cpus"));
	struct screen_text t = { 0 };

	if (client >= 0 && client == only_cpu(run_note_find(&r->server, "afpd.cpus")))
		screen_add(&t, "client and server share CPU %d", client);
	if (cost_is_high(r))
		cost_add(&t, r, t.len ? "; " : "", true);
	if (t.len)
		put_warning(p, t.text, "");
}

static size_t most_warnings(const struct run *r)
{
	size_t alarms = !r->complete + (run_losses(r) > 0) + (open_books(r) > 0) +
			(r->server_end.ended_ns > 0);

	return alarms < WARNINGS ? WARNINGS - alarms : 1;
}

static void put_warnings(const struct paint *p)
{
	const struct run *r = p->view.run;
	size_t shown = 0, hidden = 0;

	put_own_warning(p);
	for (size_t i = 0; i < r->warnings.n; i++) {
		const char *text = r->warnings.note[i].text;

		if (!r->complete && !strncmp(text, BROKE_OFF, strlen(BROKE_OFF)))
			continue;
		if (is_server_end(r, &r->warnings.note[i]))
			continue;
		if (shown++ < most_warnings(r))
			put_warning(p, text, "");
		else
			hidden++;
	}
	if (hidden)
		put_warning(p, cell_count(hidden).text, " more (-v shows them)");
}

/* What stands out in the server's time. 0 or -ENOMEM. */
static int screen_put_findings(const struct paint *p)
{
	struct run_notes found = { 0 };
	int e = doctor_notable(&found, p->view.run);

	for (size_t i = 0; i < found.n && i < FINDINGS; i++) {
		struct screen_text t = { 0 };

		screen_add(&t, "Notable: %s", found.note[i].text);
		screen_put(p, INK_BOLD, t.text, 2);
	}
	run_notes_fini(&found);
	return e;
}

/* The whole */

static bool is_doctors(const struct run *r)
{
	return r->figures && r->about == RUN_ABOUT_FAULTS;
}

static int put_upper(const struct paint *p)
{
	put_incomplete(p);
	put_server_end(p);
	put_lost(p);
	put_open(p);
	screen_put_head(p);
	put_trust(p);
	screen_put_others(p);
	put_warnings(p);
	return is_doctors(p->view.run) ? 0 : screen_put_findings(p);
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* At most so many lines of a text. What is cut off is said. */
static void put_lines(const struct paint *p, const char *text, size_t lines)
{
	if (count_lines(text) <= lines) {
		fputs(text, p->out);
		return;
	}
	while (lines > 1) {
		lines -= *text == '\n';
		fputc(*text++, p->out);
	}
	fputs("... (-v shows the rest)\n", p->out);
}

/* What the clients did, then as much of the server as has room. */
static int screen_put_load(struct paint *p, size_t lines)
{
	int (*clients)(const struct paint *p) = report_about(p->view.run)->clients;
	FILE *out = p->out;
	char *text = NULL;
	size_t len, used;
	int e;

	p->out = open_memstream(&text, &len);
	if (!p->out)
		return -ENOMEM;
	e = clients ? clients(p) : screen_load(p);
	if (fclose(p->out))
		e = -ENOMEM;
	p->out = out;
	if (!e)
		put_lines(p, text, lines);
	used = e ? 0 : count_lines(text) + SERVER_LINES;
	free(text);
	if (e || used >= lines)
		return e;
	lines -= used;
	lines = lines < COMMANDS ? lines : COMMANDS;
	return run_is_by_session(p->view.run) ? screen_server(p, lines, true)
					      : paint_procedures(p, lines);
}

/* The usual ones, by what was measured. */
static int screen_results(struct paint *p, size_t lines)
{
	const struct run *r = p->view.run;
	bool tests = false, load = false;
	int e;

	for (size_t i = 0; i < r->n_phases; i++) {
		tests |= r->phase[i]->test != 0;
		load |= r->phase[i]->load || r->phase[i]->probe;
	}
	if (transfer_run(r))
		return screen_transfers(p, lines);
	if (load)
		return screen_put_load(p, lines);
	if (!run_is_by_session(r))
		return screen_any(p, lines);
	if (tests) {
		e = screen_tests(p);
		e = e ? e : screen_server(p, 3, false);
		screen_unsteady(p);
		return e;
	}
	e = r->figures ? screen_doctor_line(p, r->figures) : 0;
	e = e ? e : screen_server(p, 8, true);
	return e ? e : screen_sessions(p, 5);
}

/* Without figures it has what was measured. */
static int screen_faults(struct paint *p, size_t lines)
{
	return is_doctors(p->view.run) ? screen_doctor(p, p->view.run->figures, false)
				       : screen_results(p, lines);
}

const struct report_about report_about_faults = { .screen = screen_faults };

static int screen_put_all(struct paint *p)
{
	const struct report_about *about = report_about(p->view.run);
	FILE *out = p->out;
	char *upper = NULL;
	size_t len, lines;
	int e;

	p->out = open_memstream(&upper, &len);
	if (!p->out)
		return -ENOMEM;
	e = put_upper(p);
	if (fclose(p->out) || e) {
		free(upper);
		return -ENOMEM;
	}
	lines = count_lines(upper);
	p->out = out;
	fputs(upper, out);
	free(upper);
	lines = SCREEN_LINES - MORE_LINES - lines;
	return about->screen ? about->screen(p, lines) : screen_results(p, lines);
}

int report_screen(const struct run *r, const struct report_opts *opts, FILE *out)
{
	struct paint p = { .out = out, .color = opts->color, .width = SCREEN_WIDTH };
	int e;

	if (opts->width && opts->width < SCREEN_WIDTH)
		p.width = opts->width < 40 ? 40 : opts->width;
	if (view_init(&p.view, r))
		return -ENOMEM;
	e = screen_put_all(&p);
	view_fini(&p.view);
	if (!e && (fflush(out) || ferror(out)))
		e = errno ? -errno : -EIO;
	return e;
}
