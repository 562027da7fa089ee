/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope lantest: options in, a session with its watch, results out. What the tests do is in
 * client/work, what is printed in user/report.
 */
#include "main/lantest.h"

#include "compat/peer.h"
#include "main/estimate.h"
#include "report/progress.h"
#include "report/report.h"
#include "work/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PEER_ITERATIONS 256 /* most that afp_lantest takes */
#define FILE_LEN_MAX    (1ull << 50)
#define WINDOW          32768 /* requests in flight: practically unlimited, like afp_lantest */

/* One run: what the hooks need. */
struct lantest_session {
	struct workload w;
	const struct lantest_cfg *cfg;
	struct lantest_opts o; /* those of cfg, with the set and its tests */
	struct estimate estimate;
};

static const char *const format_words[] = { "text", "netatalk-metrics", NULL };
static const char *const set_words[] = { "server", "4.5", "4.6", NULL };

const struct lantest_set *lantest_choose(const struct lantest_cfg *cfg, const char *machine)
{
	if (cfg->set == LANTEST_SET_OF_SERVER)
		return lantest_set_of(machine);
	return cfg->set == LANTEST_SET_4_5 ? &lantest_4_5 : &lantest_4_6;
}

int lantest_resolve(uint32_t *out, const struct lantest_cfg *cfg, const struct lantest_set *set,
		    struct err *e)
{
	uint32_t all = lantest_all(set), other = cfg->o.tests & ~all;

	*out = (cfg->o.tests & all) | (cfg->cache ? set->cache : 0);
	if (!*out && !cfg->named)
		*out = all;
	if (!other || cfg->w.compatible) /* the original ignores them */
		return 0;
	return err_set(e, -EINVAL, "test %d is not in the set %s, which has %u tests: see --set",
		       __builtin_ctz(other) + 1, set->name, set->n_tests);
}

/* afp_lantest's -f: one character a test, '1'..'9', then those that follow: ':' ';' '<' ... 'A'. */
static int add_tests(void *cfg, const char *arg, struct err *e)
{
	struct lantest_cfg *c = cfg;

	c->named = true;
	for (const char *p = arg; *p; p++) {
		bool is_test = *p >= '1' && *p < '1' + LANTEST_TESTS_MAX;

		if (!is_test && c->w.compatible) /* as the original */
			continue;
		if (!is_test)
			return err_set(
			    e, -EINVAL,
			    "there is no test '%c': 1 to 9 are the first nine, : ; < = > ? @ A are 10 to 17 (or --tests 10,11)",
			    *p);
		c->o.tests |= LANTEST_BIT(*p - '0');
	}
	return *arg ? 0 : err_set(e, -EINVAL, "no test is named");
}

/* A word of --tests 1,5-7,12. */
static int take_tests(void *cfg, const char *word, struct err *e)
{
	struct lantest_cfg *c = cfg;
	unsigned int from, to;
	int len = 0;

	if (!word)
		return 0;
	if (sscanf(word, "%2u%n-%2u%n", &from, &len, &to, &len) < 2)
		to = from;
	if (!len || word[len])
		return err_set(e, -EINVAL, "'%s' is not a test or a range, as in 1,5-7,12", word);
	if (from < 1 || to < from || to > LANTEST_TESTS_MAX)
		return err_set(e, -EINVAL,
			       "'%s': tests are 1 to %d, a range begins with the lower number",
			       word, LANTEST_TESTS_MAX);
	while (from <= to)
		c->o.tests |= LANTEST_BIT(from++);
	return 0;
}

static int cache_tests(void *cfg, const char *arg, struct err *e)
{
	struct lantest_cfg *c = cfg;

	(void)arg, (void)e;
	c->o.tests = 0;
	c->cache = c->named = true;
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
const struct opt lantest_options[] = {
	{ .type = OPT_HEADING, .help = "Work:" },
	{ .name = "set", .arg = "SET", .type = OPT_CHOICE, .offset = OFFSET(set), .choice = set_words,
	  .help = "tests of netatalk 4.5 or of 4.6 (default: those of the server's version)",
	  .more = "Of a netatalk older than 4.6 that is 4.5, of any other server 4.6. The two are different tests: their results do not compare." },
	{ .letter = 'f', .arg = "TESTS", .type = OPT_CALL, .call = add_tests, .group = "tests", .repeats = true,
	  .help = "tests, one character each, as afp_lantest takes them: 1 to 9 : ; < = > ? @ A",
	  .more = "Those behind 9 are 10 to 17; set 4.5 has twelve. Tests that need others run them as well: in set 4.5 test 3 runs 2, "
	  	"6 and 7 run 5; in set 4.6 test 2 runs 1, 4 to 11 run 3, and 5 to 7 also run 4." },
	{ .name = "tests", .arg = "LIST", .type = OPT_LIST, .call = take_tests, .group = "tests", .repeats = true,
	  .help = "tests as a list: 1,5-7,12 (default: all of the set)" },
	{ .letter = 'K', .type = OPT_CALL, .call = cache_tests, .group = "tests", .help = "only the tests of the directory cache: 9 to 12, of set 4.6 14 to 17",
	  .more = "An -f that follows adds to them." },
	{ .letter = 'n', .name = "iterations", .arg = "N", .type = OPT_UINT, .offset = OFFSET(o.iterations),
	  .min = 1, .max = 1000, .help = "runs of each test (default: " OPT_TEXT(LANTEST_ITERATIONS) ")" },
	{ .letter = 'F', .name = "file", .arg = "NAME", .type = OPT_STRING, .offset = OFFSET(o.file),
	  .help = "the large file that is read is this one of the volume's root" },
	{ .letter = 'g', .type = OPT_CALL, .call = enlarge_10, .group = "size", .repeats = true, .help = "large file ten times as large (1 GB; again: 10 GB)",
	  .more = "It is that of tests 2 and 3 (set 4.6: 1 and 2), of 100 MiB. May be repeated." },
	{ .letter = 'G', .type = OPT_CALL, .call = enlarge_100, .group = "size", .repeats = true, .help = "large file a hundred times as large",
	  .more = "May be repeated." },
	SESSION_FORCE_OPTION(struct lantest_cfg, w.s),
	CONNECT_OPTIONS(struct lantest_cfg, w.s.c),
	{ .type = OPT_HEADING, .help = "Watch and output:" },
	JOB_OPTION(struct lantest_cfg, w.show_job),
	SESSION_WATCH_OPTIONS(struct lantest_cfg, w.s),
	OUTPUT_TABLE_OPTION(struct lantest_cfg, w.table),
	{ .letter = 'c', .name = "csv", .type = OPT_FLAG, .offset = OFFSET(w.csv), .help = "netatalk's table as CSV, nothing else on stdout" },
	{ .name = "format", .arg = "FORMAT", .type = OPT_CHOICE, .offset = OFFSET(format), .choice = format_words,
	  .help = "lines of metrics as netatalk's workflow passes them between its steps, nothing else on stdout",
	  .more = "A line is `table|lantest.KEY.mean_ms|LABEL|ms|MEAN`." },
	RUNS_RTT_OPTION(struct lantest_cfg, w.s.runs),
	RUNS_OPTIONS(struct lantest_cfg, w.s.runs),
	{ .letter = 'v', .name = "verbose", .type = OPT_COUNT, .offset = OFFSET(w.verbose),
	  .help = "all that was measured, and a line for each test as it ends",
	  .more = "The same as `--table both`; the lines go to standard error. As `afp_lantest` this option does "
	 	"nothing: such lines are always printed." },
	{ .letter = 'V', .type = OPT_COUNT, .offset = OFFSET(w.verbose),
	  .more = "accepted for compatibility: the same as -v." },
	{ .letter = 'b', .type = OPT_COUNT, .offset = OFFSET(w.verbose),
	  .more = "accepted for compatibility: the same as -v." },
	{ .name = "help", .type = OPT_FLAG, .job = OPT_JOB_NEVER, .offset = OFFSET(w.help), .help = "this text" },
	CMD_VERSION_OPTION,
	{ .type = OPT_END },
};
/* clang-format on */

static void main_lantest_help(const struct lantest_cfg *c, FILE *out)
{
	fprintf(out, "Usage: %s [OPTIONS] [afp://USER@HOST:PORT/VOLUME%s]\n",
		c->w.compatible ? "afp_lantest" : "afpscope lantest",
		c->w.compatible ? "" : "|JOB.ini");
	fputs(
	    "Runs the tests of netatalk's afp_lantest against an AFP server and, where the server\n"
	    "runs on this host, counts what each AFP command costs inside it.\n\n",
	    out);
	opt_help(out, lantest_options);
}

/* Hooks */

static void main_lantest_on_phase_done(void *user, const struct run_phase *p)
{
	struct lantest_session *x = user;
	enum progress_size size = PROGRESS_NO_SIZE;

	if (p->test == x->o.set->write_test || p->test == x->o.set->read_test)
		size = x->cfg->w.compatible ? PROGRESS_NETATALK_SIZE : PROGRESS_SIZE;
	estimate_hide(&x->estimate);
	if (!x->cfg->w.s.runs.screen)
		report_progress(&x->w.s.run, p, size, x->cfg->w.s.watch != WATCH_OFF,
				x->w.s.progress);
	estimate_show(&x->estimate, p->test, p->iteration);
}

/* Session */

static int main_lantest_describe(struct workload *w)
{
	const struct lantest_session *x = (struct lantest_session *)w;
	const struct lantest_opts *opts = &x->o;
	uint32_t tests = lantest_selection(opts);
	struct run_notes *o = &w->s.run.options;
	char list[64] = "";
	int r = 0;

	for (unsigned int n = 1, at = 0; n <= opts->set->n_tests; n++) {
		if (tests & LANTEST_BIT(n))
			at += (unsigned int)snprintf(list + at, sizeof(list) - at, "%s%u",
						     at ? "," : "", n);
	}
	r |= run_note(o, "tests", "%s", list);
	r |= run_note(o, "iterations", "%u", opts->iterations);
	r |= run_note(o, "large_file_bytes", "%" PRIu64, opts->file_len);
	r |= run_note(o, "chunk_bytes", "%zu",
		      lantest_chunk(opts, dsi_quantum(w->s.afp.dsi), w->s.server.machine));
	if (opts->file)
		r |= run_note(o, "file", "%s", opts->file);
	return r;
}

static enum outcome main_lantest_prepare(struct workload *w, struct err *e)
{
	struct lantest_session *x = (struct lantest_session *)w;
	const struct connect_cfg *c = &w->cfg->s.c;

	x->o = x->cfg->o;
	x->o.force = w->cfg->s.force;
	x->o.set = lantest_choose(x->cfg, w->s.server.machine);
	w->set = w->s.run.set = x->o.set->name;
	if (w->cfg->csv && x->o.set == &lantest_4_6)
		w->s.progress = stderr;
	if (lantest_resolve(&x->o.tests, x->cfg, x->o.set, e))
		return OUTCOME_USAGE;
	if (!w->cfg->s.runs.screen)
		fprintf(w->s.progress,
			strchr(c->host, ':') ? "Connecting to host [%s]:%u\n%s"
					     : "Connecting to host %s:%u\n%s",
			c->host, c->port, w->cfg->compatible ? "" : "\n");
	return OUTCOME_OK;
}

/* What the original says of the processes whose reads and writes it counts. */
static void main_lantest_put_watched(const struct workload *w)
{
	const struct watch *watch = w->s.watch;
	size_t at = 0, backend_at = 0;
	int server = watch ? watch_process(watch, AFS_ROLE_SERVER, &at) : 0;
	int backend = watch ? watch_process(watch, AFS_ROLE_BACKEND, &backend_at) : 0;
	const char *user = w->cfg->s.c.user ? w->cfg->s.c.user : "";
	FILE *out = w->s.progress;

	if (!server) {
		fputs("IO monitoring disabled: afpd not found (mandatory)\n\n", out);
		return;
	}
	if (backend)
		fprintf(out, "Found cnid_dbd process for user '%s': PID %d\n", user, backend);
	fprintf(out, "Found privilege-dropped afpd process for user '%s': PID %d\n", user, server);
	if (backend)
		fprintf(out, "IO monitoring enabled (afpd: %d, cnid_dbd: %d)\n\n", server, backend);
	else
		fprintf(out, "IO monitoring enabled (afpd: %d, cnid_dbd: not found)\n\n", server);
}

static void main_lantest_on_ready(void *user)
{
	struct workload *w = user;

	session_ready(&w->s);
	if (w->cfg->compatible)
		main_lantest_put_watched(w);
}

static int main_lantest_work(struct workload *w, struct err *e)
{
	struct lantest_session *x = (struct lantest_session *)w;
	const struct lantest_opts *o = &x->o;
	char name[TREE_NAME_MAX + 1];
	int r;

	estimate_init(&x->estimate, w->s.progress, lantest_selection(o), o->iterations);
	r = lantest_run(&w->load, o, w->s.server.machine, w->s.left->base[0], e);
	estimate_hide(&x->estimate);
	tree_name(name);
	if (!r && w->cfg->compatible)
		fprintf(w->s.progress, "Successfully deleted test directory '%s'\n\n", name);
	return r;
}

/* Output */

static int main_lantest_report(struct workload *w, const struct report_opts *o)
{
	const struct workload_cfg *cfg = w->cfg;
	unsigned int how = (cfg->s.watch != WATCH_OFF ? REPORT_PEER_IO : 0) |
			   (cfg->compatible ? REPORT_PEER_ORIGINAL : 0) |
			   (((const struct lantest_session *)w)->o.set == &lantest_4_6
				? REPORT_PEER_4_6
				: 0);
	int r = 0;

	if (((const struct lantest_session *)w)->cfg->format)
		return report_peer_metrics(&w->s.run, stdout);
	if (cfg->csv)
		return report_peer_csv(&w->s.run, how, stdout);
	if (cfg->table == OUTPUT_SCREEN)
		r = report_screen(&w->s.run, o, stdout);
	if (cfg->table == OUTPUT_NETATALK || cfg->table == OUTPUT_BOTH)
		r = report_peer_text(&w->s.run, how, stdout);
	if (!r && cfg->table == OUTPUT_BOTH)
		putchar('\n');
	if (!r && (cfg->table == OUTPUT_OWN || cfg->table == OUTPUT_BOTH))
		r = report_own(&w->s.run, o, stdout);
	return r;
}

static int main_lantest_exit_code(const struct workload *w, enum outcome o)
{
	return w->cfg->compatible ? peer_exit_code(o, w->s.stage, w->s.refused, false) : (int)o;
}

static const struct workload_type lantest = {
	.name = "lantest",
	.set = "lantest-4.5", /* until the server's version is known */
	.window = WINDOW,
	.prepare = main_lantest_prepare,
	.describe = main_lantest_describe,
	.work = main_lantest_work,
	.report = main_lantest_report,
	.exit_code = main_lantest_exit_code,
};

static int main_lantest_run(const struct lantest_cfg *cfg)
{
	struct lantest_session *x = calloc(1, sizeof(*x));
	int code;

	if (!x)
		return OUTCOME_FAILED;
	x->cfg = cfg;
	workload_init(&x->w, &lantest, &cfg->w);
	x->w.hooks.phase_done = main_lantest_on_phase_done;
	x->w.hooks.ready = main_lantest_on_ready;
	if (cfg->w.compatible && !cfg->format)
		x->w.s.progress = stdout;
	code = workload_run(&x->w);
	free(x);
	return code;
}

const struct job_type lantest_job = {
	.command = "lantest",
	.options = lantest_options,
	.target = workload_take_url,
};

int lantest_parse(struct lantest_cfg *cfg, struct job *j, struct err *e)
{
	int r;

	*cfg = (struct lantest_cfg) { .w = WORKLOAD_DEFAULTS,
				      .o = { .iterations = LANTEST_ITERATIONS,
					     .file_len = LANTEST_FILE_LEN } };
	cfg->w.compatible = peer_name(j->argv[0], "afp_lantest");
	cfg->w.s.runs.not_kept = cfg->w.compatible;
	r = workload_parse(&cfg->w, j, false, e);
	if (!r && cfg->w.compatible && cfg->o.iterations > PEER_ITERATIONS)
		r = err_set(e, -ERANGE, "iterations parameter %u out of valid range [1, %d]",
			    cfg->o.iterations, PEER_ITERATIONS);
	if (!r && cfg->set != LANTEST_SET_OF_SERVER)
		r = lantest_resolve(&(uint32_t) { 0 }, cfg, lantest_choose(cfg, NULL), e);
	cfg->w.table = output_table(cfg->w.table, cfg->w.verbose, OUTPUT_BOTH, cfg->w.compatible);
	cfg->w.s.runs.screen = cfg->w.table == OUTPUT_SCREEN && !cfg->w.csv && !cfg->format &&
			       !runs_json_only(&cfg->w.s.runs);
	return r;
}

/* After the options. r: what lantest_parse returned. The exit code. */
static int main_lantest_do(struct lantest_cfg *cfg, const struct job *j, int r, struct err *e)
{
	const bool compatible = cfg->w.compatible;
	char *text = NULL;

	if (!r && cfg->w.show_job && !compatible)
		return job_print(j, cfg);
	r = r ? r : session_check(&cfg->w.s, e);
	r = r ? r : job_text(&text, j, cfg, true, e);
	if (r && compatible) {
		cmd_say("%s", e->text);
		return peer_exit_code(cmd_stop ? OUTCOME_INTERRUPTED : OUTCOME_USAGE, 0, 0,
				      r == -ERANGE);
	}
	if (r)
		return cmd_usage_error("lantest", e);
	cfg->w.s.runs.job = text;
	cmd_catch_signals();
	r = main_lantest_run(cfg);
	free(text);
	return r;
}

int cmd_lantest(int argc, char **argv)
{
	struct lantest_cfg cfg = { 0 };
	struct err e = { 0 };
	struct job job;
	int r = job_open(&job, &lantest_job, argc, argv, &e);

	r = r ? r : lantest_parse(&cfg, &job, &e);
	if ((!r && cfg.w.help) || (cfg.w.compatible && argc == 1)) {
		main_lantest_help(&cfg, stdout);
		r = cfg.w.compatible ? peer_exit_code(OUTCOME_USAGE, 0, 0, false) : OUTCOME_OK;
	} else {
		r = main_lantest_do(&cfg, &job, r, &e);
	}
	job_free(&job);
	return r;
}
