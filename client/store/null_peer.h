/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STORE_NULL_PEER_H
#define STORE_NULL_PEER_H

#include <stdint.h>
#include <sys/types.h>

#define NULL_PEER_VOLUME 1 /* any other works as well */

/*
 * Starts a process that is the server at fd, a connected socket, until the session or the calling
 * thread ends. It holds no other descriptor but the standard ones. -1 with errno: no process.
 */
pid_t null_peer_start(int fd, uint32_t quantum);

#endif
