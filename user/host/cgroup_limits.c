/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/cgroup has the group's name, /proc/self/mountinfo where the groups are. */
#include "host/cgroup_limits.h"

#include "base/file.h"
#include "base/text.h"
#include "host/proc/proctext.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 16384

/* Version 1 says "none" by a number near the largest. */
#define MEMORY_NONE (1ull << 62)

/* ---- folders ---- */

/* A line "4:cpu,cpuacct:/a/b", or "0::/a/b" of version 2. */
static void take_group_name(struct cgroup_folder *out, char *line, const char *controller)
{
	const char *list;

	strsep(&line, ":");
	list = strsep(&line, ":");
	if (!line || *line != '/')
		return;
	if (*list ? !controller || !text_has_word(list, ',', controller) : out->version == 1)
		return;
	out->version = *list ? 1 : 2;
	snprintf(out->path, sizeof(out->path), "%s", line);
}

static void read_name(struct cgroup_folder *out, const char *root, pid_t pid,
		      const char *controller)
{
	char file[PATH_MAX], text[TEXT_MAX], *line, *rest = text;

	snprintf(file, sizeof(file), "%s/proc/%d/cgroup", root, pid);
	if (file_text(text, sizeof(text), file) < 0)
		return;
	while ((line = strsep(&rest, "\n")))
		take_group_name(out, line, controller);
}

/*
 * The mount's path in front of the name; the mount may begin with a folder of the hierarchy, as
 * those in containers do. false: another mount, or the group is not below it.
 */
static bool cgroup_folder_join(struct cgroup_folder *f, const struct proctext_mount *m,
			       const char *controller)
{
	const char *rest = text_below(f->path, m->root);
	char path[CGROUP_PATH_MAX];
	int len;

	if (f->version == 2
		? strcmp(m->type, "cgroup2") != 0
		: strcmp(m->type, "cgroup") != 0 || !text_has_word(m->options, ',', controller))
		return false;
	if (!rest || !strncmp(rest, "/..", 3))
		return false;
	len = snprintf(path, sizeof(path), "%s%s", m->point, rest);
	if (len >= (int)sizeof(path))
		return false;
	f->top_len = strlen(m->point);
	memcpy(f->path, path, (size_t)len + 1);
	return true;
}

static bool has_file(const char *root, const struct cgroup_folder *f, size_t path_len,
		     const char *file)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%.*s/%s", root, (int)path_len, f->path, file);
	return !access(path, F_OK);
}

static bool read_mount(struct cgroup_folder *f, const char *root, const char *controller)
{
	char path[PATH_MAX], *line = NULL;
	struct proctext_mount m;
	bool found = false;
	size_t len = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
	file = fopen(path, "re");
	while (file && !found && getline(&line, &len, file) > 0)
		found = !proctext_mount(&m, line) && cgroup_folder_join(f, &m, controller);
	free(line);
	if (file)
		fclose(file);
	return found;
}

int cgroup_folder(struct cgroup_folder *out, const char *root, pid_t pid, const char *controller)
{
	*out = (struct cgroup_folder) { 0 };
	read_name(out, root, pid, controller);
	if (!out->version || !read_mount(out, root, controller) ||
	    !has_file(root, out, strlen(out->path), "cgroup.procs")) {
		out->version = 0;
		return -ENODATA;
	}
	/* Files that only the topmost group has, and only the others. */
	out->whole = out->version == 1 ? has_file(root, out, out->top_len, "cgroup.sane_behavior")
				       : !has_file(root, out, out->top_len, "cgroup.events");
	return 0;
}

bool cgroup_folder_up(struct cgroup_folder *f)
{
	char *slash = strrchr(f->path, '/');

	if (!slash || (size_t)(slash - f->path) < f->top_len)
		return false;
	*slash = '\0';
	return true;
}

bool cgroup_folder_is_all(const struct cgroup_folder *f)
{
	return f->whole && strlen(f->path) == f->top_len;
}

/* ---- what is in them ---- */

struct cgroup_reader {
	struct cgroup_limits *out;
	const char *root;
	struct cgroup_folder at; /* more_limits: of the levels so far */
};

static ssize_t group_file_read(char out[TEXT_MAX], const struct cgroup_reader *r, const char *file)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s/%s", r->root, r->at.path, file);
	return file_text(out, TEXT_MAX, path);
}

static bool group_text(char out[TEXT_MAX], const struct cgroup_reader *r, const char *file)
{
	return group_file_read(out, r, file) > 0;
}

/* A file that begins with a number; "max" and -1 are none. */
static bool group_number(uint64_t *out, const struct cgroup_reader *r, const char *file)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s/%s", r->root, r->at.path, file);
	return file_first_number(out, path);
}

static bool stat_number(uint64_t *out, const struct cgroup_reader *r, const char *file,
			const char *name)
{
	char text[TEXT_MAX];

	return group_text(text, r, file) && proctext_number(out, text, name);
}

bool cgroup_frozen(const char *root, pid_t pid)
{
	struct cgroup_reader r = { .root = root };
	char text[TEXT_MAX];
	uint64_t frozen = 0;

	if (!cgroup_folder(&r.at, root, pid, "freezer") && r.at.version == 1 &&
	    group_text(text, &r, "freezer.state") && !strncmp(text, "FROZEN", 6))
		return true;
	return !cgroup_folder(&r.at, root, pid, NULL) &&
	       stat_number(&frozen, &r, "cgroup.events", "frozen") && frozen;
}

/* ---- CPUs ---- */

static bool read_quota_counts(struct cgroup_quota *q, const struct cgroup_reader *r)
{
	q->has_wait = stat_number(&q->wait_ns, r, "cpu.stat",
				  r->at.version == 1 ? "throttled_time" : "throttled_usec");
	if (r->at.version != 1)
		q->wait_ns *= 1000;
	return stat_number(&q->periods, r, "cpu.stat", "nr_periods") &&
	       stat_number(&q->throttled, r, "cpu.stat", "nr_throttled");
}

static void read_quota(struct cgroup_reader *r)
{
	uint64_t quota_us, period_us = 0;
	struct cgroup_quota q = { 0 };
	char text[TEXT_MAX];

	if (r->at.version == 1) {
		if (!group_number(&quota_us, r, "cpu.cfs_quota_us") ||
		    !group_number(&period_us, r, "cpu.cfs_period_us"))
			return;
	} else if (!group_text(text, r, "cpu.max") ||
		   sscanf(text, "%" SCNu64 " %" SCNu64, &quota_us, &period_us) != 2) {
		return;
	}
	if (!period_us)
		return;
	q.cpus = (double)quota_us / (double)period_us;
	memcpy(q.path, r->at.path, sizeof(q.path));
	if (r->out->n_quotas < CGROUP_LEVELS && read_quota_counts(&q, r))
		r->out->quota[r->out->n_quotas++] = q;
	else
		r->at.more_limits = true;
}

/* ---- memory ---- */

/* used: file of what it has; hits: file, and line in it (NULL: it has only the number). */
static void read_memory_limit(struct cgroup_reader *r, const char *limit, const char *used,
			      const char *hits, const char *line)
{
	struct cgroup_memory m = { .high = line && !strcmp(line, "high") };

	if (!group_number(&m.limit_b, r, limit) || m.limit_b >= MEMORY_NONE)
		return;
	memcpy(m.path, r->at.path, sizeof(m.path));
	if (r->out->n_memories < CGROUP_LEVELS && group_number(&m.used_b, r, used) &&
	    (line ? stat_number(&m.hits, r, hits, line) : group_number(&m.hits, r, hits)))
		r->out->mem[r->out->n_memories++] = m;
	else
		r->at.more_limits = true;
}

static void cgroup_limits_read_memory(struct cgroup_reader *r)
{
	static const char events[] = "memory.events.local"; /* not those of the groups below */

	if (r->at.version == 1) {
		read_memory_limit(r, "memory.limit_in_bytes", "memory.usage_in_bytes",
				  "memory.failcnt", NULL);
		return;
	}
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
					 "workingset_refault_file");
}

static bool read_stall(uint64_t *us, const struct cgroup_reader *r, const char *file)
{
	char text[TEXT_MAX];

	return group_text(text, r, file) && proctext_stall(us, text);
}

/* ---- devices ---- */

#define V1 "blkio.throttle."

/* Where a limit and what was done are, of both versions: a file, and how a device's line begins. */
static const struct io_files {
	const char *limit_file, *limit, *done_file, *done;
} io_files[2][CGROUP_N_IO] = {
	{
	    { V1 "read_bps_device", "%u:%u %" SCNu64, V1 "io_service_bytes_recursive",
	      "%u:%u Read %" SCNu64 },
	    { V1 "write_bps_device", "%u:%u %" SCNu64, V1 "io_service_bytes_recursive",
	      "%u:%u Write %" SCNu64 },
	    { V1 "read_iops_device", "%u:%u %" SCNu64, V1 "io_serviced_recursive",
	      "%u:%u Read %" SCNu64 },
	    { V1 "write_iops_device", "%u:%u %" SCNu64, V1 "io_serviced_recursive",
	      "%u:%u Write %" SCNu64 },
	},
	{
	    { "io.max", "%u:%u rbps=%" SCNu64, "io.stat", "%u:%u rbytes=%" SCNu64 },
	    { "io.max", "%u:%u %*s wbps=%" SCNu64, "io.stat", "%u:%u %*s wbytes=%" SCNu64 },
	    { "io.max", "%u:%u %*s %*s riops=%" SCNu64, "io.stat", "%u:%u %*s %*s rios=%" SCNu64 },
	    { "io.max", "%u:%u %*s %*s %*s wiops=%" SCNu64, "io.stat",
	      "%u:%u %*s %*s %*s wios=%" SCNu64 },
	},
};

static const char *cgroup_limits_next_line(const char *at)
{
	at = strchr(at, '\n');
	return at ? at + 1 : NULL;
}

/* A device that was not used yet has no line. */
static uint64_t device_done(const char *text, const char *form, const struct cgroup_io *io)
{
	unsigned int major, minor;
	uint64_t n;

	for (const char *at = text; at; at = cgroup_limits_next_line(at))
		if (sscanf(at, form, &major, &minor, &n) == 3 && major == io->major &&
		    minor == io->minor)
			return n;
	return 0;
}

/* The text may be empty: nothing was used yet. */
static bool is_whole_text(ssize_t len)
{
	return len >= 0 && len < TEXT_MAX - 1;
}

static void read_device_limits(struct cgroup_reader *r)
{
	char limits[TEXT_MAX], done[TEXT_MAX];
	struct cgroup_limits *out = r->out;
	struct cgroup_io io;
	ssize_t len;
	bool fits;

	for (io.of = 0; io.of < CGROUP_N_IO; io.of++) {
		const struct io_files *is = &io_files[r->at.version - 1][io.of];

		len = group_file_read(limits, r, is->limit_file);
		/* Without the file there are none: so it is where the controller is not used. */
		r->at.more_limits |= len != -ENOENT && !is_whole_text(len);
		fits = is_whole_text(group_file_read(done, r, is->done_file));
		for (const char *at = limits; at; at = cgroup_limits_next_line(at)) {
			/* "max" is none. */
			if (sscanf(at, is->limit, &io.major, &io.minor, &io.limit) != 3)
				continue;
			if (!fits || out->n_ios == CGROUP_DEVICES) {
				r->at.more_limits = true;
				break;
			}
			io.done = device_done(done, is->done, &io);
			memcpy(io.path, r->at.path, sizeof(io.path));
			out->device[out->n_ios++] = io;
		}
	}
}

/* ---- all of it ---- */

static void each_level(struct cgroup_reader *r, struct cgroup_folder *from,
		       void (*fn)(struct cgroup_reader *r))
{
	r->at = *from;
	if (!r->at.version)
		return;
	do {
		fn(r);
	} while (cgroup_folder_up(&r->at));
	from->more_limits = r->at.more_limits;
}

void cgroup_limits_read(struct cgroup_limits *out, const char *root, pid_t pid)
{
	struct cgroup_reader r = { .out = out, .root = root };

	memset(out, 0, sizeof(*out));
	cgroup_folder(&out->cpu, root, pid, "cpu");
	cgroup_folder(&out->memory, root, pid, "memory");
	cgroup_folder(&out->io, root, pid, "blkio");
	each_level(&r, &out->cpu, read_quota);
	each_level(&r, &out->memory, cgroup_limits_read_memory);
	each_level(&r, &out->io, read_device_limits);
	r.at = out->memory;
	if (r.at.version && !cgroup_folder_is_all(&r.at))
		read_memory_own(&r);
	/* Version 2 has these also where its controllers are those of version 1. */
	if (cgroup_folder(&r.at, root, pid, NULL) || cgroup_folder_is_all(&r.at))
		return;
	out->has_memory_stall = read_stall(&out->memory_stall_us, &r, "memory.pressure");
	out->has_io_stall = read_stall(&out->io_stall_us, &r, "io.pressure");
}

static void compare_name(struct cgroup_folder *f, const char *root, pid_t pid, pid_t other,
			 const char *controller)
{
	struct cgroup_folder is = { 0 }, its = { 0 };

	read_name(&is, root, pid, controller);
	read_name(&its, root, other, controller);
	f->apart |= is.version && its.version && strcmp(is.path, its.path) != 0;
}

void cgroup_limits_compare(struct cgroup_limits *l, const char *root, pid_t pid, pid_t other)
{
	compare_name(&l->cpu, root, pid, other, "cpu");
	compare_name(&l->memory, root, pid, other, "memory");
	compare_name(&l->io, root, pid, other, "blkio");
}
