/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_FILESYSTEM_H
#define HOST_FILESYSTEM_H

/*
 * The file system on which a folder of a process lies: its type, its room, and the devices below
 * it. A network's server, or a FUSE daemon, may not answer: then what the names of folders and
 * mounts say is known, and no more.
 */

#include "host/devices.h"
#include "host/proc/proctext.h"

#include <sys/stat.h>
#include <sys/types.h>

#define FILESYSTEM_PATH_MAX 256

struct filesystem {
	char path[FILESYSTEM_PATH_MAX]; /* of the folder, below the root of the process */
	bool silent;                    /* it does not answer */
	int error;                      /* negative errno: the folder was not found */
	char type[32];                  /* empty: not known, as with the rest */
	uint32_t dev;                   /* as the kernel numbers devices */
	unsigned int mount;             /* its number; 0: not known */
	uint64_t ino;                   /* of the folder; 0: not known */
	bool read_only;                 /* mounted so; false: not known, too */
	bool has_room;                  /* known, and the process may write there */
	uint64_t size_b, room_b;        /* room: for users other than root */
	uint64_t files, files_free;     /* files 0: as many as there is room for */
	struct devices_below below;
};

void filesystem_init(struct filesystem *f, const char *path);

/*
 * Looks at n of them, also again. pid: the process. Those that do not
 * answer are waited for as host/patient.h says.
 */
void filesystem_look(struct filesystem *fs, size_t n, pid_t pid);

/*
 * Opens a file to read, as a process with this root folder would ("": ours; NULL: path may be one
 * of /proc's links). Neither this nor reading the file at once waits for a server that does not
 * answer. A descriptor; -ETIMEDOUT: it does not answer; -EINVAL: it is not a regular file, and was
 * not opened; or another negative errno.
 */
int filesystem_open(const char *root, const char *path);
int filesystem_stat(struct stat *out, const char *root, const char *path); /* 0, or as above */
int filesystem_open_exe(pid_t pid); /* the program that it runs, also where its file was removed */

/* patient_ask() about a path as this process calls it in its root folder. */
int filesystem_ask(pid_t pid, const char *path, void (*fn)(void *arg), void *arg, void *out,
		   size_t len);

/*
 * The mount on which the file of a descriptor of this process is. pid: the process in whose mounts
 * it was found. Involves no server. 0 or a negative errno.
 */
int filesystem_mount_of(struct proctext_mount *out, pid_t pid, int fd);

/* The mount that a path is on by its name: links in it are not followed, so nothing is asked. */
int filesystem_mount_named(struct proctext_mount *out, pid_t pid, const char *path);

/* Whether this type of file system is a local one. */
bool filesystem_is_local(const char *type);

/* Whether it is a network's, or a FUSE daemon serves it. */
bool filesystem_is_remote(const struct filesystem *f);

#endif
