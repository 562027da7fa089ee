/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_SMALLFILE_SMALLFILE_H
#define WORK_SMALLFILE_SMALLFILE_H

/*
 * Loads of small files: each client has a tree of its own, and does one operation on each of its
 * files, load after load. The tree is that of gfapi-perf-tool:
 *
 *	BASE/thrdTTT-dDDDD/PREFIX.NNNNNNN	client, directory, file
 *
 * With a depth, each directory is in the one before it, until so many are below one another; the
 * next one is in BASE again.
 *
 * Nothing is kept of a file: names, lengths and contents follow from its number, the seed and the
 * loads before. What is written is a pattern (work/pattern.h), and what is read is compared with
 * it.
 */

#include "base/err.h"
#include "load/actor.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Loads. X(NAME, key, gfapi-perf-tool's name or NULL, flags): what a client does with a file, or,
 * with SMALLFILE_EACH_DIR, with a directory. The order of the list has no meaning.
 */
#define SMALLFILE_EACH_DIR 0x1u
#define SMALLFILE_REPEATS  0x2u  /* can be done again on the same files: it may have a duration */
#define SMALLFILE_MOVES    0x4u  /* file data */
#define SMALLFILE_READS    0x8u  /* file data, of files that it has not written */
#define SMALLFILE_LINKS    0x10u /* the store must have links */
#define SMALLFILE_LOADS(X)                                                                         \
	X(CREATE, "create", "seq-wr", SMALLFILE_MOVES) /* a new file, written */                   \
	X(APPEND, "append", NULL, SMALLFILE_MOVES)     /* as much again at its end */              \
	X(OVERWRITE, "overwrite", NULL, SMALLFILE_MOVES | SMALLFILE_REPEATS)                       \
	X(READ, "read", "seq-rd", SMALLFILE_MOVES | SMALLFILE_READS | SMALLFILE_REPEATS)           \
	X(RND_WR, "rnd-wr", NULL, SMALLFILE_MOVES | SMALLFILE_REPEATS) /* records, shuffled */     \
	X(RND_RD, "rnd-rd", NULL, SMALLFILE_MOVES | SMALLFILE_READS | SMALLFILE_REPEATS)           \
	X(MIX, "seq-rdwrmix", NULL, SMALLFILE_MOVES) /* by chance: read, or append */              \
	X(STAT, "stat", NULL, SMALLFILE_REPEATS)                                                   \
	X(RENAME, "rename", NULL, 0) /* and back, when it is done again */                         \
	X(CHMOD, "chmod", NULL, SMALLFILE_REPEATS)                                                 \
	X(SETXATTR, "setxattr", NULL, SMALLFILE_REPEATS)                                           \
	X(GETXATTR, "getxattr", NULL, SMALLFILE_REPEATS)                                           \
	X(LINK, "link", NULL, SMALLFILE_LINKS)          /* a second, hard name */                  \
	X(UNLINK, "unlink-link", NULL, SMALLFILE_LINKS) /* of LINK */                              \
	X(SYMLINK, "symlink", NULL, SMALLFILE_LINKS)    /* beside each file, to it */              \
	X(UNSYMLINK, "unlink-symlink", NULL, SMALLFILE_LINKS)                                      \
	X(MKDIR, "mkdir", NULL, 0) /* a directory beside each file */                              \
	X(RMDIR, "rmdir", NULL, 0) /* of MKDIR */                                                  \
	X(READDIR, "readdir", NULL, SMALLFILE_EACH_DIR | SMALLFILE_REPEATS)                        \
	X(LS_L, "ls-l", NULL, SMALLFILE_EACH_DIR | SMALLFILE_REPEATS) /* with attributes */        \
	X(DELETE, "delete", "unlink", 0)

enum smallfile_load {
#define X(name, key, peer, flags) SMALLFILE_##name,
	SMALLFILE_LOADS(X)
#undef X
	    N_SMALLFILE_LOADS
};

/* "create" */
const char *smallfile_name(enum smallfile_load load);
unsigned int smallfile_flags(enum smallfile_load load);
/* By its name, or that of gfapi-perf-tool'. -ENOENT, and a text that lists all. */
int smallfile_find(enum smallfile_load *out, const char *name, struct err *e);

/* Whether the store has what a load needs. -EOPNOTSUPP and a text. */
int smallfile_fits(enum smallfile_load load, const struct store *store, struct err *e);

#define SMALLFILE_PREFIX_MAX 63

struct smallfile_opts {
	unsigned int files, files_per_dir; /* of a client; at least 1 */
	unsigned int depth;                /* so many of its directories below one another */
	uint64_t file_len, record_len;     /* bytes; a record at least 1 */
	unsigned int records;              /* RND_WR, RND_RD: of a file, 0: all */
	unsigned int read_percent;         /* MIX: how many files are read */
	unsigned int read_hundredths;      /* and hundredths of a percent beyond it, below 100 */
	bool overwrites;                   /* MIX: the others are overwritten, not appended to */
	bool exponential;                  /* lengths are at random, file_len is their mean */
	bool hashed;                       /* a file's directory is at random */
	bool shuffled;                     /* the order of the files is */
	bool flush;                        /* before a file is closed that was written */
	bool verify;                       /* what is read */
	/*
	 * The files are of an earlier run, or of another program: what is read of each is file_len,
	 * and what is appended begins at the end that it is found to have. Not with verify.
	 */
	bool foreign;
	bool finds;   /* the client's directories must be there: they are not made */
	bool lenient; /* DELETE: a file that is not there is no failure */
	uint64_t seed;
	char prefix[SMALLFILE_PREFIX_MAX + 1];
	const char *base; /* directory in the root, which exists; "": the root itself */
};

/* Bytes of all files of client number when they are created. */
uint64_t smallfile_bytes(const struct smallfile_opts *o, unsigned int number);
/* Most bytes that the files of so many clients have at once in these loads, beyond what was there.
 */
uint64_t smallfile_most(const struct smallfile_opts *o, unsigned int clients,
			const enum smallfile_load *load, unsigned int n);
unsigned int smallfile_dirs(const struct smallfile_opts *o);

/* What a client has done in its last load; what failed is in none of them. */
struct smallfile_counts {
	uint64_t read, written, deleted; /* files */
	uint64_t missing;                /* lenient: files that were not there */
	uint64_t records;                /* read or written as a whole, those at an end included */
};

struct smallfile;

/* Client number, from 0. o is borrowed. NULL without memory. */
struct smallfile *smallfile_new(const struct smallfile_opts *o, unsigned int number);
void smallfile_free(struct smallfile *c);

/*
 * The path of the i-th of its files, below the root; not while a script is in use. Bytes, as
 * snprintf().
 */
int smallfile_path(struct smallfile *c, unsigned int i, char *out, size_t size);

/* One action: makes the client's directories, or finds them. */
struct script *smallfile_make(struct smallfile *c);

/*
 * An action a file or directory, until all have had theirs; again: begins anew then, if the load
 * REPEATS. One script at a time.
 */
struct script *smallfile_use(struct smallfile *c, enum smallfile_load load, bool again);

/* Valid until the next load begins. */
const struct smallfile_counts *smallfile_counts(const struct smallfile *c);

#endif
