/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fake server's volume: what the commands do. How they are encoded is in answer.c. */
#include "fake/volume.h"

#include "afp/proto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ID 17

static struct volume_node **bucket_of(struct volume *v, uint32_t dir, const char *name)
{
	uint32_t hash = 2166136261u ^ dir * 2654435761u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return &v->bucket[(hash ^ hash >> 16) % (sizeof(v->bucket) / sizeof(v->bucket[0]))];
}

static struct volume_node *new_node(struct volume *v, uint32_t id, bool is_dir, const char *name)
{
	struct volume_node *n = calloc(1, sizeof(*n));

	if (!n)
		abort();
	if (id >= v->n_ids) {
		v->by_id = realloc(v->by_id, (id + 1024) * sizeof(struct volume_node *));
		if (!v->by_id)
			abort();
		memset(v->by_id + v->n_ids, 0,
		       (id + 1024 - v->n_ids) * sizeof(struct volume_node *));
		v->n_ids = id + 1024;
	}
	v->by_id[id] = n;
	n->id = id;
	n->is_dir = is_dir;
	n->time = 852076800u + id;
	snprintf(n->name, sizeof(n->name), "%s", name);
	return n;
}

void volume_init(struct volume *v)
{
	memset(v, 0, sizeof(*v));
	v->next_id = FIRST_ID;
	new_node(v, VOLUME_ROOT, true, "Fake")->parent = 1;
}

void volume_fini(struct volume *v)
{
	for (uint32_t id = 0; id < v->n_ids; id++) {
		if (v->by_id[id])
			free(v->by_id[id]->lock);
		free(v->by_id[id]);
	}
	free(v->by_id);
}

struct volume_node *volume_find(struct volume *v, uint32_t dir, const char *name)
{
	struct volume_node *n;

	if (!*name)
		return dir < v->n_ids && v->by_id[dir] && v->by_id[dir]->is_dir ? v->by_id[dir]
										: NULL;
	for (n = *bucket_of(v, dir, name); n; n = n->same_hash) {
		if (n->parent == dir && !strcmp(n->name, name))
			break;
	}
	return n;
}

int32_t volume_create(struct volume *v, uint32_t dir, const char *name, bool is_dir, uint32_t *id)
{
	struct volume_node *parent = volume_find(v, dir, ""), *n, **bucket;

	if (!parent)
		return AFP_ERR_NO_OBJECT;
	if (!*name)
		return AFP_ERR_BAD_PARAMETER;
	if (volume_find(v, dir, name))
		return AFP_ERR_EXISTS;
	n = new_node(v, v->next_id++, is_dir, name);
	n->parent = dir;
	bucket = bucket_of(v, dir, name);
	n->same_hash = *bucket;
	*bucket = n;
	n->prev = parent->last;
	*(parent->last ? &parent->last->next : &parent->first) = n;
	parent->last = n;
	parent->n_children++;
	v->n_nodes++;
	*id = n->id;
	return AFP_ERR_OK;
}

int32_t volume_delete(struct volume *v, uint32_t dir, const char *name)
{
	struct volume_node *n = volume_find(v, dir, name), *parent, **at;

	if (!n)
		return AFP_ERR_NO_OBJECT;
	if (n->id == VOLUME_ROOT)
		return AFP_ERR_ACCESS_DENIED;
	if (n->n_children)
		return AFP_ERR_DIR_NOT_EMPTY;
	if (n->n_open)
		return AFP_ERR_FILE_BUSY;
	parent = v->by_id[n->parent];
	*(n->prev ? &n->prev->next : &parent->first) = n->next;
	*(n->next ? &n->next->prev : &parent->last) = n->prev;
	parent->n_children--;
	for (at = bucket_of(v, n->parent, n->name); *at != n; at = &(*at)->same_hash)
		;
	*at = n->same_hash;
	v->by_id[n->id] = NULL;
	v->n_nodes--;
	free(n->lock);
	free(n);
	return AFP_ERR_OK;
}

/* Do two openings of one file exclude each other? */
static bool conflict(uint16_t a, uint16_t b)
{
	return (a & AFP_READ && b & AFP_DENY_READ) || (a & AFP_WRITE && b & AFP_DENY_WRITE) ||
	       (b & AFP_READ && a & AFP_DENY_READ) || (b & AFP_WRITE && a & AFP_DENY_WRITE);
}

int32_t volume_open(struct volume *v, struct volume_node *n, uint16_t access, unsigned int *fork)
{
	unsigned int free_at = VOLUME_FORKS;

	if (n->is_dir)
		return AFP_ERR_WRONG_TYPE;
	for (unsigned int i = VOLUME_FORKS; i-- > 0;) {
		if (!v->fork[i].node)
			free_at = i;
		else if (v->fork[i].node == n && conflict(v->fork[i].access, access))
			return AFP_ERR_DENY_CONFLICT;
	}
	if (free_at == VOLUME_FORKS)
		return AFP_ERR_TOO_MANY_OPEN;
	v->fork[free_at] = (struct volume_fork) { n, access };
	n->n_open++;
	*fork = free_at + 1;
	return AFP_ERR_OK;
}

struct volume_node *volume_fork(struct volume *v, unsigned int fork)
{
	return fork >= 1 && fork <= VOLUME_FORKS ? v->fork[fork - 1].node : NULL;
}

int32_t volume_close(struct volume *v, unsigned int fork)
{
	struct volume_node *n = volume_fork(v, fork);
	unsigned int kept = 0;

	if (!n)
		return AFP_ERR_BAD_PARAMETER;
	for (unsigned int i = 0; i < n->n_locks; i++) {
		if (n->lock[i].fork != fork)
			n->lock[kept++] = n->lock[i];
	}
	n->n_locks = kept;
	n->n_open--;
	v->fork[fork - 1].node = NULL;
	return AFP_ERR_OK;
}

void volume_close_all(struct volume *v)
{
	for (unsigned int fork = 1; fork <= VOLUME_FORKS; fork++)
		volume_close(v, fork);
}

int32_t volume_lock(struct volume *v, unsigned int fork, bool unlock, uint64_t from, uint64_t len)
{
	struct volume_node *n = volume_fork(v, fork);
	struct volume_lock want = { fork, from, from + len }, *l;

	if (!n || !len)
		return AFP_ERR_BAD_PARAMETER;
	for (unsigned int i = 0; i < n->n_locks; i++) {
		l = &n->lock[i];
		if (unlock && l->fork == fork && l->from == want.from && l->to == want.to) {
			*l = n->lock[--n->n_locks];
			return AFP_ERR_OK;
		}
		if (!unlock && l->from < want.to && want.from < l->to)
			return l->fork == fork ? AFP_ERR_RANGE_OVERLAP : AFP_ERR_LOCK_CONFLICT;
	}
	if (unlock)
		return AFP_ERR_RANGE_NOT_LOCKED;
	if (!n->lock)
		n->lock = calloc(VOLUME_LOCKS, sizeof(*n->lock));
	if (!n->lock || n->n_locks == VOLUME_LOCKS)
		return AFP_ERR_NO_MORE_LOCKS;
	n->lock[n->n_locks++] = want;
	return AFP_ERR_OK;
}
