/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope slow: a line for each slow request of a running server, as it happens. The programs in
 * the kernel make records of slow requests only; what has not ended is read from their state.
 */
#include "slow/slow.h"
#include "app/cmd.h"
#include "app/output.h"
#include "attach/attach.h"
#include "attach/unanswered.h"
#include "base/clock.h"
#include "base/opt.h"
#include "drive/slo.h"
#include "host/proc/syscalls.h"
#include "host/rights.h"
#include "kinds/kind.h"
#include "report/cell.h"
#include "report/paint.h"
#include "slow/slow_keep.h"
#include "trace/names.h"
#include "watch/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define NS_PER_S   1000000000u
#define NS_PER_MS  1000000u
#define WIDTH      100
#define RATE       20
#define SMALL_RING (1u << 20) /* of slow requests alone */

struct slow {
	const struct slow_cfg *cfg;
	struct attach a;
	struct names *names;
	struct slow_keep *keep;
	struct unanswered unanswered; /* requests from before the watch */
	struct slow_rate rate;
	struct run run;
	struct slow_sum sum;
	struct ledger before;
	uint64_t lost;
	unsigned int lines;
	size_t width;
	bool failed; /* no memory */
};

static int over_take(void *to, const char *arg, struct err *e)
{
	if (slo_time(arg, to))
		return 0;
	return err_set(e, -EINVAL, "'%s' is not a time such as 100ms (ns, us, ms, s)", arg);
}

/* clang-format off */
#define OFFSET(m) offsetof(struct slow_cfg, m)
const struct opt slow_options[] = {
	{ .type = OPT_HEADING, .help = "Which requests:" },
	{ .name = "over", .arg = "TIME", .type = OPT_CALL, .offset = OFFSET(over_ns), .call = over_take,
	  .help = "those that take so long or longer, such as 20ms or 1s (default: 100ms)",
	  .more = "The unit is ns, us, ms or s." },
	{ .type = OPT_HEADING, .help = "Which server (default: the only one of this host):" },
	WHOM_OPTIONS(struct slow_cfg, whom),
	{ .type = OPT_HEADING, .help = "How long (default: until Ctrl-C):" },
	{ .letter = 'd', .name = "duration", .arg = "SECONDS", .type = OPT_SECONDS, .offset = OFFSET(seconds), .min = 1, .max = 604800,
	  .help = "at most this long" },
	{ .letter = 'n', .name = "lines", .arg = "N", .type = OPT_UINT, .offset = OFFSET(lines), .min = 1,
	  .help = "at most until N requests were shown" },
	GUARD_OPTION(struct slow_cfg, max_cpu),
	{ .type = OPT_HEADING, .help = "Output:" },
	{ .name = "names", .type = OPT_FLAG, .offset = OFFSET(names),
	  .help = "names of files and directories as text, not as keyed hashes",
	  .more = "Characters that a terminal would interpret are shown as ?." },
	{ .name = "rate", .arg = "N", .type = OPT_UINT, .offset = OFFSET(rate),
	  .help = "show at most N requests a second, and how many more there were; 0: all (default: 20)" },
	{ .name = "json", .type = OPT_FLAG, .offset = OFFSET(json), .help = "one JSON object a line",
	  .more = "In ASCII; see below." },
	{ .letter = 'v', .name = "verbose", .type = OPT_COUNT, .offset = OFFSET(verbose),
	  .help = "below each request its longest system calls and waits; watching costs more then",
	  .more = "That is: its process, the 16 longest of the system calls and waits of this process for it, in "
	 	"the order of their begin, and the number and sum of the others. A wait is also part of the call "
	 	"it is in. The kernel makes a record of every call: watching a busy server costs a tenth of a CPU "
	 	"or more." },
	{ .name = "help", .type = OPT_FLAG, .offset = OFFSET(help), .help = "this text" },
	CMD_VERSION_OPTION,
	{ .type = OPT_END },
};
/* clang-format on */

/* Lines */

static struct slow_view view_now(const struct slow *s)
{
	return (struct slow_view) {
		.width = s->width,
		.offset_ns = clock_wall_offset_ns(),
		.kind = &s->a.found.kind->is,
	};
}

static void say_left_out(struct slow *s, uint64_t now)
{
	uint64_t n = slow_rate_turn(&s->rate, now);

	if (!n)
		return;
	if (s->cfg->json)
		s->failed |= slow_json_count(stdout, "left out", n);
	else
		printf("... %" PRIu64 " more in this second\n", n);
}

static void slow_show(struct slow *s, struct slow_request *q, const struct afs_named *named)
{
	static const struct slow_calls none;
	const struct slow_view view = view_now(s);
	struct run_session session;
	char text[AFS_TEXT_LEN];

	if (named) {
		names_record(s->names, named, &q->name);
		q->text = s->cfg->names && names_words(named, text) ? text : NULL;
	}
	if (!q->session && watch_session(s->a.watch, (pid_t)q->r.session, q->r.port, &session))
		q->session = &session;
	if (s->cfg->verbose) {
		q->calls = slow_keep_calls(s->keep, &q->r);
		q->calls = q->calls ? q->calls : &none;
	}
	s->failed |= s->cfg->json ? slow_json(stdout, q, &view) : slow_text(stdout, q, &view);
	s->lines++;
	if (q->session == &session)
		run_session_fini(&session);
}

static bool slow_is_enough(void *user)
{
	const struct slow *s = user;

	return s->failed || ferror(stdout) || (s->cfg->lines && s->lines >= s->cfg->lines);
}

/* One that waited until something happened is not slow. */
static bool slow_is_idle(const struct slow *s, const struct afs_record_requests *r)
{
	return account_is_idle(run_kind_accounts(s->run.kind), r->command);
}

static void slow_put_request(struct slow *s, const struct afs_record_requests *r)
{
	struct slow_request q = { .r = *r };

	if (slow_is_idle(s, r))
		return;
	s->sum.slow++;
	say_left_out(s, clock_now_ns());
	if (slow_rate_take(&s->rate))
		slow_show(s, &q, slow_keep_named(s->keep, r));
}

static void slow_put_call(struct slow *s, const struct afs_record_calls *c)
{
	const struct slow_call call = {
		.t = c->t,
		.ns = c->time_ns,
		.class = c->class,
		.object = c->object,
		.name = syscalls_name(c->nr),
		.fd = c->fd,
		.ret = c->ret,
	};

	if (c->role == AFS_ROLE_SERVER && account_is_request(c->command))
		slow_keep_call(s->keep, c->session, c->dsi_id, c->command, &call);
}

static void put_wait(struct slow *s, const struct afs_record_waits *w)
{
	const struct slow_call call = {
		.t = w->t, .ns = w->ns, .kind = w->kind, .class = w->class, .object = w->object
	};

	if (w->role == AFS_ROLE_SERVER && account_is_request(w->command))
		slow_keep_call(s->keep, w->session, w->dsi_id, w->command, &call);
}

/* A record of the programs. */
static void slow_put(void *user, unsigned int stream, const void *record)
{
	const struct afs_named *named = record;
	struct slow *s = user;

	if (slow_is_enough(s))
		return;
	switch (stream) {
	case AFS_STREAM_REQUESTS:
		slow_put_request(s, record);
		break;
	case AFS_STREAM_NAMES: /* of a batch its bytes are cut behind the last that was read */
		memcpy(&slow_keep_of(s->keep, named->session)->named, named,
		       offsetof(struct afs_named, bytes) + named->len);
		break;
	case AFS_STREAM_CALLS:
		slow_put_call(s, record);
		break;
	case AFS_STREAM_WAITS:
		put_wait(s, record);
		break;
	default:
		break;
	}
}

static void put_running(void *user, const struct afs_record_requests *r,
			const struct afs_named *named)
{
	struct slow_request q = { .r = *r, .running = true };
	struct slow *s = user;

	s->sum.running += account_is_request(r->command);
	if (slow_is_enough(s) || !slow_keep_due(s->keep, r))
		return;
	say_left_out(s, clock_now_ns());
	if (!slow_rate_take(&s->rate))
		return;
	slow_keep_told(s->keep, r);
	slow_show(s, &q, named);
}

/* One that began before the watch, which has read nothing of it. */
static void put_older(void *user, const struct run_service *is)
{
	char address[sizeof(is->address)];
	struct run_session session = { .address = address }, known = { 0 };
	uint64_t now = clock_now_ns(), told_t, ns[ACCOUNT_N_COLUMNS] = { [0] = 0 };
	struct slow_request q = { .running = true, .before = true, .session = &session };
	struct slow *s = user;

	ns[is->column % ACCOUNT_N_COLUMNS] = is->age_ns;
	q.r = (struct afs_record_requests) { .timestamp = now,
					     .t = now > is->age_ns ? now - is->age_ns : 0,
					     .time_ns = is->age_ns,
					     .session = (uint32_t)is->pid };
	afs_request_is(&q.r, 0, AFS_ACCOUNT_BETWEEN);
#define X(type, name, unit, meaning) q.r.name = ns[AFS_COLUMN_##name];
	AFS_COLUMNS(X)
#undef X
	snprintf(address, sizeof(address), "%s", is->address);
	/* Its begin is known to a moment only: the same request as before is the same one. */
	told_t = slow_keep_told_of(s->keep, &q.r)->t;
	if (told_t + NS_PER_S > q.r.t && told_t < q.r.t + NS_PER_S)
		q.r.t = told_t;
	s->sum.running += is->age_ns >= s->cfg->over_ns;
	if (slow_is_enough(s) || is->age_ns < s->cfg->over_ns || !slow_keep_due(s->keep, &q.r))
		return;
	say_left_out(s, now);
	if (!slow_rate_take(&s->rate))
		return;
	slow_keep_told(s->keep, &q.r);
	if (watch_session(s->a.watch, is->pid, 0, &known))
		session.user = known.user;
	slow_show(s, &q, NULL);
	run_session_fini(&known);
}

/* Begin */

static int slow_open_watch(struct slow *s, struct err *e)
{
	const struct watch_opts opts = {
		.mode = WATCH_BPF,
		.sink = { .what = AFS_TRACE_SMALL |
				  (s->a.found.kind->is.by_session ? AFS_TRACE_NAMES : 0) |
				  (s->cfg->verbose ? AFS_TRACE_CALLS : 0),
			  .over_ns = s->cfg->over_ns,
			  .ring_len = s->cfg->verbose ? 0 : SMALL_RING,
			  .user = s,
			  .put = slow_put },
	};
	int r = attach_open(&s->a, &opts, true, e);

	if (r)
		err_append(e->text,
			   ". Only records of the kernel show requests, /proc does not; afpscope "
			   "check says what is missing");
	return r;
}

static enum outcome slow_begin(struct slow *s, struct err *e)
{
	const struct kind_wish wish = { .port = s->cfg->whom.port, .pid = s->cfg->whom.pid };
	enum outcome o = attach_find(&s->a, NULL, &wish, e);

	if (o)
		return o;
	s->keep = slow_keep_new();
	if (run_init(&s->run, "slow", "slow") || !s->keep) {
		err_set(e, -ENOMEM, "out of memory");
		return OUTCOME_FAILED;
	}
	s->run.kind = &s->a.found.kind->is;
	if (names_open(&s->names, false, e) || slow_open_watch(s, e))
		return OUTCOME_FAILED;
	cmd_note_rights(rights_drop(RIGHTS_PRIORITY), NULL);
	return OUTCOME_OK;
}

/* Time */

static void say_lost(struct slow *s)
{
	uint64_t lost = 0;

	for (unsigned int i = 0; i < AFS_N_STREAMS; i++)
		lost += watch_pull_lost(s->a.watch, i);
	if (lost == s->lost)
		return;
	if (s->cfg->json)
		s->failed |= slow_json_count(stdout, "lost", lost - s->lost);
	else
		cmd_say("%" PRIu64 " records were lost: there was no room on their way here",
			lost - s->lost);
	s->lost = lost;
}

/* Requests from before the watch are seen of sessions that wait for nothing but their client. */
static bool slow_sees_older(const struct slow *s)
{
	return s->a.found.servers.n && s->a.found.kind->is.by_session;
}

/* Requests that ran at that time already. */
static void slow_look_before(struct slow *s, uint64_t before_ns)
{
	s->sum.running = 0;
	watch_running(s->a.watch, before_ns, put_running, s);
	if (slow_sees_older(s)) {
		s->failed |= unanswered_look(&s->unanswered, s->a.watch,
					     &s->a.found.servers.entry[0]) != 0;
		unanswered_each_older(&s->unanswered, put_older, s);
	}
}

/* What is younger than a second will soon be a line of its own. */
static int slow_look(void *user)
{
	struct slow *s = user;

	slow_look_before(s, clock_now_ns() -
				(s->cfg->over_ns > NS_PER_S ? s->cfg->over_ns : NS_PER_S));
	say_lost(s);
	return 0;
}

/* One thread: what is known of sessions changes only between two records. */
static int slow_wait(void *user, uint64_t until_ns)
{
	struct slow *s = user;
	uint64_t now = clock_now_ns();
	int r = watch_pull(s->a.watch,
			   until_ns > now ? (int)((until_ns - now) / NS_PER_MS + 1) : 0);

	say_left_out(s, clock_now_ns());
	return r;
}

static int slow_sum_up(struct slow *s)
{
	struct ledger after = { 0 };
	uint64_t stopped_ns;
	int r;

	s->sum.over_ns = s->cfg->over_ns;
	s->sum.cpu_ns = guard_own_ns() - s->a.begun_cpu_ns;
	s->sum.attach_ns = s->a.begun_cpu_ns;
	stopped_ns = attach_stop(&s->a);
	s->sum.ns = stopped_ns - s->a.begun_ns;
	watch_pull(s->a.watch, 0);
	/* Nothing comes later in which these could be a line. */
	slow_look_before(s, stopped_ns - s->cfg->over_ns);
	r = watch_read(s->a.watch, &after);
	if (!r)
		s->sum.requests = ledger_answered(&after) - ledger_answered(&s->before);
	ledger_fini(&after);
	r = r ? r : attach_finish(&s->a, &s->run);
	s->sum.programs_ns = s->a.programs_ns;
	s->sum.left_out = s->rate.left_out_all;
	s->sum.lost = s->a.lost;
	return r;
}

static void slow_say_sum(struct slow *s)
{
	const char *price = run_note_find(&s->run.rungs, RUNGS_PRICE);

	say_left_out(s, UINT64_MAX);
	say_lost(s);
	if (s->cfg->json)
		s->failed |= slow_json_sum(stdout, &s->sum);
	fflush(stdout);
	fputs("afpscope: ", stderr);
	slow_text_sum(stderr, &s->sum);
	for (size_t i = 0; i < s->run.n_losses; i++)
		if (s->run.loss[i].n)
			cmd_say("lost: %s: %" PRIu64, s->run.loss[i].what, s->run.loss[i].n);
	if (s->cfg->verbose && price)
		cmd_say("%s", price);
	attach_say_costly(&s->a);
}

/* The server's main process, or the session that was asked for. */
static void slow_say_end(struct slow *s)
{
	unsigned int port = s->a.found.servers.session ? 0 : attach_port(&s->a, s->cfg->whom.port);
	pid_t pid = s->a.found.target.server, now = attach_await(&s->a, port, ATTACH_COMEBACK_MS);

	if (now)
		cmd_say("process %d ended while it was watched, and the watch with it; it was "
			"restarted as process %d",
			pid, now);
	else
		cmd_say("process %d ended while it was watched%s", pid,
			port ? "; none was seen on its port since" : "");
	if (s->cfg->json)
		s->failed |= slow_json_process(stdout, "ended", pid);
	if (s->cfg->json && now)
		s->failed |= slow_json_process(stdout, "restarted", now);
}

static enum outcome slow_work(struct slow *s, struct err *e)
{
	static const struct attach_steps steps = { slow_wait, NULL, slow_look, slow_is_enough };
	struct slow_view view;
	bool heads, ended;
	int r;

	setvbuf(stdout, NULL, _IOLBF, 0);
	s->width = output_terminal().width;
	heads = s->width && !s->cfg->json;
	s->width = s->width ? s->width : WIDTH;
	view = view_now(s);
	if (heads)
		slow_text_heads(stdout, &view);
	s->rate.most = s->cfg->rate;
	r = watch_read(s->a.watch, &s->before);
	if (!r && slow_sees_older(s))
		r = unanswered_begin(&s->unanswered, &s->a.found.servers.entry[0]);
	attach_begin(&s->a, s->cfg->max_cpu, s->cfg->seconds);
	cmd_say("watching process %d: requests of %s or more; Ctrl-C ends",
		s->a.found.target.server, cell_time((double)s->cfg->over_ns).text);
	if (*s->a.found.doubt)
		cmd_say("%s", s->a.found.doubt);
	r = r ? r : attach_loop(&s->a, &steps, s);
	ended = !watch_lives(s->a.watch);
	if (!r)
		r = slow_sum_up(s);
	if (ended)
		slow_say_end(s);
	if (r || s->failed) {
		err_set(e, r, "%s", r && r != -ENOMEM ? strerror(-r) : "out of memory");
		return OUTCOME_FAILED;
	}
	slow_say_sum(s);
	if (s->a.untrusted)
		cmd_say("cross-checks disagree: do not trust these figures");
	return s->a.untrusted || s->lost ? OUTCOME_UNTRUSTED : OUTCOME_OK;
}

static int slow_run(const struct slow_cfg *cfg)
{
	struct slow s = { .cfg = cfg };
	struct err e = { 0 };
	enum outcome o = slow_begin(&s, &e);

	if (!o)
		o = slow_work(&s, &e);
	if (o && *e.text)
		cmd_say("%s", e.text);
	attach_close(&s.a);
	names_close(s.names);
	slow_keep_free(s.keep);
	unanswered_fini(&s.unanswered);
	ledger_fini(&s.before);
	run_fini(&s.run);
	return (int)o;
}

int slow_parse(struct slow_cfg *cfg, int argc, char **argv, struct err *e)
{
	*cfg = (struct slow_cfg) { .over_ns = 100000000, .rate = RATE };
	return whom_check(&cfg->whom, opt_parse(slow_options, cfg, argc, argv, NULL, e), e);
}

int cmd_slow(int argc, char **argv)
{
	struct slow_cfg cfg;
	struct err e = { 0 };
	char live[ERR_TEXT_MAX];

	if (slow_parse(&cfg, argc, argv, &e))
		return cmd_usage_error("slow", &e);
	if (cfg.help)
		return cmd_help(
		    slow_options,
		    "Usage: afpscope slow [OPTIONS]\n"
		    "Watches a running AFP server (%s) with all its sessions,\n"
		    "and prints a line for each slow request as it ends, and for those that do not.\n"
		    "Changes nothing.\n\n",
		    kind_live_others(live));
	cmd_catch_signals();
	signal(SIGPIPE, SIG_DFL); /* "slow | head" ends with head */
	return slow_run(&cfg);
}
