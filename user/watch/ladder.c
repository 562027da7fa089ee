/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tries each rung and notes the result. */

#include "watch/ladder.h"

#include "base/file.h"
#include "base/vec.h"
#include "host/proc/procfs.h"
#include "host/rights.h"
#include "watch/bpf/load.h"
#include "watch/bpf/storage_load.h"

#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Adds a step, unless there is no room. */
__attribute__((format(printf, 5, 6))) static void
ladder_say(struct ladder *l, const char *layer, const char *rung, bool ok, const char *fmt, ...)
{
	struct ladder_step s = { .layer = layer, .rung = rung, .ok = ok };
	va_list ap;

	if (l->n == LADDER_MAX)
		return;
	/* Items of the storage are taken each; those of the kernel and of /proc are facts. */
	s.taken = ok && strcmp(layer, "kernel") != 0 && strcmp(layer, "/proc") != 0 &&
		  (!strcmp(layer, "storage") || !ladder_taken(l, layer));
	va_start(ap, fmt);
	vsnprintf(s.why, sizeof(s.why), fmt, ap);
	va_end(ap);
	l->step[l->n++] = s;
}

/* The same in one of two sentences. */
static void ladder_either(struct ladder *l, const char *layer, const char *rung, bool ok,
			  const char *if_ok, const char *else_why)
{
	ladder_say(l, layer, rung, ok, "%s", ok ? if_ok : else_why);
}

/* What depends on the first way that works. */
struct ladder_found {
	enum afs_decoder decoder;
	bool any, objects; /* requests as well */
	char why[ERR_TEXT_MAX];
	struct ladder storage;
};

static void look_storage(struct ladder *l, const struct bpf_load *load)
{
	const struct storage_item *item;
	struct storage *storage = NULL;
	struct err e = {};

	if (storage_open(&storage, load->object, NULL, &e)) {
		ladder_say(l, "storage", "all", false, "%s", e.text);
		return;
	}
	item = storage_describe(storage);
	for (int i = 0; i < AFS_N_STORAGE_ITEMS; i++)
		ladder_say(l, "storage", item[i].text, item[i].how, "%s%s%s",
			   item[i].how ? item[i].how : "",
			   item[i].how && item[i].why[0] ? "; better is refused: " : "",
			   item[i].why);
	storage_close(storage);
}

/* One way to the calls. */
static void try_bpf(struct ladder *l, enum bpf_load_way way, struct ladder_found *found)
{
	const char *rung = way == BPF_LOAD_BTF ? "tp_btf" : "tp raw_syscalls";
	const struct bpf_load_wish wish = { .decoder = found->decoder, .way = way };
	struct bpf_load load;
	struct err e = {};
	int r;

	if (!procfs_first_pid_namespace()) {
		ladder_say(
		    l, "calls", rung, false,
		    "this is not the first PID namespace: the kernel's process numbers are not "
		    "those seen here; run on the host itself");
		return;
	}
	r = bpf_load_open(&load, &wish, &e);
	ladder_either(l, "calls", rung, !r, "every call counted and timed in the kernel", e.text);
	if (r)
		return;
	if (!found->any) {
		found->any = true;
		found->objects = load.setup->objects_on;
		snprintf(found->why, sizeof(found->why), "%s", load.objects_why);
		look_storage(&found->storage, &load);
	}
	bpf_load_close(&load);
}

/* The capabilities that this program needs and has. */
static uint64_t capabilities(void)
{
	char text[64];
	uint64_t have;

	if (procfs_status(text, sizeof(text), 0, "CapEff"))
		return 0;
	have = strtoull(text, NULL, 16);
	/* Older, wider capabilities that include these. */
	if (have >> CAP_SYS_ADMIN & 1)
		have |= 1ull << CAP_BPF | 1ull << CAP_PERFMON;
	if (have >> CAP_DAC_OVERRIDE & 1)
		have |= 1ull << CAP_DAC_READ_SEARCH;
	return have;
}

/* Whether processes of other users can be read; the server is not known here. */
static bool may_look(void)
{
	uint64_t have = capabilities();

	return have >> CAP_SYS_PTRACE & 1 && have >> CAP_DAC_READ_SEARCH & 1;
}

static void try_proc(struct ladder *l)
{
	struct afs_compat io;
	int r = procfs_io(&io, getpid(), 0);

	if (r)
		ladder_say(l, "calls", "/proc/PID/io", false,
			   "%s: this kernel has no task I/O accounting", strerror(-r));
	else
		ladder_either(l, "calls", "/proc/PID/io", may_look(),
			      "reads, writes and their bytes of a process, sampled at phase ends",
			      "no right to read that of other users: " RIGHTS_TO_LOOK);
}

static void look_objects(struct ladder *l, const struct ladder_found *found)
{
	const char *why = found->why[0] ? found->why : "refused by the kernel";
	struct procfs_times own;

	if (!found->any)
		why = "only where calls are counted by BPF";
	ladder_either(l, "objects", "descriptors", found->objects,
		      "calls are distinguished by the object they work on", why);
	ladder_either(l, "requests", "bytes of the client's connection", found->objects,
		      "calls and times of each request, whoever the client is", why);
	ladder_either(l, "times", "tp_btf sched_switch", found->any,
		      "every moment of a request: own code, calls, run queue, waits", why);
	ladder_either(l, "times", "schedstat", !procfs_thread_times(&own, getpid(), getpid()),
		      "CPU time and waiting for a CPU, /proc/PID/task/TID/schedstat at phase ends",
		      "/proc/self/schedstat: this kernel has no CONFIG_SCHED_INFO");
}

static void look_proc(struct ladder *l)
{
	struct procstat init;

	ladder_either(l, "/proc", "processes", !procstat_read(&init, 1),
		      "processes of other users are seen",
		      "processes of other users are hidden (hidepid): run as root");
	ladder_either(l, "/proc", "open files", may_look(),
		      "who holds which socket and file can be seen",
		      "no right to see whose socket is whose: " RIGHTS_TO_LOOK);
}

/* Facts. */
static void look_features(struct ladder *l)
{
	static const char lockdown[] = "/sys/kernel/security/lockdown";
	struct utsname name;
	char text[128];
	bool ok;

	/* The rungs show whether it is new enough. */
	if (!uname(&name))
		ladder_say(l, "kernel", "version", true, "%s %s", name.release, name.machine);
	ladder_either(l, "kernel", "BTF", !access("/sys/kernel/btf/vmlinux", R_OK),
		      "/sys/kernel/btf/vmlinux is there",
		      "no /sys/kernel/btf/vmlinux: the kernel was built without type information");
	ok = !access("/sys/kernel/tracing/events", F_OK) ||
	     !access("/sys/kernel/debug/tracing/events", F_OK);
	ladder_say(l, "kernel", "tracefs", true, "%s",
		   ok ? "mounted" : "not mounted: only tp raw_syscalls would need it");
	if (file_line(text, sizeof(text), lockdown)) {
		ladder_say(l, "kernel", "lockdown", true, "none (no %s)", lockdown);
		return;
	}
	ok = !strstr(text, "[confidentiality]");
	ladder_say(l, "kernel", "lockdown", ok, "%s%s", text,
		   ok ? "" : ": BPF programs may not read kernel memory");
}

static void look_preemption(struct ladder *l)
{
	char text[256];
	struct utsname name;
	const char *model = "none or voluntary";

	if (!file_line(text, sizeof(text), "/sys/kernel/debug/sched/preempt")) {
		ladder_say(l, "kernel", "preemption", true, "%s", text);
		return;
	}
	if (uname(&name))
		return;
	if (strstr(name.version, "PREEMPT_RT"))
		model = "real time";
	else if (strstr(name.version, "PREEMPT_DYNAMIC"))
		model = "chosen at boot, and cannot be read without debugfs";
	else if (strstr(name.version, "PREEMPT"))
		model = "full";
	ladder_say(l, "kernel", "preemption", true, "%s", model);
}

static void look_rights(struct ladder *l)
{
	static const struct {
		int bit;
		const char *name;
	} wanted[] = {
		{ CAP_BPF, "CAP_BPF" },
		{ CAP_PERFMON, "CAP_PERFMON" },
		{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
		{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH" },
	};
	struct err_list missing = { .room = 128 };
	uint64_t have = capabilities();

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!(have >> wanted[i].bit & 1))
			err_list_add(&missing, "%s", wanted[i].name);
	ladder_say(l, "kernel", "rights", !*missing.text, "user id %u; %s%s", geteuid(),
		   *missing.text ? "without " : "all capabilities that are needed", missing.text);
}

void ladder_look(struct ladder *out, enum afs_decoder decoder)
{
	struct ladder_found found = { .decoder = decoder };
	bool classic = bpf_load_preempted();

	out->n = 0;
	try_bpf(out, classic ? BPF_LOAD_CLASSIC : BPF_LOAD_BTF, &found);
	try_bpf(out, classic ? BPF_LOAD_BTF : BPF_LOAD_CLASSIC, &found);
	try_proc(out);
	look_objects(out, &found);
	if (!found.any)
		ladder_say(out, "storage", "all", false, "only where calls are counted by BPF");
	for (size_t i = 0; i < found.storage.n && out->n < LADDER_MAX; i++)
		out->step[out->n++] = found.storage.step[i];
	look_proc(out);
	look_features(out);
	look_preemption(out);
	look_rights(out);
	ladder_either(out, "kernel", "PID space", procfs_first_pid_namespace(), "the first",
		      "not the first: run on the host itself");
}

const struct ladder_step *ladder_taken(const struct ladder *l, const char *layer)
{
	return VEC_FIND(s, l->step, l->n, s->taken && !strcmp(s->layer, layer));
}

bool ladder_exact(const struct ladder *l)
{
	const struct ladder_step *calls = ladder_taken(l, "calls");

	return calls && !strncmp(calls->rung, "tp", 2);
}
