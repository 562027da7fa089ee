/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whatever command line is parsed, the job file that it is written as gives the same options: of
 * each row of each table, also of those that are added later.
 *
 * Tests user/app/job.c, user/main/load_opts.c, smallfile_opts.c, speedtest_opts.c, lantest.c,
 * probe.c, user/drive/rxperf_opts.c, user/replay/replay_opts.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "drive/rxperf.h"
#include "main/lantest.h"
#include "main/load.h"
#include "main/probe.h"
#include "main/smallfile.h"
#include "main/speedtest.h"
#include "replay/replay.h"

#define WORDS_MAX 24
#define WORD_MAX  160
#define CFG_MAX   65536

/* A command's options as bytes, which is all that is compared. */
struct trip_cfg {
	_Alignas(16) char bytes[CFG_MAX];
};

struct trip_line {
	int argc;
	char word[WORDS_MAX][WORD_MAX];
	char *argv[WORDS_MAX + 1];
};

static int trip_load(void *to, struct job *j, struct err *e)
{
	*(struct load_cfg *)to = (struct load_cfg)LOAD_DEFAULTS;
	return load_parse(to, j, e);
}

static int trip_smallfile(void *to, struct job *j, struct err *e)
{
	*(struct smallfile_cfg *)to = (struct smallfile_cfg)SMALLFILE_DEFAULTS;
	return smallfile_parse(to, j, e);
}

static int trip_probe(void *to, struct job *j, struct err *e)
{
	*(struct probe_cfg *)to = (struct probe_cfg) { .w = WORKLOAD_DEFAULTS };
	return probe_parse(to, j, e);
}

static int trip_rx(void *to, struct job *j, struct err *e)
{
	*(struct rxperf_cfg *)to = (struct rxperf_cfg)RXPERF_DEFAULTS;
	return rxperf_parse(to, j, e);
}

static int trip_lantest(void *to, struct job *j, struct err *e)
{
	return lantest_parse(to, j, e);
}

static int trip_replay(void *to, struct job *j, struct err *e)
{
	*(struct replay_cfg *)to = (struct replay_cfg)REPLAY_DEFAULTS;
	return replay_parse(to, j, e);
}

static int trip_speedtest(void *to, struct job *j, struct err *e)
{
	return speedtest_parse(to, j, e);
}

static const char *const afp_targets[] = { "afp://me@nas/v", "afp://nas:600/a%20b",
					   "afp://u;x@[::1]:548/v", NULL };
static const char *const any_targets[] = { "afp://me@nas/v", "afp://nas:600/a%20b", "/some/dir",
					   "a dir ; here",   "gluster://h/v/p",     NULL };
static const char *const rx_targets[] = { "127.0.0.1", "rx://host:7001", "host:7", NULL };

static const struct trip_command {
	const struct job_type *type;
	int (*parse)(void *to, struct job *j, struct err *e);
	size_t size;
	const char *const *targets;
} commands[] = {
	{ &load_job, trip_load, sizeof(struct load_cfg), any_targets },
	{ &smallfile_job, trip_smallfile, sizeof(struct smallfile_cfg), any_targets },
	{ &probe_job, trip_probe, sizeof(struct probe_cfg), any_targets },
	{ &lantest_job, trip_lantest, sizeof(struct lantest_cfg), afp_targets },
	{ &speedtest_job, trip_speedtest, sizeof(struct speedtest_cfg), any_targets },
	{ &rxperf_job, trip_rx, sizeof(struct rxperf_cfg), rx_targets },
	{ &replay_job, trip_replay, sizeof(struct replay_cfg), any_targets },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Of options whose argument only their own function understands: words with | between. */
static const struct {
	const char *command, *key, *values;
} own_values[] = {
	{ "load", "at", "30 ./relieve|0 echo \"a\" ; true|1.5 x # y" },
	{ "load", "rate", "200|12.5|0:100,60:500|5:1,5:2" },
	{ "load", "slo", "p99=50ms|save.mean=2s|probe.max=1s|p99.9=1s|rate>=5,failed<=1%" },
	{ "load", "clients", "1|200|0:10,60:200|0:1,5:1,5:20,9:20" },
	{ "load", "think", "0.5|fixed:20ms|uniform:0-1|0.1*3,2s*1" },
	{ "load", "mix", "browse|office|metadata|batch-read" },
	{ "load", "only", "save|list|read" },
	{ "probe", "slo", "p99=50ms|max=2s|probe.max=1s" },
	{ "replay", "slo", "p99=50ms|read.mean=2ms|rate>=5,failed<=1%" },
	{ "replay", "clients", "x1|x3|x1000" },
	{ "replay", "of-user", "anna|1002|a b,1001" },
	{ "smallfile", "loads", "create,stat|create|create,read,delete" },
	{ "smallfile", "prefix", "f|a ;b|\"q\"" },
	{ "smallfile", "tree", "t|my tree| x" },
	{ "lantest", "f", "1|12:|<" },
	{ "lantest", "tests", "1,5-7,12|3|2-4" },
	{ "speedtest", "tests", "Read|write,Copy|Read,Write" },
	{ "speedtest", "size", "64K|1|0.004|1.5G" },
	{ "speedtest", "sizes", "1,2,64K|4K" },
	{ "speedtest", "chunk", "64|1M" },
	{ "rx", "c", "recv|send,rpc|recv,send,rpc" },
	{ "rx", "file", "1000,500,0,2000|1,0,2" },
	{ "rx", "op", "GetTime|rxdebug|version" },
	{ NULL, "rtt", "0.2,5,20,100|7|1,2.5" },
	{ NULL, "label", "commit=1f3a|a=\"q\" ; b=|x.y=1 2" },
	{ NULL, "trace-cpu", "0" },
	{ NULL, "source", "127.0.0.1|::1,127.0.0.2|192.0.2.1" },
	{ NULL, "uam", "dhx2|cleartext|guest" },
	{ NULL, "user", "me|a b|\"x\"; y" },
	{ NULL, "volume", "v|my ; volume" },
};

/* Word number "which" of a list with | between. */
static void trip_word(char *out, const char *list, unsigned long which)
{
	unsigned long n = 1;

	for (const char *at = list; *at; at++)
		n += *at == '|';
	for (which %= n; which; which--)
		list = strchr(list, '|') + 1;
	snprintf(out, WORD_MAX, "%.*s", (int)strcspn(list, "|"), list);
}

static bool trip_own_value(char *out, const char *command, const char *key)
{
	for (size_t i = 0; i < sizeof(own_values) / sizeof(own_values[0]); i++) {
		if (strcmp(own_values[i].key, key) ||
		    (own_values[i].command && strcmp(own_values[i].command, command)))
			continue;
		trip_word(out, own_values[i].values, (unsigned long)random());
		return true;
	}
	return false;
}

static uint64_t trip_number(const struct opt *o)
{
	uint64_t most = o->max ? o->max : 1u << 30;

	switch (random() % 4) {
	case 0:
		return o->min;
	case 1:
		return most;
	default:
		return o->min + (uint64_t)random() % (most - o->min + 1);
	}
}

/* An argument that this row takes. */
static void trip_value(char *out, const char *command, const struct opt *o, const char *key)
{
	static const char texts[] =
	    "name|/a/b|a b|x ; y|\"quoted\"|back\\slash| blanks |#x|;x|ä=1|";
	unsigned int n = 0;

	if ((o->type == OPT_STRING || o->type == OPT_CALL || o->type == OPT_LIST) &&
	    trip_own_value(out, command, key))
		return;
	switch (o->type) {
	case OPT_UINT:
	case OPT_SECONDS:
	case OPT_SIZE:
		snprintf(out, WORD_MAX, "%llu", (unsigned long long)trip_number(o));
		break;
	case OPT_NUMBER:
	case OPT_SHARE:
		snprintf(out, WORD_MAX, "%g", (double)(o->min + 1) + (double)(random() % 8) / 4);
		break;
	case OPT_TIME:
		snprintf(out, WORD_MAX, "%llums", (unsigned long long)trip_number(o) / 1000000);
		break;
	case OPT_CHOICE:
		while (o->choice[n])
			n++;
		snprintf(out, WORD_MAX, "%s", o->choice[(unsigned int)random() % n]);
		break;
	case OPT_STRING:
		trip_word(out, texts, (unsigned long)random());
		break;
	default:
		fail_msg("give this test values for --%s of %s", key, command);
	}
}

static void trip_add(struct trip_line *l, const char *word)
{
	assert_true(l->argc < WORDS_MAX);
	snprintf(l->word[l->argc], WORD_MAX, "%s", word);
	l->argv[l->argc] = l->word[l->argc];
	l->argv[++l->argc] = NULL;
}

static void trip_add_option(struct trip_line *l, const char *command, const struct opt *o)
{
	char value[WORD_MAX], word[WORD_MAX], own[2];
	const char *key = opt_key(o, own);
	int n = o->name ? snprintf(word, sizeof(word), "--%s", o->name)
			: snprintf(word, sizeof(word), "-%c", o->letter);

	if (!strcmp(command, "rx") && !strcmp(key, "command"))
		key = "c";
	if (o->arg && !(o->type == OPT_CHOICE && o->value && random() % 2)) {
		trip_value(value, command, o, key);
		assert_true(snprintf(word + n, sizeof(word) - (size_t)n, "%s%s", o->name ? "=" : "",
				     value) < (int)sizeof(word) - n);
	}
	trip_add(l, word);
}

static bool trip_is_kept(const struct opt *o)
{
	return o->type > OPT_STOP && o->job != OPT_JOB_NEVER;
}

/* ---- comparing ---- */

/* Whether a pointer leads into one of the strings of a line or of a file's text. */
static const char *trip_text(uintptr_t p, const struct trip_line *l, const struct job *j)
{
	const char *at = (const char *)p, *text = (const char *)j->text;

	if (p >= (uintptr_t)l->word && p < (uintptr_t)(l->word + WORDS_MAX))
		return at;
	for (size_t i = 0; text && i < j->n_keys; i++)
		if (p >= (uintptr_t)j->key[i].value &&
		    p <= (uintptr_t)j->key[i].value + strlen(j->key[i].value))
			return at;
	return NULL;
}

struct trip_side {
	const struct trip_cfg *cfg;
	const struct trip_line *line;
	const struct job *job;
};

static bool trip_same_pointer(uintptr_t a, const struct trip_side *x, uintptr_t b,
			      const struct trip_side *y)
{
	const char *s, *t;

	if (a - (uintptr_t)x->cfg < CFG_MAX && a - (uintptr_t)x->cfg == b - (uintptr_t)y->cfg)
		return true;
	s = trip_text(a, x->line, x->job);
	t = trip_text(b, y->line, y->job);
	return s && t && !strcmp(s, t);
}

/* The place of the first difference; SIZE_MAX: there is none. */
static size_t trip_differ(const struct trip_side *x, const struct trip_side *y, size_t size)
{
	uintptr_t a, b;

	for (size_t i = 0; i < size; i += sizeof(a)) {
		memcpy(&a, x->cfg->bytes + i, sizeof(a));
		memcpy(&b, y->cfg->bytes + i, sizeof(b));
		if (a != b && !trip_same_pointer(a, x, b, y))
			return i;
	}
	return SIZE_MAX;
}

/* ---- a round trip ---- */

static char path[64];

static char *trip_show(const struct job *j, const void *cfg)
{
	struct err e = { 0 };
	size_t len;
	char *text;
	FILE *out = open_memstream(&text, &len);

	if (job_show(out, j, cfg, NULL, false, &e))
		fail_msg("%s", e.text);
	fclose(out);
	return text;
}

static void trip_write(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void trip_back(const struct trip_command *c, const struct trip_side *x)
{
	static struct trip_cfg cfg;
	static struct trip_line line;
	struct trip_side y = { &cfg, &line, NULL };
	char *first = trip_show(x->job, x->cfg), *second;
	struct err e = { 0 };
	struct job j;
	size_t at;

	trip_write(first);
	memset(&cfg, 0, sizeof(cfg));
	line.argc = 0;
	trip_add(&line, c->type->command);
	trip_add(&line, path);
	if (job_open(&j, c->type, line.argc, line.argv, &e) || c->parse(&cfg, &j, &e))
		fail_msg("%s\n%s", e.text, first);
	y.job = &j;
	at = trip_differ(x, &y, c->size);
	if (at != SIZE_MAX)
		fail_msg("%s: byte %zu of its options is another one after\n%s", c->type->command,
			 at, first);
	second = trip_show(&j, &cfg);
	assert_string_equal(second, first);
	free(first);
	free(second);
	job_free(&j);
}

/* false: the options do not go together. */
static bool trip_there_and_back(const struct trip_command *c, struct trip_line *l)
{
	static struct trip_cfg cfg;
	struct trip_side x = { &cfg, l, NULL };
	struct err e = { 0 };
	struct job j;
	bool good;

	memset(&cfg, 0, sizeof(cfg));
	assert_int_equal(job_open(&j, c->type, l->argc, l->argv, &e), 0);
	x.job = &j;
	good = !c->parse(&cfg, &j, &e);
	if (good)
		trip_back(c, &x);
	job_free(&j);
	return good;
}

static void trip_begin(struct trip_line *l, const struct trip_command *c)
{
	l->argc = 0;
	trip_add(l, c->type->command);
	if (c->type == &replay_job) /* else its first operand would be it */
		trip_add(l, "--recording=a recording");
}

static void trip_end(struct trip_line *l, const struct trip_command *c)
{
	unsigned int n = 0;

	while (c->targets[n])
		n++;
	trip_add(l, "--");
	trip_add(l, c->targets[(unsigned int)random() % n]);
}

/* What an option needs besides, to be accepted at all. */
static void trip_add_needed(struct trip_line *l, const struct opt *o)
{
	static const struct {
		const char *key, *needed;
	} all[] = {
		{ "queue", "--rate=5" },          { "abort-on-slo", "--slo=p99=1s" },
		{ "arrivals", "--rate=5" },       { "remove-set", "--set-of=1" },
		{ "probe", "--duration=9" },      { "max-size", "--trace" },
		{ "names", "--trace" },           { "trace-buffer", "--trace" },
		{ "replayable", "--trace" },      { "trace-cpu", "--trace" },
		{ "directory", "--local" },       { "local", "--directory=/x" },
		{ "buffered", "--local" },        { "buffered", "--directory=/x" },
		{ "directories", "--clients=1" }, { "depth", "--files-per-dir=1" },
	};

	for (size_t i = 0; o->name && i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i].key, o->name))
			trip_add(l, all[i].needed);
}

static void each_option_survives_alone(void **state)
{
	struct trip_line l;
	bool good;

	(void)state;
	for (size_t i = 0; i < N_COMMANDS; i++) {
		const struct trip_command *c = &commands[i];

		for (const struct opt *o = c->type->options; o->type != OPT_END; o++) {
			good = !trip_is_kept(o);
			for (unsigned int n = 0; n < 200 && !good; n++) {
				trip_begin(&l, c);
				trip_add_needed(&l, o);
				trip_add_option(&l, c->type->command, o);
				if (o->name && !strcmp(o->name, "server"))
					; /* in place of a target */
				else if (n % 3 && c->targets != rx_targets)
					trip_add(&l, "--volume=v");
				else
					trip_end(&l, c);
				good = trip_there_and_back(c, &l);
			}
			if (!good)
				fail_msg("%s: no line with --%s -%c was accepted", c->type->command,
					 o->name ? o->name : "", o->letter ? o->letter : ' ');
		}
	}
}

static void options_at_random_survive_together(void **state)
{
	unsigned int good[N_COMMANDS] = { 0 };
	const struct opt *rows[256];
	struct trip_line l;
	size_t n;

	(void)state;
	for (size_t i = 0; i < N_COMMANDS; i++) {
		const struct trip_command *c = &commands[i];

		n = 0;
		for (const struct opt *o = c->type->options; o->type != OPT_END; o++)
			if (trip_is_kept(o))
				rows[n++] = o;
		for (unsigned int k = 0; k < 1500; k++) {
			trip_begin(&l, c);
			for (long m = random() % 6; m >= 0; m--)
				trip_add_option(&l, c->type->command, rows[(size_t)random() % n]);
			trip_end(&l, c);
			good[i] += trip_there_and_back(c, &l);
		}
		if (good[i] < 100)
			fail_msg("%s: only %u lines were accepted", c->type->command, good[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_option_survives_alone),
		cmocka_unit_test(options_at_random_survive_together),
	};
	int r;

	srandom(1);
	_Static_assert(sizeof(struct load_cfg) < CFG_MAX, "room");
	_Static_assert(sizeof(struct smallfile_cfg) < CFG_MAX, "room");
	_Static_assert(sizeof(struct rxperf_cfg) < CFG_MAX, "room");
	_Static_assert(sizeof(struct speedtest_cfg) < CFG_MAX, "room");
	snprintf(path, sizeof(path), "/dev/shm/afpscope-trip-%d.ini", (int)getpid());
	r = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return r;
}
