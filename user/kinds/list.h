/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_LIST_H
#define KINDS_LIST_H

/*
 * The kinds of servers; the first is the default. A new kind is a row here, and kind_NAME
 * (kinds/kind.h) in a file of its own. X(name, what record shows, what its manual says besides).
 */
/* clang-format off */
#define KINDS(X) \
	X(afp, "what each AFP command costs", \
	  "") \
	X(any, "whatever program it is, its calls, times and threads", \
	  "\nWith `any` nothing is by request: the report has the program's system calls by " \
	  "class and object, where its threads' time went, what reached files and disks, " \
	  "and its threads by name with their CPU time. Its children are watched, too.") \
	X(gluster, "GlusterFS bricks, by request", \
	  "\nWith `gluster` the report also has the requests by procedure (LOOKUP, CREATE, " \
	  "WRITE, ...), with their number, their errors and their time in the brick. All " \
	  "bricks of this host (at most 32) are watched, with glusterd, the self-heal " \
	  "daemon and FUSE mounts beside them; --port or --pid of a brick: this brick only; " \
	  "of a glusterd: all that belongs to it. --trace is not possible with it.") \
	X(rx, "servers of OpenAFS and others over Rx, by call", \
	  "\nWith `rx`, servers over Rx are watched: those of OpenAFS (fileserver, " \
	  "dafileserver, volserver, davolserver, vlserver, ptserver, buserver, bosserver), " \
	  "rxperf, and `afpscope rx --serve`. The report has the calls by operation " \
	  "(FetchStatus, VL GetEntryByNameU, ...), with their number, their errors and " \
	  "their time in the server; run.json also has the packets by type. All such " \
	  "servers of root, or of the user who runs afpscope, are watched (at most 32), if " \
	  "they are in one systemd unit; --port, --pid or --exe chooses. A receive buffer " \
	  "that is smaller than was asked for, or than a burst of clients needs, is a " \
	  "warning. --trace is not possible with it.") \
	X(smb, "Samba, by request", \
	  "\nWith `smb`, Samba (smbd) is watched with all its sessions, and smbd-notifyd " \
	  "beside them. The report has the requests by command of SMB2 and SMB3 (CREATE, " \
	  "READ, CREATE+CLOSE, ...), with their number, their bytes, their errors and their " \
	  "time in smbd, and the system calls of those that it answers at once. Of " \
	  "encrypted sessions only the bytes are counted, and a warning says their share. " \
	  "--port or --pid chooses one of several servers; --pid of a session watches that " \
	  "session alone.") \
	X(nfs, "nfs-ganesha, by request", \
	  "\nWith `nfs`, nfs-ganesha is watched. The report has the requests by procedure of " \
	  "NFSv3 and MOUNT, and of NFSv4 by the operation after which a COMPOUND is named " \
	  "(LOOKUP, READ, v4 OPEN, ...), with their number, their bytes, their errors and " \
	  "their time in the server, and the system calls of those that the thread answers " \
	  "that has read them. --port or --pid chooses one of several servers.")
/* Of these, the ones that a diagnosis can be made of: their has_diagnosis is true. X(name, what) */
#define KINDS_JUDGED(X) \
	X(afp, "netatalk's afpd") \
	X(gluster, "bricks of GlusterFS") \
	X(rx, "servers of OpenAFS and others over Rx") \
	X(smb, "Samba's smbd") \
	X(nfs, "nfs-ganesha")
/* clang-format on */

/* "afp: what each AFP command costs; any: ..." */
#define KINDS_HELP_OF(name, help, ...) "; " #name ": " help
#define KINDS_HELP(kinds, more)        &(kinds(KINDS_HELP_OF) more)[2]
/* Paragraphs of the manual. */
#define KINDS_MORE_OF(name, help, more) more
#define KINDS_MORE                      &(KINDS(KINDS_MORE_OF))[1]

#endif
