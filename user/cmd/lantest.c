/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope lantest: options in, a session with its watch, results out. What the tests do is in
 * client/work, what is printed in user/report.
 */
#include "work/lantest.h"

#include "cmd/connect.h"
#include "cmd/estimate.h"
#include "cmd/output.h"
#include "cmd/peer.h"
#include "cmd/sampler.h"
#include "report/progress.h"
#include "report/report.h"
#include "watch/rights.h"
#include "watch/sample.h"
#include "watch/watch.h"
#include "work/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_LEN     104857600ull /* 100 MiB */
#define FILE_LEN_MAX (1ull << 50)
#define WINDOW       32768 /* requests in flight: as good as unlimited, like the peers' */

enum table {
	TABLE_BOTH,
	TABLE_PEER,
	TABLE_OWN,
};

static const char *const table_choices[] = { "both", "peer", "afpscope", NULL };
static const char *const watch_choices[] = { "auto", "bpf", "perf", "proc", "off", NULL };

struct lantest_cfg {
	struct connect_cfg c;
	struct lantest_opts o;
	unsigned int verbose, hz;
	bool csv, help, compatible;
	int table, watch; /* enum table, enum watch_mode */
	const char *json;
};

/* One run: what the hooks need. */
struct lantest_session {
	const struct lantest_cfg *cfg;
	struct afp afp;
	struct run run;
	struct watch *watch;
	struct sampler *sampler; /* NULL: no time series */
	struct ledger before;    /* of the phase */
	bool has_before;
	struct watch_times times[AFS_N_ROLES];
	bool has_times[AFS_N_ROLES];
	FILE *progress;
	struct estimate estimate;
	enum afp_stage stage;
	uint8_t refused; /* the AFP command that was refused last */
	char base[32];   /* still on the volume; "" when not */
};

/* The peers' -f: one character a test, '1'..'9', then ':' ';' '<'. */
static int add_tests(void *cfg, const char *arg, struct err *e)
{
	struct lantest_cfg *c = cfg;

	for (const char *p = arg; *p; p++) {
		if (*p < '1' || *p >= '1' + LANTEST_TESTS)
			return err_set(
			    e, -EINVAL,
			    "there is no test '%c': 1 to 9 are the first nine, ':' ';' '<' are 10, 11, 12 (or --tests 10,11)",
			    *p);
		c->o.tests |= LANTEST_BIT(*p - '0');
	}
	return *arg ? 0 : err_set(e, -EINVAL, "names no test");
}

/* --tests 1,5-7,12 */
static int list_tests(void *cfg, const char *arg, struct err *e)
{
	struct lantest_cfg *c = cfg;
	unsigned int from, to;
	int len;

	for (const char *p = arg;; p++) {
		if (sscanf(p, "%2u%n", &from, &len) != 1)
			break;
		p += len;
		to = from;
		if (*p == '-' && sscanf(p + 1, "%2u%n", &to, &len) == 1)
			p += 1 + len;
		if (from < 1 || to < from || to > LANTEST_TESTS)
			return err_set(e, -EINVAL, "tests are 1 to %d", LANTEST_TESTS);
		while (from <= to)
			c->o.tests |= LANTEST_BIT(from++);
		if (!*p)
			return 0;
		if (*p != ',')
			break;
	}
	return err_set(e, -EINVAL, "'%s' is no list of tests like 1,5-7,12", arg);
}

static int cache_tests(void *cfg, const char *arg, struct err *e)
{
	struct lantest_cfg *c = cfg;

	(void)arg, (void)e;
	c->o.tests = LANTEST_CACHE;
	return 0;
}

static int enlarge(struct lantest_cfg *c, unsigned int factor, struct err *e)
{
	if (c->o.file_len > FILE_LEN_MAX / factor)
		return err_set(e, -EINVAL, "the large file would be larger than 1 PiB");
	c->o.file_len *= factor;
	return 0;
}

static int enlarge_10(void *cfg, const char *arg, struct err *e)
{
	(void)arg;
	return enlarge(cfg, 10, e);
}

static int enlarge_100(void *cfg, const char *arg, struct err *e)
{
	(void)arg;
	return enlarge(cfg, 100, e);
}

/* clang-format off */
#define OFFSET(m) offsetof(struct lantest_cfg, m)
static const struct opt options[] = {
	{ .type = OPT_HEADING, .help = "Work:" },
	{ .letter = 'f', .arg = "TESTS", .type = OPT_CALL, .call = add_tests,
	  .help = "tests, one character each, as afp_lantest takes them: 1 to 9 : ; <" },
	{ .name = "tests", .arg = "LIST", .type = OPT_CALL, .call = list_tests,
	  .help = "tests as a list: 1,5-7,12 (default: all twelve)" },
	{ .letter = 'K', .type = OPT_CALL, .call = cache_tests, .help = "tests 9 to 12 only" },
	{ .letter = 'n', .name = "iterations", .arg = "N", .type = OPT_UINT, .offset = OFFSET(o.iterations),
	  .min = 1, .max = 1000, .help = "runs of each test (default: 2)" },
	{ .letter = 'F', .name = "file", .arg = "NAME", .type = OPT_STRING, .offset = OFFSET(o.file),
	  .help = "test 3 reads this file of the volume's root instead of its own" },
	{ .letter = 'g', .type = OPT_CALL, .call = enlarge_10, .help = "large file ten times as large (1 GB; again: 10 GB)" },
	{ .letter = 'G', .type = OPT_CALL, .call = enlarge_100, .help = "large file a hundred times as large" },
	CONNECT_OPTIONS(struct lantest_cfg, c),
	{ .type = OPT_HEADING, .help = "Watch and output:" },
	{ .name = "watch", .arg = "HOW", .type = OPT_CHOICE, .offset = OFFSET(watch), .choice = watch_choices,
	  .help = "how the server is observed (default: auto, the best that works here)" },
	{ .name = "sample", .arg = "HZ", .type = OPT_UINT, .offset = OFFSET(hz), .min = 1, .max = SAMPLE_HZ_MAX, .help = SAMPLER_HELP },
	{ .name = "table", .arg = "WHICH", .type = OPT_CHOICE, .offset = OFFSET(table), .choice = table_choices,
	  .help = "tables to print (default: both)" },
	{ .letter = 'c', .name = "csv", .type = OPT_FLAG, .offset = OFFSET(csv), .help = "the peers' table as CSV, nothing else on stdout" },
	{ .name = "json", .arg = "FILE", .type = OPT_STRING, .offset = OFFSET(json), .help = "save everything that was measured as JSON" },
	{ .letter = 'v', .type = OPT_COUNT, .offset = OFFSET(verbose) },
	{ .letter = 'V', .type = OPT_COUNT, .offset = OFFSET(verbose) },
	{ .letter = 'b', .type = OPT_COUNT, .offset = OFFSET(verbose) },
	{ .name = "help", .type = OPT_FLAG, .offset = OFFSET(help), .help = "this text" },
	{ .type = OPT_END },
};
/* clang-format on */

static void help(const struct lantest_cfg *c, FILE *out)
{
	fprintf(out, "Usage: %s [OPTIONS] [afp://USER@HOST:PORT/VOLUME]\n",
		c->compatible ? "afp_lantest" : "afpscope lantest");
	fputs(
	    "Runs the tests of netatalk's afp_lantest against an AFP server and, where the server\n"
	    "runs on this host, counts what each AFP command costs inside it.\n\n",
	    out);
	opt_help(out, options);
}

/* Watch: phases */

static void on_phase_begin(void *user)
{
	struct lantest_session *s = user;

	if (!s->watch)
		return;
	watch_settle(s->watch);
	ledger_fini(&s->before);
	s->has_before = !watch_read(s->watch, &s->before);
	for (unsigned int role = 0; role < AFS_N_ROLES; role++)
		s->has_times[role] = watch_times(s->watch, role, &s->times[role]);
}

static void set_times(struct lantest_session *s, struct run_phase *p, enum afs_role role,
		      enum metric cpu, enum metric runq)
{
	struct watch_times now;

	if (!s->has_times[role] || !watch_times(s->watch, role, &now))
		return;
	run_set(p, cpu, now.cpu_ns - s->times[role].cpu_ns);
	run_set(p, runq, now.runq_ns - s->times[role].runq_ns);
}

static void on_phase_end(void *user, struct run_phase *p)
{
	struct lantest_session *s = user;
	struct ledger after = { 0 };

	if (!s->watch)
		return;
	watch_settle(s->watch);
	if (s->has_before && !watch_read(s->watch, &after) &&
	    !ledger_diff(&p->ledger, &after, &s->before))
		run_phase_from_ledger(p);
	ledger_fini(&after);
	set_times(s, p, AFS_ROLE_AFPD, METRIC_AFPD_CPU, METRIC_AFPD_RUNQ);
	set_times(s, p, AFS_ROLE_CNID, METRIC_CNID_CPU, METRIC_CNID_RUNQ);
}

static void on_phase_done(void *user, const struct run_phase *p)
{
	struct lantest_session *s = user;

	estimate_hide(&s->estimate);
	report_progress(p, p->test == 2 || p->test == 3, s->cfg->watch != WATCH_OFF, s->progress);
	estimate_show(&s->estimate, p->test, p->iteration);
}

static void on_ready(void *user)
{
	struct lantest_session *s = user;
	struct err e = { 0 };

	if (s->watch)
		watch_find_cnid(s->watch);
	if (!s->cfg->hz)
		return;
	if (!s->watch) {
		run_note(&s->run.warnings, "samples", "no time series: nothing is watched");
		return;
	}
	if (sampler_open(&s->sampler, s->cfg->hz, s->watch, &e) || sampler_start(s->sampler, &e))
		run_note(&s->run.warnings, "samples", "no time series: %s", e.text);
}

/* Session */

static int describe(struct lantest_session *s, const struct afp_server *server)
{
	const struct lantest_cfg *cfg = s->cfg;
	uint32_t quantum = dsi_quantum(s->afp.dsi), tests = lantest_selection(&cfg->o);
	struct run_notes *o = &s->run.options, *sv = &s->run.server;
	char list[64] = "";
	int r = 0;

	for (unsigned int n = 1, at = 0; n <= LANTEST_TESTS; n++) {
		if (tests & LANTEST_BIT(n))
			at += (unsigned int)snprintf(list + at, sizeof(list) - at, "%s%u",
						     at ? "," : "", n);
	}
	r |= run_note(o, "tests", "%s", list);
	r |= run_note(o, "iterations", "%u", cfg->o.iterations);
	r |= run_note(o, "large_file_bytes", "%" PRIu64, cfg->o.file_len);
	r |= run_note(o, "chunk_bytes", "%u", quantum - 36);
	r |= run_note(o, "watch", "%s", watch_choices[cfg->watch]);
	if (cfg->hz)
		r |= run_note(o, "sample_hz", "%u", cfg->hz);
	r |= run_note(o, "timeout_s", "%u", cfg->c.timeout_s);
	if (cfg->o.file)
		r |= run_note(o, "file", "%s", cfg->o.file);
	r |= run_note(sv, "host", "%s", cfg->c.host);
	r |= run_note(sv, "port", "%u", cfg->c.port);
	r |= run_note(sv, "name", "%s", server->name);
	r |= run_note(sv, "machine", "%s", server->machine);
	r |= run_note(sv, "volume", "%s", cfg->c.volume);
	r |= run_note(sv, "afp_version", "%s", s->afp.version);
	r |= run_note(sv, "uam", "%s", s->afp.uam);
	r |= run_note(sv, "quantum_bytes", "%u", quantum);
	return r;
}

static enum outcome begin(struct lantest_session *s, struct err *e)
{
	struct watch_opts watch = { .mode = (enum watch_mode)s->cfg->watch };
	struct afp_server server;
	enum outcome o;

	o = connect_open(&s->afp, &server, &s->cfg->c, WINDOW, &s->stage, e);
	if (o)
		return o;
	if (run_init(&s->run, "lantest", LANTEST_SET) || describe(s, &server)) {
		err_set(e, -ENOMEM, "out of memory");
		return OUTCOME_FAILED;
	}
	if (watch.mode == WATCH_OFF)
		return OUTCOME_OK;
	dsi_ends(s->afp.dsi, &watch.local, &watch.peer);
	if (watch_open(&s->watch, &watch, e))
		return OUTCOME_FAILED;
	if (rights_drop(s->cfg->hz && sample_wants_taskstats()))
		run_note(&s->run.warnings, "rights",
			 "the rights of root could not be given up: this run kept them to its end");
	return OUTCOME_OK;
}

/* The connection went, our directory may still be there: one more session to remove it. */
static void remove_left(struct lantest_session *s)
{
	const struct lantest_cfg *cfg = s->cfg;
	struct connect_cfg again = cfg->c;
	struct afp_server server;
	enum afp_stage stage;
	struct err e = { 0 };

	cmd_stop = 0;
	again.timeout_s = again.timeout_s < 5 ? again.timeout_s : 5;
	afp_close(&s->afp);
	if (!connect_open(&s->afp, &server, &again, 1, &stage, &e) &&
	    !tree_remove(&s->afp, AFP_ROOT_ID, s->base, &e)) {
		cmd_say("the connection had gone; %s was removed in a new session", s->base);
		return;
	}
	cmd_say(
	    "%s is still on volume %s (%s); when the server is back: afpscope clean -h %s -p %u -s %s -u %s",
	    s->base, cfg->c.volume, e.text, cfg->c.host, cfg->c.port, cfg->c.volume,
	    cfg->c.user ? cfg->c.user : "");
}

static enum outcome outcome_of(const struct lantest_session *s, int r)
{
	if (cmd_stop)
		return OUTCOME_INTERRUPTED;
	if (r == -ENOMEM)
		return OUTCOME_FAILED;
	if (r < 0)
		return OUTCOME_LOST;
	if (r)
		return OUTCOME_REFUSED;
	return run_books_closed(&s->run) ? OUTCOME_OK : OUTCOME_UNTRUSTED;
}

static enum outcome work(struct lantest_session *s, struct err *e)
{
	const struct load_hooks hooks = { s, on_phase_begin, on_phase_end, on_phase_done };
	struct load load = { .afp = &s->afp, .run = &s->run, .hooks = &hooks };
	struct lantest_opts o = s->cfg->o;
	enum outcome result;
	int r;

	estimate_init(&s->estimate, s->progress, lantest_selection(&o), o.iterations);
	o.ready = on_ready;
	o.user = s;
	r = lantest_run(&load, &o, s->base, e);
	estimate_hide(&s->estimate);
	sampler_note(s->sampler, &s->run);
	s->refused = load.refused;
	s->run.complete = !r;
	if (s->watch) {
		watch_settle(s->watch);
		watch_finish(s->watch, &s->run);
		run_close_requests(&s->run);
	}
	result = outcome_of(s, r);
	if (r)
		run_note(&s->run.warnings, NULL, "broke off: %s", e->text);
	return result;
}

/* Output */

static int report(const struct lantest_session *s, struct err *e)
{
	const struct lantest_cfg *cfg = s->cfg;
	const struct report_opts o = output_terminal();
	bool io = cfg->watch != WATCH_OFF;
	int r = 0;

	if (cfg->csv)
		return report_peer_csv(&s->run, io, stdout);
	if (cfg->table != TABLE_OWN)
		r = report_peer_text(&s->run, io, stdout);
	if (!r && cfg->table == TABLE_BOTH)
		putchar('\n');
	if (!r && cfg->table != TABLE_PEER)
		r = report_own(&s->run, &o, stdout);
	return r ? err_set(e, r, "cannot print the report: %s", strerror(-r)) : 0;
}

static enum outcome finish(struct lantest_session *s, enum outcome o)
{
	struct err e = { 0 };

	if (s->run.n_phases && report(s, &e)) {
		cmd_say("%s", e.text);
		o = o ? o : OUTCOME_FAILED;
	}
	if (s->cfg->json && *s->run.id) {
		if (report_json(&s->run, s->cfg->json, &e)) {
			cmd_say("%s", e.text);
			o = o ? o : OUTCOME_FAILED;
		} else if (strcmp(s->cfg->json, "-")) {
			fprintf(s->progress, "\nEverything measured is in %s\n", s->cfg->json);
		}
	}
	if (o == OUTCOME_UNTRUSTED)
		cmd_say("the books do not close: do not trust the server's figures of this run");
	return o;
}

static int run(const struct lantest_cfg *cfg)
{
	struct lantest_session *s = calloc(1, sizeof(*s));
	struct err e = { 0 };
	enum outcome o;
	int code;

	if (!s)
		return OUTCOME_FAILED;
	s->cfg = cfg;
	s->progress = cfg->csv || !cfg->compatible ? stderr : stdout;
	o = begin(s, &e);
	if (!o) {
		fprintf(s->progress, "Connecting to host %s:%u\n\n", cfg->c.host, cfg->c.port);
		o = work(s, &e);
	}
	if (o && o != OUTCOME_UNTRUSTED)
		cmd_say("%s", e.text);
	if (*s->base)
		remove_left(s);
	o = finish(s, o);
	code = cfg->compatible ? peer_exit_code(o, s->stage, s->refused, false) : (int)o;
	sampler_close(s->sampler);
	watch_free(s->watch);
	ledger_fini(&s->before);
	afp_close(&s->afp);
	run_fini(&s->run);
	free(s);
	return code;
}

int cmd_lantest(int argc, char **argv)
{
	struct lantest_cfg cfg = { .c = CONNECT_DEFAULTS,
				   .o = { .iterations = 2, .file_len = FILE_LEN } };
	struct err e = { 0 };
	int first, r;

	cfg.compatible = peer_name(argv[0]);
	cfg.table = cfg.compatible ? TABLE_PEER : TABLE_BOTH;
	r = opt_parse(options, &cfg, argc, argv, &first, &e);
	if (!r && (cfg.help || (cfg.compatible && argc == 1))) {
		help(&cfg, stdout);
		return cfg.help ? OUTCOME_OK : peer_exit_code(OUTCOME_USAGE, 0, 0, false);
	}
	r = r ? r : connect_operands(&cfg.c, argc - first, argv + first, &e);
	r = r ? r : connect_complete(&cfg.c, &e);
	if (r && cfg.compatible) {
		cmd_say("%s", e.text);
		return peer_exit_code(OUTCOME_USAGE, 0, 0, r == -ERANGE);
	}
	if (r)
		return cmd_usage_error("lantest", &e);
	if (!cfg.o.tests)
		cfg.o.tests = LANTEST_ALL;
	cmd_catch_signals();
	return run(&cfg);
}
