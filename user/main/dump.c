/* SPDX-License-Identifier: GPL-2.0-or-later */
/* afpscope dump: records of a trace as text, for a server without Python. */
#include "app/cmd.h"

#include "app/runs.h"
#include "base/opt.h"
#include "base/vec.h"
#include "main/dump_text.h"
#include "report/cell.h"
#include "run/account.h"
#include "trace/fields.h"
#include "trace/reader.h"
#include "trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOW_MAX 1000

/* Calls and waits kept of the requests shown with --calls. */
#define BELOW_MAX   100000u

#define ALL_STREAMS AFS_N_STREAMS
#define NOT_ASKED   (~0u)

static const char *const stream_names[] = {
#define X(NAME, name, meaning) #name,
	AFS_STREAMS(X)
#undef X
	    "all",
	NULL
};

struct dump_cfg {
	int stream; /* enum afs_stream_number or ALL_STREAMS */
	unsigned int command, session, slow;
	bool calls, count, help;
};

static int command_arg(void *cfg, const char *arg, struct err *e)
{
	struct dump_cfg *c = cfg;
	const char *name;

	for (unsigned int i = 0; i < AFS_N_ACCOUNTS; i++) {
		name = account_known_name(i);
		if (!name || strcasecmp(name, arg))
			continue;
		c->command = i;
		return 0;
	}
	return err_set(e, -EINVAL, "'%s' is not an AFP command; give a name such as FPOpenFork",
		       arg);
}

/* clang-format off */
#define OFFSET(m) offsetof(struct dump_cfg, m)
const struct opt dump_options[] = {
	{ .type = OPT_HEADING, .help = "Which records:" },
	{ .name = "stream", .arg = "NAME", .type = OPT_CHOICE, .offset = OFFSET(stream), .choice = stream_names,
	  .help = "of this kind (default: requests)" },
	{ .name = "command", .arg = "NAME", .type = OPT_CALL, .call = command_arg,
	  .help = "made for this AFP command (FPOpenFork)" },
	{ .name = "session", .arg = "PID", .type = OPT_UINT, .offset = OFFSET(session), .min = 1, .max = NOT_ASKED - 1,
	  .help = "of this server process" },
	{ .name = "slow", .arg = "N", .type = OPT_UINT, .offset = OFFSET(slow), .min = 1, .max = SLOW_MAX,
	  .help = "the N that took longest, the longest first" },
	{ .type = OPT_HEADING, .help = "What is shown:" },
	{ .name = "calls", .type = OPT_FLAG, .offset = OFFSET(calls),
	  .help = "below each request of --slow the calls and waits made for it" },
	{ .name = "count", .type = OPT_FLAG, .offset = OFFSET(count),
	  .help = "only how many records there are of each kind, and what is lost or damaged" },
	{ .name = "help", .type = OPT_FLAG, .offset = OFFSET(help), .help = "this text" },
	CMD_VERSION_OPTION,
	{ .type = OPT_END },
};
/* clang-format on */

/* A record that is kept; of --calls: and the request it belongs to. */
struct kept {
	unsigned int stream, request;
	uint64_t ns; /* how long */
	union afs_record record;
	struct afs_record_requests names; /* whose name it is about: itself, or FPOpenFork */
	struct afs_record_names name;     /* a request's; all 0: it has none */
	char text[AFS_TEXT_LEN];
};

struct dump {
	struct dump_cfg cfg;
	struct trace_reader *trace;
	struct dump_view view;
	struct kept *slow, *below; /* owned */
	size_t n_slow, n_below;
	uint64_t n_more; /* did not fit in below */
	/* What the run says that it wrote; -1: it does not say. */
	int64_t written[AFS_N_STREAMS];
	bool unknown; /* run.json is missing or damaged */
	bool lacking; /* fewer records, or more, or the trace ended before the run */
};

static void dump_say(void *user, const char *text)
{
	(void)user;
	cmd_say("%s", text);
}

static bool dump_wanted(const struct dump *d, unsigned int stream, const void *record)
{
	uint64_t value;

	if (d->cfg.command != NOT_ASKED &&
	    (!dump_field(stream, "command", record, &value) || value != d->cfg.command))
		return false;
	return d->cfg.session == NOT_ASKED ||
	       (dump_field(stream, "session", record, &value) && value == d->cfg.session);
}

/* Compares with run.json for streams read to their end: a cut between two packets is not visible.
 */
static void check_written(struct dump *d, unsigned int mask)
{
	int64_t there;

	for (unsigned int i = 0; i < AFS_N_STREAMS; i++) {
		there = (int64_t)trace_reader_read(d->trace, i)->records;
		if (!(mask & 1u << i) || d->written[i] < 0 || there == d->written[i])
			continue;
		cmd_say("%s: %" PRId64 " records are here, %" PRId64
			" were written: is the copy complete?",
			stream_names[i], there, d->written[i]);
		d->lacking = true;
	}
}

/* Counting */

static void count_all(struct dump *d)
{
	const struct trace_read *read;
	unsigned int stream;

	while (trace_reader_next(d->trace, &stream))
		;
	check_written(d, ~0u);
	printf("%-9s %12s %9s %9s %9s %9s %12s\n", "stream", "records", "packets", "damaged",
	       "missing", "torn B", "lost");
	for (unsigned int i = 0; i < AFS_N_STREAMS; i++) {
		read = trace_reader_read(d->trace, i);
		if (read->there)
			printf("%-9s %12" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64
			       " %12" PRIu64 "\n",
			       stream_names[i], read->records, read->packets, read->damaged,
			       read->missing, read->torn_len, read->discarded);
		else
			printf("%-9s %12s\n", stream_names[i], "-");
	}
}

/* The longest */

static void keep_if_long(struct dump *d, unsigned int stream, const void *record)
{
	size_t at = d->n_slow;
	uint64_t ns;

	if (!dump_length(stream, record, &ns))
		return;
	if (at == d->cfg.slow && ns <= d->slow[at - 1].ns)
		return;
	if (at == d->cfg.slow)
		at--;
	else
		d->n_slow++;
	for (; at && d->slow[at - 1].ns < ns; at--)
		d->slow[at] = d->slow[at - 1];
	d->slow[at] = (struct kept) { .stream = stream, .ns = ns };
	memcpy(&d->slow[at].record, record, trace_streams[stream].len);
}

/*
 * The request shown that a call or wait was made for; -1: none. Work of a process other than the
 * session's has the request's id, command and time.
 */
static long request_of(const struct dump *d, unsigned int stream, const void *record)
{
	uint64_t begin = 0, end = 0, session = 0, id = 0, command = 0, role = 0;
	const struct afs_record_requests *r;

	dump_field(stream, "t", record, &begin);
	dump_field(stream, "timestamp", record, &end);
	dump_field(stream, "session", record, &session);
	dump_field(stream, "dsi_id", record, &id);
	dump_field(stream, "command", record, &command);
	dump_field(stream, "role", record, &role);
	for (size_t i = 0; i < d->n_slow; i++) {
		r = &d->slow[i].record.requests;
		if (id == r->dsi_id && command == r->command &&
		    (session == r->session || role != AFS_ROLE_SERVER) && end >= r->t &&
		    begin <= r->t + r->time_ns)
			return (long)i;
	}
	return -1;
}

static int keep_below(struct dump *d, unsigned int stream, const void *record)
{
	long request = request_of(d, stream, record);
	struct kept *k;

	if (request < 0)
		return 0;
	if (d->n_below == BELOW_MAX) {
		d->n_more++;
		return 0;
	}
	k = VEC_ADD(d->below, d->n_below);
	if (!k)
		return -ENOMEM;
	k->stream = stream;
	k->request = (unsigned int)request;
	memcpy(&k->record, record, trace_streams[stream].len);
	return 0;
}

/* Checks what was read for --calls. Every request makes calls: a file without any was cut. */
static void check_below(struct dump *d)
{
	check_written(d, 1u << AFS_STREAM_CALLS | 1u << AFS_STREAM_WAITS);
	if (d->lacking || !d->n_slow || trace_reader_read(d->trace, AFS_STREAM_CALLS)->records)
		return;
	cmd_say(
	    "calls: there is no record of a call although requests were made: is the copy of the "
	    "trace complete?");
	d->lacking = true;
}

static int by_begin(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;
	uint64_t tx = 0, ty = 0;

	dump_field(x->stream, "t", &x->record, &tx);
	dump_field(y->stream, "t", &y->record, &ty);
	return tx < ty ? -1 : tx > ty;
}

static int find_below(struct dump *d)
{
	unsigned int stream;
	const void *record;

	trace_reader_choose(d->trace, 1u << AFS_STREAM_CALLS | 1u << AFS_STREAM_WAITS);
	while ((record = trace_reader_next(d->trace, &stream)))
		if (keep_below(d, stream, record))
			return -ENOMEM;
	if (d->n_below)
		qsort(d->below, d->n_below, sizeof(*d->below), by_begin);
	return 0;
}

/* A request on an open file is about the one that had this number last. */
static void find_opens(struct dump *d)
{
	const struct afs_record_requests *open, *r;
	const char *name;
	unsigned int stream;
	struct kept *k;

	for (k = d->slow; k < d->slow + d->n_slow; k++)
		k->names = k->record.requests;
	trace_reader_choose(d->trace, 1u << AFS_STREAM_REQUESTS);
	while ((open = trace_reader_next(d->trace, &stream))) {
		name = account_known_name(open->command);
		if (!open->fork || open->result || !name || strcmp(name, "FPOpenFork"))
			continue;
		for (k = d->slow; k < d->slow + d->n_slow; k++) {
			r = &k->record.requests;
			if (r->fork == open->fork && r->session == open->session &&
			    r->command != open->command && open->timestamp <= r->t)
				k->names = *open;
		}
	}
}

/* The name that came last with its id before a request was answered is the request's. */
static void find_names(struct dump *d)
{
	const struct afs_record_texts *text;
	const struct afs_record_names *name;
	unsigned int stream;
	struct kept *k;

	trace_reader_choose(d->trace, 1u << AFS_STREAM_NAMES);
	while ((name = trace_reader_next(d->trace, &stream)))
		for (k = d->slow; k < d->slow + d->n_slow; k++)
			if (name->session == k->names.session && name->dsi_id == k->names.dsi_id &&
			    name->timestamp <= k->names.timestamp)
				k->name = *name;
	trace_reader_choose(d->trace, 1u << AFS_STREAM_TEXTS);
	while ((text = trace_reader_next(d->trace, &stream)))
		for (k = d->slow; k < d->slow + d->n_slow; k++)
			if (k->name.name == text->name)
				memcpy(k->text, text->text, sizeof(k->text) - 1);
}

static void dump_put_name(const struct kept *k)
{
	if (!k->name.timestamp || k->name.command != k->names.command)
		return;
	printf("    volume %u, directory %u", k->name.volume, k->name.dir);
	if (*k->text)
		printf(": ");
	else if (k->name.len)
		printf(": name %016llx", k->name.name);
	dump_name(stdout, k->text);
	putchar('\n');
}

static void put_below(const struct dump *d, size_t request)
{
	const struct dump_view view = { .relative = true,
					.named = true,
					.since_ns = d->slow[request].record.requests.t };

	for (size_t i = 0; i < d->n_below; i++) {
		if (d->below[i].request != request)
			continue;
		fputs("    ", stdout);
		dump_record(stdout, d->below[i].stream, &d->below[i].record, &view);
	}
}

static void put_slow(const struct dump *d)
{
	for (size_t i = 0; i < d->n_slow && !ferror(stdout); i++) {
		dump_record(stdout, d->slow[i].stream, &d->slow[i].record, &d->view);
		if (d->slow[i].stream == AFS_STREAM_REQUESTS)
			dump_put_name(&d->slow[i]);
		if (d->cfg.calls)
			put_below(d, i);
	}
	if (d->n_more)
		cmd_say("%" PRIu64 " more calls and waits of these requests are not shown: --slow "
			"with a smaller number",
			d->n_more);
}

/* All of it */

/* The column heads of every kind of record that follows. */
static void dump_put_heads(const struct dump *d)
{
	const struct dump_view below = { .named = true };

	for (unsigned int i = 0; i < AFS_N_STREAMS; i++)
		if ((d->cfg.stream == ALL_STREAMS && trace_reader_read(d->trace, i)->there) ||
		    d->cfg.stream == (int)i)
			dump_head(stdout, i, &d->view);
	for (unsigned int i = AFS_STREAM_CALLS; d->cfg.calls && i <= AFS_STREAM_WAITS; i++) {
		fputs("    ", stdout);
		dump_head(stdout, i, &below);
	}
}

static int dump_show(struct dump *d)
{
	bool all = d->cfg.stream == ALL_STREAMS;
	unsigned int mask = all ? ~0u : 1u << d->cfg.stream, stream;
	const void *record;
	uint64_t n = 0;

	d->view.named = all;
	d->view.offset_ns = trace_reader_offset_ns(d->trace);
	trace_reader_choose(d->trace, mask);
	dump_put_heads(d);
	while ((record = trace_reader_next(d->trace, &stream)) && !ferror(stdout)) {
		if (!dump_wanted(d, stream, record))
			continue;
		n++;
		if (d->cfg.slow)
			keep_if_long(d, stream, record);
		else
			dump_record(stdout, stream, record, &d->view);
	}
	if (!ferror(stdout))
		check_written(d, mask);
	if (!n && (d->cfg.command != NOT_ASKED || d->cfg.session != NOT_ASKED))
		cmd_say("no record matches: without --command and --session all are shown");
	if (d->cfg.calls && find_below(d))
		return -ENOMEM;
	if (d->cfg.calls)
		check_below(d);
	if (d->cfg.stream == AFS_STREAM_REQUESTS && d->cfg.slow) {
		find_opens(d);
		find_names(d);
	}
	put_slow(d);
	return 0;
}

/* What run.json says about the trace, if it was written. */
static void find_noted(struct dump *d, const char *run)
{
	char *text = runs_rung(run, "trace");

	d->unknown = !text;
	trace_noted(text ? text : "", d->written);
	free(text);
	text = runs_rung(run, "trace.truncated");
	if (text)
		cmd_say("the trace ends before the run: %s", text);
	d->lacking = !!text;
	free(text);
}

/* RUN/trace where there is one, else RUN is the trace itself. To be freed. */
static char *trace_of(struct dump *d, char *run)
{
	char *path = runs_path(run, "trace");
	struct stat st;

	find_noted(d, run);
	if (!path || (!stat(path, &st) && S_ISDIR(st.st_mode))) {
		if (d->unknown)
			cmd_say("%s/run.json is missing or damaged: whether the trace ends "
				"before the run is unknown",
				run);
		free(run);
		return path;
	}
	free(path);
	return run;
}

static enum outcome open_trace(struct dump *d, const char *name)
{
	const struct trace_listener listener = { .say = dump_say };
	struct err e = { 0 };
	enum outcome o = OUTCOME_OK;
	char *path;

	if (runs_find(&path, name, &e)) {
		cmd_say("%s", e.text);
		return e.code == -ENOMEM || e.code == -EACCES ? OUTCOME_FAILED : OUTCOME_USAGE;
	}
	path = trace_of(d, path);
	if (!path || trace_reader_open(&d->trace, path, &listener, &e)) {
		cmd_say("%s", path ? e.text : "out of memory");
		o = OUTCOME_FAILED;
	} else if (!d->cfg.count && d->cfg.stream != ALL_STREAMS &&
		   !trace_reader_read(d->trace, (unsigned int)d->cfg.stream)->there) {
		cmd_say("there are no records of kind %s in %s", stream_names[d->cfg.stream], path);
		o = OUTCOME_USAGE;
	} else if (d->cfg.calls && !trace_reader_read(d->trace, AFS_STREAM_CALLS)->there) {
		cmd_say("--calls: %s was made without calls (--trace=requests)", path);
		o = OUTCOME_USAGE;
	}
	free(path);
	return o;
}

static enum outcome dump_run(const struct dump_cfg *cfg, const char *name)
{
	struct dump d = { .cfg = *cfg };
	enum outcome o = OUTCOME_FAILED;

	d.slow = calloc(cfg->slow + 1, sizeof(*d.slow));
	if (!d.slow)
		cmd_say("out of memory");
	else
		o = open_trace(&d, name);
	if (!o && cfg->count) {
		count_all(&d);
	} else if (!o && dump_show(&d)) {
		cmd_say("out of memory");
		o = OUTCOME_FAILED;
	}
	if (!o && (trace_reader_flawed(d.trace) || d.lacking))
		o = OUTCOME_UNTRUSTED;
	trace_reader_close(d.trace);
	free(d.slow);
	free(d.below);
	return o;
}

static int fit_together(const struct dump_cfg *cfg, struct err *e)
{
	static const uint8_t none[AFS_RECORD_MAX];
	bool all = cfg->stream == ALL_STREAMS;
	unsigned int stream = (unsigned int)cfg->stream;
	uint64_t value;

	if (cfg->calls && (!cfg->slow || stream != AFS_STREAM_REQUESTS))
		return err_set(e, -EINVAL, "--calls needs --slow N, and requests");
	if (cfg->count && (cfg->slow || cfg->command != NOT_ASKED || cfg->session != NOT_ASKED))
		return err_set(e, -EINVAL, "--count counts all records, not chosen ones");
	if (all)
		return 0;
	if (cfg->command != NOT_ASKED && !dump_field(stream, "command", none, &value))
		return err_set(e, -EINVAL, "--command: %s have no AFP command",
			       stream_names[stream]);
	if (cfg->session != NOT_ASKED && !dump_field(stream, "session", none, &value))
		return err_set(e, -EINVAL, "--session: records of %s do not contain the session",
			       stream_names[stream]);
	if (cfg->slow && !dump_length(stream, none, &value))
		return err_set(e, -EINVAL, "--slow: %s have no duration", stream_names[stream]);
	return 0;
}

int cmd_dump(int argc, char **argv)
{
	struct dump_cfg cfg = { .command = NOT_ASKED, .session = NOT_ASKED };
	struct err e = { 0 };
	int first, r;

	r = opt_parse(dump_options, &cfg, argc, argv, &first, &e);
	if (!r && cfg.help) {
		puts(
		    "Usage: afpscope dump [OPTIONS] RUN\n"
		    "Prints the records of a run's trace. RUN is a folder, 'last', or the begin of "
		    "the name\nof one of your runs.\n");
		opt_help(stdout, dump_options);
		return OUTCOME_OK;
	}
	if (!r && argc - first != 1)
		r = err_set(&e, -EINVAL, "give one run");
	r = r ? r : fit_together(&cfg, &e);
	if (r)
		return cmd_usage_error("dump", &e);
	/* "dump | head" ends with head. */
	signal(SIGPIPE, SIG_DFL);
	return (int)dump_run(&cfg, argv[first]);
}
