/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a queue of arrivals, and one queue for the processes of a load on one host: shared
 * memory, which has a name until the load has begun, and for each thread a socket to which others
 * send a byte to wake it.
 */
#include "load/worker.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 1000000000u /* with who makes it */

void arrivals_queue_init(struct arrivals_queue *q, size_t room, bool shared)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	if (shared) {
		pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
		pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	}
	pthread_mutex_init(&q->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	q->room = room;
}

/* Who had it may have died meanwhile: at worst one arrival is there twice, or not at all. */
void arrivals_lock(struct arrivals_queue *q)
{
	if (pthread_mutex_lock(&q->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&q->lock);
}

/* Its threads, and how many arrivals may wait for it. */
void arrivals_join(struct arrivals *q, unsigned int most)
{
	struct arrivals_queue *s = q->q;

	arrivals_lock(s);
	q->first = s->n_threads;
	s->n_threads += q->n_workers;
	s->n_processes++;
	if (most == ENGINE_QUEUE_ALL)
		s->most = UINT64_MAX;
	else
		s->most += most;
	pthread_mutex_unlock(&s->lock);
}

/* Of a thread, in the namespace of addresses without files. */
static socklen_t shared_address(const struct arrivals *q, uint32_t thread, struct sockaddr_un *out)
{
	int n;

	*out = (struct sockaddr_un) { .sun_family = AF_UNIX };
	n = snprintf(out->sun_path + 1, sizeof(out->sun_path) - 1, "%s-%u", q->address, thread);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int shared_socket(void)
{
	return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

bool arrivals_wake(const struct arrivals *q, uint32_t thread)
{
	struct sockaddr_un to;
	socklen_t len = shared_address(q, thread, &to);

	/* where there is no room it is woken already */
	return sendto(q->out, "", 1, 0, (struct sockaddr *)&to, len) == 1 || errno == EAGAIN;
}

static void shared_pause(void)
{
	const struct timespec moment = { 0, 1000000 };

	nanosleep(&moment, NULL);
}

/* Of who has made it, once it is there; NULL: not in time, or it is another user's. */
static struct arrivals_queue *shared_of_other(int fd, size_t len)
{
	const uint64_t until_ns = clock_now_ns() + PATIENCE_NS;
	struct arrivals_queue *s;
	struct stat st;

	do {
		if (fstat(fd, &st) || st.st_uid != geteuid())
			return NULL;
		if ((size_t)st.st_size == len)
			break;
		shared_pause();
	} while (clock_now_ns() < until_ns);
	if ((size_t)st.st_size != len)
		return NULL;
	s = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s == MAP_FAILED)
		return NULL;
	while (atomic_load(&s->len) != len && clock_now_ns() < until_ns)
		shared_pause();
	if (atomic_load(&s->len) == len)
		return s;
	munmap(s, len);
	return NULL;
}

static struct arrivals_queue *shared_of_own(int fd, size_t len, size_t room)
{
	struct arrivals_queue *s;

	if (ftruncate(fd, (off_t)len))
		return NULL;
	s = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s == MAP_FAILED)
		return NULL;
	arrivals_queue_init(s, room, true);
	atomic_store(&s->len, len);
	return s;
}

static bool shared_listen(struct arrivals *q)
{
	struct epoll_event event = { .events = EPOLLIN }; /* without an actor */
	struct sockaddr_un own;
	struct worker *w;
	socklen_t len;

	for (unsigned int k = 0; k < q->n_workers; k++) {
		w = &q->worker[k];
		w->shared_wake = shared_socket();
		len = shared_address(q, q->first + k, &own);
		if (w->shared_wake < 0 || bind(w->shared_wake, (struct sockaddr *)&own, len) ||
		    epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->shared_wake, &event))
			return false;
	}
	q->out = shared_socket();
	return q->out >= 0;
}

/* Two containers of a host may have the same memory, but clocks and sockets of their own. */
static unsigned long shared_namespace(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (unsigned long)st.st_ino;
}

bool arrivals_share(struct arrivals *q, const char *share, size_t room, unsigned int most)
{
	const size_t len = sizeof(*q->q) + (room + 1) * sizeof(*q->q->wait);
	bool own;
	int fd;

	snprintf(q->name, sizeof(q->name), "/afpscope-%.40s-%lx-%lx", share,
		 shared_namespace("/proc/self/ns/time"), shared_namespace("/proc/self/ns/net"));
	snprintf(q->address, sizeof(q->address), "%s", q->name + 1);
	fd = shm_open(q->name, O_RDWR | O_CREAT | O_EXCL, 0600);
	own = fd >= 0;
	if (!own)
		fd = shm_open(q->name, O_RDWR, 0);
	if (fd >= 0)
		q->q = own ? shared_of_own(fd, len, room) : shared_of_other(fd, len);
	if (fd >= 0)
		close(fd);
	q->len = q->q ? len : 0;
	if (q->q)
		arrivals_join(q, most);
	if (q->q && q->first + q->n_workers <= ARRIVALS_THREADS_MAX && shared_listen(q)) {
		*q->name = own ? *q->name : '\0';
		return true;
	}
	if (!own)
		*q->name = '\0';
	arrivals_unshare(q);
	return false;
}

void arrivals_unlist(struct arrivals *q)
{
	char name[sizeof(q->name)];

	memcpy(name, q->name, sizeof(name));
	*q->name = '\0';
	if (*name)
		shm_unlink(name);
}

void arrivals_unshare(struct arrivals *q)
{
	arrivals_unlist(q);
	for (unsigned int k = 0; k < q->n_workers; k++) {
		if (q->worker[k].shared_wake >= 0)
			close(q->worker[k].shared_wake);
		q->worker[k].shared_wake = -1;
	}
	if (q->out >= 0)
		close(q->out);
	q->out = -1;
	if (q->q)
		munmap(q->q, q->len);
	q->q = NULL;
	q->len = 0;
}
