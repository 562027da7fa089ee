/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STORE_FILE_STORE_H
#define STORE_FILE_STORE_H

/*
 * The head of a store of files and directories whose calls wait. Only for client/store. What a verb
 * does is here, and which directories are known; a kind of store brings a table of its calls, and
 * how it is opened.
 */

#include "store/blocking.h"
#include "store/dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>

#define FILE_STORE_DIR_MODE  0750
#define FILE_STORE_FILE_MODE 0640

struct file_store;

/* An entry of a directory. */
struct file_store_entry {
	const char *name; /* NULL: there is no more */
	size_t len;       /* bytes that it takes of those of a LIST */
	bool is_file;     /* certainly no directory */
};

/*
 * The calls of a kind. file: a store_file's id. dir: a directory's id, 0 is the store's own. A
 * ssize_t is less than 0 with errno set if the call failed (file_store_code_of), an int is 0 or an
 * errno.
 */
struct file_store_calls {
	const char *const *what; /* by verb, the call's name: "pread" */
	const char *no_copy;     /* why there is no COPY */

	ssize_t (*pread)(struct file_store *f, uint64_t file, void *buf, size_t len, off_t at);
	ssize_t (*pwrite)(struct file_store *f, uint64_t file, const void *data, size_t len,
			  off_t at);
	/* Less than a block cannot be written directly: *tail is a file that takes it. */
	int (*begin_tail)(struct file_store *f, uint64_t file, uint64_t *tail);
	int (*end_tail)(struct file_store *f, uint64_t tail);
	/* Of this opening of the file, so that it conflicts with another in this process, too. */
	int (*lock)(struct file_store *f, uint64_t file, struct flock *range);
	/* CLOSE, LENGTH, SET_LEN, FLUSH */
	int (*on_file)(struct file_store *f, struct store_op *op);

	/* *fd: a descriptor of the directory name, -1: the kind needs none. is_new: it has just
	 * been made, and need not be looked for. */
	int (*open_dir)(struct file_store *f, uint64_t dir, const char *name, bool is_new, int *fd);
	/* EISDIR: a directory is in the way of is_dir false. */
	int (*remove)(struct file_store *f, uint64_t dir, const char *name, bool is_dir);
	int (*statvfs)(struct file_store *f, uint64_t dir, struct statvfs *out);
	/* GET_XATTR, SET_XATTR of the attribute attr; the length of a value, also without room. */
	ssize_t (*xattr)(struct file_store *f, const struct store_op *op, const char *attr);
	/* Any other verb; RENAME replaces nothing. */
	int (*on_name)(struct file_store *f, struct store_op *op);

	void *(*open_list)(struct file_store *f, uint64_t dir); /* NULL and errno */
	/* The next entry of list, which is dir's; none is . or .. */
	int (*next)(struct file_store *f, void *list, uint64_t dir, bool with_attrs,
		    struct file_store_entry *out);
	void (*close_list)(struct file_store *f, void *list);
};

struct file_store {
	struct blocking b;
	const struct file_store_calls *calls;
	bool direct;
	struct dirs dirs;
	void *list; /* of the directory that was listed last; NULL: none */
	uint64_t list_dir, listed;
};

/* f is all 0 before; as blocking_init(). direct: an alignment is the caller's to set. */
void file_store_init(struct file_store *f, const struct store_type *type,
		     const struct file_store_calls *calls, bool direct);
/* Begins the end: what is under way is waited for, and the directories are forgotten. */
void file_store_fini(struct file_store *f);

/* The code of a call that returns less than 0 if it fails; some failures have no errno. */
static inline int file_store_code_of(ssize_t r)
{
	if (r >= 0)
		return 0;
	return errno ? errno : EIO;
}

/* O_RDWR, ... of an OPEN's op->how */
int file_store_flags(const struct file_store *f, unsigned int how);

static inline bool file_store_is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static inline bool file_store_is_file(const struct dirent *entry)
{
	return entry->d_type != DT_UNKNOWN && entry->d_type != DT_DIR;
}

#endif
