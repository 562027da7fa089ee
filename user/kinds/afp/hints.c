/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings and states that make figures differ; defaults and meanings are those of afp.conf(5). */

#include "kinds/afp/hints.h"

#include "base/file.h"
#include "base/vec.h"
#include "host/filesystem.h"
#include "host/owner.h"
#include "host/proc/procfs.h"
#include "kinds/afp/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* With fewer entries one directory of the tests fills the cache. The default before 4.6. */
#define DIRCACHE_SMALL 8192

/* The least swap of a process that is worth a hint. */
#define SWAPPED_KIB 1024

static void hints_add(struct hints *h, const char *key, bool weak, const char *where,
		      const char *todo, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
static void hints_add(struct hints *h, const char *key, bool weak, const char *where,
		      const char *todo, const char *fmt, ...)
{
	struct hint *one = VEC_ADD(h->hint, h->n);
	va_list ap;

	if (!one) {
		h->error = -ENOMEM;
		return;
	}
	one->key = key;
	one->weak = weak;
	snprintf(one->where, sizeof(one->where), "%s", where);
	snprintf(one->todo, sizeof(one->todo), "%s", todo);
	va_start(ap, fmt);
	vsnprintf(one->what, sizeof(one->what), fmt, ap);
	va_end(ap);
}

/* About a line of the configuration: "key = value", and what that does. */
static void add_item(struct hints *h, const char *key, bool weak, const struct afpconf_item *i,
		     const char *does, const char *todo)
{
	char where[sizeof(h->hint->where)];

	snprintf(where, sizeof(where), "%.*s:%u", CENSUS_PATH_MAX, i->file, i->line);
	hints_add(h, key, weak, where, todo, "%s = %.200s: %s", i->key, i->value, does);
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
static enum level log_level(const char *value)
{
	enum level most = LEVEL_SEVERE, one;
	size_t len;

	for (const char *at = value; *at; at += len) {
		at += strspn(at, " ,\t");
		len = strcspn(at, " ,\t");
		one = level_of(at, len);
		most = one > most ? one : most;
	}
	return most;
}

static bool is_debug(const char *value)
{
	return log_level(value) == LEVEL_DEBUG;
}

static bool is_info(const char *value)
{
	return log_level(value) == LEVEL_INFO;
}

static bool is_small(const char *value)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	return end != value && n < DIRCACHE_SMALL;
}

static bool is_one(const char *value)
{
	return strtoul(value, NULL, 10) == 1;
}

static bool hints_is_named(const char *value)
{
	return *value;
}

#define LOG_LESS   "log level = default:warn, and restart the server"
#define REMOVE_IT  "remove the line" CONF_UNLESS_IT
#define GLOBAL     true
#define ANY_OF_ALL false

/* Values that are worth a hint. If includes were followed, no include item is left. */
static const struct conf_rule conf_rules[] = {
	{ "log-level", false, GLOBAL, "log level", is_debug,
	  "lines are written for single requests: their writes are counted and take time", LOG_LESS,
	  0 },
	{ "log-level", false, GLOBAL, "log level", is_info,
	  "lines are written while clients work, and are counted", LOG_LESS, 0 },
	{ "sendfile", false, GLOBAL, "use sendfile", afpconf_is_no,
	  "file data is copied through the server: reads cost more calls and CPU",
	  "remove the line (the default is yes)" CONF_UNLESS_IT, 0 },
	{ "fce", false, GLOBAL, "fce listener", NULL,
	  "a datagram is sent for each change of a file or folder", REMOVE_IT, 0 },
	{ "fce-script", false, GLOBAL, "fce notify script", hints_is_named,
	  "a process is started for each change of a file or folder", REMOVE_IT, 0 },
	{ "spotlight", true, ANY_OF_ALL, "spotlight", afpconf_is_yes,
	  "searches, and indexers that follow changes, work on the same volume",
	  "spotlight = no while you measure", 0 },
	{ "appledouble", false, ANY_OF_ALL, "convert appledouble", afpconf_is_yes,
	  "each access looks for a ._ file to convert: more calls per request",
	  "convert the volume once with dbd(1), then convert appledouble = no", 0 },
	{ "include", true, ANY_OF_ALL, "include", NULL,
	  "this version of the server reads no included files: what is set there has no effect",
	  "put the settings into the file itself", 0 },
	{ "multi-protocol", true, GLOBAL, "multi protocol", afpconf_is_yes,
	  "whatever a session remembers is checked on disk at each use, and locks are strict",
	  "remove the line if only AFP clients use these volumes" CONF_UNLESS_IT, 406 },
	{ "validation", true, GLOBAL, "dircache validation freq", is_one,
	  "whatever a session remembers is checked on disk at each use; by default every 100th time",
	  REMOVE_IT, 406 },
};

/* The last value of a key in a section counts; of includes each. */
static bool is_hint(const struct conf_rule *rule, const struct afpconf *c,
		    const struct afpconf_item *i)
{
	return !strcasecmp(i->key, rule->key) &&
	       (!rule->is_global || !strcasecmp(i->section, "Global")) &&
	       (!strcmp(rule->key, "include") || i == afpconf_find(c, i->section, i->key)) &&
	       (!rule->applies || rule->applies(i->value));
}

/* The size of the cache of directories, by the key that this version reads. */
static void cache_hint(struct hints *out, const struct afpconf *c, unsigned int version)
{
	static const char *const keys[] = { "dircache size", "dircachesize" };
	const struct settings_cache *cache = settings_cache(version);
	const struct afpconf_item *i, *now = afpconf_find(c, "Global", cache->key);
	bool reads;
	char todo[128];

	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
		i = afpconf_find(c, "Global", keys[k]);
		reads = !strcmp(keys[k], cache->key) ||
			(cache->old_key && !strcmp(keys[k], cache->old_key));
		if (!i || (i != now && now && reads))
			continue; /* the other one counts */
		snprintf(todo, sizeof(todo), "remove the line, or set a larger %s", cache->key);
		if (cache->size)
			snprintf(todo, sizeof(todo),
				 "remove the line (the default is %" PRIu64
				 " entries), or set a larger %s",
				 cache->size, cache->key);
		if (!reads && cache->size)
			snprintf(todo, sizeof(todo), "%s = %.20s, and restart the server",
				 cache->key, i->value);
		if (!reads)
			add_item(out, "dircache-key", false, i,
				 "this version does not read it: the cache has its default size",
				 todo);
		else if (is_small(i->value))
			add_item(out, "dircache", false, i,
				 "so few entries are soon evicted: the same folders are looked up "
				 "on disk again",
				 todo);
	}
}

void hints_conf(struct hints *out, const struct afpconf *c, unsigned int version)
{
	const struct conf_rule *rule = conf_rules;

	for (; rule < conf_rules + sizeof(conf_rules) / sizeof(conf_rules[0]); rule++)
		for (size_t i = 0; i < c->n; i++)
			if ((!rule->since || version >= rule->since) &&
			    is_hint(rule, c, &c->item[i]))
				add_item(out, rule->hint, rule->weak, &c->item[i], rule->does,
					 rule->todo);
	cache_hint(out, c, version);
}

void hints_log(struct hints *out, const struct afpconf *c, const char *root)
{
	const struct afpconf_item *log = afpconf_find(c, "Global", "log file");
	const struct afpconf_item *set = afpconf_find(c, "Global", "log level");
	enum level level = set ? log_level(set->value) : LEVEL_NOTE;
	char does[300];
	struct stat ours, its;

	/* A log with hardly a line does not disturb. */
	if (!log || level < LEVEL_NOTE || filesystem_stat(&ours, root, log->value))
		return;
	for (size_t i = 0; i < c->n; i++) {
		const struct afpconf_item *path = &c->item[i];

		if (strcasecmp(path->key, "path") != 0 || path->value[0] != '/' ||
		    filesystem_stat(&its, root, path->value) || ours.st_dev != its.st_dev)
			continue;
		snprintf(does, sizeof(does),
			 "the log is written to the file system of the volume [%.100s]",
			 path->section);
		add_item(out, "log-file", level < LEVEL_INFO, log, does,
			 "put the log on another file system, or log less");
		return;
	}
}

/* A number in /proc/PID/status; 0: none. */
static uint64_t status_number(pid_t pid, const char *key)
{
	char text[64];

	return procfs_status(text, sizeof(text), pid, key) ? 0 : strtoull(text, NULL, 10);
}

/* Of the program that it runs. */
static void program_hints(struct hints *out, const char *where, pid_t pid)
{
	static const char *const slow[] = { "libasan.",     "libtsan.",   "libubsan.",
					    "libclang_rt.", "vgpreload_", NULL };
	const char *heavy = procfs_mapped(pid, slow);

	if (procfs_is_32bit(pid))
		hints_add(
		    out, "32-bit", false, where, "install a 64-bit build",
		    "it is a 32-bit program, whose calls cannot be distinguished: only /proc is "
		    "read");
	if (heavy)
		hints_add(out, "sanitizer", false, where,
			  "measure a build without sanitizers, outside valgrind",
			  "%s* is loaded: code runs several times slower", heavy);
}

/* forked: from another of the server's processes, whose program it runs. */
static void process_hints(struct hints *out, pid_t pid, bool forked)
{
	uint64_t tracer = status_number(pid, "TracerPid"), swapped = status_number(pid, "VmSwap");
	struct procstat st = { .comm = "?" };
	char where[32];

	snprintf(where, sizeof(where), "pid %d", pid);
	if (tracer) {
		procstat_read(&st, (pid_t)tracer);
		hints_add(out, "traced", false, where, "end the tracer",
			  "process %" PRIu64 " (%s) traces it: each call stops twice", tracer,
			  st.comm);
	}
	if (!forked)
		program_hints(out, where, pid);
	if (swapped > SWAPPED_KIB)
		hints_add(out, "swapped", false, where,
			  "give the machine more memory, or less work",
			  "%" PRIu64 " KiB of it are in swap", swapped);
}

static void placement_hint(struct hints *out, const char *where, pid_t pid)
{
	char cpus[128];

	if (!procfs_status(cpus, sizeof(cpus), pid, "Cpus_allowed_list") && strpbrk(cpus, "-,"))
		hints_add(
		    out, "placement", true, where,
		    "for comparisons pin server and client: taskset -apc CPU PID",
		    "may run on the CPUs %s: where it and the client run changes from run to run, "
		    "and times with it",
		    cpus);
}

static void replaced_hint(struct hints *out, const char *where, const struct servers_entry *s)
{
	const char *end = strstr(s->exe, " (deleted)");

	if (end && !end[10])
		hints_add(out, "replaced", true, where, "restart the server",
			  "%s was replaced or removed since it was started", s->comm);
}

static void foreign_hint(struct hints *out, const char *where, const struct servers_entry *s,
			 pid_t pid)
{
	const char *foreign = s->denied ? NULL : way_foreign(pid);

	if (foreign)
		hints_add(out, "way", true, where,
			  "if it is a relay, give the port of the server behind it", "%s is %s",
			  s->comm, foreign);
}

static void conf_hints(struct hints *out, const struct servers_entry *s, pid_t pid)
{
	struct err e = {};
	struct afpconf c;
	char root[64];
	int r;

	if (!owner_counts(s->owner)) {
		hints_add(out, "owner", true, s->comm, "look into its settings yourself",
			  "process %d is of user %u, not of root: its settings are not read", pid,
			  s->owner);
		return;
	}
	if (!s->conf[0]) {
		hints_add(out, "configuration", true, s->comm,
			  "start it with -F FILE, or look into its settings yourself",
			  "its configuration is not known: settings were not looked at");
		return;
	}
	procfs_inside(root, sizeof(root), pid, "");
	r = afpconf_read(&c, root, s->conf, afpconf_follows(pid), &e);
	if (r == -ENOMEM)
		out->error = r;
	else if (r)
		hints_add(out, "configuration", true, s->conf,
			  r == -EACCES ? "run as root" : "see whether the file is complete",
			  "settings were not looked at, or not all: %.300s", e.text);
	hints_conf(out, &c, settings_version_of(pid));
	hints_log(out, &c, root);
	afpconf_fini(&c);
}

/* A connection that broke: afpd keeps the session for "disconnect time" in case it comes back. */
static void left_hint(struct hints *out, const char *where, const struct servers_entry *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_sessions; i++)
		n += s->session[i].disconnected;
	if (n)
		hints_add(out, "sessions-without-client", true, where,
			  "those of a killed run of this program: afpscope clean, for each volume "
			  "and user of it; others end after \"disconnect time\" (24 h), or when "
			  "their process is ended (afpscope check -v lists them)",
			  "%zu session%s without a client hold%s places of \"max connections\"", n,
			  n == 1 ? "" : "s", n == 1 ? "s" : "");
}

void hints_server(struct hints *out, const struct servers_entry *s)
{
	pid_t pid = servers_process(s);
	char where[32];

	snprintf(where, sizeof(where), "pid %d", pid);
	conf_hints(out, s, pid);
	replaced_hint(out, where, s);
	foreign_hint(out, where, s, pid);
	placement_hint(out, where, pid);
	left_hint(out, where, s);
	if (s->master)
		process_hints(out, s->master, false);
	for (size_t i = 0; i < s->n_sessions; i++)
		process_hints(out, s->session[i].pid, s->master && !s->session[i].left);
	if (s->cnid_metad)
		process_hints(out, s->cnid_metad, false);
	for (size_t i = 0; i < s->n_dbd; i++)
		process_hints(out, s->dbd[i], false);
}

/* One hint, about the first CPU with another governor. */
static void governor_hint(struct hints *out)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	char path[96], text[64];

	for (long i = 0; i < n; i++) {
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%ld/cpufreq/scaling_governor", i);
		if (file_line(text, sizeof(text), path) || !strcmp(text, "performance"))
			continue;
		hints_add(out, "governor", false, path,
			  "cpupower frequency-set -g performance while you measure",
			  "the CPUs' clock follows the load (%s): times vary, counts do not", text);
		return;
	}
}

static void swap_hint(struct hints *out)
{
	uint64_t total, unused;

	if (procfs_memory(&total, "SwapTotal") && procfs_memory(&unused, "SwapFree") && total &&
	    unused <= total - total / 2)
		hints_add(out, "swap", true, "/proc/meminfo",
			  "give the machine more memory, or less work",
			  "%" PRIu64 " of %" PRIu64 " MiB of swap are in use",
			  (total - unused) / 1024, total / 1024);
}

/* What the two above could not look at: else it would seem that nothing is there. */
static void unseen_hints(struct hints *out)
{
	uint64_t total;

	if (!procfs_is_mounted())
		hints_add(out, "not-seen", true, "/proc", "mount -t proc proc /proc",
			  "it is not mounted here: servers, and whether the machine swaps, were "
			  "not looked at");
	else if (!procfs_memory(&total, "SwapTotal"))
		hints_add(out, "not-seen", true, "/proc/meminfo", "mount /proc without subset=pid",
			  "it cannot be read: whether the machine swaps was not looked at");
	if (access("/sys/devices/system/cpu", F_OK))
		hints_add(out, "not-seen", true, "/sys", "mount -t sysfs sysfs /sys",
			  "it is not mounted here: whether the CPUs' clock follows the load was "
			  "not looked at");
}

void hints_machine(struct hints *out)
{
	governor_hint(out);
	swap_hint(out);
	unseen_hints(out);
}

void hints_fini(struct hints *h)
{
	free(h->hint);
	memset(h, 0, sizeof(*h));
}
