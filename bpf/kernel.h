/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_KERNEL_H
#define AFS_KERNEL_H

/*
 * The few kernel types the programs read, with the few members they use. Everything after three
 * underscores in a name is ignored when the loader looks for the running kernel's type, and
 * preserve_access_index makes it look up every member's offset there: no layout is fixed here.
 */

#include <linux/bpf.h>
#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block___afs {
	__u32 s_dev;
	unsigned long s_magic;
};

struct inode___afs {
	unsigned short i_mode;
	unsigned int i_nlink;
	unsigned long i_ino;
	struct super_block___afs *i_sb;
};

struct qstr___afs {
	__u32 len;
	const unsigned char *name;
};

struct dentry___afs {
	struct dentry___afs *d_parent;
	struct qstr___afs d_name;
	struct inode___afs *d_inode;
};

struct path___afs {
	struct dentry___afs *dentry;
};

struct file___afs {
	struct inode___afs *f_inode;
	struct path___afs f_path;
	unsigned int f_flags;
	void *private_data; /* of a socket: struct socket */
	/* How many have it open; since Linux 6.13 f_ref, which is one less. */
	struct {
		long counter;
	} f_count;
	struct {
		struct {
			long counter;
		} refcnt;
	} f_ref;
};

struct in6_addr___afs {
	__u8 s6_addr[16];
};

struct sock_common___afs {
	unsigned short skc_family;
	__u16 skc_num;    /* local port, in host order */
	__be16 skc_dport; /* remote port */
	__be32 skc_daddr;
	int skc_bound_dev_if;
	struct in6_addr___afs skc_v6_daddr;
};

struct socket___afs;

struct sock___afs {
	struct sock_common___afs __sk_common;
	unsigned short sk_protocol;
	struct socket___afs *sk_socket;
};

struct tcp_sock___afs {
	__u64 bytes_received; /* all */
	__u32 rcv_nxt;        /* the next that will arrive */
	__u32 copied_seq;     /* the next that the program will read */
};

struct socket___afs {
	struct sock___afs *sk;
	struct file___afs *file;
};

struct unix_sock___afs {
	struct path___afs path; /* of the file that it, or what accepted it, is bound to */
	struct sock___afs *peer;
};

struct fdtable___afs {
	unsigned int max_fds;
	struct file___afs **fd;
};

struct files_struct___afs {
	struct fdtable___afs *fdt;
	struct {
		int counter;
	} count; /* of who shares it */
};

struct task_io_accounting___afs {
	__u64 rchar, wchar, syscr, syscw;
};

struct mm_struct___afs {
	unsigned long task_size; /* of its addresses */
};

struct cred___afs {
	struct {
		__u32 val;
	} euid;
};

struct signal_struct___afs {
	int nr_threads;
};

struct thread_info___afs {
	__u32 status; /* x86: AFS_TS_COMPAT */
};

struct task_struct___afs {
	struct thread_info___afs thread_info;
	char comm[16];
	struct signal_struct___afs *signal;
	struct mm_struct___afs *mm;
	int pid;
	int tgid;
	unsigned int flags;
	unsigned int __state;
	unsigned long jobctl;
	struct files_struct___afs *files;
	struct task_io_accounting___afs ioac;
	int exit_code;
	struct cred___afs *cred;
	void *bpf_storage;
};

/* States of a task: stopped, held by a debugger, or frozen; jobctl bit of a frozen cgroup. */
#define AFS_TASK_TRACED 0x8
#define AFS_TASK_HELD   (0x4 | AFS_TASK_TRACED | 0x8000)
#define AFS_TRAP_FREEZE (1ul << 23)

struct bpf_iter__task___afs {
	struct task_struct___afs *task;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs___afs {
	unsigned long r11, r10, r8, cx, dx, si, di, orig_ax, ip, flags;
};
#define AFS_ARGS(r)                                                                                \
	{                                                                                          \
		(r)->di, (r)->si, (r)->dx, (r)->r10                                                \
	}
#define AFS_ARG4(r) ((r)->r8)
#define afs_nr(r)   ((long)(r)->orig_ax)
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs___afs {
	__u64 regs[31];
	__s32 syscallno;
};
#define AFS_ARGS(r)                                                                                \
	{                                                                                          \
		(r)->regs[0], (r)->regs[1], (r)->regs[2], (r)->regs[3]                             \
	}
#define AFS_ARG4(r) ((r)->regs[4])
#define afs_nr(r)   ((long)(r)->syscallno)
#else
#error "no system call arguments known for this architecture"
#endif

#pragma clang attribute pop

/* The record of raw_syscalls:sys_enter and sys_exit; the same in every kernel. */
struct afs_tp_enter {
	__u64 common;
	long nr;
	unsigned long args[6];
};

struct afs_tp_exit {
	__u64 common;
	long nr;
	long ret;
};

/* task:task_newtask; the same since Linux 3.3. */
struct afs_tp_newtask {
	__u64 common;
	__s32 pid;
	char comm[16];
	__u64 clone_flags;
};

#define AFS_NR_URING_SETUP 425

/* The call in progress is one of 32-bit programs. */
#define AFS_TS_COMPAT    0x2

#define AFS_PF_EXITING   0x00000004
#define AFS_PF_IO_WORKER 0x00000010
#define AFS_CLONE_FILES  0x00000400
#define AFS_CLONE_THREAD 0x00010000
/* CLONE_UNTRACED and CLONE_IO: the kernel's own threads for io_uring; no program sets both. */
#define AFS_CLONE_WORKER 0x80800000u
/* In an exit code: memory was dumped. */
#define AFS_CORE_DUMPED 0x80
#define AFS_MSG_PEEK    0x2

#define AFS_UNIX        1
#define AFS_INET        2
#define AFS_INET6       10
#define AFS_TCP         6
#define AFS_UDP         17

#define AFS_S_IFMT      0170000
#define AFS_S_IFIFO     0010000
#define AFS_S_IFDIR     0040000
#define AFS_S_IFREG     0100000
#define AFS_S_IFSOCK    0140000

#endif
