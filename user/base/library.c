/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* musl has none, and would give functions of any version. */
extern void *dlvsym(void *handle, const char *name, const char *version) __attribute__((weak));

bool library_has_versions(void)
{
	return dlvsym != NULL;
}

static void *library_find(void *handle, const struct library_row *row)
{
	if (!row->version)
		return dlsym(handle, row->name);
	return dlvsym ? dlvsym(handle, row->name, row->version) : NULL;
}

/* What the loader says of the first one that was not found is what the reader needs. */
static void *library_open(const char *const *files, struct library_failure *failure)
{
	void *handle = NULL;

	for (; *files && !handle; files++) {
		handle = dlopen(*files, RTLD_NOW | RTLD_LOCAL);
		failure->file = *files;
		if (!handle && !*failure->why)
			snprintf(failure->why, sizeof(failure->why), "%s", dlerror());
	}
	return handle;
}

int library_load(void *out, const char *const *files, const struct library_row *rows, size_t n_rows,
		 struct library_failure *failure)
{
	void *handle, *function;

	*failure = (struct library_failure) { 0 };
	handle = library_open(files, failure);
	if (!handle)
		return -ENOENT;
	for (size_t i = 0; i < n_rows; i++) {
		function = library_find(handle, &rows[i]);
		if (!function) {
			failure->lacks = &rows[i];
			return -ENOENT;
		}
		memcpy((char *)out + rows[i].at, &function, sizeof(function));
	}
	return 0;
}
