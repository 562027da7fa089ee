/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_FIGURES_MACHINE_H
#define RUN_FIGURES_MACHINE_H

/*
 * Figures of the machine and of the server's share of it, as in run/figures.h: CPUs, memory, disks,
 * file systems, the network. "Its CPUs" are those that the server may use. "Its cgroup" is that of
 * the server's first process, or one that contains it. "Its disk" is, of the devices on which the
 * volumes lie, the one that was busiest: of those that were busy half of the time one that is slow
 * before the others, and one that is being rebuilt before these.
 */

/* Limits of its cgroup: from these on one holds the server back. */
#define THROTTLED_LEAST   0.1  /* THROTTLED */
#define QUOTA_HARM        0.2  /* QUOTA_WAIT */
#define MEMORY_HITS_LEAST 10   /* MEMORY_HITS */
#define IO_LIMIT_LEAST    0.5  /* IO_LIMIT */
#define IO_LIMIT_SOME     0.05 /* of it: less holds nobody back, in bursts neither */

/* A disk that is slow. */
#define DEVICE_BUSY_MUCH 0.5
#define DEVICE_TIME_LONG 2e6 /* ns */
/* Of its bytes, those of other programs. */
#define DEVICE_OTHERS_MUCH 0.5

/* A file system without inodes. */
#define ROOM_FILES_FEW 0.001

/* X(NAME, key, unit, meaning) */
#define RUN_FIGURES_MACHINE(X)                                                                     \
	X(CPUS_USED, "cpus_used", "share", "of all CPUs, by all programs")                         \
	X(OWN_CPUS, "own_cpus", "share", "of its CPUs, by all programs")                           \
	X(OTHERS, "others", "share",                                                               \
	  "of its CPUs, by other programs and what they had started; who: most")                   \
	X(QUOTA_WAIT, "quota_wait", "share",                                                       \
	  "of the same time as wait_cpu, and in it: the wait for a CPU quota of its cgroup")       \
	X(OTHERS_WAIT, "others_wait", "share",                                                     \
	  "of wait_cpu without quota_wait, as much as these programs are of all "                  \
	  "that its CPUs did")                                                                     \
	X(SELF_WAIT, "self_wait", "share",                                                         \
	  "of wait_cpu without quota_wait, as much as this afpscope is of all "                    \
	  "that its CPUs did")                                                                     \
	X(OWN_WAIT, "own_wait", "share",                                                           \
	  "of wait_cpu without quota_wait, as much as the server itself is of all "                \
	  "that its CPUs did")                                                                     \
	X(KERNEL_WAIT, "kernel_wait", "share",                                                     \
	  "of wait_cpu without quota_wait, as much as threads of the kernel are of all "           \
	  "that its CPUs did")                                                                     \
	X(STEAL_WAIT, "steal_wait", "share",                                                       \
	  "of on_cpu, as much as was taken by the hypervisor of all that its CPUs did")            \
	X(INTERRUPTS_WAIT, "interrupts_wait", "share",                                             \
	  "of on_cpu, as much as interrupts are of all that its CPUs did")                         \
	X(KERNEL_THREADS, "kernel_threads", "share",                                               \
	  "of its CPUs, by threads of the kernel; who: most")                                      \
	X(INTERRUPTS, "interrupts", "share", "of its CPUs, in interrupts and softirqs")            \
	X(INTERRUPTS_ONE, "interrupts_one", "share",                                               \
	  "the same of one of its CPUs, at most; who: which")                                      \
	X(STEAL, "steal", "share", "of its CPUs, taken by the hypervisor for other guests")        \
	X(SELF, "self", "share", "of its CPUs, by this afpscope and what it has started")          \
	X(UNATTRIBUTED, "unattributed", "share",                                                   \
	  "of its CPUs, used by nobody of these nor the server: programs that have ended")         \
	X(THROTTLED, "throttled", "share",                                                         \
	  "of the periods of its cgroup's CPU quota, those in which it had to wait; who: quota")   \
	X(QUOTA, "quota", "1", "CPUs that this quota allows")                                      \
	X(PRESSURE_CPU, "pressure_cpu", "share",                                                   \
	  "watched time in which a program of the whole machine waited for a CPU")                 \
	X(PRESSURE_IO, "pressure_io", "share",                                                     \
	  "watched time in which a program of the whole machine waited for I/O")                   \
	X(PRESSURE_MEMORY, "pressure_memory", "share",                                             \
	  "watched time in which a program of the whole machine waited for memory")                \
	X(SWAPPED_IN, "swapped_in", "1/s", "pages read from swap a second, whole machine")         \
	X(REREAD, "reread", "B/s",                                                                 \
	  "bytes of files a second that were read again soon after memory had dropped them, "      \
	  "whole machine")                                                                         \
	X(MEMORY_FREE, "memory_free", "share",                                                     \
	  "of the machine's memory, available to programs; the lower of begin and end")            \
	X(MEMORY_LIMIT, "memory_limit", "B", "limit of its cgroup's memory; who: which")           \
	X(MEMORY_USED, "memory_used", "B", "memory that this cgroup used at the end")              \
	X(MEMORY_HITS, "memory_hits", "1/s", "how often a second this cgroup ran into its limit")  \
	X(MEMORY_KILLS, "memory_kills", "1",                                                       \
	  "processes of the server's own cgroup killed for want of memory")                        \
	X(MEMORY_REREAD, "memory_reread", "B/s", "the same as reread, of the server's own cgroup") \
	X(MEMORY_ELSEWHERE, "memory_elsewhere", "share",                                           \
	  "of the time of pressure_memory, that in which no process of the server's own cgroup "   \
	  "waited")                                                                                \
	X(REREAD_ELSEWHERE, "reread_elsewhere", "share",                                           \
	  "of reread, what is not of the server's own cgroup")                                     \
	X(MEMORY_STALL, "memory_stall", "share",                                                   \
	  "watched time in which a process of the server's own cgroup waited for memory")          \
	X(IO_LIMIT, "io_limit", "share",                                                           \
	  "of a limit of its cgroup's I/O on a volume's device, what was used; who: which")        \
	X(IO_STALL, "io_stall", "share",                                                           \
	  "watched time in which a process of the server's own cgroup waited for I/O")             \
	X(READ, "read", "B/s", "bytes a second that requests read from disks")                     \
	X(DEVICE_BUSY, "device_busy", "share", "watched time in which its disk was busy; who: it") \
	X(DEVICE_TIME, "device_time", "ns", "mean time of an access to its disk")                  \
	X(DEVICE_QUEUE, "device_queue", "1", "accesses under way on its disk, on average")         \
	X(DEVICE_OTHERS, "device_others", "share",                                                 \
	  "of the bytes that its disk moved, those of other programs, at most; who: most")         \
	X(DEVICE_REBUILD, "device_rebuild", "1",                                                   \
	  "1: a RAID below a volume on its disk is being rebuilt or checked; who: it")             \
	X(REMOTE_FS, "remote_fs", "1",                                                             \
	  "1: a volume lies on a network or FUSE file system; who: which")                         \
	X(FILE_SYSTEMS, "file_systems", "1",                                                       \
	  "file systems of the volumes that clients use; 2: two or more")                          \
	X(FILE_SYSTEMS_ALL, "file_systems_all", "1",                                               \
	  "file systems of all volumes; 2: two or more")                                           \
	X(SCANNER, "scanner", "1",                                                                 \
	  "programs that are asked before a file of a volume may be opened; who: one")             \
	X(READ_ONLY, "read_only", "1",                                                             \
	  "1: the file system of a volume is mounted read-only; who: which")                       \
	X(MISSING, "missing", "1", "volumes whose folder is not there; who: one")                  \
	X(ROOM, "room", "share", "free space of the volume that is nearest to full; who: where")   \
	X(ROOM_BYTES, "room_bytes", "B", "the same, in bytes")                                     \
	X(ROOM_USED, "room_used", "B",                                                             \
	  "free on the fullest of the file systems in use; 0: it has no inode left; who: where")   \
	X(ROOM_FILES, "room_files", "share",                                                       \
	  "files that may still be made, of those there is room for, least of the volumes")        \
	X(LINK_USED, "link_used", "share",                                                         \
	  "of the speed of a network interface, one way, at most; who: which")                     \
	X(REASSEMBLY, "reassembly", "1/s",                                                         \
	  "IP datagrams a second of which a fragment did not come")                                \
	X(RETRANS, "retrans", "share", "TCP segments of the server's host that were sent again")

#endif
