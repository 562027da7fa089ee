// SPDX-License-Identifier: GPL-2.0-or-later
/* Loads and attaches the programs; turns refusals into reasons. */

#include "watch/bpf_load.h"

#include "calls.skel.h"
#include "watch/calls.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Storage for a thread may be refused for a moment. */
#define MARK_TRIES 5

/* libbpf's print function gets no argument of ours: the only way to it is a variable. */
static _Thread_local char last_words[ERR_TEXT_MAX];

/* Frames around a verifier's log, its statistics, and what only says that it failed. */
static bool is_noise(const char *line)
{
	static const char *const start[] = { "--", "processed ", ";", "failed to load object",
					     "failed to load BPF skeleton" };

	for (size_t i = 0; i < sizeof(start) / sizeof(start[0]); i++)
		if (!strncmp(line, start[i], strlen(start[i])))
			return true;
	return !line[strspn(line, " \t")] || strstr(line, ": failed to load: ");
}

/* Keeps the last line that says something. A verifier's log comes as one text of any length. */
static int keep_words(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char *text, *line, *save;

	if (level != LIBBPF_WARN || vasprintf(&text, fmt, args) < 0)
		return 0;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!strncmp(line, "libbpf: ", 8))
			line += 8;
		if (!is_noise(line))
			snprintf(last_words, sizeof(last_words), "%s", line);
	}
	free(text);
	return 0;
}

/* First number of the kernel's version; 0: unknown. */
static int kernel_major(bool *too_old)
{
	struct utsname name;
	int major = 0, minor = 0;

	if (!uname(&name))
		sscanf(name.release, "%d.%d", &major, &minor);
	*too_old = major && (major < 5 || (major == 5 && minor < 12));
	return major;
}

static int refusal(struct err *e, int code, const char *what)
{
	bool too_old;

	if ((code == -EPERM || code == -EACCES) && geteuid() != 0)
		return err_set(e, code,
			       "no right to load BPF programs: run as root, or with CAP_BPF "
			       "and CAP_PERFMON");
	if (code == -ENOSYS)
		return err_set(e, code,
			       "no bpf(2) here: not in this kernel, or hidden by a sandbox");
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return err_set(e, code,
			       "no type information of the kernel "
			       "(/sys/kernel/btf/vmlinux): BTF is not built in");
	kernel_major(&too_old);
	if (too_old)
		return err_set(e, code, "this kernel is too old: the programs need Linux 5.12");
	if (code == -EPERM)
		return err_set(e, code,
			       "BPF programs are refused although this is root: a "
			       "container's or the kernel's rules forbid them");
	return err_set(e, code, "%s: %s (%s)", what, strerror(-code),
		       last_words[0] ? last_words : "no more is known");
}

/* Two ways to the same events. */
struct way {
	const char *how;
	const char *enter, *leave;
	const char *why; /* why it comes first where it does */
};

static const struct way btf_way = {
	.how = "tp_btf sys_enter/sys_exit",
	.enter = "on_sys_enter",
	.leave = "on_sys_exit",
};

static const struct way classic_way = {
	.how = "tp raw_syscalls/sys_enter, sys_exit",
	.enter = "on_tp_enter",
	.leave = "on_tp_exit",
	.why = "from Linux 7.0 on, BTF tracepoints lose events when a program is preempted",
};

static int select_programs(struct bpf_load *l, const struct way *way)
{
	const char *name[BPF_LOAD_PROGRAMS] = { way->enter, way->leave, "on_newtask", "on_exit" };
	struct bpf_program *p;

	bpf_object__for_each_program(p, l->skel->obj) bpf_program__set_autoload(p, false);
	bpf_program__set_autoload(l->skel->progs.mark_process, true);
	for (int i = 0; i < BPF_LOAD_PROGRAMS; i++) {
		l->program[i] = name[i];
		p = bpf_object__find_program_by_name(l->skel->obj, name[i]);
		if (!p)
			return -ENOENT;
		bpf_program__set_autoload(p, true);
	}
	return 0;
}

static int load(struct bpf_load *l, const struct way *way, bool objects, struct err *e)
{
	struct afs_call table[AFS_N_CALLS];
	int r;

	last_words[0] = '\0';
	l->skel = calls_bpf__open();
	if (!l->skel)
		return refusal(e, -errno, "open BPF programs");
	calls_table(table);
	memcpy((void *)l->skel->rodata->calls, table, sizeof(table));
	l->skel->rodata->objects_on = objects;
	r = select_programs(l, way);
	if (!r)
		r = bpf_map__set_max_entries(l->skel->maps.cell, l->n_cpus * AFS_N_CELLS);
	if (!r)
		r = bpf_map__set_max_entries(l->skel->maps.compat, l->n_cpus * AFS_N_PROCESSES);
	if (!r)
		r = calls_bpf__load(l->skel);
	return r ? refusal(e, r, "load BPF programs") : 0;
}

static int attach(struct bpf_load *l, struct err *e)
{
	struct bpf_program *p;

	/* The probes of returns first: a call seen entering is then always seen returning. */
	for (int i = BPF_LOAD_PROGRAMS; i-- > 0;) {
		p = bpf_object__find_program_by_name(l->skel->obj, l->program[i]);
		l->link[i] = bpf_program__attach(p);
		if (!l->link[i])
			return refusal(e, -errno, l->program[i]);
	}
	l->marker = bpf_program__attach_iter(l->skel->progs.mark_process, NULL);
	if (!l->marker)
		return refusal(e, -errno, "task iterator");
	return 0;
}

static void unload(struct bpf_load *l)
{
	for (int i = 0; i < BPF_LOAD_PROGRAMS; i++) {
		bpf_link__destroy(l->link[i]);
		l->link[i] = NULL;
	}
	bpf_link__destroy(l->marker);
	l->marker = NULL;
	calls_bpf__destroy(l->skel);
	l->skel = NULL;
}

static int try_way(struct bpf_load *l, const struct way *way, bool objects, struct err *e)
{
	int r = load(l, way, objects, e);

	l->objects = objects && !r;
	if (r && objects) {
		snprintf(l->objects_why, sizeof(l->objects_why), "%s", last_words);
		unload(l);
		r = load(l, way, false, e);
	}
	if (!r)
		r = attach(l, e);
	if (r)
		unload(l);
	else
		l->how = way->how;
	return r;
}

struct bpf_load_wish bpf_load_best(void)
{
	bool too_old;

	return (struct bpf_load_wish) { .classic = kernel_major(&too_old) >= 7 };
}

static uint64_t misses(const struct bpf_load *l, unsigned int i)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);
	int fd = bpf_program__fd(bpf_object__find_program_by_name(l->skel->obj, l->program[i]));

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.recursion_misses;
}

int bpf_load_open(struct bpf_load *out, const struct bpf_load_wish *wish, struct err *e)
{
	const struct way *first = wish->classic ? &classic_way : &btf_way;
	const struct way *second = wish->classic ? &btf_way : &classic_way;
	libbpf_print_fn_t old;
	struct err why = {};
	int n, r;

	memset(out, 0, sizeof(*out));
	n = libbpf_num_possible_cpus();
	if (n <= 0)
		return err_set(e, n ? n : -EIO, "cannot tell the number of CPUs");
	out->n_cpus = (unsigned int)n;
	old = libbpf_set_print(keep_words);
	r = try_way(out, first, !wish->no_objects, &why);
	if (r) {
		snprintf(out->how_why, sizeof(out->how_why), "%s: %.400s", first->how, why.text);
		r = try_way(out, second, !wish->no_objects, e);
		if (r)
			*e = why;
	} else if (first->why) {
		snprintf(out->how_why, sizeof(out->how_why), "%s: %s", second->how, first->why);
	}
	libbpf_set_print(old);
	for (unsigned int i = 0; !r && i < BPF_LOAD_PROGRAMS; i++)
		out->missed[i] = misses(out, i);
	return r;
}

void bpf_load_close(struct bpf_load *l)
{
	unload(l);
}

uint64_t bpf_load_missed(const struct bpf_load *l, unsigned int i)
{
	return misses(l, i) - l->missed[i];
}

/* One pass over all tasks. */
static int run_marker(struct bpf_load *l)
{
	int fd = bpf_iter_create(bpf_link__fd(l->marker));
	char none[64];
	ssize_t n;

	if (fd < 0)
		return -errno;
	l->skel->bss->mark.marked = l->skel->bss->mark.failed = 0;
	do
		n = read(fd, none, sizeof(none));
	while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}

int bpf_load_mark(struct bpf_load *l, pid_t pid, enum afs_role role, struct err *e)
{
	volatile struct afs_mark *mark = &l->skel->bss->mark;
	int r, tries = MARK_TRIES;

	mark->tgid = pid;
	mark->role = role;
	mark->slot = -1;
	/* Until a pass finds nothing: a thread may be started behind the iterator's back. */
	do
		r = run_marker(l);
	while (!r && (mark->marked || (mark->failed && --tries)));
	mark->tgid = -1;
	if (r)
		return err_set(e, r, "cannot look through the tasks: %s", strerror(-r));
	if (mark->failed)
		return err_set(e, -ENOMEM, "process %d cannot be watched: %s", pid,
			       "the kernel gives no storage for its threads, or it has too many");
	if (mark->slot < 0)
		return err_set(
		    e, -ESRCH,
		    "process %d cannot be watched: it has ended, or this is not the first "
		    "PID namespace",
		    pid);
	return 0;
}
