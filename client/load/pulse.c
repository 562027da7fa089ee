/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/pulse.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void pulse_beat(struct pulse *p)
{
	const uint64_t last_ns = p->beat_ns, now_ns = clock_now_ns();

	if (now_ns - last_ns > 4ull * PULSE_NS) {
		p->from_ns[p->n % PULSE_GAPS] = last_ns;
		p->to_ns[p->n++ % PULSE_GAPS] = now_ns;
	}
	p->beat_ns = now_ns; /* last: who reads it first finds the others */
}

static void *pulse_main(void *arg)
{
	struct pulse *p = arg;
	struct pollfd leave = { p->leave, POLLIN, 0 };

	while (poll(&leave, 1, PULSE_NS / 1000000) <= 0)
		pulse_beat(p);
	return NULL;
}

int pulse_begin(struct pulse *p)
{
	int r;

	if (p->runs)
		return 0;
	p->leave = eventfd(0, EFD_CLOEXEC);
	if (p->leave < 0)
		return -errno;
	p->beat_ns = clock_now_ns();
	r = pthread_create(&p->thread, NULL, pulse_main, p);
	if (r)
		close(p->leave);
	p->runs = !r;
	return -r;
}

void pulse_end(struct pulse *p)
{
	if (!p->runs)
		return;
	eventfd_write(p->leave, 1);
	pthread_join(p->thread, NULL);
	close(p->leave);
	p->runs = false;
}

bool pulse_missed(const struct pulse *p, uint64_t since_ns, uint64_t now_ns, uint64_t *from_ns,
		  uint64_t *to_ns)
{
	uint64_t from = p->beat_ns, to;

	*from_ns = from < now_ns ? from : now_ns; /* it may have run since */
	*to_ns = now_ns;
	for (unsigned int i = 0; p->runs && i < PULSE_GAPS; i++) {
		from = p->from_ns[i];
		to = p->to_ns[i];
		/* Not of two gaps, where one is just noted. */
		if (to < since_ns || to < from || to - from <= *to_ns - *from_ns)
			continue;
		*from_ns = from;
		*to_ns = to;
	}
	return p->runs && *to_ns > *from_ns;
}
