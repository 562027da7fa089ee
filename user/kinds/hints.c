/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings and states that make figures differ; defaults and meanings are those of afp.conf(5). */

#include "kinds/hints.h"

#include "base/file.h"
#include "host/filesystem.h"
#include "host/procfs.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* With fewer entries one directory of the twelve tests fills the cache. The default before 4.5. */
#define DIRCACHE_SMALL 8192

/* The least swap of a process that is worth a hint. */
#define SWAPPED_KIB 1024

static struct hint *add(struct hints *h, const char *key, bool weak)
{
	struct hint *more = realloc(h->hint, (h->n + 1) * sizeof(*more));

	if (!more)
		return NULL;
	h->hint = more;
	more[h->n] = (struct hint) { .key = key, .weak = weak };
	return &more[h->n++];
}

static int fill(struct hint *h, const char *where, const char *todo, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static int fill(struct hint *h, const char *where, const char *todo, const char *fmt, ...)
{
	va_list ap;

	if (!h)
		return -ENOMEM;
	snprintf(h->where, sizeof(h->where), "%s", where);
	snprintf(h->todo, sizeof(h->todo), "%s", todo);
	va_start(ap, fmt);
	vsnprintf(h->what, sizeof(h->what), fmt, ap);
	va_end(ap);
	return 0;
}

/* About a line of the configuration: "key = value", and what that does. */
static int fill_item(struct hint *h, const struct afpconf_item *i, const char *does,
		     const char *todo)
{
	char where[sizeof(h->where)];

	snprintf(where, sizeof(where), "%.*s:%u", CENSUS_PATH_MAX, i->file, i->line);
	return fill(h, where, todo, "%s = %.200s: %s", i->key, i->value, does);
}

static const struct afpconf_item *global(const struct afpconf *c, const char *key)
{
	return afpconf_find(c, "Global", key);
}

enum level { LEVEL_SEVERE, LEVEL_ERROR, LEVEL_WARN, LEVEL_NOTE, LEVEL_INFO, LEVEL_DEBUG };

/* One word of "log level": "type:level". */
static enum level level_of(const char *word, size_t len)
{
	static const char *const name[] = { "severe", "error", "warn", "note", "info" };
	const char *colon = memchr(word, ':', len);

	if (colon) {
		len -= (size_t)(colon + 1 - word);
		word = colon + 1;
	}
	for (int i = 0; i <= LEVEL_INFO; i++)
		if (strlen(name[i]) == len && !strncasecmp(name[i], word, len))
			return (enum level)i;
	/* debug, debug6 to debug9, maxdebug; unknown words are ignored. */
	if ((len >= 5 && !strncasecmp(word, "debug", 5)) ||
	    (len == 8 && !strncasecmp(word, "maxdebug", 8)))
		return LEVEL_DEBUG;
	return LEVEL_SEVERE;
}

/* The most verbose level of all types. */
static enum level log_level(const struct afpconf *c)
{
	const struct afpconf_item *i = global(c, "log level");
	enum level most = LEVEL_SEVERE, one;
	const char *at;
	size_t len;

	if (!i)
		return LEVEL_NOTE;
	for (at = i->value; *at; at += len) {
		at += strspn(at, " ,\t");
		len = strcspn(at, " ,\t");
		one = level_of(at, len);
		most = one > most ? one : most;
	}
	return most;
}

static int conf_log_level(struct hints *out, const struct afpconf *c)
{
	enum level level = log_level(c);

	if (level < LEVEL_INFO)
		return 0;
	return fill_item(add(out, "log-level", false), global(c, "log level"),
			 level == LEVEL_DEBUG
			     ? "lines are written for single requests: their writes are counted "
			       "and take time"
			     : "lines are written while clients work, and are counted",
			 "log level = default:warn, and restart the server");
}

static int conf_sendfile(struct hints *out, const struct afpconf *c)
{
	const struct afpconf_item *i = global(c, "use sendfile");
	bool on;

	if (!i || !afpconf_bool(i->value, &on) || on)
		return 0;
	return fill_item(add(out, "sendfile", false), i,
			 "file data is copied through the server: reads cost more calls and CPU",
			 "remove the line (the default is yes), unless this is what you measure");
}

static int conf_dircache(struct hints *out, const struct afpconf *c)
{
	const struct afpconf_item *i = global(c, "dircache size");
	unsigned long n;
	char *end;

	if (!i)
		return 0;
	n = strtoul(i->value, &end, 10);
	if (end == i->value || n >= DIRCACHE_SMALL)
		return 0;
	return fill_item(add(out, "dircache", false), i,
			 "so few entries are soon evicted: the same folders are looked up on disk "
			 "again",
			 "remove the line, or dircache size = 65536");
}

static int conf_fce(struct hints *out, const struct afpconf *c)
{
	const struct afpconf_item *i = global(c, "fce listener");
	int r = 0;

	if (i)
		r = fill_item(add(out, "fce", false), i,
			      "a datagram is sent for each change of a file or folder",
			      "remove the line, unless this is what you measure");
	i = global(c, "fce notify script");
	if (!r && i && *i->value)
		r = fill_item(add(out, "fce-script", false), i,
			      "a process is started for each change of a file or folder",
			      "remove the line, unless this is what you measure");
	return r;
}

/* Settings of [Global] or of a volume that are switched on explicitly. */
static int conf_switched_on(struct hints *out, const struct afpconf *c)
{
	bool on;
	int r = 0;

	for (size_t i = 0; i < c->n && !r; i++) {
		const struct afpconf_item *item = &c->item[i];

		if (!afpconf_bool(item->value, &on) || !on ||
		    item != afpconf_find(c, item->section, item->key))
			continue;
		if (!strcasecmp(item->key, "spotlight"))
			r = fill_item(add(out, "spotlight", true), item,
				      "searches, and indexers that follow changes, work on the "
				      "same volume",
				      "spotlight = no while you measure");
		else if (!strcasecmp(item->key, "convert appledouble"))
			r = fill_item(add(out, "appledouble", false), item,
				      "each access looks for a ._ file to convert: more calls per "
				      "request",
				      "convert the volume once with dbd(1), then convert "
				      "appledouble = no");
	}
	return r;
}

/* If includes were followed, no include item is left. */
static int conf_include(struct hints *out, const struct afpconf *c)
{
	int r = 0;

	for (size_t i = 0; i < c->n && !r; i++)
		if (!strcasecmp(c->item[i].key, "include"))
			r = fill_item(add(out, "include", true), &c->item[i],
				      "this version of the server reads no included files: what "
				      "is set there has no effect",
				      "put the settings into the file itself");
	return r;
}

int hints_conf(struct hints *out, const struct afpconf *c)
{
	static int (*const rule[])(struct hints * out, const struct afpconf *c) = {
		conf_log_level, conf_sendfile,    conf_dircache,
		conf_fce,       conf_switched_on, conf_include,
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(rule) / sizeof(rule[0]) && !r; i++)
		r = rule[i](out, c);
	return r;
}

int hints_log(struct hints *out, const struct afpconf *c, const char *root)
{
	const struct afpconf_item *log = global(c, "log file");
	char does[300];
	struct stat ours, its;

	/* A log with hardly a line does not disturb. */
	if (!log || log_level(c) < LEVEL_NOTE || filesystem_stat(&ours, root, log->value))
		return 0;
	for (size_t i = 0; i < c->n; i++) {
		const struct afpconf_item *path = &c->item[i];

		if (strcasecmp(path->key, "path") != 0 || path->value[0] != '/' ||
		    filesystem_stat(&its, root, path->value) || ours.st_dev != its.st_dev)
			continue;
		snprintf(does, sizeof(does),
			 "the log is written to the file system of the volume [%.100s]",
			 path->section);
		return fill_item(add(out, "log-file", log_level(c) < LEVEL_INFO), log, does,
				 "put the log on another file system, or log less");
	}
	return 0;
}

/* A number in /proc/PID/status; 0: none. */
static uint64_t status_number(pid_t pid, const char *key)
{
	char text[64];

	return procfs_status(text, sizeof(text), pid, key) ? 0 : strtoull(text, NULL, 10);
}

static int process_hints(struct hints *out, pid_t pid)
{
	static const char *const slow[] = { "libasan.",     "libtsan.",   "libubsan.",
					    "libclang_rt.", "vgpreload_", NULL };
	uint64_t tracer = status_number(pid, "TracerPid"), swapped = status_number(pid, "VmSwap");
	const char *heavy = procfs_mapped(pid, slow);
	struct procstat st = { .comm = "?" };
	char where[32];
	int r = 0;

	snprintf(where, sizeof(where), "pid %d", pid);
	if (tracer)
		procstat_read(&st, (pid_t)tracer);
	if (tracer)
		r = fill(add(out, "traced", false), where, "end the tracer",
			 "process %" PRIu64 " (%s) traces it: each call stops twice", tracer,
			 st.comm);
	if (!r && heavy)
		r = fill(add(out, "sanitizer", false), where,
			 "measure a build without sanitizers, outside valgrind",
			 "%s* is loaded: code runs several times slower", heavy);
	if (!r && swapped > SWAPPED_KIB)
		r = fill(add(out, "swapped", false), where,
			 "give the machine more memory, or less work",
			 "%" PRIu64 " KiB of it are in swap", swapped);
	return r;
}

static int placement_hint(struct hints *out, pid_t pid)
{
	char cpus[128], where[32];

	if (procfs_status(cpus, sizeof(cpus), pid, "Cpus_allowed_list") || !strpbrk(cpus, "-,"))
		return 0;
	snprintf(where, sizeof(where), "pid %d", pid);
	return fill(add(out, "placement", true), where,
		    "for comparisons pin server and client: taskset -apc CPU PID",
		    "may run on the CPUs %s: where it and the client run changes from run to run, "
		    "and times with it",
		    cpus);
}

static int replaced_hint(struct hints *out, const struct servers_entry *s, pid_t pid)
{
	const char *end = strstr(s->exe, " (deleted)");
	char where[32];

	if (!end || end[10])
		return 0;
	snprintf(where, sizeof(where), "pid %d", pid);
	return fill(add(out, "replaced", true), where, "restart the server",
		    "%s was replaced or removed since it was started", s->comm);
}

static int conf_hints(struct hints *out, const struct servers_entry *s, pid_t pid)
{
	/* netatalk's own parser, up to 3.1, follows includes; the library that replaced it does
	 * not. */
	static const char *const library[] = { "libiniparser", NULL };
	struct err e = {};
	struct afpconf c;
	char root[64];
	int r;

	if (!s->conf[0])
		return fill(add(out, "configuration", true), s->comm,
			    "start it with -F FILE, or look into its settings yourself",
			    "its configuration is not known: settings were not looked at");
	procfs_inside(root, sizeof(root), pid, "");
	r = afpconf_read(&c, root, s->conf, !procfs_mapped(pid, library), &e);
	if (r && r != -ENOMEM)
		r = fill(add(out, "configuration", true), s->conf,
			 r == -EACCES ? "run as root" : "see whether the file is complete",
			 "settings were not looked at, or not all: %.300s", e.text);
	if (!r)
		r = hints_conf(out, &c);
	if (!r)
		r = hints_log(out, &c, root);
	afpconf_fini(&c);
	return r;
}

int hints_server(struct hints *out, const struct servers_entry *s)
{
	pid_t pid = s->master;
	int r;

	if (!pid && s->n_sessions)
		pid = s->session[0].pid;
	r = conf_hints(out, s, pid);
	if (!r)
		r = replaced_hint(out, s, pid);
	if (!r)
		r = placement_hint(out, pid);
	if (!r && s->master)
		r = process_hints(out, s->master);
	for (size_t i = 0; i < s->n_sessions && !r; i++)
		r = process_hints(out, s->session[i].pid);
	if (!r && s->cnid_metad)
		r = process_hints(out, s->cnid_metad);
	for (size_t i = 0; i < s->n_dbd && !r; i++)
		r = process_hints(out, s->dbd[i]);
	return r;
}

/* One hint, about the first CPU with another governor. */
static int governor_hint(struct hints *out)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	char path[96], text[64];

	for (long i = 0; i < n; i++) {
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%ld/cpufreq/scaling_governor", i);
		if (file_line(text, sizeof(text), path) || !strcmp(text, "performance"))
			continue;
		return fill(add(out, "governor", false), path,
			    "cpupower frequency-set -g performance while you measure",
			    "the CPUs' clock follows the load (%s): times vary, counts do not",
			    text);
	}
	return 0;
}

static int swap_hint(struct hints *out)
{
	uint64_t total, unused;

	if (procfs_swap(&total, &unused))
		return 0;
	if (!total || total - unused < total / 2)
		return 0;
	return fill(add(out, "swap", true), "/proc/meminfo",
		    "give the machine more memory, or less work",
		    "%" PRIu64 " of %" PRIu64 " MiB of swap are in use", (total - unused) / 1024,
		    total / 1024);
}

int hints_machine(struct hints *out)
{
	int r = governor_hint(out);

	return r ? r : swap_hint(out);
}

void hints_fini(struct hints *h)
{
	free(h->hint);
	memset(h, 0, sizeof(*h));
}
