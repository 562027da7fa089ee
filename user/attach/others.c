/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "attach/others.h"

#include "base/vec.h"
#include "host/net/sockets.h"
#include "host/proc/procfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void others_add(struct others_list *l, const char *address, uint64_t requests, bool ours)
{
	struct others_client *c = VEC_ADD(l->client, l->n);
	int len = (int)strcspn(address, "%");

	if (!c) {
		l->failed = true;
		return;
	}
	c->requests = requests;
	c->ours = ours;
	c->scope = address[len] && !ours ? strtoul(address + len + 1, NULL, 10) : 0;
	snprintf(c->address, sizeof(c->address), "%.*s%s", len, address,
		 strchrnul(address + len, ']'));
}

static int by_address(const void *a, const void *b)
{
	const struct others_client *x = a, *y = b;

	return strcmp(x->address, y->address);
}

static void join_address(struct others_list *l, struct others_client *to,
			 const struct others_client *same)
{
	to->requests += same->requests;
	to->ours |= same->ours;
	l->failed |= to->scope && same->scope && to->scope != same->scope;
	to->scope = to->scope ? to->scope : same->scope;
}

/* Each address once: an earlier connection may have had it, too. */
static void join_addresses(struct others_list *l)
{
	size_t n = 0;

	if (l->n)
		qsort(l->client, l->n, sizeof(*l->client), by_address);
	for (size_t i = 0; i < l->n; i++) {
		if (n && !by_address(&l->client[n - 1], &l->client[i]))
			join_address(l, &l->client[n - 1], &l->client[i]);
		else
			l->client[n++] = l->client[i];
	}
	l->n = n;
}

/* Ports are used again: of a long load there are many more connections than addresses. */
#define VISITS_MORE 1024

static void others_note_visit(struct others_visits *v, const char *address)
{
	others_add(&v->list, address, 0, true);
	if (v->list.n < v->join_at)
		return;
	join_addresses(&v->list);
	v->join_at = 2 * v->list.n + VISITS_MORE;
}

void others_visit(struct others_visits *v, const char *address, bool greeted)
{
	pthread_mutex_lock(&v->lock);
	v->greeted += greeted;
	/* Refused ones come and go so fast that the watch loses connections that have ended. */
	v->list.partial |= !greeted;
	others_note_visit(v, address);
	pthread_mutex_unlock(&v->lock);
}

void others_visits_add(struct others_visits *v, const struct others_list *more, uint64_t greeted)
{
	pthread_mutex_lock(&v->lock);
	v->greeted += greeted;
	v->list.partial |= more->partial;
	v->list.failed |= more->failed;
	for (size_t i = 0; i < more->n; i++)
		others_note_visit(v, more->client[i].address);
	pthread_mutex_unlock(&v->lock);
}

static void others_take_client(void *user, const char *address, uint64_t requests)
{
	others_add(user, address, requests, false);
}

static void take_socket(struct others_list *l, int fd)
{
	struct sockaddr_storage local = { 0 };
	socklen_t len = sizeof(local);
	char text[RUN_ADDRESS_LEN];
	struct sockets_addr at;

	if (getsockname(fd, (struct sockaddr *)&local, &len) || !sockets_addr(&at, &local))
		return;
	sockets_text(text, sizeof(text), &at);
	others_add(l, text, 0, true);
}

static void others_take_all(struct others_list *l, struct watch *w)
{
	struct procfs_numbers fd;

	l->partial = !watch_clients(w, others_take_client, l);
	if (!l->n)
		return;
	procfs_fds(&fd, 0);
	while (procfs_next(&fd))
		take_socket(l, fd.number);
}

void others_begin(struct others_list *out, struct others_visits *visits, struct watch *w)
{
	pthread_mutex_lock(&visits->lock);
	visits->greeted = 0;
	pthread_mutex_unlock(&visits->lock);
	others_fini(out);
	others_take_all(out, w);
	join_addresses(out);
}

static const struct others_client *others_find_client(const struct others_list *l,
						      const char *address)
{
	struct others_client key;

	snprintf(key.address, sizeof(key.address), "%s", address);
	return l->n ? bsearch(&key, l->client, l->n, sizeof(key), by_address) : NULL;
}

void others_count(const struct others_list *before, struct others_list *after, struct run_phase *p)
{
	const struct others_client *was, *c;
	uint64_t n;

	join_addresses(after);
	for (size_t i = 0; i < after->n; i++) {
		c = &after->client[i];
		was = others_find_client(before, c->address);
		n = was && was->requests < c->requests ? c->requests - was->requests
		    : was                              ? 0
						       : c->requests;
		if (c->ours || (was && was->ours)) {
			p->clients.ours += n;
		} else if (n) {
			p->clients.others++;
			p->clients.others_requests += n;
		}
	}
	p->clients.known = after->n && !before->failed && !after->failed && !after->partial;
	p->clients.partial |= after->partial;
}

static void take_visits(struct others_list *l, struct others_visits *v, struct run_phase *p)
{
	pthread_mutex_lock(&v->lock);
	p->clients.greeted += v->greeted;
	for (size_t i = 0; i < v->list.n; i++)
		others_add(l, v->list.client[i].address, 0, true);
	l->failed |= v->list.failed;
	l->partial |= v->list.partial;
	pthread_mutex_unlock(&v->lock);
}

void others_end(const struct others_list *before, struct others_visits *visits, struct watch *w,
		struct run_phase *p)
{
	const struct run_load *const loads[] = { p->load, p->probe };
	struct others_list after = { 0 };

	others_take_all(&after, w);
	take_visits(&after, visits, p);
	for (size_t k = 0; k < sizeof(loads) / sizeof(loads[0]); k++)
		for (unsigned int i = 0; loads[k] && i < loads[k]->n_clients; i++)
			if (*loads[k]->client[i].address)
				others_add(&after, loads[k]->client[i].address, 0, true);
	others_count(before, &after, p);
	others_fini(&after);
}

void others_fini(struct others_list *l)
{
	free(l->client);
	*l = (struct others_list) { 0 };
}
