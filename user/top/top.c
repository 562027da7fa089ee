/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope top: what a running server does now, step by step: on a terminal as a table that keys
 * change, else as lines or JSON.
 */
#include "top/top.h"

#include "app/cmd.h"
#include "app/output.h"
#include "base/clock.h"
#include "base/opt.h"
#include "base/text.h"
#include "host/rights.h"
#include "kinds/kind.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS   100
#define NS_PER_S  1000000000u
#define NS_PER_MS 1000000u
#define WIDTH     100
#define LINES_MAX 40

/* clang-format off */
#define OFFSET(m) offsetof(struct top_cfg, m)
const struct opt top_options[] = {
	{ .type = OPT_HEADING, .help = "Which server (default: the only one of this host):" },
	WHOM_OPTIONS(struct top_cfg, whom),
	{ .type = OPT_HEADING, .help = "What:" },
	{ .name = "by", .arg = "WHAT", .type = OPT_CHOICE, .offset = OFFSET(by), .choice = top_views,
	  .help = "the rows of the table (default: command)" },
	{ .name = "sort", .arg = "COLUMN", .type = OPT_CHOICE, .offset = OFFSET(sort), .choice = top_columns,
	  .help = "its order (default: time)" },
	{ .name = "filter", .arg = "TEXT", .type = OPT_STRING, .offset = OFFSET(filter),
	  .help = "only rows that have this text in a name" },
	{ .type = OPT_HEADING, .help = "How long (default: until q or Ctrl-C):" },
	{ .letter = 'd', .name = "delay", .arg = "SECONDS", .type = OPT_TIME, .offset = OFFSET(delay_s),
	  .min = (uint64_t)(TOP_DELAY_MIN * NS_PER_S), .max = (uint64_t)(TOP_DELAY_MAX * NS_PER_S),
	  .help = "how long a step takes, 0.1 to 3600 (default: 1)" },
	{ .letter = 'n', .name = "steps", .arg = "N", .type = OPT_UINT, .offset = OFFSET(steps), .min = 1,
	  .help = "end after so many steps" },
	GUARD_OPTION(struct top_cfg, max_cpu),
	{ .type = OPT_HEADING, .help = "Output:" },
	{ .letter = 'b', .name = "batch", .type = OPT_FLAG, .offset = OFFSET(batch),
	  .help = "lines for each step, also on a terminal",
	  .more = "At most 40 of 100 columns, or of `COLUMNS` if that is set. The same if standard input or output is no terminal, or cannot move a "
	 	"cursor (`TERM=dumb`)." },
	{ .name = "json", .type = OPT_FLAG, .offset = OFFSET(json), .help = "one JSON object a line for each step",
	  .more = "In ASCII; see below." },
	{ .name = "names", .type = OPT_FLAG, .offset = OFFSET(names),
	  .help = "names of files and directories as text, not as keyed hashes",
	  .more = "Characters that a terminal would interpret are shown as ?." },
	{ .name = "help", .type = OPT_FLAG, .offset = OFFSET(help), .help = "this text" },
	CMD_VERSION_OPTION,
	{ .type = OPT_END },
};
/* clang-format on */

/* On lines, too. */
static void top_take_doubt(struct top *t)
{
	if (!*t->a.found.doubt)
		return;
	t->state.note = t->a.found.doubt;
	if (!t->screen)
		cmd_say("%s", t->a.found.doubt);
}

/* Which file or directory a request is about is known of kinds whose sessions are. */
#define NO_FILES "which files requests are about is not known of this kind of server"

static bool top_lacks_files(const struct top *t)
{
	return top_state_wants_files(&t->state) && !t->a.found.kind->is.by_session;
}

static enum outcome top_begin(struct top *t)
{
	const struct top_cfg *cfg = t->cfg;
	const struct kind_wish wish = { .port = cfg->whom.port, .pid = cfg->whom.pid };
	enum outcome o = attach_find(&t->a, NULL, &wish, &t->e);

	if (o)
		return o;
	if (top_lacks_files(t)) {
		err_set(&t->e, -EINVAL, "--by file: " NO_FILES);
		return OUTCOME_USAGE;
	}
	top_take_doubt(t);
	if (top_open_watch(t, top_state_wants_files(&t->state), &t->e)) {
		err_append(t->e.text,
			   ". Only the programs in the kernel show requests, /proc does not; "
			   "afpscope check says what is missing");
		return OUTCOME_FAILED;
	}
	return OUTCOME_OK;
}

/* Steps */

static struct top_status status_of(const struct top *t)
{
	const struct servers_entry *s = t->a.found.servers.n ? &t->a.found.servers.entry[0] : NULL;

	return (struct top_status) {
		.step = &t->step,
		.program = s && *s->comm ? s->comm : "process",
		.kind = &t->a.found.kind->is,
		.pid = t->a.found.target.server,
		.port = t->cfg->whom.port ? t->cfg->whom.port
			: s && s->n_ports ? s->port[0]
					  : 0,
		.watched_ns = t->step.ended_ns - t->a.begun_ns,
		.delay_s = t->state.delay_s,
		.own_cpu = t->own_cpu,
		.programs_cpu = t->programs_cpu,
		.opinion = *t->opinion.text ? t->opinion.text : NULL,
		.ended_at = t->waiting ? t->ended_at : NULL,
		.restarted_at = *t->restarted_at ? t->restarted_at : NULL,
	};
}

static void top_show(struct top *t)
{
	const struct top_status status = status_of(t);
	const struct live_table *table;

	if (!t->has_step)
		return;
	table = live_rows(t->live, t->state.view.by);
	if (t->screen)
		top_screen_draw(t->screen, &t->state, &status, table);
	else if (t->cfg->json)
		t->failed |= top_json(stdout, &status, &t->state.view, table);
	else
		t->failed |= top_text(stdout, &status, &t->state.view, table, t->width, LINES_MAX);
	if (!t->screen)
		fflush(stdout);
}

static void show_event(struct top *t)
{
	const struct top_status status = status_of(t);

	if (t->screen) {
		top_show(t);
		return;
	}
	if (t->cfg->json)
		t->failed |= top_json_event(stdout, &status, clock_now_ns());
	else
		top_text_event(stdout, &status);
	fflush(stdout);
}

static void take_costs(struct top *t)
{
	uint64_t cpu_ns = guard_own_ns(), programs, ns = t->step.ended_ns - t->step.begun_ns;
	bool known = watch_price(t->a.watch, &programs);

	t->own_cpu = ns ? (double)(cpu_ns - t->step_cpu_ns) / (double)ns : 0;
	t->programs_cpu = -1;
	if (known && ns && programs >= t->step_programs_ns)
		t->programs_cpu = (double)(programs - t->step_programs_ns) / (double)ns;
	t->step_cpu_ns = cpu_ns;
	t->step_programs_ns = known ? programs : 0;
}

static void take_older(void *arg, const struct run_service *is)
{
	live_older(((struct top *)arg)->live, is);
}

static int top_step(struct top *t)
{
	int r = live_step(t->live);

	if (!r && t->a.found.kind->is.has_diagnosis)
		r = opinion_older(&t->opinion, t->a.watch, &t->a.found, take_older, t);
	if (r)
		return r;
	t->step = *live_last(t->live);
	t->step.lost += t->a.lost;
	t->has_step = true;
	t->sum.steps++;
	t->sum.requests += t->step.all.requests;
	take_costs(t);
	top_show(t);
	return 0;
}

static void begin_steps(struct top *t)
{
	guard_begin(&t->a.guard, t->cfg->max_cpu, t->a.watch);
	t->due_ns = clock_now_ns() + (uint64_t)(t->state.delay_s * NS_PER_S);
	t->step_cpu_ns = guard_own_ns();
	t->step_programs_ns = top_programs_ns(t);
}

/* The server's counts go on, but what happens meanwhile is in no step. */
static int reopen(struct top *t)
{
	bool files = top_state_wants_files(&t->state);
	int r;

	top_screen_say(t->screen, files ? "Opening a watch with a record of each request ..."
					: "Opening a watch without records ...");
	watch_stop(t->a.watch);
	r = live_step(t->live);
	t->sum.requests += r ? 0 : live_last(t->live)->all.requests;
	r = r ? r : top_end_watch(t);
	top_free_watch(t);
	r = r ? r : top_open_watch(t, files, &t->e);
	if (r)
		return r;
	t->state.paused = false;
	t->state.note = files ? "By file: each request makes a record, so watching costs more"
			      : "The watch makes no records any more, and costs less";
	begin_steps(t);
	return 0;
}

/* Time */

static int take_keys(struct top *t)
{
	double delay_s = t->state.delay_s;
	int key, n = 0;

	while (!t->state.quit && (key = top_screen_key(t->screen)) != TOP_KEY_NONE) {
		top_screen_take(t->screen, &t->state, key);
		top_show(t);
		n++;
	}
	if (!n || t->state.quit)
		return 0;
	if (delay_s != t->state.delay_s)
		t->due_ns = clock_now_ns() + (uint64_t)(t->state.delay_s * NS_PER_S);
	if (top_lacks_files(t)) {
		t->state.view.by = LIVE_COMMAND;
		t->state.note = NO_FILES;
	}
	if (t->files != top_state_wants_files(&t->state) ||
	    (t->files && t->texts != t->state.texts))
		return reopen(t);
	return 0;
}

/* Until something is to be done, which it does. A signal ends a wait: a terminal of another size is
 * one. */
static int top_wait(void *user, uint64_t until_ns)
{
	struct top *t = user;
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	uint64_t now = clock_now_ns();
	int ms, r;

	if (!t->state.paused && t->due_ns < until_ns)
		until_ns = t->due_ns;
	ms = until_ns > now ? (int)((until_ns - now) / NS_PER_MS + 1) : 0;
	if (t->screen) {
		poll(&in, 1, ms);
		t->hung_up = in.revents & (POLLHUP | POLLERR | POLLNVAL);
	}
	r = live_wait(t->live, t->screen ? 0 : ms);
	if (!r && t->screen)
		r = take_keys(t);
	now = clock_now_ns();
	if (r || t->state.paused || now < t->due_ns)
		return r;
	t->due_ns += (uint64_t)(t->state.delay_s * NS_PER_S);
	if (t->due_ns <= now)
		t->due_ns = now + (uint64_t)(t->state.delay_s * NS_PER_S);
	return top_step(t);
}

static bool top_is_over(void *user)
{
	const struct top *t = user;

	return t->failed || t->hung_up || t->state.quit || ferror(stdout) ||
	       (t->cfg->steps && t->sum.steps >= t->cfg->steps);
}

static bool top_has_ended(struct top *t)
{
	return cmd_stop || t->a.costly || top_is_over(t);
}

static int top_look(void *user)
{
	struct top *t = user;

	return t->a.found.kind->is.has_diagnosis
		   ? opinion_look(&t->opinion, t->live, t->a.watch, &t->a.found)
		   : 0;
}

/* The time of day, "12:01:02". */
static void top_time(char out[TOP_TIME_MAX])
{
	time_t now = time(NULL);
	struct tm tm;

	strftime(out, TOP_TIME_MAX, "%H:%M:%S", localtime_r(&now, &tm));
}

/* A server's life: its last step is shorter. */
static int end_life(struct top *t)
{
	int r = 0;

	watch_stop(t->a.watch);
	if (!t->failed)
		r = top_step(t);
	r = r ? r : top_end_watch(t);
	top_time(t->ended_at);
	t->waiting = true;
	if (!r)
		show_event(t);
	return r;
}

static int begin_life(struct top *t)
{
	int r;

	top_free_watch(t);
	r = top_open_watch(t, top_state_wants_files(&t->state), &t->e);
	if (r == -ENOMEM)
		return r;
	if (r) {
		top_free_watch(t);
		t->state.note = "The server is there again, but cannot be watched yet";
		return 0;
	}
	t->waiting = t->died = false;
	*t->opinion.text = '\0';
	top_take_doubt(t);
	if (*t->a.found.note)
		t->state.note = t->a.found.note;
	top_time(t->restarted_at);
	begin_steps(t);
	show_event(t);
	return 0;
}

/* Keys work meanwhile. */
static void wait_for_keys(struct top *t)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	int key;

	poll(&in, t->screen ? 1 : 0, LOOK_MS);
	t->hung_up = t->screen && in.revents & (POLLHUP | POLLERR | POLLNVAL);
	while (t->screen && !t->state.quit && (key = top_screen_key(t->screen)) != TOP_KEY_NONE) {
		top_screen_take(t->screen, &t->state, key);
		top_show(t);
	}
}

/* Until it is there again, or the user has seen enough. */
static int wait_for_comeback(struct top *t)
{
	const uint32_t owner = t->a.found.owner;
	const struct kind_wish wish = { .port = attach_port(&t->a, t->cfg->whom.port),
					.owner = &owner };
	uint64_t begun_ns = clock_now_ns(), looked_ns = begun_ns;
	struct err none;
	int r = 0;

	while (!r && t->waiting && !top_has_ended(t)) {
		wait_for_keys(t);
		if (clock_now_ns() - looked_ns < NS_PER_S)
			continue;
		looked_ns = clock_now_ns();
		if (!attach_find_again(&t->a, t->a.found.kind, &wish, &none))
			r = begin_life(t);
	}
	t->waited_ns += clock_now_ns() - begun_ns;
	return r;
}

/* A certain process does not come back. */
static int top_wait_for_end(struct top *t)
{
	static const struct attach_steps steps = { top_wait, NULL, top_look, top_is_over };
	int r;

	do {
		r = attach_loop(&t->a, &steps, t);
		if (r || top_has_ended(t) || watch_lives(t->a.watch))
			break;
		t->died = true;
		if (t->cfg->whom.pid)
			break;
		r = end_life(t);
		r = r ? r : wait_for_comeback(t);
	} while (!r && !t->died);
	return r == -EINTR ? 0 : r;
}

/* A signal must leave the terminal as it was, also the second one. */
static void stop(int sig)
{
	cmd_stop = sig;
}

static void on_signals(void (*handler)(int))
{
	const struct sigaction action = { .sa_handler = handler }; /* no SA_RESTART */
	const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
}

static void open_screen(struct top *t)
{
	const char *term = getenv("TERM");

	if (t->cfg->batch || t->cfg->json || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    !term || !strcmp(term, "dumb"))
		return;
	t->screen = top_screen_open(!getenv("NO_COLOR"));
	if (t->screen)
		on_signals(stop);
}

/* There is nothing to save: another signal ends the program. */
static void close_screen(struct top *t)
{
	if (!t->screen)
		return;
	top_screen_close(t->screen);
	t->screen = NULL;
	on_signals(SIG_DFL);
}

/* The last step is shorter. */
static int top_finish(struct top *t)
{
	bool enough = t->cfg->steps && t->sum.steps >= t->cfg->steps, lines = !t->screen;
	int r = 0;

	t->sum.ns = clock_now_ns() - t->a.begun_ns - t->waited_ns;
	t->sum.cpu_ns = guard_own_ns() - t->a.begun_cpu_ns;
	t->sum.attach_ns = t->a.begun_cpu_ns;
	close_screen(t);
	if (!t->waiting) {
		watch_stop(t->a.watch);
		if (!enough && lines && !t->failed)
			r = top_step(t);
		r = r ? r : top_end_watch(t);
	}
	t->sum.lost = t->a.lost;
	t->sum.programs_ns = t->a.programs_ns;
	return r;
}

static void top_say_sum(struct top *t)
{
	if (t->died)
		cmd_say("process %d ended while it was watched", t->a.found.target.server);
	if (t->cfg->json)
		t->failed |= top_json_sum(stdout, &t->sum);
	fflush(stdout);
	fputs("afpscope: ", stderr);
	top_text_sum(stderr, &t->sum);
	attach_say_costly(&t->a);
	if (t->a.untrusted)
		cmd_say("cross-checks disagree: do not trust these figures");
}

/* COLUMNS, which ncurses obeys on a screen as well; or the terminal's, but at most WIDTH. */
static size_t top_lines_width(void)
{
	const char *columns = getenv("COLUMNS"), *end;
	size_t width = output_terminal().width;
	double set;

	if (columns && text_decimal(columns, &end, &set) && !*end && set >= 1)
		return set < TOP_WIDTH_MAX ? (size_t)set : TOP_WIDTH_MAX;
	return width && width < WIDTH ? width : WIDTH;
}

static enum outcome top_work(struct top *t)
{
	int r;

	t->width = top_lines_width();
	open_screen(t);
	/* On a screen another view may need another watch, and a server that comes back. */
	r = rights_drop(t->screen || !t->cfg->whom.pid ? RIGHTS_WATCH : 0);
	if (!t->screen)
		cmd_note_rights(r, NULL);
	if (t->screen)
		top_screen_say(t->screen, "The first step is being measured ...");
	else
		cmd_say("watching process %d; Ctrl-C ends", t->a.found.target.server);
	attach_begin(&t->a, t->cfg->max_cpu, 0);
	begin_steps(t);
	r = top_wait_for_end(t);
	if (!r)
		r = top_finish(t);
	close_screen(t);
	if (!r)
		top_say_sum(t);
	if (r || t->failed) {
		if (!*t->e.text)
			err_set(&t->e, r, "%s", r && r != -ENOMEM ? strerror(-r) : "out of memory");
		return OUTCOME_FAILED;
	}
	return t->a.untrusted || t->sum.lost ? OUTCOME_UNTRUSTED : OUTCOME_OK;
}

static int top_run(const struct top_cfg *cfg)
{
	const struct top_view view = { .by = (enum live_by)cfg->by,
				       .sort = (enum top_column)cfg->sort,
				       .filter = cfg->filter ? cfg->filter : "" };
	struct top *t = calloc(1, sizeof(*t));
	enum outcome o;

	if (!t)
		return OUTCOME_FAILED;
	t->cfg = cfg;
	top_state_begin(&t->state, &view, cfg->delay_s, cfg->names);
	o = top_begin(t);
	if (!o)
		o = top_work(t);
	if (o && *t->e.text)
		cmd_say("%s", t->e.text);
	top_free_watch(t);
	attach_close(&t->a);
	free(t);
	return (int)o;
}

int top_parse(struct top_cfg *cfg, int argc, char **argv, struct err *e)
{
	*cfg = (struct top_cfg) { .by = LIVE_COMMAND, .sort = TOP_TIME, .delay_s = 1 };
	return whom_check(&cfg->whom, opt_parse(top_options, cfg, argc, argv, NULL, e), e);
}

int cmd_top(int argc, char **argv)
{
	struct top_cfg cfg;
	struct err e = { 0 };
	char live[ERR_TEXT_MAX];

	if (top_parse(&cfg, argc, argv, &e))
		return cmd_usage_error("top", &e);
	if (cfg.help)
		return cmd_help(
		    top_options,
		    "Usage: afpscope top [OPTIONS]\n"
		    "What a running AFP server (%s) does now, step by step: how\n"
		    "many requests, how long they take and what in, by command, user, client, volume,\n"
		    "session or file. On a terminal a table that keys change (F1 lists them). Changes\n"
		    "nothing.\n\n",
		    kind_live_others(live));
	cmd_catch_signals();
	signal(SIGPIPE, SIG_DFL); /* "top -b | head" ends with head */
	return top_run(&cfg);
}
