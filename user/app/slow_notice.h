/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef APP_SLOW_NOTICE_H
#define APP_SLOW_NOTICE_H

/*
 * What a person at a terminal is told when a step takes longer than they expect. Nothing is said
 * where stderr is no terminal, or where there is no thread to be had: the step does not depend on
 * it.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define SLOW_NOTICE_NS 2000000000u

struct slow_notice {
	const char *text; /* a part of a sentence, as for cmd_say() */
	uint64_t after_ns;
	pthread_t thread;
	int leave; /* an eventfd */
	bool runs;
};

/* text, which must last until slow_notice_end(), is said once, unless that comes before after_ns.
 */
void slow_notice_begin(struct slow_notice *n, const char *text, uint64_t after_ns);
void slow_notice_end(struct slow_notice *n);

#endif
