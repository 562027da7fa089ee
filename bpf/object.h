/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_OBJECT_H
#define AFS_OBJECT_H

/*
 * Classifies a descriptor of the current task by the kernel's own structures. The array of open
 * files cannot be followed with types, so everything from there on is read with
 * bpf_probe_read_kernel, which a locked down kernel refuses: then this file's code is dead
 * (see setup.objects_on) and all descriptors are AFS_OBJECT_UNKNOWN.
 */

#include "bpf/maps.h"

#include <linux/fcntl.h>

/* What user space has said of an inode, or AFS_N_OBJECTS. */
__noinline __u32 object_listed(__u64 ino, __u32 dev)
{
	const volatile struct afs_inodes *known = &shared.inodes;
	const volatile struct afs_inode *at = known->inode;
	__u32 n = known->n;

	for (__u32 i = 0; i < AFS_N_INODES; i++) {
		if (i >= n)
			break;
		if (at[i].ino == ino && (!at[i].dev || at[i].dev == dev))
			return at[i].object;
	}
	return AFS_N_OBJECTS;
}

static __always_inline __u32 object_known(const struct inode___afs *inode)
{
	return object_listed(BPF_CORE_READ(inode, i_ino), BPF_CORE_READ(inode, i_sb, s_dev));
}

#define OBJECT_CALLED_LEN 16

/* Whether a folder has this name, of n bytes. */
static __always_inline bool object_is_called(const struct dentry___afs *dentry, const char *want,
					     __u32 n)
{
	char text[OBJECT_CALLED_LEN] = {};

	if (BPF_CORE_READ(dentry, d_name.len) != n)
		return false;
	bpf_probe_read_kernel(text, n, BPF_CORE_READ(dentry, d_name.name));
	for (__u32 i = 0; i < n; i++)
		if (text[i] != want[i])
			return false;
	return true;
}

#define AFS_PROC_MAGIC  0x9fa0
#define AFS_SYSFS_MAGIC 0x62656572

/*
 * A file of a brick. Below .glusterfs are links to its data files, in folders named after the first
 * digits of their number (.glusterfs/f4/60/NUMBER) or in "unlink", and besides them its indexes,
 * changelogs and marks.
 */
#define OBJECT_DEPTH 6 /* of .glusterfs/changelogs/YEAR/MONTH/DAY/NAME */

static __always_inline __u32 object_of_brick(const struct inode___afs *inode,
					     const struct dentry___afs *dentry)
{
	unsigned long magic = BPF_CORE_READ(inode, i_sb, s_magic);
	const struct dentry___afs *up;
	__u32 len;

	if (magic == AFS_PROC_MAGIC || magic == AFS_SYSFS_MAGIC)
		return AFS_OBJECT_OTHER;
	for (int i = 0; i < OBJECT_DEPTH; i++) {
		up = BPF_CORE_READ(dentry, d_parent);
		if (!up || up == dentry)
			break;
		if (object_is_called(up, ".glusterfs", 10)) {
			len = BPF_CORE_READ(dentry, d_name.len);
			return len == 2 || len == 6 ? AFS_OBJECT_DATA : AFS_OBJECT_META;
		}
		dentry = up;
	}
	return AFS_OBJECT_DATA;
}

/*
 * Logs: files that are only ever appended to, and standard output and error. A brick's data files
 * may be opened so, too, but have a second link below .glusterfs.
 */
static __always_inline bool object_is_log(const struct file___afs *file,
					  const struct inode___afs *inode, __u32 fd)
{
	unsigned int flags = BPF_CORE_READ(file, f_flags);

	if ((flags & O_ACCMODE) != O_WRONLY || !(flags & O_APPEND || fd == 1 || fd == 2))
		return false;
	return setup.files != AFS_FILES_GLUSTER || BPF_CORE_READ(inode, i_nlink) == 1;
}

#define OBJECT_NAME_LEN 64 /* of a name, so much is compared; a multiple of 8 */

/* Whether two names differ in their next bytes, n or 8. */
__noinline int object_differs(__u64 name, __u64 folder, __u32 n)
{
	__u64 a = 0, b = 0;

	bpf_probe_read_kernel(&a, sizeof(a), (const void *)name);
	bpf_probe_read_kernel(&b, sizeof(b), (const void *)folder);
	/* What is after the end of the shorter name is cut off. */
	a ^= b;
	return (n < 8 ? a << (64 - 8 * n) : a) != 0;
}

/*
 * Whether it is a file of the SQLite database of a volume: NAME/NAME.sqlite, as netatalk makes it,
 * or its NAME.sqlite-wal, -shm, -journal. The names are addresses.
 */
__noinline int object_is_sqlite(__u64 name, __u64 folder, __u32 len)
{
	const union {
		char text[8];
		__u64 word;
	} want = { { '.', 's', 'q', 'l', 'i', 't', 'e' } };
	__u64 end = 0;

	bpf_probe_read_kernel(&end, sizeof(end), (const void *)(name + len));
	if (end << 8 != want.word << 8 || (end >> 56 && end >> 56 != '-'))
		return 0;
	for (__u32 at = 0; at < OBJECT_NAME_LEN && at < len; at += 8)
		if (object_differs(name + at, folder + at, len - at))
			return 0;
	return 1;
}

static __always_inline __u32 object_of_file(const struct file___afs *file,
					    const struct inode___afs *inode, __u32 fd)
{
	const struct dentry___afs *dentry, *parent;
	const unsigned char *name;
	char first[2] = {};

	if (object_is_log(file, inode, fd))
		return AFS_OBJECT_LOG;
	dentry = BPF_CORE_READ(file, f_path.dentry);
	if (setup.files == AFS_FILES_GLUSTER)
		return object_of_brick(inode, dentry);
	parent = BPF_CORE_READ(dentry, d_parent);
	name = BPF_CORE_READ(dentry, d_name.name);
	bpf_probe_read_kernel(first, sizeof(first), name);
	if (first[0] == '.' && first[1] == '_')
		return AFS_OBJECT_META;
	if (object_is_called(parent, ".AppleDouble", 12))
		return AFS_OBJECT_META;
	return object_is_sqlite((__u64)name, (__u64)BPF_CORE_READ(parent, d_name.name),
				BPF_CORE_READ(parent, d_name.len))
		   ? AFS_OBJECT_CNIDDB
		   : AFS_OBJECT_DATA;
}

/* One end of a connection. Ports in host order. */
struct end {
	__u16 family, local, peer;
	__u64 other; /* Unix: the other end's struct sock */
};

static __always_inline struct sock___afs *end_of(struct end *out, const struct file___afs *file)
{
	const struct socket___afs *socket = BPF_CORE_READ(file, private_data);
	struct sock___afs *sk = BPF_CORE_READ(socket, sk);

	out->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (out->family == AFS_UNIX) {
		out->other = (__u64)BPF_CORE_READ((struct unix_sock___afs *)sk, peer);
	} else {
		out->local = BPF_CORE_READ(sk, __sk_common.skc_num);
		out->peer = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	}
	return sk;
}

#define OBJECT_FOR_NOW 0x80 /* not to be remembered: a socket that is not connected yet */

/* A CNID connection by the file that one of its ends is bound to, else AFS_OBJECT_SOCKET. */
static __always_inline __u32 object_of_unix(const void *own, const void *peer)
{
	const struct unix_sock___afs *sk = own;
	const struct dentry___afs *dentry;

	if (!peer)
		return AFS_OBJECT_SOCKET | OBJECT_FOR_NOW;
	dentry = BPF_CORE_READ(sk, path.dentry);
	sk = peer;
	if (!dentry)
		dentry = BPF_CORE_READ(sk, path.dentry);
	if (dentry && object_known(BPF_CORE_READ(dentry, d_inode)) == AFS_OBJECT_BACKEND)
		return AFS_OBJECT_BACKEND;
	return AFS_OBJECT_SOCKET;
}

/* The object of known port i if it is one of these, else AFS_N_OBJECTS. */
__noinline __u32 object_if_port(__u32 i, __u32 local, __u32 peer)
{
	const volatile struct afs_inodes *known = &shared.inodes;

	if (!AFS_BELOW(i, AFS_N_PORTS) || i >= known->n_ports)
		return AFS_N_OBJECTS;
	if (known->port[i].port == local ||
	    (known->port[i].object == AFS_OBJECT_BACKEND && known->port[i].port == peer))
		return known->port[i].object;
	return AFS_N_OBJECTS;
}

/* A client's or a CNID connection by its ports, else AFS_OBJECT_SOCKET. */
static __always_inline __u32 object_of_ports(const struct file___afs *file)
{
	struct end end = {};
	const struct sock___afs *sk = end_of(&end, file);
	__u32 object = AFS_N_OBJECTS;

	if (end.family == AFS_UNIX)
		return object_of_unix(sk, (const void *)end.other);
	if (end.family != AFS_INET && end.family != AFS_INET6)
		return AFS_OBJECT_SOCKET;
	/* On a socket of datagrams those of many clients come. */
	if (!end.peer && !(end.local && datagrams() && BPF_CORE_READ(sk, sk_protocol) == AFS_UDP))
		return AFS_OBJECT_SOCKET | OBJECT_FOR_NOW;
	for (__u32 i = 0; i < AFS_N_PORTS && object == AFS_N_OBJECTS; i++)
		object = object_if_port(i, end.local, end.peer);
	return object == AFS_N_OBJECTS ? AFS_OBJECT_SOCKET : object;
}

/* NULL: not an open descriptor. */
static __always_inline struct file___afs *file_of_fd(const struct task_struct___afs *task, __u32 fd)
{
	const struct fdtable___afs *table = BPF_CORE_READ(task, files, fdt);
	struct file___afs *file = NULL;

	if (fd < BPF_CORE_READ(table, max_fds))
		bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + fd);
	return file;
}

static __always_inline __u32 object_of_file_at(const struct file___afs *file, __u32 fd)
{
	const struct inode___afs *inode = BPF_CORE_READ(file, f_inode);
	__u32 object;

	switch (BPF_CORE_READ(inode, i_mode) & AFS_S_IFMT) {
	case AFS_S_IFSOCK:
		object = object_known(inode);
		return object != AFS_N_OBJECTS ? object : object_of_ports(file);
	case AFS_S_IFREG:
		return object_of_file(file, inode, fd);
	case AFS_S_IFDIR:
		return AFS_OBJECT_DIR;
	case AFS_S_IFIFO:
		return AFS_OBJECT_PIPE;
	default:
		return AFS_OBJECT_OTHER;
	}
}

/* An index that the verifier accepts; only for fd < AFS_N_FDS. */
static __always_inline __u32 fd_index(__u32 fd)
{
	barrier_var(fd);
	return fd & (AFS_N_FDS - 1);
}

/* The key common to both ends of a CNID connection; asks: the end that sends requests. */
static __always_inline __u64 link_of(const struct file___afs *file, bool asks)
{
	struct end end = {};
	const void *sk = end_of(&end, file);

	if (end.family == AFS_UNIX)
		return asks ? (__u64)sk : end.other;
	return asks ? (__u64)end.local << 16 | end.peer : (__u64)end.peer << 16 | end.local;
}

static __always_inline struct afs_seen_key seen_key(const struct afs_process *p, __u32 slot,
						    __u32 fd)
{
	return (struct afs_seen_key) { .looked_ns = p->looked_ns, .process = slot, .fd = fd };
}

static __always_inline struct afs_seen *seen_at(const struct afs_process *p, __u32 slot, __u32 fd)
{
	struct afs_seen_key key = seen_key(p, slot, fd);

	return bpf_map_lookup_elem(&seen, &key);
}

__noinline int forget_all(__u32 slot)
{
	struct afs_process *p = process_at(slot);

	if (!p)
		return 0;
	__builtin_memset(p->object, 0, sizeof(p->object));
	__builtin_memset(p->client, 0, sizeof(p->client));
	p->looked_ns = bpf_ktime_get_ns();
	return 0;
}

/* Forgets a descriptor in "seen", and its connection if it is the asking end. */
__noinline int forget_seen(__u32 slot, __u32 fd)
{
	struct afs_process *p = process_at(slot);
	struct afs_seen_key key;
	struct afs_seen *s;
	__u64 link_key;

	if (!p)
		return 0;
	key = seen_key(p, slot, fd);
	s = bpf_map_lookup_elem(&seen, &key);
	if (!s)
		return 0;
	link_key = s->link;
	if (link_key && p->role == AFS_ROLE_SERVER)
		bpf_map_delete_elem(&link, &link_key);
	bpf_map_delete_elem(&seen, &key);
	return 0;
}

/* Forgets a descriptor, or AFS_FD_ALL of a process. */
__noinline int forget(__u32 slot, __u32 fd)
{
	struct afs_process *p = process_at(slot);
	bool more = fd >= AFS_N_FDS;

	if (!p || fd == AFS_FD_ALL)
		return p ? forget_all(slot) : 0;
	if (!more) {
		more = p->object[fd_index(fd)] == AFS_OBJECT_BACKEND + 1;
		p->object[fd_index(fd)] = 0;
	}
	if (p->client[fd & (AFS_N_CLIENT_FDS - 1)] >> 32 == (__u64)fd + 1)
		p->client[fd & (AFS_N_CLIENT_FDS - 1)] = 0;
	return more ? forget_seen(slot, fd) : 0;
}

/*
 * Classifies a descriptor, and remembers it until a call closes it. AFS_OBJECT_NONE: not open.
 * task: the address of its struct, 0: the one that runs.
 */
__noinline __u32 object_look(__u32 slot, __u64 task, __u32 fd)
{
	struct afs_process *p = process_at(slot);
	struct afs_seen what = {};
	struct afs_seen_key key;
	struct file___afs *file;
	__u32 object;

	if (!setup.objects_on)
		return AFS_OBJECT_UNKNOWN;
	file = file_of_fd((const void *)(task ? task : bpf_get_current_task()), fd);
	if (!file || !p)
		return AFS_OBJECT_NONE;
	object = object_of_file_at(file, fd);
	if (object == AFS_OBJECT_BACKEND) {
		what.link = link_of(file, p->role == AFS_ROLE_SERVER);
	} else if (object == AFS_OBJECT_DATA && p->role == AFS_ROLE_BACKEND &&
		   setup.files == AFS_FILES_AFP) {
		object = AFS_OBJECT_CNIDDB;
	}
	if (object & OBJECT_FOR_NOW)
		return object & ~OBJECT_FOR_NOW;
	what.object = object;
	key = seen_key(p, slot, fd);
	if ((what.link || fd >= AFS_N_FDS) && bpf_map_update_elem(&seen, &key, &what, BPF_ANY) &&
	    what.link)
		AFS_COUNT(shared.lost.links);
	if (fd < AFS_N_FDS && !p->shares)
		p->object[fd_index(fd)] = object + 1;
	return object;
}

static __always_inline __u32 object_of(struct afs_process *p, __u32 slot, __u64 task, __u32 fd)
{
	const struct afs_seen *s;
	__u32 object;

	if (!setup.objects_on)
		return AFS_OBJECT_UNKNOWN;
	if (AFS_RARE(p->epoch != shared.inodes.epoch)) {
		p->epoch = shared.inodes.epoch;
		forget_all(slot);
	}
	if (fd < AFS_N_FDS) {
		if (p->object[fd_index(fd)])
			return p->object[fd_index(fd)] - 1;
	} else if (!p->shares) {
		s = seen_at(p, slot, fd);
		if (s)
			return s->object;
	}
	object = object_look(slot, task, fd);
	return object < AFS_N_OBJECTS ? object : AFS_OBJECT_UNKNOWN;
}

#endif
