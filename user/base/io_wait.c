/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/io_wait.h"

#include "base/clock.h"

#include <poll.h>
#include <stddef.h>
#include <time.h>

short io_wait(const struct io_wait *w, uint64_t most_ns)
{
	struct pollfd p = { .fd = w->fd, .events = w->events };
	uint64_t now_ns = w->due_ns == UINT64_MAX ? 0 : clock_now_ns();
	uint64_t left_ns = w->due_ns > now_ns ? w->due_ns - now_ns : 0;
	struct timespec wait;

	if (left_ns > most_ns)
		left_ns = most_ns;
	wait = (struct timespec) { (time_t)(left_ns / 1000000000u), (long)(left_ns % 1000000000u) };
	return ppoll(&p, 1, &wait, NULL) > 0 ? p.revents : 0;
}
