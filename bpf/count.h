/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_COUNT_H
#define AFS_COUNT_H

/*
 * Begin and end of a system call: its class, its object, the account it belongs to, and its entry
 * in every ledger.
 */

#include "bpf/ask.h"
#include "bpf/follow.h"
#include "bpf/hist.h"
#include "bpf/link.h"
#include "bpf/maps.h"
#include "bpf/object.h"
#include "bpf/park.h"
#include "bpf/stream.h"
#include "bpf/time.h"

#include <asm-generic/errno.h>
#include <linux/fcntl.h>

static __always_inline bool is_lock(unsigned long cmd)
{
	return (cmd >= F_GETLK && cmd <= F_SETLKW) || (cmd >= F_OFD_GETLK && cmd <= F_OFD_SETLKW);
}

static __always_inline bool moves_bytes(__u32 class)
{
	return class == AFS_CLASS_READ || class == AFS_CLASS_WRITE || class == AFS_CLASS_RECV ||
	       class == AFS_CLASS_SEND;
}

/*
 * A process answers that was handed the connection by the one that has read from it. Of a server
 * that does so on purpose (setup.parks) that one may go on, of others it has closed it or ended.
 */
static __always_inline void enter_answering(const struct afs_thread *t, struct afs_process *p)
{
	struct afs_stream *s = stream_at(t->stream);

	if (!s || (!setup.parks && !s->held))
		return;
	stream_served(p, t->process, s);
	if (!setup.parks && !p->serving)
		p->serving = t->slot + 1;
}

/*
 * A thread begins to read from a client: it is the one that serves. If it had a request in service
 * that another thread has answered, that is over.
 */
static __always_inline void enter_serving(struct afs_thread *t, struct afs_process *p)
{
	struct afs_stream *s = stream_at(t->stream);

	if (p->serving != t->slot + 1 && t->account >= AFS_ACCOUNT_THREADS)
		p->serving = t->slot + 1;
	if (s) {
		s->serving = t->slot + 1;
		stream_served(p, t->process, s);
		if (tracing(AFS_TRACE_SMALL))
			trace_serving(p, s);
	}
	if (setup.any_order)
		return;
	if (AFS_RARE(t->serves)) {
		s = stream_at(t->serves);
		if (s && s->by == t->slot + 1)
			return;
		t->serves = 0;
	} else if (t->account < AFS_ACCOUNT_THREADS) {
		return;
	}
	thread_account(t, AFS_ACCOUNT_BETWEEN);
}

/* The descriptor of the call; saves what leave() will need. */
static __always_inline __u32 enter_fd(struct afs_thread *t, __u64 task, const struct afs_call *call,
				      const unsigned long arg[AFS_N_ARGS])
{
	struct afs_process *p = process_of(t);
	__u32 object = AFS_OBJECT_NONE;

	if (!p)
		return object;
	if (call->fd != AFS_FD_NONE) {
		t->fd = call->fd == 0 ? arg[0] : call->fd == 1 ? arg[1] : arg[2];
		object = object_of(p, t->process, task, t->fd);
	}
	if (AFS_RARE(call->closes == AFS_CLOSES_UNSHARES)) {
		/* From now on one thread may have others than the process. */
		p->shares |= arg[0] & AFS_CLONE_FILES;
		forget_all(t->process);
	} else if (call->closes) {
		t->closes = call->closes == AFS_CLOSES_ARG0   ? arg[0]
			    : call->closes == AFS_CLOSES_ARG1 ? arg[1]
							      : AFS_FD_ALL;
		if (object == AFS_OBJECT_CLIENT && t->closes == t->fd)
			stream_close(t->process, t->fd);
		if (object == AFS_OBJECT_BACKEND && t->role == AFS_ROLE_BACKEND &&
		    t->closes == t->fd)
			link_leave(t->slot);
		forget(t->process, t->closes);
	}
	/* Whether it is a log may change. */
	if (AFS_RARE(call->flags & AFS_CALL_LOCKS) && arg[1] == F_SETFL &&
	    (object == AFS_OBJECT_DATA || object == AFS_OBJECT_LOG))
		t->closes = t->fd;
	if (object == AFS_OBJECT_BACKEND && t->role == AFS_ROLE_SERVER &&
	    moves_bytes(call->class)) {
		link_ask(t->slot, task, t->fd,
			 call->class == AFS_CLASS_READ || call->class == AFS_CLASS_RECV);
		if (!task)
			ask(t, call, arg);
	}
	if (object != AFS_OBJECT_CLIENT || (!moves_bytes(call->class) && !call->data))
		return object;
	t->stream = stream_of_fd(p, t->process, task, t->fd);
	if (call->class == AFS_CLASS_READ || call->class == AFS_CLASS_RECV)
		enter_serving(t, p);
	else
		enter_answering(t, p);
	return object;
}

/* Saves where the bytes of the call are when it returns. */
static __always_inline void enter_data(struct afs_thread *t, const struct afs_call *call,
				       __u32 object, const unsigned long arg[AFS_N_ARGS])
{
	unsigned long flags;

	t->data = call->data;
	if (object != AFS_OBJECT_CLIENT && call->data != AFS_DATA_UID)
		t->data = AFS_DATA_NONE;
	if (!t->data)
		return;
	flags = call->peek == 2 ? arg[2] : call->peek == 3 ? arg[3] : 0;
	if (flags & AFS_MSG_PEEK)
		t->data = AFS_DATA_NONE;
	t->buf = arg[1];
	t->len = arg[2];
	if (datagrams())
		t->name = call->data == AFS_DATA_BUF && call->class >= AFS_CLASS_RECV ? arg[4] : 0;
}

/* splice: of bytes taken from the client's connection only the number is visible. */
static __always_inline bool enter_splice(struct afs_thread *t, __u64 task,
					 const struct afs_call *call, __u32 fd)
{
	struct afs_process *p;

	if (call->class != AFS_CLASS_COPY || call->data != AFS_DATA_FILE)
		return false;
	p = process_of(t);
	if (!p || object_of(p, t->process, task, fd) != AFS_OBJECT_CLIENT)
		return false;
	t->stream = stream_of_fd(p, t->process, task, fd);
	return true;
}

/* The growth of a thread's account. */
static __always_inline struct afs_compat io_since(const struct afs_thread *t, const void *task)
{
	struct afs_compat io = io_of(task);

	if (t->stopped)
		return t->io;
	io.syscr -= t->io.syscr;
	io.syscw -= t->io.syscw;
	io.rchar -= t->io.rchar;
	io.wchar -= t->io.wchar;
	return io;
}

/* Notes the kernel's account when ours begins and ends, and before exec. false: ours has ended. */
static __always_inline bool enter_io(struct afs_thread *t, const void *task)
{
	struct afs_compat io;

	if (!task)
		task = current_task();
	io = io_of(task);
	if (t->found) {
		t->io = io;
		t->found = 0;
	}
	t->syscr = io.syscr;
	t->rchar = io.rchar;
	if (!shared.stopping)
		return true;
	t->io = io_since(t, task);
	t->stopped = 1;
	return false;
}

/* Whether another thread of the process now reads the client's requests. */
static __always_inline bool is_relieved(const struct afs_thread *t)
{
	const struct afs_stream *s = stream_at(t->stream);
	const struct afs_process *p;

	if (s)
		return s->serving && s->serving != t->slot + 1;
	p = process_of(t);
	return p && p->serving && p->serving != t->slot + 1;
}

/* Sets where the call will be counted. */
static __always_inline void enter_cell(struct afs_thread *t, __u32 class, __u32 object)
{
	t->class = class;
	t->object = object;
	t->cell = AFS_CELL(t->role, class, object);
	t->part = part_of(t, AFS_STATE(class, object));
}

/*
 * Whether the thread serves a request of which the client has sent a part (TO_SERVER), or of whose
 * reply it has taken a part.
 */
static __always_inline bool is_partly(const struct afs_thread *t, __u32 way)
{
	const struct afs_stream *s = t->account < AFS_ACCOUNT_BETWEEN ? stream_at(t->stream) : NULL;

	return s && (way == TO_SERVER ? s->flow[TO_SERVER].skip : s->flow[FROM_SERVER].skip);
}

/*
 * The object that a wait is for. A sleep is for the database if the previous call was on that;
 * after a write to the client, or a read from it, the wait is for the client if only a part of the
 * reply has gone, or of the request has come; after a call on another socket it is for that. Where
 * the CNID server has not answered, a wait without an object is the pause before it is asked again.
 */
static __always_inline __u32 enter_wait(struct afs_thread *t, __u8 waits)
{
	__u32 object = AFS_OBJECT_NONE;

	if (t->role == AFS_ROLE_BACKEND && waits == AFS_WAITS_READY &&
	    t->account != AFS_ACCOUNT_BETWEEN)
		thread_account(t, AFS_ACCOUNT_BETWEEN);
	if (waits == (t->again == AFS_OBJECT_CNIDDB ? AFS_WAITS_TIME : AFS_WAITS_READY))
		object = t->again;
	if (object == AFS_AGAIN_PART)
		object = is_partly(t, FROM_SERVER) ? AFS_OBJECT_CLIENT : AFS_OBJECT_NONE;
	if (object == AFS_AGAIN_REST)
		object = is_partly(t, TO_SERVER) ? AFS_OBJECT_CLIENT : AFS_OBJECT_NONE;
	/* Between requests a session writes to other processes, and then waits for its client. */
	if (object == AFS_OBJECT_SOCKET && t->account >= AFS_ACCOUNT_BETWEEN)
		object = AFS_OBJECT_NONE;
	return !object && t->unanswered ? AFS_OBJECT_BACKEND : object;
}

/*
 * Whether a call has the number and the arguments of a 32-bit program's: also one that a 64-bit
 * program makes by "int 0x80" on x86. The instruction for 64-bit calls leaves the address after it
 * and the flags in two registers: where they are there (regs, NULL: not known) the task is not
 * asked.
 */
static __always_inline bool is_call_32bit(const struct afs_thread *t, void *task,
					  const struct pt_regs___afs *regs)
{
#if defined(__TARGET_ARCH_x86)
	const struct task_struct___afs *in;

	if (regs && regs->cx == regs->ip && regs->r11 == regs->flags)
		return t->is_32bit;
	in = task ? task : current_task();
	return t->is_32bit || in->thread_info.status & AFS_TS_COMPAT;
#else
	return t->is_32bit;
#endif
}

/*
 * Nobody knows what it moves, or which descriptors it closes: its number is that of the last entry
 * of the table, of no descriptor.
 */
__noinline long enter_32bit(__u32 slot)
{
	struct afs_process *p = process_at(slot);

	AFS_COUNT(shared.lost.calls_32bit);
	if (!p || (p->is_32bit && p->shares))
		return AFS_N_CALLS;
	p->is_32bit = p->shares = 1;
	forget_all(slot);
	return AFS_N_CALLS;
}

/* task and its address: only if it is not the one that runs. regs: of that one, or NULL. */
static __always_inline void enter(struct afs_stripe *s, struct afs_thread *t, void *task,
				  __u64 address, long nr, const unsigned long arg[AFS_N_ARGS],
				  const struct pt_regs___afs *regs)
{
	__u32 object = AFS_OBJECT_NONE, own = t->user_part;
	struct afs_call call;
	struct afs_part *p;
	__u64 now;

	if (AFS_RARE(t->stopped))
		return;
	if (AFS_RARE(is_call_32bit(t, task, regs)))
		nr = enter_32bit(t->process);
	call = call_of(nr);
	if (AFS_RARE(!address && t->off != AFS_OFF_NOT))
		switch_missed(t);
	if (AFS_RARE(call.flags & AFS_CALL_LOCKS) && is_lock(arg[1]))
		call.class = AFS_CLASS_LOCK;
	if (AFS_RARE(t->found || shared.stopping || call.flags & AFS_CALL_EXEC) &&
	    !enter_io(t, task)) {
		if (tracing(AFS_TRACE_SMALL))
			batch_end();
		return;
	}
	if (t->account == AFS_ACCOUNT_BETWEEN && is_relieved(t))
		thread_account(t, AFS_ACCOUNT_THREADS);
	t->closes = AFS_FD_KEEP;
	if (call.fd != AFS_FD_NONE || call.closes)
		object = enter_fd(t, address, &call, arg);
	if (setup.parks)
		park_enter(t->slot, park_loop(&call, arg),
			   object == AFS_OBJECT_CLIENT &&
			       (call.class == AFS_CLASS_READ || call.class == AFS_CLASS_RECV));
	if (call.class == AFS_CLASS_WAIT)
		object = enter_wait(t, call.waits);
	enter_data(t, &call, object, arg);
	if (object != AFS_OBJECT_CLIENT && enter_splice(t, address, &call, arg[0]))
		t->data = AFS_DATA_FILE;
	enter_cell(t, call.class, object);
	t->flags = call.flags;
	now = time_now(t);
	p = part_at(s, own);
	if (p)
		p->cpu_ns += now - t->since_ns;
	inner_add(t, AFS_INSIDE_CPU, now - t->since_ns);
	if (working())
		trace_enter(t, call.fd != AFS_FD_NONE, now);
	t->explained_ns += now - t->since_ns;
	if (setup.parks)
		park_entered(t->slot);
	t->since_ns = now;
	t->entered_ns = now;
	t->nr = nr;
	t->seq++;
}

static __always_inline void count_compat(struct afs_thread *t, long ret)
{
	struct afs_compat io;

	if ((ret == -EBADF || ret == -ESPIPE) && !(t->flags & AFS_COMPAT_ALWAYS))
		return;
	if (ret <= 0 && t->flags & AFS_COMPAT_MOVED)
		return;
	if (t->flags & AFS_CALL_EXEC) {
		io = io_of(current_task());
		t->counted.syscr += io.syscr - t->syscr;
		t->counted.rchar += io.rchar - t->rchar;
	}
	if (t->flags & AFS_COMPAT_READ) {
		t->counted.syscr++;
		if (ret > 0)
			t->counted.rchar += ret;
	}
	if (t->flags & AFS_COMPAT_WRITE) {
		t->counted.syscw++;
		if (ret > 0)
			t->counted.wchar += ret;
	}
}

static __always_inline bool is_error(const struct afs_thread *t, long ret)
{
	return (unsigned long)ret >= (unsigned long)-4095 && !(t->flags & AFS_CALL_NORESULT);
}

static __always_inline void count_time(const struct afs_thread *t, __u64 ns)
{
	__u32 i = t->cell, bucket = afs_hist_index(ns, AFS_HIST_BITS, AFS_HIST_BUCKETS);
	struct afs_times *times = times_here();

	if (times && AFS_BELOW(i, AFS_N_CELLS) && AFS_BELOW(bucket, AFS_HIST_BUCKETS))
		AFS_COUNT(times->call[i][bucket]);
}

static __always_inline void count_part(struct afs_stripe *s, struct afs_thread *t, bool error,
				       __u64 bytes, __u64 ns)
{
	struct afs_part *p = part_at(s, t->part);

	inner_add(t, AFS_INSIDE_CPU, ns);
	t->explained_ns += ns;
	if (!p)
		return;
	p->calls++;
	p->errors += error;
	p->bytes += bytes;
	p->cpu_ns += ns;
}

static __always_inline bool is_inbound(const struct afs_thread *t)
{
	return t->class == AFS_CLASS_READ || t->class == AFS_CLASS_RECV ||
	       (t->class == AFS_CLASS_COPY && !is_on(t, AFS_OBJECT_CLIENT));
}

/* Follows the bytes to the server, whose arrival may change what the thread works for. */
static __always_inline void leave_in(struct afs_thread *t, long ret, __u64 now)
{
	__u32 before = t->account;

	if (t->role == AFS_ROLE_BACKEND) {
		if (is_on(t, AFS_OBJECT_BACKEND) && is_inbound(t))
			link_serve(t->slot);
		return;
	}
	if (!t->data || t->data == AFS_DATA_UID || !is_inbound(t))
		return;
	follow(t, ret, TO_SERVER, t->since_ns, now);
	if (t->account != before)
		t->part = part_of(t, state_of(t));
}

static __always_inline void leave_uid(struct afs_thread *t)
{
	struct afs_process *p = process_of(t);

	if (p && t->buf && (__u32)t->buf != (__u32)-1)
		p->uid = t->buf;
}

/*
 * Notes what the next wait is for: the client's or the CNID server's socket, which was not ready,
 * or may have taken or given a part only; another socket, such as a name service's; or, if it is a
 * sleep, the CNID database, which another process has locked.
 */
static __always_inline void note_again(struct afs_thread *t, long ret)
{
	if (t->class == AFS_CLASS_WAIT) {
		/* The time was over, and no answer was there. */
		if (!ret && is_on(t, AFS_OBJECT_BACKEND))
			t->unanswered = 1;
		return;
	}
	/* A read of nothing: the other end has closed it. */
	if (is_on(t, AFS_OBJECT_BACKEND) && ret != -EAGAIN && (ret < 0 || is_inbound(t)))
		t->unanswered = ret <= 0;
	t->again = is_on(t, AFS_OBJECT_CNIDDB) ? AFS_OBJECT_CNIDDB : 0;
	if (is_on(t, AFS_OBJECT_SOCKET) && t->closes == AFS_FD_KEEP)
		t->again = AFS_OBJECT_SOCKET;
	else if (ret == -EAGAIN && is_on(t, AFS_OBJECT_BACKEND))
		t->again = AFS_OBJECT_BACKEND;
	else if (ret <= 0 && ret != -EAGAIN)
		return;
	else if (is_inbound(t) && (is_on(t, AFS_OBJECT_CLIENT) || t->data == AFS_DATA_FILE))
		t->again = AFS_AGAIN_REST; /* by a copy or by a splice */
	else if (is_on(t, AFS_OBJECT_CLIENT))
		t->again = ret > 0 ? AFS_AGAIN_PART : AFS_OBJECT_CLIENT;
}

/*
 * A return without an entry. A thread that has made a call has entered each: a seccomp filter, or a
 * debugger, has answered this one, before the kernel reports entries. Its time is in the thread's
 * own code. A thread returns so, too, from the call that has made it, or in which it was found.
 */
static __always_inline void leave_filtered(struct afs_stripe *s, struct afs_thread *t, long ret)
{
	if (t->nr != AFS_NR_NONE || !t->entered_ns || t->found || t->stopped || shared.stopping)
		return;
	t->counting = 1;
	barrier();
	t->flags = 0;
	enter_cell(t, AFS_CLASS_OTHER, AFS_OBJECT_NONE);
	count_time(t, 0);
	count_part(s, t, is_error(t, ret), 0, 0);
	AFS_COUNT(shared.lost.filtered);
	t->calls++;
	t->seq++;
	barrier();
	t->counting = 0;
}

static __always_inline void leave(struct afs_stripe *s, struct afs_thread *t, long ret)
{
	__u64 now, bytes;
	bool error;

	if (AFS_RARE(t->nr < 0)) {
		leave_filtered(s, t, ret);
		return;
	}
	if (AFS_RARE(t->off != AFS_OFF_NOT))
		switch_missed(t);
	t->counting = 1;
	barrier();
	now = time_now(t);
	if (ret > 0)
		leave_in(t, ret, now);
	error = is_error(t, ret);
	bytes = !error && t->flags & AFS_CALL_MOVES ? ret : 0;
	count_time(t, now - t->entered_ns);
	count_part(s, t, error, bytes, now - t->since_ns);
	if (working())
		trace_leave(s, t, ret, now);
	t->since_ns = now;
	if (t->flags & (AFS_COMPAT_READ | AFS_COMPAT_WRITE | AFS_CALL_EXEC))
		count_compat(t, ret);
	/* Again: another thread may have classified the descriptor during the call. */
	if (t->closes != AFS_FD_KEEP)
		forget(t->process, t->closes);
	note_again(t, ret);
	t->calls++;
	if (AFS_RARE(t->nr == AFS_NR_URING) && ret > 0)
		__sync_fetch_and_add(&shared.lost.uring, ret);
	t->nr = AFS_NR_NONE;
	if (t->data == AFS_DATA_UID && !ret)
		leave_uid(t);
	else if (t->data && ret > 0 && !is_inbound(t))
		follow(t, ret, FROM_SERVER, 0, now);
	t->seq++;
	barrier();
	t->counting = 0;
}

#endif
