/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories of workloads: naming, finding, removing. */
#include "work/tree.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/procstat.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define PREFIX       "LanTest-"
#define NAME_FORMAT  PREFIX "%08x-%u-%06x"

#define IMAGE_PREFIX "afpscope-replay-"
#define IMAGE_DIGITS 8

/* When a process began, in ticks after boot; 0: not known. */
static uint64_t start_of(pid_t pid)
{
	struct procstat st;

	return procstat_read(&st, pid) ? 0 : st.started;
}

/*
 * The scope of process numbers: machine, host name, boot and PID namespace. A cloned machine has
 * the same machine id, but another boot. If a part is not known, the number is useless later: then
 * a random value, which matches no other.
 */
static uint32_t host_hash(void)
{
	char id[256] = "", boot[64] = "", ns[64] = "";
	uint64_t hash = HASH_TEXT, random = 0;

	if (!file_line(id, sizeof(id), "/etc/machine-id")) /* not in every container */
		hash = hash_text(hash, id);
	gethostname(id, sizeof(id) - 1);
	hash = hash_text(hash, id);
	if (!file_line(boot, sizeof(boot), "/proc/sys/kernel/random/boot_id") &&
	    readlink("/proc/self/ns/pid", ns, sizeof(ns) - 1) > 0 && start_of(getpid()))
		return (uint32_t)hash_number(hash_text(hash_text(hash, boot), ns));
	if (getrandom(&random, sizeof(random), 0) < 0)
		random = (uint64_t)getpid();
	return (uint32_t)hash_number(hash ^ random);
}

uint32_t tree_mark(uint64_t started)
{
	return (uint32_t)(hash_number(started) >> 40);
}

static void tree_put_name(char out[static TREE_NAME_MAX + 1], pid_t pid)
{
	snprintf(out, TREE_NAME_MAX + 1, NAME_FORMAT, host_hash(), (unsigned int)pid % 10000000u,
		 tree_mark(start_of(pid)));
}

void tree_name(char out[static TREE_NAME_MAX + 1])
{
	tree_put_name(out, getpid());
}

bool tree_name_of(char out[static TREE_NAME_MAX + 1], pid_t pid)
{
	tree_put_name(out, pid);
	return start_of(pid);
}

bool tree_owner(const char *name, struct tree_owner *out)
{
	char again[TREE_NAME_MAX + 8];
	unsigned int hash, pid, mark;

	if (sscanf(name, PREFIX "%8x-%7u-%6x", &hash, &pid, &mark) != 3 || !pid)
		return false;
	/* sscanf accepts signs, blanks and 0x: the name is ours only if we would write the same */
	snprintf(again, sizeof(again), NAME_FORMAT, hash, pid, mark);
	if (strcmp(name, again))
		return false;
	out->here = hash == host_hash();
	out->pid = (pid_t)pid;
	out->mark = mark;
	return true;
}

void tree_image_name(char out[static TREE_NAME_MAX + 1], const char *uuid)
{
	snprintf(out, TREE_NAME_MAX + 1, IMAGE_PREFIX "%.*s", IMAGE_DIGITS, uuid);
}

bool tree_is_image(const char *name)
{
	const size_t len = strlen(IMAGE_PREFIX);

	return !strncmp(name, IMAGE_PREFIX, len) && strlen(name) == len + IMAGE_DIGITS &&
	       strspn(name + len, "0123456789abcdef") == IMAGE_DIGITS;
}

static int tree_go(struct afp *a, uint32_t parent, const char *name, bool legacy, struct err *e)
{
	const struct store_afp_opts opts = { .window = 1, .legacy = legacy };
	struct store_op last = { 0 };
	struct store *s;
	int r = store_open_afp(&s, a, &opts, e);

	if (r)
		return r;
	r = store_remove_tree(s, (struct store_dir) { 0, parent }, name, &last, e);
	store_close(s);
	return r;
}

int tree_remove(struct afp *a, uint32_t parent, const char *name, struct err *e)
{
	return tree_go(a, parent, name, false, e);
}

int tree_remove_legacy(struct afp *a, uint32_t parent, const char *name, struct err *e)
{
	return tree_go(a, parent, name, true, e);
}
