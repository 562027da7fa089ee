/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_MIX_MIX_CLIENT_PRIV_H
#define WORK_MIX_MIX_CLIENT_PRIV_H

/* One client of a mix, and what its files hold. Only for client/work/mix. */

#include "work/mix/mix.h"
#include "work/mix/mix_content.h"
#include "work/mix/mix_steps.h"

#define NAME_LEN 24

struct mix_data {
	uint8_t *in; /* where all that is read goes, each thread's */
	size_t len;  /* of each thread's part of in */
};

/* What a file may hold: each block of a version from ... to. */
struct mix_versions {
	uint32_t from, to;
};

/* One of the three scripts. */
struct mix_part {
	struct script s;
	struct mix_client *c;
	bool begun; /* of those that have one action */
};

struct mix_request {
	struct store_op op; /* first: an answer's request is found by it */
	uint8_t *own;       /* what is written, or read and compared; NULL: nothing */
	bool lent;
};

/* A directory of the client. */
struct mix_home {
	struct store_dir dir;
	bool there;
	bool dirty; /* there may be more names than the set's */
};

struct mix_client {
	struct mix_client_opts o;
	struct mix_part make, use, remove, verify;
	struct mix_content content;
	struct mix_versions *version; /* of each file; NULL: all have 0 */
	struct mix_verified verified;
	unsigned int verify_home, verify_file; /* the next one */
	const struct store *store;
	unsigned short random[3];
	unsigned int weights; /* their sum */
	struct store_dir base;
	unsigned int n_homes;
	struct mix_home *home;

	/* The action under way */
	const struct mix_step *at;
	unsigned int action, in, file; /* in: home[] */
	bool failed, curing;
	struct err why; /* it failed; other answers come before the action's end */
	bool logged_in; /* it has one more session */
	bool open;
	struct store_file opened;
	uint64_t len;            /* of the file */
	uint64_t sent, n_listed; /* bytes asked for; entries, or results of a search */
	uint8_t search_at[STORE_PLACE_LEN];
	unsigned int n_sent; /* of requests at random places */
	uint64_t place;      /* of a lock */
	unsigned int n_lent;
	bool list_done;
	char name[N_WHICH][NAME_LEN];
	uint8_t *list;  /* STORE_LIST_LEN; NULL: the mix lists and searches nothing */
	size_t own_len; /* of each request's own memory; 0: they have none */
	struct mix_request request[];
};

static inline const struct mix *mix_of(const struct mix_client *c)
{
	return c->o.mix;
}

static inline struct mix_home *home_of(struct mix_client *c)
{
	return &c->home[c->in];
}

/* The directory's number among those of all clients. */
static inline unsigned int home_number(const struct mix_client *c)
{
	return mix_of(c)->shared ? 0 : c->o.number + c->in * c->o.n_clients;
}

/* The file's number among those of all clients. */
static inline uint64_t file_number(const struct mix_client *c)
{
	return (uint64_t)home_number(c) * mix_of(c)->files + c->file;
}

/* Whether it makes and removes the files: of those that share a set, the first. */
static inline bool makes_set(const struct mix_client *c)
{
	return !mix_of(c)->shared || !c->o.number;
}

/* Memory of its own for what it writes or compares, and the versions of its files. */
bool mix_files_new(struct mix_client *c);
void mix_files_free(struct mix_client *c);

/* An action begins that may write the file chosen; has succeeded: nothing is left of versions
 * before. */
void mix_files_begin(struct mix_client *c);
void mix_files_keep(struct mix_client *c);

/* The data of r, a write of op.len bytes at op.offset of the file chosen. */
void mix_files_fill(struct mix_client *c, struct mix_request *r);

/* Whether what a read got is what was written; if not, where: in c->why. */
bool mix_files_compare(struct mix_client *c, const struct store_op *op);

#endif
