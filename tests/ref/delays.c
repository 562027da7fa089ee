/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delays of every kind; the server measures them with a clock that is no system call. */

#include "ref/delays.h"

#include "base/clock.h"
#include "fake/wire.h"
#include "ref/work.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void spin(uint64_t ns)
{
	uint64_t until = clock_now_ns() + ns;

	while (clock_now_ns() < until)
		;
}

static void burn(uint64_t ns)
{
	struct timespec cpu;
	uint64_t begin = 0, now;

	do {
		spin(REF_MS / 2);
		REF_MUST(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu));
		now = (uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec;
		begin = begin ? begin : now;
	} while (now - begin < ns);
}

static void sleep_ns(uint64_t ns)
{
	const struct timespec t = { .tv_nsec = (long)ns };

	REF_MUST(!nanosleep(&t, NULL));
}

static void lock_and_unlock(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	REF_MUST(!fcntl(fd, F_SETLKW, &lock));
	lock.l_type = F_UNLCK;
	REF_MUST(!fcntl(fd, F_SETLK, &lock));
}

static void flock_and_unlock(void)
{
	int fd = open(REF_DIR "/flock", O_RDWR | O_CREAT, 0600);

	REF_MUST(fd >= 0 && !flock(fd, LOCK_EX));
	REF_MUST(!close(fd));
}

/* Only the sync itself is timed, not the writing before it. Returns its begin. */
static uint64_t write_and_sync(int fd)
{
	static char buf[REF_LARGE];
	uint64_t begin;

	for (int i = 0; i < 16; i++)
		REF_MUST(pwrite(fd, buf, sizeof(buf), (off_t)i * REF_LARGE) == REF_LARGE);
	begin = clock_now_ns();
	REF_MUST(!fdatasync(fd));
	return begin;
}

static void read_pipe(int fd)
{
	char byte;

	REF_MUST(read(fd, &byte, 1) == 1);
}

static void ask(int fd, int what)
{
	char byte = (char)what;

	REF_MUST(write(fd, &byte, 1) == 1 && read(fd, &byte, 1) == 1);
}

/* As SQLite does where another has the lock. */
static void lock_later(int fd, bool calls_between)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	REF_MUST(!fcntl(fd, F_SETLK, &lock));
	if (calls_between)
		syscall(SYS_getppid);
	sleep_ns(20 * REF_MS);
	lock.l_type = F_UNLCK;
	REF_MUST(!fcntl(fd, F_SETLK, &lock));
}

static void wait_in_vain(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	REF_MUST(!poll(&p, 1, ms));
}

/* As afpd's client of the CNID server, whose pause has no descriptor. */
static void ask_and_pause(int fd, int command)
{
	char byte;

	if (command == REF_DO_PAUSE)
		ask(fd, REF_ASK_NOTHING);
	if (command == REF_DO_GONE)
		REF_MUST(recv(fd, &byte, 1, 0) <= 0);
	if (command == REF_DO_LATE) {
		REF_MUST(recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
		wait_in_vain(fd, 5);
	}
	sleep_ns(20 * REF_MS);
}

static void tell(const struct ref_delays *d)
{
	REF_MUST(send(d->told[0], "x", 1, 0) == 1);
}

static void wait_for_client(const struct ref_delays *d)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(d->server, &set);
	REF_MUST(select(d->server + 1, &set, NULL, NULL, NULL) == 1);
}

/* Waits where nothing was there, and where a part was. */
static void take_upload(struct ref_delays *d)
{
	char buf[REF_UPLOAD];
	ssize_t r;

	for (size_t at = 0; at < sizeof(buf); at += (size_t)(r < 0 ? 0 : r)) {
		r = recv(d->server, buf + at, sizeof(buf) - at, 0);
		REF_MUST(r > 0 || (r < 0 && errno == EAGAIN && d->waits));
		if (d->waits && (r < 0 || at + (size_t)r < sizeof(buf)))
			wait_for_client(d);
	}
}

/* What a command stands for; its time is what the server says about itself. */
static void act(struct ref_delays *d, int command)
{
	uint64_t begin = clock_now_ns();

	switch (command) {
	case REF_DO_SLEEP:
		sleep_ns(20 * REF_MS);
		break;
	case REF_DO_LOCK:
		lock_and_unlock(d->lock);
		break;
	case REF_DO_FLOCK:
		flock_and_unlock();
		break;
	case REF_DO_BURN:
		burn(20 * REF_MS);
		break;
	case REF_DO_SYNC:
		begin = write_and_sync(d->data);
		break;
	case REF_DO_PIPE:
		read_pipe(d->pipe[0]);
		break;
	case REF_DO_UPLOAD:
		take_upload(d);
		break;
	case REF_DO_BUSY:
	case REF_DO_IDLE:
		lock_later(d->sqlite, command == REF_DO_IDLE);
		break;
	case REF_DO_LATE:
	case REF_DO_GONE:
	case REF_DO_PAUSE:
		ask_and_pause(d->asks[1], command);
		break;
	case REF_DO_TELL:
		tell(d);
		wait_in_vain(d->told[0], 20);
		break;
	default:
		if (command >= REF_DO_ASK2)
			ask(d->asks[1], command - REF_DO_ASK2);
		else if (command >= REF_DO_ASK)
			ask(d->asks[0], command - REF_DO_ASK);
	}
	d->truth->ns[command] += clock_now_ns() - begin;
}

static void reply(struct ref_delays *d, struct wire_head h, uint32_t len)
{
	static uint8_t buf[WIRE_HEAD + REF_LARGE];
	uint64_t begin = clock_now_ns();
	ssize_t r;
	fd_set set;

	h.flags = 1;
	h.len = len;
	wire_put(buf, &h);
	for (size_t at = 0; at<WIRE_HEAD + len; at += r> 0 ? (size_t)r : 0) {
		r = send(d->server, buf + at, WIRE_HEAD + len - at, 0);
		if (r > 0)
			continue;
		REF_MUST(errno == EAGAIN && d->waits);
		FD_ZERO(&set);
		FD_SET(d->server, &set);
		REF_MUST(select(d->server + 1, NULL, &set, NULL, NULL) == 1);
	}
	if (len)
		d->truth->ns[REF_DO_LARGE] += clock_now_ns() - begin;
}

static void read_all(struct ref_delays *d, uint8_t *buf, size_t len)
{
	struct pollfd p = { .fd = d->server, .events = POLLIN };
	ssize_t r;

	for (size_t at = 0; at < len; at += (size_t)r) {
		if (d->waits)
			poll(&p, 1, -1);
		r = recv(d->server, buf + at, len - at, 0);
		REF_MUST(r > 0);
	}
}

void ref_delays_serve(struct ref_delays *d)
{
	uint8_t buf[WIRE_HEAD + 1];
	struct wire_head h;

	for (;;) {
		read_all(d, buf, WIRE_HEAD + 1);
		h = wire_get(buf);
		if (h.command == WIRE_CLOSE)
			return;
		act(d, buf[WIRE_HEAD]);
		reply(d, h, buf[WIRE_HEAD] == REF_DO_LARGE ? REF_LARGE : 0);
		if (buf[WIRE_HEAD] == REF_DO_TELL)
			tell(d);
	}
}

/* A lock that another thread of it would hold. */
static void wait_on_futex(uint32_t *word)
{
	const struct timespec t = { .tv_nsec = 20 * REF_MS };

	syscall(SYS_futex, word, FUTEX_WAIT, 0, &t, NULL, 0);
}

/* The CNID server: what it has open for writing is the database's folder. */
void ref_delays_serve_cnid(struct ref_delays *d, int which)
{
	const int asked = d->asked[which];
	struct pollfd p = { .fd = asked, .events = POLLIN };
	char byte;

	close(d->data);
	close(d->lock);
	close(d->sqlite);
	close(d->asked[!which]);
	close(d->told[0]);
	close(d->told[1]);
	for (int i = 0; i < REF_CNID_SERVERS; i++)
		close(d->asks[i]);
	d->db_data = open(REF_DB "/synced", O_RDWR | O_CREAT | O_TRUNC, 0600);
	d->db_lock = open(REF_DB "/lock", O_RDWR | O_CREAT, 0600);
	REF_MUST(d->db_data >= 0 && d->db_lock >= 0);
	prctl(PR_SET_NAME, "cnid_dbd");
	__atomic_add_fetch(&d->truth->ready, 1, __ATOMIC_RELEASE);
	for (int i = d->reads_first;; i = 0) {
		if (!i)
			poll(&p, 1, -1);
		if (read(asked, &byte, 1) != 1)
			_exit(0);
		if (byte == REF_ASK_LOCK)
			lock_and_unlock(d->db_lock);
		else if (byte == REF_ASK_SYNC)
			write_and_sync(d->db_data);
		else if (byte == REF_ASK_BURN)
			burn(20 * REF_MS);
		else if (byte == REF_ASK_PIPE)
			read_pipe(d->pipe[0]);
		else if (byte == REF_ASK_FUTEX)
			wait_on_futex(&d->truth->never);
		REF_MUST(write(asked, &byte, 1) == 1);
		if (byte == REF_ASK_MORE)
			spin(20 * REF_MS);
	}
}

/* Holds all locks for 50 ms whenever it is told to. */
void ref_delays_hold(struct ref_delays *d)
{
	struct flock lock = { .l_whence = SEEK_SET, .l_len = 1 };
	int whole = open(REF_DIR "/flock", O_RDWR | O_CREAT, 0600);
	int db = open(REF_DB "/lock", O_RDWR | O_CREAT, 0600);
	char byte;

	while (read(d->to_holder[0], &byte, 1) == 1) {
		lock.l_type = F_WRLCK;
		REF_MUST(!fcntl(d->lock, F_SETLKW, &lock) && !fcntl(db, F_SETLKW, &lock));
		REF_MUST(!flock(whole, LOCK_EX) && write(d->from_holder[1], &byte, 1) == 1);
		sleep_ns(REF_HOLD_NS);
		lock.l_type = F_UNLCK;
		REF_MUST(!fcntl(d->lock, F_SETLK, &lock) && !fcntl(db, F_SETLK, &lock));
		REF_MUST(!flock(whole, LOCK_UN));
	}
	_exit(0);
}

static int moved_up(int fd, int least)
{
	int high = least ? fcntl(fd, F_DUPFD, least) : fd;

	REF_MUST(high >= 0 && (high == fd || !close(fd)));
	return high;
}

void ref_delays_open(struct ref_delays *d)
{
	int end[2], small = 16384;

	mkdir(REF_DIR, 0700);
	mkdir(REF_DB, 0700);
	mkdir(REF_SQLITE, 0700);
	d->data = open(REF_DIR "/synced", O_RDWR | O_CREAT | O_TRUNC, 0600);
	d->lock = open(REF_DIR "/lock", O_RDWR | O_CREAT, 0600);
	d->sqlite = open(REF_SQLITE "/cnid.sqlite", O_RDWR | O_CREAT, 0600);
	REF_MUST(d->data >= 0 && d->lock >= 0 && d->sqlite >= 0);
	d->truth = mmap(NULL, sizeof(*d->truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	REF_MUST(d->truth != MAP_FAILED);
	REF_MUST(!pipe(d->pipe) && !pipe(d->to_holder) && !pipe(d->from_holder));
	REF_MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, end));
	d->client = end[0];
	d->server = end[1];
	REF_MUST(!setsockopt(d->server, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)));
	if (d->waits)
		REF_MUST(!fcntl(d->server, F_SETFL, O_RDWR | O_NONBLOCK));
	REF_MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, d->told));
	for (int i = 0; i < REF_CNID_SERVERS; i++) {
		REF_MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, end));
		d->asks[i] = moved_up(end[0], d->high);
		d->asked[i] = moved_up(end[1], d->high);
	}
}

void ref_delays_close(struct ref_delays *d)
{
	const int fd[] = { d->data,         d->lock,           d->sqlite,         d->pipe[0],
			   d->pipe[1],      d->client,         d->server,         d->asks[0],
			   d->asks[1],      d->asked[0],       d->asked[1],       d->to_holder[0],
			   d->to_holder[1], d->from_holder[0], d->from_holder[1], d->told[0],
			   d->told[1] };

	munmap(d->truth, sizeof(*d->truth));
	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++)
		if (fd[i] >= 0)
			close(fd[i]);
}
