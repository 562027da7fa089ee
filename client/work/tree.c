/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories of workloads: naming, finding, removing. */
#include "work/tree.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/procstat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define PREFIX      "LanTest-"
#define NAME_FORMAT PREFIX "%08x-%u-%06x"
#define LIST_BITMAP 0x2140 /* long name, id, UTF-8 name */
#define LIST_COUNT  1024
#define DEPTH_MAX   64
#define IDLE_MAX    3 /* lists in a row whose entries had all gone: somebody else deletes, too */
#define REFUSED     1

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

static int tree_refused(const struct afp_op *op, const char *name, struct err *e)
{
	const int32_t result = op->dsi.result;

	return err_set(e, result == AFP_ERR_FILE_BUSY ? TREE_BUSY : REFUSED, "%s %s: %s (AFP %d)",
		       afp_op_name(op), name, afp_result_text(result), result);
}

/* State while a directory is being emptied. */
struct emptying {
	struct afp *a;
	struct err *e;
	uint32_t dir;
	int depth;
	unsigned int removed; /* of what was listed last */
	bool wide;            /* FPEnumerate, whose entries have 255 bytes, cannot hold the names */
	uint8_t list[AFP_ENUMERATE_MAX];
};

static int empty(struct afp *a, uint32_t dir, int depth, struct err *e);

/* Of the directory name in dir. 0 and *id, which is 0 if it has gone; or as tree_remove(). */
static int tree_find(struct afp *a, uint32_t dir, const char *name, uint32_t *id, struct err *e)
{
	struct afp_params p;
	struct afp_op op;
	int r;

	*id = 0;
	afp_prep_get_params(&op, a, dir, name, 0, AFP_BIT_ID);
	r = afp_call(a, &op, e);
	if (r || op.dsi.result == AFP_ERR_NO_OBJECT)
		return r;
	if (op.dsi.result || !afp_get_file_params(&op, &p))
		return tree_refused(&op, name, e);
	*id = p.id;
	return 0;
}

static int tree_remove_entry(struct emptying *m, const struct afp_params *p)
{
	uint32_t id = p->id;
	struct afp_op op;
	int r = 0;

	if (p->is_dir && m->wide)
		r = tree_find(m->a, m->dir, p->name, &id, m->e);
	if (r || (p->is_dir && !id))
		return r;
	if (p->is_dir)
		r = empty(m->a, id, m->depth + 1, m->e);
	if (r)
		return r;
	if (p->is_dir)
		afp_prep_delete(&op, m->a, id, "");
	else
		afp_prep_delete(&op, m->a, m->dir, p->name);
	r = afp_call(m->a, &op, m->e);
	if (r)
		return r;
	if (op.dsi.result && op.dsi.result != AFP_ERR_NO_OBJECT)
		return tree_refused(&op, p->name, m->e);
	m->removed += !op.dsi.result;
	return 0;
}

static int tree_ask(struct emptying *m, struct afp_op *op)
{
	const struct afp_enumerate what = {
		m->dir, LIST_BITMAP, LIST_BITMAP, LIST_COUNT, 1, false
	};
	const struct afp_list wide = {
		.dir = m->dir, .start = 1, .buf = m->list, .len = sizeof(m->list)
	};

	if (m->wide)
		afp_prep_list(op, m->a, &wide);
	else
		afp_prep_enumerate(op, m->a, &what, m->list);
	return afp_call(m->a, op, m->e);
}

/* What one list from the start has is deleted. *more: it listed any, or another list may. */
static int remove_batch(struct emptying *m, bool *more)
{
	struct afp_entries it;
	struct afp_params p;
	struct afp_op op;
	int r;

	m->removed = 0;
	r = tree_ask(m, &op);
	if (r)
		return r;
	*more = op.dsi.result != AFP_ERR_NO_OBJECT;
	if (!*more)
		return 0;
	if (op.dsi.result && m->wide)
		return tree_refused(&op, "", m->e);
	if (!op.dsi.result)
		afp_entries_begin(&it, &op);
	while (!op.dsi.result && !r && afp_entries_next(&it, &p))
		r = tree_remove_entry(m, &p);
	if (r || (!op.dsi.result && !it.at.bad))
		return r;
	if (m->wide)
		return err_set(m->e, REFUSED, "%s: malformed reply", afp_op_name(&op));
	m->wide = true;
	return 0;
}

static int empty(struct afp *a, uint32_t dir, int depth, struct err *e)
{
	struct emptying *m;
	unsigned int idle = 0;
	bool more = true;
	int r = 0;

	if (depth > DEPTH_MAX)
		return err_set(e, REFUSED, "more than %d directories deep", DEPTH_MAX);
	m = malloc(sizeof(*m));
	if (!m)
		return err_set(e, -ENOMEM, "out of memory");
	m->a = a;
	m->e = e;
	m->dir = dir;
	m->depth = depth;
	m->wide = false;
	while (!r && more && idle < IDLE_MAX) {
		r = remove_batch(m, &more);
		idle = m->removed ? 0 : idle + 1;
	}
	if (!r && more)
		r = err_set(e, REFUSED, "FPEnumerate lists what FPDelete does not find");
	free(m);
	return r;
}

int tree_empty(struct afp *a, uint32_t dir, struct err *e)
{
	return empty(a, dir, 0, e);
}

int tree_remove(struct afp *a, uint32_t parent, const char *name, struct err *e)
{
	struct afp_op op;
	uint32_t id;
	int r;

	afp_prep_delete(&op, a, parent, name);
	r = afp_call(a, &op, e);
	if (r || !op.dsi.result || op.dsi.result == AFP_ERR_NO_OBJECT)
		return r;
	if (op.dsi.result != AFP_ERR_DIR_NOT_EMPTY)
		return tree_refused(&op, name, e);
	r = tree_find(a, parent, name, &id, e);
	if (r || !id)
		return r;
	afp_prep_delete(&op, a, id, "");
	r = afp_call(a, &op, e);
	if (r || !op.dsi.result)
		return r;
	r = tree_empty(a, id, e);
	if (r)
		return r;
	afp_prep_delete(&op, a, id, "");
	r = afp_call(a, &op, e);
	return r || !op.dsi.result ? r : tree_refused(&op, name, e);
}

/* Those of one reply. */
static int tree_look(struct tree_found *f, const struct afp *a, struct afp_entries *it)
{
	struct tree_owner owner;
	struct afp_params p;
	const char *name;
	int r = 0;

	while (!r && afp_entries_next(it, &p)) {
		name = a->path_type == 3 ? p.name : p.long_name;
		f->looked++;
		if (p.is_dir && tree_owner(name, &owner))
			r = f->found(f->user, name);
	}
	return r;
}

int tree_list(struct afp *a, struct tree_found *f, struct err *e)
{
	uint8_t buf[AFP_ENUMERATE_MAX];
	struct afp_list what = { .dir = AFP_ROOT_ID, .start = 1, .buf = buf, .len = sizeof(buf) };
	struct afp_entries it;
	struct afp_op op;
	int r;

	for (f->looked = 0;; what.start = (uint32_t)f->looked + 1) {
		if (f->looked >= afp_list_max(a))
			return err_set(
			    e, REFUSED,
			    "the volume's root has more than %u entries, which %s cannot "
			    "list: use AFP 3.1 or newer",
			    afp_list_max(a), a->version);
		afp_prep_list(&op, a, &what);
		r = afp_call(a, &op, e);
		if (r || op.dsi.result == AFP_ERR_NO_OBJECT)
			return r;
		if (op.dsi.result)
			return tree_refused(&op, "of the volume's root", e);
		if (!afp_entries_begin(&it, &op) || !it.left)
			return err_set(e, REFUSED, "%s: malformed reply", afp_op_name(&op));
		r = tree_look(f, a, &it);
		if (r)
			return r;
		if (it.at.bad)
			return err_set(e, REFUSED, "%s: malformed reply", afp_op_name(&op));
	}
}
