/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_LANTEST_LANTEST_PRIV_H
#define WORK_LANTEST_LANTEST_PRIV_H

/* Shared by the files of lantest: its state and its checked commands. */

#include "work/lantest/lantest.h"

#define LT_LISTINGS    49 /* of the test that enumerates */
#define LT_MANY_FILES  2000
#define LT_DIRS        200
#define LT_SMALL_READ  512
#define LT_DEEP_LEVELS 20

struct lantest {
	struct load *load;
	const struct lantest_opts *opts;
	struct err *e;
	uint32_t selection;
	uint32_t base;   /* directory id of Base */
	bool files_left; /* the files that tests share exist */
	bool fork_open;
	uint16_t fork;
	unsigned int n_forks; /* open besides */
	uint16_t forks[LT_MANY_FILES];
	uint32_t dir[LT_DIRS]; /* ids of directories that a test made */
	size_t chunk;          /* bulk tests: bytes per request */
	uint64_t n_chunks;
	uint8_t *zeros, *sink; /* a chunk each or more: what is written, where reads go */
	struct afp_op *ops;    /* bulk tests: n_ops of them */
	size_t n_ops;
	uint8_t listing[LT_LISTINGS][AFP_ENUMERATE_MAX]; /* replies of FPEnumerate */
	size_t listing_len[LT_LISTINGS];
	uint8_t listing_code; /* the command that they answer */
	struct afp_op op;     /* the command being made */
};

/* One row a test. setup and teardown are not timed and may be NULL. */
struct lantest_test {
	const char *title;
	uint32_t implies;
	uint64_t bytes; /* of its files, but the large one */
	int (*setup)(struct lantest *t);
	int (*timed)(struct lantest *t);
	int (*teardown)(struct lantest *t);
	bool shares; /* works with files that an earlier test left */
};

struct lt_name {
	char text[40];
};

/* prefix and number. */
struct lt_name lt_name_of(const char *prefix, unsigned int i);

/*
 * Checked commands: each sends one, waits, and returns 0, LOAD_REFUSED with a text that names
 * the command, the name and the server's answer, or negative errno.
 */
int lt_probe(struct lantest *t, uint32_t dir, const char *name, enum afp_result expected);
int lt_params(struct lantest *t, uint32_t dir, const char *name, uint16_t file_bitmap,
	      uint16_t dir_bitmap);
int lt_create(struct lantest *t, const char *name);
int lt_create_in(struct lantest *t, uint32_t dir, const char *name);
int lt_mkdir(struct lantest *t, uint32_t parent, const char *name, uint32_t *dir);
int lt_delete(struct lantest *t, uint32_t dir, const char *name);
int lt_copy(struct lantest *t, const char *name, const char *to);
int lt_open(struct lantest *t, uint32_t dir, const char *name, uint16_t bitmap, uint16_t access);
int lt_close(struct lantest *t);
int lt_fork_params(struct lantest *t, uint16_t bitmap);
int lt_volume_params(struct lantest *t, uint16_t bitmap);
int lt_read(struct lantest *t, uint32_t len);
int lt_write(struct lantest *t, uint32_t len);
int lt_lock(struct lantest *t, bool unlock, uint32_t offset, uint32_t len);
/* The reply stays in listing i and is checked; lt_listing walks it. */
int lt_enumerate(struct lantest *t, unsigned int i, const struct afp_enumerate *what);
void lt_listing(const struct lantest *t, unsigned int i, struct afp_entries *it);

/* Refusals without a server's answer: "test 3: ...". Returns LOAD_REFUSED. */
int lt_refuse(struct lantest *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One large file, lantest_bulk.c. */
#define LT_BIG_FILE "File.big"
int bulk_write_setup(struct lantest *t);
int bulk_write(struct lantest *t);
int bulk_read_setup(struct lantest *t);
int bulk_read(struct lantest *t);

/* Of lantest_tests.c, in both sets. */
int many_create(struct lantest *t);
int many_delete(struct lantest *t);
/* Listings of 40 of the 2000 files: all but the last 40, back and forth. newest: afp.h. */
int many_list(struct lantest *t, bool newest);
int many_list_check(struct lantest *t);
int lock_setup(struct lantest *t);
int lock_teardown(struct lantest *t);
/* Directories in dir[], files in each. */
struct lt_name cache_file(unsigned int dir, unsigned int i);
int cache_make(struct lantest *t, unsigned int n_dirs, unsigned int n_files);
int cache_remove(struct lantest *t, unsigned int n_dirs, unsigned int n_files);
/* Makes, looks at, removes each file; lists the directory at every tenth. */
int lt_mixed(struct lantest *t, unsigned int n_files);
/* A chain of directories, from its top: dir[]. */
int deep_make(struct lantest *t);
int deep_walk(struct lantest *t);
int deep_remove(struct lantest *t);
/* valid_file_0 ... */
int valid_make(struct lantest *t, unsigned int n_files);
int valid_remove(struct lantest *t, unsigned int n_files);

#define LT_ACCESS_RW_DENY_ALL (AFP_READ | AFP_WRITE | AFP_DENY_READ | AFP_DENY_WRITE)
#define LT_ACCESS_R_DENY_W    (AFP_READ | AFP_DENY_WRITE)

#endif
