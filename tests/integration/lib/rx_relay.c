/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bad network between clients and a server of UDP on this machine: datagrams are lost, doubled,
 * late so that others overtake them, or all delayed. What happens to the n-th datagram of a
 * direction follows from the seed alone. Each client has a port of its own towards the server.
 *
 * Prints "port N" once it listens there. At SIGTERM it ends and prints what it did as JSON.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PORTS     65536
#define EVENTS    64
#define BATCH     32
#define DATAGRAM  65536
#define BUFFER    (64 << 20)
#define PER_MILLE 1000u
#define NS_PER_US 1000u
#define NS_PER_MS 1000000u
#define TO_SERVER 0
#define TO_CLIENT 1

struct opts {
	uint64_t seed;
	uint64_t loss, doubled, late; /* of 1000 datagrams */
	uint64_t late_us, delay_us;
	uint64_t lose_first;   /* datagrams of each direction */
	uint64_t silent_after; /* datagrams of both directions; then nothing passes */
	bool faults[2];        /* whether in this direction; --only=server: not in the other */
};

struct counts {
	uint64_t received, lost, doubled, late, sent, overtaken, refused;
};

/* A client. */
struct path {
	struct sockaddr_in client;
	int fd;                 /* towards the server */
	uint64_t sent_order[2]; /* the highest that was sent in this direction */
};

struct held {
	uint64_t due_ns, order;
	struct path *path;
	int way;
	size_t len;
	uint8_t *data;
};

struct relay {
	struct opts o;
	int fd, epoll;
	struct sockaddr_in server;
	struct path *path[PORTS]; /* by the client's port */
	unsigned int n_paths;
	uint64_t random[2], order;
	struct counts n[2];
	uint64_t own_drops;
	struct held *heap; /* the earliest first, from 1 */
	size_t n_held, room;
	uint8_t data[BATCH][DATAGRAM];
};

static volatile sig_atomic_t ended;

static void on_signal(int number)
{
	(void)number;
	ended = 1;
}

static void require(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* ---- what waits ---- */

static bool is_before(const struct held *a, const struct held *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void hold(struct relay *r, const struct held *h)
{
	size_t at;

	if (r->n_held + 2 > r->room) {
		r->room = r->room ? 2 * r->room : 1024;
		r->heap = realloc(r->heap, r->room * sizeof(*r->heap));
		require(r->heap, "realloc");
	}
	for (at = ++r->n_held; at > 1 && is_before(h, &r->heap[at / 2]); at /= 2)
		r->heap[at] = r->heap[at / 2];
	r->heap[at] = *h;
}

static struct held take_first(struct relay *r)
{
	struct held first = r->heap[1], last = r->heap[r->n_held--];
	size_t at = 1, next;

	for (; (next = 2 * at) <= r->n_held; at = next) {
		next += next < r->n_held && is_before(&r->heap[next + 1], &r->heap[next]);
		if (!is_before(&r->heap[next], &last))
			break;
		r->heap[at] = r->heap[next];
	}
	r->heap[at] = last;
	return first;
}

/* ---- what passes ---- */

static void pass(struct relay *r, const struct held *h)
{
	const struct sockaddr *to = NULL;
	socklen_t to_len = 0;
	struct path *p = h->path;
	struct counts *n = &r->n[h->way];

	if (h->way == TO_CLIENT) {
		to = (const struct sockaddr *)&p->client;
		to_len = sizeof(p->client);
	}
	if (sendto(h->way == TO_CLIENT ? r->fd : p->fd, h->data, h->len, 0, to, to_len) < 0) {
		n->refused++;
		return;
	}
	n->sent++;
	n->overtaken += h->order < p->sent_order[h->way];
	if (h->order > p->sent_order[h->way])
		p->sent_order[h->way] = h->order;
}

static void pass_or_hold(struct relay *r, const struct held *h, uint64_t wait_ns)
{
	struct held copy = *h;

	if (!wait_ns) {
		pass(r, h);
		return;
	}
	copy.due_ns = now_ns() + wait_ns;
	copy.data = malloc(h->len ? h->len : 1);
	require(copy.data, "malloc");
	memcpy(copy.data, h->data, h->len);
	hold(r, &copy);
}

/* The dice of one datagram: always three, so that each rate has its own. */
static void judge(struct relay *r, struct held *h)
{
	struct counts *n = &r->n[h->way];
	uint64_t wait_ns = r->o.delay_us * NS_PER_US;
	uint64_t dice[3];

	for (size_t i = 0; i < 3; i++) {
		dice[i] = next_random(&r->random[h->way]) % PER_MILLE;
		if (!r->o.faults[h->way])
			dice[i] = PER_MILLE;
	}
	n->received++;
	h->order = ++r->order;
	if (r->order > r->o.silent_after || n->received <= r->o.lose_first || dice[0] < r->o.loss) {
		n->lost++;
		return;
	}
	if (dice[1] < r->o.late) {
		n->late++;
		wait_ns += r->o.late_us * NS_PER_US;
	}
	pass_or_hold(r, h, wait_ns);
	if (dice[2] < r->o.doubled) {
		n->doubled++;
		pass_or_hold(r, h, wait_ns);
	}
}

static struct path *path_of(struct relay *r, const struct sockaddr_in *from)
{
	struct path **at = &r->path[ntohs(from->sin_port)];
	struct epoll_event event = { .events = EPOLLIN };
	const int size = BUFFER;
	struct path *p = *at;

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	require(p, "calloc");
	p->client = *from;
	p->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	require(p->fd >= 0, "socket");
	setsockopt(p->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	require(!connect(p->fd, (const struct sockaddr *)&r->server, sizeof(r->server)), "connect");
	event.data.ptr = p;
	require(!epoll_ctl(r->epoll, EPOLL_CTL_ADD, p->fd, &event), "epoll_ctl");
	r->n_paths++;
	return *at = p;
}

/* The kernel's count of what did not fit the socket's buffer. */
static void note_drops(struct relay *r, struct msghdr *m)
{
	uint32_t n;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_RXQ_OVFL)
			continue;
		memcpy(&n, CMSG_DATA(c), sizeof(n));
		if (n > r->own_drops)
			r->own_drops = n;
	}
}

/* p: who sent it is known; NULL: it came to the port of the clients. */
static void take(struct relay *r, struct path *p)
{
	struct sockaddr_in from[BATCH];
	struct mmsghdr m[BATCH];
	struct iovec iov[BATCH];
	uint8_t control[BATCH][64];
	int n;

	memset(m, 0, sizeof(m));
	for (size_t i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec) { .iov_base = r->data[i], .iov_len = DATAGRAM };
		m[i].msg_hdr = (struct msghdr) { .msg_name = &from[i],
						 .msg_namelen = sizeof(from[i]),
						 .msg_iov = &iov[i],
						 .msg_iovlen = 1,
						 .msg_control = control[i],
						 .msg_controllen = sizeof(control[i]) };
	}
	n = recvmmsg(p ? p->fd : r->fd, m, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < n; i++) {
		struct held h = { .path = p ? p : path_of(r, &from[i]),
				  .way = p ? TO_CLIENT : TO_SERVER,
				  .len = m[i].msg_len,
				  .data = r->data[i] };

		if (!p)
			note_drops(r, &m[i].msg_hdr);
		judge(r, &h);
	}
}

static void run(struct relay *r)
{
	struct epoll_event event[EVENTS];
	struct held h;
	uint64_t now;
	int n, wait_ms;

	while (!ended) {
		now = now_ns();
		while (r->n_held && r->heap[1].due_ns <= now) {
			h = take_first(r);
			pass(r, &h);
			free(h.data);
		}
		wait_ms = -1;
		if (r->n_held)
			wait_ms = (int)((r->heap[1].due_ns - now + NS_PER_MS - 1) / NS_PER_MS);
		n = epoll_wait(r->epoll, event, EVENTS, wait_ms);
		for (int i = 0; i < n; i++)
			take(r, event[i].data.ptr);
	}
}

static void put_counts(const char *name, const struct counts *n)
{
	printf("\"%s\": {\"received\": %lu, \"lost\": %lu, \"doubled\": %lu, \"late\": %lu, "
	       "\"sent\": %lu, \"overtaken\": %lu, \"refused\": %lu}, ",
	       name, n->received, n->lost, n->doubled, n->late, n->sent, n->overtaken, n->refused);
}

static void begin(struct relay *r)
{
	struct sockaddr_in here = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event event = { .events = EPOLLIN };
	socklen_t len = sizeof(here);
	const int size = BUFFER, on = 1;

	r->random[TO_SERVER] = r->o.seed;
	r->random[TO_CLIENT] = ~r->o.seed;
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	require(r->epoll >= 0 && r->fd >= 0, "socket");
	setsockopt(r->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	setsockopt(r->fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on));
	require(!bind(r->fd, (struct sockaddr *)&here, sizeof(here)), "bind");
	require(!getsockname(r->fd, (struct sockaddr *)&here, &len), "getsockname");
	require(!epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->fd, &event), "epoll_ctl");
	printf("port %u\n", ntohs(here.sin_port));
	fflush(stdout);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 10);
	require(!errno && end != text && !*end, text);
	return n;
}

/* What the option at this index sets; NULL: --only. */
static uint64_t *option_of(struct opts *o, int i)
{
	uint64_t *const to[] = { NULL,         &o->seed,       &o->loss,
				 &o->doubled,  &o->late,       &o->late_us,
				 &o->delay_us, &o->lose_first, &o->silent_after };

	return to[i];
}

static void read_opts(struct relay *r, int argc, char **argv)
{
	static const struct option options[] = {
		{ "only", 1, NULL, 0 },         { "seed", 1, NULL, 0 },
		{ "loss", 1, NULL, 0 },         { "doubled", 1, NULL, 0 },
		{ "late", 1, NULL, 0 },         { "late-us", 1, NULL, 0 },
		{ "delay-us", 1, NULL, 0 },     { "lose-first", 1, NULL, 0 },
		{ "silent-after", 1, NULL, 0 }, { NULL, 0, NULL, 0 },
	};
	int i, c;

	r->o = (struct opts) { .late_us = 2000,
			       .silent_after = UINT64_MAX,
			       .faults = { true, true } };
	while ((c = getopt_long(argc, argv, "", options, &i)) != -1) {
		if (c)
			exit(2);
		if (option_of(&r->o, i))
			*option_of(&r->o, i) = number(optarg);
		else
			r->o.faults[strcmp(optarg, "server") ? TO_SERVER : TO_CLIENT] = false;
	}
	require(optind == argc - 1, "rx_relay [OPTIONS] PORT");
	r->server = (struct sockaddr_in) { .sin_family = AF_INET,
					   .sin_port = htons((uint16_t)number(argv[optind])),
					   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

int main(int argc, char **argv)
{
	const struct sigaction end = { .sa_handler = on_signal }; /* no SA_RESTART */
	struct relay *r = calloc(1, sizeof(*r));

	require(r, "calloc");
	read_opts(r, argc, argv);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGTERM, &end, NULL);
	begin(r);
	run(r);
	printf("{");
	put_counts("to_server", &r->n[TO_SERVER]);
	put_counts("to_client", &r->n[TO_CLIENT]);
	printf("\"own_drops\": %lu, \"clients\": %u}\n", r->own_drops, r->n_paths);
	return 0;
}
