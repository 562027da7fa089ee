/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks paths one part at a time, so that each link is seen before it is followed. */
#include "base/file.h"

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

#define LINKS_MAX 40 /* as the kernel */

struct walk {
	int at;              /* the folder reached */
	int found;           /* O_PATH of what the path names, if not a folder; -1 */
	bool folder;         /* the path names a folder, which is at */
	bool magic;          /* found was reached by a link of /proc and is not in at */
	mode_t make;         /* as in file_folder */
	unsigned int links;  /* followed */
	char rest[PATH_MAX]; /* of the path */
	char name[NAME_MAX + 1];
};

static void walk_end(struct walk *w)
{
	if (w->at >= 0)
		close(w->at);
	if (w->found >= 0)
		close(w->found);
}

static void file_enter(struct walk *w, int folder)
{
	close(w->at);
	w->at = folder;
}

static bool is_last(const struct walk *w)
{
	return !w->rest[strspn(w->rest, "/")];
}

/* Moves the next part of the path to name. */
static int file_take_part(struct walk *w)
{
	const char *part = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(part, "/");

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(w->name, part, len);
	w->name[len] = '\0';
	memmove(w->rest, part + len, strlen(part + len) + 1);
	return 0;
}

/* Opens name in the folder reached, without following a link; makes a folder if w->make. */
static int open_part(const struct walk *w)
{
	const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(w->at, w->name, flags);

	if (fd < 0 && errno == ENOENT && w->make &&
	    (!mkdirat(w->at, w->name, w->make) || errno == EEXIST))
		fd = openat(w->at, w->name, flags);
	return fd < 0 ? -errno : fd;
}

/*
 * Closes the link and puts its target in front of the rest. For a link in /proc, whose text may not
 * be a path (a pipe), returns a descriptor of its target.
 */
static int file_follow(struct walk *w, int link)
{
	char path[PATH_MAX];
	struct statfs fs;
	ssize_t len = 0;
	int root, n;

	if (++w->links > LINKS_MAX)
		len = -ELOOP;
	else if (!fstatfs(link, &fs) && fs.f_type == PROC_SUPER_MAGIC)
		w->magic = true;
	else
		len = readlinkat(link, "", path, sizeof(path) - 1);
	len = len == -1 ? -errno : len;
	close(link);
	if (len < 0)
		return (int)len;
	if (w->magic) {
		link = openat(w->at, w->name, O_PATH | O_CLOEXEC);
		return link < 0 ? -errno : link;
	}
	n = snprintf(path + len, sizeof(path) - (size_t)len, "/%s", w->rest);
	if ((size_t)len + (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	strcpy(w->rest, path);
	if (path[0] == '/') {
		root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (root < 0)
			return -errno;
		file_enter(w, root);
	}
	return -EAGAIN;
}

/* One part of the path. */
static int file_step(struct walk *w, const char *path, struct err *e)
{
	struct stat st = { 0 };
	int fd, r = file_take_part(w);

	fd = r ? r : open_part(w);
	if (fd == -ENOENT && is_last(w) && !w->make)
		return 0;
	if (fd >= 0 && fstat(fd, &st)) {
		r = -errno;
		close(fd);
		return r;
	}
	if (fd >= 0 && S_ISLNK(st.st_mode)) {
		if (st.st_uid && st.st_uid != geteuid()) {
			close(fd);
			return err_set(e, -ELOOP,
				       "%s: %s in it is a symbolic link of another user (user id "
				       "%u): name the place itself",
				       path, w->name, st.st_uid);
		}
		fd = file_follow(w, fd);
		if (fd == -EAGAIN)
			return 0;
		if (fd >= 0 && fstat(fd, &st)) {
			r = -errno;
			close(fd);
			return r;
		}
	}
	if (fd < 0)
		return fd;
	if (S_ISDIR(st.st_mode)) {
		w->magic = false;
		w->folder = true;
		file_enter(w, fd);
		return 0;
	}
	w->folder = false;
	if (!is_last(w)) {
		close(fd);
		return -ENOTDIR;
	}
	w->found = fd;
	return 0;
}

/* To be ended in any case. If it returns -errno without a text in e, the caller must add one. */
static int file_walk(struct walk *w, const char *path, unsigned int make, struct err *e)
{
	int r = 0;

	*w = (struct walk) { .found = -1, .make = make };
	w->at = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w->at < 0)
		return -errno;
	if (!*path)
		return -ENOENT;
	if (strlen(path) >= sizeof(w->rest))
		return -ENAMETOOLONG;
	strcpy(w->rest, path);
	w->folder = true;
	while (!r && !is_last(w)) {
		w->folder = false;
		r = file_step(w, path, e);
	}
	return r;
}

int file_folder(const char *path, unsigned int make, struct err *e)
{
	struct err why = { 0 };
	struct walk w;
	int r = file_walk(&w, path, make, &why), fd = -1;

	if (!r && !w.folder)
		r = w.found < 0 ? -ENOENT : -ENOTDIR;
	if (!r) {
		fd = w.at;
		w.at = -1;
	}
	walk_end(&w);
	if (!r)
		return fd;
	if (why.code)
		return err_set(e, r, "%s", why.text);
	if (r == -ENOTDIR || r == -EEXIST)
		return err_set(e, r, "%s is not a folder", path);
	return err_set(e, r, "cannot %s folder %s: %s", make ? "make" : "open", path, strerror(-r));
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
		err_set(e, r, "%s is longer than %zu bytes", path, most);
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

/* Walks to the place of a file that the user wants to be written. through: not to be replaced. */
static int walk_to_file(struct walk *w, bool *through, const char *path, enum file_use use,
			struct err *e)
{
	struct stat st = { .st_mode = S_IFREG };
	int r = file_walk(w, path, 0, e);

	*through = false;
	if (r)
		return r;
	if (w->folder)
		return -EISDIR;
	if (w->found >= 0 && fstat(w->found, &st))
		return -errno;
	*through = w->magic || !S_ISREG(st.st_mode);
	if (*through && use == FILE_STATUS)
		return err_set(e, -EINVAL, "%s is not a regular file, so it is not replaced", path);
	return 0;
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

static int cannot_write(struct err *e, const struct err *why, const char *path, int r)
{
	if (why->code)
		return err_set(e, r, "%s", why->text);
	if (r == -EISDIR)
		return err_set(e, r, "%s is a folder: name a file", path);
	return err_set(e, r, "cannot write %s: %s", path, strerror(-r));
}

int file_save(const char *path, enum file_use use, const void *data, size_t len, struct err *e)
{
	struct err why = { 0 };
	struct walk w;
	bool through;
	int r = walk_to_file(&w, &through, path, use, &why);

	if (!r)
		r = through ? write_through(&w, data, len)
			    : replace(w.at, w.name, use == FILE_RESULT, data, len);
	walk_end(&w);
	return r ? cannot_write(e, &why, path, r) : 0;
}

int file_check(const char *path, enum file_use use, struct err *e)
{
	struct err why = { 0 };
	struct walk w;
	bool through;
	int r = walk_to_file(&w, &through, path, use, &why);

	if (!r && !through && faccessat(w.at, ".", W_OK | X_OK, 0))
		r = -errno;
	walk_end(&w);
	return r ? cannot_write(e, &why, path, r) : 0;
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

int file_line(char *out, size_t len, const char *path)
{
	ssize_t n = file_text(out, len, path);

	out[strcspn(out, "\n")] = '\0';
	return n > 0 ? 0 : n ? (int)n : -ENODATA;
}
