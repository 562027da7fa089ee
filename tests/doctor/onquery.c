/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded in afpd (AFPD_PRELOAD of tests/server/up.sh): a Spotlight query takes ONQUERY_MS in
 * addition. Every FPSpotlightRPC begins with a context of talloc, and no other command has one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

void *talloc_named_const(const void *context, size_t size, const char *name)
{
	void *(*real)(const void *, size_t, const char *);
	const char *ms = getenv("ONQUERY_MS");
	long n = ms ? strtol(ms, NULL, 10) : 0;
	const struct timespec wait = { .tv_sec = n / 1000, .tv_nsec = n % 1000 * 1000000 };

	*(void **)&real = dlsym(RTLD_NEXT, "talloc_named_const");
	if (!context)
		nanosleep(&wait, NULL);
	return real(context, size, name);
}
