/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_OBJECT_H
#define AFS_OBJECT_H

/*
 * What a descriptor of the current task is, told from the kernel's own structures. The array of
 * open files cannot be followed with types, so everything from there on is read with
 * bpf_probe_read_kernel, which a locked down kernel refuses: then this file's code is dead
 * (see objects_on) and all descriptors are AFS_OBJECT_UNKNOWN.
 */

#include "bpf/calls.h"
#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#define READ(dst, src)                                                                             \
	bpf_probe_read_kernel(&(dst), sizeof(dst), __builtin_preserve_access_index(&(src)))

static __always_inline __u32 object_in(const struct afs_inode *list, __u32 n,
				       const struct inode___afs *inode)
{
	struct super_block___afs *sb = NULL;
	unsigned long ino = 0;
	__u32 dev = 0;

	READ(ino, inode->i_ino);
	for (__u32 i = 0; i < AFS_N_INODES; i++) {
		if (i >= n)
			break;
		if (list[i].ino != ino)
			continue;
		if (list[i].dev) {
			READ(sb, inode->i_sb);
			READ(dev, sb->s_dev);
		}
		if (list[i].dev == dev)
			return list[i].object;
	}
	return AFS_N_OBJECTS;
}

/* Whether the name, of the length of ".AppleDouble", is that. */
static __always_inline bool object_is_appledouble(const unsigned char *name)
{
	char text[12] = {};
	const char want[12] = { '.', 'A', 'p', 'p', 'l', 'e', 'D', 'o', 'u', 'b', 'l', 'e' };

	bpf_probe_read_kernel(text, sizeof(text), name);
	for (int i = 0; i < 12; i++)
		if (text[i] != want[i])
			return false;
	return true;
}

static __always_inline __u32 object_of_file(const struct file___afs *file,
					    const struct inode___afs *inode,
					    const volatile struct afs_inodes *known)
{
	struct dentry___afs *dentry = NULL, *parent = NULL;
	const unsigned char *name = NULL;
	struct inode___afs *dir = NULL;
	char first[2] = {};
	__u32 object, len = 0;

	if (known->n_files) {
		object = object_in((const void *)known->file, known->n_files, inode);
		if (object != AFS_N_OBJECTS)
			return object;
	}
	READ(dentry, file->f_path.dentry);
	READ(parent, dentry->d_parent);
	if (known->n_dirs) {
		READ(dir, parent->d_inode);
		object = object_in((const void *)known->dir, known->n_dirs, dir);
		if (object != AFS_N_OBJECTS)
			return object;
	}
	READ(name, dentry->d_name.name);
	bpf_probe_read_kernel(first, sizeof(first), name);
	if (first[0] == '.' && first[1] == '_')
		return AFS_OBJECT_META;
	READ(len, parent->d_name.len);
	if (len != 12)
		return AFS_OBJECT_DATA;
	READ(name, parent->d_name.name);
	return object_is_appledouble(name) ? AFS_OBJECT_META : AFS_OBJECT_DATA;
}

/* AFS_OBJECT_NONE: not an open descriptor. */
static __always_inline __u32 object_of_fd(const struct task_struct___afs *task, __u32 fd,
					  const volatile struct afs_inodes *known)
{
	struct file___afs *file = NULL, **slot;
	struct inode___afs *inode = NULL;
	unsigned short mode = 0;
	__u32 object;

	if (!task->files || fd >= task->files->fdt->max_fds)
		return AFS_OBJECT_NONE;
	slot = task->files->fdt->fd;
	bpf_probe_read_kernel(&file, sizeof(file), slot + fd);
	if (!file)
		return AFS_OBJECT_NONE;
	READ(inode, file->f_inode);
	READ(mode, inode->i_mode);
	switch (mode & AFS_S_IFMT) {
	case AFS_S_IFSOCK:
		object = object_in((const void *)known->socket, known->n_sockets, inode);
		return object == AFS_N_OBJECTS ? AFS_OBJECT_SOCKET : object;
	case AFS_S_IFREG:
		return object_of_file(file, inode, known);
	case AFS_S_IFDIR:
		return AFS_OBJECT_DIR;
	case AFS_S_IFIFO:
		return AFS_OBJECT_PIPE;
	default:
		return AFS_OBJECT_OTHER;
	}
}

#endif
