/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "attach/looks.h"

#include "attach/threads.h"
#include "attach/udpsockets.h"

#include <errno.h>

int looks_open(struct looks *l, bool threads, bool datagrams)
{
	l->threads = threads ? threads_new() : NULL;
	l->udp = datagrams ? udpsockets_new() : NULL;
	return (threads && !l->threads) || (datagrams && !l->udp) ? -ENOMEM : 0;
}

void looks_close(struct looks *l)
{
	threads_free(l->threads);
	udpsockets_free(l->udp);
	*l = (struct looks) { 0 };
}

void looks_now(struct looks *l, const struct watch *w)
{
	if (l->threads)
		threads_look(l->threads, w);
	if (l->udp)
		udpsockets_look(l->udp, w);
}

void looks_tick(struct looks *l, const struct watch *w)
{
	if (l->threads)
		threads_tick(l->threads, w);
	if (l->udp)
		udpsockets_look(l->udp, w);
}

int looks_note(struct looks *l, const struct watch *w, const struct ledger *counted, struct run *r)
{
	int e = l->threads ? threads_note(l->threads, counted, r) : 0;

	return !e && l->udp ? udpsockets_note(l->udp, w, r) : e;
}
