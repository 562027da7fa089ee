// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts every system call of the watched threads. A thread is watched when it has a task
 * storage: both probes look there first and do nothing else for everybody else. User space
 * marks the threads of a process with the iterator; what these start is followed here.
 *
 * Each cell is written by one program only, on its own CPU's stripe, so plain adds are exact.
 */

#include "bpf/calls.h"
#include "bpf/hist.h"
#include "bpf/kernel.h"
#include "bpf/object.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include <asm-generic/errno.h>
#include <linux/fcntl.h>
#include <stdbool.h>

char licence[] SEC("license") = "GPL";

/* Set before loading. */
const volatile struct afs_call calls[AFS_N_CALLS];
const volatile bool objects_on = true;

/* In .bss: seen by user space through a mapping. */
struct afs_inodes inodes;
struct afs_lost lost;
struct afs_mark mark;
__u32 n_threads, n_processes;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32); /* its slot in "thread" + 1 */
} watched SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, AFS_N_THREADS);
	__type(key, __u32);
	__type(value, struct afs_thread);
} thread SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, AFS_N_PROCESSES);
	__type(key, __u32);
	__type(value, struct afs_process);
} process SEC(".maps");

/* Stripes of AFS_N_CELLS and of AFS_N_PROCESSES: user space sets the number of CPUs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, AFS_N_CELLS);
	__type(key, __u32);
	__type(value, struct afs_cell);
} cell SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, AFS_N_PROCESSES);
	__type(key, __u32);
	__type(value, struct afs_compat);
} compat SEC(".maps");

static __always_inline struct afs_thread *thread_of(void *task)
{
	const struct task_struct___afs *t = task;
	__u32 *slot, i;

	if (!t->bpf_storage)
		return NULL;
	slot = bpf_task_storage_get(&watched, task, NULL, 0);
	if (!slot)
		return NULL;
	i = *slot - 1;
	return bpf_map_lookup_elem(&thread, &i);
}

static __always_inline bool is_lock(unsigned long cmd)
{
	return (cmd >= F_GETLK && cmd <= F_SETLKW) || (cmd >= F_OFD_GETLK && cmd <= F_OFD_SETLKW);
}

/* What exec reads by itself is known to the kernel's account only. */
static __always_inline void exec_enter(struct afs_thread *t, const struct task_struct___afs *task)
{
	if (!bpf_core_field_exists(task->ioac.rchar))
		return;
	t->syscr = task->ioac.syscr;
	t->rchar = task->ioac.rchar;
}

static __always_inline void exec_leave(struct afs_thread *t, const struct task_struct___afs *task,
				       struct afs_compat *c)
{
	if (!bpf_core_field_exists(task->ioac.rchar))
		return;
	c->syscr += task->ioac.syscr - t->syscr;
	c->rchar += task->ioac.rchar - t->rchar;
}

static __always_inline void forget(struct afs_process *p, __u32 fd)
{
	if (fd == AFS_FD_ALL)
		__builtin_memset(p->object, 0, sizeof(p->object));
	else if (fd < AFS_N_FDS)
		p->object[fd] = 0;
}

/* What a descriptor is, remembered until a call closes it. */
static __always_inline __u32 object_of(struct afs_process *p, const void *task, __u32 fd)
{
	__u32 object;

	if (!objects_on)
		return AFS_OBJECT_UNKNOWN;
	if (p->epoch != inodes.epoch) {
		p->epoch = inodes.epoch;
		forget(p, AFS_FD_ALL);
	}
	if (fd >= AFS_N_FDS)
		return object_of_fd(task, fd, &inodes);
	object = p->object[fd];
	if (object)
		return object - 1;
	object = object_of_fd(task, fd, &inodes);
	if (object != AFS_OBJECT_NONE)
		p->object[fd] = object + 1;
	return object;
}

static __always_inline void enter(struct afs_thread *t, void *task, long nr,
				  const unsigned long arg[3])
{
	struct afs_call call = { .class = AFS_CLASS_OTHER, .fd = AFS_FD_NONE };
	__u32 object = AFS_OBJECT_NONE, slot = t->process, fd;
	struct afs_process *p;

	if ((unsigned long)nr < AFS_N_CALLS)
		call = calls[nr];
	if (call.flags & AFS_CALL_LOCKS && is_lock(arg[1]))
		call.class = AFS_CLASS_LOCK;
	if (call.flags & AFS_CALL_EXEC)
		exec_enter(t, task);
	t->closes = AFS_FD_KEEP;
	if (call.fd != AFS_FD_NONE || call.closes) {
		p = bpf_map_lookup_elem(&process, &slot);
		if (!p)
			return;
		fd = call.fd == 0 ? arg[0] : call.fd == 1 ? arg[1] : arg[2];
		if (call.fd != AFS_FD_NONE)
			object = object_of(p, task, fd);
		if (call.closes) {
			t->closes = call.closes == AFS_CLOSES_ARG0   ? arg[0]
				    : call.closes == AFS_CLOSES_ARG1 ? arg[1]
								     : AFS_FD_ALL;
			forget(p, t->closes);
		}
	}
	t->cell = t->base + call.class * AFS_N_OBJECTS + object;
	t->flags = call.flags;
	t->nr = nr;
	t->seq++;
	t->entered_ns = bpf_ktime_get_ns();
}

/* Once more after the call: another thread may have looked at the descriptor meanwhile. */
static __always_inline void forget_closed(const struct afs_thread *t)
{
	__u32 slot = t->process;
	struct afs_process *p = bpf_map_lookup_elem(&process, &slot);

	if (p)
		forget(p, t->closes);
}

static __always_inline void count_compat(struct afs_thread *t, const void *task, __u32 cpu,
					 long ret)
{
	__u32 i = cpu * AFS_N_PROCESSES + t->process;
	struct afs_compat *c;

	if ((ret == -EBADF || ret == -ESPIPE) && !(t->flags & AFS_COMPAT_ALWAYS))
		return;
	if (ret <= 0 && t->flags & AFS_COMPAT_MOVED)
		return;
	c = bpf_map_lookup_elem(&compat, &i);
	if (!c)
		return;
	if (t->flags & AFS_CALL_EXEC)
		exec_leave(t, task, c);
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

static __always_inline void leave(struct afs_thread *t, const void *task, long ret)
{
	__u64 ns = bpf_ktime_get_ns() - t->entered_ns;
	__u32 cpu = bpf_get_smp_processor_id();
	__u32 i = cpu * AFS_N_CELLS + t->cell;
	__u32 bucket = afs_hist_index(ns);
	struct afs_cell *c;

	if (t->nr < 0)
		return;
	c = bpf_map_lookup_elem(&cell, &i);
	if (!c || bucket >= AFS_HIST_BUCKETS)
		return;
	c->calls++;
	c->ns += ns;
	c->hist[bucket]++;
	if ((unsigned long)ret >= (unsigned long)-4095 && !(t->flags & AFS_CALL_NORESULT))
		c->errors++;
	else if (t->flags & AFS_CALL_MOVES)
		c->bytes += ret;
	if (t->flags & (AFS_COMPAT_READ | AFS_COMPAT_WRITE | AFS_CALL_EXEC))
		count_compat(t, task, cpu, ret);
	if (t->closes != AFS_FD_KEEP)
		forget_closed(t);
	t->nr = AFS_NR_NONE;
	t->seq++;
}

/* Arguments of a BTF tracepoint are an array of u64: (registers, number) and (registers, result).
 */
SEC("tp_btf/sys_enter")
int on_sys_enter(__u64 *ctx)
{
	const struct pt_regs___afs *regs = (const void *)ctx[0];
	void *task = bpf_get_current_task_btf();
	struct afs_thread *t = thread_of(task);
	unsigned long arg[3];

	if (!t)
		return 0;
	arg[0] = afs_arg0(regs);
	arg[1] = afs_arg1(regs);
	arg[2] = afs_arg2(regs);
	enter(t, task, ctx[1], arg);
	return 0;
}

SEC("tp_btf/sys_exit")
int on_sys_exit(__u64 *ctx)
{
	void *task = bpf_get_current_task_btf();
	struct afs_thread *t = thread_of(task);

	if (t)
		leave(t, task, ctx[1]);
	return 0;
}

/* The same for kernels that skip BTF tracepoints when they preempt one. */
SEC("?tp/raw_syscalls/sys_enter")
int on_tp_enter(struct afs_tp_enter *ctx)
{
	void *task = bpf_get_current_task_btf();
	struct afs_thread *t = thread_of(task);
	unsigned long arg[3];

	if (!t)
		return 0;
	arg[0] = ctx->args[0];
	arg[1] = ctx->args[1];
	arg[2] = ctx->args[2];
	enter(t, task, ctx->nr, arg);
	return 0;
}

SEC("?tp/raw_syscalls/sys_exit")
int on_tp_exit(struct afs_tp_exit *ctx)
{
	void *task = bpf_get_current_task_btf();
	struct afs_thread *t = thread_of(task);

	if (t)
		leave(t, task, ctx->ret);
	return 0;
}

/* A slot in "process"; -1: none left. */
static __always_inline __s32 process_new(int tgid, __u32 role, __s32 parent)
{
	__u32 i = __sync_fetch_and_add(&n_processes, 1);
	struct afs_process *p = bpf_map_lookup_elem(&process, &i);

	if (!p)
		return -1;
	p->role = role;
	p->parent = parent;
	p->tgid = tgid;
	return i;
}

/* A slot for a thread of process "slot"; NULL: none left. Nothing sees it before thread_watch. */
static __always_inline struct afs_thread *thread_new(const struct task_struct___afs *task,
						     __u32 slot, __u32 *out)
{
	struct afs_process *p = bpf_map_lookup_elem(&process, &slot);
	struct afs_thread *t;
	__u32 i;

	if (!p) {
		__sync_fetch_and_add(&lost.process_slots, 1);
		return NULL;
	}
	i = __sync_fetch_and_add(&n_threads, 1);
	t = bpf_map_lookup_elem(&thread, &i);
	if (!t) {
		__sync_fetch_and_add(&lost.thread_slots, 1);
		return NULL;
	}
	__sync_fetch_and_add(&p->threads, 1);
	t->process = slot;
	t->base = p->role * AFS_N_CLASSES * AFS_N_OBJECTS;
	t->nr = AFS_NR_NONE;
	t->tid = task->pid;
	*out = i;
	return t;
}

static __always_inline void thread_end(struct afs_thread *t)
{
	__u32 slot = t->process;
	struct afs_process *p = bpf_map_lookup_elem(&process, &slot);

	t->ended = 1;
	if (p)
		__sync_fetch_and_add(&p->ended, 1);
}

/* From here on the thread's calls count. false: the kernel has no storage for it. */
static __always_inline bool thread_watch(struct afs_thread *t, void *task, __u32 i)
{
	__u32 value = i + 1;

	if (bpf_task_storage_get(&watched, task, &value, BPF_LOCAL_STORAGE_GET_F_CREATE))
		return true;
	thread_end(t);
	return false;
}

/* (new task, clone flags), in the task that makes it. */
SEC("tp_btf/task_newtask")
int on_newtask(__u64 *ctx)
{
	struct task_struct___afs *task = (void *)ctx[0];
	struct afs_thread *t = thread_of(bpf_get_current_task_btf());
	__u32 slot, i = 0;

	if (!t)
		return 0;
	slot = t->process;
	if (!(ctx[1] & AFS_CLONE_THREAD))
		slot = process_new(task->tgid, AFS_ROLE_OTHER, slot);
	t = thread_new(task, slot, &i);
	if (t && !thread_watch(t, task, i))
		__sync_fetch_and_add(&lost.storage, 1);
	return 0;
}

/* (task that ends) */
SEC("tp_btf/sched_process_exit")
int on_exit(__u64 *ctx)
{
	struct afs_thread *t = thread_of((void *)ctx[0]);

	if (t)
		thread_end(t);
	return 0;
}

static __always_inline bool is_asleep(const struct task_struct___afs *task)
{
	const struct task_struct___afs_old *old = (const void *)task;

	if (bpf_core_field_exists(task->__state))
		return task->__state & 3;
	return old->state & 3;
}

/* Puts a thread that sleeps in a call into that call. */
static __always_inline void mark_call(struct afs_thread *t, struct task_struct___afs *task)
{
	struct pt_regs___afs *regs;
	unsigned long arg[3];

	if (!is_asleep(task))
		return;
	t->nr = AFS_NR_ASLEEP;
	if (!bpf_core_enum_value_exists(enum bpf_func_id___afs, BPF_FUNC_task_pt_regs___afs))
		return;
	regs = (void *)bpf_task_pt_regs((void *)task);
	if (afs_nr(regs) < 0)
		return;
	arg[0] = afs_arg0(regs);
	arg[1] = afs_arg1(regs);
	arg[2] = afs_arg2(regs);
	enter(t, task, afs_nr(regs), arg);
}

/* One pass over all tasks: watches the threads of process "mark" that are not watched yet. */
SEC("iter/task")
int mark_process(struct bpf_iter__task___afs *ctx)
{
	struct task_struct___afs *task = ctx->task;
	struct afs_thread *t;
	__u32 i = 0;

	if (!task || task->tgid != mark.tgid || thread_of(task))
		return 0;
	if (mark.slot < 0)
		mark.slot = process_new(task->tgid, mark.role, -1);
	t = thread_new(task, mark.slot, &i);
	if (!t) {
		mark.failed++;
		return 0;
	}
	mark_call(t, task);
	if (thread_watch(t, task, i))
		mark.marked++;
	else
		mark.failed++;
	return 0;
}
