/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts what watched threads do below their system calls: files, page cache, block devices. The
 * maps "watched" and "thread" are those of calls.bpf.c, which also keeps t->seq, t->account and
 * t->found up to date; no other map of bpf/maps.h exists here. User space picks one way for each
 * item of bpf/storage.h and loads only its programs, so that a kernel may lack any of the others.
 *
 * A program may be preempted by a task that runs another one, and block I/O ends in interrupts:
 * every total is added to atomically, in the lane of the current CPU.
 */

#include "bpf/storage.h"

#include "bpf/kernel.h"
#include "bpf/maps.h"

#include <linux/ptrace.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

char licence[] SEC("license") = "GPL";

#define N_ROWS (AFS_N_ROLES * AFS_N_ACCOUNTS)

/* In lanes: user space sets how many, as of struct afs_times. */
AFS_ARRAY(storage_row, N_ROWS, struct afs_storage);

/* What takes time in a thread. */
enum span { SPAN_READ, SPAN_WRITE, SPAN_SENDFILE, SPAN_SYNC, N_SPANS };

/* The outermost of its kind: a file system may be stacked on another. */
struct span_open {
	__u64 seq; /* of the thread's system call */
	__u64 ns;
	__u32 depth, spare;
};

AFS_ARRAY(storage_span, AFS_N_THREADS *N_SPANS, struct span_open);

#define ADD(counter, n) __sync_fetch_and_add(&(counter), n)

/* NULL: the current thread is not counted (while "found" is set, its account has not begun). */
static __always_inline struct afs_thread *counting(void)
{
	struct afs_thread *t = thread_current();

	return t && !t->found && !t->stopped ? t : NULL;
}

static __always_inline __u32 row_of(const struct afs_thread *t)
{
	return t->role * AFS_N_ACCOUNTS + t->account;
}

static __always_inline struct afs_storage *storage_at(__u32 row)
{
	if (row >= N_ROWS)
		return NULL;
	row += lane_here() * N_ROWS;
	return bpf_map_lookup_elem(&storage_row, &row);
}

static __always_inline struct span_open *span_at(const struct afs_thread *t, enum span what)
{
	__u32 i = t->slot * N_SPANS + what;

	return bpf_map_lookup_elem(&storage_span, &i);
}

static __always_inline void span_begin(const struct afs_thread *t, enum span what)
{
	struct span_open *s = span_at(t, what);

	if (!s)
		return;
	if (s->depth && s->seq == t->seq) {
		s->depth++;
		return;
	}
	s->seq = t->seq;
	s->depth = 1;
	s->ns = bpf_ktime_get_ns();
}

/* false: not the end of the outermost span, or its begin is not known. */
static __always_inline bool span_end(const struct afs_thread *t, enum span what, __u64 *ns)
{
	struct span_open *s = span_at(t, what);

	if (!s || !s->depth || s->seq != t->seq || --s->depth)
		return false;
	*ns = bpf_ktime_get_ns() - s->ns;
	return true;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct___afs_block {
	void *bio_list; /* not NULL: inside the submission to a block device */
};

struct bvec_iter___afs {
	unsigned int bi_size;
};

struct bio___afs {
	struct bio___afs *bi_next;
	unsigned int bi_opf;
	struct bvec_iter___afs bi_iter;
};

struct request___afs {
	struct bio___afs *bio;
};

struct address_space___afs {
	struct inode___afs *host;
};

struct page___afs {
	struct address_space___afs *mapping;
};

/* Since Linux 5.16; each kernel has one of the numbers or none. */
struct folio___afs {
	struct address_space___afs *mapping;
	unsigned int _nr_pages;
	unsigned int _folio_nr_pages;
};

#pragma clang attribute pop

enum pageflags___afs {
	PG_head___afs = 6,
};

#define AFS_OP_MASK  0xff
#define AFS_OP_READ  0
#define AFS_OP_WRITE 1
#define AFS_OP_FLUSH 2

#define AFS_S_IFBLK  0060000

struct bio_open {
	__u64 ns;
	__u32 row;
	__u32 field; /* enum afs_storage_field */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, AFS_N_BIOS);
	__type(key, __u64); /* struct bio * */
	__type(value, struct bio_open);
} storage_bio SEC(".maps");

static __always_inline bool is_regular(__u32 mode)
{
	return (mode & AFS_S_IFMT) == AFS_S_IFREG;
}

/* Whether its functions have a file as first argument, of which only regular ones count. */
static __always_inline bool takes_file(enum span what)
{
	return what == SPAN_READ || what == SPAN_WRITE;
}

/* Where the calls of a span are counted. */
struct span_totals {
	__u64 *n, *ns, *bytes; /* bytes: NULL: they move none */
};

static __always_inline struct span_totals totals_at(struct afs_storage *s, enum span what)
{
	switch (what) {
	case SPAN_READ:
		return (struct span_totals) { &s->file_reads, &s->file_read_ns,
					      &s->file_read_bytes };
	case SPAN_WRITE:
		return (struct span_totals) { &s->file_writes, &s->file_write_ns,
					      &s->file_write_bytes };
	case SPAN_SENDFILE:
		return (struct span_totals) { &s->sendfiles, &s->sendfile_ns, &s->sendfile_bytes };
	default:
		return (struct span_totals) { &s->syncs, &s->sync_ns, NULL };
	}
}

static __always_inline int begin(enum span what, const struct file___afs *file)
{
	struct afs_thread *t = counting();

	if (t && (!takes_file(what) || is_regular(file->f_inode->i_mode)))
		span_begin(t, what);
	return 0;
}

static __always_inline int end(enum span what, long ret)
{
	struct afs_thread *t = counting();
	struct afs_storage *s;
	struct span_totals to;
	__u64 ns;

	s = t && span_end(t, what, &ns) ? storage_at(row_of(t)) : NULL;
	if (!s)
		return 0;
	to = totals_at(s, what);
	ADD(*to.n, 1);
	ADD(*to.ns, ns);
	if (to.bytes && ret > 0)
		ADD(*to.bytes, ret);
	return 0;
}

/*
 * For probes that only see the begin of a function: counts, without bytes and time. Once for each
 * system call, as a nested begin cannot be distinguished from a following one.
 */
static __always_inline int begin_only(enum span what, const struct file___afs *file)
{
	struct afs_thread *t = counting();
	struct afs_storage *s;
	struct span_open *o;

	if (!t || (takes_file(what) && !is_regular(BPF_CORE_READ(file, f_inode, i_mode))))
		return 0;
	o = span_at(t, what);
	if (!o || o->seq == t->seq)
		return 0;
	o->seq = t->seq;
	s = storage_at(row_of(t));
	if (s)
		ADD(*totals_at(s, what).n, 1);
	return 0;
}

/*
 * The programs of a function of the kernel: with the time in it, or of its begin alone. Its
 * arguments, and after them the result, are an array of u64.
 */
#define FUNCTION(name, function, n_args, what)                                                     \
	SEC("?fentry/" #function)                                                                  \
	int on_##name(__u64 *ctx)                                                                  \
	{                                                                                          \
		return begin(what, (const void *)ctx[0]);                                          \
	}                                                                                          \
	SEC("?fexit/" #function)                                                                   \
	int on_##name##_end(__u64 *ctx)                                                            \
	{                                                                                          \
		return end(what, ctx[n_args]);                                                     \
	}                                                                                          \
	SEC("?kprobe/" #function)                                                                  \
	int on_kp_##name(struct pt_regs *ctx)                                                      \
	{                                                                                          \
		return begin_only(what, (const void *)PT_REGS_PARM1(ctx));                         \
	}

FUNCTION(read, vfs_read, 4, SPAN_READ)
FUNCTION(readv, vfs_readv, 5, SPAN_READ)
FUNCTION(write, vfs_write, 4, SPAN_WRITE)
FUNCTION(writev, vfs_writev, 5, SPAN_WRITE)
FUNCTION(sendfile, do_sendfile, 5, SPAN_SENDFILE)
/*
 * Each of these calls the next, but compilers may inline some, which then cannot be probed; the
 * outermost one that can be is counted.
 */
FUNCTION(do_fsync, do_fsync, 2, SPAN_SYNC)
FUNCTION(vfs_fsync, vfs_fsync, 2, SPAN_SYNC)
FUNCTION(sync, vfs_fsync_range, 4, SPAN_SYNC)

/* The same for one file system, for kernels whose functions cannot be probed. */
SEC("?tp_btf/ext4_sync_file_enter")
int on_ext4_sync(__u64 *ctx)
{
	return begin(SPAN_SYNC, NULL);
}

SEC("?tp_btf/ext4_sync_file_exit")
int on_ext4_sync_end(__u64 *ctx)
{
	return end(SPAN_SYNC, 0);
}

/* What the current thread's work is added to; NULL: nothing. */
static __always_inline struct afs_storage *storage_here(void)
{
	struct afs_thread *t = counting();

	return t ? storage_at(row_of(t)) : NULL;
}

static __always_inline int added(const struct address_space___afs *mapping, __u64 pages)
{
	struct afs_storage *s = storage_here();

	if (!s)
		return 0;
	if ((mapping->host->i_mode & AFS_S_IFMT) == AFS_S_IFBLK)
		ADD(s->cache_meta_pages, pages);
	else
		ADD(s->cache_pages, pages);
	return 0;
}

/* "flags" is the first member of struct page and of struct folio, by whatever type. */
static __always_inline __u64 pages_of(const struct folio___afs *folio)
{
	__u64 head = bpf_core_enum_value(enum pageflags___afs, PG_head___afs);

	if (!(*(const __u64 *)folio >> head & 1))
		return 1;
	if (bpf_core_field_exists(folio->_nr_pages))
		return folio->_nr_pages;
	if (bpf_core_field_exists(folio->_folio_nr_pages))
		return folio->_folio_nr_pages;
	return 1;
}

/* (folio) */
SEC("?tp_btf/mm_filemap_add_to_page_cache")
int on_cache_add(__u64 *ctx)
{
	const struct folio___afs *folio = (const void *)ctx[0];

	return added(folio->mapping, pages_of(folio));
}

/* (page) */
SEC("?tp_btf/mm_filemap_add_to_page_cache")
int on_cache_add_page(__u64 *ctx)
{
	return added(((const struct page___afs *)ctx[0])->mapping, 1);
}

/* The kind of block I/O; AFS_N_STORAGE: a kind that is not timed. */
static __always_inline __u32 kind_of(const struct bio___afs *bio)
{
	__u32 op = bio->bi_opf & AFS_OP_MASK;

	if (op == AFS_OP_READ)
		return AFS_STORAGE_bio_read_ns;
	if (op == AFS_OP_WRITE && bio->bi_iter.bi_size)
		return AFS_STORAGE_bio_write_ns;
	if (op == AFS_OP_WRITE || op == AFS_OP_FLUSH)
		return AFS_STORAGE_bio_flush_ns;
	return AFS_N_STORAGE;
}

/* A stacked device submits its pieces from inside its own submission. */
static __always_inline bool is_piece(void)
{
	const struct task_struct___afs_block *task = current_task();

	return task->bio_list;
}

static __always_inline int queued(const struct bio___afs *bio)
{
	struct afs_storage *s = is_piece() ? NULL : storage_here();

	if (!s)
		return 0;
	switch (kind_of(bio)) {
	case AFS_STORAGE_bio_read_ns:
		ADD(s->bio_reads, 1);
		ADD(s->bio_read_bytes, bio->bi_iter.bi_size);
		break;
	case AFS_STORAGE_bio_write_ns:
		ADD(s->bio_writes, 1);
		ADD(s->bio_write_bytes, bio->bi_iter.bi_size);
		break;
	case AFS_STORAGE_bio_flush_ns:
		ADD(s->bio_flushes, 1);
		break;
	default:
		ADD(s->bio_others, 1);
	}
	return 0;
}

/*
 * A "bio" is identified by its address until it ends. Not every end is seen: if this one is not
 * timed, drop an older entry with its address, whose time must not end here.
 */
static __always_inline int timed(const struct bio___afs *bio)
{
	struct afs_thread *t = counting();
	__u64 key = (__u64)bio;
	struct bio_open b = {};
	struct afs_storage *s;

	b.field = kind_of(bio);
	if (!t || b.field == AFS_N_STORAGE || is_piece()) {
		bpf_map_delete_elem(&storage_bio, &key);
		return 0;
	}
	b.row = row_of(t);
	b.ns = bpf_ktime_get_ns();
	if (!bpf_map_update_elem(&storage_bio, &key, &b, BPF_ANY))
		return 0;
	s = storage_at(b.row);
	if (s)
		ADD(s->bio_untimed, 1);
	return 0;
}

/* (bio) */
SEC("?tp_btf/block_bio_queue")
int on_bio_queue(__u64 *ctx)
{
	return queued((const void *)ctx[0]);
}

SEC("?tp_btf/block_bio_queue")
int on_bio_begin(__u64 *ctx)
{
	return timed((const void *)ctx[0]);
}

static __always_inline void ended_bio(__u64 key, __u64 now)
{
	struct bio_open *b = bpf_map_lookup_elem(&storage_bio, &key);
	struct afs_storage *s = b ? storage_at(b->row) : NULL;
	__u32 field;

	if (!s)
		return;
	ADD(s->bio_done, 1);
	field = b->field;
	if (AFS_BELOW(field, AFS_N_STORAGE))
		ADD(((__u64 *)s)[field], now - b->ns);
	bpf_map_delete_elem(&storage_bio, &key);
}

/* A bio of a request has ended; the next one of the request, 0: none. Both are addresses. */
__noinline __u64 ended_in_request(__u64 bio, __u64 now)
{
	__u64 next = 0;

	ended_bio(bio, now);
	bpf_core_read(&next, sizeof(next), &((const struct bio___afs *)bio)->bi_next);
	return next;
}

/* (request, error, bytes), mostly in an interrupt: it may hold many, and not all have ended. */
SEC("?tp_btf/block_rq_complete")
int on_request_end(__u64 *ctx)
{
	const struct request___afs *request = (const void *)ctx[0];
	__u64 now = bpf_ktime_get_ns(), bio = 0;
	__u32 left = ctx[2], n = 0;

	bpf_core_read(&bio, sizeof(bio), &request->bio);
	for (int i = 0; i < AFS_N_REQUEST_BIOS && bio; i++) {
		bpf_core_read(&n, sizeof(n), &((const struct bio___afs *)bio)->bi_iter.bi_size);
		if (n > left)
			break;
		bio = ended_in_request(bio, now);
		left -= n;
		if (!left)
			break;
	}
	return 0;
}

/* (queue, bio): of devices without requests, such as those made of others. */
SEC("?tp_btf/block_bio_complete")
int on_bio_end(__u64 *ctx)
{
	ended_bio(ctx[1], bpf_ktime_get_ns());
	return 0;
}
