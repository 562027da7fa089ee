/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loads there are, and what follows from a file's number and the seed. */
#include "work/smallfile/smallfile_set.h"

#include "base/hash.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN 0.6180339887 /* of the number of files: far from those before and after */

struct load_row {
	const char *key, *peer;
	unsigned int flags;
};

static const struct load_row loads[] = {
#define X(name, key, peer, flags) { key, peer, flags },
	SMALLFILE_LOADS(X)
#undef X
};

const char *smallfile_name(enum smallfile_load load)
{
	return loads[load].key;
}

unsigned int smallfile_flags(enum smallfile_load load)
{
	return loads[load].flags;
}

int smallfile_find(enum smallfile_load *out, const char *name, struct err *e)
{
	char all[ERR_TEXT_MAX] = "";
	size_t len = 0;

	for (size_t i = 0; i < N_SMALLFILE_LOADS; i++) {
		*out = (enum smallfile_load)i;
		if (!strcmp(loads[i].key, name) || (loads[i].peer && !strcmp(loads[i].peer, name)))
			return 0;
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", i ? ", " : "",
					loads[i].key);
	}
	return err_set(e, -ENOENT, "there is no load '%s'; there are: %s", name, all);
}

int smallfile_fits(enum smallfile_load load, const struct store *store, struct err *e)
{
	if (!(loads[load].flags & SMALLFILE_LINKS) || store->has_links)
		return 0;
	return err_set(e, -EOPNOTSUPP, "load %s: %s has no links", loads[load].key,
		       store->type->name);
}

uint64_t smallfile_chance(const struct smallfile_opts *o, unsigned int number, uint64_t file,
			  uint64_t use)
{
	return hash_number(hash_number(o->seed + number * 0x9e3779b97f4a7c15ull + use) + file);
}

uint64_t smallfile_len(const struct smallfile_opts *o, unsigned int number, unsigned int file)
{
	double u, len;

	if (!o->exponential)
		return o->file_len;
	u = ((double)(smallfile_chance(o, number, file, FOR_LEN) >> 11) + 1) / 9007199254740993.0;
	len = -log(u) * (double)o->file_len;
	return (uint64_t)(len < SMALLFILE_LEN_TIMES * (double)o->file_len
			      ? len
			      : SMALLFILE_LEN_TIMES * (double)o->file_len);
}

uint64_t smallfile_bytes(const struct smallfile_opts *o, unsigned int number)
{
	uint64_t n = 0;

	if (!o->exponential)
		return o->files * o->file_len;
	for (unsigned int i = 0; i < o->files; i++)
		n += smallfile_len(o, number, i);
	return n;
}

uint64_t smallfile_most(const struct smallfile_opts *o, unsigned int clients,
			const enum smallfile_load *load, unsigned int n)
{
	uint64_t set = 0, now = 0, most = 0;

	for (unsigned int i = 0; i < clients; i++)
		set += smallfile_bytes(o, i);
	for (unsigned int i = 0; i < n; i++) {
		if (load[i] == SMALLFILE_CREATE || load[i] == SMALLFILE_APPEND)
			now += set;
		else if (load[i] == SMALLFILE_MIX && !o->overwrites)
			now += set / 100 * (100 - o->read_percent);
		else if (load[i] == SMALLFILE_DELETE)
			now = 0;
		most = now > most ? now : most;
	}
	return most;
}

unsigned int smallfile_dirs(const struct smallfile_opts *o)
{
	return (o->files + o->files_per_dir - 1) / o->files_per_dir;
}

/* Steps that have no factor in common with the number of files. */
unsigned int smallfile_at(const struct smallfile_opts *o, unsigned int number, unsigned int i)
{
	uint64_t n = o->files, start = smallfile_chance(o, number, 0, FOR_ORDER);
	uint64_t step = (uint64_t)((double)n * GOLDEN) | 1, a, b, t;

	if (!o->shuffled || n < 3)
		return i;
	for (;; step += 2) {
		for (a = n, b = step % n; b; t = a % b, a = b, b = t)
			;
		if (a == 1)
			return (unsigned int)((start + i * (step % n)) % n);
	}
}

unsigned int smallfile_dir(const struct smallfile_opts *o, unsigned int number, unsigned int file)
{
	if (o->hashed)
		return (unsigned int)(smallfile_chance(o, number, file, FOR_DIR) %
				      smallfile_dirs(o));
	return file / o->files_per_dir;
}

uint32_t *smallfile_order(const struct smallfile_opts *o, unsigned int number, uint32_t n)
{
	uint32_t *order = malloc((n + 1ull) * sizeof(*order)), at;

	for (uint32_t i = 0; order && i < n; i++) {
		at = (uint32_t)(smallfile_chance(o, number, i, FOR_RECORDS) % (i + 1));
		order[i] = order[at];
		order[at] = i;
	}
	return order;
}
