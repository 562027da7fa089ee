/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FAKE_VOLUME_H
#define FAKE_VOLUME_H

/*
 * A volume in memory, for the fake server: names, directories, lengths, open forks, locks. File
 * contents are zeros. Answers are AFP results. One thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VOLUME_ROOT  2
#define VOLUME_FORKS 2048
#define VOLUME_LOCKS 2048 /* of one file */

struct volume_lock {
	unsigned int fork;
	uint64_t from, to; /* first byte, first byte behind */
};

struct volume_node {
	uint32_t id, parent;
	bool is_dir;
	char name[256];
	uint64_t len;
	uint32_t time; /* seconds since 2000 */
	unsigned int n_children, n_open, n_locks;
	struct volume_lock *lock;         /* VOLUME_LOCKS, once there was one */
	struct volume_node *first, *last; /* children, in order of creation */
	struct volume_node *prev, *next, *same_hash;
};

struct volume_fork {
	struct volume_node *node; /* NULL: free */
	uint16_t access;
};

struct volume {
	struct volume_node *bucket[4096];
	struct volume_node **by_id;
	uint32_t n_ids, next_id; /* ids are never used again */
	unsigned int n_nodes;    /* without the root */
	struct volume_fork fork[VOLUME_FORKS];
};

void volume_init(struct volume *v);
void volume_fini(struct volume *v);

/* NULL: no such thing. An empty name is the directory itself. */
struct volume_node *volume_find(struct volume *v, uint32_t dir, const char *name);

int32_t volume_create(struct volume *v, uint32_t dir, const char *name, bool is_dir, uint32_t *id);
int32_t volume_delete(struct volume *v, uint32_t dir, const char *name);

/* The access word is that of FPOpenFork; forks count from 1. */
int32_t volume_open(struct volume *v, struct volume_node *n, uint16_t access, unsigned int *fork);
struct volume_node *volume_fork(struct volume *v, unsigned int fork);
int32_t volume_close(struct volume *v, unsigned int fork);
int32_t volume_lock(struct volume *v, unsigned int fork, bool unlock, uint64_t from, uint64_t len);
void volume_close_all(struct volume *v);

#endif
