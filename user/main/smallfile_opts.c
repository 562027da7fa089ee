/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of afpscope smallfile: their table, and what goes together. */
#include "main/smallfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CLIENTS_MAX  1000 /* three digits of their directories' names */
#define FILES_MAX    10000000
#define DIRS_MAX     10000 /* likewise four */
#define DEPTH_MAX    60    /* what clean removes over AFP, and the directory of the run */
#define NAME_MAX_LEN 32

static const enum smallfile_load default_loads[] = {
	SMALLFILE_CREATE,
	SMALLFILE_STAT,
	SMALLFILE_READ,
	SMALLFILE_DELETE,
};

/* A word of "create,stat,read". */
static int take_load(void *to, const char *word, struct err *e)
{
	struct smallfile_list *list = to;

	if (!word)
		return 0;
	if (list->n == SMALLFILE_LIST_MAX)
		return err_set(e, -EINVAL, "more than %d loads", SMALLFILE_LIST_MAX);
	return smallfile_find(&list->load[list->n++], word, e) ? -EINVAL : 0;
}

#define AT(field) offsetof(struct smallfile_cfg, field)

/* clang-format off */
const struct opt smallfile_options[] = {
	{ .type = OPT_HEADING, .help = "Load:" },
	{ .letter = 'l', .name = "loads", .arg = "LIST", .type = OPT_LIST, .offset = AT(list), .call = take_load, .repeats = true,
	  .help = "what is done with the files, in this order (default: create,stat,read,delete): create, append, "
		  "overwrite, read, rnd-wr, rnd-rd, seq-rdwrmix, stat, rename, chmod, setxattr, getxattr, link, "
		  "unlink-link, symlink, unlink-symlink, mkdir, rmdir, readdir, ls-l, delete; also seq-wr, seq-rd, unlink",
	  .more = "See LOADS. The first must be create, unless --tree names a directory that has the files." },
	{ .letter = 'n', .name = "threads", .arg = "N", .type = OPT_UINT, .offset = AT(clients), .min = 1, .max = CLIENTS_MAX,
	  .help = "how many clients, each with a thread, a session and files of its own (default: 1)" },
	{ .letter = 'f', .name = "files", .arg = "N", .type = OPT_UINT, .offset = AT(o.files), .min = 1, .max = FILES_MAX,
	  .help = "files of each client (default: 1000)" },
	{ .name = "files-per-dir", .arg = "N", .type = OPT_UINT, .offset = AT(o.files_per_dir), .min = 1, .max = FILES_MAX,
	  .help = "files in a directory (default: 1000)",
	  .more = "A client has at most 10000 directories." },
	{ .name = "depth", .arg = "N", .type = OPT_UINT, .offset = AT(o.depth), .min = 1, .max = DEPTH_MAX,
	  .help = "how many of a client's directories are below one another (default: 1, all are side by side)",
	  .more = "Each directory then has its files and the next directory, until N are below one another; the "
	 	"next one is in the tree's root again." },
	{ .name = "file-size", .arg = "BYTES", .type = OPT_SIZE, .offset = AT(o.file_len), .max = 1ull << 40,
	  .help = "length of each file (default: 4K)" },
	{ .name = "exponential", .type = OPT_FLAG, .offset = AT(o.exponential),
	  .help = "lengths at random, exponentially distributed around --file-size, at most 8 times that" },
	{ .name = "record", .arg = "BYTES", .type = OPT_SIZE, .offset = AT(o.record_len), .min = 1, .max = 64u << 20,
	  .help = "bytes of a read or write; the server's limit holds, too (default: 64K)" },
	{ .name = "records", .arg = "N", .type = OPT_UINT, .offset = AT(o.records), .max = 1u << 30,
	  .help = "rnd-wr, rnd-rd: records of each file (default: 0, all of them)" },
	{ .name = "read-percent", .arg = "PERCENT", .type = OPT_UINT, .offset = AT(o.read_percent), .max = 100,
	  .help = "seq-rdwrmix: how many of the files are read; the others are appended to (default: 50)" },
	{ .name = "fsync", .type = OPT_FLAG, .offset = AT(o.flush), .help = "flush a file that was written before it is closed",
	  .more = "It counts in the time of the operation." },
	SESSION_FORCE_OPTION(struct smallfile_cfg, w.s),
	{ .name = "direct", .type = OPT_FLAG, .offset = AT(direct), .help = "of a DIRECTORY: past the page cache (O_DIRECT)" },
	{ .name = "no-verify", .type = OPT_FLAG, .offset = AT(no_verify),
	  .help = "do not compare what is read with what was written",
	  .more = "Comparing, and making what is written for that, are in no time that is measured. With this option each "
		"write has the same bytes." },
	{ .name = "hash", .type = OPT_FLAG, .offset = AT(o.hashed),
	  .help = "put each file into a directory at random, not one directory after the other" },
	{ .name = "shuffle", .type = OPT_FLAG, .offset = AT(o.shuffled), .help = "take the files in an order at random",
	  .more = "Without it they are taken by number." },
	{ .name = "seed", .arg = "N", .type = OPT_SIZE, .offset = AT(o.seed),
	  .help = "of all that is at random: the same seed, the same files (default: 1)",
	  .more = "That is: the same lengths, contents, directories and orders." },
	{ .name = "prefix", .arg = "NAME", .type = OPT_STRING, .offset = AT(prefix),
	  .help = "how the names of files begin (default: f)",
	  .more = "Up to " OPT_TEXT(SMALLFILE_PREFIX_MAX) " bytes." },
	{ .letter = 'd', .name = "duration", .arg = "SECONDS", .type = OPT_SECONDS, .offset = AT(duration_s), .max = 604800,
	  .help = "for so long, repeat each load that does not change the files",
	  .more = "See LOADS. The others are done once with each file." },
	{ .name = "tree", .arg = "NAME", .type = OPT_STRING, .offset = AT(tree),
	  .help = "work in this directory, made if it is not there, and leave all files (default: a new one, which is "
		  "removed at the end)",
	  .more = "It is one of the volume, or in the DIRECTORY. A later run with the same options of files, "
	 	"lengths and seed finds the files again." },
	{ .name = "between", .arg = "COMMAND", .type = OPT_STRING, .offset = AT(between),
	  .help = "run this shell command before each load but the first, for example one that drops the caches",
	  .more = "If it fails, the run ends." },
	{ .name = "delay", .arg = "MICROSECONDS", .type = OPT_UINT, .offset = AT(delay_us), .max = 3600000000u,
	  .help = "a client waits this long after each file, within the measured time" },
	{ .name = "gun", .arg = "FILE", .type = OPT_STRING, .offset = AT(gun),
	  .help = "wait until FILE is there (on this machine, or gluster://HOST/VOLUME/FILE) and 3 s more, so that several "
		  "processes begin together; meanwhile HOST.PID.CLIENT.ready beside it says that each client is ready",
	  .more = "They begin together when somebody makes it. What says that they are ready is removed at the end. "
	 	"gfapi-perf-tool understands and makes the same files." },
	{ .name = "gun-timeout", .arg = "SECONDS", .type = OPT_SECONDS, .offset = AT(gun_timeout_s), .min = 1, .max = 86400,
	  .help = "end with exit code 1 if FILE does not come for so long (default: 60)" },
	{ .name = "mpi", .type = OPT_FLAG, .offset = AT(mpi),
	  .help = "mpirun has started several of this: share the clients",
	  .more = "The commands may be on one host or on several. They work in one tree, and each load begins at "
	 	"the same moment in all of them; the first one prints and keeps the result of all; the progress "
	 	"on a terminal is that of its own clients. See docs/mpi.md. Not together with --gun; the command "
	 	"of --between runs once, on the host of the first." },
	TICKER_OPTION(struct smallfile_cfg, live,
		"The line says which load it is and how far, then the second's operations done, median and 99th percentile, "
		"failed operations, file data. The keys of the objects are `second` (from the load's begin), `state`, "
		"`actions`, `failed`, `dropped` (always 0), `bytes`, `silent_s` (for how many seconds none has ended), "
		"`mean_ns`, `p50_ns`, `p99_ns`, `max_ns`, `probe_p99_ns` (null) and "
		"`phase`, the load. A load of less than a second has none. With --mpi they are those of the first process."),
	CONNECT_OPTIONS(struct smallfile_cfg, w.s.c),
	WORKLOAD_OUTPUT_OPTIONS(struct smallfile_cfg, w,
		"Among it is a line for each client and load; of many clients those that were slowest, the rest "
		"is in --json. " WORKLOAD_ONE_SCREEN),
	{ .type = OPT_END },
};
/* clang-format on */

static bool is_name(const char *text)
{
	return *text && !strchr(text, '/') && strcmp(text, ".") && strcmp(text, "..");
}

/* What no option shows by itself. */
static int smallfile_opts_judge(struct smallfile_cfg *cfg, struct err *e)
{
	struct smallfile_opts *o = &cfg->o;

	if (!is_name(cfg->prefix) || strlen(cfg->prefix) > SMALLFILE_PREFIX_MAX)
		return err_set(e, -EINVAL, "--prefix '%s': a name of 1 to %d bytes without '/'",
			       cfg->prefix, SMALLFILE_PREFIX_MAX);
	if (cfg->tree && !is_name(cfg->tree))
		return err_set(e, -EINVAL, "--tree '%s': a name without '/'", cfg->tree);
	if (smallfile_dirs(o) > DIRS_MAX)
		return err_set(e, -EINVAL,
			       "%u files with --files-per-dir %u need %u directories, at most %d "
			       "are possible",
			       o->files, o->files_per_dir, smallfile_dirs(o), DIRS_MAX);
	if (o->depth > smallfile_dirs(o))
		return err_set(e, -EINVAL,
			       "--depth %u: %u files with --files-per-dir %u need only %u "
			       "directories",
			       o->depth, o->files, o->files_per_dir, smallfile_dirs(o));
	if (!cfg->list.n) {
		cfg->list.n = sizeof(default_loads) / sizeof(default_loads[0]);
		memcpy(cfg->list.load, default_loads, sizeof(default_loads));
	}
	if (!cfg->tree && cfg->list.load[0] != SMALLFILE_CREATE)
		return err_set(e, -EINVAL,
			       "--loads: the first must be create, unless --tree names a directory "
			       "that has the files");
	if (cfg->mpi && cfg->gun)
		return err_set(e, -EINVAL, "--gun cannot be used with --mpi");
	return 0;
}

const struct job_type smallfile_job = {
	.command = "smallfile",
	.options = smallfile_options,
	.target = workload_take_target,
};

int smallfile_parse(struct workload_cfg *base, struct job *j, struct err *e)
{
	struct smallfile_cfg *cfg = (struct smallfile_cfg *)base;
	int r = workload_parse(base, j, true, e);

	if (r || base->help)
		return r;
	r = smallfile_opts_judge(cfg, e);
	if (r)
		return r;
	snprintf(cfg->o.prefix, sizeof(cfg->o.prefix), "%s", cfg->prefix);
	cfg->o.verify = !cfg->no_verify;
	base->s.buffered = !cfg->direct;
	return 0;
}

int smallfile_check(struct workload_cfg *base, struct err *e)
{
	struct smallfile_cfg *cfg = (struct smallfile_cfg *)base;
	char *argv[] = { "sh", "-c", (char *)(uintptr_t)cfg->between, NULL };
	int r = cfg->mpi ? launch_start(&cfg->launch, cfg->clients, e) : 0;

	if (r || cfg->launch.rank || !cfg->between)
		return r;
	for (unsigned int i = 1; !r && i < cfg->list.n; i++)
		r = child_start(&cfg->child[i], argv, e);
	return r;
}

static int note_loads(const struct smallfile_list *list, struct run_notes *o)
{
	char text[SMALLFILE_LIST_MAX * NAME_MAX_LEN] = "";
	size_t len = 0;

	for (unsigned int i = 0; i < list->n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? "," : "",
					smallfile_name(list->load[i]));
	return run_note(o, "loads", "%s", text);
}

int smallfile_describe(const struct smallfile_cfg *cfg, struct run_notes *notes)
{
	const struct smallfile_opts *o = &cfg->o;
	uint64_t bytes = 0;
	int r = note_loads(&cfg->list, notes);

	for (unsigned int i = 0; i < cfg->clients; i++)
		bytes += smallfile_bytes(o, i);
	r |= run_note(notes, "clients", "%u", cfg->clients);
	r |= run_note(notes, "files", "%u", o->files);
	r |= run_note(notes, "files_per_directory", "%u", o->files_per_dir);
	r |= run_note(notes, "depth", "%u", o->depth);
	r |= run_note(notes, "file_bytes", "%llu", (unsigned long long)o->file_len);
	r |= run_note(notes, "lengths", "%s", o->exponential ? "exponential" : "fixed");
	r |= run_note(notes, "set_bytes", "%llu", (unsigned long long)bytes);
	r |= run_note(notes, "record_bytes", "%llu", (unsigned long long)o->record_len);
	if (o->records)
		r |= run_note(notes, "records", "%u", o->records);
	r |= run_note(notes, "read_percent", "%u", o->read_percent);
	r |= run_note(notes, "fsync", "%s", o->flush ? "yes" : "no");
	r |= run_note(notes, "verified", "%s", o->verify ? "yes" : "no");
	r |= run_note(notes, "hashed", "%s", o->hashed ? "yes" : "no");
	r |= run_note(notes, "shuffled", "%s", o->shuffled ? "yes" : "no");
	r |= run_note(notes, "seed", "%llu", (unsigned long long)o->seed);
	r |= run_note(notes, "prefix", "%s", o->prefix);
	if (cfg->duration_s)
		r |= run_note(notes, "duration_s", "%u", cfg->duration_s);
	if (cfg->delay_us)
		r |= run_note(notes, "delay_us", "%u", cfg->delay_us);
	if (cfg->mpi)
		r |= run_note(notes, "ranks", "%u", cfg->launch.size);
	if (cfg->gun)
		r |= run_note(notes, "gun", "%s", cfg->gun);
	if (cfg->tree)
		r |= run_note(notes, "tree", "%s", cfg->tree);
	if (cfg->between)
		r |= run_note(notes, "between", "%s", cfg->between);
	return r;
}
