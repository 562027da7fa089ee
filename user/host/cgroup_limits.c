/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/cgroup_limits.h"

#include "host/proctext.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 16384

/* Version 1 says "none" by a number near the largest. */
#define MEMORY_NONE (1ull << 62)

struct cgroup_reader {
	struct cgroup_limits *out;
	const char *root;
	struct cgroup_folder at;
};

static bool group_text(char out[TEXT_MAX], const struct cgroup_reader *r, const char *file)
{
	return cgroup_folder_text(out, TEXT_MAX, r->root, &r->at, file) > 0;
}

/* A file that begins with a number; "max" and -1 are none. */
static bool group_number(uint64_t *out, const struct cgroup_reader *r, const char *file)
{
	char text[TEXT_MAX];

	if (!group_text(text, r, file) || !isdigit((unsigned char)*text))
		return false;
	*out = strtoull(text, NULL, 10);
	return true;
}

static bool stat_number(uint64_t *out, const struct cgroup_reader *r, const char *file,
			const char *name)
{
	char text[TEXT_MAX];

	return group_text(text, r, file) && proctext_number(out, text, name, 10);
}

/* ---- CPUs ---- */

static void read_quota(struct cgroup_reader *r)
{
	struct cgroup_quota *q = &r->out->quota[r->out->n_quotas];
	uint64_t quota_us, period_us = 0;
	char text[TEXT_MAX];

	if (r->out->n_quotas == CGROUP_LEVELS)
		return;
	if (r->at.version == 1) {
		if (!group_number(&quota_us, r, "cpu.cfs_quota_us") ||
		    !group_number(&period_us, r, "cpu.cfs_period_us"))
			return;
	} else if (!group_text(text, r, "cpu.max") ||
		   sscanf(text, "%" SCNu64 " %" SCNu64, &quota_us, &period_us) != 2) {
		return;
	}
	if (!period_us || !stat_number(&q->periods, r, "cpu.stat", "nr_periods") ||
	    !stat_number(&q->throttled, r, "cpu.stat", "nr_throttled"))
		return;
	q->cpus = (double)quota_us / (double)period_us;
	memcpy(q->path, r->at.path, sizeof(q->path));
	r->out->n_quotas++;
}

/* ---- memory ---- */

/* used: file of what it has; hits: file, and line in it (NULL: it has only the number). */
static void read_memory_limit(struct cgroup_reader *r, const char *limit, const char *used,
			      const char *hits, const char *line)
{
	struct cgroup_memory *m = &r->out->mem[r->out->n_memories];

	if (r->out->n_memories == CGROUP_LEVELS || !group_number(&m->limit_b, r, limit) ||
	    m->limit_b >= MEMORY_NONE || !group_number(&m->used_b, r, used))
		return;
	if (line ? !stat_number(&m->hits, r, hits, line) : !group_number(&m->hits, r, hits))
		return;
	m->high = line && !strcmp(line, "high");
	memcpy(m->path, r->at.path, sizeof(m->path));
	r->out->n_memories++;
}

static void read_memory(struct cgroup_reader *r)
{
	static const char local[] = "memory.events.local";
	char text[TEXT_MAX];
	/* Before Linux 5.2 only with those of the groups below. */
	const char *events;

	if (r->at.version == 1) {
		read_memory_limit(r, "memory.limit_in_bytes", "memory.usage_in_bytes",
				  "memory.failcnt", NULL);
		return;
	}
	events = group_text(text, r, local) ? local : "memory.events";
	read_memory_limit(r, "memory.high", "memory.current", events, "high");
	read_memory_limit(r, "memory.max", "memory.current", events, "max");
}

static void read_memory_own(struct cgroup_reader *r)
{
	struct cgroup_limits *out = r->out;

	out->has_kills = stat_number(&out->kills, r,
				     r->at.version == 1 ? "memory.oom_control" : "memory.events",
				     "oom_kill");
	out->has_refaulted = stat_number(&out->refaulted, r, "memory.stat",
					 "workingset_refault_file") ||
			     stat_number(&out->refaulted, r, "memory.stat", "workingset_refault");
}

static bool read_stall(uint64_t *us, const struct cgroup_reader *r, const char *file)
{
	char text[TEXT_MAX];

	return group_text(text, r, file) && proctext_stall(us, text);
}

/* ---- devices ---- */

/* The line "8:16 rbps=1 wbps=2 ..." of a device, after its number; NULL: it has none. */
static const char *device_line(const char *text, unsigned int major, unsigned int minor)
{
	unsigned int major_at, minor_at;
	int len;

	for (const char *at = text; at && *at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (sscanf(at, "%u:%u %n", &major_at, &minor_at, &len) == 2 && major_at == major &&
		    minor_at == minor)
			return at + len;
	}
	return NULL;
}

/* "wbps=2" in such a line; "max" is none. */
static bool device_word(uint64_t *out, const char *line, const char *word)
{
	size_t line_len = strcspn(line, "\n"), len = strlen(word);

	for (const char *at = line; at < line + line_len; at += strcspn(at, " \n") + 1) {
		if (strncmp(at, word, len) != 0 || at[len] != '=' ||
		    !isdigit((unsigned char)at[len + 1]))
			continue;
		*out = strtoull(at + len + 1, NULL, 10);
		return true;
	}
	return false;
}

static void add_device(struct cgroup_reader *r, const struct cgroup_io *io)
{
	struct cgroup_io *to = &r->out->device[r->out->n_ios];

	if (r->out->n_ios == CGROUP_DEVICES)
		return;
	*to = *io;
	memcpy(to->path, r->at.path, sizeof(to->path));
	r->out->n_ios++;
}

static void read_device_second(struct cgroup_reader *r, const char *line, const char *stat,
			       struct cgroup_io *io)
{
	static const char *const limits[] = { "rbps", "wbps", "riops", "wiops" };
	static const char *const done[] = { "rbytes", "wbytes", "rios", "wios" };
	const char *is = device_line(stat, io->major, io->minor);

	for (unsigned int i = 0; i < CGROUP_N_IO; i++) {
		io->of = (enum cgroup_io_of)i;
		io->done = 0;
		/* A device that was not used yet has no line. */
		if (device_word(&io->limit, line, limits[i]) &&
		    (!is || device_word(&io->done, is, done[i])))
			add_device(r, io);
	}
}

static void read_io_second(struct cgroup_reader *r)
{
	char max[TEXT_MAX], stat[TEXT_MAX], *line, *rest = max;
	struct cgroup_io io = { 0 };
	int len;

	if (!group_text(max, r, "io.max"))
		return;
	group_text(stat, r, "io.stat");
	while ((line = strsep(&rest, "\n")))
		if (sscanf(line, "%u:%u %n", &io.major, &io.minor, &len) == 2)
			read_device_second(r, line + len, stat, &io);
}

/* The number of a line "8:0 Read 123". */
static uint64_t done_first(const char *text, const struct cgroup_io *io, const char *what)
{
	unsigned int major, minor;
	char word[16];
	uint64_t n;

	for (const char *at = text; at && *at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (sscanf(at, "%u:%u %15s %" SCNu64, &major, &minor, word, &n) == 4 &&
		    major == io->major && minor == io->minor && !strcmp(word, what))
			return n;
	}
	return 0;
}

static void read_io_first(struct cgroup_reader *r)
{
	static const struct {
		const char *limit, *done, *what;
	} of[CGROUP_N_IO] = {
		[CGROUP_READ_B] = { "read_bps_device", "io_service_bytes", "Read" },
		[CGROUP_WRITE_B] = { "write_bps_device", "io_service_bytes", "Write" },
		[CGROUP_READS] = { "read_iops_device", "io_serviced", "Read" },
		[CGROUP_WRITES] = { "write_iops_device", "io_serviced", "Write" },
	};
	char limits[TEXT_MAX], done[TEXT_MAX], file[64], *line, *rest;
	struct cgroup_io io = { 0 };

	for (unsigned int i = 0; i < CGROUP_N_IO; i++) {
		snprintf(file, sizeof(file), "blkio.throttle.%s", of[i].limit);
		if (!group_text(limits, r, file))
			continue;
		/* With the groups below, since Linux 4.14 or so. */
		snprintf(file, sizeof(file), "blkio.throttle.%s_recursive", of[i].done);
		if (!group_text(done, r, file)) {
			snprintf(file, sizeof(file), "blkio.throttle.%s", of[i].done);
			group_text(done, r, file);
		}
		io.of = (enum cgroup_io_of)i;
		rest = limits;
		while ((line = strsep(&rest, "\n"))) {
			if (sscanf(line, "%u:%u %" SCNu64, &io.major, &io.minor, &io.limit) != 3)
				continue;
			io.done = done_first(done, &io, of[i].what);
			add_device(r, &io);
		}
	}
}

static void read_io(struct cgroup_reader *r)
{
	if (r->at.version == 1)
		read_io_first(r);
	else
		read_io_second(r);
}

/* ---- all of it ---- */

static void each_level(struct cgroup_reader *r, const struct cgroup_folder *from,
		       void (*fn)(struct cgroup_reader *r))
{
	r->at = *from;
	if (!r->at.version)
		return;
	do {
		fn(r);
	} while (cgroup_folder_up(&r->at));
}

void cgroup_limits_read(struct cgroup_limits *out, const char *root, pid_t pid)
{
	struct cgroup_reader r = { .out = out, .root = root };

	memset(out, 0, sizeof(*out));
	cgroup_folder(&out->cpu, root, pid, "cpu");
	cgroup_folder(&out->memory, root, pid, "memory");
	cgroup_folder(&out->io, root, pid, "blkio");
	each_level(&r, &out->cpu, read_quota);
	each_level(&r, &out->memory, read_memory);
	each_level(&r, &out->io, read_io);
	r.at = out->memory;
	if (r.at.version && !cgroup_folder_is_all(&r.at))
		read_memory_own(&r);
	/* Version 2 has these also where its controllers are those of version 1. */
	if (cgroup_folder(&r.at, root, pid, NULL) || cgroup_folder_is_all(&r.at))
		return;
	out->has_memory_stall = read_stall(&out->memory_stall_us, &r, "memory.pressure");
	out->has_io_stall = read_stall(&out->io_stall_us, &r, "io.pressure");
}
