/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_NET_LINKS_H
#define HOST_NET_LINKS_H

/*
 * Network interfaces that have hardware (a virtual one names a speed that limits nothing), by
 * /sys/class/net, of this process's network namespace.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINKS_MAX 32

struct links_entry {
	char name[32];
	uint64_t speed_mbit; /* a second, each way; 0: not known */
	uint64_t received_b, sent_b;
};

struct links {
	size_t n;
	struct links_entry entry[LINKS_MAX];
};

/* root: "", or where another /sys is. */
void links_read(struct links *out, const char *root);

#endif
