/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts what watched threads do below their system calls: files, page cache, block devices. The
 * maps "watched" and "thread" are those of calls.bpf.c, which also keeps t->seq, t->account and
 * t->found up to date; no other map of bpf/maps.h exists here. User space picks one way for each
 * item of bpf/storage.h and loads only its programs, so that a kernel may lack any of the others.
 */

#include "bpf/storage.h"

#include "bpf/kernel.h"
#include "bpf/maps.h"
#include "bpf/span.h"

#include <linux/ptrace.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

char licence[] SEC("license") = "GPL";

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

static __always_inline void begin(enum span what)
{
	struct afs_thread *t = counting();

	if (t)
		span_begin(t, what);
}

static __always_inline int begin_file(enum span what, const struct file___afs *file)
{
	struct afs_thread *t = counting();

	if (t && (file->f_inode->i_mode & AFS_S_IFMT) == AFS_S_IFREG)
		span_begin(t, what);
	return 0;
}

static __always_inline int end_read(long ret)
{
	__u64 ns;
	struct afs_storage *s = ended(SPAN_READ, &ns);

	if (!s)
		return 0;
	ADD(s->file_reads, 1);
	ADD(s->file_read_ns, ns);
	if (ret > 0)
		ADD(s->file_read_bytes, ret);
	return 0;
}

static __always_inline int end_write(long ret)
{
	__u64 ns;
	struct afs_storage *s = ended(SPAN_WRITE, &ns);

	if (!s)
		return 0;
	ADD(s->file_writes, 1);
	ADD(s->file_write_ns, ns);
	if (ret > 0)
		ADD(s->file_write_bytes, ret);
	return 0;
}

static __always_inline int end_sendfile(long ret)
{
	__u64 ns;
	struct afs_storage *s = ended(SPAN_SENDFILE, &ns);

	if (!s)
		return 0;
	ADD(s->sendfiles, 1);
	ADD(s->sendfile_ns, ns);
	if (ret > 0)
		ADD(s->sendfile_bytes, ret);
	return 0;
}

static __always_inline int end_sync(void)
{
	__u64 ns;
	struct afs_storage *s = ended(SPAN_SYNC, &ns);

	if (!s)
		return 0;
	ADD(s->syncs, 1);
	ADD(s->sync_ns, ns);
	return 0;
}

/*
 * Functions of the kernel, with the time in them. Their arguments, and after them the result, are
 * an array of u64.
 */
SEC("?fentry/vfs_read")
int on_read(__u64 *ctx)
{
	return begin_file(SPAN_READ, (const void *)ctx[0]);
}

SEC("?fexit/vfs_read")
int on_read_end(__u64 *ctx)
{
	return end_read(ctx[4]);
}

SEC("?fentry/vfs_readv")
int on_readv(__u64 *ctx)
{
	return begin_file(SPAN_READ, (const void *)ctx[0]);
}

SEC("?fexit/vfs_readv")
int on_readv_end(__u64 *ctx)
{
	return end_read(ctx[5]);
}

SEC("?fentry/vfs_write")
int on_write(__u64 *ctx)
{
	return begin_file(SPAN_WRITE, (const void *)ctx[0]);
}

SEC("?fexit/vfs_write")
int on_write_end(__u64 *ctx)
{
	return end_write(ctx[4]);
}

SEC("?fentry/vfs_writev")
int on_writev(__u64 *ctx)
{
	return begin_file(SPAN_WRITE, (const void *)ctx[0]);
}

SEC("?fexit/vfs_writev")
int on_writev_end(__u64 *ctx)
{
	return end_write(ctx[5]);
}

SEC("?fentry/do_sendfile")
int on_sendfile(__u64 *ctx)
{
	begin(SPAN_SENDFILE);
	return 0;
}

SEC("?fexit/do_sendfile")
int on_sendfile_end(__u64 *ctx)
{
	return end_sendfile(ctx[5]);
}

/*
 * Each of these calls the next, but compilers may inline some, which then cannot be probed; the
 * outermost one that can be is counted.
 */
SEC("?fentry/do_fsync")
int on_do_fsync(__u64 *ctx)
{
	begin(SPAN_SYNC);
	return 0;
}

SEC("?fexit/do_fsync")
int on_do_fsync_end(__u64 *ctx)
{
	return end_sync();
}

SEC("?fentry/vfs_fsync")
int on_vfs_fsync(__u64 *ctx)
{
	begin(SPAN_SYNC);
	return 0;
}

SEC("?fexit/vfs_fsync")
int on_vfs_fsync_end(__u64 *ctx)
{
	return end_sync();
}

SEC("?fentry/vfs_fsync_range")
int on_sync(__u64 *ctx)
{
	begin(SPAN_SYNC);
	return 0;
}

SEC("?fexit/vfs_fsync_range")
int on_sync_end(__u64 *ctx)
{
	return end_sync();
}

/* The same for one file system, for kernels whose functions cannot be probed. */
SEC("?tp_btf/ext4_sync_file_enter")
int on_ext4_sync(__u64 *ctx)
{
	begin(SPAN_SYNC);
	return 0;
}

SEC("?tp_btf/ext4_sync_file_exit")
int on_ext4_sync_end(__u64 *ctx)
{
	return end_sync();
}

/*
 * For probes that only see the begin of a function: counts, without bytes and time. Once for each
 * system call, as a nested begin cannot be distinguished from a following one.
 */
static __always_inline struct afs_storage *storage_entered(struct afs_thread *t, enum span what)
{
	struct span_open *s = t ? span_at(t, what) : NULL;

	if (!s || s->seq == t->seq)
		return NULL;
	s->seq = t->seq;
	return storage_at(row_of(t));
}

static __always_inline struct afs_storage *storage_entered_file(const struct file___afs *file,
								enum span what)
{
	struct afs_thread *t = counting();

	if (!t || (BPF_CORE_READ(file, f_inode, i_mode) & AFS_S_IFMT) != AFS_S_IFREG)
		return NULL;
	return storage_entered(t, what);
}

static __always_inline int entered_read(struct pt_regs *ctx)
{
	struct afs_storage *s = storage_entered_file((const void *)PT_REGS_PARM1(ctx), SPAN_READ);

	if (s)
		ADD(s->file_reads, 1);
	return 0;
}

static __always_inline int entered_write(struct pt_regs *ctx)
{
	struct afs_storage *s = storage_entered_file((const void *)PT_REGS_PARM1(ctx), SPAN_WRITE);

	if (s)
		ADD(s->file_writes, 1);
	return 0;
}

SEC("?kprobe/vfs_read")
int on_kp_read(struct pt_regs *ctx)
{
	return entered_read(ctx);
}

SEC("?kprobe/vfs_readv")
int on_kp_readv(struct pt_regs *ctx)
{
	return entered_read(ctx);
}

SEC("?kprobe/vfs_write")
int on_kp_write(struct pt_regs *ctx)
{
	return entered_write(ctx);
}

SEC("?kprobe/vfs_writev")
int on_kp_writev(struct pt_regs *ctx)
{
	return entered_write(ctx);
}

SEC("?kprobe/do_sendfile")
int on_kp_sendfile(struct pt_regs *ctx)
{
	struct afs_storage *s = storage_entered(counting(), SPAN_SENDFILE);

	if (s)
		ADD(s->sendfiles, 1);
	return 0;
}

static __always_inline int entered_sync(void)
{
	struct afs_storage *s = storage_entered(counting(), SPAN_SYNC);

	if (s)
		ADD(s->syncs, 1);
	return 0;
}

SEC("?kprobe/do_fsync")
int on_kp_do_fsync(struct pt_regs *ctx)
{
	return entered_sync();
}

SEC("?kprobe/vfs_fsync")
int on_kp_vfs_fsync(struct pt_regs *ctx)
{
	return entered_sync();
}

SEC("?kprobe/vfs_fsync_range")
int on_kp_sync(struct pt_regs *ctx)
{
	return entered_sync();
}

static __always_inline int added(const struct address_space___afs *mapping, __u64 pages)
{
	struct afs_thread *t = counting();
	struct afs_storage *s;

	if (!t)
		return 0;
	s = storage_at(row_of(t));
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
	struct afs_thread *t = counting();
	struct afs_storage *s;

	if (!t || is_piece())
		return 0;
	s = storage_at(row_of(t));
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

	if (!s)
		return;
	ADD(s->bio_done, 1);
	if (b->field == AFS_STORAGE_bio_read_ns)
		ADD(s->bio_read_ns, now - b->ns);
	else if (b->field == AFS_STORAGE_bio_write_ns)
		ADD(s->bio_write_ns, now - b->ns);
	else
		ADD(s->bio_flush_ns, now - b->ns);
	bpf_map_delete_elem(&storage_bio, &key);
}

/*
 * A bio of a request has ended; the next one of the request, 0: none. Both are addresses as
 * numbers. A global function: the verifier follows it once, and not for each bio.
 */
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
