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
#include "host/rights.h"

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

static int delay_take(void *to, const char *arg, struct err *e)
{
	char *end;
	double s;

	errno = 0;
	s = strtod(arg, &end);
	if (end == arg || errno || (*end && strcmp(end, "s")) ||
	    !(s >= TOP_DELAY_MIN && s <= TOP_DELAY_MAX))
		return err_set(e, -EINVAL, "'%s' is not a number of seconds from %g to %g", arg,
			       TOP_DELAY_MIN, TOP_DELAY_MAX);
	*(double *)to = s;
	return 0;
}

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
	{ .letter = 'd', .name = "delay", .arg = "SECONDS", .type = OPT_CALL, .offset = OFFSET(delay_s), .call = delay_take,
	  .help = "how long a step takes, 0.1 to 3600 (default: 1)" },
	{ .letter = 'n', .name = "steps", .arg = "N", .type = OPT_UINT, .offset = OFFSET(steps), .min = 1,
	  .help = "end after so many steps" },
	GUARD_OPTION(struct top_cfg, max_cpu),
	{ .type = OPT_HEADING, .help = "Output:" },
	{ .letter = 'b', .name = "batch", .type = OPT_FLAG, .offset = OFFSET(batch),
	  .help = "lines for each step, also on a terminal",
	  .more = "At most 40 of 100 columns. The same if standard input or output is no terminal, or cannot move a "
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

static enum outcome top_begin(struct top *t, struct err *e)
{
	const struct top_cfg *cfg = t->cfg;
	const struct kind_wish wish = { .port = cfg->whom.port, .pid = cfg->whom.pid };
	char why[ERR_TEXT_MAX];
	int r = kind_find_sessions(&t->found, &wish, e);

	if (r)
		return r == -EACCES ? OUTCOME_UNTRUSTED : OUTCOME_NO_SESSION;
	if (*t->found.note)
		cmd_say("%s", t->found.note);
	cmd_allow_files();
	if (top_open_watch(t, top_state_wants_files(&t->state), e)) {
		snprintf(why, sizeof(why), "%s", e->text);
		err_set(e, -ENOTSUP,
			"%s. Only the programs in the kernel show requests, /proc does not; "
			"afpscope check says what is missing",
			why);
		return OUTCOME_FAILED;
	}
	return OUTCOME_OK;
}

/* Steps */

static struct top_status status_of(const struct top *t)
{
	const struct servers_entry *s = t->found.servers.n ? &t->found.servers.entry[0] : NULL;

	return (struct top_status) {
		.step = &t->step,
		.program = s && *s->comm ? s->comm : "process",
		.asked = run_asked(&t->found.kind->is),
		.pid = t->found.target.server,
		.port = t->cfg->whom.port ? t->cfg->whom.port
			: s && s->n_ports ? s->port[0]
					  : 0,
		.watched_ns = t->step.ended_ns - t->begun_ns,
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
	bool known = watch_price(t->watch, &programs);

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

	r = r ? r : opinion_older(&t->opinion, t->watch, &t->found, take_older, t);
	if (r)
		return r;
	t->step = *live_last(t->live);
	t->step.lost += t->before_lost;
	t->has_step = true;
	t->sum.steps++;
	t->sum.requests += t->step.all.requests;
	take_costs(t);
	top_show(t);
	return 0;
}

static void begin_steps(struct top *t)
{
	uint64_t now = clock_now_ns();

	guard_begin(&t->guard, t->cfg->max_cpu, t->watch);
	t->step_cpu_ns = guard_own_ns();
	t->step_programs_ns = top_programs_ns(t);
	t->due_ns = now + (uint64_t)(t->state.delay_s * NS_PER_S);
	t->looked_ns = now;
}

/* The server's counts go on, but what happens meanwhile is in no step. */
static int reopen(struct top *t, struct err *e)
{
	bool files = top_state_wants_files(&t->state);
	int r;

	top_screen_say(t->screen, files ? "Opening a watch with a record of each request ..."
					: "Opening a watch without records ...");
	watch_stop(t->watch);
	r = live_step(t->live);
	t->sum.requests += r ? 0 : live_last(t->live)->all.requests;
	r = r ? r : top_end_watch(t);
	top_free_watch(t);
	r = r ? r : top_open_watch(t, files, e);
	if (r)
		return r;
	t->state.paused = false;
	t->state.note = files ? "By file: each request makes a record, so watching costs more"
			      : "The watch makes no records any more, and costs less";
	begin_steps(t);
	return 0;
}

/* Time */

static uint64_t until_due_ms(const struct top *t, uint64_t now)
{
	uint64_t ms = t->due_ns > now ? (t->due_ns - now) / NS_PER_MS + 1 : 0;

	return ms < LOOK_MS && !t->state.paused ? ms : LOOK_MS;
}

static int take_keys(struct top *t, struct err *e)
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
	if (t->files != top_state_wants_files(&t->state) ||
	    (t->files && t->texts != t->state.texts))
		return reopen(t, e);
	return 0;
}

/* Until something is to be done. A signal ends a wait: a terminal of another size is one. */
static int wait_a_while(struct top *t, struct err *e)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	int ms = (int)until_due_ms(t, clock_now_ns()), r;

	if (!t->screen)
		return live_wait(t->live, ms);
	poll(&in, 1, ms);
	t->hung_up = in.revents & (POLLHUP | POLLERR | POLLNVAL);
	r = live_wait(t->live, 0);
	return r ? r : take_keys(t, e);
}

static bool top_is_over(struct top *t)
{
	if (cmd_stop || t->costly || t->failed || t->hung_up || t->state.quit || ferror(stdout))
		return true;
	return t->cfg->steps && t->sum.steps >= t->cfg->steps;
}

static int top_look(struct top *t)
{
	t->costly = guard_over(&t->guard, t->watch);
	return opinion_look(&t->opinion, t->live, t->watch, &t->found);
}

/* A server's life: its last step is shorter. */
static int end_life(struct top *t)
{
	int r = 0;

	watch_stop(t->watch);
	if (!t->failed)
		r = top_step(t);
	r = r ? r : top_end_watch(t);
	comeback_time(t->ended_at);
	t->waiting = true;
	if (!r)
		show_event(t);
	return r;
}

static int begin_life(struct top *t, struct err *e)
{
	int r;

	top_free_watch(t);
	r = top_open_watch(t, top_state_wants_files(&t->state), e);
	if (r == -ENOMEM)
		return r;
	if (r) {
		top_free_watch(t);
		t->state.note = "The server is there again, but cannot be watched yet";
		return 0;
	}
	t->waiting = t->died = false;
	*t->opinion.text = '\0';
	if (*t->found.note)
		t->state.note = t->found.note;
	comeback_time(t->restarted_at);
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
static int wait_for_comeback(struct top *t, struct err *e)
{
	const uint32_t owner = t->found.owner;
	const struct kind_wish wish = { .port = comeback_port(&t->found, t->cfg->whom.port),
					.owner = &owner };
	uint64_t begun_ns = clock_now_ns();
	struct kind_found found = { 0 };
	struct err none;
	int r = 0;

	while (!r && t->waiting && !top_is_over(t)) {
		wait_for_keys(t);
		if (clock_now_ns() - t->looked_ns < NS_PER_S)
			continue;
		t->looked_ns = clock_now_ns();
		if (comeback_find(&found, t->found.kind, &wish, &none))
			continue;
		kind_found_fini(&t->found);
		t->found = found;
		found = (struct kind_found) { 0 };
		r = begin_life(t, e);
	}
	t->waited_ns += clock_now_ns() - begun_ns;
	return r;
}

/* A certain process does not come back. */
static int top_take_end(struct top *t, struct err *e)
{
	int r;

	t->died = true;
	if (t->cfg->whom.pid)
		return 0;
	r = end_life(t);
	return r ? r : wait_for_comeback(t, e);
}

static int top_wait_for_end(struct top *t, struct err *e)
{
	uint64_t now;
	int r = 0;

	while (!r && !top_is_over(t)) {
		if (!watch_lives(t->watch)) {
			r = top_take_end(t, e);
			if (t->died)
				break;
			continue;
		}
		r = wait_a_while(t, e);
		now = clock_now_ns();
		if (!r && now - t->looked_ns >= NS_PER_S) {
			r = top_look(t);
			t->looked_ns = now;
		}
		if (r || t->state.paused || now < t->due_ns)
			continue;
		r = top_step(t);
		t->due_ns += (uint64_t)(t->state.delay_s * NS_PER_S);
		if (t->due_ns <= now)
			t->due_ns = now + (uint64_t)(t->state.delay_s * NS_PER_S);
	}
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

	t->sum.ns = clock_now_ns() - t->begun_ns - t->waited_ns;
	t->sum.cpu_ns = guard_own_ns() - t->begun_cpu_ns;
	t->sum.attach_ns = t->begun_cpu_ns;
	close_screen(t);
	if (!t->waiting) {
		watch_stop(t->watch);
		if (!enough && lines && !t->failed)
			r = top_step(t);
		r = r ? r : top_end_watch(t);
	}
	t->sum.lost = t->before_lost;
	t->sum.programs_ns = t->before_programs_ns;
	return r;
}

static void top_say_sum(struct top *t)
{
	char text[GUARD_TEXT_MAX];

	if (t->died)
		cmd_say("process %d ended while it was watched", t->found.target.server);
	if (t->cfg->json)
		t->failed |= top_json_sum(stdout, &t->sum);
	fflush(stdout);
	fputs("afpscope: ", stderr);
	top_text_sum(stderr, &t->sum);
	if (t->costly)
		cmd_say("%s", guard_text(&t->guard, text));
	if (t->untrusted)
		cmd_say("cross-checks disagree: do not trust these figures");
}

static enum outcome top_work(struct top *t, struct err *e)
{
	const struct report_opts terminal = output_terminal();
	int r;

	t->width = terminal.width && terminal.width < WIDTH ? terminal.width : WIDTH;
	open_screen(t);
	/* On a screen another view may need another watch, and a server that comes back. */
	r = rights_drop(t->screen || !t->cfg->whom.pid ? RIGHTS_WATCH : 0);
	if (!t->screen)
		cmd_note_rights(r, NULL);
	if (t->screen)
		top_screen_say(t->screen, "The first step is being measured ...");
	else
		cmd_say("watching process %d; Ctrl-C ends", t->found.target.server);
	t->begun_ns = clock_now_ns();
	t->begun_cpu_ns = guard_own_ns();
	begin_steps(t);
	r = top_wait_for_end(t, e);
	if (!r)
		r = top_finish(t);
	close_screen(t);
	if (!r)
		top_say_sum(t);
	if (r || t->failed) {
		if (!*e->text)
			err_set(e, r, "%s", r && r != -ENOMEM ? strerror(-r) : "out of memory");
		return OUTCOME_FAILED;
	}
	return t->untrusted || t->sum.lost ? OUTCOME_UNTRUSTED : OUTCOME_OK;
}

static int top_run(const struct top_cfg *cfg)
{
	const struct top_view view = { .by = (enum live_by)cfg->by,
				       .sort = (enum top_column)cfg->sort,
				       .filter = cfg->filter ? cfg->filter : "" };
	struct top *t = calloc(1, sizeof(*t));
	struct err e = { 0 };
	enum outcome o;

	if (!t)
		return OUTCOME_FAILED;
	t->cfg = cfg;
	top_state_begin(&t->state, &view, cfg->delay_s, cfg->names);
	o = top_begin(t, &e);
	if (!o)
		o = top_work(t, &e);
	if (o && *e.text)
		cmd_say("%s", e.text);
	top_free_watch(t);
	kind_found_fini(&t->found);
	free(t);
	return (int)o;
}

int cmd_top(int argc, char **argv)
{
	struct top_cfg cfg = { .by = LIVE_COMMAND, .sort = TOP_TIME, .delay_s = 1 };
	struct err e = { 0 };

	if (whom_check(&cfg.whom, opt_parse(top_options, &cfg, argc, argv, NULL, &e), &e))
		return cmd_usage_error("top", &e);
	if (cfg.help) {
		fputs(
		    "Usage: afpscope top [OPTIONS]\n"
		    "What a running AFP server does now, step by step: how many requests, how long\n"
		    "they take and what in, by command, user, client, volume, session or file. On a\n"
		    "terminal a table that keys change (F1 lists them). Changes nothing.\n\n",
		    stdout);
		opt_help(stdout, top_options);
		return OUTCOME_OK;
	}
	cmd_catch_signals();
	signal(SIGPIPE, SIG_DFL); /* "top -b | head" ends with head */
	return top_run(&cfg);
}
