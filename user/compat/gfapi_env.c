/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The environment variables of gfapi_perf_tool: their table, and what goes together. */
#include "compat/gfapi.h"

#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define THREADS_MAX 1000
#define FILES_MAX   10000000
#define KIB         1024ull
#define GIB_IN_KIB  (1ull << 20)
#define NUMBER_MAX  1000000000
#define DIRS_MAX    10000

enum kind {
	TEXT,
	NUMBER,
	RECORD, /* KiB, with or without a K */
	SIZE,   /* KiB, or with K, M, G, T */
	PERCENT,
};

struct variable {
	const char *name, *value; /* its default; NULL: it must be set */
	enum kind kind;
	size_t at;
	uint64_t min, max;
	const char *help;
};

#define AT(field) offsetof(struct gfapi_cfg, field)

/* clang-format off */
static const struct variable variables[] = {
	{ "GFAPI_VOLNAME", NULL, TEXT, AT(volume), 0, 0, "Gluster volume" },
	{ "GFAPI_HOSTNAME", NULL, TEXT, AT(host), 0, 0, "a Gluster server of the volume" },
	{ "GFAPI_TRANSPORT", "tcp", TEXT, AT(transport), 0, 0, "tcp; GlusterFS has no other any more" },
	{ "GFAPI_PORT", "24007", NUMBER, AT(port), 1, 65535, "port of the management daemon" },
	{ "GFAPI_FUSE", "0", NUMBER, AT(fuse), 0, NUMBER_MAX, "1: POSIX calls on GFAPI_BASEDIR, not libgfapi" },
	{ "GFAPI_LOAD", "seq-wr", TEXT, AT(load_name), 0, 0, "seq-wr, seq-rd, rnd-wr, rnd-rd, unlink, seq-rdwrmix" },
	{ "GFAPI_RECSZ", "64", RECORD, AT(record_kib), 1, GIB_IN_KIB, "KiB of a read or write" },
	{ "GFAPI_FSZ", "1M", SIZE, AT(file_kib), 0, 1ull << 40, "size of a file: KiB, or with K, M, G or T" },
	{ "GFAPI_FILES", "100", NUMBER, AT(files), 1, FILES_MAX, "files of each thread" },
	{ "GFAPI_FILES_PER_DIR", "1000", NUMBER, AT(files_per_dir), 1, FILES_MAX, "most files in a directory" },
	{ "GFAPI_THREADS_PER_PROC", "1", NUMBER, AT(threads), 1, THREADS_MAX, "threads, each with files of its own" },
	{ "GFAPI_RDPCT", "0", PERCENT, AT(read_percent), 0, 100, "seq-rdwrmix: percent of the files that are read" },
	{ "GFAPI_IOREQ", "0", NUMBER, AT(requests), 0, NUMBER_MAX, "rnd-wr, rnd-rd: records of each file; 0: all" },
	{ "GFAPI_BASEDIR", "/tmp", TEXT, AT(base), 0, 0, "directory of the files, which exists" },
	{ "GFAPI_PREFIX", "f", TEXT, AT(prefix), 0, 0, "how the names of the files begin" },
	{ "GFAPI_DIRECT", "0", NUMBER, AT(direct), 0, NUMBER_MAX, "1: past the page cache (O_DIRECT)" },
	{ "GFAPI_APPEND", "0", NUMBER, AT(append), 0, NUMBER_MAX, "1: seq-wr appends to files that exist" },
	{ "GFAPI_OVERWRITE", "0", NUMBER, AT(overwrite), 0, NUMBER_MAX, "1: seq-wr overwrites files that exist" },
	{ "GFAPI_FSYNC_AT_CLOSE", "0", NUMBER, AT(flush), 0, NUMBER_MAX, "1: fsync a file that was written" },
	{ "GFAPI_USEC_DELAY_PER_FILE", "0", NUMBER, AT(delay_us), 0, NUMBER_MAX, "microseconds to wait after each file" },
	{ "GFAPI_STARTING_GUN", "", TEXT, AT(gun), 0, 0, "begin 3 s after this file is there" },
	{ "GFAPI_STARTING_GUN_TIMEOUT", "60", NUMBER, AT(gun_timeout_s), 1, 86400, "seconds to wait for that file" },
	{ "GFAPI_SEED", "1", NUMBER, AT(set.seed), 0, NUMBER_MAX, "of all that is at random" },
	{ "GFAPI_FORCE", "0", NUMBER, AT(force), 0, 1, "1: begin also with less than twice the room free that the files take" },
	{ "GFAPI_TRCLVL", "0", NUMBER, AT(trace_level), 0, 9, "above 0: libgfapi logs to /tmp/glfs-PID.log" },
	{ "DEBUG", "0", NUMBER, AT(debug), 0, NUMBER_MAX, "1: print when each thread began and ended" },
};
/* clang-format on */

#define N_VARIABLES (sizeof(variables) / sizeof(variables[0]))

struct load_def {
	const char *name, *what;
	enum smallfile_load load;
};

static const struct load_def load_defs[] = {
	{ "seq-wr", "sequential write", SMALLFILE_CREATE },
	{ "seq-rd", "sequential read", SMALLFILE_READ },
	{ "rnd-wr", "random write", SMALLFILE_RND_WR },
	{ "rnd-rd", "random read", SMALLFILE_RND_RD },
	{ "unlink", "delete", SMALLFILE_DELETE },
	{ "seq-rdwrmix", "sequential read-write mix", SMALLFILE_MIX },
};

#define N_LOADS (sizeof(load_defs) / sizeof(load_defs[0]))

void gfapi_usage(FILE *out, const char *program)
{
	const struct variable *v;

	fprintf(out,
		"usage: %s\n"
		"environment variables may be inserted at front of command or exported\n"
		"defaults are in parentheses\n",
		program);
	for (size_t i = 0; i < N_VARIABLES; i++) {
		v = &variables[i];
		fprintf(out, "%s (%s) - %s\n", v->name,
			!v->value   ? "required"
			: *v->value ? v->value
				    : "none",
			v->help);
	}
}

/* ---- one variable ---- */

/* Digits, and then one of the letters of units, which it multiplies by: *unit is its place. */
static bool gfapi_env_take_number(const char *text, const char *units, uint64_t *n,
				  unsigned int *unit)
{
	const char *at;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*n = strtoull(text, &end, 10);
	*unit = 0;
	if (errno || !*end)
		return !errno;
	at = strchr(units, *end >= 'a' && *end <= 'z' ? *end - 'a' + 'A' : *end);
	*unit = at ? (unsigned int)(at - units) : 0;
	return at && !end[1];
}

static int set_number(const struct variable *v, const char *text, uint64_t *to, struct err *e)
{
	static const char *const units[] = { [NUMBER] = "", [RECORD] = "K", [SIZE] = "KMGT" };
	static const char *const forms[] = {
		[NUMBER] = "a whole number",
		[RECORD] = "a whole number of KiB",
		[SIZE] = "a whole number of KiB, or one with K, M, G or T",
	};
	unsigned int unit;

	if (gfapi_env_take_number(text, units[v->kind], to, &unit) && *to <= v->max >> 10 * unit) {
		*to <<= 10 * unit;
		if (*to >= v->min)
			return 0;
	}
	return err_set(e, -EINVAL, "%s=%s: %s from %" PRIu64 " to %" PRIu64 "%s is needed", v->name,
		       text, forms[v->kind], v->min, v->max, v->kind == NUMBER ? "" : " KiB");
}

static int set_percent(const struct variable *v, const char *text, double *to, struct err *e)
{
	const char *end;

	if (text_decimal(text, &end, to) && !*end && *to >= 0 && *to <= 100)
		return 0;
	return err_set(e, -EINVAL, "%s=%s: a percentage from 0 to 100 is needed", v->name, text);
}

/* What is empty is not set: scripts pass on variables that they do not have. */
static int read_variable(struct gfapi_cfg *cfg, const struct variable *v, struct err *e)
{
	const char *text = getenv(v->name);
	void *to = (char *)cfg + v->at;

	if (!text || !*text)
		text = v->value;
	if (!text)
		return err_set(e, -EINVAL,
			       "you must define environment variable %s (any argument lists them "
			       "all)",
			       v->name);
	if (v->kind == TEXT) {
		*(const char **)to = text;
		return 0;
	}
	return v->kind == PERCENT ? set_percent(v, text, to, e) : set_number(v, text, to, e);
}

/* ---- what goes together ---- */

static int choose_load(struct gfapi_cfg *cfg, struct err *e)
{
	const struct load_def *def = NULL;

	for (size_t i = 0; i < N_LOADS; i++)
		if (!strcmp(load_defs[i].name, cfg->load_name))
			def = &load_defs[i];
	if (!def)
		return err_set(e, -EINVAL,
			       "GFAPI_LOAD=%s: there are seq-wr, seq-rd, rnd-wr, rnd-rd, unlink, "
			       "seq-rdwrmix",
			       cfg->load_name);
	if (cfg->append && cfg->overwrite)
		return err_set(e, -EINVAL,
			       "GFAPI_APPEND and GFAPI_OVERWRITE cannot be used in the same test");
	cfg->what = def->what;
	cfg->load = def->load;
	cfg->mixed = def->load == SMALLFILE_MIX;
	cfg->random = def->load == SMALLFILE_RND_RD || def->load == SMALLFILE_RND_WR;
	if (def->load == SMALLFILE_CREATE && cfg->append)
		cfg->load = SMALLFILE_APPEND;
	if (def->load == SMALLFILE_CREATE && cfg->overwrite)
		cfg->load = SMALLFILE_OVERWRITE;
	if (cfg->mixed && !cfg->overwrite)
		cfg->append = 1;
	return 0;
}

/* A record is no longer than a file. */
static int choose_records(struct gfapi_cfg *cfg, struct err *e)
{
	uint64_t records;

	if (cfg->file_kib && cfg->file_kib < cfg->record_kib) {
		cfg->asked_kib = cfg->record_kib;
		cfg->record_kib = cfg->file_kib;
	}
	records = (cfg->file_kib + cfg->record_kib - 1) / cfg->record_kib;
	if (records > UINT32_MAX)
		return err_set(e, -EINVAL,
			       "a file has %" PRIu64 " records, at most %u are possible", records,
			       UINT32_MAX);
	if (cfg->random && cfg->requests > records)
		return err_set(e, -EINVAL,
			       "GFAPI_IOREQ=%" PRIu64 ": a file of %" PRIu64 " KiB has %" PRIu64
			       " records of %" PRIu64 " KiB",
			       cfg->requests, cfg->file_kib, records, cfg->record_kib);
	if (cfg->random && !cfg->requests)
		cfg->requests = records;
	return 0;
}

static int choose_set(struct gfapi_cfg *cfg, struct err *e)
{
	struct smallfile_opts *o = &cfg->set;
	long hundredths = lround(cfg->read_percent * 100);

	if (strchr(cfg->prefix, '/') || strlen(cfg->prefix) > SMALLFILE_PREFIX_MAX)
		return err_set(e, -EINVAL, "GFAPI_PREFIX=%s: at most %d bytes without '/'",
			       cfg->prefix, SMALLFILE_PREFIX_MAX);
	snprintf(o->prefix, sizeof(o->prefix), "%s", cfg->prefix);
	o->files = (unsigned int)cfg->files;
	o->files_per_dir = (unsigned int)cfg->files_per_dir;
	o->file_len = cfg->file_kib * KIB;
	o->record_len = cfg->record_kib * KIB;
	o->records = cfg->random ? (unsigned int)cfg->requests : 0;
	o->read_percent = (unsigned int)hundredths / 100;
	o->read_hundredths = (unsigned int)hundredths % 100;
	o->overwrites = cfg->mixed && cfg->overwrite;
	o->flush = cfg->flush;
	o->foreign = true;
	o->finds = cfg->load != SMALLFILE_CREATE && cfg->load != SMALLFILE_DELETE;
	o->lenient = true;
	o->base = "";
	if (smallfile_dirs(o) > DIRS_MAX)
		return err_set(
		    e, -EINVAL,
		    "GFAPI_FILES=%u with GFAPI_FILES_PER_DIR=%u needs %u directories, at "
		    "most %d are possible",
		    o->files, o->files_per_dir, smallfile_dirs(o), DIRS_MAX);
	return 0;
}

/* The directory of a mount exists; what is removed need not. */
static int check_directory(const struct gfapi_cfg *cfg, struct err *e)
{
	struct stat st;

	if (stat(cfg->base, &st))
		return cfg->load == SMALLFILE_DELETE && errno == ENOENT
			   ? 0
			   : err_set(e, -EINVAL, "GFAPI_BASEDIR=%s: %s", cfg->base,
				     strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return err_set(e, -EINVAL, "GFAPI_BASEDIR=%s: it is not a directory", cfg->base);
	return 0;
}

static int choose_place(struct gfapi_cfg *cfg, struct err *e)
{
	bool v6 = strchr(cfg->host, ':');
	int n;

	if (cfg->fuse) {
		n = snprintf(cfg->place, sizeof(cfg->place), "%s", cfg->base);
		return n < (int)sizeof(cfg->place)
			   ? check_directory(cfg, e)
			   : err_set(e, -EINVAL, "GFAPI_BASEDIR is too long");
	}
	if (strcmp(cfg->transport, "tcp"))
		return err_set(e, -EINVAL, "GFAPI_TRANSPORT=%s: only tcp is possible",
			       cfg->transport);
	if (strchr(cfg->volume, '/') || strchr(cfg->host, '/'))
		return err_set(e, -EINVAL,
			       "GFAPI_VOLNAME and GFAPI_HOSTNAME are names without '/'");
	n = snprintf(cfg->volume_place, sizeof(cfg->volume_place),
		     "gluster://%s%s%s:%" PRIu64 "/%s", v6 ? "[" : "", cfg->host, v6 ? "]" : "",
		     cfg->port, cfg->volume);
	if (n >= (int)sizeof(cfg->volume_place))
		return err_set(e, -EINVAL, "GFAPI_HOSTNAME and GFAPI_VOLNAME are too long");
	n = snprintf(cfg->place, sizeof(cfg->place), "%s%s%s", cfg->volume_place,
		     *cfg->base == '/' ? "" : "/", cfg->base);
	return n < (int)sizeof(cfg->place) ? 0 : err_set(e, -EINVAL, "GFAPI_BASEDIR is too long");
}

int gfapi_read(struct gfapi_cfg *cfg, struct err *e)
{
	struct session_cfg *s = &cfg->w.s;
	int r = 0;

	*cfg = (struct gfapi_cfg) { .w = WORKLOAD_DEFAULTS };
	for (size_t i = 0; !r && i < N_VARIABLES; i++)
		r = read_variable(cfg, &variables[i], e);
	r = r ? r : choose_load(cfg, e);
	r = r ? r : choose_records(cfg, e);
	r = r ? r : choose_set(cfg, e);
	r = r ? r : choose_place(cfg, e);
	s->local = true;
	s->directory = cfg->place;
	s->force = cfg->force;
	s->force_how = "GFAPI_FORCE=1";
	s->buffered = !cfg->direct;
	s->runs.not_kept = true;
	return r;
}

/* ---- the head ---- */

static void put_flags(FILE *out, const struct gfapi_cfg *cfg)
{
	if (cfg->direct)
		fputs("  forcing use of direct I/O with O_DIRECT flag in open call\n", out);
	if (cfg->delay_us)
		fprintf(out, "  sleeping %" PRIu64 " microsec after each file access\n",
			cfg->delay_us);
	if (cfg->mixed)
		fprintf(out, "  percent reads = %6.2f\n", cfg->read_percent);
	if (cfg->append)
		fputs("  using O_APPEND flag to append to existing files\n", out);
	if (cfg->overwrite)
		fputs("  overwriting existing files\n", out);
	if (cfg->asked_kib)
		fprintf(out,
			"  truncating record size %" PRIu64 " KB to file size %" PRIu64 " KB\n",
			cfg->asked_kib, cfg->file_kib);
	if (cfg->random)
		fprintf(out, "  random read/write requests = %" PRIu64 "\n", cfg->requests);
}

void gfapi_put_head(FILE *out, const struct gfapi_cfg *cfg)
{
	fprintf(out,
		"GLUSTER: \n  volume=%s\n  transport=%s\n  host=%s\n  port=%" PRIu64
		"\n  fuse?%s\n  trace level=%" PRIu64 "\n  start timeout=%" PRIu64 "\n",
		cfg->volume, cfg->transport, cfg->host, cfg->port, cfg->fuse ? "Yes" : "No",
		cfg->trace_level, cfg->gun_timeout_s);
	fprintf(out,
		"WORKLOAD:\n  type = %s \n  threads/proc = %" PRIu64
		"\n  base directory = %s\n  prefix=%s\n  file size = %" PRIu64
		" KB\n  file count = %" PRIu64 "\n",
		cfg->load_name, cfg->threads, cfg->base, cfg->prefix, cfg->file_kib, cfg->files);
	fprintf(out,
		"  record size = %" PRIu64 " KB\n  files/dir=%" PRIu64 "\n  fsync-at-close? %s \n",
		cfg->asked_kib ? cfg->asked_kib : cfg->record_kib, cfg->files_per_dir,
		cfg->flush ? "Yes" : "No");
	put_flags(out, cfg);
}
