/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads /proc/diskstats, /sys/dev/block, /sys/class/block, /sys/fs/btrfs. */
#include "host/devices.h"

#include "base/file.h"
#include "base/vec.h"

#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR_B 512

/* A line of /proc/diskstats; counts of flushes since Linux 5.5. */
static bool take_entry(struct devices_entry *out, const char *line)
{
	uint64_t n[3] = { 0 }, ms[3] = { 0 }, sectors[2];
	int found = sscanf(line,
			   " %u %u %31s %" SCNu64 " %*u %" SCNu64 " %" SCNu64 " %" SCNu64
			   " %*u %" SCNu64 " %" SCNu64 " %*u %" SCNu64 " %" SCNu64
			   " %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
			   &out->major, &out->minor, out->name, &n[0], &sectors[0], &ms[0], &n[1],
			   &sectors[1], &ms[1], &out->busy_ms, &out->queue_ms, &n[2], &ms[2]);

	if (found < 11)
		return false;
	out->n = n[0] + n[1] + n[2];
	out->ms = ms[0] + ms[1] + ms[2];
	out->b = (sectors[0] + sectors[1]) * SECTOR_B;
	return true;
}

static bool is_lowest(const struct devices_entry *d, const char *root)
{
	struct devices_below below = { 0 };
	char file[PATH_MAX];

	if (!strncmp(d->name, "ram", 3) || !strncmp(d->name, "zram", 4) ||
	    devices_backing(file, sizeof(file), root, d->name))
		return false;
	devices_below(&below, root, d->major, d->minor);
	return !below.n || (below.n == 1 && !strcmp(below.name[0], d->name));
}

int devices_read(struct devices *out, const char *root)
{
	struct devices_entry one;
	char line[512], path[PATH_MAX];
	int r = 0;
	FILE *f;

	*out = (struct devices) { 0 };
	snprintf(path, sizeof(path), "%s/proc/diskstats", root);
	f = fopen(path, "re");
	while (f && !r && fgets(line, sizeof(line), f))
		if (take_entry(&one, line)) {
			one.lowest = is_lowest(&one, root);
			r = VEC_PUSH(out->entry, out->n, one);
		}
	if (f)
		fclose(f);
	return r;
}

void devices_fini(struct devices *d)
{
	free(d->entry);
	*d = (struct devices) { 0 };
}

const struct devices_entry *devices_find(const struct devices *d, const char *name)
{
	return VEC_FIND(e, d->entry, d->n, !strcmp(e->name, name));
}

/* ---- below ---- */

static void below_link(struct devices_below *out, const char *link);

/* All whose links in /sys have such a path. */
static void below_links(struct devices_below *out, const char *pattern)
{
	glob_t found;

	if (glob(pattern, GLOB_NOSORT, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		below_link(out, found.gl_pathv[i]);
	globfree(&found);
}

static void below_link(struct devices_below *out, const char *link)
{
	char path[PATH_MAX], inside[PATH_MAX + 16];
	const char *name;

	if (!realpath(link, path))
		return;
	snprintf(inside, sizeof(inside), "%s/partition", path);
	if (!access(inside, F_OK))
		*strrchr(path, '/') = '\0'; /* its disk */
	name = strrchr(path, '/') + 1;
	/* It is there, or there is no room for it. */
	if (VEC_FIND(one, out->name, out->n, !strcmp(*one, name)) || out->n == DEVICES_BELOW_MAX ||
	    strlen(name) >= DEVICES_NAME_MAX)
		return;
	strcpy(out->name[out->n++], name);
	snprintf(inside, sizeof(inside), "%s/slaves/*", path);
	below_links(out, inside);
}

void devices_below(struct devices_below *out, const char *root, unsigned int major,
		   unsigned int minor)
{
	char link[PATH_MAX];

	snprintf(link, sizeof(link), "%s/sys/dev/block/%u:%u", root, major, minor);
	below_link(out, link);
}

void devices_below_btrfs(struct devices_below *out, const char *root, const char *name)
{
	char path[PATH_MAX];
	glob_t found;

	snprintf(path, sizeof(path), "%s/sys/fs/btrfs/*/devices/%s", root, name);
	if (glob(path, GLOB_NOSORT, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		strcpy(strrchr(found.gl_pathv[i], '/'), "/*");
		below_links(out, found.gl_pathv[i]);
	}
	globfree(&found);
}

bool devices_backing(char *out, size_t len, const char *root, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/class/block/%s/loop/backing_file", root, name);
	return !file_line(out, len, path);
}

/* ---- RAID ---- */

bool devices_rebuild(char *out, size_t len, const char *mdstat, const char *name)
{
	size_t name_len = strlen(name);
	char what[16], share[16];
	bool inside = false;

	for (const char *line = mdstat; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		/* Its lines, but the first, begin with a blank. */
		if (*line != ' ')
			inside = !strncmp(line, name, name_len) && line[name_len] == ' ';
		/* "[==>..]  recovery = 12.6% (..)"; "resync=DELAYED" waits for another one. */
		if (!inside || sscanf(line, " %*[^]\n]] %15[a-z] = %15[0-9.%%]", what, share) != 2)
			continue;
		snprintf(out, len, "%s %s", what, share);
		return true;
	}
	return false;
}
