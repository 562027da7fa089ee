/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFP_QUANTUM_H
#define AFP_QUANTUM_H

/*
 * How much data a write may carry: the server's request quantum, which versions of netatalk
 * understand in two ways. Source: netatalk's pull requests 3196 and 3205, and servers that were
 * asked byte by byte: 4.5.1 ends the connection if command and data (without DSI's header) are
 * longer than the quantum; 4.2.3 takes so much data. 4.5.2 and 4.6 are as their developers write.
 */

#include <stddef.h>
#include <stdint.h>

/* Bytes of command before the data. */
#define AFP_WRITE_LEN     12
#define AFP_WRITE_EXT_LEN 20

/*
 * Bytes of data in one write, so that the server takes it and would take no more. machine: what the
 * server calls itself, "Netatalk4.5.1"; of one that is not known (or NULL) command and data
 * together are bounded, which all take. Never more than fits in a frame's length of 32 bits.
 * command_len: AFP_WRITE_LEN or AFP_WRITE_EXT_LEN, less than quantum.
 */
size_t afp_quantum_data(uint32_t quantum, const char *machine, size_t command_len);

/* "Netatalk4.5.1" as 40501, "Netatalk4.6" as 40600; 0: not netatalk, or no version. */
unsigned int afp_quantum_version(const char *machine);

#endif
