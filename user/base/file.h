/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_FILE_H
#define BASE_FILE_H

/*
 * The one reader and the one writer of files, in places where other users may write, too. A
 * symbolic link in a path that the user named is followed if it belongs to root or to this
 * process's user; a link of another user could lead root's output anywhere, and is refused
 * (-ELOOP). Links with names that this program chooses are never followed: file_replace replaces
 * what is there. A folder's descriptor stays valid, even if its path is changed meanwhile.
 *
 * All return 0 (or a descriptor) or a negative errno.
 */

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A folder for *at() calls (O_PATH), to be closed. make: missing folders are made with this mode;
 * 0: none are made.
 */
int file_folder(const char *path, unsigned int make, struct err *e);

/*
 * A file to be read, and its length. -EINVAL if it is not a regular file: never waits for a pipe or
 * starts a device. folder: or AT_FDCWD.
 */
int file_open(int folder, const char *name, uint64_t *len);

/*
 * The text of a file that the user named, with '\0' behind it, to be freed. -EINVAL: it is a pipe,
 * a device or the like, which is refused without waiting for it, or has more than most bytes, or a
 * byte 0 in it. Nothing of what was read is left in memory after an error.
 */
int file_read(char **out, const char *path, size_t most, struct err *e);
/* The same of a regular file that was opened as path, and is closed in any case. */
int file_read_from(char **out, int fd, const char *path, size_t most, struct err *e);

/* A new file for writing, with mode less the umask. -EEXIST: there is something of that name. */
int file_create(int folder, const char *name, unsigned int mode);

/*
 * Writes a file of mode 0666 less the umask under a name that nothing else has, and renames it: all
 * or nothing, also for those who read it meanwhile. It is on the disk when this returns.
 */
int file_replace(int folder, const char *name, const void *data, size_t len);

enum file_use {
	/* As file_replace; a pipe, a terminal, a device, /dev/stdout and the like are written to.
	 */
	FILE_RESULT,
	/*
	 * What is written again and again: not waited for until it is on the disk (after a crash of
	 * the machine an older one is as good). What is there and no regular file is refused
	 * (-EINVAL).
	 */
	FILE_STATUS,
};

/* Writes to a path that the user named. */
int file_save(const char *path, enum file_use use, const void *data, size_t len, struct err *e);

/* Whether file_save could start; writes nothing. */
int file_check(const char *path, enum file_use use, struct err *e);

/*
 * The text of a small file that is the system's own (in /proc, /sys, /etc), read in one piece, cut
 * to fit and ended with '\0'. Returns its length; out is empty after an error.
 */
ssize_t file_text(char *out, size_t len, const char *path);
/* The same of one that is kept open. fd: or the negative errno of its open, which is returned. */
ssize_t file_text_again(char *out, size_t len, int fd);
/* The number that it begins with; false: none, or a negative one. */
bool file_first_number(uint64_t *out, const char *path);
/* Its first line, without the newline. -ENODATA: it is empty. */
int file_line(char *out, size_t len, const char *path);

#endif
