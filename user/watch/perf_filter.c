/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the filters as text, from the table of calls. */

#include "watch/perf_filter.h"

#include "watch/calls.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define RET_NOT_BAD " && ret != -9 && ret != -29" /* EBADF, ESPIPE: not in the account */

static void put(struct perf_filter *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct perf_filter *f, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(f->text + f->len, sizeof(f->text) - f->len, fmt, ap);
	va_end(ap);
	f->len = n < 0 || (size_t)n >= sizeof(f->text) - f->len ? PERF_FILTER_MAX - 1
								: f->len + (size_t)n;
}

static bool is_full(const struct perf_filter *f)
{
	return f->len >= PERF_FILTER_MAX - 1;
}

struct span {
	int from, to; /* both included */
};

/* As a search tree, so that the kernel compares only a few numbers. */
static void put_tree(struct perf_filter *f, const struct span *s, size_t n)
{
	size_t half = n / 2;

	if (n == 1 && s->from == s->to) {
		put(f, "id == %d", s->from);
	} else if (n == 1) {
		put(f, "(id >= %d && id <= %d)", s->from, s->to);
	} else {
		put(f, "((id < %d && ", s[half].from);
		put_tree(f, s, half);
		put(f, ") || (id >= %d && ", s[half].from);
		put_tree(f, s + half, n - half);
		put(f, "))");
	}
}

/* Adds the calls of a set that also fulfil "and". */
static void put_set(struct perf_filter *f, const bool in[AFS_N_CALLS], const char *and)
{
	struct span span[AFS_N_CALLS / 2];
	size_t n = 0;

	for (int nr = 0; nr < AFS_N_CALLS; nr++) {
		if (!in[nr])
			continue;
		if (!nr || !in[nr - 1])
			span[n++].from = nr;
		span[n - 1].to = nr;
	}
	if (!n)
		return;
	put(f, "%s(", f->len ? " || " : "");
	put_tree(f, span, n);
	put(f, "%s)", and);
}

static bool starts(int nr)
{
	const char *name = calls_name(nr);

	return name && (!strcmp(name, "clone") || !strcmp(name, "clone3") ||
			!strcmp(name, "fork") || !strcmp(name, "vfork"));
}

/*
 * The calls of a class, as they return. A new thread or process also returns from the call that
 * started it, with 0: not counted. rt_sigreturn has lost its number by then.
 */
static void filter_class(struct perf_filter *f, const struct afs_call *call, unsigned int class)
{
	bool plain[AFS_N_CALLS], start[AFS_N_CALLS];

	for (int nr = 0; nr < AFS_N_CALLS; nr++) {
		start[nr] = call[nr].class == class && starts(nr);
		plain[nr] = call[nr].class == class && !start[nr];
	}
	put_set(f, plain, "");
	put_set(f, start, " && ret != 0");
	if (class == AFS_CLASS_SIGNAL)
		put(f, " || id == -1");
	if (class == AFS_CLASS_OTHER)
		put(f, " || id >= %d || id < -1", AFS_N_CALLS);
}

/* The calls that the kernel's account counts as reads (writes). */
static void filter_compat(struct perf_filter *f, const struct afs_call *call, unsigned int flag)
{
	bool always[AFS_N_CALLS] = {}, moved[AFS_N_CALLS] = {}, plain[AFS_N_CALLS] = {};

	for (int nr = 0; nr < AFS_N_CALLS; nr++) {
		if (!(call[nr].flags & flag))
			continue;
		if (call[nr].flags & AFS_COMPAT_ALWAYS)
			always[nr] = true;
		else if (call[nr].flags & AFS_COMPAT_MOVED)
			moved[nr] = true;
		else
			plain[nr] = true;
	}
	put_set(f, always, "");
	put_set(f, plain, RET_NOT_BAD);
	put_set(f, moved, " && ret > 0");
}

static void filter_starts(struct perf_filter *f, const struct afs_call *call)
{
	bool start[AFS_N_CALLS], exec[AFS_N_CALLS];

	for (int nr = 0; nr < AFS_N_CALLS; nr++) {
		start[nr] = starts(nr);
		exec[nr] = call[nr].flags & AFS_CALL_EXEC;
	}
	put_set(f, start, " && ret > 0");
	put_set(f, exec, " && ret == 0");
}

bool perf_filters(struct perf_filter out[PERF_N_COUNTS])
{
	struct afs_call call[AFS_N_CALLS];

	memset(out, 0, PERF_N_COUNTS * sizeof(out[0]));
	calls_table(call);
	for (unsigned int class = 0; class < AFS_N_CLASSES; class ++)
		filter_class(&out[class], call, class);
	filter_compat(&out[PERF_SYSCR], call, AFS_COMPAT_READ);
	filter_compat(&out[PERF_SYSCW], call, AFS_COMPAT_WRITE);
	filter_starts(&out[PERF_STARTS], call);
	put(&out[PERF_LOCKS], "(cmd >= %d && cmd <= %d) || (cmd >= %d && cmd <= %d)", F_GETLK,
	    F_SETLKW, F_OFD_GETLK, F_OFD_SETLKW);
	for (int i = 0; i < PERF_N_COUNTS; i++)
		if (is_full(&out[i]))
			return false;
	return true;
}
