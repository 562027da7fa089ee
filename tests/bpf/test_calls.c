/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Known calls, and the ledger must hold exactly these. Tests bpf/calls.bpf.c, calls.h,
 * call_table.h, count.h, events.h, kernel.h, maps.h, object.h.
 */
#include "watched.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>

#define DIR_NAME       "/tmp/afpscope-test-calls"
#define CHECK(x, want) watched_check(x, AFS_ROLE_SERVER, want, sizeof(want) / sizeof(want[0]))

/* In a child nothing may be asserted with cmocka: say it and die. */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

#define TIMES(n) for (int times_ = 0; times_ < (n); times_++)

/* Opened before the watch begins. */
struct files {
	int data, meta, doubled, dir, pair[2], pipe[2], null;
};

static struct files files_open(void)
{
	struct files f;

	mkdir(DIR_NAME, 0700);
	mkdir(DIR_NAME "/.AppleDouble", 0700);
	f.data = open(DIR_NAME "/data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	f.meta = open(DIR_NAME "/._data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	f.doubled = open(DIR_NAME "/.AppleDouble/data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	f.dir = open(DIR_NAME, O_RDONLY | O_DIRECTORY);
	f.null = open("/dev/null", O_RDWR);
	MUST(f.data >= 0 && f.meta >= 0 && f.doubled >= 0 && f.dir >= 0 && f.null >= 0);
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, f.pair) && !pipe2(f.pipe, O_NONBLOCK));
	MUST(ftruncate(f.data, 1000) == 0 && ftruncate(f.meta, 1000) == 0);
	return f;
}

static struct files files;

static void do_reads_and_writes(struct watched_shared *s)
{
	char buf[300];
	struct iovec iov = { .iov_base = buf, .iov_len = 100 };

	(void)s;
	TIMES(3) MUST(pwrite(files.data, buf, 200, 0) == 200);
	TIMES(5) MUST(pread(files.data, buf, 300, 900) == 100);
	TIMES(2) MUST(pread(files.data, buf, 300, 1000) == 0);
	TIMES(4) MUST(pwritev(files.meta, &iov, 1, 0) == 100);
	TIMES(6) MUST(preadv(files.meta, &iov, 1, 0) == 100);
	TIMES(2) MUST(pwrite(files.doubled, buf, 10, 0) == 10);
	TIMES(3) MUST(write(files.pair[0], buf, 7) == 7);
	TIMES(3) MUST(read(files.pair[1], buf, 7) == 7);
	TIMES(2) MUST(writev(files.pipe[1], &iov, 1) == 100);
	TIMES(4) MUST(read(files.pipe[0], buf, 50) == 50);
	TIMES(9) MUST(read(files.pipe[0], buf, 1) == -1 && errno == EAGAIN);
	TIMES(2) MUST(write(files.null, buf, 11) == 11);
	TIMES(2) MUST(read(files.dir, buf, 1) == -1 && errno == EISDIR);
	TIMES(3) MUST(read(999, buf, 1) == -1 && errno == EBADF);
	TIMES(3) MUST(readv(999, &iov, 1) == -1 && errno == EBADF);
	TIMES(2) MUST(writev(-1, &iov, 1) == -1 && errno == EBADF);
	TIMES(2) MUST(pread(files.pipe[0], buf, 1, 0) == -1 && errno == ESPIPE);
	TIMES(2) MUST(preadv(files.pipe[0], &iov, 1, 0) == -1 && errno == ESPIPE);
}

static void reads_and_writes_are_counted_by_object(void **state)
{
	const struct expected want[] = {
		{ AFS_CLASS_WRITE, AFS_OBJECT_DATA, 3, 0, 600 },
		{ AFS_CLASS_READ, AFS_OBJECT_DATA, 7, 0, 500 },
		{ AFS_CLASS_WRITE, AFS_OBJECT_META, 6, 0, 420 },
		{ AFS_CLASS_READ, AFS_OBJECT_META, 6, 0, 600 },
		{ AFS_CLASS_WRITE, AFS_OBJECT_SOCKET, 3, 0, 21 },
		{ AFS_CLASS_READ, AFS_OBJECT_SOCKET, 3, 0, 21 },
		{ AFS_CLASS_WRITE, AFS_OBJECT_PIPE, 2, 0, 200 },
		{ AFS_CLASS_READ, AFS_OBJECT_PIPE, 17, 13, 200 },
		{ AFS_CLASS_WRITE, AFS_OBJECT_OTHER, 2, 0, 22 },
		{ AFS_CLASS_READ, AFS_OBJECT_DIR, 2, 2, 0 },
		{ AFS_CLASS_READ, AFS_OBJECT_NONE, 6, 6, 0 },
		{ AFS_CLASS_WRITE, AFS_OBJECT_NONE, 2, 2, 0 },
	};
	struct watched x;

	(void)state;
	files = files_open();
	watched_start(&x, do_reads_and_writes);
	watched_open(&x, (struct target) {});
	for (int i = 0; i < 3; i++) {
		watched_step(&x);
		CHECK(&x, want);
		watched_check_io(&x);
		ledger_fini(&x.diff);
	}
	watched_end(&x);
}

static void do_copies(struct watched_shared *s)
{
	char buf[4096];
	off_t at;
	loff_t from, to;

	(void)s;
	TIMES(3)
	{
		at = 0;
		MUST(sendfile(files.pair[0], files.data, &at, 500) == 500);
		MUST(recv(files.pair[1], buf, sizeof(buf), 0) == 500);
	}
	at = 1000;
	MUST(sendfile(files.pair[0], files.data, &at, 500) == 0);
	MUST(sendfile(files.pair[0], 999, &at, 500) == -1 && errno == EBADF);
	TIMES(2)
	{
		from = to = 0;
		MUST(copy_file_range(files.data, &from, files.meta, &to, 700, 0) == 700);
	}
	from = 1000;
	MUST(copy_file_range(files.data, &from, files.meta, &to, 700, 0) == 0);
	MUST(copy_file_range(files.data, &from, 999, &to, 700, 0) == -1 && errno == EBADF);
	from = 0;
	MUST(splice(files.data, &from, files.pipe[1], NULL, 300, 0) == 300);
	MUST(read(files.pipe[0], buf, sizeof(buf)) == 300);
}

static void copies_count_on_both_sides(void **state)
{
	const struct expected want[] = {
		{ AFS_CLASS_SENDFILE, AFS_OBJECT_SOCKET, 5, 1, 1500 },
		{ AFS_CLASS_RECV, AFS_OBJECT_SOCKET, 3, 0, 1500 },
		{ AFS_CLASS_COPY, AFS_OBJECT_META, 3, 0, 1400 },
		{ AFS_CLASS_COPY, AFS_OBJECT_NONE, 1, 1, 0 },
		{ AFS_CLASS_COPY, AFS_OBJECT_PIPE, 1, 0, 300 },
		{ AFS_CLASS_READ, AFS_OBJECT_PIPE, 1, 0, 300 },
	};
	struct watched x;

	(void)state;
	files = files_open();
	watched_start(&x, do_copies);
	watched_open(&x, (struct target) {});
	watched_step(&x);
	CHECK(&x, want);
	watched_check_io(&x);
	watched_end(&x);
}

static void do_messages(struct watched_shared *s)
{
	char buf[100];
	struct iovec iov = { .iov_base = buf, .iov_len = 20 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	(void)s;
	TIMES(4) MUST(send(files.pair[0], buf, 10, 0) == 10);
	TIMES(3) MUST(sendmsg(files.pair[0], &m, 0) == 20);
	TIMES(2) MUST(recvmsg(files.pair[1], &m, 0) == 20);
	TIMES(3) MUST(recv(files.pair[1], buf, 20, 0) == 20);
	TIMES(5) MUST(recv(files.pair[1], buf, 20, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	TIMES(2) MUST(send(files.data, buf, 1, 0) == -1 && errno == ENOTSOCK);
}

static void messages_are_not_in_the_compatible_ledger(void **state)
{
	const struct expected want[] = {
		{ AFS_CLASS_SEND, AFS_OBJECT_SOCKET, 7, 0, 100 },
		{ AFS_CLASS_SEND, AFS_OBJECT_DATA, 2, 2, 0 },
		{ AFS_CLASS_RECV, AFS_OBJECT_SOCKET, 10, 5, 100 },
	};
	struct watched x;

	(void)state;
	files = files_open();
	watched_start(&x, do_messages);
	watched_open(&x, (struct target) {});
	watched_step(&x);
	CHECK(&x, want);
	assert_int_equal(x.diff.compat[AFS_ROLE_SERVER].syscr, 0);
	assert_int_equal(x.diff.compat[AFS_ROLE_SERVER].wchar, 0);
	watched_check_io(&x);
	watched_end(&x);
}

/* Architectures without a call of its own for it remove folders with unlinkat. */
#ifdef SYS_rmdir
#define RMDIR_IS_UNLINK 0
#else
#define RMDIR_IS_UNLINK 1
#endif

static void do_files(struct watched_shared *s)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 10 };
	char buf[1024];
	struct stat st;
	int fd;

	(void)s;
	TIMES(3)
	{
		fd = (int)syscall(SYS_openat, AT_FDCWD, DIR_NAME "/new", O_RDWR | O_CREAT, 0600);
		MUST(fd >= 0 && !fsync(fd) && !fdatasync(fd) && !close(fd));
		fd = (int)syscall(SYS_openat, AT_FDCWD, DIR_NAME "/._new", O_RDWR | O_CREAT, 0600);
		MUST(fd >= 0 && !ftruncate(fd, 5) && !close(fd));
		MUST(!rename(DIR_NAME "/new", DIR_NAME "/renamed"));
		MUST(!unlink(DIR_NAME "/renamed") && !unlink(DIR_NAME "/._new"));
	}
	TIMES(2) MUST(syscall(SYS_openat, AT_FDCWD, DIR_NAME "/none", O_RDONLY) == -1);
	TIMES(4) MUST(!syscall(SYS_newfstatat, AT_FDCWD, DIR_NAME, &st, 0));
	TIMES(2) MUST(syscall(SYS_newfstatat, AT_FDCWD, DIR_NAME "/none", &st, 0) == -1);
	TIMES(5) MUST(!syscall(SYS_fstat, files.data, &st));
	TIMES(2) MUST(!flock(files.data, LOCK_EX) && !flock(files.data, LOCK_UN));
	TIMES(3) MUST(!fcntl(files.data, F_SETLK, &lock));
	TIMES(2) MUST(fcntl(files.data, F_GETFL) >= 0);
	MUST(fcntl(files.data, F_OFD_SETLK, &lock) == -1 && errno == EAGAIN);
	lock.l_type = F_UNLCK;
	MUST(!fcntl(files.data, F_SETLK, &lock));
	TIMES(2) MUST(getxattr(DIR_NAME "/data", "user.none", buf, sizeof(buf)) == -1);
	TIMES(3) MUST(fgetxattr(files.data, "user.none", buf, sizeof(buf)) == -1);
	MUST(lseek(files.dir, 0, SEEK_SET) == 0);
	while (syscall(SYS_getdents64, files.dir, buf, sizeof(buf)) > 0)
		;
	MUST(!mkdir(DIR_NAME "/folder", 0700) && !rmdir(DIR_NAME "/folder"));
	MUST(!fchmod(files.meta, 0640));
	MUST(close(999) == -1 && errno == EBADF);
	fd = dup(files.meta);
	MUST(fd >= 0 && !close(fd));
	/* Not open, then something else of the same number. */
	MUST(read(fd, buf, 1) == -1 && errno == EBADF);
	MUST(dup(files.dir) == fd && !syscall(SYS_fstat, fd, &st) && !close(fd));
	MUST(dup(files.meta) == fd && dup2(files.data, fd) == fd && pread(fd, buf, 5, 0) == 5 &&
	     !close(fd));
}

static void other_calls_are_counted_by_class(void **state)
{
	const struct expected want[] = {
		{ AFS_CLASS_OPEN, AFS_OBJECT_NONE, 8, 2, 0 },
		{ AFS_CLASS_SYNC, AFS_OBJECT_DATA, 6, 0, 0 },
		{ AFS_CLASS_CLOSE, AFS_OBJECT_DATA, 4, 0, 0 },
		{ AFS_CLASS_CLOSE, AFS_OBJECT_META, 4, 0, 0 },
		{ AFS_CLASS_CLOSE, AFS_OBJECT_DIR, 1, 0, 0 },
		{ AFS_CLASS_CLOSE, AFS_OBJECT_NONE, 1, 1, 0 },
		{ AFS_CLASS_SETATTR, AFS_OBJECT_META, 4, 0, 0 },
		{ AFS_CLASS_RENAME, AFS_OBJECT_NONE, 3, 0, 0 },
		{ AFS_CLASS_UNLINK, AFS_OBJECT_NONE, 6 + RMDIR_IS_UNLINK, 0, 0 },
		{ AFS_CLASS_STAT, AFS_OBJECT_NONE, 6, 2, 0 },
		{ AFS_CLASS_STAT, AFS_OBJECT_DATA, 5, 0, 0 },
		{ AFS_CLASS_STAT, AFS_OBJECT_DIR, 1, 0, 0 },
		{ AFS_CLASS_LOCK, AFS_OBJECT_DATA, 9, 1, 0 },
		{ AFS_CLASS_FD, AFS_OBJECT_DATA, 3, 0, 0 },
		{ AFS_CLASS_FD, AFS_OBJECT_META, 2, 0, 0 },
		{ AFS_CLASS_FD, AFS_OBJECT_DIR, 2, 0, 0 },
		{ AFS_CLASS_READ, AFS_OBJECT_NONE, 1, 1, 0 },
		{ AFS_CLASS_XATTR, AFS_OBJECT_NONE, 2, 2, 0 },
		{ AFS_CLASS_XATTR, AFS_OBJECT_DATA, 3, 3, 0 },
		{ AFS_CLASS_DIR, AFS_OBJECT_DIR, 2, 0, 0 },
		{ AFS_CLASS_DIR, AFS_OBJECT_NONE, 2 - RMDIR_IS_UNLINK, 0, 0 },
		{ AFS_CLASS_READ, AFS_OBJECT_DATA, 1, 0, 5 },
	};
	struct watched x;

	(void)state;
	files = files_open();
	watched_start(&x, do_files);
	watched_open(&x, (struct target) {});
	for (int i = 0; i < 2; i++) {
		watched_step(&x);
		CHECK(&x, want);
		watched_check_io(&x);
		ledger_fini(&x.diff);
	}
	watched_end(&x);
}

static void do_waits(struct watched_shared *s)
{
	const struct timespec t = { .tv_nsec = 20000000 };

	(void)s;
	TIMES(7) poll(NULL, 0, 0);
	nanosleep(&t, NULL);
}

/* The child's futex calls are waits too; one is always in progress when we look. */
static void waits_are_counted_with_their_time(void **state)
{
	struct afs_cell sum;
	struct watched x;
	uint64_t begin_ns, took_ns;

	(void)state;
	watched_start(&x, do_waits);
	watched_open(&x, (struct target) {});
	usleep(50000);
	begin_ns = clock_now_ns();
	watched_step(&x);
	took_ns = clock_now_ns() - begin_ns;
	sum = ledger_sum(&x.diff, AFS_ROLE_SERVER, AFS_CLASS_WAIT, AFS_N_OBJECTS);
	assert_int_equal(sum.calls, 8 + x.shared->waits - x.waits_before);
	assert_int_equal(ledger_sum(&x.diff, AFS_ROLE_SERVER, AFS_N_CLASSES, AFS_N_OBJECTS).calls,
			 sum.calls);
	/* The 50 ms before the step are not in it, however slow this machine is. */
	assert_in_range(sum.ns, 20000000, took_ns);
	watched_end(&x);
}

#define DB_NAME DIR_NAME "/a volume's name"

static int own_log, own_db, late_log;

static void write_new(const char *name, int flags, size_t bytes)
{
	char buf[100] = {};
	int fd = open(name, flags | O_CREAT, 0600);

	MUST(fd >= 0 && write(fd, buf, bytes) == (ssize_t)bytes && !close(fd));
}

static void do_known(struct watched_shared *s)
{
	char buf[100] = {};

	(void)s;
	TIMES(2) MUST(write(own_log, buf, 10) == 10);
	MUST(write(late_log, buf, 3) == 3);
	MUST(!fcntl(late_log, F_SETFL, O_APPEND));
	MUST(write(late_log, buf, 10) == 10);
	MUST(!fcntl(late_log, F_SETFL, 0));
	TIMES(4) MUST(pwrite(own_db, buf, 20, 0) == 20);
	write_new(DB_NAME "/a volume's name.sqlite-wal", O_RDWR, 30);
	/* A user's own files. */
	write_new(DB_NAME "/a volume's nam_.sqlite", O_RDWR, 1);
	write_new(DB_NAME "/a volume's name.sqlite.txt", O_RDWR, 1);
	write_new(DB_NAME "/a volume's name.sqlit", O_RDWR, 1);
	write_new(DIR_NAME "/x.sqlite", O_RDWR, 1);
	write_new(DIR_NAME "/read too", O_RDWR | O_APPEND, 1);
	write_new(DIR_NAME "/new log", O_WRONLY | O_APPEND, 7);
	TIMES(6) MUST(pwrite(files.data, buf, 40, 0) == 40);
	TIMES(7) MUST(send(files.pair[0], buf, 50, 0) == 50);
	TIMES(7) MUST(recv(files.pair[1], buf, 50, 0) == 50);
}

/* The client's socket, logs, and files of an SQLite database, also those that come later. */
static void special_files_are_told_apart(void **state)
{
	static const struct expected want[] = {
		{ AFS_CLASS_WRITE, AFS_OBJECT_LOG, 4, 0, 37 },
		{ AFS_CLASS_WRITE, AFS_OBJECT_DATA, 12, 0, 248 },
		{ AFS_CLASS_WRITE, AFS_OBJECT_CNIDDB, 5, 0, 110 },
		{ AFS_CLASS_FD, AFS_OBJECT_DATA, 1, 0, 0 },
		{ AFS_CLASS_FD, AFS_OBJECT_LOG, 1, 0, 0 },
		{ AFS_CLASS_OPEN, AFS_OBJECT_NONE, 7, 0, 0 },
		{ AFS_CLASS_CLOSE, AFS_OBJECT_CNIDDB, 1, 0, 0 },
		{ AFS_CLASS_CLOSE, AFS_OBJECT_DATA, 5, 0, 0 },
		{ AFS_CLASS_CLOSE, AFS_OBJECT_LOG, 1, 0, 0 },
		{ AFS_CLASS_SEND, AFS_OBJECT_CLIENT, 7, 0, 350 },
		{ AFS_CLASS_RECV, AFS_OBJECT_SOCKET, 7, 0, 350 },
	};
	struct target t = {};
	struct watched x;
	struct stat st;

	(void)state;
	files = files_open();
	mkdir(DB_NAME, 0700);
	own_db = open(DB_NAME "/a volume's name.sqlite", O_RDWR | O_CREAT, 0600);
	own_log = open(DIR_NAME "/log", O_WRONLY | O_APPEND | O_CREAT, 0600);
	late_log = open(DIR_NAME "/late", O_WRONLY | O_CREAT, 0600);
	assert_true(own_db >= 0 && own_log >= 0 && late_log >= 0);
	fstat(files.pair[0], &st);
	t.client = st.st_ino;
	watched_start(&x, do_known);
	watched_open(&x, t);
	x.not_dsi = true;
	watched_step(&x);
	CHECK(&x, want);
	watched_check_io(&x);
	watched_end(&x);
	close(own_db);
	close(own_log);
	close(late_log);
}

static int remove_files(void **state)
{
	(void)state;
	return system("rm -rf " DIR_NAME);
}

/* Operations that do nothing, handed over without a call of their own. */
#define URING_OPS 5

static void do_uring(struct watched_shared *s)
{
	struct io_uring_params p = { 0 };
	struct io_uring_sqe *sqe;
	uint32_t *tail, *array;
	char *ring;
	int fd = (int)syscall(SYS_io_uring_setup, 8, &p);

	s->value[0] = fd < 0;
	if (fd < 0)
		return;
	ring = mmap(NULL, p.sq_off.array + p.sq_entries * sizeof(uint32_t), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQ_RING);
	sqe = mmap(NULL, p.sq_entries * sizeof(*sqe), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQES);
	MUST(ring != MAP_FAILED && sqe != MAP_FAILED);
	tail = (uint32_t *)(ring + p.sq_off.tail);
	array = (uint32_t *)(ring + p.sq_off.array);
	for (uint32_t i = 0; i < URING_OPS; i++) {
		sqe[i] = (struct io_uring_sqe) { .opcode = IORING_OP_NOP };
		array[i] = i;
	}
	__atomic_store_n(tail, *tail + URING_OPS, __ATOMIC_RELEASE);
	MUST(syscall(SYS_io_uring_enter, fd, URING_OPS, 0, 0, NULL, 0) == URING_OPS);
	close(fd);
}

/* Place: io_uring | operations are not counted: their number is said, or, where the kernel
 *   polls, that it is not known */
static void operations_by_io_uring_are_a_warning_with_their_number(void **state)
{
	bool refused, warned = false;
	struct watched x;
	struct run r;

	(void)state;
	watched_start(&x, do_uring);
	watched_open(&x, (struct target) {});
	watched_step(&x);
	refused = x.shared->value[0];
	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(watch_finish(x.w, &r), 0);
	for (size_t i = 0; i < r.warnings.n; i++)
		warned |= !strncmp(r.warnings.note[i].text, "5 operations by io_uring ", 25);
	assert_true(warned || refused);
	assert_false(warned && refused);
	run_fini(&r);
	watch_free(x.w);
	ledger_fini(&x.diff);
	kill(x.pid, SIGKILL);
	waitpid(x.pid, NULL, 0);
	munmap(x.shared, sizeof(*x.shared));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_and_writes_are_counted_by_object),
		cmocka_unit_test(copies_count_on_both_sides),
		cmocka_unit_test(messages_are_not_in_the_compatible_ledger),
		cmocka_unit_test(other_calls_are_counted_by_class),
		cmocka_unit_test(waits_are_counted_with_their_time),
		cmocka_unit_test(special_files_are_told_apart),
		cmocka_unit_test(operations_by_io_uring_are_a_warning_with_their_number),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, remove_files, remove_files);
}
