/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads the programs of bpf/storage.bpf.c and adds up what they count. The best ways to observe
 * the items are loaded in one object, since libbpf reads all of the kernel's types for each object.
 * If the kernel refuses one of them, each item is tried in a separate object, which shares the maps
 * of the first.
 */

#include "watch/bpf/storage_load.h"

#include "base/vec.h"
#include "watch/bpf/load.h"

#include "storage.skel.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_ROWS         (AFS_N_ROLES * AFS_N_ACCOUNTS)
#define RUNG_PROGRAMS  8
#define N_PROGRAMS     (AFS_N_STORAGE_ITEMS * RUNG_PROGRAMS)
#define KERNEL_ENOTSUP 524 /* the kernel's own number; libc has no text for it */
#define KPROBES        "/sys/bus/event_source/devices/kprobe"

/* A way to observe an item. */
struct storage_rung {
	const char *how; /* NULL: end of the ladder */
	const char *program[RUNG_PROGRAMS];
	const char *function;   /* NULL, or only if a function of this name exists */
	const char *tracepoint; /* NULL, or only if this one's first argument is ... */
	const char *takes;      /* ... a pointer to this struct */
};

/* The rungs from the best down, and the last reason to report. */
struct storage_ladder {
	struct storage_rung rung[6];
	const char *last; /* NULL: nothing */
};

static const struct storage_ladder ladders[AFS_N_STORAGE_ITEMS] = {
	[AFS_STORAGE_FILE] = {
		.rung = {
			{ .how = "fentry/fexit vfs_read, vfs_readv, vfs_write, vfs_writev",
			  .program = { "on_read_end", "on_readv_end", "on_write_end",
				       "on_writev_end", "on_read", "on_readv", "on_write",
				       "on_writev" } },
			{ .how = "kprobe vfs_read, vfs_readv, vfs_write, vfs_writev",
			  .program = { "on_kp_read", "on_kp_readv", "on_kp_write",
				       "on_kp_writev" } },
		},
		.last = "Linux has none",
	},
	[AFS_STORAGE_SENDFILE] = {
		.rung = {
			{ .how = "fentry/fexit do_sendfile",
			  .program = { "on_sendfile_end", "on_sendfile" } },
			{ .how = "kprobe do_sendfile",
			  .program = { "on_kp_sendfile" } },
		},
		.last = "Linux has none",
	},
	[AFS_STORAGE_SYNC] = {
		.rung = {
			{ .how = "fentry/fexit do_fsync, vfs_fsync, vfs_fsync_range",
			  .program = { "on_sync_end", "on_vfs_fsync_end", "on_do_fsync_end",
				       "on_do_fsync", "on_vfs_fsync", "on_sync" },
			  .function = "do_fsync" },
			{ .how = "fentry/fexit vfs_fsync, vfs_fsync_range",
			  .program = { "on_sync_end", "on_vfs_fsync_end", "on_vfs_fsync",
				       "on_sync" } },
			{ .how = "kprobe do_fsync, vfs_fsync, vfs_fsync_range",
			  .program = { "on_kp_do_fsync", "on_kp_vfs_fsync", "on_kp_sync" },
			  .function = "do_fsync" },
			{ .how = "kprobe vfs_fsync, vfs_fsync_range",
			  .program = { "on_kp_vfs_fsync", "on_kp_sync" } },
			{ .how = "tp_btf ext4_sync_file_enter/exit: ext4 only",
			  .program = { "on_ext4_sync_end", "on_ext4_sync" },
			  .tracepoint = "ext4_sync_file_enter",
			  .takes = "file" },
		},
	},
	[AFS_STORAGE_CACHE] = {
		.rung = {
			{ .how = "tp_btf mm_filemap_add_to_page_cache",
			  .program = { "on_cache_add" },
			  .tracepoint = "mm_filemap_add_to_page_cache",
			  .takes = "folio" },
			{ .how = "tp_btf mm_filemap_add_to_page_cache",
			  .program = { "on_cache_add_page" },
			  .tracepoint = "mm_filemap_add_to_page_cache",
			  .takes = "page" },
		},
	},
	[AFS_STORAGE_BLOCK] = {
		.rung = {
			{ .how = "tp_btf block_bio_queue",
			  .program = { "on_bio_queue" },
			  .tracepoint = "block_bio_queue",
			  .takes = "bio" },
		},
	},
	[AFS_STORAGE_LATENCY] = {
		.rung = {
			{ .how = "tp_btf block_bio_queue, block_rq_complete, block_bio_complete",
			  .program = { "on_bio_end", "on_request_end", "on_bio_begin" },
			  .tracepoint = "block_bio_queue",
			  .takes = "bio" },
		},
	},
};

struct storage {
	const void *elf;
	size_t elf_len;
	struct bpf_object *calls; /* borrowed */
	struct storage_wish wish;
	int no_fentry; /* errno if the kernel refuses all of them */
	bool together; /* the object "maps" has the programs of each item's first rung */
	struct bpf_object *maps, *object[AFS_N_STORAGE_ITEMS];
	struct storage_item item[AFS_N_STORAGE_ITEMS];
	struct bpf_load_program program[N_PROGRAMS];
	size_t n_programs;
	unsigned int n_lanes;
	struct bpf_load_array row;
};

static const char *storage_load_reason(int r, const char *how)
{
	if (r == -ESRCH)
		return "not in this kernel";
	if (r == -ECANCELED)
		return strncmp(how, "fentry", 6)
			   ? "not wanted"
			   : "not taken: loses events where programs can be preempted";
	if (r == -KERNEL_ENOTSUP)
		return "not supported by this kernel";
	if (r == -ENOENT && !strncmp(how, "kprobe", 6) && access(KPROBES, F_OK))
		return "this kernel has no kprobes";
	return strerror(-r);
}

static void add_why(struct storage_item *item, const char *how, const char *why)
{
	char kind[16];

	/* Variants of one way fail for the same reason: note it once. */
	snprintf(kind, sizeof(kind), "%.*s ", (int)strcspn(how, " "), how);
	if (!strstr(item->why, kind) || !strstr(item->why, why))
		err_append(item->why, "%s%s: %s", *item->why ? "; " : "", how, why);
}

/* Shares our maps of the first object and two of the calls object; creates no others. */
static int set_map(const struct storage *s, struct bpf_map *map)
{
	const char *name = bpf_map__name(map);
	bool ours = !strncmp(name, "storage_", 8);
	struct bpf_map *from;

	if (!ours && strcmp(name, "watched") && strcmp(name, "thread"))
		return bpf_map__set_autocreate(map, false);
	if (ours && !s->maps)
		return strcmp(name, "storage_row")
			   ? 0
			   : bpf_map__set_max_entries(map, s->n_lanes * N_ROWS);
	from = bpf_object__find_map_by_name(ours ? s->maps : s->calls, name);
	return from ? bpf_map__reuse_fd(map, bpf_map__fd(from)) : -ENOENT;
}

/* Loads only these programs: n, or up to a NULL. */
static int storage_load_programs(const struct storage *s, struct bpf_object **out,
				 const char *const *programs, size_t n)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "storage");
	struct bpf_object *o = bpf_object__open_mem(s->elf, s->elf_len, &opts);
	struct bpf_program *p;
	struct bpf_map *map;
	int r = 0;

	if (!o)
		return -errno;
	bpf_object__for_each_map(map, o) if (!r) r = set_map(s, map);
	for (size_t i = 0; i < n && programs[i] && !r; i++) {
		p = bpf_object__find_program_by_name(o, programs[i]);
		r = p ? bpf_program__set_autoload(p, true) : -ENOENT;
	}
	if (!r)
		r = bpf_object__load(o);
	if (r)
		bpf_object__close(o);
	else
		*out = o;
	return r;
}

static void detach(struct storage *s, size_t down_to)
{
	while (s->n_programs > down_to)
		bpf_link__destroy(s->program[--s->n_programs].link);
}

/* Ends first, in the rung's order: so whatever is seen to begin is seen to end. */
static int storage_load_attach(struct storage *s, struct bpf_object *o,
			       const struct storage_rung *r)
{
	size_t before = s->n_programs;
	struct bpf_load_program *p;
	int err;

	for (int i = 0; i < RUNG_PROGRAMS && r->program[i]; i++) {
		p = &s->program[s->n_programs];
		p->name = r->program[i];
		p->program = bpf_object__find_program_by_name(o, p->name);
		p->link = bpf_program__attach(p->program);
		if (!p->link) {
			err = -errno;
			detach(s, before);
			return err;
		}
		s->n_programs++;
	}
	return 0;
}

/* The struct that a tracepoint's first argument points to; NULL: no such tracepoint. */
static const char *takes(const struct btf *btf, const char *tracepoint)
{
	const struct btf_type *t;
	char name[64];
	int id;

	snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	t = id < 0 ? NULL : btf__type_by_id(btf, btf__type_by_id(btf, (__u32)id)->type);
	t = t && btf_is_ptr(t) ? btf__type_by_id(btf, t->type) : NULL;
	/* The parameter before the first argument is internal. */
	if (!t || !btf_is_func_proto(t) || btf_vlen(t) < 2)
		return NULL;
	t = btf__type_by_id(btf, btf_params(t)[1].type);
	if (!t || !btf_is_ptr(t))
		return "";
	t = btf__type_by_id(btf, t->type);
	while (t && btf_is_mod(t))
		t = btf__type_by_id(btf, t->type);
	return t ? btf__name_by_offset(btf, t->name_off) : "";
}

/* Reasons known without trying: 0, or why not. */
static int precluded(const struct storage *s, const struct storage_rung *r)
{
	if (!strncmp(r->how, "fentry", 6))
		return s->wish.no_fentry ? -ECANCELED : s->no_fentry;
	if (strncmp(r->how, "kprobe", 6))
		return s->wish.no_tracepoint ? -ECANCELED : 0;
	if (s->wish.no_kprobe)
		return -ECANCELED;
	return access(KPROBES, F_OK) ? -ENOENT : 0;
}

/* The first from r on that can be tried; NULL: none. Notes what precludes those before it. */
static const struct storage_rung *find_rung(struct storage *s, int i, const struct storage_rung *r,
					    const struct btf *btf)
{
	const char *first;
	int err;

	for (; r->how; r++) {
		first = r->tracepoint ? takes(btf, r->tracepoint) : NULL;
		/* Variants that do not fit this kernel are not reported. */
		if ((first && strcmp(first, r->takes) != 0) ||
		    (r->function && btf__find_by_name_kind(btf, r->function, BTF_KIND_FUNC) < 0))
			continue;
		err = precluded(s, r);
		if (!err)
			return r;
		add_why(&s->item[i], r->how, storage_load_reason(err, r->how));
	}
	return NULL;
}

/* false and why: try the next one. */
static bool try_rung(struct storage *s, int i, const struct storage_rung *r, bool loaded)
{
	struct storage_item *item = &s->item[i];
	int err = loaded ? 0 : storage_load_programs(s, &s->object[i], r->program, RUNG_PROGRAMS);

	if (!err)
		err = storage_load_attach(s, loaded ? s->maps : s->object[i], r);
	if (!err) {
		item->how = r->how;
		/* It sees only the begin of functions. */
		item->counts_only = !strncmp(r->how, "kprobe", 6);
		return true;
	}
	if (err == -EPERM && !strncmp(r->how, "fentry", 6))
		s->no_fentry = err;
	add_why(item, r->how, storage_load_reason(err, r->how));
	bpf_object__close(s->object[i]);
	s->object[i] = NULL;
	return false;
}

static void storage_load_climb(struct storage *s, int i, const struct storage_rung *first,
			       const struct btf *btf)
{
	for (const struct storage_rung *r = first; r; r = find_rung(s, i, r + 1, btf))
		if (try_rung(s, i, r, s->together && r == first))
			return;
	if (ladders[i].last)
		add_why(&s->item[i], "tracepoint", ladders[i].last);
	else if (!s->item[i].why[0])
		add_why(&s->item[i], ladders[i].rung[0].how, "another form of it in this kernel");
}

/* -EPERM if the kernel lets no program observe its functions. */
static int refuses_fentry(const struct btf *btf)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY);
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K }, /* return 0 */
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int id = btf__find_by_name_kind(btf, "vfs_read", BTF_KIND_FUNC), fd;

	if (id < 0)
		return 0;
	opts.attach_btf_id = (__u32)id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "nothing", "GPL", nothing,
			   sizeof(nothing) / sizeof(nothing[0]), &opts);
	if (fd >= 0)
		close(fd);
	return fd == -EPERM ? fd : 0;
}

/*
 * Loads the maps and the first rung of each item; only the maps if the kernel refuses one of the
 * programs.
 */
static int load_first(struct storage *s, const struct storage_rung *const *first, struct err *e)
{
	const char *programs[N_PROGRAMS];
	size_t n = 0;
	int r;

	for (int i = 0; i < AFS_N_STORAGE_ITEMS; i++)
		for (int k = 0; first[i] && k < RUNG_PROGRAMS && first[i]->program[k]; k++)
			programs[n++] = first[i]->program[k];
	s->together = !storage_load_programs(s, &s->maps, programs, n);
	r = s->together ? 0 : storage_load_programs(s, &s->maps, NULL, 0);
	if (r)
		return err_set(e, r, "no maps for what is below the system calls: %s",
			       strerror(-r));
	s->row = bpf_load_map(s->maps, "storage_row", sizeof(struct afs_storage));
	if (!s->row.at)
		return err_set(e, -ENOMEM, "no memory for the counters");
	return 0;
}

int storage_open(struct storage **out, struct bpf_object *calls, const struct storage_wish *wish,
		 struct err *e)
{
	static const char *const keys[][2] = {
#define X(name, key, text) { key, text },
		AFS_STORAGE_ITEMS(X)
#undef X
	};
	const struct storage_rung *first[AFS_N_STORAGE_ITEMS];
	struct storage *s = calloc(1, sizeof(*s));
	libbpf_print_fn_t old;
	struct btf *btf;
	int r = 0;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->calls = calls;
	s->wish = wish ? *wish : (struct storage_wish) { .no_fentry = bpf_load_preempted() };
	old = libbpf_set_print(NULL);
	s->n_lanes = bpf_map__max_entries(bpf_object__find_map_by_name(calls, "times"));
	s->elf = storage_bpf__elf_bytes(&s->elf_len);
	btf = btf__load_vmlinux_btf();
	if (!btf)
		r = err_set(e, -errno, "no type information of the kernel: %s", strerror(errno));
	if (!r)
		s->no_fentry = refuses_fentry(btf);
	for (int i = 0; i < AFS_N_STORAGE_ITEMS && !r; i++) {
		s->item[i].key = keys[i][0];
		s->item[i].text = keys[i][1];
		first[i] = find_rung(s, i, ladders[i].rung, btf);
	}
	if (!r)
		r = load_first(s, first, e);
	for (int i = 0; i < AFS_N_STORAGE_ITEMS && !r; i++)
		storage_load_climb(s, i, first[i], btf);
	btf__free(btf);
	libbpf_set_print(old);
	for (size_t i = 0; i < s->n_programs; i++)
		s->program[i].missed = bpf_load_missed(&s->program[i]);
	if (r)
		storage_close(s);
	else
		*out = s;
	return r;
}

void storage_close(struct storage *s)
{
	if (!s)
		return;
	detach(s, 0);
	for (int i = 0; i < AFS_N_STORAGE_ITEMS; i++)
		bpf_object__close(s->object[i]);
	if (s->row.at)
		munmap(s->row.at, s->row.len);
	bpf_object__close(s->maps);
	free(s);
}

const struct storage_item *storage_describe(const struct storage *s)
{
	return s->item;
}

/* true: the row is not all 0. */
static bool sum_row(const struct storage *s, size_t row, struct afs_storage *out)
{
	__u64 *to = (__u64 *)out, any = 0;
	const struct afs_storage *all = s->row.at;
	const __u64 *from;

	memset(out, 0, sizeof(*out));
	for (unsigned int lane = 0; lane < s->n_lanes; lane++) {
		from = (const __u64 *)&all[lane * N_ROWS + row];
		for (int i = 0; i < AFS_N_STORAGE; i++)
			any |= to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	}
	return any;
}

int storage_read(const struct storage *s, struct ledger *out)
{
	struct ledger_storage row;

	for (size_t i = 0; i < N_ROWS; i++) {
		row = (struct ledger_storage) { .role = (uint8_t)(i / AFS_N_ACCOUNTS),
						.account = (uint16_t)(i % AFS_N_ACCOUNTS) };
		if (sum_row(s, i, &row.sum) && VEC_PUSH(out->storage, out->n_storage, row))
			return -ENOMEM;
	}
	out->has_storage = true;
	for (int i = 0; i < AFS_N_STORAGE_ITEMS; i++)
		out->has_item[i] = s->item[i].how;
	return 0;
}

const struct bpf_load_program *storage_programs(const struct storage *s, size_t *n)
{
	*n = s->n_programs;
	return s->program;
}
