/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the volumes lie on, and how full it is. */
#include "base/text.h"
#include "doctor/machine/machine.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Below this share of free space a volume is near to full, and bytes say more than the share. */
#define ROOM_LITTLE 0.05
#define USED_PART   5 /* less of what the busiest file system has: not used */

static uint64_t busy_beside(const struct filesystem *volume, const uint64_t *busy_ns, size_t n,
			    size_t which)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < n; i++)
		if (volume[i].dev == volume[which].dev)
			ns += busy_ns[i];
	return ns;
}

void doctor_used(bool *used, const struct filesystem *volume, const uint64_t *busy_ns, size_t n)
{
	uint64_t most_ns = 0, ns;

	for (size_t i = 0; i < n; i++) {
		ns = busy_beside(volume, busy_ns, n, i);
		most_ns = ns > most_ns ? ns : most_ns;
	}
	for (size_t i = 0; i < n; i++)
		used[i] = busy_beside(volume, busy_ns, n, i) >= most_ns / USED_PART;
}

static double room_share(const struct filesystem *fs)
{
	return (double)fs->room_b / (double)fs->size_b;
}

/* Nearer to full: of those with little room, the one with the fewest bytes. */
static bool is_fuller(const struct filesystem *a, const struct filesystem *b)
{
	if (room_share(a) < ROOM_LITTLE && room_share(b) < ROOM_LITTLE)
		return a->room_b < b->room_b;
	return room_share(a) < room_share(b);
}

static void volumes_full(struct run_figures *out, const struct filesystem *volume, size_t n)
{
	const struct filesystem *fullest = NULL;
	double files, least = 2;

	for (size_t i = 0; i < n; i++) {
		const struct filesystem *fs = &volume[i];

		if (!fs->has_room)
			continue;
		if (!fullest || is_fuller(fs, fullest))
			fullest = fs;
		files = fs->files ? (double)fs->files_free / (double)fs->files : 1;
		if (files >= least)
			continue;
		least = files;
		run_figure_set(out, RUN_FIGURE_ROOM_FILES, files);
		run_figure_who(out, RUN_FIGURE_ROOM_FILES, "%s", fs->path);
	}
	if (!fullest)
		return;
	run_figure_set(out, RUN_FIGURE_ROOM, room_share(fullest));
	run_figure_who(out, RUN_FIGURE_ROOM, "%s", fullest->path);
	run_figure_set(out, RUN_FIGURE_ROOM_BYTES, (double)fullest->room_b);
	run_figure_who(out, RUN_FIGURE_ROOM_BYTES, "%s", fullest->path);
}

/* Where some are and others are not, nobody knows which of them a request waited for. */
static void volumes_remote(struct run_figures *out, const struct filesystem *volume, size_t n)
{
	const struct filesystem *remote = NULL;
	size_t known = 0, n_remote = 0;

	for (size_t i = 0; i < n; i++) {
		known += *volume[i].type != '\0';
		if (!filesystem_is_remote(&volume[i]))
			continue;
		n_remote++;
		/* One that is silent says more. */
		if (!remote || !remote->silent)
			remote = &volume[i];
	}
	if (remote && (remote->silent || n_remote == n)) {
		run_figure_set(out, RUN_FIGURE_REMOTE_FS, 1);
		run_figure_who(out, RUN_FIGURE_REMOTE_FS, "%s at %s%s", remote->type, remote->path,
			       remote->silent ? ", does not answer" : "");
	} else if (remote) {
		run_figure_who(out, RUN_FIGURE_REMOTE_FS, "%s at %s is one of several in use",
			       remote->type, remote->path);
	} else if (n && known == n) {
		run_figure_set(out, RUN_FIGURE_REMOTE_FS, 0);
	}
}

static void volumes_scanned(struct run_figures *out, const struct fanotify_watcher *scanner,
			    int error)
{
	if (error) {
		run_figure_who(out, RUN_FIGURE_SCANNER, "no right to see all processes");
		return;
	}
	run_figure_set(out, RUN_FIGURE_SCANNER, scanner->n);
	if (scanner->n)
		run_figure_who(out, RUN_FIGURE_SCANNER, "%s (pid %d)", scanner->comm, scanner->pid);
}

static void why_unknown(struct run_figures *out, enum run_figure which,
			const struct filesystem *volume, size_t n)
{
	const struct filesystem *silent = NULL;

	for (size_t i = 0; i < n && !silent; i++)
		if (volume[i].silent)
			silent = &volume[i];
	if (out->known[which] || *out->who[which])
		return;
	if (silent)
		run_figure_who(out, which, "%s does not answer", silent->path);
	else if (!n)
		run_figure_who(out, which, "the server's volumes are not known");
}

/* Of an image: read-only by nature. */
static bool never_written(const struct filesystem *fs)
{
	return text_has_word("iso9660 squashfs erofs cramfs udf", ' ', fs->type);
}

void doctor_missing(struct run_figures *out, const struct filesystem *volume, size_t n)
{
	double missing = 0;

	for (size_t i = 0; i < n; i++) {
		if (volume[i].error != -ENOENT && volume[i].error != -ENOTDIR)
			continue;
		missing++;
		run_figure_who(out, RUN_FIGURE_MISSING, "%s", volume[i].path);
	}
	if (n)
		run_figure_set(out, RUN_FIGURE_MISSING, missing);
}

void doctor_read_only(struct run_figures *out, const struct filesystem *volume, size_t n)
{
	if (n)
		run_figure_set(out, RUN_FIGURE_READ_ONLY, 0);
	for (size_t i = 0; i < n; i++) {
		if (!volume[i].read_only || never_written(&volume[i]))
			continue;
		run_figure_set(out, RUN_FIGURE_READ_ONLY, 1);
		run_figure_who(out, RUN_FIGURE_READ_ONLY, "%s", volume[i].path);
	}
}

void doctor_room(struct run_figures *out, const struct filesystem *volume, size_t n)
{
	volumes_full(out, volume, n);
	why_unknown(out, RUN_FIGURE_ROOM, volume, n);
	why_unknown(out, RUN_FIGURE_ROOM_BYTES, volume, n);
	why_unknown(out, RUN_FIGURE_ROOM_FILES, volume, n);
}

void doctor_room_used(struct run_figures *out, const struct filesystem *volume, size_t n)
{
	double least = HUGE_VAL, room;

	for (size_t i = 0; i < n; i++) {
		const struct filesystem *fs = &volume[i];
		bool has_files = !fs->files ||
				 (double)fs->files_free >= ROOM_FILES_FEW * (double)fs->files;

		room = has_files ? (double)fs->room_b : 0;
		if (!fs->has_room || room >= least)
			continue;
		least = room;
		run_figure_set(out, RUN_FIGURE_ROOM_USED, room);
		run_figure_who(out, RUN_FIGURE_ROOM_USED, "%s", fs->path);
	}
	why_unknown(out, RUN_FIGURE_ROOM_USED, volume, n);
}

/* 2: two or more. */
static double volumes_apart(const struct filesystem *volume, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (volume[i].dev != volume[0].dev)
			return 2;
	return 1;
}

void doctor_apart(struct run_figures *out, const struct filesystem *volume, size_t n)
{
	if (n)
		run_figure_set(out, RUN_FIGURE_FILE_SYSTEMS_ALL, volumes_apart(volume, n));
}

void doctor_volumes(struct run_figures *out, const struct filesystem *volume, size_t n,
		    const struct fanotify_watcher *scanner, int error)
{
	if (n)
		run_figure_set(out, RUN_FIGURE_FILE_SYSTEMS, volumes_apart(volume, n));
	volumes_remote(out, volume, n);
	if (n)
		volumes_scanned(out, scanner, error);
	else
		run_figure_who(out, RUN_FIGURE_SCANNER, "the server's volumes are not known");
	why_unknown(out, RUN_FIGURE_REMOTE_FS, volume, n);
}
