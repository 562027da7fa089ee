/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks of sessions, and the end of sessions whose process has died. */
#include "dsi/mark.h"

#include "base/clock.h"
#include "dsi/frame.h"

#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define MARKS_MAX (1u << 20)
#define ZEROS_LEN 65536
#define LOOK_MS   100
#define DROP_LEN  (1u << 20)

static size_t marks_len(size_t n)
{
	return sizeof(struct dsi_marks) + n * sizeof(struct dsi_mark);
}

struct dsi_marks *dsi_marks_new(void)
{
	struct rlimit limit = { .rlim_max = MARKS_MAX };
	struct dsi_marks *m;
	size_t n;

	getrlimit(RLIMIT_NOFILE, &limit);
	n = limit.rlim_max < MARKS_MAX ? (size_t)limit.rlim_max : MARKS_MAX;
	m = mmap(NULL, marks_len(n), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (m == MAP_FAILED)
		return NULL;
	m->n = n;
	atomic_store(&m->top, -1);
	return m;
}

void dsi_marks_free(struct dsi_marks *m)
{
	if (m)
		munmap(m, marks_len(m->n));
}

/* Bytes that the process has written to the connection. false: it is none. */
static bool written_to(int fd, uint64_t *written)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);
	int unread = 0;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) ||
	    len < offsetof(struct tcp_info, tcpi_bytes_received) || ioctl(fd, SIOCOUTQ, &unread))
		return false;
	*written = info.tcpi_bytes_acked + (unsigned int)unread;
	return true;
}

struct dsi_mark *dsi_mark_of(struct dsi_marks *m, int fd)
{
	struct dsi_mark *k = m && (size_t)fd < m->n ? &m->mark[fd] : NULL;
	int top;

	if (!k)
		return NULL;
	atomic_store(&k->is_open, false);
	k->begin = k->data = k->end = 0;
	if (!written_to(fd, &k->before))
		return NULL;
	top = atomic_load(&m->top);
	while (top < fd && !atomic_compare_exchange_weak(&m->top, &top, fd))
		;
	return k;
}

/* ---- the end ---- */

/* A session that is being ended. */
struct mark_ending {
	struct dsi_mark *mark;
	uint64_t missing; /* bytes of the message that was sent last */
};

/* What is missing of the last message; false: that cannot be completed. */
static bool what_is_missing(const struct dsi_mark *k, int fd, uint64_t *missing)
{
	uint64_t written;

	if (!written_to(fd, &written))
		return false;
	written -= k->before;
	*missing = written > k->begin && written < k->end ? k->end - written : 0;
	return !*missing || written >= k->data;
}

static size_t marks_gather(struct dsi_marks *m, struct pollfd *wait, struct mark_ending *end,
			   unsigned int *open)
{
	const int one = 1;
	size_t n = 0;

	for (int fd = 0; fd <= atomic_load(&m->top); fd++) {
		if (!atomic_load(&m->mark[fd].is_open))
			continue;
		++*open;
		if (!what_is_missing(&m->mark[fd], fd, &end[n].missing))
			continue;
		setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
		end[n].mark = &m->mark[fd];
		wait[n++] = (struct pollfd) { .fd = fd, .events = POLLIN | POLLOUT };
	}
	return n;
}

/* What is missing, then DSICloseSession. 0, -EAGAIN, or another negative errno. */
static int say_the_rest(int fd, uint64_t *missing)
{
	static const uint8_t zeros[ZEROS_LEN];
	const struct dsi_frame f = { .flag = DSI_REQUEST, .command = DSI_CLOSE };
	const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
	uint8_t raw[DSI_HEADER_LEN];
	ssize_t n;

	while (*missing) {
		n = send(fd, zeros, *missing < ZEROS_LEN ? (size_t)*missing : ZEROS_LEN, flags);
		if (n < 0)
			return -errno;
		*missing -= (uint64_t)n;
	}
	dsi_frame_put(raw, &f);
	if (send(fd, raw, sizeof(raw), flags) != sizeof(raw))
		return -errno;
	shutdown(fd, SHUT_WR);
	return 0;
}

/* Goes on with one. false: its connection is over. */
static bool mark_go_on(struct pollfd *w, struct mark_ending *end, uint8_t *drop)
{
	ssize_t n = 1;
	int r;

	if (w->revents & POLLOUT) {
		r = say_the_rest(w->fd, &end->missing);
		if (r && r != -EAGAIN)
			return false;
		if (!r)
			w->events = POLLIN;
	}
	if (w->revents & (POLLIN | POLLERR | POLLHUP))
		n = recv(w->fd, drop, DROP_LEN, MSG_DONTWAIT | MSG_TRUNC);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

unsigned int dsi_marks_end(struct dsi_marks *m, uint64_t wait_ns, unsigned int *ended)
{
	const uint64_t end_ns = clock_now_ns() + wait_ns;
	const size_t room = (size_t)(atomic_load(&m->top) + 1);
	struct pollfd *wait = calloc(room + 1, sizeof(*wait));
	struct mark_ending *end = calloc(room + 1, sizeof(*end));
	uint8_t *drop = malloc(DROP_LEN);
	unsigned int open = 0;
	size_t n = 0, left;

	*ended = 0;
	if (wait && end && drop)
		n = marks_gather(m, wait, end, &open);
	for (left = n; left && clock_now_ns() < end_ns;) {
		poll(wait, n, LOOK_MS);
		for (size_t i = 0; i < n; i++) {
			if (wait[i].fd < 0 || !wait[i].revents ||
			    mark_go_on(&wait[i], &end[i], drop))
				continue;
			*ended += wait[i].events == POLLIN;
			dsi_mark_set(end[i].mark, false);
			wait[i].fd = -1;
			left--;
		}
	}
	free(drop);
	free(end);
	free(wait);
	return open;
}
