/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_CHAIN_H
#define LOAD_CHAIN_H

/*
 * The round trips of one action (run/load.h), and how few would have done.
 *
 * A request could have gone with the one before it if nothing of it depends on that one's answer:
 * it needs what an earlier answer names (the fork of an open, the folder of a mkdir, where a list
 * goes on), or it comes after one that changes the same file, or it changes a file that others
 * read or write before it. A deletion, a rename and an exchange need all changes before them: they
 * destroy what would be needed if one of these had failed.
 *
 * Memory is fixed; an action with more names than CHAIN_KEYS has round trips, but it is not known
 * how few would do.
 */

#include "run/load.h"
#include "store/store.h"

#define CHAIN_KEYS 24

/* A name, an open file, or another thing that requests are about; how deep in the shortest chain
 * the last request is that changes it, reads it, writes to it. */
struct chain_key {
	uint32_t hash;
	uint32_t changed, read, written;
	uint8_t same; /* of an open file, the index of its name's key + 1; 0: it is its own */
};

struct chain {
	struct run_trips is; /* requests, together */
	unsigned int done;   /* the deepest request whose answer was taken */
	unsigned int least;  /* the same of the shortest chain */
	unsigned int more;   /* round trips of single requests beyond their first */
	unsigned int changed;
	unsigned int depth; /* of the last answer; the most needed so deep, and of those before */
	unsigned int need, before;
	unsigned int n_keys;
	bool full; /* more names than keys */
	struct chain_key key[CHAIN_KEYS];
};

void chain_begin(struct chain *c);
/* op was given to the store; its depth and need are set. */
void chain_sent(struct chain *c, struct store_op *op);
/* Its answer was taken, before anything that follows from it is sent. */
void chain_answered(struct chain *c, const struct store_op *op);
/* The action is over; bytes: file data that it moved. */
void chain_end(struct chain *c, uint64_t bytes, struct run_trips *to);

#endif
