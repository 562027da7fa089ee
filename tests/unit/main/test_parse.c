/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Right command lines and job files of the commands that load a server: what they come to. Nothing
 * is opened, so that no server and no file of a user is needed.
 *
 * Tests user/app/job.c, user/main/load_opts.c, smallfile_opts.c, speedtest_opts.c, lantest.c,
 * user/drive/rxperf_opts.c, workload.c.
 */
#include <errno.h>
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
#include "main/smallfile.h"
#include "main/speedtest.h"

static char path[64]; /* of a job file: the word JOB of a line */
static struct job job;
static struct err e;
static char copy[1000];
static char *argv[64];

/* Words with a blank between them; ~ stands for a blank in a word. */
static void parse_open(const struct job_type *type, const char *line)
{
	int argc = 0;

	job_free(&job);
	e = (struct err) { 0 };
	snprintf(copy, sizeof(copy), "%s %s", type->command, line);
	for (char *at = strtok(copy, " "); at; at = strtok(NULL, " ")) {
		argv[argc++] = strcmp(at, "JOB") ? at : path;
		for (char *l = at; *l; l++)
			*l = *l == '~' ? ' ' : *l;
	}
	argv[argc] = NULL;
	if (job_open(&job, type, argc, argv, &e))
		fail_msg("%s: %s", line, e.text);
}

static void parse_write(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int parse_load(struct load_cfg *to, const char *line)
{
	*to = (struct load_cfg)LOAD_DEFAULTS;
	parse_open(&load_job, line);
	return load_parse(&to->w, &job, &e);
}

/* Pointers in it lead into itself: it stays where it is. */
static struct load_cfg c;

static void load_of(const char *line)
{
	if (parse_load(&c, line))
		fail_msg("%s: %s", line, e.text);
}

static void a_load_has_its_defaults(void **state)
{
	(void)state;
	load_of("/dir");
	assert_true(c.w.s.local && c.w.s.buffered && !c.direct);
	assert_string_equal(c.w.s.directory, "/dir");
	assert_string_equal(c.mix.name, "browse");
	assert_int_equal(c.mix.files, 100);
	assert_int_equal(c.clients, 10);
	assert_int_equal(c.directories, 10);
	assert_int_equal(c.queue, 0); /* all may wait */
	assert_int_equal(c.arrivals, LOAD_POISSON);
	assert_int_equal(c.duration_s, 30);
	assert_int_equal(c.ramp_s, 1);
	assert_int_equal(c.seed, 1);
	assert_true(c.interval_s == 1 && c.rate.per_s == 0 && !c.no_probe && !c.mpi);
	assert_int_equal(c.threads, 0); /* by the CPUs of the machine, later */
}

static void a_load_is_what_its_options_say(void **state)
{
	(void)state;
	load_of("-n 50 -m office --rate 12.5 --arrivals fixed --queue 7 -d 2m --ramp 0 "
		"--interval 200ms --seed 9 --no-probe --files 3 --file-size 8K "
		"--slo p99=50ms --slo save.mean=2s --at 30~./relieve --at 5~true "
		"-vv -s vol -h nas -p 600 -u me --users f --watch=off --timeout 2m");
	assert_int_equal(c.clients, 50);
	assert_string_equal(c.mix.name, "office");
	assert_int_equal(c.mix.files, 3);
	assert_int_equal(c.mix.sizes.value, 8192);
	assert_true(c.rate.per_s == 12.5 && c.interval_s == 0.2);
	assert_int_equal(c.arrivals, LOAD_FIXED);
	assert_int_equal(c.queue, 7);
	assert_int_equal(c.duration_s, 120);
	assert_int_equal(c.ramp_s, 0);
	assert_int_equal(c.seed, 9);
	assert_true(c.no_probe);
	assert_int_equal(c.slos.n, 2);
	assert_true(c.slos.slo[1].limit == 2e9);
	assert_string_equal(c.slos.slo[1].scope, "save");
	assert_int_equal(c.changes.n, 2);
	assert_true(c.changes.change[0].at_s == 30);
	assert_string_equal(c.changes.change[0].command, "./relieve");
	assert_int_equal(c.w.verbose, 2);
	assert_string_equal(c.w.s.c.volume, "vol");
	assert_string_equal(c.w.s.c.host, "nas");
	assert_int_equal(c.w.s.c.port, 600);
	assert_string_equal(c.w.s.c.user, "me");
	assert_int_equal(c.w.s.c.timeout_s, 120);
	assert_string_equal(c.users_file, "f");
	load_of("--think 0.5 afp://you:secret@nas2:700/V%20w");
	assert_int_equal(c.mix.think.value, 500000000);
	assert_string_equal(c.w.s.c.user, "you");
	assert_string_equal(c.w.s.c.host, "nas2");
	assert_int_equal(c.w.s.c.port, 700);
	assert_string_equal(c.w.s.c.volume, "V w");
	load_of("-m batch-read -n 4 gluster://h/v/p --direct");
	assert_int_equal(c.directories, 1);
	assert_true(!c.w.s.buffered);
	assert_string_equal(c.w.s.directory, "gluster://h/v/p");
}

static void the_other_commands_are_what_their_options_say(void **state)
{
	struct smallfile_cfg f = SMALLFILE_DEFAULTS;
	struct rxperf_cfg x = RXPERF_DEFAULTS;
	static struct speedtest_cfg s;
	struct lantest_cfg l;

	(void)state;
	parse_open(&smallfile_job,
		   "-l create,seq-rd -l delete -n 4 -f 20 --files-per-dir 5 --depth 2 "
		   "--file-size 1K --fsync --no-verify -d 1h --prefix x /dir");
	assert_int_equal(smallfile_parse(&f.w, &job, &e), 0);
	assert_int_equal(f.list.n, 3);
	assert_int_equal(f.list.load[1], SMALLFILE_READ);
	assert_true(f.clients == 4 && f.o.files == 20 && f.o.files_per_dir == 5 && f.o.depth == 2);
	assert_true(f.o.file_len == 1024 && f.o.flush && !f.o.verify && f.duration_s == 3600);
	assert_string_equal(f.o.prefix, "x");
	parse_open(&lantest_job, "-f 1: --tests 5-7,12 -n 3 -g -G -V -v -4 afp://nas/v");
	assert_int_equal(lantest_parse(&l, &job, &e), 0);
	assert_int_equal(l.o.tests, LANTEST_BIT(1) | LANTEST_BIT(10) | LANTEST_BIT(5) |
					LANTEST_BIT(6) | LANTEST_BIT(7) | LANTEST_BIT(12));
	assert_true(l.o.iterations == 3 && l.o.file_len == LANTEST_FILE_LEN * 1000);
	assert_true(l.w.verbose == 2 && l.w.table == OUTPUT_BOTH && l.w.s.c.version == 4);
	parse_open(&lantest_job, "-f 1 -K -s v");
	assert_int_equal(lantest_parse(&l, &job, &e), 0);
	assert_true(l.o.tests == 0 && l.cache);
	parse_open(&speedtest_job, "-f read,WRITE -z 4K,1 -n 2 -r 8 -q 64 -t 1.5 -a --data random "
				   "-2 -S other afp://nas/v");
	assert_int_equal(speedtest_parse(&s, &job, &e), 0);
	assert_true(s.o.n_works == 2 && s.o.work[0] == SPEED_READ && s.o.work[1] == SPEED_WRITE);
	assert_true(s.o.n_sizes == 2 && s.size[0] == 4096 && s.size[1] == 1 << 20 && s.sweep);
	assert_true(s.o.iterations == 2 && s.o.window == 8 && s.o.chunk == 65536);
	assert_true(s.o.delay_ns == 1500000000 && !s.o.flush && s.o.data == SPEED_RANDOM);
	assert_true(s.w.s.c.version == 2 && s.o.second && s.o.warmups == 1);
	parse_open(&rxperf_job, "-c recv,rpc -c send -b 4K -n 3 -t 2 -T 9 -p 7001 -j rx://host");
	assert_int_equal(rxperf_parse(&x, &job, &e), 0);
	assert_true(x.list.n == 3 && x.list.command[2] == RX_PERF_SEND && x.bytes == 4096);
	assert_true(x.clients == 3 && x.threads == 2 && x.times == 9 && x.no_jumbo);
	assert_string_equal(x.server, "host");
}

/* What is asked for, by the server that is met. */
static void tests_of_lantest_are_those_of_the_set(void **state)
{
	static const struct {
		const char *line, *machine, *set;
		uint32_t tests; /* 0: refused */
	} rows[] = {
		{ "-s v", "Netatalk4.5.1", "lantest-4.5", 0xfff },
		{ "-s v", "Netatalk3.1.12", "lantest-4.5", 0xfff },
		{ "-s v", "Netatalk4.6.0", "lantest-4.6", 0x1ffff },
		{ "-s v", "Netatalk5.0", "lantest-4.6", 0x1ffff },
		{ "-s v", "AirPort5,104", "lantest-4.6", 0x1ffff },
		{ "-s v --set 4.6", "Netatalk4.2.3", "lantest-4.6", 0x1ffff },
		{ "-s v --set 4.5", "Netatalk4.6.0", "lantest-4.5", 0xfff },
		{ "-s v --set server", "Netatalk4.6.0", "lantest-4.6", 0x1ffff },
		{ "-s v -f 1 -K", "Netatalk4.5.1", "lantest-4.5", 0xf00 },
		{ "-s v -K -f 1", "Netatalk4.6.0", "lantest-4.6", 0x1e001 },
		{ "-s v -f 9:;<=>?@A", "Netatalk4.6.0", "lantest-4.6", 0x1ff00 },
		{ "-s v --tests 13-17", "Netatalk4.6.0", "lantest-4.6", 0x1f000 },
		{ "-s v --tests 13", "Netatalk4.5.1", "lantest-4.5", 0 },
	};
	struct lantest_cfg l;
	uint32_t tests;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct lantest_set *set;

		parse_open(&lantest_job, rows[i].line);
		assert_int_equal(lantest_parse(&l, &job, &e), 0);
		set = lantest_choose(&l, rows[i].machine);
		assert_string_equal(set->name, rows[i].set);
		assert_int_equal(lantest_resolve(&tests, &l, set, &e), rows[i].tests ? 0 : -EINVAL);
		if (rows[i].tests)
			assert_int_equal(tests, rows[i].tests);
		else
			assert_string_equal(e.text, "test 13 is not in the set lantest-4.5, which "
						    "has 12 tests: see --set");
	}
	parse_open(&lantest_job, "--set 4.5 -f A -s v");
	assert_int_equal(lantest_parse(&l, &job, &e), -EINVAL);
	assert_non_null(strstr(e.text, "test 17 is not in the set lantest-4.5"));
}

#define RUN "[run]\ncommand = load\n"

static void a_job_file_is_a_command_line(void **state)
{
	(void)state;
	parse_write("; what we do on Mondays\n" RUN
		    "target = afp://me@nas/v\nclients = 50\nrate = 200\nduration = 30s\n"
		    "no-probe = yes\nrealtime = no\nslo = p99=1s\nslo = max=2s\n"
		    "at = \"3 echo a ; echo b\"\nverbose = 2\n7 = yes\n"
		    "[mix]\nfiles = 7\n[actions]\nlook = 1\nread = 2\n");
	load_of("JOB");
	assert_string_equal(c.w.s.c.host, "nas");
	assert_string_equal(c.w.s.c.user, "me");
	assert_true(c.clients == 50 && c.rate.per_s == 200 && c.duration_s == 30);
	assert_true(c.no_probe && !c.realtime && c.slos.n == 2 && c.w.verbose == 2);
	assert_string_equal(c.changes.change[0].command, "echo a ; echo b");
	assert_int_equal(c.mix.files, 7);
	assert_int_equal(c.mix.weight[MIX_READ], 2);
	assert_int_equal(c.directories, 50);
}

static void the_command_line_replaces_what_the_file_says(void **state)
{
	struct lantest_cfg l;

	(void)state;
	parse_write(RUN "target = afp://me@nas/v\nclients = 50\nslo = p99=1s\nslo = max=2s\n"
			"duration = 9\nfiles = 3\n[mix]\nfiles = 7\n[actions]\nlook = 1\n");
	load_of("JOB -n 2 --slo p50=5ms -s other");
	assert_true(c.clients == 2 && c.slos.n == 1 && c.duration_s == 9 && c.mix.files == 3);
	assert_string_equal(c.slos.slo[0].text, "p50=5ms");
	assert_string_equal(c.w.s.c.host, "nas");
	assert_string_equal(c.w.s.c.volume, "other");
	load_of("-m office JOB afp://you@nas2/w");
	assert_string_equal(c.mix.name, "office");
	assert_string_equal(c.w.s.c.host, "nas2");
	assert_string_equal(c.w.s.c.user, "you");
	load_of("JOB /dir");
	assert_true(c.w.s.local && !strcmp(c.w.s.directory, "/dir"));
	parse_write("[run]\ncommand = lantest\ntarget = afp://nas/v\nf = 1\ng = yes\nV = 1\n");
	parse_open(&lantest_job, "JOB --tests 2");
	assert_int_equal(lantest_parse(&l, &job, &e), 0);
	assert_int_equal(l.o.tests, LANTEST_BIT(2));
	assert_true(l.o.file_len == 10 * LANTEST_FILE_LEN && l.w.verbose == 1);
}

static void a_mistake_in_a_job_file_is_named_by_file_and_line(void **state)
{
	static const struct {
		const char *text, *message; /* behind the file's name */
	} cases[] = {
		{ "",
		  ": a job file of this command has the line 'command = load' in its section [run]" },
		{ "[run]\ncommand = rx\n",
		  ", line 2: this is a job of 'afpscope rx', not of 'load'" },
		{ "[run]\nbytes = 1\ncommand = rx\n",
		  ", line 3: this is a job of 'afpscope rx', not of 'load'" },
		{ RUN "clients = 0\n", ", line 3: clients: '0' is not in 1..100000" },
		{ RUN "clients =\n", ", line 3: clients: '' is not a whole number" },
		{ RUN "duration = 5x\n",
		  ", line 3: duration: '5x' is not a time (whole seconds, or a whole number with s, m, h, d)" },
		{ RUN "no-probe = true\n", ", line 3: no-probe: 'true' is neither yes nor no" },
		{ RUN "verbose = yes\n", ", line 3: verbose: 'yes' is not a whole number" },
		{ RUN "colour = red\n",
		  ", line 3: there is no key 'colour'; there are command, target and the long options of 'afpscope load --help'" },
		{ RUN "n = 5\n",
		  ", line 3: there is no key 'n'; there are command, target and the long options of 'afpscope load --help'" },
		{ RUN "clients = 1\nramp = 2\nclients = 1\n",
		  ", line 5: clients is there twice: line 3 has it already" },
		{ RUN "target = /a\ntarget = /b\n",
		  ", line 4: target is there twice: line 3 has it already" },
		{ RUN "command = load\n",
		  ", line 3: command is there twice: line 2 has it already" },
		{ RUN "password = x\n", ", line 3: password cannot be given in a job file" },
		{ RUN "show-job = yes\n", ", line 3: show-job cannot be given in a job file" },
		{ RUN "help = yes\n", ", line 3: help cannot be given in a job file" },
		{ RUN "version = yes\n", ", line 3: version cannot be given in a job file" },
		{ RUN "slo = p98=1s\n",
		  ", line 3: slo: 'p98=1s' is not a limit such as p99<=50ms, save.mean<=2s, probe.max<=1s (mean, p50, p90, p95, p99, p99.9, max; ns, us, ms, s), rate>=500, failed<=0.1% or dropped<=0" },
		{ RUN "target = http://x\n",
		  ", line 3: 'http://x' is not a server; give it as afp://user@host:548/Volume" },
		{ RUN "clients\n", ", line 3: neither [section] nor key = value" },
		{ RUN "[mix]\nfiles = x\n", ", line 4: files: 'x' is not a whole number" },
		{ RUN "[mixes]\nfiles = 1\n",
		  ", line 4: there is no section [mixes]; there are [mix] and [actions]" },
		{ RUN "mix = office\n[mix]\nfiles = 1\n",
		  ", line 5: [mix] is in place of 'mix', which line 3 has: give one of them" },
		{ RUN "mix = office\n[mixes]\nfiles = 1\n",
		  ", line 5: there is no section [mixes]; there are [mix] and [actions]" },
		{ RUN "[actions]\nlook = 1\n[mix]\nfiles = 0\n",
		  ": 'look' needs files, but files is 0" },
	};
	char expected[600];
	int r;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		parse_write(cases[i].text);
		r = parse_load(&c, "JOB /dir");
		if (strstr(cases[i].text, "target = http"))
			r = parse_load(&c, "JOB");
		snprintf(expected, sizeof(expected), "%s%s", path, cases[i].message);
		assert_string_equal(e.text, expected);
		assert_true(r == -EINVAL || r == -ERANGE);
	}
}

static char *parse_show(const void *cfg, const char *folder, bool kept)
{
	size_t len;
	char *text;
	FILE *out = open_memstream(&text, &len);

	assert_int_equal(job_show(out, &job, cfg, folder, kept, &e), 0);
	fclose(out);
	return text;
}

#define SHOWN "; afpscope load FILE repeats this run; the name of FILE ends with .ini\n" RUN

static void what_is_shown_has_no_password_and_whole_paths(void **state)
{
	char *text;

	(void)state;
	load_of("-w secret --users u.txt --password-file ./p -o out --json - -d 5 -d 6 "
		"--slo p50=1s --slo p99=2s -v -v --set-of 7 --trace afp://me:se%20cret@nas/v");
	text = parse_show(&c, "/home/me", false);
	assert_string_equal(text, SHOWN "users = /home/me/u.txt\npassword-file = /home/me/./p\n"
					"output = /home/me/out\njson = -\nduration = 6\n"
					"slo = p50=1s\nslo = p99=2s\nverbose = 2\nset-of = 7\n"
					"trace = all\ntarget = afp://me@nas/v\n");
	free(text);
	text = parse_show(&c, "/home/me", true);
	assert_string_equal(text, SHOWN "users = /home/me/u.txt\npassword-file = /home/me/./p\n"
					"duration = 6\nslo = p50=1s\nslo = p99=2s\nverbose = 2\n"
					"trace = all\ntarget = afp://me@nas/v\n");
	free(text);
	load_of("a/dir");
	text = parse_show(&c, "/home/me", true);
	assert_string_equal(text, SHOWN "target = /home/me/a/dir\n");
	free(text);
}

static void a_mix_that_is_a_file_is_shown_as_it_is(void **state)
{
	char line[100], *text;

	(void)state;
	parse_write("[mix]\nfiles = 3\nfile_size = 4K\nthink = 0.25\nname = mine\n"
		    "[actions]\nlook = 1\n");
	snprintf(line, sizeof(line), "-m %s /dir", path);
	load_of(line);
	text = parse_show(&c, NULL, false);
	assert_string_equal(
	    text, SHOWN "target = /dir\n\n[mix]\nname = mine\nfiles = 3\n"
			"file_size = 4096\nrequest = 1048576\nwindow = 1\nrequests = 16\n"
			"think = exponential:0.250000000\nshared = no\n\n[actions]\nlook = 1\n");
	parse_write(text);
	free(text);
	load_of("JOB");
	assert_true(c.mix.files == 3 && c.mix.think.value == 250000000 &&
		    c.mix.weight[MIX_LOOK] == 1);
	assert_string_equal(c.mix.name, "mine");
}

/* Whatever a file says, it is a run or a message about this file. */
static void a_damaged_job_file_is_read_or_refused_by_name(void **state)
{
	static const char good[] = RUN "target = afp://me@nas/v\nclients = 50\nrate = 200\n"
				       "slo = p99=1s\nat = \"3 echo a ; b\"\nverbose = 2\n"
				       "[mix]\nfiles = 7\n[actions]\nlook = 1\nread = 2\n";
	static const char letters[] = "\n =:;[]\"\\#%0x-.\t\xff"
				      "a";
	unsigned int refused = 0;
	char text[sizeof(good)];

	(void)state;
	srandom(1);
	for (unsigned int i = 0; i < 5000; i++) {
		memcpy(text, good, sizeof(good));
		for (unsigned int k = 0; k < 1 + i % 4; k++)
			text[(size_t)random() % (sizeof(good) - 1)] =
			    letters[(size_t)random() % (sizeof(letters) - 1)];
		parse_write(text);
		if (!parse_load(&c, "JOB"))
			continue;
		refused++;
		/* What only the options together show has no line. */
		if (!strstr(e.text, path) && !strstr(e.text, "which volume?") &&
		    !strstr(e.text, "--slo ") && !strstr(e.text, "to log in"))
			fail_msg("%s\n%s", e.text, text);
	}
	assert_in_range(refused, 1000, 4999);
}

/* rx has an option of the name "command". */
static void the_tests_of_rx_are_the_key_c(void **state)
{
	struct rxperf_cfg x = RXPERF_DEFAULTS;
	char *text;

	(void)state;
	parse_write("[run]\ncommand = rx\ntarget = host:7001\nc = recv\nc = send\nbytes = 4K\n");
	parse_open(&rxperf_job, "JOB -n 2");
	assert_int_equal(rxperf_parse(&x, &job, &e), 0);
	assert_true(x.list.n == 2 && x.bytes == 4096 && x.clients == 2);
	assert_string_equal(x.server, "host:7001");
	text = parse_show(&x, "/", true);
	assert_non_null(strstr(text, "command = rx\ntarget = host:7001\nc = recv\nc = send\n"));
	free(text);
}

/* Under the name of netatalk's tool a file is no job, and nothing is shown as one. */
static void other_tools_have_no_job_files(void **state)
{
	char *words[] = { "afp_lantest", path, NULL };
	char *show[] = { "afp_lantest", "--show-job", "-s", "v", NULL };
	struct lantest_cfg l;
	char *text;

	(void)state;
	parse_write("[run]\ncommand = lantest\n");
	job_free(&job);
	assert_int_equal(job_open(&job, &lantest_job, 2, words, &e), 0);
	/* the original does not look at such a word */
	assert_int_equal(lantest_parse(&l, &job, &e), -EINVAL);
	assert_non_null(strstr(e.text, "which volume?"));
	job_free(&job);
	assert_int_equal(job_open(&job, &lantest_job, 4, show, &e), 0);
	assert_int_equal(lantest_parse(&l, &job, &e), -EINVAL);
	assert_string_equal(e.text, "--show-job: the original has no job files");
	assert_int_equal(job_text(&text, &job, &l, true, &e), 0);
	assert_null(text);
	job_free(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_load_has_its_defaults),
		cmocka_unit_test(a_load_is_what_its_options_say),
		cmocka_unit_test(the_other_commands_are_what_their_options_say),
		cmocka_unit_test(tests_of_lantest_are_those_of_the_set),
		cmocka_unit_test(a_job_file_is_a_command_line),
		cmocka_unit_test(the_command_line_replaces_what_the_file_says),
		cmocka_unit_test(a_mistake_in_a_job_file_is_named_by_file_and_line),
		cmocka_unit_test(what_is_shown_has_no_password_and_whole_paths),
		cmocka_unit_test(a_mix_that_is_a_file_is_shown_as_it_is),
		cmocka_unit_test(a_damaged_job_file_is_read_or_refused_by_name),
		cmocka_unit_test(the_tests_of_rx_are_the_key_c),
		cmocka_unit_test(other_tools_have_no_job_files),
	};
	int r;

	snprintf(path, sizeof(path), "/dev/shm/afpscope-parse-%d.ini", (int)getpid());
	r = cmocka_run_group_tests(tests, NULL, NULL);
	job_free(&job);
	unlink(path);
	return r;
}
