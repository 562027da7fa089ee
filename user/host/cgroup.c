/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a unit's folder below /sys/fs/cgroup, and reads cgroup.procs in it. */
#include "host/cgroup.h"

#include "base/file.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOT "/sys/fs/cgroup"

static bool is_unit(const char *folder, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(folder, name, len) && (!folder[len] || !strcmp(folder + len, ".service"));
}

static int each_of(const char *folder, int (*fn)(void *arg, pid_t pid), void *arg)
{
	char path[PATH_MAX];
	int pid, r = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (!r && fscanf(f, "%d", &pid) == 1)
		r = fn(arg, pid);
	fclose(f);
	return r;
}

/* Walks the tree below "at": without a name all of it counts, else what is inside folders of it. */
static int walk(char *at, const char *name, int (*fn)(void *arg, pid_t pid), void *arg)
{
	char *roots[] = { at, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	int r = -ENOENT, one, inside = -1;
	FTSENT *entry;

	if (!tree)
		return -errno;
	while ((entry = fts_read(tree))) {
		if (entry->fts_info == FTS_DP && entry->fts_level == inside)
			inside = -1;
		if (entry->fts_info != FTS_D)
			continue;
		if (inside < 0 && (!name || is_unit(entry->fts_name, name)))
			inside = entry->fts_level;
		if (inside < 0)
			continue;
		one = each_of(entry->fts_path, fn, arg);
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

int cgroup_each_process(const char *name, int (*fn)(void *arg, pid_t pid), void *arg)
{
	static const char *const roots[] = { ROOT, ROOT "/unified", ROOT "/systemd" };
	char path[PATH_MAX];
	int r = -ENOENT;

	if (!strncmp(name, ROOT "/", strlen(ROOT "/")))
		name += strlen(ROOT "/");
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]) && r == -ENOENT; i++) {
		if (strchr(name, '/'))
			snprintf(path, sizeof(path), "%s/%s", roots[i], name);
		else
			snprintf(path, sizeof(path), "%s", roots[i]);
		r = walk(path, strchr(name, '/') ? NULL : name, fn, arg);
	}
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
