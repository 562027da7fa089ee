/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of speedtest: netatalk's letters, long names, sizes with units. */
#include "main/speedtest.h"

#include "compat/peer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MAX_BYTES (1ull << 60)
#define DELAY_MAX_NS   3600000000000ull
#define DATA_NOT_GIVEN (-1)

const char *const speedtest_data_choices[] = { "zero", "random", "pattern", NULL };
const char *const speedtest_receive_choices[] = { "auto", "copy", "drop", NULL };
const char *const speedtest_unit_choices[] = { "decimal", "binary", NULL };
static const char *const set_choices[] = { SPEEDTEST_SET, SPEEDTEST_PEER_SET, SPEEDTEST_4_6_SET,
					   NULL };

enum { CHOICE_OWN, CHOICE_4_5, CHOICE_4_6 };

/*
 * "64K", "1.5G", "0.004": a decimal number and a unit of 1024, or the unit that a bare number has.
 * Fractions of a byte are cut off, as afp_speedtest does: 0.004 (MiB) are 4194.
 */
static int parse_size(uint64_t *out, const char *text, uint64_t bare, struct err *e)
{
	static const char units[] = "BKMGTP";
	size_t digits = strspn(text, "0123456789."); /* strtod would take 0x10, 1e3, nan */
	const char *unit;
	double value;
	char *end;

	value = strtod(text, &end);
	if (!digits || end > text + digits || !isdigit((unsigned char)end[-1]))
		return err_set(e, -EINVAL, "'%s' is not a size like 4K, 64, 0.5 or 1G", text);
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit && *unit) {
		bare = 1ull << 10 * (unit - units);
		end++;
		if (!strcasecmp(end, "iB") && bare > 1)
			end += 2;
	}
	if (*end)
		return err_set(e, -EINVAL, "'%s': units are B, K, M, G, T, P (of 1024)", text);
	value *= (double)bare;
	if (value < 1 || value > (double)SIZE_MAX_BYTES)
		return err_set(e, -ERANGE, "'%s': from one byte to 1024 P", text);
	*out = (uint64_t)value;
	return 0;
}

static int speedtest_opts_add_size(struct speedtest_cfg *c, const char *text, struct err *e)
{
	uint64_t size;
	int r = parse_size(&size, text, 1u << 20, e);

	if (r)
		return r;
	for (unsigned int i = 0; i < c->o.n_sizes; i++)
		if (c->size[i] == size)
			return 0;
	if (c->o.n_sizes == SPEEDTEST_SIZES_MAX)
		return err_set(e, -EINVAL, "more than %d sizes", SPEEDTEST_SIZES_MAX);
	c->size[c->o.n_sizes++] = size;
	return 0;
}

static int set_size(void *cfg, const char *arg, struct err *e)
{
	struct speedtest_cfg *c = cfg;

	memset(c->size, 0, sizeof(c->size));
	c->o.n_sizes = 0;
	c->sweep = false;
	return speedtest_opts_add_size(c, arg, e);
}

/* A word of 0.004,64K,1,2G. */
static int take_size(void *cfg, const char *word, struct err *e)
{
	struct speedtest_cfg *c = cfg;

	if (word)
		return speedtest_opts_add_size(c, word, e);
	memset(c->size, 0, sizeof(c->size));
	c->o.n_sizes = 0;
	c->sweep = true;
	return 0;
}

static int set_chunk(void *cfg, const char *arg, struct err *e)
{
	struct speedtest_cfg *c = cfg;
	uint64_t chunk = 0;
	int r = parse_size(&chunk, arg, 1024, e);

	if (!r && chunk > 1u << 30)
		return err_set(e, -ERANGE, "'%s': at most 1G in one request", arg);
	c->o.chunk = (size_t)chunk;
	return r;
}

/* A word of Write,Read. */
static int take_work(void *cfg, const char *word, struct err *e)
{
	struct speedtest_cfg *c = cfg;
	const char *known;

	if (!word) {
		memset(c->o.work, 0, sizeof(c->o.work));
		c->o.n_works = 0;
		return 0;
	}
	for (unsigned int w = 0; w < N_SPEED_WORKS; w++) {
		known = speedtest_name((enum speed_work)w);
		if (strcasecmp(known, word) != 0 || (c->w.compatible && strcmp(known, word) != 0))
			continue;
		for (unsigned int i = 0; i < c->o.n_works; i++)
			if (c->o.work[i] == w)
				return 0;
		c->o.work[c->o.n_works++] = (enum speed_work)w;
		return 0;
	}
	return err_set(e, -ENOENT, "there is no test '%s': Read, Write, Copy, ServerCopy", word);
}

#define OFFSET(member) offsetof(struct speedtest_cfg, member)

/* clang-format off */
const struct opt speedtest_options[] = {
	{ .type = OPT_HEADING, .help = "Work:" },
	{ .letter = 'f', .name = "tests", .arg = "LIST", .type = OPT_LIST, .call = take_work,
	  .help = "Read, Write, Copy, ServerCopy (default: Write,Read; as afp_speedtest: Write)",
	  .more = "Separated by commas, in any case." },
	{ .letter = 'd', .name = "size", .arg = "SIZE", .type = OPT_CALL, .call = set_size, .group = "sizes",
	  .help = "one size of file: MiB, or with a unit: 64K, 1G (default: 18 sizes, 4K to 512M)",
	  .more = "A size in bytes is rounded down." },
	{ .letter = 'z', .name = "sizes", .arg = "LIST", .type = OPT_LIST, .call = take_size, .group = "sizes", .help = "sizes: 0.004,64K,1,2G",
	  .more = "Up to 64 of them; a number alone is MiB. Of -d and -z the last one counts. With neither: 18 "
	 	"sizes from 4 KiB to 512 MiB, each twice the one before. If the volume reports less free space "
	 	"than one of them needs, nothing is started; the set speedtest-4.5 does not check this." },
	{ .letter = 'n', .name = "iterations", .arg = "N", .type = OPT_UINT, .offset = OFFSET(o.iterations), .min = 1, .max = 100000,
	  .help = "measured iterations of each (default: 6; as afp_speedtest: 1)" },
	{ .letter = 'W', .name = "warmup", .arg = "N", .type = OPT_UINT, .offset = OFFSET(o.warmups), .max = 1000,
	  .help = "iterations before, not measured (default: 1)",
	  .more = "They are saved, but count in no figure." },
	{ .letter = 'r', .name = "outstanding", .arg = "N", .type = OPT_UINT, .offset = OFFSET(o.window), .min = 1, .max = SPEEDTEST_WINDOW_MAX,
	  .help = "requests in flight at any time (default: 1)",
	  .more = "More than one hides the network's delay. With a server on the same host Write and Copy gain "
	 	"nothing from more than 3 MiB in flight (1 MiB if BBR paces them), and lose by it: waiting data "
	 	"drops out of the caches." },
	{ .letter = 'q', .name = "chunk", .arg = "SIZE", .type = OPT_CALL, .call = set_chunk,
	  .help = "data of one request: KiB, or with a unit (default: the server's largest)",
	  .more = "More than the server and the set allow is refused." },
	{ .letter = 'a', .name = "no-flush", .type = OPT_FLAG, .offset = OFFSET(no_flush), .help = "Write does not end with a flush to disk" },
	{ .letter = 'e', .name = "sparse", .type = OPT_FLAG, .offset = OFFSET(o.sparse), .help = "source files get their length without being written",
	  .more = "They are those of Read, Copy and ServerCopy." },
	{ .letter = 'y', .name = "recreate", .type = OPT_FLAG, .offset = OFFSET(o.recreate), .help = "make the files anew for every iteration",
	  .more = "Each Write has to find room again." },
	{ .letter = 'F', .name = "file", .arg = "NAME", .type = OPT_STRING, .offset = OFFSET(o.file),
	  .help = "existing file of the volume's root as the source, only read; its length is the size when none is given (as afp_speedtest: 18 sizes)",
	  .more = "It is the source of Read, Copy and ServerCopy; with -L it is in DIRECTORY. In the set "
	 	"speedtest-4.5 it is opened for writing as well; it is not deleted. A size larger than its own is "
	 	"refused." },
	{ .letter = 'S', .name = "second-volume", .arg = "VOLUME", .type = OPT_STRING, .offset = OFFSET(w.s.second_volume), .help = "copies go to this volume" },
	{ .letter = 't', .name = "delay", .arg = "SECONDS", .type = OPT_TIME, .offset = OFFSET(delay_s), .max = DELAY_MAX_NS,
	  .help = "pause between iterations",
	  .more = "They may be 0 (default) to 3600." },
	{ .letter = 'i', .name = "interactive", .type = OPT_FLAG, .offset = OFFSET(interactive), .help = "wait for <ENTER> before each test",
	  .more = "It waits again for each size." },
	{ .name = "set", .arg = "SET", .type = OPT_CHOICE, .offset = OFFSET(set_choice), .choice = set_choices,
	  .help = "requests to send: afpscope's own, or those of the tool of netatalk 4.5 or 4.6",
	  .more = "`speedtest` (default): 64-bit requests, whose data are whole pages, files of any size. "
	 	"`speedtest-4.5`: what `afp_speedtest` of netatalk 4.5 sends; files below 2 GiB. `speedtest-4.6`: 64-bit requests, "
	 	"as much data in each as the server takes. Do not compare "
	 	"numbers that were measured with different sets." },
	{ .letter = 'E', .name = "32-bit", .type = OPT_FLAG, .offset = OFFSET(narrow), .help = "32-bit requests (FPRead, FPWrite), which end at 2 GiB",
	  .more = "The set speedtest-4.5 and AFP before 3.0 have no others." },
	{ .name = "data", .arg = "WHAT", .type = OPT_CHOICE, .offset = OFFSET(data), .choice = speedtest_data_choices,
	  .help = "what files contain (default: zero)",
	  .more = "`random`: nothing can be compressed. `pattern`: each place in the file has its own value." },
	{ .name = "receive", .arg = "HOW", .type = OPT_CHOICE, .offset = OFFSET(receive), .choice = speedtest_receive_choices,
	  .help = "what to do with the data of Read: copy it to this program, or drop it in the kernel (default auto: copy where the server is on this host, else drop)",
	  .more = "`copy`: they are copied to this program. `drop`: the kernel counts and drops them, which takes "
	 	"less of the client's CPU time (replies shorter than 16 KiB are copied anyway). `auto`: `drop` "
	 	"from another host if a file takes more than one request; `copy` from this host, where dropping "
	 	"only moves the CPU time from the client to the server, and in the set speedtest-4.5, as "
	 	"netatalk's tool does. Not `drop` with --verify." },
	{ .name = "verify", .type = OPT_FLAG, .offset = OFFSET(o.verify), .help = "write a pattern and compare what is read (takes this program time, which is measured too)",
	  .more = "It is compared byte for byte, as it arrives: the times of Read and Copy include that. The files "
	 	"that Write, Copy and ServerCopy made are read back when the clock has stopped. Data that differ "
	 	"end the run with a message that says where. Not with -F or `--data random`." },
	{ .name = "no-null", .type = OPT_FLAG, .offset = OFFSET(no_null), .help = "no comparison with a server that stores nothing",
	  .more = "That is the null peer. It is also left out with -c, `--table netatalk` and -L." },
	SESSION_FORCE_OPTION(struct speedtest_cfg, w.s),
	SESSION_LOCAL_OPTIONS(struct speedtest_cfg, w.s),
	CONNECT_OPTIONS(struct speedtest_cfg, w.s.c),
	{ .letter = '2', .type = OPT_VALUE, .offset = OFFSET(w.s.c.version), .value = 2, .help = "AFP 2.2" },
	{ .letter = '1', .type = OPT_VALUE, .offset = OFFSET(w.s.c.version), .value = 1, .help = "AFP 2.1",
	  .more = "Before 3.0 there are only 32-bit requests." },
	{ .type = OPT_HEADING, .help = "Watch and output:" },
	JOB_OPTION(struct speedtest_cfg, w.show_job),
	SESSION_WATCH_OPTIONS(struct speedtest_cfg, w.s),
	OUTPUT_TABLE_OPTION(struct speedtest_cfg, w.table),
	{ .name = "units", .arg = "WHICH", .type = OPT_CHOICE, .offset = OFFSET(units), .choice = speedtest_unit_choices,
	  .help = "units of rates and sizes: MB/s, GB (10^6, 10^9), or MiB/s, GiB (default: decimal)",
	  .more = "They are those of afpscope's own tables. File sizes are shown as they were given. The MB of "
	 	"netatalk's tool are always 2^20 bytes." },
	{ .letter = 'T', .name = "statistics", .type = OPT_FLAG, .offset = OFFSET(statistics), .help = "statistics in netatalk's table (with -n 2 or more, -z, a sweep: always)",
	  .more = "Its network table is printed then, too." },
	{ .letter = 'c', .name = "csv", .type = OPT_FLAG, .offset = OFFSET(w.csv), .help = "netatalk's tables as CSV, nothing else on stdout" },
	RUNS_RTT_OPTION(struct speedtest_cfg, w.s.runs),
	RUNS_OPTIONS(struct speedtest_cfg, w.s.runs),
	{ .letter = 'v', .name = "verbose", .type = OPT_COUNT, .offset = OFFSET(w.verbose),
	  .help = "print all that was measured (as afp_speedtest: the same as -V)",
	  .more = "The same as `--table afpscope`, and a line on standard error as each transfer ends." },
	{ .letter = 'V', .type = OPT_COUNT, .offset = OFFSET(each), .help = "like -v, and each request of each iteration on stderr",
	  .more = "They have their times, are those of warm-ups, too, and are printed when the clock has stopped." },
	{ .name = "help", .type = OPT_FLAG, .job = OPT_JOB_NEVER, .offset = OFFSET(w.help), .help = "this text" },
	CMD_VERSION_OPTION,
	{ .type = OPT_END },
};
/* clang-format on */

void speedtest_help(const struct speedtest_cfg *cfg, FILE *out)
{
	const char *name = cfg->w.compatible ? "afp_speedtest" : "afpscope speedtest";

	fprintf(out,
		"Usage: %s [OPTIONS] [afp://USER@HOST:PORT/VOLUME%s]\n"
		"       %s -L -P DIRECTORY [OPTIONS]\n",
		name, cfg->w.compatible ? "" : "|JOB.ini", name);
	if (!cfg->w.compatible)
		session_put_places(out, "speedtest");
	fputs(
	    "Reads, writes and copies files of given sizes on an AFP server and shows how fast;\n"
	    "where the server runs on this host, also what it costs there and what limits it.\n\n",
	    out);
	opt_help(out, speedtest_options);
}

static void choose_sizes(struct speedtest_cfg *c)
{
	if (c->o.n_sizes || (c->o.file && !c->w.compatible))
		return;
	c->sweep = true;
	for (uint64_t size = 4096; size <= 512u << 20; size *= 2)
		c->size[c->o.n_sizes++] = size;
}

/* What the options come to, taken together. */
static int speedtest_opts_complete(struct speedtest_cfg *c, struct err *e)
{
	c->set = set_choices[c->set_choice];
	c->o.size = c->size;
	c->o.peer = c->set_choice != CHOICE_OWN;
	c->o.flush = !c->no_flush;
	c->o.delay_ns = (uint64_t)(c->delay_s * 1e9);
	c->o.second = c->w.s.second_volume != NULL;
	c->o.data = c->data == DATA_NOT_GIVEN ? SPEED_ZERO : (enum speed_data)c->data;
	if (!c->o.n_works) {
		c->o.work[c->o.n_works++] = SPEED_WRITE;
		if (!c->w.compatible)
			c->o.work[c->o.n_works++] = SPEED_READ;
	}
	choose_sizes(c);
	c->statistics |= c->sweep || c->w.csv || c->o.iterations > 1;
	c->live = c->w.compatible && !c->w.csv;
	c->each_request = c->each || (c->w.compatible && c->w.verbose);
	c->w.table = output_table(c->w.table, c->w.verbose + c->each, OUTPUT_OWN, c->w.compatible);
	c->w.s.runs.screen = c->w.table == OUTPUT_SCREEN && !c->w.csv &&
			     !runs_json_only(&c->w.s.runs);
	c->null = !c->no_null && !c->w.csv && c->w.table != OUTPUT_NETATALK;
	if (c->o.verify && c->data != DATA_NOT_GIVEN && c->data != SPEED_PATTERN)
		return err_set(e, -EINVAL, "--verify needs --data pattern");
	c->o.receive = (enum speed_receive)c->receive;
	if (c->o.verify && c->o.receive == SPEED_RECEIVE_DROP)
		return err_set(e, -EINVAL,
			       "--verify needs the data: it cannot be used with --receive drop");
	if (c->o.verify && c->o.file)
		return err_set(
		    e, -EINVAL,
		    "--verify cannot be used with -F: what %s should contain is not known",
		    c->o.file);
	if (c->o.verify)
		c->o.data = SPEED_PATTERN;
	if (c->o.peer && c->o.data != SPEED_ZERO && !c->o.verify)
		return err_set(e, -EINVAL, "the set %s writes zeros", c->set);
	return 0;
}

/* No server: what only makes sense with one is refused. */
static int complete_local(struct speedtest_cfg *c, struct err *e)
{
	if (c->w.s.second_volume)
		return err_set(e, -EINVAL,
			       "-S names a volume of a server: it cannot be used with -L");
	if (c->o.receive != SPEED_RECEIVE_AUTO)
		return err_set(e, -EINVAL,
			       "--receive is about a server's replies: it cannot be used with -L");
	if (c->o.window > 1 && !c->w.compatible) /* netatalk's tool takes it and does nothing */
		return err_set(
		    e, -EINVAL,
		    "-r is about requests to a server: with -L one call follows the other");
	c->o.window = 1;
	for (unsigned int i = 0; i < c->o.n_works && !c->w.compatible;
	     i++) /* afp_speedtest skips it */
		if (c->o.work[i] == SPEED_SERVER_COPY)
			return err_set(e, -EINVAL,
				       "ServerCopy needs a server: it cannot be used with -L");
	return 0;
}

const struct job_type speedtest_job = {
	.command = "speedtest",
	.options = speedtest_options,
	.target = workload_take_target,
};

int speedtest_parse(struct speedtest_cfg *c, struct job *j, struct err *e)
{
	int r;

	*c = (struct speedtest_cfg) { .w = WORKLOAD_DEFAULTS, .data = DATA_NOT_GIVEN };
	c->w.s.runs.not_kept = c->w.compatible = peer_name(j->argv[0], "afp_speedtest");
	c->o.warmups = c->o.window = 1;
	c->o.iterations = c->w.compatible ? 1 : 6;
	if (c->w.compatible) {
		c->set_choice = CHOICE_4_5;
		c->w.s.watch = WATCH_OFF; /* nothing of the server is printed */
	}
	r = workload_parse(&c->w, j, !c->w.compatible, e);
	if (c->w.compatible && j->argc == 1)
		c->w.help = true;
	if (c->w.help)
		return 0;
	r = r ? r : speedtest_opts_complete(c, e);
	return r || !c->w.s.local ? r : complete_local(c, e);
}
