/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drive/rx_waiting.h"

#include "host/net/udp.h"
#include "host/proc/procfs.h"
#include "rx/stats.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVERS_MAX 16

struct rx_asked {
	struct sockaddr_in at;
	struct run_waiting is;
	uint32_t first; /* calls that had waited, in the first answer */
};

struct rx_waiting {
	int fd;
	uint32_t number; /* of the questions; those of all servers alike */
	size_t n;
	struct rx_asked server[SERVERS_MAX];
};

struct rx_waiting *rx_waiting_new(void)
{
	struct rx_waiting *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->fd >= 0)
		return a;
	free(a);
	return NULL;
}

void rx_waiting_free(struct rx_waiting *a)
{
	if (a)
		close(a->fd);
	free(a);
}

void rx_waiting_add(struct rx_waiting *a, const struct sockaddr_in *server)
{
	if (a->n < SERVERS_MAX)
		a->server[a->n++] = (struct rx_asked) { .at = *server };
}

/* ---- which ---- */

static int rx_waiting_add_socket(void *arg, const struct udp_socket *s)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_port = htons(s->port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	if (s->port)
		rx_waiting_add(arg, &at);
	return 0;
}

/* A port number of another network namespace would be another server's here. */
void rx_waiting_add_watched(struct rx_waiting *a, const struct watch *w)
{
	uint64_t here = procfs_identity(getpid(), "ns/net");
	pid_t pid;

	for (size_t at = 0; (pid = watch_process(w, AFS_ROLE_SERVER, &at));) {
		if (procfs_identity(pid, "ns/net") == here)
			udp_of(pid, rx_waiting_add_socket, a);
	}
}

/* ---- questions and answers ---- */

static struct rx_asked *rx_waiting_find(struct rx_waiting *a, const struct sockaddr_in *from)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->server[i].at.sin_port == from->sin_port &&
		    a->server[i].at.sin_addr.s_addr == from->sin_addr.s_addr)
			return &a->server[i];
	return NULL;
}

static void drive_rx_waiting_add(struct rx_asked *s, const struct rx_stats *now)
{
	struct run_waiting *w = &s->is;

	if (!w->answered++) {
		s->first = now->waited;
		w->idle_min = now->idle;
	}
	w->n_short += now->waiting && !now->idle;
	w->waiting_sum += now->waiting;
	w->waiting_max = now->waiting > w->waiting_max ? now->waiting : w->waiting_max;
	w->idle_min = now->idle < w->idle_min ? now->idle : w->idle_min;
	w->waited = now->waited - s->first;
}

static void rx_waiting_take(struct rx_waiting *a)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	struct rx_stats now;
	uint8_t data[256];
	struct rx_asked *s;
	uint32_t number;
	ssize_t n;

	while ((n = recvfrom(a->fd, data, sizeof(data), 0, (struct sockaddr *)&from, &len)) >= 0) {
		s = len == sizeof(from) ? rx_waiting_find(a, &from) : NULL;
		if (s && !rx_stats_parse(&now, &number, data, (size_t)n) && number <= a->number)
			drive_rx_waiting_add(s, &now);
		len = sizeof(from);
	}
}

void rx_waiting_tick(struct rx_waiting *a)
{
	uint8_t data[RX_STATS_LEN];
	struct wbuf b;

	rx_waiting_take(a);
	a->number++;
	for (size_t i = 0; i < a->n; i++) {
		b = wbuf_of(data, sizeof(data));
		rx_stats_ask(&b, a->number);
		sendto(a->fd, data, sizeof(data), 0, (struct sockaddr *)&a->server[i].at,
		       sizeof(a->server[i].at));
		a->server[i].is.asked++;
	}
}

void rx_waiting_note(struct rx_waiting *a, struct run *r)
{
	const struct run_waiting *is;

	rx_waiting_take(a);
	for (size_t i = 0; i < a->n; i++) {
		is = &a->server[i].is;
		if (!i || is->n_short > r->waiting.n_short ||
		    (is->n_short == r->waiting.n_short && is->answered > r->waiting.answered))
			r->waiting = *is;
	}
}
