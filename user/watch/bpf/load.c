/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads and attaches the programs; turns refusals into reasons. */

#include "watch/bpf/load.h"

#include "base/file.h"
#include "base/kernel.h"
#include "base/vec.h"
#include "bpf/pool.h"
#include "calls.skel.h"
#include "host/proc/procfs.h"
#include "host/proc/syscalls.h"
#include "run/account.h"
#include "watch/bpf/rung.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

/* The kernel may refuse storage for a thread temporarily. */
#define MARK_TRIES 5

/* libbpf's print function gets no argument of ours, hence a variable. */
static _Thread_local char last_words[ERR_TEXT_MAX];

/* Frames around a verifier's log, its statistics, and lines that only say that it failed. */
static bool is_noise(const char *line)
{
	static const char *const start[] = { "--", "processed ", ";", "failed to load object",
					     "failed to load BPF skeleton" };

	return VEC_FIND(s, start, sizeof(start) / sizeof(start[0]),
			!strncmp(line, *s, strlen(*s))) ||
	       !line[strspn(line, " \t")] || strstr(line, ": failed to load: ");
}

/* Keeps the last line with information. A verifier's log comes as one text of any length. */
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

static int bpf_load_refusal(struct err *e, int code, const char *what)
{
	const char *why = NULL;

	if ((code == -EPERM || code == -EACCES) && geteuid() != 0)
		why = "no right to load BPF programs: run as root, or with CAP_BPF and CAP_PERFMON";
	else if (code == -ENOSYS)
		why = "no bpf(2) here: not in this kernel, or hidden by a sandbox";
	else if (access("/sys/kernel/btf/vmlinux", R_OK))
		why = "no type information of the kernel (/sys/kernel/btf/vmlinux): BTF is not "
		      "built in";
	else if (kernel_before(5, 15))
		why = "this kernel is too old: the programs need Linux 5.15";
	else if (code == -EPERM)
		why = "BPF programs are refused although this is root: a container's or the "
		      "kernel's rules forbid them";
	if (why)
		return err_set(e, code, "%s", why);
	return err_set(e, code, "%s: %s (%s)", what, strerror(-code),
		       last_words[0] ? last_words : "the kernel gave no reason");
}

/* One of two ways to observe the same events. */
struct load_way {
	const char *how;
	const char *program[BPF_LOAD_PROGRAMS]; /* entry, return, switch, wake-up, ... */
	const char *why;                        /* why it is preferred to tp_btf, where it is */
};

static const struct load_way btf_way = {
	.how = "tp_btf sys_enter/sys_exit",
	.program = { "on_sys_enter", "on_sys_exit", "on_switch", "on_waking", "on_newtask",
		     "on_exec", "on_exit" },
};

static const struct load_way classic_way = {
	.how = "tp raw_syscalls/sys_enter, sys_exit",
	.program = { "on_tp_enter", "on_tp_exit", "on_switch", "on_waking", "on_tp_newtask",
		     "on_exec", "on_tp_exit_task" },
	.why = "programs may be preempted here, and BTF tracepoints can lose events then",
};

static int select_programs(struct bpf_load *l, const struct load_way *way)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, l->object)
	    bpf_program__set_autoload(p, p == l->skel->progs.mark_processes);
	for (int i = 0; i < BPF_LOAD_PROGRAMS; i++) {
		p = bpf_object__find_program_by_name(l->object, way->program[i]);
		if (!p)
			return -ENOENT;
		l->program[i] = (struct bpf_load_program) { .name = way->program[i], .program = p };
		bpf_program__set_autoload(p, true);
	}
	return 0;
}

/* Only programs loaded for it make records. */
static int set_trace(struct bpf_load *l, struct afs_setup *setup, const struct load_way *way,
		     const struct bpf_load_wish *wish)
{
	static const struct watch_sink none;
	const struct watch_sink *sink = wish->sink ? wish->sink : &none;
	size_t wanted = sink->ring_len ? sink->ring_len : RING_LEN;
	size_t len = ring_len_for(ring_wanted(sink) ? wanted : 1);

	setup->trace = (uint8_t)sink->what;
	for (unsigned int i = 0; i < AFS_ACCOUNT_BETWEEN; i++)
		setup->looks[i] = account_changes_nothing(i);
	setup->over_ns = sink->over_ns;
	setup->trace_wake = (uint32_t)ring_wake_len(len, l->n_cpus);
	setup->batch = way == &classic_way || !bpf_load_preempted();
	for (unsigned int state = 0; state < AFS_N_STATES; state++)
		setup->column[state] = account_blocked_column(state / AFS_N_OBJECTS,
							      state % AFS_N_OBJECTS);
	return bpf_map__set_max_entries(l->skel->maps.records, (uint32_t)len);
}

/* Several messages at once are looked into if they are datagrams. */
static void set_calls(struct afs_setup *setup)
{
	for (int nr = 0; nr < AFS_N_CALLS; nr++) {
		setup->calls[nr] = syscalls_call(nr);
		if (setup->calls[nr].data == AFS_DATA_MMSG && !AFS_IS_DATAGRAMS(setup->decoder))
			setup->calls[nr].data = AFS_DATA_NONE;
	}
}

/* Maps whose length depends on the machine, or that are made small because nobody needs them. */
static int set_lens(struct bpf_load *l, const struct afs_setup *setup)
{
	const bool datagrams = AFS_IS_DATAGRAMS(setup->decoder);
	const bool any_order = setup->objects_on && setup->any_order && !datagrams;
	/* Each CPU keeps up to 128 free entries of a map that forgets. */
	const __u32 spare = 128 * l->n_cpus;
	const struct {
		struct bpf_map *map;
		__u32 n; /* 0: as in the source */
	} len[] = {
		{ l->skel->maps.stripe, l->n_cpus },
		{ l->skel->maps.times, l->n_lanes },
		{ l->skel->maps.link, AFS_N_LINKS + spare },
		{ l->skel->maps.seen, AFS_N_SEEN + spare },
		{ l->skel->maps.socket, 4 * AFS_N_CLIENTS + spare },
		{ l->skel->maps.pending, any_order ? AFS_N_PENDING + spare : 1 },
		{ l->skel->maps.rx_call, datagrams ? AFS_N_RX_CALLS + spare : 1 },
		{ l->skel->maps.datagram, !datagrams },
		{ l->skel->maps.client, !(setup->trace & AFS_TRACE_LIVE) },
		{ l->skel->maps.asked, !(setup->trace & AFS_TRACE_ASKED) },
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(len) / sizeof(len[0]) && !r; i++)
		if (len[i].n)
			r = bpf_map__set_max_entries(len[i].map, len[i].n);
	return r;
}

static int bpf_load_programs(struct bpf_load *l, const struct load_way *way,
			     const struct bpf_load_wish *wish, bool objects, struct err *e)
{
	struct afs_setup *setup;
	int r;

	last_words[0] = '\0';
	l->skel = calls_bpf__open();
	if (!l->skel)
		return bpf_load_refusal(e, -errno, "open BPF programs");
	l->object = l->skel->obj;
	setup = &l->skel->rodata->setup;
	if (account_number_named(wish->accounts, setup->spread) >= AFS_N_SPREADS)
		return bpf_load_refusal(e, -ENOSPC, "number the requests");
	for (unsigned int i = 0; i < AFS_ACCOUNT_BETWEEN; i++)
		setup->normal[i] = account_normal_result(wish->accounts, i);
	setup->objects_on = objects;
	setup->decoder = (uint8_t)(objects ? wish->decoder : AFS_DECODER_NONE);
	setup->any_order = wish->any_order;
	setup->parks = wish->parks;
	if (wish->accounts)
		memcpy(setup->idle, wish->accounts->idle, sizeof(setup->idle));
	setup->files = (uint8_t)wish->files;
	set_calls(setup);
	r = select_programs(l, way);
	/* Drops are observed where this kernel has what that needs. */
	if (AFS_IS_DATAGRAMS(setup->decoder) &&
	    libbpf_find_vmlinux_btf_id("udp_fail_queue_rcv_skb", BPF_TRACE_RAW_TP) > 0)
		bpf_program__set_autoload(l->skel->progs.on_udp_drop, true);
	if (!r)
		r = set_trace(l, setup, way, wish);
	if (!r)
		r = set_lens(l, setup);
	if (!r)
		r = calls_bpf__load(l->skel);
	if (r)
		return bpf_load_refusal(e, r, "load BPF programs");
	l->shared = &l->skel->bss->shared;
	l->shared->span = 1;
	l->setup = setup;
	return 0;
}

/* One pass over all tasks. */
static int run_marker(struct bpf_load *l)
{
	int fd = bpf_iter_create(bpf_link__fd(l->marker));
	char none[64];
	ssize_t n;

	if (fd < 0)
		return -errno;
	l->shared->mark.marked = l->shared->mark.failed = 0;
	do
		n = read(fd, none, sizeof(none));
	while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}

/* The first slots are handed out first. */
static void free_all(struct bpf_load *l, const struct bpf_load_wish *wish)
{
	const struct {
		uint32_t wish, all;
	} n[AFS_N_SLOTS] = {
		[AFS_SLOTS_THREAD] = { wish->n_threads, AFS_N_THREADS },
		[AFS_SLOTS_PROCESS] = { wish->n_processes, AFS_N_PROCESSES },
		[AFS_SLOTS_STREAM] = { wish->n_streams, AFS_N_CLIENTS },
	};

	for (unsigned int of = 0; of < AFS_N_SLOTS; of++)
		for (uint32_t i = n[of].wish ? n[of].wish : n[of].all; i-- > 0;)
			bpf_load_give(l, of, i);
	if (wish->n_parts)
		l->shared->n_parts = AFS_N_PARTS - AFS_N_FIXED_PARTS - wish->n_parts;
}

static int bpf_load_attach(struct bpf_load *l, struct err *e)
{
	struct bpf_program *drops = l->skel->progs.on_udp_drop;

	/* Return probes first: so a call that is seen entering is always seen returning. */
	for (int i = BPF_LOAD_PROGRAMS; i-- > 0;) {
		l->program[i].link = bpf_program__attach(l->program[i].program);
		if (!l->program[i].link)
			return bpf_load_refusal(e, -errno, l->program[i].name);
	}
	l->marker = bpf_program__attach_iter(l->skel->progs.mark_processes, NULL);
	if (!l->marker)
		return bpf_load_refusal(e, -errno, "task iterator");
	if (bpf_program__fd(drops) >= 0)
		l->drops = bpf_program__attach(drops);
	return 0;
}

void bpf_load_close(struct bpf_load *l)
{
	for (int i = 0; i < BPF_LOAD_PROGRAMS; i++) {
		bpf_link__destroy(l->program[i].link);
		l->program[i].link = NULL;
	}
	bpf_link__destroy(l->marker);
	bpf_link__destroy(l->drops);
	l->marker = l->drops = NULL;
	calls_bpf__destroy(l->skel);
	l->skel = NULL;
}

static int try_way(struct bpf_load *l, const struct load_way *way, const struct bpf_load_wish *wish,
		   struct err *e)
{
	bool objects = !wish->no_objects;
	int r = bpf_load_programs(l, way, wish, objects, e);

	if (r && objects) {
		snprintf(l->objects_why, sizeof(l->objects_why), "%s", last_words);
		bpf_load_close(l);
		r = bpf_load_programs(l, way, wish, false, e);
	}
	if (!r) {
		free_all(l, wish);
		r = bpf_load_attach(l, e);
	}
	if (r)
		bpf_load_close(l);
	else
		l->how = way->how;
	return r;
}

static int try_both_ways(struct bpf_load *l, const struct bpf_load_wish *wish, struct err *e)
{
	bool classic = wish->way == BPF_LOAD_CLASSIC ||
		       (wish->way == BPF_LOAD_BEST && bpf_load_preempted());
	const struct load_way *first = classic ? &classic_way : &btf_way;
	const struct load_way *second = classic ? &btf_way : &classic_way;
	struct err why = {};
	int r = try_way(l, first, wish, &why);

	if (!r) {
		if (first->why)
			snprintf(l->how_why, sizeof(l->how_why), "%s: %s", second->how, first->why);
		return 0;
	}
	snprintf(l->how_why, sizeof(l->how_why), "%s: %.400s", first->how, why.text);
	if (wish->way == BPF_LOAD_BEST)
		r = try_way(l, second, wish, e);
	if (r)
		*e = why;
	return r;
}

/* Whether the kernel was built with preemption as its default. */
static bool built_preempted(const char *release)
{
	char boot[128], line[256];
	bool preempted = true;
	gzFile f = gzopen("/proc/config.gz", "re");

	snprintf(boot, sizeof(boot), "/boot/config-%s", release);
	if (!f)
		f = gzopen(boot, "re");
	while (f && gzgets(f, line, sizeof(line)))
		if (!strcmp(line, "CONFIG_PREEMPT_NONE=y\n") ||
		    !strcmp(line, "CONFIG_PREEMPT_VOLUNTARY=y\n"))
			preempted = false;
	if (f)
		gzclose(f);
	return preempted;
}

bool bpf_load_preempts(const char *version, const char *mode, const char *cmdline, bool built)
{
	if (!strstr(version, "PREEMPT_DYNAMIC"))
		return strstr(version, "PREEMPT");
	if (*mode)
		return strstr(mode, "(full)") || strstr(mode, "(lazy)");
	if (strstr(cmdline, "preempt="))
		return !strstr(cmdline, "preempt=none") && !strstr(cmdline, "preempt=voluntary");
	return built;
}

bool bpf_load_preempted(void)
{
	char mode[256], cmdline[4096];
	struct utsname name;

	if (uname(&name))
		return true;
	file_text(mode, sizeof(mode), "/sys/kernel/debug/sched/preempt");
	file_text(cmdline, sizeof(cmdline), "/proc/cmdline");
	return bpf_load_preempts(name.version, mode, cmdline, built_preempted(name.release));
}

unsigned int bpf_load_cpus(const char *possible)
{
	unsigned int n = 0, cpu;
	int used;

	/* "0-3,8-11": ranges and numbers. */
	for (const char *at = possible; sscanf(at, "%u%n", &cpu, &used) == 1; at += *at != 0) {
		n = cpu >= n ? cpu + 1 : n;
		at += used;
	}
	return n;
}

int bpf_load_open(struct bpf_load *out, const struct bpf_load_wish *wish, struct err *e)
{
	long ahead_s = procfs_clock_ahead_s();
	libbpf_print_fn_t old;
	char cpus[4096];
	int r;

	memset(out, 0, sizeof(*out));
	if (ahead_s)
		return err_set(
		    e, -ENOTSUP,
		    "this is a time namespace, whose clock is %ld s off the kernel's: run "
		    "afpscope outside of it (nsenter -t 1 -T)",
		    ahead_s);
	if (file_text(cpus, sizeof(cpus), "/sys/devices/system/cpu/possible") > 0)
		out->n_cpus = bpf_load_cpus(cpus);
	if (!out->n_cpus)
		return err_set(e, -EIO,
			       "cannot find the number of CPUs: /sys/devices/system/cpu/possible "
			       "cannot be read");
	for (out->n_lanes = 1; out->n_lanes < out->n_cpus && out->n_lanes < AFS_N_LANES;)
		out->n_lanes *= 2;
	old = libbpf_set_print(keep_words);
	r = try_both_ways(out, wish, e);
	libbpf_set_print(old);
	for (unsigned int i = 0; !r && i < BPF_LOAD_PROGRAMS; i++)
		out->program[i].missed = bpf_load_missed(&out->program[i]);
	return r;
}

uint64_t bpf_load_missed(const struct bpf_load_program *p)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(bpf_program__fd(p->program), &info, &len)
		   ? 0
		   : info.recursion_misses - p->missed;
}

struct bpf_load_array bpf_load_map(const struct bpf_object *object, const char *name, size_t value)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, name);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), len;
	void *at;

	if (!map || bpf_map__value_size(map) != value)
		return (struct bpf_load_array) { 0 };
	len = (value * bpf_map__max_entries(map) + page - 1) / page * page;
	at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	return (struct bpf_load_array) { at == MAP_FAILED ? NULL : at, len };
}

int bpf_load_mark(struct bpf_load *l, struct afs_want *want, size_t n, struct err *e)
{
	volatile struct afs_mark *mark = &l->shared->mark;
	int r, tries = MARK_TRIES;

	qsort(want, n, sizeof(*want), procstat_by_pid);
	for (size_t i = 0; i < AFS_N_WANTS; i++)
		mark->want[i] = i < n ? want[i] : (struct afs_want) { .tgid = INT_MAX };
	/* Until a pass finds nothing: a thread may be started where the iterator has passed. */
	do
		r = run_marker(l);
	while (!r && (mark->marked || (mark->failed && --tries)));
	for (size_t i = 0; i < n; i++)
		want[i] = mark->want[i];
	if (r)
		return err_set(e, r, "cannot look through the tasks: %s", strerror(-r));
	if (mark->failed)
		return err_set(e, -ENOMEM,
			       "%u threads cannot be watched: the kernel refused task storage for "
			       "them, or more than %u processes or %u threads would have to be "
			       "watched",
			       mark->failed, AFS_N_PROCESSES, AFS_N_THREADS);
	return 0;
}

void bpf_load_give(struct bpf_load *l, enum afs_slots of, uint32_t slot)
{
	while (!afs_pool_give(&l->shared->free.head[of], &l->shared->free.next[of][slot], slot))
		;
}
