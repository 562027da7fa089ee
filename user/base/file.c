/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MIB       ((size_t)1 << 20)

#define LINKS_MAX 40 /* as the kernel */

/*
 * No flag of openat2() says whose links are followed, so the path is walked a part at a time. Links
 * are read by their descriptors: what is followed is what was judged.
 */
struct walk {
	const char *path;
	int at;                  /* the folder of the part reached */
	int found;               /* O_PATH of the part; -1: there is none */
	struct stat st;          /* of found */
	bool through;            /* found is no regular file in at: not to be replaced */
	bool said;               /* what is wrong */
	mode_t make;             /* as in file_folder */
	unsigned int links;      /* followed */
	char name[NAME_MAX + 1]; /* of the part */
	char rest[PATH_MAX];     /* of the path */
};

static int walk_open(struct walk *w, bool follow)
{
	if (w->found >= 0)
		close(w->found);
	w->found = openat(w->at, w->name, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
	if (w->found < 0 || fstat(w->found, &w->st))
		return -errno;
	w->through = follow || !S_ISREG(w->st.st_mode);
	return 0;
}

/*
 * Puts the target of the link found in front of the rest. A link of /proc, whose text may not be a
 * path (a pipe), is left to the kernel.
 */
static int walk_link(struct walk *w, struct err *e)
{
	char target[PATH_MAX];
	struct statfs fs;
	ssize_t len;
	int n;

	if (w->st.st_uid && w->st.st_uid != geteuid()) {
		w->said = true;
		return err_set(e, -ELOOP,
			       "%s: %s in it is a symbolic link of another user (user id %u): name "
			       "the place itself",
			       w->path, w->name, w->st.st_uid);
	}
	if (++w->links > LINKS_MAX)
		return -ELOOP;
	if (!fstatfs(w->found, &fs) && fs.f_type == PROC_SUPER_MAGIC)
		return walk_open(w, true);
	len = readlinkat(w->found, "", target, sizeof(target) - 1);
	if (len < 0)
		return -errno;
	n = snprintf(target + len, sizeof(target) - (size_t)len, "/%s", w->rest);
	if ((size_t)len + (size_t)n >= sizeof(target))
		return -ENAMETOOLONG;
	strcpy(w->rest, target);
	close(w->found);
	w->found = w->at;
	w->at = -1;
	return 0;
}

/* Goes on by the first part of the rest. The first of an absolute path is "/". */
static int walk_on(struct walk *w, struct err *e)
{
	size_t len = *w->rest == '/' ? 1 : strcspn(w->rest, "/");
	const char *rest = w->rest + len;
	int r;

	if (w->found < 0)
		return -ENOENT;
	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(w->name, w->rest, len);
	w->name[len] = '\0';
	rest += strspn(rest, "/");
	memmove(w->rest, rest, strlen(rest) + 1);
	if (w->at >= 0)
		close(w->at);
	w->at = w->found;
	w->found = -1;
	w->through = false;
	r = walk_open(w, false);
	if (r == -ENOENT && w->make)
		r = mkdirat(w->at, w->name, w->make) && errno != EEXIST ? -errno
									: walk_open(w, false);
	if (r)
		return r == -ENOENT ? 0 : r;
	return S_ISLNK(w->st.st_mode) ? walk_link(w, e) : 0;
}

/* To be ended in any case. */
static int walk_begin(struct walk *w, const char *path, unsigned int make, struct err *e)
{
	int r = *path ? 0 : -ENOENT;

	*w = (struct walk) { .path = path, .at = -1, .make = make };
	w->found = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w->found < 0)
		return -errno;
	if (strlen(path) >= sizeof(w->rest))
		return -ENAMETOOLONG;
	strcpy(w->rest, path);
	while (!r && *w->rest)
		r = walk_on(w, e);
	return r;
}

/* Says why what was to be done failed (r); returns r. */
static int walk_end(struct walk *w, int r, const char *what, struct err *e)
{
	if (w->at >= 0)
		close(w->at);
	if (w->found >= 0)
		close(w->found);
	if (!r || w->said)
		return r;
	if (r == -EISDIR)
		return err_set(e, r, "%s is a folder: name a file", w->path);
	return err_set(e, r, "cannot %s %s: %s", what, w->path, strerror(-r));
}

int file_folder(const char *path, unsigned int make, struct err *e)
{
	struct walk w;
	int r = walk_begin(&w, path, make, e), fd = w.found;

	r = r ? r : fd < 0 ? -ENOENT : S_ISDIR(w.st.st_mode) ? 0 : -ENOTDIR;
	if (!r)
		w.found = -1;
	if (r == -ENOTDIR) {
		w.said = true;
		err_set(e, r, "%s is not a folder", path);
	}
	r = walk_end(&w, r, make ? "make folder" : "open folder", e);
	return r ? r : fd;
}

int file_open(int folder, const char *name, uint64_t *len)
{
	struct stat st;
	int fd, r = 0;

	/* To open a device may start it. */
	if (fstatat(folder, name, &st, 0))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENXIO ? -EINVAL : -errno;
	if (fstat(fd, &st))
		r = -errno;
	else if (!S_ISREG(st.st_mode))
		r = -EINVAL;
	if (r) {
		close(fd);
		return r;
	}
	*len = (uint64_t)st.st_size;
	return fd;
}

/* Up to its end, or as much as there is room for. */
static ssize_t file_read_all(int fd, char *out, size_t room)
{
	size_t len = 0;
	ssize_t n;

	do {
		n = read(fd, out + len, room - len);
		if (n < 0 && errno != EINTR)
			return -errno;
		len += n > 0 ? (size_t)n : 0;
	} while (n && len < room);
	return (ssize_t)len;
}

int file_read_from(char **out, int fd, const char *path, size_t most, struct err *e)
{
	char *text = malloc(most + 1);
	ssize_t n = text ? file_read_all(fd, text, most + 1) : -ENOMEM;
	int r = n < 0 ? (int)n : -EINVAL;

	*out = NULL;
	close(fd);
	if (n < 0)
		err_set(e, r, "cannot read %s: %s", path, strerror(-r));
	else if ((size_t)n > most)
		err_set(e, r, "%s is longer than %zu %s", path, most % MIB ? most : most / MIB,
			most % MIB ? "bytes" : "MiB");
	else if (memchr(text, '\0', (size_t)n))
		err_set(e, r, "%s is not text", path);
	else
		r = 0;
	if (!r) {
		text[n] = '\0';
		*out = text;
		return 0;
	}
	if (n > 0)
		explicit_bzero(text, (size_t)n);
	free(text);
	return r;
}

int file_read(char **out, const char *path, size_t most, struct err *e)
{
	uint64_t len;
	int fd = file_open(AT_FDCWD, path, &len);

	*out = NULL;
	if (fd == -EINVAL)
		return err_set(e, fd, "%s is not a regular file", path);
	if (fd < 0)
		return err_set(e, fd, "cannot open %s: %s", path, strerror(-fd));
	return file_read_from(out, fd, path, most, e);
}

int file_create(int folder, const char *name, unsigned int mode)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	return fd < 0 ? -errno : fd;
}

static int file_write_all(int fd, const char *at, size_t len)
{
	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The rename is on disk only once the folder is synced. Not all file systems can. */
static void sync_folder(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

static int replace(int folder, const char *name, bool synced, const void *data, size_t len)
{
	char temp[48];
	uint64_t random;
	int fd, r;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	snprintf(temp, sizeof(temp), ".afpscope.%016" PRIx64 ".tmp", random);
	fd = file_create(folder, temp, 0666);
	if (fd < 0)
		return fd;
	r = file_write_all(fd, data, len);
	if (!r && synced && fsync(fd))
		r = -errno;
	if (close(fd) && !r)
		r = -errno;
	if (!r && renameat(folder, temp, folder, name))
		r = -errno;
	if (r)
		unlinkat(folder, temp, 0);
	else if (synced)
		sync_folder(folder);
	return r;
}

int file_replace(int folder, const char *name, const void *data, size_t len)
{
	return replace(folder, name, true, data, len);
}

/* Walks to the place of a file that the user wants to be written. */
static int walk_to_file(struct walk *w, const char *path, enum file_use use, struct err *e)
{
	int r = walk_begin(w, path, 0, e);

	if (r || w->found < 0)
		return r;
	if (S_ISDIR(w->st.st_mode))
		return -EISDIR;
	w->said = w->through && use == FILE_STATUS;
	return w->said
		   ? err_set(e, -EINVAL, "%s is not a regular file, so it is not replaced", path)
		   : 0;
}

static int write_through(const struct walk *w, const void *data, size_t len)
{
	char path[64];
	int fd, r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", w->found);
	fd = open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		fd = openat(w->at, w->name, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = file_write_all(fd, data, len);
	close(fd);
	return r;
}

int file_save(const char *path, enum file_use use, const void *data, size_t len, struct err *e)
{
	struct walk w;
	int r = walk_to_file(&w, path, use, e);

	if (!r)
		r = w.through ? write_through(&w, data, len)
			      : replace(w.at, w.name, use == FILE_RESULT, data, len);
	return walk_end(&w, r, "write", e);
}

int file_check(const char *path, enum file_use use, struct err *e)
{
	struct walk w;
	int r = walk_to_file(&w, path, use, e);

	if (!r && !w.through && faccessat(w.at, ".", W_OK | X_OK, 0))
		r = -errno;
	return walk_end(&w, r, "write", e);
}

ssize_t file_text_again(char *out, size_t len, int fd)
{
	ssize_t n = fd < 0 ? fd : pread(fd, out, len - 1, 0);

	if (n < 0 && fd >= 0)
		n = -errno;
	out[n > 0 ? n : 0] = '\0';
	return n;
}

ssize_t file_text(char *out, size_t len, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = file_text_again(out, len, fd < 0 ? -errno : fd);

	if (fd >= 0)
		close(fd);
	return n;
}

bool file_first_number(uint64_t *out, const char *path)
{
	char text[64];

	if (file_text(text, sizeof(text), path) <= 0 || !isdigit((unsigned char)*text))
		return false;
	*out = strtoull(text, NULL, 10);
	return true;
}

int file_line(char *out, size_t len, const char *path)
{
	ssize_t n = file_text(out, len, path);

	out[strcspn(out, "\n")] = '\0';
	return n > 0 ? 0 : n ? (int)n : -ENODATA;
}
