/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_RECORDS_H
#define AFS_RECORDS_H

/*
 * The records of a trace: every field of every record, declared once. The structs below, the
 * metadata of the trace and the tables of docs/trace.md follow from it. Records are of a fixed
 * size, without padding that is not named, and lie in the files as they are here.
 */

#include "bpf/events.h"

#define AFS_TEXT_LEN 256

/* Streams: one file each. X(NAME, name, meaning) */
#define AFS_STREAMS(X)                                                                             \
	X(REQUESTS, requests, "requests that the server answered, in the order of it")             \
	X(CALLS, calls, "system calls that returned")                                              \
	X(WAITS, waits, "times at which a watched thread had no CPU")                              \
	X(SESSIONS, sessions, "begin and end of connections")                                      \
	X(CLIENT, client, "requests as the client that loads the server saw them")                 \
	X(NAMES, names, "which file or directory requests name")                                   \
	X(TEXTS, texts, "names in words, each at its first use; only with --names")                \
	X(OPERATIONS, operations, "what requests asked for; only with --replayable")

/*
 * Fields: X(type, name, unit, meaning). Types are widths, and of numbers with names: command, role,
 * class, object, kind, event; address is 16 bytes.
 */
#define AFS_FIELDS_REQUESTS(X)                                                                     \
	X(clock, timestamp, "ns", "end; never before that of the record before it")                \
	X(u64, t, "ns", "begin")                                                                   \
	X(u32, session, "", "process that serves the connection")                                  \
	X(u16, dsi_id, "", "DSI request id")                                                       \
	X(command, command, "", "AFP command; 256 + n: DSI command n")                             \
	X(s32, result, "", "result code of the reply")                                             \
	X(u32, calls, "", "system calls of the serving thread for it")                             \
	X(u64, bytes_in, "B", "of the request, header included")                                   \
	X(u64, bytes_out, "B", "of the reply, header included")                                    \
	X(u64, time_ns, "ns", "from begin to end; what of it is in no part is unexplained")        \
	AFS_COLUMNS(X)                                                                             \
	X(u16, port, "", "the client's TCP port; 0: not known")                                    \
	X(u16, fork, "", "number of the open file that it opens or is about; 0: none, not known")  \
	X(u32, pad, "", "0")

/* Parts of a request's time, in the order of run/account.h's columns. */
#define AFS_COLUMNS(X)                                                                             \
	X(u64, own_ns, "ns", "of it: on a CPU, the server's own code")                             \
	X(u64, calls_ns, "ns", "of it: on a CPU, in system calls")                                 \
	X(u64, runq_ns, "ns", "of it: runnable, waiting for a CPU")                                \
	X(u64, disk_ns, "ns", "of it: blocked in calls on files, directories and paths")           \
	X(u64, cnid_ns, "ns", "of it: blocked on the CNID server or database")                     \
	X(u64, lock_ns, "ns", "of it: blocked in locks")                                           \
	X(u64, log_ns, "ns", "of it: blocked writing a log")                                       \
	X(u64, net_ns, "ns", "of it: blocked on the client's connection")                          \
	X(u64, other_ns, "ns", "of it: blocked otherwise")                                         \
	X(u64, stopped_ns, "ns", "of it: stopped by a signal, held by a debugger, or frozen")

#define AFS_FIELDS_CALLS(X)                                                                        \
	X(clock, timestamp, "ns", "return; never before that of the record before it")             \
	X(u64, t, "ns", "entry")                                                                   \
	X(u32, session, "", "process")                                                             \
	X(u32, tid, "", "thread")                                                                  \
	X(u16, dsi_id, "", "DSI id of the request that it was made for; 0: for none")              \
	X(command, command, "", "what it was made for")                                            \
	X(role, role, "", "what the process is")                                                   \
	X(class, class, "", "what the call does")                                                  \
	X(object, object, "", "what its descriptor is")                                            \
	X(u8, pad, "", "0")                                                                        \
	X(u16, nr, "", "number of the system call")                                                \
	X(u16, pad2, "", "0")                                                                      \
	X(s32, fd, "", "descriptor; -1: the call takes none")                                      \
	X(s64, ret, "", "what it returned")                                                        \
	X(u64, time_ns, "ns", "from entry to return")

#define AFS_FIELDS_WAITS(X)                                                                        \
	X(clock, timestamp, "ns", "end; never before that of the record before it")                \
	X(u64, t, "ns", "begin")                                                                   \
	X(u32, session, "", "process")                                                             \
	X(u32, tid, "", "thread")                                                                  \
	X(u16, dsi_id, "", "DSI id of the request in service; 0: none")                            \
	X(command, command, "", "what the thread works for")                                       \
	X(role, role, "", "what the process is")                                                   \
	X(class, class, "", "what the call does that it is in; user: it is in none")               \
	X(object, object, "", "what that call's descriptor is")                                    \
	X(kind, kind, "", "1: asleep until woken, 2: runnable, waiting for a CPU, 3: stopped")     \
	X(u64, ns, "ns", "from begin to end")

#define AFS_FIELDS_SESSIONS(X)                                                                     \
	X(clock, timestamp, "ns", "t; never before that of the record before it")                  \
	X(u64, t, "ns", "when it was seen")                                                        \
	X(u32, session, "", "process that serves the connection")                                  \
	X(event, event, "", "1: begin, or the watch's first look at it, 2: end")                   \
	X(u8, family, "", "address family: 2 IPv4, 10 IPv6, 1 Unix")                               \
	X(u16, port, "", "the client's TCP port")                                                  \
	X(address, address, "", "the client's address; IPv4: the first four bytes")                \
	X(u32, uid, "", "user that the process works as; 0: not known")                            \
	X(u32, scope, "", "of an address of a link (fe80::/10): the server's interface; else 0")

#define AFS_FIELDS_CLIENT(X)                                                                       \
	X(clock, timestamp, "ns", "t + last_ns; never before that of the record before it")        \
	X(u64, t, "ns", "first byte of the request offered to the kernel")                         \
	X(u16, port, "", "the client's own TCP port")                                              \
	X(u16, dsi_id, "", "DSI request id")                                                       \
	X(command, command, "", "AFP command")                                                     \
	X(u16, pad, "", "0")                                                                       \
	X(s32, result, "", "result code of the reply")                                             \
	X(u32, pad2, "", "0")                                                                      \
	X(u64, sent_ns, "ns", "from t until the last byte was taken by the kernel")                \
	X(u64, first_ns, "ns", "from t to the first byte of the reply")                            \
	X(u64, last_ns, "ns", "from t to the last byte of the reply")                              \
	X(u64, len, "B", "data that the request or its reply carries")

#define AFS_FIELDS_NAMES(X)                                                                        \
	X(clock, timestamp, "ns",                                                                  \
	  "when the request was read; never before that of the record before it")                  \
	X(u32, session, "", "process that serves the connection")                                  \
	X(u16, dsi_id, "", "DSI request id")                                                       \
	X(command, command, "", "AFP command")                                                     \
	X(u32, dir, "", "id of the directory that the name begins at")                             \
	X(u16, volume, "", "id of the volume")                                                     \
	X(u16, len, "B", "length of the name; 0: the directory itself")                            \
	X(u64, name, "", "keyed hash of the name; 0: it could not be read. The key is thrown away")

#define AFS_FIELDS_TEXTS(X)                                                                        \
	X(clock, timestamp, "ns", "as that of the record in names")                                \
	X(u64, name, "", "its hash")                                                               \
	X(text, text, "", "the name, 0 behind it; / stands between the parts of a path")

#define AFS_FIELDS_OPERATIONS(X)                                                                   \
	X(clock, timestamp, "ns", "end; never before that of the record before it")                \
	X(u64, t, "ns", "begin")                                                                   \
	X(u64, time_ns, "ns", "from begin to end")                                                 \
	X(u32, session, "", "process that serves the connection")                                  \
	X(u16, port, "", "the client's TCP port; 0: not known")                                    \
	X(u16, dsi_id, "", "DSI request id")                                                       \
	X(command, command, "", "AFP command; 256 + n: DSI command n")                             \
	X(u16, marks, "", "what is missing: bits, described above")                                \
	X(s32, result, "", "result code of the reply")                                             \
	X(u32, user, "",                                                                           \
	  "user that the process works as; 0: root, as before the login, or not known")            \
	X(u16, volume, "", "id of the volume, of FPOpenVol that in the reply; 0: none")            \
	X(u16, volume2, "", "the same of the destination; 0: none")                                \
	X(u64, dir, "",                                                                            \
	  "keyed hash of the directory id that the path begins at; 1, 2: that id; 0: none")        \
	X(u64, name, "", "keyed hash of the path from there; 0: none, or the directory itself")    \
	X(u64, parent, "", "keyed hash of the path without its last component; 0: none")           \
	X(u64, dir2, "", "as dir, of the second path")                                             \
	X(u64, name2, "", "as name, of the second path, with the new name if there is one")        \
	X(u64, parent2, "", "as parent, of the second path")                                       \
	X(u64, offset, "B",                                                                        \
	  "begin of a read, write or lock; list: number of the first entry asked for")             \
	X(u64, length, "B",                                                                        \
	  "of a read, write, lock or attribute, or the new one of the fork; list: most entries")   \
	X(u64, actual, "",                                                                         \
	  "reply: bytes moved, end of a write, begin of a lock, entries of a list")                \
	X(u64, size, "B", "reply: length of the data fork; 2^64 - 1: not known")                   \
	X(u64, id, "", "reply: keyed hash of the id of the file or directory; 0: not known")       \
	X(u16, fork, "", "number of the open file that it opens or is about; 0: none, not known")  \
	X(u16, bitmap, "", "of the request: files, or what it is about")                           \
	X(u16, bitmap2, "", "of the request: directories")                                         \
	X(u16, flags, "", "bits of the request, described above")                                  \
	X(u16, name_len, "B", "length of the last component of the path")                          \
	X(u16, name2_len, "B", "the same of the second path")                                      \
	X(u8, which, "", "fork that is opened; 0: data, 1: resource")                              \
	X(u8, depth, "", "components of the path")                                                 \
	X(u8, depth2, "", "the same of the second path")                                           \
	X(u8, name_kind, "", "characters of the last component, described above")                  \
	X(u8, name2_kind, "", "the same of the second path")                                       \
	X(u8, ext_len, "B", "length of what follows the last dot of the last component")           \
	X(u8, ext2_len, "B", "the same of the second path")                                        \
	X(u8, pad, "", "0")                                                                        \
	X(u32, room, "B", "most bytes of the reply that the client takes")

/* What of a record of operations is missing: bits of marks. */
#define AFS_MARK_ARGUMENTS 1  /* not all of the request could be read */
#define AFS_MARK_CUT       2  /* a name was longer than what is read of one */
#define AFS_MARK_BEFORE    4  /* its session is older than the recording */
#define AFS_MARK_LOST      8  /* records of its session were lost just before */
#define AFS_MARK_REPLY     16 /* what the reply says could not be read */

/* Characters of a name in a record of operations. */
enum afs_name_kind {
	AFS_NAME_NONE,
	AFS_NAME_ASCII,
	AFS_NAME_COMPOSED,   /* UTF-8 of two bytes a character, without combining marks */
	AFS_NAME_DECOMPOSED, /* UTF-8 with combining marks */
	AFS_NAME_WIDE,       /* UTF-8 of three bytes a character: Chinese, Japanese, Korean, ... */
	AFS_NAME_BEYOND,     /* UTF-8 of four: emoji, ... */
	AFS_NAME_LEGACY,     /* bytes of a Macintosh encoding, or no valid UTF-8 */
};

/* Its size if that is not known. */
#define AFS_SIZE_UNKNOWN (~(__u64)0)

/* Kinds of waits, events of sessions. X(NAME, value, text) */
#define AFS_KINDS(X)                                                                               \
	X(BLOCKED, 1, "blocked")                                                                   \
	X(RUNQ, 2, "run queue")                                                                    \
	X(STOPPED, 3, "stopped")

#define AFS_EVENTS(X)                                                                              \
	X(BEGIN, 1, "begin")                                                                       \
	X(END, 2, "end")

enum afs_stream_number {
#define X(NAME, name, meaning) AFS_STREAM_##NAME,
	AFS_STREAMS(X)
#undef X
	    AFS_N_STREAMS
};

enum afs_column {
#define X(type, name, unit, meaning) AFS_COLUMN_##name,
	AFS_COLUMNS(X)
#undef X
	    AFS_N_COLUMNS
};

enum afs_kind {
#define X(name, value, text) AFS_KIND_##name = (value),
	AFS_KINDS(X)
#undef X
};

enum afs_event {
#define X(name, value, text) AFS_EVENT_##name = (value),
	AFS_EVENTS(X)
#undef X
};

#define AFS_MEMBER_clock(n)          __u64 n;
#define AFS_MEMBER_u64(n)            __u64 n;
#define AFS_MEMBER_s64(n)            __s64 n;
#define AFS_MEMBER_u32(n)            __u32 n;
#define AFS_MEMBER_s32(n)            __s32 n;
#define AFS_MEMBER_u16(n)            __u16 n;
#define AFS_MEMBER_u8(n)             __u8 n;
#define AFS_MEMBER_command(n)        __u16 n;
#define AFS_MEMBER_role(n)           __u8 n;
#define AFS_MEMBER_class(n)          __u8 n;
#define AFS_MEMBER_object(n)         __u8 n;
#define AFS_MEMBER_kind(n)           __u8 n;
#define AFS_MEMBER_event(n)          __u8 n;
#define AFS_MEMBER_address(n)        __u8 n[16];
#define AFS_MEMBER_text(n)           char n[AFS_TEXT_LEN];

#define AFS_MEMBER(type, name, u, m) AFS_MEMBER_##type(name)

/* struct afs_record_requests and so on. */
#define X(NAME, name, meaning)                                                                     \
	struct afs_record_##name {                                                                 \
		AFS_FIELDS_##NAME(AFS_MEMBER)                                                      \
	};
AFS_STREAMS(X)
#undef X

/* Which request it is of. */
static inline void afs_request_is(struct afs_record_requests *r, __u16 id, __u16 command)
{
	r->dsi_id = id;
	r->command = command;
}

/* A record on its way to user space. */
struct afs_record_head {
	__u32 stream; /* enum afs_stream_number */
	__u32 len;    /* bytes from this head to the next */
};

/* Which records are made: bits. */
#define AFS_TRACE_SMALL 1 /* requests and sessions */
#define AFS_TRACE_CALLS 2 /* calls and waits */
#define AFS_TRACE_NAMES 4 /* struct afs_named (bpf/paths.h), for names and texts */
#define AFS_TRACE_REPLAYABLE                                                                       \
	32 /* struct afs_captured (bpf/operations.h), for operations and names                     \
	    */
/* No records: of each connection how its requests went (struct afs_client, bpf/calls.h); what
 * sessions ask their CNID server again (struct afs_asking). */
#define AFS_TRACE_LIVE  8
#define AFS_TRACE_ASKED 16

_Static_assert(sizeof(struct afs_record_requests) == 144, "no padding");
_Static_assert(sizeof(struct afs_record_calls) == 56, "no padding");
_Static_assert(sizeof(struct afs_record_waits) == 40, "no padding");
_Static_assert(sizeof(struct afs_record_sessions) == 48, "no padding");
_Static_assert(sizeof(struct afs_record_client) == 64, "no padding");
_Static_assert(sizeof(struct afs_record_names) == 32, "no padding");
_Static_assert(sizeof(struct afs_record_texts) == 16 + AFS_TEXT_LEN, "no padding");
_Static_assert(sizeof(struct afs_record_operations) == 160, "no padding");

#endif
