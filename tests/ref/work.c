/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls behind each command: raw system calls, so that what is counted is what is made. */

#include "ref/work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

void ref_die(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, strerror(errno));
	_exit(1);
}

uint64_t ref_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

void ref_reserve(void)
{
	int fd = open(REF_DIR ".lock", O_RDWR | O_CREAT, 0600);

	REF_MUST(fd >= 0 && !flock(fd, LOCK_EX));
}

void ref_files_open(struct ref_files *f)
{
	mkdir(REF_DIR, 0700);
	f->data = open(REF_DIR "/data", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	f->meta = open(REF_DIR "/._data", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	f->log = open(REF_DIR "/log", O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	f->dir = open(REF_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f->asked = -1;
	REF_MUST(f->data >= 0 && f->meta >= 0 && f->dir >= 0 && f->log >= 0);
	REF_MUST(!ftruncate(f->data, REF_REPLY_MAX) && !ftruncate(f->meta, 741));
	REF_MUST(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, f->pair));
	REF_MUST(!pipe2(f->pipe, O_NONBLOCK | O_CLOEXEC));
}

void ref_files_close(struct ref_files *f)
{
	const int fd[] = { f->data,    f->meta,    f->dir,     f->log,    f->asked,
			   f->pipe[0], f->pipe[1], f->pair[0], f->pair[1] };

	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

#define COUNT(class, object, call)                                                                 \
	ref_count(w, AFS_CLASS_##class, AFS_OBJECT_##object, (long)(call))

static void do_fstat(struct ref_worker *w, const struct ref_files *f)
{
	struct stat st;

	COUNT(STAT, DATA, syscall(SYS_fstat, f->data, &st));
}

static void do_pread(struct ref_worker *w, const struct ref_files *f)
{
	char buf[100];

	REF_MUST(COUNT(READ, DATA, pread(f->data, buf, sizeof(buf), 300)) == sizeof(buf));
}

static void do_pwrite(struct ref_worker *w, const struct ref_files *f)
{
	const char buf[77] = {};

	REF_MUST(COUNT(WRITE, DATA, pwrite(f->data, buf, sizeof(buf), 0)) == sizeof(buf));
}

static void do_lock(struct ref_worker *w, const struct ref_files *f)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 5, .l_len = 7 };

	REF_MUST(!COUNT(LOCK, DATA, syscall(SYS_fcntl, f->data, F_SETLK, &lock)));
	lock.l_type = F_UNLCK;
	REF_MUST(!COUNT(LOCK, DATA, syscall(SYS_fcntl, f->data, F_SETLK, &lock)));
}

static void do_xattr(struct ref_worker *w, const struct ref_files *f)
{
	char buf[32];

	COUNT(XATTR, DATA, syscall(SYS_fgetxattr, f->data, "user.none", buf, sizeof(buf)));
	COUNT(XATTR, NONE, syscall(SYS_getxattr, REF_DIR "/data", "user.none", buf, sizeof(buf)));
}

static void do_lseek(struct ref_worker *w, const struct ref_files *f)
{
	COUNT(FD, DATA, syscall(SYS_lseek, f->data, 0, SEEK_SET));
}

static void do_open(struct ref_worker *w, const struct ref_files *f)
{
	long fd = COUNT(OPEN, NONE, syscall(SYS_openat, AT_FDCWD, REF_DIR "/data", O_RDONLY));

	(void)f;
	REF_MUST(fd >= 0);
	REF_MUST(!COUNT(CLOSE, DATA, syscall(SYS_close, (int)fd)));
}

/* The same descriptor means something else each time. */
static void do_open_meta(struct ref_worker *w, const struct ref_files *f)
{
	long fd = COUNT(OPEN, NONE, syscall(SYS_openat, AT_FDCWD, REF_DIR "/._data", O_RDONLY));
	char buf[26];

	(void)f;
	REF_MUST(COUNT(READ, META, read((int)fd, buf, sizeof(buf))) == sizeof(buf));
	REF_MUST(!COUNT(CLOSE, META, syscall(SYS_close, (int)fd)));
}

static void do_unlink(struct ref_worker *w, const struct ref_files *f)
{
	(void)f;
	REF_MUST(COUNT(UNLINK, NONE, syscall(SYS_unlinkat, AT_FDCWD, REF_DIR "/none", 0)) == -1);
}

static void do_pipe(struct ref_worker *w, const struct ref_files *f)
{
	char byte;

	REF_MUST(COUNT(READ, PIPE, read(f->pipe[0], &byte, 1)) == -1);
	REF_MUST(COUNT(READ, PIPE, read(f->pipe[0], &byte, 1)) == -1);
}

static void do_meta(struct ref_worker *w, const struct ref_files *f)
{
	char buf[741];
	struct iovec iov[2] = { { buf, 400 }, { buf + 400, 341 } };

	REF_MUST(COUNT(READ, META, preadv(f->meta, iov, 2, 0)) == 741);
}

static void do_stat(struct ref_worker *w, const struct ref_files *f)
{
	struct stat st;

	(void)f;
	COUNT(STAT, NONE, syscall(SYS_newfstatat, AT_FDCWD, REF_DIR "/data", &st, 0));
	COUNT(STAT, NONE, syscall(SYS_newfstatat, AT_FDCWD, REF_DIR "/none", &st, 0));
}

static void do_log(struct ref_worker *w, const struct ref_files *f)
{
	REF_MUST(COUNT(WRITE, LOG, write(f->log, "line\n", 5)) == 5);
}

static void do_dir(struct ref_worker *w, const struct ref_files *f)
{
	char buf[1024];

	COUNT(FD, DIR, syscall(SYS_lseek, f->dir, 0, SEEK_SET));
	while (COUNT(DIR, DIR, syscall(SYS_getdents64, f->dir, buf, sizeof(buf))) > 0)
		;
}

static void do_hint(struct ref_worker *w, const struct ref_files *f)
{
	char buf[16] = {};

	REF_MUST(COUNT(WRITE, SOCKET, write(f->pair[0], buf, 9)) == 9);
	REF_MUST(COUNT(RECV, SOCKET, recv(f->pair[1], buf, sizeof(buf), 0)) == 9);
}

static void do_bad(struct ref_worker *w, const struct ref_files *f)
{
	char byte;

	(void)f;
	REF_MUST(COUNT(READ, NONE, read(999, &byte, 1)) == -1);
	COUNT(IDENT, NONE, syscall(SYS_getpid));
}

/* In the middle of a request, and not of the client's. */
static void do_sendfile(struct ref_worker *w, const struct ref_files *f)
{
	char buf[64];
	off_t at = 0;

	REF_MUST(COUNT(SENDFILE, SOCKET, syscall(SYS_sendfile, f->pair[0], f->data, &at, 50)) ==
		 50);
	REF_MUST(COUNT(RECV, SOCKET, recv(f->pair[1], buf, sizeof(buf), 0)) == 50);
}

static void (*const work[])(struct ref_worker *w, const struct ref_files *f) = {
	do_fstat, do_pread,     do_pwrite, do_lock, do_xattr,    do_lseek,
	do_open,  do_open_meta, do_unlink, do_pipe, do_meta,     do_stat,
	do_log,   do_dir,       do_hint,   do_bad,  do_sendfile,
};

#define N_WORK (sizeof(work) / sizeof(work[0]))

/* One command in which a file is synced, every now and then. */
#define SYNCS 79

void ref_work(struct ref_worker *w, const struct ref_files *f, unsigned int command,
	      unsigned int id)
{
	unsigned int n = 1 + id % 3, at = command % N_WORK;

	if (command >= REF_UNKNOWN) {
		do_fstat(w, f);
		return;
	}
	if (command == SYNCS && id % 1024 == 0)
		COUNT(SYNC, DATA, syscall(SYS_fdatasync, f->data));
	for (unsigned int i = 0; i < n; i++)
		work[(at + i * 5) % N_WORK](w, f);
	if (id % 7 == 0)
		work[at](w, f);
}

int32_t ref_result(unsigned int command, unsigned int id)
{
	if (command % 16 == 9)
		return id % 5 == 0 ? 0x0000fbd1 : 0;
	if (command % 4 == 1)
		return id % 8 == 0 ? -5000 - (int32_t)(command % 20) : 0;
	return 0;
}

uint32_t ref_reply_len(unsigned int command, unsigned int id, uint32_t most)
{
	uint32_t len = command % 3 == 0 ? 0 : (command * 7 + id) % 90;

	if (command == 27 && id % 4 == 0)
		len = 512 + id * 37 % REF_REPLY_MAX;
	else if (command == 26)
		len = id % 3000;
	return len < most ? len : most;
}
