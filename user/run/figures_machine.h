/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_FIGURES_MACHINE_H
#define RUN_FIGURES_MACHINE_H

/*
 * Figures of the machine and of the server's share of it, as in run/figures.h: CPUs, memory, disks,
 * file systems, the network.
 */

/* X(NAME, key, unit, meaning) */
#define RUN_FIGURES_MACHINE(X)                                                                     \
	X(CPUS_USED, "cpus_used", "share", "of all CPUs, by all programs")                         \
	X(OTHERS, "others", "share",                                                               \
	  "of the CPUs that the server may use, by other programs; who: most")                     \
	X(THROTTLED, "throttled", "share",                                                         \
	  "watched time in which a CPU quota held the server back")                                \
	X(PRESSURE_CPU, "pressure_cpu", "share",                                                   \
	  "watched time in which a program waited for a CPU")                                      \
	X(PRESSURE_IO, "pressure_io", "share", "watched time in which a program waited for I/O")   \
	X(PRESSURE_MEMORY, "pressure_memory", "share",                                             \
	  "watched time in which a program waited for memory")                                     \
	X(SWAPPED_IN, "swapped_in", "1/s", "pages read from swap a second")                        \
	X(REREAD, "reread", "B/s",                                                                 \
	  "bytes of files a second that were read again soon after memory had dropped them")       \
	X(READ, "read", "B/s", "bytes a second that requests read from disks")                     \
	X(DEVICE_BUSY, "device_busy", "share",                                                     \
	  "watched time in which a device was busy; who: the busiest")                             \
	X(DEVICE_TIME, "device_time", "ns", "mean time of an access to that device")               \
	X(ROOM, "room", "share", "free space, least of the volumes; who: where")                   \
	X(RETRANS, "retrans", "share", "TCP segments of this machine that were sent again")

#endif
