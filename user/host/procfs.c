/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads /proc. Small files are read in one piece into a buffer on the stack, which is large enough
 * for the files used here.
 */

#include "host/procfs.h"

#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define PATH_LEN 128

static int read_file(char *out, size_t len, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, out, len - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return (int)n;
	out[n] = '\0';
	return 0;
}

/* The text after "key:" and blanks at the start of a line; NULL: no such line. */
static const char *line_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		if (*at == '\n')
			at++;
		if (!strncmp(at, key, len) && at[len] == ':')
			return at + len + 1 + strspn(at + len + 1, " \t");
	}
	return NULL;
}

static uint64_t number_of(const char *text, const char *key, int base)
{
	const char *at = line_of(text, key);

	return at ? strtoull(at, NULL, base) : 0;
}

int procfs_stat(struct procfs_stat *out, pid_t pid)
{
	char path[PATH_LEN], text[1024], *name, *end;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	r = read_file(text, sizeof(text), path);
	if (r)
		return r;
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end || end < name)
		return -EPROTO;
	*end = '\0';
	snprintf(out->comm, sizeof(out->comm), "%.31s", name + 1);
	/* Fields 3, 4, 22 and 39. */
	if (sscanf(end + 1,
		   " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d"
		   " %" SCNu64
		   " %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
		   &out->state, &out->ppid, &out->started, &out->cpu) != 4)
		return -EPROTO;
	return 0;
}

static int read_io(struct afs_compat *out, const char *path)
{
	char text[512];
	int r = read_file(text, sizeof(text), path);

	if (r)
		return r;
	out->syscr += number_of(text, "syscr", 10);
	out->syscw += number_of(text, "syscw", 10);
	out->rchar += number_of(text, "rchar", 10);
	out->wchar += number_of(text, "wchar", 10);
	return 0;
}

int procfs_io(struct afs_compat *out, pid_t pid)
{
	char path[PATH_LEN];

	memset(out, 0, sizeof(*out));
	snprintf(path, sizeof(path), "/proc/%d/io", pid);
	return read_io(out, path);
}

int procfs_io_thread(struct afs_compat *out, pid_t pid, pid_t tid)
{
	char path[PATH_LEN];

	memset(out, 0, sizeof(*out));
	snprintf(path, sizeof(path), "/proc/%d/task/%d/io", pid, tid);
	return read_io(out, path);
}

/* Calls fn for each entry of a folder that is a number, until it returns other than 0. */
static int each_number(const char *path, int (*fn)(void *arg, int number), void *arg)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return -errno;
	while (!r && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			r = fn(arg, atoi(entry->d_name));
	closedir(dir);
	return r;
}

int procfs_thread_times(struct procfs_times *out, pid_t pid, pid_t tid)
{
	char path[PATH_LEN], text[128];
	int r;

	memset(out, 0, sizeof(*out));
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
	r = read_file(text, sizeof(text), path);
	if (!r && sscanf(text, "%" SCNu64 " %" SCNu64, &out->cpu_ns, &out->runq_ns) != 2)
		r = -EPROTO;
	return r;
}

int procfs_thread_name(char *out, size_t len, pid_t pid, pid_t tid)
{
	char path[PATH_LEN], text[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	r = read_file(text, sizeof(text), path);
	if (r)
		return r;
	text[strcspn(text, "\n")] = '\0';
	text_clean(text);
	snprintf(out, len, "%s", text);
	return 0;
}

int procfs_each_thread(pid_t pid, int (*fn)(void *arg, int tid), void *arg)
{
	char path[PATH_LEN];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return each_number(path, fn, arg);
}

int procfs_status(char *out, size_t out_len, pid_t pid, const char *key)
{
	char path[PATH_LEN], text[8192];
	const char *at;
	int r;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/status", pid);
	else
		snprintf(path, sizeof(path), "/proc/self/status");
	r = read_file(text, sizeof(text), path);
	if (r)
		return r;
	at = line_of(text, key);
	if (!at)
		return -ENODATA;
	snprintf(out, out_len, "%.*s", (int)strcspn(at, "\n"), at);
	return 0;
}

int procfs_each_variable(pid_t pid, int (*fn)(void *arg, const char *word), void *arg)
{
	char path[PATH_LEN], text[16384] = "";
	int r;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	r = read_file(text, sizeof(text), path);
	for (const char *at = text; at < text + sizeof(text) && *at && !r; at += strlen(at) + 1)
		r = fn(arg, at);
	return r;
}

struct each_process {
	int (*fn)(void *arg, pid_t pid);
	void *arg;
};

static int call_process(void *arg, int number)
{
	struct each_process *each = arg;

	return each->fn(each->arg, number);
}

int procfs_each(int (*fn)(void *arg, pid_t pid), void *arg)
{
	struct each_process each = { .fn = fn, .arg = arg };

	return each_number("/proc", call_process, &each);
}

struct each_fd {
	pid_t pid;
	int (*fn)(void *arg, pid_t pid, int fd, const char *name);
	void *arg;
};

static int call_fd(void *arg, int number)
{
	struct each_fd *each = arg;
	char path[PATH_LEN], name[PATH_MAX];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", each->pid, number);
	len = readlink(path, name, sizeof(name) - 1);
	if (len < 0)
		return 0;
	name[len] = '\0';
	return each->fn(each->arg, each->pid, number, name);
}

int procfs_each_fd(pid_t pid, int (*fn)(void *arg, pid_t pid, int fd, const char *name), void *arg)
{
	struct each_fd each = { .pid = pid, .fn = fn, .arg = arg };
	char path[PATH_LEN];

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	return each_number(path, call_fd, &each);
}

uint64_t procfs_socket(const char *name)
{
	uint64_t ino;

	return sscanf(name, "socket:[%" SCNu64 "]", &ino) == 1 ? ino : 0;
}

int procfs_fd_flags(unsigned int *out, pid_t pid, int fd)
{
	char path[PATH_LEN], text[512];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	r = read_file(text, sizeof(text), path);
	if (!r)
		*out = (unsigned int)number_of(text, "flags", 8);
	return r;
}

/* A mount in the list of those that "who" sees: a process, or "self". */
static uint32_t look_up_mount(const char *who, unsigned int mount, char type[32])
{
	unsigned int id, major_nr, minor_nr;
	uint32_t dev = 0;
	char path[PATH_LEN], *line = NULL, *rest;
	size_t len = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/mountinfo", who);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (!dev && getline(&line, &len, f) > 0)
		if (sscanf(line, "%u %*u %u:%u", &id, &major_nr, &minor_nr) == 3 && id == mount)
			dev = major_nr << 20 | minor_nr;
	rest = dev ? strstr(line, " - ") : NULL;
	if (!rest || sscanf(rest, " - %31s", type) != 1)
		type[0] = '\0';
	free(line);
	fclose(f);
	return dev;
}

/*
 * Device of a mount, as the kernel numbers it, and its file system; 0: not found. A process in a
 * chroot is not shown the mount that its root folder lies on; the caller may see it.
 */
static uint32_t device_of_mount(pid_t pid, unsigned int mount, char type[32])
{
	char who[16];
	uint32_t dev;

	snprintf(who, sizeof(who), "%d", pid);
	dev = look_up_mount(who, mount, type);
	return dev ? dev : look_up_mount("self", mount, type);
}

bool procfs_fd_is_local(pid_t pid, int fd)
{
	static const char *const local[] = { "ext4",     "ext3",   "ext2",   "xfs",      "btrfs",
					     "tmpfs",    "zfs",    "f2fs",   "bcachefs", "overlay",
					     "devtmpfs", "devpts", "rootfs", "ramfs" };
	char path[PATH_LEN], text[512], type[32];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	if (read_file(text, sizeof(text), path) ||
	    !device_of_mount(pid, (unsigned int)number_of(text, "mnt_id", 10), type))
		return false;
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
		if (!strcmp(type, local[i]))
			return true;
	return false;
}

int procfs_inode(struct afs_inode *out, pid_t pid, const char *path)
{
	char own[PATH_LEN], text[512], type[32];
	struct stat st;
	int fd, r = 0;

	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		r = -errno;
	snprintf(own, sizeof(own), "/proc/self/fdinfo/%d", fd);
	if (!r)
		r = read_file(text, sizeof(text), own);
	close(fd);
	if (r)
		return r;
	out->ino = line_of(text, "ino") ? number_of(text, "ino", 10) : st.st_ino;
	out->dev = device_of_mount(pid, (unsigned int)number_of(text, "mnt_id", 10), type);
	if (!out->dev)
		out->dev = major(st.st_dev) << 20 | minor(st.st_dev);
	return 0;
}

/* The number that the kernel gives the first one. */
#define FIRST_PID_NS 0xEFFFFFFCu

bool procfs_first_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) || st.st_ino == FIRST_PID_NS;
}

double procfs_age_s(uint64_t started)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9 -
	       (double)started / (double)sysconf(_SC_CLK_TCK);
}
