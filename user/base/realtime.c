/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A CPU also where the host is overloaded. */
#include "base/realtime.h"

#include <errno.h>
#include <sched.h>

int realtime_begin(bool inherited)
{
	const struct sched_param first = { .sched_priority = 1 };

	return sched_setscheduler(0, SCHED_RR | (inherited ? 0 : SCHED_RESET_ON_FORK), &first)
		   ? -errno
		   : 0;
}
