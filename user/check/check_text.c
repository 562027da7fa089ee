/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The check as text: the answer, the servers, what spoils figures, and the details. */
#include "check/check_found.h"

#include "host/proc/procfs.h"
#include "kinds/kind.h"
#include "report/cell.h"
#include "report/paint.h"
#include "report/report.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH          100
#define SESSIONS_SHOWN 20
#define SERVERS_SHOWN  8 /* on the first screen */
#define HINTS_SHOWN    7

/* One line of text that is wrapped. */
static void check_text_put(const struct paint *p, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void check_text_put(const struct paint *p, const char *label, const char *fmt, ...)
{
	char text[3 * ERR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_wrapped(p->out, label, text, p->width);
}

static void age(char *text, size_t room, uint64_t started)
{
	double s = procfs_age_s(started);
	unsigned long minutes = s > 0 ? (unsigned long)(s / 60) : 0;

	if (minutes >= 1440)
		snprintf(text, room, "%lu d %lu h", minutes / 1440, minutes / 60 % 24);
	else if (minutes >= 60)
		snprintf(text, room, "%lu h %lu min", minutes / 60, minutes % 60);
	else if (minutes)
		snprintf(text, room, "%lu min", minutes);
	else
		snprintf(text, room, "%.0f s", s > 0 ? s : 0);
}

static void check_text_put_session(const struct paint *p, const struct servers_session *s)
{
	char text[ERR_TEXT_MAX], client[SOCKETS_TEXT_LEN], since[32];

	snprintf(text, sizeof(text), "pid %d, ", s->pid);
	if (!s->uid_from)
		err_append(text, "user unknown");
	else if (s->uid)
		err_append(text, "user id %u", s->uid);
	else
		err_append(text, "user id 0 (root, or not logged in yet)");
	if (s->client.port) {
		sockets_text(client, sizeof(client), &s->client);
		err_append(text, ", from %s", client);
	} else {
		err_append(text, s->disconnected ? ", its client has gone" : ", client unknown");
	}
	if (s->volume[0])
		err_append(text, ", in %s", s->volume);
	age(since, sizeof(since), s->started);
	err_append(text, ", for %s", since);
	check_text_put(p, "  session", "%s", text);
}

static void check_text_put_backend(const struct paint *p, const struct servers_entry *e)
{
	char label[RUN_WORD_MAX + 2], text[ERR_TEXT_MAX];

	snprintf(label, sizeof(label), "  %s", run_kind_word(&kind_afp.is, RUN_WORD_ASKED));
	check_text_put(p, label, "%s", servers_backend(e, text));
}

static void append_sessions(char *text, const struct servers_entry *e)
{
	size_t gone = 0;

	for (size_t i = 0; i < e->n_sessions; i++)
		gone += e->session[i].disconnected;
	err_append(text, ", %zu session%s", e->n_sessions, e->n_sessions == 1 ? "" : "s");
	if (gone)
		err_append(text, " (%zu without a client)", gone);
}

/* Which server, and how much it is used. */
static void check_text_put_title(const struct paint *p, const struct check *c,
				 const struct servers_entry *e)
{
	char title[ERR_TEXT_MAX] = "", since[32];

	if (e->master)
		err_append(title, "pid %d", e->master);
	else
		err_append(title, "a session whose server has ended");
	servers_append_ports(title, e->port, e->n_ports);
	if (c->servers.session)
		err_append(title, ", session %d only", c->servers.session);
	else
		append_sessions(title, e);
	age(since, sizeof(since), e->started);
	err_append(title, ", for %s", since);
	put_wrapped(p->out, e->comm, title, p->width);
}

static void check_text_put_server(const struct paint *p, const struct check *c,
				  const struct check_server *s, size_t sessions)
{
	const struct servers_entry *e = s->entry;

	check_text_put_title(p, c, e);
	check_text_put(p, "  watch", "%s", s->use);
	check_text_put(p, "  program", "%s", e->exe[0] ? e->exe : "no right to see");
	if (e->conf[0])
		check_text_put(p, "  settings", "%s (%s)", e->conf, e->conf_from);
	else
		check_text_put(p, "  settings", "unknown");
	if (e->denied)
		check_text_put(p, "  hidden",
			       "no right to see its sockets: ports, clients and %s processes "
			       "may be missing; run as root",
			       run_kind_word(&kind_afp.is, RUN_WORD_ASKED));
	if (e->elsewhere)
		check_text_put(p, "  network",
			       "in a network namespace of its own (a container): ports are "
			       "those inside it");
	check_text_put_backend(p, e);
	for (size_t i = 0; i < e->n_sessions && i < sessions; i++)
		check_text_put_session(p, &e->session[i]);
	if (sessions && e->n_sessions > sessions)
		check_text_put(p, "", "and %zu more: --json lists them all",
			       e->n_sessions - sessions);
}

/* All hints one after the other, those of the machine last; NULL: no more. */
static const struct hint *hint_at(const struct check *c, size_t i)
{
	for (size_t k = 0; k < c->n_servers; k++) {
		if (i < c->server[k].hints.n)
			return &c->server[k].hints.hint[i];
		i -= c->server[k].hints.n;
	}
	return i < c->machine.n ? &c->machine.hint[i] : NULL;
}

static bool says_the_same(const struct hint *a, const struct hint *b)
{
	return a->weak == b->weak && !strcmp(a->what, b->what) && !strcmp(a->todo, b->todo);
}

static bool was_said(const struct check *c, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (says_the_same(hint_at(c, k), hint_at(c, i)))
			return true;
	return false;
}

/* What is true of several servers is said once, of all of them. */
static void put_hint(const struct paint *p, const struct check *c, size_t i)
{
	const struct hint *h = hint_at(c, i), *other;
	char where[sizeof(h->where) * 4];
	size_t len = 0;

	for (size_t k = i; (other = hint_at(c, k)) && len < sizeof(where); k++)
		if (says_the_same(h, other))
			len += (size_t)snprintf(where + len, sizeof(where) - len, "%s%s",
						len ? ", " : "", other->where);
	if (!h->weak)
		paint_ink(p, INK_YELLOW);
	check_text_put(p, h->weak ? "hint" : "warning", "%s: %s", where, h->what);
	if (!h->weak)
		paint_ink(p, INK_NONE);
	check_text_put(p, "", "-> %s", h->todo);
}

/* Warnings before hints, those of the servers before those of the machine; at most so many. */
static void put_hints(const struct paint *p, const struct check *c, size_t most)
{
	const struct hint *h;
	size_t n = 0;

	for (int weak = 0; weak <= 1; weak++)
		for (size_t i = 0; (h = hint_at(c, i)); i++)
			if (h->weak == weak && !was_said(c, i) && n++ < most)
				put_hint(p, c, i);
	if (n > most)
		check_text_put(p, "", "and %zu more: -v", n - most);
}

static void put_all_hints(const struct paint *p, const struct check *c, size_t most)
{
	size_t n = c->machine.n;

	for (size_t i = 0; i < c->n_servers; i++)
		n += c->server[i].hints.n;
	if (n)
		paint_heading(p, "What makes figures worse", ", and what to do about it");
	else if (c->n_servers)
		paint_heading(p, "Nothing found that makes figures worse", "");
	else
		paint_heading(p, "Nothing on this machine makes figures worse", "");
	put_hints(p, c, most);
}

static void put_ladder(const struct paint *p, const struct check *c, bool facts)
{
	const char *before = "";

	for (size_t i = 0; i < c->ladder.n; i++) {
		const struct ladder_step *s = &c->ladder.step[i];

		if (!strcmp(s->layer, "kernel") != facts)
			continue;
		if (facts) {
			check_text_put(p, s->rung, "%s%s", s->ok ? "" : "! ", s->why);
			continue;
		}
		check_text_put(p, strcmp(s->layer, before) ? s->layer : "", "%-4s%s: %s",
			       s->taken ? "yes*"
			       : s->ok  ? "yes"
					: "no",
			       s->rung, s->why);
		before = s->layer;
	}
}

static void check_text_put_answer(const struct paint *p, const struct check *c)
{
	const char *why = procfs_is_mounted() ? NULL : PROCFS_UNMOUNTED;
	bool exact = c->exact;

	for (size_t i = 0; !exact && i < c->ladder.n && !why; i++)
		if (!c->ladder.step[i].ok && !strcmp(c->ladder.step[i].layer, "calls"))
			why = c->ladder.step[i].why;
	paint_ink(p, INK_BOLD);
	fputs("afpscope " AFPSCOPE_VERSION " check", p->out);
	paint_ink(p, INK_NONE);
	fputs("\n\n", p->out);
	if (!exact)
		paint_ink(p, INK_YELLOW);
	check_text_put(p, "exact", "%s%s",
		       exact ? "yes, every call of a server can be counted here" : "no: ",
		       exact ? ""
		       : why ? why
			     : "unknown");
	if (!exact)
		paint_ink(p, INK_NONE);
	if (c->n_servers == 1 && c->servers.session)
		check_text_put(p, "server", "found: session %d", c->servers.session);
	else if (c->n_servers == 1)
		check_text_put(p, "server", "found: pid %d", c->server[0].entry->master);
	else if (c->n_servers)
		check_text_put(p, "server", "%zu found: choose one with --port PORT or --pid PID",
			       c->n_servers);
	else
		check_text_put(p, "server", "none"); /* why is a message of its own */
}

/* Which server it is, or which there are to choose from. */
static void put_servers(const struct paint *p, const struct check *c)
{
	if (c->n_servers == 1) {
		check_text_put_server(p, c, &c->server[0], 0);
		return;
	}
	for (size_t i = 0; i < c->n_servers && i < SERVERS_SHOWN; i++)
		check_text_put_title(p, c, c->server[i].entry);
	if (c->n_servers > SERVERS_SHOWN)
		check_text_put(p, "", "and %zu more: -v", c->n_servers - SERVERS_SHOWN);
}

static void put_everything(const struct paint *p, const struct check *c)
{
	if (c->n_servers)
		paint_heading(p, c->n_servers == 1 ? "Server" : "Servers", "");
	for (size_t i = 0; i < c->n_servers; i++)
		check_text_put_server(p, c, &c->server[i], SESSIONS_SHOWN);
	put_all_hints(p, c, SIZE_MAX);
	paint_heading(p, "What can be watched", "  (* would be used)");
	put_ladder(p, c, false);
	paint_heading(p, "Machine", "");
	put_ladder(p, c, true);
}

void check_text(const struct check *c, bool verbose, FILE *out)
{
	struct paint p = { .out = out, .width = WIDTH };
	struct winsize size;

	if (isatty(fileno(out))) {
		p.color = !getenv("NO_COLOR");
		if (!ioctl(fileno(out), TIOCGWINSZ, &size) && size.ws_col >= 40)
			p.width = size.ws_col < WIDTH || verbose ? size.ws_col : WIDTH;
	}
	check_text_put_answer(&p, c);
	if (verbose) {
		put_everything(&p, c);
		return;
	}
	put_servers(&p, c);
	put_all_hints(&p, c, HINTS_SHOWN);
	fputs("\nMore: -v (sessions, every way to watch, the machine), --json FILE\n", out);
}
