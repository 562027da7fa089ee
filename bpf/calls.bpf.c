// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts every system call of the watched threads, and where their time goes. A thread is watched
 * when it has a task storage: all probes look there first and do nothing else for everybody else.
 * User space marks the threads of a process with the iterator; what these start is followed here.
 */

#include "bpf/calls.h"
#include "bpf/hist.h"
#include "bpf/kernel.h"
#include "bpf/maps.h"
#include "bpf/object.h"
#include "bpf/request.h"
#include "bpf/time.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include <asm-generic/errno.h>
#include <linux/fcntl.h>
#include <stdbool.h>

char licence[] SEC("license") = "GPL";

static __always_inline bool is_lock(unsigned long cmd)
{
	return (cmd >= F_GETLK && cmd <= F_SETLKW) || (cmd >= F_OFD_GETLK && cmd <= F_OFD_SETLKW);
}

/* Of which descriptor the call is; remembers what leave() will need. */
static __always_inline __u32 enter_fd(struct afs_thread *t, __u64 task, const struct afs_call *call,
				      const unsigned long arg[4])
{
	struct afs_process *p = process_of(t);
	__u32 object = AFS_OBJECT_NONE;

	if (!p)
		return object;
	if (call->fd != AFS_FD_NONE) {
		t->fd = call->fd == 0 ? arg[0] : call->fd == 1 ? arg[1] : arg[2];
		object = object_of(p, t->process, task, t->fd);
	}
	if (call->closes) {
		t->closes = call->closes == AFS_CLOSES_ARG0   ? arg[0]
			    : call->closes == AFS_CLOSES_ARG1 ? arg[1]
							      : AFS_FD_ALL;
		forget(p, t->process, t->closes);
	}
	if (object == AFS_OBJECT_CLIENT && t->account >= AFS_ACCOUNT_THREADS &&
	    (call->class == AFS_CLASS_READ || call->class == AFS_CLASS_RECV)) {
		p->serving = t->slot + 1;
		thread_account(t, AFS_ACCOUNT_BETWEEN);
	}
	return object;
}

/* Where the bytes of the call will be seen when it returns. */
static __always_inline void enter_data(struct afs_thread *t, const struct afs_call *call,
				       __u32 object, const unsigned long arg[4])
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
}

/* What a thread's account grew by. */
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

/* The kernel's own account: where ours begins and ends, and what exec adds. false: it ended. */
static __always_inline bool enter_io(struct afs_thread *t, const void *task)
{
	struct afs_compat io = io_of(task);

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

/* address: the task's; 0: it is the one that runs. */
static __always_inline void enter(struct afs_thread *t, void *task, __u64 address, long nr,
				  const unsigned long arg[4])
{
	struct afs_call call = { .class = AFS_CLASS_OTHER, .fd = AFS_FD_NONE };
	__u32 object = AFS_OBJECT_NONE;
	struct afs_part *p;
	__u64 now;

	if (t->stopped)
		return;
	if ((unsigned long)nr < AFS_N_CALLS)
		call = setup.calls[nr];
	if (call.flags & AFS_CALL_LOCKS && is_lock(arg[1]))
		call.class = AFS_CLASS_LOCK;
	if ((t->found || shared.stopping || call.flags & AFS_CALL_EXEC) && !enter_io(t, task))
		return;
	t->closes = AFS_FD_KEEP;
	if (call.fd != AFS_FD_NONE || call.closes)
		object = enter_fd(t, address, &call, arg);
	if (call.class == AFS_CLASS_WAIT) {
		object = t->again;
		if (t->role == AFS_ROLE_CNID && t->account != AFS_ACCOUNT_BETWEEN)
			thread_account(t, AFS_ACCOUNT_BETWEEN);
	}
	enter_data(t, &call, object, arg);
	t->cell = AFS_CELL(t->role, call.class, object);
	t->part = part_of(t, AFS_STATE(call.class, object));
	t->flags = call.flags;
	now = bpf_ktime_get_ns();
	p = part_at(t->user_part);
	if (p)
		p->cpu_ns += now - t->since_ns;
	inner_add(t, AFS_INSIDE_CPU, now - t->since_ns);
	t->explained_ns += now - t->since_ns;
	t->since_ns = now;
	t->entered_ns = now;
	t->nr = nr;
	t->seq++;
}

/* Once more after the call: another thread may have looked at the descriptor meanwhile. */
static __always_inline void forget_closed(const struct afs_thread *t)
{
	struct afs_process *p = process_of(t);

	if (p)
		forget(p, t->process, t->closes);
}

static __always_inline void leave_exec(struct afs_thread *t, const void *task, struct afs_compat *c)
{
	struct afs_compat io = io_of(task);

	c->syscr += io.syscr - t->syscr;
	c->rchar += io.rchar - t->rchar;
}

static __always_inline void count_compat(struct afs_thread *t, const void *task, long ret)
{
	__u32 i = bpf_get_smp_processor_id() * AFS_N_PROCESSES + t->process;
	struct afs_compat *c;

	if ((ret == -EBADF || ret == -ESPIPE) && !(t->flags & AFS_COMPAT_ALWAYS))
		return;
	if (ret <= 0 && t->flags & AFS_COMPAT_MOVED)
		return;
	c = bpf_map_lookup_elem(&compat, &i);
	if (!c)
		return;
	if (t->flags & AFS_CALL_EXEC)
		leave_exec(t, task, c);
	if (t->flags & AFS_COMPAT_READ) {
		c->syscr++;
		if (ret > 0)
			c->rchar += ret;
	}
	if (t->flags & AFS_COMPAT_WRITE) {
		c->syscw++;
		if (ret > 0)
			c->wchar += ret;
	}
}

static __always_inline bool is_error(const struct afs_thread *t, long ret)
{
	return (unsigned long)ret >= (unsigned long)-4095 && !(t->flags & AFS_CALL_NORESULT);
}

/* The calls ledger. */
static __always_inline void count_cell(const struct afs_thread *t, long ret, __u64 ns)
{
	__u32 i = bpf_get_smp_processor_id() * AFS_N_CELLS + t->cell;
	__u32 bucket = afs_hist_index(ns);
	struct afs_cell *c;

	c = bpf_map_lookup_elem(&cell, &i);
	if (!c || bucket >= AFS_HIST_BUCKETS)
		return;
	c->calls++;
	c->ns += ns;
	c->hist[bucket]++;
	if (is_error(t, ret))
		c->errors++;
	else if (t->flags & AFS_CALL_MOVES)
		c->bytes += ret;
}

/* The requests ledger. */
static __always_inline void count_part(struct afs_thread *t, long ret, __u64 ns)
{
	struct afs_part *p = part_at(t->part);

	inner_add(t, AFS_INSIDE_CPU, ns);
	t->explained_ns += ns;
	if (!p)
		return;
	p->calls++;
	p->cpu_ns += ns;
	if (is_error(t, ret))
		p->errors++;
	else if (t->flags & AFS_CALL_MOVES)
		p->bytes += ret;
}

static __always_inline bool is_inbound(const struct afs_thread *t)
{
	__u32 class = state_of(t) / AFS_N_OBJECTS;

	return class == AFS_CLASS_READ || class == AFS_CLASS_RECV;
}

/* A CNID server's thread read a request: from now on it works for the one who sent it. */
static __always_inline void serve(struct afs_thread *t)
{
	struct afs_process *p = process_of(t), *asker;
	__u32 i = 0, number = AFS_ACCOUNT_BETWEEN;
	struct afs_thread *for_whom;

	if (p && t->fd < AFS_N_FDS)
		i = p->peer[fd_index(t->fd)];
	if (!i)
		return;
	asker = process_at(i - 1);
	if (!asker)
		return;
	asker->cnid_thread = t->slot + 1;
	i = asker->serving - 1;
	for_whom = bpf_map_lookup_elem(&thread, &i);
	if (for_whom)
		number = for_whom->account;
	if (number != t->account) {
		thread_account(t, number);
		t->part = part_of(t, state_of(t));
	}
}

/* Follows the bytes to the server, whose arrival may change what the thread works for. */
static __always_inline void leave_in(struct afs_thread *t, long ret, __u64 now)
{
	__u32 before = t->account;

	if (t->role == AFS_ROLE_CNID) {
		if (is_on(t, AFS_OBJECT_CNID) && is_inbound(t))
			serve(t);
		return;
	}
	if (!t->data || t->data == AFS_DATA_UID || !is_inbound(t))
		return;
	follow(t->slot, ret, TO_SERVER, t->since_ns, now);
	if (t->account != before)
		t->part = part_of(t, state_of(t));
}

static __always_inline void leave_uid(struct afs_thread *t)
{
	struct afs_process *p = process_of(t);

	if (p && t->buf && (__u32)t->buf != (__u32)-1)
		p->uid = t->buf;
}

/* A socket that was not ready: the wait after it is for the client to take, the CNID to answer. */
static __always_inline void note_again(struct afs_thread *t, long ret)
{
	__u32 class = state_of(t) / AFS_N_OBJECTS;

	if (class == AFS_CLASS_WAIT)
		return;
	t->again = 0;
	if (ret != -EAGAIN)
		return;
	if (is_on(t, AFS_OBJECT_CNID))
		t->again = AFS_OBJECT_CNID;
	else if (is_on(t, AFS_OBJECT_CLIENT) && !is_inbound(t))
		t->again = AFS_OBJECT_CLIENT;
}

static __always_inline void leave(struct afs_thread *t, const void *task, long ret)
{
	__u64 now = bpf_ktime_get_ns();

	if (t->nr < 0)
		return;
	if (ret > 0)
		leave_in(t, ret, now);
	count_cell(t, ret, now - t->entered_ns);
	count_part(t, ret, now - t->since_ns);
	t->since_ns = now;
	if (t->flags & (AFS_COMPAT_READ | AFS_COMPAT_WRITE | AFS_CALL_EXEC))
		count_compat(t, task, ret);
	if (t->closes != AFS_FD_KEEP)
		forget_closed(t);
	note_again(t, ret);
	t->calls++;
	t->nr = AFS_NR_NONE;
	if (t->data == AFS_DATA_UID && !ret)
		leave_uid(t);
	else if (t->data && ret > 0 && !is_inbound(t))
		follow(t->slot, ret, FROM_SERVER, 0, now);
	t->seq++;
}

/* Arguments of a BTF tracepoint are an array of u64: (registers, number) and (registers, result).
 */
SEC("tp_btf/sys_enter")
int on_sys_enter(__u64 *ctx)
{
	const struct pt_regs___afs *regs = (const void *)ctx[0];
	struct afs_thread *t = thread_current();
	unsigned long arg[4];

	if (!t)
		return 0;
	arg[0] = afs_arg0(regs);
	arg[1] = afs_arg1(regs);
	arg[2] = afs_arg2(regs);
	arg[3] = afs_arg3(regs);
	enter(t, current_task(), 0, ctx[1], arg);
	return 0;
}

SEC("tp_btf/sys_exit")
int on_sys_exit(__u64 *ctx)
{
	struct afs_thread *t = thread_current();

	if (t)
		leave(t, current_task(), ctx[1]);
	return 0;
}

static __always_inline bool is_runnable(const struct task_struct___afs *task)
{
	const struct task_struct___afs_old *old = (const void *)task;

	if (bpf_core_field_exists(task->__state))
		return !task->__state;
	return !old->state;
}

/* (preempted, who leaves the CPU, who comes) */
SEC("tp_btf/sched_switch")
int on_switch(__u64 *ctx)
{
	struct task_struct___afs *prev = (void *)ctx[1];
	struct afs_thread *t = thread_of(prev);

	if (t && t->off == AFS_OFF_NOT)
		switch_out(t, !(ctx[0] & 1) && !is_runnable(prev));
	t = thread_of((void *)ctx[2]);
	if (t)
		switch_in(t);
	return 0;
}

/* (who is woken) */
SEC("tp_btf/sched_wakeup")
int on_wakeup(__u64 *ctx)
{
	struct afs_thread *t = thread_of((void *)ctx[0]);

	if (t)
		wake(t);
	return 0;
}

/* A slot in "process"; -1: none left. */
static __always_inline __s32 process_new(int tgid, __u32 role, __s32 parent)
{
	struct afs_process *p;
	__u32 i = 0;

	if (bpf_map_pop_elem(&free_process, &i))
		return -1;
	p = process_at(i);
	if (!p)
		return -1;
	p->role = role;
	p->parent = parent;
	p->begun_ns = bpf_ktime_get_ns();
	p->tgid = tgid;
	AFS_COUNT(shared.n_processes);
	return i;
}

/* A slot for a thread of process "slot"; NULL: none left. Nothing sees it before thread_watch. */
static __always_inline struct afs_thread *thread_new(__s32 tid, __u32 slot, __u32 number)
{
	struct afs_process *p = process_at(slot);
	struct afs_thread *t;
	__u32 i = 0;

	if (!p) {
		AFS_COUNT(shared.lost.process_slots);
		return NULL;
	}
	t = bpf_map_pop_elem(&free_thread, &i) ? NULL : bpf_map_lookup_elem(&thread, &i);
	if (!t) {
		AFS_COUNT(shared.lost.thread_slots);
		return NULL;
	}
	AFS_COUNT(p->threads);
	t->slot = i;
	t->process = slot;
	t->role = p->role;
	t->nr = AFS_NR_NONE;
	t->since_ns = bpf_ktime_get_ns();
	t->off = AFS_OFF_RUNQ;
	thread_account(t, number);
	t->tid = tid;
	AFS_COUNT(shared.n_threads);
	return t;
}

/* What the kernel counted of a thread whose time is up, for its process's book. */
static __always_inline void thread_end(struct afs_thread *t, const void *task)
{
	struct afs_process *p = process_of(t);
	struct afs_compat io = io_since(t, task);

	t->ended = 1;
	if (!p)
		return;
	if (!t->found) {
		__sync_fetch_and_add(&p->kernel.syscr, io.syscr);
		__sync_fetch_and_add(&p->kernel.syscw, io.syscw);
		__sync_fetch_and_add(&p->kernel.rchar, io.rchar);
		__sync_fetch_and_add(&p->kernel.wchar, io.wchar);
	}
	p->ended_ns = bpf_ktime_get_ns();
	AFS_COUNT(p->ended);
}

/* From here on the thread's calls count. false: the kernel has no storage for it. */
static __always_inline bool thread_watch(struct afs_thread *t, void *task)
{
	__u32 value = t->slot + 1;
#ifdef AFS_BY_TID
	__u32 tid = t->tid;

	if (!bpf_map_update_elem(&watched, &tid, &value, BPF_ANY))
		return true;
#else
	if (bpf_task_storage_get(&watched, task, &value, BPF_LOCAL_STORAGE_GET_F_CREATE))
		return true;
#endif
	thread_end(t, task);
	return false;
}

/*
 * What a fork makes: a helper program where a session forks, which works for the request in
 * service; otherwise another of its kind, such as a session of the server.
 */
static __always_inline __u32 child_role(const struct afs_thread *t)
{
	const struct afs_process *p = process_of(t);

	if (t->role == AFS_ROLE_AFPD && (!p || p->serving))
		return AFS_ROLE_OTHER;
	return t->role;
}

/* What "parent" makes: another thread of its process, or the first of a new one. */
static __always_inline struct afs_thread *child_new(const struct afs_thread *parent, __s32 tid,
						    __u64 clone_flags)
{
	__u32 slot = parent->process, role, number = AFS_ACCOUNT_THREADS;

	if (!(clone_flags & AFS_CLONE_THREAD)) {
		role = child_role(parent);
		number = role == AFS_ROLE_OTHER && parent->account < AFS_ACCOUNT_BETWEEN
			     ? parent->account
			     : AFS_ACCOUNT_NONE;
		slot = process_new(tid, role, slot);
	}
	return thread_new(tid, slot, number);
}

/* (new task, clone flags), in the task that makes it. */
SEC("tp_btf/task_newtask")
int on_newtask(__u64 *ctx)
{
	struct task_struct___afs *task = (void *)ctx[0];
	struct afs_thread *t = thread_current();
	int tid;

	if (!t)
		return 0;
	AFS_GET(tid, task->pid);
	t = child_new(t, tid, ctx[1]);
	if (t && !thread_watch(t, task))
		AFS_COUNT(shared.lost.storage);
	return 0;
}

/* (task, ...): a session that runs another program is a session no longer. */
SEC("tp_btf/sched_process_exec")
int on_exec(__u64 *ctx)
{
	struct afs_thread *t = thread_current();
	struct afs_process *p;

	if (!t || t->role != AFS_ROLE_AFPD)
		return 0;
	p = process_of(t);
	if (p)
		p->role = AFS_ROLE_OTHER;
	t->cell += AFS_CELL(AFS_ROLE_OTHER - AFS_ROLE_AFPD, 0, 0);
	t->role = AFS_ROLE_OTHER;
	thread_account(t, t->account);
	t->part = part_of(t, state_of(t));
	return 0;
}

/* Numbers are used again, storage goes with its task. */
static __always_inline void thread_forget(void)
{
#ifdef AFS_BY_TID
	__u32 tid = bpf_get_current_pid_tgid();

	bpf_map_delete_elem(&watched, &tid);
#endif
}

/* (task that ends) */
SEC("tp_btf/sched_process_exit")
int on_exit(__u64 *ctx)
{
	struct afs_thread *t = thread_of((void *)ctx[0]);

	if (t)
		thread_end(t, (void *)ctx[0]);
	thread_forget();
	return 0;
}

/*
 * The same for kernels that skip BTF tracepoints when they preempt one. Here a new thread is
 * known by its number only: it is taken over where it is first seen itself.
 */
static __always_inline __u32 newborn_take(__u32 tid)
{
	__u32 *value = bpf_map_lookup_elem(&newborn, &tid), slot;

	if (!value)
		return 0;
	slot = *value;
	bpf_map_delete_elem(&newborn, &tid);
	__sync_fetch_and_add(&shared.n_newborn, -1);
	return slot;
}

static __always_inline struct afs_thread *newborn_adopt(void)
{
	__u32 slot = newborn_take(bpf_get_current_pid_tgid());
	struct afs_thread *t;

	if (!slot)
		return NULL;
	t = thread_at(&slot);
	if (!t)
		return NULL;
	t->since_ns = bpf_ktime_get_ns();
	t->off = AFS_OFF_NOT;
	if (thread_watch(t, current_task()))
		return t;
	AFS_COUNT(shared.lost.storage);
	return NULL;
}

static __always_inline struct afs_thread *thread_or_newborn(void)
{
	struct afs_thread *t = thread_current();

	return t || !shared.n_newborn ? t : newborn_adopt();
}

SEC("?tp/raw_syscalls/sys_enter")
int on_tp_enter(struct afs_tp_enter *ctx)
{
	struct afs_thread *t = thread_or_newborn();
	unsigned long arg[4];

	if (!t)
		return 0;
	arg[0] = ctx->args[0];
	arg[1] = ctx->args[1];
	arg[2] = ctx->args[2];
	arg[3] = ctx->args[3];
	enter(t, current_task(), 0, ctx->nr, arg);
	return 0;
}

SEC("?tp/raw_syscalls/sys_exit")
int on_tp_exit(struct afs_tp_exit *ctx)
{
	struct afs_thread *t = thread_or_newborn();

	if (t)
		leave(t, current_task(), ctx->ret);
	return 0;
}

SEC("?tp/task/task_newtask")
int on_tp_newtask(struct afs_tp_newtask *ctx)
{
	struct afs_thread *t = thread_current();
	__u32 tid = ctx->pid, value;

	if (!t)
		return 0;
	t = child_new(t, tid, ctx->clone_flags);
	if (!t)
		return 0;
	value = t->slot + 1;
	if (bpf_map_update_elem(&newborn, &tid, &value, BPF_ANY))
		AFS_COUNT(shared.lost.storage);
	else
		AFS_COUNT(shared.n_newborn);
	return 0;
}

SEC("?tp/sched/sched_process_exit")
int on_tp_exit_task(void *ctx)
{
	struct afs_thread *t = thread_or_newborn();

	if (t)
		thread_end(t, current_task());
	thread_forget();
	return 0;
}

static __always_inline void mark_serving(const struct afs_thread *t)
{
	struct afs_process *p = process_of(t);

	if (p)
		p->serving = t->slot + 1;
}

/* Puts a thread that sleeps in a call into that call. */
static __always_inline void mark_call(struct afs_thread *t, struct task_struct___afs *task)
{
#ifndef AFS_BY_TID
	struct pt_regs___afs *regs;
	unsigned long arg[4];
#endif

	if (is_runnable(task))
		return;
	t->off = AFS_OFF_BLOCKED;
	t->nr = AFS_NR_ASLEEP;
	t->cell = AFS_CELL(t->role, AFS_CLASS_OTHER, AFS_OBJECT_UNKNOWN);
	t->part = part_of(t, AFS_STATE(AFS_CLASS_OTHER, AFS_OBJECT_UNKNOWN));
#ifndef AFS_BY_TID
	if (!bpf_core_enum_value_exists(enum bpf_func_id___afs, BPF_FUNC_task_pt_regs___afs))
		return;
	regs = (void *)bpf_task_pt_regs((void *)task);
	if (afs_nr(regs) < 0)
		return;
	arg[0] = afs_arg0(regs);
	arg[1] = afs_arg1(regs);
	arg[2] = afs_arg2(regs);
	arg[3] = afs_arg3(regs);
	/* A detour that makes a number of it: what a global function takes. */
	shared.mark.task = (__u64)task;
	enter(t, task, *(volatile __u64 *)&shared.mark.task, afs_nr(regs), arg);
#endif
}

/* One pass over all tasks: watches the threads of process "mark" that are not watched yet. */
SEC("iter/task")
int mark_process(struct bpf_iter__task___afs *ctx)
{
	struct task_struct___afs *task = ctx->task;
	struct afs_thread *t;

	if (!task || task->tgid != shared.mark.tgid || thread_of(task))
		return 0;
	if (shared.mark.slot < 0)
		shared.mark.slot = process_new(task->tgid, shared.mark.role, -1);
	t = thread_new(task->pid, shared.mark.slot,
		       task->pid == task->tgid ? shared.mark.account : AFS_ACCOUNT_THREADS);
	if (!t) {
		shared.mark.failed++;
		return 0;
	}
	if (t->account == AFS_ACCOUNT_BETWEEN)
		mark_serving(t);
	t->found = 1;
	mark_call(t, task);
	if (thread_watch(t, task))
		shared.mark.marked++;
	else
		shared.mark.failed++;
	return 0;
}
