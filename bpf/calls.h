/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_CALLS_H
#define AFS_CALLS_H

/*
 * What calls.bpf.c and the rung that loads it share besides the ledgers of events.h: the table
 * of system calls as input, the state of threads and processes as output.
 */

#include "bpf/call_table.h"
#include "bpf/decoders.h"
#include "bpf/events.h"
#include "bpf/paths.h"
#include "bpf/records.h"
#include "bpf/services.h"

#include <stddef.h>

/* How regular files are distinguished. */
enum afs_files {
	AFS_FILES_AFP,     /* AppleDouble files are metadata; the backends' files are databases */
	AFS_FILES_GLUSTER, /* what is below .glusterfs is metadata, except links to data files */
};

/* Set before loading. */
struct afs_setup {
	/* By number; the last entry, for all higher numbers, is AFS_CLASS_OTHER. */
	struct afs_call calls[AFS_N_CALLS];
	__u8 objects_on; /* descriptors can be classified */
	__u8 decoder;    /* enum afs_decoder: of clients' bytes, where they may be read */
	__u8 any_order; /* the server answers in any order, in any thread: see struct afs_pending */
	__u8 files;     /* enum afs_files */
	__u8 trace;     /* AFS_TRACE_: which records are made; 0: none */
	__u8 batch;     /* records are gathered by CPU: no program interrupts another there */
	__u8 parks; /* of any_order: who reads a request works for it until it parks it: park.h */
	/* Of parks: requests of these accounts wait for something to happen; 0: none. */
	__u16 idle[AFS_N_IDLE];
	__u32 trace_wake; /* user space is woken after this many bytes of a CPU; a power of two */
	__u64 over_ns;    /* requests and names: only of requests that took so long; 0: of all */
	__u8 column[AFS_N_STATES];         /* enum afs_column: where blocked time belongs */
	__u8 spread[AFS_ACCOUNT_BETWEEN];  /* of requests: index in a stripe's spreads */
	__u8 looks[AFS_ACCOUNT_BETWEEN];   /* with AFS_TRACE_ASKED: requests that change nothing */
	__s32 normal[AFS_ACCOUNT_BETWEEN]; /* a result of theirs that is no error; 0: none */
};

#define AFS_N_THREADS   16384
#define AFS_N_PROCESSES 4096
#define AFS_N_CLIENTS   4096 /* clients' connections */

#define AFS_NR_NONE     (-1) /* in user code */
#define AFS_NR_URING    426  /* io_uring_enter, which returns how many operations it took */
/* In "again": the client, if it took a part of a reply only, or sent a part of a request. */
#define AFS_AGAIN_PART 0xff
#define AFS_AGAIN_REST 0xfe
#define AFS_NR_ASLEEP  (-2) /* found asleep in an unknown call */

/* Whether a thread has a CPU. */
enum afs_off {
	AFS_OFF_NOT,     /* on a CPU */
	AFS_OFF_RUNQ,    /* waits for one */
	AFS_OFF_BLOCKED, /* asleep */
	AFS_OFF_STOPPED, /* stopped by a signal, held by a debugger, or frozen */
};

/* What the request in service has taken so far, in its thread; only with a trace. */
struct afs_work {
	__u64 calls;
	__u64 ns[AFS_N_COLUMNS];
};

/* A watched thread. Only the programs write; user space reads without a system call. */
struct afs_thread {
	__u64 seq;          /* moves at every entry and every return */
	__u64 entered_ns;   /* when the call in progress was entered */
	__s32 nr;           /* the call in progress; AFS_NR_ */
	__u16 cell;         /* where its time will count */
	__u8 class, object; /* of cell */
	__s32 tid;          /* 0: slot not in use */
	__u16 process;      /* its slot */
	__u8 counting;      /* a call is being counted: not yet in every ledger */
	__u8 unanswered;    /* its last call on a CNID connection failed, in the present request */
	__u32 part;         /* where the time of the call in progress goes ... */
	__u32 user_part;    /* ... and that of the thread's own code */
	__u64 since_ns;     /* begin of the time that is in no part yet */
	__u16 account;
	__u8 role;
	__u8 off;    /* enum afs_off */
	__u8 flags;  /* of the call in progress */
	__u8 data;   /* enum afs_data, of the call in progress */
	__u8 again;  /* object that a wait now is for: its last call failed, or may have; 0: none */
	__u8 ended;  /* also while its slot is free */
	__u64 calls; /* that have returned */
	/* Second cache line. */
	__u64 task;         /* address of its struct */
	__u64 regs;         /* address of its registers in calls, never changes; 0: not seen yet */
	__u64 woken_ns;     /* 0: not woken since it fell asleep */
	__u64 explained_ns; /* of the request in service, in parts */
	union {
		struct {
			__u64 buf, len; /* of the call in progress: second and third argument */
		};
		struct {
			__u64 syscr, rchar; /* AFS_CALL_EXEC: the kernel's account at the entry */
		};
	};
	__u32 closes; /* descriptor that the call in progress closes; AFS_FD_ */
	__u32 fd;     /* of the call in progress */
	__u32 slot;   /* its own */
	__u8 found;   /* existed before the watch: "io" is set at its first call */
	__u8 waits;   /* for its CNID server, as "inner" says */
	__u8 stopped; /* not counted any more */
	__u8 marking; /* the iterator is setting it up: not counted, but events set "moved" */
	/* Third cache line: for a trace. After it what few calls need. */
	struct afs_work work;
	__u32 stream;  /* handle of the client's connection that it used last; 0: none yet */
	__u32 serves;  /* handle of the one whose request is in service in this thread; 0: none */
	__s32 session; /* its process's number */
	__u16 dsi_id;  /* of the request that it works for; only with a trace */
	__u8 moved;    /* the state found by the iterator is out of date */
	__u8 used;     /* the slot was used before: user space clears all but this and seq */
	/* The kernel's account when ours began; once "stopped", its growth since then. */
	struct afs_compat io;
	union {
		struct {                      /* of datagrams */
			__u64 name;           /* of the call in progress: fifth argument */
			__u32 received, sent; /* of clients, to them */
		};
		struct {               /* with setup.parks: bpf/park.h */
			__u32 request; /* id of the request that it works for */
			__u32 parking; /* account + 1 of the one that this call parks; 0: none */
			__u64
			    looped_ns; /* when its last wait in its event loop ended; 0: unknown */
		};
	};
	union {
		__u32 replied;      /* of datagrams: packets of replies that it has sent first */
		__u32 looped_calls; /* with setup.parks: "calls" when that wait had returned */
	};
	__u8 is_32bit; /* it runs a 32-bit program, whose calls have other numbers */
	__u8 traced;   /* off is AFS_OFF_STOPPED, by who traces it */
	__u8 spare[2];
	struct afs_compat counted; /* as /proc/PID/io counts its calls */
};

/*
 * For a CNID server's thread: its totals. For a session's: the connection it asked on last, and the
 * totals of the thread that answers there, when the session fell asleep, and since then.
 */
struct afs_inner {
	__u64 total[AFS_N_INSIDE];
	__u64 base[AFS_N_INSIDE];
	__u64 waited[AFS_N_INSIDE];
	__u64 link;   /* key of the connection; 0: none yet */
	__u32 server; /* slot + 1 of the thread of "base"; 0: not known, and "base" is not valid */
	__u32 spare;
	__u64 held_ns, freed_ns; /* of a CNID server's thread: its last stop that is over */
};

/* A CNID connection. Slots are reused: a thread is the same only if its tid is the same. */
struct afs_link {
	__u32 asker; /* slot + 1 of the thread that sent the last request; 0: none is watched */
	__s32 asker_tid;
	__u32 server; /* slot + 1 of the thread that read the last; 0: none yet */
	__s32 server_tid;
};

#define AFS_N_LINKS 16384

/* A descriptor of a process, with the present looked_ns of struct afs_process. */
struct afs_seen_key {
	__u64 looked_ns;
	__u32 process, fd;
};

struct afs_seen {
	__u64 link; /* of a CNID connection: its key */
	__u32 object;
	__u32 asked; /* whether the asking end has sent, read, and sent again: link.h */
};

#define AFS_N_SEEN  16384

#define AFS_FD_NO   0xffffffffu /* "fd" of a call that takes none; only with a trace */
#define AFS_FD_ALL  0xffffffffu
#define AFS_FD_KEEP 0xfffffffeu /* closes none */

/* Descriptors whose object is remembered in afs_process, until a call closes them. */
#define AFS_N_FDS 256

/* Descriptors whose client's connection is remembered there: the last used of each remainder. */
#define AFS_N_CLIENT_FDS 16

/* A watched process. */
struct afs_process {
	__s32 tgid;
	__u32 used;   /* the slot was used before: user space clears all but this */
	__u32 role;   /* enum afs_role */
	__s32 parent; /* slot; -1: chosen by user space */
	__u32 threads;
	__u32 ended;   /* threads that have ended: written last of all when one does */
	__u32 epoch;   /* of struct afs_inodes when "object" was begun */
	__u32 serving; /* slot + 1 of the thread that last began to read clients' sockets */
	__u32 uid;     /* effective, not 0; 0: not seen yet */
	__u32 stream;  /* handle of the first of these; 0: none yet */
	__u32 streams; /* connections that were its own */
	__u32 found;   /* it existed before the watch */
	__u32 shares; /* others may close its descriptors unseen: what they are is not remembered */
	__u32 is_32bit; /* it made calls of 32-bit programs, whose bytes are not counted */
	__u64 begun_ns, ended_ns;
	__u64 looked_ns;                /* entries of descriptors before this time are not valid */
	struct afs_compat kernel;       /* the kernel's account of the threads that have ended */
	__u8 object[AFS_N_FDS];         /* enum afs_object + 1; 0: not known yet */
	__u64 client[AFS_N_CLIENT_FDS]; /* (descriptor + 1) << 32 | handle; 0: none */
	struct afs_asking asking;       /* with AFS_TRACE_ASKED */
	__u32 exit_code; /* the kernel's, of its first thread once that has ended: signal, status <<
			    8 */
};

/*
 * Questions that are remembered, with AFS_TRACE_ASKED: of each half of its hash, and which of its
 * session's questions it was last; 0: none. The other half says in which set of them it is.
 */
#define AFS_ASKED_SET 8

struct afs_asked {
	__u64 question[AFS_ASKED_SET];
} __attribute__((aligned(64)));

#define AFS_N_ASKED (1u << 17) /* sets; a power of two */

/* The rest of the bytes that a call moved. */
struct afs_cursor {
	__u64 total;
	__u64 at, left;   /* the piece of memory */
	__u64 iov, n_iov; /* the pieces after it */
};

/*
 * A request of a server that answers in any order, from its read until its reply: by connection and
 * id. Only its whole time is known, not what threads did for it meanwhile.
 */
struct afs_pending_key {
	__u32 stream; /* handle */
	__u32 id;
};

struct afs_pending {
	__u64 ns;      /* when it began */
	__u32 bytes;   /* of it */
	__u16 account; /* | AFS_PENDING_MEMBER: it is a message of a compound */
	__u16 chain; /* SMB2: account + 1 of the compound that it is in, if it is its last member */
};

#define AFS_PENDING_MEMBER 0x8000

#define AFS_N_PENDING      65536

#define AFS_IN_FRAME       64 /* "have": the header is complete */

/* The current frame in one direction of a client's connection. */
struct afs_flow {
	/* DSI: 16 bytes and, in a request, the AFP command's number. Others: see the decoder. */
	__u8 head[32];
	__u32 have;    /* of these */
	__u32 answers; /* outgoing: the frame is the reply to the request in service */
	__u64 skip;    /* bytes to its end; SunRPC: to the fragment's; SMB2: to the frame's */
	__u64 frames, bytes;
	__u64 unknown; /* bytes in no frame that was recognized */
	__u64 early;   /* the same, before the first frame of a connection older than the watch */
	__u32 lost;    /* looking for the begin of a frame */
	__s32 result;
	__u64 fork; /* of a reply: number of the file that it has opened */
	struct afs_cursor cursor;
	struct afs_pending pending; /* outgoing: the request that the frame answers, if any_order */
	__u8 mark[4];               /* SunRPC: the fragment's; SMB2: the frame's; ... */
	__u32 mark_have;            /* ... how much of it was read, ... */
	/* ... bytes of a verifier that are left, and whether there was one, or what was read of a
	 * call of NFS; SMB2: bytes to the next message of the frame, and what was before it: see
	 * the decoder. */
	__u32 pass, passed;
};

/* Which packets were seen, of the last 64. */
struct afs_rx_seen {
	__u64 mask;
	__u32 last, spare;
};

/*
 * A call over Rx, from its first read to its last write; and, as call number 0, what is known of
 * its channel, where one call follows the other.
 */
struct afs_rx_key {
	__u32 stream; /* handle */
	__u32 epoch, id, number;
	__u32 port, spare;
	__u8 ip[16];
};

struct afs_rx_call {
	__u64 ns; /* when it began */
	__u64 bytes_in, bytes_out;
	struct afs_rx_seen in, out;
	__u32 number, before; /* of a channel: its last call, and the one before */
	__u16 account;
	__u16 spare[3];
};

/*
 * The datagrams that a call of a thread moves. Threads receive and send on one socket at the same
 * time: each has its own.
 */
struct afs_datagram {
	struct afs_flow flow; /* its cursor; of a call that ends: result, bytes */
	__u8 head[40];        /* of the first packet, with the begin of its data */
	__u64 name;           /* the client's struct sockaddr */
	__u64 msg, n_msg;     /* those after it: struct mmsghdr */
	__u64 skip;           /* bytes to the next packet in it */
	__u32 have, whole;    /* of head; it is as long as it will be */
	__u32 mini_have;
	__u8 mini[4]; /* what is before a packet other than the first */
	__u32 begun;
	__u32 sequence, flags, len; /* of the packet of data */
	struct afs_rx_key key;      /* of its channel, or its call */
	struct afs_rx_call made;    /* to be added */
};

#define AFS_N_RX_CALLS 65536

/* Requests that were read and are not answered yet: n of the same kind with consecutive ids. */
struct afs_queued {
	__u16 id, account;
	__u32 bytes; /* of each */
	__u16 n;
	__u16 fork; /* number of the open file that they are about; only with records of requests */
};

#define AFS_N_QUEUED 256
#define AFS_N_ALIKE  0xffff /* most in "n" */

/*
 * FPOpenVol as received, without the command's number: a byte 0, the bitmap, and the volume's name
 * with its length before it. What follows the name, a password, is not copied. Of SMB2 the end of
 * TREE_CONNECT's path, in UTF-16, in place of the name.
 */
#define AFS_OPENVOL     24
#define AFS_OPENVOL_LEN 64 /* at most one byte less is kept */
#define AFS_OPENVOL_AT  3  /* the name's length */

struct afs_openvol {
	__u32 request; /* DSI id + 1; 0: none */
	__u32 have;    /* of bytes */
	union {
		__u8 bytes[AFS_OPENVOL_LEN];
		__u64 word[AFS_OPENVOL_LEN / 8];
	};
};

#define AFS_N_OPENVOL 4 /* not answered yet: by DSI id */
#define AFS_N_VOLUMES 4 /* of a session, kept by name */
#define AFS_N_USERS   3 /* of a connection; of more the last ones are not kept */

/*
 * A client's connection: a socket, whichever process or thread uses it. Its handle is the slot and,
 * above it, a number that changes with each use of the slot, so that an old handle fits no more.
 */
#define AFS_CLIENT_SLOT(handle) ((handle) & (AFS_N_CLIENTS - 1))

struct afs_stream {
	__u32 handle;  /* stays when the slot is cleared; 0: never used */
	__u32 process; /* slot + 1 of the process that read it last; 0: slot not in use */
	__u64 ino;     /* of the socket */
	__u32 serving; /* slot + 1 of the thread that read it last */
	__u32 by;      /* slot + 1 of the thread that the request in service is in; 0: of none */
	__u16 told;    /* a record of its begin was made */
	__u16 found;   /* it existed before the watch */
	__u32 ended;   /* its process has closed it; user space may collect it */
	__u64 begun_ns, ended_ns;
	__u64 request_ns;        /* begin of the request in service */
	__u64 quiet_ns;          /* when its last request was answered; 0: there was none */
	struct afs_flow flow[2]; /* to the server, from the server */
	__u32 first, n;          /* of queue */
	__u64 begun, answered;   /* requests */
	__u64 dropped;           /* requests that were never answered, replies to none */
	__u64 before;            /* replies to requests that began before the watch */
	__u64 overrun;           /* requests that found the queue full */
	__u64 refused;           /* replies that there is no session */
	__u64 denied;            /* results that a file is in use elsewhere, or locked */
	__u64 drops;             /* datagrams that found no room in the socket */
	__u64 ns;                /* of the answered */
	__u64 bytes_in, bytes_out;
	struct afs_habit habit;
	__u16 port, family; /* the client's, family 0: not known */
	/* SMB2: its version, 0x0311; 0: not seen. Users as whom it was answered, each once. */
	__u16 dialect, n_users;
	__u32 user[AFS_N_USERS];
	/* Its process has closed it, or ended, and others have it open: one of them may go on. */
	__u32 held;
	__u32 scope; /* of a link-local address: the server's interface, by its number */
	__u8 ip[16];
	/* Volumes that it opened, each once; 0 in the bitmap's place, and after the name. */
	__u32 n_volumes, more_volumes; /* of volume; how often others were opened */
	struct afs_openvol opening[AFS_N_OPENVOL];
	struct afs_openvol volume[AFS_N_VOLUMES];
	struct afs_queued queue[AFS_N_QUEUED];
	struct afs_named named; /* with over_ns: of the command with a name that was read last */
};

/*
 * How the requests of a client's connection went, by the slot of its stream; only with
 * AFS_TRACE_LIVE.
 */
struct afs_client {
	__u64 errors; /* answered with a result other than 0, and than the account's normal one */
	__u64 handed; /* requests handed over between threads: in no column */
	__u64 ns[AFS_N_COLUMNS];
	__u32 hist[AFS_REQUEST_BUCKETS];
};

/* Where the part of each state of an account is; 0: none yet. Index role * N_ACCOUNTS + account. */
struct afs_row {
	__u32 part[AFS_N_STATES];
};

/* The first parts belong to AFS_ACCOUNT_MORE, the others to whatever comes first. */
#define AFS_N_FIXED_PARTS (AFS_N_ROLES * AFS_N_STATES)
#define AFS_N_PARTS       (AFS_N_FIXED_PARTS + 3056)

#define AFS_BATCH_LEN     2048

/* The shortest and longest request of one account. */
struct afs_spread {
	__u64 span;           /* the one that they are of; before the first request 0 */
	__u64 min_ns, max_ns; /* in that span */
};

/* One for each command with a name. The first is for all others, and is not read. */
#define AFS_N_SPREADS 96

/*
 * Histograms of times: large, so CPUs with the same remainder share them and add atomically. User
 * space sets how many there are: one for each CPU, at most AFS_N_LANES, a power of two.
 */
#define AFS_N_LANES 8

struct afs_times {
	__u64 call[AFS_N_CELLS][AFS_HIST_BUCKETS];
	__u64 request[AFS_N_SPREADS][AFS_REQUEST_BUCKETS]; /* as struct afs_spread */
};

/* What a CPU counts and remembers; written by its programs only. */
struct afs_stripe {
	/*
	 * Records that it gathers while it runs watched threads, each with its head, and submits
	 * when the thread leaves it or the next does not fit: submitting many at once costs less
	 * than one by one.
	 */
	__u64 handed_len; /* bytes so far */
	__u32 batch_len;
	__u32 batch_n[AFS_N_STREAMS]; /* by stream */
	__u32 slot; /* slot + 1 of the watched thread that it ran last: a hint; 0: none */
	__u32 room[4];
	__u8 batch[AFS_BATCH_LEN];
	struct afs_part part[AFS_N_PARTS];
	struct afs_account account[AFS_N_ACCOUNTS];
	struct afs_spread spread[AFS_N_SPREADS];
	struct afs_result result[AFS_N_RESULTS];
	struct afs_packets packets[2]; /* to the server, from the server */
} __attribute__((aligned(64)));

/* An inode whose role the programs cannot see. */
struct afs_inode {
	__u64 ino;
	__u32 dev;    /* the kernel's: major << 20 | minor; 0: any */
	__u32 object; /* enum afs_object */
};

#define AFS_N_INODES 16
#define AFS_N_PORTS  32

/*
 * What user space has found: sockets, and files that Unix sockets are bound to. After a new epoch
 * descriptors are classified again.
 */
struct afs_inodes {
	__u32 n, n_ports, epoch, spare;
	struct afs_inode inode[AFS_N_INODES];
	/* TCP connections from or to this local port; in host order */
	struct {
		__u16 port, object;
	} port[AFS_N_PORTS];
};

/* Counts what the programs could not do. */
struct afs_lost {
	__u64 thread_slots;           /* threads not watched: no slot */
	__u64 process_slots;          /* threads not watched: no slot for their process */
	__u64 found;                  /* by user space, threads and processes: no slot */
	__u64 streams;                /* reads and writes of clients' connections without a slot */
	__u64 storage;                /* threads not watched: the kernel refused a task storage */
	__u64 parts;                  /* calls and times in AFS_ACCOUNT_MORE: no part left */
	__u64 steps;                  /* reads and writes with more frames than are followed */
	__u64 results;                /* result codes that did not fit */
	__u64 records[AFS_N_STREAMS]; /* of a trace: no room in the buffer */
	__u64 links;                  /* CNID connections forgotten: no room */
	__u64 switches;               /* a thread got a CPU without an event */
	__u64 uring;                  /* operations submitted to io_uring */
	__u64 uring_polls;            /* not 0: threads of the kernel submit others */
	__u64 filtered;               /* calls answered by a seccomp filter */
	__u64 calls_32bit;            /* as of 32-bit programs, which are not distinguished */
};

/* A process that the iterator marks. */
struct afs_want {
	__s32 tgid;
	__u32 role;
	__u32 account; /* of its first thread */
	__s32 slot;    /* -1: none of its threads was found yet */
};

#define AFS_N_WANTS 4096 /* a power of two */

/* What the iterator marks in one pass, and the result. */
struct afs_mark {
	__u32 marked; /* threads, in this pass */
	__u32 failed; /* threads, in this pass: no slot, or no task storage */
	__u64 task;   /* the current one */
	/* In ascending order of "tgid"; those not in use have the highest number. */
	struct afs_want want[AFS_N_WANTS];
};

/* What has free slots: see bpf/pool.h. */
enum afs_slots {
	AFS_SLOTS_THREAD,
	AFS_SLOTS_PROCESS,
	AFS_SLOTS_STREAM,
	AFS_N_SLOTS,
};

struct afs_pools {
	__u64 head[AFS_N_SLOTS];
	__u32 next[AFS_N_SLOTS][AFS_N_THREADS]; /* the most that there are of one */
};

#define AFS_STOPS_KEPT 4 /* a power of two */

/* In .bss: user space reads it through a mapping. */
struct afs_shared {
	__u32 stopping; /* from each thread's next call on nothing is counted ... */
	__u32 n_newborn;
	__u64 stop_ns; /* ... and no time from this moment on; 0: it is not set */
	struct afs_pools free;
	struct afs_inodes inodes;
	struct afs_lost lost;
	struct afs_mark mark;
	__u64 traced_ns; /* of AFS_ROLE_SERVER: stopped by who traces it, in stops that are over */
	/* By role: stops of processes that are over, and the last ones, number i at
	 * i % AFS_STOPS_KEPT. */
	struct afs_stops {
		__u64 n;
		struct afs_stop {
			__u64 from_ns, to_ns, tgid;
		} kept[AFS_STOPS_KEPT];
	} stops[AFS_N_ROLES];
	__u64 span; /* number of the interval for minimum and maximum; from 1 on */
	__u32 n_threads, n_processes, n_streams, n_parts; /* slots used so far: the first ones */
	__u32 n_begun;                                    /* processes watched until now */
	__u32 n_unserved;            /* CNID connections whose server is not watched */
	__u32 part_key[AFS_N_PARTS]; /* row * AFS_N_STATES + state */
};

#ifndef __bpf__
_Static_assert(sizeof(struct afs_thread) == 320, "five cache lines");
_Static_assert(AFS_N_PROCESSES <= AFS_N_THREADS && AFS_N_CLIENTS <= AFS_N_THREADS, "the most");
_Static_assert(offsetof(struct afs_thread, task) == 64, "what every call needs is in two");
_Static_assert(offsetof(struct afs_thread, work) == 128, "what every call needs is in two");
_Static_assert(offsetof(struct afs_stripe, batch) == 64, "a cache line");
_Static_assert(sizeof(struct afs_stripe) % 64 == 0, "CPUs do not share a cache line");
_Static_assert(sizeof(struct afs_part) == 64, "a cache line");
_Static_assert(sizeof(struct afs_call) == 8, "a word");
_Static_assert(AFS_N_CELLS <= 65536, "a cell's number is short");
_Static_assert(AFS_N_PROCESSES <= 65536, "a process's slot is short");
_Static_assert(sizeof(struct afs_inode) == 16, "no padding");
_Static_assert(sizeof(struct afs_cell) == 32 + 8 * AFS_HIST_BUCKETS, "no padding");
#endif

#endif
