/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/slow_notice.h"

#include "app/cmd.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void *slow_notice_main(void *arg)
{
	struct slow_notice *n = arg;
	struct pollfd leave = { n->leave, POLLIN, 0 };

	if (!poll(&leave, 1, (int)(n->after_ns / 1000000)))
		cmd_say("%s", n->text);
	return NULL;
}

void slow_notice_begin(struct slow_notice *n, const char *text, uint64_t after_ns)
{
	sigset_t all, before;

	*n = (struct slow_notice) { .text = text, .after_ns = after_ns };
	if (!isatty(STDERR_FILENO))
		return;
	n->leave = eventfd(0, EFD_CLOEXEC);
	if (n->leave < 0)
		return;
	/* Signals are for the thread that does the work. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	n->runs = !pthread_create(&n->thread, NULL, slow_notice_main, n);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!n->runs)
		close(n->leave);
}

void slow_notice_end(struct slow_notice *n)
{
	if (!n->runs)
		return;
	eventfd_write(n->leave, 1);
	pthread_join(n->thread, NULL);
	close(n->leave);
	n->runs = false;
}
