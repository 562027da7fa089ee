/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A reading on its way from one process of the exporter to another: both are this program. */
#include "exporter/exporter.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READING_MAX (64u << 20) /* bytes */

int exporter_send_bytes(int socket, const void *data, size_t len)
{
	const char *at = data;
	ssize_t n;

	while (len) {
		n = send(socket, at, len, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n < 0)
			continue;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int exporter_send(int socket, const struct tally_reading *r)
{
	struct tally_reading head = *r;
	struct ledger_array array[LEDGER_ARRAYS];
	int e = exporter_send_bytes(socket, &head, sizeof(head));

	ledger_arrays(&head.ledger, array);
	for (size_t i = 0; i < LEDGER_ARRAYS && !e; i++)
		e = exporter_send_bytes(socket, *array[i].at, array[i].n * array[i].size);
	return e;
}

/* How long it will be, as far as is known. */
static int exporter_wire_wanted(const struct exporter_inbox *in, size_t *len)
{
	struct tally_reading head;
	struct ledger_array array[LEDGER_ARRAYS];

	*len = sizeof(head);
	if (in->len < sizeof(head))
		return 0;
	memcpy(&head, in->data, sizeof(head));
	ledger_arrays(&head.ledger, array);
	for (size_t i = 0; i < LEDGER_ARRAYS; i++) {
		if (array[i].n > READING_MAX / array[i].size)
			return -EPROTO;
		*len += array[i].n * array[i].size;
	}
	return *len > READING_MAX ? -EPROTO : 0;
}

static int unpack(const struct exporter_inbox *in, struct tally_reading *out)
{
	const char *from = in->data + sizeof(*out);
	struct ledger_array array[LEDGER_ARRAYS];
	int e = 0;

	memcpy(out, in->data, sizeof(*out));
	ledger_arrays(&out->ledger, array);
	for (size_t i = 0; i < LEDGER_ARRAYS; i++)
		*array[i].at = NULL;
	for (size_t i = 0; i < LEDGER_ARRAYS && !e; i++) {
		size_t len = array[i].n * array[i].size;

		*array[i].at = malloc(len ? len : 1);
		if (*array[i].at)
			memcpy(*array[i].at, from, len);
		else
			e = -ENOMEM;
		from += len;
	}
	if (e)
		ledger_fini(&out->ledger);
	return e;
}

static int make_room(struct exporter_inbox *in, size_t len)
{
	char *more = len > in->room ? realloc(in->data, len) : in->data;

	if (!more)
		return -ENOMEM;
	in->data = more;
	in->room = len > in->room ? len : in->room;
	return 0;
}

int exporter_receive(struct exporter_inbox *in, int socket, struct tally_reading *out)
{
	size_t len;
	ssize_t n;
	int e;

	for (;;) {
		e = exporter_wire_wanted(in, &len);
		e = e ? e : make_room(in, len);
		if (e)
			return e;
		if (in->len == len) {
			in->len = 0;
			e = unpack(in, out);
			return e ? e : 1;
		}
		n = recv(socket, in->data + in->len, len - in->len, MSG_DONTWAIT);
		if (n > 0)
			in->len += (size_t)n;
		else if (!n)
			return -ENODATA;
		else if (errno == EAGAIN)
			return 0;
		else if (errno != EINTR)
			return -errno;
	}
}
