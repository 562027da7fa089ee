/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded in the test server's root: setrlimit() takes the hard limit where
 * the caller may not raise it, instead of failing (cnid_metad gives up then).
 * Built with -nostdlib and unversioned symbols, so it loads with any glibc.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/resource.h>

int setrlimit(__rlimit_resource_t what, const struct rlimit *want)
{
	struct rlimit now, use = *want;

	if (prlimit(0, what, NULL, &now))
		return -1;
	if (use.rlim_max > now.rlim_max)
		use.rlim_max = now.rlim_max;
	if (use.rlim_cur > use.rlim_max)
		use.rlim_cur = use.rlim_max;
	return prlimit(0, what, &use, NULL);
}

/* The two structures are the same where long has 64 bits. */
int setrlimit64(__rlimit_resource_t what, const struct rlimit64 *want)
{
	return setrlimit(what, (const struct rlimit *)want);
}
