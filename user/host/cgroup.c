/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a unit's folder below /sys/fs/cgroup, and reads cgroup.procs in it. */
#include "host/cgroup.h"

#include "base/file.h"
#include "host/proc/procfs.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOT "/sys/fs/cgroup"

static bool is_unit(const char *folder, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(folder, name, len) && (!folder[len] || !strcmp(folder + len, ".service"));
}

/* The folders of one name that have processes, in them or below. */
struct units {
	const char *name; /* NULL: all that is walked is one */
	int (*fn)(void *arg, pid_t pid);
	void *arg;
	size_t n;
	bool noted;        /* the one that is walked, */
	char at[PATH_MAX]; /* and its path */
	struct err_list found;
};

static int cgroup_take(void *arg, pid_t pid)
{
	struct units *u = arg;
	uint32_t uid = 0, effective;

	if (!u->noted) {
		procfs_uids(&uid, &effective, pid);
		u->noted = true;
		u->n++;
		err_list_add(&u->found, "%s (process %d of user %u)", u->at, pid, uid);
	}
	return u->fn(u->arg, pid);
}

static int cgroup_walk(struct units *u, char *root)
{
	char *roots[] = { root, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	int r = -ENOENT, one, inside = -1;
	char procs[PATH_MAX];
	FTSENT *entry;

	if (!tree)
		return -errno;
	while ((entry = fts_read(tree))) {
		if (entry->fts_info == FTS_DP && entry->fts_level == inside)
			inside = -1;
		if (entry->fts_info != FTS_D)
			continue;
		if (inside < 0 && (!u->name || is_unit(entry->fts_name, u->name))) {
			inside = entry->fts_level;
			u->noted = false;
			snprintf(u->at, sizeof(u->at), "%s", entry->fts_path);
		}
		if (inside < 0)
			continue;
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", entry->fts_path);
		one = procfs_each_in(procs, cgroup_take, u);
		/* Another process may remove it meanwhile; threaded cgroups have no processes. */
		if (one && one != -ENOENT && one != -EOPNOTSUPP) {
			r = one;
			break;
		}
		r = 0;
	}
	fts_close(tree);
	return r;
}

/* Where a path is; of a name systemd's own hierarchy, which has all units once. */
static void find_root(char out[PATH_MAX], const char *name)
{
	static const char *const roots[] = { ROOT "/unified", ROOT "/systemd", ROOT };
	bool path = strchr(name, '/') != NULL;

	if (!strncmp(name, ROOT "/", strlen(ROOT "/")))
		name += strlen(ROOT "/");
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		snprintf(out, PATH_MAX, "%s/%s", roots[i], path ? name : "");
		if (!access(out, F_OK))
			break;
	}
}

int cgroup_each_process(const char *name, int (*fn)(void *arg, pid_t pid), void *arg, struct err *e)
{
	struct units u = {
		.name = strchr(name, '/') ? NULL : name,
		.fn = fn,
		.arg = arg,
		.found.room = 370,
	};
	char root[PATH_MAX];
	int r;

	find_root(root, name);
	r = cgroup_walk(&u, root);
	if (r < 0)
		return err_set(
		    e, -ENXIO,
		    "no processes of unit %s: %s; systemctl status %s shows its "
		    "cgroup, whose path can be given instead",
		    name, r == -ENOENT ? "there is no cgroup of that name" : strerror(-r), name);
	if (!u.n)
		return err_set(e, -ENXIO, "unit %s has no process: is it running?", name);
	if (u.n > 1)
		return err_set(e, -ENOTUNIQ,
			       "%zu units are called %s: %s: give the path of one in place of "
			       "the name",
			       u.n, name, err_list_end(&u.found));
	return r;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && !strcmp(text + n - m, end);
}

/* systemd's own hierarchy of version 1, or that of version 2. */
void cgroup_unit_in(char *out, size_t len, char *text)
{
	char *line, *at, *part;

	*out = '\0';
	while ((line = strsep(&text, "\n"))) {
		if (strncmp(line, "0::", 3) != 0 && !strstr(line, ":name=systemd:"))
			continue;
		at = strrchr(line, ':') + 1;
		while ((part = strsep(&at, "/")))
			if (ends_with(part, ".service") || ends_with(part, ".scope"))
				snprintf(out, len, "%s", part);
	}
}

void cgroup_unit(char *out, size_t len, pid_t pid)
{
	char file[64], text[4096];

	*out = '\0';
	snprintf(file, sizeof(file), "/proc/%d/cgroup", pid);
	if (file_text(text, sizeof(text), file) > 0)
		cgroup_unit_in(out, len, text);
}

/* ---- containers: Docker, Podman, containerd and CRI-O, LXC, systemd-nspawn ---- */

#define ID_LEN   64
#define ID_SHOWN 12

/* What follows it in the name of a cgroup, up to the end, is a container's name. */
static const struct {
	const char *begin, *end;
} marks[] = {
	{ "lxc.payload.", "" },
	{ "machine-", ".scope" },
	{ "systemd-nspawn@", ".service" },
};

/* "docker-ID.scope", "libpod-ID", "ID" */
static const char *cgroup_id(const char *part)
{
	const char *last = strrchr(part, '-'), *id = last ? last + 1 : part;
	size_t len = strspn(id, "0123456789abcdef");

	return len == ID_LEN && (!id[len] || !strcmp(id + len, ".scope")) ? id : NULL;
}

/* A name of systemd's as people write it: "my\\x2dfiles" is my-files (man 5 systemd.unit). */
static void systemd_name(char *name)
{
	static const char begin[] = "\\x", digits[] = "0123456789abcdef";
	const size_t len = strlen(begin);
	char *to = name;

	for (; *name; to++)
		if (!strncmp(name, begin, len) && strspn(name + len, digits) >= 2) {
			char hex[] = { name[len], name[len + 1], '\0' };

			*to = (char)strtoul(hex, NULL, 16);
			name += len + 2;
		} else {
			*to = *name++;
		}
	*to = '\0';
}

/* above: the cgroup that has it; out stays as it is where this is none of a container. */
static void take_container(char *out, size_t len, const char *part, const char *above)
{
	const char *id = cgroup_id(part);

	if (id)
		snprintf(out, len, "%.*s", ID_SHOWN, id);
	else if (!strcmp(above, "lxc"))
		snprintf(out, len, "%s", part);
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && !id; i++) {
		size_t begin = strlen(marks[i].begin), end = strlen(marks[i].end);
		size_t n = strlen(part);

		if (n <= begin + end || strncmp(part, marks[i].begin, begin) != 0 ||
		    strcmp(part + n - end, marks[i].end) != 0)
			continue;
		snprintf(out, len, "%.*s", (int)(n - begin - end), part + begin);
		if (*marks[i].end)
			systemd_name(out);
	}
}

void cgroup_container_in(char *out, size_t len, char *text)
{
	char *line, *at, *part, *above;

	*out = '\0';
	while (!*out && (line = strsep(&text, "\n"))) {
		at = strrchr(line, ':');
		above = line + strlen(line);
		for (at = at ? at + 1 : NULL; at && (part = strsep(&at, "/")); above = part)
			take_container(out, len, part, above);
	}
}

void cgroup_container(char *out, size_t len, pid_t pid)
{
	char file[64], text[4096];

	*out = '\0';
	snprintf(file, sizeof(file), "/proc/%d/cgroup", pid);
	if (file_text(text, sizeof(text), file) > 0)
		cgroup_container_in(out, len, text);
}
