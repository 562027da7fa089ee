/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts every system call of the watched threads, and where their time goes. A thread is watched
 * when it has a task storage: all probes check that first and do nothing for other threads. User
 * space marks the threads of a process with the iterator; their children are followed here.
 */

#include "bpf/count.h"
#include "bpf/maps.h"
#include "bpf/time.h"

#include <bpf/bpf_helpers.h>
#include <stdbool.h>

char licence[] SEC("license") = "GPL";

/* As enter(), with the arguments that are in the registers. */
static __always_inline void enter_by(struct afs_stripe *s, struct afs_thread *t, void *task,
				     __u64 address, long nr, const struct pt_regs___afs *regs)
{
	unsigned long arg[AFS_N_ARGS];

	__builtin_memcpy(arg, (unsigned long[])AFS_ARGS(regs), 4 * sizeof(arg[0]));
	if (datagrams())
		arg[4] = AFS_ARG4(regs);
	enter(s, t, task, address, nr, arg, task ? NULL : regs);
}

/* Arguments of a BTF tracepoint are an array of u64: (registers, number), (registers, result). */
SEC("tp_btf/sys_enter")
int on_sys_enter(__u64 *ctx)
{
	const struct pt_regs___afs *regs = (const void *)ctx[0];
	struct afs_stripe *s = stripe_here();
	struct afs_thread *t = s ? thread_in_call(s, regs) : NULL;

	if (s && t)
		enter_by(s, t, NULL, 0, ctx[1], regs);
	return 0;
}

SEC("tp_btf/sys_exit")
int on_sys_exit(__u64 *ctx)
{
	struct afs_stripe *s = stripe_here();
	struct afs_thread *t = s ? thread_in_call(s, (const void *)ctx[0]) : NULL;

	if (s && t)
		leave(s, t, ctx[1]);
	return 0;
}

static __always_inline bool is_runnable(const struct task_struct___afs *task)
{
	return !task->__state;
}

/* Why a task leaves its CPU. Tasks frozen by a cgroup look as if they waited for a signal. */
static __always_inline __u8 off_of(bool preempted, const struct task_struct___afs *task)
{
	if (preempted || is_runnable(task))
		return AFS_OFF_RUNQ;
	return task->__state & AFS_TASK_HELD || task->jobctl & AFS_TRAP_FREEZE ? AFS_OFF_STOPPED
									       : AFS_OFF_BLOCKED;
}

/* By a debugger, or strace: it stops, or is stopped, until that lets it go on. */
static __always_inline bool is_traced(const struct task_struct___afs *task)
{
	return task->__state & AFS_TASK_TRACED;
}

/* (preempted, task that leaves the CPU, task that gets it) */
SEC("tp_btf/sched_switch")
int on_switch(__u64 *ctx)
{
	struct task_struct___afs *prev = (void *)ctx[1];
	struct afs_stripe *s = stripe_here();
	struct afs_thread *t;

	if (!s)
		return 0;
	t = thread_here(s, prev);
	if (t && t->off == AFS_OFF_NOT) {
		switch_out(s, t, off_of(ctx[0] & 1, prev));
		t->traced = is_traced(prev);
	}
	if (t && tracing(AFS_TRACE_SMALL))
		batch_end();
	t = thread_here(s, (void *)ctx[2]);
	if (t)
		switch_in(s, t);
	return 0;
}

/* (task that is to wake up): from here on it waits for a CPU. In whatever runs at that moment. */
SEC("tp_btf/sched_waking")
int on_waking(__u64 *ctx)
{
	struct afs_stripe *s = stripe_here();
	struct afs_thread *t = s ? thread_hinted(s) : NULL;

	if (!t || t->task != ctx[0])
		t = thread_of((void *)ctx[0]);
	if (t)
		wake(t);
	return 0;
}

/* A slot in "process"; -1: none left. */
static __always_inline __s32 process_new(int tgid, __u32 role, __s32 parent)
{
	__u32 i = pool_take(AFS_SLOTS_PROCESS);
	struct afs_process *p = process_at(i);

	if (!p)
		return -1;
	p->role = role;
	p->parent = parent;
	p->begun_ns = p->looked_ns = bpf_ktime_get_ns();
	AFS_PUBLISH(p->tgid, tgid);
	if (!p->used)
		AFS_COUNT(shared.n_processes);
	p->used = 1;
	AFS_COUNT(shared.n_begun);
	return i;
}

/* A slot for a thread of process "slot"; NULL: none left. Invisible before thread_watch. */
static __always_inline struct afs_thread *thread_new(__s32 tid, __u32 slot, __u32 number)
{
	struct afs_process *p = process_at(slot);
	struct afs_thread *t;
	__u32 i;

	if (!p)
		return NULL;
	i = pool_take(AFS_SLOTS_THREAD);
	t = bpf_map_lookup_elem(&thread, &i);
	if (!t)
		return NULL;
	AFS_COUNT(p->threads);
	t->slot = i;
	t->process = slot;
	t->role = p->role;
	t->session = p->tgid;
	t->nr = AFS_NR_NONE;
	t->since_ns = bpf_ktime_get_ns();
	t->off = AFS_OFF_RUNQ;
	thread_account(t, number);
	t->ended = 0;
	AFS_PUBLISH(t->tid, tid); /* from here on user space collects it if it has ended */
	if (!t->used)
		AFS_COUNT(shared.n_threads);
	t->used = 1;
	return t;
}

/* Adds the kernel's account of a thread that ends to its process's, for the cross-check. */
static __always_inline void thread_end(struct afs_thread *t, const struct task_struct___afs *task)
{
	struct afs_process *p = process_of(t);
	struct afs_compat io = io_since(t, task);
	struct afs_stream *s;

	AFS_COUNT_LAST(t->seq); /* its calls are all there once user space sees that it has ended */
	t->ended = 1;
	if (!p)
		return;
	/* What the kernel writes to a dump of memory is in its account, and no call. */
	if (task->exit_code & AFS_CORE_DUMPED) {
		io.syscw = t->counted.syscw;
		io.wchar = t->counted.wchar;
	}
	if (!t->found) {
		__sync_fetch_and_add(&p->kernel.syscr, io.syscr);
		__sync_fetch_and_add(&p->kernel.syscw, io.syscw);
		__sync_fetch_and_add(&p->kernel.rchar, io.rchar);
		__sync_fetch_and_add(&p->kernel.wchar, io.wchar);
	}
	p->ended_ns = bpf_ktime_get_ns();
	if (t->tid == p->tgid)
		p->exit_code = task->exit_code;
	s = tracing(AFS_TRACE_SMALL) ? stream_at(t->stream) : NULL;
	if (s && s->serving == t->slot + 1)
		trace_served(p, s);
	AFS_COUNT_LAST(p->ended); /* after that user space may collect the process */
	if (tracing(AFS_TRACE_SMALL))
		batch_end();
}

/* From here on the thread's calls are counted. false: the kernel has no storage for it. */
static __always_inline bool thread_watch(struct afs_thread *t, void *task)
{
	__u32 value = t->slot + 1;

	t->task = (__u64)task;
	if (bpf_task_storage_get(&watched, task, &value, BPF_LOCAL_STORAGE_GET_F_CREATE))
		return true;
	thread_end(t, task);
	return false;
}

static __always_inline bool is_32bit(const struct task_struct___afs *task)
{
	return task->mm && task->mm->task_size <= 1ull << 32;
}

/*
 * The role of a child: a session forks helper programs, which work for the request in service; any
 * other process forks one of its own role, such as the server a session.
 */
static __always_inline __u32 child_role(const struct afs_thread *t)
{
	const struct afs_process *p = process_of(t);

	if (t->role == AFS_ROLE_SERVER && (!p || p->serving))
		return AFS_ROLE_HELPER;
	return t->role;
}

/* The child of "parent": another thread of its process, or the first of a new one. */
static __always_inline struct afs_thread *child_new(const struct afs_thread *parent, __s32 tid,
						    __u64 clone_flags)
{
	__u32 slot = parent->process, role, number = AFS_ACCOUNT_THREADS;
	struct afs_process *p, *up;
	struct afs_thread *t;

	/* A thread that io_uring makes for itself: it makes no calls. */
	if ((clone_flags & AFS_CLONE_WORKER) == AFS_CLONE_WORKER) {
		if (parent->nr == AFS_NR_URING_SETUP)
			AFS_COUNT(shared.lost.uring_polls);
		return NULL;
	}
	if (!(clone_flags & AFS_CLONE_THREAD)) {
		role = child_role(parent);
		number = role > AFS_ROLE_BACKEND && parent->account < AFS_ACCOUNT_BETWEEN
			     ? parent->account
			     : AFS_ACCOUNT_NONE;
		slot = process_new(tid, role, slot);
		p = process_at(slot);
		if (p)
			p->is_32bit = parent->is_32bit;
		/* They have their descriptors together: each may close what the other uses. */
		up = p && clone_flags & AFS_CLONE_FILES ? process_of(parent) : NULL;
		if (up) {
			p->shares = up->shares = 1;
			forget_all(parent->process);
		}
	}
	t = thread_new(tid, slot, number);
	if (!t && process_at(slot))
		AFS_COUNT(shared.lost.thread_slots);
	else if (!t)
		AFS_COUNT(shared.lost.process_slots);
	else
		t->is_32bit = parent->is_32bit;
	if (t && tracing(AFS_TRACE_CALLS))
		t->dsi_id = parent->dsi_id;
	return t;
}

/* (new task, clone flags), in the task that makes it. */
SEC("tp_btf/task_newtask")
int on_newtask(__u64 *ctx)
{
	struct task_struct___afs *task = (void *)ctx[0];
	struct afs_thread *t = thread_current();

	if (!t)
		return 0;
	t = child_new(t, task->pid, ctx[1]);
	if (t && !thread_watch(t, task))
		AFS_COUNT(shared.lost.storage);
	return 0;
}

/*
 * (task, ...): the thread takes over the process's number. A session that runs another program is a
 * session no longer.
 */
SEC("tp_btf/sched_process_exec")
int on_exec(__u64 *ctx)
{
	const struct task_struct___afs *task = (const void *)ctx[0];
	struct afs_thread *t = thread_current();
	struct afs_process *p;

	if (!t)
		return 0;
	t->tid = task->pid;
	t->is_32bit = is_32bit(task);
	p = process_of(t);
	if (p)
		p->is_32bit |= t->is_32bit;
	if (t->role != AFS_ROLE_SERVER)
		return 0;
	if (p)
		p->role = AFS_ROLE_OTHER;
	t->cell += AFS_CELL(AFS_ROLE_OTHER - AFS_ROLE_SERVER, 0, 0);
	t->role = AFS_ROLE_OTHER;
	thread_account(t, t->account);
	t->part = part_of(t, state_of(t));
	return 0;
}

/* (task that ends) */
SEC("tp_btf/sched_process_exit")
int on_exit(__u64 *ctx)
{
	struct afs_thread *t = thread_known((void *)ctx[0]);

	if (!t)
		return 0;
	stream_leave(t->process);
	thread_end(t, (void *)ctx[0]);
	return 0;
}

/* (result, socket): a datagram found no room in it. In whatever runs when it arrives. */
SEC("?tp_btf/udp_fail_queue_rcv_skb")
int on_udp_drop(__u64 *ctx)
{
	const struct sock___afs *sk = (const void *)ctx[1];
	const struct file___afs *file = BPF_CORE_READ(sk, sk_socket, file);
	struct afs_stream *s = file ? stream_known(socket_of(file)) : NULL;

	if (s)
		AFS_COUNT(s->drops);
	return 0;
}

/*
 * The same for kernels that skip BTF tracepoints when they preempt one. Here only the number of a
 * new thread is known: it gets its slot when it is first seen running.
 */
static __always_inline struct afs_thread *newborn_adopt(void)
{
	__u32 tid = bpf_get_current_pid_tgid(), *value = bpf_map_lookup_elem(&newborn, &tid), slot;
	struct afs_thread *t;

	if (!value)
		return NULL;
	slot = *value;
	bpf_map_delete_elem(&newborn, &tid);
	__sync_fetch_and_add(&shared.n_newborn, -1);
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

static __always_inline struct afs_thread *thread_or_newborn(struct afs_stripe *s)
{
	struct afs_thread *t = thread_here(s, current_task());

	return t || !shared.n_newborn ? t : newborn_adopt();
}

SEC("?tp/raw_syscalls/sys_enter")
int on_tp_enter(struct afs_tp_enter *ctx)
{
	struct afs_stripe *s = stripe_here();
	struct afs_thread *t = s ? thread_or_newborn(s) : NULL;
	unsigned long arg[AFS_N_ARGS];

	if (!s || !t)
		return 0;
	__builtin_memcpy(arg, ctx->args, 4 * sizeof(arg[0]));
	if (datagrams())
		arg[4] = ctx->args[4];
	enter(s, t, NULL, 0, ctx->nr, arg, NULL);
	return 0;
}

SEC("?tp/raw_syscalls/sys_exit")
int on_tp_exit(struct afs_tp_exit *ctx)
{
	struct afs_stripe *s = stripe_here();
	struct afs_thread *t = s ? thread_or_newborn(s) : NULL;

	if (s && t)
		leave(s, t, ctx->ret);
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
	struct afs_stripe *s = stripe_here();
	struct afs_thread *t = s ? thread_or_newborn(s) : NULL;

	if (!t)
		return 0;
	stream_leave(t->process);
	thread_end(t, current_task());
	return 0;
}

static __always_inline void mark_found(__u32 slot, const struct task_struct___afs *task)
{
	struct afs_process *p = process_at(slot);

	if (!p)
		return;
	p->found = 1;
	p->is_32bit = is_32bit(task);
	if (task->files && task->signal && task->files->count.counter > task->signal->nr_threads)
		p->shares = 1;
}

/* Sets the state of a thread that is found asleep in a call to that call. */
static __always_inline void mark_call(struct afs_thread *t, struct task_struct___afs *task)
{
	struct afs_stripe *s = stripe_here();
	struct pt_regs___afs *regs;

	if (is_runnable(task))
		return;
	t->off = off_of(false, task);
	t->traced = is_traced(task);
	if (t->off == AFS_OFF_STOPPED)
		return;
	t->nr = AFS_NR_ASLEEP;
	enter_cell(t, AFS_CLASS_OTHER, AFS_OBJECT_UNKNOWN);
	regs = (void *)bpf_task_pt_regs((void *)task);
	if (!s || afs_nr(regs) < 0)
		return;
	/* Turns the pointer into a number, as a global function needs it. */
	shared.mark.task = (__u64)task;
	enter_by(s, t, task, *(volatile __u64 *)&shared.mark.task, afs_nr(regs), regs);
}

/* The place of a process in the list of those wanted, or of one before it. */
__noinline __u32 want_find(__s32 tgid)
{
	__u64 at = 0, next;

	for (__u64 step = AFS_N_WANTS / 2; step; step /= 2) {
		next = (at + step) & (AFS_N_WANTS - 1);
		at += step * (1 - is_negative((__s64)tgid - shared.mark.want[next].tgid));
	}
	return at;
}

/*
 * A pass over all tasks: watches the threads of wanted processes that are not watched yet. A thread
 * found asleep may wake at any moment: it gets its storage before its state is read, so that the
 * wake-up is seen. Called without a task at the end.
 */
SEC("iter/task")
int mark_processes(struct bpf_iter__task___afs *ctx)
{
	struct task_struct___afs *task = ctx->task;
	struct afs_process *p;
	struct afs_thread *t;
	struct afs_want *w;
	__u32 at;

	/* An exiting task may have been watched before, and its slot be reused. */
	if (!task || task->flags & AFS_PF_EXITING)
		return 0;
	at = want_find(task->tgid);
	if (!AFS_BELOW(at, AFS_N_WANTS))
		return 0;
	w = &shared.mark.want[at];
	if (w->tgid != task->tgid || thread_known(task))
		return 0;
	if (task->flags & AFS_PF_IO_WORKER) {
		/* "iou-sqp-PID", not "iou-wrk-PID"; each pass counts it again. */
		if (task->comm[4] == 's')
			shared.lost.uring_polls++;
		return 0;
	}
	if (w->slot < 0) {
		w->slot = process_new(task->tgid, w->role, -1);
		mark_found(w->slot, task);
	}
	t = thread_new(task->pid, w->slot,
		       task->pid == task->tgid ? w->account : AFS_ACCOUNT_THREADS);
	if (!t) {
		shared.mark.failed++;
		return 0;
	}
	p = t->account == AFS_ACCOUNT_BETWEEN ? process_of(t) : NULL;
	if (p)
		p->serving = t->slot + 1;
	t->is_32bit = is_32bit(task);
	t->found = 1;
	t->marking = 1;
	if (thread_watch(t, task)) {
		mark_call(t, task);
		shared.mark.marked++;
	} else {
		shared.mark.failed++;
	}
	barrier(); /* its state must be written before */
	t->marking = 0;
	return 0;
}
