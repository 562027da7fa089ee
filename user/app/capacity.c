/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/capacity.h"

#include "base/file.h"
#include "host/cgroup_limits.h"
#include "host/proc/proctext.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * The least, by reading and not measured: some 13 kB of the client and 3 kB of a socket. Queues of
 * data come on top.
 */
#define SESSION_B 16384u
#define THREAD_B  131072u /* its buffers and the used part of its stack */
/* Files of the command itself besides its sessions, and of each thread. */
#define FILES_OWN    64
#define FILES_THREAD 4
/* Those from 512 to 1023, which libnfs takes first. */
#define LOW_PORTS 512

/* A small file below root. false: it cannot be read. */
static bool capacity_read(char *out, size_t len, const char *root, const char *file)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", root, file);
	return file_text(out, len, path) > 0;
}

/* How many of from..to are in a list such as "8080,9148-9150". */
static uint64_t count_listed(const char *list, unsigned long from, unsigned long to)
{
	unsigned long first, last;
	uint64_t n = 0;
	char *end;

	for (; *list >= '0' && *list <= '9'; list = end + (*end == ',')) {
		first = last = strtoul(list, &end, 10);
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		first = MAX(first, from);
		last = MIN(last, to);
		n += first <= last ? last - first + 1 : 0;
	}
	return n;
}

static uint64_t capacity_ports(const char *root)
{
	unsigned long from, to;
	char text[4096];

	if (!capacity_read(text, sizeof(text), root, "/proc/sys/net/ipv4/ip_local_port_range") ||
	    sscanf(text, "%lu %lu", &from, &to) != 2 || from > to)
		return CAPACITY_UNKNOWN;
	if (!capacity_read(text, sizeof(text), root, "/proc/sys/net/ipv4/ip_local_reserved_ports"))
		*text = '\0';
	return to - from + 1 - count_listed(text, from, to);
}

static uint64_t capacity_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return CAPACITY_UNKNOWN;
	return limit.rlim_cur;
}

/* Of the cgroups that the process is in. */
static uint64_t capacity_pids(const char *root)
{
	uint64_t least = CAPACITY_UNKNOWN, most, now;
	struct cgroup_folder f;
	char path[PATH_MAX], text[64];
	bool there = !cgroup_folder(&f, root, getpid(), "pids");

	for (; there; there = cgroup_folder_up(&f)) {
		snprintf(path, sizeof(path), "%s/pids.max", f.path);
		if (!capacity_read(text, sizeof(text), root, path) || *text == 'm')
			continue;
		most = strtoull(text, NULL, 10);
		snprintf(path, sizeof(path), "%s/pids.current", f.path);
		now = capacity_read(text, sizeof(text), root, path) ? strtoull(text, NULL, 10) : 0;
		least = MIN(least, most > now ? most - now : 0);
	}
	return least;
}

static uint64_t capacity_threads(const char *root)
{
	uint64_t least = capacity_pids(root), most, now;
	struct rlimit limit;
	char text[128];

	/* root is not limited by it */
	if (geteuid() && !getrlimit(RLIMIT_NPROC, &limit) && limit.rlim_cur != RLIM_INFINITY)
		least = MIN(least, limit.rlim_cur);
	if (!capacity_read(text, sizeof(text), root, "/proc/sys/kernel/threads-max"))
		return least;
	most = strtoull(text, NULL, 10);
	/* "0.20 0.18 0.12 1/80 11206": 80 threads */
	if (!capacity_read(text, sizeof(text), root, "/proc/loadavg") ||
	    sscanf(text, "%*s %*s %*s %*u/%" SCNu64, &now) != 1)
		now = 0;
	return MIN(least, most > now ? most - now : 0);
}

/* A cgroup's files in memory make room: only its limit counts, not what is used of it. */
static uint64_t capacity_memory(const char *root)
{
	uint64_t least = CAPACITY_UNKNOWN, kib;
	struct cgroup_limits limits;
	char text[8192];

	if (capacity_read(text, sizeof(text), root, "/proc/meminfo") &&
	    proctext_number(&kib, text, "MemAvailable"))
		least = kib * 1024;
	cgroup_limits_read(&limits, root, getpid());
	for (size_t i = 0; i < limits.n_memories; i++)
		least = MIN(least, limits.mem[i].limit_b);
	return least;
}

void capacity_look(struct capacity *out, const char *root)
{
	*out = (struct capacity) { .ports = capacity_ports(root),
				   .files = capacity_files(),
				   .threads = capacity_threads(root),
				   .memory_b = capacity_memory(root) };
}

/* Of ports, which every connection to one server has one of. */
static int capacity_check_ports(const struct capacity *c, const struct capacity_need *need,
				struct err *e)
{
	const uint64_t n = need->sessions, wanted = n + need->taken,
		       ports = c->ports + (need->low_ports ? LOW_PORTS : 0);
	char taken[64] = "";

	if (c->ports == CAPACITY_UNKNOWN || wanted <= ports * need->sources)
		return 0;
	if (need->taken)
		snprintf(taken, sizeof(taken), ", %" PRIu64 " of them in use", need->taken);
	if (need->one_source)
		return err_set(e, -EMFILE,
			       "%" PRIu64 " sessions need as many ports towards the server, and "
			       "this host has %" PRIu64 "%s: sysctl -w "
			       "net.ipv4.ip_local_port_range=\"1024 65535\" gives more",
			       n, ports, taken);
	return err_set(e, -EMFILE,
		       "%" PRIu64 " sessions need as many ports towards the server, and "
		       "this host has %" PRIu64 " for each of %" PRIu64 " source address%s%s: "
		       "give %" PRIu64 " addresses (--source), or more ports: sysctl -w "
		       "net.ipv4.ip_local_port_range=\"1024 65535\"",
		       n, ports, need->sources, need->sources == 1 ? "" : "es", taken,
		       ports ? (wanted + ports - 1) / ports : n);
}

int capacity_check(const struct capacity *c, const struct capacity_need *need, struct err *e)
{
	const uint64_t n = need->sessions, files = n + FILES_OWN + FILES_THREAD * need->threads,
		       memory_b = n * SESSION_B + need->threads * THREAD_B + need->data_b;

	if (capacity_check_ports(c, need, e))
		return -EMFILE;
	if (c->files != CAPACITY_UNKNOWN && files > c->files)
		return err_set(e, -EMFILE,
			       "%" PRIu64 " sessions and %" PRIu64 " thread%s need %" PRIu64
			       " open files, and a process here may have %" PRIu64
			       ": ulimit -n %" PRIu64 ", or LimitNOFILE=%" PRIu64 " in a unit",
			       n, need->threads, need->threads == 1 ? "" : "s", files, c->files,
			       files, files);
	if (c->threads != CAPACITY_UNKNOWN && need->threads > c->threads)
		return err_set(
		    e, -EMFILE,
		    "%" PRIu64 " threads are needed, and %" PRIu64
		    " more can be made here: ask for fewer, or raise kernel.threads-max, "
		    "the cgroup's pids.max (TasksMax= in a unit) or ulimit -u",
		    need->threads, c->threads);
	if (c->memory_b != CAPACITY_UNKNOWN && memory_b > c->memory_b)
		return err_set(e, -EMFILE,
			       "%" PRIu64 " sessions and %" PRIu64
			       " thread%s need at least %" PRIu64 " MB of memory, %" PRIu64
			       " MB of it for the data that they write, and %" PRIu64
			       " MB are free",
			       n, need->threads, need->threads == 1 ? "" : "s", memory_b / 1000000,
			       need->data_b / 1000000, c->memory_b / 1000000);
	return 0;
}
