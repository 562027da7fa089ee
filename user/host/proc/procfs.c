/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads /proc. Small files are read in one piece into a buffer on the stack, which is large enough
 * for the files used here; host/proctext.c says what the text means.
 */

#include "host/proc/procfs.h"

#include "base/file.h"
#include "base/text.h"
#include "host/proc/proctext.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define PATH_LEN 128

static void procfs_path_of(char *out, size_t len, pid_t pid, const char *name)
{
	if (pid)
		snprintf(out, len, "/proc/%d/%s", pid, name);
	else
		snprintf(out, len, "/proc/self/%s", name);
}

static void thread_path(char out[static PATH_LEN], pid_t pid, pid_t tid, const char *name)
{
	char file[PATH_LEN / 2];

	snprintf(file, sizeof(file), "task/%d/%s", tid, name);
	procfs_path_of(out, PATH_LEN, pid, tid ? file : name);
}

static ssize_t procfs_read_file(char *out, size_t len, pid_t pid, pid_t tid, const char *name)
{
	char path[PATH_LEN];

	thread_path(path, pid, tid, name);
	return file_text(out, len, path);
}

int procfs_open(pid_t pid, pid_t tid, const char *name)
{
	char path[PATH_LEN];
	int fd;

	thread_path(path, pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int procfs_lines(struct procfs_lines *out, pid_t pid, const char *name)
{
	char path[PATH_LEN];

	procfs_path_of(path, sizeof(path), pid, name);
	*out = (struct procfs_lines) { .file = fopen(path, "re") };
	return out->file ? 0 : -errno;
}

bool procfs_line(struct procfs_lines *l)
{
	if (l->file && getline(&l->text, &l->room, l->file) > 0)
		return true;
	procfs_lines_end(l);
	return false;
}

void procfs_lines_end(struct procfs_lines *l)
{
	if (l->file)
		fclose(l->file);
	free(l->text);
	*l = (struct procfs_lines) { 0 };
}

int procfs_io(struct afs_compat *out, pid_t pid, pid_t tid)
{
	char text[512];
	ssize_t n = procfs_read_file(text, sizeof(text), pid, tid, "io");

	memset(out, 0, sizeof(*out));
	return n < 0 ? (int)n : proctext_io(out, text);
}

int procfs_storage(uint64_t *bytes, pid_t pid)
{
	char text[512];
	ssize_t n = procfs_read_file(text, sizeof(text), pid, 0, "io");

	return n < 0 ? (int)n : proctext_storage(bytes, text);
}

int procfs_each_in(const char *path, int (*fn)(void *arg, pid_t pid), void *arg)
{
	FILE *f = fopen(path, "re");
	int pid, r = 0;

	if (!f)
		return -errno;
	while (!r && fscanf(f, "%d", &pid) == 1)
		r = fn(arg, pid);
	fclose(f);
	return r;
}

int procfs_processes(struct procfs_numbers *out)
{
	*out = (struct procfs_numbers) { .folder = opendir("/proc") };
	return out->folder ? 0 : -errno;
}

int procfs_others(struct procfs_numbers *out, const pid_t *but, size_t n)
{
	int r = procfs_processes(out);

	out->but = but;
	out->n_but = n;
	return r;
}

static int procfs_numbers_below(struct procfs_numbers *out, pid_t pid, const char *name)
{
	char path[PATH_LEN];

	procfs_path_of(path, sizeof(path), pid, name);
	*out = (struct procfs_numbers) { .folder = opendir(path) };
	return out->folder ? 0 : -errno;
}

int procfs_threads(struct procfs_numbers *out, pid_t pid)
{
	return procfs_numbers_below(out, pid, "task");
}

int procfs_fds(struct procfs_numbers *out, pid_t pid)
{
	return procfs_numbers_below(out, pid, "fd");
}

bool procfs_next(struct procfs_numbers *n)
{
	struct dirent *entry;

	while (n->folder && (entry = readdir(n->folder))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		n->number = atoi(entry->d_name);
		if (!n->n_but ||
		    !bsearch(&n->number, n->but, n->n_but, sizeof(*n->but), procstat_by_pid))
			return true;
	}
	procfs_end(n);
	return false;
}

void procfs_end(struct procfs_numbers *n)
{
	if (n->folder)
		closedir(n->folder);
	n->folder = NULL;
}

int procfs_thread_times(struct procfs_times *out, pid_t pid, pid_t tid)
{
	char text[128];
	ssize_t n = procfs_read_file(text, sizeof(text), pid, tid, "schedstat");

	memset(out, 0, sizeof(*out));
	return n < 0 ? (int)n : proctext_times(out, text);
}

int procfs_thread_switches(struct procfs_times *out, pid_t pid, pid_t tid)
{
	char text[8192];
	ssize_t n = procfs_read_file(text, sizeof(text), pid, tid, "status");

	if (n < 0)
		return (int)n;
	return proctext_number(&out->voluntary, text, "voluntary_ctxt_switches") &&
		       proctext_number(&out->involuntary, text, "nonvoluntary_ctxt_switches")
		   ? 0
		   : -EPROTO;
}

/* "running", "-1 0xSP 0xPC", or "NR 0xARG0 ... 0xARG5 0xSP 0xPC" */
int procfs_thread_call(struct procfs_call *out, pid_t pid, pid_t tid)
{
	char text[256];
	ssize_t n = procfs_read_file(text, sizeof(text), pid, tid, "syscall");
	uint64_t *a = out->arg;

	*out = (struct procfs_call) { .nr = -1 };
	if (n < 0)
		return (int)n;
	if (!strncmp(text, "running", strlen("running")))
		out->running = true;
	else if (sscanf(text,
			"%d %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64,
			&out->nr, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5]) < 1)
		return -EPROTO;
	return 0;
}

int procfs_thread_name(char *out, size_t len, pid_t pid, pid_t tid)
{
	char text[64];
	ssize_t n = procfs_read_file(text, sizeof(text), pid, tid, "comm");

	if (n < 0)
		return (int)n;
	text[strcspn(text, "\n")] = '\0';
	text_clean(text);
	snprintf(out, len, "%s", text);
	return 0;
}

bool procfs_lists_children(void)
{
	return !access("/proc/thread-self/children", R_OK);
}

int procfs_each_child(pid_t pid, int (*fn)(void *arg, pid_t child), void *arg)
{
	bool listed = procfs_lists_children();
	struct procfs_numbers n;
	char path[PATH_LEN];
	struct procstat st;
	int r = listed ? procfs_threads(&n, pid) : procfs_processes(&n);

	while (!r && procfs_next(&n)) {
		if (!listed && !procstat_read(&st, n.number) && st.ppid == pid)
			r = fn(arg, n.number);
		if (!listed)
			continue;
		thread_path(path, pid, n.number, "children");
		r = procfs_each_in(path, fn, arg);
		/* The thread has just ended: its children are now another one's. */
		r = r == -ENOENT || r == -ESRCH ? 0 : r;
	}
	procfs_end(&n);
	return r;
}

int procfs_status(char *out, size_t out_len, pid_t pid, const char *key)
{
	char text[8192];
	ssize_t n = procfs_read_file(text, sizeof(text), pid, 0, "status");

	if (n < 0)
		return (int)n;
	return proctext_value(out, out_len, text, key) ? 0 : -ENODATA;
}

int procfs_uids(uint32_t *real, uint32_t *effective, pid_t pid)
{
	char text[64];
	int r = procfs_status(text, sizeof(text), pid, "Uid");

	if (!r && sscanf(text, "%" SCNu32 " %" SCNu32, real, effective) != 2)
		r = -EPROTO;
	return r;
}

bool procfs_is_32bit(pid_t pid)
{
	uint64_t words[3] = { 0 };

	/* A number below 100 and a value, each in a word as long as its own. */
	return procfs_read_file((char *)words, sizeof(words), pid, 0, "auxv") > 8 && words[0] >> 32;
}

bool procfs_dumps_core(pid_t pid)
{
	char text[16];

	return !procfs_status(text, sizeof(text), pid, "CoreDumping") && text[0] == '1';
}

void procfs_variable(char *out, size_t len, pid_t pid, const char *name)
{
	char text[16384];
	ssize_t n = procfs_read_file(text, sizeof(text), pid, 0, "environ");
	size_t name_len = strlen(name);

	*out = '\0';
	for (const char *at = text; n > 0 && at < text + n && *at; at += strlen(at) + 1)
		if (!strncmp(at, name, name_len) && at[name_len] == '=')
			snprintf(out, len, "%s", at + name_len + 1);
}

int procfs_argument(char *out, size_t len, pid_t pid, const char *option)
{
	char text[4096];
	ssize_t n = procfs_read_file(text, sizeof(text), pid, 0, "cmdline");

	if (n < 0)
		return (int)n;
	return proctext_argument(out, len, text, (size_t)n, option) ? 0 : -ENODATA;
}

bool procfs_has_word(pid_t pid, const char *word)
{
	char text[4096];
	ssize_t n = procfs_read_file(text, sizeof(text), pid, 0, "cmdline");

	return n > 0 && proctext_word(text, (size_t)n, word);
}

const char *procfs_mapped(pid_t pid, const char *const *names)
{
	const char *found = NULL;
	struct procfs_lines l;

	procfs_lines(&l, pid, "maps");
	while (!found && procfs_line(&l))
		for (size_t i = 0; names[i] && !found; i++)
			found = strstr(l.text, names[i]) ? names[i] : NULL;
	procfs_lines_end(&l);
	return found;
}

int procfs_link(char *out, size_t len, pid_t pid, const char *name)
{
	char path[PATH_LEN];
	ssize_t n;

	procfs_path_of(path, sizeof(path), pid, name);
	n = readlink(path, out, len - 1);
	out[n > 0 ? n : 0] = '\0';
	return n < 0 ? -errno : 0;
}

uint64_t procfs_identity(pid_t pid, const char *name)
{
	char path[PATH_LEN];
	struct statx st;

	procfs_path_of(path, sizeof(path), pid, name);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &st))
		return 0;
	return st.stx_ino ^ (uint64_t)makedev(st.stx_dev_major, st.stx_dev_minor) << 32;
}

void procfs_inside(char *out, size_t len, pid_t pid, const char *path)
{
	procfs_path_of(out, len, pid, "root");
	snprintf(out + strlen(out), len - strlen(out), "%s", path);
}

int procfs_each(int (*fn)(void *arg, pid_t pid), void *arg)
{
	struct procfs_numbers n;
	int r = procfs_processes(&n);

	while (!r && procfs_next(&n))
		r = fn(arg, n.number);
	procfs_end(&n);
	return r;
}

int procfs_fd_name(char *out, size_t len, pid_t pid, int fd)
{
	char file[32];

	snprintf(file, sizeof(file), "fd/%d", fd);
	return procfs_link(out, len, pid, file);
}

uint64_t procfs_fd_socket(pid_t pid, int fd)
{
	char name[64];

	return procfs_fd_name(name, sizeof(name), pid, fd) ? 0 : procfs_socket(name);
}

uint64_t procfs_socket(const char *name)
{
	uint64_t ino;

	return sscanf(name, "socket:[%" SCNu64 "]", &ino) == 1 ? ino : 0;
}

int procfs_mount_of(uint64_t *mount, int fd)
{
	char name[32], text[512];
	ssize_t n;

	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	n = procfs_read_file(text, sizeof(text), 0, 0, name);
	return n < 0 ? (int)n : proctext_number(mount, text, "mnt_id") ? 0 : -EPROTO;
}

/* The number that the kernel gives the first one. */
#define FIRST_PID_NS 0xEFFFFFFCu

bool procfs_first_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) || st.st_ino == FIRST_PID_NS;
}

bool procfs_is_mounted(void)
{
	return !access("/proc/self", F_OK);
}

const char *procfs_hides(void)
{
	if (!procfs_is_mounted())
		return "; " PROCFS_UNMOUNTED;
	return access("/proc/1", F_OK) ? "; " PROCFS_HIDDEN : "";
}

long procfs_clock_ahead_s(void)
{
	char text[256], ahead[32];

	return procfs_read_file(text, sizeof(text), 0, 0, "timens_offsets") > 0 &&
		       proctext_value(ahead, sizeof(ahead), text, "monotonic")
		   ? strtol(ahead, NULL, 10)
		   : 0;
}

double procfs_age_s(uint64_t started)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9 -
	       (double)started / (double)sysconf(_SC_CLK_TCK);
}

bool procfs_memory(uint64_t *kib, const char *key)
{
	char text[8192];

	return file_text(text, sizeof(text), "/proc/meminfo") > 0 &&
	       proctext_number(kib, text, key);
}
