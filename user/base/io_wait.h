/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_IO_WAIT_H
#define BASE_IO_WAIT_H

#include <stdint.h>

/* What something that never waits itself has to wait for. */
struct io_wait {
	int fd;       /* poll it; -1: nothing to poll */
	short events; /* POLLIN, POLLOUT */
	uint64_t
	    due_ns; /* go on then in any case, CLOCK_MONOTONIC; 0: at once, UINT64_MAX: never */
};

/*
 * Waits for it, at most most_ns. The events that came, 0: none, the time has come (or a signal
 * ended the wait).
 */
short io_wait(const struct io_wait *w, uint64_t most_ns);

#endif
