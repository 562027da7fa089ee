/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_PLACE_H
#define KINDS_PLACE_H

/* Which kind of server a place of this machine is on, where a client works without a session. */

#include "kinds/kind.h"

#define PLACE_NAME_MAX 256

struct place_server {
	char host[PLACE_NAME_MAX]; /* by which it was mounted, or is named; without a port */
	char volume[PLACE_NAME_MAX];
	unsigned int port; /* of Rx; 0: none */
};

/*
 * place: "gluster://HOST/VOLUME/PATH", or a directory, which may be on a volume that is mounted by
 * FUSE, or "rx://ADDRESS:PORT". NULL: it is on no server of a known kind; of Rx also: the address
 * is not this machine's. out: on which volume of which server.
 */
const struct kind *place_kind(struct place_server *out, const char *place);

/* To find it; place is borrowed. */
struct kind_wish place_wish(const struct place_server *place);

#endif
