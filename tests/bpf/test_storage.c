/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is counted below the system calls, against files whose every page is known to be in memory
 * or not, and against /proc/PID/io. On ext4: in TMPDIR or here, else on an image of our own. Tests
 * bpf/storage.bpf.c, storage.h, user/watch/bpf/storage_load.c.
 */
#include "storage_works.h"
#include "watched.h"

#include "watch/bpf/load.h"
#include "watch/bpf/storage_load.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#define OUR_ACCOUNT 20 /* any AFP command */

struct storage_test {
	struct watched child;
	struct bpf_load load;
	struct storage *s;
	struct afs_storage got; /* by the last step */
	uint64_t proc;          /* read_bytes of the child by the last step, as /proc has it */
	char folder[256];
	bool mounted;
};

static bool is_ext4(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && fs.f_type == EXT4_SUPER_MAGIC;
}

static bool run(const char *fmt, const char *folder)
{
	char command[512];

	snprintf(command, sizeof(command), fmt, folder);
	return !system(command);
}

static void make_folder(struct storage_test *x)
{
	const char *in = getenv("TMPDIR");

	in = in ? in : ".";
	snprintf(x->folder, sizeof(x->folder), "%.200s/storage-XXXXXX", is_ext4(in) ? in : "/tmp");
	assert_non_null(mkdtemp(x->folder));
	assert_int_equal(chdir(x->folder), 0);
	assert_non_null(getcwd(x->folder, sizeof(x->folder)));
	if (is_ext4("."))
		return;
	x->mounted = run("truncate -s 64M image && mkfs.ext4 -qF image && mkdir on && "
			 "mount -o loop image on",
			 "");
	if (!x->mounted)
		fail_msg("no ext4 in TMPDIR, here or in /tmp, and no image of it can be mounted");
	assert_int_equal(chdir("on"), 0);
}

static void make_file(const char *name)
{
	static char chunk[CHUNK];
	int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0644);

	assert_true(fd >= 0);
	for (unsigned int i = 0; i < N_CHUNKS; i++) {
		memset(chunk, (int)i, sizeof(chunk));
		assert_int_equal(write(fd, chunk, sizeof(chunk)), sizeof(chunk));
	}
	assert_int_equal(fsync(fd), 0);
	close(fd);
}

/* Forgets a file's pages; returns how many are not in memory. */
static uint64_t make_cold(const char *name)
{
	static unsigned char in[FILE_LEN / PAGE];
	int fd = open(name, O_RDONLY);
	uint64_t cold = 0;
	void *at;

	assert_true(fd >= 0);
	assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	at = mmap(NULL, FILE_LEN, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(at != MAP_FAILED);
	assert_int_equal(mincore(at, FILE_LEN, in), 0);
	for (size_t i = 0; i < sizeof(in); i++)
		cold += !(in[i] & 1);
	munmap(at, FILE_LEN);
	close(fd);
	return cold;
}

static uint64_t proc_read_bytes(pid_t pid)
{
	unsigned long long n = 0;
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/io", pid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "read_bytes: %llu", &n);
	fclose(f);
	return n;
}

/* A field of struct afs_storage. */
static const struct storage_field {
	const char *key;
	enum afs_storage_item item;
	enum afs_unit unit;
} fields[AFS_N_STORAGE] = {
#define X(key, item, unit, text) { #key, AFS_STORAGE_##item, AFS_UNIT_##unit },
	AFS_STORAGE(X)
#undef X
};

static bool storage_knows(const struct storage *s, enum afs_storage_field field)
{
	const struct storage_item *item = &storage_describe(s)[fields[field].item];

	return item->how && (fields[field].unit == AFS_UNIT_N || !item->counts_only);
}

/* The one row there may be: the role and account that the child was watched with. */
static struct afs_storage totals(const struct storage_test *x)
{
	struct afs_storage sum = {};
	struct ledger l = {};

	assert_int_equal(storage_read(x->s, &l), 0);
	assert_true(l.n_storage <= 1);
	if (l.n_storage) {
		assert_int_equal(l.storage->role, AFS_ROLE_SERVER);
		assert_int_equal(l.storage->account, OUR_ACCOUNT);
		sum = l.storage->sum;
	}
	ledger_fini(&l);
	return sum;
}

static uint64_t bios(const struct afs_storage *s)
{
	return s->bio_reads + s->bio_writes + s->bio_flushes;
}

/* Changes of the totals since "before". */
static struct afs_storage since(const struct storage_test *x, const struct afs_storage *before)
{
	struct afs_storage got = totals(x);

	for (int i = 0; i < AFS_N_STORAGE; i++)
		((__u64 *)&got)[i] -= ((const __u64 *)before)[i];
	return got;
}

static bool all_seen_ending(const struct storage_test *x)
{
	return !storage_knows(x->s, AFS_STORAGE_bio_done) || x->got.bio_done == bios(&x->got);
}

static void step(struct storage_test *x, enum work what)
{
	struct watched_shared *s = x->child.shared;
	struct afs_storage before = totals(x);
	uint64_t proc = proc_read_bytes(x->child.pid);
	uint32_t now = s->step;
	int status, tries = 100;

	s->value[0] = what;
	__atomic_store_n(&s->step, now + 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &s->step, FUTEX_WAKE, 1, NULL, NULL, 0);
	while (__atomic_load_n(&s->done, __ATOMIC_ACQUIRE) != now + 1) {
		assert_int_equal(waitpid(x->child.pid, &status, WNOHANG), 0);
		usleep(200);
	}
	/* Read-ahead ends when it likes. */
	do {
		x->got = since(x, &before);
		usleep(1000);
	} while (!all_seen_ending(x) && --tries);
	x->proc = proc_read_bytes(x->child.pid) - proc;
}

/*
 * A step that nothing of this machine's disturbed; else it is made again. A sandbox's kernel may
 * run no BPF program while a task of its own is the current one, nor in an interrupt that comes
 * then: block I/O ends there unseen. And pages may be dropped from memory between their being read
 * ahead and their being read: /proc has them twice, too. Returns how many pages were not in memory.
 */
static uint64_t step_undisturbed(struct storage_test *x, enum work what, const char *to_be_cold)
{
	uint64_t cold, pages;

	for (int tries = 0; tries < 20; tries++) {
		cold = to_be_cold ? make_cold(to_be_cold) : 0;
		pages = what == READ_DIRECT ? FILE_LEN / PAGE : cold;
		step(x, what);
		if (all_seen_ending(x) && x->proc <= (pages + x->got.cache_meta_pages) * PAGE)
			return cold;
		print_message("  again: %llu of %llu block I/O seen ending; %llu bytes read, "
			      "%llu pages not in memory before\n",
			      (unsigned long long)x->got.bio_done,
			      (unsigned long long)bios(&x->got), (unsigned long long)x->proc,
			      (unsigned long long)cold);
	}
	fail_msg("disturbed 20 times");
	return 0;
}

static int open_as(void **state, struct bpf_load_wish wish, struct storage_wish storage)
{
	struct storage_test *x = calloc(1, sizeof(*x));
	struct afs_want want = { .account = OUR_ACCOUNT, .slot = -1 };
	struct err e = {};

	assert_non_null(x);
	*state = x;
	make_folder(x);
	make_file("file");
	make_file("other");
	watched_start(&x->child, do_work);
	if (bpf_load_open(&x->load, &wish, &e) || storage_open(&x->s, x->load.object, &storage, &e))
		fail_msg("%s", e.text);
	want.tgid = x->child.pid;
	if (bpf_load_mark(&x->load, &want, 1, &e))
		fail_msg("%s", e.text);
	step(x, NOTHING);
	return 0;
}

static int in_the_best_way(void **state)
{
	return open_as(state, (struct bpf_load_wish) {}, (struct storage_wish) {});
}

static int without_fentry(void **state)
{
	return open_as(state, (struct bpf_load_wish) {},
		       (struct storage_wish) { .no_fentry = true });
}

static int with_tracepoints_only(void **state)
{
	return open_as(state, (struct bpf_load_wish) {},
		       (struct storage_wish) { .no_fentry = true, .no_kprobe = true });
}

static int with_nothing(void **state)
{
	return open_as(
	    state, (struct bpf_load_wish) {},
	    (struct storage_wish) { .no_fentry = true, .no_kprobe = true, .no_tracepoint = true });
}

static int teardown(void **state)
{
	struct storage_test *x = *state;

	kill(x->child.pid, SIGKILL);
	waitpid(x->child.pid, NULL, 0);
	munmap(x->child.shared, sizeof(*x->child.shared));
	storage_close(x->s);
	bpf_load_close(&x->load);
	if (x->mounted)
		assert_int_equal(chdir(".."), 0);
	if (x->mounted)
		run("umount on", "");
	assert_int_equal(chdir("/"), 0);
	run("rm -rf '%s'", x->folder);
	free(x);
	return 0;
}

/* What is not known here must say why; then there is nothing more to check. */
static bool knows(const struct storage_test *x, enum afs_storage_field field)
{
	const struct storage_item *item = &storage_describe(x->s)[fields[field].item];

	if (storage_knows(x->s, field))
		return true;
	assert_true(item->why[0]);
	print_message("  %s not known here: %s\n", fields[field].key, item->why);
	return false;
}

/* A field is n, or not known. */
static void check(const struct storage_test *x, enum afs_storage_field field, uint64_t n)
{
	uint64_t got = ((const __u64 *)&x->got)[field];

	if (storage_knows(x->s, field) ? got != n : got != 0)
		fail_msg("%s: %llu, wanted %llu", fields[field].key, (unsigned long long)got,
			 (unsigned long long)n);
}

#define CHECK(field, n) check(x, AFS_STORAGE_##field, n)

/* What every read of the child must satisfy; n: reads of files. */
static void check_reads(const struct storage_test *x, uint64_t n, uint64_t bytes)
{
	CHECK(file_reads, n);
	CHECK(file_read_bytes, bytes);
	CHECK(bio_read_bytes, x->proc);
	CHECK(bio_done, bios(&x->got));
	CHECK(bio_untimed, 0);
	CHECK(file_writes, 0);
	CHECK(bio_writes, 0);
	CHECK(syncs, 0);
	if (storage_knows(x->s, AFS_STORAGE_file_read_ns))
		assert_int_equal(!x->got.file_read_ns, !n);
	if (storage_knows(x->s, AFS_STORAGE_bio_read_ns))
		assert_int_equal(!x->got.bio_read_ns, !x->proc);
}

static void cold_reads_are_the_pages_that_were_not_in_memory(void **state)
{
	struct storage_test *x = *state;
	uint64_t cold = step_undisturbed(x, READ, "file");

	assert_true(cold > FILE_LEN / PAGE / 2);
	check_reads(x, N_CHUNKS, FILE_LEN);
	CHECK(cache_pages, cold);
	assert_true(x->proc >= cold * PAGE);
}

static void warm_reads_add_nothing(void **state)
{
	struct storage_test *x = *state;

	step(x, READ);
	step_undisturbed(x, READ, NULL);
	check_reads(x, N_CHUNKS, FILE_LEN);
	CHECK(cache_pages, 0);
	CHECK(cache_meta_pages, 0);
	CHECK(bio_reads, 0);
	assert_int_equal(x->proc, 0);
}

static void vectors_count_as_reads(void **state)
{
	struct storage_test *x = *state;

	step_undisturbed(x, READV, NULL);
	check_reads(x, N_CHUNKS, FILE_LEN);
}

static void direct_reads_add_no_pages(void **state)
{
	struct storage_test *x = *state;

	step_undisturbed(x, READ_DIRECT, NULL);
	check_reads(x, N_CHUNKS, FILE_LEN);
	CHECK(cache_pages, 0);
	CHECK(bio_read_bytes, FILE_LEN);
}

static void cold_mappings_are_read_without_a_read(void **state)
{
	struct storage_test *x = *state;
	uint64_t cold = step_undisturbed(x, READ_MAPPED, "file");

	check_reads(x, 0, 0);
	CHECK(cache_pages, cold);
	assert_true(x->proc >= cold * PAGE);
}

static void scattered_reads_agree_with_proc(void **state)
{
	struct storage_test *x = *state;

	step_undisturbed(x, READ_SCATTERED, "file");
	check_reads(x, (FILE_LEN / PAGE + 6) / 7, (FILE_LEN / PAGE + 6) / 7 * 100);
	assert_true(x->proc > 0);
}

static void sent_files_are_no_reads(void **state)
{
	struct storage_test *x = *state;
	uint64_t cold = step_undisturbed(x, SEND, "file");

	check_reads(x, 0, 0);
	CHECK(sendfiles, N_CHUNKS);
	CHECK(sendfile_bytes, FILE_LEN);
	CHECK(cache_pages, cold);
}

/* Bytes that the kernel copies are those of the call; what it reads for them is the thread's. */
static void copied_files_are_no_reads_and_no_writes(void **state)
{
	struct storage_test *x = *state;
	uint64_t cold = step_undisturbed(x, COPY, "file");

	CHECK(file_reads, 0);
	CHECK(file_writes, 0);
	CHECK(sendfiles, 0);
	CHECK(bio_read_bytes, x->proc);
	/* A file system may share the blocks instead. */
	assert_true(!x->proc || x->got.cache_pages >= cold ||
		    !storage_knows(x->s, AFS_STORAGE_cache_pages));
}

static void writes_reach_the_device_with_the_sync(void **state)
{
	struct storage_test *x = *state;

	step_undisturbed(x, WRITE, NULL);
	CHECK(file_writes, N_WRITES);
	CHECK(file_write_bytes, N_WRITES * PAGE);
	CHECK(file_reads, 0);
	CHECK(syncs, 1);
	/* At least: some file systems add a page or two of their own on the way. */
	assert_true(x->got.cache_pages >= N_WRITES ||
		    !storage_knows(x->s, AFS_STORAGE_cache_pages));
	CHECK(bio_read_bytes, x->proc);
	CHECK(bio_done, bios(&x->got));
	if (knows(x, AFS_STORAGE_bio_write_bytes))
		assert_true(x->got.bio_write_bytes >= N_WRITES * PAGE);
	if (knows(x, AFS_STORAGE_sync_ns))
		assert_true(x->got.sync_ns > 0);
}

static void writes_that_sync_count_as_both(void **state)
{
	struct storage_test *x = *state;

	step(x, WRITE_SYNC);
	CHECK(file_writes, N_WRITES);
	CHECK(syncs, N_WRITES);
	if (knows(x, AFS_STORAGE_file_write_ns))
		assert_true(x->got.file_write_ns > x->got.sync_ns);
}

static void nobody_else_counts(void **state)
{
	struct storage_test *x = *state;
	struct afs_storage before = totals(x), after;
	int fd = open("other", O_RDWR);

	make_cold("other");
	for (unsigned int i = 0; i < N_CHUNKS; i++)
		assert_int_equal(pread(fd, buffer(), CHUNK, i * CHUNK), CHUNK);
	assert_int_equal(pwrite(fd, buffer(), CHUNK, 0), CHUNK);
	assert_int_equal(fsync(fd), 0);
	close(fd);
	after = totals(x);
	assert_memory_equal(&before, &after, sizeof(before));
}

static void the_time_of_block_reads_is_within_the_reads(void **state)
{
	struct storage_test *x = *state;

	if (!knows(x, AFS_STORAGE_bio_read_ns))
		return;
	step(x, READ_DIRECT);
	if (!knows(x, AFS_STORAGE_file_read_ns))
		return;
	assert_true(x->got.bio_read_ns < x->got.file_read_ns);
}

static void each_item_says_how_or_why_not(void **state)
{
	struct storage_test *x = *state;
	const struct storage_item *item = storage_describe(x->s);

	for (int i = 0; i < AFS_N_STORAGE_ITEMS; i++) {
		print_message("         %s: %s%s%s%s\n", item[i].text,
			      item[i].how ? item[i].how : "off",
			      item[i].counts_only ? ", counts only" : "",
			      item[i].why[0] ? "; " : "", item[i].why);
		assert_true(item[i].how || item[i].why[0]);
	}
}

static void what_is_off_is_known_to_be(void **state)
{
	struct storage_test *x = *state;
	size_t n;

	for (int i = 0; i < AFS_N_STORAGE; i++)
		assert_false(storage_knows(x->s, (enum afs_storage_field)i));
	make_cold("file");
	step(x, READ);
	assert_true(x->proc > 0);
	assert_int_equal(bios(&x->got) + x->got.cache_pages + x->got.file_reads, 0);
	storage_programs(x->s, &n);
	assert_int_equal(n, 0);
}

static void nothing_is_lost(void **state)
{
	struct storage_test *x = *state;
	size_t n;
	const struct bpf_load_program *p = storage_programs(x->s, &n);

	for (size_t i = 0; i < n; i++)
		if (bpf_load_missed(&p[i]))
			fail_msg("%s skipped %llu times", p[i].name,
				 (unsigned long long)bpf_load_missed(&p[i]));
	assert_true(n > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_item_says_how_or_why_not),
		cmocka_unit_test(cold_reads_are_the_pages_that_were_not_in_memory),
		cmocka_unit_test(warm_reads_add_nothing),
		cmocka_unit_test(vectors_count_as_reads),
		cmocka_unit_test(direct_reads_add_no_pages),
		cmocka_unit_test(cold_mappings_are_read_without_a_read),
		cmocka_unit_test(scattered_reads_agree_with_proc),
		cmocka_unit_test(sent_files_are_no_reads),
		cmocka_unit_test(copied_files_are_no_reads_and_no_writes),
		cmocka_unit_test(writes_reach_the_device_with_the_sync),
		cmocka_unit_test(writes_that_sync_count_as_both),
		cmocka_unit_test(nobody_else_counts),
		cmocka_unit_test(the_time_of_block_reads_is_within_the_reads),
		cmocka_unit_test(nothing_is_lost),
	};
	const struct CMUnitTest off[] = {
		cmocka_unit_test(each_item_says_how_or_why_not),
		cmocka_unit_test(what_is_off_is_known_to_be),
	};

	return cmocka_run_group_tests(tests, in_the_best_way, teardown) |
	       cmocka_run_group_tests(tests, without_fentry, teardown) |
	       cmocka_run_group_tests(tests, with_tracepoints_only, teardown) |
	       cmocka_run_group_tests(off, with_nothing, teardown);
}
