/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/net/links.h"

#include "base/file.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* false: there is none, or it is negative, as the speed of an interface that has none. */
static bool link_number(uint64_t *out, const char *folder, const char *file)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", folder, file) < (int)sizeof(path) &&
	       file_first_number(out, path);
}

static bool link_read(struct links_entry *out, const char *folder)
{
	const char *name = strrchr(folder, '/') + 1;

	*out = (struct links_entry) { 0 };
	if (strlen(name) >= sizeof(out->name))
		return false;
	strcpy(out->name, name);
	link_number(&out->speed_mbit, folder, "speed");
	return link_number(&out->received_b, folder, "statistics/rx_bytes") &&
	       link_number(&out->sent_b, folder, "statistics/tx_bytes");
}

void links_read(struct links *out, const char *root)
{
	char path[PATH_MAX];
	glob_t found;

	out->n = 0;
	snprintf(path, sizeof(path), "%s/sys/class/net/*/device", root);
	if (glob(path, GLOB_NOSORT, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc && out->n < LINKS_MAX; i++) {
		*strrchr(found.gl_pathv[i], '/') = '\0';
		out->n += link_read(&out->entry[out->n], found.gl_pathv[i]);
	}
	globfree(&found);
}
