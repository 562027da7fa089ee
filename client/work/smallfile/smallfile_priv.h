/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_SMALLFILE_SMALLFILE_PRIV_H
#define WORK_SMALLFILE_SMALLFILE_PRIV_H

/* A client of smallfile. Only for client/work/smallfile*.c: steps (smallfile.c) and data. */

#include "work/smallfile/smallfile_set.h"

#define SMALLFILE_NAME_LEN (SMALLFILE_PREFIX_MAX + 24)
#define SMALLFILE_ATTR     "afpscope"
#define SMALLFILE_ATTR_LEN 64

/* What a step's name or second name is. */
enum smallfile_which {
	OF_FILE,
	OF_OTHER, /* of a file that RENAME has renamed; else of one that it has not */
	OF_LINK,
	OF_SYMLINK,
	OF_DIR, /* of MKDIR */
	OF_ATTR,
	OF_HOME, /* a directory of the client */
	OF_BASE,
	N_WHICH
};

struct smallfile_step {
	enum store_verb verb; /* N_STORE_VERBS: the end */
	enum smallfile_which name, to;
	unsigned int how;
	bool attrs; /* LIST */
};

struct smallfile {
	struct script s; /* the one in use */
	const struct smallfile_opts *o;
	unsigned int number;
	const struct store *store;
	enum smallfile_load load; /* MIX is READ or APPEND for each file */
	bool mixed, again;
	unsigned int n, i;     /* of the load: how many files or directories, and which is next */
	unsigned int n_made;   /* files that were created: the first of their order */
	unsigned int n_dirs;   /* of dir */
	struct store_dir base; /* holds them */
	struct store_dir *dir;
	uint32_t *order;    /* of a file's records: of all there can be; NULL: not made yet */
	uint32_t n_records; /* its length */
	unsigned int appends, mixes, chmods; /* loads of these that are over */
	bool renamed;
	struct smallfile_counts counts; /* of the load */

	/* The action under way */
	const struct smallfile_step *at;
	unsigned int file, home;
	uint64_t seed;     /* of the file's contents */
	uint64_t from, to; /* bytes of the file that are read or written */
	uint64_t k;        /* of order: the next record */
	uint64_t moved;    /* bytes done: of the file, or, at random, of the record */
	uint64_t n_done;   /* records at random; entries listed */
	bool open, failed;
	bool absent; /* DELETE, lenient: it was not there */
	struct store_file opened;
	struct err why;
	struct store_op op;
	char stem[SMALLFILE_NAME_LEN]; /* that the file's names begin with; not a string */
	size_t stem_len;
	unsigned int named; /* a bit for each of name that is the file's */
	char name[N_WHICH][SMALLFILE_NAME_LEN];
	uint8_t attr[SMALLFILE_ATTR_LEN + STORE_XATTR_HEAD];
	uint8_t *buf; /* of a record, and of what a store may need beyond it */
};

/* Whether the file is read, the mix-th time that MIX is done; else it is appended to. */
bool smallfile_is_read(const struct smallfile *c, unsigned int file, unsigned int mix);

/* What of the file the load under way reads or writes. */
void smallfile_set_range(struct smallfile *c);

/* RND_RD, RND_WR: makes the order of the records. false: no memory, or too many of them. */
bool smallfile_order_records(struct smallfile *c);

/* The file that is appended to was found to be len bytes long. */
void smallfile_found_len(struct smallfile *c, uint64_t len);

/* The next record: where, and how many of its bytes are left; 0: there is none. */
uint64_t smallfile_next_record(struct smallfile *c, uint64_t *offset);

/* Completes a READ or WRITE, a GET_XATTR or SET_XATTR. */
void smallfile_fill_data(struct smallfile *c, struct store_op *op);
void smallfile_fill_attr(struct smallfile *c, struct store_op *op);

/* A READ or WRITE was answered. */
void smallfile_moved(struct smallfile *c, const struct store_op *op);

/* Whether a READ or a GET_XATTR has given what was written. 0, or an errno and a text. */
int smallfile_check_data(struct smallfile *c, const struct store_op *op, struct err *e);
int smallfile_check_attr(struct smallfile *c, const struct store_op *op, struct err *e);

#endif
