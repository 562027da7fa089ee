/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/links.h"

#include "base/file.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* false: there is none, or it is negative, as the speed of an interface that has none. */
static bool link_number(uint64_t *out, const char *folder, const char *file)
{
	char path[PATH_MAX], text[32];

	if (snprintf(path, sizeof(path), "%s/%s", folder, file) >= (int)sizeof(path) ||
	    file_line(text, sizeof(text), path) || !isdigit((unsigned char)*text))
		return false;
	*out = strtoull(text, NULL, 10);
	return true;
}

static bool link_read(struct links_entry *out, const char *root, const char *name)
{
	char folder[PATH_MAX], device[PATH_MAX];

	*out = (struct links_entry) { 0 };
	if (snprintf(folder, sizeof(folder), "%s/sys/class/net/%s", root, name) >=
		(int)sizeof(folder) ||
	    snprintf(out->name, sizeof(out->name), "%s", name) >= (int)sizeof(out->name) ||
	    snprintf(device, sizeof(device), "%s/device", folder) >= (int)sizeof(device) ||
	    access(device, F_OK))
		return false;
	link_number(&out->speed_mbit, folder, "speed");
	return link_number(&out->received_b, folder, "statistics/rx_bytes") &&
	       link_number(&out->sent_b, folder, "statistics/tx_bytes");
}

void links_read(struct links *out, const char *root)
{
	char folder[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	out->n = 0;
	snprintf(folder, sizeof(folder), "%s/sys/class/net", root);
	dir = opendir(folder);
	while (dir && out->n < LINKS_MAX && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			out->n += link_read(&out->entry[out->n], root, entry->d_name);
	if (dir)
		closedir(dir);
}
